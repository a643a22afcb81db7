/** Pools as Iceberg tables: what metadata and manifests tell is what the service itself has. */
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { base62, zeroId } from '../../../src/lake/ksuid.ts';
import type { Pool } from '../../../src/lake/lake.types.ts';
import { PoolStore } from '../../../src/lake/pool/store.ts';
import { type Rendition, mappingVersions, renditionRow, renditionsOf } from '../../../src/iceberg/rows.ts';
import { type Snapshot, chainOf, snapshotId, snapshotsOf, tellDistinct } from '../../../src/iceberg/snapshots.ts';
import { Table } from '../../../src/iceberg/table.ts';
import { convert } from '../../support/formats/convert.ts';
import {
  type TableLake,
  bytesAt,
  entriesOf,
  liveIn,
  loaded,
  openTableLake,
  rowsIn,
} from '../../support/iceberg/tables.ts';

const folder = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-iceberg-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};
const poolOf = async (lake: TableLake, name = 'p', more: object = {}): Promise<Pool> => {
  const { pool } = await lake.lake.createPool({ name, iceberg: 'lazy', ...more });
  return lake.lake.pool(`0x${pool.id}`);
};
const rows = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `{ts:${from + i},a:"a${(from + i) % 7}"}`).join('\n');

/** Every snapshot has as many rows as its commit has records, in files that are as long as is told. */
const checkAll = async (lake: TableLake, pool: Pool, pin?: string): Promise<number> => {
  const metadata = await loaded(lake.catalogue, base62(pool.config.id), pin);
  for (const snapshot of metadata.snapshots) {
    const entries = await entriesOf(lake.catalogue, snapshot);
    const commit = snapshot.summary['lake.commit'];
    const { records, objects } = commit === undefined ? { records: 0, objects: 0 } : await pool.sums(commit);
    expect(rowsIn(liveIn(entries))).toBe(records);
    expect(liveIn(entries)).toHaveLength(objects);
    expect(snapshot.summary['total-records']).toBe(String(records));
    for (const { path, size } of liveIn(entries)) expect(await bytesAt(lake.catalogue, path)).toHaveLength(size);
    if (commit !== undefined) expect(snapshot['snapshot-id']).toBe(snapshotId((await pool.sums(commit)).commit));
  }
  expect(metadata['snapshot-log'].at(-1)?.['snapshot-id']).toBe(metadata['current-snapshot-id']);
  expect(metadata.refs['main']?.['snapshot-id']).toBe(metadata['current-snapshot-id']);
  return metadata.snapshots.length;
};

test('hundreds of refs at few commits cost as much as these commits', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  const commits: string[] = [];
  for (let i = 0; i < 3; i++) commits.push(await lake.load(pool, rows(i * 10, i * 10 + 10)));
  const tags = 300;
  for (let from = 0; from < tags; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => pool.createTag(`t${from + i}`, `0x${commits[(from + i) % 3]!}`)),
    );
  const lists = vi.spyOn(PoolStore.prototype, 'list');
  const { refs } = await loaded(lake.catalogue, 'p');
  const { length: looks } = lists.mock.calls;
  lists.mockRestore();
  expect(Object.keys(refs)).toHaveLength(tags + 1);
  for (const tag of [0, 1, 2, 299]) expect(refs[`t${tag}`]!['snapshot-id']).toBe(snapshotId(commits[tag % 3]!));
  expect(looks).toBeLessThan(30);
});

test('loads, a delete, a merge, a revert and a compaction are snapshots with the counts of their commits', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  const first = await lake.load(pool, rows(0, 3000));
  const second = await lake.load(pool, rows(3000, 3100));
  await pool.createBranch('dev', second);
  await lake.load(pool, '{ts:1,b:1.5}{ts:2,b:"x"}', 'dev');
  expect(await checkAll(lake, pool)).toBe(3);
  await pool.deleteWhere('main', lake.workers.prepareDelete('ts < 10'));
  await pool.merge('main', 'dev');
  await pool.revert('main', second);
  const objects = [...(await lake.lake.openSnapshot('p', 'main')).page({ limit: 100 }).objects];
  expect(objects.length).toBeGreaterThan(1);
  const ids = objects.map(({ id }) => id);
  await pool.compact('main', ids, lake.workers.prepareCompact(ids));
  expect(await checkAll(lake, pool)).toBe(7);
  const metadata = await loaded(lake.catalogue, 'p');
  const operations = metadata.snapshots.map(({ summary }) => summary['operation']);
  expect(operations.slice(-1)).toEqual(['replace']);
  expect(operations.slice(0, 2)).toEqual(['append', 'append']);
  expect(operations).toContain('overwrite');
  // Pinned to what it was.
  const early = await loaded(lake.catalogue, 'p', base62(first));
  expect(early.snapshots).toHaveLength(1);
  expect(early['table-uuid']).not.toBe(metadata['table-uuid']);
  expect(await checkAll(lake, pool, base62(first))).toBe(1);
  expect(await checkAll(lake, pool, 'dev')).toBe(3);
});

