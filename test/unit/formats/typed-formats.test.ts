/** BSUP, JSUP and Zeek: whatever a value is comes back; damage ends in an error, never in anything else. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWriter } from '../../../src/formats/formats.ts';
import { decodeLz4, encodeLz4 } from '../../../src/formats/codings/lz4.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { valueAt } from '../../../src/vectors/vector.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { openReader } from '../../../src/formats/formats.ts';
import { convert, hasNegativeZero, pieces, printed, written } from '../../support/formats/convert.ts';
import { someValues } from '../../support/formats/values.ts';

const back = async (bytes: Uint8Array, from: 'bsup' | 'jsup', pieceBytes: number): Promise<Value[]> => {
  const out: Value[] = [];
  for await (const batch of await openReader(from, pieces(bytes, pieceBytes)))
    for (let i = 0; i < batch.length; i++) out.push(valueAt(batch, i));
  return out;
};

for (const format of ['bsup', 'jsup'] as const) {
  const random = (options = {}): fc.Arbitrary<Value[]> =>
    someValues(options).filter((values) => format === 'bsup' || !values.some((v) => hasNegativeZero(v.data)));
  describe(format, () => {
    test('any values come back', async () => {
      await fc.assert(
        fc.asyncProperty(random(), fc.integer({ min: 1, max: 100 }), async (values, pieceBytes) => {
          expect(printed(await back(written(values, format), format, pieceBytes))).toEqual(printed(values));
        }),
        { numRuns: 600 },
      );
    });
    test('any values come back through detection', async () => {
      await fc.assert(
        fc.asyncProperty(random({ maxLength: 5 }), async (values) => {
          expect(await convert(written(values, format), { from: 'auto' })).toEqual({
            output: values.map((v) => `${supText(v)}\n`).join(''),
            error: '',
          });
        }),
        { numRuns: 200 },
      );
    });
    test('cut or damaged bytes give values or an error', async () => {
      await fc.assert(
        fc.asyncProperty(
          random(),
          fc.nat(),
          fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
          async (values, cut, changes) => {
            const whole = written(values, format);
            const bytes = whole.slice(0, whole.length - (cut % (whole.length + 1)));
            for (const [at, to] of changes) if (bytes.length > 0) bytes[at % bytes.length] = to;
            const one = await convert(bytes, { from: format });
            const many = await convert(bytes, { from: format, pieceBytes: 1 });
            expect(many).toEqual(one);
          },
        ),
        { numRuns: 1500 },
      );
    });
  });
}

describe('BSUP bytes', () => {
  const hex = (text: string): string =>
    Buffer.from(written(parseSupValues(text), 'bsup'))
      .toString('hex')
      .replace(/(..)(?=.)/g, '$1 ');
  for (const [text, bytes] of [
    ['1', '81 13 00 09 02 02 ff'],
    [
      '{a?:1,b:"x"}\n{a?:_::int64,b:"y"}',
      '81 0a 00 00 02 01 61 09 01 01 62 19 00 81 1e 00 1e 07 02 00 02 02 02 78 1e 05 02 01 02 79 ff',
    ],
    ['|{"k":-1}|', '81 03 00 03 19 09 81 16 00 1e 05 02 6b 02 03 ff'],
    ['{a:null::(int64|null)}', '81 0a 00 04 02 09 1d 00 01 01 61 1e 00 81 16 00 1f 05 04 02 01 00 ff'],
    ['0 "" {} null', '81 02 00 00 00 81 18 00 09 01 19 01 1e 01 1d 00 ff'],
    [
      '{a:{b?:_::int64,c?:1}}',
      '81 00 01 00 02 01 62 09 01 01 63 09 01 00 01 01 61 1e 00 81 17 00 1f 06 05 02 01 02 02 ff',
    ],
    ['', ''],
  ])
    test(`${text} is ${bytes}`, () => {
      expect(hex(text!)).toBe(bytes);
    });
  test('a long run is compressed', () => {
    expect(written([stringValue('a'.repeat(200))], 'bsup').length).toBeLessThan(40);
  });
  for (const [bytes, fault] of [
    ['01', 'BSUP version mismatch: expected 1, found 0'],
    ['82 13 00', 'BSUP version mismatch: expected 1, found 2'],
    ['81 33 00', 'unknown BSUP message frame type: 3'],
    ['81 13 00 1e 02 02', 'bsupio: no type found for type id 30'],
    ['81 01 00 09', 'unknown BSUP typedef code: 9'],
    ['81 43 00 05 01 00', 'bsupio: unknown compression format 0x5'],
    ['81 13 00 09 03 02', 'truncated input'],
    ['81 13', 'truncated input'],
    ['81 12 00 09 00', 'malformed BSUP value'],
    ['81 22 00 02 78', 'control'],
    ['81 12 00 0a 01', 'primitive type ID 10 not implemented'],
    ['81 10 80 80 80 80 10', 'large value of 68719476736 bytes exceeds maximum read buffer'],
  ])
    test(`${bytes}: ${fault}`, async () => {
      expect((await convert(Buffer.from(bytes!.replaceAll(' ', ''), 'hex'), { from: 'bsup' })).error).toContain(
        `bsup: ${fault}`,
      );
    });
  test('typedefs that nest without end have a limit', async () => {
    const defs = Buffer.concat(
      Array.from({ length: 3000 }, (_, i) => {
        const id = i === 0 ? 9 : 29 + i;
        return Buffer.from(id < 128 ? [1, id] : [1, (id & 127) | 128, id >> 7]);
      }),
    );
    const frame = Buffer.concat([
      Buffer.from([0x81, defs.length & 15, ((defs.length >> 4) & 127) | 128, defs.length >> 11]),
      defs,
    ]);
    expect((await convert(frame, { from: 'bsup' })).error).toContain('nesting too deep (limit 1000)');
  });
});

const lz4Encode = (bytes: Uint8Array): Uint8Array | undefined => {
  const room = new Uint8Array(bytes.length);
  const end = encodeLz4(bytes, 0, bytes.length, room, 0, room.length);
  return end < 0 ? undefined : room.subarray(0, end);
};
const lz4Decode = (block: Uint8Array, size: number): Uint8Array | undefined => {
  const out = new Uint8Array(size);
  return decodeLz4(block, 0, block.length, out, size) ? out : undefined;
};

describe('LZ4 blocks', () => {
  test('what is encoded decodes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 2000 }),
          fc
            .array(fc.constantFrom('abc', 'hello world ', 'x'), { maxLength: 300 })
            .map((a) => new Uint8Array(Buffer.from(a.join('')))),
        ),
        (bytes) => {
          const packed = lz4Encode(bytes);
          if (packed) expect(Buffer.from(lz4Decode(packed, bytes.length)!)).toEqual(Buffer.from(bytes));
        },
      ),
      { numRuns: 500 },
    );
  });
  test('runs longer than a length byte decode', () => {
    for (const size of [0, 1, 12, 13, 64, 300, 70_000, 200_000]) {
      const bytes = new Uint8Array(size).fill(7);
      const packed = lz4Encode(bytes);
      if (packed) expect(Buffer.compare(lz4Decode(packed, size)!, bytes)).toBe(0);
      else expect(size).toBeLessThan(14);
    }
  });
  test('damage decodes to nothing or to bytes of the right length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(200), (bytes, size) => {
        const out = lz4Decode(bytes, size);
        expect(out === undefined || out.length === size).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('JSUP numbers', () => {
  const line = (type: string, value: string): string =>
    JSON.stringify({ type: { kind: 'primitive', name: type }, value });
  for (const [type, value, said] of [
    ['int64', '9223372036854775807', '9223372036854775807\n'],
    ['int64', '99999999999999999999', 'jsup: line 1: bad JSUP value for type int64: "99999999999999999999"'],
    ['uint8', '-1', 'jsup: line 1: bad JSUP value for type uint8: "-1"'],
    ['uint64', '18446744073709551615', '18446744073709551615::uint64\n'],
    ['uint64', '18446744073709551616', 'jsup: line 1: bad JSUP value for type uint64: "18446744073709551616"'],
    ['float32', '1e39', 'jsup: line 1: bad JSUP value for type float32: "1e39"'],
    ['float64', 'inf', '+Inf\n'],
    ['float64', '0x1p3', '8.\n'],
    ['float64', '-0.', '0.\n'],
  ])
    test(`${type} ${value}`, async () => {
      const { output, error } = await convert(line(type!, value!), { from: 'jsup' });
      expect(output + error).toBe(said);
    });
});

describe('control messages', () => {
  const channel = (name: string): Value => recordValue([{ name: 'channel', value: stringValue(name) }]);
  const time = (ns: bigint): Value => ({ type: types.time, data: ns });
  const stats = recordValue([
    { name: 'start_time', value: time(1_795_226_855_414_810_020n) },
    { name: 'update_time', value: time(1_795_226_855_415_829_923n) },
    { name: 'bytes_read', value: intValue(10) },
    { name: 'bytes_matched', value: intValue(10) },
    { name: 'records_read', value: intValue(3) },
    { name: 'records_matched', value: intValue(3) },
  ]);
  const row = vectorOf(parseSupValues('{a:1,b?:_::int64}'));
  const run = (format: 'jsup' | 'bsup'): Buffer => {
    const writer = createWriter(format);
    return Buffer.concat([
      ...writer.control!({ type: 'QueryChannelSet', value: channel('main') }),
      ...writer.write(row),
      ...writer.control!({ type: 'QueryChannelSet', value: channel('second') }),
      ...writer.write(row),
      ...writer.write(row),
      ...writer.control!({ type: 'QueryStats', value: stats }),
      ...writer.end(),
    ]);
  };
  test('JSUP defines a type once per channel and tells times as seconds and nanoseconds', () => {
    const type =
      '{"kind":"record","id":30,"fields":[{"name":"a","type":{"kind":"primitive","name":"int64"}},{"name":"b","type":{"kind":"primitive","name":"int64"},"opt":true}]}';
    expect(run('jsup').toString()).toBe(`{"type":"QueryChannelSet","value":{"channel":"main"}}
{"type":${type},"value":[[0],"1"]}
{"type":"QueryChannelSet","value":{"channel":"second"}}
{"type":${type},"value":[[0],"1"]}
{"type":{"kind":"ref","id":30},"value":[[0],"1"]}
{"type":"QueryStats","value":{"start_time":{"sec":1795226855,"ns":414810020},"update_time":{"sec":1795226855,"ns":415829923},"bytes_read":10,"bytes_matched":10,"records_read":3,"records_matched":3}}
`);
  });
  test('BSUP has them as frames of SUP text between its values, before the end', () => {
    const bytes = run('bsup');
    expect(bytes.subarray(0, 40).toString('latin1')).toBe(
      '\x81\x24\x02\x02{channel:"main"}::=QueryChannelSet\n\x81'.slice(0, 40),
    );
    expect(bytes.at(-1)).toBe(0xff);
  });
});

describe('Zeek', () => {
  test('numbers and bools are spelled in any of the ways that v0.2.0 takes', async () => {
    const { output } = await convert(
      '#separator \\x09\n#fields\ta\tb\n#types\tdouble\tbool\ninf\tt\n-Infinity\t0\n0x1p3\tTRUE\n1_0\tF\n',
      { from: 'zeek', to: 'json' },
    );
    expect(output).toBe('{"a":null,"b":true}\n{"a":null,"b":false}\n{"a":8,"b":true}\n{"a":10,"b":false}\n');
  });
  test('the least and the greatest time and duration that are written are read', async () => {
    const rows =
      '{a:1677-09-21T00:12:43.145224192Z,b:-106751d23h47m16.854775808s}\n{a:2262-04-11T23:47:16.854775807Z,b:106751d23h47m16.854775807s}\n';
    const { output } = await convert(rows, { from: 'sup', to: 'zeek' });
    expect(output.split('\n').filter((line) => /^-?\d/.test(line))).toEqual([
      '-9223372036.854775808\t-9223372036.854775808',
      '9223372036.854775807\t9223372036.854775807',
    ]);
    const read = await convert(output, { from: 'zeek', to: 'sup' });
    expect((await convert(read.output, { from: 'sup', to: 'zeek' })).output).toBe(output);
  });
  test.each(['9223372036.854775808', '-9223372036.854775809', '1e30'])('there is no time %s', async (text) => {
    expect(
      (await convert(`#separator \\x09\n#fields\ta\n#types\ttime\n${text}\n`, { from: 'zeek', to: 'sup' })).error,
    ).toContain('strconv.ParseFloat');
  });
  test('a field a.b beside a field b of a record a is a column of its own', async () => {
    const { output } = await convert('{a:{b:1},"a.b":2,c:3}', { from: 'sup', to: 'zeek' });
    expect(output.split('\n').slice(4)).toEqual(['#fields\ta.b\ta.b_1\tc', '#types\tint\tint\tint', '1\t2\t3', '']);
    expect((await convert(output, { from: 'zeek', to: 'json' })).output).toBe('{"a":{"b":1,"b_1":2},"c":3}\n');
  });
  test('a negative zero keeps its sign', async () => {
    expect((await convert('{a:-0.,b:0.}', { from: 'sup', to: 'zeek' })).output.split('\n').at(-2)).toBe('-0\t0');
  });
  test('what it cannot hold ends the output after the rows before', async () => {
    const { output, error } = await convert('{a:1}\n{a:null}', { from: 'sup', to: 'zeek' });
    expect(output.endsWith('#fields\ta\n#types\tint\n1\n')).toBe(true);
    expect(error).toBe('type null: type cannot be represented in zeek format');
  });
  test.each(['\t', '\n', '\r'])('a name with %j is refused: what follows it would be other columns', async (odd) => {
    const name = JSON.stringify(`x${odd}#types`);
    for (const value of [`{a:1,${name}:2}`, `{a:1,b:{${name}:2}}`]) {
      const { output, error } = await convert(value, { from: 'sup', to: 'zeek' });
      expect(error).toContain('a name with a tab or a line end cannot be represented in zeek format');
      expect(output).not.toContain('#fields');
    }
  });
  test('arrays in arrays are refused, whatever their names', async () => {
    expect((await convert('{a:[["x"]]}', { from: 'sup', to: 'zeek' })).error).toBe(
      'type [[string]]: type cannot be represented in zeek format',
    );
    expect((await convert('{a:[["x"]::=path]}', { from: 'sup', to: 'zeek' })).error).toBe(
      'type [path=[string]]: type cannot be represented in zeek format',
    );
  });
  for (const [text, said] of [
    ['garbage\n', 'zeek: line 1: bad types/fields definition in zeek header'],
    ['#separator \\x09\n#fields\ta\tb\n#types\tint\nx\n', 'zeek: line 4: bad types/fields definition in zeek header'],
    ['#separator \\x09\n#fields\ta\tb\n#types\tint\tfunc\n1\t2\n', 'zeek: line 3: unknown type: func'],
    [
      '#separator \\x09\n#fields\ta\n#types\tint\n1\nnotanint\n3\n',
      'zeek: line 5: strconv.ParseInt: parsing "notanint": invalid syntax',
    ],
    ['#separator \\x09\n#fields\ta\tb\n#types\tint\tint\n1\n', 'zeek: line 4: too few values'],
    [
      '#separator \\x09\n#fields\ta\n#types\tcount\n+1\n',
      'zeek: line 4: strconv.ParseUint: parsing "+1": invalid syntax',
    ],
  ])
    test(`${JSON.stringify(text)}: ${said}`, async () => {
      for (const pieceBytes of [1, 100]) expect((await convert(text!, { from: 'zeek', pieceBytes })).error).toBe(said);
    });
});

test('a row of Zeek that begins like a line of the header is a row all the same', async () => {
  const values = [...parseSupValues('{s:"#b",n:1}\n{s:"#fields",n:2}\n{s:"a#",n:3}\n{x:"#types"}\n')];
  const { output, error } = await convert(written(values, 'zeek'), { from: 'zeek' });
  expect([output.replaceAll(/::\(\w+\|null\)/g, ''), error]).toEqual([
    '{s:"#b",n:1}\n{s:"#fields",n:2}\n{s:"a#",n:3}\n{x:"#types"}\n',
    '',
  ]);
});
