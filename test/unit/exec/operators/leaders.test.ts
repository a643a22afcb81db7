/** Rows that may be among the best by a column: never less than these, and few more, whatever form the column has. */
import { expect, test } from 'vitest';
import { Leaders } from '../../../../src/exec/operators/sort/leaders.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { nullable, types } from '../../../../src/vectors/type.ts';
import { type Value, nullValue, stringValue } from '../../../../src/vectors/value.ts';
import { type Vector, take, valueAt } from '../../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

const count = 5;
const batchRows = 200;

test('texts among nulls are compared as texts without nulls are', () => {
  const random = randomOf(seedOf(31));
  const type = nullable(types.string);
  for (const [order, nulls] of [
    ['asc', 'last'],
    ['asc', 'first'],
    ['desc', 'last'],
    ['desc', 'first'],
  ] as const)
    for (const isPicked of [false, true]) {
      const leaders = new Leaders({ count, direction: { order, nulls }, end: 'first', single: true });
      const texts: (string | null)[] = [];
      const kept: (string | null)[] = [];
      for (let b = 0; b < 10; b++) {
        const values = Array.from(
          { length: batchRows },
          (): Value => ({ type, data: random.below(4) === 0 ? nullValue : stringValue(`t${random.below(5000)}`) }),
        );
        const all: Vector = vectorOf(values);
        const batch = isPicked
          ? take(
              all,
              Uint32Array.from({ length: batchRows / 2 }, (_, i) => i * 2),
            )
          : all;
        const rows = leaders.candidates(batch) ?? Array.from({ length: batch.length }, (_, i) => i);
        const textAt = (i: number): string | null => (valueAt(batch, i).data as Value).data as string | null;
        for (let i = 0; i < batch.length; i++) texts.push(textAt(i));
        for (const i of rows) kept.push(textAt(i));
      }
      const sorted = (list: readonly (string | null)[]): (string | null)[] =>
        [...list].sort((a, b) => {
          if (a === null || b === null) return a === b ? 0 : (a === null) === (nulls === 'last') ? 1 : -1;
          return (a < b ? -1 : a > b ? 1 : 0) * (order === 'asc' ? 1 : -1);
        });
      expect(sorted(kept).slice(0, count)).toEqual(sorted(texts).slice(0, count));
      const ofNulls = nulls === 'first' ? texts.filter((t) => t === null).length : 0;
      expect(kept.length - ofNulls).toBeLessThan(150);
    }
});
