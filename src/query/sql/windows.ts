/**
 * Window functions of one SELECT: calls are noted while the clauses are lowered, each leaving an expression that stands
 * for its result; the op comes behind grouping and HAVING, and what was lowered is then written over its rows.
 */
import { type Type, isFloat, isInteger, types } from '../../vectors/type.ts';
import { type Value, missing, underValue } from '../../vectors/value.ts';
import { formKey, givenTo } from '../analyze/aggregates.ts';
import { aggregateCall, refusedNames } from '../analyze/calls.ts';
import type { Analysis } from '../analyze/context.ts';
import type { AggregateCall, ExprContext } from '../analyze/exprs.ts';
import type {
  AggExpr,
  Arg,
  CallExpr,
  Expr,
  FrameBound,
  NameNode,
  OrderKey,
  Span,
  WindowDef,
  WindowExpr,
  WindowFrameNode,
  WindowSpec,
} from '../ast.ts';
import { exprKey, fieldOf, literal, mapParts, someExpr, thisExpr } from '../plan/walk.ts';
import type { FrameEdge, PlanExpr, PlanOp, SortKey, WindowCall, WindowFrame, WindowGroup } from '../plan/plan.ts';
import { windowFunctionHint } from '../analyze/hints.ts';
import { didYouMean } from '../analyze/suggest.ts';
import { alternatives } from '../types/of.ts';
import { isOpen } from '../types/check.ts';
import { isDate } from './values/casts.ts';
import { collated } from './values/collation.ts';
import { lengthOfSpan, spanOf, spanValue } from '../../vectors/spans.ts';
import { extremeOfSpans, inAggregate, orderOfSpan, spanOfFile } from './values/stored.ts';
import { Scope } from '../analyze/scope.ts';
import { sqlCondition } from './conditions.ts';
import { directionOf } from './queries.ts';
import { argumentsByPlace } from './window-arguments.ts';
import { ofClocks } from './values/clocks.ts';
import { jsonOfAggregate } from './values/json.ts';
import { ofUnits } from './values/decimals.ts';

/** A window function where none may stand gives a fault, else what stands for its result. */
export const lowerWindow = (a: Analysis, e: WindowExpr, { sql }: ExprContext): PlanExpr => {
  const isByPlaces = e.call.kind === 'call' && !a.environment.windows.find(nameOf(e))?.parameters;
  const refused = isByPlaces && e.call.kind === 'call' ? refusedNames(a, e.call, nameOf(e)) : undefined;
  if (refused) return refused;
  if (sql?.window) return sql.window(e);
  const clause = sql?.clause ?? 'this place';
  const filters = clause === 'WHERE' || clause === 'HAVING';
  return a.wrong(
    `window function "${nameOf(e)}" cannot be called in ${clause}`,
    e,
    filters ? 'write qualify ... after the other clauses, or where ... around a subquery' : undefined,
    'window',
  );
};

const nameOf = (e: WindowExpr): string =>
  (e.call.kind === 'agg' ? e.call.name.text : e.call.callee.kind === 'name' ? e.call.callee.text : '').toLowerCase();

const isOrdered = (call: WindowExpr['call']): call is AggExpr =>
  call.kind === 'agg' && (call.order ?? call.within) !== undefined;
const ends: Readonly<Record<string, 'first' | 'last'>> = {
  first_value: 'first',
  first: 'first',
  last_value: 'last',
  last: 'last',
};
/**
 * `first_value(v order by k)` looks for the first row of the frame in that order: the aggregate of ordered rows does.
 */
const orderedPlace = (e: WindowExpr, name: string): WindowExpr | undefined => {
  const { call } = e;
  const end = ends[name];
  const nulls = e.nulls ?? (call.kind === 'agg' ? call.nulls : undefined);
  if (!end || !isOrdered(call) || !call.order || call.distinct || call.filter || (end === name && !nulls))
    return undefined;
  const { nulls: _, ...rest } = call;
  const { nulls: __, ...whole } = e;
  const { arg } = call;
  const filter: Expr | undefined =
    nulls === 'ignore' && arg
      ? { kind: 'is-null', negated: true, expr: arg, start: arg.start, end: arg.end }
      : undefined;
  return { ...whole, call: { ...rest, name: { ...call.name, text: end }, ...(filter && { filter }) } };
};

