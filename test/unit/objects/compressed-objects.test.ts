/** Objects that lie still: segments are compressed where that pays, and read as if they were not. */
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { codecs, compress, expanded, expandedBytesMax, isExpansion } from '../../../src/lake/columns/compression.ts';
import { checksum } from '../../../src/lake/columns/checksum.ts';
import { compressedVersion, trailerLength } from '../../../src/lake/objects/format.ts';
import { type ObjectReader, openObject, projectionOf, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, arrayValue, integer, intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, slice, valueAt } from '../../../src/vectors/vector.ts';
import { randomOf } from '../../support/random.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const id = 'c'.repeat(40);

const encode = (
  blocks: readonly Vector[],
  { compressed = true, rowsExpected = 100_000 }: { compressed?: boolean; rowsExpected?: number } = {},
): Uint8Array => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected, compressed });
  for (const block of blocks) writer.block(block, noKeys);
  expect(writer.finish()).toBe(chunks.reduce((n, c) => n + c.length, 0));
  return new Uint8Array(Buffer.concat(chunks));
};
const open = (bytes: Uint8Array): ObjectReader => openObject(sourceOfBytes(id, bytes)) as ObjectReader;
const texts = (reader: ObjectReader): string[] =>
  reader.blocks.flatMap((_, k) => {
    const rows = reader.read(k) as Vector;
    return Array.from({ length: rows.length }, (_, i) => supText(valueAt(rows, i)));
  });
/** The version that the footer of an object says. */
const versionOf = (bytes: Uint8Array): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return bytes[bytes.length - trailerLength - view.getUint32(bytes.length - trailerLength, true)]!;
};

/** Rows with columns of every encoding: texts alike and unlike, lists, numbers of few and of many values, times. */
const someRows = (count: number, seed: number): Value[] => {
  const random = randomOf(seed);
  return Array.from({ length: count }, (_, i) =>
    recordValue([
      { name: 'id', value: intValue(i * 7919) },
      { name: 'path', value: stringValue(`/articles/${random.below(1000)}/comments/${i}?page=${random.below(9)}`) },
      { name: 'city', value: stringValue(random.pick(['Oslo', 'Rome', 'Wien'])) },
      { name: 'noise', value: stringValue(random.hex(24)) },
      { name: 'rare', value: intValue(random.below(50) === 0 ? random.below(1 << 16) : 0) },
      { name: 'any', value: intValue(random.below(2 ** 31)) },
      { name: 'score', value: { type: types.float64, data: random.below(4) / 3 } },
      { name: 'at', value: { type: types.time, data: integer(1_700_000_000_000_000_000n + BigInt(i) * 1_000n) } },
      { name: 'tags', value: arrayValue([stringValue(`tag ${i % 7}`), stringValue('all')]) },
      ...(random.below(3) === 0 ? [{ name: 'note', value: stringValue('as before '.repeat(random.below(9))) }] : []),
    ]),
  );
};

