/**
 * The tables of the lake: what the log says (log/log.ts), as rows by key. LMDB (environment.ts) is given what the log
 * has in batches, and says up to which record it has it.
 *
 * Invariants:
 * - What `write` has resolved survives power loss: it is in the log. LMDB can be made again from it (recovery.ts).
 * - Every value in LMDB carries a CRC-32 and its key: `crc u32 | key length u8 | key | payload`; the checksum covers
 *   table name, key and payload. A value that fails it, or lies under another key, is never returned: `table-corrupt`
 *   names table and key.
 * - `check` sees all transactions that were taken before, those too that are on their way to the disk; they become
 *   durable in that order, or none of those behind one that failed does. It must not write, and when it throws nothing
 *   is written. Who reads outside of one sees what is durable.
 * - This process is the only writer (lock.ts).
 */
import assert from 'node:assert';
import { LakeError, messageOf } from '../../errors.ts';
import { Environment, isNoRoom, type RangeOptions, StoreFailure, type Row } from './environment.ts';
import { killPoint } from '../kill-points.ts';
import { changesLength } from '../log/changes.ts';
import { decodePlace, encodePlace, type LogPlace } from '../log/format.ts';
import type { Log } from '../log/log.ts';
import type { RecordCopy } from '../store/store.types.ts';
import { newestOf, RecentRows } from './recent-rows.ts';
import { rowsOf, unframe, valueOf } from './row-frames.ts';
import { decodeRow, type RowOf } from './rows.ts';
import { type Change, isKey, placeKey, rowFault, type TableName, versionKey } from './table-rows.ts';
import { formatVersion, versionOf, versionRow } from './versions.ts';

export { StoreFailure } from './environment.ts';

export { type Change, type Put, type Remove, rowFault, rowMissing, type TableName, tableNames } from './table-rows.ts';

/** A row whose checksum was verified. */
export interface KeyValue {
  readonly key: Buffer;
  readonly payload: Buffer;
}
/** One that an encoder made: `row` is what it says. */
export interface SoundRow<T extends TableName> extends KeyValue {
  readonly row: RowOf<T>;
}
/** What tables are made of. */
interface TablesParts {
  readonly environment: Environment;
  /** Absent: they are read only, or what is written goes into LMDB alone. */
  readonly log?: Log;
  /** What the log has and LMDB does not, oldest first. */
  readonly records?: readonly (readonly Change[])[];
  /** Bytes of records after which LMDB is given what it does not have, at the latest. */
  readonly applyBytes?: number | undefined;
  /** They are a replica's. */
  readonly followed?: Followed | undefined;
}
/** Tables whose rows another service's log has: only what is derived from them is written here. */
export interface Followed {
  /** Up to where they have that log. */
  readonly place: LogPlace;
  /** Throws why nothing else is written. */
  readonly refuse: () => never;
}
/** What a replica writes for itself: made again where it is lost, so that it need not be durable at once. */
const derivedTables: readonly TableName[] = ['iceberg', 'lineage'];
/** Tables that are each service's own: a replica does not take them from the log that it follows. */
export const isOwnOfReplica = (table: TableName): boolean => table === 'iceberg';
/** How a transaction is written. */
interface WriteOptions {
  /** Nobody else is waiting to write: on a disk that flushes quickly the log is written in this thread, at once. */
  readonly alone?: boolean;
  /** It makes room: on a full disk it goes into what the log has left. */
  readonly frees?: boolean;
  /** Called when it has its place behind those before it, unless it is durable at once. */
  readonly placed?: (() => void) | undefined;
}

/** A write that takes longer than this holds up the thread that waits for it more than a change of threads would. */
const slowMs = 2;
/** After one that was slow so many go the other way, twice as many each time, half as many after a quick one. */
const pauseMin = 8;
const pauseMax = 1024;
/** What the log has is given to LMDB after this time, or when it is so much. */
const applyMs = 200;
const applyBytesDefault = 256 << 10;
const recentBytesMax = 32 << 20;

interface Taken {
  readonly changes: readonly Change[];
  readonly resolve: () => void;
  readonly reject: (fault: unknown) => void;
}

