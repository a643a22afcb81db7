/**
 * Small bodies are loaded where they came in; what is not plain text, or a pool cuts finely, goes to a worker. Either
 * way the rows are the same.
 */
import { expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import { type FormatName, formatTable } from '../../../src/formats/formats.ts';
import type { ObjectStore } from '../../../src/lake/objects/objects.ts';
import { type SmallLoad, isSmallLoad, once, runSmallLoad, smallBodyBytesMax } from '../../../src/workers/load/small.ts';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import { openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { valueAt } from '../../../src/vectors/vector.ts';

const noFiles = new Proxy(
  {},
  {
    get: () => () => {
      throw new Error('no object has a file here');
    },
  },
) as ObjectStore;
const pool = { keys: [['ts']], order: 'asc', threshold: 1 << 20 } as const;
const small = (
  body: string | Uint8Array,
  format: FormatName | 'auto' = 'auto',
  more: Partial<SmallLoad> = {},
): SmallLoad => ({ pool, format, body: typeof body === 'string' ? Buffer.from(body) : body, ...more });

test('plain text of a few bytes is taken', () => {
  for (const load of [
    small('{"a":1}'),
    small('{"a":1}', 'json'),
    small(' {a:1}', 'sup'),
    small('a\n1\n', 'csv'),
    small('x', 'line'),
  ])
    expect(isSmallLoad(load, [])).toBe(true);
});
test('what may unfold, is long, or would become many objects is not', () => {
  const record = '{"a":1}';
  for (const load of [
    small(gzipSync(record)),
    small(gzipSync(record), 'json'),
    small(record, 'bsup'),
    small(record, 'parquet'),
    small(record, 'arrows'),
    small(' '.repeat(smallBodyBytesMax + 1)),
    small(new Uint8Array(0)),
    small(record, 'json', { pool: { ...pool, threshold: 100 } }),
  ])
    expect(isSmallLoad(load, [])).toBe(false);
  expect(isSmallLoad(small(record), ['gzip'])).toBe(false);
});
test('rows come sorted into one inline object', async () => {
  const { objects, records } = await runSmallLoad(small('{ts:3}{ts:1,a:"x"}{ts:2}', 'sup'), {
    objects: noFiles,
    readLimits: {},
  });
  const rows = await (await openObject(sourceOfBytes('x', objects[0]!.inline!))).read(0);
  expect([objects.length, records, Array.from({ length: 3 }, (_, i) => supText(valueAt(rows, i)))]).toEqual([
    1,
    3,
    ['{ts:1,a:"x"}', '{ts:2}', '{ts:3}'],
  ]);
});
test('a body without a value, or with a broken one, fails as it does in a worker', async () => {
  await expect(
    (async () => runSmallLoad(small('  ', 'json'), { objects: noFiles, readLimits: {} }))(),
  ).rejects.toMatchObject({ code: 'load-empty' });
  await expect(
    (async () => runSmallLoad(small('{"a":1}{"a":', 'json'), { objects: noFiles, readLimits: {} }))(),
  ).rejects.toMatchObject({ code: 'format-broken' });
});
test('a JSON body that is read in one go makes the very objects, or the very error, that it makes as a stream', async () => {
  const told = async (load: () => unknown): Promise<unknown> => {
    try {
      const { objects, records, bytes } = (await load()) as Awaited<ReturnType<typeof sortIntoObjects>>;
      return { objects: objects.map(({ id: _, ...rest }) => rest), records, bytes };
    } catch (error) {
      return error instanceof Error ? error.message : error;
    }
  };
  const long = 'y'.repeat(300);
  const shapes = Array.from({ length: 40 }, (_, i) => `{"f${i}":${i}}`).join('');
  const bodies = [
    '{"ts":2,"a":"x"}',
    '{"ts":3,"a":"y"}\n {"ts":1}\n{"ts":2,"a":null,"b":[1,{"c":true}]}',
    '{"ts":null}{"a":1}',
    '{"ts":12345678901234567890}{"ts":9007199254740993}{"ts":-0.5}',
    `{"ts":"${long}z"}{"ts":"${long}"}`,
    '{"a":1,"a":2}',
    '{"t\u0073":1,"é":"\ud800"}',
    '[1,"a"] 7 "s" null true',
    shapes,
    '{"ts":1}'.repeat(500),
    '{"ts":1}\n{"ts":',
    '{"ts":1}\n{"ts" 2}',
    `${shapes}x`,
    '{"ts":1e999}',
    '['.repeat(1200),
    'nul',
    '1 2 3 ',
    '{}',
  ];
  const shapeLimits = { typesMax: 30, columnsMax: 100 };
  for (const limits of [undefined, shapeLimits]) {
    for (const order of ['asc', 'desc'] as const) {
      for (const keys of [[['ts']], [['b', 'c'], ['ts']], []]) {
        for (const body of bodies) {
          const options = { keys, order, threshold: 1 << 20, objects: noFiles };
          const streamed = await told(() =>
            sortIntoObjects(formatTable.json.reader!(once(Buffer.from(body)), {}), {
              ...options,
              ...(limits && { shapeLimits: limits }),
              memoryBytesMax: Infinity,
              spill: () => noFiles,
            }),
          );
          expect(
            await told(() =>
              runSmallLoad(small(body, 'json', { pool: options }), { objects: noFiles, readLimits: limits ?? {} }),
            ),
            body,
          ).toEqual(streamed);
        }
      }
    }
  }
});
test('keys that came before leave no trace in what comes behind them', async () => {
  const load = async (body: string): Promise<string> => {
    const { objects } = await runSmallLoad(small(body, 'json'), { objects: noFiles, readLimits: {} });
    return supText(valueAt(await (await openObject(sourceOfBytes('x', objects[0]!.inline!))).read(0), 0));
  };
  for (let i = 0; i < 2500; i++)
    expect(await load(`{"k${i % 1700}":${i},"b":{"k${i}":1}}`)).toBe(`{k${i % 1700}:${i},b:{k${i}:1}}`);
});
