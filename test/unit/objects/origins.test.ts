/** Origins of rows (lake/objects/origins.ts) beside a model that follows each row, and the rows that two sides share. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ObjectMeta } from '../../../src/lake/lake.types.ts';
import { ObjectCutter } from '../../../src/lake/objects/cutter.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { OriginTrail, readOrigins, withOwn } from '../../../src/lake/objects/origins.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { rowsLeft } from '../../../src/lake/scan/left.ts';
import type { ScanSource } from '../../../src/lake/scan/scan.types.ts';
import { types } from '../../../src/vectors/type.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { sharedRows } from '../../../src/workers/diff/shared.ts';
import { type Random, randomOf, seedOf } from '../../support/random.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-origins-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const objects = openObjects(folder);

const rowsOf = (ids: readonly number[]): Vector => ({
  form: 'record',
  length: ids.length,
  fields: ['k', 'n', 'o', 'p', 'q'].map((name, f) => ({
    name,
    optional: false,
    // Values that pack badly: objects are to have files.
    values: {
      form: 'number',
      type: types.float64,
      length: ids.length,
      values: Float64Array.from(ids, (id) => (f === 0 ? id : Math.sin(id * (f + 1)))),
    },
  })),
});

/** An object, and what each of its rows is to the model: where it was written first. */
interface Known {
  readonly meta: ObjectMeta;
  readonly ids: readonly number[];
}
const readerOf = async ({ meta }: Known): Promise<ObjectReader> =>
  openObject(
    meta.inline
      ? sourceOfBytes(meta.id, meta.inline)
      : { id: meta.id, size: meta.size, read: (offset, length) => objects.readRange(meta.id, offset, length) },
  );
const written = async (ids: readonly number[], threshold: number, origins?: OriginTrail): Promise<readonly Known[]> => {
  const cutter = new ObjectCutter({ keys: [['k']], order: 'asc', ...(origins && { origins }) }, objects, threshold);
  cutter.expect(ids.length, 40);
  for (let at = 0; at < ids.length; at += 700) cutter.add(rowsOf(ids.slice(at, at + 700)));
  const { objects: metas } = await cutter.finish();
  let at = 0;
  return metas.map((meta) => ({ meta, ids: ids.slice(at, (at += meta.count)) }));
};

let nextId = 0;
/** Takes rows out, or changes them in their places. */
const rewrittenOf = async (known: Known, random: Random, threshold: number): Promise<readonly Known[]> => {
  const reader = await readerOf(known);
  const { id, count } = reader;
  const trail = new OriginTrail({ id, count, origins: await reader.origins() });
  const ids: number[] = [];
  let start = 0;
  for (const { rows } of reader.blocks) {
    const own = known.ids.slice(start, start + rows);
    const areGone = random.below(2) === 0;
    const some = random.below(4);
    const changed = Uint32Array.from(own.keys()).filter(
      (row) => some > 0 && (some === 3 ? row > rows / 3 && row < rows / 2 : random.below(120) === 0),
    );
    trail.block(start, rows, changed, areGone);
    const isChanged = new Set(changed);
    for (const [row, was] of own.entries())
      if (!isChanged.has(row)) ids.push(was);
      else if (!areGone) ids.push(nextId++);
    start += rows;
  }
  return written(ids, threshold, trail);
};
const fresh = (count: number): number[] => Array.from({ length: count }, () => nextId++);

const checkOrigins = async (known: Known, firsts: ReadonlyMap<number, string>): Promise<number> => {
  const reader = await readerOf(known);
  const origins = await reader.origins();
  const all = withOwn({ id: reader.id, count: reader.count, origins });
  let at = 0;
  for (const run of all) {
    expect([run.at, run.rows > 0]).toEqual([at, true]);
    at += run.rows;
    if (run.source === reader.id) continue;
    const wrong = known.ids
      .slice(run.at, run.at + run.rows)
      .filter((id, n) => firsts.get(id) !== `${run.source} ${run.from + n}`);
    expect(wrong).toEqual([]);
  }
  expect(at).toBe(reader.count);
  return origins.reduce((sum, { rows }) => sum + rows, 0);
};