test('a commit is not looked up among all pools', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  const all = vi.spyOn(lake.lake, 'pools');
  await lake.load(pool, rows(0, 3));
  expect(all).not.toHaveBeenCalled();
});

test('what a commit added is told as added by it: engines read what came between two snapshots', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  for (const from of [0, 10, 30]) await lake.load(pool, rows(from, from + 10));
  const { snapshots } = await loaded(lake.catalogue, 'p');
  const added = [];
  for (const snapshot of snapshots) {
    const own = (await entriesOf(lake.catalogue, snapshot)).filter(
      (entry) => entry.status === 1 && entry.snapshot === snapshot['snapshot-id'],
    );
    added.push(rowsIn(own));
  }
  expect(added).toEqual([10, 10, 10]);
  expect(snapshots.map((snapshot) => snapshot['parent-snapshot-id'])).toEqual([
    undefined,
    snapshots[0]!['snapshot-id'],
    snapshots[1]!['snapshot-id'],
  ]);
});

test('many who ask at once for what nobody has asked for get one file of metadata, and the same', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  for (let round = 0; round < 3; round++) {
    await lake.load(pool, rows(round * 10, round * 10 + 10));
    const asked = Array.from({ length: 6 }, () => lake.catalogue.load('p', {}));
    const answers = (await Promise.all(asked)).map((answer) => (typeof answer === 'object' ? answer : undefined));
    // Files of earlier commits and merged ones may come in between; what is named is there.
    for (const answer of answers) {
      const bytes = await bytesAt(lake.catalogue, `s3://lake/${answer!.location}`);
      expect(bytes.toString()).toBe(answer!.json);
    }
    await checkAll(lake, pool);
  }
});

test('the files hold the rows', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  await lake.load(pool, '{ts:1,a:"x"}{ts:2,a:5}');
  await lake.load(pool, '{ts:3,l:[{z:1}]}');
  const { snapshots, schemas } = await loaded(lake.catalogue, 'p');
  const texts: string[] = [];
  for (const { path } of liveIn(await entriesOf(lake.catalogue, snapshots.at(-1)!))) {
    const { output } = await convert(await bytesAt(lake.catalogue, path), { from: 'parquet', to: 'json' });
    texts.push(...output.trim().split('\n'));
  }
  expect(texts.sort()).toEqual([
    '{"ts":1,"a":"x","a__int":null}',
    '{"ts":2,"a":null,"a__int":5}',
    '{"ts":3,"l":[{"z":1}]}',
  ]);
  expect(schemas.at(-1)!.fields.map(({ name }) => name)).toEqual(['ts', 'a', 'a__int', 'l']);
});

test('commits whose ids come to be the same are not taken for one snapshot', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  for (const from of [0, 1, 2]) await lake.load(pool, rows(from, from + 1));
  const table = new Table(lake.lake.derived('p'), 'typed', {
    render: () => Promise.reject(new Error('nothing is made')),
    take: (work) => work(),
    hasten: () => undefined,
  });
  await loaded(lake.catalogue, 'p');
  await table.ready();
  const chain = await snapshotsOf(table, chainOf(table, table.pool.branches()[0]!.commit));
  const [first, second, head] = chain as [Snapshot, Snapshot, Snapshot];
  const told = new Map<number, Snapshot>();
  // Within a chain the newest is told, of several the first one: the same commit in both is.
  expect(tellDistinct(told, [{ ...first, id: head.id }, second, head])).toEqual([second, head]);
  expect(tellDistinct(told, [first, second, { ...first, id: second.id }])).toEqual([first, second]);
  expect([...told.values()]).toEqual([head, second, first]);
});