/** How a SELECT lowers what is inside a call. */
interface WindowSource {
  readonly scope: Scope;
  readonly lower: (e: Expr) => PlanExpr;
  /** The type of the rows behind FROM. */
  readonly rowType: () => Type;
  readonly typeOf: (e: PlanExpr) => Type;
  /** The type of these rows by what pools hold. */
  readonly content: () => Type;
}

/**
 * `offsets` are those of the frame that differ from row to row: the `argument` of an edge is an index into them until
 * the window is that of a call.
 */
interface Window {
  readonly partition: readonly PlanExpr[];
  readonly order: readonly SortKey[];
  readonly frame?: WindowFrame;
  readonly offsets: readonly PlanExpr[];
}
interface Group extends Omit<WindowGroup, 'calls'> {
  readonly key: string;
  readonly calls: { readonly key: string; readonly call: WindowCall }[];
}

/** The field of a window op's output that holds the row. */
const rowField = 'row';

/** The window calls of one SELECT. All are collected before `op` and `settle` are asked. */
export class SqlWindows {
  private readonly a: Analysis;
  private readonly defs: readonly WindowDef[];
  private readonly source: WindowSource;
  private readonly groups: Group[] = [];
  private readonly named = new Map<WindowDef, Window>();
  /** Sort keys are lowered twice: a call is noted once. */
  private readonly noted = new Map<WindowExpr, PlanExpr>();
  /** Expressions that stand for results, and the fields that these are in. */
  private readonly results = new WeakMap<PlanExpr, { readonly name: string; readonly target: string }>();
  private count = 0;

  constructor(a: Analysis, defs: readonly WindowDef[], source: WindowSource) {
    this.a = a;
    this.defs = defs;
    this.source = source;
    const names = new Set<string>();
    for (const { name } of defs) {
      if (names.has(name.text)) a.fault(`duplicate window name "${name.text}"`, name);
      names.add(name.text);
    }
  }

  get isUsed(): boolean {
    return this.groups.length > 0;
  }

  /** Notes a call and gives what stands for its result. */
  readonly collect = (e: WindowExpr): PlanExpr => {
    let result = this.noted.get(e);
    if (!result) this.noted.set(e, (result = this.collectOne(e)));
    return result;
  };

  /** True for what `collect` gave. */
  isResult(e: PlanExpr): boolean {
    return this.results.has(e);
  }

  /** The name of the first window function inside. */
  nameIn(e: PlanExpr): string | undefined {
    let found: string | undefined;
    someExpr(e, (part) => {
      found ??= this.results.get(part)?.name;
      return false;
    });
    return found;
  }

  /** The op, its expressions written over the rows that come into it; none without calls. */
  op(settle: (e: PlanExpr) => PlanExpr): PlanOp | undefined {
    if (!this.isUsed) return undefined;
    const groups = this.groups.map(
      (g): WindowGroup => ({
        partition: g.partition.map(settle),
        order: g.order.map((k) => ({ ...k, expr: settle(k.expr) })),
        calls: g.calls.map(({ call }) => ({
          ...call,
          arguments: call.arguments.map(settle),
          ...(call.where ? { where: settle(call.where) } : {}),
        })),
      }),
    );
    return { kind: 'window', row: rowField, groups };
  }

  /** An expression over the op's output. */
  settle(e: PlanExpr): PlanExpr {
    if (!this.isUsed) return e;
    const row = fieldOf(thisExpr, rowField);
    const visit = (part: PlanExpr): PlanExpr => {
      const result = this.results.get(part);
      if (result) return this.a.like(part, fieldOf(thisExpr, result.target));
      if (part.kind === 'this') return this.a.like(part, row);
      if (part.kind === 'subquery' && part.correlated)
        return this.a.like(part, { ...part, body: { ops: [{ kind: 'values', exprs: [row] }, ...part.body.ops] } });
      return this.a.like(part, mapParts(part, visit));
    };
    return visit(e);
  }

