import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LakeError } from '../../../src/errors.ts';
import { fsck } from '../../../src/lake/fsck.ts';
import { openObjects } from '../../../src/lake/objects.ts';
import { repair } from '../../../src/lake/repair.ts';
import { type Change, type TableName, Tables } from '../../../src/lake/tables.ts';
import { randomOf, seedOf } from '../../support/random.ts';
import { failure, inlineObject, keysAt, newPool, openTestLake, temporaryDirectory } from './support.ts';

const key = (n: number): Buffer => Buffer.from([n >> 8, n & 0xff]);
const put = (n: number, text: string, table: TableName = 'objects'): Change => ({ table, key: key(n), payload: Buffer.from(text) });
const remove = (n: number, table: TableName = 'objects'): Change => ({ table, key: key(n) });
const open = async (directory: string, options: { readonly journalBytes?: number; readonly readOnly?: boolean } = {}): Promise<Tables> => {
  const tables = new Tables(directory, options);
  onTestFinished(() => tables.close().catch(() => undefined));
  if (!options.readOnly) await tables.initialize();
  return tables;
};
/** The rows as text. */
const rowsOf = (tables: Tables, table: TableName = 'objects'): Record<string, string> => Object.fromEntries(tables.rows(table).map((row) => [row.key.readUInt16BE(), row.payload.toString()]));
/** The folder as a kill leaves it now. */
const killed = async (directory: string): Promise<string> => {
  const left = await temporaryDirectory();
  cpSync(directory, left, { recursive: true });
  return left;
};
const journal = (directory: string): string => join(directory, 'journal');
const lastRecord = (bytes: Buffer): number => {
  let last = -1;
  for (let at = bytes.indexOf('LJRN'); at >= 0; at = bytes.indexOf('LJRN', at + 1)) if (last < 0 || bytes.readBigUInt64LE(at + 8) > bytes.readBigUInt64LE(last + 8)) last = at;
  return last;
};

describe('what was written and is not in LMDB yet', () => {
  test('is read like the rest: by key, as ranges from both ends, with limits, counted', async () => {
    const directory = await temporaryDirectory(), tables = await open(directory);
    await tables.write([put(1, 'a'), put(3, 'c'), put(5, 'e')]);
    await tables.close();
    const again = await open(directory);
    await again.write([put(2, 'b'), remove(3), put(5, 'E'), put(9, 'i')]);
    expect(rowsOf(again)).toEqual({ 1: 'a', 2: 'b', 5: 'E', 9: 'i' });
    expect([again.get('objects', key(3)), again.has('objects', key(3)), again.get('objects', key(5))!.toString(), again.has('objects', key(9))]).toEqual([undefined, false, 'E', true]);
    expect(again.keys('objects', { limit: 3 }).map((k) => k[1])).toEqual([1, 2, 5]);
    expect(again.rows('objects', { reverse: true, limit: 3 }).map((row) => row.key[1])).toEqual([9, 5, 2]);
    expect(again.keys('objects', { start: key(3) }).map((k) => k[1])).toEqual([5, 9]);
    expect(again.keys('objects', { prefix: Buffer.of(1) })).toEqual([]);
    expect(again.count('objects')).toBe(4);
  });

  test('is there after a kill, as often as one comes, and after a clean end', async () => {
    const directory = await temporaryDirectory(), tables = await open(directory);
    await tables.write([put(1, 'one'), put(2, 'two')]);
    await tables.write([remove(1), put(2, 'TWO')], undefined, { alone: true });
    const left = await killed(directory), read = await open(left, { readOnly: true });
    expect(rowsOf(read)).toEqual({ 2: 'TWO' });
    const again = await open(await killed(left));
    await again.write([put(3, 'three')], undefined, { alone: true });
    expect(rowsOf(again)).toEqual({ 2: 'TWO', 3: 'three' });
    await again.close();
    await tables.close();
    expect(rowsOf(await open(directory))).toEqual({ 2: 'TWO' });
  });

  test('a check sees what is on its way, readers do not', async () => {
    const tables = await open(await temporaryDirectory());
    const first = tables.write([put(1, 'a')]);
    const seen: unknown[] = [];
    const second = tables.write([put(2, 'b')], () => { seen.push(tables.get('objects', key(1))!.toString(), tables.keys('objects').length); });
    seen.push(tables.has('objects', key(1)), tables.keys('objects').length);
    await Promise.all([first, second]);
    expect(seen).toEqual(['a', 1, false, 0]);
    await expect(tables.write([put(3, 'c')], () => { throw new LakeError('pool-exists', { pool: 'x' }); })).rejects.toThrow('x: pool already exists');
    expect(rowsOf(tables)).toEqual({ 1: 'a', 2: 'b' });
  });

  test('random transactions, short and long, alone and at once, in a journal that comes round often: tables, kills and restarts agree with a map', { timeout: 60_000 }, async () => {
    const seed = seedOf(20_261_122), random = randomOf(seed), model = new Map<number, string>(), journalBytes = 4096;
    console.log(`seed ${seed}`);
    let directory = await temporaryDirectory(), tables = await open(directory, { journalBytes });
    const change = (): Change[] => Array.from({ length: 1 + random.below(4) }, () => {
      const n = random.below(40);
      if (random.below(4) === 0) {
        model.delete(n);
        return remove(n);
      }
      const text = random.hex(random.below(30) === 0 ? 3000 : 1 + random.below(150));
      model.set(n, text);
      return put(n, text);
    });
    for (let round = 0; round < 400; round++) {
      if (random.below(3) === 0) await tables.write(change(), undefined, { alone: true });
      else await Promise.all(Array.from({ length: 1 + random.below(6) }, () => tables.write(change())));
      if (random.below(20) > 0) continue;
      const expected = Object.fromEntries([...model].sort((a, b) => a[0] - b[0]));
      expect(rowsOf(tables), `seed ${seed}, round ${round}`).toEqual(expected);
      const left = await killed(directory);
      if (random.below(2) === 0) await tables.close();
      else directory = left;
      tables = await open(directory, { journalBytes });
      expect(rowsOf(tables), `seed ${seed}, round ${round}, restarted`).toEqual(expected);
    }
  });
});

