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
import { Runs, runTest, splitRuns } from './runs.ts';

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
  const { runs, bags } = meet(order);
  const keeps = keptOfRuns(window, runs, differences);
  if (bags.before.length > 0)
    cancelEqual(
      { rows: before, index: bags.before.done(), keeps: keeps.before },
      { rows: after, index: bags.after.done(), keeps: keeps.after },
    );
  return inOrder(order, keeps);
};

/** The rows of both sides but for those that a key alone shows to be equal. */
export const withoutPairs = (window: Window, keys: Keys, differences: Differences): Window => {
  const { runs } = meet(orderOf(window, keys));
  const keeps = keptOfRuns(window, runs, differences);
  return { before: take(window.before, placesOf(keeps.before)), after: take(window.after, placesOf(keeps.after)) };
};

/** 1 for the rows that are kept. */
interface Kept {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}
const keptOfRuns = ({ before, after }: Window, runs: Runs, differences: Differences): Kept => {
  const keeps = { before: new Uint8Array(before.length).fill(1), after: new Uint8Array(after.length).fill(1) };
  if (runs.rows === 0) return keeps;
  const test = runTest(before, after, differences);
  const [alike, open] = [new PairList(), new PairList()];
  const same = (i: number, j: number, n: number): void => {
    if (test?.rest) alike.push(i, j, n);
    else {
      keeps.before.fill(0, i, i + n);
      keeps.after.fill(0, j, j + n);
    }
  };
  const others = (i: number, j: number, n: number): void => {
    open.push(i, j, n);
  };
  if (test) splitRuns(runs, test.isSame, { same, open: others });
  else runs.each(others);
  // Of some rows all is open, of others what bytes do not tell.
  for (const [list, sides] of [
    [open, { a: before, b: after }],
    [alike, test?.rest],
  ] as const) {
    const pairs = list.done();
    if (!sides || pairs.a.length === 0) continue;
    const differs = new Uint8Array(pairs.a.length);
    differences.mark(sides.a, sides.b, pairs, differs);
    for (let n = 0; n < differs.length; n++) {
      keeps.before[pairs.a[n]!] = differs[n]!;
      keeps.after[pairs.b[n]!] = differs[n]!;
    }
  }
  return keeps;
};
/** Rows that are compared one with one. */
class PairList {
  private readonly a = new Uint32List();
  private readonly b = new Uint32List();
  push(i: number, j: number, n: number): void {
    for (let k = 0; k < n; k++) {
      this.a.push(i + k);
      this.b.push(j + k);
    }
  }
  done(): Pairs {
    return { a: this.a.done(), b: this.b.done() };
  }
}

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
  readonly runs: Runs;
  readonly bags: { readonly before: Uint32List; readonly after: Uint32List };
}
const meet = ({ before, after, exact }: Order): Meeting => {
  const runs = new Runs();
  const bags = { before: new Uint32List(), after: new Uint32List() };
  const base = before.length;
  const end = after.length;
  const isSameBefore = (i: number, k: number): boolean => before[i] === before[k] && (!exact || exact(i, k) === 0);
  const isSameAfter = (j: number, k: number): boolean =>
    after[j] === after[k] && (!exact || exact(base + j, base + k) === 0);
  const isPair = (i: number, j: number): boolean =>
    before[i] === after[j] &&
    exact!(i, base + j) === 0 &&
    !(i + 1 < base && isSameBefore(i, i + 1)) &&
    !(j + 1 < end && isSameAfter(j, j + 1));
  const pairedRows = (i: number, j: number): number => {
    const most = Math.min(base - i, end - j, pairedMax);
    let n = 0;
    while (n < most && isPair(i + n, j + n)) n++;
    return n;
  };
  for (let i = 0, j = 0, steps = 0; i < base && j < end; steps++) {
    checkStopAt(steps);
    const n = exact ? pairedRows(i, j) : pairedNumbers(before, after, i, j);
    if (n > 0) {
      runs.push(i, j, n);
      i += n;
      j += n;
      continue;
    }
    const [x, y] = [before[i]!, after[j]!];
    const c = x < y ? -1 : x > y ? 1 : exact ? exact(i, base + j) : 0;
    if (c < 0) i++;
    else if (c > 0) j++;
    else {
      const [firstI, firstJ] = [i, j];
      for (; i < base && isSameBefore(firstI, i); i++) bags.before.push(i);
      for (; j < end && isSameAfter(firstJ, j); j++) bags.after.push(j);
    }
  }
  return { runs, bags };
};
/** Rows of a run between two looks at whether it was given up. */
const pairedMax = 4096;
/** Rows from `i` and from `j` on that have the same number, each alone on its side. */
const pairedNumbers = (x: Float64Array, y: Float64Array, i: number, j: number): number => {
  // The last row of a side has none behind it.
  const most = Math.min(x.length - 1 - i, y.length - 1 - j, pairedMax);
  let a = x[i]!;
  let b = y[j]!;
  for (let n = 0; n < most; n++) {
    const nextA = x[i + n + 1]!;
    const nextB = y[j + n + 1]!;
    if (a !== b || a === nextA || b === nextB) return n;
    a = nextA;
    b = nextB;
  }
  if (most === pairedMax || a !== b) return most;
  return x[i + most + 1] === a || y[j + most + 1] === b ? most : most + 1;
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
  // Mostly few are kept, or nearly all.
  for (let i = keeps.indexOf(1); i >= 0; i = keeps.indexOf(1, i)) while (keeps[i] === 1) places[n++] = i++;
  return places.subarray(0, n);
};
