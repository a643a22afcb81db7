/**
 * The best rows by the pool's first key: objects and blocks say between which keys their rows are, so most of them need
 * not be read.
 *
 * Invariants:
 * - What is left out comes after so many rows as are wanted, never beside one of them: which of equal rows are answered
 *   stays as it was.
 * - Only keys of plain values rule anything out. Rows of other keys, spans that may hold NaN where it is the greatest
 *   number (it is the least of the keys), and blocks that may hold nulls where these would come first, are always read.
 */
import { nullSortKey, sortKeyBytes } from '../../vectors/sort-key.ts';
import { types } from '../../vectors/type.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import type { ObjectMeta } from '../lake.types.ts';
import type { ObjectBlock } from '../objects/reader.ts';
import type { BestRows, KeptRows } from './scan.types.ts';
import { keyColumn } from '../load/sort-rows.ts';

/** Bounds of keys; those that are stored may be cut, outwards. */
interface KeySpan {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
}
/** The span of an object's first keys. */
export const spanOfObject = ({ min, max }: ObjectMeta): KeySpan => ({ low: min.sort, high: max.sort });
/**
 * The span of a block's first keys. Blocks keep those of their first and last row, so that in a descending pool the
 * first is the highest.
 */
export const spanOfBlock = ({ firstKey, lastKey }: ObjectBlock, descending: boolean): KeySpan =>
  descending ? { low: lastKey, high: firstKey } : { low: firstKey, high: lastKey };

/** Numbers, bools, bytes, strings, addresses and nets: in the order of their keys whatever a sort says of nulls. */
const isPlain = (key: Uint8Array): boolean => key.length > 0 && key[0]! < types.type.id;

/** What is known of the best rows of one scan so far, and whether a span of keys may hold a better one. */
export class BestKeys {
  private readonly path: readonly string[];
  private readonly rows: number;
  private readonly greater: boolean;
  private readonly dropsNulls: boolean;
  private readonly nanLast: boolean;
  /** The best rows come last in the pool. */
  private readonly atEnd: boolean;
  /** Rows that are known, best first, and what each of them reaches at least. */
  private readonly known: { readonly key: Uint8Array; readonly rows: number }[] = [];
  private knownRows = 0;

  constructor({ path, rows, greater, dropsNulls, nanLast }: BestRows, descending: boolean) {
    this.path = path;
    this.rows = rows;
    this.greater = greater;
    this.dropsNulls = dropsNulls;
    this.nanLast = nanLast;
    this.atEnd = greater !== descending;
  }

  /** Below 0 where `a` is better. */
  private compare(a: Uint8Array, b: Uint8Array): number {
    return this.greater ? compareBytes(b, a) : compareBytes(a, b);
  }

  /** Whether a span from this key on may hold NaN where the sort has it elsewhere than the keys. */
  private isAstray(low: Uint8Array): boolean {
    return this.nanLast && compareBytes(low.subarray(0, leastNumber.length), leastNumber) < 0;
  }
  /** The best key that rows of the span may have; undefined if that is not sure. */
  private most({ low, high }: KeySpan): Uint8Array | undefined {
    if (this.isAstray(low)) return undefined;
    const key = this.greater ? high : low;
    const isSure = this.greater === this.dropsNulls ? isPlain(high) : key.length > 0;
    return isSure ? key : undefined;
  }
  /** What each row of the span reaches; undefined if that is not sure. */
  private least({ low, high }: KeySpan): Uint8Array | undefined {
    if (this.isAstray(low)) return undefined;
    return this.greater
      ? isPlain(low) && (!this.dropsNulls || isPlain(high))
        ? low
        : undefined
      : isPlain(high)
        ? high
        : undefined;
  }
  /** What so many rows as are wanted reach; undefined as long as nothing is known. */
  get floor(): Uint8Array | undefined {
    return this.knownRows >= this.rows ? this.known.at(-1)!.key : undefined;
  }

  /** False only if all rows of the span come after so many as are wanted. */
  mayHold(span: KeySpan): boolean {
    const { floor } = this;
    const most = floor && this.most(span);
    return !floor || !most || this.compare(most, floor) <= 0;
  }
  /** Whether rows of the span would raise the floor. */
  tells(span: KeySpan): boolean {
    const key = this.least(span);
    const { floor } = this;
    return key !== undefined && (!floor || this.compare(key, floor) < 0);
  }
  /** Takes note of rows of the span. No row may be told of twice. */
  add(span: KeySpan, rows: number): void {
    if (rows === 0 || !this.tells(span)) return;
    const key = this.least(span)!;
    const { known } = this;
    let at = known.length;
    while (at > 0 && this.compare(key, known[at - 1]!.key) < 0) at--;
    known.splice(at, 0, { key, rows });
    this.knownRows += rows;
    while (this.knownRows - known.at(-1)!.rows >= this.rows) this.knownRows -= known.pop()!.rows;
  }

  /** The most promising first. */
  promising<T extends { readonly span: KeySpan }>(list: readonly T[]): readonly T[] {
    const best = this.greater ? nullSortKey : none;
    return list
      .map((x) => ({ x, most: this.most(x.span) ?? best }))
      .sort((a, b) => this.compare(a.most, b.most))
      .map(({ x }) => x);
  }

  /**
   * Of rows in the pool's order those that may be among the best: as many as are wanted, and what equals the last of
   * them.
   */
  chosen(rows: Vector, kept: KeptRows, { low, high }: KeySpan): KeptRows {
    const { length } = kept ?? rows;
    if (length <= this.rows || !isPlain(low) || !isPlain(high) || this.isAstray(low)) return kept;
    const keys = keyColumn(rows, this.path);
    const keyAt = (i: number): Uint8Array =>
      sortKeyBytes(valueAt(keys, !kept ? i : kept instanceof Uint32Array ? kept[i]! : kept.start + i));
    const edge = this.atEnd ? length - this.rows : this.rows - 1;
    const bound = keyAt(edge);
    // `within` is wanted, `out` is not.
    let within = edge;
    let out = this.atEnd ? -1 : length;
    while (Math.abs(within - out) > 1) {
      const middle = (within + out) >> 1;
      if (compareBytes(keyAt(middle), bound) === 0) within = middle;
      else out = middle;
    }
    const start = this.atEnd ? within : 0;
    const end = this.atEnd ? length : within + 1;
    return !kept
      ? { start, length: end - start }
      : kept instanceof Uint32Array
        ? kept.subarray(start, end)
        : { start: kept.start + start, length: end - start };
  }
}
const none = new Uint8Array(0);
/** The key of the least number but NaN. */
const leastNumber = sortKeyBytes({ type: types.float64, data: -Infinity });
