import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { FormatName } from '../../../src/formats/formats.ts';
import { joinParts } from '../../../src/formats/parts.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { type ComparedPools, answerOf, helpingThread, openCompared, ready, tasksOf } from './support.ts';

const rows = 100_000;
const text = 'x'.repeat(200);
let pools: ComparedPools;
let alone: WorkerPool;
let both: WorkerPool;
let ids = 0;

const rowText = (i: number): string => {
  switch (i % 3) {
    case 0:
      return `{k:${i},kind:"conn",at:{line:${i % 97},name:"n${i % 7}"}}`;
    case 1:
      return `{k:${i},kind:"alert",tags:["t${i % 7}","x"],n:${i % 13 === 0 ? 'null' : i % 50}}`;
    default:
      return `{k:${i},kind:"http",text:"${text}",dur:${(i % 997) / 8}}`;
  }
};

beforeAll(async () => {
  pools = await openCompared(rows, rowText, {
    outputShares: { shareRowsMin: 1, shareRowsMax: 1, rowsMin: 0 },
  });
  ({ alone, both } = pools);
});
afterAll(() => pools.close());

/** All bytes, and the code of the error that ended them. */
const read = async (
  workers: WorkerPool,
  query: string,
  format: FormatName,
  pauseMs?: number,
): Promise<{ readonly bytes: Buffer; readonly error?: unknown }> => {
  const parts: Buffer[] = [];
  try {
    const { chunks } = await workers.query({ id: `q${ids++}`, text: query, format, control: false });
    for await (const chunk of chunks) {
      // What is read is given back and written into again.
      parts.push(Buffer.from(chunk));
      if (pauseMs !== undefined)
        await new Promise((resolve) => {
          setTimeout(resolve, pauseMs);
        });
    }
  } catch (error) {
    return { bytes: Buffer.concat(parts), error: (error as { readonly code?: unknown }).code };
  }
  return { bytes: Buffer.concat(parts) };
};
/** Of the lake, the largest first. */
const largestFiles = (): readonly string[] =>
  readdirSync(join(pools.directory, 'objects'), { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name))
    .sort((a, b) => statSync(b).size - statSync(a).size);

const queries = [
  'from rows',
  'from rows | put s:=k*2, text:=null',
  'from rows | cut kind, k',
  'from rows | values k',
  'from rows | drop at',
];

