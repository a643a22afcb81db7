/**
 * The tables of the lake in one LMDB environment; nothing else imports lmdb.
 *
 * Invariants:
 * - A transaction that `write` has resolved survives power loss: `overlappingSync: false` makes LMDB sync data pages and write its meta page with
 *   O_DSYNC before the commit is told (seen with strace); the environment is never a write map.
 * - Every value carries a CRC-32 and its key: `crc u32 | key length u8 | key | payload`; the checksum covers table name, key and payload.
 *   A value that fails it, or lies under another key, is never returned: `table-corrupt` names table and key.
 * - `check` of a transaction runs inside of it, before its first write: what it reads cannot change until the commit. It must not write, and when it throws
 *   nothing is written (lmdb does not take back the writes of a callback that throws later).
 * - A transaction that fails leaves the tables as they were. Without room for it the lake goes on (`storage-full`); any other fault makes the store unsound.
 * - This process is the environment's only writer (lock.ts).
 */
import assert from 'node:assert';
import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { open, type Database, type RootDatabase } from 'lmdb';
import { LakeError } from '../errors.ts';
import { killPoint } from './kill-points.ts';
import { prepareTables } from './tables-head.ts';

/**
 * `about`: format version and counters. `pools`, `names` (by digest), `branches` (pool, digest), `commits` and `objects` (pool, id), `bodies` (object id:
 * objects small enough to live here), `files` (object id -> pool: objects with a file), `vacuumed` (pool, object), `checkpoints` (pool, commit, part),
 * `events` (number), `purges` (pools whose rows are still to be removed), `packs` (pool, pack: copies, see packs.ts),
 * `retries` (keys of requests that may be sent again, see retries.ts).
 */
export const tableNames = [
  'about', 'pools', 'names', 'branches', 'commits', 'objects', 'bodies', 'files', 'vacuumed', 'checkpoints', 'events', 'purges', 'packs', 'retries',
] as const;
export type TableName = (typeof tableNames)[number];

export interface Put { readonly table: TableName; readonly key: Uint8Array; readonly payload: Uint8Array }
export interface Remove { readonly table: TableName; readonly key: Uint8Array; readonly payload?: undefined }
export type Change = Put | Remove;

/** Layout of the rows; a lake of a newer one is refused. */
export const formatVersion = 1;
const versionKey = Buffer.from('format version');

type Store = Database<Buffer, Uint8Array>;
const seeds = Object.fromEntries(tableNames.map((name) => [name, crc32(name)])) as Record<TableName, number>;
const frame = 5;
/** Less room than this on the disk makes a failed transaction one that had no room. */
const roomBytesMin = 4 << 20;
/** With less, none is begun: LMDB's binding writes beyond its memory when it tells of a page that was not written. With plenty it is looked at again after some time only. */
const roomBytesToBegin = 1 << 20, roomBytesPlenty = 256 << 20, roomLookMs = 200;

/** Why the store takes no more writes: the disk failed under a transaction. What is there can still be read. */
export class StoreFailure extends Error {}

export interface KeyValue { readonly key: Buffer; readonly payload: Buffer }
export interface TablesOptions { readonly readOnly?: boolean }
export interface WriteOptions {
  /** Nobody else is waiting to write: on a disk that flushes quickly the transaction is done in this thread, at once. */
  readonly alone?: boolean;
}

/** An environment that is stuck may not close. */
const closeMsMax = 2000;
/** A transaction that takes longer than this holds up the thread that waits for it more than a change of threads would. */
const slowMs = 2;
/** After one that was slow so many go the other way, twice as many each time, half as many after a quick one. */
const pauseMin = 8, pauseMax = 1024;

export class Tables {
  private root: RootDatabase<Buffer, Uint8Array>;
  private stores: Stores;
  private readonly directory: string;
  private failure: string | undefined;
  /** Ends of transactions that LMDB may never tell of. */
  private readonly waiting = new Set<(failure: StoreFailure) => void>();
  private reopening: Promise<void> | undefined;
  /** Transactions that are under way. */
  private running = 0;
  private roomLooked = -Infinity;
  /** Transactions that are not to be done at once, since the last one that was took long. */
  private pausing = 0;
  private pause = pauseMin;
  /** Told of each transaction's changes once they are durable. Must neither throw nor take time: acknowledgements wait behind it. */
  written: ((changes: readonly Change[]) => void) | undefined;

