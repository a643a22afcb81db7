/**
 * The tables of the lake: durable in the journal at once (journal.ts), then in one LMDB environment (environment.ts).
 *
 * Invariants:
 * - What `write` has resolved survives power loss: it is in the journal, whose writes are synced, or in LMDB. A start does again what LMDB lacks.
 * - Every value in LMDB carries a CRC-32 and its key: `crc u32 | key length u8 | key | payload`; the checksum covers table name, key and payload.
 *   A value that fails it, or lies under another key, is never returned: `table-corrupt` names table and key.
 * - `check` sees all transactions that were taken before, those too that are on their way to the disk; they become durable in that order, or none of those behind one that failed does.
 *   It must not write, and when it throws nothing is written. Who reads outside of one sees what is durable.
 * - This process is the only writer (lock.ts).
 */
import assert from 'node:assert';
import { dirname } from 'node:path';
import { LakeError } from '../errors.ts';
import { changesLength } from './change-bytes.ts';
import { Environment, isNoRoom, type RangeOptions, StoreFailure, type Row } from './environment.ts';
import { decodeJournalEnd, encodeJournalEnd, type Journal, journalBegin, type JournalEnd, openJournal, readJournal } from './journal.ts';
import { killPoint } from './kill-points.ts';
import { newestOf, RecentRows } from './recent-rows.ts';
import { keyless, rowsOf, unframe, valueOf } from './row-frames.ts';
import { checkRow } from './rows.ts';
import { type Change, isKey, rowFault, type TableName, tableNames } from './table-rows.ts';

export { StoreFailure } from './environment.ts';

export { type Change, type Put, type Remove, rowFault, rowMissing, type TableName, tableNames } from './table-rows.ts';

/**
 * Layout of the rows; a lake of a newer one is refused. Since 2 there is the journal, without which a reader would miss the last commits; since 3 the lineage of rewritten
 * objects, which an older build would not add to.
 */
export const formatVersion = 3;
const versionKey = Buffer.from('format version');

/** Up to where LMDB has the journal. */
const journalKey = Buffer.from('journal');

/** A row whose checksum was verified. */
export interface KeyValue { readonly key: Buffer; readonly payload: Buffer }
/** `journalBytes`: length of a journal that is made. */
interface TablesOptions { readonly readOnly?: boolean; readonly journalBytes?: number }
/** How a transaction is written. */
interface WriteOptions {
  /** Nobody else is waiting to write: on a disk that flushes quickly the journal is written in this thread, at once. */
  readonly alone?: boolean;
}

/** A write that takes longer than this holds up the thread that waits for it more than a change of threads would. */
const slowMs = 2;
/** After one that was slow so many go the other way, twice as many each time, half as many after a quick one. */
const pauseMin = 8, pauseMax = 1024;
/** What the journal has is given to LMDB after this time, or when it fills so much of the journal. */
const applyMs = 200, applyShare = 0.5;

interface Taken { readonly changes: readonly Change[]; readonly resolve: () => void; readonly reject: (fault: unknown) => void }

/** The open tables of one lake. */
export class Tables {
  private readonly environment: Environment;
  private readonly journal: Journal | undefined;
  /** Durable in the journal, not in LMDB. */
  private readonly recent = new RecentRows();
  /** Of the last record whose changes `recent` has, or LMDB. */
  private recentEnd: JournalEnd = journalBegin;
  /** Taken, on their way to the disk. */
  private readonly pending = new RecentRows();
  private queue: Taken[] = [];
  private pumping: Promise<void> | undefined;
  private applying: Promise<void> = Promise.resolve();
  private applyTimer: NodeJS.Timeout | undefined;
  private isApplying = false;
  private checking = false;
  /** LMDB says what it has of the journal: before that no record may be written. */
  private isFollowed = false;
  /** Transactions that are not to be done at once, since the last one that was took long. */
  private pausing = 0;
  private pause = pauseMin;
  /** What is wrong with the journal: tables that are open for reading alone have the records before. */
  readonly journalFault: string | undefined;
  /** Told of each transaction's changes once they are durable. Must neither throw nor take time: acknowledgements wait behind it. */
  written: ((changes: readonly Change[]) => void) | undefined;
  /** Told when LMDB could not be given what the journal has. */
  lagged: ((fault: unknown) => void) | undefined;

  /** Opens or makes the tables in this directory. @throws lake-newer, lake-unreadable, storage-full */
  constructor(directory: string, options: TablesOptions = {}) {
    this.environment = new Environment(directory, tableNames, options.readOnly ?? false);
    try {
      this.checkVersion(directory);
      const row = this.get('about', journalKey), tablesEnd = row && decodeJournalEnd(row), { records, end, fault } = readJournal(directory, tablesEnd);
      for (const changes of records) this.recent.put(changes);
      this.recentEnd = end;
      this.journalFault = fault;
      this.isFollowed = row !== undefined;
      if (options.readOnly) return;
      if (fault !== undefined) throw new LakeError('lake-unreadable', { directory: dirname(directory), fault });
      this.journal = openJournal({ directory, end, tablesEnd: tablesEnd ?? end, ...(options.journalBytes !== undefined && { bytes: options.journalBytes }) });
    } catch (error) {
      void this.environment.close();
      throw error;
    }
    if (this.recent.size > 0) this.applySoon();
  }

