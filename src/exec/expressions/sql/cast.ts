/**
 * Casts of SQL over vectors: what cannot be cast ends the query with an error, or is null (TRY_CAST). Floats are
 * rounded to the nearest whole number, halves to the even one, those of decimals away from 0; texts are read with
 * blanks around them. Null stays null, and an error that a row has already (an absent field) stays too.
 */
import { type SqlType, modelType, sqlTypeOfName } from '../../../query/sql/values/types.ts';
import { type PrimitiveType, bitsOf, hasPlaces, isFloat, isInteger, isUnsigned, types } from '../../../vectors/type.ts';
import { integer, underValue, bytesData, stringData } from '../../../vectors/value.ts';
import { digitsOf } from './digits.ts';
import { decimalFloatText, fitsInt64, roundFloat } from '../../../vectors/literal.ts';
import {
  unitsOf as toUnits,
  unitsOfLong,
  exactOfFloat,
  unitsAt,
  decimalData,
  decimalRows,
  floatsOfTexts,
  longDecimalName,
} from '../../../vectors/decimal.ts';
import { supText } from '../../../vectors/sup/print.ts';
import { spanOf, spanValue } from '../../../vectors/spans.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import {
  type BytesVector,
  type DictionaryVector,
  type Field,
  type FlatVector,
  type ListVector,
  type MapVector,
  type NumberVector,
  type RecordVector,
  type Vector,
  bools,
  compacted,
  compactedParts,
  dataAt,
  flatten,
  gather,
  itemsOf,
  nulls,
  numbers,
  textAt,
  valueAt,
} from '../../../vectors/vector.ts';
import { Builder } from '../../../vectors/builder.ts';
import { BytesBuilder, NumberBuilder } from '../../../vectors/builder-leaves.ts';
import { intervalOfText } from '../../../query/analyze/intervals.ts';
import { jsonOf, jsonText, parseJson } from '../json-text.ts';
import { castError } from './cast-errors.ts';
import { castPrimitive } from '../cast-primitive.ts';
import { nullOf } from '../cast.ts';
import { lift, liftTagged, liftUnion } from '../lift.ts';
import { roundHalfAway, roundHalfEven } from '../../functions/numbers/rounding.ts';
import { onlyMember } from '../../../vectors/unions.ts';
import { listsOf, mapsOf } from '../lists.ts';
import { combine, overlay, tidy, truth, truthOf } from '../rows.ts';
import { bitsAt, boolOfBits, bytesOfBits, numberOfBits } from './bits.ts';
import { fieldsOfJson, holdsJson, listOfJson } from './json-parts.ts';
import { entriesOfText, listOfText, rowOfText } from './nested-text.ts';
import {
  knownText,
  scaledDecimal,
  sqlBool,
  sqlBytes,
  sqlClock,
  sqlClockText,
  sqlFloat,
  sqlInteger,
  sqlMoment,
  sqlText,
  sqlTime,
} from './texts.ts';
import { plainNumbers } from './plain-numbers.ts';
import { uuidOf, uuidOfBytes, uuidTextsOf } from './uuids.ts';
import { wideRows } from './wide.ts';
import { bucketsOfStored, timesOfBytes, timesOfStored } from '../time-bytes.ts';

/**
 * How a cast is made: `from` is what the query says of the operand's type, `written` the cast as its error shows it,
 * `advice` what to write instead; `inside` of a list, struct or map null is of no type.
 */
export interface SqlCast {
  readonly type: SqlType;
  readonly from?: SqlType;
  readonly failure: 'error' | 'null';
  readonly written: string;
  readonly advice?: string;
  readonly inside?: true;
}

/** Casts every row. @throws query-cast at the first row that cannot be cast, unless such rows are null. */
export const sqlCastVector = (v: Vector, cast: SqlCast): Vector => castRows(v, cast.type, cast);

