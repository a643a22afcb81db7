import { describe, expect, it } from 'vitest';
import { CountState } from '../../../src/exec/aggregates/count.ts';
import { DistinctState } from '../../../src/exec/aggregates/grouping/distinct.ts';
import type { AggregateState } from '../../../src/exec/aggregates/grouping/state.ts';
import { type Vector, numbers } from '../../../src/vectors/vector.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { types } from '../../../src/vectors/type.ts';
import { memoryBytes } from '../../support/queries/run-plan.ts';
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
const texts = (values: Float64Array): Vector => vectorOf(parseSupValues(Array.from(values, (x) => `"${x}"`).join(' ')));
const add = (state: AggregateState, batches: readonly Batch[], vector = column): void => {
  state.grow(groups);
  for (const { ids, values } of batches) state.update(ids, vector(values));
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
    add(state, a, texts);
    state.seen!.close(memoryBytes);
    add(state, b, texts);
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

/** Numbers of several types, in forms that columns have; each comes several times. */
const mixedBatches = (
  rows: number,
  distinct: number,
  seed: number,
): readonly { ids: Uint32Array; text: string[] }[] => {
  const random = randomOf(seed);
  const one = (x: number): string => {
    switch (x % 8) {
      case 0:
        return `${x}.`;
      case 1:
        return `${x}.5`;
      case 2:
        return `${2n ** 62n + BigInt(x)}`;
      case 3:
        return `${2n ** 63n + BigInt(x)}::uint64`;
      case 4:
        return `-${x}`;
      case 5:
        return x % 3 === 0 ? 'null' : `"${x}"`;
      case 6:
        return x % 5 === 0 ? 'NaN' : `${x - (x % 8)}`;
      default:
        return `${x}::int32`;
    }
  };
  return Array.from({ length: Math.ceil(rows / 5000) }, () => {
    const ids = Uint32Array.from({ length: 5000 }, () => random.below(groups));
    return { ids, text: Array.from(ids, () => one(random.below(distinct))) };
  });
};
/** What SQL takes for the same. */
const keyOf = (text: string): string | undefined => {
  if (text === 'null') return undefined;
  if (text.startsWith('"')) return text;
  const plain = text.replace(/::.*/, '');
  return plain.endsWith('.') ? plain.slice(0, -1) : plain;
};

describe('count(distinct) of very many numbers', () => {
  const many = batchesOf(1_200_000, 11).map(({ ids, values }) => ({ ids, values: values.map((x, i) => x + (i % 97)) }));
  it('counts each pair once, in partitions', () => {
    const state = kinds['settled later']();
    add(state, many);
    expect(countsOf(state)).toEqual(expected(many));
    add(state, many.slice(0, 10));
    expect(countsOf(state)).toEqual(expected(many));
  });

  it('counts what it has put into a file at the end', () => {
    for (const before of [1, 40, many.length - 3]) {
      const state = kinds['settled later']();
      add(state, many.slice(0, before));
      state.seen!.close(memoryBytes);
      add(state, many.slice(before));
      for (const _ of state.seen!.end());
      state.seen!.reopen();
      expect([...state.seen!.take(true)]).toEqual([]);
      expect(countsOf(state)).toEqual(expected(many));
    }
  });

  it('counts those of two states once where they are merged', () => {
    const [state, other] = [kinds['settled later'](), kinds['settled later']()];
    add(state, many.slice(0, 150));
    add(other, many.slice(100));
    state.merge(
      other,
      Uint32Array.from({ length: groups }, (_, g) => g),
    );
    expect(countsOf(state)).toEqual(expected(many));
  });

  it('tells numbers of all types apart by their value, beside nulls and texts', () => {
    const batches = mixedBatches(500_000, 40_000, 5);
    const sets = Array.from({ length: groups }, () => new Set<string>());
    for (const { ids, text } of batches)
      text.forEach((t, i) => {
        const key = keyOf(t);
        if (key !== undefined) sets[ids[i]!]!.add(key);
      });
    for (const closed of [3, batches.length]) {
      const state = kinds['settled later']();
      state.grow(groups);
      for (const [k, { ids, text }] of batches.entries()) {
        if (k === closed) state.seen!.close(memoryBytes);
        state.update(ids, vectorOf(parseSupValues(text.join(' '))));
      }
      const left = closed < batches.length ? [...state.seen!.take(true)] : [];
      if (closed < batches.length) {
        for (const _ of state.seen!.end());
        state.seen!.reopen();
        for (const { ids, values } of left) state.update(ids, values);
      }
      expect(countsOf(state)).toEqual(sets.map((s) => s.size));
    }
  });
});
