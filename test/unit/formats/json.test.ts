import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { convert, read, readValues } from '../../support/formats/convert.ts';

const sup = async (text: string, pieceBytes?: number): Promise<string> => {
  const { output, error } = await convert(text, { from: 'json', ...(pieceBytes && { pieceBytes }) });
  return error === '' ? output : `${output}${error}`;
};

describe('reading JSON', () => {
  for (const [text, printed] of [
    ['1 2\n3', '1\n2\n3\n'],
    ['9223372036854775807 -9223372036854775808', '9223372036854775807\n-9223372036854775808\n'],
    ['9007199254740993', '9007199254740993\n'],
    ['9223372036854775808', '9.223372036854775808e+18\n'.replace('9.223372036854775808e+18', '9.223372036854776e+18')],
    ['-0 -0.0 0', '0\n0.\n0\n'],
    ['1.5 1e3 1E-7 0.1', '1.5\n1000.\n1e-07\n0.1\n'],
    ['123456789012345678901234567890', '1.2345678901234568e+29\n'],
    ['NaN', 'NaN\n'],
    ['true false null', 'true\nfalse\nnull\n'],
    ['[]', '[]\n'],
    ['{}', '{}\n'],
    ['{"a":[]}', '{a:[]::[null]}\n'],
    ['[1,"a",null]', '[1,"a",null]\n'],
    ['[1,2.5]', '[1,2.5]\n'],
    ['[{"a":1},{"a":2}]', '[{a:1},{a:2}]\n'],
    ['[[1],["x"]]', '[[1],["x"]]\n'],
    ['{"b":null,"a":1,"a":2,"b":"3"}', '{b:"3",a:2}\n'],
    ['{"a":{"x":1,"x":[1]},"a":3}', '{a:3}\n'],
    ['{"a":1}{"a":"x"}{"b":1}', '{a:1}\n{a:"x"}\n{b:1}\n'],
    [' { "a" : 1 , "b" : [ 1 , 2 ] } ', '{a:1,b:[1,2]}\n'],
    ['"\\u00e9\\ud83d\\ude00\\n\\/"', '"é😀\\n/"\n'],
    ['"A\u030a" "\\u212b"', '"Å"\n"Å"\n'],
    ['"\\ud800"', '"�"\n'],
    ['{"\\u0061":1,"A\u030a":2,"x y":3}', '{a:1,Å:2,"x y":3}\n'],
    ['{"a":1,"\\u0061":2}', '{a:2}\n'],
    ['{"10":1,"9":2}', '{"10":1,"9":2}\n'],
    ['{"__proto__":1}', '{__proto__:1}\n'],
    ['{"":1}', '{"":1}\n'],
    ['', ''],
    [' \n', ''],
    ['[0.1,0.2]', '[0.1,0.2]\n'],
    ['{"a":9007199254740993,"b":1}{"a":1,"b":2}', '{a:9007199254740993,b:1}\n{a:1,b:2}\n'],
  ]) {
    test(`${text} is ${printed}`, async () => {
      expect(await sup(text!)).toBe(printed);
      expect(await sup(text!, 1)).toBe(printed);
    });
  }

  const place = (line: number, column: number, byte: number): string =>
    ` (line ${line}, column ${column}, byte ${byte})`;
  for (const [text, said] of [
    ['{"a":1}{"a":2}{"a":', `{a:1}\n{a:2}\njson: unexpected end of JSON input${place(1, 20, 19)}`],
    ['{"a":1} x', `{a:1}\njson: invalid character 'x' looking for beginning of value${place(1, 9, 8)}`],
    [
      '{"a":1}\n{"a":2}\noops\n{"a":3}\n',
      `{a:1}\n{a:2}\njson: invalid character 'o' looking for beginning of value${place(3, 1, 16)}`,
    ],
    ['{"a":1\n"b":2}', `json: invalid character '"' after object key:value pair${place(2, 1, 7)}`],
    ['{a:1}', `json: invalid character 'a' looking for beginning of object key string${place(1, 2, 1)}`],
    ['{"a" 1}', `json: invalid character '1' after object key${place(1, 6, 5)}`],
    ['[1 2]', `json: invalid character '2' after array element${place(1, 4, 3)}`],
    ['1\n{"a":1e400}', `1\njson: number out of range: 1e400${place(2, 6, 7)}`],
    [`[-${'9'.repeat(400)}]`, `json: number out of range: -${'9'.repeat(39)}...${place(1, 2, 1)}`],
    ['1.7976931348623157e308', '1.7976931348623157e+308\n'],
    ['{"a":}', `json: invalid character '}' looking for beginning of value${place(1, 6, 5)}`],
    ['trux', `json: invalid character 'x' in literal true (expecting 'e')${place(1, 4, 3)}`],
    ['"a\nb"', `json: invalid character '\\n' in string literal${place(1, 3, 2)}`],
    ['"a', `json: unexpected end of JSON input${place(1, 3, 2)}`],
    ['"\\x"', `json: invalid character 'x' in string escape code${place(1, 3, 2)}`],
    ['1.', `json: unexpected end of JSON input${place(1, 3, 2)}`],
    ['-', `json: unexpected end of JSON input${place(1, 2, 1)}`],
    ['-x', `json: invalid character 'x' in numeric literal${place(1, 2, 1)}`],
    ['{"a":1,}', `json: invalid character '}' looking for beginning of object key string${place(1, 8, 7)}`],
    ['é', `json: invalid character 'é' looking for beginning of value${place(1, 1, 0)}`],
    ['"\\u00g0"', `json: invalid character 'g' in \\u hexadecimal character escape${place(1, 6, 5)}`],
    ['tru', `json: unexpected end of JSON input${place(1, 4, 3)}`],
  ]) {
    test(`${JSON.stringify(text)}: ${said}`, async () => {
      expect(await sup(text!)).toBe(said);
      expect(await sup(text!, 1)).toBe(said);
    });
  }

  test('nesting has a limit', async () => {
    expect(await sup('['.repeat(100_000))).toMatch(/^json: nesting too deep \(limit 1000\)/);
    expect(await sup('{"a":'.repeat(100_000))).toMatch(/^json: nesting too deep \(limit 1000\)/);
    expect(await sup('['.repeat(1000) + ']'.repeat(1000))).toMatch(/^\[\[\[/);
  });
  test('a value has a limit', async () => {
    const { error } = await convert(`"${'x'.repeat(5000)}"`, {
      from: 'json',
      read: { valueBytesMax: 1000 },
      pieceBytes: 100,
    });
    expect(error).toBe('json: a single value: more than 1000 bytes (option -value.max)');
  });
  test('batches have the rows asked for', async () => {
    expect((await read('1 2 3 4 5', 'json', { batchRows: 2 })).map((v) => v.length)).toEqual([2, 2, 1]);
  });
  test('objects with ever new keys are read and forgotten', async () => {
    const text = Array.from(
      { length: 3000 },
      (_, i) => `{"m":{${Array.from({ length: 30 }, (__, k) => `"k${i * 30 + k}":${k}`).join(',')}}}`,
    ).join('\n');
    const values = await readValues(text, 'json');
    expect(values.length).toBe(3000);
    expect((await convert(text, { from: 'json', to: 'ndjson' })).output).toBe(`${text}\n`);
  });
  test('whatever JSON.parse reads is read alike', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ depthSize: 'small' }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 50 }),
        async (values, pieceBytes) => {
          const plain = values.filter((v) => !oddKeys(v));
          const lines = plain.map((v) => `${JSON.stringify(v).normalize('NFC')}\n`).join('');
          const wanted = lines
            .split('\n')
            .filter(Boolean)
            .map(
              (l) =>
                `${JSON.stringify(JSON.parse(l)).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)}\n`,
            )
            .join('');
          expect(await convert(lines, { from: 'json', to: 'ndjson', pieceBytes })).toEqual({
            output: wanted,
            error: '',
          });
        },
      ),
      { numRuns: 300 },
    );
  });
  test('floats are read as Number reads them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => String(x)),
            fc.stringMatching(/^-?(0|[1-9][0-9]{0,16})\.[0-9]{1,18}(e[+-]?[0-9]{1,2})?$/),
          ),
          { minLength: 1 },
        ),
        async (texts) => {
          const values = await readValues(texts.join('\n'), 'json');
          expect(values.map((v) => Number(v.data))).toEqual(
            texts.map((t) => (Number.isInteger(Number(t)) && !/[.e]/.test(t) ? Number(t) + 0 : Number(t))),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
  test('a character that does not belong there is shown whole, wherever the pieces end', async () => {
    for (const pieceBytes of [1, 2, 3, 50])
      expect((await convert(Buffer.from('[1é'), { from: 'json', pieceBytes })).error).toBe(
        "json: invalid character 'é' after array element (line 1, column 3, byte 2)",
      );
  });
  test('cut or damaged bytes give an error or values, nothing else', async () => {
    const text = '{"a":1,"b":[1,2.5,"x\\n"],"c":{"d":null,"e":"é"}}\n{"a":"y","b":[],"c":true}\n';
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: text.length }),
        fc.array(fc.tuple(fc.nat(text.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
        async (length, changes) => {
          const bytes = Buffer.from(text).subarray(0, length);
          for (const [at, to] of changes) if (at < bytes.length) bytes[at] = to;
          const one = await convert(bytes, { from: 'json' });
          const many = await convert(bytes, { from: 'json', pieceBytes: 1 });
          expect(many).toEqual(one);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

/** JSON.parse reorders keys that look like integers and treats __proto__ apart. */
const oddKeys = (v: unknown): boolean =>
  typeof v === 'object' &&
  v !== null &&
  (Array.isArray(v)
    ? v.some(oddKeys)
    : Object.entries(v).some(
        ([k, x]) => /^\d+$/.test(k) || k === '__proto__' || k.normalize('NFC') !== k || oddKeys(x),
      ));

describe('writing JSON', () => {
  const json = async (text: string, write = {}): Promise<string> =>
    (await convert(text, { from: 'sup', to: 'json', write })).output;
  for (const [text, printed] of [
    ['{a?:_::int64,b:1}', '{"b":1}\n'],
    ['{a?:_::int64}', '{}\n'],
    ['{a:1::(int64|null),b:null::(int64|null)}', '{"a":1,"b":null}\n'],
    ['NaN +Inf -Inf', 'null\nnull\nnull\n'],
    ['1. 1e21 -0. -0.::float32', '1\n1e+21\n-0\n-0\n'],
    ['error("x")', '{"error":"x"}\n'],
    ['|{1:{a:1},2:{a:2}}|', '{"1":{"a":1},"2":{"a":2}}\n'],
    ['|{"k":1}|', '{"k":1}\n'],
    ['|{1::uint8:2}|', '{"1":2}\n'],
    ['|{1.5::float32:2}|', '{"1.5":2}\n'],
    ['|{"x"::enum(x):2}|', '{"x":2}\n'],
    ['|{"a":1,2:3}|', '{"2":3,"\\"a\\"":1}\n'],
    ['|{[1::int8]:2}|', '{"[1::int8]":2}\n'],
    ['|{"a"::=n:2}|', '{"a":2}\n'],
    ['<int64>', '"<int64>"\n'],
    ['"a"::enum(a,b)', '"a"\n'],
    ['1h', '"1h"\n'],
    ['0x01', '"0x01"\n'],
    ['"<>&\\u2028\\u0001"', '"<>&\\u2028\\u0001"\n'],
    ['18446744073709551615', '18446744073709551615\n'],
    ['1::=foo', '1\n'],
  ])
    test(`${text} is ${printed}`, async () => {
      expect(await json(text!)).toBe(printed);
    });
  test('HTTP gets one array on one line', async () => {
    expect(await json('{a:1}\n2', { httpArray: true })).toBe('[{"a":1},2]\n');
  });
  test('HTTP gets an empty array for no values', async () => {
    expect(await json('', { httpArray: true })).toBe('[]\n');
  });
  test('no values are no bytes otherwise', async () => {
    expect(await json('')).toBe('');
  });
  test('indented', async () => {
    expect(await json('{a:1,b:[1,{}],c:|{}|}', { pretty: 2 })).toBe(
      '{\n  "a": 1,\n  "b": [\n    1,\n    {}\n  ],\n  "c": {}\n}\n',
    );
  });
});
