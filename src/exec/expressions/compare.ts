/** `== != < <= > >=` over vectors (reference/language/types-and-casts.md section 4). */
import { LakeError } from '../../errors.ts';
import { mayHaveLongDecimals } from '../../vectors/decimal.ts';
import { types, isFloat } from '../../vectors/type.ts';
import { sameData } from '../../vectors/compare.ts';
import {
  type Vector,
  type NumberVector,
  type BytesVector,
  type BoolVector,
  bools,
  constant,
  dataAt,
  flatten,
  nulls,
  numbers,
  typeAt,
  uniformType,
  ofForm,
} from '../../vectors/vector.ts';
import type { CompareOperator } from '../../query/plan/plan.ts';
import { areTimeTexts, placeAmong, timesBehind, timesOfTexts } from '../../vectors/texts/times.ts';
import { apply, type Kernel } from './apply.ts';
import { type Outcomes, compareWide, compareWides } from './wide.ts';
import { errors, overlay } from './rows.ts';
import { alikeForSql, compareOrdered } from './sql/compare.ts';
import { besideLong } from './sql/long-decimals.ts';

/** What compares rows that are neither numbers nor bytes of one type. */
export type Others = (operator: CompareOperator, left: Vector, right: Vector, length: number) => Vector;

/**
 * Rows compared; `sql`: as SQL does, and which sides are literals of the query (sql/compare.ts); null and error
 * operands as section 1 says.
 */
export const compareVectors = (
  operator: CompareOperator,
  left: Vector,
  right: Vector,
  length: number,
  sql?: number,
): Vector => {
  const kernel = (sql === undefined ? kernels : sqlKernels[sql])[operator];
  if (sql !== undefined && (mayHaveLongDecimals(left) || mayHaveLongDecimals(right)))
    return apply([left, right], length, besideLong(operator, kernel), 'exact');
  return apply([left, right], length, kernel, operator === '==' || operator === '!=' ? 'bare' : 'named');
};

const kernelOf =
  (operator: CompareOperator, others: Others, isSql = false): Kernel =>
  ([left, right], length) => {
    const l = left!;
    const r = right!;
    const a = l.form === 'constant' ? l.inner : l;
    const b = r.form === 'constant' ? r.inner : r;
    const equality = operator === '==' || operator === '!=';
    if (equality && (a.form === 'null' || b.form === 'null')) return nulls(length);
    if (a.form === 'error') return l;
    if (b.form === 'error') return r;
    if (a.form === 'null' || b.form === 'null') return nulls(length);
    if (
      isSql &&
      a.form === 'number' &&
      b.form === 'number' &&
      (a.type === types.duration) !== (b.type === types.duration)
    )
      refuseDuration(a, b);
    if (a.form === 'number' && b.form === 'number') {
      const result = compareNumberRows(operator, l, r, length);
      return isSql && (isFloat(a.type) || isFloat(b.type)) ? besideNan(operator, result, l, r) : result;
    }
    if (a.form === 'bytes' && b.form === 'bytes' && a.type === b.type) {
      if (a.type === types.net && !equality) return errors(`type net incompatible with '${operator}' operator`, length);
      return compareBytesRows(operator, l, r, length);
    }
    if (equality && a.form === 'enum' && b.form === 'number')
      return compareNumberRows(operator, enumNumbers(l), r, length);
    if (equality && a.form === 'number' && b.form === 'enum')
      return compareNumberRows(operator, l, enumNumbers(r), length);
    return others(operator, l, r, length);
  };
