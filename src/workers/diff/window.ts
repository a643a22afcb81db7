/**
 * A window: rows of both sides up to the same key, each in the pool's order, and what is left of them when equal rows
 * have cancelled each other out.
 *
 * Rows whose key is on both sides, once on each, are compared column by column: of 1,000,000 records that mostly are the
 * same, hardly one is looked at by itself. A key that a side has several
 * times makes a bag of its rows (bag.ts); one that the other side lacks is no question.
 */
import { concat } from '../../vectors/concat.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { isFloat } from '../../vectors/type.ts';
import { type Vector, take } from '../../vectors/vector.ts';
import { keyColumn, sortColumn, sortRows } from '../../lake/load/sort-rows.ts';
import { cancelEqual } from './bag.ts';
import type { Differences, Pairs } from './different.ts';

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

/** Compares rows by their keys, those of `after` being numbered behind those of `before`. */
interface Order {
  /** Keys as numbers that never contradict the order. */
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** Absent: equal numbers are equal keys. */
  readonly exact: ((i: number, j: number) => number) | undefined;
}

/** What is left of the rows of a window, which are in the order of all keys. */
export const compareWindow = (window: Window, keys: Keys, differences: Differences): Leftover => {
  const { before, after } = window;
  const order = orderOf(window, keys);
  const { pairs, bags } = meet(order);
  const keeps = keptOfPairs(window, pairs, differences);
  if (bags.before.length > 0)
    cancelEqual(
      { rows: before, index: bags.before.done(), keeps: keeps.before },
      { rows: after, index: bags.after.done(), keeps: keeps.after },
    );
  return inOrder(order, keeps);
};

/** The rows of both sides but for those that a key alone shows to be equal. */
export const withoutPairs = (window: Window, keys: Keys, differences: Differences): Window => {
  const { pairs } = meet(orderOf(window, keys));
  const keeps = keptOfPairs(window, pairs, differences);
  return { before: take(window.before, placesOf(keeps.before)), after: take(window.after, placesOf(keeps.after)) };
};

/** 1 for the rows that are kept. */
interface Kept {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}
const keptOfPairs = ({ before, after }: Window, pairs: Pairs, differences: Differences): Kept => {
  const differs = new Uint8Array(pairs.a.length);
  differences.mark(before, after, pairs, differs);
  const keeps = { before: new Uint8Array(before.length).fill(1), after: new Uint8Array(after.length).fill(1) };
  for (let n = 0; n < differs.length; n++) {
    keeps.before[pairs.a[n]!] = differs[n]!;
    keeps.after[pairs.b[n]!] = differs[n]!;
  }
  return keeps;
};

/** The rows in the order of all keys: a scan gives those of several objects in that of the first one. */
export const byAllKeys = (rows: Vector, keys: Keys): Vector => (keys.keys.length < 2 ? rows : sorted([rows], keys));

/** Rows of several vectors in the order of all keys. */
export const sorted = (parts: readonly Vector[], { keys, order }: Keys): Vector => {
  const rows = concat(parts);
  const columns = keys.map((path) => sortColumn(keyColumn(rows, path)));
  const places = sortRows(columns, rows.length, { descending: order === 'desc' });
  return places ? take(rows, places) : rows;
};

const orderOf = (window: Window, { keys, order }: Keys): Order =>
  numbersOf(window, keys, order) ?? anyOrder(window, keys, order);

/** The one key of both sides as it is stored, if that is numbers of one type. */
const numbersOf = ({ before, after }: Window, keys: Keys['keys'], order: Keys['order']): Order | undefined => {
  const [path, ...others] = keys;
  if (!path || others.length > 0) return undefined;
  const [a, b] = [before, after].map((rows) => keyColumn(rows, path));
  if (a!.form !== 'number' || b!.form !== 'number' || a!.type !== b!.type) return undefined;
  if (!(a!.values instanceof Float64Array && b!.values instanceof Float64Array)) return undefined;
  const [x, y] = [a!.values.subarray(0, a!.length), b!.values.subarray(0, b!.length)];
  if (isFloat(a!.type) && (x.some(Number.isNaN) || y.some(Number.isNaN))) return undefined;
  return order === 'desc'
    ? { before: x.map((n) => -n), after: y.map((n) => -n), exact: undefined }
    : { before: x, after: y, exact: undefined };
};

const anyOrder = ({ before, after }: Window, keys: Keys['keys'], order: Keys['order']): Order => {
  const columns = keys.map((path) => sortColumn(concat([keyColumn(before, path), keyColumn(after, path)])));
  const sign = order === 'desc' ? -1 : 1;
  const first = columns[0]?.prefix ?? new Float64Array(before.length + after.length);
  const prefix = order === 'desc' ? first.map((x) => -x) : first;
  const exact =
    columns.length > 1 || columns[0]?.exact
      ? (i: number, j: number): number => {
          for (const { prefix: numbers, exact: compare } of columns) {
            if (numbers[i] !== numbers[j]) return numbers[i]! < numbers[j]! ? -sign : sign;
            const c = compare ? compare(i, j) : 0;
            if (c !== 0) return c * sign;
          }
          return 0;
        }
      : undefined;
  return { before: prefix.subarray(0, before.length), after: prefix.subarray(before.length), exact };
};

/** Rows of keys that both sides have once, and those of keys that both have and one of them several times. */
interface Meeting {
  readonly pairs: Pairs;
  readonly bags: { readonly before: Uint32List; readonly after: Uint32List };
}
const meet = ({ before, after, exact }: Order): Meeting => {
  const bags = { before: new Uint32List(), after: new Uint32List() };
  const base = before.length;
  const end = after.length;
  const a = new Uint32Array(Math.min(base, end));
  const b = new Uint32Array(a.length);
  let length = 0;
  const isSameBefore = (i: number, k: number): boolean => before[i] === before[k] && (!exact || exact(i, k) === 0);
  const isSameAfter = (j: number, k: number): boolean =>
    after[j] === after[k] && (!exact || exact(base + j, base + k) === 0);
  for (let i = 0, j = 0, steps = 0; i < base && j < end; steps++) {
    checkStopAt(steps);
    const x = before[i]!;
    const y = after[j]!;
    const c = x < y ? -1 : x > y ? 1 : exact ? exact(i, base + j) : 0;
    if (c < 0) i++;
    else if (c > 0) j++;
    else if ((i + 1 < base && isSameBefore(i, i + 1)) || (j + 1 < end && isSameAfter(j, j + 1))) {
      const [firstI, firstJ] = [i, j];
      for (; i < base && isSameBefore(firstI, i); i++) bags.before.push(i);
      for (; j < end && isSameAfter(firstJ, j); j++) bags.after.push(j);
    } else {
      a[length] = i++;
      b[length++] = j++;
    }
  }
  return { pairs: { a: a.subarray(0, length), b: b.subarray(0, length) }, bags };
};

/** The rows that are kept, by their keys; of equal keys those that were removed first. */
const inOrder = ({ before, after, exact }: Order, keeps: Kept): Leftover => {
  const removed = placesOf(keeps.before);
  const fresh = placesOf(keeps.after);
  const total = removed.length + fresh.length;
  const added = new Uint8Array(total);
  const rows = new Uint32Array(total);
  for (let n = 0, i = 0, j = 0; n < total; n++) {
    let isAdded = i === removed.length;
    if (!isAdded && j < fresh.length) {
      const a = before[removed[i]!]!;
      const b = after[fresh[j]!]!;
      isAdded = b < a || (a === b && exact !== undefined && exact(removed[i]!, before.length + fresh[j]!) > 0);
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
