/**
 * The pairs of neighbouring bytes that occur in a column of texts, one bit for each pair of classes of bytes: a search
 * passes over columns that lack a pair of what it looks for.
 *
 * Invariants:
 * - Letters and digits have classes of their own, the same for both cases.
 * - The classes are a part of the format: stored pairs are useless when they change.
 * - Pairs of the end of one row and the beginning of the next count too: they do no harm.
 */
import { isOfTimeText } from '../../vectors/texts/times.ts';

/** The classes of bytes in their order; what is not here is the last one. */
const classed = 'abcdefghijklmnopqrstuvwxyz0123456789 -./:_,;=?&%@#+*()[]{}"\'<>|';
const classes = Uint8Array.from({ length: 256 }, (_, b) => {
  const at = classed.indexOf(String.fromCharCode(b).toLowerCase());
  return at < 0 ? classed.length : at;
});
const pairWords = (64 * 64) / 32;

/** Pairs of bytes seen; all 0 in between. */
const seen = new Uint8Array(1 << 16);
const seenWords = new Int32Array(seen.buffer);

/** The pairs of a run of bytes. */
export const pairsOf = (bytes: Uint8Array): Uint32Array => {
  const head = Math.min(4 - (bytes.byteOffset & 3), bytes.length);
  const words = (bytes.length - head) >> 2;
  const out = new Uint32Array(pairWords);
  markBytes(bytes, 1, head);
  if (words > 0) markWords(new Int32Array(bytes.buffer, bytes.byteOffset + head, words), bytes[head - 1]);
  markBytes(bytes, head + words * 4, bytes.length);
  for (let i = 0; i < seenWords.length; i++) if (seenWords[i] !== 0) foldWord(i << 2, out);
  seen.fill(0);
  return out;
};
/** The place of a pair is its second byte, then its first one: as two bytes of a word have it. */
const markBytes = (bytes: Uint8Array, start: number, end: number): void => {
  for (let i = start; i < end; i++) seen[(bytes[i] << 8) | bytes[i - 1]] = 1;
};
const markWords = (words: Int32Array, before: number): void => {
  for (let i = 0, last = before; i < words.length; i++) {
    const word = words[i];
    seen[((word << 8) & 0xff00) | last] = 1;
    seen[word & 0xffff] = 1;
    seen[(word >>> 8) & 0xffff] = 1;
    seen[word >>> 16] = 1;
    last = word >>> 24;
  }
};
const foldWord = (from: number, out: Uint32Array): void => {
  for (let at = from; at < from + 4; at++) {
    if (seen[at] === 0) continue;
    const pair = (classes[at & 0xff] << 6) | classes[at >> 8];
    out[pair >> 5] |= 1 << (pair & 31);
  }
};

/** A text that is looked for whatever its case. */
export interface SearchedText {
  readonly pairs: Uint16Array /** It may be in the text of a time. */;
  readonly isOfTime: boolean;
}
/**
 * What is known of texts that are looked for; undefined if pairs do not tell of one of them, for it has none, or
 * letters beyond ASCII.
 */
export const searchedTexts = (texts: readonly string[]): readonly SearchedText[] | undefined => {
  const lower = texts.map((text) => text.toLowerCase());
  return lower.every((text) => text.length > 1 && /^[\0-\x7f]*$/.test(text))
    ? lower.map((text) => ({ pairs: pairsOfText(text), isOfTime: isOfTimeText(text) }))
    : undefined;
};
const pairsOfText = (text: string): Uint16Array =>
  Uint16Array.from(
    { length: text.length - 1 },
    (_, i) => (classes[text.charCodeAt(i)] << 6) | classes[text.charCodeAt(i + 1)],
  );

/** False only if no row of the column with those pairs contains one of the texts. */
export const mayContain = (pairs: Uint32Array, texts: readonly SearchedText[]): boolean =>
  texts.some((text) => text.pairs.every((pair) => (pairs[pair >> 5] & (1 << (pair & 31))) !== 0));
