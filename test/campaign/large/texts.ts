/** Large pieces in text formats: wide, long, deep, of many shapes, of many tiny values. */
import type { Random } from '../../support/random.ts';
import type { LargeBodies, LargeBody } from './types.ts';

const chunkBytes = 1 << 18;

/** Texts as chunks of bytes. */
function* packed(texts: Iterable<string>): Generator<Buffer> {
  let held: string[] = [];
  let length = 0;
  for (const text of texts) {
    held.push(text);
    if ((length += text.length) < chunkBytes) continue;
    yield Buffer.from(held.join(''));
    held = [];
    length = 0;
  }
  if (length > 0) yield Buffer.from(held.join(''));
}
function* counted(count: number, text: (i: number) => string): Generator<string> {
  for (let i = 0; i < count; i++) yield text(i);
}
function* between(open: string, inner: Iterable<string>, close: string): Generator<string> {
  yield open;
  yield* inner;
  yield close;
}
/** Items with a separator between. */
const joined = (count: number, separator: string, item: (i: number) => string): Generator<string> =>
  counted(count, (i) => (i === 0 ? item(i) : separator + item(i)));

const body = (what: string, type: string, rows: number, texts: () => Iterable<string>): LargeBody => ({
  what,
  type,
  rows,
  chunks: () => packed(texts()),
});
const json = 'application/json';
const sup = 'application/x-sup';
const jsup = 'application/x-jsup';
const csv = 'text/csv';
const tsv = 'text/tab-separated-values';
const zeek = 'application/x-zeek';
const line = 'application/x-line';

/** Some part of a size, so that bodies of one name differ. */
const some = (random: Random, most: number): number => Math.max(1, Math.floor((most * (50 + random.below(51))) / 100));
const piece = 'lorem ipsum dolor sit amet, consectetur adipiscing elit ';
const unicode = 'žluťoučký kůň 漢字かな交じり文 😀 ';
/** A text of so many characters in some pieces. */
const long = (length: number, of: string): Generator<string> => counted(Math.ceil(length / of.length), () => of);

/** A field's text form by format: `"f1":1` or `f1:1`. */
type Field = (name: string, value: string) => string;
const jsonField: Field = (name, value) => `"${name}":${value}`;
const supField: Field = (name, value) => `${name}:${value}`;

