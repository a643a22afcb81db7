/**
 * CSV as it is found: a file of each dialect, and mixed ones, with what a person reads in them. A file that cannot be
 * read without being told how is refused, and the text says what to set.
 */
import { describe, expect, test } from 'vitest';
import type { FormatName } from '../../../src/formats/formats.ts';
import { csvColumnTypes } from '../../../src/config/csv.ts';
import { columnTypes, dialectOf } from '../../../src/formats/csv/dialect.ts';
import { convert } from '../../support/formats/convert.ts';

interface Wild {
  readonly what: string;
  readonly text: string | Uint8Array;
  /** Parameters of the load; `csv.delim` among them. */
  readonly said?: Readonly<Record<string, string>>;
  readonly charset?: string;
  readonly from?: FormatName | 'auto';
  readonly rows: string;
}
const two = '{a:1.,b:"x"}\n{a:2.,b:"y"}\n';
const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

const read: readonly Wild[] = [
  // Delimiters that nobody told of.
  { what: 'a comma', text: 'a,b\n1,x\n2,y\n', rows: two },
  { what: 'a semicolon', text: 'a;b\n1;x\n2;y\n', rows: two },
  { what: 'a tab', text: 'a\tb\n1\tx\n2\ty\n', rows: two },
  { what: 'a bar', text: 'a|b\n1|x\n2|y\n', rows: two },
  { what: 'a semicolon, found out', text: 'a;b\n1;x\n2;y\n', from: 'auto', rows: two },
  { what: 'a bar, found out', text: 'a|b\n1|x\n2|y\n', from: 'auto', rows: two },
  {
    what: 'a semicolon beside decimal commas',
    text: 'a;b\n1,5;x\n2,5;y\n',
    rows: '{a:"1,5",b:"x"}\n{a:"2,5",b:"y"}\n',
  },
  { what: 'a semicolon within quotes of cells', text: 'a;b\n1;"x;y"\n2;y\n', rows: '{a:1.,b:"x;y"}\n{a:2.,b:"y"}\n' },
  {
    what: 'a comma in the header wins',
    text: 'a,b;c\n1,x;z\n2,y;z\n',
    rows: '{a:1.,"b;c":"x;z"}\n{a:2.,"b;c":"y;z"}\n',
  },
  { what: 'one column with semicolons in some rows', text: 'a\nx;y\nz\n', rows: '{a:"x;y"}\n{a:"z"}\n' },
  { what: 'a header alone with semicolons', text: 'a;b\n', said: { 'csv.delim': ';' }, rows: 'csv: empty csv file' },
  // Lines that say the delimiter.
  { what: 'a line sep=', text: 'sep=;\na;b\n1;x\n2;y\n', rows: two },
  { what: 'a line sep= in quotes, with a mark', text: '\ufeff"sep=|"\r\na|b\r\n1|x\r\n2|y\r\n', rows: two },
  { what: 'a line sep= of a delimiter that shows nowhere else', text: 'sep=~\na~b\n1~x\n2~y\n', rows: two },
  { what: 'a line sep= that is found out', text: 'sep=;\na;b\n1;x\n2;y\n', from: 'auto', rows: two },
  // Line breaks, blanks, marks.
  { what: 'CR LF', text: 'a,b\r\n1,x\r\n2,y\r\n', rows: two },
  { what: 'no line break at the end', text: 'a,b\n1,x\n2,y', rows: two },
  { what: 'a byte order mark', text: '\ufeffa,b\n1,x\n2,y\n', rows: two },
  { what: 'blank lines', text: '\na,b\n\n1,x\n\n\n2,y\n\n', rows: two },
  { what: 'blanks before cells', text: 'a, b\n1, x\n2,  y\n', rows: two },
  { what: 'line breaks within quotes', text: 'a,b\n1,"x\ny"\n', rows: '{a:1.,b:"x\\ny"}\n' },
  { what: 'quotes within quotes', text: 'a,b\n1,"say ""x"""\n', rows: '{a:1.,b:"say \\"x\\""}\n' },
  // Quotes and escapes.
  { what: 'single quotes', text: "a,b\n1,'x,y'\n", said: { 'csv.quote': "'" }, rows: '{a:1.,b:"x,y"}\n' },
  { what: 'no quotes at all', text: 'a,b\n1,6" pipe\n', said: { 'csv.quote': 'none' }, rows: '{a:1.,b:"6\\" pipe"}\n' },
  {
    what: 'backslashes before quotes',
    text: 'a,b\n1,"say \\"x\\""\n',
    said: { 'csv.escape': '\\' },
    rows: '{a:1.,b:"say \\"x\\""}\n',
  },
  {
    what: 'backslashes and semicolons',
    text: 'a;b\n1;"x\\";y"\n2;y\n',
    said: { 'csv.escape': '\\' },
    rows: '{a:1.,b:"x\\";y"}\n{a:2.,b:"y"}\n',
  },
  // What stands before and between.
  { what: 'comments', text: '# made by hand\na,b\n1,x\n# middle\n2,y\n', said: { 'csv.comment': '#' }, rows: two },
  { what: 'a hash within a cell', text: 'a,b\n1,x#1\n', said: { 'csv.comment': '#' }, rows: '{a:1.,b:"x#1"}\n' },
  { what: 'title lines', text: 'Report, "unclosed\nof today\na,b\n1,x\n2,y\n', said: { 'csv.skip': '2' }, rows: two },
  {
    what: 'title lines and semicolons',
    text: 'Report\na;b\n1;x\n2;y\n',
    said: { 'csv.skip': '1', 'csv.delim': ';' },
    rows: two,
  },
  { what: 'no header', text: '1,x\n2,y\n', said: { 'csv.header': '0' }, rows: '{c1:1.,c2:"x"}\n{c1:2.,c2:"y"}\n' },
  {
    what: 'a header of two lines',
    text: 'size,,name\nwidth,height,\n1,2,x\n',
    said: { 'csv.header': '2' },
    rows: '{"size width":1.,height:2.,name:"x"}\n',
  },
  {
    what: 'a name twice',
    text: 'a,a,b,a\n1,2,3,4\n',
    said: { 'csv.names': 'number' },
    rows: '{a:1.,a_2:2.,b:3.,a_3:4.}\n',
  },
  // Ragged rows.
  {
    what: 'short rows, filled',
    text: 'a,b,c\n1\n1,2,3\n',
    said: { 'csv.ragged': 'fill' },
    rows: '{a:1.,b:null,c:null}\n{a:1.,b:2.,c:3.}\n',
  },
  {
    what: 'long rows, filled',
    text: 'a,b\n1,2,3\n1,2\n',
    said: { 'csv.ragged': 'fill' },
    rows: '{a:1.,b:2.,c3:3.}\n{a:1.,b:2.}\n',
  },
  {
    what: 'a long row beside a column that has the name of its place',
    text: 'c3,b\n1,2,3\n',
    said: { 'csv.ragged': 'fill' },
    rows: '{c3:1.,b:2.,c3_2:3.}\n',
  },
  {
    what: 'ragged rows, wrapped',
    text: 'a,b\n1\n1,2\n',
    said: { 'csv.ragged': 'wrap' },
    rows: 'error({message:"1 cell in place of 2",line:2,cells:["1"]})\n{a:1.,b:2.}\n',
  },
  // Numbers.
  {
    what: 'decimal commas',
    text: 'a;b\n1,5;x\n-2.000,25;y\n',
    said: { 'csv.decimal': ',' },
    rows: '{a:1.5,b:"x"}\n{a:-2000.25,b:"y"}\n',
  },
  {
    what: 'dates beside decimal commas',
    text: 'a;b\n1.2.2026;1.234\n3;1.5\n',
    said: { 'csv.decimal': ',' },
    rows: '{a:"1.2.2026",b:1234.}\n{a:3.,b:"1.5"}\n',
  },
  {
    what: 'integers of 64 bits',
    text: 'a\n9007199254740993\n-9223372036854775807\n18446744073709551615\n',
    rows: '{a:9007199254740993}\n{a:-9223372036854775807}\n{a:18446744073709551615::uint64}\n',
  },
  {
    what: 'an integer beyond',
    text: 'a\n123456789012345678901234567890\n',
    rows: '{a:"123456789012345678901234567890"}\n',
  },
  { what: 'whole floats', text: 'a\n1e25\n10000000000000000\n', rows: '{a:1e+25}\n{a:10000000000000000.}\n' },
  {
    what: 'texts alone',
    text: 'a,b\n00123,9007199254740993\n,true\n',
    said: { types: 'none' },
    rows: '{a:"00123",b:"9007199254740993"}\n{a:null,b:"true"}\n',
  },
  { what: 'a code with zeros', text: 'zip,n\n00123,1\n', said: { types: 'zip=string' }, rows: '{zip:"00123",n:1.}\n' },
  {
    what: 'columns of said types',
    text: 'i,u,f,b,t,d,ip,net\n1,2,3,T,2026-01-02,1h,10.0.0.1,10.0.0.0/8\n,,,,2026-01-02 03:04:05.5,,,\n',
    said: { types: 'i=int64,u=uint64,f=float64,b=bool,t=time,d=duration,ip=ip,net=net' },
    rows: '{i:1,u:2::uint64,f:3.,b:true,t:2026-01-02T00:00:00Z,d:1h,ip:10.0.0.1,net:10.0.0.0/8}\n{i:null,u:null,f:null,b:null,t:2026-01-02T03:04:05.5Z,d:null,ip:null,net:null}\n',
  },
  {
    what: 'words that mean null',
    text: 'a,b\nNA,x\n1,-\n',
    said: { 'csv.null': 'NA,-' },
    rows: '{a:null,b:"x"}\n{a:1.,b:null}\n',
  },
  // Charsets.
  { what: 'Latin-1', text: latin1('a,b\n1,Käse\n'), charset: 'iso-8859-1', rows: '{a:1.,b:"Käse"}\n' },
  { what: 'UTF-16 with a mark', text: Buffer.from('\ufeffa;b\r\n1;Käse\r\n', 'utf16le'), rows: '{a:1.,b:"Käse"}\n' },
  // Several at once.
  {
    what: 'an export of a spreadsheet',
    text: latin1('sep=;\r\nName;Preis;PLZ\r\n"Müller; Söhne";1.234,50;01067\r\nMeier;-;80331\r\n'),
    charset: 'windows-1252',
    said: { 'csv.decimal': ',', 'csv.null': '-', types: 'PLZ=string' },
    rows: '{Name:"Müller; Söhne",Preis:1234.5,PLZ:"01067"}\n{Name:"Meier",Preis:null,PLZ:"80331"}\n',
  },
  {
    what: 'an export of a measuring device',
    text: '# device 7\r\n# unit: mm\r\nt|x|x\r\ns|mm|mm\r\n0,1|2,5|3\r\n0,2|2,6\r\n',
    said: {
      'csv.comment': '#',
      'csv.delim': '|',
      'csv.header': '2',
      'csv.names': 'number',
      'csv.decimal': ',',
      'csv.ragged': 'fill',
    },
    rows: '{"t s":0.1,"x mm":2.5,"x mm_2":3.}\n{"t s":0.2,"x mm":2.6,"x mm_2":null}\n',
  },
  {
    what: 'an export of a database',
    text: 'a|b\n1|\\N\n2|"x\\"y"\n',
    said: { 'csv.escape': '\\', 'csv.null': '\\N' },
    rows: '{a:1.,b:null}\n{a:2.,b:"x\\"y"}\n',
  },
];
const refused: readonly Wild[] = [
  { what: 'a short row', text: 'a,b\n1,2\n3\n', rows: 'csv: record on line 3: wrong number of fields' },
  {
    what: 'a short row of another dialect',
    text: "a,b\n'1',2\n3\n",
    said: { 'csv.quote': "'" },
    rows: 'csv: record on line 3: wrong number of fields: 1 cell in place of 2 (csv.ragged=fill or wrap takes such rows, csv.skip lines before the header)',
  },
  { what: 'a name twice', text: 'a,a\n1,2\n', rows: 'csv: duplicate field: "a"' },
  {
    what: 'a name twice in another dialect',
    text: 'x\na,a\n1,2\n',
    said: { 'csv.skip': '1' },
    rows: 'csv: record on line 2: duplicate field: "a" (csv.names=number tells them apart)',
  },
  {
    what: 'an open quote',
    text: "a,b\n1,'x\n",
    said: { 'csv.quote': "'" },
    rows: 'csv: record on line 2: quote not closed',
  },
  {
    what: 'a cell of another type',
    text: 'a,b\n1,x\n',
    said: { types: 'b=int64' },
    rows: 'csv: record on line 2: column "b": "x" is not of the type that types gives it',
  },
  {
    what: 'an integer of more than 64 bits',
    text: 'a\n9223372036854775808\n',
    said: { types: 'a=int64' },
    rows: 'csv: record on line 2: column "a": "9223372036854775808" is not of the type that types gives it',
  },
  {
    what: 'a column that is not there',
    text: 'a,b\n1,x\n',
    said: { types: 'c=int64' },
    rows: 'csv: record on line 1: no column "c", of which types tells: the columns are a, b',
  },
];

