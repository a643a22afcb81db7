/** `+ - * / %` and unary minus over vectors (reference/language/types-and-casts.md sections 2 and 3). */
import {
  type PrimitiveType,
  type Type,
  bitsOf,
  isFloat,
  isInteger,
  isUnsigned,
  primitiveNamed,
  types,
  typeText,
} from '../../vectors/type.ts';
import { LakeError } from '../../errors.ts';
import { roundFloat } from '../../vectors/literal.ts';
import { supText } from '../../vectors/sup/print.ts';
import { integer, textError } from '../../vectors/value.ts';
import { Builder } from '../../vectors/builder.ts';
import {
  type Vector,
  type DynamicVector,
  type NumberArray,
  type NumberVector,
  type EnumVector,
  flatten,
  gather,
  nulls,
  slice,
  numbers,
  typeAt,
  uniformType,
  ofForm,
} from '../../vectors/vector.ts';
import type { ArithmeticOperator } from '../../query/plan/plan.ts';
import { apply, type Kernel } from './apply.ts';
import { floatsFor } from './float-room.ts';
import { combine, errors, overlay, wrapErrors } from './rows.ts';
import { type SparseNumbers, denseRange, sparseNumbers } from './sparse.ts';
import { calculateWide, narrowed } from './wide-arithmetic.ts';

/**
 * `checked`, as SQL has it: a whole number beyond its type ends the query instead of wrapping around, and floats have
 * remainders. `over`: vectors that nobody needs afterwards, whose numbers the result may be written over.
 */
export const arithmetic = (
  operator: ArithmeticOperator,
  left: Vector,
  right: Vector,
  length: number,
  over?: readonly Vector[],
  checked = false,
): Vector => {
  const kernels = checked ? checkedKernels : plainKernels;
  const calculated: Calculate = (x, y, n, spare) => ofNumbers(operator, x, y, n, spare, checked);
  if (left.form === 'number' && right.form === 'dynamic')
    return besideSparse(right, left, true, over, calculated) ?? apply([left, right], length, kernels[operator]);
  if (left.form === 'dynamic' && right.form === 'number')
    return besideSparse(left, right, false, over, calculated) ?? apply([left, right], length, kernels[operator]);
  if (left.form === 'number' && right.form === 'number')
    return ofNumbers(
      operator,
      left,
      right,
      length,
      over?.includes(right) ? right : over?.includes(left) ? left : undefined,
      checked,
    );
  return apply([left, right], length, kernels[operator], 'bare');
};

/** What numbers give beside numbers, row by row; `spare` may be written over. */
type Calculate = (left: NumberVector, right: NumberVector, length: number, spare: NumberVector | undefined) => Vector;
/**
 * Numbers beside numbers of which some are null or errors: what is no number stays as it is. Undefined for anything
 * else. `isRight`: the sparse ones are.
 */
export const besideSparse = (
  sparse: DynamicVector,
  other: NumberVector,
  isRight: boolean,
  over: readonly Vector[] | undefined,
  calculated: Calculate,
): Vector | undefined => {
  const found = sparseNumbers(sparse);
  const range = found && denseRange(found);
  if (!range || range.start > 0) return undefined;
  const { tag, tags, slots, part } = found;
  const n = range.end;
  if (n === 0) return sparse;
  const dense =
    other.values instanceof Float64Array
      ? numbers(other.type, floatsBeside(other.values, found), n)
      : ofForm(gather(other, rowsBeside(found, n)), 'number');
  const own = ofForm(slice(part, 0, n), 'number');
  const spare = over?.includes(sparse) ? own : undefined;
  const result = isRight ? calculated(dense, own, n, spare) : calculated(own, dense, n, spare);
  return combine(
    tags,
    slots,
    sparse.parts.map((p, k) => (k === tag ? result : p)),
  );
};
/** The values of the rows that are numbers on the sparse side; for use until the next call. */
const floatsBeside = (values: Float64Array, { tag, tags, length }: SparseNumbers): Float64Array => {
  if (besideRoom.length < length) besideRoom = new Float64Array(length);
  const out = besideRoom;
  let n = 0;
  for (let i = 0; i < length; i++) {
    out[n] = values[i];
    n += Number(tags[i] === tag);
  }
  return out;
};
let besideRoom = new Float64Array(0);
/** The same as rows, of which there are `count`. */
const rowsBeside = ({ tag, tags }: SparseNumbers, count: number): Uint32Array => {
  const rows = new Uint32Array(count);
  for (let i = 0, n = 0; n < count; i++) if (tags[i] === tag) rows[n++] = i;
  return rows;
};

