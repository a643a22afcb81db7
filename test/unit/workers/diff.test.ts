/** What `:diff` compares with, what its rows look like, and rows that do not fit: laws are in test/laws/diff.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, SortOrder } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { answerOf } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-diffs-'));
let lake: Lake;
let workers: WorkerPool;
/** Has next to no memory. */
let poor: WorkerPool;
let names = 0;
beforeAll(async () => {
  lake = await openLake({ directory, objects: openObjects(directory) });
  workers = startWorkerPool({ lakeDirectory: directory, threads: 1 }, lake);
  poor = startWorkerPool(
    { lakeDirectory: directory, threads: 1, queryMemoryBytesMax: 1 << 18, spillDirectory: join(directory, 'poor') },
    lake,
  );
});
afterAll(async () => {
  await poor.close();
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const newPool = async (
  options: {
    readonly keys?: readonly (readonly string[])[];
    readonly identity?: readonly (readonly string[])[];
    readonly order?: SortOrder;
  } = {},
): Promise<string> => {
  const name = `pool${names++}`;
  await lake.createPool({ name, keys: [['k']], ...options });
  return name;
};
/** Loads rows; the commit's id. */
const load = async (pool: string, text: string, branch = 'main'): Promise<string> => {
  const body = (async function* chunks() {
    yield Buffer.from(text);
  })();
  const target = lake.pool(pool);
  const outcome = await workers.load({ pool: target.config, body, format: 'sup' });
  return `0x${(await outcome.settled(target.load(branch, outcome.objects))).commit}`;
};
const remove = async (pool: string, where: string, branch = 'main'): Promise<string> =>
  `0x${(await lake.pool(pool).deleteWhere(branch, workers.prepareDelete(where))).commit}`;
const fork = async (pool: string, name: string, from = 'main'): Promise<void> => {
  await lake.pool(pool).createBranch(name, lake.pool(pool).branch(from).commit);
};
const ask = async (text: string, of = workers): Promise<readonly string[]> =>
  (await answerOf(of, text)).split('\n').filter((line) => line !== '');
const failure = async (text: string): Promise<string> => {
  try {
    await answerOf(workers, text);
  } catch (error) {
    return (error as Error).message;
  }
  return 'it was answered';
};

describe('what it compares with', () => {
  test('a commit and branch main with the parent, another branch with its fork', async () => {
    const pool = await newPool();
    const first = await load(pool, '{k:1}');
    const second = await load(pool, '{k:2}');
    await fork(pool, 'trial');
    await load(pool, '{k:3}', 'trial');
    await load(pool, '{k:4}', 'trial');
    await load(pool, '{k:5}');
    const added = (source: string): Promise<readonly string[]> => ask(`from ${pool}${source} | values after.k`);
    expect(await added(':diff')).toEqual(['5']);
    expect(await added('@main:diff')).toEqual(['5']);
    expect(await added(`@${first}:diff`)).toEqual(['1']);
    expect(await added(`@${second}:diff`)).toEqual(['2']);
    expect(await added('@trial:diff')).toEqual(['3', '4']);
    expect(await added(`@trial:diff (base ${first})`)).toEqual(['2', '3', '4']);
    expect(await added('@trial:diff (base trial)')).toEqual([]);
    expect(await ask(`from ${pool}@trial:diff (base main) | values f"{change} {key.k}"`)).toEqual([
      '"added 3"',
      '"added 4"',
      '"removed 5"',
    ]);
    expect(await ask(`select count(*) as n from ${pool}@trial:diff (base "main")`)).toEqual(['{n:3}']);
    // What was merged is of main, too.
    await lake.pool(pool).merge('main', 'trial');
    expect(await added('@trial:diff')).toEqual([]);
    expect(await added('@main:diff')).toEqual(['3', '4']);
  });
  test('a branch that is empty with nothing, one that began empty too', async () => {
    const pool = await newPool();
    expect(await ask(`from ${pool}:diff`)).toEqual([]);
    await fork(pool, 'own');
    await load(pool, '{k:1}', 'own');
    expect(await ask(`from ${pool}@own:diff`)).toEqual(['{change:"added",key:{k:1},before:null,after:{k:1}}']);
    expect(await ask(`from ${pool}@main:diff (base own)`)).toEqual([
      '{change:"removed",key:{k:1},before:{k:1},after:null}',
    ]);
  });
  test('what is not there is named at its place', async () => {
    const pool = await newPool();
    await load(pool, '{k:1}');
    await fork(pool, 'trial');
    expect(await failure(`from ${pool}@trial:diff (base trail)`)).toContain(
      `"trail": branch not found at line 1, column ${`from ${pool}@trial:diff (`.length + 1}:`,
    );
    expect(await failure(`from ${pool}@trail:diff`)).toContain('"trail": branch not found');
    expect(await failure(`from ${pool}@trial:diff (base 0x${'ab'.repeat(20)})`)).toBe('file does not exist');
    expect(await failure(`from ${pool}@trial (base main)`)).toContain('argument "base" goes with metadata "diff"');
    expect(await failure(`from ${pool}@trial:log (base main)`)).toContain('argument "base" goes with metadata "diff"');
    await lake.pool(pool).deleteBranch('main');
    expect(await failure(`from ${pool}@trial:diff`)).toContain(
      'branch "trial" has no fork, since the pool has no branch "main": name a base to compare with',
    );
  });
  test('what both commits have may be vacuumed, what one of them has may not', async () => {
    const pool = await newPool();
    await load(pool, '{k:1}');
    const second = await load(pool, '{k:2}');
    const third = await load(pool, '{k:3}');
    await remove(pool, 'k == 1');
    await lake.pool(pool).vacuum('main', { dryRun: false });
    expect(await ask(`from ${pool}@${third}:diff | values after`)).toEqual(['{k:3}']);
    expect(await ask(`from ${pool}@${third}:diff (base ${second}) | values after`)).toEqual(['{k:3}']);
    expect(await failure(`from ${pool}:diff (base ${second})`)).toContain('vacuumed');
  });
});

describe('its rows', () => {
  test('tell the keys of the pool, as deep as they lie', async () => {
    const pool = await newPool({ keys: [['a', 'b'], ['c'], ['a', 'd']] });
    await load(pool, '{a:{b:1,d:2},c:3} {c:4} 5');
    expect(await ask(`from ${pool}:diff | values key`)).toEqual([
      '{a:{b:1,d:2},c:3}',
      '{a:{b:null,d:null},c:4}',
      '{a:{b:null,d:null},c:null}',
    ]);
  });
  test('come by the first key, then by the others, those that went first', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const pool = await newPool({ keys: [['k'], ['l']], order });
      await load(pool, '{k:1,l:1,v:1} {k:1,l:2,v:1} {k:2,l:1,v:1} {l:7}');
      await fork(pool, 'trial');
      await remove(pool, 'v == 1', 'trial');
      await load(pool, '{k:1,l:1,v:2}', 'trial');
      await load(pool, '{k:1,l:0,v:2}', 'trial');
      const rows = ['added 1 0', 'removed 1 1', 'added 1 1', 'removed 1 2', 'removed 2 1'];
      const backwards = ['removed 2 1', 'removed 1 2', 'removed 1 1', 'added 1 1', 'added 1 0'];
      const shown = await ask(`from ${pool}@trial:diff | values f"{change} {key.k} {key.l}"`);
      // The row without the first key stays: `v == 1` is not true of it.
      expect(shown.map((line) => line.slice(1, -1))).toEqual(order === 'asc' ? rows : backwards);
    }
  });
  test('count records that are there several times', async () => {
    const pool = await newPool();
    await load(pool, '{k:1} {k:1} {k:1} {k:2}');
    await fork(pool, 'trial');
    await remove(pool, 'k == 1', 'trial');
    await load(pool, '{k:1} {k:2} {k:2}', 'trial');
    expect(await ask(`from ${pool}@trial:diff | count() by change,k:=key.k | sort change`)).toEqual([
      '{change:"added",k:2,count:2}',
      '{change:"removed",k:1,count:2}',
    ]);
  });
  test('tell values apart as distinct does: by type, and by the sign of a zero', async () => {
    const pool = await newPool();
    await load(pool, '{k:1,v:1} {k:2,v:0.} {k:3,v:NaN} {k:4,v:[1,2]} {k:5,v:"a"::=name}');
    await fork(pool, 'trial');
    await remove(pool, 'true', 'trial');
    await load(pool, '{k:1,v:1.} {k:2,v:-0.} {k:3,v:NaN} {k:4,v:[1,2]} {k:5,v:"a"}', 'trial');
    expect(await ask(`from ${pool}@trial:diff | values key.k`)).toEqual(['1', '1', '2', '2', '5', '5']);
  });
});

describe('many rows', () => {
  const rowsOf = (from: number, to: number, text: (i: number) => string): string =>
    Array.from({ length: to - from }, (_, i) => text(from + i)).join('\n');
  test('of keys of their own: what is rewritten beside a change is no change', async () => {
    const pool = await newPool();
    await load(
      pool,
      rowsOf(0, 30_000, (i) => `{k:${i},s:"text ${i % 7}",n:${i * 3}}`),
    );
    await fork(pool, 'trial');
    await remove(pool, 'k % 1000 == 7', 'trial');
    await load(
      pool,
      rowsOf(0, 30, (i) => `{k:${i * 1000 + 7},s:"new",n:${i % 2 === 0 ? (i * 1000 + 7) * 3 : 0}}`),
      'trial',
    );
    await load(pool, '{k:-1} {k:30000}', 'trial');
    const answer = await ask(`from ${pool}@trial:diff`);
    expect(answer.length).toBe(62);
    expect([answer[0], answer[1], answer[2], answer.at(-1)]).toEqual([
      '{change:"added",key:{k:-1},before:null,after:{k:-1}}',
      '{change:"removed",key:{k:7},before:{k:7,s:"text 0",n:21},after:null}',
      '{change:"added",key:{k:7},before:null,after:{k:7,s:"new",n:21}}',
      '{change:"added",key:{k:30000},before:null,after:{k:30000}}',
    ]);
    expect(await ask(`from ${pool}@trial:diff`, poor)).toEqual(answer);
  });
  test('of one key are compared by their values, with memory or without', { timeout: 120_000 }, async () => {
    const pool = await newPool({ keys: [['none']] });
    await load(
      pool,
      rowsOf(0, 6000, (i) => `{v:${i},s:"text ${i % 2000}",m:${i % 3 === 0 ? `"${i}"` : i}}`),
    );
    await fork(pool, 'trial');
    await remove(pool, 'v % 600 == 7', 'trial');
    await load(
      pool,
      rowsOf(0, 2000, (i) => `{v:${i + 5000},s:"text ${(i + 5000) % 2000}",m:0}`),
      'trial',
    );
    for (const of of [workers, poor]) {
      expect(await ask(`from ${pool}@trial:diff | count() by change | sort change`, of)).toEqual([
        '{change:"added",count:2000}',
        '{change:"removed",count:10}',
      ]);
      expect(await ask(`from ${pool}@trial:diff | change == "removed" | values before.v | sort`, of)).toEqual(
        Array.from({ length: 10 }, (_, i) => String(i * 600 + 7)),
      );
    }
  });
  test('of one key are versions by their identity, with memory or without', { timeout: 120_000 }, async () => {
    const pool = await newPool({ keys: [['none']], identity: [['v']] });
    const row = (i: number): string => `{v:${i},s:"text ${i % 2000}",deep:{m:${i % 3 === 0 ? `"${i}"` : i},n:0}}`;
    await load(pool, rowsOf(0, 6000, row));
    await fork(pool, 'trial');
    await remove(pool, 'v % 3 == 1', 'trial');
    // Of 2,000 that went 1,500 come back as others, and one of them twice.
    await load(
      pool,
      rowsOf(0, 1500, (i) => `{v:${i * 3 + 1},s:"new",deep:{m:${i * 3 + 1},n:${i % 2}}}`),
      'trial',
    );
    await load(pool, '{v:1} {v:null,s:"no identity"} {v:6001}', 'trial');
    const found = `aggregate count:=count() by change,fields | sort change,fields`;
    for (const of of [workers, poor]) {
      expect(await ask(`from ${pool}@trial:diff | put fields:=coalesce(fields,null) | ${found}`, of)).toEqual([
        '{change:"added",fields:null,count:4}',
        '{change:"changed",fields:[["s"]],count:749}',
        '{change:"changed",fields:[["s"],["deep","n"]],count:750}',
        '{change:"removed",fields:null,count:501}',
      ]);
      expect(
        await ask(
          `from ${pool}@trial:diff | change == "changed" | values {v:after.v,same:before.v == after.v} | sort v | tail 1`,
          of,
        ),
      ).toEqual(['{v:4498,same:true}']);
    }
  });
  test('of keys before and behind one that is very frequent', async () => {
    const pool = await newPool();
    const some = (v: number): string => rowsOf(0, 9000, (i) => `{k:${i < 100 ? i : i < 8900 ? 100 : i},v:${i + v}}`);
    await load(pool, some(0));
    await fork(pool, 'trial');
    await remove(pool, 'v < 150 or v > 8950', 'trial');
    expect(await ask(`from ${pool}@trial:diff | count() by change`)).toEqual(['{change:"removed",count:199}']);
    await load(
      pool,
      rowsOf(0, 150, (i) => `{k:${i < 100 ? i : 100},v:${i}}`),
      'trial',
    );
    expect(await ask(`from ${pool}@trial:diff | values key.k`)).toEqual(
      Array.from({ length: 49 }, (_, i) => String(8951 + i)),
    );
  });
});