/** The open tables of one lake. */
export class Tables {
  private readonly environment: Environment;
  private log: Log | undefined;
  private followed: Followed | undefined;
  private readonly applyBytes: number;
  /** Durable in the log, not in LMDB. */
  private readonly recent = new RecentRows();
  /** Of the last record whose changes `recent` or LMDB have: the log is ahead by what waits for the bucket. */
  private reached: LogPlace | undefined;
  /** Bytes of records that LMDB does not have, about. */
  private recentBytes = 0;
  /** Taken, on their way to the disk. */
  private readonly pending = new RecentRows();
  private queue: Taken[] = [];
  /** Groups that the log has, and the bucket not yet; their end. */
  private copying = 0;
  private copies: Promise<unknown> = Promise.resolve();
  private pumping: Promise<void> | undefined;
  private applying: Promise<void> = Promise.resolve();
  private applyTimer: NodeJS.Timeout | undefined;
  private isApplying = false;
  private checking = false;
  /** A row was damaged: the next start is to look at all of them. */
  private isDamaged = false;
  /** Transactions that are not to be done at once, since the last one that was took long. */
  private pausing = 0;
  private pause = pauseMin;
  /**
   * A transaction was written at once in this turn of the event loop: others that come in it go together. Without, 64
   * clients of a disk that flushes within 0.1 ms do a third of the commits: each waits for those before it to be flushed.
   */
  private wroteInTurn = false;
  private readonly turnEnded = (): void => {
    this.wroteInTurn = false;
  };
  /** Told when LMDB could not be given what the log has. */
  lagged: ((fault: unknown) => void) | undefined;
  /** Where records go besides. */
  copy: RecordCopy | undefined;
  /** Told when LMDB has been given what the log had. */
  applied: (() => void) | undefined;
  /** Told when transactions that were taken do not come; nothing else is on its way then. */
  refused: (() => void) | undefined;

  constructor({ environment, log, records = [], applyBytes = applyBytesDefault, followed }: TablesParts) {
    this.environment = environment;
    this.log = log;
    this.followed = followed;
    this.reached = log?.place ?? followed?.place;
    this.applyBytes = applyBytes;
    for (const changes of records) this.recent.put(changes);
    if (log && records.length > 0) this.applySoon();
  }

  /** The same rows, with what records changed behind them; read only. */
  with(records: readonly (readonly Change[])[]): Tables {
    return new Tables({ environment: this.environment, records });
  }

  /** Of its rows' layout; 0: it does not say. */
  version(): number {
    return Number(this.get('about', versionKey)?.toString('latin1') ?? 0);
  }
  /**
   * Makes LMDB say, durably, that the layout is one that older builds refuse: before what they cannot read is written.
   */
  async raiseVersion(version: number): Promise<void> {
    if (this.version() >= version) return;
    this.applying = this.applying
      .catch(() => undefined)
      .then(() => this.environment.write([valueOf(versionRow(version))]));
    await this.applying;
  }
  /** @throws lake-newer */
  checkVersion(directory: string): void {
    const version = this.version();
    if (version > formatVersion) throw new LakeError('lake-newer', { directory, version, versionMax: formatVersion });
  }
  /** Up to where readers see the log. */
  get seen(): LogPlace {
    return this.reached!;
  }
  /** Up to where LMDB has the log; undefined if it does not say. */
  place(): LogPlace | undefined {
    try {
      const row = this.get('about', placeKey);
      return row && decodePlace(row);
    } catch {
      return undefined;
    }
  }

  /** What was written to the key last, as far as who asks may know: undefined if LMDB has it. */
  private own(table: TableName, key: Uint8Array): Change | undefined {
    return (this.checking ? this.pending.get(table, key) : undefined) ?? this.recent.get(table, key);
  }

  /** A copy of the payload, or undefined. @throws table-corrupt */
  get(table: TableName, key: Uint8Array): Buffer | undefined {
    const own = this.own(table, key);
    if (own) return own.payload && Buffer.from(own.payload);
    const value = this.environment.get(table, key);
    return value && this.unframed(table, key, value);
  }
  private unframed(table: TableName, key: Uint8Array, value: Buffer): Buffer {
    try {
      return unframe(table, key, value);
    } catch (fault) {
      this.isDamaged = true;
      throw fault;
    }
  }
  /** Whether LMDB has the table at all. */
  isThere(table: TableName): boolean {
    return this.environment.isThere(table);
  }
  has(table: TableName, key: Uint8Array): boolean {
    if (!isKey(key)) return false;
    const own = this.own(table, key);
    return own ? own.payload !== undefined : this.environment.has(table, key);
  }

