import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inKeyOrder, keyColumn, sortColumn, sortRows } from '../../../src/lake/load/sort-rows.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { compareValues } from '../../../src/vectors/compare.ts';
import { type Value, intValue, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { slice } from '../../../src/vectors/vector.ts';

/** Records of several shapes; the key is a text, a number, null or missing. */
const row = (key: Value | undefined, shape: number): Value =>
  recordValue([
    ...(shape === 0 ? [{ name: 'a', value: intValue(1) }] : []),
    ...(key ? [{ name: 'k', value: key }] : []),
    ...(shape === 2 ? [{ name: 'b', value: stringValue('x') }] : []),
  ]);
const textKeys = fc.array(
  fc.tuple(
    fc
      .constantFrom('', 'a', 'aa', 'ab', 'b', 'é', '2026-01-01T00:00', '2026-01-01T00:01')
      .map((text): Value | undefined => stringValue(text)),
    fc.nat(2),
  ),
  { minLength: 1, maxLength: 6 },
);
const anyKeys = fc.array(
  fc.tuple(
    fc.constantFrom<(Value | undefined)[]>(stringValue('a'), intValue(1), intValue(2), nullValue, undefined),
    fc.nat(2),
  ),
  { minLength: 1, maxLength: 6 },
);
/** Times in one spelling, years apart, or one of them in another. */
const timeTexts = [
  '1700-01-01T00:00:00.000000000Z',
  '2026-01-01T00:00:00.000000001Z',
  '2026-01-01T00:00:00.999999999Z',
  '2026-03-01T00:00:00.000000000Z',
  '2200-12-31T23:59:59.000000000Z',
];
const timeKeys = fc.array(
  fc.tuple(fc.constantFrom<(Value | undefined)[]>(...timeTexts.map(stringValue), nullValue, undefined), fc.nat(2)),
  { minLength: 1, maxLength: 6 },
);

test('texts that are times are sorted as texts, nulls behind them', () => {
  const keys = fc.array(
    fc.constantFrom<Value[]>(
      ...timeTexts.map(stringValue),
      stringValue('2026-01-01T00:00:00Z'),
      stringValue('2026-01-01'),
      nullValue,
    ),
    { minLength: 1, maxLength: 12 },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        keys,
        keys.map((all) => all.filter((k) => k === nullValue || timeTexts.includes(String(k.data)))),
      ),
      fc.boolean(),
      (given, descending) => {
        const sign = descending ? -1 : 1;
        const order = given.map((_, i) => i).sort((i, j) => compareValues(given[i]!, given[j]!) * sign || i - j);
        expect([...(sortRows([sortColumn(vectorOf(given))], given.length, { descending }) ?? given.keys())]).toEqual(
          order,
        );
      },
    ),
    { numRuns: 500 },
  );
});

test('a batch is in order, behind a row or at the beginning, just when sorting leaves its rows where they are', () => {
  fc.assert(
    fc.property(
      fc.oneof(textKeys, anyKeys, timeKeys),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(['k'], ['a'], ['b']),
      (rows, descending, sorted, second) => {
        const keys = second[0] === 'k' ? [['k']] : [['k'], second];
        const given = vectorOf(rows.map(([key, shape]) => row(key, shape)));
        const columns = keys.map((path) => sortColumn(keyColumn(given, path)));
        const order = sortRows(columns, given.length, { descending });
        const all = sorted && order ? vectorOf([...order].map((i) => row(rows[i]![0], rows[i]![1]))) : given;
        expect(inKeyOrder(undefined, all, keys, descending)).toBe(sorted || !order);
        if (all.length < 2) return;
        const rest = slice(all, 1, all.length);
        const whole = sortRows(
          keys.map((path) => sortColumn(keyColumn(concat([all]), path))),
          all.length,
          { descending },
        );
        expect(inKeyOrder(slice(all, 0, 1), rest, keys, descending)).toBe(!whole);
      },
    ),
    { numRuns: 500 },
  );
});
