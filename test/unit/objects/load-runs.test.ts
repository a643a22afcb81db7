import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SortOrder } from '../../../src/lake/lake.types.ts';
import { RunWriter, SpilledRun, halvesOf, mergeRuns, rowsInOrder } from '../../../src/lake/load/runs.ts';
import { openScratch } from '../../../src/lake/objects/objects.ts';
import { keyColumn, sortColumn, sortRows } from '../../../src/lake/load/sort-rows.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, intValue, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, numbers, range, slice, take, valueAt } from '../../../src/vectors/vector.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { randomOf } from '../../support/random.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-runs-'));
const store = openScratch(folder);
afterAll(() => {
  store.close();
  rmSync(folder, { recursive: true });
});
const filesLeft = async (): Promise<number> => {
  let count = 0;
  for await (const id of store.list()) if (id) count++;
  return count;
};

const spilled = async (
  pieces: Iterable<Vector>,
  keys: readonly (readonly string[])[],
  bytesPerRow: number,
): Promise<SpilledRun> => {
  const writer = new RunWriter(store, { keys, bytesPerRow, memoryBytesMax: 4 << 20 });
  for (const piece of pieces) writer.add(piece);
  return writer.finish();
};
const texts = async (pieces: AsyncIterable<Vector>): Promise<string[]> => {
  const out: string[] = [];
  for await (const piece of pieces) for (let i = 0; i < piece.length; i++) out.push(supText(valueAt(piece, i)));
  return out;
};
const orderOf = (rows: Vector, keys: readonly string[][], order: SortOrder): Uint32Array =>
  sortRows(
    keys.map((path) => sortColumn(keyColumn(rows, path))),
    rows.length,
    { descending: order === 'desc' },
  ) ?? range(0, rows.length);

/** Rows of several shapes; `n` tells them apart. */
const row = (key: Value | undefined, second: number, n: number): Value =>
  recordValue([
    ...(n % 3 === 0 ? [{ name: 'a', value: stringValue(`x${n}`) }] : []),
    ...(key ? [{ name: 'k', value: key }] : []),
    { name: 's', value: intValue(second) },
    { name: 'n', value: intValue(n) },
  ]);
const someKeys = fc.constantFrom<(Value | undefined)[]>(
  stringValue('2026-01-01T00:00'),
  stringValue('2026-01-01T00:01'),
  stringValue(''),
  intValue(-1),
  intValue(7),
  nullValue,
  undefined,
);

test('merged runs, whole or in halves, are the rows sorted at once, rows of equal keys in the order they came', async () => {
  let divided = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.tuple(someKeys, fc.nat(2)), { minLength: 1, maxLength: 12 }), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.constantFrom<SortOrder[]>('asc', 'desc'),
      fc.constantFrom<string[][][]>([], [['k']], [['k'], ['s']]),
      fc.constantFrom(100, 8000, 100_000),
      async (runs, order, keys: string[][], bytesPerRow) => {
        let n = 0;
        const all: Value[] = [];
        const sources: SpilledRun[] = [];
        for (const run of runs) {
          const values = run.map(([key, second]) => row(key, second, n++));
          const rows = vectorOf(values);
          all.push(...values);
          sources.push(await spilled(rowsInOrder([rows], orderOf(rows, keys, order)), keys, bytesPerRow));
        }
        const halves = await halvesOf(sources, { keys, order });
        const parts = halves?.map((half) => half.map((part) => new SpilledRun(store, part, true)));
        const whole = vectorOf(all);
        const wanted = [...orderOf(whole, keys, order)].map((i) => supText(all[i]!));
        if (parts)
          expect([
            ...(await texts(mergeRuns(parts[0]!, { keys, order }))),
            ...(await texts(mergeRuns(parts[1]!, { keys, order }))),
          ]).toEqual(wanted);
        divided += parts ? 1 : 0;
        expect(await texts(mergeRuns(sources, { keys, order }))).toEqual(wanted);
      },
    ),
    { numRuns: 150 },
  );
  expect(divided).toBeGreaterThan(30);
  expect(await filesLeft()).toBe(0);
});

/** Keys of a load: row `i` is the one that came as `i`. */
const long = 120_000;
const patterns: Readonly<Record<string, (i: number) => number>> = {
  'blocks out of order': (i) => ((Math.floor(i / 97) * 389) % 1237) * 97 + (i % 97),
  'no order': (
    (random) => () =>
      random.below(1_000_000)
  )(randomOf(3)),
  'few keys': (
    (random) => () =>
      random.below(5)
  )(randomOf(4)),
  'the other way round': (i) => -i,
  'one run behind the other': (i) => (i % 1000) + Math.floor(i / 1000) * 1000,
};

