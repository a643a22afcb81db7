/** Dictionaries of an object are tried out over its first blocks; one block alone is coded once. */
import { describe, expect, test } from 'vitest';
import { ColumnDictionary } from '../../../src/lake/columns/dictionary.ts';
import { openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { types } from '../../../src/vectors/type.ts';
import { intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type BytesVector, type Vector, slice, valueAt } from '../../../src/vectors/vector.ts';

const texts = (rows: number, distinct: number): BytesVector =>
  vectorOf(Array.from({ length: rows }, (_, i) => stringValue(`value ${i % distinct}`))) as BytesVector;
const tried = (column: BytesVector): { readonly dictionary: ColumnDictionary; readonly codes: Uint32Array } => {
  const dictionary = new ColumnDictionary(types.string, 0);
  const codes = dictionary.codesOf(column)!;
  dictionary.keepTried(codes);
  dictionary.restart();
  return { dictionary, codes };
};

describe('a dictionary that was tried out over one block', () => {
  test('gives the codes of the trial when the block comes again, and then looks at what comes', () => {
    const column = texts(2000, 7);
    const { dictionary, codes } = tried(column);
    expect(dictionary.codesOf(column)).toBe(codes);
    expect({ rows: dictionary.rows, length: dictionary.length }).toEqual({ rows: 2000, length: 7 });
    expect([...dictionary.codesOf(texts(9, 9))!]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
  test('is retired, without values, where it does not pay', () => {
    const column = texts(2000, 2000);
    const { dictionary } = tried(column);
    expect(dictionary.codesOf(column)).toBeUndefined();
    expect(dictionary.length).toBe(0);
  });
});

test('a column that comes with a dictionary is written in one block as in several', async () => {
  const values = texts(9, 9);
  const codes = Uint32Array.from({ length: 3000 }, (_, i) => (i * 7) % 5);
  const rows: Vector = {
    form: 'record',
    length: 3000,
    fields: [{ name: 't', optional: false, values: { form: 'dictionary', length: 3000, codes, values } }],
  };
  for (const blockRows of [3000, 1000])
    expect(await readBack(rows, blockRows)).toEqual(Array.from(codes, (c) => `{t:"value ${c}"}`));
});

test('columns whose paths are written alike share a dictionary, in one block and in several', async () => {
  const rows = vectorOf(
    Array.from({ length: 3000 }, (_, i) =>
      recordValue([
        { name: 'a.b', value: stringValue(`left ${i % 5}`) },
        { name: 'a', value: recordValue([{ name: 'b', value: stringValue(`right ${i % 3}`) }]) },
        { name: 'id', value: stringValue(`id ${i}`) },
        { name: 'n', value: intValue(i) },
      ]),
    ),
  );
  for (const blockRows of [3000, 1000, 700]) {
    const found = await readBack(rows, blockRows);
    expect(found).toEqual(Array.from({ length: 3000 }, (_, i) => supText(valueAt(rows, i))));
  }
});

/** The rows of an object of them. */
const readBack = async (rows: Vector, blockRows: number): Promise<readonly string[]> => {
  const keys = { first: new Uint8Array(0), last: new Uint8Array(0) };
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: rows.length });
  for (let at = 0; at < rows.length; at += blockRows)
    writer.block(slice(rows, at, Math.min(at + blockRows, rows.length)), keys);
  writer.finish();
  const reader = await openObject(sourceOfBytes('object', Buffer.concat(chunks)));
  const found: string[] = [];
  for (let block = 0; block < reader.blocks.length; block++) {
    const read = await reader.read(block);
    for (let i = 0; i < read.length; i++) found.push(supText(valueAt(read, i)));
  }
  return found;
};
