/** Small objects in merged files: the same rows as their own files have, in tens of files instead of thousands. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parquetRead } from 'hyparquet';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MergedFiles, mergedAtOnce, mergePlans } from '../../../src/iceberg/merged.ts';
import { mappingVersions, mergedOf } from '../../../src/iceberg/rows.ts';
import { base62 } from '../../../src/lake/ksuid.ts';
import type { ObjectMeta, Pool } from '../../../src/lake/lake.types.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import {
  type ReadEntry,
  type ReadSnapshot,
  type TableLake,
  bytesAt,
  entriesOf,
  liveIn,
  loaded,
  openTableLake,
  rowsIn,
} from '../../support/iceberg/tables.ts';
import { seedOf } from '../../support/random.ts';
import { anyValue } from '../../support/formats/values.ts';

const seed = seedOf(26);
console.log(`merged files: seed ${seed}`);

const folder = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-merged-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};
const poolOf = async (lake: TableLake, more: object = {}): Promise<Pool> => {
  const { pool } = await lake.lake.createPool({ name: 'p', iceberg: 'lazy', ...more });
  return lake.lake.pool(`0x${pool.id}`);
};
const commits = async (lake: TableLake, pool: Pool, from: number, to: number, branch = 'main'): Promise<void> => {
  for (let i = from; i < to; i++) await lake.load(pool, `{ts:${i},a:"a${i % 7}"}`, branch);
};
/** Files of a snapshot. */
const filesOf = async (lake: TableLake, snapshot: ReadSnapshot): Promise<readonly ReadEntry[]> =>
  liveIn(await entriesOf(lake.catalogue, snapshot));
const isMerged = ({ path }: ReadEntry): boolean => path.includes('/merged/');
/** The same snapshot as it was told of before files were merged. */
const unmerged = (snapshot: ReadSnapshot): ReadSnapshot => ({
  ...snapshot,
  'manifest-list': snapshot['manifest-list'].replace(/-g\d+/, ''),
});
/** A value without fields that are null, in order of their names: files have other columns. */
const bare = (value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  const filled = Object.entries(value).filter(([, own]) => own !== null && own !== undefined);
  return filled.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, own]) => [name, bare(own)]);
};
/** Rows of files, columns without a value aside, in order of their texts. */
const rowsOf = async (lake: TableLake, files: readonly ReadEntry[]): Promise<readonly string[]> => {
  const texts: string[] = [];
  for (const { path } of files)
    await parquetRead({
      file: new Uint8Array(await bytesAt(lake.catalogue, path)).buffer,
      rowFormat: 'object',
      onComplete: (rows: readonly Readonly<Record<string, unknown>>[]) => {
        for (const row of rows) texts.push(JSON.stringify(bare(row)));
      },
    });
  return texts.sort();
};
/** The table once so many files were merged. */
const settled = async (lake: TableLake, generation: number): ReturnType<typeof loaded> => {
  for (;;) {
    const metadata = await loaded(lake.catalogue, 'p');
    const [, reached = '0'] = /-g(\d+)/.exec(metadata.snapshots.at(-1)!['manifest-list']) ?? [];
    if (Number(reached) >= generation) return metadata;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
};

test('small commits are read in few files, and every snapshot has the rows of its commit', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  await commits(lake, pool, 0, 70);
  const { snapshots } = await settled(lake, 2);
  const head = await filesOf(lake, snapshots.at(-1)!);
  expect(head.filter(isMerged)).toHaveLength(2);
  expect(head).toHaveLength(2 + 70 - 2 * mergedAtOnce);
  for (const [i, snapshot] of snapshots.entries()) {
    if (i % 9 !== 0 && i !== mergedAtOnce) continue;
    const files = await filesOf(lake, snapshot);
    expect([rowsIn(files), snapshot.summary['total-records']]).toEqual([i + 1, String(i + 1)]);
    // What it added itself is told in its own file.
    const own = (await entriesOf(lake.catalogue, snapshot)).filter(({ status }) => status === 1);
    expect([own.length, own.some(isMerged)]).toEqual([1, false]);
    for (const { path, size } of files) expect(await bytesAt(lake.catalogue, path)).toHaveLength(size);
  }
  expect(await rowsOf(lake, head)).toEqual(await rowsOf(lake, await filesOf(lake, unmerged(snapshots.at(-1)!))));
});

test('a delete, another branch, a merge and a revert: snapshots have what their commits have', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  await commits(lake, pool, 0, 40);
  const fork = (await pool.sums('main')).commit;
  await pool.createBranch('dev', fork);
  await commits(lake, pool, 40, 80, 'dev');
  await settled(lake, 2);
  await pool.deleteWhere('main', lake.workers.prepareDelete('ts == 3'));
  await commits(lake, pool, 80, 120);
  await settled(lake, 2);
  await pool.merge('main', 'dev');
  await pool.revert('main', fork);
  const { snapshots } = await settled(lake, 3);
  for (const snapshot of snapshots) {
    const files = await filesOf(lake, snapshot);
    const { records } = await pool.sums(snapshot.summary['lake.commit']!);
    expect([rowsIn(files), snapshot.summary['total-records']]).toEqual([records, String(records)]);
  }
  for (const snapshot of snapshots.slice(-3))
    expect(await rowsOf(lake, await filesOf(lake, snapshot))).toEqual(
      await rowsOf(lake, await filesOf(lake, unmerged(snapshot))),
    );
});

