import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LakeError } from '../../../src/errors.ts';
import { shareSizes } from '../../../src/lake/scan/shares.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { type ComparedPools, answerOf, helpingThread, openCompared, ready, tasksOf } from './support.ts';

const rows = 120_000;
let pools: ComparedPools;
let alone: WorkerPool;
let both: WorkerPool;

/** Users come and go; `mixed` is of many types, and missing in some rows. */
const rowText = (i: number): string => {
  const user = `u${(i * 7919) % (4000 + Math.floor(i / 20))}`;
  const big = (BigInt(i) * 7_046_029_254_386_353_131n) % 9_223_372_036_854_775_807n;
  const mixed = ['1', '1.', '"1"', 'null', `${i % 5000}`, `"${i % 300}"`, `${i % 40}.5`][i % 7]!;
  return `{k:${i},user:"${user}",big:${big % 9973n === 0n ? 7n : big},n:${(i * 7907) % 50_021}${i % 11 === 0 ? '' : `,mixed:${mixed}`},dur:${(i % 997) / 8}}`;
};

beforeAll(async () => {
  pools = await openCompared(rows, rowText, { shareSizes: { ...shareSizes, halvesMsMin: 0.01 } });
  ({ alone, both } = pools);
});
afterAll(() => pools.close());

describe('half of the groups made by another thread', () => {
  test.each([
    'count() by user',
    'count() by big | sort -r count, big | head 5',
    'sum(dur / 3.), avg(dur / 7.), collect(k) by user',
    'c:=count() by user, n | sort -r c | head 10',
    'count() by n, user | head 7',
    'count() by mixed, n',
    'where k % 3 == 1 | sum(k), any(user) by n % 10007',
    'select user, count(distinct n) as d from rows group by user order by d desc limit 10',
    'select n % 7 as m, count(distinct user) as d, sum(dur) as s from rows group by m',
    "select n, string_agg(user, ',' order by k) as u from rows where k < 30000 group by n",
    'select mixed, n, count(*) as c from rows group by mixed, n order by c desc, n limit 20',
    'select user, count(*) as c from rows group by user having count(*) > 20',
  ])('%s: the answer is that of one thread, in its order', async (text) => {
    const query = text.startsWith('select') ? text : `from rows | ${text}`;
    const wanted = await answerOf(alone, query);
    expect(await answerOf(both, query)).toBe(wanted);
    expect(wanted).not.toBe('');
  });

  test('the other thread takes a part in it', () => {
    expect(both.status().parts).toBeGreaterThan(5);
    expect(alone.status().parts).toBe(0);
  });

  test('few groups that can be merged are made by one thread', async () => {
    const { parts } = both.status();
    expect(await answerOf(both, 'from rows | count() by n % 7')).toBe(
      await answerOf(alone, 'from rows | count() by n % 7'),
    );
    expect(both.status().parts).toBe(parts);
  });

  test('statistics count every row once', async () => {
    const text = 'from rows | k % 2 == 0 | count() by user, n';
    const reply = await both.query({ id: 'stats', text, format: 'sup', control: false });
    for await (const chunk of reply.chunks) expect(chunk.length).toBeGreaterThan(0);
    expect(reply.stats()).toMatchObject({ recordsRead: rows, recordsMatched: rows / 2 });
  });

  test('groups that fit neither memory are spilled', async () => {
    const small = pools.start({ threads: 2, queryMemoryBytesMax: 1_500_000 });
    const query = 'from rows | c:=count(), u:=any(user) by big | where big % 10007 == 0 or c > 1 | sort big';
    try {
      await ready(small);
      expect(await answerOf(small, query)).toBe(await answerOf(alone, query));
      expect(small.status().parts).toBe(1);
    } finally {
      await small.close();
    }
  });

  test('a cancelled query leaves no part behind', async () => {
    const abort = new AbortController();
    const text = `from rows | where ${Array.from({ length: 40 }, (_, i) => `not user ~ '(u)+([0-9]*)([0-9]*)${i}x'`).join(' and ')} | count() by user, n`;
    const begun = both.query({ id: 'left', text, format: 'sup', control: false, signal: abort.signal });
    const read = (async () => {
      for await (const chunk of (await begun).chunks) if (chunk.length === 0) return;
    })();
    await expect.poll(() => helpingThread(both), { timeout: 30_000, interval: 5 }).toBeDefined();
    abort.abort();
    await expect(read).rejects.toMatchObject({ code: 'query-cancelled' });
    await expect.poll(() => tasksOf(both), { timeout: 30_000 }).toBe(0);
  });

  test('a helper that dies fails the query with a clear error', { timeout: 120_000 }, async () => {
    const other = pools.start({ threads: 2 });
    const test = Array.from({ length: 80 }, (_, i) => `not user ~ '(u)+([0-9]*)([0-9]*)${i}x'`).join(' and ');
    try {
      await ready(other);
      const query = answerOf(other, `from rows | where ${test} | count() by user, n`).catch(
        (error: unknown) => error as LakeError,
      );
      await expect.poll(() => helpingThread(other), { timeout: 60_000, interval: 5 }).toBeDefined();
      await helpingThread(other)?.worker.terminate();
      expect(await query).toMatchObject({ code: 'worker-died' });
    } finally {
      await other.close();
    }
  });
});
