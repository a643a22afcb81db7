/** The copy of the commit log: what is in it, what it makes of crashes and damage. */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fsck } from '../../../src/lake/fsck.ts';
import { LogCopy } from '../../../src/lake/log-copy.ts';
import type { LogRecord } from '../../../src/lake/log-copy-format.ts';
import { listSegments, logFolder, readCopy } from '../../../src/lake/log-copy-reader.ts';
import { openObjects } from '../../../src/lake/objects.ts';
import { countersKey, encodeCounters } from '../../../src/lake/rows.ts';
import { type Change, Tables } from '../../../src/lake/tables.ts';
import { failure, fileObject, inlineObject, keysAt, newPool, openTestLake, temporaryDirectory } from './support.ts';

const report = (fault: unknown): void => { throw fault; };
const counters = (event: number): Change => ({ table: 'about', key: countersKey, payload: encodeCounters({ event, sequence: event }) });
const body = (n: number, bytes = 5): Change => ({ table: 'bodies', key: Buffer.alloc(20, n), payload: Buffer.alloc(bytes, n) });
/** Rows of a copy by kind of record, as `table key`. */
const rowsOf = (directory: string): readonly string[] => {
  const records: LogRecord[] = [];
  readCopy(logFolder(directory), (record) => { records.push(record); });
  return records.map(({ kind, changes }) => [kind, ...changes.map(({ table, key, payload }) => `${payload ? '' : '-'}${table}${table === 'bodies' ? ` ${key[0]}` : ''}`)].join(' '));
};
/** Tables and their copy in a directory of their own. */
const open = async (directory: string, segmentBytes?: number): Promise<{ readonly tables: Tables; readonly copy: LogCopy; readonly close: () => Promise<void> }> => {
  const tables = new Tables(join(directory, 'tables'));
  const copy = await LogCopy.open({ lakeDirectory: directory, tables, report, ...(segmentBytes && { segmentBytes }) });
  return { tables, copy, close: async () => { await copy.close(); await tables.close(); } };
};

describe('what is written', () => {
  test('each transaction is a record; removals of rows that others tell of are left out', async () => {
    const directory = await temporaryDirectory(), { tables, copy, close } = await open(directory);
    await copy.settled();
    await tables.write([body(1), counters(1)]);
    await tables.write([{ table: 'branches', key: Buffer.alloc(40) }, { table: 'bodies', key: Buffer.alloc(20, 1) }, { table: 'names', key: Buffer.alloc(20), payload: Buffer.alloc(1) }]);
    await close();
    expect(rowsOf(directory)).toEqual(['roster', 'roster', 'base end', 'transaction bodies 1 about', 'transaction -branches', 'closed about']);
  });

  test('segments end at their length and go on over restarts; a clean start adds nothing', async () => {
    const directory = await temporaryDirectory();
    for (let round = 0; round < 3; round++) {
      const { tables, copy, close } = await open(directory, 1000);
      for (let n = 1; n <= 4; n++) {
        await tables.write([body(round * 10 + n, 600), counters(round * 10 + n)]);
        await copy.settled();
      }
      await close();
    }
    expect(listSegments(logFolder(directory)).map((s) => s.segment).length).toBeGreaterThan(4);
    expect(readCopy(logFolder(directory))).toMatchObject({ generation: 1, complete: true, closed: true, counters: { event: 24, sequence: 24 }, faults: [], tailBytes: 0 });
    expect(rowsOf(directory).filter((row) => row.includes('bodies')).length).toBe(12);
    expect(rowsOf(directory).some((row) => row.startsWith('caught up'))).toBe(false);
  });

  test('it tells whether it has its end: a stop without one is as a crash leaves it', async () => {
    const directory = await temporaryDirectory(), tables = new Tables(join(directory, 'tables'));
    const copy = await LogCopy.open({ lakeDirectory: directory, tables, report: () => undefined, segmentBytes: 1 });
    await tables.write([body(1), counters(1)]);
    await copy.settled();
    rmSync(logFolder(directory), { recursive: true });
    await tables.write([body(2), counters(2)]);
    expect(await copy.close()).toBe(false);
    const again = await LogCopy.open({ lakeDirectory: directory, tables, report });
    await again.settled();
    expect(await again.close()).toBe(true);
    await tables.close();
    expect(readCopy(logFolder(directory))).toMatchObject({ complete: true, closed: true, counters: { event: 2 }, faults: [] });
  });

  test('no acknowledgement waits for it: commits go on when its folder takes no files', async () => {
    const faults: unknown[] = [], lake = await openTestLake({ report: (fault) => { faults.push(fault); } }), pool = await newPool(lake);
    rmSync(logFolder(lake.directory), { recursive: true });
    writeFileSync(logFolder(lake.directory), '');
    for (let n = 0; n < 20; n++) await pool.load('main', [inlineObject(n)]);
    expect((await keysAt(lake, 'p', 'main')).length).toBe(20);
    rmSync(logFolder(lake.directory));
    await lake.close();
    // The next start writes it anew.
    const again = await openTestLake({ directory: lake.directory });
    await again.close();
    expect((await fsck({ directory: lake.directory, files: openObjects(lake.directory) })).faults).toEqual([]);
  });
});

