/** Joins without keys: the pairs, by left row, that a loop over both sides finds, whichever side is the longer one. */
import { expect, test } from 'vitest';
import { runQuery } from '../../../support/queries/case.ts';
import { randomOf } from '../../../support/random.ts';

interface Row {
  readonly id: number;
  readonly x: number | null;
}
const p = randomOf(11);
const rows: readonly Row[] = Array.from({ length: 700 }, (_, id) => ({ id, x: p.below(9) === 0 ? null : p.below(60) }));
const input = rows.map(({ id, x }) => `{id:${id},x:${x}}`).join(' ');
const isMatch = (a: Row, b: Row): boolean => a.x !== null && b.x !== null && (a.x * b.x) % 31 === 7;
const condition = 'a.x * b.x % 31 = 7';

const sizes: Readonly<Record<string, readonly [number, number]>> = {
  'both long': [700, 700],
  'a short right side': [700, 30],
  'a short left side': [30, 700],
  'both short': [30, 30],
};
for (const [title, [lefts, rights]] of Object.entries(sizes)) {
  const left = rows.slice(0, lefts);
  const right = rows.slice(0, rights);
  const [a, b] = [`(from input | id < ${lefts}) a`, `(from input | id < ${rights}) b`];
  const pairs = left.flatMap((l) => right.filter((r) => isMatch(l, r)).map((r) => [l.id, r.id] as const));
  const text = (all: readonly (readonly (number | null)[])[]): string =>
    all.map(([l, r]) => `{l:${l},r:${r}}\n`).join('');
  const run = (join: string): Promise<string> =>
    runQuery(`select a.id as l, b.id as r from ${a} ${join} ${b} on ${condition}`, input, { batchRows: 256 });

  test(`${title}: inner`, async () => {
    expect(await run('join')).toBe(text(pairs));
  });
  test(`${title}: left, and those without a match in their places`, async () => {
    const all = left.flatMap(({ id }): readonly (readonly [number, number | null])[] => {
      const own = pairs.filter(([l]) => l === id);
      return own.length > 0 ? own : [[id, null]];
    });
    expect(await run('left join')).toBe(text(all));
  });
  test(`${title}: right`, async () => {
    const alone = right.filter((r) => !pairs.some(([, id]) => id === r.id)).map((r) => [null, r.id] as const);
    expect((await run('right join')).split('\n').sort()).toEqual(
      text([...pairs, ...alone])
        .split('\n')
        .sort(),
    );
  });
  test.each(['exists', 'not exists'])(`${title}: %s`, async (asked) => {
    const found = await runQuery(
      `select a.id as l from ${a} where ${asked} (select 1 from ${b} where ${condition})`,
      input,
      { batchRows: 256 },
    );
    const has = (id: number): boolean => pairs.some(([l]) => l === id);
    expect(found).toBe(
      left
        .filter(({ id }) => has(id) === (asked === 'exists'))
        .map(({ id }) => `{l:${id}}\n`)
        .join(''),
    );
  });
}
