/**
 * Joins on inequalities answer, in the order of their rows too, what they answer where nothing can be left out: there
 * the conditions stand in a CASE.
 */
import { expect, test } from 'vitest';
import { runQuery } from '../../../support/queries/case.ts';
import { type Random, randomOf } from '../../../support/random.ts';

const values: Readonly<Record<string, (p: Random) => string>> = {
  integers: (p) => String(p.below(40)),
  'integers, floats and nulls': (p) => ['null', `${p.below(40)}.5`, String(p.below(40))][p.below(3)]!,
  'integers near 2^53': (p) => String(2n ** 53n + BigInt(p.below(9))),
  times: (p) => `2024-01-01T00:00:${String(p.below(60)).padStart(2, '0')}Z`,
  'numbers, NaN and texts': (p) => (p.below(30) === 0 ? ['NaN', '"7"', '+Inf'][p.below(3)]! : String(p.below(40))),
};
const conditions = {
  one: ['a.x < b.y'],
  'a value between two': ['b.x >= a.x', 'b.x <= a.y'],
  'a value in an interval': ['a.x >= b.x', 'a.x < b.y'],
  'with an equality': ['a.k = b.k', 'a.x > b.y'],
};
const opaque = (condition: string): string =>
  condition.includes(' = ') ? condition : `case when ${condition} then true else false end`;

for (const [name, value] of Object.entries(values)) {
  const p = randomOf(name.length);
  const rows = Array.from({ length: 48 }, (_, id) => `{id:${id},k:${p.below(2)},x:${value(p)},y:${value(p)}}`).join(
    ' ',
  );
  for (const [title, parts] of Object.entries(conditions)) {
    test.each(['', 'left', 'full'])(`${name}, ${title}: %s join`, async (style) => {
      const query = (on: readonly string[]): string =>
        `select a.id as a, b.id as b from input a ${style} join input b on ${on.join(' and ')}`;
      expect(await runQuery(query(parts), rows, { batchRows: 32 })).toBe(
        await runQuery(query(parts.map(opaque)), rows, { batchRows: 32 }),
      );
    });
  }
  for (const [title, parts] of Object.entries(conditions)) {
    test.each(['exists', 'not exists'])(`${name}, ${title}: %s`, async (asked) => {
      const query = (on: readonly string[]): string =>
        `select a.id as a from input a where ${asked} (select 1 from input b where ${on.join(' and ')})`;
      expect(await runQuery(query(parts), rows, { batchRows: 32 })).toBe(
        await runQuery(query(parts.map(opaque)), rows, { batchRows: 32 }),
      );
    });
  }
  test.each(['>=', '>', '<', '<='])(`${name}: ASOF with %s`, async (operator) => {
    const asof = `select a.id as a, b.id as b from input a asof join input b on a.x ${operator} b.y order by a`;
    const nearest = `select a, b from (select a.id as a, b.id as b, row_number() over (partition by a.id order by b.y ${operator.startsWith('>') ? 'desc' : 'asc'}, b.id) as n
      from input a join input b on ${opaque(`a.x ${operator} b.y`)}) t where n = 1 order by a`;
    expect(await runQuery(asof, rows)).toBe(await runQuery(nearest, rows));
  });
}

test('many rows compared with all of a query are not compared one by one', async () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => `{id:${id},x:${(id * 7919) % 20_011}}`).join(' ');
  const query = 'select count(*) as n from input a where a.x > all (select b.x - 100 from input b)';
  expect(await runQuery(query, rows)).toBe('{n:100}\n');
}, 10_000);