const ofNumbers = (
  operator: ArithmeticOperator,
  left: NumberVector,
  right: NumberVector,
  length: number,
  over: NumberVector | undefined,
  checked: boolean,
): Vector => {
  const type = typeOfResult(operator, left.type, right.type, checked);
  if (checked) refuseDuration(operator, left.type, right.type);
  if (operator === '%' && isFloat(type) && !checked)
    return errors(`type ${type.name} incompatible with '%' operator`, length);
  const out = over?.values instanceof Float64Array && isFloat(type) ? over.values : undefined;
  return calculate(operator, type, {
    left: left.values,
    right: right.values,
    x: left.type,
    y: right.type,
    length,
    checked,
    ...(out && { out }),
  });
};
const kernelOf =
  (operator: ArithmeticOperator, checked: boolean): Kernel =>
  ([left, right], length) => {
    const l = left!;
    const r = right!;
    const a = l.form === 'constant' ? l.inner : l;
    const b = r.form === 'constant' ? r.inner : r;
    if (a.form === 'null' || b.form === 'null') return nulls(length);
    if (a.form === 'error') return l;
    if (b.form === 'error') return r;
    const x = numberTypeOf(a);
    const y = numberTypeOf(b);
    if (!x || !y) return refuse(operator, l, r, length);
    const type = typeOfResult(operator, x, y, checked);
    if (checked) refuseDuration(operator, x, y);
    if (operator === '%' && isFloat(type) && !checked)
      return errors(`type ${type.name} incompatible with '%' operator`, length);
    return calculate(operator, type, { left: spread(l, length), right: spread(r, length), x, y, length, checked });
  };
const kernelsOf = (checked: boolean): Readonly<Record<ArithmeticOperator, Kernel>> => ({
  '+': kernelOf('+', checked),
  '-': kernelOf('-', checked),
  '*': kernelOf('*', checked),
  '/': kernelOf('/', checked),
  '%': kernelOf('%', checked),
});
const plainKernels = kernelsOf(false);
const checkedKernels = kernelsOf(true);

/** Enums count as their symbol's index. */
const numberTypeOf = (v: Vector): PrimitiveType | undefined =>
  v.form === 'number' ? v.type : v.form === 'enum' ? types.uint64 : undefined;

const refuse = (operator: ArithmeticOperator, left: Vector, right: Vector, length: number): Vector => {
  const text = (a: Type, b: Type): string =>
    a === b ? `type ${typeText(a)} incompatible with '${operator}' operator` : 'incompatible types';
  const a = uniformType(left);
  const b = uniformType(right);
  if (a && b) return errors(text(a, b), length);
  const out = new Builder();
  for (let i = 0; i < length; i++) out.append(textError(text(a ?? typeAt(left, i), b ?? typeAt(right, i))));
  return out.finish();
};

/** The result's type of two numeric types. */
/** In SQL a number is no duration that could be added to one. @throws query-cast */
const refuseDuration = (operator: ArithmeticOperator, x: PrimitiveType, y: PrimitiveType): void => {
  if (operator !== '+' && operator !== '-') return;
  const other = x === types.duration ? y : y === types.duration ? x : undefined;
  if (!other || other === types.duration || other === types.time || isFloat(other)) return;
  throw new LakeError('query-cast', {
    cast: `a duration ${operator} a number`,
    value: 'a duration',
    type: other.name,
    advice: "; write date_diff('day', a, b) for days, or interval '1 day'",
  });
};
const resultType = (operator: ArithmeticOperator, x: PrimitiveType, y: PrimitiveType): PrimitiveType => {
  if (isFloat(x) || isFloat(y)) return floatResult(x, y);
  if (x === types.time || y === types.time)
    return operator !== '-' ? types.time : y === types.duration ? types.time : types.duration;
  if (x === types.duration || y === types.duration) return types.duration;
  if (isUnsigned(x) === isUnsigned(y)) return bitsOf(x) >= bitsOf(y) ? x : y;
  return primitiveNamed(`int${Math.max(bitsOf(x), bitsOf(y))}`)!;
};
/** `checked`: a signed and an unsigned number have a type that holds both, as far as 64 bits go. */
const typeOfResult = (
  operator: ArithmeticOperator,
  x: PrimitiveType,
  y: PrimitiveType,
  checked: boolean,
): PrimitiveType =>
  checked && isInteger(x) && isInteger(y) && isUnsigned(x) !== isUnsigned(y) ? types.int64 : resultType(operator, x, y);
