/**
 * Queries that come again: what is remembered of them (plans, what objects come to) changes no answer, whatever was
 * committed, dropped or made anew in between.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aggregateCatalog } from '../../../src/exec/aggregates/aggregates.ts';
import { evaluateConstant } from '../../../src/exec/expressions/compile.ts';
import { functionCatalog } from '../../../src/exec/functions/functions.ts';
import { windowCatalog } from '../../../src/exec/windows/windows.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import type { CompileEnvironment } from '../../../src/query/plan/plan.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { KnownPlans } from '../../../src/workers/query/plans.ts';
import { answerOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-again-'));
let lake: Lake;
let workers: WorkerPool;
beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 1 }, lake);
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const load = async (pool: string, text: string): Promise<void> => {
  const { config } = lake.pool(pool);
  const made = await workers.load({
    pool: config,
    format: 'json',
    body: (async function* () {
      yield Buffer.from(text);
    })(),
  });
  await made.settled(lake.pool(pool).load('main', made.objects));
};
let asked = 0;
const times = 4;
/** The one answer to a query that is asked several times. */
const answer = async (text: string): Promise<string> => {
  const answers = new Set<string>();
  for (let k = 0; k < times; k++) answers.add(await answerOf(workers, text, { id: `again${asked++}` }));
  expect([...answers]).toHaveLength(1);
  return [...answers][0]!.trim();
};

describe('an answer is that of its commit', () => {
  test('when rows and columns come, and when a pool of the same name is another', async () => {
    const all = 'select * from p order by k';
    const sums = 'select count(*) as n, sum(k) as s, min(k) as lo, max(k) as hi from p';
    await lake.createPool({ name: 'p', keys: [['k']] });
    expect(await answer(all)).toBe('');
    await load('p', '{"k":1}');
    expect(await answer(all)).toBe('{k:1}');
    expect(await answer(sums)).toBe('{n:1,s:1,lo:1,hi:1}');
    await load('p', '{"k":2,"b":"x"}');
    expect(await answer(all)).toContain('b:"x"');
    expect(await answer(sums)).toBe('{n:2,s:3,lo:1,hi:2}');
    await lake.deletePool(`0x${lake.pool('p').config.id}`);
    await lake.createPool({ name: 'p', keys: [['a']] });
    await load('p', '{"a":5}');
    expect(await answer(all.replace('k', 'a'))).toBe('{a:5}');
  });
  test('when whole objects of many blocks come to it, of one kind of rows or of two, with nulls', async () => {
    const rows = (count: number, row: (i: number) => string): string =>
      Array.from({ length: count }, (_, i) => row(i)).join('\n');
    await lake.createPool({ name: 'q', keys: [['k']] });
    await load(
      'q',
      rows(20_000, (i) => `{"k":${i},"v":${i % 7 === 0 ? 'null' : i},"t":"x${i % 3}"}`),
    );
    const sums = 'select count(*) as n, count(v) as c, sum(v) as s, min(k) as lo, max(k) as hi, avg(k) as a from q';
    // Asked of rows in place of whole objects.
    const ofRows = (text: string): string => `${text} where k >= 0 or t = 'none'`;
    expect(await answer(sums)).toBe(await answer(ofRows(sums)));
    await load(
      'q',
      rows(9_000, (i) => `{"k":${20_000 + i},"v":${i % 2 === 0 ? `"text"` : i}}`),
    );
    const some = 'select count(*) as n, min(k) as lo, max(k) as hi, avg(k) as a from q';
    expect(await answer(some)).toBe(await answer(ofRows(some)));
    expect(await answer('select count(v) as c, sum(k + 1) as s from q')).toBe(
      await answer(ofRows('select count(v) as c, sum(k + 1) as s from q')),
    );
    await load(
      'q',
      rows(9_000, (i) => `{"k":${i},"v":9007199254740993}`),
    );
    const wide = 'select count(*) as n, min(v) as lo, sum(k) as s from q where k < 9000';
    expect(await answer(wide)).toContain('n:18000');
  });
  test('when it goes by the time, or by a view', async () => {
    await lake.createPool({ name: 'r', keys: [['k']] });
    await load('r', '{"k":1}');
    const ids = new Set<string>();
    for (let k = 0; k < times; k++)
      ids.add(await answerOf(workers, 'from r | values ksuid()', { id: `again${asked++}` }));
    expect(ids.size).toBe(times);
  });
});

