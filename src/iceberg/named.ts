/**
 * Values whose type has a name that says what they are: decimals, dates, UUIDs, bytes of one length. A table has types
 * for them, which hold no other values: those that say so by their name alone are as they are without it.
 *
 * Times of day are moments of the first of January 1970: Spark (4.1, Iceberg 1.12) reads no table that has a `time`,
 * whatever columns are asked for.
 */
import { decimalDigitsMax, exactOfFloat, exactOfText, longDecimalName, unitsAt } from '../vectors/decimal.ts';
import { type NamedType, type RecordType, type Type, recordType, types } from '../vectors/type.ts';
import type { Data } from '../vectors/value.ts';
import {
  type BytesVector,
  type NamedVector,
  type NumberVector,
  type RecordVector,
  type Vector,
  dataAt,
  flatten,
  numbers,
  textAt,
} from '../vectors/vector.ts';
import { type SizedKind, decimalKind, fixedKind, sizesOf } from './kinds.ts';

/** Kinds of values that have a name. */
export type NamedKind = SizedKind | 'date' | 'uuid';

const dayNanos = 86_400_000_000_000;
const uuidBytes = 16;
/** Whole numbers of 128 bits as their words. */
const wordsType: RecordType = recordType([
  { name: 'high', type: types.int64 },
  { name: 'low', type: types.uint64 },
]);
/** Decimals that say nothing of their digits: they have this many places where these are enough. */
const placesOfLong = 9;

/** What the name of a type says its values are; long decimals, whose name does not say their places, apart. */
export const kindOfName = ({ name, inner }: Pick<NamedType, 'name' | 'inner'>): NamedKind | undefined => {
  switch (inner) {
    case types.float64: {
      const [, scale, precision] = /^deciaml_(\d{1,2})_(\d{1,2})$/.exec(name) ?? [];
      return precision === undefined ? undefined : decimalKind(Number(precision), Number(scale));
    }
    case types.time:
      return /^arrow_date(32|64)$/.test(name) ? 'date' : undefined;
    case types.bytes: {
      if (name === 'arrow_uuid') return 'uuid';
      const [, size] = /^arrow_fixed_size_binary_([1-9]\d{0,8})$/.exec(name) ?? [];
      return size === undefined ? undefined : fixedKind(Number(size));
    }
    case wordsType:
      return name === 'arrow_decimal128' ? decimalKind(decimalDigitsMax, 0) : undefined;
    default:
      return undefined;
  }
};
/** The kind of a column's decimals, to which the long ones beside them belong. */
export const decimalBeside = (members: readonly (Type | undefined)[]): NamedKind | undefined => {
  for (const type of members) {
    const kind = type?.kind === 'named' ? kindOfName(type) : undefined;
    if (kind?.startsWith('decimal')) return kind;
  }
  return undefined;
};

/** Some rows of one kind; `kind` undefined: as they are without their name. `rows` undefined: all. */
interface NamedPart {
  readonly kind: NamedKind | undefined;
  readonly rows: Uint32Array | undefined;
}
/** Rows by what they are. `decimal`: the kind of the decimals beside them. */
export const namedParts = (v: NamedVector, decimal?: NamedKind): readonly NamedPart[] => {
  if (v.length === 0) return [];
  const inner = flatten(v.inner);
  if (v.name === longDecimalName && inner.form === 'bytes' && inner.type === types.string)
    return longParts(inner, decimal);
  const type = typeOfRows(inner);
  const kind = type && kindOfName({ name: v.name, inner: type });
  if (kind === undefined) return [{ kind: undefined, rows: undefined }];
  const fits = fitting(kind, inner);
  const found = fits.reduce((n, x) => n + x, 0);
  if (found === v.length) return [{ kind, rows: undefined }];
  if (found === 0) return [{ kind: undefined, rows: undefined }];
  return [
    { kind, rows: rowsWith(fits, 1) },
    { kind: undefined, rows: rowsWith(fits, 0) },
  ];
};
const typeOfRows = (v: Vector): Type | undefined => {
  switch (v.form) {
    case 'number':
    case 'bytes':
      return v.type;
    case 'record':
      return isWords(v) ? wordsType : undefined;
    default:
      return undefined;
  }
};
/** Whether records are numbers of 128 bits, all of them whole. */
const isWords = ({ fields, length }: RecordVector): boolean => {
  const [high, low] = fields;
  const isOf = (field: typeof high, name: string, type: Type): boolean => {
    if (field?.name !== name || field.present?.subarray(0, length).includes(0)) return false;
    const values = flatten(field.values);
    return values.form === 'number' && values.type === type;
  };
  return fields.length === 2 && isOf(high, 'high', types.int64) && isOf(low, 'low', types.uint64);
};
const rowsWith = (flags: Uint8Array, flag: number): Uint32Array => {
  const out = new Uint32Array(flags.length);
  let count = 0;
  for (let i = 0; i < flags.length; i++) if (flags[i] === flag) out[count++] = i;
  return out.subarray(0, count);
};

