import { describe, expect, it } from 'vitest';
import { CountState } from '../../../src/exec/aggregates/count.ts';
import { DistinctState } from '../../../src/exec/aggregates/grouping/distinct.ts';
import type { AggregateState } from '../../../src/exec/aggregates/grouping/state.ts';
import { type Vector, numbers } from '../../../src/vectors/vector.ts';
import { types } from '../../../src/vectors/type.ts';
import { randomOf } from '../../support/random.ts';

interface Batch {
  readonly ids: Uint32Array;
  readonly values: Float64Array;
}

const groups = 50;
/** Batches of random pairs, of which some repeat: few values in the first groups, many in the last ones. */
const batchesOf = (rows: number, seed: number): readonly Batch[] => {
  const random = randomOf(seed);
  const out: Batch[] = [];
  for (let left = rows; left > 0; left -= 5000) {
    const length = Math.min(left, 5000);
    const ids = Uint32Array.from({ length }, () => random.below(groups));
    out.push({ ids, values: Float64Array.from(ids, (g) => random.below(1 + g * g * 4) * 1000) });
  }
  return out;
};
const column = (values: Float64Array): Vector => numbers(types.int64, values);
const add = (state: AggregateState, batches: readonly Batch[]): void => {
  state.grow(groups);
  for (const { ids, values } of batches) state.update(ids, column(values));
};
const countsOf = (state: AggregateState): number[] => {
  const v = state.result(groups);
  return v.form === 'number' ? Array.from(v.values as Float64Array) : [];
};
/** The counts, by sets. */
const expected = (batches: readonly Batch[]): number[] => {
  const sets = Array.from({ length: groups }, () => new Set<number>());
  for (const { ids, values } of batches)
    values.forEach((x, i) => {
      sets[ids[i]!]!.add(x);
    });
  return sets.map((s) => s.size);
};

/** A count whose values must come at once. */
class PromptCount extends CountState {
  override readonly isCount = undefined as never;
}
const kinds = {
  'settled later': () => new DistinctState(new CountState(false), true),
  'told apart at once': () => new DistinctState(new PromptCount(false), true),
};

describe.each(Object.entries(kinds))('count(distinct) by group, %s', (_, make) => {
  it('counts each value of a group once, however many rows come', () => {
    for (const rows of [1, 5000, 70_000, 400_000]) {
      const batches = batchesOf(rows, rows);
      const state = make();
      add(state, batches);
      expect(countsOf(state)).toEqual(expected(batches));
      // What is asked for again has not changed, and more may come.
      expect(countsOf(state)).toEqual(expected(batches));
      const more = batchesOf(9000, 7);
      add(state, more);
      expect(countsOf(state)).toEqual(expected([...batches, ...more]));
    }
  });

  it('counts what came of one group alone before others did', () => {
    const state = make();
    const [first, ...rest] = batchesOf(120_000, 3);
    state.grow(groups);
    state.updateOne!(4, column(first!.values));
    add(state, rest);
    const one = { ids: new Uint32Array(first!.ids.length).fill(4), values: first!.values };
    expect(countsOf(state)).toEqual(expected([one, ...rest]));
  });

  it('counts the values of two states once where they are merged', () => {
    const [a, b] = [batchesOf(100_000, 1), batchesOf(90_000, 2)];
    const [state, other] = [make(), make()];
    add(state, a);
    add(other, b);
    const turned = Uint32Array.from({ length: groups }, (_, g) => (g + 1) % groups);
    state.merge(other, turned);
    expect(countsOf(state)).toEqual(
      expected([...a, ...b.map(({ ids, values }) => ({ ids: ids.map((g) => turned[g]!), values }))]),
    );
  });

  it('leaves what it does not know once it is closed, and counts it when it comes again', () => {
    const [a, b] = [batchesOf(100_000, 5), batchesOf(100_000, 6)];
    const state = make();
    add(state, a);
    state.seen!.close();
    add(state, b);
    expect(countsOf(state)).toEqual(expected(a));
    const left = [...state.seen!.take(true)];
    const known = new Set(a.flatMap(({ ids, values }) => Array.from(ids, (g, i) => `${g} ${values[i]}`)));
    const isLeft = b.flatMap(({ ids, values }) =>
      Array.from(ids, (g, i) => `${g} ${values[i]}`).filter((pair) => !known.has(pair)),
    );
    const count = left.reduce((n, { ids }) => n + ids.length, 0);
    // A pair that comes several times is left once if it is looked at together.
    expect(count).toBeGreaterThanOrEqual(new Set(isLeft).size);
    expect(count).toBeLessThanOrEqual(isLeft.length);
    state.seen!.reopen();
    for (const { ids, values } of left) state.update(ids, values);
    expect(countsOf(state)).toEqual(expected([...a, ...b]));
  });
});