test.each(Object.entries(patterns))('long runs: %s', async (_, keyOf) => {
  const keys = Float64Array.from({ length: long }, (_unused, i) => keyOf(i));
  const rowsOf = (start: number, end: number): Vector => ({
    form: 'record',
    length: end - start,
    fields: [
      { name: 'k', optional: false, values: numbers(types.int64, keys.slice(start, end)) },
      {
        name: 'n',
        optional: false,
        values: numbers(
          types.int64,
          Float64Array.from({ length: end - start }, (_unused, i) => start + i),
        ),
      },
    ],
  });
  const sources: SpilledRun[] = [];
  const runRows = 37_000;
  for (let start = 0; start < long; start += runRows) {
    const rows = rowsOf(start, Math.min(long, start + runRows));
    const half = rows.length >> 1;
    sources.push(
      await spilled(
        rowsInOrder([slice(rows, 0, half), slice(rows, half, rows.length)], orderOf(rows, [['k']], 'asc')),
        [['k']],
        16,
      ),
    );
  }
  const wanted = [...range(0, long)].sort((i, j) => keys[i]! - keys[j]! || i - j);
  let at = 0;
  let wrong = 0;
  for await (const piece of mergeRuns(sources, { keys: [['k']], order: 'asc' })) {
    const column = keyColumn(piece, ['n']);
    for (let i = 0; i < piece.length; i++) if (valueAt(column, i).data !== wanted[at++]) wrong++;
  }
  expect([at, wrong]).toEqual([long, 0]);
});

test('rows in an order are the same as slices and copied one by one', () => {
  const rows = vectorOf(Array.from({ length: 300 }, (_, n) => row(n % 2 ? stringValue(`t${n}`) : nullValue, n % 5, n)));
  const parts = [slice(rows, 0, 110), slice(rows, 110, 111), slice(rows, 111, 300)];
  const orders = [
    range(0, 300),
    Uint32Array.from({ length: 300 }, (_, i) => (i * 7) % 300),
    Uint32Array.from({ length: 300 }, (_, i) => (i + 60) % 300),
    range(105, 115),
  ];
  for (const order of orders) {
    const given = [...rowsInOrder([...parts], order)].flatMap((piece) =>
      Array.from({ length: piece.length }, (_, i) => supText(valueAt(piece, i))),
    );
    const wanted = take(rows, order);
    expect(given).toEqual(Array.from(order, (_, i) => supText(valueAt(wanted, i))));
  }
});

test('rows of very many shapes, and large ones, are put in order some at a time, through runs as well', async () => {
  const random = randomOf(11);
  const bodies: readonly ((i: number) => Value)[] = [
    (i) =>
      recordValue([
        { name: 'k', value: intValue(random.below(500)) },
        { name: `f${i % 300}`, value: intValue(i) },
        ...(i % 7 === 0 ? [] : [{ name: 'in', value: recordValue([{ name: `g${i}`, value: nullValue }]) }]),
      ]),
    (i) =>
      recordValue([
        { name: 'k', value: intValue(random.below(50)) },
        { name: 's', value: stringValue(`${i} `.repeat(2000)) },
      ]),
  ];
  for (const body of bodies) {
    const runs = Array.from({ length: 4 }, (_, run) =>
      Array.from({ length: 300 }, (_unused, i) => body(run * 300 + i)),
    );
    const keys = [['k']];
    const sources: SpilledRun[] = [];
    const inOrder = (values: readonly Value[]): string[] =>
      [...orderOf(vectorOf(values), keys, 'asc')].map((i) => supText(values[i]!));
    for (const run of runs) {
      const rows = vectorOf(run);
      const parts = [slice(rows, 0, 100), slice(rows, 100, 300)];
      const order = orderOf(rows, keys, 'asc');
      const pieces = [...rowsInOrder(parts, order)];
      expect(
        pieces.flatMap((piece) => Array.from({ length: piece.length }, (_, i) => supText(valueAt(piece, i)))),
      ).toEqual(inOrder(run));
      sources.push(await spilled(pieces, keys, 10));
    }
    expect(await texts(mergeRuns(sources, { keys, order: 'asc' }))).toEqual(inOrder(runs.flat()));
  }
  expect(await filesLeft()).toBe(0);
});

test('frames hold rows enough, however many columns these have, and the shapes of their own rows alone', async () => {
  /** Bytes in the file for each byte of a value. */
  const costOf = ({ part: { frames } }: SpilledRun, bytes: number): number =>
    frames.reduce((n, { buffer, forms }) => n + buffer + forms, 0) / bytes;
  const wide = vectorOf(
    Array.from({ length: 200 }, (_, i) =>
      recordValue(Array.from({ length: 1500 }, (_unused, k) => ({ name: `c${k}`, value: intValue(i * k) }))),
    ),
  );
  const run = await spilled([wide], [['c1']], 1500 * 8);
  expect(costOf(run, 200 * 1500 * 8)).toBeLessThan(8);
  // Picked rows of many shapes: each of them beside all others.
  const shapes = 3000;
  const many = vectorOf(
    Array.from({ length: shapes * 2 }, (_, i) =>
      recordValue([
        { name: 'k', value: intValue(i % 1000) },
        { name: `f${i >> 1}`, value: intValue(i) },
      ]),
    ),
  );
  const picked = await spilled([take(many, orderOf(many, [['k']], 'asc'))], [['k']], 20);
  expect(Math.max(...picked.part.frames.map(({ forms, rows }) => forms / rows))).toBeLessThan(2000);
  const found = await Promise.all(
    [run, picked].map((source) => texts(mergeRuns([source], { keys: [['c1']], order: 'asc' }))),
  );
  expect(found.map((rows) => rows.length)).toEqual([200, shapes * 2]);
  expect(await filesLeft()).toBe(0);
});
