/**
 * Walks over expressions and operators of a plan: children, rewriting, structural keys, and which fields of the row an
 * expression reads.
 */
import { sqlTypeKey } from '../sql/values/types.ts';
import type { CompareOperator, FieldPath, Pipeline, PlanExpr, PlanOp, SortKey } from './plan.ts';
import type { Data, Value } from '../../vectors/value.ts';
import type { Type } from '../../vectors/type.ts';

/** The row. */
export const thisExpr: PlanExpr = { kind: 'this' };
/** A constant. */
export const literal = (value: Value): PlanExpr => ({ kind: 'literal', value });
/** `of.name`. */
export const fieldOf = (of: PlanExpr, name: string): PlanExpr => ({ kind: 'field', of, name });
/** The same of SQL, where null stands for what is not there. */
export const columnOf = (of: PlanExpr, name: string): PlanExpr => ({ kind: 'field', of, name, sql: true });
/** A call of a built-in function by its lower-case name. */
export const callOf = (name: string, ...args: readonly PlanExpr[]): PlanExpr => ({
  kind: 'call',
  name,
  arguments: args,
});
/** A comparison. */
export const compareOf = (left: PlanExpr, operator: CompareOperator, right: PlanExpr): PlanExpr => ({
  kind: 'compare',
  operator,
  left,
  right,
});
/** Nested fields over `this`; `this` itself for the empty path. The inverse of `pathOf`. */
export const pathExpr = (path: FieldPath): PlanExpr => path.reduce<PlanExpr>(fieldOf, thisExpr);

/**
 * The path of nested fields over `this` that the expression is, or undefined for anything else; `this` itself is the
 * empty path.
 */
export const pathOf = (e: PlanExpr): FieldPath | undefined => {
  const names: string[] = [];
  let at = e;
  while (at.kind === 'field') {
    names.push(at.name);
    at = at.of;
  }
  return at.kind === 'this' ? names.reverse() : undefined;
};

/** True for the same names in the same order. */
export const samePath = (a: FieldPath | undefined, b: FieldPath): boolean =>
  a !== undefined && a.length === b.length && a.every((name, i) => name === b[i]);

/**
 * The expression with others in place of the paths for which `other` has one; longest paths are asked for first. `like`
 * makes each new part stand where the old one did.
 */
export const replacePaths = (
  e: PlanExpr,
  other: (path: FieldPath) => PlanExpr | undefined,
  like: (old: PlanExpr, made: PlanExpr) => PlanExpr = (_, made) => made,
): PlanExpr => {
  const path = pathOf(e);
  return like(e, (path && other(path)) ?? mapParts(e, (part) => replacePaths(part, other, like)));
};
/** The same where other paths are put in their place. */
export const movePaths = (e: PlanExpr, place: (path: FieldPath) => FieldPath | undefined): PlanExpr =>
  replacePaths(
    e,
    (path) => {
      const to = place(path);
      return to && pathExpr(to);
    },
    sameForm,
  );

/** A field of another place as the one that it stands for: of SQL or not. */
export const sameForm = (from: PlanExpr, to: PlanExpr): PlanExpr =>
  from.kind === 'field' && from.sql && to.kind === 'field' && !to.sql ? { ...to, sql: true } : to;

/**
 * Rewrites the direct parts that see the same `this` as the whole (so not the bodies of `mapElements` and subqueries);
 * gives `e` itself if none changes.
 */
export const mapParts = (e: PlanExpr, f: (part: PlanExpr) => PlanExpr): PlanExpr => {
  let changed = false;
  const g = <T extends PlanExpr | undefined>(part: T): T => {
    if (part === undefined) return part;
    const mapped = f(part);
    if (mapped !== part) changed = true;
    return mapped as T;
  };
  const mapped = rebuild(e, g);
  return changed ? mapped : e;
};

