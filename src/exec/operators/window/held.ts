/**
 * Window functions over more rows than fit into memory: sorted rows are gathered until whole partitions are at hand.
 * What functions look at stays in memory, the rows themselves are spilled where a partition is larger than the budget.
 * Where all functions look back, or a few rows ahead, a large partition is cut between peers and given piece by piece;
 * where none asks for peers it is cut anywhere.
 */
import { sizeOf } from '../../../vectors/sizes.ts';
import { type Field, type Vector, flatten, slice, take } from '../../../vectors/vector.ts';
import { joinBytes } from '../../../vectors/texts/join-bytes.ts';
import { concat } from '../../../vectors/concat.ts';
import { type Item, type Stream, batches, evaluate, isBatch, wait } from '../../operator.ts';
import type { SpillRun } from '../../source.ts';
import type { Carry } from '../../windows/aggregate-input.ts';
import { type Carried, breaks, carriedBy, nothingCarried } from '../../windows/segment.ts';
import { pulled } from '../../pulled.ts';
import { sortWords } from '../sort/words.ts';
import {
  type Cut,
  type WindowParts,
  ascending,
  placeBytes,
  resultsOf,
  segmentOver,
  shownBytes,
  withFields,
} from './parts.ts';

/** Partitions are worked out together until there are so many rows of them, or bytes: these are copied for it. */
const segmentRowsMin = 32_768;
const segmentBytesMin = 16 << 20;

/**
 * A partition of more rows is cut sooner than put together, where that can be done: pieces of it are copied more than
 * once while they are worked out.
 */
const cutRowsMin = 4 * segmentRowsMin;

/** What the columns of a partition may take however small the budget. */
const columnBytesMin = 1 << 20;

/** Rows with their results, from rows in the order of the group's keys. */
export function* heldPartitions(sorted: Stream, parts: WindowParts): Generator<Item> {
  const held = new Held(parts);
  try {
    for (const item of sorted) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      yield* held.add(item);
      if (held.wholeRows > 0 && (held.length >= segmentRowsMin || held.isLarge)) yield* held.give(held.wholeRows);
      else if (held.cutRows > 0) yield* held.give(held.cutRows, true);
      else yield* held.makeRoom();
    }
    yield* held.give(held.length);
  } finally {
    held.free();
  }
}

/** Sorted rows that wait until their partition is complete. */
class Held {
  length = 0;
  /** Rows of partitions that are complete. */
  wholeRows = 0;
  /** Rows before the last place where the partition may be cut: a peer group begins there. */
  private groupRows = 0;
  /** What the first partition had before the rows that are held. */
  private carried: Carried = nothingCarried;
  private readonly carries: readonly Carry[];
  private rows: Vector[] = [];
  private rowBytes = 0;
  private columns: Vector[][];
  private marks: Uint8Array[] = [];
  /** Key columns of the last row. */
  private last: readonly Vector[] | undefined;
  private bytes = 0;
  private run: SpillRun | undefined;
  private readonly parts: WindowParts;
  constructor(parts: WindowParts) {
    this.parts = parts;
    this.columns = parts.columns.evaluators.map(() => []);
    this.carries = parts.calls.map(() => ({}));
  }

  *add(batch: Vector): Generator<Item> {
    const own: Vector[] = [];
    // Copies, so that what is charged is what is held.
    for (const e of this.parts.columns.evaluators) own.push(flatten(yield* evaluate(e, batch)));
    this.mark(own, batch.length);
    own.forEach((v, k) => this.columns[k].push(v));
    this.charge(own.reduce((n, v) => n + shownBytes(v), placeBytes * batch.length));
    yield* this.keep(batch);
    this.length += batch.length;
  }

  /**
   * Works out the first `count` rows, which are whole partitions but for one that is cut, and gives them; the others
   * stay.
   */
  *give(count: number, isCut = false): Generator<Item> {
    if (count === 0) return;
    const { parts, length } = this;
    const all = this.columns.map((c) => concat(c));
    const marks = joinBytes(this.marks, new Uint8Array(length));
    const columns = all.map((v) => slice(v, 0, count));
    const segment = segmentOver(parts, marks, count, columns, this.carried);
    const next = isCut ? this.nextRows(all, marks, count) : undefined;
    const cuts = this.carries.map((carry): Cut => ({ carry, ...(next && { next }) }));
    const results = resultsOf(parts, segment, columns, isCut || this.carried.rows > 0 ? cuts : undefined);
    this.carried = isCut ? carriedBy(segment) : nothingCarried;
    const rest = all.map((v) => slice(v, count, length));
    const { rows, run } = this;
    this.release();
    const resultBytes = results.reduce((n, f) => n + sizeOf(f.values), 0);
    this.charge(resultBytes + rest.reduce((n, v) => n + shownBytes(v), placeBytes * (length - count)));
    this.columns = rest.map((v) => (v.length > 0 ? [v] : []));
    this.marks = length > count ? [marks.subarray(count, length)] : [];
    this.length = length - count;
    this.wholeRows = this.groupRows = 0;
    try {
      yield* this.giveRows(run ? pulled(() => run.read(), parts.build.context.signal) : rows, results, count);
    } finally {
      this.charge(-resultBytes);
      if (run) void run.close();
    }
  }

