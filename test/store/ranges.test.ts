/** Ranges of a bucket's objects on the local disk: each byte comes once, only those that are asked for, always sound. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RangeCache, rangesOf } from '../../src/lake/objects/ranges.ts';
import { openObject, projectionOf, sourceOfBytes } from '../../src/lake/objects/reader.ts';
import type { BucketServer } from '../support/store/bucket-server.ts';
import { type BucketServices, startBucketServices } from '../support/store/services.ts';
import type { Service } from '../support/service/built.ts';
import { randomOf, seedOf } from '../support/random.ts';
import { temporaryDirectory } from '../unit/lake/support.ts';

const id = 'a'.repeat(40);
const whole = Uint8Array.from({ length: 10_000 }, (_, i) => (i * 7919) >> 5);
const openCache = (directory: string, name = 'one') => {
  const asked: [number, number][] = [];
  const cache = new RangeCache(directory, name, async (_, offset, length) => {
    asked.push([offset, length]);
    await Promise.resolve();
    return whole.slice(offset, offset + length);
  });
  const read = async (offset: number, length: number): Promise<void> => {
    expect(await cache.read(id, offset, length)).toEqual(whole.slice(offset, offset + length));
  };
  return { cache, asked, read };
};

test('what is there is not fetched again, whoever fetched it; what is missing between is', async () => {
  const directory = await temporaryDirectory();
  const { cache, asked, read } = openCache(directory);
  await Promise.all([read(100, 50), read(100, 50), read(120, 50)]);
  expect(asked).toEqual([
    [100, 50],
    [150, 20],
  ]);
  cache.ahead(id, 300, 10);
  await read(90, 300);
  expect(asked.slice(2)).toEqual([
    [300, 10],
    [90, 10],
    [170, 130],
    [310, 80],
  ]);
  expect(cache.read(id, 95, 200)).toBeInstanceOf(Uint8Array);
  const other = openCache(directory, 'two');
  await other.read(90, 300);
  expect(other.asked).toEqual([]);
  await read(9000, 1000);
  await other.read(9000, 1000);
  expect(other.asked).toEqual([]);
});

test('a damaged file is fetched again, and so is one that went', async () => {
  const directory = await temporaryDirectory();
  await openCache(directory).read(0, 1000);
  const path = join(rangesOf(directory, id), '0-1000');
  for (const bytes of [Buffer.alloc(1004), Buffer.alloc(10), Buffer.alloc(0)]) {
    writeFileSync(path, bytes);
    const { asked, read } = openCache(directory);
    await read(10, 20);
    expect(asked).toEqual([[10, 20]]);
    rmSync(rangesOf(directory, id), { recursive: true });
    await read(5, 30);
    expect(asked.slice(1)).toEqual([[5, 30]]);
    rmSync(rangesOf(directory, id), { recursive: true, force: true });
    await openCache(directory).read(0, 1000);
  }
});

test('what cannot be fetched is told to who reads it, and is tried again', async () => {
  const directory = await temporaryDirectory();
  let isAway = true;
  const cache = new RangeCache(directory, 'one', (_, offset, length) =>
    isAway ? Promise.reject(new Error('away')) : Promise.resolve(whole.slice(offset, offset + length)),
  );
  cache.ahead(id, 0, 10);
  await expect(Promise.resolve(cache.read(id, 0, 20))).rejects.toThrow('away');
  isAway = false;
  expect(await cache.read(id, 0, 20)).toEqual(whole.slice(0, 20));
});

test('any reads by two threads, with files that go and are damaged, give the bytes', async () => {
  const seed = seedOf(Date.now() % 1_000_000);
  console.log(`seed ${seed}`);
  const random = randomOf(seed);
  const directory = await temporaryDirectory();
  const readers = [openCache(directory), openCache(directory, 'two')];
  for (let n = 0; n < 600; n++) {
    const offset = random.below(9000);
    const length = 1 + random.below(1000);
    const { cache, read } = readers[random.below(2)]!;
    if (random.below(4) === 0) cache.ahead(id, offset, length);
    else await read(offset, length);
    // Until the first range has come there is no folder.
    if (!existsSync(rangesOf(directory, id))) continue;
    const files = readdirSync(rangesOf(directory, id), { withFileTypes: true }).filter(({ name }) => /^\d/.test(name));
    const file = files[random.below(Math.max(1, files.length))];
    if (file && random.below(6) === 0) rmSync(join(rangesOf(directory, id), file.name), { force: true });
  }
});

let bucket: BucketServices;
let store: BucketServer;
beforeAll(async () => {
  bucket = await startBucketServices();
  ({ store } = bucket);
});
afterAll(() => bucket.close());
const ask = async ({ address }: Service, path: string, body: string, type = 'application/json'): Promise<string> => {
  const headers = { accept: 'application/x-ndjson', 'content-type': type };
  const answer = await fetch(`${address}${path}`, { method: 'POST', body, headers });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return text;
};

test('a cold query fetches the columns and blocks that it needs, side by side, and a warm one nothing', async () => {
  const writer = await bucket.start('-store', 's3://lakes/r', '-store.ack', 'bucket');
  await ask(writer, '/pool', '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}');
  const random = randomOf(7);
  const rows = Array.from({ length: 140_000 }, (_, k) =>
    JSON.stringify({ k, a: random.below(1e9), b: random.hex(12), c: random.hex(24), d: random.hex(12) }),
  );
  await ask(writer, '/pool/p/branch/main', rows.join('\n'), 'application/x-ndjson');
  const objects = [...store.objects].filter(([key]) => key.includes('/objects/'));
  expect(objects).toHaveLength(1);
  const [[key, { bytes }]] = objects as [(typeof objects)[number]];
  /** What a reader takes of the object that has all of it at hand. */
  const needed = async (columns: readonly string[], from: number): Promise<number> => {
    const reader = await openObject(sourceOfBytes(basename(key), bytes));
    expect(reader.blocks.length).toBeGreaterThan(3);
    let end = 0;
    for (const [block, { rows: count }] of reader.blocks.entries()) {
      end += count;
      if (end > from) await reader.read(block, projectionOf(columns.map((column) => [column])));
    }
    return reader.bytesRead;
  };
  const headRounds = 1;
  const fetched = (): number => store.ranges.reduce((sum, range) => sum + range.bytes, 0);

  const replica = await bucket.start('-follow', 's3://lakes/r', '-cache.max', '100MB');
  const queries: readonly [string, readonly string[], number][] = [
    ['from p | sum(len(b))', ['b'], 0],
    ['from p | where k >= 120000 | sum(len(c))', ['k', 'c'], 120_000],
    // Some rows of each block pass.
    ['from p | where a % 2 == 0 | sum(len(d))', ['a', 'd'], 0],
  ];
  // A loaded machine takes its time for what belongs together.
  store.quietMs = 1000;
  let before = 0;
  for (const [query, columns, from] of queries) {
    const { rounds } = store;
    const text = await ask(replica, '/query', JSON.stringify({ query }));
    const cold = fetched();
    // What the filter looks at of all blocks, then what else is wanted of them; the head before both is known to the second query.
    expect(store.rounds - rounds).toBeLessThanOrEqual(before === 0 ? headRounds + 2 : 2);
    expect(cold - before).toBeLessThanOrEqual(1.2 * (await needed(columns, from)));
    expect(cold - before).toBeLessThan(bytes.length / 2);
    expect(await ask(replica, '/query', JSON.stringify({ query }))).toBe(text);
    expect(fetched()).toBe(cold);
    expect(await ask(writer, '/query', JSON.stringify({ query }))).toBe(text);
    before = cold;
  }
  // Asked for while others were on their way.
  expect(store.mostAtOnce).toBeGreaterThan(2);

  // What a folder lost while the service runs comes again.
  const query = 'from p | count(), sum(len(b))';
  const text = await ask(replica, '/query', JSON.stringify({ query }));
  rmSync(join(replica.lake, 'ranges'), { recursive: true });
  for (const more of ['from p | sum(a+1)', 'from p | where b > "8" | count()'])
    expect(await ask(replica, '/query', JSON.stringify({ query: more }))).toBe(
      await ask(writer, '/query', JSON.stringify({ query: more })),
    );
  expect(await ask(replica, '/query', JSON.stringify({ query }))).toBe(text);
}, 120_000);
