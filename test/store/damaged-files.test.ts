/** Files of a bucket's objects on the local disk that are damaged while the service runs: what the bucket has is read. */
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type BucketServices, startBucketServices } from '../support/store/services.ts';
import type { Service } from '../support/service/built.ts';
import { randomOf } from '../support/random.ts';

let bucket: BucketServices;
beforeAll(async () => {
  bucket = await startBucketServices();
});
afterEach(async () => {
  await bucket.end((service) => service.stop());
  bucket.store.objects.clear();
});
afterAll(() => bucket.close());

const ask = async ({ address }: Service, path: string, body: string): Promise<string> => {
  const headers = { accept: 'application/x-ndjson', 'content-type': 'application/json' };
  const answer = await fetch(`${address}${path}`, { method: 'POST', body, headers });
  return answer.text();
};
const columns = ['a', 'b', 'c', 'd'] as const;
const rowsMax = 40_000;
const random = randomOf(5);
const rows = Array.from({ length: rowsMax }, (_, k) => ({
  k,
  a: random.hex(12),
  b: random.hex(12),
  c: random.hex(12),
  d: random.hex(12),
}));
const largest = (column: (typeof columns)[number]): string =>
  rows.map((row) => row[column]).reduce((a, b) => (a > b ? a : b));
/** What reads a column that was not read before, and what comes of it. */
const reads = columns.map((column) => ({
  query: JSON.stringify({ query: `from p | max(${column})` }),
  wanted: `"${largest(column)}"\n`,
}));

const startWriter = async (): Promise<Service> => {
  const writer = await bucket.start('-store', 's3://lakes/r', '-store.ack', 'bucket');
  await ask(writer, '/pool', '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}');
  await ask(writer, '/pool/p/branch/main', rows.map((row) => JSON.stringify(row)).join('\n'));
  expect(await ask(writer, '/query', reads[0]!.query)).toBe(reads[0]!.wanted);
  return writer;
};
const filesOf = ({ lake }: Service, folder: 'objects' | 'ranges'): readonly string[] =>
  readdirSync(join(lake, folder), { recursive: true })
    .map((name) => join(lake, folder, String(name)))
    .filter((path) => statSync(path).isFile());
/** The same file, of which each thousandth byte is another. */
const flip = (path: string): void => {
  const bytes = readFileSync(path);
  for (let i = 500; i < bytes.length; i += 1000) bytes[i]! ^= 1;
  writeFileSync(path, bytes);
};

describe('a data object', () => {
  test.each([
    ['of other bytes', flip],
    ['that is cut', (path: string) => truncateSync(path, 5000)],
    ['that is emptied', (path: string) => truncateSync(path, 0)],
  ])('%s is read from the bucket', async (_, damage) => {
    const writer = await startWriter();
    const files = filesOf(writer, 'objects');
    expect(files).toHaveLength(1);
    damage(files[0]!);
    for (const { query, wanted } of reads.slice(1)) expect(await ask(writer, '/query', query)).toBe(wanted);
    expect(filesOf(writer, 'objects')).toEqual([]);
    expect(await ask(writer, '/pool/p/branch/main/update', '{"where":"k==7","put":"a:=\\"z\\""}')).toContain('commit');
    expect(await ask(writer, '/query', reads[0]!.query)).toBe('"z"\n');
  });

  test('of other bytes is compacted from what the bucket has', async () => {
    const writer = await startWriter();
    await ask(writer, '/pool/p/branch/main', rows.map((row) => JSON.stringify({ ...row, k: row.k + 0.5 })).join('\n'));
    for (const path of filesOf(writer, 'objects')) flip(path);
    const ids = [...bucket.store.objects.keys()]
      .filter((key) => key.includes('/objects/'))
      .map((key) => `"0x${key.slice(-40)}"`);
    const compacted = await ask(writer, '/pool/p/branch/main/compact', `{"object_ids":[${ids.join()}]}`);
    expect(compacted).toContain('commit');
    expect(await ask(writer, '/query', '{"query":"from p | count()"}')).toBe(`${2 * rowsMax}\n`);
    expect(await ask(writer, '/query', reads[3]!.query)).toBe(reads[3]!.wanted);
  });

  test('that the bucket does not have otherwise is named', async () => {
    const writer = await startWriter();
    const [key, stored] = [...bucket.store.objects].find(([name]) => name.includes('/objects/'))!;
    for (const path of filesOf(writer, 'objects')) flip(path);
    bucket.store.objects.delete(key);
    expect(await ask(writer, '/query', reads[1]!.query)).toMatch(/"error":"object [0-9a-f]{40}: .*does not fit"/);
    expect(filesOf(writer, 'objects')).toHaveLength(1);
    bucket.store.objects.set(key, stored);
    expect(await ask(writer, '/query', reads[1]!.query)).toBe(reads[1]!.wanted);
  });
});

describe('ranges', () => {
  test('that were whole when they were first read are fetched again', async () => {
    await startWriter();
    const replica = await bucket.start('-follow', 's3://lakes/r', '-memory', '64MiB');
    for (const { query, wanted } of reads.slice(0, 2)) expect(await ask(replica, '/query', query)).toBe(wanted);
    for (const path of filesOf(replica, 'ranges')) flip(path);
    for (const { query, wanted } of reads) expect(await ask(replica, '/query', query)).toBe(wanted);
    // Rows by their key: what is read is cut out of blocks.
    expect(await ask(replica, '/query', '{"query":"from p | where k==12345"}')).toBe(
      `${JSON.stringify(rows[12_345])}\n`,
    );
  });

  test('that the bucket answered wrongly are asked for again, within bounds', async () => {
    await startWriter();
    const [key, stored] = [...bucket.store.objects].find(([name]) => name.includes('/objects/'))!;
    const bytes = Buffer.from(stored.bytes);
    for (let i = 500; i < bytes.length - 40_000; i += 1000) bytes[i]! ^= 1;
    bucket.store.objects.set(key, { ...stored, bytes });
    const replica = await bucket.start('-follow', 's3://lakes/r');
    expect(await ask(replica, '/query', reads[0]!.query)).toMatch(/"error":"object [0-9a-f]{40}: .*does not fit"/);
    bucket.store.objects.set(key, stored);
    for (const { query, wanted } of reads) expect(await ask(replica, '/query', query)).toBe(wanted);
  });
});
