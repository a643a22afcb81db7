/** The Arrow schema that writers keep beside the one of a Parquet file. */
import { expect, test } from 'vitest';
import { FlatTable } from '../../../src/formats/arrow-schema/flat-read.ts';
import { readSchema } from '../../../src/formats/arrow-schema/schema-read.ts';
import { storedSchema } from '../../../src/formats/arrow-schema/stored.ts';

/** Of pl.DataFrame({'d': [timedelta(1)], 'i': pl.Series([1], dtype=pl.Int128)}), as Polars 2.1 writes it. */
const stored =
  '/////6YAAAAEAAAA8v///xQAAAAEAAEAAAAKAAsACAAKAAQA+P///wwAAAAIAAgAAAAEAAIAAAA8AAAABAAAALj///8oAAAAEAAAAAgAAAABAg' +
  'AAAAAAAPT///+AAAAAAQAAAAgACQAEAAgAAQAAAGkAAADs////MAAAACAAAAAYAAAAARIAABAAEgAEABAAEQAIAAAADAAAAAAA+v///wIABgAG' +
  'AAQAAQAAAGQA';

test('tells the types that are known, beside one that is not', () => {
  expect(storedSchema(stored)).toEqual([
    { name: 'd', type: { kind: 'duration', unit: 'us' }, nullable: true },
    { name: 'i', type: { kind: 'null' }, nullable: true },
  ]);
});
test('of a stream is refused by the name of the column whose type is not known', () => {
  const schema = FlatTable.root(Buffer.from(stored, 'base64').subarray(8)).table(2)!;
  expect(() => readSchema(schema)).toThrow('column i: integers of 128 bits');
});
