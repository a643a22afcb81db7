/**
 * Decimals of columnar files: floats, and texts where no float gives the digits back; what is rounded all the same is
 * told.
 */
import fc from 'fast-check';
import { type SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { exactOf, unitsAt } from '../../../src/vectors/decimal.ts';
import { type Value, floatValue, underValue } from '../../../src/vectors/value.ts';
import { convert, readValues, written } from '../../support/formats/convert.ts';
import { lacksPython, pythonOnce } from '../../support/python.ts';

type Physical = 'INT32' | 'INT64' | 'BYTE_ARRAY' | 'FIXED_LEN_BYTE_ARRAY';
interface Column {
  readonly name: string;
  readonly physical: Physical;
  readonly precision: number;
  readonly scale: number;
  readonly integers: readonly bigint[];
}
/** A file with columns of decimals, by their integers. */
const fileOf = (columns: readonly Column[]): Uint8Array =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: columns.map(({ name, integers }) => ({ name, data: [...integers] })),
      schema: [
        { name: 'root', num_children: columns.length },
        ...columns.map(
          ({ name, physical, precision, scale }): SchemaElement => ({
            name,
            type: physical,
            converted_type: 'DECIMAL',
            repetition_type: 'REQUIRED',
            precision,
            scale,
            ...(physical === 'FIXED_LEN_BYTE_ARRAY' && { type_length: 16 }),
          }),
        ),
      ],
    }),
  );
const readWarned = async (
  bytes: Uint8Array,
  format: 'parquet' | 'arrows' = 'parquet',
): Promise<{ readonly rows: readonly (readonly unknown[])[]; readonly warnings: readonly string[] }> => {
  const warnings: string[] = [];
  const values = await readValues(bytes, format, {
    warn: (text) => {
      warnings.push(text);
    },
  });
  return { rows: values.map((v: Value) => underValue(v).data as readonly unknown[]), warnings };
};
/** A float, or the text of a long decimal. */
const digitsOf = (x: unknown): unknown => (typeof x === 'object' && x !== null ? (x as Value).data : x);

