/** Numbers from text as casts read them: wider than SUP (`inf`, `0x1p4`, `1_0`). */

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const hexadecimal = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)$/;
const infinite = /^([+-]?)inf(?:inity)?$/i;

/** A float, or undefined for what is none; decimals beyond the range of 64 bits are none. */
export const goFloat = (text: string): number | undefined => {
  const plain = text.includes('_') ? withoutUnderscores(text) : text;
  if (plain === undefined) return undefined;
  if (decimal.test(plain)) {
    const x = Number(plain);
    return Number.isFinite(x) ? x : undefined;
  }
  const inf = infinite.exec(plain);
  if (inf) return inf[1] === '-' ? -Infinity : Infinity;
  if (/^[+-]?nan$/i.test(plain)) return /^[+-]/.test(plain) ? undefined : NaN;
  const hex = hexadecimal.exec(plain);
  if (!hex || hex[2].length + hex[3].length === 0) return undefined;
  const mantissa = BigInt(`0x${hex[2]}${hex[3]}`);
  return (hex[1] === '-' ? -1 : 1) * Number(mantissa) * 2 ** (Number(hex[4]) - 4 * hex[3].length);
};
/** Underscores are allowed between digits only. */
const withoutUnderscores = (text: string): string | undefined =>
  /(?:^|[^0-9a-fA-FxX])_|_(?:[^0-9a-fA-F]|$)/.test(text) ? undefined : text.replaceAll('_', '');

/** The bool that a text spells. */
export const boolOfText = (text: string): boolean | undefined => {
  switch (text) {
    case '1':
    case 't':
    case 'T':
    case 'TRUE':
    case 'true':
    case 'True':
      return true;
    case '0':
    case 'f':
    case 'F':
    case 'FALSE':
    case 'false':
    case 'False':
      return false;
    default:
      return undefined;
  }
};
