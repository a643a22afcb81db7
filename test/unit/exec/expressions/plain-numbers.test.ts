/** Numbers in texts of digits: the same as the casts read that look at their characters. */
import { expect, test } from 'vitest';
import { plainNumbers } from '../../../../src/exec/expressions/sql/plain-numbers.ts';
import { sqlFloat, sqlInteger } from '../../../../src/exec/expressions/sql/texts.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { stringValue } from '../../../../src/vectors/value.ts';
import { ofForm } from '../../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

const seed = seedOf(9);

test(`what is read of digits is what a cast gives; the rest is left to it (seed ${seed})`, () => {
  const random = randomOf(seed);
  const some = (): string =>
    Array.from({ length: random.below(18) }, () => random.pick([...'00112345678999', ...'.-+ e_'])).join('');
  const digits = (): string => `${random.pick(['', '-', '+'])}${random.below(10 ** random.below(10))}`;
  const texts = [
    ...['', '-', '.', '-.5', '5.', '0', '-0', '+7', '123456789012345', '1234567890123456', '0.1', '99999999.999999'],
    ...Array.from({ length: 3000 }, some),
    ...Array.from({ length: 3000 }, () => `${digits()}.${random.below(10 ** random.below(6))}`),
    ...Array.from({ length: 500 }, digits),
  ];
  const v = ofForm(vectorOf(texts.map(stringValue)), 'bytes');
  const whole = plainNumbers(v, false);
  const floats = plainNumbers(v, true);
  let read = 0;
  texts.forEach((text, i) => {
    if (!Number.isNaN(whole[i])) expect([text, BigInt(whole[i]!)]).toEqual([text, sqlInteger(text)]);
    if (!Number.isNaN(floats[i])) expect([text, floats[i]]).toEqual([text, sqlFloat(text)]);
    if (!Number.isNaN(floats[i])) read++;
  });
  expect(read).toBeGreaterThan(3000);
});
