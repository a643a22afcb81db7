/**
 * Decimals of SQL, exactly. A decimal is the float64 whose shortest text it is, up to 2^53; one that no float64 gives
 * back, which begins with 16 digits, is its own text under the name `sql_decimal`, so that no format loses a digit of
 * it.
 *
 * Invariants:
 * - A decimal has one form: the float wherever there is one, and the text has no zeros at its end behind the point.
 * - What does not know such texts takes them for the nearest float64 (`floatsOfTexts`), never for text.
 * - A text under that name that is no number, which a client may have sent, stays a text.
 */
import { someForm } from './forms.ts';
import { type Type, isFloat, isInteger, namedType, types } from './type.ts';
import { type Data, type Value, memberData, numberData, numericData, stringData } from './value.ts';
import { type Vector, dataAt, dynamic, numbers } from './vector.ts';
import { BytesBuilder } from './builder-leaves.ts';

/** `units` of the last of `scale` places behind the point. */
export interface Exact {
  readonly units: bigint;
  readonly scale: number;
}

/** The name of decimals that are texts. */
export const longDecimalName = 'sql_decimal';
export const longDecimalType = namedType(longDecimalName, types.string);
/** Digits that a decimal has at most. */
export const decimalDigitsMax = 38;

const syntax = /^([+-]?)(\d+)(?:\.(\d+))?$/;
/** Longer texts are no decimals of ours. */
const textMax = 100;
/** The decimal that a text spells without an exponent; undefined for all else. */
export const exactOfText = (text: string): Exact | undefined => {
  const m = text.length <= textMax ? syntax.exec(text) : null;
  if (!m) return undefined;
  const fraction = m[3] ?? '';
  const size = BigInt(m[2]! + fraction);
  return { units: m[1] === '-' ? -size : size, scale: fraction.length };
};
/** The decimal that a float is the nearest one to, by its shortest text; undefined for what is no number. */
export const exactOfFloat = (x: number): Exact | undefined => {
  if (Number.isSafeInteger(x)) return { units: BigInt(x), scale: 0 };
  if (!Number.isFinite(x)) return undefined;
  const [mantissa, exponent] = x.toExponential().split('e') as [string, string];
  const digits = mantissa.replace('.', '');
  const places = mantissa.includes('.') ? mantissa.length - mantissa.indexOf('.') - 1 : 0;
  const scale = places - Number(exponent);
  return scale >= 0 ? { units: BigInt(digits), scale } : { units: BigInt(digits) * tenTo(-scale), scale: 0 };
};
/** Of numbers but times and durations, and of long decimals; undefined for all else. */
export const exactOf = (v: Value): Exact | undefined => {
  if (isLongDecimal(v.type)) return exactOfText(stringData(v.data));
  const { type, data } = v.type.kind === 'primitive' ? v : inner(v);
  if (isLongDecimal(type)) return exactOfText(stringData(data));
  return exactOfNumber(type, data);
};
/** The same for comparisons: there a float beyond the whole numbers that floats can count is the one that it is. */
export const comparedOf = (v: Value): Exact | undefined => {
  const { type, data } = inner(v);
  return isFloat(type) && Number.isFinite(data) && Math.abs(numberData(data)) > wholeMax
    ? { units: BigInt(numericData(data)), scale: 0 }
    : exactOf(v);
};
const inner = (v: Value): Value => {
  let { type, data } = v;
  for (;;) {
    if (isLongDecimal(type)) return { type, data };
    if (type.kind === 'named') type = type.inner;
    else if (type.kind === 'union') ({ type, data } = memberData(data));
    else return { type, data };
  }
};
const exactOfNumber = (type: Type, data: Data): Exact | undefined => {
  if (typeof data === 'bigint') return isCount(type) ? { units: data, scale: 0 } : undefined;
  if (typeof data !== 'number') return undefined;
  if (isFloat(type)) return exactOfFloat(data);
  return isCount(type) ? { units: BigInt(data), scale: 0 } : undefined;
};
const isCount = (type: Type): boolean => isInteger(type) && type !== types.time && type !== types.duration;
export const isLongDecimal = (t: Type): boolean =>
  t.kind === 'named' && t.name === longDecimalName && t.inner === types.string;

