/**
 * What an expression is compiled to, and what it may ask of its surroundings.
 *
 * How subqueries fit in: evaluators are synchronous, always. When one meets a subquery whose result is not there yet,
 * the evaluation stops, the result is awaited outside, and the evaluation of the batch starts again with the result
 * remembered (evaluation has no side effects). So
 * - `compileExpression` gives an `Evaluator`, which must not meet a subquery that answers with a promise: what
 *   constants are worked out with;
 * - `compileAsync` gives an `AsyncEvaluator` that handles both: it answers with a plain vector when nothing had to be
 *   awaited. Operators use this one: `const r = evaluate(batch); const v = r instanceof Promise ? await r : r;` The
 *   operators provide `subquery`; an uncorrelated one is asked for once per context, a correlated one once per batch of
 *   rows in work.
 */
import type { Type } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { Pipeline, PlanExpr, PlanFunction } from '../../query/plan/plan.ts';

/** Values of an expression for the rows of a batch: as many rows as the batch has. */
export type Evaluator = (batch: Vector) => Vector;
/** The same where subqueries may have to be awaited. */
export type AsyncEvaluator = (batch: Vector) => Vector | Promise<Vector>;

/** What becomes of the values that a subquery's body gives. */
export type SubqueryForm = Extract<PlanExpr, { kind: 'subquery' }>['form'];

/**
 * Runs a subquery. `rows` is there exactly for correlated ones: the body runs once for each row with that row as its
 * single input, and the answer has `rows.length` rows. Else the body runs once and the answer has one row. The forms
 * (scalar, sqlScalar, array, exists) are made by the runner, errors included. `callDepth`: calls of user functions on
 * the way here; the body's context takes it over, so that recursion through subqueries ends too.
 */
export type SubqueryRunner = (
  body: Pipeline,
  form: SubqueryForm,
  rows: Vector | undefined,
  callDepth: number,
) => Vector | Promise<Vector>;

/**
 * Runs the pipeline of an `apply` for rows of outer values; the answer has `length` rows. One runner serves one
 * compiled expression and may keep results.
 */
export type ApplyRunner = (values: readonly Vector[], length: number, callDepth: number) => Vector | Promise<Vector>;

/** What compiled expressions may ask of their surroundings. */
export interface ExpressionContext {
  /** User functions of the plan. */
  readonly functions: readonly PlanFunction[];
  /** Names bound to types by the values read so far (`typename`; casts to new names add to it). */
  readonly names: Map<string, Type>;
  /** Absent where no subquery can occur (constants). */
  readonly subquery?: SubqueryRunner;
  /** Makes the runner of an `apply`; absent where `subquery` is. */
  readonly apply?: (expr: Extract<PlanExpr, { kind: 'apply' }>) => ApplyRunner;
  /** The outer values of a level, one row each, as they are now. */
  readonly outer?: (level: number) => readonly Vector[];
  /** See SubqueryRunner. Default 0. */
  readonly callDepth?: number;
}