describe('the file', () => {
  test('a record that is cut anywhere is none; what came before is there, and the next one takes its place', async () => {
    const directory = await temporaryDirectory(), tables = await open(directory);
    await tables.write([put(1, 'one')]);
    await tables.write([put(1, 'ONE'), put(2, 'two')]);
    const before = await killed(directory), bytes = readFileSync(journal(before)), at = lastRecord(bytes), length = 20 + bytes.readUInt32LE(at + 4);
    for (let cut = 0; cut <= length; cut++) {
      const left = await killed(before), torn = Buffer.from(bytes);
      torn.fill(0, at + cut, at + length);
      writeFileSync(journal(left), torn);
      const again = await open(left), isWhole = torn.equals(bytes);
      expect(rowsOf(again), `${cut} of ${length} bytes`).toEqual(isWhole ? { 1: 'ONE', 2: 'two' } : { 1: 'one' });
      await again.write([put(3, 'three')]);
      await again.close();
      const later = await open(left);
      expect(rowsOf(later)).toEqual(isWhole ? { 1: 'ONE', 2: 'two', 3: 'three' } : { 1: 'one', 3: 'three' });
      await later.close();
    }
  });

  test('a damaged record with others behind it is told, and nothing is opened over it; the copy of the log brings the commits back', async () => {
    const lake = await openTestLake();
    await newPool(lake);
    for (const n of [1, 2, 3]) await lake.pool('p').load('main', [inlineObject(n)]);
    const left = await temporaryDirectory();
    // The copy is written in the background.
    await lake.close();
    cpSync(lake.directory, left, { recursive: true });
    const again = await openTestLake({ directory: left });
    for (const n of [4, 5, 6]) await again.pool('p').load('main', [inlineObject(n)]);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    const broken = await temporaryDirectory();
    cpSync(left, broken, { recursive: true });
    await again.close();
    const path = join(broken, 'tables', 'journal'), bytes = readFileSync(path), at = bytes.indexOf('5..5');
    bytes[at]! ^= 1;
    writeFileSync(path, bytes);
    const told = /record \d+ of the journal is damaged: what was committed from there to record \d+ cannot be read/;
    expect((await failure(openTestLake({ directory: broken }))).text).toMatch(told);
    const options = { directory: broken, files: openObjects(broken) };
    expect((await fsck(options)).faults.join('\n')).toMatch(told);
    const { after } = await repair({ ...options, keepFile: async () => undefined });
    expect(after?.faults).toEqual([]);
    expect(await keysAt(await openTestLake({ directory: broken }), 'p', 'main')).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  test('tables that do not say what they have of it are not opened', async () => {
    const directory = await temporaryDirectory(), tables = await open(directory);
    await tables.write([put(1, 'one')]);
    const left = await temporaryDirectory();
    cpSync(journal(directory), journal(left));
    expect(() => new Tables(left)).toThrow('its tables cannot be read: they do not say what they have of the journal, which has record 1');
  });
});
