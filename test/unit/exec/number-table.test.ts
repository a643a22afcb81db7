/** Codes of numbers: those that lie near each other have a place each, others are hashed, and nobody sees which. */
import { expect, test } from 'vitest';
import { NumberTable } from '../../../src/exec/aggregates/grouping/number-table.ts';
import { none } from '../../../src/exec/aggregates/grouping/pair-table.ts';
import { randomOf } from '../../support/random.ts';

const whole = { whole: true, insert: true };

test('ids with gaps, in order, in any order, and in runs', () => {
  const random = randomOf(5);
  const gaps = Array.from({ length: 400_000 }, (_, i) => Math.floor(i / 3) * 4);
  for (const keys of [
    gaps,
    gaps.map(() => gaps[random.below(gaps.length)]!),
    gaps.map((x) => x * 1000),
    gaps.toReversed(),
  ]) {
    const table = new NumberTable();
    const known = new Map<number, number>();
    const wanted = Uint32Array.from(keys, (x) => {
      if (!known.has(x)) known.set(x, known.size);
      return known.get(x)!;
    });
    for (let at = 0; at < keys.length; ) {
      // Small batches take another way.
      const end = Math.min(keys.length, at + (random.below(4) === 0 ? 100 : 20_000));
      const codes = table.codes(Float64Array.from(keys.slice(at, end)), end - at, whole);
      expect(codes.every((code, i) => code === wanted[at + i])).toBe(true);
      at = end;
    }
    expect(table.size).toBe(known.size);
    expect([...(table.values(false) as Float64Array)]).toEqual([...known.keys()]);
    expect([...table.codes(Float64Array.of(0, 1, -1, 0.5), 4, { whole: true, insert: false })]).toEqual(
      [0, 1, -1, 0.5].map((x) => known.get(x) ?? none),
    );
  }
});

test('places take no more than the numbers are worth', () => {
  const table = new NumberTable();
  table.codes(
    Float64Array.from({ length: 5000 }, (_, i) => i * 100_000),
    5000,
    whole,
  );
  expect(table.bytes).toBeLessThan(2 << 20);
  const dense = new NumberTable();
  for (let at = 0; at < 1_000_000; at += 10_000)
    dense.codes(
      Float64Array.from({ length: 10_000 }, (_, i) => (at + i) * 4),
      10_000,
      whole,
    );
  // 4,000,000 places, and half as many to grow into; a table of hashes has 2^21 slots of 12 bytes.
  expect(dense.bytes).toBeLessThan(24 << 20);
});

test('few numbers have few places, however far they reach: rows of thousands of fields have a table for each', () => {
  const table = new NumberTable();
  const far = Float64Array.from({ length: 400 }, (_, i) => i * 600);
  expect([...table.codes(far, far.length, whole)]).toEqual([...far.keys()]);
  expect(table.bytes).toBeLessThan(32 << 10);
  // More rows have more places: these would else take a slot of 12 bytes each.
  const more = Float64Array.from({ length: 100_000 }, (_, i) => i * 2);
  const codes = table.codes(more, more.length, whole);
  expect([codes[300], codes[600], table.size]).toEqual([1, 2, 100_000 + 66]);
  expect(table.bytes).toBeLessThan(1.1 * (1 << 20));
});

test('a number that was met before numbers near it had a place keeps its code, as a float too', () => {
  const table = new NumberTable(true);
  const of = (...values: number[]) => Float64Array.from(values);
  const isFloat = { whole: false, insert: true };
  expect([...table.codes(of(7, 300_000, 2.5, -0, NaN), 5, isFloat)]).toEqual([0, 1, 2, 3, 4]);
  const ids = Float64Array.from({ length: 400_000 }, (_, i) => i);
  const codes = table.codes(ids, ids.length, whole);
  expect([codes[7], codes[300_000], codes[0], codes[1]]).toEqual([0, 1, 3, 5]);
  expect([...table.codes(of(300_000, 7, 2.5, -0, 0, NaN, 1), 7, isFloat)]).toEqual([1, 0, 2, 3, 3, 4, 5]);
  expect([...table.codes(BigInt64Array.of(300_000n, 7n, 1n << 60n), 3, whole)]).toEqual([1, 0, table.size - 1]);
  const floats = table.floats();
  expect([floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]]).toEqual([7, 300_000, 2.5, 0, NaN, 1]);
});