  private checkVersion(directory: string): void {
    const row = this.get('about', versionKey);
    if (row === undefined) return;
    const version = Number(row.toString('latin1'));
    if (version <= formatVersion) return;
    throw new LakeError('lake-newer', { directory, version, versionMax: formatVersion });
  }

  /** Marks an environment with the version of its rows, in LMDB itself, before anything else is written; answers whether it was new, so that its folder is still to be made durable. */
  async initialize(): Promise<boolean> {
    const row = this.get('about', versionKey), payload = Buffer.from(String(formatVersion));
    if (row?.equals(payload)) return false;
    await this.apply([{ table: 'about', key: versionKey, payload }]);
    return row === undefined;
  }

  /** What was written to the key last, as far as who asks may know: undefined if LMDB has it. */
  private own(table: TableName, key: Uint8Array): Change | undefined { return (this.checking ? this.pending.get(table, key) : undefined) ?? this.recent.get(table, key); }

  /** A copy of the payload, or undefined. @throws table-corrupt */
  get(table: TableName, key: Uint8Array): Buffer | undefined {
    const own = this.own(table, key);
    if (own) return own.payload && Buffer.from(own.payload);
    const value = this.environment.get(table, key);
    return value && unframe(table, key, value);
  }
  has(table: TableName, key: Uint8Array): boolean {
    if (!isKey(key)) return false;
    const own = this.own(table, key);
    return own ? own.payload !== undefined : this.environment.has(table, key);
  }

  /** Rows whose key begins with `prefix`, in key order, from `start` (included) on. Read at once: for ranges with a known limit. @throws table-corrupt */
  rows(table: TableName, options: RangeOptions = {}): KeyValue[] {
    const found: KeyValue[] = [];
    for (const { key, value } of this.range(table, options)) found.push({ key: Buffer.from(key), payload: unframe(table, key, value) });
    return found;
  }
  /** The rows whose checksums hold and that an encoder made, one by one, all in one read: for whoever is alone with the tables. */
  *soundRows(table: TableName, options: Pick<RangeOptions, 'prefix' | 'reverse'> = {}): IterableIterator<KeyValue> {
    for (const { key, value } of this.range(table, options)) {
      const own = Buffer.from(key);
      let payload: Buffer;
      try {
        payload = unframe(table, own, Buffer.from(value));
        checkRow(table, own, payload);
      } catch {
        continue;
      }
      yield { key: own, payload };
    }
  }
  /** Keys alone, values unread. */
  keys(table: TableName, options: RangeOptions = {}): Buffer[] {
    const found: Buffer[] = [];
    for (const { key } of this.range(table, options)) found.push(Buffer.from(key));
    return found;
  }

