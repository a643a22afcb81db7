/**
 * Large pieces in binary formats and content codings: wide, long, deep, of many shapes, and small ones that expand.
 * Columnar ones are pyarrow's, where Python has it.
 */
import { type Duplex, Readable } from 'node:stream';
import { createBrotliCompress, createDeflate, createGzip } from 'node:zlib';
import { type FormatName, createWriter } from '../../../src/formats/formats.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { lacksPython, python } from '../../support/python.ts';
import type { Random } from '../../support/random.ts';
import type { LargeBodies, LargeBody } from './types.ts';

const parquet = 'application/x-parquet';
const arrows = 'application/vnd.apache.arrow.stream';
const csup = 'application/x-csup';
const bsup = 'application/x-bsup';
const json = 'application/json';

/** Some part of a size, so that bodies of one name differ. */
const some = (random: Random, most: number): number => Math.max(1, Math.floor((most * (50 + random.below(51))) / 100));

/** What a script makes of `n` with pyarrow, as the file `f`. */
const made = (script: string): Buffer => {
  const run = python(`import pyarrow as pa, pyarrow.parquet as pq, pyarrow.ipc as ipc, random\n${script}`);
  try {
    return run.file('f');
  } finally {
    run.close();
  }
};
const writeParquet = 'pq.write_table(t, "f", row_group_size=1 << 30';
const writeArrows = 'w = ipc.new_stream("f", t.schema); w.write_table(t); w.close()';
const eightColumns = (n: number): string => `r = random.Random(${n})
d = {f"c{k}": [None if i % 97 == k else r.random() for i in range(${n})] for k in range(4)}
d |= {"k": [i * 7919 % ${n} for i in range(${n})], "s": [f"text {r.randrange(50000)}" for i in range(${n})], "t": [f"t{i % 100}" for i in range(${n})], "b": [i % 3 == 0 for i in range(${n})]}
t = pa.table(d)`;

interface Tables {
  readonly [name: string]: readonly [
    what: string,
    most: number,
    rows: (n: number) => number,
    table: (n: number) => string,
    parquet?: string,
    arrows?: string,
  ];
}
/** The first number is that of a body of size 1. */
const tables: Tables = {
  nullable: ['rows of eight nullable columns', 1_000_000, (n) => n, eightColumns],
  wide: [
    'columns of 100,000 rows',
    200,
    () => 100_000,
    (n) =>
      `r = random.Random(${n})\nc = [r.random() for _ in range(100000)]\nt = pa.table({f"c{k}": c[k:] + c[:k] for k in range(${n})})`,
    ', use_dictionary=False)',
  ],
  'many columns': [
    'columns of 2,000 rows',
    4000,
    () => 2000,
    (n) => `t = pa.table({f"c{k}": pa.array(range(0, 2000 * (k + 1), k + 1), pa.int64()) for k in range(${n})})`,
  ],
  'one text often': [
    'rows of one text of 1 MB',
    2000,
    (n) => n,
    (n) => `t = pa.table({"s": pa.array(["x" * 1000000] * ${n}).dictionary_encode()})`,
  ],
  'packed pages': [
    'rows of 1 MB of zeros',
    400,
    (n) => n,
    (n) => `t = pa.table({"s": pa.array(["0" * 1000000] * ${n}, pa.large_string())})`,
    ', use_dictionary=False, compression="zstd")',
    'w = ipc.new_stream("f", t.schema, options=ipc.IpcWriteOptions(compression="zstd")); w.write_table(t, 50); w.close()',
  ],
  'one long list': [
    'numbers in one list',
    20_000_000,
    () => 1,
    (n) =>
      `v = pa.array(range(${n}), pa.int32())\nt = pa.table({"l": pa.ListArray.from_arrays(pa.array([0, ${n}], pa.int32()), v)})`,
  ],
  lists: [
    'rows of lists of 500 numbers',
    40_000,
    (n) => n,
    (n) =>
      `v = pa.array(range(${n} * 500), pa.int32())\nt = pa.table({"l": pa.ListArray.from_arrays(pa.array(range(0, ${n} * 500 + 1, 500), pa.int32()), v)})`,
  ],
  deep: [
    'rows of structs and lists in each other, 40 deep',
    50_000,
    (n) => n,
    (n) => `a = pa.array(range(${n}), pa.int64())
for i in range(40): a = pa.StructArray.from_arrays([a], ["f"]) if i % 2 else pa.ListArray.from_arrays(pa.array(range(${n} + 1), pa.int32()), a)
t = pa.table({"k": range(${n}), "d": a})`,
  ],
  nulls: [
    'rows of twenty columns without a value',
    10_000_000,
    (n) => n,
    (n) => `t = pa.table({f"c{k}": pa.nulls(${n}, pa.int64()) for k in range(20)})`,
    ')',
    'w = ipc.new_stream("f", t.schema, options=ipc.IpcWriteOptions(compression="zstd")); w.write_table(t); w.close()',
  ],
};
const columnar: LargeBodies = lacksPython('pyarrow')
  ? {}
  : Object.fromEntries(
      Object.entries(tables).flatMap(([name, [what, most, rows, table, toParquet = ')', toArrows = writeArrows]]) => {
        const body =
          (type: string, write: string) =>
          (random: Random, size: number): LargeBody => {
            const n = some(random, most * size);
            return { what: `${n} ${what}`, type, rows: rows(n), chunks: () => [made(`${table(n)}\n${write}`)] };
          };
        return [
          [`parquet ${name}`, body(parquet, writeParquet + toParquet)],
          [`arrows ${name}`, body(arrows, toArrows)],
        ] as const;
      }),
    );

