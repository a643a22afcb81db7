/** The distinct values of a column, for those in which they come again and again. */
import type { Physical, Runs } from './encode.ts';

/** Distinct values and the place of each value among them. */
export interface Coded {
  readonly entries: Physical;
  readonly codes: Uint32Array;
}
const dictionaryEntriesMax = 1 << 15;
/** After so many values a dictionary with more than half of them in it is given up. */
const trialValues = 1 << 12;
/** A table of so many codes for each value takes longer than their bytes do. */
const codesPerValueMax = 8;

/** A dictionary, if it makes the values fewer by half at least. */
export const coded = (p: Physical): Coded | undefined => {
  if (p.kind === 'bools' || p.kind === 'fixed' || p.count < 4) return undefined;
  const firsts = p.kind === 'words' ? firstWords(p.words, p.width, p.count) : (firstCodes(p) ?? firstRuns(p, 'tried'));
  if (!firsts) return undefined;
  return { codes: firsts.codes, entries: picked(p, firsts.rows) };
};
interface Firsts {
  readonly codes: Uint32Array;
  readonly rows: Uint32Array;
}

/** Slots for the entries that so many values may have, a power of two and at least twice as many. */
const slotsFor = (count: number): Int32Array =>
  new Int32Array(2 << Math.ceil(Math.log2(Math.min(count, dictionaryEntriesMax))));

/** Open addressing: a slot has the code of a value plus one. */
const firstWords = (words: Int32Array, width: number, count: number): Firsts | undefined => {
  const slots = slotsFor(count);
  const slotsMask = slots.length - 1;
  const codes = new Uint32Array(count);
  const rows = new Uint32Array(Math.min(count, dictionaryEntriesMax));
  const step = width - 1;
  let entries = 0;
  for (let i = 0; i < count; i++) {
    const low = words[i * width];
    const high = words[i * width + step];
    let h = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
    h ^= h >>> 15;
    for (; ; h++) {
      const code = slots[h & slotsMask] - 1;
      if (code < 0) {
        if (entries >= dictionaryEntriesMax || (i >= trialValues && entries > i >> 1)) return undefined;
        rows[entries] = i;
        codes[i] = entries;
        slots[h & slotsMask] = ++entries;
        break;
      }
      const at = rows[code] * width;
      if (words[at] === low && words[at + step] === high) {
        codes[i] = code;
        break;
      }
    }
  }
  return entries > count >> 1 ? undefined : { codes, rows: rows.subarray(0, entries) };
};
/** By codes that are there already; of values that have several, the first one's. Undefined: they are too many. */
const firstCodes = (p: Runs): Firsts | undefined => {
  const { count, codes: given, distinct = 0 } = p;
  if (!given || distinct > count * codesPerValueMax) return undefined;
  const places = new Uint32Array(distinct);
  const codes = new Uint32Array(count);
  const rows = new Uint32Array(Math.min(count >> 1, dictionaryEntriesMax));
  let entries = 0;
  for (let i = 0; i < count; i++) {
    const code = given[i];
    let place = places[code];
    if (place === 0) {
      if (entries === rows.length) return undefined;
      rows[entries] = i;
      places[code] = place = ++entries;
    }
    codes[i] = place - 1;
  }
  const own = rows.subarray(0, entries);
  const unique = firstRuns(picked(p, own), 'all')!;
  if (unique.rows.length === entries) return { codes, rows: own };
  for (let i = 0; i < count; i++) codes[i] = unique.codes[codes[i]];
  return { codes, rows: unique.rows.map((row) => own[row]) };
};
/** `tried`: undefined as soon as they seem to be too many. */
const firstRuns = (
  { offsets, starts, bytes, count }: Pick<Runs, 'offsets' | 'starts' | 'bytes' | 'count'>,
  how: 'tried' | 'all',
): Firsts | undefined => {
  const slots = slotsFor(count);
  const slotsMask = slots.length - 1;
  const codes = new Uint32Array(count);
  const rows = new Uint32Array(Math.min(count, dictionaryEntriesMax));
  const isTried = how === 'tried';
  let entries = 0;
  for (let i = 0; i < count; i++) {
    const start = starts[i];
    const size = offsets[i + 1] - offsets[i];
    const end = start + size;
    let h = size;
    for (let k = start; k < end; k++) h = Math.imul(h ^ bytes[k], 0x01000193);
    h ^= h >>> 15;
    for (; ; h++) {
      const code = slots[h & slotsMask] - 1;
      if (code < 0) {
        if (isTried && (entries >= dictionaryEntriesMax || (i >= trialValues && entries > i >> 1))) return undefined;
        rows[entries] = i;
        codes[i] = entries;
        slots[h & slotsMask] = ++entries;
        break;
      }
      const row = rows[code];
      if (offsets[row + 1] - offsets[row] === size && areSame(bytes, starts[row], start, size)) {
        codes[i] = code;
        break;
      }
    }
  }
  return isTried && entries > count >> 1 ? undefined : { codes, rows: rows.subarray(0, entries) };
};
const areSame = (bytes: Uint8Array, a: number, b: number, size: number): boolean => {
  for (let k = 0; k < size; k++) if (bytes[a + k] !== bytes[b + k]) return false;
  return true;
};
type Lookable = Extract<Physical, { kind: 'words' | 'runs' }>;
const picked = <P extends Lookable>(p: P, rows: Uint32Array): P => {
  if (p.kind === 'words') {
    const out = new Int32Array(rows.length * p.width);
    rows.forEach((row, i) => out.set(p.words.subarray(row * p.width, (row + 1) * p.width), i * p.width));
    return { ...p, count: rows.length, words: out };
  }
  const offsets = new Uint32Array(rows.length + 1);
  rows.forEach((row, i) => {
    offsets[i + 1] = offsets[i] + p.offsets[row + 1] - p.offsets[row];
  });
  const starts = rows.map((row) => p.starts[row]);
  const { codes: _, distinct: _distinct, ...runs } = p;
  return { ...runs, count: rows.length, offsets, starts } as P;
};
