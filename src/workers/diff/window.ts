/**
 * A window: rows of both sides up to the same key, each in the pool's order, and what is left of them when equal rows
 * have cancelled each other out.
 *
 * Rows whose key is on both sides, once on each, are compared column by column, in runs as long as the keys go side by
 * side: of 1,000,000 records that mostly are the same, hardly one is looked at by itself. A key that a side has several
 * times makes a bag of its rows (bag.ts); one that the other side lacks is no question.
 */
import { concat } from '../../vectors/concat.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { type Vector, slice, take } from '../../vectors/vector.ts';
import { keyColumn, sortColumn, sortRows } from '../../lake/load/sort-rows.ts';
import { cancelEqual } from './bag.ts';
import type { Differences } from './different.ts';

/** The order of a pool. */
export interface Keys {
  readonly keys: readonly (readonly string[])[];
  readonly order: 'asc' | 'desc';
}
/** Rows of both sides. */
export interface Window {
  readonly before: Vector;
  readonly after: Vector;
}
/** Rows that are left: row n is of `after` where `added[n]` is 1, else of `before`, at `rows[n]`. In order of keys. */
export interface Leftover {
  readonly added: Uint8Array;
  readonly rows: Uint32Array;
}

/** Compares row i of the window's rows with row j, those of `after` being numbered behind those of `before`. */
interface Order {
  /** Keys as numbers that never contradict the order. */
  readonly prefix: Float64Array;
  /** Absent: equal numbers are equal keys. */
  readonly exact: ((i: number, j: number) => number) | undefined;
}

/** What is left of the rows of a window, which are in the order of all keys. */
export const compareWindow = ({ before, after }: Window, keys: Keys, differences: Differences): Leftover => {
  const beforeCount = before.length;
  const order = orderOf(before, after, keys);
  const { runs, bags } = meet(order, beforeCount, after.length);
  const keepsBefore = new Uint8Array(beforeCount).fill(1);
  const keepsAfter = new Uint8Array(after.length).fill(1);
  for (let r = 0; r < runs.length; r += 3) {
    const i = runs.array[r]!;
    const j = runs.array[r + 1]!;
    const length = runs.array[r + 2]!;
    const differs = new Uint8Array(length);
    differences.mark(slice(before, i, i + length), slice(after, j, j + length), differs);
    keepsBefore.set(differs, i);
    keepsAfter.set(differs, j);
  }
  if (bags.before.length > 0)
    cancelEqual(
      { rows: before, index: bags.before.done(), keeps: keepsBefore },
      { rows: after, index: bags.after.done(), keeps: keepsAfter },
    );
  return inOrder(order, keepsBefore, keepsAfter);
};

/** The rows in the order of all keys: a scan gives those of several objects in that of the first one. */
export const byAllKeys = (rows: Vector, { keys, order }: Keys): Vector => {
  if (keys.length < 2) return rows;
  const columns = keys.map((path) => sortColumn(keyColumn(rows, path)));
  const places = sortRows(columns, rows.length, { descending: order === 'desc' });
  return places ? take(rows, places) : rows;
};

const orderOf = (before: Vector, after: Vector, { keys, order }: Keys): Order => {
  const columns = keys.map((path) => sortColumn(concat([keyColumn(before, path), keyColumn(after, path)])));
  const sign = order === 'desc' ? -1 : 1;
  const first = columns[0]?.prefix ?? new Float64Array(before.length + after.length);
  const exact =
    columns.length > 1 || columns[0]?.exact
      ? (i: number, j: number): number => {
          for (const { prefix, exact: compare } of columns) {
            if (prefix[i] !== prefix[j]) return prefix[i]! < prefix[j]! ? -sign : sign;
            const c = compare ? compare(i, j) : 0;
            if (c !== 0) return c * sign;
          }
          return 0;
        }
      : undefined;
  return { prefix: order === 'desc' ? first.map((x) => -x) : first, exact };
};

/** Keys that both sides have: runs of those that each has once (rows i, j, and how many), and rows of all others. */
interface Meeting {
  readonly runs: Uint32List;
  readonly bags: { readonly before: Uint32List; readonly after: Uint32List };
}
const meet = ({ prefix, exact }: Order, beforeCount: number, afterCount: number): Meeting => {
  const runs = new Uint32List();
  const bags = { before: new Uint32List(), after: new Uint32List() };
  const end = beforeCount + afterCount;
  const isSame = (i: number, j: number): boolean => prefix[i] === prefix[j] && (!exact || exact(i, j) === 0);
  let runI = 0;
  let runJ = 0;
  let length = 0;
  const endRun = (): void => {
    if (length > 0) {
      runs.push(runI);
      runs.push(runJ - beforeCount);
      runs.push(length);
    }
    length = 0;
  };
  for (let i = 0, j = beforeCount, steps = 0; i < beforeCount && j < end; steps++) {
    checkStopAt(steps);
    const a = prefix[i]!;
    const b = prefix[j]!;
    const c = a < b ? -1 : a > b ? 1 : exact ? exact(i, j) : 0;
    if (c < 0) i++;
    else if (c > 0) j++;
    else if ((i + 1 < beforeCount && isSame(i, i + 1)) || (j + 1 < end && isSame(j, j + 1))) {
      const first = i;
      for (; i < beforeCount && isSame(first, i); i++) bags.before.push(i);
      for (; j < end && isSame(first, j); j++) bags.after.push(j - beforeCount);
    } else {
      if (length === 0 || i !== runI + length || j !== runJ + length) {
        endRun();
        runI = i;
        runJ = j;
      }
      length++;
      i++;
      j++;
    }
  }
  endRun();
  return { runs, bags };
};

/** The rows that are kept, by their keys; of equal keys those that were removed first. */
const inOrder = ({ prefix, exact }: Order, keepsBefore: Uint8Array, keepsAfter: Uint8Array): Leftover => {
  const removed = placesOf(keepsBefore);
  const fresh = placesOf(keepsAfter);
  const total = removed.length + fresh.length;
  const added = new Uint8Array(total);
  const rows = new Uint32Array(total);
  const base = keepsBefore.length;
  for (let n = 0, i = 0, j = 0; n < total; n++) {
    let isAdded = i === removed.length;
    if (!isAdded && j < fresh.length) {
      const a = prefix[removed[i]!]!;
      const b = prefix[base + fresh[j]!]!;
      isAdded = b < a || (a === b && exact !== undefined && exact(removed[i]!, base + fresh[j]!) > 0);
    }
    added[n] = isAdded ? 1 : 0;
    rows[n] = isAdded ? fresh[j++]! : removed[i++]!;
  }
  return { added, rows };
};
const placesOf = (keeps: Uint8Array): Uint32Array => {
  const places = new Uint32Array(keeps.length);
  let n = 0;
  for (let i = 0; i < keeps.length; i++) if (keeps[i] === 1) places[n++] = i;
  return places.subarray(0, n);
};
