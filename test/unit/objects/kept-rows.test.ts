/**
 * Blocks that are copied into another object without some of their rows (lake/columns/kept.ts): whatever the columns
 * are, the rows that stay come back as they were, from an object whose blocks are copies, encoded anew, or both.
 */
import { expect, test } from 'vitest';
import { type KeptRows, type StoredBlock, keptRows } from '../../../src/lake/columns/kept.ts';
import { stepsWithout, unpackDistances } from '../../../src/lake/columns/packing.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { type Vector, slice, valueAt } from '../../../src/vectors/vector.ts';
import { othersThan, withoutRows } from '../../../src/workers/load/without-rows.ts';
import { type Random, randomOf, seedOf } from '../../support/random.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const open = (bytes: Uint8Array): ObjectReader => openObject(sourceOfBytes('0'.repeat(40), bytes)) as ObjectReader;
interface Options {
  readonly compressed: boolean;
  readonly rowsExpected: number;
}
const encode = (rows: Vector, blockRows: number, options: Options): Uint8Array => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), options);
  for (let at = 0; at < rows.length; at += blockRows)
    writer.block(slice(rows, at, Math.min(at + blockRows, rows.length)), noKeys);
  writer.finish();
  return Buffer.concat(chunks);
};
const linesOf = (rows: Vector): string[] => Array.from({ length: rows.length }, (_, i) => supText(valueAt(rows, i)));
const allOf = (bytes: Uint8Array): string[] => {
  const reader = open(bytes);
  return reader.blocks.flatMap((_, block) => linesOf(reader.read(block) as Vector));
};

/** Texts of values, by how their column is encoded. */
const columns: Readonly<Record<string, (i: number, random: Random) => string>> = {
  even: (i) => String(1000 + 3 * i),
  rising: (i, random) => String(10 * i + random.below(9)),
  'rising far': (i) => String(i < 200 ? i : i + 100_000),
  numbers: (_, random) => String(random.below(70_000) - 900),
  hundreds: (_, random) => String(random.below(250) * 100),
  floats: (_, random) => `${random.below(1e9) / 7}`.replace(/^(\d+)$/, '$1.'),
  halves: (_, random) => `${random.below(1000)}.5`,
  prices: (_, random) => `${(random.below(90_000) / 100).toFixed(2)}`,
  'rising prices': (i, random) => `${(1000 + i / 10 + random.below(9) / 100).toFixed(2)}`,
  days: (_, random) => new Date(86_400_000 * random.below(30_000)).toISOString(),
  'days that rise': (i) => new Date(86_400_000 * i * 7).toISOString(),
  'milliseconds of years': (i, random) => new Date(1.7e12 + 86_400_000 * i + random.below(9999)).toISOString(),
  wide: (_, random) => String(9007199254740993n + BigInt(random.below(1e9))),
  'wide unsigned': (i) => `${18446744073709550000n + BigInt(i % 1000)}::uint64`,
  same: () => '7',
  'same text': () => '"same"',
  ids: (_, random) => `"${random.below(1e9).toString(36)}"`,
  kinds: (_, random) => `"kind ${random.below(6)}"`,
  texts: (i, random) => `"${`word ${random.below(1e6)} `.repeat(1 + (i % 9))}"`,
  times: (i) => `"${new Date(1.7e12 + i * 1000 + (i % 3)).toISOString()}"`,
  'times in no order': (_, random) => `"${new Date(1.7e12 + random.below(1e9)).toISOString()}"`,
  'own times': (i) => new Date(1.7e12 + i * 77).toISOString(),
  bools: (_, random) => String(random.below(2) === 0),
  nulls: () => 'null',
  'with nulls': (_, random) => (random.below(3) === 0 ? 'null' : String(random.below(100))),
  types: (_, random) => random.pick(['<int64>', '<string>', '<{a:int64}>']),
  errors: (_, random) => random.pick(['error("a")', 'error("b")']),
  addresses: (_, random) => `10.0.${random.below(3)}.${random.below(250)}`,
  lists: (_, random) => `[${Array.from({ length: random.below(4) }, () => random.below(99)).join(',')}]`,
  'lists of texts': (_, random) =>
    random.below(50) > 0 ? '[]' : `[${Array.from({ length: 3 }, () => `"t${random.below(9)}"`).join(',')}]`,
  sets: (_, random) => `|[${random.below(5)},${random.below(5)}]|`,
  maps: (_, random) => `|{"k${random.below(3)}":${random.below(9)}}|`,
  records: (i, random) => `{a:${i},b:{c:"x${random.below(3)}"}}`,
  'records of lists': (_, random) => `{a:[{b:${random.below(9)}},{b:1}]}`,
  named: (_, random) => `${random.below(99)}::(port=uint16)`,
  mixed: (_, random) => random.pick(['1', '"one"', 'null', '{a:1}', '[1]', '2.5']),
  rare: (i) => (i === 233 ? '"once"' : String(i)),
};
const recordsOf = (count: number, random: Random): readonly string[] =>
  Array.from(
    { length: count },
    (_, i) =>
      `{${Object.keys(columns)
        .map((name, n) => `c${n}:${columns[name]!(i, random)}`)
        .join(',')}}`,
  );

