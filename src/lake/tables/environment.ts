/**
 * The LMDB environment that holds the tables; nothing else imports lmdb. Values are bytes here: what they must look
 * like is said in tables.ts.
 *
 * Invariants:
 * - A transaction that `write` has resolved survives power loss: `overlappingSync: false` makes LMDB sync data pages
 *   and write its meta page with O_DSYNC before the commit is told (seen with strace); the environment is never a write
 *   map.
 * - A transaction that fails leaves the tables as they were. Without room for it the lake goes on (`storage-full`); any
 *   other fault makes the store unsound.
 * - This process is the environment's only writer (lock.ts).
 */
import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RangeOptions as LmdbRange, type RootDatabase } from 'lmdb';
import { LakeError, messageOf } from '../../errors.ts';
import { prepareTables } from './head.ts';
import { type TableName, tableNames } from './table-rows.ts';

type Store = Database<Buffer, Uint8Array>;
/** A lake of an earlier version, opened for reading alone, may lack one. */
type Stores = Readonly<Record<TableName, Store | undefined>>;

/** Why the store takes no more writes: the disk failed under a transaction. What is there can still be read. */
export class StoreFailure extends Error {}

/** A value to be put, or none: the row goes. */
export interface ValueChange {
  readonly table: TableName;
  readonly key: Uint8Array;
  readonly value: Buffer | undefined;
}
/** A row as LMDB has it: `value` is the whole frame, with checksum and key. */
export interface Row {
  readonly key: Uint8Array;
  readonly value: Buffer;
}
/** Keys that begin with `prefix`, from `start` (included) on, in their order or from the end. */
export interface RangeOptions {
  readonly prefix?: Uint8Array;
  readonly start?: Uint8Array;
  readonly limit?: number;
  readonly reverse?: boolean;
}

/** Less room than this on the disk makes a failed transaction one that had no room. */
const roomBytesMin = 4 << 20;
/**
 * With less, none is begun: LMDB's binding writes beyond its memory when it tells of a page that was not written. With
 * plenty it is looked at again after some time only.
 */
const roomBytesToBegin = 1 << 20;
const roomBytesPlenty = 256 << 20;
const roomLookMs = 200;
/** What LMDB tells of a table. */
interface PageCounts {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}
const headPages = 2;
const pagesOf = (of: PageCounts): number => of.treeBranchPageCount + of.treeLeafPageCount + of.overflowPages;
/** An environment that is stuck may not close. */
const closeMsMax = 2000;

interface EnvironmentOptions {
  readonly readOnly?: boolean;
}
/** One open LMDB environment with a database for each table. */
export class Environment {
  private root: RootDatabase<Buffer, Uint8Array>;
  private stores: Stores;
  private readonly directory: string;
  private reasonFailed: string | undefined;
  private roomLooked = -Infinity;

  /** Opens or makes the environment in this directory. @throws lake-unreadable, storage-full */
  constructor(directory: string, { readOnly = false }: EnvironmentOptions = {}) {
    this.directory = directory;
    [this.root, this.stores] = openEnvironment(directory, { readOnly });
  }

  /** Why it takes no more writes. */
  get failure(): string | undefined {
    return this.reasonFailed;
  }
  /** From here on it takes none. The first reason stays. */
  fail(reason: string): void {
    this.reasonFailed ??= reason;
  }

  /** A copy of the value. */
  get(table: TableName, key: Uint8Array): Buffer | undefined {
    const store = this.stores[table];
    const shared = store?.getBinaryFast(key);
    if (!store || !shared) return undefined;
    // Of the buffer that all reads share only this much is the value.
    const value = Buffer.allocUnsafe((store as unknown as { readonly lastSize: number }).lastSize);
    value.set(new Uint8Array(shared.buffer, shared.byteOffset, value.length));
    return value;
  }
  /** Whether the environment has the table at all: one that was opened read-only makes none. */
  isThere(table: TableName): boolean {
    return this.stores[table] !== undefined;
  }
  has(table: TableName, key: Uint8Array): boolean {
    return this.stores[table]?.doesExist(key) ?? false;
  }

  *range(table: TableName, options: RangeOptions = {}): IterableIterator<Row> {
    const low = options.start ?? options.prefix;
    const high = options.prefix && after(options.prefix);
    const bounds: LmdbRange = options.reverse ? { reverse: true } : {};
    const [start, end] = options.reverse ? [high, low] : [low, high];
    if (start) bounds.start = start;
    if (end) bounds.end = end;
    if (options.limit !== undefined) bounds.limit = options.limit + (options.reverse ? 1 : 0);
    for (const row of this.stores[table]?.getRange(bounds) ?? []) {
      // A reversed range begins with its upper bound itself, which no prefix includes.
      if (options.prefix && Buffer.compare(row.key.subarray(0, options.prefix.length), options.prefix) !== 0) continue;
      yield row;
    }
  }

  /**
   * Does all changes in one durable transaction, one at a time. @throws StoreFailure when the disk failed (no later
   * write is tried), storage-full when there is no room (nothing was written)
   */
  async write(changes: readonly ValueChange[]): Promise<void> {
    this.checkFailure();
    this.checkRoom();
    const apply = (): void => {
      for (const { table, key, value } of changes) {
        if (value) void this.stores[table]!.put(key, value);
        else void this.stores[table]!.remove(key);
      }
    };
    try {
      const going = this.root.transaction(apply);
      this.hearBatch();
      await going;
    } catch (error) {
      await this.failed(error);
    }
    // Who reads in this turn still sees what was there when the turn began.
    this.root.resetReadTxn();
  }
  /** @throws StoreFailure */
  checkFailure(): void {
    if (this.reasonFailed !== undefined) throw new StoreFailure(this.reasonFailed);
  }

