/** Columns of texts that are written at once say what each row's text by itself does. */
import { expect, test } from 'vitest';
import { digitsOf } from '../../../../src/exec/expressions/sql/digits.ts';
import { uuidOf, uuidOfBytes, uuidTextsOf } from '../../../../src/exec/expressions/sql/uuids.ts';
import { types } from '../../../../src/vectors/type.ts';
import { type BytesVector, textAt } from '../../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

const seed = seedOf(7);
const random = randomOf(seed);
const rowsOf = (v: BytesVector): string[] => Array.from({ length: v.length }, (_, i) => textAt(v, i));

test(`integers of doubles and of 64 bits are written as JavaScript writes them (seed ${seed})`, () => {
  const edges = [0, 1, -1, 9, 10, -10, 2147483647, 2147483648, -2147483648, 4294967295, 2 ** 53 - 1, -(2 ** 53 - 1)];
  const drawn = Array.from(
    { length: 2000 },
    () => (random.below(2 ** 31) - 2 ** 30) * 10 ** random.below(7) + random.below(1000),
  );
  const doubles = Float64Array.from([...edges, ...edges.map((x) => x * 10), ...drawn].filter(Number.isSafeInteger));
  expect(rowsOf(digitsOf({ form: 'number', type: types.int64, length: doubles.length, values: doubles }))).toEqual(
    Array.from(doubles, String),
  );
  const longest = BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, 0n);
  expect(rowsOf(digitsOf({ form: 'number', type: types.int64, length: 3, values: longest }))).toEqual([
    '-9223372036854775808',
    '9223372036854775807',
    '0',
  ]);
});

test(`UUIDs are texts of their bytes, and of nothing that has another number of them (seed ${seed})`, () => {
  const length = 100;
  const bytes = Uint8Array.from({ length: length * 16 }, () => random.below(256));
  const offsets = Uint32Array.from({ length: length + 1 }, (_, i) => i * 16);
  const texts = rowsOf(uuidTextsOf({ form: 'bytes', type: types.bytes, length, offsets, bytes })!);
  for (const [i, text] of texts.entries()) {
    const own = bytes.subarray(i * 16, i * 16 + 16);
    expect(text).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(text.replaceAll('-', '')).toBe(Buffer.from(own).toString('hex'));
    expect(uuidOfBytes(own)).toBe(text);
    expect(uuidOf(`{${text.toUpperCase()}}`)).toBe(text);
  }
  const uneven = Uint32Array.of(0, 16, 31);
  expect(uuidTextsOf({ form: 'bytes', type: types.bytes, length: 2, offsets: uneven, bytes })).toBeUndefined();
  expect(uuidOfBytes(bytes.subarray(0, 15))).toBeUndefined();
});
