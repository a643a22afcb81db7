/** `x in c`: whether `x` equals `c` or anything inside of it (reference/language/types-and-casts.md section 6). */
import { mayHaveLongDecimals, mayHoldLongDecimals } from '../../vectors/decimal.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { isNumeric, types } from '../../vectors/type.ts';
import { type Value, underValue, fieldsData, itemsData, stringData } from '../../vectors/value.ts';
import { equalValues } from '../../vectors/compare.ts';
import { type Vector, bools, constant, noRows, nulls, take, valueAt } from '../../vectors/vector.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { apply, type Kernel } from './apply.ts';
import { compareVectors } from './compare.ts';
import { strictness } from './sql/compare.ts';
import { combine, truth, truthOf } from './rows.ts';
import { walk } from './walk.ts';

const no = 0;
const hasNull = 1;
const found = 2;

export const inVector = (x: Vector, c: Vector, length: number, sql?: number): Vector =>
  length === 0
    ? noRows
    : sql !== undefined && (mayHaveLongDecimals(x) || mayHoldLongDecimals(c))
      ? eachIn(x, c, length, sql)
      : apply([x, c], length, sql === undefined ? plainKernel : sqlKernels[sql]);
/** The same for a list that holds the values of a column: what is inside of these counts for nothing. */
export const inColumn = (x: Vector, c: Vector, length: number, sql: number): Vector =>
  length === 0
    ? noRows
    : mayHaveLongDecimals(x) || mayHoldLongDecimals(c)
      ? eachIn(x, c, length, sql)
      : apply([x, c], length, columnKernels[sql]);
/** Row by row, where the digits of decimals count. */
const eachIn = (x: Vector, c: Vector, length: number, sql: number): Vector => {
  const codes = new Uint8Array(length);
  const nothing = truthOf(x);
  for (let i = 0; i < length; i++) {
    checkStopAt(i);
    const own = constant(take(x, Uint32Array.of(i)), 1);
    codes[i] = nothing[i] === truth.null ? hasNull : walk(take(c, Uint32Array.of(i)), equalTo(own, sql))[0];
  }
  return outcome(codes, length);
};

/** Whether the rows are all one list without elements. */
export const isEmptyList = (c: Vector): boolean =>
  c.form === 'constant'
    ? isEmptyList(c.inner)
    : c.form === 'list' && c.length > 0 && c.offsets[0] === c.offsets[c.length];

const kernelOf =
  (sql: number | undefined, inside: typeof nodesOf = nodesOf): Kernel =>
  ([x, c], length) => {
    const a = x!.form === 'constant' ? x!.inner : x!;
    const b = c!.form === 'constant' ? c!.inner : c!;
    if (a.form === 'null') return nulls(length);
    if (a.form === 'error') return x!;
    if (b.form === 'error') return c!;
    if (b.form === 'null') return nulls(length);
    if (x!.form === 'constant') return outcome(walk(c!, equalTo(x!, sql)), length);
    if (c!.form === 'constant')
      return outcome(findIn(x!, insideOf(c!.inner, underForm(x!) === 'enum', inside), length, sql), length);
    const codes = new Uint8Array(length);
    for (let i = 0; i < length; i++) {
      const row = take(c!, Uint32Array.of(i));
      codes[i] = walk(row, equalTo(constant(take(x!, Uint32Array.of(i)), 1), sql))[0];
    }
    return outcome(codes, length);
  };
/** The strictness of the sides turned around. */
const turned = (sql: number | undefined): number | undefined =>
  sql === undefined ? undefined : ((sql & strictness.left) << 1) | ((sql & strictness.right) >> 1);
const equalTo = (x: Vector, sql: number | undefined): Parameters<typeof walk>[1] => ({
  most: found,
  intoErrors: true,
  ...(sql !== undefined && { seesLong: true }),
  visit: (node) => {
    if (node.form === 'null') return new Uint8Array(node.length).fill(hasNull);
    if (node.form === 'error' || (node.form === 'enum') !== (underForm(x) === 'enum')) return undefined;
    const codes = truthOf(
      compareVectors('==', node, { ...x, length: node.length } as Vector, node.length, turned(sql)),
    );
    return codes.map((code) => (code === truth.true ? found : no));
  },
});
/** An enum equals no number here. */
const underForm = (v: Vector): Vector['form'] => {
  switch (v.form) {
    case 'constant':
    case 'named':
      return underForm(v.inner);
    case 'dictionary':
      return underForm(v.values);
    case 'selected':
      return underForm(v.base);
    default:
      return v.form;
  }
};
const outcome = (codes: Uint8Array, length: number): Vector => {
  if (!codes.includes(hasNull)) return bools(codes.map((c) => (c === found ? 1 : 0)));
  const tags = new Uint32Array(length);
  const slots = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    tags[i] = codes[i];
    slots[i] = i;
  }
  return combine(tags, slots, [bools(new Uint8Array(length)), nulls(length), bools(new Uint8Array(length).fill(1))]);
};

