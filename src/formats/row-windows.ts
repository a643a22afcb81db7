/**
 * Rows of columns that are read side by side, a window of them at a time, as many as a part of the reader's memory
 * holds.
 *
 * Invariant: a window that turns out larger is read again with half of its rows; a single row may take all of the
 * memory.
 */
import { LakeError } from '../errors.ts';
import { lean, shownSize } from '../vectors/shown-size.ts';
import { charge } from '../vectors/stop.ts';
import { type Vector, vectorBytes } from '../vectors/vector.ts';
import type { ReadOptions } from './format.types.ts';
import type { ReadMemory } from './read-memory.ts';

/** A batch ends when its rows come to so many bytes. */
export const batchBytesMax = 4 << 20;
/**
 * Part of the memory for a window, and for one that is worth while to be large; most bytes of each, however much memory
 * there is: a usual one is a batch, since cutting it would make its columns once more.
 */
const windowPart = { usual: 4, large: 2 };
const windowBytesMax = { usual: batchBytesMax, large: 32 << 20 };

/** Whose rows they are. `batchRows`: of a usual window. `rowBytes`: of a row, about, if the reader knows. */
export interface RowWindowOptions {
  readonly memory: ReadMemory;
  readonly format: string;
  readonly batchRows: number;
  readonly rowBytes?: number;
  readonly turn?: ReadOptions['turn'];
}
/** Charges bytes to the window in work. @throws LakeError format-memory */
export type Hold = (bytes: number) => void;

export class RowWindows {
  private readonly options: RowWindowOptions;
  private rows: number;
  /** So many had no room in windows of that size. They are not tried again: each trial reads all pages once more. */
  private tooMany: { readonly rows: number; readonly size: RowWindows['size'] } | undefined;
  private held = 0;
  private size: keyof typeof windowPart = 'usual';
  constructor(options: RowWindowOptions) {
    this.options = options;
    const { batchRows, rowBytes } = options;
    this.rows = rowBytes ? Math.max(1, Math.min(batchRows, Math.floor(this.limit / rowBytes))) : batchRows;
  }

  /**
   * What `read` gives of the next rows, at most `left`; `again` is called before it is asked for fewer of them.
   * `isShort`: large windows are worth while.
   */
  next(
    left: number,
    {
      read,
      again,
      isShort = false,
    }: { readonly read: (rows: number) => Vector; readonly again: () => void; readonly isShort?: boolean },
  ): Vector {
    this.size = isShort ? 'large' : 'usual';
    for (;;) {
      const rows = Math.min(left, this.rows);
      try {
        const { turn } = this.options;
        const window = turn ? turn(() => read(rows)) : read(rows);
        this.grow(rows, isShort);
        return window;
      } catch (problem) {
        if (!(problem instanceof LakeError && problem.code === 'format-memory') || rows === 1) throw problem;
        this.tooMany = { rows, size: this.size };
        this.rows = Math.ceil(rows / 2);
        again();
      } finally {
        this.options.memory.free(this.held);
        this.held = 0;
      }
    }
  }

  /** Charges bytes to the window of so many rows. */
  hold(bytes: number, rows: number): void {
    const { memory, format } = this.options;
    const what = rows === 1 ? 'row' : `${rows} rows`;
    const { limit } = this;
    if (rows > 1 && this.held + bytes > limit) throw new LakeError('format-memory', { format, what, limit });
    memory.hold(bytes, { format, what });
    charge(bytes, what);
    this.held += bytes;
  }

  /**
   * A column as it is given out, of what `read` makes: charged by what it shows, whatever views and dictionaries bring
   * along.
   */
  column(rows: number, read: () => Vector): Vector {
    charge(vectorBytes, 'columns of a window');
    const before = this.held;
    const own = lean(read());
    if (rows === 1) return own;
    const made = this.held - before;
    this.options.memory.free(made);
    this.held = before;
    this.hold(Math.max(made, shownSize(own)), rows);
    return own;
  }

  private get limit(): number {
    return Math.min(windowBytesMax[this.size], partOf(this.options.memory, windowPart[this.size]));
  }

  private hadNoRoom(rows: number): boolean {
    return this.tooMany?.size === this.size && rows >= this.tooMany.rows;
  }
  /** Larger windows, up to those of a batch; beyond that if they are worth while. */
  private grow(rows: number, isShort: boolean): void {
    if (rows < this.rows || this.held * 2 > this.limit || this.hadNoRoom(rows * 2)) return;
    if (rows < this.options.batchRows) this.rows = Math.min(rows * 2, this.options.batchRows);
    else if (isShort) this.rows = rows * 2;
  }
}

/** A part of a reader's share of memory. */
export const partOf = (memory: ReadMemory, part: number): number => memory.share / part;
