/**
 * One side of a comparison: the rows of the objects that it has alone, in the order of the pool's first key. Rows of
 * objects that overlap stay apart, in two pieces: mostly one object has nearly all of them, and they are not copied.
 */
import { scanSteps } from '../../lake/scan/scan.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { sortKeyBytes } from '../../vectors/sort-key.ts';
import { working } from '../../vectors/stop.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, noRows, slice, valueAt } from '../../vectors/vector.ts';
import { type Keys, type Pieces, sorted } from './window.ts';

/** How a side is read. */
export interface SideOptions extends Keys {
  readonly batchRows: number;
  readonly signal: AbortSignal;
  /** Told of bytes that were read. */
  readonly read: (bytes: number) => void;
}
/** Rows of objects that are left out (scan.types.ts). */
export type RowsWithout = ReadonlyMap<string, Uint32Array>;

/** Rows in order of the first key, with what is known of their keys. */
class Piece {
  readonly rows: Vector;
  private readonly path: readonly string[];
  private firstKey: Uint8Array | undefined;
  private lastKey: Uint8Array | undefined;
  constructor(rows: Vector, path: readonly string[], lastKey?: Uint8Array) {
    this.rows = rows;
    this.path = path;
    this.lastKey = lastKey;
  }
  get first(): Uint8Array {
    return (this.firstKey ??= this.keyAt(0));
  }
  get last(): Uint8Array {
    return (this.lastKey ??= this.keyAt(this.rows.length - 1));
  }
  /** The first row of which that is true, as it is of all behind it. */
  firstOf(isBehind: (key: Uint8Array) => boolean): number {
    if (this.rows.length === 0 || !isBehind(this.last)) return this.rows.length;
    let low = 0;
    let high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(this.keyAt(middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  from(start: number): Piece {
    return start === 0 ? this : new Piece(slice(this.rows, start, this.rows.length), this.path, this.lastKey);
  }
  private keyAt(row: number): Uint8Array {
    return sortKeyBytes(valueAt(keyColumn(slice(this.rows, row, row + 1), this.path), 0));
  }
}

/** The rows of one side: those at hand, and the step behind them. */
export class Side {
  private readonly keys: Keys;
  private readonly path: readonly string[];
  private readonly steps: AsyncIterator<readonly Vector[]>;
  /** The longest piece of the step, and the others put together. */
  private main: Piece;
  private rest: Piece;
  private next: readonly [Piece, Piece] | undefined;
  private ended = false;
  private readonly signal: AbortSignal;

  constructor(source: ScanSource, { keys, order, batchRows, signal, read }: SideOptions, without: RowsWithout) {
    this.keys = { keys, order };
    this.signal = signal;
    this.path = keys[0] ?? [];
    this.main = this.rest = new Piece(noRows, this.path);
    this.steps = scanSteps(source, {
      batchRows,
      signal,
      read,
      ...(without.size > 0 && { without: (id: string) => without.get(id) }),
    })[Symbol.asyncIterator]();
  }

  /** Nothing is left, once it has been filled. */
  get isEmpty(): boolean {
    return this.main.rows.length + this.rest.rows.length === 0;
  }
  get first(): Uint8Array {
    return firstOf(this.main, this.rest, this.keys.order);
  }
  get last(): Uint8Array {
    const { main, rest } = this;
    if (main.rows.length === 0 || rest.rows.length === 0) return (main.rows.length === 0 ? rest : main).last;
    return this.compare(main.last, rest.last) >= 0 ? main.last : rest.last;
  }

  /** Sees that rows are at hand, and those behind them. */
  async fill(): Promise<void> {
    if (this.isEmpty) {
      const step = (this.next ??= await this.read());
      if (step) [this.main, this.rest] = step;
      this.next = undefined;
    }
    this.next ??= await this.read();
  }
  private async read(): Promise<readonly [Piece, Piece] | undefined> {
    while (!this.ended) {
      const { done, value } = await this.steps.next();
      if (done) this.ended = true;
      else if (value.some((rows) => rows.length > 0)) return working(this.signal, () => this.piecesOf(value));
    }
    return undefined;
  }
  private piecesOf(step: readonly Vector[]): readonly [Piece, Piece] {
    const main = step.reduce((a, b) => (b.length > a.length ? b : a));
    const others = step.filter((rows) => rows !== main);
    return [new Piece(main, this.path), new Piece(others.length > 0 ? sorted(others, this.keys) : noRows, this.path)];
  }

  /** Whether the rows at hand end with that key and more of it follow. */
  goesOnAt(key: Uint8Array): boolean {
    if (!this.next || this.isEmpty || compareBytes(this.last, key) !== 0) return false;
    return compareBytes(firstOf(...this.next, this.keys.order), key) === 0;
  }
  /** Takes the rows before that key, or with it. */
  take(key: Uint8Array, isWith: boolean): Pieces {
    const isBehind = (other: Uint8Array): boolean => this.compare(other, key) >= (isWith ? 1 : 0);
    const [main, rest] = [this.main, this.rest].map((piece) => {
      const end = piece.firstOf(isBehind);
      return { taken: slice(piece.rows, 0, end), left: piece.from(end) };
    });
    this.main = main!.left;
    this.rest = rest!.left;
    return { main: main!.taken, rest: rest!.taken };
  }
  /** All rows of a key, which come next if there are any. */
  async *rowsOf(key: Uint8Array): AsyncGenerator<Vector> {
    while (!this.isEmpty && compareBytes(this.first, key) === 0) {
      const { main, rest } = working(this.signal, () => this.take(key, true));
      if (main.length > 0) yield main;
      if (rest.length > 0) yield rest;
      await this.fill();
    }
  }

  /** In the pool's order. */
  compare(a: Uint8Array, b: Uint8Array): number {
    return compareKeys(a, b, this.keys.order);
  }
  async end(): Promise<void> {
    await this.steps.return?.(undefined);
  }
}

const compareKeys = (a: Uint8Array, b: Uint8Array, order: Keys['order']): number =>
  order === 'desc' ? compareBytes(b, a) : compareBytes(a, b);
const firstOf = (main: Piece, rest: Piece, order: Keys['order']): Uint8Array => {
  if (main.rows.length === 0 || rest.rows.length === 0) return (main.rows.length === 0 ? rest : main).first;
  return compareKeys(main.first, rest.first, order) <= 0 ? main.first : rest.first;
};
