/**
 * Joins by whole numbers in a wide range, which get a table by place while rows look for partners, answer what they
 * answer by conditions that no table serves.
 */
import { expect, test } from 'vitest';
import { runQuery } from '../../../support/queries/case.ts';
import { type Random, randomOf } from '../../../support/random.ts';

const seed = 41;
const most = 2_500;
const keys: Readonly<Record<string, (p: Random) => string>> = {
  'whole numbers': (p) => String(p.below(most) - most / 2),
  'whole numbers and nulls': (p) => (p.below(4) === 0 ? 'null' : String(p.below(most))),
  'whole floats': (p) => (p.below(40) === 0 ? '-0.' : `${p.below(most)}.`),
  'floats, some of them whole': (p) => (p.below(2) === 0 ? `${p.below(most)}.5` : `${p.below(most)}.`),
  'whole numbers beyond 32 bits': (p) => String(2 ** 40 + p.below(most)),
  times: (p) => `2024-01-01T00:${String(p.below(60)).padStart(2, '0')}:00Z`,
};
const styles = ['', 'left', 'right', 'full', 'semi', 'anti'];

for (const [name, key] of Object.entries(keys)) {
  const p = randomOf(seed + name.length);
  // Few keys are held, each in a row or two, and many look for one; half of those are there.
  const held = Array.from({ length: 12 }, () => key(p));
  const one = (id: number, table: string, k: string): string => `{t:"${table}",id:${id},k:${k}}`;
  const few = [...held, ...(p.below(2) === 0 ? held.slice(0, 3) : [])].map((k, id) => one(id, 'b', k));
  const many = Array.from({ length: 700 }, (_, id) => one(id, 'a', p.below(2) === 0 ? held[p.below(12)]! : key(p)));
  test.each(styles)(`${name}: %s join (seed ${seed})`, async (style) => {
    const columns = style === 'semi' || style === 'anti' ? 'a.id as a' : 'a.id as a, b.id as b';
    const query = (on: string): string =>
      `select ${columns} from (select * from input where t = 'a') a ${style} join (select * from input where t = 'b') b on ${on}`;
    const answer = (on: string): Promise<string> => runQuery(query(on), [...few, ...many].join(' '), { batchRows: 64 });
    expect(await answer('a.k = b.k')).toBe(await answer('case when a.k = b.k then true else false end'));
  });
}