/** In SQL NaN is equal to itself and greater than any other number. */
const besideNan = (operator: CompareOperator, result: Vector, left: Vector, right: Vector): Vector => {
  if (result.form === 'constant')
    return constant(
      besideNan(operator, result.inner, ofForm(left, 'constant').inner, ofForm(right, 'constant').inner),
      result.length,
    );
  const a = nansOf(left);
  const b = nansOf(right);
  if (result.form !== 'bool' || (!a && !b)) return result;
  const values = result.values.slice(0, result.length);
  for (let i = 0; i < values.length; i++) {
    const x = a?.[left.form === 'constant' ? 0 : i] ?? 0;
    const y = b?.[right.form === 'constant' ? 0 : i] ?? 0;
    if (x + y > 0) values[i] = holds(operator, x, y) ? 1 : 0;
  }
  return bools(values);
};
/** Which numbers are NaN; undefined where none is. */
const nansOf = (v: Vector): Uint8Array | undefined => {
  const of = v.form === 'constant' ? v.inner : v;
  if (of.form !== 'number' || !(of.values instanceof Float64Array) || !isFloat(of.type)) return undefined;
  const { values, length } = of;
  let i = 0;
  while (i < length && values[i] === values[i]) i++;
  if (i === length) return undefined;
  const found = new Uint8Array(length);
  for (; i < length; i++) found[i] = Number(values[i] !== values[i]);
  return found;
};
/** In SQL a duration is no number of anything. @throws query-cast */
const refuseDuration = (a: NumberVector, b: NumberVector): never => {
  const other = a.type === types.duration ? b : a;
  throw new LakeError('query-cast', {
    cast: 'comparison',
    value: `a duration beside ${other.type === types.time ? 'a time' : 'a number'}`,
    type: other.type.name,
    advice: "; write date_diff('day', a, b) for days, or compare with interval '1 day'",
  });
};
/** An enum beside a number counts as its symbol's place. */
const enumNumbers = (v: Vector): Vector => {
  if (v.form === 'constant') return constant(enumNumbers(v.inner), v.length);
  const flat = flatten(v);
  return flat.form === 'enum' ? numbers(types.int64, Float64Array.from(flat.codes.subarray(0, flat.length))) : v;
};
const kernels: Readonly<Record<CompareOperator, Kernel>> = {
  '==': kernelOf('==', compareOthers),
  '!=': kernelOf('!=', compareOthers),
  '<': kernelOf('<', compareOthers),
  '<=': kernelOf('<=', compareOthers),
  '>': kernelOf('>', compareOthers),
  '>=': kernelOf('>=', compareOthers),
};
/** As SQL compares: a text beside another type is read as that type. `strict`: strictness of the sides. */
const inSql =
  (strict: number): Others =>
  (operator, left, right, length) => {
    const alike = alikeForSql(left, right, strict);
    if (!alike) return compareOrdered(operator, left, right, length) ?? compareOthers(operator, left, right, length);
    const result = compareVectors(operator, alike.left, alike.right, length, strict);
    if (!alike.unread || (operator !== '==' && operator !== '!=')) return result;
    return overlay(result, alike.unread, bools(new Uint8Array(length).fill(operator === '!=' ? 1 : 0)));
  };
const sqlKernels = [0, 1, 2, 3].map(
  (strict): Readonly<Record<CompareOperator, Kernel>> => ({
    '==': kernelOf('==', inSql(strict), true),
    '!=': kernelOf('!=', inSql(strict), true),
    '<': kernelOf('<', inSql(strict), true),
    '<=': kernelOf('<=', inSql(strict), true),
    '>': kernelOf('>', inSql(strict), true),
    '>=': kernelOf('>=', inSql(strict), true),
  }),
);
const mirrored: Readonly<Record<CompareOperator, CompareOperator>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

