/** What bounds recursion, subqueries and set operations: rounds, rows, memory, a cancel. */
import { describe, expect, test } from 'vitest';
import { execute } from '../../../../src/exec/compile.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import type { ExecutionContext } from '../../../../src/exec/context.ts';
import { compile } from '../../../../src/query/analyze.ts';
import { planText } from '../../../../src/query/plan/text.ts';
import { fileEnvironment } from '../../../support/queries/environment.ts';
import { contextOf, supOf } from '../../../support/queries/run-plan.ts';

const rows = (count: number): string => Array.from({ length: count }, (_, i) => `{id:${i},k:${i % 7}}`).join('\n');
const environment = fileEnvironment({ t: undefined });

/** The answer as SUP, or the code of the error that ended it. */
const answer = async (query: string, input: string, more: Partial<ExecutionContext>): Promise<string> => {
  const plan = await compile(query, environment);
  const batches = [];
  try {
    for await (const { batch } of execute(plan, { ...contextOf({ t: vectorOf(parseSupValues(input)) }), ...more }))
      batches.push(batch);
  } catch (error) {
    return `${(error as { code?: string }).code ?? (error as Error).name}: ${(error as Error).message}`;
  }
  return supOf(batches);
};

describe('WITH RECURSIVE', () => {
  const endless = 'with recursive r(n) as (select 1 union all select n from r) select count(*) as c from r';
  test('ends with an error after its rounds', async () => {
    expect(await answer(endless, '', { recursion: { rounds: 50, rows: 1000 } })).toBe(
      'recursion-rounds: query: with recursive r did not finish within 50 rounds (option -recursion.rounds.max); add a condition that ends it, or a limit',
    );
  });
  test('ends with an error after its rows', async () => {
    expect(
      await answer(
        'with recursive r(n) as (select 1 union all select r.n from r join r s on r.n=s.n cross join (values (1),(2)) v(x)) select count(*) as c from r',
        '',
        { recursion: { rounds: 50, rows: 1000 } },
      ),
    ).toBe(
      'recursion-rows: query: with recursive r gives more than 1000 rows (option -recursion.rows.max); add a condition that ends it, or a limit',
    );
  });
  test('as many rounds as are allowed', async () => {
    expect(
      await answer(
        'with recursive r(n) as (select 1 union all select n+1 from r where n<5) select max(n) as m from r',
        '',
        { recursion: { rounds: 5, rows: 5 } },
      ),
    ).toBe('{m:5}\n');
  });
  test('the rows that are kept are charged to the query', async () => {
    expect(
      await answer(
        'with recursive r(n) as (select 1 union select n+1 from r where n<100000) select max(n) as m from r',
        '',
        { memoryBytesMax: 100_000 },
      ),
    ).toMatch(/^query-memory: query: with recursive needs/);
  });
  test('a cancel ends it', async () => {
    const abort = new AbortController();
    setTimeout(() => {
      abort.abort();
    }, 50);
    const start = performance.now();
    expect(await answer(endless, '', { signal: abort.signal, recursion: { rounds: 1e9, rows: 1e9 } })).toMatch(
      /abort/i,
    );
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

describe('subqueries', () => {
  test('a cancel ends one that compares everything with everything', async () => {
    const abort = new AbortController();
    setTimeout(() => {
      abort.abort();
    }, 50);
    const start = performance.now();
    expect(
      await answer(
        'select count(*) as c from t o where exists (select 1 from t i where i.id*o.id < 0-i.k)',
        rows(20_000),
        { signal: abort.signal },
      ),
    ).toMatch(/abort/i);
    expect(performance.now() - start).toBeLessThan(5000);
  });
  test('what LATERAL holds is charged to the query', async () => {
    expect(
      await answer('select count(*) as c from t o, lateral (select i.id from t i where i.id>=o.id) l', rows(1000), {
        memoryBytesMax: 200_000,
      }),
    ).toMatch(/^query-memory: query: \w+ needs/);
  });
  test('answers that do not fit the memory are found again', async () => {
    const query = 'select sum((select count(*) from t i where i.k=o.id)) as s, count(*) as c from t o';
    const input = rows(3000);
    expect([
      await answer(query, input, { memoryBytesMax: 700_000, batchRows: 100 }),
      await answer(query, input, {}),
    ]).toEqual(['{s:3000,c:3000}\n', '{s:3000,c:3000}\n']);
  });
  test('few rows that look among many are indexed, run after run, whether or not the many would fit', async () => {
    // 200 x 200 rows on the side that does not depend on the row around it; rows are asked about by 10, 40, 160 and the
    // rest.
    const query =
      'select o.id, (select sum(j.id) from t i, t j where i.k=o.id and j.id<o.id) as s, (select count(*) from t i, t j where i.k=o.k) as c from t o order by o.id';
    const input = rows(200);
    const roomy = await answer(query, input, { batchRows: 10 });
    const tight = await answer(query, input, { batchRows: 10, memoryBytesMax: 6_000_000 });
    const whole = await answer(query, input, {});
    expect(roomy).toBe(whole);
    expect(tight).toBe(whole);
    const lines = whole.trimEnd().split('\n');
    expect([lines.length, lines[0], lines[3], lines[199]]).toEqual([
      200,
      '{id:0,s:null,c:5800}',
      '{id:3,s:87,c:5800}',
      '{id:199,s:null,c:5800}',
    ]);
  });
  test('rows of EXCEPT and INTERSECT are charged to the query', async () => {
    expect(
      await answer('select id from t except select id+1 from t', rows(20_000), { memoryBytesMax: 50_000 }),
    ).toMatch(/^query-memory: query: except needs/);
    expect(
      await answer('select id from t intersect select id+1 from t', rows(20_000), { memoryBytesMax: 50_000 }),
    ).toMatch(/^query-memory: query: intersect needs/);
  });
});

test('EXPLAIN ANALYZE says who spilled', async () => {
  const counts = async (spill: boolean): Promise<string[]> => {
    const analysis = await answer('explain analyze select id, k from t order by k, id desc', rows(20_000), {
      memoryBytesMax: 400_000,
      ...(spill && { host: contextOf({ t: vectorOf(parseSupValues(rows(20_000))) }, { spill }).host }),
    });
    return analysis
      .split('\n')
      .filter((line) => !line.includes('spills:0'))
      .map((line) => /"(\w+)/.exec(line)?.[1] ?? line);
  };
  expect(await counts(true)).toEqual(['query', 'sort', '']);
  expect(await counts(false)).toEqual([expect.stringMatching(/^query-memory: query: sort needs/)]);
});

describe('plans', () => {
  const planOf = async (query: string): Promise<string[]> =>
    planText(await compile(query, environment))
      .split('\n')
      .filter((line) => line !== '');
  test('an equality with an outer column is a hash key, other conditions go to the scan', async () => {
    expect(await planOf('select id from t o where exists (select 1 from t i where i.k=o.id and i.id>5)')).toEqual([
      'scan t columns (id)',
      'inner first kept loose join as {outer,row} on id=k right columns (k)',
      '  right',
      '    scan t columns (k, id) filter id>5 prune id>5',
      'values outer',
      'values {id:id}',
    ]);
    expect(await planOf('select id from t o where id = (select max(i.id) from t i where i.k=o.id and i.id>5)')).toEqual(
      [
        expect.stringMatching(
          /^scan t columns \(id\) filter id==sqlScalar joined of \(id\) \(.*inner kept loose join as \{outer,row\} on c0=k \| right \| scan t columns \(id, k\) filter id>5 prune id>5/,
        ),
        'values {id:id}',
      ],
    );
  });
  test('the side of a join that stays the same is kept from round to round', async () => {
    expect(
      await planOf('with recursive r(n) as (select 1 union select t.id from t join r on t.k=r.n) select n from r'),
    ).toEqual([
      'recursive distinct r',
      '  first',
      '    null',
      '    values {"1":1}',
      '  next',
      '    working',
      '    values {n:"1"}',
      '    inner kept loose join as {right,left} on n=k',
      '      right',
      '        scan t columns (id, k)',
      '    values {id:left.id}',
      '    values {"1":id}',
      'values {n:"1"}',
      'values {n:n}',
    ]);
  });
});