const rebuild = (e: PlanExpr, g: <T extends PlanExpr | undefined>(part: T) => T): PlanExpr => {
  switch (e.kind) {
    case 'literal':
    case 'this':
    case 'subquery':
    case 'outer':
      return e;
    case 'apply':
      return { ...e, outer: e.outer.map(g) };
    case 'columns':
      return { ...e, elements: e.elements.map((x) => ({ ...x, value: g(x.value) })) };
    case 'field':
      return { ...e, of: g(e.of) };
    case 'index':
      return { ...e, of: g(e.of), at: g(e.at) };
    case 'slice':
      return { ...e, of: g(e.of), ...(e.from ? { from: g(e.from) } : {}), ...(e.to ? { to: g(e.to) } : {}) };
    case 'negate':
    case 'not':
    case 'isNull':
    case 'like':
    case 'match':
    case 'cast':
    case 'sqlCast':
    case 'castNamed':
    case 'searchText':
    case 'searchRegexp':
    case 'searchValue':
      return { ...e, operand: g(e.operand) };
    case 'and':
    case 'or':
    case 'arithmetic':
    case 'compare':
    case 'concat':
    case 'in':
      return { ...e, left: g(e.left), right: g(e.right) };
    case 'conditional':
      return { ...e, test: g(e.test), then: g(e.then), otherwise: g(e.otherwise) };
    case 'case':
      return {
        ...e,
        ...(e.operand ? { operand: g(e.operand) } : {}),
        branches: e.branches.map((b) => ({ when: g(b.when), then: g(b.then) })),
        ...(e.otherwise ? { otherwise: g(e.otherwise) } : {}),
      };
    case 'call':
    case 'userCall':
      return { ...e, arguments: e.arguments.map(g) };
    case 'mapElements':
      return { ...e, of: g(e.of) };
    case 'record':
      return { ...e, elements: e.elements.map((x) => ({ ...x, value: g(x.value) })) };
    case 'array':
    case 'set':
      return { ...e, elements: e.elements.map((x) => ({ ...x, value: g(x.value) })) };
    case 'map':
      return { ...e, entries: e.entries.map((x) => ({ key: g(x.key), value: g(x.value) })) };
    case 'fstring':
      return { ...e, parts: e.parts.map((p) => (typeof p === 'string' ? p : g(p))) };
  }
};

const noParts: readonly PlanExpr[] = [];
/** The direct parts that see the same `this`. */
export const partsOf = (e: PlanExpr): readonly PlanExpr[] => {
  switch (e.kind) {
    case 'literal':
    case 'this':
    case 'subquery':
    case 'outer':
      return noParts;
    case 'apply':
      return e.outer;
    case 'field':
    case 'mapElements':
      return [e.of];
    case 'index':
      return [e.of, e.at];
    case 'slice':
      return [e.of, ...(e.from ? [e.from] : noParts), ...(e.to ? [e.to] : noParts)];
    case 'negate':
    case 'not':
    case 'isNull':
    case 'like':
    case 'match':
    case 'cast':
    case 'sqlCast':
    case 'castNamed':
    case 'searchText':
    case 'searchRegexp':
    case 'searchValue':
      return [e.operand];
    case 'and':
    case 'or':
    case 'arithmetic':
    case 'compare':
    case 'concat':
    case 'in':
      return [e.left, e.right];
    case 'conditional':
      return [e.test, e.then, e.otherwise];
    case 'case':
      return [
        ...(e.operand ? [e.operand] : noParts),
        ...e.branches.flatMap((b) => [b.when, b.then]),
        ...(e.otherwise ? [e.otherwise] : noParts),
      ];
    case 'call':
    case 'userCall':
      return e.arguments;
    case 'record':
    case 'array':
    case 'set':
    case 'columns':
      return e.elements.map((x) => x.value);
    case 'map':
      return e.entries.flatMap((x) => [x.key, x.value]);
    case 'fstring':
      return e.parts.filter((p) => typeof p !== 'string');
  }
};

/** True if the test holds for the expression or any part of it that sees the same `this`. */
export const someExpr = (e: PlanExpr, test: (part: PlanExpr) => boolean): boolean =>
  test(e) || partsOf(e).some((p) => someExpr(p, test));

/** True if the value depends on the row. */
export const readsRow = (e: PlanExpr): boolean =>
  someExpr(e, (p) => p.kind === 'this' || (p.kind === 'subquery' && p.correlated));

/**
 * The body that an expression evaluates for elements, with a `this` of its own: of `mapElements`, and of a call's
 * lambda.
 */
export const bodyIn = (e: PlanExpr): PlanExpr | undefined =>
  e.kind === 'mapElements' ? e.body : e.kind === 'call' ? e.lambda?.body : undefined;
/** The same expression with such a body rewritten. */
export const withBody = (e: PlanExpr, f: (body: PlanExpr) => PlanExpr): PlanExpr => {
  if (e.kind === 'mapElements') return { ...e, body: f(e.body) };
  return e.kind === 'call' && e.lambda ? { ...e, lambda: { ...e.lambda, body: f(e.lambda.body) } } : e;
};

/** True if there is a subquery in it, in bodies of `mapElements` too (those of user functions are not looked into). */
export const hasSubquery = (e: PlanExpr): boolean =>
  someExpr(e, (p) => p.kind === 'subquery' || p.kind === 'apply' || hasSubqueryInside(p));
