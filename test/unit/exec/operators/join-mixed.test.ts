/** Joins of SELECT whose keys are of several types: each pair is one that `=` finds, whatever else is in the columns. */
import { describe, expect, test } from 'vitest';
import { compile } from '../../../../src/query/analyze.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { fileEnvironment } from '../../../support/queries/environment.ts';
import { randomOf } from '../../../support/random.ts';
import { runPlan, supOf } from '../../../support/queries/run-plan.ts';

const keys = [
  ...['1', '2', '1.', '2.5', '9007199254740993', 'true', 'false', '"1"', '"01"', '"x"', '"true"', '"2.5"', '""'],
  ...['2026-01-01T00:00:00Z', '"2026-01-01"', '127.0.0.1', '"127.0.0.1"', 'null', '{a:1}', '[1]', '1::=n'],
  ...['1::(int64|null)', '"1"::(int64|string)'],
];
/** Values of one type each that lie apart from one another in a column, as members of unions and under names. */
const apart = [
  ['1::(int64|null)', '2::(int64|string)', '1::=n', '0.::(float64|null)'],
  ['"1"::(int64|string)', '"01"::(string|null)', '"x"::=n', '"2026-01-01"::(string|null)'],
  ['2026-01-01T00:00:00Z::(time|null)', '2026-01-02T00:00:00Z::=n', '2026-01-01T00:00:00Z::(time|string)'],
  ['true::(bool|null)', 'false::=n', 'true::(bool|string)'],
];
const answer = async (query: string, left: readonly string[], right: readonly string[]): Promise<string[]> => {
  const rows = (list: readonly string[]) =>
    vectorOf(parseSupValues(list.map((k, i) => (k === '' ? `{i:${i}}` : `{i:${i},k:${k}}`)).join(' ')));
  const plan = await compile(query, fileEnvironment({ l: undefined, r: undefined }));
  const lines = supOf((await runPlan(plan, { l: rows(left), r: rows(right) }, {})).map((b) => b.batch)).split('\n');
  return lines.filter((line) => line !== '').sort();
};
const pairs = 'select l.i as x, r.i as y from l, r where (l.k = r.k) is true';

describe.each([
  ['a join', 'select l.i as x, r.i as y from l join r on l.k = r.k', pairs],
  [
    'a full join',
    'select l.i as x, r.i as y from l full join r on l.k = r.k',
    `${pairs} union all (select l.i as x, null as y from l where l.i not in (select x from (${pairs}) p))` +
      ` union all (select null as x, r.i as y from r where r.i not in (select y from (${pairs}) p))`,
  ],
  [
    'exists',
    'select l.i as x from l where exists (select 1 from r where r.k = l.k)',
    `select distinct x from (${pairs}) p`,
  ],
] as const)('%s', (_, joined, meant) => {
  test('of keys that are all there are', async () => {
    expect(await answer(joined, keys, keys)).toEqual(await answer(meant, keys, keys));
    for (const one of keys) {
      expect(await answer(joined, [one], keys), one).toEqual(await answer(meant, [one], keys));
      expect(await answer(joined, keys, [one]), one).toEqual(await answer(meant, keys, [one]));
    }
  });
  test('of columns of one type under several', async () => {
    for (const some of apart)
      for (const others of [...apart, keys]) {
        expect(await answer(joined, some, others), `${some} | ${others}`).toEqual(await answer(meant, some, others));
        expect(await answer(joined, others, some), `${others} | ${some}`).toEqual(await answer(meant, others, some));
      }
  });
  test('of mixed columns', async () => {
    const random = randomOf(5);
    for (let round = 0; round < 25; round++) {
      const some = Array.from({ length: 1 + random.below(8) }, () => random.pick(keys));
      const side = () => Array.from({ length: 1 + random.below(12) }, () => random.pick(some));
      const [left, right] = [side(), side()];
      expect(await answer(joined, left, right), `${left} | ${right}`).toEqual(await answer(meant, left, right));
    }
  });
});