/** Sees the rows alone that there are, not what else a vector holds. */
const castRows = (v: Vector, type: SqlType, cast: SqlCast): Vector => {
  if (type.kind === 'date') {
    const days = bucketsOfStored(v, nanosOfDay);
    if (days) return days;
  }
  switch (v.form) {
    case 'selected':
      return castRows(gather(v.base, v.index), type, cast);
    case 'dictionary':
      return usesAll(v) ? { ...v, values: castRows(v.values, type, cast) } : castRows(flatten(v), type, cast);
    case 'dynamic': {
      const { tags, slots, parts, length } = compactedParts(v);
      return liftTagged(tags, slots, parts, length, (part) => castRows(part, type, cast));
    }
    default:
      return lift(v, (flat) => castFlat(flat, type, cast));
  }
};
/** Whether there is a row of every value: what no row has must not fail. */
const usesAll = ({ codes, values, length }: DictionaryVector): boolean => {
  const seen = new Uint8Array(values.length);
  let left = values.length;
  for (let i = 0; i < length && left > 0; i++) {
    left -= 1 - seen[codes[i]];
    seen[codes[i]] = 1;
  }
  return left === 0;
};

const castFlat = (v: FlatVector, type: SqlType, cast: SqlCast): Vector => {
  switch (v.form) {
    case 'union': {
      if (onlyMember(v)) return liftUnion(v, (m) => castRows(m, type, cast));
      const { slots, parts } = compacted(v, v.members);
      return liftTagged(v.tags, slots, parts, v.length, (m) => castRows(m, type, cast));
    }
    case 'named':
      return v.name === longDecimalName
        ? ((type.kind === 'units' ? unitsOfLong(v) : undefined) ?? castLong(v, type, cast))
        : castRows(v.inner, type, namedCast(v.name, cast));
    case 'null':
      return cast.inside ? nulls(v.length) : nullOf(modelType(type), v.length);
    case 'error':
      return v;
    default:
  }
  switch (type.kind) {
    case 'plain':
      return type.type.kind === 'primitive' ? castPlain(v, type.type, type, cast) : refuse(v, type, cast);
    case 'wide':
      return toWide(v, type, cast);
    case 'date':
      return toTime(v, nanosOfDay, type, cast);
    case 'timestamp':
      return toTime(v, type.unit, type, cast);
    case 'uuid':
      return toUuid(v, type, cast);
    case 'bit':
      return toBits(v, type, cast);
    case 'clock':
      return toClock(v, type, cast);
    case 'json':
      return isText(v)
        ? byText(v, type, cast, (text) => (parseJson(text) === undefined ? undefined : text), textsOf)
        : textsOf(Array.from({ length: v.length }, (_, i) => jsonText(jsonOf(valueAt(v, i)))));
    case 'decimal':
      return toDecimal(v, type, cast);
    case 'units':
      return toUnits(v) ?? refuse(v, type, cast);
    case 'list':
      return v.form === 'list'
        ? castList(v, type, cast)
        : isText(v)
          ? listsOfTexts(v, type, cast)
          : refuse(v, type, cast);
    case 'struct':
      return v.form === 'record'
        ? castStruct(v, type, cast)
        : isText(v)
          ? structsOfTexts(v, type, cast)
          : refuse(v, type, cast);
    case 'map':
      return v.form === 'map'
        ? castMap(v, type, cast)
        : v.form === 'record'
          ? castFields(v, type, cast)
          : isText(v)
            ? mapsOfTexts(v, type, cast)
            : refuse(v, type, cast);
  }
};

const toWide = (v: FlatVector, type: SqlType & { readonly kind: 'wide' }, cast: SqlCast): Vector => {
  const short = type.unsigned ? types.uint64 : types.int64;
  const isBits = cast.from?.kind === 'bit';
  if (isText(v) && cast.from?.kind === 'uuid')
    return toWide(flatten(textsOf(numbersOfUuids(v))), type, { ...cast, from: type });
  const isDecimal = cast.from?.kind === 'decimal';
  const found = (v.form === 'number' && v.type === short) || isBits ? undefined : wideRows(v, type, short, isDecimal);
  return found ? settle(found.values, found.bad, v, type, cast) : castPlain(v, short, type, cast);
};

/** The 128 bits of each. */
const numbersOfUuids = (v: BytesVector): string[] =>
  Array.from({ length: v.length }, (_, i) => String(BigInt(`0x${textAt(v, i).replaceAll('-', '')}`)));

/** Long decimals are read digit by digit; as truth none of them is zero. */
const castLong = (v: FlatVector & { readonly form: 'named' }, type: SqlType, cast: SqlCast): Vector => {
  const isPlain = type.kind === 'plain' && floatsOfTexts(v.inner) !== undefined;
  if (isPlain && type.type === types.bool) return bools(new Uint8Array(v.length).fill(1));
  if (!isPlain || type.type !== types.string) return castRows(v.inner, type, cast);
  const texts = Array.from({ length: v.length }, (_, i) => stringData(dataAt(v.inner, i)));
  return textsOf(texts.map((text) => (cast.from && knownText(cast.from, text)) ?? text));
};

