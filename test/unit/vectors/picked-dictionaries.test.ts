/** Rows of several dictionaries are put in one form without a look at their texts, and say what they said. */
import { expect, test } from 'vitest';
import { tidy } from '../../../src/exec/expressions/rows.ts';
import { constantOf, vectorOf } from '../../../src/vectors/builder.ts';
import { intValue, stringValue } from '../../../src/vectors/value.ts';
import { type DictionaryVector, type Vector, dynamic, flatten, valueAt } from '../../../src/vectors/vector.ts';
import { randomOf } from '../../support/random.ts';

const seed = 23;
const p = randomOf(seed);
const rows = 400;
const texts = (name: string, count: number): Vector =>
  flatten(vectorOf(Array.from({ length: count }, (_, i) => stringValue(`${name}${i}`))));
const coded = (values: Vector): DictionaryVector => ({
  form: 'dictionary',
  length: rows,
  codes: Uint32Array.from({ length: rows }, () => p.below(values.length)),
  values: values as DictionaryVector['values'],
});
const mixed = (parts: readonly Vector[], used = parts.length): Vector =>
  dynamic(
    Uint32Array.from({ length: rows }, () => p.below(used)),
    Uint32Array.from({ length: rows }, () => p.below(rows)),
    parts,
  );
const saidBy = (v: Vector): readonly unknown[] => Array.from({ length: v.length }, (_, i) => valueAt(v, i));

const shared = texts('s', 3);
const cases: Readonly<Record<string, { readonly v: Vector; readonly form?: Vector['form'] }>> = {
  dictionaries: { v: mixed([coded(texts('a', 4)), coded(texts('b', 5))]), form: 'dictionary' },
  'the same dictionary twice': { v: mixed([coded(shared), coded(texts('a', 2)), coded(shared)]), form: 'dictionary' },
  'dictionaries and one text': {
    v: mixed([coded(shared), constantOf(stringValue('s1'), rows), constantOf(stringValue('c'), rows)]),
    form: 'dictionary',
  },
  'a part without rows': {
    v: mixed([coded(shared), coded(texts('a', 2)), coded(texts('b', 2))], 2),
    form: 'dictionary',
  },
  'rows of one part': { v: mixed([constantOf(stringValue('c'), rows), coded(shared)], 1), form: 'constant' },
  'more texts than rows': { v: mixed([coded(texts('a', 300)), coded(texts('b', 300))]) },
  'texts and numbers': { v: mixed([coded(shared), coded(texts('a', 2)), constantOf(intValue(7), rows)]) },
};

test.each(Object.entries(cases))(`%s (seed ${seed})`, (_, { v, form }) => {
  const made = tidy(v);
  expect(saidBy(made)).toEqual(saidBy(v));
  if (form) expect(made.form).toBe(form);
});
