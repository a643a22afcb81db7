/**
 * What one commit has otherwise than another, record by record, in the order of the pool's keys.
 *
 * Both sides are scans of the objects that only one of the commits has: rows of an object that both have are in neither.
 * The rows that only lie in other objects than before (compaction, a delete beside them) are on both sides, and cancel
 * each other out. So the answer does not depend on how rows are cut into objects, and costs what changed.
 *
 * Invariants:
 * - Windows are of the pool's first key, which is the order of a scan; within them rows come in that of all keys. A
 *   window ends at a key behind which neither side has more rows of that key; where one side has more of them than a
 *   batch, that key is worked on by itself (`cancelMany`).
 * - What is in memory is a batch or two of each side, and what a single key's rows come to, within the query's budget.
 */
import { Memory } from '../../exec/operators/build.ts';
import { scanObjects } from '../../lake/scan/scan.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { concat } from '../../vectors/concat.ts';
import { sortKeyBytes } from '../../vectors/sort-key.ts';
import { working } from '../../vectors/stop.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, noRows, slice, valueAt } from '../../vectors/vector.ts';
import { type BagTools, cancelMany } from './bag.ts';
import { changesOf, changesOfSide } from './changes.ts';
import { Differences } from './different.ts';
import { type Keys, type Window, byAllKeys, compareWindow } from './window.ts';

/** The two sides, and what they are read with. */
export interface DiffSources extends Keys {
  readonly before: ScanSource;
  readonly after: ScanSource;
  readonly spill: BagTools['spill'];
  readonly memoryBytesMax: number;
  readonly batchRows: number;
  readonly signal: AbortSignal;
  /** Told of bytes that were read. */
  readonly read: (bytes: number) => void;
}

/** Changes that are given together, at least, unless they take long to find. */
const togetherRows = 1024;
const togetherMsMax = 50;

/** The changes as records. @throws what scans throw; spill-full, query-memory */
export async function* diffRows(sources: DiffSources): AsyncGenerator<Vector> {
  let waiting: Vector[] = [];
  let rows = 0;
  let since = performance.now();
  const all = (): Vector => {
    const batch = working(sources.signal, () => concat(waiting));
    waiting = [];
    rows = 0;
    since = performance.now();
    return batch;
  };
  for await (const changes of changesIn(sources)) {
    if (changes.length > 0) waiting.push(changes);
    rows += changes.length;
    if (rows >= togetherRows || (rows > 0 && performance.now() - since >= togetherMsMax)) yield all();
  }
  if (rows > 0) yield all();
}

async function* changesIn(sources: DiffSources): AsyncGenerator<Vector> {
  const { keys, signal, spill, batchRows } = sources;
  const tools: BagTools = { memory: new Memory(sources.memoryBytesMax), spill, batchRows, signal };
  const differences = new Differences();
  const before = new Side(sources.before, sources);
  const after = new Side(sources.after, sources);
  try {
    for (;;) {
      await before.fill();
      await after.fill();
      signal.throwIfAborted();
      if (before.isEmpty && after.isEmpty) return;
      const window = working(signal, () => nextWindow(before, after));
      if (!window) {
        for await (const { side, rows } of cancelMany(...groupOf(before, after), tools))
          yield working(signal, () => changesOfSide(side, rows, keys));
      } else yield working(signal, () => changesOfWindow(window, sources, differences));
    }
  } finally {
    await before.end();
    await after.end();
  }
}

const changesOfWindow = (window: Window, { keys, order }: Keys, differences: Differences): Vector => {
  const before = byAllKeys(window.before, { keys, order });
  const after = byAllKeys(window.after, { keys, order });
  if (before.length === 0) return changesOfSide('added', after, keys);
  if (after.length === 0) return changesOfSide('removed', before, keys);
  const left = compareWindow({ before, after }, { keys, order }, differences);
  return left.rows.length > 0 ? changesOf({ before, after }, left, keys) : noRows;
};

/**
 * Takes the rows up to the least of the last keys at hand; without those of that key, if there are more of them to come.
 * Undefined: there is nothing but rows of that key.
 */