describe('after a crash', () => {
  const lakeWith = async (commits: number): Promise<string> => {
    const lake = await openTestLake(), pool = await newPool(lake);
    for (let n = 0; n < commits; n++) await pool.load('main', [n % 3 === 0 ? await fileObject(lake, n) : inlineObject(n)]);
    await pool.createBranch('b', pool.branch('main').commit);
    await lake.close();
    return lake.directory;
  };
  const lastSegment = (directory: string): string => join(logFolder(directory), readdirSync(logFolder(directory)).sort().at(-1)!);
  /** Every row of the copied tables is in the copy. */
  const isWhole = async (directory: string): Promise<boolean> => {
    await (await openTestLake({ directory })).close();
    const copied = new Set<string>();
    const copy = readCopy(logFolder(directory), ({ changes }) => { for (const { table, key } of changes) copied.add(table + Buffer.from(key).toString('hex')); });
    expect(copy).toMatchObject({ complete: true, closed: true, faults: [], tailBytes: 0 });
    const tables = new Tables(join(directory, 'tables'), { readOnly: true });
    const missing = (['pools', 'branches', 'commits', 'objects', 'bodies', 'vacuumed'] as const).flatMap((table) => tables.keys(table).map((key) => table + key.toString('hex'))).filter((row) => !copied.has(row));
    await tables.close();
    return missing.length === 0;
  };

  test('a copy that is cut anywhere is made whole by the next start', { timeout: 120_000 }, async () => {
    const directory = await lakeWith(12), path = lastSegment(directory), whole = readFileSync(path);
    for (let bytes = whole.length - 1; bytes > 0; bytes -= 597) {
      for (const name of readdirSync(logFolder(directory))) rmSync(join(logFolder(directory), name));
      writeFileSync(path, whole.subarray(0, bytes));
      expect(await isWhole(directory), `${bytes} bytes`).toBe(true);
    }
  });

  test('what is missing is written after it, not everything anew, while the events are kept', async () => {
    const directory = await lakeWith(12), path = lastSegment(directory);
    truncateSync(path, readFileSync(path).length - 900);
    await (await openTestLake({ directory })).close();
    expect(readCopy(logFolder(directory))).toMatchObject({ generation: 1, faults: [] });
    expect(rowsOf(directory).some((row) => row.startsWith('caught up'))).toBe(true);
    truncateSync(lastSegment(directory), 400);
    await (await openTestLake({ directory, eventsKeptMax: 1 })).close();
    expect(await isWhole(directory)).toBe(true);
  });

  test('tables that end before the copy are not opened: they lost what was acknowledged', async () => {
    const directory = await lakeWith(3), old = ['data.mdb', 'journal'].map((name) => [join(directory, 'tables', name), readFileSync(join(directory, 'tables', name))] as const);
    const lake = await openTestLake({ directory });
    await lake.pool('p').load('main', [inlineObject(9)]);
    await lake.close();
    for (const [path, bytes] of old) writeFileSync(path, bytes);
    expect((await failure(openTestLake({ directory }))).text).toMatch(/its tables cannot be read: they end at event 5, the copy of their log at event 6: acknowledged commits are lost, lake fsck -repair brings back/);
    expect((await fsck({ directory, files: openObjects(directory) })).faults[0]).toMatch(/^the tables end at event 5, the copy of the commit log at event 6: they are older/);
  });
});

describe('damage', () => {
  test('each flipped byte is named by fsck, or is in half a record at the end', { timeout: 60_000 }, async () => {
    const directory = await temporaryDirectory(), { tables, close } = await open(directory);
    for (let n = 1; n <= 3; n++) await tables.write([body(n), counters(n)]);
    await close();
    const path = join(logFolder(directory), '00000001-00000001.log'), sound = readFileSync(path), records = rowsOf(directory);
    for (let at = 0; at < sound.length; at++) {
      const bytes = Buffer.from(sound);
      bytes[at]! ^= 0x10;
      writeFileSync(path, bytes);
      const found = readCopy(logFolder(directory))!;
      const isNamed = found.faults.length > 0 || !found.closed || !found.complete;
      expect(isNamed, `byte ${at}`).toBe(true);
      // What is left is as it was.
      for (const row of rowsOf(directory)) expect(records).toContain(row);
    }
  });
});