describe('one answer written by two threads', () => {
  test.each(queries.flatMap((query) => (['json', 'ndjson', 'sup'] as const).map((format) => [query, format] as const)))(
    '%s as %s: the bytes are those of one thread',
    async (query, format) => {
      // What helped the query before may still be ending.
      await expect.poll(() => tasksOf(both), { timeout: 30_000 }).toBe(0);
      const before = both.status().parts;
      const wanted = await read(alone, query, format);
      const got = await read(both, query, format);
      expect(got.bytes.equals(wanted.bytes)).toBe(true);
      expect([wanted.error, got.error]).toEqual([undefined, undefined]);
      expect(wanted.bytes.length).toBeGreaterThan(rows);
      expect(both.status().parts).toBe(before + 1);
    },
  );

  test('a client that reads slowly gets the same bytes', async () => {
    const slow = await read(both, 'from rows', 'ndjson', 3);
    expect(slow.bytes.equals((await read(alone, 'from rows', 'ndjson')).bytes)).toBe(true);
  });

  test('statistics count every row once', async () => {
    const reply = await both.query({ id: 'stats', text: 'from rows', format: 'ndjson', control: false });
    let lines = 0;
    for await (const chunk of reply.chunks) for (const byte of chunk) if (byte === 0x0a) lines++;
    expect(lines).toBe(rows);
    expect(reply.stats()).toMatchObject({ recordsRead: rows, recordsMatched: rows });
  });

  test('answers with control messages, of filtered rows and in other formats come from one thread', async () => {
    const before = both.status().parts;
    const { chunks } = await both.query({ id: 'control', text: 'from rows', format: 'bsup', control: true });
    for await (const chunk of chunks) expect(chunk.length).toBeGreaterThan(0);
    await read(both, "from rows | kind=='conn'", 'json');
    await read(both, 'from rows | cut k', 'csv');
    await read(both, 'from rows', 'bsup');
    expect(both.status().parts).toBe(before);
  });

  test('no thread helps where the process has its memory in use', async () => {
    const full = pools.start({ threads: 2, residentBytesMax: 1 });
    try {
      await ready(full);
      expect(
        (await read(full, 'from rows', 'ndjson')).bytes.equals((await read(alone, 'from rows', 'ndjson')).bytes),
      ).toBe(true);
      expect(full.status().parts).toBe(0);
    } finally {
      await full.close();
    }
  });

  test('a query that is cancelled, or whose client leaves, leaves no part behind', async () => {
    const abort = new AbortController();
    const { chunks } = await both.query({
      id: 'left',
      text: 'from rows',
      format: 'sup',
      control: false,
      signal: abort.signal,
    });
    const reading = (async () => {
      for await (const chunk of chunks) if (chunk.length > 0) abort.abort();
    })();
    await expect(reading).rejects.toMatchObject({ code: 'query-cancelled' });
    await expect.poll(() => tasksOf(both), { timeout: 30_000 }).toBe(0);
    const other = await both.query({ id: 'gone', text: 'from rows', format: 'sup', control: false });
    for await (const chunk of other.chunks) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => tasksOf(both), { timeout: 30_000 }).toBe(0);
  });

  test('a helper that dies fails the query with a clear error, and the next one runs', async () => {
    const other = pools.start({ threads: 2, windowBytesMax: 1 << 16 });
    try {
      await ready(other);
      const { chunks } = await other.query({
        id: 'dies',
        text: 'from rows | put a:=text, b:=text, c:=text, d:=text',
        format: 'ndjson',
        control: false,
      });
      // Nothing is read before, so that the helper cannot have come to its end.
      await expect.poll(() => helpingThread(other), { timeout: 30_000, interval: 5 }).toBeDefined();
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
      await helpingThread(other)?.worker.terminate();
      await expect(
        (async () => {
          for await (const chunk of chunks) expect(chunk.length).toBeGreaterThan(0);
        })(),
      ).rejects.toMatchObject({ code: 'worker-died' });
      await expect.poll(() => other.status(), { timeout: 30_000 }).toMatchObject({ threads: 2, replaced: 1 });
      expect(await answerOf(other, 'from rows | count()')).toBe(`${rows}\n`);
    } finally {
      await other.close();
    }
  });

  // The last one: it breaks the rows.
  test('rows before a damaged block are given out, as by one thread', async () => {
    const whole = (await read(alone, 'from rows', 'ndjson')).bytes;
    const [path] = largestFiles();
    const file = openSync(path!, 'r+');
    writeSync(file, new Uint8Array(4096), 0, 4096, Math.floor(statSync(path!).size * 0.7));
    closeSync(file);
    const one = pools.start({ threads: 1 });
    const two = pools.start({ threads: 2 });
    try {
      await ready(two);
      const wanted = await read(one, 'from rows', 'ndjson');
      const got = await read(two, 'from rows', 'ndjson');
      expect(wanted.error).toBe('object-corrupt');
      expect(got.error).toBe('object-corrupt');
      // How many of those right before it depends on how far the scan looks ahead.
      for (const { bytes } of [wanted, got]) {
        expect(bytes.length).toBeGreaterThan(whole.length / 4);
        expect(whole.subarray(0, bytes.length).equals(bytes)).toBe(true);
        expect(bytes.at(-1)).toBe(0x0a);
      }
      expect(two.status().parts).toBe(1);
    } finally {
      await one.close();
      await two.close();
    }
  });
});

test('parts of an array are joined, also when there are none', () => {
  const bytes = (...chunks: string[]): string => {
    const join = joinParts(true);
    const parts = chunks.map((c) => Buffer.from(c));
    for (const part of parts) join.chunk(part);
    return Buffer.concat([...parts, ...join.end()]).toString();
  };
  expect(bytes()).toBe('[]\n');
  expect(bytes(',1', ',2,3')).toBe('[1,2,3]\n');
});
