/**
 * A tree over rows that answers sums, minima and maxima of any range of them in logarithmic time. Short ranges are gone
 * through row by row, in order.
 */

/** What a range of numbers is folded to. */
type Fold = 'sum' | 'min' | 'max';

/** Ranges up to so many rows need no tree. */
const directMax = 32;

/** A segment tree over an array of numbers, made when the first long range is asked for. */
export class RangeTree {
  private readonly values: Float64Array;
  private readonly fold: Fold;
  /** Leaves begin in the middle; node k covers nodes 2k and 2k + 1. Built when first needed. */
  private nodes: Float64Array | undefined;

  /** What does not count has to be 0 in sums, Infinity for min, -Infinity for max. */
  constructor(values: Float64Array, fold: Fold) {
    this.values = values;
    this.fold = fold;
  }

  /** The fold of rows [start, end) with `known`. */
  range(start: number, end: number, known: number): number {
    if (end - start <= directMax) return foldRows[this.fold](this.values, start, end, known);
    const nodes = (this.nodes ??= this.build());
    const leaves = nodes.length / 2;
    let out = known;
    for (let from = start + leaves, to = end + leaves; from < to; from >>= 1, to >>= 1) {
      if (from & 1) out = this.two(out, nodes[from++]);
      if (to & 1) out = this.two(out, nodes[--to]);
    }
    return out;
  }

  private build(): Float64Array {
    const n = this.values.length;
    const nodes = new Float64Array(2 * n);
    nodes.set(this.values, n);
    for (let k = n - 1; k > 0; k--) nodes[k] = this.two(nodes[2 * k], nodes[2 * k + 1]);
    return nodes;
  }

  private two(a: number, b: number): number {
    if (this.fold === 'sum') return a + b;
    // A NaN stays.
    if (a !== a || b !== b) return NaN;
    return this.fold === 'min' ? (a < b ? a : b) : a > b ? a : b;
  }
}

const sumOf = (values: Float64Array, start: number, end: number, known: number): number => {
  let out = known;
  for (let i = start; i < end; i++) out += values[i];
  return out;
};
const minOf = (values: Float64Array, start: number, end: number, known: number): number => {
  let out = known;
  for (let i = start; i < end; i++) {
    const x = values[i];
    if (x < out || x !== x) out = x;
  }
  return out;
};
const maxOf = (values: Float64Array, start: number, end: number, known: number): number => {
  let out = known;
  for (let i = start; i < end; i++) {
    const x = values[i];
    if (x > out || x !== x) out = x;
  }
  return out;
};
const foldRows = { sum: sumOf, min: minOf, max: maxOf } as const;