/** Rows in SUP, written in one of our formats. */
function* written(
  format: FormatName,
  batches: Iterable<string>,
  options: { readonly bsupFrameBytes?: number } = {},
): Generator<Uint8Array> {
  const writer = createWriter(format, options);
  for (const batch of batches) yield* writer.write(vectorOf(parseSupValues(batch)));
  yield* writer.end();
}
function* times(count: number, text: (i: number) => string): Generator<string> {
  for (let i = 0; i < count; i++) yield text(i);
}
const list = (count: number, text: (i: number) => string): string => [...times(count, text)].join(',');

/** What our own writers make: most, rows, and the batches. */
const rows: Readonly<
  Record<
    string,
    readonly [what: string, most: number, rows: (n: number) => number, batches: (n: number) => Iterable<string>]
  >
> = {
  wide: [
    'fields of 500 records',
    4000,
    () => 500,
    (n) => times(5, (b) => [...times(100, (i) => `{k:${b * 100 + i},${list(n, (f) => `f${f}:${f * i}`)}}`)].join('\n')),
  ],
  'long text': [
    'characters of one text',
    40_000_000,
    () => 2,
    (n) => [`{k:1,s:"${'long '.repeat(n / 5)}"}`, '{k:2,s:"short"}'],
  ],
  'long texts': [
    'texts of 1 MB',
    200,
    (n) => n,
    (n) => times(n, (i) => `{k:${(i * 7) % n},s:"${'long '.repeat(200_000)}"}`),
  ],
  'one long list': ['numbers in one list', 2_000_000, () => 1, (n) => [`{k:1,l:[${list(n, (i) => `${i * 3}`)}]}`]],
  deep: [
    'records, 400 deep',
    1000,
    (n) => n,
    (n) => times(n, (i) => `{k:${i},d:${'{a:['.repeat(200)}${i}${']}'.repeat(200)}}`),
  ],
  shapes: ['shapes', 8000, (n) => n * 2, (n) => times(2, () => [...times(n, (i) => `{k:${i},f${i}:${i}}`)].join('\n'))],
  constant: [
    'records with the same text of 100 kB',
    3000,
    (n) => n,
    (n) =>
      times(Math.ceil(n / 100), (b) =>
        [...times(Math.min(100, n - b * 100), () => `{s:"${'same '.repeat(20_000)}"}`)].join('\n'),
      ),
  ],
};
const ours: LargeBodies = Object.fromEntries(
  Object.entries(rows).flatMap(([name, [what, most, count, batches]]) => {
    const body =
      (format: FormatName, type: string, options = {}) =>
      (random: Random, size: number): LargeBody => {
        const n = some(random, most * size);
        return { what: `${n} ${what}`, type, rows: count(n), chunks: () => written(format, batches(n), options) };
      };
    return [
      [`csup ${name}`, body('csup', csup)],
      [`bsup ${name}`, body('bsup', bsup)],
      [`bsup ${name}, in one frame`, body('bsup', bsup, { bsupFrameBytes: 1 << 30 })],
    ] as const;
  }),
);

/** Rows that compress to almost nothing. */
function* equalRows(count: number): Generator<Buffer> {
  const row = `{"k":1,"s":"${'same '.repeat(200)}"}\n`;
  for (let left = count; left > 0; left -= 1000) yield Buffer.from(row.repeat(Math.min(1000, left)));
}
function* longText(count: number): Generator<Buffer> {
  yield Buffer.from('{"k":1,"s":"');
  for (let left = count; left > 0; left -= 1 << 20) yield Buffer.alloc(Math.min(1 << 20, left), 0x61);
  yield Buffer.from('"}\n');
}
const coders: Readonly<Record<string, () => Duplex>> = {
  gzip: () => createGzip(),
  deflate: () => createDeflate(),
  br: () => createBrotliCompress(),
};
const coded: LargeBodies = Object.fromEntries(
  Object.entries(coders).flatMap(([coding, coder]) => {
    const body =
      (what: string, most: number, of: (n: number) => Iterable<Buffer>, isRows: boolean) =>
      (random: Random, size: number): LargeBody => {
        const n = some(random, most * size);
        return {
          what: `${n} ${what}`,
          type: json,
          coding,
          ...(isRows && { rows: n }),
          chunks: () => Readable.from(of(n)).pipe(coder()),
        };
      };
    return [
      [`${coding} of equal rows`, body('rows of 1 kB', 400_000, equalRows, true)],
      [`${coding} of one text`, body('characters of one text', 400_000_000, longText, false)],
    ] as const;
  }),
);

/** All of them. */
export const largeBinaries: LargeBodies = { ...columnar, ...ours, ...coded };
