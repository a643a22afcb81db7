/**
 * What the fuzz found, made small: each once hung, overflowed the stack or answered with as much text as the input had.
 */
import { expect, test } from 'vitest';
import { compile } from '../../src/query/analyze.ts';
import { CompileError } from '../../src/query/parse/error.ts';
import { type Conversion, convert } from '../support/formats/convert.ts';
import { lakeEnvironment } from '../support/queries/environment.ts';

const digits = '9'.repeat(60_000);
const nested = (open: string, close: string, times: number): string => `${open.repeat(times)}1${close.repeat(times)}`;

const inputs: readonly (readonly [string, Conversion['from'], string, RegExp])[] = [
  ['a cell of digits that is no number after all', 'csv', `a,b\n1,${digits}x\n`, /^$/],
  ['a float of digits that is none after all', 'sup', `${digits}.${digits}x`, /^sup: line 1: syntax error/],
  ['a duration with digits beyond nanoseconds', 'sup', `1.${digits}s`, /^$/],
  [
    'a word of very many colons',
    'sup',
    `{ts:2020-01-02T03:04:05.${'-02T03:04:05.'.repeat(100_000)}}`,
    /^sup: line 1: syntax error/,
  ],
  ['addresses and decorators with very many colons behind', 'sup', `1::${'a:'.repeat(100_000)}`, /^sup: /],
  ['an integer of two million digits', 'json', '1'.repeat(2_000_000), /^json: number out of range: 1{40}\.\.\. /],
  [
    'a Zeek name of 5,000 parts',
    'zeek',
    `#separator \\x09\n#fields\t${'a.'.repeat(5_000)}b\n#types\tint\n1\n`,
    /nesting too deep \(limit 1000\)/,
  ],
  ['maps as deep as values may nest', 'sup', nested('|{1:', '}|', 999), /^$/],
  [
    'JSUP without a type, and long',
    'jsup',
    `{"type":"${digits}","value":null}\n`,
    /^jsup: line 1: malformed JSUP: bad type object: .{1000,1100}$/,
  ],
  [
    'a JSUP field without a type',
    'jsup',
    '{"type":{"kind":"record","id":30,"fields":[{"name":"a"}]},"value":[null]}\n',
    /bad type object: undefined/,
  ],
];
for (const [what, from, text, error] of inputs) {
  test(`${what} is read, or refused, at once`, { timeout: 60_000 }, async () => {
    const result = await convert(text, { from });
    expect(result.error).toMatch(error);
    expect(result.error.length).toBeLessThan(20_000);
  });
}

for (const from of ['json', 'sup'] as const) {
  test(`a ${from} value of thousands of numbers holds each of them`, async () => {
    const fields = Array.from({ length: 5_000 }, (_, i) => `"f${i}":${i + 1}`);
    const floats = Array.from({ length: 5_000 }, (_, i) => `${i}.5`);
    for (const text of [
      `[${fields.map((_, i) => i + 1).join(',')}]`,
      `[${floats.join(',')}]`,
      `{"a":{${fields.join(',')}}}`,
    ]) {
      // What follows is known at once, so that the value is read in the first go, while its room grows.
      expect(await convert(`${text}\n1\n`, { from, to: 'ndjson' })).toEqual({ output: `${text}\n1\n`, error: '' });
    }
  });
}

const queries: readonly (readonly [string, string])[] = [
  [
    'types that each have the one before twice',
    `${Array.from({ length: 60 }, (_, i) => `type t${i} = ${i === 0 ? 'int64' : `{a:t${i - 1},b:t${i - 1}}`}`).join(' ')} values <t59>`,
  ],
  ['a group by of thousands of names', `count() by ${Array.from({ length: 4_000 }, (_, i) => `a${i}`).join(',')}`],
  [
    'a drop of each of thousands of fields',
    `values {${Array.from({ length: 3_000 }, (_, i) => `a${i}:1`).join(',')}} | drop ${Array.from({ length: 2_500 }, (_, i) => `a${i}`).join(',')}`,
  ],
  ['a number of fifty thousand digits', `values ${'9'.repeat(50_000)}`],
];
for (const [what, text] of queries) {
  test(`${what} is compiled, or refused in a few words, at once`, { timeout: 60_000 }, async () => {
    const problem = await compile(text, lakeEnvironment()).then(
      () => undefined,
      (e: unknown) => e,
    );
    if (problem !== undefined) expect(problem).toBeInstanceOf(CompileError);
    expect(String(problem).length).toBeLessThan(10_000);
  });
}

test('a file of tens of thousands of columns of two types is read and written in seconds', async () => {
  const names = Array.from({ length: 30_000 }, (_, i) => `c${i}`).join(',');
  const ones = Array.from({ length: 30_000 }, () => '1').join(',');
  const began = performance.now();
  expect((await convert(`${names}\n${ones}\n${names}\n${ones}\n`, { from: 'csv', to: 'csv' })).output.length).toBe(
    2 * names.length + 2 * ones.length + 4,
  );
  expect(performance.now() - began).toBeLessThan(8_000);
});