const seed = seedOf(29_101);
test(`rows keep their origins however often they are rewritten; both sides share what is of one origin (seed ${seed})`, async () => {
  let [kept, paired] = [0, 0];
  for (let run = 0; run < 6; run++) {
    const random = randomOf(seed + run);
    const threshold = random.pick([1 << 30, 150_000]);
    const trunk = await written(fresh(3000 + random.below(4000)), 1 << 30);
    // Where rows were written first; an object without origins begins anew.
    const firsts = new Map<number, string>();
    const note = ({ meta, ids }: Known): void => {
      ids.forEach((id, at) => {
        if (!firsts.has(id)) firsts.set(id, `${meta.id} ${at}`);
      });
    };
    trunk.forEach(note);
    const sides: (readonly Known[])[] = [trunk, trunk];
    for (let n = 0; n < 5; n++) {
      const side = random.below(2);
      const changed: Known[] = [];
      for (const known of sides[side]!)
        changed.push(...(random.below(3) > 0 ? await rewrittenOf(known, random, threshold) : [known]));
      if (random.below(2) === 0) changed.push(...(await written(fresh(2000), 1 << 30)));
      changed.forEach(note);
      for (const known of changed) kept += await checkOrigins(known, firsts);
      sides[side] = changed;
    }
    const sourceOf = (known: readonly Known[]): ScanSource => ({
      keys: [['k']],
      order: 'asc',
      objects,
      page: () => ({ objects: known.map(({ meta }) => meta) }),
    });
    const shared = await sharedRows({
      before: sourceOf(sides[0]!),
      after: sourceOf(sides[1]!),
      signal: AbortSignal.timeout(60_000),
      read: () => undefined,
    });
    const taken = (['before', 'after'] as const).map((side, n) =>
      sides[n]!.flatMap(({ meta, ids }) => {
        const places = shared[side].get(meta.id) ?? new Uint32Array(0);
        return Array.from({ length: places.length / 2 }, (_, k) => ids.slice(places[2 * k], places[2 * k + 1])).flat();
      }).sort((a, b) => a - b),
    );
    expect(taken[0]).toEqual(taken[1]);
    expect(new Set(taken[0]).size).toBe(taken[0]!.length);
    paired += taken[0]!.length;
  }
  expect([kept > 20_000, paired > 5000]).toEqual([true, true]);
});

test('what is left of a block are the rows outside of the places', () => {
  const random = randomOf(seed);
  for (let n = 0; n < 200; n++) {
    const key = new Uint8Array(0);
    const blocks = Array.from({ length: 1 + random.below(4) }, () => ({
      rows: 1 + random.below(20),
      dataLength: 0,
      firstKey: key,
      lastKey: key,
    }));
    const total = blocks.reduce((sum, { rows }) => sum + rows, 0);
    const without: number[] = [];
    for (let at = random.below(9); at < total; at += 1 + random.below(9)) {
      const end = Math.min(total, at + 1 + random.below(15));
      without.push(at, end);
      at = end;
    }
    let start = 0;
    for (const [block, { rows }] of blocks.entries()) {
      const first = start;
      const isOut = (row: number): boolean =>
        without.some((from, k) => k % 2 === 0 && from <= first + row && first + row < without[k + 1]!);
      const wanted = Array.from({ length: rows }, (_, row) => row).filter((row) => !isOut(row));
      const left = rowsLeft({ blocks }, block, Uint32Array.from(without));
      expect(left ? [...left] : Array.from({ length: rows }, (_, row) => row)).toEqual(wanted);
      start += rows;
    }
  }
});

test('damaged origins are none, and the rows are whole; so are those that lie', async () => {
  const [first] = await written(fresh(3000), 1 << 30);
  const reader = await readerOf(first!);
  const trail = new OriginTrail({ id: reader.id, count: reader.count, origins: [] });
  trail.kept(0, 1500);
  trail.fresh(1500);
  const [second] = await written([...first!.ids.slice(0, 1500), ...fresh(1500)], 1 << 30, trail);
  const bytes = new Uint8Array(await objects.readRange(second!.meta.id, 0, second!.meta.size));
  const ofBytes = async (): Promise<unknown> => (await openObject(sourceOfBytes(second!.meta.id, bytes))).origins();
  expect(await ofBytes()).toEqual([{ source: reader.id, at: 0, from: 0, rows: 1500 }]);
  const id = Buffer.from(reader.id, 'hex');
  const at = Buffer.from(bytes).indexOf(id);
  bytes[at] = bytes[at]! ^ 1;
  expect(await ofBytes()).toEqual([]);
  expect((await (await openObject(sourceOfBytes(second!.meta.id, bytes))).read(0)).length).toBe(3000);
  const told = (...numbers: readonly number[]): Uint8Array => Uint8Array.from([1, ...id, 1, ...numbers]);
  expect(readOrigins(told(0, 0, 0, 9), 9)).toHaveLength(1);
  for (const lie of [told(0, 1, 0, 9), told(1, 0, 0, 9), told(0, 0), told(0, 0, 0, 9).subarray(0, 12)])
    expect(readOrigins(lie, 9)).toBeUndefined();
});
