/** Aggregation in pipes: keys, aggregate calls, and the bare result of a lone one. */
import assert from 'node:assert';
import { aggregateCall, aggregateIn, markedAggregate } from './calls.ts';
import { recordFault, targetPath } from './assignments.ts';
import type { Scope } from './scope.ts';
import type { Analysis } from './context.ts';
import { type AggregateCall, type ExprContext, lowerExpr } from './exprs.ts';
import type { AggregateOp, Assignment, Expr } from '../ast.ts';
import { functionHint } from './hints.ts';
import { literal, pathExpr, pathOf } from '../plan/walk.ts';
import type { Aggregate, AggregateForm, FieldPath, FunctionSignature, PlanExpr, PlanOp } from '../plan/plan.ts';
import { stringValue } from '../../vectors/value.ts';
import { types } from '../../vectors/type.ts';
import { collated } from '../sql/values/collation.ts';
import { conditionIn } from '../sql/conditions.ts';
import { textOfRow } from '../sql/values/casts.ts';
import type { TypeOf } from '../sql/values/decimals.ts';
import { jsonOfRow } from '../sql/values/json.ts';
import { isOfClocks } from '../sql/values/clocks.ts';
import { extremeOfSpans, inAggregate, orderOfSpan } from '../sql/values/stored.ts';
import { alternatives } from '../types/of.ts';

/** The plan's aggregate for a call whose argument and filter are lowered in `c`. */
export const aggregateOf = (a: Analysis, { order, ...written }: AggregateCall, c: ExprContext): Aggregate => {
  // The least and the greatest are the same in any order.
  const isOrdered = order && !(c.sql && (written.name === 'min' || written.name === 'max'));
  const call: AggregateCall = isOrdered ? { ...written, order } : written;
  const signature = aggregateIn(a, call.name, c.sql !== undefined);
  const count = (call.argument ? 1 : 0) + (call.others?.length ?? 0);
  if (!signature)
    a.lateFaults.push({
      message: `unknown aggregation function: ${call.name}`,
      hint: functionHint(call.name, c.scope, a.environment),
    });
  else if (!call.argument && call.name !== 'count') a.lateFaults.push({ message: `${call.name}: argument required` });
  else if (count < signature.argumentsMin)
    a.fault(
      'too few arguments',
      call.place,
      signature.withinGroup ? `write ${call.name}(...) within group (order by ...)` : undefined,
    );
  else if (count > signature.argumentsMax) a.fault('too many arguments', call.place);
  const given = givenTo(a, call, {
    isSql: c.sql !== undefined,
    typeOf: c.sql?.typeOf,
    lower: (e) => inAggregate(call.name, lowerExpr(a, e, c), c.sql?.typeOf),
    orderOf: (e) => orderOfSpan(e, c.sql?.typeOf),
    scope: c.scope,
  });
  const isText = given.argument && !isOfClocks(call.name, given.argument) && areTexts(given.argument, c);
  if (ofNumbers.has(call.name) && isText)
    a.fault(
      `${call.name}: numbers or durations are needed, and this is text`,
      call.place,
      `write ${call.name}(x::double)`,
    );
  const extreme = c.sql && extremeOfSpans(call.name, given.argument, c.sql.typeOf);
  return {
    name: call.name,
    ...given,
    ...extreme,
    ...(call.filter ? { where: conditionIn(c, lowerExpr(a, call.filter, c)) } : {}),
  };
};
/** Aggregates that find nothing to add in texts. */
const ofNumbers: ReadonlySet<string> = new Set(['sum', 'avg', 'mean']);
/** What is known to be text alone. */
const areTexts = (e: PlanExpr, c: ExprContext): boolean => {
  const given = c.sql?.typeOf ? alternatives(c.sql.typeOf(e)).filter((t) => t !== types.null) : [];
  return given.length > 0 && given.every((t) => t === types.string);
};

/** How the arguments of a call are lowered. */
interface Lowering {
  readonly isSql: boolean;
  readonly typeOf: TypeOf;
  readonly lower: (e: Expr) => PlanExpr;
  /** What values are in order of. */
  readonly orderOf: (e: PlanExpr) => PlanExpr;
  readonly scope: Scope;
}

/** What the aggregate of a call is given, and the form of the call. */
export const givenTo = (
  a: Analysis,
  call: AggregateCall,
  { isSql, typeOf, lower, orderOf, scope }: Lowering,
): AggregateForm & { readonly argument?: PlanExpr } => {
  const signature = a.environment.aggregates.find(call.name);
  const form = { distinct: call.distinct, ...(isSql && { sql: true as const }) };
  if (!call.argument) return form;
  const written = [call.argument, ...(call.others ?? [])].map(lower);
  const ofSql = isSql ? (jsonOfRow(call.name, written) ?? textOfRow(call.name, written, typeOf)) : undefined;
  const args = [...(ofSql ?? written)];
  if (args[1] && signature?.comparesSecond) args[1] = orderOf(args[1]);
  const { order } = call;
  if (call.descending && args.length > 1) args[2] = literal(stringValue('desc'));
  const given = argumentOf(signature, args);
  const keys = order?.map((k) => collated(k, orderOf(lower(k.expr)))) ?? [];
  return {
    ...form,
    ...(args.length > 1 && { arity: args.length }),
    argument: order
      ? { kind: 'record', elements: [field('argument', given), ...keys.map((k, i) => field(`k${i}`, k))] }
      : given,
    ...(order && {
      order: order.map((k) => ({
        order: k.order ?? 'asc',
        nulls: k.nulls ?? (isSql ? scope.nullsOf(k.order ?? 'asc') : 'last'),
        ...(isSql && { sql: true as const }),
      })),
    }),
  };
};

