/**
 * Columns that objects of version 5 brought: decimals as whole numbers of their last place, and times that are far
 * apart in milliseconds, microseconds or days.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scaledFloats, unitsFrom, unitsTo } from '../../../src/lake/columns/scaled-floats.ts';
import { scaleCode, scaleOf } from '../../../src/lake/columns/packing.ts';
import { spansVersion } from '../../../src/lake/objects/format.ts';
import { openObject, type ObjectReader, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { type PrimitiveType, types } from '../../../src/vectors/type.ts';
import type { NumberArray, RecordVector, Vector } from '../../../src/vectors/vector.ts';
import { dataAt, flatten } from '../../../src/vectors/vector.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const stored = (type: PrimitiveType, values: NumberArray): { bytes: number; version: number; back: unknown[] } => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: 1 << 20 });
  const column: Vector = { form: 'number', type, length: values.length, values };
  const rows: Vector = {
    form: 'record',
    length: values.length,
    fields: [{ name: 'v', optional: false, values: column }],
  };
  writer.block(rows, noKeys);
  writer.finish();
  const bytes = Buffer.concat(chunks);
  const version = bytes[bytes.length - 16 - bytes.readUInt32LE(bytes.length - 16)]!;
  const reader = openObject(sourceOfBytes('0'.repeat(40), bytes)) as ObjectReader;
  const field = flatten((reader.read(0) as RecordVector).fields[0]!.values);
  return { bytes: bytes.length, version, back: Array.from({ length: values.length }, (_, i) => dataAt(field, i)) };
};
const floats = (list: readonly number[]): ReturnType<typeof stored> => stored(types.float64, Float64Array.from(list));
const times = (list: readonly bigint[]): ReturnType<typeof stored> => stored(types.time, BigInt64Array.from(list));
const rows = 4000;
const listOf = <T>(of: (i: number) => T): T[] => Array.from({ length: rows }, (_, i) => of(i));

describe('decimals kept as floats', () => {
  test.each([
    ['prices', (i: number) => ((i * 7919) % 50_000) / 100, 2],
    ['tenths below zero', (i: number) => (((i * 7919) % 200) - 100) / 10, 1],
    ['degrees', (i: number) => Number((((i * 7919_331) % 3_600_000) / 1e4 - 180).toFixed(4)), 4],
  ] as const)('%s take few bytes and come back', (_, of, width) => {
    const list = listOf(of);
    const { bytes, version, back } = floats(list);
    expect(back).toEqual(list);
    expect(version).toBe(spansVersion);
    expect(bytes).toBeLessThan(rows * width + 500);
  });
  test.each([
    ['-0', -0],
    ['NaN', Number.NaN],
    ['an infinity', Infinity],
    ['more digits', Math.PI],
    ['what is far away', 1e15 + 0.5],
    ['a sum that is no decimal', 0.1 + 0.2],
  ])('with %s among them are stored plain, and come back', (_, other) => {
    const list = listOf((i) => (i === 77 ? other : i / 100 + 0.01));
    const { version, back } = floats(list);
    expect(back.every((x, i) => Object.is(x, list[i]))).toBe(true);
    expect(version).toBe(1);
  });
  test('any come back bit by bit', () => {
    let scaled = 0;
    const decimal = fc
      .tuple(fc.integer({ min: -3_000_000_000, max: 3_000_000_000 }), fc.integer({ min: 0, max: 9 }))
      .map(([units, digits]) => units / 10 ** digits);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(decimal, { minLength: 2, maxLength: 100 }),
          fc
            .tuple(fc.array(fc.integer(), { minLength: 2, maxLength: 100 }), fc.integer({ min: 1, max: 9 }))
            .map(([list, digits]) => list.map((units) => units / 10 ** digits)),
          fc.array(fc.oneof(decimal, fc.double()), { minLength: 2, maxLength: 100 }),
        ),
        (list) => {
          const { version, back } = floats(list);
          if (version === spansVersion) scaled++;
          expect(back.every((x, i) => Object.is(x, list[i]))).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
    expect(scaled).toBeGreaterThan(30);
  });
  test('the ends of a range in units are those of the floats', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.double({ noNaN: true }),
          fc.integer().map((n) => n / 1000),
        ),
        fc.integer({ min: 0, max: 9 }),
        (x, digits) => {
          const power = 10 ** digits;
          const from = unitsFrom(x, digits);
          const to = unitsTo(x, digits);
          if (from > -(2n ** 51n) && from < 2n ** 51n)
            expect([Number(from) / power >= x, Number(from - 1n) / power < x]).toEqual([true, true]);
          if (to > -(2n ** 51n) && to < 2n ** 51n)
            expect([Number(to) / power <= x, Number(to + 1n) / power > x]).toEqual([true, true]);
        },
      ),
    );
  });
  test('as many places as the numbers have', () => {
    expect(scaledFloats(Float64Array.of(1.5, 2.25, 3), 3, { min: 1.5, max: 3 })?.digits).toBe(2);
    expect(scaledFloats(Float64Array.of(1.5, 1e-10), 2, { min: 1e-10, max: 1.5 })).toBeUndefined();
  });
});

describe('times that are far apart', () => {
  const day = 86_400_000_000_000n;
  test.each([
    ['days', (i: number) => BigInt(i * 5) * day, 2],
    ['days, before and after 1970', (i: number) => BigInt(((i * 7919) % 60_000) - 30_000) * day, 2],
    ['hours', (i: number) => BigInt((i * 7919) % 60_000) * 3_600_000_000_000n, 2],
    ['seconds', (i: number) => BigInt((i * 7919_331) % 80_000_000) * 1_000_000_000n, 4],
    ['milliseconds that rise', (i: number) => BigInt(i) * day + BigInt((i * 7919) % 50_000) * 1_000_000n, 2],
    ['microseconds that rise', (i: number) => BigInt(i) * day + BigInt((i * 7919) % 50_000) * 1000n, 2],
  ] as const)('%s take few bytes and come back', (_, of, width) => {
    const list = listOf(of);
    const { bytes, version, back } = times(list);
    expect(back.map((x) => BigInt(x as bigint))).toEqual(list);
    expect(version).toBe(spansVersion);
    expect(bytes).toBeLessThan(rows * width + 500);
  });
  test('days of a quarter are days too', () => {
    const list = listOf((i) => 1_700_006_400_000_000_000n + BigInt(i % 90) * day);
    const { bytes, version, back } = times(list);
    expect([back.map((x) => BigInt(x as bigint)), version]).toEqual([list, spansVersion]);
    expect(bytes).toBeLessThan(rows + 500);
  });
  test('nanoseconds of years are stored plain, and come back', () => {
    const list = listOf((i) => BigInt(i) * day + BigInt(i));
    const { version, back } = times(list);
    expect([back.map((x) => BigInt(x as bigint)), version]).toEqual([list, 1]);
  });
  test('any come back', () => {
    fc.assert(
      fc.property(
        fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 2, maxLength: 60 }),
        fc.constantFrom(1n, 1000n, 1_000_000n, 1_000_000_000n, 60_000_000_000n, day),
        (list, unit) => {
          const whole = list.map((x) => (x / unit) * unit);
          expect(times(whole).back.map((x) => BigInt(x as bigint))).toEqual(whole);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test('an object of a build before them reads as ever', () => {
  const bytes = Buffer.from(
    'TEFLRU9CSjE9CtejcP0zQD0K16Nw/TRAPQrXo3D9NUA9CtejcP02QD0K16Nw/TdAPQrXo3D9OEA9CtejcP05QD0K16Nw/TpAAAAAAAAAAAAAAJic' +
      'V/QyAQAAMDmv6GUCAADI1QbdmAMAAGByXtHLBAAA+A62xf4FAACQqw26MQcAAChIZa5kCAAA6AOgDygjgD6oYaCMaL8BAQgcAAEHAwVwcmlj' +
      'ZQABEANkYXkAAQ0EbmVhcgABDQABCAABElAAAAAAPQrXo3D9M0A9CtejcP06QECFXWoHAAEAAAAAAAAAAABQkMpcyaBDQC4wGhsEAQAqNv6c' +
      'l7dDEMLpjsmXt0MAACo2/pyXFwIJABBwou9veQAAABfvZ1pMQUtFT0JKMQ==',
    'base64',
  );
  const whole = (x: unknown): unknown => (typeof x === 'number' && Number.isInteger(x) ? BigInt(x) : x);
  const reader = openObject(sourceOfBytes('0'.repeat(40), bytes)) as ObjectReader;
  const fields = (reader.read(0) as RecordVector).fields.map(({ values }) => flatten(values));
  const all = fields.map((v) => Array.from({ length: v.length }, (_, i) => whole(dataAt(v, i))));
  const eight = <T>(of: (i: number) => T): T[] => Array.from({ length: 8 }, (_, i) => of(i));
  expect(all).toEqual([
    eight((i) => 19.99 + i),
    eight((i) => BigInt(i * 1000) * 86_400_000_000_000n),
    eight((i) => 1_700_000_000_000_000_000n + BigInt(i * i * 1000) * 1_000_000_000n),
  ]);
});

test('a scale is a byte', () => {
  for (const factor of [1, 60, 3600, 86_400])
    for (let power = 0; power <= 9; power++) {
      const scale = factor * 10 ** power;
      expect(scaleOf(scaleCode(scale))).toBe(scale);
    }
  expect(() => scaleOf(64)).toThrow('no scale 64');
  expect(() => scaleCode(7)).toThrow('no scale 7');
});
