/**
 * A lake of what strangers have: the files of vega-datasets, the benchmark's records, values of every type, and pools that
 * are odd in name, shape or key.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeEvents } from '../bench/events.ts';

/** What is loaded into a pool of its own. */
export interface Piece {
  readonly pool: string;
  readonly bytes: Uint8Array;
  readonly type: string;
  /** Of its key; none: that of a pool that was made without one. */
  readonly layout?: { readonly order: 'asc' | 'desc'; readonly keys: readonly (readonly string[])[] };
}
const mediaTypes: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.tsv': 'text/tab-separated-values',
  '.json': 'application/json',
  '.parquet': 'application/x-parquet',
  '.arrow': 'application/vnd.apache.arrow.file',
  '.arrows': 'application/vnd.apache.arrow.stream',
  '.sup': 'application/x-sup',
};

const datasets = fileURLToPath(new URL('../../node_modules/vega-datasets/data/', import.meta.url));
const samples = fileURLToPath(new URL('../cases/formats/samples/', import.meta.url));
/** Values of every type, alone and mixed, in columns of one type and of many. */
const sampleNames = ['values.sup', 'mixed.sup', 'nulls.sup', 'columns.sup', 'columns.parquet', 'lines.sup'];

const pieceOf = (folder: string, name: string, pool = name): Piece => ({
  pool: pool.replaceAll('.', '-'),
  bytes: unpacked(readFileSync(join(folder, name)), extname(name)),
  type: mediaTypes[extname(name)] ?? '',
});
/** The items of an array as values of their own. */
const unpacked = (bytes: Buffer, extension: string): Buffer => {
  if (extension !== '.json' || bytes[0] !== '['.charCodeAt(0)) return bytes;
  const items = JSON.parse(bytes.toString()) as readonly unknown[];
  return Buffer.from(items.map((item) => JSON.stringify(item)).join('\n'));
};

/** All of it; `bytesMax`: without files of vega-datasets that are longer. */
export const everything = async (bytesMax: number): Promise<readonly Piece[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-everything-'));
  try {
    await writeEvents(join(folder, 'events.json'), 2_000);
    return [
      ...readdirSync(datasets)
        .filter((name) => extname(name) in mediaTypes && statSync(join(datasets, name)).size <= bytesMax)
        .map((name) => pieceOf(datasets, name)),
      ...sampleNames.map((name) => pieceOf(samples, name, `sample-${name}`)),
      pieceOf(folder, 'events.json', 'benchmark'),
      ...odd(),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Names of fields that mean something to an engine, or to its language. */
const oddNames = [
  ...[
    "it's",
    'a"b',
    'a`b',
    'a.b',
    'a/b',
    'a\\b',
    'a b',
    ' ',
    '',
    'a,b',
    'a;b',
    'a=b',
    'a%b',
    'a#b',
    'a?b',
    'a{b}',
    'a[0]',
  ],
  ...[
    'a\nb',
    'a\tb',
    'a\0b',
    '$a',
    '@a',
    '*',
    '-',
    '1',
    'ä',
    '日本',
    '😀',
    'a\u0301',
    '\u00e1',
    'select',
    'null',
    'true',
  ],
  ...[
    'a',
    'A',
    'Ä',
    'id__string',
    'a__json',
    '_json',
    '_file',
    '_pos',
    '_row_id',
    '_partition',
    '__proto__',
    'constructor',
  ],
  ...['element', 'key', 'value', 'list', 'x'.repeat(300)],
];
const manyColumns = 1000;
const tooDeep = 20;
/** `open` and `close` around one value, so many times. */
const within = (open: string, close: string): string => open.repeat(tooDeep) + '1' + close.repeat(tooDeep);

const odd = (): readonly Piece[] => {
  const named = (value: string): string =>
    `{id:1,${oddNames.map((name) => `${JSON.stringify(name)}:${value}`).join()}}`;
  const wide = Array.from({ length: manyColumns }, (_, i) => `c${i}:${i % 2 ? i : `"t${i}"`}`);
  const texts = {
    'odd-names': `${named('1')} ${named('"text"')} {id:2}`,
    'odd-names-within': `{id:1,r:${named('1')},l:[${named('[1]')}]} {id:2,r:null,l:[]}`,
    'odd-wide': `{${wide.join()}} {${wide.toReversed().join()}} {c1:"of another kind"}`,
    'odd-deep': `{id:1,r:${within('{a:', '}')},l:${within('[', ']')},m:${within('|{"k":', '}|')},s:${within('|[', ']|')}} {id:2}`,
    'odd-nulls': 'null null null',
    'odd-nulls-within': '{a:null,b:[null],r:{x:null}} {a:null,b:[],r:null}',
    'odd-empty': '',
    'odd-nothing': '{} {}',
    'odd-key-missing': '{a:1} {b:2} {ts:null} 7 error("no")',
    'odd-key-mixed': '{ts:1} {ts:"one"} {ts:1970-01-01T00:00:00Z} {ts:1.5} {ts:{a:1}} {ts:[1]} {ts:null}',
    "it's": '{a:1}',
    'a"b`c': '{a:1}',
    'a.b.c': '{a:1}',
    'a/b\\c': '{a:1}',
    'ä 日本 😀': '{a:1}',
    _x002e_: '{a:1}',
    'A-b': '{a:1}',
    select: '{a:1}',
  };
  const descending = Array.from({ length: 300 }, (_, i) => `{ts:${(i * 7) % 300},name:"n${i}"}`);
  return [
    ...Object.entries(texts).map(([pool, text]) => ({ pool, bytes: Buffer.from(text), type: 'application/x-sup' })),
    {
      pool: 'odd-descending',
      bytes: Buffer.from(descending.join('\n')),
      type: 'application/x-sup',
      layout: { order: 'desc', keys: [['ts']] },
    },
    {
      pool: 'odd-keys',
      bytes: Buffer.from('{r:{"a.b":1},s:"x"} {r:{"a.b":1},s:"w"} {r:{"a.b":2}} {s:"none"}'),
      type: 'application/x-sup',
      layout: { order: 'desc', keys: [['r', 'a.b'], ['s']] },
    },
  ];
};