/** The rows that stay of an object, in another one; each block as `how` says. */
const without = (
  source: Uint8Array,
  gone: readonly Uint32Array[],
  how: (block: number) => 'copied' | 'encoded',
  options: Options,
): { readonly bytes: Uint8Array; readonly copied: number } => {
  const reader = open(source);
  const chunks: Uint8Array[] = [];
  let copied = 0;
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { ...options, keepsEncodings: true });
  for (const [block, { rows }] of reader.blocks.entries()) {
    const kept = keptRows(gone[block]!, rows);
    if (kept.count === 0) continue;
    if (how(block) === 'copied' && writer.keep(reader.stored(block) as StoredBlock, kept, noKeys)) copied++;
    else writer.block(withoutRows(reader.read(block) as Vector, gone[block]!), noKeys);
  }
  writer.finish();
  return { bytes: Buffer.concat(chunks), copied };
};
const someOf = (rows: number, random: Random): Uint32Array => {
  const share = random.pick([0, 1, 3, 30, 900]);
  const first = random.below(3) === 0 ? 40 : 0;
  return Uint32Array.from(
    Array.from({ length: rows }, (_, row) => row).filter((row) => row < first || random.below(1000) < share),
  );
};

const seed = seedOf(29_301);
const all = Object.keys(columns);
test.each([
  ...all.map((name) => [name, (i: number, random: Random) => `{v:${columns[name]!(i, random)}}`] as const),
  ['all', (i: number, random: Random) => recordsOf(1, random)[0]!.replace('c0:1000', `c0:${i}`)] as const,
  [
    'fields that come and go',
    (_: number, random: Random) => random.pick(['{a:1,b:"x"}', '{a:2}', '{b:"y",c:[1,2]}', '{}', '1']),
  ] as const,
  ['values', (i: number, random: Random) => columns[random.pick(['numbers', 'kinds', 'lists'])]!(i, random)] as const,
])(`%s: rows that stay come back (seed ${seed})`, (name, textOf) => {
  const random = randomOf(seed);
  const texts = Array.from({ length: 600 }, (_, i) => textOf(i, random));
  const rows = vectorOf(parseSupValues(texts.join('\n')));
  for (const options of [
    { compressed: false, rowsExpected: 2000 },
    { compressed: true, rowsExpected: 2000 },
    { compressed: false, rowsExpected: 100 },
  ]) {
    let bytes = encode(rows, 300, options);
    let lines = allOf(bytes);
    let copies = 0;
    for (let round = 0; round < 2; round++) {
      const { blocks } = open(bytes);
      const gone = blocks.map((block) => someOf(block.rows, random));
      let start = 0;
      const expected = blocks.flatMap((block, k) => {
        const own = lines.slice(start, (start += block.rows));
        return [...othersThan(gone[k]!, block.rows)].map((row) => own[row]!);
      });
      const how = round === 0 ? (): 'copied' => 'copied' : () => random.pick(['copied', 'encoded'] as const);
      const made = without(bytes, gone, how, options);
      copies += made.copied;
      ({ bytes } = made);
      lines = allOf(bytes);
      expect(lines).toEqual(expected);
      if (lines.length === 0) break;
    }
    // Parts of few rows may vanish, and then all is encoded again.
    if (!['rare', 'fields that come and go'].includes(name)) expect(copies).toBeGreaterThan(0);
  }
});

