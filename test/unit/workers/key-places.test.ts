/** Rows that are found by their keys, and blocks without some of their rows, beside looks at every row. */
import { expect, test } from 'vitest';
import { sortKeyBytes } from '../../../src/vectors/sort-key.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { compareBytes, type Value } from '../../../src/vectors/value.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { type Vector, take, valueAt } from '../../../src/vectors/vector.ts';
import { KeyPlaces } from '../../../src/workers/load/key-places.ts';
import { othersThan, withoutRows } from '../../../src/workers/load/without-rows.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const textsOf = (v: Vector): readonly string[] => Array.from({ length: v.length }, (_, i) => supText(valueAt(v, i)));
const oneOf = (text: string): Value => parseSupValues(text)[0]!;

test('keys are found by halving as by a look at each row, whatever their types and order', () => {
  const seed = seedOf(0);
  const random = randomOf(seed);
  const kinds: readonly (() => string)[] = [
    () => `${random.below(60)}`,
    () => `${random.below(60)}.`,
    () => `${random.below(20)}.5`,
    () => `${2 ** 53 + random.below(4)}`,
    () => random.pick(['NaN', '-0.', '0.', '+Inf', '-Inf']),
    () => 'null',
    () => `"s${random.below(40)}"`,
    () => `${random.below(40)}s`,
    () => `2024-01-01T00:00:${10 + random.below(40)}Z`,
    () => '"s1"::=name',
    () => `[${random.below(9)}]`,
  ];
  for (let round = 0; round < 150; round++) {
    const some = Array.from({ length: 1 + random.below(3) }, () => random.pick(kinds));
    const keyText = (): string => random.pick(some)();
    const order = random.pick(['asc', 'desc'] as const);
    const sign = order === 'asc' ? 1 : -1;
    const keys = Array.from({ length: 400 }, () => oneOf(keyText()));
    keys.sort((a, b) => sign * compareBytes(sortKeyBytes(a), sortKeyBytes(b)));
    const rows = vectorOf(keys.map((key) => oneOf(`{k:${supText(key)}}`)));
    const wanted = Array.from({ length: 1 + random.below(8) }, () => oneOf(random.pick(kinds)()));
    const found = new KeyPlaces(vectorOf(wanted), ['k'], order).in(rows);
    if (!found) continue;
    const isWanted = (key: Value): boolean =>
      wanted.some((other) => compareBytes(sortKeyBytes(other), sortKeyBytes(key)) === 0);
    const expected = keys.flatMap((key, i) => (isWanted(key) ? [i] : []));
    expect({ seed, round, order, found: [...found] }).toEqual({ seed, round, order, found: expected });
  }
});

test.each(['asc', 'desc'] as const)('a NaN among the keys hides no other one, %s', (order) => {
  const keys = Array.from({ length: 1000 }, (_, i) => (order === 'asc' ? i : 999 - i));
  const rows = vectorOf(keys.map((key) => oneOf(`{k:${key}.}`)));
  for (const wanted of [['9.', 'NaN'], ['NaN', '9.', '10.'], ['NaN']]) {
    const found = new KeyPlaces(vectorOf(wanted.map(oneOf)), ['k'], order).in(rows)!;
    expect([...found].map((row) => `${keys[row]}.`).sort()).toEqual(wanted.filter((key) => key !== 'NaN').sort());
  }
});

test.each(['asc', 'desc'] as const)('infinite keys are found, %s', (order) => {
  const keys = ['-Inf', ...Array.from({ length: 998 }, (_, i) => `${i}.`), '+Inf'];
  if (order === 'desc') keys.reverse();
  const rows = vectorOf(keys.map((key) => oneOf(`{k:${key}}`)));
  for (const wanted of [['-Inf'], ['+Inf'], ['-Inf', '5.', '+Inf']])
    expect([...new KeyPlaces(vectorOf(wanted.map(oneOf)), ['k'], order).in(rows)!].map((row) => keys[row])).toEqual(
      order === 'asc' ? wanted : wanted.toReversed(),
    );
});

test('rows that stay are the others, whether runs of them are copied or rows', () => {
  const seed = seedOf(0);
  const random = randomOf(seed);
  const text = (i: number): string =>
    `{k:${i},s:"text ${i * 7}",b:${i % 3 === 0},l:[${i}],t:"2024-01-01T00:00:${10 + (i % 50)}Z",u:${i % 2 === 0 ? i : `"${i}"`}}`;
  const rows = vectorOf(parseSupValues(Array.from({ length: 2000 }, (_, i) => text(i)).join('\n')));
  for (let round = 0; round < 20; round++) {
    const count = random.pick([0, 1, 5, 30, 1000, 2000]);
    const gone = Uint32Array.from(new Set(Array.from({ length: count }, () => random.below(2000)))).sort();
    const others = othersThan(gone, 2000);
    expect([seed, round, others.length]).toEqual([seed, round, 2000 - gone.length]);
    expect(textsOf(withoutRows(rows, gone))).toEqual(textsOf(take(rows, others)));
    expect([...others].every((row) => !gone.includes(row))).toBe(true);
  }
  expect(withoutRows(rows, othersThan(new Uint32Array(0), 2000)).length).toBe(0);
});