describe('compressed objects', () => {
  const values = someRows(3000, 7);
  const rows = vectorOf(values);
  const blocks = [slice(rows, 0, 1500), slice(rows, 1500, 3000)];
  const wanted = values.map((v) => supText(v));
  const plain = encode(blocks, { compressed: false });
  const small = encode(blocks);

  test('hold the same rows in less than two thirds of the room; what is not compressed is as it was', () => {
    expect(texts(open(small))).toEqual(wanted);
    expect(small.length).toBeLessThan(plain.length * 0.67);
    expect(versionOf(small)).toBe(compressedVersion);
    expect(versionOf(plain)).toBeLessThan(compressedVersion);
    expect([open(small).isCompressed, open(plain).isCompressed]).toEqual([true, false]);
  });

  test('only the parts of columns that are asked for are read', () => {
    const reader = open(small);
    const footer = reader.bytesRead;
    const read = reader.read(0, projectionOf([['city']])) as Vector;
    expect(supText(valueAt(read, 0))).toBe(`{city:${/city:("\w+")/.exec(wanted[0]!)![1]}}`);
    expect(reader.bytesRead - footer).toBeLessThan(8192);
  });

  test('objects of few rows stay as they were', () => {
    const few = encode([slice(rows, 0, 500)], { rowsExpected: 500 });
    expect(open(few).isCompressed).toBe(false);
    expect(versionOf(few)).toBeLessThan(compressedVersion);
  });

  test('a changed byte is named by its block or dictionary, wherever it is', () => {
    let found = 0;
    const random = randomOf(3);
    for (let n = 0; n < 24; n++) {
      const broken = small.slice();
      broken[random.below(broken.length)]! ^= 1 << random.below(8);
      try {
        expect(texts(open(broken))).toEqual(wanted);
      } catch (error) {
        expect(error).toBeInstanceOf(LakeError);
        expect((error as LakeError).message).toMatch(/^object c{40}: (block \d|dictionary \d|footer|trailer): /);
        found++;
      }
    }
    expect(found).toBeGreaterThan(18);
  });

  test('a footer that names no codec, or more bytes than there may be, is refused; nothing is expanded beyond it', () => {
    const deflate = { codec: codecs.deflate, length: 9000 };
    expect(isExpansion(deflate, 100)).toBe(true);
    expect(isExpansion({ ...deflate, codec: 3 }, 100)).toBe(false);
    expect(isExpansion({ ...deflate, codec: 0 }, 100)).toBe(false);
    expect(isExpansion(deflate, 9000)).toBe(false);
    expect(isExpansion({ ...deflate, length: expandedBytesMax + 1 }, 100)).toBe(false);
    const bomb = deflateRawSync(Buffer.alloc(1 << 20));
    expect(() => expanded(bomb, deflate)).toThrow('9000');
    expect(() => expanded(bomb, { ...deflate, length: (1 << 20) + 1 })).toThrow('deflate: 1048576 bytes, not 1048577');
    expect(() => expanded(bomb.subarray(0, 20), { ...deflate, length: 1 << 20 })).toThrow();
    expect(() => expanded(bomb, { codec: codecs.zstd, length: 1 << 20 })).toThrow('zstd');
  });

  test('a sound checksum over a segment that does not expand is a fault of its block', () => {
    // The footer tells one byte more than the segment has: it is rewritten with its checksum.
    const noise = 'x'.repeat(5000);
    const object = encode([vectorOf([stringValue(noise), stringValue(`${noise}y`)])]);
    const footerAt =
      object.length - trailerLength - new DataView(object.buffer).getUint32(object.length - trailerLength, true);
    const footer = object.subarray(footerAt, object.length - trailerLength);
    const told = Buffer.from(footer).indexOf(Buffer.of((10_001 & 0x7f) | 0x80, 10_001 >> 7));
    expect(told).toBeGreaterThan(0);
    footer[told]!++;
    new DataView(object.buffer).setUint32(object.length - trailerLength + 4, checksum(footer), true);
    expect(() => texts(open(object))).toThrow(/^object c{40}: block 0: .*(not|damaged)/);
  });
});

test('what does not get smaller is not compressed, nor what is short', () => {
  const random = randomOf(11);
  const noise = Uint8Array.from({ length: 70_000 }, () => random.below(256));
  expect(compress(noise, 'texts')).toBeUndefined();
  expect(compress(noise.subarray(0, 9000), 'texts')).toBeUndefined();
  expect(compress(new Uint8Array(2000), 'texts')).toBeUndefined();
  // Digits: texts of a fifth less are worth it, numbers of fixed width are not.
  const letters = Uint8Array.from({ length: 70_000 }, () => 97 + random.below(40));
  const small = compress(letters, 'texts')!;
  expect(expanded(small.bytes, { codec: small.codec, length: letters.length })).toEqual(letters);
  expect(compress(letters, 'numbers')).toBeUndefined();
});