  /**
   * Rows whose key begins with `prefix`, in key order, from `start` (included) on. Read at once: for ranges with a
   * known limit. @throws table-corrupt
   */
  rows(table: TableName, options: RangeOptions = {}): KeyValue[] {
    const found: KeyValue[] = [];
    for (const { key, value } of this.range(table, options))
      found.push({ key: Buffer.from(key), payload: this.unframed(table, key, value) });
    return found;
  }
  /**
   * The rows whose checksums hold and that an encoder made, one by one, all in one read: for whoever is alone with the
   * tables.
   */
  *soundRows<T extends TableName>(
    table: T,
    options: Pick<RangeOptions, 'prefix' | 'reverse'> = {},
  ): IterableIterator<SoundRow<T>> {
    for (const { key, value } of this.range(table, options)) {
      const own = Buffer.from(key);
      try {
        const payload = unframe(table, own, Buffer.from(value));
        yield { key: own, payload, row: decodeRow(table, own, payload) };
      } catch {
        continue;
      }
    }
  }
  /**
   * Looks at every row of a table: tells of each that fails its checksum, is not found by its key or, with `look`, that
   * no encoder made. Answers with the number of rows.
   */
  verify(table: TableName, onFault: (fault: string) => void, look = false): number {
    let rows = 0;
    for (const { key, value } of this.range(table)) {
      rows++;
      // A page above may be damaged so that a walk goes through all rows, and a search goes past one.
      if (!this.has(table, key))
        onFault(rowFault(table, Buffer.from(key).toString('hex'), 'the way to it is damaged').message);
      try {
        const payload = unframe(table, key, value);
        if (look) decodeRow(table, Buffer.from(key), payload);
      } catch (error) {
        onFault((error as Error).message);
      }
    }
    return rows;
  }
  /** Keys alone, values unread. */
  keys(table: TableName, options: RangeOptions = {}): Buffer[] {
    const found: Buffer[] = [];
    for (const { key } of this.range(table, options)) found.push(Buffer.from(key));
    return found;
  }

  /** LMDB's rows and those that it does not have yet, in one order. */
  private *range(table: TableName, options: RangeOptions = {}): IterableIterator<Row> {
    const recent = this.recent.range(table, options);
    const pending = this.checking ? this.pending.range(table, options) : [];
    const own = pending.length === 0 ? recent : newestOf(recent, pending, options.reverse);
    if (own.length === 0) return yield* this.environment.range(table, options);
    let left = options.limit ?? Infinity;
    for (const row of this.merged(table, own, { ...options, ...(left < Infinity && { limit: left + own.length }) })) {
      if (left-- <= 0) return;
      yield row;
    }
  }
  private *merged(table: TableName, own: readonly Change[], options: RangeOptions): IterableIterator<Row> {
    const order = options.reverse ? -1 : 1;
    let at = 0;
    for (const row of this.environment.range(table, options)) {
      let compared = -1;
      for (; at < own.length && (compared = order * Buffer.compare(own[at]!.key, row.key)) < 0; at++)
        yield* rowsOf(own[at]!);
      // One of the same key takes its place.
      if (at === own.length || compared > 0) yield row;
    }
    for (; at < own.length; at++) yield* rowsOf(own[at]!);
  }

