import { openSync, readFileSync, rmSync, writeFileSync, writeSync, closeSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { LakeError } from '../../../../src/errors.ts';
import { fsck } from '../../../../src/lake/repair/fsck.ts';
import { base62, idBuffer } from '../../../../src/lake/ksuid.ts';
import { LogRead, segmentPath } from '../../../../src/lake/log/reader.ts';
import { openObjects } from '../../../../src/lake/objects/objects.ts';
import { openIndex, Tables } from '../../../../src/lake/tables/tables.ts';
import { formatVersion } from '../../../../src/lake/tables/versions.ts';
import { Environment } from '../../../../src/lake/tables/environment.ts';
import {
  edited,
  failure,
  fileObject,
  inlineObject,
  keysAt,
  newPool,
  openTestLake,
  tablesOf,
  temporaryDirectory,
} from '../support.ts';

const closedLake = async (): Promise<{ directory: string; file: string; inline: string; poolId: string }> => {
  const lake = await openTestLake();
  const pool = await newPool(lake);
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
    const lake = await openTestLake({ directory });
    damage(directory, new TextEncoder().encode('2..2'));
    const snapshot = await lake.openSnapshot('p', 'main');
    expect(() => snapshot.page({ limit: 10 })).toThrow(`table bodies, key ${inline}: checksum does not match`);
    expect(snapshot.page({ limit: 10, inline: false }).objects.length).toBe(2);
    snapshot.release();
    await lake.close();
    const { faults, notes } = await fsck({ directory, files: openObjects(directory) });
    expect([faults, notes]).toEqual([
      [`table bodies, key ${inline}: checksum does not match`],
      ['the next start makes the tables again from the log'],
    ]);
    // A row that was found damaged is not left for the next time.
    const why: string[] = [];
    const again = await openTestLake({
      directory,
      tablesMade: (text) => {
        why.push(text);
      },
    });
    const whole = await again.openSnapshot('p', 'main');
    expect([why, whole.page({ limit: 10 }).objects.length]).toEqual([
      [`table bodies, key ${inline}: checksum does not match`],
      2,
    ]);
    whole.release();
  });

  test('a value under another key is told so', async () => {
    const directory = await temporaryDirectory();
    const tables = new Tables({ environment: new Environment(directory) });
    await tables.write([{ table: 'bodies', key: idBuffer('1'.repeat(40)), payload: Buffer.from('one') }]);
    expect(tables.get('bodies', idBuffer('1'.repeat(40)))!.toString()).toBe('one');
    expect(tables.get('files', idBuffer('1'.repeat(40)))).toBeUndefined();
    const path = join(directory, 'data.mdb');
    await tables.close();
    // The key stands in the page's node and in the value: change the node alone.
    const bytes = readFileSync(path);
    const key = Buffer.from('1'.repeat(40), 'hex');
    const at = bytes.indexOf(key);
    writeFileSync(
      path,
      Buffer.concat([bytes.subarray(0, at), Buffer.from('2'.repeat(40), 'hex'), bytes.subarray(at + 20)]),
    );
    const again = openIndex(directory);
    expect(() => again.get('bodies', idBuffer('2'.repeat(40)))).toThrow(
      `table bodies, key ${'2'.repeat(40)}: the value belongs to key ${'1'.repeat(40)}`,
    );
    await again.close();
  });

  test('what a check refuses writes nothing', async () => {
    const tables = await tablesOf(await temporaryDirectory());
    const key = Buffer.from('k');
    await expect(
      tables.write([{ table: 'about', key, payload: key }], () => {
        throw new LakeError('pool-exists', { pool: 'x' });
      }),
    ).rejects.toThrow('x: pool already exists');
    expect(tables.has('about', key)).toBe(false);
    await tables.close();
  });

  test('a lake of a newer format is refused', async () => {
    const { directory } = await closedLake();
    const tables = new Tables({ environment: new Environment(join(directory, 'tables')) });
    await tables.write([
      { table: 'about', key: Buffer.from('format version'), payload: Buffer.from(String(formatVersion + 1)) },
    ]);
    await tables.close();
    expect((await failure(openTestLake({ directory }))).text).toBe(
      `lake ${join(directory, 'tables')} has format version ${formatVersion + 1}, this server reads up to ${formatVersion}`,
    );
  });
});

