/**
 * What the pool tells of a query or a load while it goes on, into an object that its caller made and reads when
 * somebody asks. Marks are of `performance.now()`; 0: not yet.
 *
 * Invariants:
 * - The pool writes what happens in it; how the answer or the commit ended is the caller's to tell.
 * - Counts never go back.
 */
import type { LakeError } from '../errors.ts';
import { type TaskCounts, markOf, noCounts } from './task-counts.ts';

/** Where a watch looks for what is not told by itself. */
interface WatchedTask {
  counts(): TaskCounts;
  /** Of a load's body, so far. */
  readonly bodyBytes: number;
  /** A mark of `performance.now()`, before a thread had it: that may be on with it before the main thread is. */
  readonly beganAt: number;
  /** Rows of all that a query reads, as long as it runs; undefined: not known. */
  rowsTotal(): Promise<number | undefined>;
}

class Watch {
  beganAt = 0;
  endedAt = 0;
  failure: LakeError | undefined;
  private task: WatchedTask | undefined;
  private last: TaskCounts = noCounts;
  private total: number | undefined;

  began(task: WatchedTask): void {
    this.task = task;
    this.beganAt = task.beganAt;
  }
  /** The worker is done with it. */
  ended(failure?: LakeError): void {
    if (this.task) this.last = this.counts();
    this.task = undefined;
    this.failure ??= failure;
    this.endedAt = performance.now();
  }
  counts(): TaskCounts {
    // The worker begins to count when it has taken up the task.
    const now = this.task?.counts();
    return now && now.recordsRead >= this.last.recordsRead ? now : this.last;
  }
  protected get bodySoFar(): number {
    return this.task?.bodyBytes ?? 0;
  }
  async rowsTotal(): Promise<number | undefined> {
    this.total ??= await this.task?.rowsTotal();
    return this.total;
  }
}

/** How far a query is. */
export class QueryWatch extends Watch {
  compiledAt = 0;
  firstBytesAt = 0;
  /** The worker's own mark, where it has one: its message came later. */
  compiled(): void {
    this.compiledAt = markOf(this.counts().firstStepAt) || performance.now();
  }
  /** Bytes that the client has taken. */
  bytesSent = 0;
}

/** How far a load is. Times are marks of `performance.now()`; 0: not yet. */
export class LoadWatch extends Watch {
  readAt = 0;
  sortedAt = 0;
  read(): void {
    this.readAt = markOf(this.counts().firstStepAt) || performance.now();
  }
  sorted(): void {
    this.sortedAt = markOf(this.counts().secondStepAt) || performance.now();
  }
  writtenAt = 0;
  records = 0;
  /** Encoded size of its objects, once they are written. */
  objectBytes = 0;
  private body = 0;

  /** Objects that were synced, and from when to when. */
  get syncs(): number {
    return this.counts().syncs;
  }
  get syncAt(): number {
    return markOf(this.counts().syncAt);
  }
  get syncedAt(): number {
    return markOf(this.counts().syncedAt);
  }
  get bodyBytes(): number {
    return Math.max(this.body, this.bodySoFar);
  }
  took(bytes: number): void {
    this.body = bytes;
  }
  override ended(failure?: LakeError): void {
    this.body = this.bodyBytes;
    super.ended(failure);
    this.records ||= this.counts().recordsRead;
  }
}
