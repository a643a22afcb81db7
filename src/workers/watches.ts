/**
 * A query or a load while it goes on: its chart, which alone says how far it is, and its figures. Made by whoever
 * answers for it, moved by the pool and by them, read when somebody asks. Marks are of `performance.now()`; 0: not yet.
 *
 * Invariants:
 * - The pool says what happens in it; how the answer or the commit ended is the caller's to say.
 * - Counts never go back.
 */
import type { LoadContext, LoadEvent, LoadInput } from '../../machines/load.events.ts';
import { loadBegins, loadMachine, noteOfLoad } from '../../machines/load.machine.ts';
import type { QueryContext, QueryEvent, QueryInput } from '../../machines/query.events.ts';
import { noteOfQuery, queryBegins, queryMachine } from '../../machines/query.machine.ts';
import { LakeError, messageOf } from '../errors.ts';
import { Chart, ChartRun } from './chart-run.ts';
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

/** Told of every message and snapshot of the machines, as XState's inspection is. */
type Inspect = (event: unknown) => void;
type QueryChart = Chart<QueryInput, QueryContext, QueryEvent>;
type LoadChart = Chart<LoadInput, LoadContext, LoadEvent>;
export const queryChart = (machine: typeof queryMachine): QueryChart => new Chart(machine, queryBegins, noteOfQuery);
export const loadChart = (machine: typeof loadMachine): LoadChart => new Chart(machine, loadBegins, noteOfLoad);
/** The charts of queries and loads. */
export interface RunCharts {
  readonly query: QueryChart;
  readonly load: LoadChart;
}
/** Those of machines/. */
export const runCharts: RunCharts = { query: queryChart(queryMachine), load: loadChart(loadMachine) };

/** How far a query is. */
export class QueryWatch extends Watch {
  readonly chart: ChartRun<QueryInput, QueryContext, QueryEvent>;
  compiledAt = 0;
  firstBytesAt = 0;
  /** Bytes that the client has taken. */
  bytesSent = 0;

  constructor(input: QueryInput, inspect?: Inspect, chart = runCharts.query) {
    super();
    this.chart = new ChartRun(chart, input, inspect);
  }

  override began(task: WatchedTask): void {
    super.began(task);
    this.chart.send({ type: 'begun' });
  }
  /** The worker's own mark, where it has one: its message came later. */
  compiled(): void {
    this.compiledAt = markOf(this.counts().firstStepAt) || performance.now();
    this.chart.send({ type: 'compiled' });
  }
  gaveBytes(): void {
    if (this.firstBytesAt > 0) return;
    this.firstBytesAt = performance.now();
    this.chart.send({ type: 'first bytes' });
  }
  /** Its answer is over. */
  answered(failure?: unknown): void {
    if (failure === undefined) this.chart.send({ type: 'ended' });
    else if (failure instanceof LakeError && failure.code === 'query-cancelled') this.chart.send({ type: 'cancel' });
    else this.chart.send({ type: 'failed', text: messageOf(failure) });
  }
  /** Nobody may ask for its status any more. */
  expire(): void {
    this.chart.send({ type: 'time is over' });
  }
}

/** What a load's body became. */
interface Written {
  readonly objects: readonly { readonly id: string }[];
  readonly records: number;
  readonly bytes: number;
}
/** How far a load is. Times are marks of `performance.now()`; 0: not yet. */
export class LoadWatch extends Watch {
  readonly chart: ChartRun<LoadInput, LoadContext, LoadEvent>;
  readAt = 0;
  sortedAt = 0;
  writtenAt = 0;
  records = 0;
  commitAskedAt = 0;
  /** Encoded size of its objects, once they are written. */
  objectBytes = 0;
  private body = 0;

  constructor(input: LoadInput, inspect?: Inspect, chart = runCharts.load) {
    super();
    this.chart = new ChartRun(chart, input, inspect);
  }

  begin(): void {
    if (this.beganAt > 0) return;
    this.beganAt = performance.now();
    this.chart.send({ type: 'begun' });
  }
  read(): void {
    this.readAt = markOf(this.counts().firstStepAt) || performance.now();
    this.chart.send({ type: 'all rows read', bodyBytes: this.bodySoFar });
  }
  sorted(): void {
    this.sortedAt = markOf(this.counts().secondStepAt) || performance.now();
    this.chart.send({ type: 'rows sorted' });
  }
  wrote(outcome: Written): void {
    this.noteWritten(outcome);
    this.chart.send({ type: 'objects written', ...written(outcome) });
  }
  /** A small body was read, sorted and made into objects in one go. */
  wroteAtOnce(outcome: Written, bodyBytes: number): void {
    this.noteWritten(outcome);
    this.readAt = this.sortedAt = this.writtenAt;
    this.chart.send({ type: 'done at once', bodyBytes, ...written(outcome) });
  }
  private noteWritten({ bytes, records }: Written): void {
    this.writtenAt = performance.now();
    this.objectBytes = bytes;
    this.records = records;
    this.ended();
  }
  commitAsked(): void {
    this.commitAskedAt = performance.now();
    this.chart.send({ type: 'commit asked' });
  }
  committed(commit: string): void {
    if (!this.chart.isOver) this.chart.send({ type: 'committed', commit });
  }
  /** It comes to nothing. */
  failed(error: unknown): void {
    if (this.chart.isOver) return;
    const type = error instanceof LakeError && error.code === 'load-cancelled' ? 'cancelled' : 'failed';
    this.chart.send({ type, text: messageOf(error) });
  }

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

const written = ({ objects, records, bytes }: Written) => ({ objects: objects.map((o) => o.id), records, bytes });