/** `values` where `bad` is 0. */
const settle = (values: Vector, bad: Uint8Array, v: Vector, type: SqlType, cast: SqlCast): Vector => {
  const first = bad.indexOf(1);
  if (first < 0) return values;
  if (cast.failure === 'error') throw castError(underValue(valueAt(v, first)), type, cast);
  return overlay(values, bad, nulls(values.length));
};
const refuse = (v: Vector, type: SqlType, cast: SqlCast): Vector =>
  settle(nulls(v.length), new Uint8Array(v.length).fill(1), v, type, cast);

const isText = (v: FlatVector): v is BytesVector => v.form === 'bytes' && v.type === types.string;

const castPlain = (v: FlatVector, target: PrimitiveType, type: SqlType, cast: SqlCast): Vector => {
  if ((v.form === 'number' || v.form === 'bytes') && v.type === target) return v;
  if (isText(v) && cast.from?.kind === 'bit' && target !== types.string) return ofBits(v, target, type, cast);
  switch (target) {
    case types.string:
      return toText(v, cast);
    case types.bool:
      return v.form === 'bool'
        ? v
        : v.form === 'number'
          ? numbersToBool(v)
          : isText(v)
            ? byText(v, type, cast, sqlBool, boolsOf)
            : refuse(v, type, cast);
    case types.bytes:
      return isText(v)
        ? byText(v, type, cast, cast.from?.kind === 'uuid' ? uuidBytes : sqlBytes, bytesOf)
        : refuse(v, type, cast);
    case types.duration:
      return v.form === 'bytes' || v.form === 'record' ? toInterval(v, type, cast) : byModel(v, target, type, cast);
    default:
  }
  if (isText(v) && isInteger(target)) {
    const { low, high } = bounds(target);
    const [least, most] = [Number(low), Number(high)];
    return numbersOfTexts(v, target, type, cast, {
      plain: (x) => (x >= least && x <= most ? x + 0 : undefined),
      parse: (text) => withinRange(sqlInteger(text), target),
    });
  }
  if (isText(v) && isFloat(target))
    return numbersOfTexts(v, target, type, cast, {
      plain: (x) => finite(x, target, ''),
      parse: (text) => finite(sqlFloat(text), target, text),
    });
  if (v.form === 'number' && isFloat(v.type) && isInteger(target)) return roundedRows(v, target, type, cast);
  if (v.form === 'number' && isFloat(target) && target !== types.float64) return narrowedFloats(v, target, type, cast);
  return byModel(v, target, type, cast);
};

/** As the data model casts; its errors are this cast's. */
const byModel = (v: FlatVector, target: PrimitiveType, type: SqlType, cast: SqlCast): Vector => {
  const out = castPrimitive(v, target);
  const codes = truthOf(out);
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) bad[i] = codes[i] === truth.error ? 1 : 0;
  return settle(out, bad, v, type, cast);
};

/** `plain`: of numbers that are written with digits alone; `parse`: of other texts; undefined where there is none. */
const numbersOfTexts = (
  v: BytesVector,
  target: PrimitiveType,
  type: SqlType,
  cast: SqlCast,
  {
    plain,
    parse,
  }: {
    readonly plain: (x: number) => number | undefined;
    readonly parse: (text: string) => number | bigint | undefined;
  },
): Vector => {
  const read = plainNumbers(v, isFloat(target));
  const out = new NumberBuilder(target);
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    const own = read[i];
    const x = own === own ? plain(own) : parse(textAt(v, i));
    if (x === undefined) bad[i] = 1;
    out.push(typeof x === 'bigint' ? integer(x) : (x ?? 0));
  }
  return settle(out.finish(), bad, v, type, cast);
};

