/**
 * A window: rows of both sides up to the same key, and what is left of them when equal rows have cancelled each other
 * out.
 *
 * Rows whose key is on both sides, once on each, are compared column by column: of 1,000,000 records that mostly are the
 * same, hardly one is looked at by itself. A key that a side has several times makes a bag of its rows (bag.ts); one that
 * the other side lacks is no question. Rows of objects that overlap are compared where they are: what is put in order are
 * their keys.
 */
import { combine } from '../../exec/expressions/rows.ts';
import { concat } from '../../vectors/concat.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { isFloat } from '../../vectors/type.ts';
import { type Vector, lookUp, slice, take } from '../../vectors/vector.ts';
import { keyColumn, sortColumn, sortRows } from '../../lake/load/sort-rows.ts';
import { cancelEqual } from './bag.ts';
import type { Differences, Pairs } from './different.ts';
import { type FieldMarks, type RunPart, Runs, markRuns, withoutViews } from './runs.ts';

/** The order of a pool. */
export interface Keys {
  readonly keys: readonly (readonly string[])[];
  readonly order: 'asc' | 'desc';
}
/**
 * Rows of a side, each of both in the order of the pool's first key: of the object that has most of them, and of all
 * others. Row n is one of `main`, or one of `rest` behind them.
 */
export interface Pieces {
  readonly main: Vector;
  readonly rest: Vector;
}
/** Rows of both sides. */
export interface Window {
  readonly before: Pieces;
  readonly after: Pieces;
}
/** Rows that are left: row n is of `after` where `added[n]` is 1, else of `before`, at `rows[n]`. In order of keys. */
export interface Leftover {
  readonly added: Uint8Array;
  readonly rows: Uint32Array;
}
export const lengthOf = ({ main, rest }: Pieces): number => main.length + rest.length;

/** Rows of a side by their numbers. */
export const rowsAt = ({ main, rest }: Pieces, rows: Uint32Array): Vector => {
  const { length } = main;
  if (rest.length === 0 || rows.every((row) => row < length)) return picked(main, rows);
  if (rows.every((row) => row >= length))
    return picked(
      rest,
      rows.map((row) => row - length),
    );
  const tags = new Uint32Array(rows.length);
  const slots = new Uint32Array(rows.length);
  for (let n = 0; n < slots.length; n++) {
    const isOfRest = rows[n]! >= length;
    tags[n] = isOfRest ? 1 : 0;
    slots[n] = isOfRest ? rows[n]! - length : rows[n]!;
  }
  return combine(tags, slots, [main, rest]);
};
/** Without a list of places where rows follow one another. */
const picked = (rows: Vector, places: Uint32Array): Vector => {
  const start = places[0] ?? 0;
  for (let n = 1; n < places.length; n++) if (places[n] !== start + n) return take(rows, places);
  return slice(rows, start, start + places.length);
};

/** Compares rows by their keys. */
interface Order {
  readonly before: SideOrder;
  readonly after: SideOrder;
  /** Rows of both sides, those of `after` being numbered behind those of `before`. Absent: equal numbers are equal keys. */
  readonly exact: ((i: number, j: number) => number) | undefined;
}
interface SideOrder {
  /** Keys as numbers that never contradict the order; sorted. */
  readonly keys: Float64Array;
  /** The rows that have them; undefined: they are in order as they are. */
  readonly rows: Uint32Array | undefined;
}
const rowAt = ({ rows }: SideOrder, place: number): number => (rows ? rows[place]! : place);

/** 1 for the rows that are left. */
interface Kept {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
}
/** What is left of a window. */
export interface Compared {
  readonly window: Window;
  readonly order: Order;
  readonly keeps: Kept;
  /** All rows of keys that are once on each side. */
  readonly parts: readonly RunPart[];
  /** Those that differ, in order of keys, and their numbers among all. */
  readonly pairs: Pairs;
  readonly numbers: Uint32Array;
  /** Which fields of all of them do, if that was asked for and columns tell it. */
  readonly fields: readonly FieldMarks[] | undefined;
  /** Rows of keys that a side has several times. */
  readonly bags: { readonly before: Uint32Array; readonly after: Uint32Array };
  /** Nothing is left but the pairs. */
  readonly isPairsAlone: boolean;
}

