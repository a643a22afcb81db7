/** Files of data objects have the id of their object: one that holds another object is told, not read. */
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/lake/ksuid.ts';
import { underId } from '../../../src/lake/objects/named.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { randomOf } from '../../support/random.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const random = randomOf(7);
const objectOf = (rows: number, named: { readonly id?: string; readonly origins?: Uint8Array } = {}): Uint8Array => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: rows });
  const record = (k: number): ReturnType<typeof recordValue> =>
    recordValue([
      { name: 'k', value: intValue(k) },
      { name: 'text', value: stringValue(random.hex(100)) },
    ]);
  writer.block(vectorOf(Array.from({ length: rows }, (_, k) => record(k))), noKeys);
  expect(writer.finish(named)).toBe(chunks.reduce((n, c) => n + c.length, 0));
  return Buffer.concat(chunks);
};
const rowsOf = (id: string, bytes: Uint8Array): number => {
  const reader = openObject(sourceOfBytes(id, bytes)) as ObjectReader;
  return reader.blocks.reduce((n, _, block) => n + (reader.read(block) as Vector).length, 0);
};

describe('an object that is a file', () => {
  test('is read under its own id alone', () => {
    const [id, other] = [newId(), newId()];
    for (const origins of [undefined, Uint8Array.of(0, 0)]) {
      const bytes = objectOf(1500, { id, ...(origins && { origins }) });
      expect(rowsOf(id, bytes)).toBe(1500);
      expect(() => rowsOf(other, bytes)).toThrow(`object ${other}: footer: these are the bytes of object ${id}`);
    }
  });
  test('can be given another id', () => {
    const [id, other] = [newId(), newId()];
    const bytes = underId(objectOf(1500, { id }), other);
    expect(rowsOf(other, bytes)).toBe(1500);
    expect(() => rowsOf(id, bytes)).toThrow(`these are the bytes of object ${other}`);
  });
  test('of an earlier version has none', () => {
    const bytes = objectOf(1500);
    expect(rowsOf(newId(), bytes)).toBe(1500);
    expect(underId(bytes, newId())).toEqual(bytes);
  });
  test('has no origins if it has none but a name', async () => {
    const id = newId();
    const reader = openObject(sourceOfBytes(id, objectOf(1500, { id }))) as ObjectReader;
    expect(await reader.origins()).toEqual([]);
  });
});

test('small objects, which are rows of tables, have no id of their own', () => {
  const bytes = objectOf(20, { id: newId() });
  expect(rowsOf(newId(), bytes)).toBe(20);
});
