/**
 * Tables of WITH that are read several times have the columns that any of their readers asks for.
 *
 * A body is followed once all who read it are: those further out, and the bodies of tables that were made after it.
 */
import { bodyIn, exprsOf, mapExprs, mapParts, mapPipelines, partsOf, pipelinesOf, withBody } from '../plan/walk.ts';
import type { Pipeline, PlanExpr, PlanOp } from '../plan/plan.ts';
import type { Rule } from './rule.ts';
import { type Demands, followed, namesTypes } from './projection-pushdown.ts';

export const sharedColumns = {
  name: 'shared-columns',
  whole: true,
  apply: (ops, { functions }, nested) => {
    if (nested) return ops;
    const bodies = bodiesIn(ops);
    if (bodies.size === 0 || namesTypes(ops, functions)) return ops;
    const demands: Demands = new Map();
    // What functions ask for is not followed.
    for (const f of functions) askSubqueries(f.body, demands);
    ask(ops, demands);
    const made = new Map<number, Pipeline>();
    // A body reads tables that were made before it alone.
    for (const id of [...bodies.keys()].sort((a, b) => b - a)) {
      const body = bodies.get(id)!;
      const { ops: told } = followed(body.ops, demands.get(id) ?? 'all', demands);
      askInside(body.ops, demands);
      made.set(id, { ops: told });
    }
    return replaced(ops, made, new Map());
  },
} as const satisfies Rule;

/** The bodies below these operators, in subqueries too, by their ids. */
export const bodiesIn = (
  ops: readonly PlanOp[],
  found = new Map<number, Pipeline>(),
): ReadonlyMap<number, Pipeline> => {
  const look = (p: Pipeline): void => void bodiesIn(p.ops, found);
  for (const op of ops) {
    if (op.kind === 'shared') {
      if (found.has(op.id)) continue;
      found.set(op.id, op.body);
    }
    pipelinesOf(op).forEach(look);
    exprsOf(op).forEach((e) => eachSubquery(e, look));
  }
  return found;
};
/** Each pipeline that an expression runs. */
export const eachSubquery = (e: PlanExpr, f: (p: Pipeline) => void): void => {
  if (e.kind === 'subquery') f(e.body);
  if (e.kind === 'apply') f(e.body.pipeline);
  const body = bodyIn(e);
  if (body) eachSubquery(body, f);
  for (const part of partsOf(e)) eachSubquery(part, f);
};

/** What a pipeline of which all is wanted asks of the tables in it, and its subqueries of theirs. */
const ask = (ops: readonly PlanOp[], demands: Demands): void => {
  followed(ops, 'all', demands);
  askInside(ops, demands);
};
const askInside = (ops: readonly PlanOp[], demands: Demands): void => {
  for (const op of ops) {
    exprsOf(op).forEach((e) => askSubqueries(e, demands));
    if (op.kind !== 'shared') for (const p of pipelinesOf(op)) askInside(p.ops, demands);
  }
};
const askSubqueries = (e: PlanExpr, demands: Demands): void => eachSubquery(e, (p) => ask(p.ops, demands));

type Made = ReadonlyMap<number, Pipeline>;
/** The operators with other bodies; each of these is made once, so that it stays one. */
export const replaced = (ops: readonly PlanOp[], made: Made, done: Map<number, Pipeline>): readonly PlanOp[] => {
  const inner = (p: Pipeline): Pipeline => ({ ops: replaced(p.ops, made, done) });
  return ops.map((op) => {
    const mapped = op.kind === 'shared' ? op : mapPipelines(op, inner);
    const own = mapExprs(mapped, (e) => inExpr(e, inner));
    if (own.kind !== 'shared') return own;
    let body = done.get(own.id);
    if (!body) done.set(own.id, (body = inner(made.get(own.id) ?? own.body)));
    return { ...own, body };
  });
};
const inExpr = (e: PlanExpr, f: (p: Pipeline) => Pipeline): PlanExpr => {
  const mapped = mapParts(e, (part) => inExpr(part, f));
  if (mapped.kind === 'subquery') return { ...mapped, body: f(mapped.body) };
  if (mapped.kind === 'apply') return { ...mapped, body: { ...mapped.body, pipeline: f(mapped.body.pipeline) } };
  return bodyIn(mapped) ? withBody(mapped, (body) => inExpr(body, f)) : mapped;
};
