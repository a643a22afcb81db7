/**
 * The bound that rows have to beat to be among the first (or last) `count` by a key: the least of the `count` best numbers met so far.
 *
 * Invariants:
 * - Only rows that come after `count` others are left out: numbers behind the bound, and nulls and missing ones where these come last.
 * - Values of other types always stay.
 */
import type { Vector } from '../../vectors/vector.ts';
import { flatten } from '../../vectors/vector.ts';
import { kinds, kindsOf } from './kinds.ts';
import type { Direction } from './sort-words.ts';

/** `count` rows at one `end` of the order are wanted. */
interface LeadersOptions {
  readonly count: number;
  readonly direction: Direction;
  readonly end: 'first' | 'last';
  /** No other key decides between equal ones. */
  readonly single: boolean;
}

/** Beyond so many rows keeping the best ones costs more than it saves. */
const countMax = 4096;

/** The best numbers of one sort or top, and the rows that can still be among them. */
export class Leaders {
  /** The best numbers as a heap, the worst of them in front; turned so that greater is better. */
  private readonly heap: Float64Array;
  private size = 0;
  /** So much is reached by `count` rows that others have met; turned like the heap. */
  private floor = -Infinity;
  readonly sign: 1 | -1;
  private readonly strict: boolean;
  readonly dropsNulls: boolean;

  constructor({ count, direction: { order, nulls }, end, single }: LeadersOptions) {
    const isFirst = end === 'first';
    this.heap = new Float64Array(count <= countMax ? count : 0);
    this.sign = (order === 'desc') === isFirst ? 1 : -1;
    // Of equal rows the earlier ones are first.
    this.strict = isFirst && single;
    this.dropsNulls = (nulls === 'last') === isFirst;
  }

  /** What a number, turned, has to reach; -Infinity as long as nothing is known. */
  get bound(): number { return this.size === this.heap.length && this.size > 0 ? Math.max(this.heap[0]!, this.floor) : this.floor; }
  /** Numbers below are not wanted; equal ones are. */
  raise(floor: number): void { this.floor = Math.max(this.floor, floor); }

  /** Rows of the key column that may be among the best; undefined: all of them. */
  candidates(column: Vector): Uint32Array | undefined {
    if (this.heap.length === 0 || column.length === 0) return undefined;
    const v = column.form === 'selected' || column.form === 'dictionary' ? flatten(column) : column;
    const { bound } = this, isFull = bound > -Infinity, strict = this.strict && bound > this.floor;
    if (v.form === 'number') {
      if (!(v.values instanceof Float64Array)) return undefined;
      const rows = isFull ? better(v.values, v.length, this.sign, bound, strict) : undefined;
      if (rows) for (let i = 0; i < rows.length; i++) this.offer(v.values[rows[i]!]! * this.sign);
      else for (let i = 0; i < v.length; i++) this.offer(v.values[i]! * this.sign);
      return rows;
    }
    if (v.form === 'constant') return isFull && this.dropsNulls && isNothing(kindsOf(v.inner)?.[0]) ? new Uint32Array(0) : undefined;
    return v.form === 'null' && isFull && this.dropsNulls ? new Uint32Array(0) : v.form === 'dynamic' ? this.mixed(v) : undefined;
  }

  private mixed(v: Extract<Vector, { form: 'dynamic' }>): Uint32Array | undefined {
    const rows = new Uint32Array(v.length), special = this.dropsNulls ? kindsOf(v) : undefined;
    let n = 0, { bound } = this;
    for (let i = 0; i < v.length; i++) {
      const part = v.parts[v.tags[i]!]!;
      if (part.form === 'number' && part.values instanceof Float64Array) {
        const x = part.values[v.slots[i]!]! * this.sign;
        if (x < bound || (x === bound && this.strict && bound > this.floor)) continue;
        this.offer(x);
        ({ bound } = this);
      } else if (bound > -Infinity && special && isNothing(special[i])) continue;
      rows[n++] = i;
    }
    return n === v.length ? undefined : rows.subarray(0, n);
  }

  /** Takes a number in if it is one of the best. */
  private offer(x: number): void {
    const { heap } = this;
    if (x !== x) return;
    if (this.size < heap.length) {
      let at = this.size++;
      for (let up = (at - 1) >> 1; at > 0 && heap[up]! > x; up = (at - 1) >> 1) {
        heap[at] = heap[up]!;
        at = up;
      }
      heap[at] = x;
      return;
    }
    if (x <= heap[0]!) return;
    let at = 0;
    for (let down = 1; down < this.size; down = 2 * at + 1) {
      if (down + 1 < this.size && heap[down + 1]! < heap[down]!) down++;
      if (heap[down]! >= x) break;
      heap[at] = heap[down]!;
      at = down;
    }
    heap[at] = x;
  }
}

const isNothing = (kind: number | undefined): boolean => kind === kinds.null || kind === kinds.missing;

/** Rows that are not behind the bound; NaN is never behind. */
const better = (values: Float64Array, length: number, sign: 1 | -1, bound: number, strict: boolean): Uint32Array => {
  const out: number[] = [];
  if (strict) { for (let i = 0; i < length; i++) if (!(values[i]! * sign <= bound)) out.push(i); }
  else for (let i = 0; i < length; i++) if (!(values[i]! * sign < bound)) out.push(i);
  return Uint32Array.from(out);
};
