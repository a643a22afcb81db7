/**
 * Sorted runs on disk and their merge. Only neighbours are merged, so that equal rows keep the order in which they
 * came; a run of runs is merged with others of its size, so that a row is written again a few times at most, however
 * few of them fit into memory side by side.
 */
import { type Vector, slice } from '../../../vectors/vector.ts';
import { type Item, type Stream, isBatch, wait } from '../../operator.ts';
import type { SpillRun } from '../../source.ts';
import type { Build } from '../build.ts';
import { flatSize, ordered } from '../compact.ts';
import { mergeSorted } from '../merge.ts';
import { pulled } from '../../pulled.ts';
import type { EvaluatedKey } from './keys.ts';

/** Runs that are merged at a time, at most, and at least, however long their rows. */
const runsMax = 128;
const runsMin = 3;
/** What they may take together as they are read, as a share of the budget. */
const mergeShare = 0.25;
/** What is read of a run at a time, in bytes; at least so many rows, unless these are long. */
const frameBytes = 256 << 10;
const frameRowsMin = 128;
const frameBytesMax = 1 << 20;

/** Rows of a frame, where a row takes so many bytes. */
const rowsOfFrame = (rowBytes: number): number =>
  Math.max(1, Math.floor(frameBytes / rowBytes), Math.min(frameRowsMin, Math.floor(frameBytesMax / rowBytes)));

/** `level`: how many times its rows were merged. */
interface Run {
  readonly spilled: SpillRun;
  readonly level: number;
}

/** The runs of one sort. */
export class SortedRuns {
  private readonly build: Build;
  private readonly keys: readonly EvaluatedKey[];
  private readonly runs: Run[] = [];
  /** Rows of a frame as of the last run, and the bytes of the largest frame. */
  private frameRows = 1;
  private frameBytes = 1;
  constructor(build: Build, keys: readonly EvaluatedKey[]) {
    this.build = build;
    this.keys = keys;
  }

  /** Takes in rows in another order as one run. */
  *add(all: Vector, order: Uint32Array): Generator<Item> {
    const rowBytes = Math.max(1, flatSize(all) / Math.max(1, all.length));
    this.frameRows = Math.min(this.build.context.batchRows, rowsOfFrame(rowBytes));
    this.frameBytes = Math.max(this.frameBytes, this.frameRows * rowBytes);
    const spilled = this.build.context.host.spill!.open();
    this.runs.push({ spilled, level: 0 });
    yield* this.write(spilled, ordered(all, order));
    for (let alike = this.alike; alike.length >= this.width; alike = this.alike) yield* this.mergeLast(alike.length);
  }
  /** All rows in order; the runs are used up. */
  *merged(): Generator<Item> {
    // The last ones are the smallest.
    while (this.runs.length > this.width)
      yield* this.mergeLast(Math.max(2, Math.min(this.width, this.runs.length - this.width + 1)));
    yield* this.inOrder(this.runs);
  }
  close(): void {
    for (const { spilled } of this.runs.splice(0)) void spilled.close();
  }

  /** How many runs there is room for at a time. */
  private get width(): number {
    const bytes = this.build.memory.max * mergeShare;
    return Math.max(runsMin, Math.min(runsMax, Math.floor(bytes / this.frameBytes)));
  }
  /** The last runs that are of one level. */
  private get alike(): readonly Run[] {
    const level = this.runs.at(-1)?.level;
    return this.runs.slice(this.runs.findLastIndex((run) => run.level !== level) + 1);
  }
  /** The last runs become one: each takes room while it is merged. */
  private *mergeLast(count: number): Generator<Item> {
    const last = this.runs.slice(-count);
    const spilled = this.build.context.host.spill!.open();
    for (const item of this.inOrder(last)) {
      if (isBatch(item)) yield* this.write(spilled, item);
      else yield item;
    }
    for (const run of last) void run.spilled.close();
    this.runs.splice(-count, count, { spilled, level: Math.max(...last.map((run) => run.level)) + 1 });
  }
  private *write(run: SpillRun, rows: Vector): Generator<Item> {
    for (let at = 0; at < rows.length; at += this.frameRows)
      yield* wait(run.append(slice(rows, at, Math.min(rows.length, at + this.frameRows))));
  }
  private inOrder(runs: readonly Run[]): Stream {
    const { context } = this.build;
    return mergeSorted(
      runs.map(({ spilled }) => pulled(() => spilled.read(), context.signal)),
      this.keys,
      context.batchRows,
      Math.max(1, this.frameRows >> 1),
    );
  }
}