const nextWindow = (before: Side, after: Side): Window | undefined => {
  if (after.isEmpty) return { before: before.takeAll(), after: noRows };
  if (before.isEmpty) return { before: noRows, after: after.takeAll() };
  const bound = before.compare(before.last, after.last) <= 0 ? before.last : after.last;
  const isWhole = !before.goesOnAt(bound) && !after.goesOnAt(bound);
  const beforeEnd = before.endOf(bound, isWhole);
  const afterEnd = after.endOf(bound, isWhole);
  if (beforeEnd + afterEnd === 0) return undefined;
  return { before: before.take(beforeEnd), after: after.take(afterEnd) };
};

/** The rows of the key that both sides are at, or one of them. */
const groupOf = (before: Side, after: Side): [AsyncIterable<Vector>, AsyncIterable<Vector>] => {
  const key = before.compare(before.first, after.first) <= 0 ? before.first : after.first;
  return [before.rowsOf(key), after.rowsOf(key)];
};

/** The rows of one side: those at hand, and the batch behind them. */
class Side {
  private readonly keys: Keys;
  private readonly batches: AsyncIterator<Vector>;
  private rows: Vector = noRows;
  private next: Vector | undefined;
  private firstKey: Uint8Array | undefined;
  private lastKey: Uint8Array | undefined;
  private nextKey: Uint8Array | undefined;
  private ended = false;

  constructor(source: ScanSource, { keys, order, batchRows, signal, read }: DiffSources) {
    this.keys = { keys, order };
    this.batches = scanObjects(source, { ordered: true, batchRows, signal, read })[Symbol.asyncIterator]();
  }

  /** Nothing is left, once it has been filled. */
  get isEmpty(): boolean {
    return this.rows.length === 0;
  }
  get first(): Uint8Array {
    return (this.firstKey ??= this.keyAt(this.rows, 0));
  }
  get last(): Uint8Array {
    return (this.lastKey ??= this.keyAt(this.rows, this.rows.length - 1));
  }

  /** Sees that rows are at hand, and those behind them. */
  async fill(): Promise<void> {
    if (this.rows.length === 0) {
      this.place((this.next ??= await this.read()) ?? noRows);
      this.next = undefined;
      this.nextKey = undefined;
    }
    this.next ??= await this.read();
  }
  private async read(): Promise<Vector | undefined> {
    while (!this.ended) {
      const { done, value } = await this.batches.next();
      if (done) this.ended = true;
      else if (value.length > 0) return value;
    }
    return undefined;
  }
  private place(rows: Vector): void {
    this.rows = rows;
    this.firstKey = undefined;
    this.lastKey = undefined;
  }

  /** Whether the rows at hand end with that key and more of it follow. */
  goesOnAt(key: Uint8Array): boolean {
    if (!this.next || compareBytes(this.last, key) !== 0) return false;
    this.nextKey ??= this.keyAt(this.next, 0);
    return compareBytes(this.nextKey, key) === 0;
  }
  /** The end of the rows at hand before that key, or with it. */
  endOf(key: Uint8Array, isWith: boolean): number {
    const isIn = (other: Uint8Array): boolean => this.compare(other, key) < (isWith ? 1 : 0);
    if (isIn(this.last)) return this.rows.length;
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isIn(this.keyAt(this.rows, middle))) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  take(end: number): Vector {
    const { rows } = this;
    if (end === rows.length) return this.takeAll();
    const { lastKey } = this;
    this.place(slice(rows, end, rows.length));
    this.lastKey = lastKey;
    return slice(rows, 0, end);
  }
  takeAll(): Vector {
    const { rows } = this;
    this.place(noRows);
    return rows;
  }
  /** All rows of a key, which come next if there are any. */
  async *rowsOf(key: Uint8Array): AsyncGenerator<Vector> {
    while (!this.isEmpty && compareBytes(this.first, key) === 0) {
      const end = this.endOf(key, true);
      const isAll = end === this.rows.length;
      yield this.take(end);
      if (!isAll) return;
      await this.fill();
    }
  }

  /** In the pool's order. */
  compare(a: Uint8Array, b: Uint8Array): number {
    return this.keys.order === 'desc' ? compareBytes(b, a) : compareBytes(a, b);
  }
  /** The first key of a row: by the others scans do not order rows of several objects. */
  private keyAt(rows: Vector, row: number): Uint8Array {
    return sortKeyBytes(valueAt(keyColumn(slice(rows, row, row + 1), this.keys.keys[0] ?? []), 0));
  }
  async end(): Promise<void> {
    await this.batches.return?.(undefined);
  }
}
