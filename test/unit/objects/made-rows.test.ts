import { describe, expect, test } from 'vitest';
import { ColumnCache } from '../../../src/lake/columns/cache.ts';

const cacheOf = (bytesMax: number, keys: readonly object[]): ColumnCache => {
  const cache = new ColumnCache(bytesMax);
  cache.begin();
  for (const key of keys) cache.set(key, 10, () => 'kept');
  return cache;
};

describe('what was made of kept columns', () => {
  const [a, b, c] = [{}, {}, {}];
  const part = {};
  test('it is there by key and purpose until something gives way', () => {
    const cache = cacheOf(20, [a, b]);
    cache.keepMade(part, 'x', 'made');
    expect([cache.made(part, 'x'), cache.made(part, 'y'), cache.made({}, 'x')]).toEqual(['made', undefined, undefined]);
    cache.begin();
    cache.set(c, 10, () => 'kept');
    expect([cache.made(part, 'x'), cache.get(a), cache.get(c)]).toEqual([undefined, undefined, 'kept']);
  });
  test('while a scan goes on it uses what was made, so nothing gives way; the next one looks everything up and makes room', () => {
    const cache = cacheOf(20, [a, b]);
    cache.keepMade(part, 'x', 'made');
    cache.begin();
    expect(cache.made(part, 'x')).toBe('made');
    cache.set(c, 10, () => 'kept');
    expect([cache.refused, cache.get(c), cache.made(part, 'x')]).toEqual([1, undefined, 'made']);
    cache.begin();
    expect(cache.made(part, 'x')).toBe(undefined);
    cache.get(b);
    cache.set(c, 10, () => 'kept');
    expect([cache.refused, cache.get(a), cache.get(b), cache.get(c), cache.bytes]).toEqual([
      1,
      undefined,
      'kept',
      'kept',
      20,
    ]);
  });
  test('the last few things of a key are kept', () => {
    const cache = cacheOf(20, [a]);
    for (const name of ['1', '2', '3', '4']) cache.keepMade(part, name, name);
    expect(['1', '2', '3', '4'].map((name) => cache.made(part, name))).toEqual([undefined, '2', '3', '4']);
  });
});
