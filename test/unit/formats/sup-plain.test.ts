/** SUP text that is read straight from its bytes holds what the general parser finds in it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { openReader } from '../../../src/formats/formats.ts';
import { SupError } from '../../../src/vectors/sup/error.ts';
import { SupParser } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { bytesToText } from '../../../src/vectors/texts/codec.ts';
import { typeText } from '../../../src/vectors/type.ts';
import { type Value, encodeBody } from '../../../src/vectors/value.ts';
import { valueAt } from '../../../src/vectors/vector.ts';
import { pieces } from '../../support/formats/convert.ts';
import { seedOf } from '../../support/random.ts';
import { someValues } from '../../support/formats/values.ts';

interface Found {
  readonly values: readonly string[];
  readonly error: string;
}
/** Equal values of one type have equal bytes; -0 and 0 do not. */
const told = ({ type, data }: Value): string =>
  `${typeText(type)} ${Buffer.from(encodeBody(type, data)).toString('hex')}`;

const byParser = (text: string): Found => {
  const parser = new SupParser(text);
  const values: string[] = [];
  try {
    for (let value = parser.next(); value; value = parser.next()) values.push(told(value));
  } catch (problem) {
    if (!(problem instanceof SupError)) throw problem;
    return {
      values,
      error: problem.message.startsWith('line ') ? problem.message : `${problem.message} (line ${parser.line()})`,
    };
  }
  return { values, error: parser.truncated ? `line ${parser.line()}: unexpected end of input` : '' };
};
const byReader = async (bytes: Uint8Array, pieceBytes: number, batchRows: number): Promise<Found> => {
  const values: string[] = [];
  try {
    for await (const batch of await openReader('sup', pieces(bytes, pieceBytes), { batchRows }))
      for (let row = 0; row < batch.length; row++) values.push(told(valueAt(batch, row)));
  } catch (problem) {
    if (!(problem instanceof LakeError)) throw problem;
    return { values, error: problem.message.replace(/^sup: /, '') };
  }
  return { values, error: '' };
};

const agree = async (text: string, pieceBytes = 1 << 16): Promise<Found> => {
  const bytes = Buffer.from(text);
  const expected = byParser(bytes.toString());
  const found = await byReader(bytes, pieceBytes, 3);
  expect({ text, ...found }).toEqual({ text, ...expected });
  return found;
};

const runs = { seed: seedOf(1), numRuns: Number(process.env['RUNS'] ?? 200) };
const separators = fc.constantFrom(
  '\n',
  '\n',
  '\n',
  ' ',
  '\r\n',
  '\n\n  ',
  ' // c\n',
  '\n/* c */\n',
  '\t',
  '\u0085',
  '',
);
const plainTexts = fc.constantFrom(
  '1',
  '-0',
  '+5',
  '007',
  '123456789012345',
  '1234567890123456',
  '-9223372036854775808',
  '99999999999999999999',
  '1.',
  '-0.',
  '.5',
  '1.5',
  '0.1234567890123456789',
  '1e3',
  '1e400',
  'NaN',
  '-Inf',
  '1::uint8',
  '1 ::uint8',
  '-1::float32',
  '0.1::float32',
  '0.1::float16',
  '1.5::int8',
  '1::time',
  '1::duration',
  '1::string',
  '1::foo',
  '1::uint8::(uint8|null)',
  '5::int64',
  'true',
  'null',
  'nul',
  '2024-02-29T23:59:59.123456789123Z',
  '2023-02-29T00:00:00Z',
  '1969-12-31T23:59:59.5Z',
  '1600-01-01T00:00:00Z',
  '2262-04-11T23:47:16.9Z',
  '2020-01-01T00:00:00+01:00',
  '2020-01-01T00:00:00.Z',
  '1h',
  '-1.5s',
  '1d2h',
  '10.1.2.3',
  '10.1.2.300',
  '10.01.2.3',
  '1.2.3',
  '10.0.0.0/8',
  '::1',
  'fe80::1',
  '1::',
  '0xff',
  '0x',
  '"a"',
  '"\\u00e9\\n"',
  '"\\x"',
  '"é"',
  '"e\u0301"',
  '"\\ud800"',
  '"a\tb"',
  '"a\nb"',
  '"\0"',
  '[]',
  '[1,2]',
  '[1,2.5]',
  '[1,"a",null]',
  '["a","é"]',
  '[1::uint8,2::uint8]',
  '[{a:1},{a:2}]',
  '[{a?:_::int64},{a?:1}]',
  '[[1],[]]',
  '[1,]',
  '[1 2]',
  '[10.1.2.3,2020-01-01T00:00:00Z]',
  '[null]',
  '[,]',
  '{}',
  '{a:1}',
  '{a: 1 , b : 2}',
  '{"a":1,"b c":2}',
  '{"\\u0061":1}',
  '{a:1,a:2}',
  '{a:1,"a":2}',
  '{a?:1}',
  '{a?:_::int64,b:1}',
  '{a?:_::[int64]}',
  '{a?:_}',
  '{a:_::int64}',
  '{a?:_x}',
  '{a:1,}',
  '{a 1}',
  '{1:2}',
  '{é:1}',
  '{a:{b:{c:[1]}}}',
  '{a:::1}',
  '{a:1::=foo}',
  '{a:2::foo}',
  '|[1,2]|',
  '|{1:2}|',
  '<int64>',
  'error("x")',
  '"a"::enum(a,b)',
  '{a:1',
  '[1',
  '"a',
  '_',
  'foo',
  '}',
  '\v1',
  '1//c',
  '\ufeff1',
);