const longParts = (texts: BytesVector, decimal: NamedKind | undefined): readonly NamedPart[] => {
  const rows = new Map<NamedKind | undefined, number[]>();
  for (let i = 0; i < texts.length; i++) {
    const kind = longKind(textAt(texts, i), decimal);
    const own = rows.get(kind);
    if (own) own.push(i);
    else rows.set(kind, [i]);
  }
  const parts = [...rows].map(([kind, own]) => ({ kind, rows: Uint32Array.from(own) }));
  const [only, ...others] = parts;
  return only && others.length === 0 ? [{ kind: only.kind, rows: undefined }] : parts;
};
const longKind = (text: string, decimal: NamedKind | undefined): NamedKind | undefined => {
  const exact = exactOfText(text);
  if (!exact) return undefined;
  for (const kind of [decimal, decimalKind(decimalDigitsMax, placesOfLong), decimalKind(decimalDigitsMax, exact.scale)])
    if (kind !== undefined && unitsFor(exact, sizesOf(kind)) !== undefined) return kind;
  return undefined;
};

/** 1 where a value is of the kind. */
const fitting = (kind: NamedKind, v: Vector): Uint8Array => {
  switch (v.form) {
    case 'number':
      if (kind === 'date') return fittingDays(v);
      return fittingUnits(v, sizesOf(kind));
    case 'bytes': {
      const size = kind === 'uuid' ? uuidBytes : sizesOf(kind).precision;
      return Uint8Array.from({ length: v.length }, (_, i) => Number(v.offsets[i + 1]! - v.offsets[i]! === size));
    }
    default: {
      const most = 10n ** BigInt(decimalDigitsMax);
      return Uint8Array.from({ length: v.length }, (_, i) => {
        const x = wordsAt(v, i);
        return Number(x < most && x > -most);
      });
    }
  }
};
const fittingDays = ({ values, length }: NumberVector): Uint8Array => {
  const out = new Uint8Array(length);
  if (values instanceof Float64Array) for (let i = 0; i < length; i++) out[i] = Number(values[i]! % dayNanos === 0);
  else for (let i = 0; i < length; i++) out[i] = Number(values[i]! % BigInt(dayNanos) === 0n);
  return out;
};
const fittingUnits = ({ values, length }: NumberVector, size: Sizes): Uint8Array => {
  const out = new Uint8Array(length);
  const quick = quickUnits(size);
  for (let i = 0; i < length; i++) {
    const x = Number(values[i]!);
    out[i] = Number(quick(x) !== undefined || unitsOfNumber(x, size) !== undefined);
  }
  return out;
};

type Sizes = ReturnType<typeof sizesOf>;
type Exact = NonNullable<ReturnType<typeof exactOfText>>;
/** Units of the last place, if they are whole and have no more digits. */
const unitsFor = (exact: Exact, { precision, scale }: Sizes): bigint | undefined => {
  const units = unitsAt(exact, scale);
  if (scale < exact.scale && unitsAt({ units, scale }, exact.scale) !== exact.units) return undefined;
  const most = 10n ** BigInt(precision);
  return units < most && units > -most ? units : undefined;
};
/** A negative zero is no decimal. */
const unitsOfNumber = (x: number, size: Sizes): bigint | undefined => {
  const exact = Object.is(x, -0) ? undefined : exactOfFloat(x);
  return exact && unitsFor(exact, size);
};
/** Digits that a float always gives back, and powers of ten that are floats. */
const quickDigits = 15;
const quickScaleMax = 22;
/** The units of floats that have few digits; undefined for those that need a longer look. */
const quickUnits = ({ precision, scale }: Sizes): ((x: number) => number | undefined) => {
  const by = scale <= quickScaleMax ? Number(`1e${scale}`) : NaN;
  const most = Number(`1e${Math.min(precision, quickDigits)}`);
  return (x) => {
    const units = Math.round(x * by);
    return units < most && units > -most && units / by === x && !Object.is(x, -0) ? units : undefined;
  };
};

