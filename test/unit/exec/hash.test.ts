import { expect, it } from 'vitest';
import { hashRows } from '../../../src/exec/aggregates/grouping/hash.ts';
import { isFloatToo, isSafe } from '../../../src/exec/expressions/wide.ts';
import { longDecimals } from '../../../src/vectors/decimal.ts';
import { type PrimitiveType, types } from '../../../src/vectors/type.ts';
import { type NumberArray, type Vector, numbers } from '../../../src/vectors/vector.ts';

/** Integers about the powers of two and their sums, of both signs. */
const integers = [1n, -1n].flatMap((sign) =>
  Array.from({ length: 63 }, (_, bits) => 1n << BigInt(bits)).flatMap((power) =>
    [-3n, -1n, 0n, 1n, 2n].flatMap((more) => [sign * power + more, sign * (power + (power >> 9n)) + more]),
  ),
);
const hashesOf = (type: PrimitiveType, values: NumberArray): string[] => {
  const v: Vector = numbers(type, values);
  const { low, high } = hashRows(v, undefined, true);
  return Array.from({ length: v.length }, (_, i) => `${low[i]} ${high[i]}`);
};

it('the words of an integer say whether a float is the same number', () => {
  for (const x of integers) {
    const words = [Number(BigInt.asUintN(32, x)), Number(BigInt.asIntN(32, x >> 32n))] as const;
    expect(isSafe(...words), String(x)).toBe(Number.isSafeInteger(Number(x)) && BigInt(Number(x)) === x);
    if (!isSafe(...words)) expect(isFloatToo(...words), String(x)).toBe(BigInt(Number(x)) === x);
  }
});

it('equal numbers have equal hashes, whatever their type is', () => {
  const wide = hashesOf(types.int64, BigInt64Array.from(integers));
  const floats = hashesOf(types.float64, Float64Array.from(integers, Number));
  integers.forEach((x, i) => {
    expect(wide[i] === floats[i], String(x)).toBe(BigInt(Number(x)) === x);
  });
  const positive = integers.filter((x) => x >= 0n);
  expect(hashesOf(types.uint64, BigUint64Array.from(positive))).toEqual(
    hashesOf(types.int64, BigInt64Array.from(positive)),
  );
});

it('integers that are one float have hashes of their own', () => {
  const near = Array.from({ length: 512 }, (_, i) => (1n << 62n) + BigInt(i));
  expect(new Set(hashesOf(types.int64, BigInt64Array.from(near))).size).toBe(near.length);
});

it('whole long decimals have the hashes of the integers that they are', () => {
  const { low } = hashRows(longDecimals(['9007199254740993', '12', '1.5']), undefined, true);
  const integers = hashRows(numbers(types.int64, BigInt64Array.of(9007199254740993n, 12n)), undefined, true);
  expect([low[0], low[1]]).toEqual([...integers.low]);
});