  /** Opens or makes the environment in this directory. @throws lake-newer, lake-unreadable, storage-full */
  constructor(directory: string, options: TablesOptions = {}) {
    this.directory = directory;
    [this.root, this.stores] = openEnvironment(directory, options.readOnly ?? false);
    try {
      this.checkVersion(directory);
    } catch (error) {
      void this.root.close();
      throw error;
    }
  }

  private checkVersion(directory: string): void {
    const row = this.get('about', versionKey);
    if (row === undefined) return;
    const version = Number(row.toString('latin1'));
    if (version <= formatVersion) return;
    throw new LakeError('lake-newer', { directory, version, versionMax: formatVersion });
  }

  /** Marks a new environment with the version of its rows; answers whether it was new, so that its folder is still to be made durable. */
  async initialize(): Promise<boolean> {
    if (this.get('about', versionKey) !== undefined) return false;
    await this.write([{ table: 'about', key: versionKey, payload: Buffer.from(String(formatVersion)) }]);
    return true;
  }

  /** A copy of the payload, or undefined. @throws table-corrupt */
  get(table: TableName, key: Uint8Array): Buffer | undefined {
    const store = this.stores[table], shared = store?.getBinaryFast(key);
    if (!store || !shared) return undefined;
    // Of the buffer that all reads share only this much is the value.
    const value = Buffer.allocUnsafe((store as unknown as { readonly lastSize: number }).lastSize);
    value.set(new Uint8Array(shared.buffer, shared.byteOffset, value.length));
    return unframe(table, key, value);
  }
  has(table: TableName, key: Uint8Array): boolean { return this.stores[table]?.doesExist(key) ?? false; }

  /** Rows whose key begins with `prefix`, in key order, from `start` (included) on. Read at once: for ranges with a known limit. @throws table-corrupt */
  rows(table: TableName, options: { readonly prefix?: Uint8Array; readonly start?: Uint8Array; readonly limit?: number; readonly reverse?: boolean } = {}): KeyValue[] {
    const found: KeyValue[] = [];
    for (const { key, value } of this.range(table, options)) found.push({ key: Buffer.from(key), payload: unframe(table, key, value) });
    return found;
  }
  /** The rows whose checksums hold, one by one, all in one read: for whoever is alone with the tables. */
  *soundRows(table: TableName, options: { readonly prefix?: Uint8Array; readonly reverse?: boolean } = {}): IterableIterator<KeyValue> {
    for (const { key, value } of this.range(table, options)) {
      const own = Buffer.from(key);
      let payload: Buffer;
      try {
        payload = unframe(table, own, Buffer.from(value));
      } catch {
        continue;
      }
      yield { key: own, payload };
    }
  }
  /** Keys alone, values unread. */
  keys(table: TableName, options: { readonly prefix?: Uint8Array; readonly start?: Uint8Array; readonly limit?: number } = {}): Buffer[] {
    const found: Buffer[] = [];
    for (const { key } of this.range(table, options)) found.push(Buffer.from(key));
    return found;
  }

  private *range(table: TableName, options: { readonly prefix?: Uint8Array; readonly start?: Uint8Array; readonly limit?: number; readonly reverse?: boolean }) {
    const low = options.start ?? options.prefix, high = options.prefix && after(options.prefix);
    const bounds = options.reverse ? { ...(high && { start: high }), ...(low && { end: low }), reverse: true } : { ...(low && { start: low }), ...(high && { end: high }) };
    for (const row of this.stores[table]?.getRange({ ...bounds, ...(options.limit !== undefined && { limit: options.limit + (options.reverse ? 1 : 0) }) }) ?? []) {
      // A reversed range begins with its upper bound itself, which no prefix includes.
      if (options.prefix && Buffer.compare(row.key.subarray(0, options.prefix.length), options.prefix) !== 0) continue;
      yield row;
    }
  }

