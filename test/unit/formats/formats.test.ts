import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mediaTypes } from '../../../src/client/query.ts';
import { responseFormats } from '../../../src/format-names.ts';
import {
  formatOfFile,
  formatOfMediaType,
  formatTable,
  mediaTypeOf,
  openReader,
  requestMediaType,
} from '../../../src/formats/formats.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { intValue, recordValue } from '../../../src/vectors/value.ts';
import { convert, readValues, written } from '../../support/formats/convert.ts';
import { someValues } from '../../support/formats/values.ts';

const outcome = async (input: string | Uint8Array, read = {}, pieceBytes?: number): Promise<string> => {
  const { output, error } = await convert(input, { from: 'auto', read, ...(pieceBytes && { pieceBytes }) });
  return output + error;
};

describe('detection', () => {
  for (const [text, printed] of [
    ['{"a":1}\n{"a":2}\n', '{a:1}\n{a:2}\n'],
    ['{a:1}\n', '{a:1}\n'],
    ['1', '1\n'],
    ['', ''],
    [' \n\n', ''],
    ['a,b\n1,x\n', '{a:1.,b:"x"}\n'],
    ['a\tb\n1\tx\n', '{a:1.,b:"x"}\n'],
    ['"a","b c"\n"1","x"\n', '{a:1.,"b c":"x"}\n'],
    ['"a"\t"b"\n1\tx\n', '{a:1.,b:"x"}\n'],
    ['"a" "b"\n', '"a"\n"b"\n'],
    ['[1,2]\n', '[1,2]\n'],
    ['{"a":1}\n{b:2}\n', '{a:1}\n{b:2}\n'],
    ['// c\n1\n', '1\n'],
  ]) {
    test(`${JSON.stringify(text)} reads as ${printed}`, async () => {
      expect(await outcome(text!)).toBe(printed);
      expect(await outcome(text!, {}, 1)).toBe(printed);
    });
  }
  for (const [encoding, mark] of [
    ['utf-16le', true],
    ['utf-16be', true],
    ['utf-16le', false],
    ['utf-16be', 'utf-16'],
  ] as const) {
    test(`text in ${encoding} ${mark ? 'by its byte order mark' : 'as it was declared'}`, async () => {
      const bytes = Buffer.from(`${mark ? '\uFEFF' : ''}id,c\n1,é😀\n`, 'utf16le');
      if (encoding === 'utf-16be') bytes.swap16();
      const read = mark === true ? {} : { charset: mark || encoding };
      expect(await outcome(bytes, read)).toBe('{id:1.,c:"é😀"}\n');
      expect(await outcome(bytes, read, 1)).toBe('{id:1.,c:"é😀"}\n');
    });
  }
  test('what nobody reads is told by each reader, one a line', async () => {
    const said = await outcome('hello world\n');
    expect(said.split('\n')[0]).toBe('format detection error');
    expect(said).toContain(
      "\n\tcsv: line 1: delimiter ',' not found\n\tjson: invalid character 'h' looking for beginning of value\n\tline: auto-detection not supported\n",
    );
    expect(said).toContain("\n\tsup: line 1: syntax error\n\ttsv: line 1: delimiter '\\t' not found");
  });
  test('a line without its end is told so', async () => {
    expect(await outcome('a b')).toContain('\n\tcsv: line 1: EOF\n');
  });
  test('looking ahead has a limit', async () => {
    expect(await outcome(`["${'x'.repeat(5000)}"]`, { lookAheadBytesMax: 1000 }, 100)).toBe(
      'buffer exceeded max size trying to infer input format (1000 bytes)',
    );
  });
  test('the ten values of JSON are tried, the rest is read', async () => {
    expect(await outcome(`${'{"a":1}\n'.repeat(11)}oops\n`)).toBe(
      `${'{a:1}\n'.repeat(11)}json: invalid character 'o' looking for beginning of value (line 12, column 1, byte 88)`,
    );
  });
});

describe('gzip', () => {
  test('is undone in every format', async () => {
    expect(await outcome(gzipSync('{"a":1}\n'))).toBe('{a:1}\n');
    expect((await convert(gzipSync('a,b\n1,2\n'), { from: 'csv', pieceBytes: 1 })).output).toBe('{a:1.,b:2.}\n');
    expect(await outcome(Buffer.concat([gzipSync('{a:1}'), gzipSync('{a:2}')]))).toBe('{a:1}\n{a:2}\n');
  });
  test('that is cut or damaged is an error', async () => {
    const bytes = gzipSync('{"a":1}\n'.repeat(100));
    expect((await convert(bytes.subarray(0, 20), { from: 'json' })).error).toMatch(/^gzip: /);
    bytes[bytes.length - 5]! ^= 0xff;
    expect((await convert(bytes, { from: 'json' })).error).toMatch(/^gzip: /);
  });
  test('may not expand beyond a limit', async () => {
    const { error } = await convert(gzipSync(Buffer.alloc(10_000_000, 0x20)), {
      from: 'json',
      read: { expandedBytesMax: 1_000_000 },
    });
    expect(error).toBe('request body: gzip: expands to more than 1000000 bytes (option -expanded.max)');
  });
});

