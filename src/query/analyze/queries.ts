/** Queries as parts: pipelines with their scope, bodies, subqueries. */
import { type Type, types } from '../../vectors/type.ts';
import type { Analysis } from './context.ts';
import { openScope } from './decls.ts';
import type { ExprContext, SqlNames } from './exprs.ts';
import { lowerOp } from './ops.ts';
import type { Op, QueryNode } from '../ast.ts';
import { exprsOf, isSourced, readsRow } from '../plan/walk.ts';
import type { Pipeline, PlanExpr, PlanOp } from '../plan/plan.ts';
import type { CteBinding, Scope } from './scope.ts';
import { checkOneColumn, lowerCorrelatedSubquery } from '../sql/correlate.ts';

/** What a pipeline gets from its surroundings. */
export interface Flow {
  readonly scope: Scope;
  /** The type of the values that come in. */
  readonly input: Type;
  /** An operator of the same pipeline stands before it. */
  readonly hasParent: boolean;
  /** The op before it, for those that need several streams. */
  readonly previous?: PlanOp;
  /** Names of the SQL clause around it, for subqueries that use its columns. */
  readonly outer?: SqlNames;
  /** The table of WITH RECURSIVE of which this is the whole query. */
  readonly recursive?: CteBinding;
}

/** Lowers a query in a scope of its own. */
export const lowerQuery = (a: Analysis, query: QueryNode, flow: Flow): PlanOp[] =>
  lowerOps(a, query.ops, { ...flow, scope: openScope(a, query, flow.scope) });

/** Lowers operators in a row; each gets the type that comes out of those before it. */
export const lowerOps = (a: Analysis, ops: readonly Op[], flow: Flow): PlanOp[] => {
  const out: PlanOp[] = [];
  let { input, hasParent, previous } = flow;
  for (const op of ops) {
    a.grow();
    const lowered = lowerOp(a, op, { ...flow, input, hasParent, ...(previous ? { previous } : {}) });
    out.push(...lowered);
    a.limitOperators(out.length);
    input = a.typeOf(lowered, input);
    hasParent = true;
    previous = lowered.at(-1) ?? previous;
  }
  return out;
};

/** A branch or body: values come in from outside, no operator stands before it. */
export const lowerBody = (a: Analysis, query: QueryNode, flow: Flow, input: Type): Pipeline => ({
  ops: lowerQuery(a, query, {
    scope: flow.scope,
    input,
    hasParent: false,
    ...(flow.outer ? { outer: flow.outer } : {}),
  }),
});

/** A query that stands for itself: without a source it runs on one null. */
export const lowerAlone = (a: Analysis, query: QueryNode, scope: Scope, outer?: SqlNames): Pipeline => {
  const ops = lowerQuery(a, query, { scope, input: types.null, hasParent: false, ...(outer ? { outer } : {}) });
  return { ops: sourced(ops) };
};

/**
 * The operators with a source of one null before them, unless they have their own. A fork whose branches all have one
 * still needs something to hand on.
 */
export const sourced = (ops: readonly PlanOp[]): readonly PlanOp[] =>
  isSourced(ops) && ops[0]?.kind !== 'fork' ? ops : [{ kind: 'null' }, ...ops];

/** A subquery. One that reads nothing of the row runs once for all rows. */
export const lowerSubquery = (
  a: Analysis,
  query: QueryNode,
  form: Extract<PlanExpr, { readonly kind: 'subquery' }>['form'],
  c: ExprContext,
): PlanExpr => {
  const { sql } = c;
  const found =
    sql && form !== 'scalar'
      ? lowerCorrelatedSubquery(a, query, form === 'collected' || form === 'list' ? 'array' : form, { ...c, sql })
      : { ops: lowerSubqueryOps(a, query, c) };
  if (form === 'sqlScalar' && 'ops' in found) checkOneColumn(a, query, found.ops);
  return 'kind' in found ? found : subqueryOf(found.ops, form);
};

/** The operators of a subquery; names that are not its own are looked for in `outer`. */
export const lowerSubqueryOps = (a: Analysis, query: QueryNode, c: ExprContext, outer?: SqlNames): readonly PlanOp[] =>
  lowerQuery(a, query, { scope: c.scope, input: c.input, hasParent: false, ...(outer ? { outer } : {}) });

/** A subquery of operators that use no outer values. */
export const subqueryOf = (
  ops: readonly PlanOp[],
  form: Extract<PlanExpr, { readonly kind: 'subquery' }>['form'],
): PlanExpr => {
  if (isSourced(ops) || ignoresInput(ops))
    return { kind: 'subquery', body: { ops: sourced(ops) }, form, correlated: false };
  return { kind: 'subquery', body: { ops }, form, correlated: true };
};

/** Literal values first: what comes in only counts, and exactly one row comes in. */
export const ignoresInput = (ops: readonly PlanOp[]): boolean => {
  const [first] = ops;
  if (first?.kind === 'fork') return first.branches.every((b) => isSourced(b.ops) || ignoresInput(b.ops));
  return first?.kind === 'values' && !exprsOf(first).some(readsRow);
};