test('an empty pool, an empty branch, and a pool that is no table', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  const empty = await loaded(lake.catalogue, 'p');
  expect(empty['current-snapshot-id']).toBe(snapshotId(zeroId));
  expect(empty.schemas.at(-1)!.fields).toHaveLength(1);
  expect(await checkAll(lake, pool)).toBe(1);
  await pool.createBranch('dev', zeroId);
  await lake.load(pool, '{ts:1}', 'dev');
  expect(await checkAll(lake, pool)).toBe(2);
  expect(lake.catalogue.tables()).toEqual([{ pool: base62(pool.config.id), name: 'p' }]);
  await lake.lake.setPool('p', { iceberg: 'off' });
  expect(lake.catalogue.tables()).toEqual([]);
  expect(await lake.catalogue.load('p', {})).toBeUndefined();
  expect(await lake.catalogue.describe('p')).toEqual({ setting: 'off', mapping: 'typed', columns: [] });
  expect(await lake.catalogue.load('none', {})).toBeUndefined();
});

test('nothing is made anew while nothing changed, and refs that nobody has are none', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  await lake.load(pool, rows(0, 10));
  const { answer } = await loaded(lake.catalogue, 'p');
  expect(await lake.catalogue.load('p', { etag: answer.etag })).toBe('unchanged');
  expect((await loaded(lake.catalogue, 'p')).answer.json).toBe(answer.json);
  expect(await bytesAt(lake.catalogue, `s3://lake/${answer.location}`)).toEqual(Buffer.from(answer.json));
  for (const pin of ['none', '2024-13-01', base62('12'.repeat(20)), ''])
    expect(await lake.catalogue.load('p', { pin })).toBeUndefined();
  await lake.load(pool, rows(10, 20));
  expect(await lake.catalogue.load('p', { etag: answer.etag })).not.toBe('unchanged');
});

test('a time pins to the newest commit up to it', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  await lake.load(pool, rows(0, 10));
  expect(await lake.catalogue.load('p', { pin: '2000-01-01' })).toBeUndefined();
  const now = await loaded(lake.catalogue, 'p', '2999-01-01T00:00:00Z');
  expect(now['current-snapshot-id']).toBe((await loaded(lake.catalogue, 'p'))['current-snapshot-id']);
});

test('paths that are no file’s', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  const other = await poolOf(lake, 'q');
  await lake.load(pool, rows(0, 10));
  const { snapshots } = await loaded(lake.catalogue, 'p');
  const [entry] = await entriesOf(lake.catalogue, snapshots[0]!);
  const path = entry!.path.slice('s3://lake/'.length);
  const [id, ...rest] = path.split('/');
  expect(await lake.catalogue.file(path)).toBeDefined();
  for (const wrong of [
    `${base62(other.config.id)}/${rest.join('/')}`,
    `p/${rest.join('/')}`,
    `${id}//${rest.join('/')}`,
    `${path}/`,
    `/${path}`,
    `${id}/data/../${rest.join('/')}`,
    `${id}/data/${'z'.repeat(27)}-${mappingVersions.typed}.parquet`,
    `${id}/data`,
    `${id}/metadata/00000-${'0'.repeat(40)}.metadata.json`,
    `${id}/manifests/${base62('ab'.repeat(20))}-${mappingVersions.typed}.avro`,
    '',
    '..',
  ])
    expect(await lake.catalogue.file(wrong), wrong).toBeUndefined();
});

test('lists go in order, page by page', async () => {
  const lake = await openTableLake(await folder());
  for (const name of ['p', 'q']) {
    const pool = await poolOf(lake, name);
    for (let i = 0; i < 3; i++) await lake.load(pool, rows(i, i + 1));
    await loaded(lake.catalogue, name);
  }
  const all = (await lake.catalogue.list('', { max: 100 })).map(({ path }) => path);
  expect(all).toHaveLength(8);
  expect(all).toEqual([...all].sort());
  const paged: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await lake.catalogue.list('', { max: 1, ...(after !== undefined && { after }) });
    if (page.length === 0) break;
    paged.push(...page.map(({ path }) => path));
    after = paged.at(-1);
  }
  expect(paged).toEqual(all);
  const [first] = all;
  expect(await lake.catalogue.list(first!.slice(0, 30), { max: 100 })).toHaveLength(3);
});

