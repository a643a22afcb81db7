/** Functions of lists that look at elements in their vectors: the same answers as element by element. */
import { describe, expect, test } from 'vitest';
import { compile } from '../../../src/query/analyze.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { fileEnvironment } from '../../support/queries/environment.ts';
import { randomOf } from '../../support/random.ts';
import { runPlan, supOf } from '../../support/queries/run-plan.ts';

const answer = async (query: string, rows: readonly string[]): Promise<readonly string[]> => {
  const plan = await compile(query, fileEnvironment({ r: undefined }));
  const batches = await runPlan(plan, { r: vectorOf(parseSupValues(rows.join(' '))) }, {});
  return supOf(batches.map((b) => b.batch))
    .trimEnd()
    .split('\n');
};

const pools = [
  ['integers', ['1', '2', '-3', '9007199254740991', '7']],
  ['integers beyond floats', ['1', '9223372036854775807', '-9223372036854775808', '9007199254740993']],
  ['integers and nulls', ['1', '2', 'null', '-3']],
  ['small integers', ['1::uint8', '2::uint8', '255::uint8']],
  ['floats', ['1.5', '-0.', '0.', 'NaN', '+Inf', '2.', '-Inf']],
  ['floats and nulls', ['1.5', 'null', '2.25']],
  ['numbers of several types', ['1', '2.', '3::uint8', 'null']],
  ['numbers under a name', ['1.5::=cents', '2.5::=cents', '1.5::=cents']],
  ['texts', ['"a"', '"ab"', '""', '"é"', '"b"']],
  ['texts and nulls', ['"a"', 'null', '"ab"']],
  ['texts and numbers', ['"1"', '1', 'null', '"a"']],
  ['times', ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']],
  ['bools', ['true', 'false', 'null']],
  ['lists', ['[1]', '[2]', '[]']],
] as const;
const sought = ['1', '2.', 'NaN', '0.', '"a"', '""', '"1"', 'null', 'true', '2026-01-01T00:00:00Z', '1.5::=cents'];

describe.each(pools)('%s', (_, elements) => {
  const random = randomOf(elements.length);
  const lists = Array.from(
    { length: 40 },
    (_list, i) => `[${Array.from({ length: i % 5 }, () => random.pick(elements)).join(',')}]`,
  );
  // Rows one by one, each beside a row of another type: elements are values there.
  const alone = async (call: string): Promise<readonly string[]> =>
    (await Promise.all(lists.map((list) => answer(call, [`{l:${list}}`])))).flat();

  test.each(['list_sum', 'list_avg', 'list_min', 'list_max', 'list_count'])('%s', async (name) => {
    const rows = lists.map((list) => `{l:${list}}`);
    const given = await answer(`from r | values ${name}(l)`, rows);
    expect(given).toEqual(await alone(`from r | values ${name}(l)`));
    // A list with a value of another kind keeps elements from being looked at where they lie.
    const mixed = lists.map((list) => `{l:${list.slice(0, -1)}${list === '[]' ? '' : ','}{x:1}]}`);
    expect(await answer(`from r | values ${name}(array_pop_back(l))`, mixed)).toEqual(given);
  });

  test.each(['list_contains', 'contains', 'list_has'])('%s', async (name) => {
    for (const one of sought) {
      const rows = lists.map((list) => `{l:${list},v:${one}}`);
      expect(await answer(`from r | values ${name}(l, ${one})`, rows), one).toEqual(
        await answer(`from r | values ${name}(l, v)`, rows),
      );
    }
  });

  test.each(['list_has_any', 'list_has_all'])('%s', async (name) => {
    for (const some of ['[]', '[1,2]', '["a","ab",null]', '[1.5,"a"]', '[NaN]', '[true]', '[[1]]']) {
      const rows = lists.map((list) => `{l:${list},v:${some}}`);
      expect(await answer(`from r | values ${name}(l, ${some})`, rows), some).toEqual(
        await answer(`from r | values ${name}(l, v)`, rows),
      );
    }
  });

  test('elements that a lambda keeps', async () => {
    const rows = lists.map((list) => `{l:${list}}`);
    const query = 'select list_filter(l, lambda x, i: i % 2 = 1) as kept, typeof(kept) as t from r';
    expect(await answer(query, rows)).toEqual(await alone(query));
  });
});
