/** LZ4 blocks: see typed-formats.test.ts for whole inputs; here are the bounds, which hold whatever the bytes are. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeLz4, decodeLz4At, encodeLz4, encodeLz4Marked } from '../../../src/formats/codings/lz4.ts';

const guard = 0xa5;
const text = fc
  .array(
    fc.oneof(fc.constantFrom('abc', 'hello world, ', 'x', '0123456789abcdef'.repeat(5)), fc.string({ maxLength: 9 })),
    { maxLength: 80 },
  )
  .map((a) => new Uint8Array(Buffer.from(a.join(''))));

describe('LZ4 blocks', () => {
  test('decoding leaves what lies behind the target alone when there is no room for it', () => {
    fc.assert(
      fc.property(text, fc.nat(40), fc.nat(40), (bytes, before, behind) => {
        const room = new Uint8Array(bytes.length + 100);
        const end = encodeLz4(bytes, 0, bytes.length, room, 0, room.length);
        const source = new Uint8Array(before + end).fill(guard);
        const all = new Uint8Array(bytes.length + behind).fill(guard);
        source.set(room.subarray(0, end), before);
        expect(decodeLz4(source, before, before + end, all.subarray(0, bytes.length), bytes.length)).toBe(true);
        expect(all.subarray(0, bytes.length)).toEqual(bytes);
        expect(all.subarray(bytes.length).every((b) => b === guard)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
  test('encoding keeps within its room, and says so when it does not fit', () => {
    fc.assert(
      fc.property(text, fc.nat(200), fc.nat(20), (bytes, room, start) => {
        const all = new Uint8Array(start + room + 20).fill(guard);
        const end = encodeLz4(bytes, 0, bytes.length, all, start, start + room);
        expect(end).toBeLessThanOrEqual(start + room);
        expect(all.subarray(0, start).every((b) => b === guard)).toBe(true);
        expect(all.subarray(start + room).every((b) => b === guard)).toBe(true);
        if (end >= 0) {
          const back = new Uint8Array(bytes.length);
          expect(decodeLz4(all, start, end, back, bytes.length)).toBe(true);
          expect(back).toEqual(bytes);
        } else
          expect(
            encodeLz4(bytes, 0, bytes.length, new Uint8Array(bytes.length * 2 + 100), 0, bytes.length * 2 + 100),
          ).toBeGreaterThan(room);
      }),
      { numRuns: 1_000 },
    );
  });
  test('a part of a buffer is encoded as it is by itself', () => {
    fc.assert(
      fc.property(text, text, (bytes, other) => {
        const whole = Buffer.concat([other, bytes, other]);
        const room = new Uint8Array(whole.length * 2 + 100);
        const back = new Uint8Array(bytes.length);
        const end = encodeLz4(whole, other.length, other.length + bytes.length, room, 0, room.length);
        expect(decodeLz4(room, 0, end, back, bytes.length)).toBe(true);
        expect(back).toEqual(bytes);
      }),
      { numRuns: 300 },
    );
  });
  test('whatever is marked, the bytes come back and the room is kept', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(3_000)), fc.nat(400), (bytes, marked, room) => {
        const marks = new Uint32Array((bytes.length >> 5) + 1);
        const all = new Uint8Array(room + 20).fill(guard);
        const back = new Uint8Array(bytes.length);
        for (const p of marked) if (p < bytes.length) marks[p >> 5]! |= 1 << (p & 31);
        const end = encodeLz4Marked(bytes, 0, bytes.length, all, room, marks);
        expect(end).toBeLessThanOrEqual(room);
        expect(all.subarray(room).every((b) => b === guard)).toBe(true);
        if (end < 0) return;
        expect(decodeLz4(all, 0, end, back, bytes.length)).toBe(true);
        expect(back).toEqual(bytes);
      }),
      { numRuns: 1_000 },
    );
  });
  test('matches are looked for at marked places alone, and reach back and forth from there', () => {
    const bytes = Buffer.from('0123456789abcdefXYZ 0123456789abcdefX 0123456789abcdefX behind');
    const room = new Uint8Array(100);
    const marks = new Uint32Array(2);
    marks[0] = (1 << 3) | (1 << 23);
    const end = encodeLz4Marked(bytes, 0, bytes.length, room, 100, marks);
    // 20 literals, 17 bytes from 20 before, the rest as it is.
    expect(Buffer.from(room.subarray(0, end)).toString('latin1')).toBe(
      '\xfd\x050123456789abcdefXYZ \x14\x00\xf0\x0a 0123456789abcdefX behind',
    );
  });
  test('the last five bytes are literals, and no match begins in the last twelve', () => {
    const bytes = new Uint8Array(40).fill(1);
    const room = new Uint8Array(60);
    const end = encodeLz4(bytes, 0, 40, room, 0, 60);
    // Two literals (every second place is tried), a match of 33 at distance 2, five literals.
    expect(Buffer.from(room.subarray(0, end)).toString('hex')).toBe('2f01010200' + '0e' + '500101010101');
  });
  for (let distance = 1; distance <= 9; distance++) {
    test(`a match repeats itself from ${distance} bytes before`, () => {
      const first = Uint8Array.from({ length: distance }, (_, i) => i + 1);
      const run = 200;
      const block = [(distance << 4) | 15, ...first, distance, 0, run - 4 - 15, 0x00];
      const out = new Uint8Array(distance + run);
      expect(decodeLz4(Uint8Array.from(block), 0, block.length, out, out.length)).toBe(true);
      expect([...out]).toEqual(Array.from(out, (_, i) => (i % distance) + 1));
    });
  }
  for (const [why, block] of [
    ['a distance of 0', [0x10, 1, 0, 0, 0]],
    ['a distance beyond the start', [0x10, 1, 2, 0, 0]],
    ['literals beyond the end', [0xf0, 200, 1]],
    ['a length that does not end', [0xf0, 255, 255]],
    ['half a distance', [0x10, 1, 1]],
    ['more than there is room for', [0x1f, 1, 1, 0, 255, 255, 0, 0]],
    ['less than was said', [0x10, 1]],
  ] as const) {
    test(`${why} is refused`, () => {
      expect(decodeLz4(Uint8Array.from(block), 0, block.length, new Uint8Array(20), 20)).toBe(false);
    });
  }
  test('a block may refer to the one before it', () => {
    const out = new Uint8Array(10);
    const first = decodeLz4At(Uint8Array.of(0x50, 1, 2, 3, 4, 5), 0, 6, out, 0, 10);
    expect(decodeLz4At(Uint8Array.of(0x01, 5, 0, 0x00), 0, 4, out, first, 10)).toBe(10);
    expect([...out]).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
  });
});
