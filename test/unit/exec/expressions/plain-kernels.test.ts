/** Functions whose plain arguments have kernels of their own: the same as they give value by value. */
import { expect, test } from 'vitest';
import { functionNamed } from '../../../../src/exec/functions/functions.ts';
import { constantOf, vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { types } from '../../../../src/vectors/type.ts';
import { nullValue, stringValue } from '../../../../src/vectors/value.ts';
import { type Vector, numbers, slice, valueAt } from '../../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

const seed = seedOf(12);
const random = randomOf(seed);
const length = 400;
const answersOf = (name: string, args: readonly Vector[]): string[] => {
  const answer = functionNamed(name)!.make({} as never)(args, length) as Vector;
  return Array.from({ length }, (_, i) => supText(valueAt(answer, i)));
};

test(`texts are parted at a separator of all rows as at one of each row (seed ${seed})`, () => {
  const text = (): string =>
    Array.from({ length: random.below(12) }, () => random.pick(['a', ',', ',', 'ä', '€', 'ab'])).join('');
  for (const separator of [',', ',,', 'ä', 'ab', 'aba', '€,', '']) {
    const all = vectorOf(
      Array.from({ length: length + 7 }, (_, i) => (i % 40 === 0 ? nullValue : stringValue(text()))),
    );
    const plain = vectorOf(Array.from({ length: length + 7 }, () => stringValue(text())));
    for (const texts of [slice(all, 7, length + 7), slice(plain, 7, length + 7)])
      for (const name of ['split', 'string_split', 'string_to_array'])
        if (functionNamed(name))
          expect(answersOf(name, [texts, constantOf(stringValue(separator), length)])).toEqual(
            answersOf(name, [texts, vectorOf(Array.from({ length }, () => stringValue(separator)))]),
          );
  }
});

test(`elements are found by places as by values (seed ${seed})`, () => {
  const items = ['1', '2', 'null', '"a"', '{x:1}'];
  const of = (n: number) => (): string =>
    `[${Array.from({ length: random.below(4) }, () => items[random.below(n)]!).join(',')}]`;
  for (const n of [2, 3, 5]) {
    const lists = vectorOf(parseSupValues(Array.from({ length }, of(n)).join(' ')));
    const places = Array.from({ length }, () => random.below(11) - 5);
    const wide = BigInt64Array.from(places, BigInt);
    expect(answersOf('array_extract', [lists, numbers(types.int64, Float64Array.from(places))])).toEqual(
      answersOf('array_extract', [lists, numbers(types.int64, wide)]),
    );
  }
});
