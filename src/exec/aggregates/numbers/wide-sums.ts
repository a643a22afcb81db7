/**
 * Sums of whole numbers of groups where floats would round them: exact, however many and however large they are. Their
 * two words are summed each by itself, without a bigint for each value.
 */
import { floats, widened } from '../grouping/state.ts';
import { none } from '../grouping/pair-table.ts';

/** After so many rows the sums of words are still safe numbers: a word is below 2^32. */
const rowsMax = 1 << 20;

export class WideSums {
  /** Of each group: the sum of the upper words, which have the sign, and that of the lower ones. */
  private cells = floats(0);
  private rows = 0;
  private readonly carried = new Map<number, bigint>();
  get isEmpty(): boolean {
    return this.cells.length === 0 && this.carried.size === 0;
  }
  get bytes(): number {
    return this.cells.byteLength + this.carried.size * 64;
  }
  /** Adds values[i] to group ids[i], the one group where it is one. */
  add(ids: Uint32Array | number, values: BigInt64Array | BigUint64Array, groups: number): void {
    this.cells = widened(this.cells, groups * 2, floats);
    const low = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
    const high = values instanceof BigInt64Array ? new Int32Array(low.buffer, low.byteOffset, low.length) : low;
    for (let from = 0; from < values.length; from += rowsMax) {
      const end = Math.min(values.length, from + rowsMax);
      if ((this.rows += end - from) > rowsMax) {
        this.carryAll();
        this.rows = end - from;
      }
      if (typeof ids === 'number') this.addToOne(ids, high, low, from, end);
      else this.addToEach(ids, high, low, from, end);
    }
  }
  private addToOne(group: number, high: Int32Array | Uint32Array, low: Uint32Array, from: number, end: number): void {
    let upper = 0;
    let lower = 0;
    for (let i = from; i < end; i++) {
      lower += low[2 * i];
      upper += high[2 * i + 1];
    }
    this.cells[group * 2] += upper;
    this.cells[group * 2 + 1] += lower;
  }
  private addToEach(
    ids: Uint32Array,
    high: Int32Array | Uint32Array,
    low: Uint32Array,
    from: number,
    end: number,
  ): void {
    const { cells } = this;
    for (let i = from; i < end; i++) {
      const at = ids[i] * 2;
      cells[at] += high[2 * i + 1];
      cells[at + 1] += low[2 * i];
    }
  }
  addTotal(group: number, value: bigint): void {
    this.carried.set(group, (this.carried.get(group) ?? 0n) + value);
  }
  private carryAll(): void {
    const { cells } = this;
    for (let g = 0; 2 * g < cells.length; g++) {
      const own = this.ofWords(g);
      if (own !== 0n) this.addTotal(g, own);
    }
    cells.fill(0);
  }
  private ofWords(group: number): bigint {
    const upper = this.cells[group * 2] ?? 0;
    const lower = this.cells[group * 2 + 1] ?? 0;
    return upper === 0 && lower === 0 ? 0n : (BigInt(upper) << 32n) + BigInt(lower);
  }
  total(group: number): bigint {
    return this.ofWords(group) + (this.carried.get(group) ?? 0n);
  }
  merge(from: WideSums, map: Uint32Array, groups: number): void {
    if (from.isEmpty) return;
    for (let g = 0; g < groups; g++) {
      const own = map[g] === none ? 0n : from.total(g);
      if (own !== 0n) this.addTotal(map[g], own);
    }
  }
}