const floatResult = (x: PrimitiveType, y: PrimitiveType): PrimitiveType => {
  if (isFloat(x) && isFloat(y)) return bitsOf(x) >= bitsOf(y) ? x : y;
  const float = isFloat(x) ? x : y;
  const other = isFloat(x) ? y : x;
  const bits = bitsOf(other);
  if (float === types.float64 || bits === 64) return types.float64;
  return bits === 32 ? types.float32 : float;
};

/** The numbers of all rows, a constant repeated. */
export const spread = (v: Vector, length: number): NumberArray => {
  if (v.form === 'constant') {
    const x = spread(v.inner, 1)[0];
    return typeof x === 'number'
      ? repeated(x, length)
      : x < 0n || v.inner.form !== 'number' || !isUnsigned(v.inner.type)
        ? new BigInt64Array(length).fill(x)
        : new BigUint64Array(length).fill(x);
  }
  return v.form === 'enum'
    ? Float64Array.from((v as EnumVector).codes.subarray(0, length))
    : ofForm(v, 'number').values;
};

/**
 * Numbers again and again, for the next batch: those of the last few constants that were met twice, since joins without
 * keys have another one in each step. Nobody writes to them.
 */
const kept: { readonly x: number; readonly values: Float64Array }[] = [];
const met: number[] = [];
const keptMax = 4;
const keptRowsMin = 8192;
const keptRowsMax = 32_768;
/** At least `length` times the number. */
const repeated = (x: number, length: number): Float64Array => {
  for (const { x: known, values } of kept) if (Object.is(known, x) && values.length >= length) return values;
  if (length > keptRowsMax || !isMet(x)) return new Float64Array(length).fill(x);
  const values = new Float64Array(length > keptRowsMin ? keptRowsMax : keptRowsMin).fill(x);
  const known = kept.findIndex((k) => Object.is(k.x, x));
  if (known >= 0) kept.splice(known, 1);
  kept.unshift({ x, values });
  if (kept.length > keptMax) kept.pop();
  return values;
};

const isMet = (x: number): boolean => {
  if (met.some((m) => Object.is(m, x))) return true;
  met.unshift(x);
  if (met.length > keptMax) met.pop();
  return false;
};

/** `out`: where a result in floats may go. */
interface Operands {
  readonly checked: boolean;
  readonly left: NumberArray;
  readonly right: NumberArray;
  readonly x: Type;
  readonly y: Type;
  readonly length: number;
  readonly out?: Float64Array;
}

const calculate = (operator: ArithmeticOperator, type: PrimitiveType, operands: Operands): Vector => {
  const { length } = operands;
  if (isFloat(type))
    return calculateFloats(
      operator,
      type,
      floatsOf(operands.left, length),
      floatsOf(operands.right, length),
      operands.out?.length === length ? operands.out : floatsFor(length),
    );
  if (operands.left instanceof Float64Array && operands.right instanceof Float64Array) {
    const out = floatsFor(length);
    const lowest = isUnsigned(type) ? 0 : -Number.MAX_SAFE_INTEGER;
    const zeros = operator === '/' || operator === '%' ? zerosOf(operands.right, length) : undefined;
    if (
      safeLoops[operator](operands.left, operands.right, out, lowest) &&
      (!operands.checked || staysWithin(type, out))
    )
      return withZeros(numbers(type, out), zeros);
  }
  const wide = isUnsigned(operands.x) === isUnsigned(operands.y) ? calculateWide(operator, type, operands) : undefined;
  return wide ? numbers(type, narrowed(wide)) : calculateExactly(operator, type, operands);
};