  /**
   * lmdb may make a promise of its own for the turn's batch; when the commit fails and nobody hears of that one, it
   * ends the process.
   */
  private hearBatch(): void {
    setImmediate(() => {
      this.root.committed.then(nothing, nothing);
    });
  }

  private async failed(error: unknown): Promise<never> {
    // At once, before anything else is asked of it.
    const isStuck = this.isStuck();
    if (isStuck) this.fail(messageOf(error));
    const [reason] = await Promise.all([commitFault(error), isStuck ? this.reopen() : undefined]);
    if (!isStuck && (isNoRoom(reason) || this.roomBytes() < roomBytesMin))
      throw new LakeError('storage-full', { fault: reason }, { cause: error });
    this.reasonFailed = reason;
    throw new StoreFailure(reason, { cause: error });
  }

  /** When the page that names the newest state could not be written, LMDB takes neither writes nor reads. */
  private isStuck(): boolean {
    try {
      this.root.resetReadTxn();
      this.stores.about?.doesExist(anyKey);
      return false;
    } catch {
      return true;
    }
  }
  /** Reads go on in an environment that is opened again. */
  private async reopen(): Promise<void> {
    const closed = await this.closeInTime();
    if (closed) [this.root, this.stores] = openEnvironment(this.directory, { readOnly: false });
  }
  private async closeInTime(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, closeMsMax, false);
    });
    const closed = await Promise.race([
      this.root.close().then(
        () => true,
        () => false,
      ),
      late,
    ]);
    clearTimeout(timer);
    return closed;
  }

  /** @throws storage-full */
  checkRoom(): void {
    const now = performance.now();
    if (now - this.roomLooked < roomLookMs) return;
    const room = this.roomBytes();
    if (room < roomBytesToBegin)
      throw new LakeError('storage-full', { fault: `${Math.floor(room / 1024)} KiB are left` });
    if (room > roomBytesPlenty) this.roomLooked = now;
  }

  /**
   * LMDB tells of a full disk as an I/O error, since the write came out short: the room that is left tells which it
   * was.
   */
  private roomBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.directory);
      return bavail * bsize;
    } catch {
      return Infinity;
    }
  }

  /** Bytes of its file; 0 where somebody removed it. */
  fileBytes(): number {
    return statSync(join(this.directory, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0;
  }
  /** Bytes of the pages that hold rows; the rest of the file is free for later ones. */
  usedBytes(): number {
    let pages = headPages;
    for (const store of [this.root, ...Object.values(this.stores)])
      if (store) pages += pagesOf(store.getStats() as PageCounts);
    return pages * (this.root.getStats() as PageCounts).pageSize;
  }
  /** Number of rows, from the table's own header. */
  count(table: TableName): number {
    return (this.stores[table]?.getStats() as { entryCount?: number } | undefined)?.entryCount ?? 0;
  }

  async close(): Promise<void> {
    if (this.reasonFailed === undefined) await this.root.close();
    else await this.closeInTime();
  }
}

/** Whether a fault of the disk says that there is no room left. */
export const isNoRoom = (reason: string): boolean => /ENOSPC|MDB_MAP_FULL|No space left|EDQUOT|quota/i.test(reason);

/** @throws lake-unreadable, storage-full */
const openEnvironment = (
  directory: string,
  { readOnly }: Required<EnvironmentOptions>,
): [RootDatabase<Buffer, Uint8Array>, Stores] => {
  prepareTables(directory, { readOnly });
  const root = open<Buffer, Uint8Array>({
    path: directory,
    noSubdir: false,
    maxDbs: tableNames.length + 4,
    encoding: 'binary',
    keyEncoding: 'binary',
    overlappingSync: false,
    readOnly,
  });
  try {
    const openStores = (): Stores =>
      Object.fromEntries(
        tableNames.map((name) => [
          name,
          root.openDB<Buffer, Uint8Array>(name, { encoding: 'binary', keyEncoding: 'binary' }),
        ]),
      ) as Stores;
    // Those of a new lake are made in one transaction: one each would be synced by itself.
    return [root, readOnly ? openStores() : root.transactionSync(openStores)];
  } catch (error) {
    void root.close();
    throw error;
  }
};

const anyKey = Buffer.from('any');
const nothing = (): void => undefined;

/** lmdb rejects with "Commit failed" and puts the cause into a promise that may never settle. */
const commitFault = (error: unknown): Promise<string> => {
  const inner = (error as { commitError?: Promise<unknown> }).commitError;
  const own = messageOf(error);
  return Promise.race([
    Promise.resolve(inner).then(() => own, messageOf),
    new Promise<string>((resolve) => {
      setTimeout(resolve, 500, own).unref();
    }),
  ]);
};

/** The smallest key that is greater than all that begin with this prefix. */
const after = (prefix: Uint8Array): Buffer | undefined => {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    if (end[i] < 0xff) {
      end[i]++;
      return end.subarray(0, i + 1);
    }
  }
  return undefined;
};