/** What a single value with a name is, as its name says; undefined: what it is without it. */
export type NamedValue =
  | { readonly form: 'date'; readonly days: number }
  | { readonly form: 'uuid'; readonly bytes: Uint8Array }
  | { readonly form: 'decimal'; readonly units: bigint; readonly scale: number };
export const namedValue = (type: NamedType, data: Data): NamedValue | undefined => {
  if (type.name === longDecimalName && typeof data === 'string') {
    const exact = exactOfText(data);
    const kind = exact && decimalKind(decimalDigitsMax, exact.scale);
    return exact && kind && unitsFor(exact, sizesOf(kind)) !== undefined ? { form: 'decimal', ...exact } : undefined;
  }
  const kind = kindOfName(type);
  if (kind === undefined) return undefined;
  if (data instanceof Uint8Array)
    return kind === 'uuid' && data.length === uuidBytes ? { form: 'uuid', bytes: data } : undefined;
  if (kind === 'date') {
    const nanos = BigInt(data as number | bigint);
    const day = BigInt(dayNanos);
    return nanos % day === 0n ? { form: 'date', days: Number(nanos / day) } : undefined;
  }
  const size = sizesOf(kind);
  if (Array.isArray(data)) {
    const [high, low] = data as readonly (number | bigint)[];
    const units = (BigInt(high!) << 64n) | BigInt(low!);
    return unitsFor({ units, scale: 0 }, size) === undefined ? undefined : { form: 'decimal', units, scale: 0 };
  }
  const units = unitsOfNumber(Number(data), size);
  return units === undefined ? undefined : { form: 'decimal', units, scale: size.scale };
};

const wordsAt = (v: Vector, i: number): bigint => {
  const data = dataAt(v, i);
  if (!Array.isArray(data)) throw new Error('numbers of 128 bits are records of two words');
  const [high, low] = data as readonly (number | bigint)[];
  return (BigInt(high!) << 64n) | BigInt(low!);
};

/** Digits of whole numbers of 64 bits. */
const shortDigits = 18;
const lowWord = (1n << 64n) - 1n;
/** Decimals of a kind as their units, which the file's columns are written from: integers of 64 bits, or two words. */
export const decimalUnits = (kind: SizedKind, v: Vector): NumberVector | RecordVector => {
  const size = sizesOf(kind);
  if (v.form === 'record') return v;
  const quick = quickUnits(size);
  const units = new BigInt64Array(v.length);
  const high = new BigInt64Array(size.precision > shortDigits ? v.length : 0);
  for (let i = 0; i < v.length; i++) {
    const own = unitsAtRow(v, i, size, quick);
    units[i] = BigInt.asIntN(64, own);
    if (high.length > 0) high[i] = own >> 64n;
  }
  if (size.precision <= shortDigits) return numbers(types.int64, units);
  const low = BigUint64Array.from(units, (x) => x & lowWord);
  return {
    form: 'record',
    length: v.length,
    fields: [
      { name: 'high', optional: false, values: numbers(types.int64, high) },
      { name: 'low', optional: false, values: numbers(types.uint64, low) },
    ],
  };
};
const unitsAtRow = (v: Vector, i: number, size: Sizes, quick: (x: number) => number | undefined): bigint => {
  let units: bigint | undefined;
  if (v.form === 'number') {
    const x = Number(v.values[i]!);
    const few = quick(x);
    units = few === undefined ? unitsOfNumber(x, size) : BigInt(few);
  } else if (v.form === 'bytes') {
    const exact = exactOfText(textAt(v, i));
    units = exact && unitsFor(exact, size);
  }
  if (units === undefined) throw new Error(`row ${i} is no decimal(${size.precision},${size.scale})`);
  return units;
};
