/** Expressions that the engine matches in place of RE2: the same matches and groups, in linear time. */
import { expect, test } from 'vitest';
import { RE2JS } from 're2js';
import { linearRegexp, linearSearch } from '../../../src/exec/expressions/linear-regexp.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const parts = [
  'a',
  'b',
  '/',
  '\\.',
  '.',
  '[ab]',
  '[^/]',
  '[^a-b]',
  '\\d',
  '\\w',
  'é',
  '\n',
  '[a-]',
  '[]a]',
  '[\\w.]',
  '(?:ab)',
  '(a)',
  '([^/]+)',
  '(b?)',
  '$',
  '|',
  '(?:a*)',
  '[^\\d]',
  '^',
  '\\s',
  '[[:alpha:]]',
];
const marks = ['', '', '', '?', '*', '+', '*?', '{2}', '++'];
const letters = ['a', 'b', '/', '.', '1', 'é', '\n', 'x', '😀', '\r', '_', '\u2028'];

test('what is taken matches as RE2 does, groups too', () => {
  const seed = seedOf(20799);
  const random = randomOf(seed);
  const some = (list: readonly string[], most: number): string =>
    Array.from({ length: random.below(most) }, () => list[random.below(list.length)]!).join('');
  let taken = 0;
  for (let n = 0; n < 20_000; n++) {
    const pattern = `^${Array.from({ length: 1 + random.below(5) }, () => parts[random.below(parts.length)]! + marks[random.below(marks.length)]!).join('')}`;
    const linear = linearRegexp(pattern);
    if (!linear) continue;
    taken++;
    const text = some(letters, 8);
    const own = RE2JS.compile(pattern).matcher(text);
    const isFound = own.find();
    const groups = isFound ? Array.from({ length: own.groupCount() + 1 }, (_, g) => own.group(g) ?? '') : undefined;
    const found = linear.exec(text);
    expect({ seed, pattern, text, groups: found ? Array.from(found, (g) => g ?? '') : undefined }).toEqual({
      seed,
      pattern,
      text,
      groups,
    });
  }
  expect(taken).toBeGreaterThan(3000);
});

test.each([
  'a',
  'a+',
  '^(a+)+$',
  '^a+a+b',
  '^.*x',
  '^a*a*a*b',
  '^[^/]+.*/x',
  '^a|b',
  '^a{2}',
  '^a*?b',
  '^(?i)a',
  '^\\bа',
  '^a?a?a?a?a?b',
])('%s is left to RE2', (pattern) => {
  expect(linearRegexp(pattern)).toBeUndefined();
});

test('a long text takes no longer for each character than a short one', () => {
  for (const pattern of ['^https?://(?:www\\.)?([^/]+)/.*$', '^a+b+c+$', '^[^,]*,[^,]*,x'])
    expect(linearRegexp(pattern)!.test('aaabbb,'.repeat(200_000))).toBe(false);
});

test('what is taken for searches finds all that RE2 does, groups too', () => {
  const seed = seedOf(20811);
  const random = randomOf(seed);
  const some = (list: readonly string[], most: number): string =>
    Array.from({ length: random.below(most) }, () => list[random.below(list.length)]!).join('');
  let taken = 0;
  for (let n = 0; n < 20_000; n++) {
    const pattern = Array.from(
      { length: 1 + random.below(4) },
      () => parts[random.below(parts.length)]! + marks[random.below(marks.length)]!,
    ).join('');
    const linear = linearSearch(pattern);
    if (!linear) continue;
    taken++;
    const text = some(letters, 16);
    const matcher = RE2JS.compile(pattern).matcher(text);
    const wanted: (string | null)[][] = [];
    while (matcher.find()) wanted.push(Array.from({ length: matcher.groupCount() + 1 }, (_, g) => matcher.group(g)));
    expect({
      seed,
      pattern,
      text,
      found: Array.from(text.matchAll(linear), (m) => Array.from(m, (g) => g ?? null)),
    }).toEqual({
      seed,
      pattern,
      text,
      found: wanted,
    });
  }
  expect(taken).toBeGreaterThan(1000);
});

test('a search of a text in which nothing matches takes time by its length', () => {
  // Of these the engine would come back to each place again and again.
  for (const pattern of ['a+b', 'a*b', '(?:a+)?b', '[ab]+$', 'a+a+b', 'a|b', 'b*', '(b?)', '$'])
    expect([pattern, linearSearch(pattern)]).toEqual([pattern, undefined]);
  const text = 'a'.repeat(1 << 20);
  for (const pattern of ['b+', 'ab+', 'aab', 'ab$', 'a(?:b[ab]*)'])
    expect(linearSearch(pattern)!.exec(text)).toBeNull();
});