  /**
   * Runs `check`, then writes all changes in one durable transaction. What `check` throws comes out as it is. Payloads
   * are kept as they are: they must not change any more. `changes`: called when nothing was refused, in the order in
   * which transactions become durable, if they are not known before.
   * @throws StoreFailure when the disk failed (no later write is tried), storage-full when there is no room (nothing
   * was written)
   */
  async write(
    changes: readonly Change[] | (() => readonly Change[]),
    check?: () => void,
    options: WriteOptions = {},
  ): Promise<void> {
    while (this.isBehind) await this.apply();
    this.environment.checkFailure();
    if (this.followed) return this.writeDerived(this.followed, changes, check);
    this.copy?.check();
    if (!options.frees) this.environment.checkRoom();
    killPoint('transaction: asked');
    this.check(check);
    const made = typeof changes === 'function' ? changes() : changes;
    if (made.length === 0) return;
    // What is in the log must go into LMDB.
    assert(
      made.every(({ key }) => isKey(key)),
      'keys are of 1 to 255 bytes',
    );
    killPoint('transaction: in it');
    const { log } = this;
    if (!log) return this.environment.write(made.map(valueOf));
    const isAlone =
      options.alone === true && !this.pumping && this.pausing === 0 && !this.wroteInTurn && this.copy?.waits !== true;
    if (isAlone) {
      log.add(made);
      if (log.fits()) this.writeNow(log, made);
      else {
        log.clear();
        await this.taken(made);
      }
    } else {
      this.pausing = Math.max(0, this.pausing - 1);
      const durable = this.taken(made);
      options.placed?.();
      await durable;
    }
    killPoint('transaction: durable');
  }
  private writeDerived(
    { refuse }: Followed,
    changes: readonly Change[] | (() => readonly Change[]),
    check: (() => void) | undefined,
  ): void {
    if (typeof changes === 'function' || changes.some(({ table }) => !derivedTables.includes(table))) return refuse();
    check?.();
    this.remember({ changes });
  }
  /** Whether it is a replica's. */
  get isFollowing(): boolean {
    return this.followed !== undefined;
  }
  /**
   * A replica's: takes what the log that it follows has, up to a place. Who reads sees all of it from here on; LMDB has
   * it soon.
   */
  follow(changes: readonly Change[], place: LogPlace): void {
    this.reached = place;
    const version = versionOf(changes);
    this.remember({ changes: version > this.version() ? [...changes, versionRow(version)] : changes });
  }
  /** A replica's: LMDB gets all that it does not have. @throws StoreFailure */
  async flush(): Promise<void> {
    while (this.recent.size > 0) await this.apply();
  }
  /** From here on it is no replica's any more: what is written goes into a log, which begins where these tables are. */
  lead(log: Log, copy: RecordCopy): void {
    this.log = log;
    this.reached = log.place;
    this.copy = copy;
    this.followed = undefined;
  }
  /** Resolves when a replica can take more. @throws StoreFailure when the disk failed */
  async room(): Promise<void> {
    while (this.isBehind) await this.apply();
    this.environment.checkFailure();
    this.environment.checkRoom();
  }
  /** LMDB is far behind: what it does not have is held in memory. */
  private get isBehind(): boolean {
    return this.recentBytes > recentBytesMax && this.environment.failure === undefined;
  }
  private check(check: (() => void) | undefined): void {
    this.checking = true;
    try {
      check?.();
    } finally {
      this.checking = false;
    }
  }