const powers: bigint[] = [];
const tenTo = (n: number): bigint => (powers[n] ??= 10n ** BigInt(n));
/** The same number in units of another last place, rounded with halves away from zero where places are lost. */
export const unitsAt = ({ units, scale }: Exact, to: number): bigint => {
  if (to >= scale) return units * tenTo(to - scale);
  const by = tenTo(scale - to);
  const rest = units % by;
  const whole = units / by;
  if ((rest < 0n ? -rest : rest) * 2n < by) return whole;
  return units < 0n ? whole - 1n : whole + 1n;
};
export const compareExact = (a: Exact, b: Exact): number => {
  const scale = Math.max(a.scale, b.scale);
  const x = unitsAt(a, scale);
  const y = unitsAt(b, scale);
  return x < y ? -1 : Number(x > y);
};

/** With all its places, `-0.50` for -50 units of the second. */
export const exactText = ({ units, scale }: Exact): string => {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`;
};
/** Beyond it floats are whole numbers, but others than their texts. */
const wholeMax = 2 ** 53;
/**
 * The form that a decimal has: a float, or the text that no float gives back; undefined for more digits than it may
 * have.
 */
export const decimalData = (exact: Exact): number | string | undefined => {
  const { units, scale } = exact;
  const x = Number(`${units}e-${scale}`);
  const back = x <= wholeMax && x >= -wholeMax ? exactOfFloat(x) : undefined;
  if (back && compareExact(back, exact) === 0) return x + 0;
  const text = exactText(exact);
  const short = scale > 0 ? text.replace(/\.?0+$/, '') : text;
  return short.replace(/^-?0?\.?0*/, '').replace('.', '').length <= decimalDigitsMax ? short : undefined;
};
/** The value of so many units, which have at most as many digits as a decimal. */
export const decimalOfUnits = (units: bigint, scale: number): Value =>
  decimalValue(decimalData({ units, scale }) ?? NaN);
export const decimalValue = (data: number | string): Value =>
  typeof data === 'number' ? { type: types.float64, data } : { type: longDecimalType, data };

/** The units of a number with so many places; undefined for what is none, or has more places or digits. */
export const unitsOfDecimal = (
  v: Value,
  { scale, precision }: { readonly scale: number; readonly precision: number },
): bigint | undefined => {
  const exact = exactOf(v);
  const units = exact && unitsAt(exact, scale);
  if (units === undefined || compareExact(exact!, { units, scale }) !== 0) return undefined;
  return (units < 0n ? -units : units) < tenTo(precision) ? units : undefined;
};

/** Floats of which those at `rows` are texts instead, if there are any. */
export const decimalRows = (values: Float64Array, rows: readonly number[], texts: readonly string[]): Vector => {
  const floats = numbers(types.float64, values);
  if (rows.length === 0) return floats;
  const tags = new Uint32Array(values.length);
  const slots = Uint32Array.from(values, (_, i) => i);
  rows.forEach((row, k) => {
    tags[row] = 1;
    slots[row] = k;
  });
  return dynamic(tags, slots, [floats, longDecimals(texts)]);
};
/** Texts under the name. */
export const longDecimals = (texts: readonly string[]): Vector => {
  const out = new BytesBuilder(types.string);
  for (const text of texts) out.text(text);
  return { form: 'named', name: longDecimalName, length: texts.length, inner: out.finish() };
};

/** Whether rows could be long decimals: a quick look at the forms. */
export const mayHaveLongDecimals = (v: Vector): boolean =>
  someForm(v, (of) => of.form === 'named' && of.name === longDecimalName);
/** The same, in lists too. */
export const mayHoldLongDecimals = (v: Vector): boolean => {
  switch (v.form) {
    case 'list':
      return mayHoldLongDecimals(v.items);
    case 'named':
      return v.name === longDecimalName || mayHoldLongDecimals(v.inner);
    case 'constant':
      return mayHoldLongDecimals(v.inner);
    default:
      return mayHaveLongDecimals(v);
  }
};
/** The rows under the name as the nearest floats; undefined if one of them is no number. */
export const floatsOfTexts = (texts: Vector): Vector | undefined => {
  const out = new Float64Array(texts.length);
  for (let i = 0; i < out.length; i++) {
    const text = dataAt(texts, i);
    if (typeof text !== 'string' || !syntax.test(text)) return undefined;
    out[i] = Number(text);
  }
  return numbers(types.float64, out);
};
/** What is under a name, for what does not know long decimals: these are the nearest floats. */
export const unnamed = (v: Vector & { readonly form: 'named' }): Vector => {
  if (v.name !== longDecimalName) return v.inner;
  return floatsOfTexts(v.inner) ?? v.inner;
};
/** The value without names and unions, but for the name of a long decimal. */
export const knownValue = (v: Value): Value => inner(v);
/** The value without names and unions, a long decimal as the nearest float. */
export const nearValue = (v: Value): Value => {
  const of = inner(v);
  if (!isLongDecimal(of.type)) return of;
  return exactOfText(stringData(of.data))
    ? { type: types.float64, data: Number(of.data) }
    : { type: types.string, data: of.data };
};
/** The rows under the name as group keys: whole ones that int64 holds are equal to these. */
export const asKeys = (v: Vector & { readonly form: 'named' }): Vector => {
  if (v.name !== longDecimalName) return v;
  const whole = Array.from({ length: v.length }, (_, i) => wholeOf(dataAt(v.inner, i)));
  if (whole.every((x) => x === undefined)) return v;
  return dynamic(
    Uint32Array.from(whole, (x) => Number(x === undefined)),
    Uint32Array.from(whole, (_, i) => i),
    [
      numbers(
        types.int64,
        BigInt64Array.from(whole, (x) => x ?? 0n),
      ),
      v,
    ],
  );
};
const wholeOf = (data: Data): bigint | undefined => {
  const exact = typeof data === 'string' ? exactOfText(data) : undefined;
  return exact?.scale === 0 && BigInt.asIntN(64, exact.units) === exact.units ? exact.units : undefined;
};

/** The name of whole decimals as integers: sums of them have no limit of 64 bits. */
const unitsName = 'sql_units';
/** Whole decimals as sums take them: integers of 64 bits, longer ones as they are; undefined for all else. */
export const unitsOf = (v: Vector): Vector | undefined => {
  if (v.form !== 'number' || v.type === types.time || v.type === types.duration) return undefined;
  if (v.values instanceof Float64Array && areWhole(v.values, v.length))
    return asUnits(numbers(types.int64, v.values, v.length));
  const { type, values } = v;
  return unitsOfAll(Array.from({ length: v.length }, (_, i) => exactOfNumber(type, values[i]!)));
};
/** The same of the rows under the name. */
export const unitsOfLong = (v: Vector & { readonly form: 'named' }): Vector | undefined =>
  unitsOfAll(Array.from({ length: v.length }, (_, i) => exactOfText(stringData(dataAt(v.inner, i)))));
const unitsOfAll = (list: readonly (Exact | undefined)[]): Vector | undefined => {
  if (list.includes(undefined)) return undefined;
  const all = list.map((exact) => unitsAt(exact!, 0));
  const isLong = Uint32Array.from(all, (x) => Number(BigInt.asIntN(64, x) !== x));
  const own = Uint32Array.from(all, (_, i) => i);
  const units = asUnits(
    numbers(
      types.int64,
      BigInt64Array.from(all, (x) => BigInt.asIntN(64, x)),
    ),
  );
  return isLong.includes(1) ? dynamic(isLong, own, [units, asUnits(longDecimals(all.map(String)))]) : units;
};
const asUnits = (inner: Vector): Vector => ({ form: 'named', name: unitsName, length: inner.length, inner });
/** Whether they are whole numbers of 53 bits. One loop without a way out is the quickest. */
const areWhole = (values: Float64Array, length: number): boolean => {
  let whole = true;
  for (let i = 0; i < length; i++) {
    const x = values[i]!;
    if (x !== Math.floor(x) || x > Number.MAX_SAFE_INTEGER || x < -Number.MAX_SAFE_INTEGER) whole = false;
  }
  return whole;
};
/** Names that say how rows are to be read. */
export const keepsName = (name: string): boolean => name === longDecimalName || name === unitsName;
/** Whether rows are such units. */
export const areUnits = (v: Vector): boolean => {
  switch (v.form) {
    case 'named':
      return v.name === unitsName;
    case 'constant':
      return areUnits(v.inner);
    case 'dictionary':
      return areUnits(v.values);
    case 'selected':
      return areUnits(v.base);
    case 'dynamic':
      return v.parts.some(areUnits);
    default:
      return false;
  }
};
