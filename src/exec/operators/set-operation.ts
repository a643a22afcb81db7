/**
 * INTERSECT and EXCEPT: the right side is counted by codes of its rows, as SQL tells them apart, the left side streams
 * past it.
 *
 * When memory runs out, both sides are spilled by the hash of their rows and worked on a partition at a time; rows
 * then come in the order of partitions. Not `all`: each row once. `all`: a row that is m times on the left and n times
 * on the right comes min(m, n) times, or m - n times.
 */
import { Uint32List } from '../../vectors/lists.ts';
import { sizeOf } from '../../vectors/sizes.ts';
import { type Vector, take } from '../../vectors/vector.ts';
import { ColumnCodes } from '../aggregates/grouping/codes.ts';
import { none } from '../aggregates/grouping/pair-table.ts';
import { under } from '../aggregates/under.ts';
import { plainRows } from '../expressions/lift.ts';
import { type Item, type Stream, isBatch } from '../operator.ts';
import type { Build } from './build.ts';
import { Partitions, levelsMax, partitionsOf } from './rows/partitions.ts';
import { rightFirst } from './join/right-first.ts';
import { pulled } from '../pulled.ts';

/** Which operation; `all` counts repeated rows. */
interface SetOptions {
  readonly operator: 'intersect' | 'except';
  readonly all: boolean;
}

/**
 * The operation of two inputs; each call is a run of its own. @throws query-memory when the budget is used up and
 * nothing can be spilled
 */
export const setOperation =
  (options: SetOptions, build: Build): ((left: Stream, right: Stream) => Stream) =>
  (left, right) =>
    run(left, right, options, build, 0);

function* run(left: Stream, right: Stream, options: SetOptions, build: Build, level: number): Generator<Item> {
  const items = left[Symbol.iterator]();
  const { memory, context } = build;
  const counter = new Counter(options);
  let waiting: Vector[] = [];
  let held = 0;
  let waitingBytes = 0;
  let spilled: SpilledSides | undefined;
  const account = (): void => {
    // What is spilled is copied first.
    const bytes = counter.bytes * (!spilled && context.host.spill && level < levelsMax ? 2 : 1) + waitingBytes;
    memory.add(bytes - held);
    held = bytes;
  };
  /** Spills what is there once it is too much. */
  const overflow = function* overflow(): Generator<Item> {
    account();
    if (!memory.isOverWith(held) || spilled || level >= levelsMax) return;
    if (!context.host.spill) return memory.isFull ? memory.refuse(options.operator) : undefined;
    spilled = new SpilledSides(build, level);
    if (!counter.isClosed) {
      yield* spilled.right(counter.giveUp(context.batchRows));
      for (let batch = waiting.shift(); batch; batch = waiting.shift()) yield* spilled.left(batch);
      waitingBytes = 0;
    }
    account();
  };
  const pass = function* pass(batch: Vector): Generator<Item> {
    if (spilled && !counter.isClosed) return yield* spilled.left(batch);
    const unknown = yield* counter.pass(batch, spilled !== undefined);
    if (spilled && unknown) yield* spilled.left(unknown);
    yield* overflow();
  };
  const takeRight = function* takeRight(batch: Vector): Generator<Item> {
    if (spilled) return yield* spilled.right([batch]);
    counter.count(batch);
    yield* overflow();
  };
  const takeLeft = function* takeLeft(batch: Vector): Generator<Item> {
    if (spilled) return yield* spilled.left(batch);
    waiting.push(batch);
    waitingBytes += sizeOf(batch);
    yield* overflow();
  };
  try {
    yield* rightFirst(right, items, { right: takeRight, left: takeLeft });
    if (!spilled) counter.isClosed = true;
    for (let batch = waiting.shift(); batch; batch = waiting.shift()) yield* pass(batch);
    waitingBytes = 0;
    for (let next = items.next(); !next.done; next = items.next()) {
      if (isBatch(next.value)) yield* pass(next.value);
      else yield next.value;
    }
    if (!spilled) return;
    counter.clear();
    account();
    yield* spilled.each((l, r) => run(l, r, options, build, level + 1), options.operator === 'except');
  } finally {
    items.return?.();
    spilled?.close();
    memory.add(-held);
  }
}

/** Rows as they are compared. */
const bare = (batch: Vector): Vector => under(plainRows(batch));

