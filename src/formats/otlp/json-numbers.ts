/**
 * Numbers of OTLP's JSON where they lie: words of whole numbers, exact to the last of 64 bits, and floats. No text is made
 * of what is written as programs write it; the rest goes by its text.
 */
import { BytesFault } from '../columns/type-bytes.ts';
import type { JsonTokens } from './json-tokens.ts';
import type { Kind } from './schema.ts';

/** Words of the whole number that was read last. */
export const integer = { low: 0, high: 0 };

/** A decimal text of a number, other than JSON's with leading zeros. */
export const floatText = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
/** With leading zeros. */
const digitsMax = 100;
const word = 0x1_0000_0000;
const half = 0x8000_0000;

/**
 * The words of the token that was read last, which is a number or a string; false where it is no plain whole number.
 * @throws BytesFault where the kind does not hold it
 */
export const plainInteger = (tokens: JsonTokens, kind: Kind): boolean => {
  const { source, start, end } = tokens;
  const isNegative = source[start] === 0x2d;
  const first = isNegative ? start + 1 : start;
  if (first === end) return false;
  let low = 0;
  let high = 0;
  for (let at = first; at < end; at++) {
    const digit = source[at] - 0x30;
    if (digit < 0 || digit > 9) return false;
    const lower = low * 10 + digit;
    const carry = Math.floor(lower / word);
    low = lower - carry * word;
    // Beyond 64 bits it stays so, whatever follows.
    high = Math.min(high * 10 + carry, word);
  }
  if (end - start > digitsMax || !holds(kind, isNegative, low, high)) throw outside(tokens.text());
  integer.low = isNegative ? -low : low;
  integer.high = isNegative ? -high - (low === 0 ? 0 : 1) : high;
  return true;
};
const holds = (kind: Kind, isNegative: boolean, low: number, high: number): boolean => {
  switch (kind) {
    case 'int32':
    case 'sint32':
    case 'enum':
      return high === 0 && (isNegative ? low <= half : low < half);
    case 'uint32':
    case 'fixed32':
      return high === 0 && (!isNegative || low === 0);
    case 'time':
    case 'uint64':
    case 'fixed64':
      return isNegative ? low === 0 && high === 0 : high < word;
    default:
      return isNegative ? high < half || (high === half && low === 0) : high < half;
  }
};

/** The words of a text that is no plain whole number. The mapping takes 1.0 and 1e3 for whole numbers. @throws BytesFault */
export const integerOf = (text: string, kind: Kind): void => {
  const x = floatText.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(x)) throw new BytesFault(`"${shown(text)}" is no whole number`);
  const size = Math.abs(x);
  const high = Math.floor(size / word);
  const low = size - high * word;
  if (!holds(kind, x < 0, low, high)) throw outside(text);
  integer.low = x < 0 ? -low : low;
  integer.high = x < 0 ? -high - (low === 0 ? 0 : 1) : high;
};
const outside = (text: string): BytesFault => new BytesFault(`${shown(text)} is outside of what the field holds`);

/** Powers of ten that floats hold exactly. */
const powers = Array.from({ length: 23 }, (_, k) => 10 ** k);
/** Whole numbers below this are exact, and a quotient or product of two exact numbers is the nearest float. */
const exactMax = 2 ** 53;
/** The number that was read last; undefined where its text has to be read: many digits, or an exponent. */
export const plainFloat = ({ source, start, end }: JsonTokens): number | undefined => {
  const isNegative = source[start] === 0x2d;
  let digits = 0;
  let decimals = -1;
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const byte = source[at];
    if (byte === 0x2e) decimals = 0;
    else if (byte < 0x30 || byte > 0x39) return undefined;
    else {
      digits = digits * 10 + (byte - 0x30);
      if (digits > exactMax) return undefined;
      if (decimals >= 0) decimals++;
    }
  }
  if (decimals >= powers.length) return undefined;
  const x = decimals > 0 ? digits / powers[decimals] : digits;
  return isNegative ? -x : x;
};

const shownMax = 60;
/** A text as errors show it. */
export const shown = (text: string): string => (text.length > shownMax ? `${text.slice(0, shownMax)}...` : text);

const nibbles = new Uint8Array(256).fill(0xff);
for (let k = 0; k < 16; k++)
  nibbles[k.toString(16).charCodeAt(0)] = nibbles[k.toString(16).toUpperCase().charCodeAt(0)] = k;
/** The byte that two hexadecimal digits are; above 255: they are none. */
export const hexByte = (first: number, second: number): number => {
  const high = nibbles[first];
  const low = nibbles[second];
  return high === 0xff || low === 0xff ? 0x100 : (high << 4) | low;
};