/** One value a text; undefined where the text has none. */
const byText = <T>(
  v: BytesVector,
  type: SqlType,
  cast: SqlCast,
  parse: (text: string, row: number) => T | undefined,
  column: (values: readonly (T | undefined)[]) => Vector,
): Vector => {
  const values: (T | undefined)[] = [];
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    const x = parse(textAt(v, i), i);
    if (x === undefined) bad[i] = 1;
    values.push(x);
  }
  return settle(column(values), bad, v, type, cast);
};
const boolsOf = (list: readonly (boolean | undefined)[]): Vector =>
  bools(Uint8Array.from(list, (x) => (x === true ? 1 : 0)));
const numbersOf = (type: PrimitiveType, list: readonly (number | bigint | undefined)[]): Vector => {
  const out = new NumberBuilder(type);
  for (const x of list) out.push(typeof x === 'bigint' ? integer(x) : (x ?? 0));
  return out.finish();
};
const bytesOf = (list: readonly (Uint8Array | undefined)[]): Vector => {
  const out = new Builder(types.bytes);
  for (const x of list) out.appendData(types.bytes, x ?? new Uint8Array(0));
  return out.finish();
};
/** Durations, and intervals with months where there are any. */
const toInterval = (v: BytesVector | RecordVector, type: SqlType, cast: SqlCast): Vector => {
  const out = new Builder();
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    const found = isText(v) ? intervalOfText(textAt(v, i)) : spanOf(valueAt(v, i));
    const value = found && spanValue({ days: 0, ...found });
    if (!value) bad[i] = 1;
    out.append(value ?? { type: types.duration, data: 0 });
  }
  return settle(out.finish(), bad, v, type, cast);
};

const bounds = (type: PrimitiveType): { readonly low: bigint; readonly high: bigint } => {
  const bits = BigInt(bitsOf(type));
  return isUnsigned(type)
    ? { low: 0n, high: (1n << bits) - 1n }
    : { low: -(1n << (bits - 1n)), high: (1n << (bits - 1n)) - 1n };
};
const withinRange = (x: bigint | undefined, type: PrimitiveType): bigint | undefined => {
  const { low, high } = bounds(type);
  return x !== undefined && x >= low && x <= high ? x : undefined;
};
const finite = (x: number | undefined, type: PrimitiveType, text = 'inf'): number | undefined => {
  const rounded = x === undefined ? undefined : roundFloat(type, x);
  return rounded !== undefined && Number.isFinite(x) && !Number.isFinite(rounded) && !/inf/i.test(text)
    ? undefined
    : rounded;
};
const roundedRows = (v: NumberVector, target: PrimitiveType, type: SqlType, cast: SqlCast): Vector => {
  if (target === types.int64 && v.values instanceof Float64Array && areSafe(v.values, v.length))
    return numbers(target, v.values, v.length);
  const { low, high } = bounds(target);
  const out = new NumberBuilder(target);
  const bad = new Uint8Array(v.length);
  const isDecimal = cast.from?.kind === 'decimal';
  const toWhole = isDecimal ? roundHalfAway : roundHalfEven;
  // The digits of a decimal count, not those of the float.
  const wholeOf = (x: number): bigint => (isDecimal ? unitsAt(exactOfFloat(x)!, 0) : BigInt(x));
  for (let i = 0; i < v.length; i++) {
    const x = toWhole(v.values[i] as number);
    const safe = Number.isSafeInteger(x);
    const big = safe || !Number.isFinite(x) ? 0n : wholeOf(x);
    if (safe ? x >= Number(low) && x <= Number(high) : Number.isFinite(x) && big >= low && big <= high)
      out.push(safe ? x : big);
    else {
      bad[i] = 1;
      out.push(0);
    }
  }
  return settle(out.finish(), bad, v, type, cast);
};
/** Whether they are whole numbers already, and no -0. */
const areSafe = (values: Float64Array, length: number): boolean => {
  let safe = true;
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (x !== Math.floor(x) || x > Number.MAX_SAFE_INTEGER || x < -Number.MAX_SAFE_INTEGER || Object.is(x, -0))
      safe = false;
  }
  return safe;
};
const narrowedFloats = (v: NumberVector, target: PrimitiveType, type: SqlType, cast: SqlCast): Vector => {
  const out = new Float64Array(v.length);
  const bad = new Uint8Array(v.length);
  for (let i = 0; i < out.length; i++) {
    const x = Number(v.values[i]);
    const rounded = roundFloat(target, x);
    if (Number.isFinite(x) && !Number.isFinite(rounded)) bad[i] = 1;
    else out[i] = rounded;
  }
  return settle(numbers(target, out), bad, v, type, cast);
};
const numbersToBool = (v: NumberVector): Vector => {
  const out = new Uint8Array(v.length);
  // Mixed number and bigint zeros.
  for (let i = 0; i < v.length; i++) out[i] = v.values[i] == 0 ? 0 : 1;
  return bools(out);
};