test('names of fields come back as they were, whatever is in them', async () => {
  const names = [
    '\ufeffa',
    'a',
    '',
    ' ',
    '__proto__',
    'constructor',
    'a.b',
    'e\u0301',
    '\u202e',
    '\u200b',
    'x\0',
    'a\nb',
  ];
  const values = [recordValue(names.map((name, i) => ({ name, value: intValue(i) })))];
  for (const format of ['sup', 'jsup', 'bsup', 'csup', 'arrows', 'parquet'] as const) {
    const composed = format === 'sup' ? names.map((name) => name.normalize('NFC')) : names;
    const { output, error } = await convert(written(values, format), { from: format });
    const wanted = recordValue(composed.map((name, i) => ({ name, value: intValue(i) })));
    expect([format, output, error]).toEqual([format, `${supText(wanted)}\n`, '']);
  }
});

describe('the table', () => {
  test('media types and endings find their format', () => {
    expect(formatOfMediaType('application/x-zjson')?.name).toBe('jsup');
    expect(formatOfMediaType('text/html')).toBeUndefined();
    expect(mediaTypeOf('ndjson')).toBe('application/x-ndjson');
    expect(requestMediaType('ndjson')).toBe('application/json');
    expect(formatOfFile('/a/b.JSONL')).toBe('json');
    expect(formatOfFile('x.unknown')).toBeUndefined();
  });
  test('both clients know the media types that answers are sent with', () => {
    const own = Object.fromEntries(responseFormats.map((name) => [name, mediaTypeOf(name)]));
    expect(mediaTypes).toEqual(own);
    const python = readFileSync(
      new URL('../../../src/client/python/lake_data_service/query.py', import.meta.url),
      'utf8',
    );
    const [, table = ''] = /^MEDIA_TYPES[^=]*= \{\n([^}]*)\}/m.exec(python) ?? [];
    expect(
      Object.fromEntries([...table.matchAll(/"(\w+)": "([^"]+)"/g)].map(([, name, type]) => [name, type])),
    ).toEqual(own);
  });
  test('formats of records alone have one type each, but for Zeek, which has a header for each', () => {
    const named = (is: 'recordsOnly' | 'hasOneType'): readonly string[] =>
      Object.values(formatTable).flatMap((row) => (row[is] ? [row.name] : []));
    expect(named('recordsOnly')).toEqual([...named('hasOneType'), 'zeek']);
  });
  test('every name is the name of its row', () => {
    for (const [name, row] of Object.entries(formatTable)) expect(row.name).toBe(name);
  });
});

describe('streams', () => {
  test('a reader that is left closes its input', async () => {
    for (const format of ['json', 'sup', 'csv', 'line', 'auto'] as const) {
      let closed = false;
      const input = (async function* () {
        try {
          for (;;) yield Buffer.from('"a,b"\n'.repeat(1000));
        } finally {
          closed = true;
        }
      })();
      for await (const batch of await openReader(format, input, { batchRows: 10 })) {
        expect(batch.length).toBe(10);
        break;
      }
      expect(closed, format).toBe(true);
    }
  });
  test('an error of the input comes through', async () => {
    const input = (async function* () {
      yield Buffer.from('{"a":1}');
      throw new Error('connection lost');
    })();
    await expect(
      (async () => {
        for await (const _ of await openReader('json', input));
      })(),
    ).rejects.toThrow('connection lost');
  });
  test('a million bytes of one string need no million steps', async () => {
    const text = `"${'x'.repeat(3_000_000)}"`;
    for (const from of ['json', 'sup', 'csv', 'line'] as const) {
      const body = from === 'csv' ? `a\n${text}\n` : text;
      const start = performance.now();
      expect((await convert(body, { from, pieceBytes: 1 << 10 })).error).toBe('');
      expect(performance.now() - start).toBeLessThan(5000);
    }
  });
});

