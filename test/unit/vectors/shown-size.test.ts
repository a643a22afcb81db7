/** What rows come to, and what views of them hold. */
import { describe, expect, test } from 'vitest';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import { MemoryObjects } from '../../../src/workers/warm-up.ts';
import { constantOf, vectorOf } from '../../../src/vectors/builder.ts';
import { cutBySize, lean, shownSize } from '../../../src/vectors/shown-size.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { sizeOf } from '../../../src/vectors/sizes.ts';
import { type Vector, range, slice, take, valueAt } from '../../../src/vectors/vector.ts';

const texts = (v: Vector): readonly string[] => Array.from({ length: v.length }, (_, i) => supText(valueAt(v, i)));
const rowsOf = (rows: readonly string[]): Vector => vectorOf(parseSupValues(rows.join('\n')));
const nullable = (count: number): Vector =>
  rowsOf(
    Array.from(
      { length: count },
      (_, i) => `{k:${(i * 7919) % count}::(null|int64),s:${i % 3 ? `"text ${i}"` : 'null'}::(null|string)}`,
    ),
  );

describe('slices hold no more than they show', () => {
  test.each([
    ['unions', nullable(1000)],
    ['mixed rows', rowsOf(Array.from({ length: 1000 }, (_, i) => (i % 2 ? `{a:${i}}` : `"text ${i}"`)))],
    ['lists', rowsOf(Array.from({ length: 1000 }, (_, i) => `[${i},2,3]`))],
  ])('%s', (_, all) => {
    const slices = Array.from({ length: 100 }, (_, i) => slice(all, i * 10, i * 10 + 10));
    expect(slices.flatMap(texts)).toEqual(texts(all));
    // Offsets have one more entry.
    expect(slices.reduce((n, s) => n + sizeOf(s), 0)).toBeLessThanOrEqual(sizeOf(all) + 100 * 8);
  });
});

test('runs of a load of nullable columns in one piece take as many bytes as the rows', async () => {
  const all = nullable(20_000);
  const runs: number[] = [];
  const batches = async function* batches(): AsyncGenerator<Vector> {
    for (let at = 0; at < all.length; at += 500) yield slice(all, at, at + 500);
  };
  const store = new MemoryObjects();
  const spill = Object.assign(Object.create(new MemoryObjects()) as MemoryObjects, {
    create: (id: string) => {
      const sink = store.create(id);
      const at = runs.push(0) - 1;
      return {
        ...sink,
        write: (chunk: Uint8Array) => {
          runs[at]! += chunk.length;
          sink.write(chunk);
        },
        close: () => sink.close(),
        abort: () => sink.abort(),
      };
    },
    readRange: (...of: Parameters<MemoryObjects['readRange']>) => store.readRange(...of),
    delete: (id: string) => store.delete(id),
  });
  const { records } = await sortIntoObjects(batches(), {
    keys: [['k']],
    order: 'asc',
    threshold: 1 << 20,
    memoryBytesMax: 1 << 18,
    objects: new MemoryObjects(),
    spill: () => spill,
  });
  expect([records, runs.length > 1]).toEqual([20_000, true]);
  expect(runs.reduce((a, b) => a + b)).toBeLessThan(shownSize(all) * 2);
});

describe('what is looked up', () => {
  const long = rowsOf([`"${'x'.repeat(100_000)}"`, '"y"']);
  const codes = Uint32Array.from({ length: 50 }, (_, i) => (i === 7 ? 0 : 1));
  const coded: Vector = { form: 'dictionary', length: 50, codes, values: long };
  test('counts once a row', () => {
    expect(shownSize(coded)).toBe(50 * 4 + 100_004 + 49 * 5);
    expect(shownSize(constantOf(valueAt(long, 0), 1000))).toBe(1000 * 100_004);
    expect(shownSize(rowsOf(['[1,2]', '[3]']))).toBe(2 * 4 + 3 * 8);
  });
  test('is cut into stretches of so many bytes', () => {
    const pieces = [...cutBySize({ ...coded, codes: codes.map(() => 0) }, { bytesMax: 400_020, rowsMax: 20 })];
    expect(pieces.every((p) => p.length <= 4 && shownSize(p) <= 400_020)).toBe(true);
    expect(pieces.reduce((n, p) => n + p.length, 0)).toBe(50);
  });
  test('is not held by rows that show little of it', () => {
    const few = slice(coded, 8, 20);
    const own = lean({ form: 'record', length: 12, fields: [{ name: 'a', optional: false, values: few }] });
    expect(sizeOf(own)).toBe(12 * 5);
    expect(texts(own)).toEqual(texts(few).map((t) => `{a:${t}}`));
    expect(lean(coded)).toBe(coded);
  });
  test('is copied out of views', () => {
    const all = nullable(1000);
    const view = take(all, range(500, 510));
    const own = lean(view);
    expect([texts(own), sizeOf(own) < 1000]).toEqual([texts(view), true]);
  });
});