const nanosOfDay = 86_400_000_000_000;
const toTime = (v: FlatVector, unit: number, type: SqlType, cast: SqlCast): Vector => {
  const cut = (flat: FlatVector): Vector => cutTimes(flat, unit, type, cast);
  if (v.form === 'number' && v.type === types.time) return cut(v);
  if (!isText(v))
    return v.form === 'number' && type.kind === 'timestamp'
      ? cut(flatten(byModel(v, types.time, type, cast)))
      : refuse(v, type, cast);
  const quick = timesOfStored(v) ?? timesOfBytes(v);
  if (quick) return lift(quick, cut);
  const parse = type.kind === 'timestamp' && type.zoned ? sqlMoment : sqlTime;
  const found = byText(
    v,
    type,
    cast,
    (text) => {
      const t = parse(text);
      return typeof t === 'string' ? undefined : t;
    },
    (list) => numbersOf(types.time, list),
  );
  return lift(found, cut);
};
/** Times cut down to the day, or rounded to a shorter unit. The first day and the last moment have no such times. */
const cutTimes = (v: FlatVector, unit: number, type: SqlType, cast: SqlCast): Vector => {
  if (v.form !== 'number' || unit === 1) return v;
  const half = unit === nanosOfDay ? 0 : unit / 2;
  const out = new NumberBuilder(types.time);
  const bad = new Uint8Array(v.length);
  const size = BigInt(unit);
  for (let i = 0; i < v.length; i++) {
    const x = typeof v.values[i] === 'number' && half === 0 ? v.values[i] : BigInt(v.values[i]) + BigInt(half);
    if (typeof x === 'number') out.push(Math.floor(x / unit) * unit);
    else {
      const rest = x % size;
      const start = x - rest - (rest < 0n ? size : 0n);
      const fits = fitsInt64(start);
      if (!fits) bad[i] = 1;
      out.push(fits ? integer(start) : 0);
    }
  }
  return settle(out.finish(), bad, v, type, cast);
};

/** What a named type says of its values is known, unless the query says more. */
const namedCast = (name: string, cast: SqlCast): SqlCast => {
  const from = cast.from ?? sqlTypeOfName(name);
  return from ? { ...cast, from } : cast;
};
const toClock = (v: FlatVector, type: SqlType & { readonly kind: 'clock' }, cast: SqlCast): Vector => {
  if (isText(v)) {
    if (cast.from?.kind === 'clock' && cast.from.digits <= type.digits) return v;
    return byText(
      v,
      type,
      cast,
      (text) => {
        const nanos = sqlClock(text, type.digits);
        return nanos === undefined ? undefined : sqlClockText(nanos);
      },
      textsOf,
    );
  }
  if (v.form !== 'number' || (v.type !== types.time && v.type !== types.duration)) return refuse(v, type, cast);
  const unit = 10n ** BigInt(9 - type.digits);
  return textsOf(Array.from({ length: v.length }, (_, i) => sqlClockText(flooredTo(BigInt(v.values[i]), unit))));
};
const toBits = (v: FlatVector, type: SqlType, cast: SqlCast): Vector => {
  if (isText(v) && cast.from?.kind === 'bit') return v;
  const list = Array.from({ length: v.length }, (_, i) => bitsAt(v, i));
  return settle(
    textsOf(list),
    Uint8Array.from(list, (bits) => (bits === undefined ? 1 : 0)),
    v,
    type,
    cast,
  );
};
/** Bits as numbers of as many bits at least, bools and bytes. */
const ofBits = (v: BytesVector, target: PrimitiveType, type: SqlType, cast: SqlCast): Vector => {
  switch (target) {
    case types.bool:
      return byText(v, type, cast, boolOfBits, boolsOf);
    case types.bytes:
      return byText(v, type, cast, bytesOfBits, bytesOf);
    default:
      return isInteger(target) || isFloat(target)
        ? byText(
            v,
            type,
            cast,
            (bits) => numberOfBits(bits, target),
            (list) => numbersOf(target, list),
          )
        : refuse(v, type, cast);
  }
};
const flooredTo = (x: bigint, unit: bigint): bigint => x - (((x % unit) + unit) % unit);
const uuidBytes = (text: string): Uint8Array => Buffer.from(text.replaceAll('-', ''), 'hex');
const toUuid = (v: FlatVector, type: SqlType, cast: SqlCast): Vector => {
  if (v.form === 'bytes' && v.type === types.bytes)
    return uuidTextsOf(v) ?? byText(v, type, cast, (_, i) => uuidOfBytes(bytesData(dataAt(v, i))), textsOf);
  if (!isText(v)) return refuse(v, type, cast);
  return cast.from?.kind === 'uuid' ? v : byText(v, type, cast, uuidOf, textsOf);
};
const textsOf = (list: readonly (string | undefined)[]): Vector => {
  const out = new BytesBuilder(types.string);
  for (const x of list) out.text(x ?? '');
  return out.finish();
};