/** What is left of the rows of a window; undefined: nothing. */
export const compareWindow = (
  window: Window,
  keys: Keys,
  how: { readonly differences: Differences; readonly byField: boolean },
): Compared | undefined => {
  const [base, end] = [lengthOf(window.before), lengthOf(window.after)];
  const order = orderOf(window, keys);
  const { runs, bags } = meet(order);
  const parts = partsOf(window, order, runs);
  const { differs, fields } = markRuns(parts, runs.rows, how);
  const { keeps, pairs, numbers } = cancelRuns(order, runs, differs);
  const own = { before: bags.before.done(), after: bags.after.done() };
  if (own.before.length > 0) cancelBags(window, own, keeps);
  const isPairsAlone = runs.rows === base && runs.rows === end;
  if (isPairsAlone && numbers.length === 0) return undefined;
  return { window, order, keeps, parts, pairs, numbers, fields, bags: own, isPairsAlone };
};
const cancelRuns = (
  { before, after }: Order,
  runs: Runs,
  differs: Uint8Array,
): Pick<Compared, 'keeps' | 'pairs' | 'numbers'> => {
  const keeps = { before: new Uint8Array(before.keys.length), after: new Uint8Array(after.keys.length) };
  keeps.before.fill(1);
  keeps.after.fill(1);
  const numbers = marked(differs);
  const pairs = { a: new Uint32Array(numbers.length), b: new Uint32Array(numbers.length) };
  let count = 0;
  runs.each((i, j, length, at) => {
    for (let n = 0; n < length; n++) {
      const row = before.rows ? before.rows[i + n]! : i + n;
      const other = after.rows ? after.rows[j + n]! : j + n;
      if (differs[at + n] === 1) {
        pairs.a[count] = row;
        pairs.b[count++] = other;
      } else {
        keeps.before[row] = 0;
        keeps.after[other] = 0;
      }
    }
  });
  return { keeps, pairs, numbers };
};
const cancelBags = ({ before, after }: Window, bags: Compared['bags'], keeps: Kept): void => {
  const own = { before: new Uint8Array(bags.before.length).fill(1), after: new Uint8Array(bags.after.length).fill(1) };
  cancelEqual(
    { rows: rowsAt(before, bags.before), keeps: own.before },
    { rows: rowsAt(after, bags.after), keeps: own.after },
  );
  bags.before.forEach((row, n) => {
    keeps.before[row] = own.before[n]!;
  });
  bags.after.forEach((row, n) => {
    keeps.after[row] = own.after[n]!;
  });
};

/** The runs by the pieces that their rows are in. */
const partsOf = ({ before, after }: Window, order: Order, runs: Runs): readonly RunPart[] => {
  if (!order.before.rows && !order.after.rows && before.rest.length + after.rest.length === 0)
    return [withoutViews({ before: before.main, after: after.main, runs })];
  const parts = [before.main, before.rest].flatMap((a) =>
    [after.main, after.rest].map((b) => ({ before: a, after: b, runs: new Runs() })),
  );
  const [base, end] = [before.main.length, after.main.length];
  const { rows } = order.before;
  const { rows: others } = order.after;
  runs.each((i, j, length, at) => {
    for (let from = 0, to = 0; from < length; from = to) {
      const [row, other] = [rowAt(order.before, i + from), rowAt(order.after, j + from)];
      const [shift, otherShift] = [row - from, other - from];
      for (to = from + 1; to < length; to++) {
        if (shift + to === base || otherShift + to === end) break;
        if (rows && rows[i + to] !== shift + to) break;
        if (others && others[j + to] !== otherShift + to) break;
      }
      const part = parts[(row >= base ? 2 : 0) + (other >= end ? 1 : 0)]!;
      part.runs.push(row >= base ? row - base : row, other >= end ? other - end : other, to - from, at + from);
    }
  });
  return parts.filter((part) => part.runs.rows > 0).map(withoutViews);
};

const noKeys = new Float64Array(0);

/** The rows of one side that are left, in the order of keys. */
export const leftOf = ({ window, order, keeps }: Compared, side: 'before' | 'after'): Vector =>
  rowsAt(window[side], keptRows(keeps[side], order[side]));

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
  const pieces = [before.main, before.rest, after.main, after.rest];
  const columns = pieces.map((rows) => (rows.length > 0 ? keyColumn(rows, path) : undefined));
  const first = columns.find((column) => column !== undefined);
  const arrays: Float64Array[] = [];
  for (const column of columns) {
    if (column === undefined) {
      arrays.push(noKeys);
      continue;
    }
    if (first?.form !== 'number' || column.form !== 'number' || column.type !== first.type) return undefined;
    if (!(column.values instanceof Float64Array)) return undefined;
    const values = column.values.subarray(0, column.length);
    if (isFloat(column.type) && values.some(Number.isNaN)) return undefined;
    arrays.push(order === 'desc' ? values.map((x) => -x) : values);
  }
  const [main, rest, afterMain, afterRest] = arrays;
  return { before: sideOfNumbers(main!, rest!), after: sideOfNumbers(afterMain!, afterRest!), exact: undefined };
};
const sideOfNumbers = (main: Float64Array, rest: Float64Array): SideOrder => {
  if (rest.length === 0) return { keys: main, rows: undefined };
  const keys = new Float64Array(main.length + rest.length);
  keys.set(main);
  keys.set(rest, main.length);
  return inOrderOf(keys, sortRows([{ prefix: keys }], keys.length, { descending: false }));
};
const inOrderOf = (keys: Float64Array, rows: Uint32Array | undefined): SideOrder => {
  if (!rows) return { keys, rows };
  const sortedKeys = new Float64Array(rows.length);
  for (let n = 0; n < sortedKeys.length; n++) sortedKeys[n] = keys[rows[n]!]!;
  return { keys: sortedKeys, rows };
};

