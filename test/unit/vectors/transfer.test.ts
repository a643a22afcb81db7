import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Builder, constantOf, vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { packVectors, unpackVectors } from '../../../src/vectors/transfer.ts';
import { type Vector, range, slice, take, typeAt, valueAt } from '../../../src/vectors/vector.ts';
import { stringValue } from '../../../src/vectors/value.ts';
import { someValues } from '../../support/formats/values.ts';

const rowsOf = (v: Vector): readonly unknown[] =>
  Array.from({ length: v.length }, (_, i) => [supText(valueAt(v, i)), typeAt(v, i)]);
const sent = (vectors: readonly Vector[]): Vector[] => {
  const packed = packVectors(vectors);
  return unpackVectors(structuredClone(packed, { transfer: [packed.buffer] }));
};

test('any values come through with their types, also views of them', () => {
  fc.assert(
    fc.property(someValues({ depth: 3, maxLength: 30 }), fc.nat(), (values, seed) => {
      const v = vectorOf(values);
      const middle = slice(v, seed % (v.length + 1), v.length);
      const turned = take(v, range(0, v.length).reverse());
      const forms: Vector[] = [
        v,
        middle,
        turned,
        { form: 'dictionary', length: v.length, codes: range(0, v.length), values: v },
      ];
      expect(sent(forms).map(rowsOf)).toEqual(forms.map(rowsOf));
    }),
    { numRuns: 200 },
  );
});

test('a constant stays one', () => {
  expect(sent([constantOf(stringValue('abc'), 5)])).toMatchObject([{ form: 'constant', length: 5 }]);
});

test('a builder that lends its rows begins anew each time and gives what a new one gives', () => {
  fc.assert(
    fc.property(fc.array(someValues({ depth: 3, maxLength: 12 }), { maxLength: 6 }), (rounds) => {
      const builder = new Builder();
      for (const values of rounds) {
        for (const value of values) builder.append(value);
        expect(builder.length).toBe(values.length);
        expect(builder.lend(rowsOf)).toEqual(rowsOf(vectorOf(values)));
      }
    }),
    { numRuns: 200 },
  );
});
