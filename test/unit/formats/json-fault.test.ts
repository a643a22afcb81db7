import { expect, test } from 'vitest';
import fc from 'fast-check';
import { jsonFault } from '../../../src/formats/json-fault.ts';
import { goQuoted } from '../../../src/vectors/literal.ts';

test('the words are those of Go', () => {
  expect(
    [
      '{',
      'not json',
      '{a:1}',
      '[1,',
      '[1 2]',
      '{"a" 1}',
      '{"a":1 2}',
      '1 2',
      '"a',
      '"\\x"',
      '"\\u12g"',
      '-x',
      '1.x',
      '1ex',
      'trux',
      '\u0000',
      '"\n"',
      '',
      "'a'",
    ].map(jsonFault),
  ).toEqual([
    'unexpected end of JSON input',
    "invalid character 'o' in literal null (expecting 'u')",
    "invalid character 'a' looking for beginning of object key string",
    'unexpected end of JSON input',
    "invalid character '2' after array element",
    "invalid character '1' after object key",
    "invalid character '2' after object key:value pair",
    "invalid character '2' after top-level value",
    'unexpected end of JSON input',
    "invalid character 'x' in string escape code",
    "invalid character 'g' in \\u hexadecimal character escape",
    "invalid character 'x' in numeric literal",
    "invalid character 'x' after decimal point in numeric literal",
    "invalid character 'x' in exponent of numeric literal",
    "invalid character 'x' in literal true (expecting 'e')",
    "invalid character '\\x00' looking for beginning of value",
    "invalid character '\\n' in string literal",
    'unexpected end of JSON input',
    "invalid character '\\'' looking for beginning of value",
  ]);
  expect(goQuoted('a"\\\u0007\u0001\u0085é')).toBe('"a\\"\\\\\\a\\x01\\u0085é"');
});
test('a text has a fault exactly if JSON.parse refuses it', () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.json().chain((t) => fc.nat(t.length).map((n) => t.slice(0, n) + t.slice(n + 1))),
        fc.string({ unit: fc.constantFrom(...'{}[]",:01-.eu\\tnf ') }),
      ),
      (text) => {
        expect(jsonFault(text) === undefined).toBe(isJson(text));
      },
    ),
    { numRuns: 2_000 },
  );
});
