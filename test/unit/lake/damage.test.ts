import { openSync, readFileSync, writeFileSync, writeSync, closeSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { fsck } from '../../../src/lake/fsck.ts';
import { base62, idBuffer } from '../../../src/lake/ksuid.ts';
import { openObjects } from '../../../src/lake/objects.ts';
import { formatVersion, Tables } from '../../../src/lake/tables.ts';
import { failure, fileObject, inlineObject, newPool, openTestLake, temporaryDirectory } from './support.ts';

const closedLake = async (): Promise<{ directory: string; file: string; inline: string; poolId: string }> => {
  const lake = await openTestLake(), pool = await newPool(lake);
  const [file, inline] = [await fileObject(lake, 1), inlineObject(2)];
  await pool.load('main', [file, inline]);
  await lake.close();
  return { directory: lake.directory, file: file.id, inline: inline.id, poolId: pool.config.id };
};
/** Overwrites the first place where these bytes stand in the tables' file. */
const damage = (directory: string, bytes: Uint8Array): void => {
  const path = join(directory, 'tables', 'data.mdb');
  const at = readFileSync(path).lastIndexOf(bytes);
  if (at < 0) throw new Error('the bytes are not there');
  const fd = openSync(path, 'r+');
  writeSync(fd, Buffer.from([bytes[0]! ^ 0x20]), 0, 1, at);
  closeSync(fd);
};

describe('rows', () => {
  test('a changed value is an error that names table and key, never data (P6)', async () => {
    const { directory, inline } = await closedLake();
    damage(directory, new TextEncoder().encode('2..2'));
    const lake = await openTestLake({ directory });
    const snapshot = await lake.openSnapshot('p', 'main');
    expect(() => snapshot.page({ limit: 10 })).toThrow(`table bodies, key ${inline}: checksum does not match`);
    expect(snapshot.page({ limit: 10, inline: false }).objects.length).toBe(2);
    snapshot.release();
    await lake.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([`table bodies, key ${inline}: checksum does not match`]);
  });

  test('a value under another key is told so', async () => {
    const directory = await temporaryDirectory();
    const tables = new Tables(directory);
    await tables.write([{ table: 'bodies', key: idBuffer('1'.repeat(40)), payload: Buffer.from('one') }]);
    expect(tables.get('bodies', idBuffer('1'.repeat(40)))!.toString()).toBe('one');
    expect(tables.get('files', idBuffer('1'.repeat(40)))).toBeUndefined();
    const path = join(directory, 'data.mdb');
    await tables.close();
    // The key stands in the page's node and in the value: change the node alone.
    const bytes = readFileSync(path), key = Buffer.from('1'.repeat(40), 'hex');
    const at = bytes.indexOf(key);
    writeFileSync(path, Buffer.concat([bytes.subarray(0, at), Buffer.from('2'.repeat(40), 'hex'), bytes.subarray(at + 20)]));
    const again = new Tables(directory);
    expect(() => again.get('bodies', idBuffer('2'.repeat(40)))).toThrow(`table bodies, key ${'2'.repeat(40)}: the value belongs to key ${'1'.repeat(40)}`);
    await again.close();
  });

  test('what a check refuses writes nothing', async () => {
    const tables = new Tables(await temporaryDirectory());
    const key = Buffer.from('k');
    await expect(tables.write([{ table: 'about', key, payload: key }], () => { throw new LakeError('pool-exists', { pool: 'x' }); })).rejects.toThrow('x: pool already exists');
    expect(tables.has('about', key)).toBe(false);
    await tables.close();
  });

  test('a lake of a newer format is refused', async () => {
    const { directory } = await closedLake();
    const tables = new Tables(join(directory, 'tables'));
    await tables.write([{ table: 'about', key: Buffer.from('format version'), payload: Buffer.from(String(formatVersion + 1)) }]);
    await tables.close();
    expect((await failure(openTestLake({ directory }))).text).toBe(`lake ${join(directory, 'tables')} has format version ${formatVersion + 1}, this server reads up to ${formatVersion}`);
  });
});

describe('the commits of a branch', () => {
  /** A lake with two commits, of which some were changed behind its back. */
  const changed = async (change: (tables: Tables, keys: { readonly parent: Buffer; readonly tip: Buffer; readonly branch: Buffer }) => Promise<void>): Promise<{ readonly directory: string; readonly parent: string; readonly tip: string }> => {
    const lake = await openTestLake(), pool = await newPool(lake);
    const { commit: parent } = await pool.load('main', [inlineObject(1)]), { commit: tip } = await pool.load('main', [inlineObject(2)], { body: 'mark of the tip' });
    await lake.close();
    const tables = new Tables(join(lake.directory, 'tables')), keys = tables.keys('commits'), keyOf = (id: string): Buffer => keys.find((key) => key.includes(idBuffer(id)))!;
    await change(tables, { parent: keyOf(parent), tip: keyOf(tip), branch: tables.keys('branches')[0]! });
    await tables.close();
    return { directory: lake.directory, parent, tip };
  };
  const asked = async (directory: string): Promise<{ readonly snapshot: unknown; readonly load: unknown; readonly fsck: readonly string[] }> => {
    const told: unknown[] = [], lake = await openTestLake({ directory, report: (fault) => { told.push(fault); } });
    await vi.waitFor(() => { expect([lake.unreadable().length, told.length]).toEqual([1, 1]); });
    const snapshot = await failure(lake.openSnapshot('p', 'main')), load = await lake.pool('p').load('main', [inlineObject(3)]).then(() => 'done', (fault: LakeError) => fault.message);
    await lake.close();
    return { snapshot, load, fsck: (await fsck({ directory, files: openObjects(directory) })).faults };
  };
  const missing = (id: string): string => `table commits, key ${id}: the row is missing`;

  test('a tip whose row is missing is damage that is named, not a wrong name', async () => {
    const { directory, tip } = await changed((tables, { tip: key }) => tables.write([{ table: 'commits', key }]));
    const found = await asked(directory);
    expect(found.snapshot).toMatchObject({ code: 'table-corrupt', status: 500, text: missing(tip) });
    expect(found.load).toBe(missing(tip));
    expect(found.fsck.join('\n')).toContain(base62(tip));
  });
  test('so is a parent', async () => {
    const { directory, parent } = await changed((tables, { parent: key }) => tables.write([{ table: 'commits', key }]));
    const found = await asked(directory);
    expect(found.snapshot).toMatchObject({ code: 'table-corrupt', text: missing(parent) });
    expect(found.fsck.join('\n')).toContain(base62(parent));
  });
  test('one whose row was changed is named', async () => {
    const { directory } = await changed(async () => undefined);
    damage(directory, new TextEncoder().encode('mark of the tip'));
    const found = await asked(directory);
    expect(found.snapshot).toMatchObject({ code: 'table-corrupt', text: expect.stringMatching(/^table commits, key [0-9a-f]+: checksum does not match$/) as unknown });
    expect(found.load).toBe((found.snapshot as { readonly text: string }).text);
    expect(found.fsck).not.toEqual([]);
  });
});

describe('after an unclean stop', () => {
  test('damaged tables are found by another process, the service says so and does not open them', { timeout: 60_000 }, async () => {
    const { directory } = await closedLake();
    writeFileSync(join(directory, 'running'), 'process 1\n');
    const path = join(directory, 'tables', 'data.mdb');
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 8192);
    writeFileSync(path, bytes);
    const refused = await failure(openTestLake({ directory }));
    expect(refused.code).toBe('lake-unreadable');
    // The lock is free again, the mark stays.
    expect(existsSync(join(directory, 'running'))).toBe(true);
    expect((await failure(openTestLake({ directory }))).code).toBe('lake-unreadable');
    const report = await fsck({ directory, files: openObjects(directory) });
    expect(report.faultCount).toBeGreaterThan(0);
  });

  test('sound tables are opened, a clean stop takes the mark back', { timeout: 60_000 }, async () => {
    const { directory } = await closedLake();
    const mark = join(directory, 'running');
    expect(existsSync(mark)).toBe(false);
    writeFileSync(mark, 'process 1\n');
    const lake = await openTestLake({ directory });
    expect(existsSync(mark)).toBe(true);
    await lake.close();
    expect(existsSync(mark)).toBe(false);
  });
});