/** Every value inside of a value, itself first. */
const nodesOf = (value: Value, out: Value[]): Value[] => {
  const v = underValue(value);
  out.push(v);
  const { type, data } = v;
  switch (type.kind) {
    case 'record':
      type.fields.forEach((f, i) => {
        const d = fieldsData(data)[i];
        if (d !== undefined) nodesOf({ type: f.type, data: d }, out);
      });
      break;
    case 'error':
      nodesOf({ type: type.inner, data }, out);
      break;
    case 'array':
    case 'set':
      for (const d of itemsData(data)) nodesOf({ type: type.element, data: d }, out);
      break;
    case 'map':
      for (const [k, d] of data as readonly (readonly [Value['data'], Value['data']])[]) {
        nodesOf({ type: type.key, data: k }, out);
        nodesOf({ type: type.value, data: d }, out);
      }
      break;
    default:
  }
  return out;
};

/** The values directly inside of a list. */
const elementsOf: typeof nodesOf = ({ type, data }) =>
  type.kind === 'array' || type.kind === 'set'
    ? itemsData(data).map((d) => underValue({ type: type.element, data: d }))
    : [];

/** Constants of so many nodes are compared one after the other; longer ones through a hash table. */
const linearMax = 16;

/** What a container that stands for many batches has inside. */
interface Inside {
  readonly nodes: readonly Value[];
  readonly table: NodeTable;
  readonly hasNull: boolean;
}
interface NodeTable {
  readonly texts: ReadonlySet<string>;
  readonly numbers: ReadonlySet<number> /** Values with nothing inside. */;
  readonly others: readonly Value[];
  readonly containers: readonly Value[];
}

const known = new WeakMap<Vector, Map<string, Inside>>();
/**
 * What is inside of a vector of one row, enums or all others; worked out once for all batches that look for their
 * values in it.
 */
const insideOf = (container: Vector, isEnum: boolean, inside: typeof nodesOf): Inside => {
  const ways = known.get(container) ?? new Map<string, Inside>();
  const way = `${inside === nodesOf ? 'nodes' : 'elements'}${isEnum ? ' enum' : ''}`;
  const before = ways.get(way);
  if (before) return before;
  const all = inside(valueAt(container, 0), []);
  const nodes = all.filter(
    (n) => n.type !== types.null && n.type.kind !== 'error' && (n.type.kind === 'enum') === isEnum,
  );
  const made: Inside = { nodes, table: tableOf(nodes), hasNull: all.some((n) => n.type === types.null) };
  known.set(container, ways.set(way, made));
  return made;
};
const tableOf = (nodes: readonly Value[]): NodeTable => {
  const texts = new Set<string>();
  const numbers = new Set<number>();
  const others: Value[] = [];
  const containers: Value[] = [];
  for (const n of nodes) {
    if (n.type === types.string) texts.add(stringData(n.data));
    else if (isNumeric(n.type) && typeof n.data === 'number') numbers.add(n.data);
    else (n.type.kind === 'primitive' ? others : containers).push(n);
  }
  return { texts, numbers, others, containers };
};

const findIn = (
  x: Vector,
  { nodes, table, hasNull: isNullInside }: Inside,
  length: number,
  sql: number | undefined,
): Uint8Array => {
  const codes = new Uint8Array(length).fill(isNullInside ? hasNull : no);
  if (nodes.length > linearMax && (sql === undefined || nodes.every((n) => areAlike(x, n))))
    return findHashed(x, table, codes, sql !== undefined);
  for (const node of nodes) {
    const equal = truthOf(compareVectors('==', x, constant(vectorOf([node]), length), length, sql));
    for (let i = 0; i < length; i++) if (equal[i] === truth.true) codes[i] = found;
  }
  return codes;
};
/** Whether the values need no cast to be compared in SQL; what holds the elements counts for nothing. */
const areAlike = (x: Vector, n: Value): boolean => {
  const form = underForm(x);
  return n.type === types.string
    ? form === 'bytes'
    : isNumeric(n.type)
      ? form === 'number'
      : n.type.kind !== 'primitive';
};
const findHashed = (
  x: Vector,
  { texts, numbers, others, containers }: NodeTable,
  codes: Uint8Array,
  nanEqual: boolean,
): Uint8Array => {
  if (x.form === 'number' && x.values instanceof Float64Array && others.length === 0) {
    for (let i = 0; i < codes.length; i++)
      if (numbers.has(x.values[i]) && (nanEqual || x.values[i] === x.values[i])) codes[i] = found;
    return codes;
  }
  for (let i = 0; i < codes.length; i++) {
    const v = valueAt(x, i);
    const hit =
      v.type === types.string
        ? texts.has(stringData(v.data))
        : isNumeric(v.type) && typeof v.data === 'number' && (nanEqual || !Number.isNaN(v.data)) && numbers.has(v.data);
    if (hit || (v.type.kind === 'primitive' ? others : containers).some((o) => equalValues(o, v))) codes[i] = found;
  }
  return codes;
};

const plainKernel = kernelOf(undefined);
const sqlKernels = [0, 1, 2, 3].map((sql) => kernelOf(sql));
const columnKernels = [0, 1, 2, 3].map((sql) => kernelOf(sql, elementsOf));
