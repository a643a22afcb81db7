/**
 * What lies between a query's text and its operators: what the main thread tells in advance, rows that are found by
 * their keys, counts without rows, warm code.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IncomingMessage } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readControlBody } from '../../../src/http/bodies/body.ts';
import { HeldBodies } from '../../../src/http/bodies/held.ts';
import { Pace } from '../../../src/http/connections/pace.ts';
import { ColumnCache } from '../../../src/lake/columns/cache.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, PoolConfig } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { namesIn } from '../../../src/workers/prefetch.ts';
import { poolsOnly } from '../../../src/workers/from/policy.ts';
import { ReaderList } from '../../../src/workers/query/tools.ts';
import { KnownPlans } from '../../../src/workers/query/plans.ts';
import { LoadBudget } from '../../../src/workers/load/task.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { TaskSpill } from '../../../src/workers/query/spill.ts';
import { WarmUp } from '../../../src/workers/warm-up.ts';
import { answerOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-path-'));
let lake: Lake;
let workers: WorkerPool;
let ids = 0;

beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 1 }, lake);
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const newPool = async (order: 'asc' | 'desc' = 'asc', threshold = 1 << 26): Promise<PoolConfig> =>
  (await lake.createPool({ name: `pool${ids++}`, order, keys: [['k']], threshold })).pool;
const load = async (pool: PoolConfig, text: string, branch = 'main'): Promise<void> => {
  const body = (async function* chunks() {
    yield Buffer.from(text);
  })();
  const outcome = await workers.load({ pool, body, format: 'sup' });
  await outcome.settled(lake.pool(pool.name).load(branch, outcome.objects));
};
const query = async (text: string, head?: { readonly pool: string; readonly branch?: string }): Promise<string> =>
  (await answerOf(workers, text, { head })).trim();

test('names of pools are seen in the text, those of commits and metadata are left out', () => {
  expect(namesIn('from a | count()')).toEqual(['a']);
  expect(namesIn('select * FROM b join c on b.x=c.x')).toEqual(['b', 'c']);
  expect(namesIn('fork (from \'a b\' | head 1) (from "c") (from d.e)')).toEqual(['a b', 'c', 'd.e']);
  expect(namesIn('from a@dev | from b:objects | from c* | from f(x) | from http://x/y | from a/b')).not.toContain('a');
  expect(namesIn('select 1 from a, "b c" as x,d y ,\n e where f in (select g from h z, a)')).toEqual([
    'a',
    'b c',
    'd',
    'e',
    'h',
  ]);
  expect(namesIn('select 1 from a x, b(1), c')).toEqual(['a']);
  expect(namesIn('select 1 from a, b:log')).toEqual(['a']);
  expect(namesIn(`select 1 from ${'abcdefghij'.split('').join(', ')}`)).toHaveLength(8);
  expect(namesIn('values 1')).toEqual([]);
});

describe('what is told in advance', () => {
  test('one object, few, many and none give the same as pages do', async () => {
    for (const objects of [0, 1, 7, 20, 300]) {
      const pool = await newPool();
      for (let i = 0; i < objects; i++) await load(pool, `{k:${i}}`);
      expect([
        objects,
        await query(`from ${pool.name} | count()`),
        await query(`from ${pool.name} | k >= 3 and k < 6 | sum(k)`),
      ]).toEqual([objects, String(objects), objects === 0 ? 'null' : objects > 5 ? '12' : 'null']);
      expect(await query(`from ${pool.name} | sort -r k | head 1`)).toBe(objects === 0 ? '' : `{k:${objects - 1}}`);
    }
  });
  test('a branch, a commit and the default source are each their own', async () => {
    const pool = await newPool();
    await load(pool, '{k:1}');
    await lake.pool(pool.name).createBranch('dev', lake.pool(pool.name).branch('main').commit);
    await load(pool, '{k:2}', 'dev');
    expect(await query(`from ${pool.name} | count()`)).toBe('1');
    expect(await query(`from ${pool.name}@dev | count()`)).toBe('2');
    expect(await query('count()', { pool: pool.name })).toBe('1');
    expect(await query('count()', { pool: pool.name, branch: 'dev' })).toBe('2');
    expect(await query(`fork (from ${pool.name} | count()) (from ${pool.name}@dev | count()) | sort this`)).toBe(
      '1\n2',
    );
  });
  test('a guess that is wrong does no harm', async () => {
    const pool = await newPool();
    await load(pool, '{k:1,s:"x"}');
    expect(await query(`values "from ${pool.name}"`)).toBe(`"from ${pool.name}"`);
    expect(await query(`let q = (values 5) from q`)).toBe('5');
    await expect(query('from nowhere | count()')).rejects.toThrow('nowhere: pool not found at line 1, column 6');
    await expect(query('count()', { pool: 'nowhere' })).rejects.toThrow('nowhere: pool not found');
  });
});

describe('tests on the key', () => {
  const rows = 10_000;
  const key = (kind: string, i: number): string => {
    switch (kind) {
      case 'string':
        return `"${String(Math.floor(i / 3)).padStart(6, '0')}"`;
      case 'time':
        return new Date(i * 1000).toISOString();
      case 'integer':
        return String(Math.floor(i / 5) - 1000);
      case 'float':
        return i % 7 === 0 ? 'NaN' : i % 8 === 0 ? `${i / 8}.` : String(i / 8);
      default:
        return i % 4 === 0 ? `"${i}"` : i % 4 === 1 ? String(i) : i % 4 === 2 ? 'null' : `${i}.5`;
    }
  };
  const bounds: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    string: [
      ['"000100"', '"000900"'],
      ['""', '"zzz"'],
      ['"003000"', '"003000"'],
      ['"9"', '"a"'],
    ],
    time: [
      ['1970-01-01T01:00:00Z', '1970-01-01T02:00:00Z'],
      ['1960-01-01T00:00:00Z', '1970-01-01T00:00:05Z'],
    ],
    integer: [
      ['-5', '700'],
      ['-99999', '99999'],
      ['10', '10.5'],
      ['"a"', '"b"'],
    ],
    float: [
      ['3.', '900.'],
      ['NaN', '5.'],
    ],
    mixed: [
      ['100', '900'],
      ['"100"', '"900"'],
    ],
  };
  for (const order of ['asc', 'desc'] as const) {
    test.each(Object.keys(bounds))(
      `${order}: rows found by halving are those that pass one by one, keys: %s`,
      async (kind) => {
        const pool = await newPool(order, 1 << 18);
        await load(
          pool,
          Array.from({ length: rows }, (_, i) =>
            i % 3 === 0 ? `{k:${key(kind, i)},s:"s${i % 10}"}` : `{k:${key(kind, i)},n:${i}}`,
          ).join('\n'),
        );
        for (const [low, high] of bounds[kind]!) {
          for (const [above, below] of [
            ['>', '<'],
            ['>=', '<='],
          ]) {
            const tail = '| count:=count(), n:=sum(n), s:=dcount(s)';
            const found = await query(`from ${pool.name} | k ${above} ${low} and k ${below} ${high} ${tail}`);
            expect([low, high, found]).toEqual([
              low,
              high,
              await query(`from ${pool.name} | (k ${above} ${low})==true and (k ${below} ${high})==true ${tail}`),
            ]);
            expect(
              await query(
                `from ${pool.name} | ${high} >${below!.slice(1)} k and s=="s3" and k ${above} ${low} ${tail}`,
              ),
            ).toBe(
              await query(
                `from ${pool.name} | (k ${above} ${low})==true and s=="s3" and (k ${below} ${high})==true ${tail}`,
              ),
            );
            expect(await query(`from ${pool.name} | k ${above} ${low} | cut k, n | head 3`)).toBe(
              await query(`from ${pool.name} | (k ${above} ${low})==true | cut k, n | head 3`),
            );
          }
        }
      },
    );
  }
});

test('a count of all rows needs none of them', async () => {
  const pool = await newPool('asc', 1 << 16);
  await load(pool, Array.from({ length: 30_000 }, (_, i) => `{k:${i},s:"text ${i * 7919}"}`).join('\n'));
  for (let i = 0; i < 3; i++) await load(pool, `{k:${i}}`);
  const reply = await workers.query({
    id: 'counted',
    text: `from ${pool.name} | count()`,
    format: 'sup',
    control: false,
  });
  let text = '';
  for await (const chunk of reply.chunks) text += Buffer.from(chunk).toString();
  expect([text, reply.stats().bytesRead]).toEqual(['30003\n', 0]);
  expect(await query(`from ${pool.name} | a:=count(), b:=count(*) | cut a, b`)).toBe('{a:30003,b:30003}');
  expect(await query(`from ${pool.name} | a:=count(s), b:=count() filter (k < 5)`)).toBe(
    await query(`from ${pool.name} | put t:=1 | a:=count(s), b:=count() filter (k < 5)`),
  );
  expect(await query(`select count(*) as n from ${pool.name}`)).toBe('{n:30003}');
});

test('indexes count from where the pool is told, in deletes too', async () => {
  const pool = await newPool();
  const own = startWorkerPool(
    { lakeDirectory: directory, spillDirectory: join(directory, 'spill of indexes'), threads: 1, indexBase: 1 },
    lake,
  );
  try {
    await load(pool, '{k:1,l:[7,8]}{k:2,l:[8,7]}');
    expect([
      await answerOf(own, 'values [7,8][1]'),
      await answerOf(own, 'values [7,8][1]', { indexBase: 0 }),
      await answerOf(own, 'pragma index_base=0 values [7,8][1]'),
    ]).toEqual(['7\n', '8\n', '8\n']);
    await lake.pool(pool.name).deleteWhere('main', own.prepareDelete('l[1]==8'));
    expect(await query(`from ${pool.name} | values k`)).toBe('1');
  } finally {
    await own.close();
  }
});

describe('explain analyze', () => {
  /** Its lines without what differs from run to run. */
  const analysis = async (text: string): Promise<string[]> =>
    (await query(text))
      .split('\n')
      .map((line) => line.replace(/time:[^,]+,/, '').replace(/bytes:[1-9]\d*/, 'bytes:some'));
  test('says of each operator what it gave, of scans what they read and skipped', async () => {
    const pool = await newPool('asc', 1 << 16);
    await load(pool, Array.from({ length: 100_000 }, (_, i) => `{k:${i},s:"text ${i * 7919}"}`).join('\n'));
    const [whole, scan, ...rest] = await analysis(
      `explain analyze from ${pool.name} | k >= 50000 and k < 50010 | sort s | head 3 | values s`,
    );
    const skipped = Number(/blocks_skipped:(\d+)/.exec(scan!)![1]);
    const blocks = Number(/blocks:(\d+)/.exec(scan!)![1]);
    // Of the ten rows those that can be among the first three.
    expect([scan!.slice(0, 12), /rows:\d+/.exec(scan!)![0], blocks, skipped > blocks]).toEqual([
      '{plan:"scan ',
      'rows:3',
      1,
      true,
    ]);
    expect(whole).toBe(
      `{plan:"query",rows:3,bytes:some,blocks:${blocks},blocks_skipped:${skipped},spills:0,spill_bytes:0}`,
    );
    expect(rest).toEqual([
      '{plan:"top 3 s",rows:3,bytes:0,blocks:0,blocks_skipped:0,spills:0,spill_bytes:0}',
      '{plan:"values s",rows:3,bytes:0,blocks:0,blocks_skipped:0,spills:0,spill_bytes:0}',
    ]);
  });
  test('counts subqueries, right sides, and what one operator does for two', async () => {
    const pool = await newPool();
    await load(pool, '{k:1}{k:2}{k:3}');
    const rowsOf = async (text: string): Promise<string[]> =>
      (await analysis(text)).map((line) => /plan:"( *\w+).*",rows:(\d+)/.exec(line)!.slice(1).join(' '));
    expect(
      await rowsOf(`explain analyze select a.k from ${pool.name} a join ${pool.name} b on a.k=b.k where b.k > 1`),
    ).toEqual(expect.arrayContaining(['query 2', '  right 0', '    scan 2']));
    expect(
      await rowsOf(`explain analyze from ${pool.name} | sort k | put n:=(from ${pool.name} | k==2 | count()) | tail 2`),
    ).toEqual(expect.arrayContaining(['query 2', '  subquery 0', '    aggregate 1', '    scan 1']));
    expect(await rowsOf(`explain analyze from ${pool.name} | sort k+1 | tail 2`)).toEqual([
      'query 2',
      'scan 3',
      'sort 2',
      'tail 2',
    ]);
    expect(await rowsOf('explain analyze values 1, 2')).toEqual(['query 2', 'null 1', 'values 2']);
  });
  test('a scan leaves out rows without a partner in the joins behind it, and blocks by the keys there are', async () => {
    const facts = await newPool('asc', 1 << 16);
    const one = (i: number): string => `{k:${i},a:${i % 50},b:${i % 7},v:${i % 11},s:"text ${i}"}`;
    await load(facts, Array.from({ length: 100_000 }, (_, i) => one(i)).join('\n'));
    const side = await newPool();
    await load(side, Array.from({ length: 50 }, (_, i) => `{k:${i},name:"n${i % 10}"}`).join('\n'));
    const empty = await newPool();
    const lines = async (joins: string): Promise<{ rows: number; blocks: number; scanned: number }> => {
      const text = `select count(*) as n from ${facts.name} f ${joins}`;
      const [whole, scan] = (await analysis(`explain analyze ${text}`)).map((line) => line.split(/,(?=\w+:)/));
      expect(whole).toBeDefined();
      const of = (name: string): number => Number(scan!.find((part) => part.startsWith(`${name}:`))!.split(':')[1]);
      const n = Number(/\d+/.exec(await query(text))![0]);
      return { rows: n, scanned: of('rows'), blocks: of('blocks') };
    };
    const all = await lines(`left join ${side.name} x on f.a = x.k`);
    expect(all.scanned).toBe(100_000);
    // a is 3, 13, 23, 33 or 43: 10,000 rows; b is 4 of them.
    const named = `join ${side.name} x on f.a = x.k`;
    expect(await lines(`${named} where x.name = 'n3'`)).toEqual({ ...all, rows: 10_000, scanned: 10_000 });
    const both = await lines(`${named} join ${side.name} y on f.b = y.k where x.name = 'n3' and y.k in (2, 4)`);
    expect([both.scanned, both.rows]).toEqual([both.rows, both.rows]);
    expect(both.rows).toBeGreaterThan(2000);
    // A side that keeps rows without a partner leaves nothing out, an inner join before it does.
    expect((await lines(`left join ${side.name} x on f.a = x.k and x.name = 'n3'`)).scanned).toBe(100_000);
    expect((await lines(`left join ${side.name} y on f.b = y.k ${named} where x.name = 'n3'`)).scanned).toBe(10_000);
    expect((await lines(`anti join ${side.name} x on f.a = x.k and x.name = 'n3'`)).rows).toBe(90_000);
    // By the pool's key whole blocks are left out; without keys nothing is read.
    const near = await lines(`join ${side.name} x on f.k = x.k + 70000`);
    expect([near.rows, near.blocks < all.blocks / 4]).toEqual([50, true]);
    expect(await lines(`join ${empty.name} x on f.a = x.k`)).toEqual({ rows: 0, scanned: 0, blocks: 0 });
  });
  test('is no filter of a delete, and runs what it is asked about', async () => {
    const pool = await newPool();
    const other = await newPool();
    await load(pool, '{k:1}');
    await query(`explain analyze from ${pool.name} | load ${other.name}`);
    expect(await query(`from ${other.name}`)).toBe('{k:1}');
  });
});

