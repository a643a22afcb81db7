import { expect, test } from 'vitest';
import { DistinctPairs } from '../../../src/exec/aggregates/grouping/distinct-pairs.ts';
import { randomOf } from '../../support/random.ts';

const groups = 50;
const codesCount = 40_000;
const batchRows = 8192;
const random = randomOf(5);
const drawn = (n: number): Uint32Array => Uint32Array.from({ length: batchRows }, () => random.below(n));
const pairsOf = (ids: Uint32Array, codes: Uint32Array): number[] =>
  Array.from(ids, (id, i) => id * codesCount + codes[i]!);

test('pairs that are noted once it is frozen take no more room, and each that is not known is given at least once', () => {
  const pairs = new DistinctPairs();
  const known = new Set<number>();
  const note = (): number[] => {
    const [ids, codes] = [drawn(groups), drawn(codesCount)];
    pairs.note(ids, codes, batchRows);
    return pairsOf(ids, codes);
  };
  for (let k = 0; k < 30; k++) {
    for (const pair of note()) known.add(pair);
    if (pairs.isFull) pairs.settle(codesCount);
  }
  pairs.settle(codesCount);
  pairs.freeze();
  const { bytes } = pairs;

  const noted = new Set<number>();
  const given = new Set<number>();
  const give = (): void => {
    const { ids, codes } = pairs.unknown(codesCount);
    for (const pair of pairsOf(ids, codes)) given.add(pair);
  };
  for (let k = 0; k < 60; k++) {
    for (const pair of note()) if (!known.has(pair)) noted.add(pair);
    if (pairs.isFull) give();
    expect(pairs.bytes).toBe(bytes);
  }
  give();
  expect(given).toEqual(noted);
});
