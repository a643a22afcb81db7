/**
 * The rows of a row group, some at a time: all columns are read on by the same number of rows, a window of them.
 *
 * Invariants:
 * - Pages and dictionaries that columns hold between two windows have a part of the reader's memory, as the window has.
 * - Where not all columns can hold their pages, the others' are put into a scratch file (parked.ts), or are read again
 *   for each window if they cannot be; windows are then as large as they may be.
 */
import type { RowGroup } from 'hyparquet';
import type { Field, Vector } from '../../vectors/vector.ts';
import { distinctNames } from '../columns/types.ts';
import type { ReadOptions } from '../format.types.ts';
import type { ReadMemory } from '../read-memory.ts';
import { RowWindows, partOf } from '../row-windows.ts';
import type { Spool } from '../spool.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { assemble } from './assemble.ts';
import { ColumnChunk, type Mark } from './column-chunk.ts';
import type { Losses } from '../columns/decimals.ts';
import { ParkedPages } from './parked.ts';
import { type Node, leavesOf } from './plan.ts';
import type { Entries } from './open-page.ts';

/** Part of the memory for pages that are held, and most bytes of them. */
const heldPart = 1.6;
const heldBytesMax = 64 << 20;
/** Most rows of a row group without columns. */
const emptyRowsMax = 1 << 24;

/** What the row groups of one file have in common. */
interface GroupOptions {
  readonly file: Spool;
  readonly columns: readonly Node[];
  readonly memory: ReadMemory;
  readonly batchRows: number;
  readonly turn?: ReadOptions['turn'];
  readonly scratch?: ReadOptions['scratch'];
  readonly lost?: ((column: string) => Losses) | undefined;
}

/** Batches of a row group's rows. @throws BytesFault, LakeError format-memory */
export function* readGroup(group: RowGroup, options: GroupOptions): Generator<Vector> {
  const rows = Number(group.num_rows);
  const reader = new GroupReader(group, options);
  if (!(rows >= 0) || (options.columns.length === 0 && rows > emptyRowsMax))
    throw new BytesFault(`row group of ${rows} rows`);
  try {
    for (let left = rows; left > 0; ) {
      const window = reader.next(left);
      yield window;
      left -= window.length;
    }
    reader.end();
  } finally {
    reader.close();
  }
}

class GroupReader {
  private readonly options: GroupOptions;
  private readonly names: readonly string[];
  private readonly columns: readonly (readonly ColumnChunk[])[];
  private readonly windows: RowWindows;
  /** Bytes of the pages and dictionaries that columns hold. */
  private pageBytes = 0;
  /** Some column had to let go of a page. */
  private isShort = false;
  private readonly parked: ParkedPages | undefined;

  constructor(group: RowGroup, options: GroupOptions) {
    this.options = options;
    this.names = distinctNames(options.columns.map((c) => c.name));
    this.columns = options.columns.map((column, k) =>
      named(this.names[k], () =>
        leavesOf(column).map((leaf) => {
          const chunk = group.columns[leaf.index];
          const meta = chunk?.meta_data;
          if (!meta || chunk.crypto_metadata) throw new BytesFault('column chunk is missing or encrypted');
          if (chunk.file_path) throw new BytesFault(`column chunk is in another file: ${chunk.file_path}`);
          if (meta.type !== leaf.physical) throw new BytesFault(`${String(meta.type)} in a column of ${leaf.physical}`);
          return new ColumnChunk(options.file, meta, {
            leaf,
            name: this.names[k],
            memory: options.memory,
            lost: options.lost?.(this.names[k]),
          });
        }),
      ),
    );
    this.windows = new RowWindows({ ...options, format: 'parquet', rowBytes: rowBytesOf(group) });
    this.parked = options.scratch && new ParkedPages(options.scratch);
  }

  /** The next rows, at most so many. */
  next(left: number): Vector {
    const marks = this.columns.map((chunks) => chunks.map((c) => c.mark()));
    return this.windows.next(left, {
      read: (rows) => this.window(rows),
      again: () => {
        this.reset(marks);
      },
      isShort: this.isShort,
    });
  }
  private reset(marks: readonly (readonly Mark[])[]): void {
    this.pageBytes = 0;
    this.columns.forEach((chunks, k) => {
      chunks.forEach((c, i) => {
        c.drop();
        c.reset(marks[k][i]);
      });
    });
  }

  /** Nothing may be left behind the last row. @throws BytesFault */
  end(): void {
    this.columns.forEach((chunks, k) => {
      if (!chunks.every((c) => c.isAtEnd))
        throw new BytesFault(`column ${this.names[k]}: more rows than the row group`);
    });
  }
  close(): void {
    for (const chunks of this.columns) for (const c of chunks) c.drop();
    this.parked?.close();
  }

  private window(rows: number): Vector {
    const fields = this.columns.map(
      (chunks, k): Field =>
        named(this.names[k], () => ({ name: this.names[k], optional: false, values: this.column(k, chunks, rows) })),
    );
    return { form: 'record', length: rows, fields };
  }
  /**
   * Lets go of so much of what a column holds that at most so many bytes of it are left; of its dictionary if it has
   * more than `wholeBytesMax`.
   */
  private shrink(chunk: ColumnChunk, wholeBytesMax: number, bytesMax: number): void {
    if (this.parked) {
      chunk.park(this.parked);
      if (chunk.held > wholeBytesMax) chunk.parkDictionary(this.parked);
    }
    if (chunk.held > bytesMax) chunk.drop();
  }
  private column(k: number, chunks: readonly ColumnChunk[], rows: number): Vector {
    const taken = new Map<number, Entries>();
    const took = (bytes: number): void => {
      this.windows.hold(bytes, rows);
    };
    const pagesMax = Math.min(heldBytesMax, partOf(this.options.memory, heldPart));
    return this.windows.column(rows, () => {
      for (const chunk of chunks) {
        this.pageBytes -= chunk.held;
        taken.set(chunk.leaf.index, chunk.take(rows, took));
        // The other half is for what parked columns hold: a page whose levels have no room is let go as a whole.
        const wholeMax = this.parked ? pagesMax / 2 : pagesMax;
        if (this.pageBytes + chunk.held > wholeMax) {
          this.isShort ||= !chunk.isAtEnd;
          this.shrink(chunk, wholeMax - this.pageBytes, pagesMax - this.pageBytes);
        }
        this.pageBytes += chunk.held;
      }
      const losses = this.options.lost?.(this.names[k]);
      const v = assemble(this.options.columns[k], { of: (leaf) => taken.get(leaf)!, losses });
      if (v.length !== rows) throw new BytesFault(`${v.length} rows of ${rows}`);
      return v;
    });
  }
}

/** What a row comes to, about: a first window that is too large reads the pages of all columns once more. */
const rowBytesOf = ({ columns, num_rows }: RowGroup): number => {
  let bytes = 0;
  for (const { meta_data: meta } of columns)
    bytes += Math.max(numberBytes, Number(meta?.total_uncompressed_size ?? 0) / Math.max(1, Number(num_rows)));
  return bytes;
};
const numberBytes = 8;

const named = <T>(name: string, work: () => T): T => {
  try {
    return work();
  } catch (problem) {
    throw problem instanceof BytesFault
      ? new BytesFault(`column ${name}: ${problem.message}`, { cause: problem })
      : problem;
  }
};
