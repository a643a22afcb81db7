import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LakeError } from '../../../src/errors.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { type ComparedPools, answerOf, helpingThread, openCompared, ready, tasksOf } from './support.ts';

const shareSizes = { shareRowsMin: 1, shareRowsMax: 1, rowsMin: 0, estimatedMsMin: 0, workMsMin: 0 };
const rows = 120_000;
let pools: ComparedPools;
let alone: WorkerPool;
let both: WorkerPool;

/** Rows of three kinds; users come and go, so that shares do not meet the same ones. */
const rowText = (i: number): string => {
  const user = `u${(i * 7919) % (1000 + Math.floor(i / 20))}`;
  switch (i % 5) {
    case 0:
      return `{k:${i},kind:"conn",id:"c${i}",n:${(i * 31) % 1009}}`;
    case 1:
      return `{k:${i},kind:"alert",id:"a${i}",tags:["t${i % 7}","x"],n:${i % 13 === 0 ? 'null' : i % 50}}`;
    default:
      return `{k:${i},kind:"http",id:"h${i}",user:"${user}",bytes:${(i * 7907) % 50_021},dur:${(i % 997) / 8}}`;
  }
};

beforeAll(async () => {
  pools = await openCompared(rows, rowText, { shareSizes });
  ({ alone, both } = pools);
});
afterAll(() => pools.close());

const queries = [
  'count() by kind',
  'count() by user',
  'sum(bytes), avg(n), min(id), max(dur), any(id) by kind',
  'sum(dur), count() by user',
  "kind=='alert' | unnest tags | count() by this",
  'collect(n) by kind | sort kind',
  'a:=dcount(id), b:=dcount(user), and(n > 3), or(n > 1000), fuse(this)',
  'union(kind), count()',
  "kind=='http' and bytes > 49000",
  "kind=='http' | put s:=bytes+1 | sort -r s | head 7",
  "kind=='http' | put s:=user | sort s, id | tail 3",
  "kind=='conn' | cut n | distinct this",
  'cut kind, n | tail 5',
  'grep("h599", this) | cut id',
  "kind=='alert' | count() by tags, n | sort this | head 20",
  'sort -r bytes | head 3',
  'where k > 10000 and k < 30000 | sum(n), count() by kind',
  "kind=='http' | cut user, bytes | join (from rows | kind=='http' | bytes < 20 | cut user, bytes) as {l,r} on l.user==r.user | count()",
  'count(distinct kind)',
  'count(), sum(k), min(k), max(k), avg(k)',
  'where k >= 20000 | count(), sum(k), c:=sum(k + 1)',
  'c:=count() by id | sort -r c, id | head 3',
  'c:=count(), s:=sum(k) by n | sort -r s | head 2',
];

