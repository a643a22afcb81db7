/**
 * Some rows of columns, looked up where they lie packed (lake/columns/picked.ts): they are those that a look at all rows
 * gives, and what is kept of a column are its few bytes a row.
 */
import { describe, expect, test } from 'vitest';
import { ColumnCache } from '../../../src/lake/columns/cache.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { type Vector, gather, valueAt } from '../../../src/vectors/vector.ts';
import { type Random, randomOf, seedOf } from '../../support/random.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const open = (rows: Vector, cache?: ColumnCache): ObjectReader => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), {
    compressed: true,
    rowsExpected: rows.length,
  });
  writer.block(rows, noKeys);
  writer.finish();
  return openObject(sourceOfBytes('0'.repeat(40), Buffer.concat(chunks)), cache) as ObjectReader;
};
const linesOf = (rows: Vector): string[] => Array.from({ length: rows.length }, (_, i) => supText(valueAt(rows, i)));
const recordsOf = (value: (i: number, random: Random) => string, rows: number): Vector => {
  const random = randomOf(seedOf(7));
  return vectorOf([
    ...parseSupValues(Array.from({ length: rows }, (_, i) => `{other:${i % 7},v:${value(i, random)}}`).join('\n')),
  ]);
};

/** Texts of values, by how their column is encoded. */
const columns: Readonly<Record<string, (i: number, random: Random) => string>> = {
  bytes: (_, random) => String(random.below(250)),
  'two bytes': (_, random) => String(random.below(60_000) - 900),
  'four bytes': (_, random) => String(random.below(1e9)),
  hundreds: (_, random) => String(random.below(250) * 100),
  steps: (i, random) => String(10 * i + random.below(9)),
  prices: (_, random) => `${(random.below(90_000) / 100).toFixed(2)}`,
  'named prices': (_, random) => `${(random.below(90_000) / 100).toFixed(2)}::=price`,
  floats: (_, random) => `${random.below(1e9) / 7}`.replace(/^(\d+)$/, '$1.'),
  days: (_, random) => new Date(86_400_000 * random.below(30_000)).toISOString(),
  wide: (_, random) => String(9007199254740993n + BigInt(random.below(1e9))),
  'wide unsigned': (_, random) => `${18446744073709550000n + BigInt(random.below(1000))}::uint64`,
  same: () => '7',
  'same text': () => '"same"',
  kinds: (_, random) => `"kind ${random.below(6)}"`,
  ids: (_, random) => `"${random.below(1e9).toString(36)}"`,
  bools: (i) => String(i % 3 === 0),
  nulls: () => 'null',
  'nullable, none null': (_, random) => `${random.below(250)}::(int64|null)`,
  'nullable, some null': (i, random) => (i % 5 === 0 ? 'null::(int64|null)' : `${random.below(250)}::(int64|null)`),
  lists: (i) => `[${i},${i + 1}]`,
  records: (i, random) => `{a:${random.below(250)},b:"x${i % 4}"}`,
  mixed: (i, random) => (i % 3 === 0 ? `"t${i % 5}"` : String(random.below(9))),
};

const picks = (rows: number): Readonly<Record<string, Uint32Array>> => ({
  first: Uint32Array.of(0),
  last: Uint32Array.of(rows - 1),
  some: Uint32Array.from({ length: rows >> 3 }, (_, i) => i * 8 + (i % 5)),
  most: Uint32Array.from({ length: rows - (rows >> 2) }, (_, i) => i + (i >> 4)),
});

describe('picked rows', () => {
  for (const [name, value] of Object.entries(columns))
    test(`${name}: those that a look at all rows gives, at hand or not`, () => {
      const rows = recordsOf(value, 1200);
      for (const cache of [undefined, new ColumnCache(1 << 20)]) {
        const reader = open(rows, cache);
        const [part] = reader.parts(0);
        for (const isDecoded of [false, true]) {
          if (isDecoded) void reader.read(0);
          for (const [kind, index] of Object.entries(picks(part!.rows))) {
            cache?.begin();
            const all = linesOf(gather(open(rows).readPart(0, part!) as Vector, index));
            expect(linesOf(reader.pickPart(0, part!, index) as Vector), `${kind}, ${isDecoded}`).toEqual(all);
          }
        }
      }
    });

  test('what is kept of packed numbers is what they are stored in', () => {
    const rows = recordsOf((_, random) => String(random.below(250)), 10_000);
    const index = Uint32Array.from({ length: 1000 }, (_, i) => i * 9);
    const wanted = new Map([['v', true as const]]);
    const picked = new ColumnCache(1 << 20);
    const reader = open(rows, picked);
    void reader.pickPart(0, reader.parts(0)[0]!, index, wanted);
    const whole = new ColumnCache(1 << 20);
    const other = open(rows, whole);
    void other.readPart(0, other.parts(0)[0]!, wanted);
    expect(picked.bytes).toBeGreaterThan(9999);
    expect(picked.bytes).toBeLessThan(11_000);
    expect(whole.bytes).toBeGreaterThan(79_999);
  });
});