test('a JSON body of strings says what the reader says', async () => {
  const body = (text: string): Promise<string | undefined> => {
    const raw = Object.assign(Readable.from([Buffer.from(text)]), {
      headers: { 'content-length': String(Buffer.byteLength(text)) },
    });
    return readControlBody(raw as unknown as IncomingMessage, 'application/json', {
      bytesMax: 1000,
      idleMsMax: 60_000,
      pace: new Pace('body', 0),
      held: new HeldBodies(1000),
    })
      .then((record) => record.text('query'))
      .catch((error: unknown) => (error instanceof Error ? error.message : ''));
  };
  expect(
    await Promise.all(
      [
        '{"query":"a\\n\\"b\\""}',
        '{"query":"a","query":"b"}',
        '{"query":"\\u0041"}',
        '{"other":"x"}',
        '{"query":"ü"}',
        '{"query":"a"} {}',
        '{"query":1}',
        '{"query":"a',
        '',
        '{"__proto__":"x","query":"y"}',
      ].map(body),
    ),
  ).toEqual([
    'a\n"b"',
    'b',
    'A',
    undefined,
    'ü',
    'request body: expected one value, got more',
    expect.stringContaining('int64'),
    expect.stringContaining('json'),
    undefined,
    'y',
  ]);
});

describe('warm-up', () => {
  const toolsOf = () => ({
    objects: openObjects(directory),
    readers: new ReaderList(new ColumnCache(1 << 20)),
    budget: new LoadBudget(1 << 20),
    plans: new KnownPlans(),
    batchRows: 4096,
    compressesCompacted: true,
    queryMemoryBytesMax: 1 << 26,
    recursion: { rounds: 10, rows: 10 },
    thread: { index: 0, of: 1 },
    begun: () => 1,
    shareSizes: { shareRowsMin: 1, shareRowsMax: 1, rowsMin: Infinity, estimatedMsMin: 0, workMsMin: 0 },
    outputShares: { shareRowsMin: 1, shareRowsMax: 1, rowsMin: Infinity },
    from: poolsOnly,
    readLimits: {},
  });
  test('every query of it runs, and nothing is left behind', async () => {
    const tools = toolsOf();
    const warmUp = new WarmUp({
      tools,
      budgetMs: Infinity,
      windowBytes: Infinity,
      spill: () => new TaskSpill(join(directory, 'spill')),
    });
    await warmUp.run();
    expect(tools.readers.columns.bytes).toBe(0);
  });
  test('ends when somebody wants the thread', async () => {
    const spills: string[] = [];
    const warmUp = new WarmUp({
      tools: toolsOf(),
      budgetMs: Infinity,
      windowBytes: Infinity,
      spill: () => {
        warmUp.end();
        spills.push('query');
        return new TaskSpill(join(directory, 'spill'));
      },
    });
    await warmUp.run();
    expect(spills).toEqual(['query']);
  });
});
