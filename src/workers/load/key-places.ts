/**
 * Where rows of certain keys are in a block, whose rows are in the order of their first key: found by halving, so that a
 * few keys cost no look at every row.
 */
import { keyColumn } from '../../lake/load/sort-rows.ts';
import type { SortOrder } from '../../lake/lake.types.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { sortKeyBytes } from '../../vectors/sort-key.ts';
import { isNumeric } from '../../vectors/type.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type NumberVector, type Vector, valueAt } from '../../vectors/vector.ts';

/** Compares the key of a row with the wanted key of a number, in rising order. */
type Compare = (row: number, key: number) => number;

/** A look by halving costs as much as so many rows that are looked at, about. */
const rowsOfLook = 16;

/** Certain first keys of a pool. */
export class KeyPlaces {
  private readonly path: readonly string[];
  private readonly order: SortOrder;
  private readonly values: Vector;
  /** Rising; each once in `numbers`. */
  private readonly sorted: Float64Array;
  private readonly numbers: Float64Array;
  private sortKeys: readonly Uint8Array[] | undefined;

  constructor(values: Vector, path: readonly string[], order: SortOrder) {
    this.path = path;
    this.order = order;
    this.values = values;
    this.sorted = numbersOf(values).sort();
    this.numbers = distinct(this.sorted);
  }

  /** The least and the greatest, by their bytes. */
  get ends(): readonly [Uint8Array, Uint8Array] {
    const { values, sorted } = this;
    // None of them is NaN.
    if (isPlain(values) && sorted.length === values.length && sorted.length > 0) {
      const keyOf = (number: number): Uint8Array => sortKeyBytes({ type: values.type, data: number });
      return [keyOf(sorted[0]!), keyOf(sorted.at(-1)!)];
    }
    return [this.keys[0]!, this.keys.at(-1)!];
  }
  /** Rising, each once. */
  private get keys(): readonly Uint8Array[] {
    if (this.sortKeys) return this.sortKeys;
    const keys = Array.from({ length: this.values.length }, (_, i) => sortKeyBytes(valueAt(this.values, i)));
    keys.sort(compareBytes);
    return (this.sortKeys = keys.filter((key, i) => i === 0 || compareBytes(keys[i - 1]!, key) !== 0));
  }

  /** Rows that may have one of the keys, rising, and all that have; undefined: it is quicker to look at each. */
  in(rows: Vector): Uint32Array | undefined {
    const column = keyColumn(rows, this.path);
    if (column.length === 0) return undefined;
    if (isPlain(column)) {
      const { values } = column;
      // It has a place of its own in the order.
      if (Number.isNaN(values[0]) || Number.isNaN(values[column.length - 1])) return undefined;
      return this.found(column.length, this.numbers.length, (row, key) =>
        compareNumbers(values[row]!, this.numbers[key]!),
      );
    }
    const known = new Map<number, Uint8Array>();
    const keyOf = (row: number): Uint8Array => {
      let key = known.get(row);
      if (!key) known.set(row, (key = sortKeyBytes(valueAt(column, row))));
      return key;
    };
    return this.found(column.length, this.keys.length, (row, key) => compareBytes(keyOf(row), this.keys[key]!));
  }

  private found(rows: number, keys: number, compare: Compare): Uint32Array | undefined {
    const isDown = this.order === 'desc';
    // Rows as if they rose.
    const at = isDown ? (row: number): number => rows - 1 - row : (row: number): number => row;
    const first = firstOf(0, keys, (key) => compare(at(0), key) <= 0);
    const end = firstOf(first, keys, (key) => compare(at(rows - 1), key) < 0);
    if ((end - first) * rowsOfLook > rows) return undefined;
    const places = new Uint32List();
    for (let key = first, row = 0; key < end && row < rows; key++) {
      row = firstOf(row, rows, (other) => compare(at(other), key) >= 0);
      for (; row < rows && compare(at(row), key) === 0; row++) places.push(at(row));
    }
    return isDown ? places.done().reverse() : places.done();
  }
}
/** The first number for which that is true, as it is for all behind it. */
const firstOf = (start: number, end: number, isTrue: (n: number) => boolean): number => {
  let low = start;
  for (let high = end; low < high; ) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** Their difference would be NaN of two that are infinite. */
const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Numbers that are kept as such. */
const isPlain = (v: Vector): v is NumberVector & { readonly values: Float64Array } =>
  v.form === 'number' && isNumeric(v.type) && v.values instanceof Float64Array;
/** A NaN has no place among numbers; a block that has one is not looked at so. */
const numbersOf = (values: Vector): Float64Array => {
  if (isPlain(values)) return values.values.slice(0, values.length).filter((x) => x === x);
  const numbers: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = valueAt(values, i);
    if (isNumeric(value.type) && !Number.isNaN(Number(value.data))) numbers.push(Number(value.data));
  }
  return Float64Array.from(numbers);
};
/** Of numbers that rise; 0 is also -0. */
const distinct = (numbers: Float64Array): Float64Array => numbers.filter((x, i) => i === 0 || numbers[i - 1] !== x);