const anyOrder = (window: Window, keys: Keys['keys'], order: Keys['order']): Order => {
  const { before, after } = window;
  const base = lengthOf(before);
  const columns = keys.map((path) =>
    sortColumn(concat([before.main, before.rest, after.main, after.rest].map((rows) => keyColumn(rows, path)))),
  );
  const sign = order === 'desc' ? -1 : 1;
  const first = columns[0]?.prefix ?? new Float64Array(base + lengthOf(after));
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
  const sideOf = (start: number, side: Pieces): SideOrder => {
    const own = prefix.subarray(start, start + lengthOf(side));
    // The rows of one object are in order, as far as the first key goes.
    if (keys.length < 2 && side.rest.length === 0) return { keys: own, rows: undefined };
    const sortedBy = { prefix: own, ...(exact && { exact: (i: number, j: number) => exact(start + i, start + j) }) };
    return inOrderOf(own, sortRows([sortedBy], own.length, { descending: false }));
  };
  return { before: sideOf(0, before), after: sideOf(base, after), exact };
};

/** Rows of keys that both sides have once, as places in their order; of keys that both have and one of them several times. */
interface Meeting {
  readonly runs: Runs;
  readonly bags: { readonly before: Uint32List; readonly after: Uint32List };
}
const meet = ({ before: left, after: right, exact: compare }: Order): Meeting => {
  const runs = new Runs();
  const bags = { before: new Uint32List(), after: new Uint32List() };
  const { keys: before } = left;
  const { keys: after } = right;
  const base = before.length;
  const end = after.length;
  const ofBefore = (i: number): number => rowAt(left, i);
  const ofAfter = (j: number): number => base + rowAt(right, j);
  const isSameBefore = (i: number, k: number): boolean =>
    before[i] === before[k] && (!compare || compare(ofBefore(i), ofBefore(k)) === 0);
  const isSameAfter = (j: number, k: number): boolean =>
    after[j] === after[k] && (!compare || compare(ofAfter(j), ofAfter(k)) === 0);
  const isPair = (i: number, j: number): boolean =>
    before[i] === after[j] &&
    compare!(ofBefore(i), ofAfter(j)) === 0 &&
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
    const n = compare ? pairedRows(i, j) : pairedNumbers(before, after, i, j);
    if (n > 0) {
      runs.push(i, j, n);
      i += n;
      j += n;
      continue;
    }
    const [x, y] = [before[i]!, after[j]!];
    const c = x < y ? -1 : x > y ? 1 : compare ? compare(ofBefore(i), ofAfter(j)) : 0;
    if (c < 0) i++;
    else if (c > 0) j++;
    else {
      const [firstI, firstJ] = [i, j];
      for (; i < base && isSameBefore(firstI, i); i++) bags.before.push(ofBefore(i));
      for (; j < end && isSameAfter(firstJ, j); j++) bags.after.push(rowAt(right, j));
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

/** The rows that are left, by their keys; of equal keys those that were removed first. */
export const leftover = ({ order: { before, after, exact }, keeps }: Compared): Leftover => {
  const [removed, fresh] = [keptPlaces(keeps.before, before), keptPlaces(keeps.after, after)];
  const total = removed.length + fresh.length;
  const base = before.keys.length;
  const added = new Uint8Array(total);
  const rows = new Uint32Array(total);
  for (let n = 0, i = 0, j = 0; n < total; n++) {
    let isAdded = i === removed.length;
    if (!isAdded && j < fresh.length) {
      const a = before.keys[removed[i]!]!;
      const b = after.keys[fresh[j]!]!;
      isAdded =
        b < a ||
        (a === b && exact !== undefined && exact(rowAt(before, removed[i]!), base + rowAt(after, fresh[j]!)) > 0);
    }
    added[n] = isAdded ? 1 : 0;
    rows[n] = isAdded ? rowAt(after, fresh[j++]!) : rowAt(before, removed[i++]!);
  }
  return { added, rows };
};
const keptRows = (keeps: Uint8Array, order: SideOrder): Uint32Array => {
  const places = keptPlaces(keeps, order);
  return order.rows ? lookUp(order.rows, places) : places;
};
const keptPlaces = (keeps: Uint8Array, { rows }: SideOrder): Uint32Array => {
  if (!rows) return marked(keeps);
  const places = new Uint32Array(keeps.length);
  let n = 0;
  for (let place = 0; place < rows.length; place++) if (keeps[rows[place]!] === 1) places[n++] = place;
  return places.subarray(0, n);
};
/** The places of what is 1. */
const marked = (marks: Uint8Array): Uint32Array => {
  const places = new Uint32Array(marks.length);
  let n = 0;
  // Mostly few are, or nearly all.
  for (let i = marks.indexOf(1); i >= 0; i = marks.indexOf(1, i)) while (marks[i] === 1) places[n++] = i++;
  return places.subarray(0, n);
};
