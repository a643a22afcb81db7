/**
 * INTERSECT and EXCEPT: the right side is counted by codes of its rows (type and value), the left side streams past it.
 *
 * Not `all`: each row once. `all`: a row that is m times on the left and n times on the right comes min(m, n) times, or m - n times.
 */
import { Uint32List } from '../../vectors/builder.ts';
import { type Vector, sizeOf, take } from '../../vectors/vector.ts';
import { ColumnCodes } from '../aggregates/codes.ts';
import { under } from '../aggregates/under.ts';
import { withoutUnions } from '../expressions/lift.ts';
import { type Item, type Stream, isBatch, pause } from '../operator.ts';
import type { Memory } from './build.ts';

export interface SetOptions { readonly operator: 'intersect' | 'except'; readonly all: boolean }

export const setOperation = (options: SetOptions, memory: Memory): ((left: Stream, right: Stream) => Stream) => (left, right) => run(left, right, options, memory);

function* run(left: Stream, right: Stream, options: SetOptions, memory: Memory): Generator<Item> {
  const items = left[Symbol.iterator](), waiting: Vector[] = [], counter = new Counter(options, memory);
  try {
    for (const item of right) {
      if (isBatch(item)) counter.count(item);
      else if (item !== pause) yield item;
      else {
        // Both sides come from one fork: the left side's rows have to be taken in before the right side goes on.
        const next = items.next();
        // If it waits too, it is for somebody's sibling further up.
        if (next.done || next.value === pause) yield pause;
        else if (isBatch(next.value)) {
          waiting.push(next.value);
          counter.hold(sizeOf(next.value));
        } else yield next.value;
      }
    }
    for (const batch of waiting) yield* counter.pass(batch);
    for (let next = items.next(); !next.done; next = items.next()) {
      if (isBatch(next.value)) yield* counter.pass(next.value);
      else yield next.value;
    }
  } finally {
    items.return?.();
    counter.free();
  }
}

class Counter {
  private readonly codes = new ColumnCodes();
  /** Rows of the right side that are not used up, by code; of rows that only the left side has, how many came. */
  private readonly counts = new Uint32List();
  private readonly options: SetOptions;
  private readonly memory: Memory;
  private rightSize = 0;
  private held = 0;
  private waiting = 0;
  constructor(options: SetOptions, memory: Memory) {
    this.options = options;
    this.memory = memory;
  }

  hold(bytes: number): void {
    this.waiting += bytes;
    this.memory.hold(bytes, this.options.operator);
  }
  private account(): void {
    const bytes = this.codes.bytes + this.counts.length * 4;
    this.memory.hold(bytes - this.held, this.options.operator);
    this.held = bytes;
  }
  free(): void { this.memory.add(-this.held - this.waiting); }

  /** Takes in rows of the right side. */
  count(batch: Vector): void {
    const codes = this.codes.codes(under(withoutUnions(batch)));
    while (this.counts.length < this.codes.size) this.counts.push(0);
    const counts = this.counts.array;
    for (let i = 0; i < batch.length; i++) counts[codes[i]!]!++;
    this.rightSize = this.codes.size;
    this.account();
  }

  /** What is given of rows of the left side. */
  *pass(batch: Vector): Generator<Vector> {
    const { operator, all } = this.options, onlyLeft = operator === 'except' && !all;
    const codes = this.codes.codes(under(withoutUnions(batch)), onlyLeft), { rightSize } = this;
    if (onlyLeft) {
      // What only the left side has is counted when it is given.
      while (this.counts.length < this.codes.size) this.counts.push(0);
      yield* rowsWhere(batch, (i) => {
        const code = codes[i]!;
        return code >= rightSize && this.counts.array[code]!++ === 0;
      });
      return this.account();
    }
    const counts = this.counts.array;
    yield* rowsWhere(batch, (i) => {
      const code = codes[i]!, left = code < rightSize ? counts[code]! : 0;
      if (operator === 'except') {
        if (left > 0) counts[code] = left - 1;
        return left === 0;
      }
      if (left > 0) counts[code] = all ? left - 1 : 0;
      return left > 0;
    });
  }
}

function* rowsWhere(batch: Vector, wanted: (row: number) => boolean): Generator<Vector> {
  const rows = new Uint32Array(batch.length);
  let n = 0;
  for (let i = 0; i < batch.length; i++) if (wanted(i)) rows[n++] = i;
  if (n > 0) yield n === batch.length ? batch : take(batch, rows.subarray(0, n));
}
