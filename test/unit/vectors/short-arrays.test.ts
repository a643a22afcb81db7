/** Short arrays share chunks, and nothing else. */
import { expect, test } from 'vitest';
import { newBytes, newFloats, newSigned, newUnsigned, newViewed, newWords } from '../../../src/vectors/short-arrays.ts';

const makers = {
  floats: newFloats,
  words: newWords,
  bytes: newBytes,
  signed: newSigned,
  unsigned: newUnsigned,
  halves: (length: number) => newViewed(length, 2),
  viewed: (length: number) => newViewed(length, 4),
};

test('no two arrays have a byte in common, and all are zero at first', () => {
  const made = Array.from({ length: 3000 }, (_, i) => {
    const kinds = Object.values(makers);
    const array = kinds[i % kinds.length]!((i * 37) % 300);
    expect(array.byteOffset % 8).toBe(0);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    return bytes.fill((i % 255) + 1);
  });
  expect(made.every((bytes, i) => bytes.every((byte) => byte === (i % 255) + 1))).toBe(true);
});

test('arrays of some hundred bytes come from one chunk, longer ones have memory of their own', () => {
  const of = (make: (length: number) => { readonly buffer: ArrayBufferLike }, length: number): number =>
    new Set(Array.from({ length: 20 }, () => make(length).buffer)).size;
  for (const make of Object.values(makers)) {
    expect(of(make, 10)).toBeLessThan(make === newBytes || make === makers.words ? 21 : 4);
    expect(of(make, 1000)).toBe(20);
  }
  expect(of(newBytes, 100)).toBeLessThan(4);
  expect(of(newWords, 100)).toBeLessThan(5);
  expect(newFloats(1000).buffer.byteLength).toBe(8000);
});