/** Both sides, spilled by the hash of their rows. */
class SpilledSides {
  private readonly build: Build;
  private readonly level: number;
  private readonly lefts: Partitions;
  private readonly rights: Partitions;
  constructor(build: Build, level: number) {
    this.build = build;
    this.level = level;
    this.lefts = new Partitions(build);
    this.rights = new Partitions(build);
  }
  *right(rows: Iterable<Vector>): Generator<Item> {
    for (const batch of rows) yield* this.put(this.rights, bare(batch), batch);
  }
  *left(batch: Vector): Generator<Item> {
    yield* this.put(this.lefts, batch, batch);
  }
  private *put(side: Partitions, rows: Vector, whole: Vector): Generator<Item> {
    yield* side.add(rows, partitionsOf([bare(whole)], rows.length, this.level, true));
  }

  /** Works on each partition; `leftAlone`: also on those that the right side has nothing in. */
  *each(work: (left: Stream, right: Stream) => Stream, leftAlone: boolean): Generator<Item> {
    const {
      lefts,
      rights,
      build: {
        context: { signal },
      },
    } = this;
    yield* lefts.flush();
    yield* rights.flush();
    for (const p of lefts.each()) {
      const left = lefts.run(p)!;
      const right = rights.run(p);
      if (right || leftAlone)
        yield* work(
          pulled(() => left.read(), signal),
          right ? pulled(() => right.read(), signal) : [],
        );
      void left.close();
      void right?.close();
    }
  }
  close(): void {
    this.lefts.close();
    this.rights.close();
  }
}

class Counter {
  private codes = new ColumnCodes(true);
  /** Rows of the right side that are not used up, by code; of rows that only the left side has, how many came. */
  private counts = new Uint32List();
  private readonly options: SetOptions;
  private rightSize = 0;
  /** All of the right side is counted. */
  isClosed = false;
  constructor(options: SetOptions) {
    this.options = options;
  }

  get bytes(): number {
    return this.codes.bytes + this.counts.array.byteLength;
  }
  clear(): void {
    this.codes = new ColumnCodes(true);
    this.counts = new Uint32List();
  }

  /** Takes in rows of the right side. */
  count(batch: Vector): void {
    const codes = this.codes.codes(bare(batch));
    while (this.counts.length < this.codes.size) this.counts.push(0);
    const counts = this.counts.array;
    for (let i = 0; i < batch.length; i++) counts[codes[i]]++;
    this.rightSize = this.codes.size;
  }
  /** The rows that were counted, in batches; nothing is left of them here. */
  *giveUp(rowsMax: number): Generator<Vector> {
    const values = this.codes.values();
    const counts = this.counts.array;
    const { length } = values;
    this.clear();
    const rows = new Uint32Array(rowsMax);
    let n = 0;
    for (let code = 0; code < length; code++) {
      for (let left = this.options.all ? counts[code] : 1; left > 0; left--) {
        rows[n++] = code;
        if (n < rowsMax) continue;
        yield take(values, rows.slice());
        n = 0;
      }
    }
    if (n > 0) yield take(values, rows.slice(0, n));
  }

  /** What is given of rows of the left side. `full`: rows that are new are not taken in, but returned. */
  *pass(batch: Vector, full: boolean): Generator<Item, Vector | undefined> {
    const { operator, all } = this.options;
    const onlyLeft = operator === 'except' && !all;
    const codes = this.codes.codes(bare(batch), onlyLeft && !full);
    const { rightSize } = this;
    if (onlyLeft) {
      // What only the left side has is counted when it is given.
      while (this.counts.length < this.codes.size) this.counts.push(0);
      yield* rowsWhere(batch, (i) => {
        const code = codes[i];
        return code !== none && code >= rightSize && this.counts.array[code]++ === 0;
      });
      return full ? [...rowsWhere(batch, (i) => codes[i] === none)][0] : undefined;
    }
    const counts = this.counts.array;
    yield* rowsWhere(batch, (i) => {
      const code = codes[i];
      const left = code < rightSize ? counts[code] : 0;
      if (operator === 'except') {
        if (left > 0) counts[code] = left - 1;
        return left === 0;
      }
      if (left > 0) counts[code] = all ? left - 1 : 0;
      return left > 0;
    });
    return undefined;
  }
}

function* rowsWhere(batch: Vector, wanted: (row: number) => boolean): Generator<Vector> {
  const rows = new Uint32Array(batch.length);
  let n = 0;
  for (let i = 0; i < batch.length; i++) if (wanted(i)) rows[n++] = i;
  if (n > 0) yield n === batch.length ? batch : take(batch, rows.subarray(0, n));
}
