/**
 * Strings between UTF-8 bytes and JS strings, without loss.
 *
 * Strings are bytes of any kind: what came in goes out. In a JS string, a byte that is no part of a character is a lone
 * surrogate, U+DC80 for 0x80 to U+DCFF for 0xFF (Python's "surrogateescape", PEP 383), and becomes that byte again.
 * Lone surrogates never come from outside: readers of text replace them.
 */
import { isUtf8 } from 'node:buffer';
import { checkStop } from '../stop.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** The JS string of UTF-8 bytes; those that are none are escaped as said above. */
export const bytesToText = (bytes: Uint8Array): string => {
  const text = decoder.decode(bytes);
  return text.includes('\ufffd') && !isUtf8(bytes) ? escapedText(bytes) : text;
};

/** The bytes of a string that `bytesToText` made, or of any other; other lone surrogates become U+FFFD. */
export const textToBytes = (text: string): Uint8Array => {
  const bytes = encoder.encode(text);
  return text.isWellFormed() ? bytes : unescaped(text);
};

/** Writes the string's bytes at `at`, where three bytes a character have room; answers their number. */
export const writeText = (text: string, into: Uint8Array, at: number): number => {
  if (text.isWellFormed()) return encoder.encodeInto(text, into.subarray(at)).written;
  const bytes = unescaped(text);
  into.set(bytes, at);
  return bytes.length;
};

/** How many bytes `textToBytes` makes. */
export const textSize = (text: string): number =>
  text.isWellFormed() ? Buffer.byteLength(text) : unescaped(text).length;

/** The bytes as valid UTF-8: each byte that is none becomes U+FFFD. */
export const validBytes = (bytes: Uint8Array): Uint8Array =>
  isUtf8(bytes) ? bytes : encoder.encode(escapedText(bytes));

/**
 * The same of a text with escaped bytes in it: `change` gets what is between those. What it makes may have lone
 * surrogates, which become U+FFFD.
 */
export const changeBetweenBytes = (text: string, change: (piece: string) => string): string =>
  text.isWellFormed()
    ? change(text).toWellFormed()
    : text
        .split(/([\udc80-\udcff])/u)
        .map((piece, i) => (i % 2 === 0 ? change(piece).toWellFormed() : piece))
        .join('');

/** The first byte that is no part of a character, or -1. */
export const firstInvalid = (bytes: Uint8Array): number => {
  if (isUtf8(bytes)) return -1;
  for (let at = 0; at < bytes.length; ) {
    const size = characterSize(bytes, at, bytes.length);
    if (size === 0) return at;
    at += size;
  }
  return -1;
};

/** Bytes of one text between two looks at whether it is still wanted. */
const checkedBytes = 1 << 20;
/** Characters between two places of a text; a byte that is no part of one counts as one. */
export const charactersIn = (bytes: Uint8Array, start: number, end: number): number => {
  let n = 0;
  let check = start + checkedBytes;
  for (let at = start; at < end; n++) {
    at = bytes[at]! < 0x80 ? at + 1 : nextCharacter(bytes, at, end);
    if (at < check) continue;
    checkStop();
    check += checkedBytes;
  }
  return n;
};
/** Texts of up to so many bytes are counted by words without a look at whether they are still wanted. */
const wordBytesMax = 1 << 16;
/** Continuation bytes are counted in lanes of eight bits, which so many words cannot overflow. */
const laneWordsMax = 255;
/**
 * Characters of each of the texts that lie one behind the other, as `charactersIn` counts them. Where all bytes are
 * UTF-8 and no character is cut, these are the bytes but the continuation bytes, which are counted four at a time: of
 * texts of 80 bytes, 0.2 of the time.
 */