/** Shapes: what JSON and SUP have in common. */
const recordBodies = (format: 'json' | 'sup', type: string, field: Field): LargeBodies => ({
  [`${format} shapes`]: (random, size) => {
    const shapes = some(random, 99_000 * size);
    const repeats = 10;
    return body(`${shapes} shapes, ${repeats} rows each, in turn`, type, shapes * repeats, () =>
      counted(shapes * repeats, (i) => `{${field('k', String(i))},${field(`f${i % shapes}`, '1')}}\n`),
    );
  },
  [`${format} shapes in order`]: (random, size) => {
    const shapes = some(random, 99_000 * size);
    const repeats = 10;
    return body(`${shapes} shapes, ${repeats} rows each, one after the other`, type, shapes * repeats, () =>
      counted(
        shapes * repeats,
        (i) => `{${field('k', String(i % 1000))},${field(`f${Math.floor(i / repeats)}`, '"x"')}}\n`,
      ),
    );
  },
  [`${format} triangle`]: (random, size) => {
    const records = some(random, 2000 * Math.sqrt(size));
    return body(`${records} records, the i-th of i fields`, type, records, () =>
      counted(records, (i) => `{${Array.from({ length: i + 1 }, (_, k) => field(`f${k}`, String(k))).join(',')}}\n`),
    );
  },
  [`${format} own names`]: (random, size) => {
    const fields = some(random, 500 * Math.sqrt(size));
    const rows = some(random, 400 * Math.sqrt(size));
    return body(`${rows} rows of ${fields} fields with names of their own`, type, rows, () =>
      counted(rows, (r) => `{${Array.from({ length: fields }, (_, i) => field(`f${r}_${i}`, String(i))).join(',')}}\n`),
    );
  },
  [`${format} wide record`]: (random, size) => {
    const fields = some(random, 1_000_000 * size);
    return body(`a record of ${fields} fields`, type, 1, () =>
      between(
        '{',
        joined(fields, ',', (i) => field(`f${i}`, String(i))),
        '}\n',
      ),
    );
  },
  [`${format} wide rows`]: (random, size) => {
    const fields = some(random, 20_000 * Math.sqrt(size));
    const rows = some(random, 200 * Math.sqrt(size));
    return body(`${rows} rows of ${fields} fields`, type, rows, () =>
      counted(rows, (r) => `{${Array.from({ length: fields }, (_, i) => field(`f${i}`, String(r * i))).join(',')}}\n`),
    );
  },
  [`${format} numbers`]: (random, size) => {
    const count = some(random, 22_000_000 * size);
    return body(`an array of ${count} numbers`, type, 1, () =>
      between(
        `{${field('a', '[')}`,
        joined(count, ',', (i) => String(i % 10)),
        ']}\n',
      ),
    );
  },
  [`${format} mixed array`]: (random, size) => {
    const count = some(random, 5_000_000 * size);
    const kinds = ['1', '"x"', 'null', '1.5', 'true', '[]'];
    return body(`an array of ${count} values of six types`, type, 1, () =>
      between(
        `{${field('a', '[')}`,
        joined(count, ',', (i) => kinds[i % 6]!),
        ']}\n',
      ),
    );
  },
  [`${format} lists`]: (random, size) => {
    const count = some(random, 4_000_000 * size);
    return body(`an array of ${count} arrays`, type, 1, () =>
      between(
        `{${field('a', '[')}`,
        joined(count, ',', (i) => `[[${i % 7}]]`),
        ']}\n',
      ),
    );
  },
  [`${format} records in an array`]: (random, size) => {
    const count = some(random, 1_500_000 * size);
    return body(`an array of ${count} records`, type, 1, () =>
      between(
        `{${field('a', '[')}`,
        joined(count, ',', (i) => `{${field('n', String(i))},${field('s', '"abc"')}}`),
        ']}\n',
      ),
    );
  },
  [`${format} shapes in an array`]: (random, size) => {
    const count = some(random, 90_000 * size);
    return body(`an array of ${count} records of as many shapes`, type, 1, () =>
      between(
        `{${field('a', '[')}`,
        joined(count, ',', (i) => `{${field(`f${i}`, String(i))}}`),
        ']}\n',
      ),
    );
  },
  [`${format} long text`]: (random, size) => {
    const length = some(random, 49_000_000 * size);
    const of = random.pick([piece, unicode, piece + unicode]);
    return body(`a text of ${length} bytes, about`, type, 1, () =>
      between(`{${field('s', '"')}`, long(length / (Buffer.byteLength(of) / of.length), of), '"}\n'),
    );
  },
  [`${format} escapes`]: (random, size) => {
    const length = some(random, 49_000_000 * size);
    return body(`a text of ${length} bytes of escapes`, type, 1, () =>
      between(`{${field('s', '"')}`, long(length, '\\n\\u00e9\\"\\ud83d\\ude00'), '"}\n'),
    );
  },
  [`${format} long texts`]: (random, size) => {
    const rows = some(random, 60 * size);
    const length = some(random, 4_000_000);
    return body(`${rows} texts of ${length} bytes`, type, rows, () =>
      counted(
        rows,
        (i) =>
          `{${field('k', String((i * 7919) % rows))},${field('s', `"${(i + piece).repeat(Math.ceil(length / (piece.length + 2))).slice(0, length)}"`)}}\n`,
      ),
    );
  },
  [`${format} long keys`]: (random, size) => {
    const rows = some(random, 40 * size);
    const length = some(random, 1_000_000);
    return body(`${rows} records, each with a field name of ${length} bytes`, type, rows, () =>
      counted(rows, (i) => `{${field('k', String(i))},${field(`k${i}${'x'.repeat(length)}`, '1')}}\n`),
    );
  },
  [`${format} depth`]: (random, size) => {
    const rows = some(random, 5000 * size);
    const depth = 50 + random.below(900);
    return body(`${rows} values nested ${depth} deep`, type, rows, () =>
      counted(rows, (i) => `{${field('k', String(i))},${field('a', '['.repeat(depth) + i + ']'.repeat(depth))}}\n`),
    );
  },
  [`${format} deep shapes`]: (random, size) => {
    const rows = some(random, 2000 * size);
    const depth = 10 + random.below(200);
    return body(`${rows} records nested ${depth} deep, each of its own shape`, type, rows, () =>
      counted(rows, (i) => `${`{${field(`f${i}`, '')}`.repeat(depth)}1${'}'.repeat(depth)}\n`),
    );
  },
  [`${format} shapes in a list`]: (random, size) => {
    const count = some(random, 300_000 * size);
    return body(`a list of ${count} records, each of its own shape`, type, 1, () =>
      between(
        `{${field('k', '1')},${field('a', '[')}`,
        joined(count, ',', (i) => `{${field(`k${i}`, String(i))}}`),
        ']}\n',
      ),
    );
  },
  [`${format} one array`]: (random, size) => {
    const count = some(random, 1_500_000 * size);
    return body(`an array of ${count} records`, type, 1, () =>
      between(
        '[',
        joined(count, ',', (i) => `{${field('ts', String(i))},${field('a', `"x${i}"`)}}`),
        ']\n',
      ),
    );
  },
  [`${format} tiny values`]: (random, size) => {
    const rows = some(random, 12_000_000 * size);
    return body(`${rows} values of one byte`, type, rows, () => counted(rows, (i) => `${i % 10}\n`));
  },
  [`${format} unlike values`]: (random, size) => {
    const rows = some(random, 1_000_000 * size);
    const kinds = ['1', '"x"', 'null', '1.5', 'true', '[]', '[1]', '["x"]', '[1,"x"]', '{}'];
    return body(`${rows} rows of three fields of ten types`, type, rows, () =>
      counted(rows, (i) => `{${[1, 10, 100].map((n) => field(`f${n}`, kinds[Math.floor(i / n) % 10]!)).join(',')}}\n`),
    );
  },
  [`${format} broken at the end`]: (random, size) => {
    const count = some(random, 20_000_000 * size);
    return {
      ...body(`an array of ${count} numbers that does not end`, type, 0, () =>
        between(
          `{${field('a', '[')}`,
          joined(count, ',', () => '1'),
          '',
        ),
      ),
    };
  },
});

const delimitedBodies = (format: 'csv' | 'tsv', type: string, delimiter: string): LargeBodies => ({
  [`${format} wide`]: (random, size) => {
    const columns = some(random, 20_000 * Math.sqrt(size));
    const rows = some(random, 400 * Math.sqrt(size));
    return body(`${rows} rows of ${columns} columns`, type, rows, () =>
      counted(
        rows + 1,
        (r) => `${Array.from({ length: columns }, (_, i) => (r === 0 ? `f${i}` : (r * i) % 1000)).join(delimiter)}\n`,
      ),
    );
  },
  [`${format} few rows`]: (random, size) => {
    const columns = some(random, 80_000 * size);
    const rows = 5 + random.below(60);
    return body(`${rows} rows of ${columns} columns`, type, rows, () =>
      counted(
        rows + 1,
        (r) => `${Array.from({ length: columns }, (_, i) => (r === 0 ? `f${i}` : r * i)).join(delimiter)}\n`,
      ),
    );
  },
  [`${format} header`]: (random, size) => {
    const columns = some(random, 1_000_000 * size);
    return body(`one row of ${columns} columns`, type, 1, () =>
      between(
        '',
        joined(columns, delimiter, (i) => `f${i}`),
        `\n${`1${delimiter}`.repeat(columns - 1)}1\n`,
      ),
    );
  },
  [`${format} long cell`]: (random, size) => {
    const length = some(random, 49_000_000 * size);
    return body(`a cell of ${length} bytes`, type, 1, () =>
      between(`a${delimiter}b\n1${delimiter}"`, long(length, piece), '"\n'),
    );
  },
  [`${format} long cells`]: (random, size) => {
    const rows = some(random, 60 * size);
    const length = some(random, 3_000_000);
    return body(`${rows} cells of ${length} bytes`, type, rows, () =>
      between(
        `a${delimiter}b\n`,
        counted(
          rows,
          (i) => `${(i * 31) % rows}${delimiter}"${unicode.repeat(Math.ceil(length / Buffer.byteLength(unicode)))}"\n`,
        ),
        '',
      ),
    );
  },
  [`${format} tiny cells`]: (random, size) => {
    const rows = some(random, 4_000_000 * size);
    return body(`${rows} rows of four cells of one byte`, type, rows, () =>
      between(
        `a${delimiter}b${delimiter}c${delimiter}d\n`,
        counted(rows, (i) => `${i % 9}${delimiter}x${delimiter}${delimiter}y\n`),
        '',
      ),
    );
  },
  [`${format} changing cells`]: (random, size) => {
    const columns = some(random, 300);
    const rows = some(random, 10_000 * size);
    const kinds = ['1', 'x', '', '1.5', 'true'];
    return body(`${rows} rows of ${columns} columns whose type changes`, type, rows, () =>
      counted(
        rows + 1,
        (r) =>
          `${Array.from({ length: columns }, (_, i) => (r === 0 ? `f${i}` : kinds[(r + i) % 5])).join(delimiter)}\n`,
      ),
    );
  },
});

const zeekHead = (fields: string, types: string): string =>
  `#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n#fields\t${fields}\n#types\t${types}\n`;
const zeekBodies: LargeBodies = {
  'zeek vector': (random, size) => {
    const count = some(random, 20_000_000 * size);
    const element = random.pick(['count', 'double', 'interval', 'bool']);
    return body(`a vector of ${count} ${element}s`, zeek, 1, () =>
      between(
        zeekHead('a', `vector[${element}]`),
        joined(count, ',', (i) => (element === 'bool' ? 'T' : String(i % 10))),
        '\n',
      ),
    );
  },
  'zeek set': (random, size) => {
    const count = some(random, 4_000_000 * size);
    const element = random.pick(['string', 'count', 'addr']);
    return body(`a set of ${count} elements (${element})`, zeek, 1, () =>
      between(
        zeekHead('a', `set[${element}]`),
        joined(count, ',', (i) =>
          element === 'addr' ? `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}` : String(i),
        ),
        '\n',
      ),
    );
  },
  'zeek strings': (random, size) => {
    const count = some(random, 8_000_000 * size);
    return body(`a vector of ${count} strings, some unset`, zeek, 1, () =>
      between(
        zeekHead('a', 'vector[string]'),
        joined(count, ',', (i) => (i % 5 === 0 ? '-' : 'ab')),
        '\n',
      ),
    );
  },
  'zeek wide': (random, size) => {
    const columns = some(random, 20_000 * Math.sqrt(size));
    const rows = some(random, 200 * Math.sqrt(size));
    const of = (item: (i: number) => string | number): string =>
      Array.from({ length: columns }, (_, i) => item(i)).join('\t');
    return body(`${rows} rows of ${columns} columns`, zeek, rows, () =>
      between(
        zeekHead(
          of((i) => `f${i}`),
          of((i) => (i % 2 ? 'count' : 'string')),
        ),
        counted(rows, (r) => `${of((i) => r * i)}\n`),
        '',
      ),
    );
  },
  'zeek text': (random, size) => {
    const length = some(random, 48_000_000 * size);
    const of = random.pick(['abcdef', '\\x41\\x42', unicode]);
    return body(`a text of ${length} bytes, about`, zeek, 1, () =>
      between(zeekHead('a', 'string'), long(length / (Buffer.byteLength(of) / of.length), of), '\n'),
    );
  },
  'zeek changing heads': (random, size) => {
    const heads = some(random, 40_000 * size);
    return body(`${heads} heads with a row each`, zeek, heads, () =>
      between(
        '#separator \\x09\n',
        counted(heads, (i) => `#fields\tk\tf${i}\n#types\tcount\tstring\n${i}\tx\n`),
        '',
      ),
    );
  },
};

const jsupType = (fields: string): string => `{"kind":"record","id":30,"fields":[${fields}]}`;
const jsupBodies: LargeBodies = {
  'jsup numbers': (random, size) => {
    const count = some(random, 10_000_000 * size);
    return body(`an array of ${count} numbers`, jsup, 1, () =>
      between(
        '{"type":{"kind":"array","id":30,"type":{"kind":"primitive","name":"int64"}},"value":[',
        joined(count, ',', (i) => `"${i % 10}"`),
        ']}\n',
      ),
    );
  },
  'jsup wide record': (random, size) => {
    const fields = some(random, 400_000 * size);
    return body(`a record of ${fields} fields`, jsup, 1, function* () {
      yield '{"type":{"kind":"record","id":30,"fields":[';
      yield* joined(fields, ',', (i) => `{"name":"f${i}","type":{"kind":"primitive","name":"int64"}}`);
      yield ']},"value":[';
      yield* joined(fields, ',', (i) => `"${i}"`);
      yield ']}\n';
    });
  },
  'jsup text': (random, size) => {
    const length = some(random, 48_000_000 * size);
    return body(`a text of ${length} bytes`, jsup, 1, () =>
      between(
        '{"type":{"kind":"primitive","name":"string"},"value":"',
        long(length, random.pick([piece, '\\u00e9\\n'])),
        '"}\n',
      ),
    );
  },
  'jsup shapes': (random, size) => {
    const shapes = some(random, 90_000 * size);
    return body(`${shapes} records of as many shapes`, jsup, shapes, () =>
      counted(
        shapes,
        (i) =>
          `{"type":${jsupType(`{"name":"f${i}","type":{"kind":"primitive","name":"int64"}}`).replace('30', String(30 + i))},"value":["${i}"]}\n`,
      ),
    );
  },
  'jsup map': (random, size) => {
    const count = some(random, 1_500_000 * size);
    return body(`a map of ${count} entries`, jsup, 1, () =>
      between(
        '{"type":{"kind":"map","id":30,"key_type":{"kind":"primitive","name":"int64"},"val_type":{"kind":"primitive","name":"string"}},"value":[',
        joined(count, ',', (i) => `["${i}","x"]`),
        ']}\n',
      ),
    );
  },
};
const supOnly: LargeBodies = {
  'sup set': (random, size) => {
    const count = some(random, 4_000_000 * size);
    return body(`a set of ${count} numbers`, sup, 1, () =>
      between(
        '{s:|[',
        joined(count, ',', (i) => String(i)),
        ']|}\n',
      ),
    );
  },
  'sup map': (random, size) => {
    const count = some(random, 2_000_000 * size);
    return body(`a map of ${count} entries`, sup, 1, () =>
      between(
        '{m:|{',
        joined(count, ',', (i) => `${i}:"x"`),
        '}|}\n',
      ),
    );
  },
  'sup bytes': (random, size) => {
    const length = some(random, 24_000_000 * size);
    return body(`${length} bytes`, sup, 1, () => between('{b:0x', long(length * 2, 'deadbeef'), '}\n'));
  },
  'sup names': (random, size) => {
    const rows = some(random, 90_000 * size);
    return body(`${rows} named types`, sup, rows, () => counted(rows, (i) => `{k:${i},v:1::=n${i}}\n`));
  },
  'sup comments': (random, size) => {
    const rows = some(random, 500_000 * size);
    return body(`${rows} values behind comments`, sup, rows, () =>
      counted(rows, (i) => `// ${piece}\n/* x */ {k:${i},s:|[${i % 3},1]|}\n`),
    );
  },
};
const lineBodies: LargeBodies = {
  'line long': (random, size) => {
    const length = some(random, 49_000_000 * size);
    return body(`a line of ${length} bytes`, line, 1, () => long(length, piece));
  },
  'line tiny': (random, size) => {
    const rows = some(random, 20_000_000 * size);
    return body(`${rows} empty lines`, line, rows, () => counted(Math.floor(rows / 100), () => '\n'.repeat(100)));
  },
  'line long lines': (random, size) => {
    const rows = some(random, 40 * size);
    const length = some(random, 5_000_000);
    return body(`${rows} lines of ${length} bytes`, line, rows, () =>
      counted(rows, (i) => `${((i * 17) % rows) + unicode.repeat(Math.ceil(length / Buffer.byteLength(unicode)))}\n`),
    );
  },
};

/** All of these, by format and kind. */
export const largeTexts: LargeBodies = {
  ...recordBodies('json', json, jsonField),
  ...recordBodies('sup', sup, supField),
  ...supOnly,
  ...jsupBodies,
  ...delimitedBodies('csv', csv, ','),
  ...delimitedBodies('tsv', tsv, '\t'),
  ...zeekBodies,
  ...lineBodies,
};
