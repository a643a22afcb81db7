/**
 * Rows of equal keys: equal rows of both sides cancel each other out, one for one, whatever their order. What is left
 * is what was removed and what was added.
 *
 * Many rows can have one key (a pool by a field that most records lack): those are counted by value, and when their
 * values do not fit into memory both sides are spilled by a hash of the row and worked on a partition at a time.
 */
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import type { Memory } from '../../exec/operators/build.ts';
import { compact, flatSize } from '../../exec/operators/compact.ts';
import { levelsMax, partitionsOf } from '../../exec/operators/rows/partitions.ts';
import type { SpillRun, SpillStore } from '../../exec/source.ts';
import { concat } from '../../vectors/concat.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { working } from '../../vectors/stop.ts';
import { type Vector, take } from '../../vectors/vector.ts';

/** Clears in `keeps` of either side the rows that are on both. */
export const cancelEqual = (
  before: { readonly rows: Vector; readonly keeps: Uint8Array },
  after: { readonly rows: Vector; readonly keeps: Uint8Array },
): void => {
  const table = new ColumnCodes();
  const removed = table.codes(before.rows);
  const counts = new Uint32Array(table.size);
  for (let n = 0; n < removed.length; n++) counts[removed[n]!]!++;
  const added = table.codes(after.rows, false);
  const used = new Uint32Array(counts.length);
  for (let n = 0; n < added.length; n++) {
    const code = added[n]!;
    if (code >= counts.length || used[code]! >= counts[code]!) continue;
    used[code]!++;
    after.keeps[n] = 0;
  }
  for (let n = 0; n < removed.length; n++) {
    const code = removed[n]!;
    if (used[code]! === 0) continue;
    used[code]!--;
    before.keeps[n] = 0;
  }
};

/** Rows that only one side has. */
export interface Left {
  readonly side: 'removed' | 'added';
  readonly rows: Vector;
}
/** What a large group is worked on with. */
export interface BagTools {
  readonly memory: Memory;
  readonly spill: SpillStore;
  readonly batchRows: number;
  readonly signal: AbortSignal;
}

/** Rows of both sides, however many: `after` is read first. @throws spill-full, query-memory */
export async function* cancelMany(
  before: AsyncIterable<Vector>,
  after: AsyncIterable<Vector>,
  tools: BagTools,
  level = 0,
): AsyncGenerator<Left> {
  const counter = new Counter(tools);
  const afters = new Partitions(tools, level);
  const befores = new Partitions(tools, level);
  const { signal } = tools;
  try {
    for await (const rows of after) {
      signal.throwIfAborted();
      if (afters.isUsed) await afters.add(rows);
      else if (working(signal, () => counter.add(rows)) && level < levelsMax) {
        for (const known of counter.rest()) await afters.add(known);
      }
    }
    for await (const rows of before) {
      signal.throwIfAborted();
      if (afters.isUsed) {
        await befores.add(rows);
        continue;
      }
      const left = working(signal, () => counter.pass(rows));
      if (left.length > 0) yield { side: 'removed', rows: left };
    }
    if (!afters.isUsed) {
      for (const rows of counter.rest()) yield { side: 'added', rows };
      return;
    }
    await afters.flush();
    await befores.flush();
    for (const part of new Set([...befores.parts(), ...afters.parts()]))
      yield* cancelMany(befores.read(part), afters.read(part), tools, level + 1);
  } finally {
    counter.end();
    afters.close();
    befores.close();
  }
}

/** What tables of rows take, as so many times the rows, about. */
const tableCost = 4;

/** Values and how often each is there. */
class Counter {
  private readonly tools: BagTools;
  private codes = new ColumnCodes();
  private readonly counts = new Uint32List();
  private held = 0;
  /** Bytes of the rows that were added. */
  private added = 0;
  constructor(tools: BagTools) {
    this.tools = tools;
  }

  /** Whether it is too much. */
  add(rows: Vector): boolean {
    const codes = this.codes.codes(rows);
    while (this.counts.length < this.codes.size) this.counts.push(0);
    const counts = this.counts.array;
    for (let i = 0; i < rows.length; i++) counts[codes[i]!]!++;
    const { memory } = this.tools;
    // What is spilled is copied first.
    const bytes = (this.codes.bytes + counts.byteLength) * 2;
    memory.add(bytes - this.held);
    this.held = bytes;
    this.added += flatSize(rows);
    // Tables for few rows may be larger than these: spilling those would not make them smaller.
    return memory.isOverWith(Math.min(bytes, this.added * tableCost));
  }
  /** The rows that were not added so often. */
  pass(rows: Vector): Vector {
    const codes = this.codes.codes(rows, false);
    const counts = this.counts.array;
    const { length } = this.counts;
    const left = new Uint32Array(rows.length);
    let n = 0;
    for (let i = 0; i < rows.length; i++) {
      const code = codes[i]!;
      if (code < length && counts[code]! > 0) counts[code]!--;
      else left[n++] = i;
    }
    return take(rows, left.subarray(0, n));
  }
  /** What was added and has not passed, in batches. */
  *rest(): Generator<Vector> {
    const { batchRows } = this.tools;
    const values = this.codes.values();
    const counts = this.counts.array;
    let rows = new Uint32Array(batchRows);
    let n = 0;
    for (let code = 0; code < values.length; code++) {
      for (let times = counts[code]!; times > 0; times--) {
        rows[n++] = code;
        if (n < batchRows) continue;
        yield take(values, rows);
        rows = new Uint32Array(batchRows);
        n = 0;
      }
    }
    if (n > 0) yield take(values, rows.subarray(0, n));
    this.codes = new ColumnCodes();
    this.end();
  }
  end(): void {
    this.tools.memory.add(-this.held);
    this.held = 0;
  }
}

/** Rows and bytes that are brought into the order of their partitions together. */
const togetherRows = 1 << 16;
const togetherBytes = 4 << 20;

/** Rows of one side in spill files, by a hash of the row. */
class Partitions {
  private readonly tools: BagTools;
  private readonly level: number;
  private readonly runs = new Map<number, SpillRun>();
  private waiting: Vector[] = [];
  private waitingRows = 0;
  private waitingBytes = 0;
  isUsed = false;
  constructor(tools: BagTools, level: number) {
    this.tools = tools;
    this.level = level;
  }

  async add(rows: Vector): Promise<void> {
    this.isUsed = true;
    const own = compact(rows);
    this.waiting.push(own);
    this.waitingRows += own.length;
    this.waitingBytes += flatSize(own);
    if (this.waitingRows >= togetherRows || this.waitingBytes >= togetherBytes) await this.flush();
  }
  async flush(): Promise<void> {
    if (this.waitingRows === 0) return;
    const rows = concat(this.waiting);
    this.waiting = [];
    this.waitingRows = this.waitingBytes = 0;
    const places = working(this.tools.signal, () => partitionsOf([rows], rows.length, this.level));
    const byPart = new Map<number, Uint32List>();
    for (let i = 0; i < rows.length; i++) {
      let list = byPart.get(places[i]!);
      if (!list) byPart.set(places[i]!, (list = new Uint32List()));
      list.push(i);
    }
    for (const [part, list] of byPart) {
      let run = this.runs.get(part);
      if (!run) this.runs.set(part, (run = this.tools.spill.open()));
      await run.append(take(rows, list.done()));
    }
  }
  parts(): Iterable<number> {
    return this.runs.keys();
  }
  async *read(part: number): AsyncGenerator<Vector> {
    const run = this.runs.get(part);
    if (run) yield* run.read();
  }
  close(): void {
    for (const run of this.runs.values()) void run.close();
  }
}