/** Rounded at the digits of the type; undefined for what does not fit it. */
const decimalOf = (
  digits: string,
  { precision, scale }: SqlType & { readonly kind: 'decimal' },
): number | string | undefined => {
  const units = scaledDecimal(digits, scale);
  if (units === undefined || (units < 0n ? -units : units) >= 10n ** BigInt(precision)) return undefined;
  return decimalData({ units, scale });
};
const decimalsOf = (list: readonly (number | string | undefined)[]): Vector => {
  const long: number[] = [];
  const texts: string[] = [];
  list.forEach((x, i) => {
    if (typeof x !== 'string') return;
    long.push(i);
    texts.push(x);
  });
  return decimalRows(
    Float64Array.from(list, (x) => (typeof x === 'number' ? x : 0)),
    long,
    texts,
  );
};
/** Digits of decimals that floats always tell apart. */
const digitsExact = 15;
/** The same of a number that is clearly nearer to one decimal than to any other; undefined for others. */
const decimalOfNumber = (x: number | bigint, by: number, unitsMax: number): number | undefined => {
  const units = Number(x) * by;
  const nearest = Math.round(units);
  return Math.abs(nearest) < unitsMax && by < 1e15 && Math.abs(units - nearest) < 0.499 ? nearest / by + 0 : undefined;
};
const toDecimal = (v: FlatVector, type: SqlType & { readonly kind: 'decimal' }, cast: SqlCast): Vector => {
  if (isText(v)) return byText(v, type, cast, (text) => decimalOf(text, type), decimalsOf);
  if (v.form === 'bool')
    return toDecimal(numbers(types.uint8, Float64Array.from(v.values.subarray(0, v.length))), type, cast);
  const read =
    v.form === 'number' && v.type !== types.time && v.type !== types.duration
      ? (i: number) => numberDigits(v, i)
      : undefined;
  if (!read || v.form !== 'number') return refuse(v, type, cast);
  const out = new Float64Array(v.length);
  const bad = new Uint8Array(v.length);
  const long: number[] = [];
  const texts: string[] = [];
  const by = 10 ** type.scale;
  const unitsMax = 10 ** Math.min(type.precision, digitsExact);
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    const x = decimalOfNumber(v.values[i], by, unitsMax) ?? decimalOf(read(i), type);
    if (typeof x === 'number') out[i] = x;
    else if (x === undefined) bad[i] = 1;
    else {
      long.push(i);
      texts.push(x);
    }
  }
  return settle(decimalRows(out, long, texts), bad, v, type, cast);
};
const numberDigits = (v: NumberVector, i: number): string =>
  isFloat(v.type) ? decimalFloatText(v.values[i] as number, v.type === types.float32 ? 32 : 64) : String(v.values[i]);

const toText = (v: FlatVector, { from }: SqlCast): Vector => {
  if (isText(v)) return v;
  if (v.form === 'number' && isInteger(v.type) && (from === undefined || from.kind === 'plain')) return digitsOf(v);
  const out = new BytesBuilder(types.string);
  const text = (i: number): string => (from && knownText(from, dataAt(v, i))) ?? sqlText(valueAt(v, i), from);
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    out.text(text(i));
  }
  return out.finish();
};

