/** Packed numbers as numbers: bit by bit what a plain look at each of them makes, however many there are. */
import { describe, expect, test } from 'vitest';
import { unpackCodes, unpackDistances, unpackWides } from '../../../src/lake/columns/packing.ts';
import { unpacker } from '../../../src/lake/columns/wasm/unpacker.ts';
import { type Random, randomOf, seedOf } from '../../support/random.ts';

const widths = [1, 2, 4] as const;
type Width = (typeof widths)[number];
const arrayOf = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array } as const;
/** Shorter than what is unpacked together, whole chunks, and parts of them. */
const lengths = [1, 3, 63, 64, 65, 66, 67, 1000, 16_384, 16_385, 16_386, 40_003];

/** Numbers of so many bytes, the greatest among them. */
const packedOf = (width: Width, rows: number, random: Random) => {
  const values = new arrayOf[width](rows);
  const most = 2 ** (width * 8) - 1;
  for (let i = 0; i < rows; i++) values[i] = random.below(4) === 0 ? most - random.below(3) : random.below(most);
  return { values, bytes: new Uint8Array(values.buffer) };
};

/** All bits, at once: arrays of so many numbers are compared one by one else. */
const bitsOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
const expectSame = (found: ArrayBufferView, wanted: ArrayBufferView, name: string): void => {
  expect(found.constructor).toBe(wanted.constructor);
  if (!bitsOf(found).equals(bitsOf(wanted))) expect(found, name).toEqual(wanted);
};

describe('packed numbers', () => {
  test('the machine has the WebAssembly that unpacks them', () => {
    expect(unpacker()).toBeDefined();
  });

  for (const width of widths) {
    test(`distances of ${width} bytes: scaled, from a base, and divided`, () => {
      const random = randomOf(seedOf(width));
      for (const rows of lengths)
        for (const [scale, base, power] of [
          [1, 0, 1],
          [1, -7, 100],
          [1000, 12_345_678_901, 1],
          [1, 0.5, 1],
          [1, 90_000, 1e9],
        ] as const) {
          const { values, bytes } = packedOf(width, rows, random);
          const packed = { width, scale, least: 0, delta: false, bytes };
          const wanted = Float64Array.from(values, (x) => (x * scale + base) / power);
          expectSame(unpackDistances(packed, base, 0, rows, power), wanted, `${rows} rows`);
        }
    });

    test(`steps of ${width} bytes: each is added to the sum before it`, () => {
      const random = randomOf(seedOf(width + 10));
      for (const rows of lengths)
        for (const [scale, least, first, power] of [
          [1, 0, 5, 1],
          [10, -3, 0, 1],
          [1, 2, -900, 100],
        ] as const) {
          const { values, bytes } = packedOf(width, rows, random);
          let reached = 77 + first;
          const wanted = Float64Array.from(values, (x, i) => (i === 0 ? reached : (reached += x * scale + least)));
          for (let i = 0; i < rows; i++) wanted[i]! /= power;
          const packed = { width, scale, least, delta: true, bytes };
          expectSame(unpackDistances(packed, 77, first, rows, power), wanted, `${rows} rows`);
        }
    });

    test(`64-bit integers of ${width} bytes: beyond what doubles tell apart`, () => {
      const random = randomOf(seedOf(width + 20));
      for (const rows of lengths)
        for (const [scale, base, unit, isUnsigned] of [
          [1, 9_007_199_254_740_993n, 1, false],
          [86_400, -1_234_567_890_123_456_789n, 1_000_000, false],
          [1, 2n ** 64n - 2n ** 33n, 1, true],
          [1000, -5n, 1000, false],
        ] as const) {
          const { values, bytes } = packedOf(width, rows, random);
          const packed = { width, scale, least: 0, delta: false, bytes };
          const wanted = isUnsigned ? new BigUint64Array(rows) : new BigInt64Array(rows);
          for (let i = 0; i < rows; i++) wanted[i] = base + BigInt(values[i]!) * BigInt(scale * unit);
          expectSame(unpackWides(packed, base, 0, rows, { unit, isUnsigned }), wanted, `${rows} rows`);
        }
    });

    test(`codes of ${width} bytes`, () => {
      const random = randomOf(seedOf(width + 30));
      for (const rows of lengths)
        for (const base of [0, 3, 70_000]) {
          const { values, bytes } = packedOf(width, rows, random);
          const most = width === 4 ? 2 ** 32 - 1 - base : Infinity;
          for (let i = 0; i < rows; i++) values[i] = Math.min(values[i]!, most);
          const wanted = Uint32Array.from(values, (x) => x + base);
          expectSame(unpackCodes(bytes, base, width, rows), wanted, `${rows} rows`);
        }
    });
  }

  test('64-bit integers by steps', () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
    const packed = { width: 1, scale: 10, least: -3, delta: true, bytes } as const;
    let at = 4;
    const wanted = BigInt64Array.from({ length: 100 }, (_, i) => {
      if (i > 0) at += i * 10 - 3;
      return 2n ** 60n + BigInt(at) * 1000n;
    });
    expect(unpackWides(packed, 2n ** 60n, 4, 100, { unit: 1000, isUnsigned: false })).toEqual(wanted);
  });

  test('what was unpacked stays as it is when more is unpacked', () => {
    const bytes = new Uint8Array(100).fill(9);
    const first = unpackDistances({ width: 1, scale: 1, least: 0, delta: false, bytes }, 0, 0, 100);
    unpackDistances({ width: 1, scale: 2, least: 0, delta: false, bytes }, 0, 0, 100);
    expect(first.every((x) => x === 9)).toBe(true);
  });
});
