import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { RowScanner } from '../../../src/formats/csv/row-scanner.ts';
import { convert, readValues } from '../../support/formats/convert.ts';

test('a header of millions of cells is refused, and held in no more places than one may have', async () => {
  const line = `${'a,'.repeat(1_000_000)}\n`;
  expect(await sup(line)).toBe('csv: line 1: more than 100000 columns');
  const row = new RowScanner(',');
  const bytes = Buffer.from(line);
  expect(row.next({ bytes, start: 0, end: bytes.length, final: true })).toBe('row');
  expect([row.length, row.starts.length]).toEqual([1_000_001, 131_072]);
});

const sup = async (text: string, csvDelimiter = ',', pieceBytes?: number): Promise<string> => {
  const { output, error } = await convert(text, {
    from: 'csv',
    read: { csvDelimiter },
    ...(pieceBytes && { pieceBytes }),
  });
  return output + error;
};

/** The whole number of the fewest digits that is read as the float64. */
const shortestOf = (x: number): bigint => {
  for (let digits = 1; ; digits++) {
    const text = Math.abs(x).toExponential(digits - 1);
    if (Number(text) !== Math.abs(x)) continue;
    const [mantissa = '', exponent] = text.split('e');
    return BigInt(mantissa.replace('.', '')) * 10n ** BigInt(Math.max(0, Number(exponent) - (digits - 1)));
  }
};
/** A float64; a whole number whose digits none gives back stays what it is. */
const numberOf = (text: string): number | bigint | string => {
  const x = Number(text);
  const digits = /^[+-]?0*(\d+)$/.exec(text)?.[1];
  if (digits === undefined || BigInt(Math.abs(x)) === BigInt(digits) || shortestOf(x) === BigInt(digits)) return x;
  const exact = BigInt(text);
  return exact < -(2n ** 63n) || exact >= 2n ** 64n ? text : exact;
};

test('a byte-order mark before the header goes, however the bytes come, in TSV too', async () => {
  expect(await sup('\ufeffa,b\n1,2\n', ',', 1)).toBe('{a:1.,b:2.}\n');
  expect((await convert('\ufeff"a"\tb\n1\t2\n', { from: 'tsv' })).output).toBe('{a:1.,b:2.}\n');
});

