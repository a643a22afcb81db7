/**
 * Decimals that are kept as floats, as whole numbers of their last place: 19.99 is 1999 hundredths. A column of prices
 * takes two or four bytes a row in place of eight, and filters compare the whole numbers.
 *
 * Invariants:
 * - What comes back is the same float, bit by bit: only columns whose every number is its units divided by the power of
 *   ten are stored so. -0, NaN and infinities are no units.
 * - Units are fewer than 2^51: below that the product with the power of ten is off by less than a half.
 */
import { widthFor } from './packing.ts';

/** `units[i] / 10 ** digits` is the number of the row. */
interface ScaledFloats {
  readonly digits: number;
  /** Good until the next call. */
  readonly units: Float64Array;
}

/** More places are no prices or readings, and would not fit four bytes. */
export const digitsMax = 9;
const unitsMax = 2 ** 51;
/** So many numbers, spread over the block, say how many places it has. */
const sampleRows = 16;

let unitsOfBlock = new Float64Array(0);

/** Undefined if one is none, or they would not fit four bytes. `min`, `max`: of the numbers, NaN is not among them. */
export const scaledFloats = (
  values: Float64Array,
  length: number,
  { min, max }: { readonly min: number; readonly max: number },
): ScaledFloats | undefined => {
  let digits = 0;
  const step = Math.max(1, Math.floor(length / sampleRows));
  for (let i = 0; i < length; i += step) {
    while (!isUnits(values[i], 10 ** digits)) if (++digits > digitsMax) return undefined;
  }
  if (unitsOfBlock.length < length) unitsOfBlock = new Float64Array(Math.max(length, 4096));
  const units = unitsOfBlock.subarray(0, length);
  for (; digits <= digitsMax; digits++) {
    const power = 10 ** digits;
    if (!fits(min, max, power)) return undefined;
    if (countUnits(values, power, units)) return { digits, units };
  }
  return undefined;
};
const fits = (min: number, max: number, power: number): boolean =>
  -min * power < unitsMax && max * power < unitsMax && widthFor(Math.round((max - min) * power)) !== undefined;
const isUnits = (x: number, power: number): boolean => {
  const units = Math.round(x * power);
  return units / power === x && !Object.is(x, -0);
};
const countUnits = (values: Float64Array, power: number, out: Float64Array): boolean => {
  for (let i = 0; i < out.length; i++) {
    const x = values[i];
    const units = Math.floor(x * power + 0.5);
    if (units / power !== x || (units === 0 && Object.is(x, -0))) return false;
    out[i] = units;
  }
  return true;
};

/** The least number of units that is a float of at least `least`; of any finite or infinite number. */
export const unitsFrom = (least: number, digits: number): bigint => {
  const power = 10 ** digits;
  let units = Math.ceil(least * power);
  if (!(Math.abs(units) < unitsMax)) return least > 0 ? beyond : -beyond;
  while ((units - 1) / power >= least) units--;
  while (units / power < least) units++;
  return BigInt(units);
};
/** The greatest one that is a float of at most `most`. */
export const unitsTo = (most: number, digits: number): bigint => -unitsFrom(-most, digits);
const beyond = 1n << 65n;