  /**
   * Runs `check`, then writes all changes in one durable transaction. What `check` throws comes out as it is.
   * @throws StoreFailure when the disk failed (no later write is tried), storage-full when there is no room (nothing was written)
   */
  async write(changes: readonly Change[], check?: () => void, options: WriteOptions = {}): Promise<void> {
    if (this.failure !== undefined) throw new StoreFailure(this.failure);
    this.checkRoom();
    const values = changes.map((change) => change.payload && framed(change.table, change.key, change.payload));
    let refused: { readonly error: unknown } | undefined;
    killPoint('transaction: asked');
    const began = performance.now(), atOnce = options.alone === true && this.running === 0 && this.pausing === 0;
    const apply = (): void => {
      try {
        check?.();
      } catch (error) {
        refused = { error };
        return;
      }
      for (let i = 0; i < changes.length; i++) {
        const { table, key } = changes[i]!, value = values[i];
        if (value) void this.stores[table]!.put(key, value);
        else void this.stores[table]!.remove(key);
      }
      killPoint('transaction: in it');
    };
    this.running++;
    try {
      if (atOnce) this.root.transactionSync(apply);
      else {
        const going = this.root.transaction(apply);
        this.hearBatch();
        await this.endOf(going);
      }
    } catch (error) {
      await this.failed(error);
    } finally {
      this.running--;
      if (!atOnce) this.pausing = Math.max(0, this.pausing - 1);
      else if (performance.now() - began <= slowMs) this.pause = Math.max(pauseMin, this.pause / 2);
      else {
        this.pausing = this.pause;
        this.pause = Math.min(pauseMax, this.pause * 2);
      }
    }
    if (refused) throw refused.error;
    killPoint('transaction: durable');
    this.written?.(changes);
  }

  /** lmdb may make a promise of its own for the turn's batch; when the commit fails and nobody hears of that one, it ends the process. */
  private hearBatch(): void { setImmediate(() => { this.root.committed.then(nothing, nothing); }); }

  private endOf(going: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.add(reject);
      going.then(() => { this.waiting.delete(reject); resolve(); }, (error: unknown) => { this.waiting.delete(reject); reject(error as Error); });
    });
  }

  private async failed(error: unknown): Promise<never> {
    if (error instanceof StoreFailure) throw error;
    // At once, before anything else is asked of it.
    if (this.isStuck()) {
      this.failure ??= error instanceof Error ? error.message : String(error);
      this.reopening ??= this.reopen(this.failure);
    }
    const reason = await commitFault(error);
    if (this.reopening) {
      await this.reopening;
      throw new StoreFailure((this.failure = reason), { cause: error });
    }
    if (/ENOSPC|MDB_MAP_FULL|No space left|EDQUOT|quota/i.test(reason) || this.roomBytes() < roomBytesMin) throw new LakeError('storage-full', { fault: reason }, { cause: error });
    this.failure = reason;
    throw new StoreFailure(reason, { cause: error });
  }

  /** When the page that names the newest state could not be written, LMDB takes neither writes nor reads. */
  private isStuck(): boolean {
    try {
      this.root.resetReadTxn();
      this.stores.about?.doesExist(versionKey);
      return false;
    } catch {
      return true;
    }
  }
  /** Reads go on in an environment that is opened anew; what waits is told that it failed, since the old one may say nothing more. */
  private async reopen(reason: string): Promise<void> {
    for (const tell of this.waiting) tell(new StoreFailure(reason));
    const closed = await this.closeInTime();
    if (closed) [this.root, this.stores] = openEnvironment(this.directory, false);
  }
  private async closeInTime(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => { timer = setTimeout(resolve, closeMsMax, false); });
    const closed = await Promise.race([this.root.close().then(() => true, () => false), late]);
    clearTimeout(timer);
    return closed;
  }

  private checkRoom(): void {
    const now = performance.now();
    if (now - this.roomLooked < roomLookMs) return;
    const room = this.roomBytes();
    if (room < roomBytesToBegin) throw new LakeError('storage-full', { fault: `${Math.floor(room / 1024)} KiB are left` });
    if (room > roomBytesPlenty) this.roomLooked = now;
  }

  /** LMDB tells of a full disk as an I/O error, since the write came out short: the room that is left tells which it was. */
  private roomBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.directory);
      return bavail * bsize;
    } catch {
      return Infinity;
    }
  }

  /** Reads every value of a table and tells of each that fails its checksum; `look`: of each key, too, that is not found where it belongs. Answers with the number of rows. */
  verify(table: TableName, onFault: (fault: string) => void, look = false): number {
    const store = this.stores[table];
    let rows = 0;
    for (const { key, value } of store?.getRange() ?? []) {
      rows++;
      if (look && !store!.doesExist(key)) onFault(new LakeError('table-corrupt', { table, key: Buffer.from(key).toString('hex'), fault: 'the way to it is damaged' }).message);
      try {
        unframe(table, key, value);
      } catch (error) {
        onFault((error as Error).message);
      }
    }
    return rows;
  }

  /** Bytes of the environment's file. */
  fileBytes(): number { return statSync(join(this.directory, 'data.mdb')).size; }
  /** Number of rows, from the table's own header. */
  count(table: TableName): number { return (this.stores[table]?.getStats() as { entryCount?: number } | undefined)?.entryCount ?? 0; }

  async close(): Promise<void> {
    await this.reopening?.catch(nothing);
    if (this.failure === undefined) await this.root.close();
    else await this.closeInTime();
  }
}