describe('reading CSV', () => {
  for (const [text, printed] of [
    ['a,b,c\n1,2,3\nhello,world,4\n', '{a:1.,b:2.,c:3.}\n{a:"hello",b:"world",c:4.}\n'],
    ['a\n\n\n1', '{a:1.}\n'],
    ['\n\na,b\r\n1,x\r\n', '{a:1.,b:"x"}\n'],
    ['a,b\n,""\n', '{a:null,b:null}\n'],
    ['a\ntrue\nT\nf\nFalse\ntruth\n', '{a:true}\n{a:true}\n{a:false}\n{a:false}\n{a:"truth"}\n'],
    [
      'a\n1e3\n-inf\nnan\n0x10\n1_000\n+5\n.5\n5.\n1e400\n',
      '{a:1000.}\n{a:-Inf}\n{a:NaN}\n{a:"0x10"}\n{a:1000.}\n{a:5.}\n{a:0.5}\n{a:5.}\n{a:"1e400"}\n',
    ],
    ['a,b\n"x, ""y""", z\n', '{a:"x, \\"y\\"",b:"z"}\n'],
    ['f,g"3"\nvalue1,value"3" my friend\n', '{f:"value1",g3:"value3 my friend"}\n'.replace('g3', 'g3')],
    ['a,b\n"1\r\n2",3\r\n', '{a:"1\\r\\n2",b:3.}\n'],
    [
      'k,s\n1," a"\n2, " b" \r\n3,"c "\n4,"\r\n d\r"\n',
      '{k:1.,s:" a"}\n{k:2.,s:" b "}\n{k:3.,s:"c "}\n{k:4.,s:"\\r\\n d\\r"}\n',
    ],
    ['" a"\n" "\n" 1"\n" true"\n" 1 "\n', '{" a":" "}\n{" a":1.}\n{" a":true}\n{" a":" 1 "}\n'],
    ['a.b,c d\n1,2\n', '{"a.b":1.,"c d":2.}\n'],
    ['a\n2020-01-02T03:04:05Z\n10.0.0.1\n', '{a:"2020-01-02T03:04:05Z"}\n{a:"10.0.0.1"}\n'],
    ['\ufeffa,b\n1,2\n', '{a:1.,b:2.}\n'],
    ['\ufeff"a b",c\n\ufeff1,2\n', '{"a b":"\ufeff1",c:2.}\n'],
    [
      'a\n0x1.8p1\n-0X_1P-2\n0x1\n1e1_0\n1e_5\n1__0\nInfinity\n0x1p1024\n',
      '{a:3.}\n{a:-0.25}\n{a:"0x1"}\n{a:10000000000.}\n{a:"1e_5"}\n{a:"1__0"}\n{a:+Inf}\n{a:"0x1p1024"}\n',
    ],
    ['a,b\n\u00a0x,\u2003 \u30002\n"\u0085 y",\u200bz\n', '{a:"x",b:2.}\n{a:"\u0085 y",b:"\u200bz"}\n'],
    ['a\né\n', '{a:"é"}\n'],
    ['a,b\n1 ,\t2\n', '{a:"1 ",b:2.}\n'],
    ['a,b\n1,2\n3\n4,5\n', '{a:1.,b:2.}\ncsv: record on line 3: wrong number of fields'],
    ['a,b\n1,2,3\n', 'csv: record on line 2: wrong number of fields'],
    ['a,b\n"x\n', 'csv: record on line 2: quote not closed'],
    ['a,b\n', 'csv: empty csv file'],
    ['', 'csv: empty csv file'],
    ['a,a\n1,2\n', 'csv: duplicate field: "a"'],
    ['a,b\n"1\n2",3\n4\n', '{a:"1\\n2",b:3.}\ncsv: record on line 4: wrong number of fields'],
  ]) {
    test(`${JSON.stringify(text)} is ${printed}`, async () => {
      expect(await sup(text!)).toBe(printed);
      expect(await sup(text!, ',', 1)).toBe(printed);
    });
  }
  test('another delimiter', async () => {
    expect(await sup('a;b\n1;"x;y"\n', ';')).toBe('{a:1.,b:"x;y"}\n');
  });
  test('a quote is no delimiter', async () => {
    expect(await sup('a"b\n1"2\n', '"')).toBe('csv: invalid field delimiter');
  });
  test('what is no UTF-8 is replaced', async () => {
    expect((await convert(Buffer.from('61 0a ff 41 0a'.replaceAll(' ', ''), 'hex'), { from: 'csv' })).output).toBe(
      '{a:"�A"}\n',
    );
  });

  test('cells are those that csv-parse finds', async () => {
    const cell = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', '\n', '1', '.', '-', 'é'), maxLength: 8 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 30 }),
        fc.boolean(),
        async (rows, pieceBytes, crlf) => {
          const end = crlf ? '\r\n' : '\n';
          const text = `a,b,c${end}${rows.map((r) => r.map((c) => (/[,"\n]/.test(c) ? `"${c.replaceAll('"', '""')}"` : c)).join(',') + end).join('')}`;
          const oracle = parse(text, { columns: true, skip_empty_lines: true, record_delimiter: end }) as Record<
            string,
            string
          >[];
          const values = await readValues(text, 'csv', {});
          const typed = (c: string): unknown =>
            c === ''
              ? null
              : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(c) && Number.isFinite(Number(c))
                ? numberOf(c)
                : c;
          expect(values.map((v) => v.data)).toEqual(
            oracle.map((r) => [typed(r['a']!), typed(r['b']!), typed(r['c']!)]),
          );
          expect((await convert(text, { from: 'csv', pieceBytes })).output).toBe(
            (await convert(text, { from: 'csv' })).output,
          );
        },
      ),
      { numRuns: 500 },
    );
  });
  test('numbers are read as Number reads them; whole ones that it would round stay what they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.stringMatching(/^-?[0-9]{1,17}\.?[0-9]{0,18}$/), { minLength: 1 }),
        async (texts) => {
          const values = await readValues(`a\n${texts.join('\n')}\n`, 'csv');
          expect(values.map((v) => (v.data as readonly number[])[0])).toEqual(texts.map(numberOf));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('reading TSV and lines', () => {
  test.each([
    ['a\tb\n1\t x y\n', '{a:1.,b:" x y"}\n'],
    ['a\tb\n 1\t1 \n', '{a:" 1",b:"1 "}\n'],
    ['a\tb\n1\t  "  y"\n', '{a:1.,b:"  y"}\n'],
    ['a\tb\n1\t"\tx\r\ny"\r\n', '{a:1.,b:"\\tx\\r\\ny"}\n'],
    ['a\tb\n  \t\n', '{a:"  ",b:null}\n'],
    [' a\tb\n \n1\t2\n', '{" a":1.,b:2.}\n'],
  ])('tabs separate, spaces around a cell are its own unless it has quotes: %j', async (tsv, sup) => {
    expect((await convert(tsv, { from: 'tsv' })).output).toBe(sup);
  });
  test('an empty first cell is null', async () => {
    expect((await convert('a\tb\n\t1\n', { from: 'tsv' })).output).toBe('{a:null,b:1.}\n');
  });
  test('lines are strings', async () => {
    expect((await convert('a\r\n\n b\rc\nd\r\r', { from: 'line' })).output).toBe('"a"\n""\n" b\\rc"\n"d\\r"\n');
  });
});

describe('writing CSV', () => {
  const csv = async (text: string, write = {}): Promise<string> => {
    const { output, error } = await convert(text, { from: 'sup', to: 'csv', write });
    return output + error;
  };
  for (const [text, printed] of [
    [
      '{u8:1::uint8,f:1.,by:0x01,s:"x",ty:<int64>,n:null,r:{a:1},a:[1,2],st:|[1]|,m:|{"a":1}|,e:"x"::enum(x),er:error("q")}',
      'u8,f,by,s,ty,n,r.a,a,st,m,e,er\n1,1,0x01,x,<int64>,,1,"[1,2]",|[1]|,"|{""a"":1}|","""x""::enum(x)","error(""q"")"\n',
    ],
    ['{a:0}\n{a:"foo"}\n{a:127.0.0.1}', 'a\n0\nfoo\n127.0.0.1\n'],
    ['{a?:_::int64,b:1}\n{a?:2,b:3}', 'a,b\n,1\n2,3\n'],
    ['{a:{b:1::=x}::=y}::=z', 'a.b\n1\n'],
    ['{a:1::(int64|null)}{a:null::(int64|null)}', 'a\n1\n\n'],
    ['{a:"\\u00a0x",b:"\\u200bx",c:"\\u2003"}', 'a,b,c\n"\u00a0x",\u200bx,"\u2003"\n'],
    ['{"":{a:1},b:{"":2}}', '.a,b.\n1,2\n'],
    ['{r?:_::{x:int64,y:int64}}\n{r?:{x:1,y:2}}', 'r.x,r.y\n,\n1,2\n'],
    ['{a:0x,b:" x",c:"",d:"a,b"}', 'a,b,c,d\n," x",,"a,b"\n'],
    ['{"a,b":1}', '"a,b"\n1\n'],
    ['{a:{b:1}}\n{a:{b:2}}', 'a.b\n1\n2\n'],
    ['{"a.b":1,a:{b:2}}\n{"a.b":3,a:{b:4}}', 'a.b,a.b_1\n1,2\n3,4\n'],
    ['{a:1}\n[1,2]', 'a\n1\nCSV output encountered non-record value: [1,2]'],
    ['{a:1}::=r\n1::=n', 'a\n1\nCSV output encountered non-record value: 1::=n'],
    ['{a:1}\n{b:2}', "a\n1\nCSV output requires uniform records but multiple types encountered (consider 'fuse')"],
    [
      '{a:{b:1}}\n{a:2}',
      "a.b\n1\nCSV output requires uniform records but multiple types encountered (consider 'fuse')",
    ],
    ['', ''],
  ])
    test(`${text} is ${printed}`, async () => {
      expect(await csv(text!)).toBe(printed);
    });
  test('without a header', async () => {
    expect(await csv('{a:1,b:2}\n{a:"one",b:"two"}', { noHeader: true })).toBe('1,2\none,two\n');
  });
  test('what is written reads back, and csv-parse reads the same', async () => {
    const cell = fc.oneof(
      fc
        .string({ unit: fc.constantFrom('a', 'é', ',', '"', '\n', '\r', ' ', '\t', 'x'), maxLength: 6 })
        .map((s) => `${s}a`),
      fc.integer(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ a: cell, b: cell }), { minLength: 1 }), async (rows) => {
        const text = rows.map((r) => `${JSON.stringify(r)}\n`).join('');
        const { output } = await convert(text, { from: 'json', to: 'csv' });
        expect((await readValues(output, 'csv')).map((v) => v.data)).toEqual(rows.map((r) => [r.a, r.b]));
        expect(parse(output)).toEqual([['a', 'b'], ...rows.map((r) => [String(r.a), String(r.b)])]);
      }),
      { numRuns: 300 },
    );
  });
});