describe('SUP', () => {
  test('values over several lines, names from before, comments', async () => {
    const text = '{a:1}\n::=foo\n/* a\n comment */ {a:2}::foo // x\n<\n  int64|\n  string\n>\n{\n  b: "x"\n}';
    for (const pieceBytes of [1, 5, 1000])
      expect((await convert(text, { from: 'sup', pieceBytes })).output).toBe(
        '{a:1}::=foo\n{a:2}::=foo\n<int64|string>\n{b:"x"}\n',
      );
  });
  for (const [text, said] of [
    ['{a:1}\n{a:2}\n}\n{a:3}\n', '{a:1}\n{a:2}\nsup: line 3: syntax error'],
    ['{a:1}\n{a:"x\n', '{a:1}\nsup: line 3: parse error: string literal: unescaped line break'],
    ['{a:1}\n{a:2', '{a:1}\nsup: line 2: unexpected end of input'],
    ['{a:1::nosuch}', 'sup: no such type name: "nosuch" (line 1)'],
    ['x\n', 'sup: line 1: syntax error'],
  ]) {
    test(`${JSON.stringify(text)}: ${said}`, async () => {
      for (const pieceBytes of [1, 1000]) {
        const { output, error } = await convert(text!, { from: 'sup', pieceBytes });
        expect(output + error).toBe(said);
      }
    });
  }
  test('random values come back through bytes in pieces', async () => {
    await fc.assert(
      fc.asyncProperty(someValues(), fc.integer({ min: 1, max: 64 }), async (values, pieceBytes) => {
        const text = values.map((v) => `${supText(v)}\n`).join('');
        expect(Buffer.from(written(values, 'sup')).toString()).toBe(text);
        expect((await convert(text, { from: 'sup', pieceBytes })).output).toBe(
          (await convert(text, { from: 'sup' })).output,
        );
      }),
      { numRuns: 200 },
    );
  });
  test('persisted names are defined once', async () => {
    const { output } = await convert('1::=foo 2::=foo 3::=bar 4::=bar', { from: 'sup', write: { persist: '^f' } });
    expect(output).toBe('1::=foo\n2::foo\n3::=bar\n4::=bar\n');
    expect((await readValues(output, 'sup')).length).toBe(4);
  });
});

describe('other writers', () => {
  test('line writes strings bare, the rest as SUP', async () => {
    expect((await convert('"a" "b\\nc" {x:1} "n"::=foo "u"::(int64|string)', { from: 'sup', to: 'line' })).output).toBe(
      'a\nb\nc\n{x:1}\nn\n"u"::(int64|string)\n',
    );
  });
  test('db describes pools and objects, and prints other values as SUP', async () => {
    const text = `{name:"MyPool",id:0x132870564f00de22d252b3438c656691c87842c2::=ksuid.KSUID,layout:{order:"desc"::=order.Which,keys:[["a","b"]::=field.Path]::=field.List}::=order.SortKey,threshold:1}::=pools.Config
{id:0x132870564f00de22d252b3438c656691c87842c2::=ksuid.KSUID,min:0,max:"z",count:20::uint64,size:125}
{a:1,id:0x01}`;
    expect(
      (await convert(text, { from: 'sup', to: 'db' })).output,
    ).toBe(`MyPool 2jTi7n3sfiU7qTgPTAE1nwTUJ0M key a.b order desc
2jTi7n3sfiU7qTgPTAE1nwTUJ0M 125B bytes 20 records
   min 0 max "z"
{a:1,id:0x01}
`);
  });
  test('cells of tables are those of Zeek logs, and show errors, records in arrays and types too', async () => {
    const row =
      '{a:error("e"),b:error({x:1}),c:[{x:1,y:"p q"},{x:2,y:"r,s"}],d:1e21,e:1.5e-7,f:"l1\\nl2",g:"\\\\",h:0.1::float32,i:[2020-01-01T00:00:00Z],j:2020-01-01T00:00:00Z,k:[[],[1]],l:"-"}';
    expect((await convert(row, { from: 'sup', to: 'table' })).output.split('\n')[1]!.split(/ +/)).toEqual([
      'e',
      'error({x:1})',
      '1,p',
      'q,2,r\\x2cs',
      '1000000000000000000000',
      '0.00000015',
      'l1\\x0al2',
      '\\\\',
      '0.1',
      '1577836800.000000',
      '2020-01-01T00:00:00Z',
      '(empty),1',
      '\\x2d',
    ]);
  });
  test('a table has a dash for what is missing, and the text of other errors', async () => {
    expect(
      (
        await convert('{a:error("missing"),b:{c:error("missing"),d:error("x")},e:[error("missing")]}', {
          from: 'sup',
          to: 'table',
        })
      ).output,
    ).toBe('a b.c b.d e\n- -   x   missing\n');
  });
  test('a Zeek log of records without fields has a header without columns', async () => {
    expect((await convert('{}', { from: 'sup', to: 'zeek' })).output).toBe(
      '#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#fields\n#types\n\n',
    );
  });
  test('table pads columns and repeats the header for another type', async () => {
    expect(
      (await convert('{a:1,bb:"x"}\n{a:100,bb:null}\n{a:100,bb:null}\n{c:true}', { from: 'sup', to: 'table' })).output,
    ).toBe('a bb\n1 x\na   bb\n100 -\n100 -\nc\nT\n');
  });
});
