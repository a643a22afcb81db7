/** Files that were exchanged or had bits flipped are never served: they are made again, and fsck names them. */
import { mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { WrongFile } from '../../../src/iceberg/stored/checks.ts';
import {
  type Rendition,
  mergedOf,
  metadataOf,
  readRendition,
  renditionRow,
  renditionsOf,
} from '../../../src/iceberg/rows.ts';
import { LakeError } from '../../../src/errors.ts';
import { fsckCommand } from '../../../src/commands/fsck.ts';
import type { Pool } from '../../../src/lake/lake.types.ts';
import { type TableLake, bytesAt, entriesOf, liveIn, loaded, openTableLake } from '../../support/iceberg/tables.ts';

const folder = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-checks-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};
/** Each load has a column that no other has: tables have more of them when a file is made again. */
const rows = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `{ts:${from + i},a:"a${(from + i) % 7}",b${from}:{c:${i}}}`).join('\n');
const pathOf = (directory: string, file: string): string => join(directory, 'iceberg', file.slice(-2), file);

/** The table `p` with so many commits, its lake closed; what an engine reads of it. */
const written = async (directory: string, commits = 2): Promise<ReadonlyMap<string, Buffer>> => {
  const lake = await openTableLake(directory);
  const { pool } = await lake.lake.createPool({ name: 'p', iceberg: 'lazy' });
  const own: Pool = lake.lake.pool(`0x${pool.id}`);
  for (let i = 0; i < commits; i++) {
    await lake.load(own, rows(i * 100, i * 100 + 100));
    if (commits < mergingCommits) await loaded(lake.catalogue, 'p');
  }
  const read = await readAll(lake);
  await lake.close();
  return read;
};
const mergingCommits = 40;
/** The files of the head, and its metadata, by location. */
const readAll = async (lake: TableLake): Promise<ReadonlyMap<string, Buffer>> => {
  const metadata = await loaded(lake.catalogue, 'p');
  const head = metadata.snapshots.find((each) => each['snapshot-id'] === metadata['current-snapshot-id'])!;
  const locations = liveIn(await entriesOf(lake.catalogue, head)).map(({ path }) => path);
  const all = new Map<string, Buffer>();
  for (const location of [...locations, `s3://lake/${metadata.answer.location}`])
    all.set(location, await bytesAt(lake.catalogue, location));
  return all;
};
/** The files of data alone, by location. */
const dataIn = (files: ReadonlyMap<string, Buffer>): readonly (readonly [string, Buffer])[] =>
  [...files].filter(([location]) => location.endsWith('.parquet'));
/** Opens the lake; `wrong`: what its tables tell of wrong files. */
const opened = async (directory: string): Promise<TableLake & { readonly told: WrongFile[] }> => {
  const told: WrongFile[] = [];
  const lake = await openTableLake(directory, { wrong: (file) => void told.push(file) });
  return { ...lake, told };
};
/** Rows of the table as they are, once the lake is open. */
const rowsNow = async (directory: string) => {
  const lake = await openTableLake(directory);
  const derived = lake.lake.derived('p');
  const now = {
    data: [...renditionsOf(derived)],
    merged: [...mergedOf(derived)],
    metadata: [...metadataOf(derived)],
  };
  await lake.close();
  return now;
};
const flip = async (path: string): Promise<void> => {
  const bytes = await readFile(path);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(path, bytes);
};
const spoil = async (path: string): Promise<void> => {
  const bytes = await readFile(path);
  await writeFile(
    path,
    bytes.map((byte) => byte ^ 0xff),
  );
};
const fsckOf = async (directory: string, ...argv: readonly string[]): Promise<{ status: number; text: string }> => {
  let text = '';
  const status = await fsckCommand([...argv, '-lake', directory], {
    cwd: directory,
    stdin: (async function* none() {
      yield* [];
    })(),
    stdoutIsTerminal: false,
    complain: () => undefined,
    write: async (chunk) => {
      text += Buffer.from(chunk).toString();
    },
  });
  return { status, text };
};

test('two files that were exchanged are made again, and fsck names both', async () => {
  const directory = await folder();
  const before = await written(directory);
  const { data } = await rowsNow(directory);
  const [a, b] = data.map(({ rendition }) => pathOf(directory, rendition.file)) as [string, string];
  await rename(a, `${a}.other`);
  await rename(b, a);
  await rename(`${a}.other`, b);
  const damaged = await fsckOf(directory);
  expect(damaged.status).toBe(1);
  for (const { rendition } of data)
    expect(damaged.text).toContain(`iceberg/${rendition.file.slice(-2)}/${rendition.file}`);
  const lake = await opened(directory);
  expect(dataIn(await readAll(lake))).toEqual(dataIn(before));
  // One that is too short now was noticed at the start.
  expect(lake.told.length).toBeGreaterThan(0);
  expect(lake.told.every(({ isMade }) => isMade)).toBe(true);
  const { length } = lake.told;
  // What is sound by now is not read whole again.
  expect(dataIn(await readAll(lake))).toEqual(dataIn(before));
  expect(lake.catalogue.wrongFiles()).toBe(length);
  await lake.close();
  expect(await fsckOf(directory)).toMatchObject({ status: 0 });
});