const floatsOf = (values: NumberArray, length: number): Float64Array => {
  if (values instanceof Float64Array) return values;
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++) out[i] = Number(values[i]);
  return out;
};
const calculateFloats = (
  operator: ArithmeticOperator,
  type: PrimitiveType,
  a: Float64Array,
  b: Float64Array,
  out: Float64Array,
): Vector => {
  switch (operator) {
    case '+':
      for (let i = 0; i < out.length; i++) out[i] = a[i] + b[i];
      break;
    case '-':
      for (let i = 0; i < out.length; i++) out[i] = a[i] - b[i];
      break;
    case '*':
      for (let i = 0; i < out.length; i++) out[i] = a[i] * b[i];
      break;
    case '/':
      for (let i = 0; i < out.length; i++) out[i] = a[i] / b[i];
      break;
    case '%':
      for (let i = 0; i < out.length; i++) out[i] = a[i] % b[i];
  }
  if (type !== types.float64) for (let i = 0; i < out.length; i++) out[i] = roundFloat(type, out[i]);
  return numbers(type, out);
};

/**
 * Loops over safe integers; false where a result leaves the safe range (or goes below `lowest`), then the rows are
 * computed again exactly.
 */
const safeLoops: Readonly<
  Record<ArithmeticOperator, (a: Float64Array, b: Float64Array, out: Float64Array, lowest: number) => boolean>
> = {
  '+': (a, b, out, lowest) => {
    let safe = true;
    for (let i = 0; i < out.length; i++) {
      const x = a[i] + b[i];
      out[i] = x;
      if (x > Number.MAX_SAFE_INTEGER || x < lowest) safe = false;
    }
    return safe;
  },
  '-': (a, b, out, lowest) => {
    let safe = true;
    for (let i = 0; i < out.length; i++) {
      const x = a[i] - b[i];
      out[i] = x;
      if (x > Number.MAX_SAFE_INTEGER || x < lowest) safe = false;
    }
    return safe;
  },
  '*': (a, b, out, lowest) => {
    let safe = true;
    for (let i = 0; i < out.length; i++) {
      // Adding 0 turns -0 into 0: integers have no negative zero.
      const x = a[i] * b[i] + 0;
      out[i] = x;
      if (x > Number.MAX_SAFE_INTEGER || x < lowest) safe = false;
    }
    return safe;
  },
  // Correctly rounded quotients of safe integers never reach the next integer, so truncation is exact.
  '/': (a, b, out, lowest) => {
    let safe = true;
    for (let i = 0; i < out.length; i++) {
      const x = b[i] === 0 ? 0 : Math.trunc(a[i] / b[i]) + 0;
      out[i] = x;
      if (x < lowest) safe = false;
    }
    return safe;
  },
  '%': (a, b, out) => {
    for (let i = 0; i < out.length; i++) out[i] = b[i] === 0 ? 0 : (a[i] % b[i]) + 0;
    return true;
  },
};

const zerosOf = (values: NumberArray, length: number): Uint8Array | undefined => {
  let zeros: Uint8Array | undefined;
  for (let i = 0; i < length; i++) {
    // Mixed number and bigint zeros.
    if (values[i] == 0) (zeros ??= new Uint8Array(length))[i] = 1;
  }
  return zeros;
};
const withZeros = (v: Vector, zeros: Uint8Array | undefined): Vector =>
  zeros ? overlay(v, zeros, errors('divide by zero', v.length)) : v;

/** Whether whole numbers are within a type of fewer than 64 bits. */
const staysWithin = (type: PrimitiveType, values: Float64Array): boolean => {
  const bits = bitsOf(type);
  if (bits === 64) return true;
  const low = isUnsigned(type) ? 0 : -(2 ** (bits - 1));
  const high = isUnsigned(type) ? 2 ** bits : 2 ** (bits - 1);
  return values.every((x) => x >= low && x < high);
};
/** Of a result that leaves its type; that of times and durations is in nanoseconds. */
export const overflow = (operation: string, type: PrimitiveType): LakeError =>
  type === types.time || type === types.duration
    ? new LakeError('query-time-overflow', { operation, type: type.name })
    : new LakeError('query-overflow', { operation, type: type.name });