describe('decimals of Parquet', () => {
  test('are floats, and what these give back is no loss', async () => {
    const integers = [150n, -150n, 0n, 123456789012345n, 9007199254740990n, 99999999999999900n, -4n];
    const columns = (['INT64', 'BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'] as const).map(
      (physical): Column => ({ name: physical, physical, precision: 18, scale: 2, integers }),
    );
    const { rows, warnings } = await readWarned(fileOf(columns));
    expect(rows).toEqual(
      [1.5, -1.5, 0, 1234567890123.45, 90071992547409.9, 999999999999999, -0.04].map((x) => [x, x, x]),
    );
    expect(warnings).toEqual([]);
  });
  test('those that no float gives back are texts of all their digits', async () => {
    const of = (name: string, physical: Physical, scale: number, ...integers: readonly bigint[]): Column => ({
      name,
      physical,
      precision: 38,
      scale,
      integers,
    });
    const { rows, warnings } = await readWarned(
      fileOf([
        of('a', 'INT64', 2, 1n, 1234567890123456789n, 1234567890123456788n),
        of('b', 'FIXED_LEN_BYTE_ARRAY', 2, -12345678901234567890123456789012345678n, 5n, -7n),
        of('c', 'BYTE_ARRAY', 30, 1n, -10000000000000000000000000000001n, 7n),
        of('d', 'INT64', 0, 9007199254740993n, 1n, 1n),
        of('e', 'INT32', 2, 1n, 2n, 2147483647n),
      ]),
    );
    expect(rows.map((row) => row.map(digitsOf))).toEqual([
      [0.01, '-123456789012345678901234567890123456.78', 1e-30, '9007199254740993', 0.01],
      ['12345678901234567.89', 0.05, '-10.000000000000000000000000000001', 1, 0.02],
      ['12345678901234567.88', -0.07, 7e-30, 1, 21474836.47],
    ]);
    expect(warnings).toEqual([]);
  });
  test('all of them keep their digits, and go out as they came', async () => {
    const integer = fc.oneof(
      fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
      fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n }),
      fc.tuple(fc.integer(), fc.integer({ min: 0, max: 27 })).map(([x, zeros]) => BigInt(x) * 10n ** BigInt(zeros)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(integer, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: 38 }),
        fc.constantFrom<Physical>('BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'),
        async (integers, scale, physical) => {
          const bytes = fileOf([{ name: 'x', physical, precision: 38, scale, integers }]);
          const { rows, warnings } = await readWarned(bytes);
          const read = rows.map(([x]) => exactOf(typeof x === 'number' ? floatValue(x) : (x as Value))!);
          expect(read.map((x) => unitsAt(x, scale))).toEqual(integers);
          expect(warnings).toEqual([]);
          for (const format of ['parquet', 'arrows'] as const) {
            const again = await readWarned(written(await readValues(bytes, 'parquet'), format), format);
            // Whole numbers of more than 18 digits are records of words in Arrow.
            if (format === 'parquet' || scale > 0) expect(again.rows).toEqual(rows);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
  test('those of 256 bits that floats give back go out as they came', async () => {
    const integer = fc
      .tuple(fc.integer(), fc.integer({ min: 0, max: 66 }))
      .map(([x, zeros]) => BigInt(x) * 10n ** BigInt(zeros));
    await fc.assert(
      fc.asyncProperty(
        fc.array(integer, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 76 }),
        async (integers, scale) => {
          const bytes = fileOf([{ name: 'x', physical: 'BYTE_ARRAY', precision: 76, scale, integers }]);
          const { rows } = await readWarned(bytes);
          for (const format of ['parquet', 'arrows'] as const) {
            const again = await readWarned(written(await readValues(bytes, 'parquet'), format), format);
            expect(again.rows).toEqual(rows);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe.skipIf(lacksPython('pyarrow'))('of pyarrow', () => {
  const made = pythonOnce(String.raw`
import pyarrow as pa, pyarrow.parquet as pq, decimal
D = decimal.Decimal
def write(name, table):
    with pa.OSFile(name, 'wb') as f:
        with pa.ipc.new_stream(f, table.schema) as w: w.write_table(table)
d = pa.array([D('1.50'), None, D('12345678901234567.89')], pa.decimal128(30, 2))
t = pa.table({'a': d, 'b': pa.array([D('7'), None, D('8')], pa.decimal128(30, 0)), 'l': pa.array([[D('1.50')], [], None], pa.list_(pa.decimal128(30, 2)))})
write('d.arrows', t)
m = pa.array([[('b', 1), ('a', 2), ('b', 3), ('b', None)], None, [('a', 4)]], pa.map_(pa.string(), pa.int64()))
write('m.arrows', pa.table({'m': m}))
pq.write_table(pa.table({'m': m}), 'm.parquet', row_group_size=1)
write('wide.arrows', pa.table({'w': pa.array([D('123456789012345678901234567890123456789012.34')] * 2, pa.decimal256(76, 2))}))
pq.write_table(t, 'd.parquet', row_group_size=1)
`);
  test('of a key that a map has several times the last value is kept, which is told once', async () => {
    for (const format of ['arrows', 'parquet'] as const) {
      const bytes = made().file(`m.${format}`);
      const { output } = await convert(bytes, { from: format, to: 'json' });
      expect(output).toBe('{"m":{"a":2,"b":null}}\n{"m":null}\n{"m":{"a":4}}\n');
      const { warnings } = await readWarned(bytes, format);
      expect(warnings).toEqual([`${format}: column m: a map has a key several times, and keeps the last value of it`]);
    }
  });
  test('those of more than 38 digits are rounded, which is told once', async () => {
    expect((await readWarned(made().file('wide.arrows'), 'arrows')).warnings).toEqual([
      'arrows: column w: decimal(76,2) is kept as float64, which does not hold all of its digits (first: 123456789012345678901234567890123456789012.34)',
    ]);
  });
  test('Arrow: they are what those of Parquet are', async () => {
    const { rows, warnings } = await readWarned(made().file('d.arrows'), 'arrows');
    expect([rows, warnings]).toEqual([
      (await readWarned(made().file('d.parquet'))).rows.map((row) => [row[0], expect.anything(), row[2]]),
      [],
    ]);
  });
});
