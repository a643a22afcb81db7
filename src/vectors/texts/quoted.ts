/**
 * Strings between double quotes, as the text formats write them. Formats differ in which bytes they escape: a table
 * says it.
 */
import { isPlainAscii } from '../row-weave.ts';
import type { TextOut } from './out.ts';

/**
 * What becomes of a byte: 0: it is written as it is; 1: escaped; 2: it may begin a line separator (U+2028, U+2029),
 * which is escaped.
 */
type EscapeTable = Uint8Array;

/** Control characters and these ASCII ones are escaped; `separators`: line separators too. */
export const escapeTable = (characters: string, separators: boolean): EscapeTable => {
  const table = new Uint8Array(256).fill(1, 0, 32);
  for (const c of characters) table[c.charCodeAt(0)] = 1;
  if (separators) table[0xe2] = 2;
  return table;
};

const shortEscapes: Readonly<Record<number, string>> = {
  0x22: '\\"',
  0x5c: '\\\\',
  8: '\\b',
  12: '\\f',
  10: '\\n',
  13: '\\r',
  9: '\\t',
};
/** U+2028 or U+2029, whose first byte is at `i`. Text is valid UTF-8, so two bytes follow. */
const isSeparator = (source: Uint8Array, i: number): boolean =>
  source[i + 1] === 0x80 && (source[i + 2] === 0xa8 || source[i + 2] === 0xa9);

/** Nothing in bytes[start, end) has to be escaped. */
export const isClean = (bytes: Uint8Array, start: number, end: number, escapes: EscapeTable): boolean => {
  if (isPlainAscii(bytes, start, end)) return true;
  for (let i = start; i < end; i++) {
    const e = escapes[bytes[i]!]!;
    if (e === 1 || (e === 2 && isSeparator(bytes, i))) return false;
  }
  return true;
};

/**
 * Writes source[start, end) between quotes; `from` is a view of the source. The table escapes nothing of ASCII but
 * control characters, `"` and `\`.
 */
export const quotedRun = (
  out: TextOut,
  source: Uint8Array,
  from: DataView,
  start: number,
  end: number,
  escapes: EscapeTable,
): void => {
  out.byte(0x22);
  quotedTail(out, source, out.plainRun(source, from, start, end), end, escapes);
};

/** The rest of a string between quotes: source[start, end) and the closing quote. */
export const quotedTail = (
  out: TextOut,
  source: Uint8Array,
  start: number,
  end: number,
  escapes: EscapeTable,
): void => {
  out.reserve(end - start + 1);
  const { bytes } = out;
  let to = out.length;
  for (let i = start; i < end; i++) {
    const b = source[i]!;
    if (escapes[b] !== 0) {
      out.length = to;
      return escapedTail(out, source, i, end, escapes);
    }
    bytes[to++] = b;
  }
  bytes[to++] = 0x22;
  out.length = to;
};

/** The same where something has to be escaped. */
const escapedTail = (out: TextOut, source: Uint8Array, start: number, end: number, escapes: EscapeTable): void => {
  for (let i = start; i < end; i++) {
    const b = source[i]!;
    const e = escapes[b];
    if (e === 1) out.ascii(shortEscapes[b] ?? `\\u00${b.toString(16).padStart(2, '0')}`);
    else if (e === 2 && isSeparator(source, i)) {
      out.ascii(source[i + 2] === 0xa8 ? '\\u2028' : '\\u2029');
      i += 2;
    } else out.byte(b);
  }
  out.byte(0x22);
};