describe('fsck', () => {
  test('a sound lake has no faults', async () => {
    const { directory } = await closedLake();
    const report = await fsck({ directory, files: openObjects(directory), checkObject: (object) => (object.inline || object.size === 3 ? undefined : 'size') });
    expect({ ...report, rows: 0, copy: 0 }).toEqual({
      faults: [], faultCount: 0, affected: [], notes: [], rows: 0, pools: 1, commits: 1, objects: 2, orphans: 0, copy: 0, tablesSound: true, copySound: true,
    });
  });

  test('a missing file, a bad object, an orphan and a row without its fellow are each named', async () => {
    const { directory, file, inline, poolId } = await closedLake();
    const objects = openObjects(directory);
    const checkObject = (object: { readonly id: string }): string | undefined => (object.id === inline ? 'segment 3: checksum' : undefined);
    await objects.put('f'.repeat(40), Uint8Array.of(1));
    await objects.delete(file);
    const tables = new Tables(join(directory, 'tables'));
    await tables.write([{ table: 'names', key: tables.keys('names')[0]! }]);
    await tables.close();
    const report = await fsck({ directory, files: objects, checkObject });
    expect(new Set(report.faults)).toEqual(new Set([
      `pool ${base62(poolId)} "p" is not found by its name`,
      `pool "p", object ${base62(file)}: its file is missing`,
      `pool "p", object ${base62(inline)}: segment 3: checksum`,
    ]));
    expect(report.orphans).toBe(1);
  });

  test('a lake that is in use is left alone, a folder without a lake is told so', async () => {
    const lake = await openTestLake();
    expect((await failure(fsck({ directory: lake.directory, files: openObjects(lake.directory) }))).code).toBe('lake-locked');
    const empty = await temporaryDirectory();
    expect((await failure(fsck({ directory: empty, files: openObjects(empty) }))).text).toBe(`lake ${empty}: its tables cannot be read: there is no lake here`);
  });
});
