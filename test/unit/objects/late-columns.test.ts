/** Columns of a directory that are passed over, and read when they are asked for (lake/columns/directory.ts). */
import { expect, test } from 'vitest';
import { ByteReader } from '../../../src/lake/columns/byte-reader.ts';
import type { Column } from '../../../src/lake/columns/column.ts';
import { compress } from '../../../src/lake/columns/compression.ts';
import { DirectoryReader } from '../../../src/lake/columns/directory.ts';
import { type ObjectTables, encodeBlock } from '../../../src/lake/columns/encode.ts';
import { TypeTable, readTypes } from '../../../src/lake/columns/layout.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const random = randomOf(seedOf(29401));
/** Texts of values, by how their column is stored. */
const columns: Readonly<Record<string, (i: number) => string>> = {
  packed: () => String(random.below(70_000) - 900),
  rising: (i) => String(10 * i + random.below(9)),
  plain: () => `${random.below(1e9) / 7}`.replace(/^(\d+)$/, '$1.'),
  'single precision': () => `${Math.fround(random.below(1e9) / 7)}`.replace(/^(\d+)$/, '$1.'),
  scaled: () => `${(random.below(90_000) / 100).toFixed(2)}`,
  units: () => new Date(86_400_000 * random.below(30_000)).toISOString(),
  wide: () => String(9007199254740993n + BigInt(random.below(1e9))),
  constant: () => '7',
  'constant text': () => '"same"',
  dictionary: () => `"kind ${random.below(6)}"`,
  texts: (i) => `"${`word ${random.below(1e6)} `.repeat(1 + (i % 9))}"`,
  ids: () => `"${random.below(1e9).toString(36)}"`,
  'times as texts': (i) => `"${new Date(1.7e12 + i * 1000 + (i % 3)).toISOString()}"`,
  bools: () => String(random.below(2) === 1),
  nulls: () => 'null',
  types: () => ['<int64>', '<string>', '<{a:int64}>'][random.below(3)]!,
  lists: (i) => `[${Array.from({ length: i % 4 }, (_, k) => `"${k * i}"`).join()}]`,
  maps: (i) => `|{${i}:"${i % 7}","k":${random.below(9)}}|`,
  unions: (i) => (i % 3 === 0 ? `"${i}"::(int64|string)` : `${random.below(99)}::(int64|string)`),
  mixed: (i) => ['1', '"x"', '{a:1}', '10.0.0.1'][i % 4]!,
  records: (i) => `{a:${random.below(99)},b:{c:"${i}",d:${i % 2 === 0}}}`,
  named: (i) => `${i}::=port`,
  errors: (i) => `error("fault ${i % 5}")`,
};
const names = Object.keys(columns);
const rowsOf = (count: number): string =>
  Array.from({ length: count }, (_, i) => {
    const fields = names.filter((_, k) => k % 3 !== 1 || i % 5 !== 0).map((n) => `"${n}":${columns[n]!(i)}`);
    return `{${fields.join()}}`;
  }).join('\n');

/** Columns with all that is in them. */
const plain = (column: Column): unknown =>
  JSON.parse(
    JSON.stringify(column, (key, value: unknown) => {
      if (typeof value === 'bigint') return `${value}n`;
      const field = value as { readonly values?: Column; readonly name?: string; readonly present?: unknown } | null;
      return key !== '' && field && typeof field === 'object' && field.values !== undefined && 'optional' in field
        ? { name: field.name, present: field.present, values: field.values }
        : value;
    }),
  );

test.each([
  { compressed: false, statistics: true },
  { compressed: false, statistics: false },
  { compressed: true, statistics: true },
])(
  'are those that come when all are read at once, whatever the order: compressed $compressed, zone maps $statistics',
  ({ compressed, statistics }) => {
    const types = new TypeTable();
    const tables: ObjectTables = { types, dictionaries: new Map(), ...(compressed && { compress }) };
    const { directory, layout, rows } = encodeBlock(vectorOf(parseSupValues(rowsOf(600))), tables, statistics);
    const typeOf = readTypes(new ByteReader(types.out.done()), types.count);
    const read = (later?: (read: () => Column) => Column): Column =>
      new DirectoryReader(new ByteReader(directory), typeOf, {
        statistics,
        compressed,
        ...(later && { later }),
      }).column(layout, rows);
    const whole = read();
    let count = 0;
    const late = read((column) => {
      count++;
      return column();
    });
    const parts = (c: Column): readonly Column[] => (c.form === 'dynamic' ? c.parts : [c]);
    const fieldsOf = (c: Column) => parts(c).flatMap((p) => (p.form === 'record' ? p.fields : []));
    expect(fieldsOf(late).length).toBeGreaterThanOrEqual(names.length);
    expect(count).toBe(0);
    for (const field of [...fieldsOf(late)].reverse()) expect(field.values).toBe(field.values);
    expect(count).toBe(fieldsOf(late).length);
    expect(plain(late)).toEqual(plain(whole));
  },
);