test('a vacuum takes snapshots out of the metadata at once, and files a grace later', async () => {
  const directory = await folder();
  const lake = await openTableLake(directory, { graceMs: 1000 });
  const pool = await poolOf(lake);
  await lake.load(pool, rows(0, 3000));
  await lake.load(pool, rows(3000, 3010));
  await pool.deleteWhere('main', lake.workers.prepareDelete('ts < 10'));
  const before = await loaded(lake.catalogue, 'p');
  expect(before.snapshots).toHaveLength(3);
  const [gone] = liveIn(await entriesOf(lake.catalogue, before.snapshots[0]!));
  await pool.vacuum('main', { dryRun: false });
  const after = await loaded(lake.catalogue, 'p');
  expect(after.snapshots).toHaveLength(1);
  expect(await checkAll(lake, pool)).toBe(1);
  expect(await bytesAt(lake.catalogue, gone!.path)).toHaveLength(gone!.size);
  await lake.catalogue.sweep(Date.now());
  expect(await bytesAt(lake.catalogue, gone!.path)).toHaveLength(gone!.size);
  await lake.catalogue.sweep(Date.now() + 2000);
  expect(await lake.catalogue.file(gone!.path.slice('s3://lake/'.length))).toBeUndefined();
  expect(await checkAll(lake, pool)).toBe(1);
});

describe('files in the making', () => {
  test('who cannot wait hears that the table is not ready; what was ready before is given meanwhile', async () => {
    let open = (): void => undefined;
    const gate = { closed: Promise.resolve() };
    const directory = await folder();
    const lake: TableLake = await openTableLake(directory, {
      waitMs: 1,
      render: async (request) => {
        await gate.closed;
        return lake.workers.render(request);
      },
    });
    const pool = await poolOf(lake);
    const close = (): void => {
      gate.closed = new Promise((resolve) => {
        open = resolve;
      });
    };
    close();
    await lake.load(pool, rows(0, 10));
    await expect(lake.catalogue.load('p', {})).rejects.toMatchObject({ code: 'iceberg-not-ready' });
    open();
    const first = await untilLoaded(lake, 1);
    close();
    await lake.load(pool, rows(10, 20));
    expect((await loaded(lake.catalogue, 'p'))['current-snapshot-id']).toBe(first);
    open();
    expect(await untilLoaded(lake, 2)).not.toBe(first);
  });

  test.each([
    ['lost', (path: string) => rm(path)],
    ['cut', (path: string) => truncate(path, 100)],
  ])(
    'files and columns are there after a start, files that nothing names go, %s ones are made again',
    async (_, harm) => {
      const directory = await folder();
      const before = await openTableLake(directory);
      const pool = await poolOf(before);
      await before.load(pool, rows(0, 10));
      const { answer } = await loaded(before.catalogue, 'p');
      await before.load(pool, rows(10, 2000));
      await loaded(before.catalogue, 'p');
      await before.close();
      const files = join(directory, 'iceberg');
      const all = await readdir(files, { recursive: true, withFileTypes: true });
      const [lost] = all.filter((file) => file.isFile() && !answer.location.includes(file.name));
      await harm(join(lost!.parentPath, lost!.name));
      const again = await openTableLake(directory);
      const known = again.lake.pool('p');
      expect(await checkAll(again, known)).toBe(2);
      expect(await bytesAt(again.catalogue, `s3://lake/${answer.location}`)).toEqual(Buffer.from(answer.json));
      expect((await again.catalogue.describe('p')).columns.map(({ column }) => column)).toEqual(['ts', 'a']);
    },
  );

  test('files of an earlier mapping of types are made again after a start', async () => {
    const directory = await folder();
    const before = await openTableLake(directory);
    const pool = await poolOf(before);
    await before.load(pool, '{ts:1,price:1.25::=deciaml_2_20}');
    const { answer } = await loaded(before.catalogue, 'p');
    const derived = before.lake.derived('p');
    const [{ object, rendition }] = [...renditionsOf(derived)] as [{ object: string; rendition: Rendition }];
    const { mapping, ...old } = rendition;
    expect(mapping).toBe(mappingVersions.typed);
    await derived.write([renditionRow(object, old)]);
    await before.close();
    const again = await openTableLake(directory);
    expect(await checkAll(again, again.lake.pool('p'))).toBe(1);
    const after = await loaded(again.catalogue, 'p');
    expect(after.answer.json).toBe(answer.json);
    expect(after.schemas.at(-1)!.fields.map(({ name, type }) => [name, type])).toEqual([
      ['ts', 'long'],
      ['price', 'decimal(20, 2)'],
    ]);
    const [made] = [...renditionsOf(again.lake.derived('p'))];
    expect(made!.rendition.file).not.toBe(rendition.file);
  });
});