  /** The rows of the partition that is cut that calls look at ahead of the cut. */
  private nextRows(columns: readonly Vector[], marks: Uint8Array, count: number): Cut['next'] {
    const most = Math.min(count + this.parts.ahead!, this.length);
    const end = marks.subarray(count, most).indexOf(breaks.partition);
    const length = end < 0 ? most - count : end;
    return { columns: columns.map((v) => slice(v, count, count + length)), length };
  }

  /** Rows with their results; those from `count` on are spilled again. */
  private *giveRows(rows: Stream, results: readonly Field[], count: number): Generator<Item> {
    let at = 0;
    for (const item of rows) {
      if (!isBatch(item)) {
        yield item;
        continue;
      }
      const end = at + item.length;
      const cut = Math.max(at, Math.min(end, count));
      if (cut > at)
        yield* batches(
          withFields(
            slice(item, 0, cut - at),
            results.map((f) => ({ ...f, values: slice(f.values, at, cut) })),
          ),
          this.parts.build.context.batchRows,
        );
      if (end > cut) yield* this.keep(slice(item, cut - at, item.length));
      at = end;
    }
  }

  free(): void {
    if (this.run) void this.run.close();
    this.release();
  }
  /** Nothing is held any more. */
  private release(): void {
    this.charge(-this.bytes);
    this.rows = [];
    this.rowBytes = 0;
    this.run = undefined;
  }

  private charge(bytes: number): void {
    this.bytes += bytes;
    this.parts.build.memory.add(bytes);
  }

  /** So much is held that it is worked out as soon as it can be. */
  get isLarge(): boolean {
    return this.bytes >= segmentBytesMin || this.parts.build.memory.isOverWith(this.bytes);
  }

  /** Where a partition is to be cut; 0: nowhere. */
  get cutRows(): number {
    const {
      ahead,
      build: { memory },
    } = this.parts;
    if (ahead === undefined || this.run) return 0;
    // What stays behind the cut is copied: it has to be the smaller part, unless there is no room for it.
    const isLong = (this.length >= cutRowsMin || this.bytes >= segmentBytesMin) && this.groupRows * 2 >= this.length;
    return isLong || memory.isOverWith(this.bytes) ? this.groupRows : 0;
  }

  /** Spills rows, to disk once a partition has been too large. */
  private *keep(batch: Vector): Generator<Item> {
    if (this.run) return yield* wait(this.run.append(batch));
    const bytes = shownBytes(batch);
    this.rows.push(batch);
    this.rowBytes += bytes;
    this.charge(bytes);
  }

  /** Puts the rows of a partition that is too large on disk. What functions look at has to stay. */
  *makeRoom(): Generator<Item> {
    const {
      context: {
        host: { spill },
      },
      memory,
    } = this.parts.build;
    if (!memory.isOverWith(this.bytes)) return;
    if (!spill || this.bytes - this.rowBytes > Math.max(memory.max, columnBytesMin)) return memory.refuse('window');
    if (this.run) return;
    this.run = spill.open();
    for (const held of this.rows) yield* wait(this.run.append(held));
    this.charge(-this.rowBytes);
    this.rows = [];
    this.rowBytes = 0;
  }

  /** Notes where partitions and groups of peers begin. */
  private mark(own: readonly Vector[], length: number): void {
    const { partition, order, directions } = this.parts;
    const before = this.last;
    const shift = before ? 1 : 0;
    const keys = [...partition, ...order].map((c) => c(own, length));
    const marks = new Uint8Array(length);
    keys.forEach((v, k) => {
      const code = k < partition.length ? breaks.partition : breaks.group;
      const joined = before ? concat([before[k], v]) : v;
      for (const words of sortWords(joined, k < partition.length ? ascending : directions[k - partition.length])) {
        for (let i = 1 - shift; i < length; i++)
          if (words[i + shift] !== words[i + shift - 1] && marks[i] < code) marks[i] = code;
      }
    });
    if (!before && length > 0) marks[0] = breaks.partition;
    const last = marks.lastIndexOf(breaks.partition);
    if (last >= 0) this.wholeRows = this.length + last;
    const { ahead = 0, isOfRows } = this.parts;
    const from = length - Math.max(ahead, 1);
    const lastGroup =
      from < 0 || isOfRows
        ? from
        : Math.max(marks.lastIndexOf(breaks.partition, from), marks.lastIndexOf(breaks.group, from));
    if (lastGroup >= 0) this.groupRows = this.length + lastGroup;
    this.marks.push(marks);
    this.last = keys.map((v) => flatten(take(v, Uint32Array.of(length - 1))));
  }
}
