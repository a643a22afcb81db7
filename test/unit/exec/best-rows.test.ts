/** arg_min and arg_max: in batches, merged and from what was exported, the row is the first of the best ones. */
import { describe, expect, test } from 'vitest';
import { ArgumentState } from '../../../src/exec/aggregates/grouping/best-rows.ts';
import { order } from '../../../src/exec/expressions/sql/value-order.ts';
import { none } from '../../../src/exec/aggregates/grouping/pair-table.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type Value, underValue } from '../../../src/vectors/value.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { randomOf } from '../../support/random.ts';

const kinds = {
  integers: ['1', '2', '3', '-4'],
  'integers beyond floats': ['9007199254740993', '9007199254740992', '-9007199254740993', '7'],
  times: ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000000001Z', '1969-01-01T00:00:00Z'],
  floats: ['1.5', 'NaN', '-Inf', '0.25', '-0.'],
  'integers and floats': ['1', '1.5', '2', '2.5', '9007199254740993'],
  nulls: ['1', 'null', '3'],
  texts: ['"a"', '"b"', '""', 'null'],
  records: ['{a:1,b:"x"}', '{a:1,b:"y"}', '{a:0,b:"z"}'],
  'all of them': ['1', '2026-01-01T00:00:00Z', '"a"', '{a:1}', 'null', '2.5', '9007199254740993'],
} as const;
type Row = { readonly group: number; readonly value: string; readonly by: string };
const groups = 7;
const valueOf = (text: string): Value => underValue(valueAt(vectorOf(parseSupValues(text)), 0));

/** The values of the first best rows. */
const meant = (rows: readonly Row[], sign: 1 | -1, nulls: 'none' | 'values' | 'all'): string[] =>
  Array.from({ length: groups }, (_, g) => {
    let best: Row | undefined;
    for (const row of rows) {
      if (row.group !== g || (nulls === 'none' && row.value === 'null') || (nulls !== 'all' && row.by === 'null'))
        continue;
      const isBetter =
        !best ||
        (best.by === 'null'
          ? row.by !== 'null'
          : row.by !== 'null' && order(valueOf(row.by), valueOf(best.by)) * sign > 0);
      if (isBetter) best = row;
    }
    return best?.value ?? 'null';
  });
const argument = (rows: readonly Row[]): Vector =>
  vectorOf(parseSupValues(rows.map(({ value, by }) => `{value:${value},by:${by}}`).join(' ')));
const add = (state: ArgumentState, rows: readonly Row[]): void =>
  state.update(
    Uint32Array.from(rows, (r) => r.group),
    argument(rows),
  );
const texts = (v: Vector): string[] => Array.from({ length: groups }, (_, g) => supText(valueAt(v, g)));
const fresh = (sign: 1 | -1, nulls: 'none' | 'values' | 'all'): ArgumentState => {
  const state = new ArgumentState(sign, nulls);
  state.grow(groups);
  return state;
};

describe.each(Object.entries(kinds))('by %s', (_, bys) => {
  const random = randomOf(bys.length);
  test.each([
    [1, 'none'],
    [-1, 'none'],
    [1, 'values'],
    [-1, 'all'],
  ] as const)('%i, nulls: %s', (sign, nulls) => {
    for (let run = 0; run < 20; run++) {
      const size = 1 + random.below(60);
      const rows = Array.from(
        { length: size },
        (_row, i): Row => ({
          group: random.below(groups),
          value: random.below(6) === 0 ? 'null' : random.pick([`${i}`, `"v${i}"`, `{v:${i}}`]),
          // The first half may be of one kind.
          by: i * 2 < size && run % 2 === 0 ? bys[0] : random.pick(bys),
        }),
      );
      const wanted = meant(rows, sign, nulls);
      const one = fresh(sign, nulls);
      const [left, right] = [fresh(sign, nulls), fresh(sign, nulls)];
      const [before, absorbing] = [fresh(sign, nulls), fresh(sign, nulls)];
      for (let at = 0; at < size; at += 5) {
        const batch = rows.slice(at, at + 5);
        add(one, batch);
        add(at * 2 < size ? left : right, batch);
        add(at * 2 < size ? before : absorbing, batch);
      }
      expect(texts(one.result(groups))).toEqual(wanted);
      left.merge(
        right,
        Uint32Array.from({ length: groups }, (_g, g) => g),
        groups,
      );
      expect(texts(left.result(groups))).toEqual(wanted);
      const exported = before.exported(groups);
      const had = Array.from({ length: groups }, (_g, g) => g).filter((g) => supText(valueAt(exported, g)) !== 'null');
      const again = fresh(sign, nulls);
      again.absorb(Uint32Array.from(had), vectorOf(had.map((g) => valueAt(exported, g))));
      again.merge(
        absorbing,
        Uint32Array.from({ length: groups }, (_g, g) => g),
        groups,
      );
      expect(texts(again.result(groups))).toEqual(wanted);
      left.merge(one, new Uint32Array(groups).fill(none), groups);
      expect(texts(left.result(groups))).toEqual(wanted);
    }
  });
});

test('rows that were bettered are forgotten', () => {
  const state = fresh(1, 'none');
  for (let i = 0; i < 2_000; i++)
    add(
      state,
      Array.from({ length: groups }, (_, group) => ({ group, value: `"${'x'.repeat(100)}${i}"`, by: `${i}` })),
    );
  expect(texts(state.result(groups))[3]).toBe(`"${'x'.repeat(100)}1999"`);
  expect(state.bytes).toBeLessThan(1_000_000);
});