  private collectOne(e: WindowExpr): PlanExpr {
    const name = nameOf(e);
    const window = name === 'fill' ? this.lineOf(e) : this.window(e.over);
    const { frame, offsets } = window;
    const given = this.call(e, name);
    if (!given) return literal(missing);
    const [argument, ...others] = given.arguments;
    const aggregated = { ...given, ...(argument && { argument }) };
    const units = ofClocks(aggregated) ?? ofUnits(aggregated, this.source.typeOf);
    const call = units ? { ...given, arguments: [units.argument, ...others] } : given;
    const whole: WindowFrame = {
      unit: 'range',
      start: { kind: 'unbounded' },
      end: { kind: 'current' },
      exclude: 'none',
    };
    const shifted = frame && {
      ...frame,
      start: behind(frame.start, call.arguments.length),
      end: behind(frame.end, call.arguments.length),
    };
    const target = this.add(window, { ...call, arguments: [...call.arguments, ...offsets], frame: shifted ?? whole });
    const result = fieldOf(thisExpr, `\u0000window ${target}`);
    this.results.set(result, { name, target });
    this.a.stands(result, () => this.a.typeOfWindow(call, this.source.content()));
    return units ? units.settle(result) : jsonOfAggregate(name, result);
  }

  /** The field that the call's result is in; equal calls share one. */
  private add({ partition, order }: Window, call: Omit<WindowCall, 'target'>): string {
    const groupKey = `${partition.map(exprKey).join()};${orderKey(order)}`;
    let group = this.groups.find((g) => g.key === groupKey);
    if (!group) this.groups.push((group = { key: groupKey, partition, order, calls: [] }));
    const key = `${call.name} ${formKey(call)} ${call.ignoreNulls} ${call.arguments.map(exprKey).join()};${call.where ? exprKey(call.where) : ''};${frameKey(call.frame)}`;
    const known = group.calls.find((c) => c.key === key);
    if (known) return known.call.target;
    const target = `w${this.count++}`;
    group.calls.push({ key, call: { target, ...call } });
    return target;
  }

  private window(over: NameNode | WindowSpec): Window {
    if (over.kind === 'name') return this.byName(over, this.defs.length) ?? { partition: [], order: [], offsets: [] };
    return this.spec(over, this.defs.length);
  }

  /** A window of the WINDOW clause; each may build on those before it. */
  private byName(name: NameNode, before: number): Window | undefined {
    const at = this.defs.slice(0, before).findIndex((d) => d.name.text === name.text);
    const def = this.defs[at];
    if (!def) {
      const later = this.defs.some((d) => d.name.text === name.text);
      const hint =
        didYouMean(
          name.text,
          this.defs.map((d) => d.name.text),
        ) ?? `write window ${name.text} as (...) behind HAVING`;
      this.a.fault(
        later ? `window "${name.text}" is defined behind this one` : `no such window "${name.text}"`,
        name,
        later ? undefined : hint,
        'window',
      );
      return undefined;
    }
    let window = this.named.get(def);
    if (!window) this.named.set(def, (window = this.spec(def.spec, at)));
    return window;
  }

  private spec(spec: WindowSpec, before: number): Window {
    const { lower } = this.source;
    const base = spec.base && this.byName(spec.base, before);
    if (base) this.checkBase(spec, spec.base!, base);
    const partition = base ? base.partition : spec.partitionBy.map(lower);
    const order = base && spec.orderBy.length === 0 ? base.order : spec.orderBy.map((k) => this.sortKey(k));
    const offsets: PlanExpr[] = [];
    return { partition, order, offsets, ...(spec.frame ? { frame: this.frame(spec.frame, order, offsets) } : {}) };
  }

  private sortKey(k: OrderKey): SortKey {
    return {
      expr: collated(k, orderOfSpan(this.source.lower(k.expr), this.source.typeOf)),
      ...directionOf(k, this.source.scope),
    };
  }

