/**
 * Integers of 128 bits (`hugeint`, `uhugeint`): integers of 64 bits where all rows fit, else those that do not are
 * their own texts, as long decimals are (vectors/decimal.ts).
 */
import type { SqlType } from '../../../query/sql/values/types.ts';
import { decimalFloatText } from '../../../vectors/literal.ts';
import { longDecimals } from '../../../vectors/decimal.ts';
import { checkStopAt } from '../../../vectors/stop.ts';
import { type PrimitiveType, isFloat, types } from '../../../vectors/type.ts';
import { type FlatVector, type Vector, dynamic, numbers, textAt } from '../../../vectors/vector.ts';
import { roundHalfEven } from '../../functions/numbers/rounding.ts';
import { scaledDecimal } from './texts.ts';

type WideType = SqlType & { readonly kind: 'wide' };

const halfOf = 1n << 127n;
const boundsOf = ({ unsigned }: WideType): { readonly low: bigint; readonly high: bigint } =>
  unsigned ? { low: 0n, high: halfOf * 2n - 1n } : { low: -halfOf, high: halfOf - 1n };
/** The whole number of a row, not yet of any width; undefined for what is none. Decimals are read by their digits. */
const wholeAt = (v: FlatVector, i: number, isDecimal: boolean): bigint | undefined => {
  if (v.form === 'bool') return BigInt(v.values[i]);
  if (v.form === 'bytes') return v.type === types.string ? scaledDecimal(textAt(v, i), 0) : undefined;
  if (v.form !== 'number' || v.type === types.time || v.type === types.duration) return undefined;
  const x = v.values[i];
  if (!isFloat(v.type)) return BigInt(x);
  if (!Number.isFinite(x)) return undefined;
  return isDecimal ? scaledDecimal(decimalFloatText(Number(x), bitsOf(v.type)), 0) : BigInt(roundHalfEven(Number(x)));
};
const bitsOf = (type: PrimitiveType): 32 | 64 => (type === types.float32 ? 32 : 64);
const fits = (x: bigint, type: PrimitiveType): boolean =>
  (type === types.uint64 ? BigInt.asUintN(64, x) : BigInt.asIntN(64, x)) === x;

/**
 * The rows, and which of them are none (1 in `bad`); undefined where all of them fit `type`, of 64 bits, or are no
 * whole numbers.
 */
export const wideRows = (
  v: FlatVector,
  wide: WideType,
  type: PrimitiveType,
  isDecimal: boolean,
): { readonly values: Vector; readonly bad: Uint8Array } | undefined => {
  const { low, high } = boundsOf(wide);
  const bad = new Uint8Array(v.length);
  const all: bigint[] = [];
  let isBeyond = false;
  for (let i = 0; i < v.length; i++) {
    checkStopAt(i);
    const x = wholeAt(v, i, isDecimal);
    const isWide = x !== undefined && x >= low && x <= high;
    if (!isWide) bad[i] = 1;
    else if (!fits(x, type)) isBeyond = true;
    all.push(isWide ? x : 0n);
  }
  if (!isBeyond) return undefined;
  const rows = Uint32Array.from(all, (_, i) => i);
  const tags = Uint32Array.from(all, (x) => Number(!fits(x, type)));
  const short = all.map((x) => (fits(x, type) ? x : 0n));
  const values = numbers(type, type === types.uint64 ? BigUint64Array.from(short) : BigInt64Array.from(short));
  return { values: dynamic(tags, rows, [values, longDecimals(all.map(String))]), bad };
};