  /** In this thread: the log's record has the changes already. */
  private writeNow(log: Log, changes: readonly Change[]): void {
    const began = performance.now();
    try {
      log.writeSync();
    } catch (fault) {
      log.clear();
      const error = this.failed(fault);
      this.refused?.();
      throw error;
    }
    this.copy?.add(log.place, [changes]);
    this.keep([{ changes }], log.place);
    this.wroteInTurn = true;
    setImmediate(this.turnEnded);
    if (performance.now() - began <= slowMs) this.pause = Math.max(pauseMin, this.pause / 2);
    else {
      this.pausing = this.pause;
      this.pause = Math.min(pauseMax, this.pause * 2);
    }
  }
  private taken(changes: readonly Change[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.pending.put(changes);
      this.queue.push({ changes, resolve, reject });
      this.pumping ??= this.pump();
    });
  }

  /** Writes what waits, as much as a record holds at a time, until nothing does. */
  private async pump(): Promise<void> {
    // What comes in this turn goes together.
    await Promise.resolve();
    while (this.queue.length > 0) await this.writeGroup(this.nextGroup());
    // In the step that found nothing: what is taken from here on begins again.
    this.pumping = undefined;
  }
  private async writeGroup(group: readonly Taken[]): Promise<void> {
    const log = this.log!;
    try {
      for (const { changes } of group) log.add(changes);
      await log.write();
    } catch (fault) {
      log.clear();
      await this.copies;
      this.refuse(group, fault);
      return;
    }
    const { place } = log;
    const record = group.map(({ changes }) => changes);
    const { copy } = this;
    copy?.add(place, record);
    if (copy?.waits) this.settleWhenCopied(copy, group, place);
    else {
      this.keep(group, place);
      this.settle(group);
    }
  }
  /** Nobody sees it before the bucket has it. The next group need not wait for that: they come there in their order. */
  private settleWhenCopied(copy: RecordCopy, group: readonly Taken[], place: LogPlace): void {
    this.copying++;
    const copied = copy.settled().then(
      () => {
        this.copying--;
        this.keep(group, place);
        this.settle(group);
      },
      (fault: unknown) => {
        this.copying--;
        this.refuse(group, fault);
      },
    );
    this.copies = Promise.all([this.copies, copied]);
  }
  /** Those behind were checked against what does not come. */
  private refuse(group: readonly Taken[], fault: unknown): void {
    this.settle([...group, ...this.queue.splice(0)], this.failed(fault));
    if (this.copying === 0) this.refused?.();
  }
  private settle(group: readonly Taken[], error?: unknown): void {
    for (const { changes, resolve, reject } of group) {
      this.pending.drop(changes);
      if (error === undefined) resolve();
      else reject(error);
    }
  }
  private nextGroup(): readonly Taken[] {
    const { queue } = this;
    const { groupBytesMax } = this.log!;
    let bytes = changesLength(queue[0]!.changes);
    let end = 1;
    for (; end < queue.length; end++) {
      bytes += changesLength(queue[end]!.changes);
      if (bytes > groupBytesMax) break;
    }
    return queue.splice(0, end);
  }
  /** A record is durable: who reads sees what it changes, and LMDB is given it with its number. */
  private keep(record: readonly Pick<Taken, 'changes'>[], place: LogPlace): void {
    this.reached = place;
    this.remember(...record);
  }
  private remember(...record: readonly Pick<Taken, 'changes'>[]): void {
    for (const { changes } of record) {
      this.recent.put(changes);
      this.recentBytes += changesLength(changes);
    }
    if (this.recentBytes >= this.applyBytes) this.applySoon();
    else this.applyLater();
  }

  /** The error that tells of a fault of the disk. */
  private failed(fault: unknown): unknown {
    if (fault instanceof StoreFailure || fault instanceof LakeError) return fault;
    const reason = messageOf(fault);
    if (isNoRoom(reason)) return new LakeError('storage-full', { fault: reason }, { cause: fault });
    this.environment.fail(reason);
    return new StoreFailure(reason, { cause: fault });
  }

  /** What cannot be done now stays in the log: the next write tries again, or hears that the store failed. */
  private applySoon(): void {
    if (!this.isApplying)
      this.apply().catch((fault: unknown) => {
        this.lagged?.(fault);
      });
  }
  private applyLater(): void {
    this.applyTimer ??= setTimeout(() => {
      this.applySoon();
    }, applyMs).unref();
  }
  /** Gives LMDB what it does not have, in one transaction of its own. */
  private apply(): Promise<void> {
    this.applying = this.applying.catch(() => undefined).then(() => this.doApply());
    return this.applying;
  }
  private async doApply(): Promise<void> {
    clearTimeout(this.applyTimer);
    this.applyTimer = undefined;
    const version = versionRow(this.version());
    const { changes: rows, held } = this.recent.all();
    const place = this.reached!;
    if (rows.length === 0) return;
    const bytes = this.recentBytes;
    this.isApplying = true;
    this.recentBytes = 0;
    try {
      await this.environment.write([...rows, version, placeRow(place)].map(valueOf));
      killPoint('tables: written');
      this.recent.leave(held);
    } catch (fault) {
      this.recentBytes += bytes;
      throw fault;
    } finally {
      this.isApplying = false;
    }
    // What came meanwhile.
    if (this.recent.size > 0) this.applyLater();
    this.applied?.();
  }

  /** Why a transaction would be refused, for want of room or of its folder; undefined if it would not. */
  full(): string | undefined {
    try {
      this.environment.checkRoom();
      return this.log?.moved();
    } catch (fault) {
      return (fault as Error).message;
    }
  }

  /** Bytes of the environment's pages that hold rows. */
  usedBytes(): number {
    return this.environment.usedBytes();
  }
  /** Bytes of the environment's file. */
  fileBytes(): number {
    return this.environment.fileBytes();
  }
  /** Number of rows. */
  count(table: TableName): number {
    let count = this.environment.count(table);
    for (const { key, payload } of this.recent.of(table))
      count += Number(payload !== undefined) - Number(this.environment.has(table, key));
    return count;
  }

  /**
   * What LMDB lacks is given to it before; where that fails the next start does it. Answers whether LMDB has all, as
   * far as it is known.
   */
  async close(): Promise<boolean> {
    await this.pumping;
    await this.copies;
    const isWhole =
      (this.log !== undefined || this.followed !== undefined) &&
      this.environment.failure === undefined &&
      (await this.apply().then(
        () => true,
        () => false,
      ));
    await this.applying.catch(() => undefined);
    clearTimeout(this.applyTimer);
    await this.log?.close();
    await this.environment.close();
    return isWhole && !this.isDamaged;
  }
}

/** LMDB's rows alone, read only. */
export const openIndex = (folder: string): Tables =>
  new Tables({ environment: new Environment(folder, { readOnly: true }) });

/** What `read` makes of them, which are closed then. */
export const readIndex = async <T>(folder: string, read: (tables: Tables) => T | Promise<T>): Promise<T> => {
  const tables = openIndex(folder);
  try {
    return await read(tables);
  } finally {
    await tables.close();
  }
};

/** Says up to where LMDB has the log. */
export const placeRow = (place: LogPlace): Change => ({ table: 'about', key: placeKey, payload: encodePlace(place) });
