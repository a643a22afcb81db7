/** Small bodies are loaded where they came in; what is not plain text, or a pool cuts finely, goes to a worker. Either way the rows are the same. */
import { expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import type { FormatName } from '../../../src/formats/formats.ts';
import type { ObjectStore } from '../../../src/lake/objects.ts';
import { type SmallLoad, isSmallLoad, runSmallLoad, smallBodyBytesMax } from '../../../src/workers/small-load.ts';
import { openObject, sourceOfBytes } from '../../../src/lake/object-reader.ts';
import { supText } from '../../../src/vectors/sup-print.ts';
import { valueAt } from '../../../src/vectors/vector.ts';

const noFiles = new Proxy({}, { get: () => () => { throw new Error('no object has a file here'); } }) as ObjectStore;
const pool = { keys: [['ts']], order: 'asc', threshold: 1 << 20 } as const;
const small = (body: string | Uint8Array, format: FormatName | 'auto' = 'auto', more: Partial<SmallLoad> = {}): SmallLoad => ({ pool, format, body: typeof body === 'string' ? Buffer.from(body) : body, ...more });

test('plain text of a few bytes is taken', () => {
  for (const load of [small('{"a":1}'), small('{"a":1}', 'json'), small(' {a:1}', 'sup'), small('a\n1\n', 'csv'), small('x', 'line')]) expect(isSmallLoad(load, [])).toBe(true);
});
test('what may unfold, is long, or would become many objects is not', () => {
  const record = '{"a":1}';
  for (const load of [
    small(gzipSync(record)), small(gzipSync(record), 'json'), small(record, 'bsup'), small(record, 'parquet'), small(record, 'arrows'), small(' '.repeat(smallBodyBytesMax + 1)), small(new Uint8Array(0)),
    small(record, 'json', { pool: { ...pool, threshold: 100 } }),
  ]) expect(isSmallLoad(load, [])).toBe(false);
  expect(isSmallLoad(small(record), ['gzip'])).toBe(false);
});
test('rows come sorted into one inline object', async () => {
  const { objects, records } = await runSmallLoad(small('{ts:3}{ts:1,a:"x"}{ts:2}', 'sup'), { objects: noFiles, readLimits: {} });
  const rows = await (await openObject(sourceOfBytes('x', objects[0]!.inline!))).read(0);
  expect([objects.length, records, Array.from({ length: 3 }, (_, i) => supText(valueAt(rows, i)))]).toEqual([1, 3, ['{ts:1,a:"x"}', '{ts:2}', '{ts:3}']]);
});
test('a body without a value, or with a broken one, fails as it does in a worker', async () => {
  await expect(runSmallLoad(small('  ', 'json'), { objects: noFiles, readLimits: {} })).rejects.toMatchObject({ code: 'load-empty' });
  await expect(runSmallLoad(small('{"a":1}{"a":', 'json'), { objects: noFiles, readLimits: {} })).rejects.toMatchObject({ code: 'format-broken' });
});