/** The head's id, once it has so many snapshots: files are made in the background meanwhile. */
const untilLoaded = async (lake: TableLake, count: number): Promise<number> => {
  for (;;) {
    try {
      const metadata = await loaded(lake.catalogue, 'p');
      if (metadata.snapshots.length === count) return metadata['current-snapshot-id'];
    } catch (fault) {
      if ((fault as { readonly code?: unknown }).code !== 'iceberg-not-ready') throw fault;
    }
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
};

test('a pool that is wanted at once has its files without being asked for', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake, 'p', { iceberg: 'eager' });
  await lake.load(pool, rows(0, 10));
  for (;;) {
    const found = await lake.catalogue.list('', { max: 10 });
    if (found.length > 0) break;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect(await checkAll(lake, pool)).toBe(1);
});

test('a table that somebody asks for does not wait for those that are to be made without being asked for', async () => {
  const begun: (number | undefined)[] = [];
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const lake: TableLake = await openTableLake(await folder(), {
    render: async (request) => {
      begun.push(request.objects[0]?.count);
      await gate;
      return lake.workers.render(request);
    },
  });
  const names = ['a', 'b', 'c', 'd'];
  for (const [i, name] of names.entries())
    await lake.load(await poolOf(lake, name, { iceberg: 'eager' }), rows(0, i + 1));
  // The first one is in the making, and those of the others wait for their turn.
  await new Promise((resolve) => {
    setTimeout(resolve, 600);
  });
  const [first] = begun;
  const asked = names.findLast((_, i) => i + 1 !== first)!;
  const answer = lake.catalogue.load(asked, {});
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  open();
  await answer;
  expect(begun.slice(0, 2)).toEqual([first, names.indexOf(asked) + 1]);
});

test('another mapping is another table, of format version 3, and files of both are served by their own names', async () => {
  const lake = await openTableLake(await folder());
  const pool = await poolOf(lake);
  await lake.load(pool, '{ts:1,a:1} {ts:2,a:"x"}');
  const typed = await loaded(lake.catalogue, 'p');
  const before = liveIn(await entriesOf(lake.catalogue, typed.snapshots.at(-1)!));
  await lake.lake.setPool('p', { icebergMapping: 'variant' });
  const variant = await loaded(lake.catalogue, 'p');
  expect(variant['table-uuid']).not.toBe(typed['table-uuid']);
  expect(JSON.parse(variant.answer.json)).toMatchObject({ 'format-version': 3, 'next-row-id': 0 });
  expect(JSON.parse(typed.answer.json)).toMatchObject({ 'format-version': 2 });
  const typesOf = ({ schemas }: typeof typed): readonly string[] =>
    schemas.at(-1)!.fields.map(({ name, type }) => `${name} ${String(type)}`);
  expect([typesOf(typed), typesOf(variant)]).toEqual([
    ['ts long', 'a long', 'a__string string'],
    ['ts long', 'a variant'],
  ]);
  const [own] = await entriesOf(lake.catalogue, variant.snapshots.at(-1)!);
  expect(own!.rows).toBe(2);
  // Who began with the other one reads on.
  expect(liveIn(await entriesOf(lake.catalogue, typed.snapshots.at(-1)!))).toEqual(before);
  expect(await bytesAt(lake.catalogue, before[0]!.path)).toHaveLength(before[0]!.size);
  expect(await bytesAt(lake.catalogue, `s3://lake/${typed.answer.location}`)).toEqual(Buffer.from(typed.answer.json));
  await lake.lake.setPool('p', { icebergMapping: 'typed' });
  const again = await loaded(lake.catalogue, 'p');
  expect(again['table-uuid']).toBe(typed['table-uuid']);
  expect(liveIn(await entriesOf(lake.catalogue, again.snapshots.at(-1)!))).toHaveLength(1);
  // A start keeps the files of both.
  await lake.catalogue.sweep(Date.now());
  await lake.lake.setPool('p', { icebergMapping: 'variant' });
  expect(await entriesOf(lake.catalogue, (await loaded(lake.catalogue, 'p')).snapshots.at(-1)!)).toEqual([own]);
});
