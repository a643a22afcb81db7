/** What the fuzz found, made small: each once hung, overflowed the stack or answered with as much text as the input had. */
import { expect, test } from 'vitest';
import { type Conversion, convert } from '../support/convert.ts';

const digits = '9'.repeat(60_000);
const nested = (open: string, close: string, times: number): string => `${open.repeat(times)}1${close.repeat(times)}`;

const inputs: readonly (readonly [string, Conversion['from'], string, RegExp])[] = [
  ['a cell of digits that is no number after all', 'csv', `a,b\n1,${digits}x\n`, /^$/],
  ['a float of digits that is none after all', 'sup', `${digits}.${digits}x`, /^sup: line 1: syntax error/],
  ['a duration with digits beyond nanoseconds', 'sup', `1.${digits}s`, /^$/],
  ['an integer of two million digits', 'json', '1'.repeat(2_000_000), /^$/],
  ['a Zeek name of 5,000 parts', 'zeek', `#separator \\x09\n#fields\t${'a.'.repeat(5_000)}b\n#types\tint\n1\n`, /nesting too deep \(limit 1000\)/],
  ['maps as deep as values may nest', 'sup', nested('|{1:', '}|', 999), /^$/],
  ['JSUP without a type, and long', 'jsup', `{"type":"${digits}","value":null}\n`, /^jsup: line 1: malformed JSUP: bad type object: .{1000,1100}$/],
  ['a JSUP field without a type', 'jsup', '{"type":{"kind":"record","id":30,"fields":[{"name":"a"}]},"value":[null]}\n', /bad type object: undefined/],
];
for (const [what, from, text, error] of inputs) {
  test(`${what} is read, or refused, at once`, { timeout: 5_000 }, async () => {
    const result = await convert(text, { from });
    expect(result.error).toMatch(error);
    expect(result.error.length).toBeLessThan(20_000);
  });
}