const outcome = async ({ text, said = {}, charset, from = 'csv' }: Wild, pieceBytes?: number): Promise<string> => {
  const { 'csv.delim': csvDelimiter, ...more } = said;
  const csv = dialectOf(more);
  const { output, error } = await convert(text, {
    from,
    read: {
      ...(csvDelimiter !== undefined && { csvDelimiter }),
      ...(csv && { csv }),
      ...(charset !== undefined && { charset }),
    },
    ...(pieceBytes !== undefined && { pieceBytes }),
  });
  return output + error;
};

test('the types that a column may have are those of the parameter', () => {
  expect(Object.keys(columnTypes)).toEqual([...csvColumnTypes]);
});
test('there are fifty and more', () => {
  expect(read.length).toBeGreaterThanOrEqual(48);
  expect(read.length + refused.length).toBeGreaterThanOrEqual(56);
});
describe('is read as a person reads it', () => {
  test.each(read.map((one) => [one.what, one] as const))('%s', async (_, one) => {
    expect(await outcome(one)).toBe(one.rows);
    expect(await outcome(one, 3)).toBe(one.rows);
  });
});
describe('is refused with its line, and with what to set', () => {
  test.each(refused.map((one) => [one.what, one] as const))('%s', async (_, one) => {
    expect(await outcome(one)).toMatch(one.rows);
    expect((await outcome(one)).endsWith(one.rows) || (await outcome(one)).includes(one.rows)).toBe(true);
  });
});
