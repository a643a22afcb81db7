/** Numbers of 64 bits beside others, by their words: what bigints say of them. */
import { expect, test } from 'vitest';
import { compareVectors } from '../../../../src/exec/expressions/compare.ts';
import { concat } from '../../../../src/vectors/concat.ts';
import { types } from '../../../../src/vectors/type.ts';
import { gather, numbers } from '../../../../src/vectors/vector.ts';
import { randomOf } from '../../../support/random.ts';

const seed = 7;
const p = randomOf(seed);
const ends = [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 62n, 2n ** 63n - 1n];
const some = (): bigint => ends[p.below(ends.length)]! + BigInt(p.below(3)) - 1n;
const length = 300;
const signed = (): BigInt64Array =>
  BigInt64Array.from({ length }, () => BigInt.asIntN(64, p.below(2) === 0 ? some() : -some()));
const unsigned = (): BigUint64Array =>
  BigUint64Array.from({ length }, () => BigInt.asUintN(64, some() + (p.below(2) === 0 ? 2n ** 63n : 1n)));

const says = {
  '==': (x: bigint, y: bigint) => x === y,
  '!=': (x: bigint, y: bigint) => x !== y,
  '<': (x: bigint, y: bigint) => x < y,
  '<=': (x: bigint, y: bigint) => x <= y,
  '>': (x: bigint, y: bigint) => x > y,
  '>=': (x: bigint, y: bigint) => x >= y,
};
const kinds = {
  signed: [types.int64, signed],
  unsigned: [types.uint64, unsigned],
} as const;

test.each(['signed', 'unsigned'] as const)(`%s columns are compared row by row (seed ${seed})`, (kind) => {
  const [type, values] = kinds[kind];
  const a = values();
  const b = values();
  b.set(a.subarray(0, 50) as never);
  for (const [operator, holds] of Object.entries(says)) {
    const answer = compareVectors(operator as keyof typeof says, numbers(type, a), numbers(type, b), length);
    expect(answer).toMatchObject({ form: 'bool' });
    expect(Array.from((answer as { values: Uint8Array }).values, Boolean)).toEqual(
      Array.from({ length }, (_, i) => holds(a[i]!, b[i]!)),
    );
  }
});
test.each(['signed', 'unsigned'] as const)('%s columns are gathered, and put together with small ones', (kind) => {
  const [type, values] = kinds[kind];
  const a = values();
  const index = Uint32Array.from({ length: 500 }, () => p.below(length));
  expect(Array.from((gather(numbers(type, a), index) as { values: BigInt64Array }).values)).toEqual(
    Array.from(index, (i) => a[i]!),
  );
  const few = Float64Array.of(1, 2, 3);
  const all = concat([numbers(type, a, 200), numbers(type, few), numbers(type, a)]);
  expect(Array.from((all as { values: BigInt64Array }).values)).toEqual([...a.subarray(0, 200), 1n, 2n, 3n, ...a]);
});
