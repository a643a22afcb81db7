/** Rows found in stored codes: what a plain look at each of them finds, among all rows and among those of earlier tests. */
import { describe, expect, test } from 'vitest';
import { inCodeRange, inFloatRange, inWideRange, passingCodes, passingOf } from '../../../src/lake/columns/select.ts';
import { selector } from '../../../src/lake/columns/wasm/selector.ts';
import { type Random, randomOf, seedOf } from '../../support/random.ts';

const arrays = [Uint8Array, Uint16Array, Uint32Array] as const;
type Codes = InstanceType<(typeof arrays)[number]>;
const largestOf = (kind: (typeof arrays)[number]): number => 2 ** (kind.BYTES_PER_ELEMENT * 8) - 1;
/** Codes below `limit`. */
const codesOf = (kind: (typeof arrays)[number], rows: number, limit: number, random: Random): Codes => {
  const codes = new kind(rows);
  for (let i = 0; i < rows; i++) codes[i] = random.below(limit);
  return codes;
};
const rowsWhere = (codes: Codes, passes: (code: number) => boolean): number[] =>
  [...codes.keys()].filter((i) => passes(codes[i]!));
/** Shorter than a step, whole steps, and more rows than are looked at together. */
const lengths = [1, 7, 8, 9, 15, 16, 17, 100, 8192, 16_384, 16_385, 40_003];

describe('rows in a range of codes', () => {
  test('the machine has the WebAssembly that it takes', () => {
    expect(selector()).toBeDefined();
  });

  for (const kind of arrays)
    test(`${kind.name}: those that a look at each finds`, () => {
      const random = randomOf(seedOf(1));
      for (const rows of lengths)
        for (const limit of [1, 2, 40, largestOf(kind)]) {
          const codes = codesOf(kind, rows, limit, random);
          for (const outside of [false, true]) {
            const least = random.below(limit);
            const span = random.below(limit - least);
            const found = inCodeRange(codes, { rows, prior: undefined }, { least, span, outside });
            const wanted = rowsWhere(codes, (code) => (code >= least && code <= least + span) !== outside);
            expect([...found], `${rows} rows, ${least} + ${span}, ${outside}`).toEqual(wanted);
            const prior = Uint32Array.from(codes.keys()).filter((i) => i % 3 === 0);
            expect([...inCodeRange(codes, { rows, prior }, { least, span, outside })]).toEqual(
              wanted.filter((i) => i % 3 === 0),
            );
          }
        }
    });

  test('the greatest code and all codes are ranges too', () => {
    for (const kind of arrays) {
      const most = largestOf(kind);
      const codes = kind.of(0, most, 1, most - 1, most);
      const among = { rows: codes.length, prior: undefined };
      expect([...inCodeRange(codes, among, { least: most, span: 0, outside: false })]).toEqual([1, 4]);
      expect([...inCodeRange(codes, among, { least: 0, span: most, outside: false })]).toEqual([0, 1, 2, 3, 4]);
      expect([...inCodeRange(codes, among, { least: 0, span: most, outside: true })]).toEqual([]);
      expect([...inCodeRange(codes, among, { least: 1, span: most - 1, outside: true })]).toEqual([0]);
    }
  });

  test('what was found stays as it is when more is looked for', () => {
    const codes = Uint8Array.of(1, 0, 1);
    const first = inCodeRange(codes, { rows: 3, prior: undefined }, { least: 1, span: 0, outside: false });
    inCodeRange(codes, { rows: 3, prior: undefined }, { least: 0, span: 0, outside: false });
    expect([...first]).toEqual([0, 2]);
  });
});

describe('rows in a range of numbers', () => {
  test('doubles: NaN is in none, both zeros are one', () => {
    const random = randomOf(seedOf(2));
    const numbers = [NaN, -0, 0, Infinity, -Infinity, -1.5, 2, 2 ** 60];
    for (const rows of lengths) {
      const values = Float64Array.from({ length: rows }, () => random.pick(numbers));
      for (const least of [-Infinity, -1.5, 0, 2])
        for (const most of [-2, -0, 2, Infinity])
          for (const outside of [false, true]) {
            const found = inFloatRange(values, { rows, prior: undefined }, { least, most, outside });
            const wanted = [...values.keys()].filter((i) => (values[i]! >= least && values[i]! <= most) !== outside);
            expect([...found], `${rows} rows, ${least} to ${most}, ${outside}`).toEqual(wanted);
          }
    }
  });

  test('integers of 64 bits, with a sign and without', () => {
    const random = randomOf(seedOf(3));
    const first = 1n << 63n;
    const numbers = [0n, 1n, -1n, 1n << 40n, -first, first - 1n, -(1n << 32n), 5n];
    for (const kind of [BigInt64Array, BigUint64Array])
      for (const rows of [2, 9, 100, 16_387]) {
        const unsigned = kind === BigUint64Array;
        const values = new kind(rows);
        for (let i = 0; i < rows; i++) values[i] = random.pick(numbers);
        const halves = new Int32Array(values.buffer);
        const ends = [0n, 5n, 1n << 40n, ...(unsigned ? [first, 2n * first - 1n] : [-first, -1n])];
        for (const least of ends)
          for (const most of ends)
            for (const outside of [false, true]) {
              const found = inWideRange(halves, { rows, prior: undefined }, { least, most, outside, unsigned });
              const wanted = [...values.keys()].filter((i) => (values[i]! >= least && values[i]! <= most) !== outside);
              expect([...found], `${kind.name}, ${rows} rows, ${least} to ${most}, ${outside}`).toEqual(wanted);
              const prior = Uint32Array.from({ length: rows >> 1 }, (_, i) => 2 * i);
              expect([...inWideRange(halves, { rows, prior }, { least, most, outside, unsigned })]).toEqual(
                wanted.filter((i) => i % 2 === 0 && i < (rows >> 1) * 2),
              );
            }
      }
  });
});

describe('rows whose value of a dictionary passes', () => {
  test('one run of values, all but one run, and others', () => {
    const random = randomOf(seedOf(1));
    const flags = ['1000', '0100', '0001', '0111', '1011', '1110', '0110', '1001', '0101', '1111', '0000', '1', '0'];
    for (const passes of flags.map((text) => Uint8Array.from(text, Number)))
      for (const base of [0, 1, 2])
        for (const kind of arrays) {
          if (base >= passes.length) continue;
          const codes = codesOf(kind, 100, passes.length - base, random);
          const found = passingCodes(codes, base, passingOf(passes), { rows: 100, prior: undefined });
          const wanted = rowsWhere(codes, (code) => passes[code + base] === 1);
          expect([...found], `${[...passes]} from ${base}`).toEqual(wanted);
          const prior = Uint32Array.from(codes.keys()).filter((i) => i % 2 === 0);
          expect([...passingCodes(codes, base, passingOf(passes), { rows: 100, prior })]).toEqual(
            wanted.filter((i) => i % 2 === 0),
          );
        }
  });
});