/** The cast of what is inside a value. */
const withoutFrom = ({ from: _, ...cast }: SqlCast): SqlCast => ({ ...cast, inside: true });
/** The cast of what is inside a text, which is JSON if this is. */
const insideText = (cast: SqlCast, part: SqlType): SqlCast =>
  isJson(cast) && holdsJson(part) ? { ...cast, inside: true } : withoutFrom(cast);
const isJson = ({ from }: SqlCast): boolean => from?.kind === 'json';
const castList = (v: ListVector, type: SqlType & { readonly kind: 'list' }, cast: SqlCast): Vector => {
  const start = v.offsets[0];
  const offsets = v.offsets.subarray(0, v.length + 1).map((o) => o - start);
  const { length } = type;
  const bad = new Uint8Array(v.length);
  if (length !== undefined) for (let i = 0; i < v.length; i++) bad[i] = offsets[i + 1] - offsets[i] === length ? 0 : 1;
  const inner = { ...withoutFrom(cast), ...(cast.from?.kind === 'list' && { from: cast.from.element }) };
  const cells = tidy(castRows(itemsOf(v, v.items), type.element, inner));
  return settle(listsOf('array', offsets, cells, v.length, modelType(type.element)), bad, v, type, cast);
};
const castMap = (v: MapVector, type: SqlType & { readonly kind: 'map' }, cast: SqlCast): Vector => {
  const start = v.offsets[0];
  const offsets = v.offsets.subarray(0, v.length + 1).map((o) => o - start);
  const inner = withoutFrom(cast);
  const model = modelType(type);
  const keys = castRows(itemsOf(v, v.keys), type.key, inner);
  const values = castRows(itemsOf(v, v.values), type.value, inner);
  const bad = new Uint8Array(v.length);
  markKeys(offsets, keys, bad);
  return model.kind === 'map'
    ? settle(mapsOf(offsets, keys, values, v.length, model), bad, v, type, cast)
    : refuse(v, type, cast);
};
/** Marks maps with keys that are null or come twice once they are cast. */
const markKeys = (offsets: Uint32Array, keys: Vector, bad: Uint8Array): void => {
  for (let i = 0; i < bad.length; i++) {
    const seen = new Set<string>();
    for (let at = offsets[i]; at < offsets[i + 1]; at++) {
      checkStopAt(at);
      const key = underValue(valueAt(keys, at));
      const text = supText(key);
      if (key.data === null || seen.has(text)) bad[i] = 1;
      seen.add(text);
    }
  }
};
/** Texts, of which some are null, as a column. */
const nullableTexts = (list: readonly (string | null)[]): Vector =>
  overlay(
    textsOf(list.map((x) => x ?? '')),
    Uint8Array.from(list, (x) => (x === null ? 1 : 0)),
    nulls(list.length),
  );
/** What texts hold inside of them: the parts of each row, and which rows hold none. */
const insides = <T>(
  v: BytesVector,
  parse: (text: string) => readonly T[] | undefined,
): {
  readonly parts: readonly T[];
  readonly offsets: Uint32Array;
  readonly bad: Uint8Array;
  readonly rows: readonly (readonly T[])[];
} => {
  const bad = new Uint8Array(v.length);
  const offsets = new Uint32Array(v.length + 1);
  const rows = Array.from({ length: v.length }, (_, i): readonly T[] => {
    checkStopAt(i);
    const found = parse(textAt(v, i));
    bad[i] = found ? 0 : 1;
    offsets[i + 1] = offsets[i] + (found?.length ?? 0);
    return found ?? [];
  });
  return { parts: rows.flat(), offsets, bad, rows };
};
const listsOfTexts = (v: BytesVector, type: SqlType & { readonly kind: 'list' }, cast: SqlCast): Vector => {
  const { parts, offsets, bad, rows } = insides(v, (text) =>
    isJson(cast) ? listOfJson(text, type.element) : listOfText(text),
  );
  const { length } = type;
  if (length !== undefined)
    rows.forEach((row, i) => {
      if (row.length !== length) bad[i] = 1;
    });
  const items = tidy(castRows(nullableTexts(parts), type.element, insideText(cast, type.element)));
  return settle(listsOf('array', offsets, items, v.length, modelType(type.element)), bad, v, type, cast);
};
const structsOfTexts = (v: BytesVector, type: SqlType & { readonly kind: 'struct' }, cast: SqlCast): Vector => {
  const byName = new Map(type.fields.map((f) => [f.name.toLowerCase(), f.type]));
  const { rows, bad } = insides(v, (text) => {
    const entries = isJson(cast)
      ? fieldsOfJson(text, (name) => byName.get(name.toLowerCase()))
      : (entriesOfText(text, ':') ?? byPlace(rowOfText(text), type));
    // A name that the struct has not is a mistake, but for an attempt to read JSON.
    if (isJson(cast) && cast.failure === 'null') return entries;
    return entries?.every(([name]) => name !== null && byName.has(name.toLowerCase())) ? entries : undefined;
  });
  const fields = type.fields.map((f): Field => {
    const texts = nullableTexts(
      rows.map((entries) => entries.find(([name]) => name!.toLowerCase() === f.name.toLowerCase())?.[1] ?? null),
    );
    return { name: f.name, optional: false, values: tidy(castRows(texts, f.type, insideText(cast, f.type))) };
  });
  return settle({ form: 'record', length: v.length, fields }, bad, v, type, cast);
};
/** The elements of a row by the names of the struct's fields; undefined for another number of them. */
const byPlace = (
  row: readonly (string | null)[] | undefined,
  { fields }: SqlType & { readonly kind: 'struct' },
): readonly (readonly [string, string | null])[] | undefined =>
  row?.length === fields.length ? row.map((x, k) => [fields[k].name, x] as const) : undefined;