test('values of any shape are in the columns where the files of their objects have them', {
  timeout: 60_000,
}, async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  const values = fc.sample(fc.array(anyValue(2), { minLength: 1, maxLength: 3 }), { seed, numRuns: 2 * mergedAtOnce });
  for (const some of values) {
    const texts = some.map((value, i) => `{ts:${i},v:${supText(value)}}`);
    if (!texts.some((text) => text.includes('__proto__'))) await lake.load(pool, texts.join('\n'));
  }
  await commits(lake, pool, 100, 101 + mergedAtOnce);
  const { snapshots } = await settled(lake, 2);
  const head = snapshots.at(-1)!;
  const files = await filesOf(lake, head);
  expect(files.filter(isMerged).length).toBeGreaterThan(1);
  expect(await rowsOf(lake, files)).toEqual(await rowsOf(lake, await filesOf(lake, unmerged(head))));
});

describe('what becomes of merged files', () => {
  test('they are there after a start; lost ones are made again under another number', async () => {
    const directory = await folder();
    const before = await openTableLake(directory);
    const pool = await poolOf(before);
    await commits(before, pool, 0, 40);
    const { answer } = await settled(before, 1);
    await before.close();
    const again = await openTableLake(directory);
    expect((await loaded(again.catalogue, 'p')).answer.json).toBe(answer.json);
    const [{ merged }] = [...mergedOf(again.lake.derived('p'))] as [
      ReturnType<typeof mergedOf> extends Iterable<infer T> ? T : never,
    ];
    await again.close();
    const files = await readdir(join(directory, 'iceberg'), { recursive: true, withFileTypes: true });
    const lost = files.find(({ name }) => name.includes(base62(merged!.file)) || name.includes(merged!.file));
    await rm(join(lost!.parentPath, lost!.name));
    const last = await openTableLake(directory);
    const { snapshots } = await settled(last, 2);
    const head = await filesOf(last, snapshots.at(-1)!);
    expect(head.filter(isMerged)).toHaveLength(1);
    expect(head.find(isMerged)!.path).toContain(`merged/0000000002-${mappingVersions.typed}.parquet`);
    expect(rowsIn(head)).toBe(40);
  });

  test('a vacuum takes them a grace later, and manifests of a generation to come are none', async () => {
    const lake = await openTableLake(await folder(), { graceMs: 1000 });
    const pool = await poolOf(lake);
    await commits(lake, pool, 0, 34);
    const { snapshots } = await settled(lake, 1);
    const merged = (await filesOf(lake, snapshots.at(-1)!)).find(isMerged)!;
    const path = merged.path.slice('s3://lake/'.length);
    expect((await lake.catalogue.list('', { max: 1000 })).map((entry) => entry.path)).toContain(path);
    const list = snapshots.at(-1)!['manifest-list'].slice('s3://lake/'.length);
    expect(await lake.catalogue.file(list)).toBeDefined();
    for (const wrong of [list.replace('-g1', '-g2'), list.replace('-g1', '-g01'), path.replace('0001', '0002')])
      expect(await lake.catalogue.file(wrong), wrong).toBeUndefined();
    await pool.deleteWhere('main', lake.workers.prepareDelete('ts == 3'));
    await pool.vacuum('main', { dryRun: false });
    await lake.catalogue.sweep(Date.now());
    expect(await lake.catalogue.file(path)).toBeDefined();
    await lake.catalogue.sweep(Date.now() + 2000);
    expect(await lake.catalogue.file(path)).toBeUndefined();
    const after = await settled(lake, 1);
    expect(rowsIn(await filesOf(lake, after.snapshots.at(-1)!))).toBe(33);
  });
});

test('whatever comes and goes, a cover has each object once, and a head few files', () => {
  const meta = (n: number): ObjectMeta => ({
    id: n.toString(16).padStart(40, '0'),
    count: 1,
    size: 100,
    min: { text: String(n) } as unknown as ObjectMeta['min'],
    max: { text: String(n) } as unknown as ObjectMeta['max'],
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 0, max: 3 })), { maxLength: 8 }),
      (steps) => {
        const files = new MergedFiles();
        const live = new Map<string, ObjectMeta>();
        let next = 0;
        for (const [adds, drops] of steps) {
          for (let i = 0; i < adds; i++) {
            const one = meta(next++);
            live.set(one.id, one);
          }
          for (const id of [...live.keys()].slice(-drops * 3).slice(0, drops)) live.delete(id);
          for (let plans = mergePlans(files, live); plans.length > 0; plans = mergePlans(files, live))
            for (const { parts } of plans) expect(files.add(files.generation + 1, parts)).toBe(true);
          const { merged, objects } = files.cover(new Set(live.keys()), new Set());
          const all = [...merged.flatMap((each) => each.objects), ...objects];
          expect([all.length, new Set(all).size]).toEqual([live.size, live.size]);
          expect(merged.length + objects.length).toBeLessThan(3 * mergedAtOnce);
        }
      },
    ),
    { seed, numRuns: 20 },
  );
});
