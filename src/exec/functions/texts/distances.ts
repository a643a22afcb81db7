/**
 * How far two strings are from each other: edits, shared characters, places that differ. Strings are read by code
 * points.
 */
import { textToBytes } from '../../../vectors/texts/codec.ts';
import { charge, checkStop } from '../../../vectors/stop.ts';
import { charactersOf } from './code-points.ts';
import { rowsOf, type FunctionRow } from '../row.ts';
import { Refusal, byRow } from '../typed.ts';

/** Least number of inserted, deleted and changed code points, and of neighbours exchanged. */
const damerauLevenshtein = (left: string, right: string): number => {
  const a = charactersOf(left, 'damerau_levenshtein');
  const b = charactersOf(right, 'damerau_levenshtein');
  const last = new Map<string, number>();
  const width = b.length + 2;
  const far = a.length + b.length;
  charge((a.length + 2) * width * Uint32Array.BYTES_PER_ELEMENT, 'damerau_levenshtein');
  const cost = new Uint32Array((a.length + 2) * width);
  for (let i = 0; i <= a.length; i++) {
    cost[(i + 1) * width] = far;
    cost[(i + 1) * width + 1] = i;
  }
  for (let k = 0; k <= b.length; k++) {
    cost[k + 1] = far;
    cost[width + k + 1] = k;
  }
  cost[0] = far;
  for (let i = 1; i <= a.length; i++) {
    checkStop();
    let seen = 0;
    for (let k = 1; k <= b.length; k++) {
      const row = last.get(b[k - 1]) ?? 0;
      const column = seen;
      const isSame = a[i - 1] === b[k - 1];
      if (isSame) seen = k;
      const changed = cost[i * width + k] + Number(!isSame);
      const exchanged = cost[row * width + column] + (i - row - 1) + 1 + (k - column - 1);
      cost[(i + 1) * width + k + 1] = Math.min(
        changed,
        cost[(i + 1) * width + k] + 1,
        cost[i * width + k + 1] + 1,
        exchanged,
      );
    }
    last.set(a[i - 1], i);
  }
  return cost[(a.length + 1) * width + b.length + 1];
};

/** Shared characters near their places, and how many of them are out of order. */
const jaro = (left: string, right: string): number => {
  const a = charactersOf(left, 'jaro_similarity');
  const b = charactersOf(right, 'jaro_similarity');
  if (a.length === 0 || b.length === 0) return 0;
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1);
  const taken = new Uint8Array(b.length);
  const found: string[] = [];
  for (let i = 0; i < a.length; i++) {
    checkStop();
    for (let k = Math.max(0, i - reach); k < Math.min(b.length, i + reach + 1); k++) {
      if (taken[k] === 1 || a[i] !== b[k]) continue;
      taken[k] = 1;
      found.push(a[i]);
      break;
    }
  }
  if (found.length === 0) return 0;
  const others = b.filter((_, k) => taken[k] === 1);
  const misplaced = Math.floor(found.filter((c, i) => c !== others[i]).length / 2);
  const m = found.length;
  return (m / a.length + m / b.length + (m - misplaced) / m) / 3;
};
const prefixMax = 4;
const prefixWeight = 0.1;
const boostMin = 0.7;
/** The same with weight on a common beginning; below the cutoff 0. */
const jaroWinkler = (a: string, b: string, cutoff = 0): number => {
  const plain = jaro(a, b);
  // A character is two units at most.
  const x = [...a.slice(0, prefixMax * 2)];
  const y = [...b.slice(0, prefixMax * 2)];
  let prefix = 0;
  while (prefix < prefixMax && prefix < x.length && prefix < y.length && x[prefix] === y[prefix]) prefix++;
  const found = plain > boostMin ? plain + prefix * prefixWeight * (1 - plain) : plain;
  return found < cutoff ? 0 : found;
};
const tooShort = new Refusal('no string may be empty');
const jaccard = (a: string, b: string): number | Refusal => {
  if (a === '' || b === '') return tooShort;
  const x = new Set(a);
  const y = new Set(b);
  const shared = [...x].filter((c) => y.has(c)).length;
  return shared / (x.size + y.size - shared);
};
/** Differing bytes of UTF-8. */
const mismatches = (left: string, right: string): number | Refusal => {
  const a = textToBytes(left);
  const b = textToBytes(right);
  if (a.length === 0 || b.length === 0) return tooShort;
  if (a.length !== b.length) return new Refusal('strings of one length required', 1);
  return a.reduce((n, byte, i) => n + Number(byte !== b[i]), 0);
};

const wrong = (name: string): readonly [string, string] => [
  `${name}(1,"a")`,
  `error({message:"${name}: string argument required",on:1})`,
];
export const distances: readonly FunctionRow[] = [
  ...rowsOf(
    'damerau_levenshtein(a, b)',
    'The least number of code points inserted, deleted, changed or exchanged with their neighbour.',
    byRow('damerau_levenshtein', ['string', 'string'], 'integer', damerauLevenshtein),
    [['damerau_levenshtein("ab","ba")', '1'], wrong('damerau_levenshtein')],
  ),
  ...rowsOf(
    'jaro_similarity(a, b[, cutoff])',
    'How alike two strings are by Jaro, from 0 to 1; below the cutoff 0.',
    byRow('jaro_similarity', ['string', 'string', 'number'], 'number', (a, b, cutoff = 0) => {
      const found = jaro(a, b);
      return found < cutoff ? 0 : found;
    }),
    [['jaro_similarity("duck","duckdb")', '0.8888888888888888'], wrong('jaro_similarity')],
  ),
  ...rowsOf(
    'jaro_winkler_similarity(a, b[, cutoff])',
    'The same with weight on a common beginning.',
    byRow('jaro_winkler_similarity', ['string', 'string', 'number'], 'number', jaroWinkler),
    [['jaro_winkler_similarity("duck","duckdb")', '0.9333333333333333'], wrong('jaro_winkler_similarity')],
  ),
  ...rowsOf(
    'jaccard(a, b)',
    'How many of the characters of two strings are in both, from 0 to 1.',
    byRow('jaccard', ['string', 'string'], 'number', jaccard),
    [
      ['jaccard("duck","luck")', '0.6'],
      ['jaccard("","a")', 'error({message:"jaccard: no string may be empty",on:""})'],
      wrong('jaccard'),
    ],
  ),
  ...rowsOf(
    'hamming(a, b)',
    'The number of bytes that differ in two strings of one length.',
    byRow('hamming', ['string', 'string'], 'integer', mismatches),
    [
      ['hamming("duck","luck")', '1'],
      ['hamming("a","ab")', 'error({message:"hamming: strings of one length required",on:"ab"})'],
      wrong('hamming'),
    ],
    { also: ['mismatches'] },
  ),
];