describe('an analysis', () => {
  let found = 0;
  const environment = (more: Partial<CompileEnvironment> = {}): CompileEnvironment => ({
    mode: 'lake',
    functions: {
      find: (name) => {
        found++;
        return functionCatalog.find(name);
      },
    },
    aggregates: aggregateCatalog,
    windows: windowCatalog,
    evaluate: (expr, functions) => evaluateConstant(expr, functions),
    known: (request) =>
      request.kind === 'name' && request.name === 'p'
        ? [{ kind: 'pool', name: 'p', handle: '0', sortKeys: [['k']], order: 'asc' }]
        : undefined,
    resolve: (request) =>
      Promise.resolve([{ kind: 'pool', name: request.kind === 'name' ? request.name : '', handle: '1' }]),
    content: () => Promise.resolve({ rowCount: 0, fields: undefined }),
    ...more,
  });
  const isMadeAgain = async (
    text: string,
    at: string | undefined = 'one',
    plans = new KnownPlans(),
  ): Promise<boolean> => {
    const ask = (): ReturnType<KnownPlans['of']> =>
      plans.of({
        text,
        environment: environment(),
        options: {},
        meaning: {},
        prefetched: [{ name: 'p', source: { kind: 'pool', name: 'p', handle: '0' }, ...(at !== undefined && { at }) }],
      });
    const { plan } = await ask();
    await ask();
    const before = found;
    const again = await ask();
    expect(again.plan).toEqual(plan);
    return found > before;
  };
  test.each([
    ['the same text about the same commit', 'from p | values lower(a)', false],
    ['a text that asks for the time', 'from p | values lower(a), now()', true],
    ['a text that names another source', 'from p | join (from other) as {a,b} on a.k=b.k | values lower(a.x)', true],
    ['a text that names a source only when it runs', 'from p | values lower(a) | from f"{a}"', true],
    ['a text that is too long', `from p | values lower(a), "${'x'.repeat(20_000)}"`, true],
    ['a text with a large constant', 'from p | values lower(a), range(0, 50000)', true],
  ])('of %s', async (_, text, isAgain) => {
    expect(await isMadeAgain(text)).toBe(isAgain);
  });
  test('of rows of which it is not known which they are is made each time', async () => {
    const plans = new KnownPlans();
    const request = (at: string) => ({
      text: 'from p | values lower(a)',
      environment: environment(),
      options: {},
      meaning: {},
      prefetched: [{ name: 'p', source: { kind: 'pool', name: 'p', handle: '0' } as const, at }],
    });
    for (let k = 0; k < times; k++) {
      const before = found;
      await plans.of(request(`commit ${k}`));
      expect(found).toBeGreaterThan(before);
    }
  });
  test('is forgotten when many others came', async () => {
    const plans = new KnownPlans();
    expect(await isMadeAgain('from p | values lower(a)', 'one', plans)).toBe(false);
    for (let k = 0; k < 70; k++) expect(await isMadeAgain(`from p | values lower(a), ${k}`, 'one', plans)).toBe(false);
    const before = found;
    await plans.of({
      text: 'from p | values lower(a)',
      environment: environment(),
      options: {},
      meaning: {},
      prefetched: [{ name: 'p', source: { kind: 'pool', name: 'p', handle: '0' }, at: 'one' }],
    });
    expect(found).toBeGreaterThan(before);
  });
});
