/**
 * Digits of floats as C writes them: those of the exact binary value, and of two numbers that are equally near the one
 * that ends in an even digit. JavaScript's own take the greater of the two and give up digits from 1e21 on.
 * All take finite numbers from 0 on, and up to 100 digits.
 */

/** So many digits behind the point. */
export const fixedDigits = (x: number, digits: number): string => {
  if (x >= 1e21) return `${BigInt(x)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`;
  const text = x.toFixed(digits);
  return isHalf(x, digits) ? evened(text) : text;
};

/** One digit before the point, so many behind it: `1.25e+0`. */
export const exponentDigits = (x: number, digits: number): string => {
  const text = x.toExponential(digits);
  const power = powerOf(text);
  // Rounded up to the next power of ten it ends in 0, or is 1 for 10.
  if (power !== powerOf(x.toExponential()) || !isHalf(x, digits - power)) return text;
  const [mantissa = '', rest = ''] = text.split('e');
  return `${evened(mantissa)}e${rest}`;
};
/** The power of ten of a number that is written with one. */
export const powerOf = (text: string): number => Number(text.slice(text.indexOf('e') + 1));

/** Whether a number lies half-way between two of so many decimal places; places before the point are negative. */
const isHalf = (x: number, places: number): boolean => {
  if (places >= 0) return Math.abs((x * 2 ** (places + 1)) % 2) === 1;
  if (!Number.isInteger(x)) return false;
  const size = 10n ** BigInt(-places);
  return BigInt(x) % size === size / 2n;
};
/** With the even one of the last digit and the one below it. */
const evened = (text: string): string => {
  const last = Number(text.at(-1));
  return last % 2 === 1 ? text.slice(0, -1) + String(last - 1) : text;
};