const hasSubqueryInside = (e: PlanExpr): boolean => {
  const body = bodyIn(e);
  return body !== undefined && hasSubquery(body);
};

/** Fields of the row that the expression reads; undefined: the whole row. */
export const fieldsRead = (e: PlanExpr): readonly FieldPath[] | undefined => {
  const found: FieldPath[] = [];
  const visit = (part: PlanExpr): boolean => {
    const path = pathOf(part);
    if (path) {
      if (path.length === 0) return false;
      found.push(path);
      return true;
    }
    if (part.kind === 'subquery') return !part.correlated;
    // What is no list ends in an error that shows the row.
    if (part.kind === 'mapElements') return false;
    return partsOf(part).every(visit);
  };
  return visit(e) ? found : undefined;
};

/**
 * Replaces `this`: every path over the row is rewritten on what `row` stands for. Undefined if a correlated subquery
 * needs the row itself.
 */
export const substituteRow = (e: PlanExpr, row: PlanExpr): PlanExpr | undefined => {
  let impossible = false;
  const visit = (part: PlanExpr): PlanExpr => {
    if (part.kind === 'this') return row;
    if (part.kind === 'subquery' && part.correlated) impossible = true;
    const mapped = mapParts(part, visit);
    // A pattern of grep that is worked out must not become one that is spelled out: that is a regular expression.
    if (
      mapped.kind === 'call' &&
      mapped.name === 'grep' &&
      part.kind === 'call' &&
      part.arguments[0]?.kind !== 'literal' &&
      mapped.arguments[0]?.kind === 'literal'
    )
      impossible = true;
    return mapped.kind === 'field' ? projectField(mapped) : mapped;
  };
  const result = visit(e);
  return impossible ? undefined : result;
};

/** `{a:x}.a` is `x`, where no spread could hide it. */
const projectField = (e: PlanExpr & { readonly kind: 'field' }): PlanExpr => {
  if (e.of.kind !== 'record' || e.of.elements.some((x) => x.kind === 'spread')) return e;
  const element = e.of.elements.findLast((x) => x.kind === 'field' && x.name === e.name);
  return element ? element.value : e;
};

/** All of `a and b and c`, left to right. */
export const conjuncts = (e: PlanExpr): readonly PlanExpr[] =>
  e.kind === 'and' ? [...conjuncts(e.left), ...conjuncts(e.right)] : [e];
/** The conjunction of these, or undefined for none. */
export const conjunction = (list: readonly PlanExpr[]): PlanExpr | undefined =>
  list.length === 0 ? undefined : list.reduce((left, right) => ({ kind: 'and', left, right }));

/** True if the expression has no more than so many parts; shared parts count each time. */
export const isSmall = (e: PlanExpr, partsMax: number): boolean => {
  let left = partsMax;
  const visit = (part: PlanExpr): boolean => --left >= 0 && partsOf(part).every(visit);
  return visit(e);
};

/** True if the value takes no more than about so many bytes. */
export const isWithin = (value: Value, bytesMax: number): boolean => bytesWithin(value, bytesMax) !== undefined;
/** How many bytes that are; undefined beyond the limit. */
export const bytesWithin = (value: Value, bytesMax: number): number | undefined => {
  let left = bytesMax;
  const visit = (d: Data | undefined): boolean => {
    left -= typeof d === 'string' || d instanceof Uint8Array ? d.length : 8;
    if (left < 0) return false;
    if (d === null || typeof d !== 'object' || d instanceof Uint8Array) return true;
    if (Array.isArray(d)) return d.every((x: Data | undefined) => visit(x));
    return !('data' in d) || visit((d as Value).data);
  };
  return visit(value.data) ? bytesMax - left : undefined;
};

/**
 * A text that is the same for structurally equal expressions and differs for others; each subquery is equal to itself
 * alone.
 */