describe('the commits of a branch', () => {
  /** A lake with two commits, of which some were changed behind its back. */
  const changed = async (
    change: (
      tables: Tables,
      keys: { readonly parent: Buffer; readonly tip: Buffer; readonly branch: Buffer },
    ) => Promise<void>,
  ): Promise<{ readonly directory: string; readonly parent: string; readonly tip: string }> => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const { commit: parent } = await pool.load('main', [inlineObject(1)]);
    const { commit: tip } = await pool.load('main', [inlineObject(2)], { body: 'mark of the tip' });
    await lake.close();
    await edited(lake.directory, async (tables) => {
      const keys = tables.keys('commits');
      const keyOf = (id: string): Buffer => keys.find((key) => key.includes(idBuffer(id)))!;
      await change(tables, { parent: keyOf(parent), tip: keyOf(tip), branch: tables.keys('branches')[0]! });
    });
    return { directory: lake.directory, parent, tip };
  };
  const asked = async (
    directory: string,
  ): Promise<{ readonly snapshot: unknown; readonly load: unknown; readonly fsck: readonly string[] }> => {
    const told: unknown[] = [];
    const lake = await openTestLake({
      directory,
      report: (fault) => {
        told.push(fault);
      },
    });
    await vi.waitFor(() => {
      expect([lake.unreadable().length, told.length]).toEqual([1, 1]);
    });
    const snapshot = await failure(lake.openSnapshot('p', 'main'));
    const load = await lake
      .pool('p')
      .load('main', [inlineObject(3)])
      .then(
        () => 'done',
        (fault: LakeError) => fault.message,
      );
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
  test('one whose row is damaged while the lake is open is named', async () => {
    const { directory } = await changed(async () => undefined);
    const lake = await openTestLake({ directory, report: () => undefined });
    damage(directory, new TextEncoder().encode('mark of the tip'));
    const snapshot = await failure(lake.openSnapshot('p', 'main'));
    const load = await lake
      .pool('p')
      .load('main', [inlineObject(3)])
      .then(
        () => 'done',
        (fault: LakeError) => fault.message,
      );
    expect(snapshot).toMatchObject({
      code: 'table-corrupt',
      text: expect.stringMatching(/^table commits, key [0-9a-f]+: checksum does not match$/) as unknown,
    });
    expect(load).toBe(snapshot.text);
    await lake.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults).not.toEqual([]);
  });
});

