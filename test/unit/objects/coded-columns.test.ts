/** Columns that come as what rows look up are stored as the same rows put out would be, byte by byte. */
import { describe, expect, test } from 'vitest';
import { type ObjectTables, encodeBlock } from '../../../src/lake/columns/encode.ts';
import { TypeTable } from '../../../src/lake/columns/layout.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { nullable, types } from '../../../src/vectors/type.ts';
import { unionOfOne } from '../../../src/vectors/unions.ts';
import { nullValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, flatten, numbers, take } from '../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const tables = (): ObjectTables => ({ types: new TypeTable(), dictionaries: new Map(), newer: () => undefined });
const bytesOf = (v: Vector): Buffer => {
  const { directory, data } = encodeBlock(v, tables(), true);
  return Buffer.concat([directory, ...data]);
};
const coded = (values: Vector, codes: readonly number[]): Vector => ({
  form: 'dictionary',
  length: codes.length,
  codes: Uint32Array.from(codes),
  values,
});

describe('numbers that rows look up', () => {
  const lists: Readonly<Record<string, readonly number[]>> = {
    'of one byte': [3, 7, 255, 0, 12],
    'that are multiples': [1e9, 5e9, 3e9],
    'of two bytes': Array.from({ length: 50 }, (_, i) => i * 1201),
    'of four bytes': Array.from({ length: 50 }, (_, i) => i * i * 999_983),
    'beyond four bytes': [0, 2 ** 45 + 1],
    'below zero': [-5, -1, 4],
    'too far apart': [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    'with fractions': [0.5, 2, 3.25],
    'that are not numbers': [NaN, 1],
    'all NaN': [NaN],
    'with both zeros': [0, -0],
    'of two codes for one number': [4, 4],
    'with unused ones': [1, 2, 3, 1e12],
  };
  for (const [name, list] of Object.entries(lists))
    for (const type of [types.int64, types.float64])
      test(`${name}, ${type.name}`, () => {
        const r = randomOf(seedOf(2421));
        const whole = type === types.float64 || list.every((x) => Number.isInteger(x) && !Object.is(x, -0));
        if (!whole) return;
        const values = numbers(type, Float64Array.from(list));
        const most = name === 'with unused ones' ? 3 : list.length;
        const courses = {
          random: Array.from({ length: 900 }, () => r.below(most)),
          steps: Array.from({ length: 900 }, (_, i) => Math.floor((i * most) / 900)),
          one: new Array<number>(900).fill(most - 1),
          few: Array.from({ length: 20 }, () => r.below(most)),
        };
        for (const codes of Object.values(courses)) {
          const v = coded(values, codes);
          expect(bytesOf(v)).toEqual(bytesOf(flatten(v)));
        }
      });
});

test('texts of which one is looked up', () => {
  for (const text of ['', 'one', 'x'.repeat(5000)]) {
    const v = coded(vectorOf([stringValue('other'), stringValue(text)]), new Array<number>(300).fill(1));
    expect(bytesOf(v)).toEqual(bytesOf(flatten(v)));
  }
});

test('unions whose rows are all of one member', () => {
  const type = nullable(types.int64);
  if (type.kind !== 'union') throw new Error('no union');
  const dense = numbers(
    types.int64,
    Float64Array.from({ length: 300 }, (_, i) => (i * 7) % 90),
  );
  const tag = type.members.indexOf(types.int64);
  const none = take(vectorOf([nullValue]), new Uint32Array(0));
  const members = type.members.map((m) => (m === types.int64 ? dense : none));
  const [tags, slots] = [new Uint32Array(300).fill(tag), Uint32Array.from({ length: 300 }, (_, i) => i)];
  const plain: Vector = { form: 'union', type, length: 300, tags, slots, members };
  const away = Uint32Array.from(slots, (i) => 299 - i);
  // Its slots are not in order: it goes the long way, to the same bytes.
  const turned: Vector = { ...plain, slots: away, members: members.map((m) => (m === dense ? take(dense, away) : m)) };
  expect(bytesOf(unionOfOne(type, tag, dense, members))).toEqual(bytesOf(plain));
  expect(bytesOf(turned)).toEqual(bytesOf(plain));
});