test.each([
  ['short texts', '""', '"a"', 6],
  ['many texts', '""', '"a"', 299],
  ['bytes', '0x', '0x61', 299],
  ['lists of texts', '["",""]', '["","a"]', 299],
  ['texts of records', '{a:""}', '{a:"once"}', 299],
])('%s of which the empty ones alone stay', (_, empty, other, last) => {
  const rows = vectorOf(
    parseSupValues(Array.from({ length: last + 1 }, (_, i) => `{i:${i},v:${i === last ? other : empty}}`).join('\n')),
  );
  const options = { compressed: false, rowsExpected: 2000 };
  const { bytes, copied } = without(encode(rows, 300, options), [Uint32Array.of(last)], () => 'copied', options);
  expect(copied).toBe(1);
  expect(allOf(bytes)).toEqual(linesOf(slice(rows, 0, last)));
  const reader = open(bytes);
  expect(linesOf(reader.pickPart(0, reader.parts(0)[0]!, Uint32Array.of(2, 4)) as Vector)).toEqual(
    [2, 4].map((row) => linesOf(rows)[row]!),
  );
});

test('steps over rows that are gone are wider, or too wide', () => {
  const distances = Float64Array.of(0, 10, 30, 40, 60, 1e6, 1e6 + 10);
  const packed = {
    width: 4,
    scale: 10,
    least: 10,
    bytes: new Uint8Array(Uint32Array.of(0, 0, 1, 0, 1, 99_993, 0).buffer),
  } as const;
  const of = (gone: readonly number[]): KeptRows => keptRows(Uint32Array.from(gone), distances.length);
  for (const gone of [[], [0], [6], [0, 1, 2], [1, 3, 5], [5], [2, 3, 4, 5], [0, 6], [1, 2, 3, 4, 5]]) {
    const kept = of(gone);
    const steps = stepsWithout(packed, 0, distances.length, kept)!;
    expect(Array.from(unpackDistances({ ...packed, ...steps, delta: true }, 0, steps.first, kept.count))).toEqual(
      [...distances].filter((_, row) => !gone.includes(row)),
    );
  }
  const even = { width: 0, scale: 1, least: 1e7, bytes: new Uint8Array(0) } as const;
  const far = keptRows(
    Uint32Array.from({ length: 998 }, (_, n) => n + 1),
    1000,
  );
  expect(stepsWithout(even, 0, 1000, far)).toBeUndefined();
  const falling = { width: 0, scale: 1, least: -1, bytes: new Uint8Array(0) } as const;
  expect(stepsWithout(falling, 0, 9, keptRows(Uint32Array.of(4), 9))).toBeUndefined();
});

test('a byte of a block that is not what it was is found when the block is copied', () => {
  const random = randomOf(seed);
  const rows = vectorOf(parseSupValues(recordsOf(700, random).join('\n')));
  const bytes = encode(rows, 700, { compressed: false, rowsExpected: 2000 });
  const kept = keptRows(Uint32Array.of(17), 700);
  for (let n = 0; n < 15; n++) {
    const broken = Uint8Array.from(bytes);
    // Behind the header, and far from the footer.
    const at = 8 + random.below(40_000);
    broken[at]! ^= 1 + random.below(255);
    const writer = new ObjectWriter(() => undefined, { rowsExpected: 2000, keepsEncodings: true });
    const copy = (): string | boolean => {
      try {
        return writer.keep(open(broken).stored(0) as StoredBlock, kept, noKeys);
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
    };
    // What lies between segments is nobody's.
    const found = copy();
    if (found === true) expect(linesOf(open(broken).read(0) as Vector)).toEqual(linesOf(rows));
    else expect(found).toBe('object-corrupt');
  }
});