describe('after an unclean stop', () => {
  test('damaged tables are found by another process, and made again from the log', { timeout: 180_000 }, async () => {
    const { directory } = await closedLake();
    writeFileSync(join(directory, 'running'), 'process 1\n');
    const path = join(directory, 'tables', 'data.mdb');
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 8192);
    writeFileSync(path, bytes);
    const report = await fsck({ directory, files: openObjects(directory) });
    expect([report.faultCount > 0, report.logSound]).toEqual([true, true]);
    const why: string[] = [];
    const lake = await openTestLake({
      directory,
      tablesMade: (text) => {
        why.push(text);
      },
    });
    expect(why).toEqual([expect.stringMatching(/^reading the tables ended a process by/)]);
    expect((await keysAt(lake, 'p', 'main')).length).toBe(2);
    await lake.close();
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toEqual([]);
  });

  test('a page above the rows that sends searches past them is found, though all rows are there', {
    timeout: 180_000,
  }, async () => {
    const lake = await openTestLake();
    const pool = await newPool(lake);
    for (let n = 0; n < 60; n++) await pool.load('main', [inlineObject(n)]);
    await lake.close();
    // A crash: no mark of a stop in order is left. LMDB's pages: flags at 18 (1: of branches), places of nodes from 24
    // on, counted from there; a node is 8 bytes and a key.
    const { directory } = lake;
    const path = join(directory, 'tables', 'data.mdb');
    const bytes = readFileSync(path);
    const pageBytes = 4096;
    rmSync(join(directory, 'tables', 'closed'));
    writeFileSync(join(directory, 'running'), 'process 1\n');
    let changed = 0;
    for (let page = 2 * pageBytes; page + pageBytes <= bytes.length; page += pageBytes) {
      if (bytes.readUInt16LE(page + 18) !== 1) continue;
      const second = page + 24 + bytes.readUInt16LE(page + 26);
      bytes[second + 8] = 0xff;
      changed++;
    }
    expect(changed).toBeGreaterThan(0);
    writeFileSync(path, bytes);
    const why: string[] = [];
    const again = await openTestLake({
      directory,
      tablesMade: (text) => {
        why.push(text);
      },
    });
    expect(why).toEqual([expect.stringMatching(/the way to it is damaged/)]);
    expect((await keysAt(again, 'p', 'main')).length).toBe(60);
    await again.close();
  });

  test('a table whose name is damaged is missed, and made again', { timeout: 180_000 }, async () => {
    const { directory } = await closedLake();
    const path = join(directory, 'tables', 'data.mdb');
    const bytes = readFileSync(path);
    rmSync(join(directory, 'tables', 'closed'));
    writeFileSync(join(directory, 'running'), 'process 1\n');
    // Of LMDB's pages those before the last transaction have the name too.
    for (let at = bytes.indexOf('commits'); at >= 0; at = bytes.indexOf('commits', at + 1)) bytes[at + 6] = 0x74;
    writeFileSync(path, bytes);
    expect((await fsck({ directory, files: openObjects(directory) })).faults).toContain(
      'table commits: it is not there',
    );
    const why: string[] = [];
    const lake = await openTestLake({
      directory,
      tablesMade: (text) => {
        why.push(text);
      },
    });
    expect([why, (await keysAt(lake, 'p', 'main')).length]).toEqual([['table commits: it is not there'], 2]);
    await lake.close();
  });

  test('sound tables are opened, a clean stop takes the mark back', { timeout: 180_000 }, async () => {
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
    const report = await fsck({
      directory,
      files: openObjects(directory),
      checkObject: (object) => (object.inline || object.size === 3 ? undefined : 'size'),
    });
    expect({ ...report, rows: 0 }).toEqual({
      faults: [],
      faultCount: 0,
      affected: [],
      notes: [],
      rows: 0,
      pools: 1,
      commits: 1,
      objects: 2,
      orphans: 0,
      log: { records: 2, last: 2, bases: [] },
      rowsSound: true,
      tablesSound: true,
      historySound: true,
      logSound: true,
      isOtherCourse: false,
      strays: [],
      besides: [],
    });
  });

  test('a missing file, a bad object, an orphan and a row without its fellow are each named', async () => {
    const { directory, file, inline, poolId } = await closedLake();
    const objects = openObjects(directory);
    const checkObject = (object: { readonly id: string }): string | undefined =>
      object.id === inline ? 'segment 3: checksum' : undefined;
    await objects.put('f'.repeat(40), Uint8Array.of(1));
    await objects.delete(file);
    await edited(directory, (tables) => tables.write([{ table: 'names', key: tables.keys('names')[0]! }]));
    const report = await fsck({ directory, files: objects, checkObject });
    expect(new Set(report.faults)).toEqual(
      new Set([
        `pool ${base62(poolId)} "p" is not found by its name`,
        `pool "p", object ${base62(file)}: its file is missing`,
        `pool "p", object ${base62(inline)}: segment 3: checksum`,
      ]),
    );
    expect(report.orphans).toBe(1);
  });

  test('rows that no commit made, that are another, or that are gone are each named; the next start has what the log says', async () => {
    const { directory, inline } = await closedLake();
    const environment = new Environment(join(directory, 'tables'));
    const tables = new Tables({ environment });
    const [name] = tables.keys('names');
    const stranger = 'c'.repeat(40);
    await tables.write([
      { table: 'bodies', key: idBuffer(stranger), payload: Buffer.from('x') },
      { table: 'bodies', key: idBuffer(inline), payload: Buffer.from('other') },
      { table: 'names', key: name! },
    ]);
    await tables.close();
    const options = { directory, files: openObjects(directory) };
    const { faults, logSound } = await fsck(options);
    expect([new Set(faults), logSound]).toEqual([
      new Set([
        `table bodies, key ${stranger}: the log has no such row`,
        `table bodies, key ${inline}: it is another in the log`,
        `table names, key ${name!.toString('hex')}: the log has it, the tables do not`,
      ]),
      true,
    ]);
    const why: string[] = [];
    const lake = await openTestLake({
      directory,
      tablesMade: (text) => {
        why.push(text);
      },
    });
    expect([why, await keysAt(lake, 'p', 'main')]).toEqual([['their file is not as it was left'], ['1', '2']]);
    await lake.close();
    expect((await fsck(options)).faults).toEqual([]);
  });

  test('holes and halves behind the end, as a power cut leaves them, are no damage', async () => {
    const { directory } = await closedLake();
    const path = segmentPath(directory, 1);
    const { end } = new LogRead(directory).finish().place!;
    const bytes = readFileSync(path);
    bytes.fill(0x77, end, end + 30);
    bytes.fill(0x33, end + 512, end + 900);
    writeFileSync(path, bytes);
    const { faults, notes } = await fsck({ directory, files: openObjects(directory) });
    expect([faults, notes]).toEqual([
      [],
      ['log: 900 bytes at its end are half a record, as a stop in the middle of writing leaves them'],
    ]);
  });

  test('a lake that is in use is left alone, a folder without a lake is told so', async () => {
    const lake = await openTestLake();
    expect((await failure(fsck({ directory: lake.directory, files: openObjects(lake.directory) }))).code).toBe(
      'lake-locked',
    );
    const empty = await temporaryDirectory();
    expect((await failure(fsck({ directory: empty, files: openObjects(empty) }))).text).toBe(
      `lake ${empty} cannot be opened: there is no lake here`,
    );
  });
});