describe('one query on two threads', () => {
  test.each(queries)('%s: the answer is that of one thread', async (text) => {
    const query = `from rows | ${text}`;
    const wanted = await answerOf(alone, query);
    expect(await answerOf(both, query)).toBe(wanted);
    expect(wanted).not.toBe('');
  });

  test.each([
    queries[0]!,
    queries[8]!,
    queries[9]!,
    queries[10]!,
    queries[16]!,
    'put a:=n | where a > 3 | count() by kind | sort this',
  ])('%s: operators give as many rows, and skip as many blocks', async (text) => {
    const analysis = async (workers: WorkerPool): Promise<string[]> =>
      (await answerOf(workers, `explain analyze from rows | ${text}`))
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/time:[^,]+,bytes:\d+,/, ''));
    const wanted = await analysis(alone);
    expect(await analysis(both)).toEqual(wanted);
    expect(wanted.slice(0, 2)).toEqual([
      expect.stringContaining('{plan:"query",rows:'),
      expect.stringContaining('{plan:"scan rows'),
    ]);
  });

  test('the other thread takes a part in it', () => {
    expect(both.status().parts).toBeGreaterThan(10);
    expect(alone.status().parts).toBe(0);
    expect(both.status().columns.found).toBeGreaterThan(0);
  });

  test('a sum of floats is the same from run to run', async () => {
    const sums = new Set<string>();
    for (let run = 0; run < 3; run++)
      sums.add(await answerOf(both, 'from rows | s:=sum(dur / 3.), a:=avg(dur / 7.) by user | sort user'));
    expect(sums.size).toBe(1);
  });

  test('statistics count every row once', async () => {
    const reply = await both.query({
      id: 'stats',
      text: 'from rows | k % 2 == 0 | count() by kind',
      format: 'sup',
      control: false,
    });
    for await (const chunk of reply.chunks) expect(chunk.length).toBeGreaterThan(0);
    expect(reply.stats()).toMatchObject({ recordsRead: rows, recordsMatched: rows / 2 });
  });

  test('groups that do not fit the memory are spilled', async () => {
    const small = pools.start({ threads: 2, queryMemoryBytesMax: 1_000_000 });
    const query =
      "from rows | count(), sum(n), any(kind) by id | where id=='a9991' or id=='h19992' or id=='c30000' or id=='h39999'";
    try {
      await ready(small);
      const lines = async (workers: WorkerPool): Promise<string[]> =>
        (await answerOf(workers, query)).split('\n').sort();
      expect(await lines(small)).toEqual(await lines(alone));
      expect(await lines(small)).toHaveLength(5);
    } finally {
      await small.close();
    }
  });

  test('a query that ends before its help comes leaves no part behind', async () => {
    for (let run = 0; run < 20; run++) await answerOf(both, `from rows | k < ${9000 + run} | count()`);
    await expect.poll(() => tasksOf(both), { timeout: 30_000 }).toBe(0);
  });

  test('a cancelled query leaves no part behind', async () => {
    const abort = new AbortController();
    const { chunks } = await both.query({
      id: 'left',
      text: "from rows | where kind=='http' or kind=='conn' or kind=='alert'",
      format: 'sup',
      control: false,
      signal: abort.signal,
    });
    const read = (async () => {
      for await (const chunk of chunks) if (chunk.length > 0) abort.abort();
    })();
    await expect(read).rejects.toMatchObject({ code: 'query-cancelled' });
    await expect.poll(() => tasksOf(both), { timeout: 30_000 }).toBe(0);
    expect(await answerOf(both, 'from rows | count()')).toBe(`${rows}\n`);
  });

  test('a helper that dies fails the query with a clear error, and the next one runs', {
    timeout: 600_000,
  }, async () => {
    const test = Array.from({ length: 40 }, (_, i) => `id ~ '(c|a|h)+([0-9]*)([0-9]*)([0-9]*)${i}x'`).join(' or ');
    let problem: unknown;
    // The helper has to be in the middle of a share; how long it takes to get there is the machine's business.
    for (let tries = 0; problem === undefined && tries < 20; tries++) {
      const waitMs = 100 * 2 ** (tries % 5);
      const other = pools.start({ threads: 2 });
      try {
        await ready(other);
        const query = answerOf(other, `from rows | where ${test} | count()`).catch(
          (error: unknown) => error as LakeError,
        );
        await expect.poll(() => helpingThread(other), { timeout: 30_000, interval: 5 }).toBeDefined();
        await new Promise((resolve) => {
          setTimeout(resolve, waitMs);
        });
        await helpingThread(other)?.worker.terminate();
        const result = await query;
        if (result === '0\n') continue;
        problem = result;
        await expect.poll(() => other.status(), { timeout: 30_000 }).toMatchObject({ threads: 2, replaced: 1 });
        expect(await answerOf(other, "from rows | kind=='http' | count()")).toBe(`${(rows * 3) / 5}\n`);
      } finally {
        await other.close();
      }
    }
    expect(problem).toMatchObject({ code: 'worker-died' });
  });
});

test('a query asks for no help while little work is left', async () => {
  const plain = await openCompared(rows, (i) => `{k:${i},n:${(i * 7919) % 100_003}}`, {
    shareSizes: { ...shareSizes, workMsMin: Infinity },
  });
  try {
    for (const text of ['from rows | sum(n), min(n), max(n), count()', 'from rows | count() by n % 7'])
      expect(await answerOf(plain.both, text)).toBe(await answerOf(plain.alone, text));
    expect(plain.both.status().parts).toBe(0);
  } finally {
    await plain.close();
  }
});

test('a helper leaves the rest to the query once its thread has a task of its own', { timeout: 120_000 }, async () => {
  const many = await openCompared(32 * 32_768, (k) => `{k:${k}}`, { shareSizes });
  const { both: busy } = many;
  try {
    await ready(busy);
    const began = performance.now();
    const query = answerOf(
      busy,
      "from rows | put t:=regexp_replace(k::string, '(1|2|3)+([0-9]*)([0-9]*)x', '') | min(t)",
    );
    await expect.poll(() => helpingThread(busy), { timeout: 30_000, interval: 1 }).toBeDefined();
    // It has to have begun: what came before that is none of its concern.
    await new Promise((resolve) => {
      setTimeout(resolve, 150);
    });
    await ready(busy);
    await expect.poll(() => helpingThread(busy), { timeout: 30_000, interval: 1 }).toBeUndefined();
    const leftAfterMs = performance.now() - began;
    expect(await query).toBe('"0"\n');
    expect(performance.now() - began).toBeGreaterThan(1.3 * leftAfterMs);
  } finally {
    await many.close();
  }
});