/** 64-bit arithmetic that wraps around, unless it is checked. @throws query-overflow, query-time-overflow */
const calculateExactly = (
  operator: ArithmeticOperator,
  type: PrimitiveType,
  { left, right, x, y, length, checked }: Operands,
): Vector => {
  const out = isUnsigned(type) ? new BigUint64Array(length) : new BigInt64Array(length);
  const narrow = isUnsigned(type) || checked ? (n: bigint): bigint => n : (n: bigint): bigint => BigInt.asIntN(64, n);
  const mixedSigns = isUnsigned(x) !== isUnsigned(y);
  const zeros = operator === '/' || operator === '%' ? zerosOf(right, length) : undefined;
  let tooLarge: Uint8Array | undefined;
  const unsigned = new UnsignedRows(length);
  for (let i = 0; i < length; i++) {
    const a = BigInt(left[i]);
    const b = BigInt(right[i]);
    if (mixedSigns && !checked && (a > int64Max || b > int64Max)) (tooLarge ??= new Uint8Array(length))[i] = 1;
    else if (!zeros?.[i]) {
      const result = exact(operator, narrow(a), narrow(b));
      if (!checked || isWithin(type, result)) out[i] = result;
      else if (mixedSigns && isWithin(types.uint64, result)) unsigned.set(i, result);
      else throw overflow(`${shown(x, a)} ${operator} ${shown(y, b)}`, type);
    }
  }
  const result = withZeros(unsigned.over(numbers(type, narrowed(out))), zeros);
  return tooLarge
    ? overlay(result, tooLarge, errors('integer overflow: uint64 value too large for int64', length))
    : result;
};
/** Rows of an unsigned and a signed operand whose results need all bits of an unsigned number. */
class UnsignedRows {
  private readonly length: number;
  private rows: { readonly marks: Uint8Array; readonly values: BigUint64Array } | undefined;
  constructor(length: number) {
    this.length = length;
  }
  set(row: number, value: bigint): void {
    this.rows ??= { marks: new Uint8Array(this.length), values: new BigUint64Array(this.length) };
    this.rows.marks[row] = 1;
    this.rows.values[row] = value;
  }
  /** The results with these rows. */
  over(results: Vector): Vector {
    return this.rows ? overlay(results, this.rows.marks, numbers(types.uint64, narrowed(this.rows.values))) : results;
  }
}
/** An operand as it is written: times and durations are kept as numbers of nanoseconds. */
const shown = (type: Type, x: bigint): string =>
  type === types.time || type === types.duration ? supText({ type, data: integer(x) }) : `${x}`;
const isWithin = (type: PrimitiveType, x: bigint): boolean => {
  const bits = BigInt(bitsOf(type));
  return isUnsigned(type) ? x >= 0n && x < 1n << bits : x >= -(1n << (bits - 1n)) && x < 1n << (bits - 1n);
};
const int64Max = (1n << 63n) - 1n;
const exact = (operator: ArithmeticOperator, a: bigint, b: bigint): bigint => {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
  }
};
/** Unary minus. */
export const negate = (operand: Vector, length: number, sql?: true): Vector =>
  apply([operand], length, sql ? sqlNegateKernel : negateKernel);
const negateKernelOf =
  (sql: boolean): Kernel =>
  ([operand], length) => {
    const v = flatten(operand!);
    if (v.form === 'null' || v.form === 'error') return operand!;
    if (v.form !== 'number' || (v.type === types.duration && !sql) || v.type === types.time)
      return wrapErrors("type incompatible with unary '-' operator", operand!);
    if (isFloat(v.type))
      return numbers(
        v.type,
        Float64Array.from(floatsOf(v.values, length).subarray(0, length), (x) => -x),
      );
    const bits = bitsOf(v.type);
    const unsigned = isUnsigned(v.type);
    const type = unsigned ? primitiveNamed(`int${bits}`)! : v.type;
    const limit = 1n << BigInt(bits - 1);
    const out = new BigInt64Array(length);
    let bad: Uint8Array | undefined;
    for (let i = 0; i < length; i++) {
      const x = BigInt(v.values[i]);
      if (!(unsigned ? x > limit - 1n : x === -limit)) out[i] = -x;
      else if (sql) throw overflow(`-(${shown(type, x)})`, type);
      else (bad ??= new Uint8Array(length))[i] = 1;
    }
    const result = numbers(type, narrowed(out));
    return bad
      ? overlay(result, bad, wrapErrors(unsigned ? `cannot cast to ${type.name}` : "unary '-' underflow", operand!))
      : result;
  };
const negateKernel = negateKernelOf(false);
const sqlNegateKernel = negateKernelOf(true);