describe('values read from bytes', () => {
  test('are those of the general parser, whatever their types and however the text is cut', async () => {
    const texts = fc
      .tuple(someValues({ maxLength: 12 }), fc.constantFrom(0, 0, 2))
      .map(([values, indent]) => values.map((v) => supText(v, { indent })));
    await fc.assert(
      fc.asyncProperty(texts, separators, fc.integer({ min: 1, max: 200 }), async (values, separator, size) => {
        await agree(values.join(separator), size);
      }),
      runs,
    );
  });
  test('are those of the general parser in text of all sorts, and so are its errors', async () => {
    const lines = fc
      .array(fc.tuple(plainTexts, separators), { maxLength: 8 })
      .map((parts) => parts.map((p) => p.join('')).join(''));
    await fc.assert(
      fc.asyncProperty(lines, fc.integer({ min: 1, max: 60 }), async (text, size) => {
        await agree(text, size);
      }),
      { ...runs, numRuns: runs.numRuns * 4 },
    );
  });
  test('are those of the general parser in text that was tampered with', async () => {
    const texts = fc
      .tuple(
        someValues({ maxLength: 6 }),
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(3), plainTexts), { maxLength: 3 }),
      )
      .map(([values, changes]) => {
        let text = values.map((v) => supText(v)).join('\n');
        for (const [where, drop, by] of changes) {
          const at = Math.floor(where * text.length);
          text = text.slice(0, at) + by.slice(0, 3) + text.slice(at + drop);
        }
        return text;
      });
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 60 }), async (text, size) => {
        await agree(text, size);
      }),
      { ...runs, numRuns: runs.numRuns * 2 },
    );
  });
  for (const text of [
    '{a:1}\n::{a:int32}\n',
    '{a:1} // c\n::{a:int32}',
    '{a:1}{a:2}"x"1',
    '{a:1}\n2::=foo\n{a:2}\n3::foo\n',
    '"a"\n::=b\n"c"::b',
  ]) {
    test(`${JSON.stringify(text)} holds what it holds in one piece`, async () => {
      for (let size = 1; size <= text.length; size++) await agree(text, size);
    });
  }
  test('a value that is not plain between many that are, and the other way round', async () => {
    const plain = Array.from(
      { length: 3000 },
      (_, i) => `{id:${i},name:"n${i}",at:2020-01-01T00:00:${String(i % 60).padStart(2, '0')}Z}\n`,
    );
    const other = Array.from({ length: 3000 }, (_, i) => `{id:${i},tags:|["t${i}"]|}\n`);
    expect((await agree(plain.map((p, i) => (i % 100 === 99 ? other[i] : p)).join(''), 1000)).values.length).toBe(3000);
    expect((await agree(other.map((p, i) => (i % 100 === 99 ? plain[i] : p)).join(''), 1000)).values.length).toBe(3000);
  });
  test('bytes that are no UTF-8 are kept in strings, wherever chunks end', async () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xe0, 0x80, 0x22],
      [0x22, 0xff, 0x5c, 0x6e, 0x5c, 0x75, 0x30, 0x30, 0x65, 0x39, 0xc3, 0x22],
      [0x5b, 0x22, 0xff, 0x5c, 0x22, 0xfe, 0x22, 0x5d],
      [0x7b, 0x22, 0xff, 0x61, 0x22, 0x3a, 0x31, 0x7d],
      [0x22, 0xf0, 0x9f, 0x98, 0x22, 0x0a, 0x22, 0xc3],
      [0xc3, 0xa9],
      [0x22, 0xf0, 0x9f, 0x98, 0x80, 0x22],
    ]) {
      const expected = byParser(bytesToText(Uint8Array.from(bytes)));
      for (let size = 1; size <= bytes.length; size++)
        expect(await byReader(Uint8Array.from(bytes), size, 10)).toEqual(expected);
    }
  });
});