const compareNumberRows = (operator: CompareOperator, left: Vector, right: Vector, length: number): Vector => {
  if (left.form === 'constant')
    return right.form === 'constant'
      ? constant(compareNumberRows(operator, left.inner, right.inner, 1), length)
      : compareNumberRows(mirrored[operator], right, left, length);
  const a = ofForm(left, 'number');
  const b = ofForm(right.form === 'constant' ? right.inner : right, 'number');
  const out = new Uint8Array(length);
  const floats = isFloat(a.type) || isFloat(b.type);
  if (a.values instanceof Float64Array && b.values instanceof Float64Array) {
    if (right.form === 'constant') toConstant[operator](a.values, b.values[0], out);
    else toVector[operator](a.values, b.values, out);
  } else if (right.form === 'constant' && !floats && !(a.values instanceof Float64Array))
    compareWide(a.values, BigInt(b.values[0]), outcomes[operator], out);
  else if (right.form === 'constant') {
    const y = floats ? Number(b.values[0]) : b.values[0];
    for (let i = 0; i < length; i++) out[i] = holds(operator, floats ? Number(a.values[i]) : a.values[i], y) ? 1 : 0;
  } else if (floats || !compareWides(a.values, b.values, outcomes[operator], out)) {
    for (let i = 0; i < length; i++)
      out[i] = holds(operator, floats ? Number(a.values[i]) : a.values[i], floats ? Number(b.values[i]) : b.values[i])
        ? 1
        : 0;
  }
  return bools(out);
};
const outcomes: Readonly<Record<CompareOperator, Outcomes>> = {
  '==': { less: 0, equal: 1, greater: 0 },
  '!=': { less: 1, equal: 0, greater: 1 },
  '<': { less: 1, equal: 0, greater: 0 },
  '<=': { less: 1, equal: 1, greater: 0 },
  '>': { less: 0, equal: 0, greater: 1 },
  '>=': { less: 0, equal: 1, greater: 1 },
};
const holds = (operator: CompareOperator, x: number | bigint, y: number | bigint): boolean => {
  switch (operator) {
    // Mixed number and bigint operands compare by value with ==.
    case '==':
      return x == y;
    case '!=':
      return x != y;
    case '<':
      return x < y;
    case '<=':
      return x <= y;
    case '>':
      return x > y;
    case '>=':
      return x >= y;
  }
};

// One literal per operator: closures of one literal would share their type feedback. `Number` of a test is no branch
// that the machine would have to guess.
const toConstant: Readonly<Record<CompareOperator, (a: Float64Array, y: number, out: Uint8Array) => void>> = {
  '==': (a, y, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] === y);
  },
  '!=': (a, y, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] !== y);
  },
  '<': (a, y, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] < y);
  },
  '<=': (a, y, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] <= y);
  },
  '>': (a, y, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] > y);
  },
  '>=': (a, y, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] >= y);
  },
};
const toVector: Readonly<Record<CompareOperator, (a: Float64Array, b: Float64Array, out: Uint8Array) => void>> = {
  '==': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] === b[i]);
  },
  '!=': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] !== b[i]);
  },
  '<': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] < b[i]);
  },
  '<=': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] <= b[i]);
  },
  '>': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] > b[i]);
  },
  '>=': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = Number(a[i] >= b[i]);
  },
};

