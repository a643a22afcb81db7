/**
 * The optimizer: rules that rewrite a plan without changing what it gives.
 *
 * Invariants:
 * - A rule sees one pipeline at a time, innermost first; subqueries, branches and right sides are pipelines of their
 *   own.
 * - The order of the list is the order of work: folding first, filters down to the scans, then what depends on the
 *   filters' place, columns last.
 * - Every rule can be switched off by its name, and the answer stays the same: `test/random` and the case runner
 *   compare.
 */
import { checkStop } from '../../vectors/stop.ts';
import { bodyIn, exprsOf, hasSubquery, mapExprs, mapParts, mapPipelines, pipelinesOf, withBody } from '../plan/walk.ts';
import type { CompileEnvironment, Pipeline, Plan, PlanExpr, PlanOp } from '../plan/plan.ts';
import type { Rule, RuleContext } from './rule.ts';
import { caseFilter } from './case-filter.ts';
import { caseOfFilter } from './case-of-filter.ts';
import { constantFolding } from './constant-folding.ts';
import { existsJoin } from './exists-join.ts';
import { filterMerge, filterSplit } from './filter-parts.ts';
import { filterThroughAggregate } from './filter-through-aggregate.ts';
import { filterThroughCombine } from './filter-through-combine.ts';
import { filterThroughJoin, filterThroughOuterJoin } from './filter-through-join.ts';
import { filterThroughSort } from './filter-through-sort.ts';
import { filterThroughValues } from './filter-through-values.ts';
import { headThroughValues } from './head-through-values.ts';
import { inJoin } from './in-join.ts';
import { joinOrder } from './join-order.ts';
import { distinctLeaders, windowLeaders } from './leaders.ts';
import { leftFirst } from './left-first.ts';
import { outerJoin } from './outer-join.ts';
import { passRemoval } from './pass-removal.ts';
import { projectionPushdown } from './projection-pushdown.ts';
import { predicatePushdown } from './predicate-pushdown.ts';
import { scanLimit } from './scan-limit.ts';
import { sortedAggregate } from './sorted-aggregate.ts';
import { bodiesIn, sharedColumns } from './shared-columns.ts';
import { impliedFilter, sharedFilters } from './shared-filters.ts';
import { topK } from './top-k.ts';
import { unorderedScan } from './unordered-scan.ts';

/** What takes filters down, step by step: through a subquery of FROM, its aggregation, the joins in it. */
const descent = [
  filterThroughCombine,
  filterThroughValues,
  filterThroughSort,
  filterThroughAggregate,
  filterMerge,
  filterThroughJoin,
] as const satisfies readonly Rule[];

/** What has nothing to do but where tables of WITH have filters of their readers. */
const forShared = <R extends Rule>(list: readonly R[]): readonly R[] =>
  list.map((rule) => ({
    ...rule,
    apply: (ops, context, nested) => (context.shared ? rule.apply(ops, context, nested) : ops),
  }));

/** In the order in which they are applied; those of the descent begin again where joins have taken filters to a side. */
export const rules = [
  constantFolding,
  passRemoval,
  caseFilter,
  caseOfFilter,
  filterMerge,
  filterThroughCombine,
  filterThroughValues,
  filterThroughSort,
  filterThroughAggregate,
  filterMerge,
  outerJoin,
  filterThroughOuterJoin,
  joinOrder,
  filterThroughJoin,
  ...descent,
  sharedFilters,
  ...descent,
  ...forShared([constantFolding, impliedFilter]),
  ...descent,
  ...forShared(descent),
  filterSplit,
  existsJoin,
  inJoin,
  predicatePushdown,
  headThroughValues,
  topK,
  windowLeaders,
  distinctLeaders,
  scanLimit,
  sortedAggregate,
  unorderedScan,
  leftFirst,
  projectionPushdown,
  sharedColumns,
] as const satisfies readonly Rule[];

/** Names by which rules are switched off. */
export type RuleName = (typeof rules)[number]['name'];

/** The plan rewritten by all rules but those of `off`, in pipelines, subqueries and user functions. */
export const applyRules = (
  plan: Plan,
  environment: CompileEnvironment,
  off: readonly RuleName[] | 'all' = [],
): Plan => {
  if (off === 'all') return plan;
  let { pipeline, functions } = plan;
  const subqueries = functions.length > 0 || opsHaveSubquery(pipeline.ops);
  const shared = bodiesIn(pipeline.ops).size > 0;
  for (const rule of rules as readonly Rule[]) {
    if ((off as readonly string[]).includes(rule.name)) continue;
    const context: RuleContext = { environment, functions, subqueries, shared, bodies: new Map() };
    functions = functions.map((f) => {
      const body = applyToExpr(rule, f.body, context);
      return { ...f, body: rule.applyToFunction ? rule.applyToFunction(body, context) : body };
    });
    pipeline = applyRule(rule, pipeline, context, false);
  }
  return { pipeline, functions };
};

/** True if there is a subquery anywhere below these operators. */
const opsHaveSubquery = (ops: readonly PlanOp[]): boolean =>
  ops.some((op) => exprsOf(op).some(hasSubquery) || pipelinesOf(op).some((p) => opsHaveSubquery(p.ops)));

const applyRule = (rule: Rule, pipeline: Pipeline, context: RuleContext, nested: boolean): Pipeline => {
  checkStop();
  const inner = (p: Pipeline): Pipeline =>
    rule.whole ? inSubqueries(rule, p, context) : applyRule(rule, p, context, true);
  const below = (op: PlanOp): PlanOp => {
    const mapped = op.kind === 'shared' ? once(op, context, inner) : mapPipelines(op, inner);
    return context.subqueries ? mapExprs(mapped, (e) => applyToExpr(rule, e, context)) : mapped;
  };
  return { ops: rule.apply(pipeline.ops.map(below), context, nested) };
};

/** The one body of a table that is read several times, rewritten once. */
const once = (
  op: Extract<PlanOp, { kind: 'shared' }>,
  { bodies }: RuleContext,
  f: (body: Pipeline) => Pipeline,
): PlanOp => {
  let body = bodies.get(op.id);
  if (!body) bodies.set(op.id, (body = f(op.body)));
  return { ...op, body };
};

/** Applies the rule to nothing but the subqueries below a pipeline. */
const inSubqueries = (rule: Rule, pipeline: Pipeline, context: RuleContext): Pipeline => ({
  ops: pipeline.ops.map((op) =>
    mapExprs(
      op.kind === 'shared'
        ? once(op, context, (p) => inSubqueries(rule, p, context))
        : mapPipelines(op, (p) => inSubqueries(rule, p, context)),
      (e) => applyToExpr(rule, e, context),
    ),
  ),
});

/** Applies the rule to the subqueries of an expression. */
const applyToExpr = (rule: Rule, e: PlanExpr, context: RuleContext): PlanExpr => {
  const mapped = mapParts(e, (part) => applyToExpr(rule, part, context));
  if (mapped.kind === 'subquery') return { ...mapped, body: applyRule(rule, mapped.body, context, true) };
  if (mapped.kind === 'apply')
    return { ...mapped, body: { ...mapped.body, pipeline: applyRule(rule, mapped.body.pipeline, context, true) } };
  if (bodyIn(mapped)) return withBody(mapped, (body) => applyToExpr(rule, body, context));
  return mapped;
};
