/** Objects of a few rows: short segments are made another way than long ones, and are the same bytes. */
import { expect, test } from 'vitest';
import { checksum } from '../../../src/lake/columns/checksum.ts';
import { encodeBlock } from '../../../src/lake/columns/encode.ts';
import { TypeTable } from '../../../src/lake/columns/layout.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, flatten, take } from '../../../src/vectors/vector.ts';

const bytesOf = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 0xff);

/** What the checksums of stored objects are, by the length of what they are of. */
const known = [
  [0, 0x02cc5d05],
  [1, 0x3892f731],
  [3, 0x9315162c],
  [4, 0xe2d4abe2],
  [15, 0x4479cda1],
  [16, 0xf7769e15],
  [17, 0x6b98075a],
  [31, 0xd0f17f79],
  [60, 0xfa5256ac],
  [63, 0xc943afdb],
  [64, 0x56b99d66],
  [65, 0xecd45932],
  [100, 0xed7fe380],
] as const;
test.each(known)('the checksum of %i bytes, wherever they lie', (length, expected) => {
  expect(checksum(bytesOf(length))).toBe(expected);
  const elsewhere = new Uint8Array(length + 16).fill(0xff);
  for (const at of [1, 4, 7]) {
    elsewhere.set(bytesOf(length), at);
    expect(checksum(elsewhere.subarray(at, at + length)), `at byte ${at}`).toBe(expected);
  }
});

const encoded = (batch: Vector): readonly string[] => {
  const { directory, data } = encodeBlock(batch, { types: new TypeTable(), dictionaries: new Map() }, false);
  return [directory, ...data].map((bytes) => Buffer.from(bytes).toString('hex'));
};
test.each(['short', 'long '.repeat(100)])('a column that looks one text up is stored as its rows are', (text) => {
  const values = vectorOf([stringValue(text)]);
  const column: Vector = { form: 'dictionary', length: 10, codes: new Uint32Array(10), values };
  const order = Uint32Array.from({ length: 10 }, (_, i) => 9 - i);
  const rows = encoded(flatten(column));
  expect(encoded(column)).toEqual(rows);
  expect(encoded(take(column, order))).toEqual(rows);
  expect(take(column, order.subarray(0, 3))).toMatchObject({ length: 3, codes: new Uint32Array(3) });
});

test('blocks of the same layout have one, those of another have their own', async () => {
  const rows = (name: string): Vector => vectorOf([1, 2].map((n) => recordValue([{ name, value: intValue(n) }])));
  const chunks: Uint8Array[] = [];
  const keys = { first: new Uint8Array(0), last: new Uint8Array(0) };
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: 8 });
  for (const name of ['a', 'b', 'a', 'b']) writer.block(rows(name), keys);
  writer.finish();
  const object = await openObject(sourceOfBytes('object', Buffer.concat(chunks)));
  const layouts = object.blocks.map((block) => (block as typeof block & { readonly layout: unknown }).layout);
  expect(layouts[0]).toBe(layouts[2]);
  expect(layouts[1]).toBe(layouts[3]);
  expect(layouts[0]).not.toEqual(layouts[1]);
});
