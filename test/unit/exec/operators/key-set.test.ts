/** Keys of a join's build side as a test of the rows before it: what it leaves out has no partner. */
import { expect, test } from 'vitest';
import { keySetOf, keyTest, noKeys, prunerOf } from '../../../../src/exec/operators/join/key-set.ts';
import { rangeOf } from '../../../../src/exec/operators/join/direct.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { type PrimitiveType, types } from '../../../../src/vectors/type.ts';

const rowsOf = (text: string) => vectorOf(parseSupValues(text));
const setOf = (
  keys: readonly number[],
  options: { readonly type?: PrimitiveType; readonly loose?: boolean; readonly keepsNulls?: boolean } = {},
) => {
  const all = Float64Array.from(keys);
  return keySetOf(all, rangeOf(all, all.length)!, { type: types.int64, loose: true, keepsNulls: false, ...options });
};
const kept = (text: string, keys: ReturnType<typeof setOf>): number[] | 'all' => {
  const rows = keyTest([{ path: ['k'], keys }])!.keep(rowsOf(text));
  return rows ? [...rows] : 'all';
};

test('whole numbers are looked up, those outside of the range too', () => {
  const keys = setOf([-3, 5, 40]);
  expect(kept('{k:5}{k:6}{k:-3}{k:-4}{k:41}{k:40}{k:1099511627776}', keys)).toEqual([0, 2, 5]);
  expect(kept('{k:5.}{k:5.5}{k:NaN}{k:-Inf}{k:40.}', keys)).toEqual([0, 4]);
});

test('a null has no partner, unless nulls match', () => {
  expect(kept('{k:5}{k:null}{k:7}', setOf([5, 9]))).toEqual([0]);
  expect(kept('{k:5}{k:null}{k:7}', setOf([5, 9], { keepsNulls: true }))).toEqual([0, 1]);
  expect(prunerOf({ path: ['k'], keys: setOf([5, 9], { keepsNulls: true }) })).toBeUndefined();
});

test('values of which nothing is known are kept with all rows of their batch', () => {
  for (const text of ['{k:5}{k:"7"}{k:7}', '{k:5}{j:1}{k:7}', '{k:[5]}{k:[7]}', '{k:error("x")}{k:7}'])
    expect([text, kept(text, setOf([5, 9]))]).toEqual([text, 'all']);
  // Where types have to agree, and they do not.
  expect(kept('{k:6::uint8}{k:7::uint8}', setOf([5, 9], { loose: false }))).toBe('all');
  expect(kept('{k:6}{k:9}', setOf([5, 9], { loose: false }))).toEqual([1]);
  expect(kept('{k:2024-01-01T00:00:00Z}{k:2024-01-02T00:00:00Z}', setOf([5, 9]))).toBe('all');
});

test('keys without gaps are told by their range alone, none by an empty one', () => {
  const whole = setOf([3, 1, 2, 2]);
  expect([whole.range, whole.bits]).toEqual([{ least: 1, most: 3 }, undefined]);
  expect(keyTest([{ path: ['k'], keys: whole }])).toBeUndefined();
  expect(prunerOf({ path: ['k'], keys: whole })).toMatchObject({
    kind: 'all',
    of: [
      { kind: 'test', test: { path: ['k'], operator: '>=', value: { data: 1 } } },
      { kind: 'test', test: { path: ['k'], operator: '<=', value: { data: 3 } } },
    ],
  });
  expect(setOf([0, 2 ** 40]).bits).toBeUndefined();
  expect(noKeys.range).toBeUndefined();
});

test('keys that leave out next to nothing are not asked for a while, and then again', () => {
  const found = keyTest([{ path: ['k'], keys: setOf([0, 1, 3]) }])!;
  const batch = (k: number) => rowsOf(Array.from({ length: 5000 }, (_, i) => `{k:${i === 7 ? 2 : k}}`).join(''));
  const all = batch(1);
  expect(found.keep(all)).toHaveLength(4999);
  const asked = Array.from({ length: 17 }, () => found.keep(all)?.length);
  expect(asked).toEqual([...Array.from({ length: 16 }, () => undefined), 4999]);
});