  /** LMDB's rows and those that it does not have yet, in one order. */
  private *range(table: TableName, options: RangeOptions = {}): IterableIterator<Row> {
    const recent = this.recent.range(table, options), pending = this.checking ? this.pending.range(table, options) : [];
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
      for (; at < own.length && (compared = order * Buffer.compare(own[at]!.key, row.key)) < 0; at++) yield* rowsOf(own[at]!);
      // One of the same key takes its place.
      if (at === own.length || compared > 0) yield row;
    }
    for (; at < own.length; at++) yield* rowsOf(own[at]!);
  }

  /**
   * Runs `check`, then writes all changes in one durable transaction. What `check` throws comes out as it is. Payloads are kept as they are: they must not change any more.
   * @throws StoreFailure when the disk failed (no later write is tried), storage-full when there is no room (nothing was written)
   */
  async write(changes: readonly Change[], check?: () => void, options: WriteOptions = {}): Promise<void> {
    const finding = this.environment.whenKnown();
    if (finding) await finding;
    this.environment.checkFailure();
    this.environment.checkRoom();
    killPoint('transaction: asked');
    this.check(check);
    if (changes.length === 0) return;
    // What is in the journal must go into LMDB.
    assert(changes.every(({ key }) => isKey(key)), 'keys are of 1 to 255 bytes');
    killPoint('transaction: in it');
    const { journal } = this;
    assert(journal, 'the tables are open for writing');
    const isAlone = options.alone === true && this.isFollowed && !this.pumping && this.pausing === 0;
    if (isAlone && journal.add(changes)) {
      if (journal.hasRoom()) this.writeNow(journal, changes);
      else {
        journal.clear();
        await this.taken(changes);
      }
    } else {
      this.pausing = Math.max(0, this.pausing - 1);
      await this.taken(changes);
    }
    killPoint('transaction: durable');
    this.written?.(changes);
  }
  private check(check: (() => void) | undefined): void {
    this.checking = true;
    try {
      check?.();
    } finally {
      this.checking = false;
    }
  }

  /** In this thread: the journal's record has the changes already. */
  private writeNow(journal: Journal, changes: readonly Change[]): void {
    const began = performance.now();
    try {
      journal.writeSync();
    } catch (fault) {
      throw this.failed(fault);
    }
    this.keep([changes]);
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
    // In the step that found nothing: what is taken from here on begins anew.
    this.pumping = undefined;
  }
  private async writeGroup(group: readonly Taken[]): Promise<void> {
    try {
      if (!this.isFollowed || changesLength(group[0]!.changes) > this.journal!.changesBytesMax) await this.apply(group[0]!.changes);
      else await this.writeRecord(group);
    } catch (fault) {
      // Those behind were checked against what does not come.
      this.settle([...group, ...this.queue.splice(0)], this.failed(fault));
      return;
    }
    this.settle(group);
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
    let bytes = changesLength(queue[0]!.changes), end = 1;
    for (; this.isFollowed && end < queue.length; end++) {
      bytes += changesLength(queue[end]!.changes);
      if (bytes > this.journal!.changesBytesMax) break;
    }
    return queue.splice(0, end);
  }
  private async writeRecord(group: readonly Taken[]): Promise<void> {
    const journal = this.journal!;
    for (const { changes } of group) assert(journal.add(changes));
    while (!journal.hasRoom()) await this.apply();
    await journal.write();
    this.keep(group.map(({ changes }) => changes));
  }
  /** The journal's last record is durable: who reads sees what it changes, and LMDB is given it with its number. */
  private keep(record: readonly (readonly Change[])[]): void {
    for (const changes of record) this.recent.put(changes);
    this.recentEnd = this.journal!.end;
    this.applyLater();
  }

  /** The error that tells of a fault of the disk. */
  private failed(fault: unknown): unknown {
    this.journal!.clear();
    if (fault instanceof StoreFailure || fault instanceof LakeError) return fault;
    const reason = fault instanceof Error ? fault.message : String(fault);
    if (isNoRoom(reason)) return new LakeError('storage-full', { fault: reason }, { cause: fault });
    this.environment.fail(reason);
    return new StoreFailure(reason, { cause: fault });
  }

  private applyLater(): void {
    if (this.journal!.share >= applyShare) this.applySoon();
    else this.applyTimer ??= setTimeout(() => { this.applySoon(); }, applyMs).unref();
  }
  /** What cannot be done now stays in the journal: the next write tries again, or hears that the store failed. */
  private applySoon(): void {
    if (!this.isApplying) this.apply().catch((fault: unknown) => { this.lagged?.(fault); });
  }
  /** Gives LMDB what it does not have, then these changes, in one transaction of its own. */
  private apply(changes: readonly Change[] = []): Promise<void> {
    this.applying = this.applying.catch(() => undefined).then(() => this.doApply(changes));
    return this.applying;
  }
  private async doApply(changes: readonly Change[]): Promise<void> {
    clearTimeout(this.applyTimer);
    this.applyTimer = undefined;
    const end = this.recentEnd, rows = this.recent.all();
    if (rows.length + changes.length === 0) return;
    this.isApplying = true;
    try {
      const sound = rows.filter(this.hasKey);
      await this.environment.write([...sound, ...changes, { table: 'about', key: journalKey, payload: encodeJournalEnd(end) } as const].map(valueOf));
      killPoint('tables: written');
      this.isFollowed = true;
      this.recent.drop(rows);
      this.journal!.free(end);
    } finally {
      this.isApplying = false;
    }
  }

  /** A version that drew malformed ids left rows in the journal that LMDB does not take: all others must not stay behind for them. */
  private readonly hasKey = ({ table, key }: Change): boolean => {
    if (isKey(key)) return true;
    this.lagged?.(keyless(table, key));
    return false;
  };

  /** Reads every value of a table and tells of each that fails its checksum; `look`: of each, too, that is not found by its key or that no encoder made. Answers with the number of rows. */
  verify(table: TableName, onFault: (fault: string) => void, look = false): number {
    let rows = 0;
    for (const { key, value } of this.range(table)) {
      rows++;
      if (!isKey(key)) {
        onFault(keyless(table, key).message);
        continue;
      }
      if (look && !this.has(table, key)) onFault(rowFault(table, Buffer.from(key).toString('hex'), 'the way to it is damaged').message);
      try {
        const payload = unframe(table, key, value);
        if (look) checkRow(table, Buffer.from(key), payload);
      } catch (error) {
        onFault((error as Error).message);
      }
    }
    return rows;
  }

  /** Bytes of the environment's pages that hold rows. */
  usedBytes(): number { return this.environment.usedBytes(); }
  /** Bytes of the environment's file. */
  fileBytes(): number { return this.environment.fileBytes(); }
  /** Number of rows. */
  count(table: TableName): number {
    let count = this.environment.count(table);
    for (const { key, payload } of this.recent.of(table)) if (isKey(key)) count += Number(payload !== undefined) - Number(this.environment.has(table, key));
    return count;
  }

  /** What LMDB lacks is given to it before; where that fails the next start does it. */
  async close(): Promise<void> {
    await this.pumping;
    if (this.journal && this.environment.failure === undefined) await this.apply().catch(() => undefined);
    else await this.applying.catch(() => undefined);
    clearTimeout(this.applyTimer);
    this.journal?.close();
    await this.environment.close();
  }
}