test('a file of many objects with a flipped bit, damaged while the lake is open', async () => {
  const directory = await folder();
  const before = await written(directory, 5);
  const lake = await opened(directory);
  expect(await readAll(lake)).toEqual(before);
  for (const { rendition } of renditionsOf(lake.lake.derived('p'))) await flip(pathOf(directory, rendition.file));
  const reads = await Promise.all([readAll(lake), readAll(lake), readAll(lake)]);
  for (const read of reads) expect(read).toEqual(before);
  expect(lake.told).toHaveLength(5);
});

test('merged files with a flipped bit are made again under their number', async () => {
  const directory = await folder();
  const before = await written(directory, mergingCommits);
  const { merged } = await rowsNow(directory);
  await flip(pathOf(directory, merged[0]!.merged!.file));
  expect((await fsckOf(directory)).text).toContain('merged/0000000001');
  const lake = await opened(directory);
  expect([...before.keys()].some((location) => location.includes('/merged/'))).toBe(true);
  expect(await readAll(lake)).toEqual(before);
  expect(lake.told).toMatchObject([{ name: expect.stringContaining('merged/') as string, isMade: true }]);
  // The file that has the objects' own, one behind the other.
  for (const file of new Set([...renditionsOf(lake.lake.derived('p'))].map(({ rendition }) => rendition.file)))
    await spoil(pathOf(directory, file));
  expect(await readAll(lake)).toEqual(before);
  const alone = lake.told.filter(({ name }) => name.includes('/data/'));
  expect(alone).toHaveLength([...before.keys()].filter((location) => location.includes('/data/')).length);
  expect(alone.length).toBeGreaterThan(1);
});

test('a file whose object is damaged too is an error, not an answer', async () => {
  const directory = await folder();
  const before = await written(directory, 1);
  const { data } = await rowsNow(directory);
  await flip(pathOf(directory, data[0]!.rendition.file));
  const told: WrongFile[] = [];
  const lake = await openTableLake(directory, {
    wrong: (file) => void told.push(file),
    render: async () => {
      throw new LakeError('object-corrupt', { id: 'x', place: 'block 0', fault: 'checksum' });
    },
  });
  await expect(bytesAt(lake.catalogue, [...before.keys()][0]!)).rejects.toMatchObject({ code: 'object-corrupt' });
  expect(told).toMatchObject([{ isMade: false }]);
});

test('metadata with a flipped bit are made again', async () => {
  const directory = await folder();
  const before = await written(directory);
  const { metadata } = await rowsNow(directory);
  for (const { digest } of metadata) await flip(pathOf(directory, digest));
  expect((await fsckOf(directory)).text).toContain('metadata/00000-');
  const lake = await opened(directory);
  const location = [...before.keys()].at(-1)!;
  expect(await bytesAt(lake.catalogue, location)).toEqual(before.get(location));
  await flip(pathOf(directory, metadata.find(({ digest }) => location.includes(digest))!.digest));
  expect(await readAll(lake)).toEqual(before);
  expect(lake.catalogue.wrongFiles()).toBe(2);
  // Those of a commit ago are not what would be made now: nothing is served in their place.
  const old = metadata.find(({ digest }) => !location.includes(digest))!;
  const root = location.slice('s3://lake/'.length).split('/', 1)[0]!;
  expect(await lake.catalogue.file(`${root}/metadata/00000-${old.digest}.metadata.json`)).toBeUndefined();
  expect(lake.told.at(-1)).toMatchObject({ isMade: false });
});

test('files that are lost or cut while the lake is open are made again', async () => {
  const directory = await folder();
  const before = await written(directory);
  const lake = await opened(directory);
  await loaded(lake.catalogue, 'p');
  const [a, b] = [...renditionsOf(lake.lake.derived('p'))].map(({ rendition }) => pathOf(directory, rendition.file));
  await rm(a!);
  await truncate(b!, 20);
  expect(await readAll(lake)).toEqual(before);
  expect(lake.catalogue.wrongFiles()).toBe(2);
});

test('rows of earlier versions, without a digest, are taken as they are', async () => {
  const directory = await folder();
  await written(directory);
  const lake = await opened(directory);
  const derived = lake.lake.derived('p');
  const [{ object, rendition }] = [...renditionsOf(derived)] as [{ object: string; rendition: Rendition }];
  const { digest, ...old } = rendition;
  expect(digest).toMatch(/^[0-9a-f]{40}$/);
  await derived.write([renditionRow(object, old)]);
  await flip(pathOf(directory, rendition.file));
  const all = await readAll(lake);
  const changed = [...all.values()].filter((bytes) => bytes.length === rendition.bytes);
  expect(changed).not.toHaveLength(0);
  expect(lake.catalogue.wrongFiles()).toBe(0);
  expect(readRendition(derived, object)?.file).toBe(rendition.file);
  await lake.close();
  expect(await fsckOf(directory)).toMatchObject({ status: 0 });
});

test('a repair moves wrong files away, and loses nothing', async () => {
  const directory = await folder();
  const before = await written(directory);
  const { data } = await rowsNow(directory);
  await flip(pathOf(directory, data[0]!.rendition.file));
  const { status, text } = await fsckOf(directory, '-repair');
  expect({ status, isWhole: text.includes('nothing is lost') }).toEqual({ status: 0, isWhole: true });
  const lake = await opened(directory);
  // Metadata tell of more columns where a file was made again for which there was no row.
  expect(dataIn(await readAll(lake))).toEqual(dataIn(before));
});
