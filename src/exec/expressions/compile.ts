/** Expressions of the plan to functions over vectors. */
import type { PlanExpr } from '../../query/plan.ts';
import type { AsyncEvaluator, Evaluator, ExpressionContext } from './evaluator.ts';

/** Compiles an expression without subqueries that wait (see evaluator.ts). */
export const compileExpression = (expr: PlanExpr, context: ExpressionContext): Evaluator => { void expr; void context; throw new Error('in work'); };
/** Compiles any expression; what operators use. */
export const compileAsync = (expr: PlanExpr, context: ExpressionContext): AsyncEvaluator => { void expr; void context; throw new Error('in work'); };