  /** The window of `fill`, which looks at its whole partition, by an order of its own if it has one. */
  private lineOf(e: WindowExpr): Window {
    const own = e.call.kind === 'agg' ? (e.call.order ?? e.call.within) : undefined;
    const { partition, order } = this.window(e.over);
    const keys = own ? own.map((k) => this.sortKey(k)) : order;
    const [key, ...others] = keys;
    if (!key || others.length > 0) this.a.fault('fill needs an ORDER BY with one key', e.call);
    else if (!this.isNumeric(key.expr))
      this.a.fault('fill needs an ORDER BY key that is a number, a duration or a time', e.call);
    return { partition, order: keys, offsets: [] };
  }

  /** Whether some values may be numbers, durations or times. */
  private isNumeric(e: PlanExpr): boolean {
    return alternatives(this.a.typeOfExpr(e, this.source.rowType())).some(
      (t) => isOpen(t) || isInteger(t) || isFloat(t) || t === types.duration || t === types.time,
    );
  }

  /** Whether some values may be texts, as times of day are. */
  private isText(e: PlanExpr): boolean {
    return alternatives(this.a.typeOfExpr(e, this.source.rowType())).includes(types.string);
  }

  private checkBase(spec: WindowSpec, name: NameNode, base: Window): void {
    const [partition] = spec.partitionBy;
    const [order] = spec.orderBy;
    if (partition) this.a.fault(`PARTITION BY cannot be added to window "${name.text}"`, partition);
    if (order && base.order.length > 0)
      this.a.fault(`window "${name.text}" has an ORDER BY already`, order, undefined, 'window');
    if (base.frame)
      this.a.fault(
        `window "${name.text}" has a frame, so that none can build on it`,
        name,
        `write over ${name.text}, without parentheses, to take it as it is`,
        'window',
      );
  }

  private frame(node: WindowFrameNode, order: readonly SortKey[], offsets: PlanExpr[]): WindowFrame {
    const { unit, first, last } = node;
    const unitName = unit.toUpperCase();
    const start = this.edge(first, node, order, offsets);
    const end = last ? this.edge(last, node, order, offsets) : { kind: 'current' as const };
    if (unit === 'groups' && order.length === 0) this.a.fault('GROUPS needs an ORDER BY in its window', node);
    if (first.bound === 'unbounded following')
      this.a.fault(`${unitName} frame cannot begin with UNBOUNDED FOLLOWING`, first);
    if (last?.bound === 'unbounded preceding')
      this.a.fault(`${unitName} frame cannot end with UNBOUNDED PRECEDING`, last);
    const rank = {
      'unbounded preceding': 0,
      preceding: 1,
      'current row': 2,
      following: 3,
      'unbounded following': 4,
    } as const;
    const endBound = last?.bound ?? 'current row';
    if (
      first.bound !== 'unbounded following' &&
      endBound !== 'unbounded preceding' &&
      rank[first.bound] > rank[endBound]
    ) {
      this.a.fault(
        `frame that begins with ${first.bound.toUpperCase()} cannot end with ${endBound.toUpperCase()}`,
        last ?? first,
      );
    }
    const exclude =
      node.exclude === undefined || node.exclude === 'no others'
        ? 'none'
        : node.exclude === 'current row'
          ? 'current'
          : node.exclude;
    return { unit, start, end, exclude };
  }

  private edge(
    bound: FrameBound,
    { unit }: WindowFrameNode,
    order: readonly SortKey[],
    offsets: PlanExpr[],
  ): FrameEdge {
    if (!bound.offset) return { kind: bound.bound === 'current row' ? 'current' : 'unbounded' };
    const before = this.a.faults.length;
    const kind = bound.bound as 'preceding' | 'following';
    const lowered = spanOfFile(this.source.lower(bound.offset), this.source.typeOf);
    const offset = this.a.constant(lowered);
    if (this.a.faults.length > before) return { kind: 'current' };
    if (!offset) {
      if (unit === 'range') this.checkRangeKey(bound.offset, order, true);
      return { kind, argument: offsets.push(lowered) - 1 };
    }
    if (unit === 'range') return { kind, offset: this.rangeOffset(offset.value, bound.offset, order) };
    if (!isInteger(offset.value.type) || Number(offset.value.data) < 0)
      this.a.fault(`offset of ${unit.toUpperCase()} must be an integer that is not negative`, bound.offset);
    return { kind, offset: offset.value };
  }

