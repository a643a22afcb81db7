/**
 * Texts by their code points, without an array of them: what is within the basic plane is cut where it is, other text
 * is walked.
 */
import { isAscii } from 'node:buffer';
import { charge, checkStop, checkStopAt } from '../../../vectors/stop.ts';
import { TextPieces } from '../../../vectors/texts/pieces.ts';
import type { BytesVector } from '../../../vectors/vector.ts';

/** Whether all rows have nothing but ASCII: then bytes are code points. */
export const areAscii = ({ bytes, offsets, length }: BytesVector): boolean =>
  isAscii(bytes.subarray(offsets[0], offsets[length]));

const beyondPlane = /[\ud800-\udbff]/;

/** Fewer are not worth a charge. */
const manyCharacters = 1 << 16;
/** What a character takes as a string in an array that grows. */
const characterBytes = 48;
/** The code points of a text as strings, where a function needs them all at once. @throws LakeError query-memory */
export const charactersOf = (text: string, what: string): string[] => {
  if (text.length > manyCharacters) charge(text.length * characterBytes, what);
  return [...text];
};

const runUnits = 4096;
/** A character that is composed with none in front of it. */
const startsAlone = /^[^\p{M}\u1160-\u11ff\udc00-\udfff]/u;
/**
 * What becomes of a text some thousand characters at a time, where each depends on no other but the marks and letters
 * that are composed with it: what an expression or Unicode's forms keep for each match is never for the whole text.
 */
export const changedInRuns = (text: string, what: string, change: (run: string) => string): string => {
  if (text.length <= manyCharacters) return change(text);
  const out = new TextPieces(what);
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + runUnits, text.length);
    while (end < text.length && !startsAlone.test(String.fromCodePoint(text.codePointAt(end)!))) checkStopAt(end++);
    checkStop();
    out.add(change(text.slice(start, end)));
    start = end;
  }
  return out.text();
};

/** How many code points a text has. */
export const countOf = (text: string, end = text.length): number => {
  if (!beyondPlane.test(text)) return end;
  let n = 0;
  for (let i = 0; i < end; n++) {
    checkStopAt(n);
    i += text.codePointAt(i)! > 0xffff ? 2 : 1;
  }
  return n;
};

/** Code points [start, end) of a text; what is outside of it is left out. */
export const cut = (text: string, start: number, end: number): string => {
  const from = Math.max(0, start);
  if (end <= from) return '';
  if (!beyondPlane.test(text)) return text.slice(from, end);
  const first = unitsOf(text, from, 0);
  return text.slice(first, unitsOf(text, end - from, first));
};
/** Where the text goes on `count` code points behind unit `at`. */
const unitsOf = (text: string, count: number, at: number): number => {
  let i = at;
  for (let n = 0; n < count && i < text.length; n++) {
    checkStopAt(n);
    i += text.codePointAt(i)! > 0xffff ? 2 : 1;
  }
  return i;
};
