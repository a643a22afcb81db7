/** Snappy blocks: hyparquet's decoder and hyparquet-writer's encoder are the peers. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { snappyUncompress } from 'hyparquet';
import { snappyCompress } from 'hyparquet-writer/src/snappy.js';
import { decodeSnappy, encodeSnappy } from '../../../../src/formats/codings/snappy.ts';

const inputs = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }),
  fc
    .array(fc.constantFrom('abc', 'hello world ', 'x', '\0\0\0\0\0\0\0\0'), { maxLength: 400 })
    .map((a) => new Uint8Array(Buffer.from(a.join('')))),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 90 }), fc.integer({ min: 1, max: 3000 }))
    .map(([piece, times]) => new Uint8Array(Buffer.concat(new Array<Uint8Array>(times).fill(piece)))),
);

test('what is encoded decodes, here and by the peer', () => {
  fc.assert(
    fc.property(inputs, (bytes) => {
      const packed = encodeSnappy(bytes);
      const there = new Uint8Array(bytes.length);
      snappyUncompress(packed, there);
      expect(Buffer.compare(decodeSnappy(packed, bytes.length)!, bytes)).toBe(0);
      expect(Buffer.compare(there, bytes)).toBe(0);
      expect(packed.length).toBeLessThanOrEqual(bytes.length + Math.ceil(bytes.length / 6) + 16);
    }),
    { numRuns: 400 },
  );
});
test('what the peer encodes decodes', () => {
  fc.assert(
    fc.property(inputs, (bytes) => {
      expect(Buffer.compare(decodeSnappy(snappyCompress(bytes), bytes.length)!, bytes)).toBe(0);
    }),
    { numRuns: 400 },
  );
});
test('copies of bytes farther back than a block reaches are not made', () => {
  const noise = new Uint8Array(200_000).map((_, i) => (Math.imul(i, 2654435761) >>> 13) & 0xff);
  const bytes = Buffer.concat([noise.subarray(0, 100_000), noise.subarray(0, 100_000)]);
  expect(Buffer.compare(decodeSnappy(encodeSnappy(bytes), bytes.length)!, bytes)).toBe(0);
});
test('damage decodes to nothing or to bytes of the right length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(300), (bytes, size) => {
      const out = decodeSnappy(bytes, size);
      expect(out === undefined || out.length === size).toBe(true);
    }),
    { numRuns: 5000 },
  );
});
