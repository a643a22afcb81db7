/**
 * The copy of the commit log, written in the background: what each transaction changed, once it is durable in the tables, in append-only checksummed files
 * (log-copy-format.ts). `lake fsck -repair` rebuilds the tables from it.
 *
 * Invariants:
 * - No acknowledgement waits for it: `add` puts a reference into a queue. A disk that fails or falls behind here fails nothing but the copy.
 * - The copy is never ahead of the tables: tables that end before it have lost something, and are not opened (`lake-unreadable`).
 * - What a crash kept from the copy is written when the lake is opened again: from the events since then if they are kept, else everything, as a new
 *   generation; an older one goes only when the newer is complete and durable.
 */
import { rmSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../errors.ts';
import { killing, killPoint } from './kill-points.ts';
import { baseParts, missedParts } from './log-copy-base.ts';
import { countersAfter, encodeSegmentHeader, type RecordKind, recordLength, segmentFile, type SegmentName, writeRecord } from './log-copy-format.ts';
import { bytesOfSegments, type CopyEnd, copyEnd, listSegments, logFolder } from './log-copy-reader.ts';
import { type Counters, countersKey, decodeCounters } from './rows.ts';
import type { Change, Tables } from './tables.ts';

/** Whose copy it is, and how it is cut into files. */
interface LogCopyOptions {
  readonly lakeDirectory: string;
  readonly tables: Tables;
  readonly report: (fault: unknown) => void;
  /** Bytes after which a segment ends; default 16 MiB. */
  readonly segmentBytes?: number;
}

const segmentBytesDefault = 16 << 20;
/** What comes together within this time is written together. */
const gatherMs = 50;
/** What the disk loses of it with the power the next start writes again. */
const syncMs = 5000;
/** A sync holds up the tables' own, which commits wait for: it comes when none have come for a moment, but not later than this after it was due. */
const quietMs = 250, syncLateMs = 55_000;
const retryMs = 10_000;
const closingMs = 2000;
const writeBytesMax = 1 << 20;
/** More than this waits for nobody: it is dropped, and read from the tables again. */
const queueBytesMax = 64 << 20;
/** Rows read from the tables wait until the queue is shorter. */
const readAheadBytes = 4 << 20;
/** A copy that is larger than so many times the tables, and more, is written anew. */
const growthMax = 2, growthBytesMin = 64 << 20;

interface Entry { readonly kind: RecordKind; readonly changes: readonly Change[]; readonly bytes: number }

/** The writer of one lake's copy. */
export class LogCopy {
  private readonly folder: string;
  private readonly tables: Tables;
  private readonly report: (fault: unknown) => void;
  private readonly segmentBytes: number;
  private queue: Entry[] = [];
  private queuedBytes = 0;
  /** The counters' row that is durable. */
  private told: Uint8Array | undefined;
  private handle: FileHandle | undefined;
  private name: SegmentName = { generation: 0, segment: 0 };
  private bytes = 0;
  private nextRecord = 1;
  private baseEnd = 0;
  private counters: Counters = { event: 0, sequence: 0 };
  private timer: NodeJS.Timeout | undefined;
  private syncTimer: NodeJS.Timeout | undefined;
  private heardAt = 0;
  private pumping: Promise<void> | undefined;
  private filling: Promise<void> | undefined;
  /** Something is missing in the copy that only the tables have. */
  private behind = true;
  private ended = false;

  /** Follows the tables from here on. @throws lake-unreadable when the tables end before the copy */
  static async open(options: LogCopyOptions): Promise<LogCopy> {
    const copy = new LogCopy(options);
    await mkdir(copy.folder, { recursive: true });
    copy.begin(options.lakeDirectory);
    return copy;
  }

  private constructor({ lakeDirectory, tables, report, segmentBytes }: LogCopyOptions) {
    this.folder = logFolder(lakeDirectory);
    this.tables = tables;
    this.report = report;
    this.segmentBytes = segmentBytes ?? segmentBytesDefault;
  }

  private begin(lakeDirectory: string): void {
    const end = copyEnd(this.folder), now = decodeCounters(this.tables.get('about', countersKey));
    if (end && (now.event < end.counters.event || now.sequence < end.counters.sequence)) {
      const fault = `they end at event ${now.event}, the copy of their log at event ${end.counters.event}: acknowledged commits are lost, lake fsck -repair brings back what the copy has`;
      throw new LakeError('lake-unreadable', { directory: lakeDirectory, fault });
    }
    this.told = this.tables.get('about', countersKey);
    this.tables.written = (changes) => { this.hear(changes); };
    const isCurrent = end !== undefined && this.canGoOn(end) && end.closed && end.counters.event === now.event && end.counters.sequence === now.sequence;
    if (isCurrent && !this.isGrown()) {
      this.goOn(end);
      this.behind = false;
    } else this.fill(isCurrent ? undefined : end);
  }
  private canGoOn(end: CopyEnd): boolean { return end.clean && end.baseEnd > 0 && new Set(listSegments(this.folder).map((s) => s.generation)).size === 1; }
  private isGrown(): boolean { return bytesOfSegments(this.folder, listSegments(this.folder)) > growthMax * this.tables.fileBytes() + growthBytesMin; }

  private goOn(end: CopyEnd): void {
    this.name = end.name;
    // Behind half a record nothing is appended: the next segment goes on.
    this.bytes = end.torn ? Infinity : end.bytes;
    this.nextRecord = end.nextRecord;
    this.baseEnd = end.baseEnd;
    this.counters = end.counters;
  }

  /** Told of what a transaction changed, after it is durable. */
  private hear(changes: readonly Change[]): void {
    for (let i = changes.length - 1; i >= 0; i--) {
      const { table, key, payload } = changes[i]!;
      if (table !== 'about' || !payload || Buffer.compare(key, countersKey) !== 0) continue;
      this.told = payload;
      break;
    }
    this.heardAt = performance.now();
    // Before a new generation begins there is nothing to append to: its base is read after this.
    if (this.ended || (this.behind && !this.filling)) return;
    // The counters say up to where nothing is missing: not before what was missed is written.
    this.add(this.filling ? changes.filter((change) => change.table !== 'about') : changes, 'transaction');
  }
  private add(changes: readonly Change[], kind: RecordKind): void {
    const bytes = recordLength(changes);
    this.queue.push({ kind, changes, bytes });
    this.queuedBytes += bytes;
    if (this.queuedBytes > queueBytesMax) this.fallBehind();
    else if (!this.pumping) this.gather();
  }
  private gather(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.pump();
    }, gatherMs).unref();
  }
  private fallBehind(): void {
    this.queue = [];
    this.queuedBytes = 0;
    this.behind = true;
    if (!this.filling && !this.ended) setTimeout(() => { this.fillAgain(); }, retryMs).unref();
  }
  private fillAgain(): void {
    if (this.ended || this.filling || !this.behind) return;
    void (this.pumping ?? Promise.resolve()).then(() => this.closeHandle()).then(() => { if (!this.ended && !this.filling) this.fill(copyEnd(this.folder)); });
  }

  /** Reads from the tables what the copy does not have: all, if it cannot be told what that is. */
  private fill(end: CopyEnd | undefined): void {
    this.behind = false;
    this.filling = this.doFill(end).catch((fault: unknown) => {
      this.behind = true;
      this.report(fault);
    }).finally(() => { this.filling = undefined; });
  }
  private async doFill(end: CopyEnd | undefined): Promise<void> {
    const missed = end && this.canGoOn(end) ? missedParts(this.tables, end.counters, () => this.countersRow()) : undefined;
    if (end && missed) this.goOn(end);
    else this.newGeneration();
    const last = this.name.generation;
    for (const { kind, changes } of missed ?? baseParts(this.tables, () => this.countersRow())) {
      if (this.ended) return void (this.behind = true);
      this.add(changes, kind);
      while (this.queuedBytes > readAheadBytes) await this.pumped();
      if (this.behind) throw new Error('the copy of the commit log could not be written');
      await nextTurn();
    }
    await this.pumped();
    await this.sync();
    if (!this.behind && !missed) this.removeBefore(last);
  }
  private newGeneration(): void {
    const generation = 1 + (listSegments(this.folder).at(-1)?.generation ?? 0);
    this.name = { generation, segment: 0 };
    this.bytes = Infinity;
    this.nextRecord = 1;
    this.baseEnd = 0;
    this.counters = { event: 0, sequence: 0 };
  }
  private removeBefore(generation: number): void {
    killPoint('log: base written');
    for (const name of listSegments(this.folder)) if (name.generation < generation) rmSync(join(this.folder, segmentFile(name)), { force: true });
    killPoint('log: old generation gone');
  }

  private countersRow(): readonly Change[] { return this.told ? [{ table: 'about', key: countersKey, payload: this.told }] : []; }

  /** Resolves when the queue of this moment is written. */
  private async pumped(): Promise<void> {
    await this.pumping;
    this.pump();
    await this.pumping;
  }
  private pump(): void {
    if (this.pumping || this.queue.length === 0) return;
    this.pumping = this.writeQueue().catch((fault: unknown) => {
      this.report(fault);
      this.bytes = Infinity;
      this.fallBehind();
    }).finally(() => {
      this.pumping = undefined;
      if (this.queue.length > 0 && !this.ended) this.gather();
    });
  }
  /** Those that wait now: what comes meanwhile gathers, or each commit of a client that waits for it would be a write of its own. */
  private async writeQueue(): Promise<void> {
    for (let left = this.queue.length; left > 0 && this.queue.length > 0;) {
      let count = 0, bytes = 0;
      while (count < this.queue.length && (count === 0 || bytes + this.queue[count]!.bytes <= writeBytesMax)) bytes += this.queue[count++]!.bytes;
      const entries = this.queue.splice(0, count);
      left -= count;
      this.queuedBytes -= bytes;
      if (this.bytes >= this.segmentBytes) await this.nextSegment();
      else this.handle ??= await open(join(this.folder, segmentFile(this.name)), 'r+');
      const out = Buffer.allocUnsafe(bytes);
      let at = 0, { nextRecord, baseEnd } = this;
      for (const { kind, changes } of entries) {
        if (kind === 'base end') baseEnd = nextRecord;
        at = writeRecord(out, at, { generation: this.name.generation, number: nextRecord++, kind, changes });
      }
      await this.write(out, entries[0]!.kind === 'base');
      [this.nextRecord, this.baseEnd] = [nextRecord, baseEnd];
      // They only grow: the last ones are those of all.
      const last = entries.findLast(({ changes }) => changes.some((change) => change.table === 'about'));
      if (last) this.counters = countersAfter(this.counters, last.changes);
      this.syncTimer ??= this.syncAfter(syncMs, performance.now() + syncMs + syncLateMs);
    }
  }
  private syncAfter(ms: number, latest: number): NodeJS.Timeout {
    return setTimeout(() => {
      const now = performance.now(), quiet = now - this.heardAt;
      this.syncTimer = quiet < quietMs && now < latest ? this.syncAfter(quietMs - quiet, latest) : undefined;
      if (!this.syncTimer) void this.sync().catch((fault: unknown) => { this.report(fault); this.bytes = Infinity; this.fallBehind(); });
    }, ms).unref();
  }
  private async write(out: Buffer, isBase: boolean): Promise<void> {
    if (killing) {
      await this.writeAll(out.subarray(0, out.length >> 1));
      killPoint(isBase ? 'log: base half written' : 'log: half written');
      await this.writeAll(out.subarray(out.length >> 1));
    } else await this.writeAll(out);
    killPoint('log: written');
  }
  private async writeAll(out: Buffer): Promise<void> {
    for (let done = 0; done < out.length;) {
      const { bytesWritten } = await this.handle!.write(out, done, out.length - done, this.bytes);
      done += bytesWritten;
      this.bytes += bytesWritten;
    }
  }

  private async nextSegment(): Promise<void> {
    await this.closeHandle();
    // A number that is taken belongs to a segment that a crash left without a head.
    const taken = listSegments(this.folder).filter((s) => s.generation === this.name.generation).at(-1)?.segment ?? 0;
    const name = { generation: this.name.generation, segment: Math.max(taken, this.name.segment) + 1 };
    this.handle = await open(join(this.folder, segmentFile(name)), 'wx');
    this.name = name;
    this.bytes = 0;
    killPoint('log: segment made');
    await this.writeAll(encodeSegmentHeader(name, { firstRecord: this.nextRecord, baseEnd: this.baseEnd, counters: this.counters }));
    const folder = await open(this.folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
  private async closeHandle(): Promise<void> {
    const { handle } = this;
    if (!handle) return;
    this.handle = undefined;
    try {
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }
  private async sync(): Promise<void> {
    if (!this.handle) return;
    await this.handle.datasync();
    killPoint('log: synced');
  }

  /** Writes what waits, and that nothing is missing. What is being read from the tables may end in its time, else the next start begins anew. Answers whether the copy has its end. */
  async close(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.filling, new Promise<void>((resolve) => { timer = setTimeout(resolve, closingMs); })]);
    clearTimeout(timer);
    const isWhole = !this.behind && !this.filling;
    if (isWhole) this.add(this.countersRow(), 'closed');
    this.ended = true;
    clearTimeout(this.timer);
    clearTimeout(this.syncTimer);
    await this.filling;
    await this.pumped();
    return this.closeHandle().then(() => isWhole && !this.behind, (fault: unknown) => {
      this.report(fault);
      return false;
    });
  }
  /** Resolves when the copy has all that the tables have at this moment, or cannot be written. */
  async settled(): Promise<void> {
    await this.filling;
    await this.pumped();
    await this.sync();
  }
}