export const exprKey = (e: PlanExpr): string => {
  switch (e.kind) {
    case 'literal':
      return `#${valueKey(e.value)}`;
    case 'this':
      return '@';
    case 'field':
      return `${exprKey(e.of)}.${JSON.stringify(e.name)}`;
    case 'subquery':
      return `q${identityOf(e)}`;
    case 'apply':
      return `apply${identityOf(e.body)}${e.form}(${e.outer.map(exprKey).join()})`;
    case 'outer':
      return `outer${e.level}.${e.index}`;
    case 'columns':
      return `columns(${e.elements.map((x) => `${x.kind === 'field' ? JSON.stringify(x.name) : `*${JSON.stringify(x.without)}`}:${exprKey(x.value)}`).join()})`;
    case 'mapElements':
      return `map(${exprKey(e.of)},${e.parameter},${exprKey(e.body)})`;
    case 'fstring':
      return `f(${e.parts.map((p) => (typeof p === 'string' ? JSON.stringify(p) : exprKey(p))).join()})`;
    case 'record':
      return `{${e.elements.map((x) => `${x.kind === 'field' ? JSON.stringify(x.name) : '...'}:${exprKey(x.value)}`).join()}}`;
    case 'array':
    case 'set':
      return `${e.kind}(${e.elements.map((x) => `${x.spread ? '...' : ''}${exprKey(x.value)}`).join()})`;
    case 'case': {
      const branches = e.branches.map((b) => `${exprKey(b.when)}:${exprKey(b.then)}`).join();
      return `case(${e.operand ? exprKey(e.operand) : ''};${branches};${e.otherwise ? exprKey(e.otherwise) : ''})`;
    }
    case 'slice':
      return `slice(${exprKey(e.of)},${e.from ? exprKey(e.from) : ''},${e.to ? exprKey(e.to) : ''},${e.base})`;
    default:
      return `${e.kind}${detailOf(e)}(${partsOf(e).map(exprKey).join()})`;
  }
};
const detailOf = (e: PlanExpr): string => {
  switch (e.kind) {
    case 'concat':
      return e.sql ? 'sql' : '';
    case 'index':
      return `${e.base}${e.byName ? 'n' : ''}`;
    case 'compare':
      return `${e.sql ? 'sql ' : ''}${e.operator}`;
    case 'arithmetic':
      return `${e.sql ? 'sql ' : ''}${e.operator}${e.scale ?? ''}${e.whole ? 'w' : ''}${e.attempt ? 't' : ''}`;
    case 'call':
      return `:${e.sql ? 'sql ' : ''}${e.attempt ? 'try ' : ''}${e.name}${e.lambda ? `/${e.lambda.parameters}/${e.lambda.values}/${exprKey(e.lambda.body)}` : ''}`;
    case 'userCall':
      return `:${e.id}`;
    case 'cast':
      return `:${e.type.id}`;
    case 'sqlCast':
      return `:${e.failure} ${sqlTypeKey(e.type)}${e.from ? ` ${sqlTypeKey(e.from)}` : ''}`;
    case 'castNamed':
      return JSON.stringify(e.name);
    case 'like':
      return `${e.sql ? 'sql ' : ''}${e.caseless ? 'i' : ''}${JSON.stringify(e.pattern)}`;
    case 'match':
      return JSON.stringify(e.pattern);
    case 'searchText':
      return JSON.stringify(e.text);
    case 'searchRegexp':
      return `${e.anchored ? '^' : ''}${JSON.stringify(e.pattern)}`;
    case 'searchValue':
      return valueKey(e.value);
    default:
      return '';
  }
};
const valueKey = (v: Value): string => `${v.type.id}:${dataKey(v.data)}`;
const dataKey = (d: Data | undefined): string => {
  if (d === undefined) return '_';
  if (typeof d === 'string') return JSON.stringify(d);
  if (d === null || typeof d !== 'object') return Object.is(d, -0) ? '-0' : `${typeof d} ${String(d)}`;
  if (d instanceof Uint8Array) return `x${Buffer.from(d).toString('hex')}`;
  if (Array.isArray(d)) return `[${d.map((x: Data | undefined) => dataKey(x)).join()}]`;
  if ('data' in d) return valueKey(d as Value);
  return `t${(d as Type).id}`;
};
const identities = new WeakMap<object, number>();
let identityNext = 1;
const identityOf = (o: object): number => {
  let id = identities.get(o);
  if (id === undefined) identities.set(o, (id = identityNext++));
  return id;
};

/** True if the pipeline brings its own values: it reads nothing of its surroundings. */
export const isSourced = (ops: readonly PlanOp[]): boolean => {
  const first = ops[0];
  switch (first?.kind) {
    case 'scan':
    case 'null':
    case 'empty':
    case 'combine':
    case 'recursive':
    case 'working':
    case 'shared':
      return true;
    case 'fork':
      return first.branches.every((b) => isSourced(b.ops));
    default:
      return false;
  }
};

