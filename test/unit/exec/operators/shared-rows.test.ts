/** Rows of a table of WITH that are read twice while they come. */
import { expect, test } from 'vitest';
import type { Item } from '../../../../src/exec/operator.ts';
import { SharedRows } from '../../../../src/exec/operators/nested/shared.ts';
import { types } from '../../../../src/vectors/type.ts';
import { type Vector, numbers, valueAt } from '../../../../src/vectors/vector.ts';

const ofOne = (n: number): Vector => numbers(types.int64, Float64Array.of(n));
const built = { memory: { add: () => {}, isOverWith: () => false }, context: { host: {} } } as never;
const numbersOf = (batch: Item): unknown[] => {
  const v = batch as Vector;
  return Array.from({ length: v.length }, (_, i) => valueAt(v, i).data);
};

test('batches of one row are put together, in their order, for a reader that stops as for one that goes on', () => {
  let given = 0;
  const rounds = function* (): Generator<Item> {
    for (; given < 20_000; given++) yield ofOne(given);
  };
  const shared = new SharedRows(rounds(), built);
  const few = shared.read();
  expect(numbersOf(few.next().value as Item)).toEqual([0]);
  expect(given).toBeLessThan(2);
  const batches = [...shared.read()];
  expect(batches.length).toBeLessThan(50);
  expect(batches.flatMap(numbersOf)).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
  expect(numbersOf(few.next().value as Item)).toEqual([1]);
});

test('rows before a failure come before it, for all readers', () => {
  const failing = function* (): Generator<Item> {
    for (let i = 0; i < 100; i++) yield ofOne(i);
    throw new Error('round 100');
  };
  const shared = new SharedRows(failing(), built);
  for (let reader = 0; reader < 2; reader++) {
    const found: unknown[] = [];
    expect(() => {
      for (const batch of shared.read()) found.push(...numbersOf(batch));
    }).toThrow('round 100');
    expect(found).toEqual(Array.from({ length: 100 }, (_, i) => i));
  }
});
