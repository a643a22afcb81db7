/** Whole numbers of 64 bits by their halves: as BigInt has it, or no answer. */
import { expect, test } from 'vitest';
import { calculateWide, narrowed } from '../../../src/exec/expressions/wide-arithmetic.ts';
import { types } from '../../../src/vectors/type.ts';
import type { NumberArray } from '../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const random = randomOf(seedOf(24));
const edges = [
  0n,
  1n,
  -1n,
  2n ** 31n,
  -(2n ** 31n),
  2n ** 32n,
  2n ** 32n - 1n,
  -(2n ** 32n),
  2n ** 53n - 1n,
  1n - 2n ** 53n,
];
const wideEdges = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 62n, -(2n ** 62n), 2n ** 53n, -(2n ** 53n), 2n ** 53n + 1n];
const drawn = (from: readonly bigint[], bits: number): bigint =>
  random.below(2) === 0
    ? from[random.below(from.length)]!
    : BigInt.asIntN(
        bits,
        (BigInt(random.below(2 ** 31)) << 33n) ^ BigInt(random.below(2 ** 31)) ^ (BigInt(random.below(2)) << 63n),
      );
const safe = (): bigint => drawn(edges, 53);
const wide = (): bigint => drawn([...edges, ...wideEdges], 64);
const factor = (): bigint => drawn([0n, 1n, -1n, 1000n, -(2n ** 20n), 2n ** 20n], 20);
const columnOf = (values: readonly bigint[]): NumberArray =>
  values.every((x) => x < 2n ** 53n && x > -(2n ** 53n)) && random.below(2) === 0
    ? Float64Array.from(values, Number)
    : BigInt64Array.from(values);
const of = {
  '+': (a: bigint, b: bigint) => a + b,
  '-': (a: bigint, b: bigint) => a - b,
  '*': (a: bigint, b: bigint) => a * b,
};
const fits = (x: bigint): boolean => x === BigInt.asIntN(64, x);

test.each(['+', '-', '*'] as const)('%s: exact where all results have 64 bits, else none', (operator) => {
  let answers = 0;
  for (let round = 0; round < 3000; round++) {
    const length = 1 + random.below(3);
    const draw = [safe, wide, factor] as const;
    const [a, b] = [draw[random.below(3)]!, draw[random.below(3)]!];
    const left = Array.from({ length }, a);
    const right = Array.from({ length }, b);
    const found = calculateWide(operator, types.int64, { left: columnOf(left), right: columnOf(right), length });
    const exact = left.map((x, i) => of[operator](x, right[i]!));
    if (found) expect([...found]).toEqual(exact);
    else if (operator !== '*') expect(exact.every(fits)).toBe(false);
    answers += Number(found !== undefined);
  }
  expect(answers).toBeGreaterThan(500);
});

test('products of times and of small factors, on either side, have an answer', () => {
  const left = Float64Array.of(1_732_206_349_113_313, -5, 0);
  const right = Float64Array.of(1000, 1 << 20, -1);
  for (const [a, b] of [
    [left, right],
    [right, left],
  ] as const)
    expect([...calculateWide('*', types.int64, { left: a, right: b, length: 3 })!]).toEqual([
      1_732_206_349_113_313_000n,
      -5n * 2n ** 20n,
      0n,
    ]);
});

test('other types and operators have none', () => {
  const operands = { left: Float64Array.of(1), right: Float64Array.of(2), length: 1 };
  expect(calculateWide('/', types.int64, operands)).toBe(undefined);
  expect(calculateWide('+', types.uint64, operands)).toBe(undefined);
  expect(calculateWide('+', types.int32, operands)).toBe(undefined);
});

test('what is safe is kept as floats, what is not stays as it is', () => {
  for (const values of [[0n, -1n, 2n ** 53n - 1n, 1n - 2n ** 53n], [2n ** 32n], []])
    expect([...narrowed(BigInt64Array.from(values))]).toEqual(values.map(Number));
  for (const x of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)]) {
    const values = BigInt64Array.of(1n, x);
    expect(narrowed(values)).toBe(values);
  }
  expect([...narrowed(BigUint64Array.of(2n ** 53n - 1n))]).toEqual([2 ** 53 - 1]);
  for (const x of [2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
    const values = BigUint64Array.of(x);
    expect(narrowed(values)).toBe(values);
  }
});