  /** The distance of the sort key; whole numbers beside dates are days. */
  private rangeOffset(offset: Value, place: Span, order: readonly SortKey[]): Value {
    const { type, data } = offset;
    const isNumber = isInteger(type) || isFloat(type);
    const span = isNumber ? undefined : spanOf(offset);
    const isForward = isNumber ? Number(data) >= 0 : span !== undefined && lengthOfSpan(span) >= 0n;
    if (!isForward) this.a.fault('offset of RANGE must be a number or an interval that is not negative', place);
    this.checkRangeKey(place, order, !isNumber);
    const [key] = order;
    if (!key || !isForward) return offset;
    if (isInteger(type) && isDate(key.expr)) return spanValue({ months: 0, days: Number(data), nanos: 0n }) ?? offset;
    const kinds = alternatives(this.a.typeOfExpr(key.expr, this.source.rowType())).filter((t) => t !== types.null);
    const isTimes = kinds.length > 0 && kinds.every((t) => t === types.time || t === types.duration);
    if (isTimes && isNumber)
      this.a.fault('offset of RANGE must be an interval where the ORDER BY key is a time', place);
    if (!isNumber && kinds.length > 0 && kinds.every((t) => isInteger(t) || isFloat(t)))
      this.a.fault('offset of RANGE must be a number where the ORDER BY key is one', place);
    return offset;
  }

  private checkRangeKey(place: Span, order: readonly SortKey[], byInterval: boolean): void {
    const [key] = order;
    if (!key || order.length > 1)
      return this.a.fault('RANGE with an offset needs an ORDER BY with one key in its window', place);
    if (!this.isNumeric(key.expr) && !(byInterval && this.isText(key.expr)))
      this.a.fault('RANGE with an offset needs an ORDER BY key that is a number, a duration or a time', place);
  }

  /** The call without its window; undefined, and a fault, if there is no such function or it cannot be called so. */
  private call(e: WindowExpr, name: string): Omit<WindowCall, 'target' | 'frame'> | undefined {
    const ordered = orderedPlace(e, name);
    if (ordered) return this.call(ordered, nameOf(ordered));
    const a = this.a;
    const { call } = e;
    const f = isOrdered(e.call) && a.environment.aggregates.find(name) ? undefined : a.environment.windows.find(name);
    const nulls = e.nulls ?? (call.kind === 'agg' ? call.nulls : undefined);
    const before = a.faults.length;
    const aggregate = f ? undefined : aggregateCall(a, call, new Scope(undefined), true);
    if (a.faults.length > before) return undefined;
    if (aggregate && a.environment.aggregates.find(name)) return this.aggregate(aggregate, call, nulls);
    if (!f) {
      a.fault(`"${name}" is no window function and no aggregate`, call, windowFunctionHint(name, a.environment));
      return undefined;
    }
    const { distinct, filter } = call.kind === 'agg' ? call : { distinct: false, filter: undefined };
    if (distinct) a.fault(`DISTINCT goes with aggregates, not with "${name}"`, call);
    if (filter) a.fault(`FILTER goes with aggregates, not with "${name}"`, filter);
    const order = call.kind === 'agg' && name !== 'fill' ? (call.order ?? call.within) : undefined;
    if (order && !f.takesOrder)
      a.fault(`ORDER BY among the arguments does not go with "${name}"`, order[0]!, 'write it in OVER (...)');
    if (nulls && !f.treatsNulls) this.noNulls(nulls, name, call);
    const args = argumentsByPlace(a, argumentsOf(call), f);
    if (!args) return undefined;
    const { argumentsMin: min, argumentsMax: max } = f;
    if (args.length < min || args.length > max)
      a.fault(args.length < min ? 'too few arguments' : 'too many arguments', call);
    if (a.faults.length > before) return undefined;
    const lowered = args.map((arg) => this.argument(arg));
    if (name === 'fill' && !this.isNumeric(lowered[0]!))
      a.fault('fill needs numbers, durations or times', args[0]!, 'write coalesce or last_value(v ignore nulls)');
    this.checkCount(name, args, lowered);
    const form = { name, distinct: false, ignoreNulls: nulls === 'ignore' };
    if (!order) return { ...form, arguments: lowered };
    const keys = order.map((k) => collated(k, orderOfSpan(this.source.lower(k.expr), this.source.typeOf)));
    const directions = order.map((k) => ({ ...directionOf(k, this.source.scope), sql: true as const }));
    return { ...form, arguments: [...lowered, ...keys], order: directions };
  }

