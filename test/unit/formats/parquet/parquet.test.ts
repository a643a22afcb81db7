/**
 * Parquet files: what is written comes back, also through hyparquet; what parquetjs-lite writes loads; damage ends in
 * an error.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWriter, openReader } from '../../../../src/formats/formats.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import type { Value } from '../../../../src/vectors/value.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { valueAt } from '../../../../src/vectors/vector.ts';
import { expectDamageEnds, expectSettled, trip } from '../../../support/formats/columns.ts';
import { someRecords } from '../../../support/formats/column-values.ts';
import { convert, pieces, readValues, written } from '../../../support/formats/convert.ts';
import { fuzzMsMax, fuzzRuns } from '../../../support/formats/mutations.ts';
import { seedOf } from '../../../support/random.ts';

describe('what is written comes back', () => {
  test('records of any type that Parquet has', async () => {
    await fc.assert(
      fc.asyncProperty(someRecords({ parquet: true }), async (values) => {
        expect(await readValues(written(values, 'parquet'), 'parquet')).toEqual(values);
      }),
      { numRuns: 700, seed: seedOf(31) },
    );
  });
  test('records of any type at all settle after one trip', async () => {
    await expectSettled({
      format: 'parquet',
      seed: seedOf(32),
      refused:
        /parquetio: unsupported type: (empty record|map with null keys|not implemented: support for (DURATION|DENSE_UNION)$)/,
    });
  });
  test('rows of several pages and row groups, with and without a dictionary', async () => {
    const text = Array.from(
      { length: 150_000 },
      (_, i) =>
        `{a:${i},b:${i % 3 ? `"${i % 100}"` : 'null'}::(string|null),c:${i % 7 ? `[${i},${i + 1}]` : '[]::[int64]'},d:"${i}"}`,
    ).join('\n');
    const values = parseSupValues(text);
    const bytes = written(values, 'parquet');
    const back: Value[] = [];
    const lengths: number[] = [];
    for await (const batch of await openReader('parquet', pieces(bytes, 1 << 16))) {
      lengths.push(batch.length);
      for (let i = 0; i < batch.length; i++) back.push(valueAt(batch, i));
    }
    expect(Math.max(...lengths)).toBe(4096);
    expect(back.length).toBe(values.length);
    expect(back.findIndex((v, i) => supText(v) !== supText(values[i]!))).toBe(-1);
    const { row_groups } = parquetMetadata(new Uint8Array(bytes));
    expect(row_groups.map((g) => Number(g.num_rows))).toEqual([65_536, 65_536, 18_928]);
    expect(row_groups[0]!.columns.map((c) => c.meta_data!.encodings.includes('RLE_DICTIONARY'))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(row_groups[0]!.columns.map((c) => c.meta_data!.codec)).toEqual(['SNAPPY', 'SNAPPY', 'SNAPPY', 'SNAPPY']);
    const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer as ArrayBuffer });
    expect(rows.length).toBe(150_000);
    expect([rows[0], rows[1], rows[149_999]]).toEqual([
      { a: 0n, b: null, c: [], d: '0' },
      { a: 1n, b: '1', c: [1n, 2n], d: '1' },
      { a: 149_999n, b: '99', c: [149_999n, 150_000n], d: '149999' },
    ]);
  }, 60_000);
  test('columns say the least and the greatest of their values, where none is NaN', () => {
    const bytes = written(
      parseSupValues(
        '{i:3,u:18446744073709551615::uint64,f:1.5,g:1.5,s:"b",n:null::(int64|null)}\n{i:-7,u:1::uint64,f:NaN,g:-0.,s:"é",n:5::(int64|null)}',
      ),
      'parquet',
    );
    const statistics = parquetMetadata(new Uint8Array(bytes)).row_groups[0]!.columns.map(
      (c) => c.meta_data!.statistics!,
    );
    expect(statistics.map((s) => [s.min_value, s.max_value, s.null_count])).toEqual([
      [-7n, 3n, 0n],
      [1n, 18446744073709551615n, 0n],
      [undefined, undefined, 0n],
      [-0, 1.5, 0n],
      ['b', 'é', 0n],
      [5n, 5n, 1n],
    ]);
  });
});

describe('types that change on the way', () => {
  for (const [from, to] of [
    [
      '{t:2024-01-01T00:00:00.123456789Z,ip:1.2.3.4,st:|[1]|,o:null::(int64|null),e:"x"::enum(x),er:error("q"),nm:5::=foo,d:2024-01-01T00:00:00Z::=arrow_date32}',
      '{t:2024-01-01T00:00:00.123456789Z,ip:"1.2.3.4",st:[1],o:null::(int64|null),e:"x",er:"error(\\"q\\")",nm:5,d:2024-01-01T00:00:00Z::=arrow_date32}\n',
    ],
    ['{a?:1}\n{a?:_::int64}', '{a:1::(int64|null)}\n{a:null::(int64|null)}\n'],
    ['{a:1970-01-01T00:00:05Z::=arrow_time32_s}', '{a:1970-01-01T00:00:05Z::=arrow_time32_ms}\n'],
    ['{a:["x",null]}', '{a:["x",null]}\n'],
  ])
    test(from!, async () => {
      expect(await trip(from!, 'parquet')).toBe(to);
    });
});

describe('what cannot be written', () => {
  for (const [from, error] of [
    ['{a:1}\n{b:2}', "parquetio: encountered multiple types (consider 'fuse'): {a:int64} and {b:int64}"],
    ['1', 'parquetio: not a record: 1'],
    ['{}', 'parquetio: unsupported type: empty record'],
    ['{a:{}}', 'parquetio: unsupported type: empty record'],
    ['{a:1s}', 'parquetio: unsupported type: not implemented: support for DURATION'],
    ['{a:1::(int64|string)}', 'parquetio: unsupported type: not implemented: support for DENSE_UNION'],
    ['{a:[1]::=arrow_fixed_size_list_2}', 'parquetio: value of 1 items in a column of 2'],
  ])
    test(`${from!.replace('\n', ' ')}: ${error}`, async () => {
      expect((await convert(from!, { from: 'sup', to: 'parquet' })).error).toBe(error);
    });
  test('no rows are a file all the same', async () => {
    expect(written([], 'parquet').length).toBeGreaterThan(0);
    expect(await readValues(written([], 'parquet'), 'parquet')).toEqual([]);
    expect(await readValues(written([], 'parquet'), 'auto')).toEqual([]);
  });
});

describe('the file', () => {
  const one = written(parseSupValues('{a:1}\n{a:2}'), 'parquet');
  test('is detected by its magic bytes', async () => {
    expect(await convert(one, { from: 'auto', pieceBytes: 3 })).toEqual({ output: '{a:1}\n{a:2}\n', error: '' });
  });
  test('beyond the limit is refused', async () => {
    expect((await convert(one, { from: 'parquet', read: { parquetFileBytesMax: 100 } })).error).toBe(
      'parquet: file: more than 100 bytes (option -parquet.file.max)',
    );
  });
  for (const [bytes, error] of [
    ['', 'parquet: file too small (size=0)'],
    ['PAR1 is how this begins', 'parquet: invalid magic bytes, either a corrupted file or not parquet'],
    ['PAR1 and an end\0\0\0\0PAR1', 'parquet: table of contents: damaged'],
    ['PAR1 and a key\0\0\0\0PARE', 'parquet: encrypted file'],
  ])
    test(`${JSON.stringify(bytes)}: ${error}`, async () => {
      expect((await convert(Buffer.from(bytes!), { from: 'parquet' })).error).toContain(error!.slice(0, 40));
    });
});

/** What is used of parquetjs-lite, which has no types. */
interface Peer {
  readonly ParquetSchema: new (fields: Readonly<Record<string, object>>) => object;
  readonly ParquetWriter: {
    openFile(
      schema: object,
      path: string,
      options?: object,
    ): Promise<{ appendRow(row: object): Promise<void>; close(): Promise<void> }>;
  };
}
test('files of parquetjs-lite load', async () => {
  const peer = (await import('parquetjs-lite' as string)) as { readonly default: Peer };
  const { ParquetSchema, ParquetWriter } = peer.default;
  const directory = mkdtempSync(join(tmpdir(), 'parquet-'));
  try {
    for (const compression of ['UNCOMPRESSED', 'GZIP', 'SNAPPY']) {
      for (const useDataPageV2 of [true, false]) {
        const schema = new ParquetSchema({
          name: { type: 'UTF8', compression },
          quantity: { type: 'INT64', optional: true, compression },
          price: { type: 'DOUBLE', compression },
          sold: { type: 'BOOLEAN', compression },
          date: { type: 'TIMESTAMP_MILLIS', compression },
          tags: { type: 'UTF8', repeated: true, compression },
          stock: { repeated: true, fields: { at: { type: 'UTF8', compression }, n: { type: 'INT32', compression } } },
          size: { optional: true, fields: { w: { type: 'FLOAT', compression } } },
        });
        const path = join(directory, `${compression}-${useDataPageV2}.parquet`);
        const writer = await ParquetWriter.openFile(schema, path, { useDataPageV2, rowGroupSize: 2 });
        await writer.appendRow({
          name: 'apples',
          quantity: 10,
          price: 2.5,
          sold: true,
          date: new Date(1.6e12),
          tags: ['a', 'b'],
          stock: [
            { at: 'x', n: 1 },
            { at: 'y', n: 2 },
          ],
          size: { w: 1.5 },
        });
        await writer.appendRow({ name: 'é', price: -1, sold: false, date: new Date(0), tags: [], stock: [] });
        await writer.appendRow({
          name: '',
          quantity: 7,
          price: 0,
          sold: true,
          date: new Date(-1),
          tags: ['c'],
          stock: [{ at: 'z', n: 3 }],
        });
        await writer.close();
        expect(await convert(readFileSync(path), { from: 'auto' }), path).toEqual({
          output:
            `{name:"apples",quantity:10::(int64|null),price:2.5,sold:true,date:2020-09-13T12:26:40Z::=arrow_timestamp_ms,tags:["a","b"],stock:[{at:"x",n:1::int32},{at:"y",n:2::int32}],size:{w:1.5::float32}::({w:float32}|null)}
{name:"é",quantity:null::(int64|null),price:-1.,sold:false,date:1970-01-01T00:00:00Z::=arrow_timestamp_ms,tags:[]::[string],stock:[]::[{at:string,n:int32}],size:null::({w:float32}|null)}
{name:"",quantity:7::(int64|null),price:0.,sold:true,date:1969-12-31T23:59:59.999Z::=arrow_timestamp_ms,tags:["c"],stock:[{at:"z",n:3::int32}],size:null::({w:float32}|null)}
`.replaceAll('::({w:float32}|null)', '::(null|{w:float32})'),
          error: '',
        });
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test(`${fuzzRuns} damaged files end in values or an error`, () => expectDamageEnds('parquet', 33), fuzzMsMax);

test('pages and row groups of long texts end by their bytes', () => {
  const text = 'x'.repeat(200_000);
  const v = vectorOf(parseSupValues(Array.from({ length: 200 }, (_, k) => `{k:${k},s:"${k}${text}"}`).join('\n')));
  const writer = createWriter('parquet', {});
  const pieces = [...writer.write(v), ...writer.end()];
  const groups = parquetMetadata(new Uint8Array(Buffer.concat(pieces)).buffer).row_groups;
  const rows = groups.map((group) => Number(group.num_rows));
  const rawBytes = groups.map((group) => Number(group.total_byte_size));
  expect([rows.reduce((n, r) => n + r, 0), Math.max(...rawBytes) <= 25 << 20, rows.length]).toEqual([200, true, 2]);
  // Bounds so long are no help to a reader; those of short values are there.
  expect(
    groups.map(({ columns }) =>
      columns.map(({ meta_data }) => [meta_data?.statistics?.min_value, meta_data?.statistics?.null_count]),
    ),
  ).toEqual(
    [0, 125].map((first) => [
      [BigInt(first), 0n],
      [undefined, 0n],
    ]),
  );
  // Packed, a text like these is a twentieth: a page of all rows of a group would be more than a megabyte.
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(100_000);
});
