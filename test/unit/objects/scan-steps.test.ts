import { afterAll, describe, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import type { ObjectMeta, SortOrder } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { sharesOf } from '../../../src/lake/scan/shares.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanSource } from '../../../src/lake/scan/scan.types.ts';
import { randomOf } from '../../support/random.ts';
import { compareBytes } from '../../../src/vectors/value.ts';
import { types } from '../../../src/vectors/type.ts';
import { type NumberVector, type RecordVector, type Vector, flatten } from '../../../src/vectors/vector.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-steps-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const objects = openObjects(folder);

const numbers = (values: Float64Array): NumberVector => ({
  form: 'number',
  type: types.int64,
  length: values.length,
  values,
});
const records = (k: Float64Array, n: Float64Array): Vector => ({
  form: 'record',
  length: k.length,
  fields: [
    { name: 'k', optional: false, values: numbers(k) },
    { name: 'n', optional: false, values: numbers(n) },
  ],
});
const load = async (rows: Vector, order: SortOrder, blockRows?: number): Promise<ObjectMeta> => {
  const given = await sortIntoObjects(
    (async function* give() {
      yield rows;
    })(),
    {
      keys: [['k']],
      order,
      threshold: 1 << 30,
      memoryBytesMax: 64 << 20,
      objects,
      spill: () => objects,
      ...(blockRows && { blockRows }),
    },
  );
  return given.objects[0]!;
};
const sourceOf = (metas: readonly ObjectMeta[], order: SortOrder): ScanSource => {
  const start = (o: ObjectMeta): Uint8Array => (order === 'asc' ? o.min : o.max).sort;
  return {
    keys: [['k']],
    order,
    objects,
    page: () => ({ objects: [...metas].sort((a, b) => compareBytes(start(a), start(b)) * (order === 'asc' ? 1 : -1)) }),
  };
};

describe('large objects that overlap', () => {
  const count = 8;
  const rows = 20_000;
  test.each(['asc', 'desc'] as const)('are merged some rows at a time, %s', async (order) => {
    const metas: ObjectMeta[] = [];
    // The keys of object m, each twice, are those that leave m when divided; half of them also those of the next
    // object.
    for (let m = 0; m < count; m++) {
      const k = Float64Array.from(
        { length: rows },
        (_, i) => ((i * 7919) % (rows / 2)) * count + ((m + (i % 3 === 0 ? 1 : 0)) % count),
      );
      metas.push(
        await load(
          records(
            k,
            Float64Array.from(k, (_, i) => m * rows + i),
          ),
          order,
        ),
      );
    }
    const seen = new Set<number>();
    let last = order === 'asc' ? -Infinity : Infinity;
    let total = 0;
    let most = 0;
    for await (const batch of scanObjects(sourceOf(metas, order), { ordered: true, batchRows: 4096 })) {
      const [k, n] = (flatten(batch) as RecordVector).fields.map((f) => flatten(f.values) as NumberVector);
      most = Math.max(most, batch.form === 'selected' ? batch.base.length : batch.length);
      total += batch.length;
      for (let i = 0; i < batch.length; i++) {
        const key = Number(k!.values[i]);
        if (order === 'asc' ? key < last : key > last) throw new Error(`${key} behind ${last}`);
        last = key;
        seen.add(Number(n!.values[i]));
      }
    }
    expect({ total, distinct: seen.size }).toEqual({ total: count * rows, distinct: count * rows });
    // What is worked on at once does not grow with the number of objects.
    expect(most).toBeLessThan(70_000);
  });
});

test('wide rows that are merged are fewer at a time: a client that is slow holds up to one step of them', async () => {
  const [rows, fields] = [20_000, 32];
  const random = randomOf(1);
  const metas: ObjectMeta[] = [];
  for (let m = 0; m < 3; m++) {
    const names = Array.from({ length: fields }, (_, f) => ({
      name: f === 0 ? 'k' : `n${f}`,
      optional: false,
      values: numbers(Float64Array.from({ length: rows }, (_, i) => (f === 0 ? i * 3 + m : random.below(1e15)))),
    }));
    metas.push(await load({ form: 'record', length: rows, fields: names }, 'asc'));
  }
  const mostOf = async (columns?: readonly (readonly string[])[]): Promise<number> => {
    let most = 0;
    let total = 0;
    for await (const batch of scanObjects(sourceOf(metas, 'asc'), {
      ordered: true,
      batchRows: 1024,
      ...(columns && { columns }),
    })) {
      most = Math.max(most, batch.form === 'selected' ? batch.base.length : batch.length);
      total += batch.length;
    }
    expect(total).toBe(3 * rows);
    return most;
  };
  // 1 MiB of 32 numbers a row, about.
  expect(await mostOf()).toBeLessThan(10_000);
  // Of few columns it is no more.
  expect(await mostOf([['k'], ['n1']])).toBeGreaterThan(20_000);
});

test('the first block is a share by itself where it is to tell what the others cost', async () => {
  const rows = 40_000;
  const values = Float64Array.from({ length: rows }, (_, i) => i);
  const source = sourceOf([await load(records(values, values), 'asc', 2048)], 'asc');
  const sizes = { shareRowsMin: 8192, shareRowsMax: 8192, rowsMin: 0 };
  const lengths = async (hasProbe: boolean): Promise<readonly number[] | undefined> =>
    (await sharesOf(source, { ordered: true }, { ...sizes, hasProbe }))?.map((share) => share.rows);
  expect(await lengths(false)).toEqual([8192, 8192, 8192, 8192, 7232]);
  expect(await lengths(true)).toEqual([2048, 6144, 8192, 8192, 8192, 7232]);
});

test('shares have about the same rows, whatever the size of blocks', async () => {
  const rows = 40_000;
  const values = Float64Array.from({ length: rows }, (_, i) => i);
  const sizes = { shareRowsMin: 8192, shareRowsMax: 8192, rowsMin: 0 };
  const lengths = async (blockRows: number): Promise<number[]> => {
    const shares = await sharesOf(
      sourceOf([await load(records(values, values), 'asc', blockRows)], 'asc'),
      { ordered: true },
      sizes,
    );
    return shares!.map((share) => share.parts.reduce((n, p) => n + p.blocks.length, 0));
  };
  expect(await lengths(8192)).toEqual([1, 1, 1, 1, 1]);
  expect(await lengths(2048)).toEqual([4, 4, 4, 4, 4]);
  expect(await lengths(6000)).toEqual([1, 2, 1, 1, 2]);
  expect(await lengths(20_000)).toEqual([1, 1]);
});