const mapsOfTexts = (v: BytesVector, type: SqlType & { readonly kind: 'map' }, cast: SqlCast): Vector => {
  const { parts, offsets, bad } = insides(v, (text) =>
    isJson(cast) ? fieldsOfJson(text, () => type.value) : entriesOfText(text, '='),
  );
  const model = modelType(type);
  const keys = castRows(nullableTexts(parts.map(([key]) => key)), type.key, withoutFrom(cast));
  const values = castRows(nullableTexts(parts.map(([, value]) => value)), type.value, insideText(cast, type.value));
  markKeys(offsets, keys, bad);
  return model.kind === 'map'
    ? settle(mapsOf(offsets, keys, values, v.length, model), bad, v, type, cast)
    : refuse(v, type, cast);
};
/** A record as a map: the names of its fields are the keys. */
const castFields = (v: RecordVector, type: SqlType & { readonly kind: 'map' }, cast: SqlCast): Vector => {
  const names = new BytesBuilder(types.string);
  const offsets = new Uint32Array(v.length + 1);
  const rows = new Uint32Array(v.length * v.fields.length);
  const tags = new Uint32Array(rows.length);
  let n = 0;
  for (let i = 0; i < v.length; i++) {
    v.fields.forEach((f, k) => {
      if (f.present?.[i] === 0) return;
      names.text(f.name);
      rows[n] = i;
      tags[n++] = k;
    });
    offsets[i + 1] = n;
  }
  const inner = withoutFrom(cast);
  const keys = castRows(names.finish(), type.key, inner);
  const model = modelType(type);
  const values =
    n === 0
      ? nulls(0)
      : combine(
          tags.subarray(0, n),
          rows.subarray(0, n),
          v.fields.map((f) => castRows(f.values, type.value, inner)),
        );
  return model.kind === 'map' ? mapsOf(offsets, keys, values, v.length, model) : refuse(v, type, cast);
};
/**
 * Fields go by their names, those of a row without names (`c0`, `c1`, ..) by their places; what a struct lacks is null.
 */
const castStruct = (v: RecordVector, type: SqlType & { readonly kind: 'struct' }, cast: SqlCast): Vector => {
  const inner = withoutFrom(cast);
  const isRow = v.fields.length === type.fields.length && hasPlaces(v.fields);
  const sources = type.fields.map((target, k) =>
    isRow ? v.fields[k] : v.fields.find((f) => f.name.toLowerCase() === target.name.toLowerCase()),
  );
  if (v.fields.length > 0 && sources.every((f) => f === undefined)) return refuse(v, type, cast);
  const fields = type.fields.map((target, k): Field => {
    const source = sources[k];
    const values = source && tidy(castRows(source.values, target.type, inner));
    if (!values) return { name: target.name, optional: false, values: nulls(v.length) };
    const absent = source.present?.map((p) => 1 - p).subarray(0, v.length);
    return { name: target.name, optional: false, values: absent ? overlay(values, absent, nulls(v.length)) : values };
  });
  return { form: 'record', length: v.length, fields };
};