/** Rewrites the pipelines inside an operator (branches, bodies, right sides); gives `op` itself if none changes. */
export const mapPipelines = (op: PlanOp, f: (pipeline: Pipeline) => Pipeline): PlanOp => {
  switch (op.kind) {
    case 'unnest':
      return op.into ? { ...op, into: f(op.into) } : op;
    case 'join':
    case 'setOperation':
      return op.right ? { ...op, right: f(op.right) } : op;
    case 'recursive':
      return {
        ...op,
        first: f(op.first),
        next: f(op.next),
        ...(op.keyed && { keyed: { ...op.keyed, pipeline: f(op.keyed.pipeline) } }),
      };
    case 'shared':
      return { ...op, body: f(op.body) };
    case 'lateral':
      return { ...op, body: { ...op.body, pipeline: f(op.body.pipeline) } };
    case 'fork':
    case 'combine':
      return { ...op, branches: op.branches.map(f) };
    case 'switch':
      return { ...op, cases: op.cases.map((c) => ({ ...c, branch: f(c.branch) })) };
    default:
      return op;
  }
};

/** The pipelines inside an operator. */
export const pipelinesOf = (op: PlanOp): readonly Pipeline[] => {
  switch (op.kind) {
    case 'unnest':
      return op.into ? [op.into] : [];
    case 'join':
    case 'setOperation':
      return op.right ? [op.right] : [];
    case 'recursive':
      return [op.first, op.next, ...(op.keyed ? [op.keyed.pipeline] : [])];
    case 'shared':
      return [op.body];
    case 'lateral':
      return [op.body.pipeline];
    case 'fork':
    case 'combine':
      return op.branches;
    case 'switch':
      return op.cases.map((c) => c.branch);
    default:
      return [];
  }
};

const mapKey = (key: SortKey, f: (e: PlanExpr) => PlanExpr): SortKey => ({ ...key, expr: f(key.expr) });

/** Rewrites the expressions of an operator, not those of pipelines inside it. */
export const mapExprs = (op: PlanOp, f: (e: PlanExpr) => PlanExpr): PlanOp => {
  switch (op.kind) {
    case 'scan':
      return op.filter ? { ...op, filter: f(op.filter) } : op;
    case 'values':
      return { ...op, exprs: op.exprs.map(f) };
    case 'filter':
    case 'shapes':
    case 'assert':
    case 'debug':
    case 'unnest':
    case 'fromEach':
      return { ...op, expr: f(op.expr) };
    case 'distinct':
      return { ...op, expr: f(op.expr), ...(op.order && { order: op.order.map((k) => mapKey(k, f)) }) };
    case 'cut':
    case 'put':
      return { ...op, assignments: op.assignments.map((a) => ({ ...a, value: f(a.value) })) };
    case 'sort':
    case 'top':
    case 'merge':
      return { ...op, keys: op.keys.map((k) => mapKey(k, f)) };
    case 'count':
      return op.expr ? { ...op, expr: f(op.expr) } : op;
    case 'aggregate':
      return {
        ...op,
        keys: op.keys.map((k) => ({ ...k, expr: f(k.expr) })),
        aggregates: op.aggregates.map(({ target, aggregate }) => ({
          target,
          aggregate: {
            ...aggregate,
            ...(aggregate.argument ? { argument: f(aggregate.argument) } : {}),
            ...(aggregate.where ? { where: f(aggregate.where) } : {}),
          },
        })),
      };
    case 'window':
      return {
        ...op,
        groups: op.groups.map((g) => ({
          partition: g.partition.map(f),
          order: g.order.map((k) => mapKey(k, f)),
          calls: g.calls.map((c) => ({
            ...c,
            arguments: c.arguments.map(f),
            ...(c.where ? { where: f(c.where) } : {}),
          })),
        })),
      };
    case 'groupSlice':
      return { ...op, group: f(op.group) };
    case 'lateral':
      return { ...op, outer: op.outer.map(f), ...(op.residual ? { residual: f(op.residual) } : {}) };
    case 'join':
      return {
        ...op,
        equal: op.equal.map((k) => ({ left: f(k.left), right: f(k.right) })),
        ...(op.residual ? { residual: f(op.residual) } : {}),
      };
    case 'switch':
      return {
        ...op,
        cases: op.cases.map((c) => ({ ...c, ...(c.test ? { test: f(c.test) } : {}) })),
        ...(op.dropMissing ? { dropMissing: f(op.dropMissing) } : {}),
      };
    default:
      return op;
  }
};

/** The expressions of an operator, not those of pipelines inside it. */
export const exprsOf = (op: PlanOp): readonly PlanExpr[] => {
  const found: PlanExpr[] = [];
  mapExprs(op, (e) => {
    found.push(e);
    return e;
  });
  return found;
};