/** Equal for forms of calls that are one. */
export const formKey = ({ distinct, arity, order }: AggregateForm): string =>
  `${distinct} ${arity ?? 1} ${order?.map((k) => `${k.order} ${k.nulls}`).join() ?? ''}`;

const argumentNames = ['value', 'by', 'third'] as const;
const field = (name: string, value: PlanExpr) => ({ kind: 'field', name, value }) as const;

/**
 * What an aggregate is given: its argument, or the fields of a record where there are more, or may be but in SQL alone.
 */
const argumentOf = (signature: FunctionSignature | undefined, args: readonly PlanExpr[]): PlanExpr => {
  const limited = signature?.sqlOnly;
  const pairs = (typeof limited === 'object' ? limited.pipeArgumentsMax : (signature?.argumentsMax ?? 1)) > 1;
  return args.length === 1 && !pairs
    ? args[0]
    : { kind: 'record', elements: args.map((e, i) => field(argumentNames[i], e)) };
};

/** The operator as such. Every call in it is an aggregate's, whatever functions there are. */
export const lowerAggregate = (a: Analysis, op: AggregateOp, c: ExprContext): readonly PlanOp[] => {
  // What begins with an assignment and has no keys is a list of assignments that happen to be aggregates.
  if (
    op.implied &&
    op.keys.length === 0 &&
    op.aggs[0]?.target &&
    op.aggs.every((x) => aggregateCall(a, x.expr, c.scope))
  )
    return lowerAggregates(a, op.aggs, c);
  const keys = op.keys.flatMap((x) => {
    const expr = lowerExpr(a, x.expr, c);
    const target = keyTarget(a, x, expr, c);
    return target ? [{ target, expr }] : [];
  });
  const calls = op.aggs.flatMap((x) => {
    const call = calledAggregate(a, x.expr);
    if (call.argument || call.name === 'count') return [{ x, call }];
    a.fault(
      `aggregator '${call.name}' requires argument`,
      x.expr,
      a.environment.aggregates.find(call.name) ? undefined : functionHint(call.name, c.scope, a.environment),
    );
    return [];
  });
  return aggregated(a, { ...op, faultsTwice: true }, keys, calls, c);
};

interface Calls {
  readonly x: Assignment;
  readonly call: AggregateCall;
}
type Keys = readonly { readonly target: FieldPath; readonly expr: PlanExpr }[];
interface AggregationShape {
  readonly keys: readonly unknown[];
  readonly aggs: readonly Assignment[];
  readonly limit?: string | undefined;
  readonly faultsTwice?: true;
}

const aggregated = (
  a: Analysis,
  op: AggregationShape,
  keys: Keys,
  calls: readonly Calls[],
  c: ExprContext,
): readonly PlanOp[] => {
  const aggregates = calls.flatMap(({ x, call }) => {
    const target = x.target ? targetPath(a, x.target, x, c) : [a.nameOf(x.expr, false)];
    const before = a.faults.length;
    const aggregate = aggregateOf(a, call, c);
    // The reference looks at what it has to find a name for twice, and so reports its faults twice.
    if (op.faultsTwice && !x.target) {
      a.faults.push(...a.faults.slice(before));
      if (aggregate.argument) a.places.twice.add(aggregate.argument);
    }
    return target ? [{ target, aggregate }] : [];
  });
  const fault = recordFault([...keys, ...aggregates].map((x) => x.target));
  if (fault) a.lateFaults.push({ message: fault });
  const aggregate: PlanOp = {
    kind: 'aggregate',
    keys,
    aggregates,
    ...(op.limit !== undefined ? { groupsMax: Number(op.limit) } : {}),
  };
  const [only, another] = [...op.keys, ...op.aggs] as readonly Partial<Assignment>[];
  const [made] = [...keys, ...aggregates];
  if (!only || another || only.target || !made) return [aggregate];
  return [aggregate, { kind: 'values', exprs: [pathExpr(made.target)] }];
};

/** Assignments, or a bare call, whose right sides are calls of aggregates. */
export const lowerAggregates = (a: Analysis, aggs: readonly Assignment[], c: ExprContext): readonly PlanOp[] =>
  aggregated(
    a,
    { keys: [], aggs },
    [],
    aggs.map((x) => ({ x, call: aggregateCall(a, x.expr, c.scope)! })),
    c,
  );

/** A bare call of an aggregate in an operator's place. */
export const lowerLoneAggregate = (a: Analysis, e: Expr, c: ExprContext): readonly PlanOp[] =>
  lowerAggregates(a, [{ kind: 'assignment', expr: e, start: e.start, end: e.end }], c);

/** What stands in an aggregate's place: a call of a name, of at most one argument. */
const calledAggregate = (a: Analysis, e: Expr): AggregateCall => {
  if (e.kind === 'agg') return markedAggregate(a, e);
  assert(e.kind === 'call' && e.callee.kind === 'name');
  const [argument, ...others] = e.args as readonly Expr[];
  return {
    name: e.callee.text.toLowerCase(),
    place: e,
    ...(argument && { argument }),
    ...(others.length > 0 && { others }),
    distinct: false,
  };
};

/** What a key is called: a path by its last name, other expressions by their implied name. */
const keyTarget = (a: Analysis, x: Assignment, expr: PlanExpr, c: ExprContext): FieldPath | undefined => {
  if (x.target) return targetPath(a, x.target, x, c);
  const path = pathOf(expr);
  return [path && path.length > 0 && x.expr.kind !== 'literal' ? path.at(-1)! : a.nameOf(x.expr, false)];
};