const compareBytesRows = (operator: CompareOperator, left: Vector, right: Vector, length: number): Vector => {
  if (left.form === 'constant')
    return right.form === 'constant'
      ? constant(compareBytesRows(operator, left.inner, right.inner, 1), length)
      : compareBytesRows(mirrored[operator], right, left, length);
  const a = ofForm(left, 'bytes');
  const b = ofForm(right.form === 'constant' ? right.inner : right, 'bytes');
  const single = right.form === 'constant';
  const out = new Uint8Array(length);
  const place = single ? placeAmongTimes(a, b) : undefined;
  if (place) {
    toConstant[operator](place.distances, place.at, out);
    return bools(out);
  }
  if (operator === '==' || operator === '!=') {
    if (single) equalToConstant(a, b, out);
    else equalToVector(a, b, out);
    if (operator === '!=') for (let i = 0; i < length; i++) out[i] = out[i] ^ 1;
    return bools(out);
  }
  const byLength = a.type === types.ip;
  if (single) return bools(compareToConstant(operator, a, b.bytes.subarray(b.offsets[0], b.offsets[1]), byLength, out));
  for (let i = 0; i < length; i++) {
    const c = compareRuns(a, i, b, i, byLength);
    out[i] = (operator === '<' ? c < 0 : operator === '<=' ? c <= 0 : operator === '>' ? c > 0 : c >= 0) ? 1 : 0;
  }
  return bools(out);
};
const compareToConstant = (
  operator: CompareOperator,
  a: BytesVector,
  wanted: Uint8Array,
  byLength: boolean,
  out: Uint8Array,
): Uint8Array => {
  const { bytes, offsets } = a;
  const size = wanted.length;
  const less = Number(operator[0] === '<');
  const equal = Number(operator[1] === '=');
  for (let i = 0; i < out.length; i++) {
    const start = offsets[i];
    const own = offsets[i + 1] - start;
    const most = own < size ? own : size;
    let d = byLength ? own - size : 0;
    for (let k = 0; d === 0 && k < most; k++) d = bytes[start + k] - wanted[k];
    if (d === 0) d = own - size;
    out[i] = d === 0 ? equal : Number(d < 0) ^ less ^ 1;
  }
  return out;
};
/** Times that are stored as numbers beside a constant text: `at` is where the constant stands among their distances. */
const placeAmongTimes = (
  a: BytesVector,
  b: BytesVector,
): { readonly distances: Float64Array; readonly at: number } | undefined => {
  const times = areTimeTexts(a) ? timesBehind(a) : undefined;
  const wanted = times && timesOfTexts({ ...b, length: 1 });
  const at = wanted && placeAmong(times, wanted);
  return at === undefined ? undefined : { distances: times!.distances, at };
};
const equalToConstant = (a: BytesVector, b: BytesVector, out: Uint8Array): void => {
  const { bytes, offsets } = a;
  const wanted = b.bytes.subarray(b.offsets[0], b.offsets[1]);
  const size = wanted.length;
  const last = wanted[size - 1];
  for (let i = 0, start = 0, end = offsets[0]; i < out.length; i++) {
    start = end;
    end = offsets[i + 1];
    // Ids begin alike more often than they end alike.
    if (end - start !== size || (size > 0 && bytes[end - 1] !== last)) continue;
    let k = 0;
    while (k < size && bytes[start + k] === wanted[k]) k++;
    if (k === size) out[i] = 1;
  }
};
const equalToVector = (a: BytesVector, b: BytesVector, out: Uint8Array): void => {
  for (let i = 0; i < out.length; i++) {
    const start = a.offsets[i];
    const other = b.offsets[i];
    const size = a.offsets[i + 1] - start;
    if (b.offsets[i + 1] - other !== size) continue;
    let k = 0;
    while (k < size && a.bytes[start + k] === b.bytes[other + k]) k++;
    if (k === size) out[i] = 1;
  }
};
/** Byte order; with `byLength` (addresses) shorter ones come first. */
const compareRuns = (a: BytesVector, i: number, b: BytesVector, k: number, byLength: boolean): number => {
  const x = a.offsets[i];
  const y = b.offsets[k];
  const m = a.offsets[i + 1] - x;
  const n = b.offsets[k + 1] - y;
  if (byLength && m !== n) return m - n;
  const size = Math.min(m, n);
  for (let at = 0; at < size; at++) {
    const d = a.bytes[x + at] - b.bytes[y + at];
    if (d !== 0) return d;
  }
  return m - n;
};

/** As the reference: `<` and `>` of bools are never true, `<=` and `>=` only when both are true. */
const compareBools = (operator: CompareOperator, a: BoolVector, b: BoolVector, length: number): Vector => {
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const x = a.values[i];
    const y = b.values[i];
    out[i] =
      operator === '=='
        ? x === y
          ? 1
          : 0
        : operator === '!='
          ? x === y
            ? 0
            : 1
          : operator === '<=' || operator === '>='
            ? x & y
            : 0;
  }
  return bools(out);
};

/** Values that have equality only, and values of unlike types. */
function compareOthers(operator: CompareOperator, left: Vector, right: Vector, length: number): Vector {
  if (formOf(left) === 'bool' && formOf(right) === 'bool')
    return compareBools(operator, ofForm(flatten(left), 'bool'), ofForm(flatten(right), 'bool'), length);
  const out = new Uint8Array(length);
  const a = uniformType(left);
  const b = uniformType(right);
  if (a && b && a !== b) return bools(operator === '!=' ? out.fill(1) : out);
  const wantsEqual = operator === '==' || operator === '<=' || operator === '>=' ? 1 : 0;
  for (let i = 0; i < length; i++) {
    const type = a ?? typeAt(left, i);
    const same = type === (b ?? typeAt(right, i)) && sameData(type, dataAt(left, i), dataAt(right, i));
    out[i] = same ? wantsEqual : operator === '!=' ? 1 : 0;
  }
  return bools(out);
}
const formOf = (v: Vector): Vector['form'] => (v.form === 'constant' ? v.inner.form : v.form);