/** A lake of an earlier version, opened for reading alone, may lack one. */
type Stores = Readonly<Record<TableName, Store | undefined>>;

/** @throws lake-unreadable, storage-full */
const openEnvironment = (directory: string, readOnly: boolean): [RootDatabase<Buffer, Uint8Array>, Stores] => {
  prepareTables(directory, { readOnly });
  const root = open<Buffer, Uint8Array>({ path: directory, noSubdir: false, maxDbs: tableNames.length + 4, encoding: 'binary', keyEncoding: 'binary', overlappingSync: false, readOnly });
  try {
    return [root, Object.fromEntries(tableNames.map((name) => [name, root.openDB<Buffer, Uint8Array>(name, { encoding: 'binary', keyEncoding: 'binary' })])) as Stores];
  } catch (error) {
    void root.close();
    throw error;
  }
};

const nothing = (): void => undefined;

/** lmdb rejects with "Commit failed" and puts the cause into a promise that may never settle. */
const commitFault = async (error: unknown): Promise<string> => {
  const inner = (error as { commitError?: Promise<unknown> }).commitError;
  const own = error instanceof Error ? error.message : String(error);
  if (!inner) return own;
  const cause = await Promise.race([
    Promise.resolve(inner).then(() => own, (e: unknown) => (e instanceof Error ? e.message : String(e))),
    new Promise<string>((resolve) => { setTimeout(resolve, 500, own).unref(); }),
  ]);
  return cause;
};

const framed = (table: TableName, key: Uint8Array, payload: Uint8Array): Buffer => {
  assert(key.length <= 255);
  const value = Buffer.allocUnsafe(frame + key.length + payload.length);
  value[4] = key.length;
  value.set(key, frame);
  value.set(payload, frame + key.length);
  value.writeUInt32LE(crc32(value.subarray(4), seeds[table]), 0);
  return value;
};

const unframe = (table: TableName, key: Uint8Array, value: Buffer): Buffer => {
  const bytes = value.length;
  if (bytes < frame + key.length || value.readUInt32LE(0) !== crc32(value.subarray(4), seeds[table])) {
    throw new LakeError('table-corrupt', { table, key: Buffer.from(key).toString('hex'), fault: 'checksum does not match' });
  }
  if (value[4] !== key.length || !hasKey(value, key)) {
    throw new LakeError('table-corrupt', { table, key: Buffer.from(key).toString('hex'), fault: `the value belongs to key ${value.subarray(frame, frame + value[4]!).toString('hex')}` });
  }
  return value.subarray(frame + key.length);
};

const hasKey = (value: Uint8Array, key: Uint8Array): boolean => {
  for (let i = 0; i < key.length; i++) if (value[frame + i] !== key[i]) return false;
  return true;
};

/** The smallest key that is greater than all that begin with this prefix. */
const after = (prefix: Uint8Array): Buffer | undefined => {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    if (end[i]! < 0xff) {
      end[i]!++;
      return end.subarray(0, i + 1);
    }
  }
  return undefined;
};

/** What is thrown for a row that must be there, since another one names it. `key`: the id in hexadecimal digits. */
export const rowMissing = (table: TableName, key: string): LakeError => new LakeError('table-corrupt', { table, key, fault: 'the row is missing' });