  private noNulls(nulls: 'ignore' | 'respect', name: string, place: Span): void {
    this.a.fault(
      `${nulls.toUpperCase()} NULLS goes with lag, lead, first_value, last_value and nth_value, not with "${name}"`,
      place,
    );
  }

  /** An aggregate over the window. */
  private aggregate(
    call: AggregateCall,
    place: Span,
    nulls: 'ignore' | 'respect' | undefined,
  ): Omit<WindowCall, 'target' | 'frame'> | undefined {
    const a = this.a;
    const before = a.faults.length;
    const { name, filter } = call;
    const { argumentsMin: min, argumentsMax: max } = a.environment.aggregates.find(name)!;
    const count = (call.argument ? 1 : 0) + (call.others?.length ?? 0);
    if (call.exported) a.fault('EXPORT_STATE does not go with OVER', place, 'export the state in a query of its own');
    if (nulls) this.noNulls(nulls, name, place);
    if (count < min || count > max) a.fault(count < min ? 'too few arguments' : 'too many arguments', place);
    if (a.faults.length > before) return undefined;
    const given = givenTo(a, call, {
      isSql: true,
      typeOf: this.source.typeOf,
      lower: (x) => inAggregate(call.name, this.source.lower(x), this.source.typeOf),
      orderOf: (x) => orderOfSpan(x, this.source.typeOf),
      scope: this.source.scope,
    });
    const { argument, ...form } = { name, ...given, ...extremeOfSpans(name, given.argument, this.source.typeOf) };
    const where = filter && sqlCondition(this.source.lower(filter));
    return { arguments: argument ? [argument] : [], ...form, ignoreNulls: false, ...(where ? { where } : {}) };
  }

  private argument(arg: Arg): PlanExpr {
    if (arg.kind === 'lambda' || arg.kind === 'function-ref')
      return this.a.wrong('function value may only be passed to a function', arg);
    return this.source.lower(arg);
  }

  /** The count of buckets and the place of the nth value begin with 1. */
  private checkCount(name: string, args: readonly Arg[], lowered: readonly PlanExpr[]): void {
    const at = name === 'ntile' ? 0 : name === 'nth_value' ? 1 : undefined;
    const count = at !== undefined ? this.a.constant(lowered[at]!) : undefined;
    if (!count || underValue(count.value).data === null) return;
    if (!isInteger(count.value.type) || Number(count.value.data) < 1)
      this.a.fault(`${name}: argument must be an integer greater than zero`, args[at!]!);
  }
}

const argumentsOf = (call: CallExpr | AggExpr): readonly Arg[] =>
  call.kind === 'call' ? call.args : [...(call.arg ? [call.arg] : []), ...(call.more ?? [])];
const orderKey = (order: readonly SortKey[]): string =>
  order.map((k) => `${exprKey(k.expr)} ${k.order} ${k.nulls}`).join();
const frameKey = ({ unit, start, end, exclude }: WindowFrame): string =>
  `${unit} ${edgeKey(start)} ${edgeKey(end)} ${exclude}`;
const behind = (edge: FrameEdge, count: number): FrameEdge =>
  'argument' in edge ? { ...edge, argument: edge.argument + count } : edge;
const edgeKey = (edge: FrameEdge): string =>
  'argument' in edge
    ? `${edge.kind} by ${edge.argument}`
    : 'offset' in edge
      ? `${edge.kind} ${exprKey({ kind: 'literal', value: edge.offset })}`
      : edge.kind;
