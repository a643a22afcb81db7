/** What a rule of the optimizer is. */
import { conjunction } from '../plan/walk.ts';
import type { CompileEnvironment, Pipeline, PlanExpr, PlanFunction, PlanOp } from '../plan/plan.ts';

/** What a rule may look at beside the operators that it rewrites. */
export interface RuleContext {
  readonly environment: CompileEnvironment;
  /** User functions as the rules before this one left them. */
  readonly functions: readonly PlanFunction[];
  /** False: there is no subquery to look for in expressions. */
  readonly subqueries: boolean;
  /** There are tables of WITH that are read several times. */
  readonly shared: boolean;
  /** Bodies of tables that are read several times, by their ids, as this rule has left them. */
  readonly bodies: Map<number, Pipeline>;
}

/** One rewriting of plans, which leaves what they give as it is. */
export interface Rule {
  readonly name: string;
  /**
   * Rewrites one pipeline; `nested` is true for all but the main one. Gives the same list if there is nothing to do.
   */
  readonly apply: (ops: readonly PlanOp[], context: RuleContext, nested: boolean) => readonly PlanOp[];
  /** Rewrites the bodies of user functions. */
  readonly applyToFunction?: (body: PlanExpr, context: RuleContext) => PlanExpr;
  /** The rule looks into nested pipelines itself, from the main one. */
  readonly whole?: true;
}

/** A filter by all of these; no operator for none. */
export const filterOf = (parts: readonly PlanExpr[]): readonly PlanOp[] => {
  const expr = conjunction(parts);
  return expr ? [{ kind: 'filter', expr }] : [];
};