export const characterCounts = (bytes: Uint8Array, offsets: Uint32Array, length: number): Float64Array => {
  const out = new Float64Array(length);
  const last = offsets[length]!;
  const isWhole = isUtf8(bytes.subarray(offsets[0], last));
  const words = new Uint32Array(bytes.buffer, 0, bytes.buffer.byteLength >>> 2);
  const base = bytes.byteOffset;
  const wordsEnd = words.length * 4 - base;
  for (let i = 0; i < length; i++) {
    const start = offsets[i]!;
    const end = offsets[i + 1]!;
    const isCut = isContinuation(bytes, start, last) || isContinuation(bytes, end, last);
    out[i] =
      !isWhole || isCut || end > wordsEnd || end - start > wordBytesMax
        ? charactersIn(bytes, start, end)
        : end - start - continuations(words, base + start, base + end);
  }
  return out;
};
const isContinuation = (bytes: Uint8Array, at: number, end: number): boolean =>
  at < end && (bytes[at]! & 0xc0) === 0x80;
/** How many bytes in [start, end) of the memory that the words are of continue a character. */
const continuations = (words: Uint32Array, start: number, end: number): number => {
  if (start === end) return 0;
  const final = (end - 1) >>> 2;
  let n = 0;
  let lanes = 0;
  let marks = continuationMarks(words[start >>> 2]!) & (-1 << ((start & 3) * 8));
  for (let k = start >>> 2, left = laneWordsMax; k < final; marks = continuationMarks(words[++k]!)) {
    lanes += marks;
    if (--left > 0) continue;
    n += laneSum(lanes);
    lanes = 0;
    left = laneWordsMax;
  }
  return n + laneSum(lanes) + laneSum(marks & (-1 >>> ((3 - ((end - 1) & 3)) * 8)));
};
/** The lowest bit of each byte that continues a character. */
const continuationMarks = (word: number): number => (word >>> 7) & ~(word >>> 6) & 0x01010101;
const laneSum = (lanes: number): number => {
  const pairs = (lanes & 0x00ff00ff) + ((lanes >>> 8) & 0x00ff00ff);
  return (pairs & 0xffff) + (pairs >>> 16);
};
/** The place behind the character at `at`, or behind the byte that is no part of one. */
export const nextCharacter = (bytes: Uint8Array, at: number, end: number): number =>
  at + (characterSize(bytes, at, end) || 1);

/** The number of a text's first character; undefined: the text is empty. For a byte outside of characters, U+FFFD's. */
export const firstCodePoint = (text: string): number | undefined => {
  const code = text.codePointAt(0);
  return code !== undefined && code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
};

/**
 * A lone surrogate for each byte outside of characters. Only the stretches between them are decoded, so that the price
 * is one look at each byte.
 */
const escapedText = (bytes: Uint8Array): string => {
  const pieces: string[] = [];
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    const size = characterSize(bytes, at, bytes.length);
    if (size > 0) {
      at += size;
      continue;
    }
    if (at > from) pieces.push(decoder.decode(bytes.subarray(from, at)));
    pieces.push(String.fromCharCode(0xdc00 + bytes[at]!));
    from = ++at;
  }
  if (at > from) pieces.push(decoder.decode(bytes.subarray(from, at)));
  return pieces.join('');
};

const loneSurrogates = /[\ud800-\udfff]/gu;
const unescaped = (text: string): Uint8Array => {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { index } of text.matchAll(loneSurrogates)) {
    if (index > from) pieces.push(encoder.encode(text.slice(from, index)));
    const unit = text.charCodeAt(index);
    pieces.push(unit >= 0xdc80 && unit <= 0xdcff ? Uint8Array.of(unit & 0xff) : encoder.encode('\ufffd'));
    from = index + 1;
  }
  if (from < text.length) pieces.push(encoder.encode(text.slice(from)));
  return Buffer.concat(pieces);
};

/** Bytes of the character that begins there and is whole before `end`; 0: none (The Unicode Standard, table 3-7). */
const characterSize = (bytes: Uint8Array, at: number, end: number): number => {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (at + (first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4) > end) return 0;
  const second = bytes[at + 1]!;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  if (first < 0xe0) return 2;
  if (!isTail(bytes[at + 2]!)) return 0;
  if (first < 0xf0) return 3;
  return isTail(bytes[at + 3]!) ? 4 : 0;
};
const isTail = (byte: number): boolean => (byte & 0xc0) === 0x80;
