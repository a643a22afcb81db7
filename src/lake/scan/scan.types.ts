/** What a scan is given: where the objects are, and what is wanted of their rows. */
import type { ColumnCache } from '../columns/cache.ts';
import type { ColumnPruner } from '../columns/prune.ts';
import type { StoredTest } from '../columns/stored-tests.ts';
import type { ColumnSummary } from '../../vectors/summary.ts';
import type { SummaryRequest } from '../columns/summaries.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { ObjectPage, PageRequest, SortOrder } from '../lake.types.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { ObjectStore } from '../objects/objects.ts';

/** What is scanned: the objects of one commit. Pages list them by their first key in the pool's order. */
export interface ScanSource {
  readonly keys: readonly (readonly string[])[];
  readonly order: SortOrder;
  readonly objects: Pick<ObjectStore, 'readRange' | 'ahead' | 'isHere' | 'distrust'>;
  readonly page: (request: PageRequest) => ObjectPage | Promise<ObjectPage>;
  /** Readers of earlier scans by object id; a scan takes from it and adds to it. */
  readonly readers?: ReaderCache;
}
/** Opened objects, kept between scans; what it keeps and for how long is its own affair. */
export interface ReaderCache {
  /** Decoded columns of these readers. */
  readonly columns?: ColumnCache;
  get(id: string): ObjectReader | undefined;
  set(id: string, reader: ObjectReader): void;
}
type Paths = readonly (readonly string[])[];
type MaybePromise<T> = T | Promise<T>;

/** Which rows are wanted. */
export interface RowFilter {
  /** What it looks at; absent: all. */
  readonly columns?: Paths;
  /** It looks at strings and names of fields alone: numbers may come as nulls. */
  readonly textOnly?: boolean;
  /** It looks for these texts alone, whatever their case: strings may come as nulls where none of them is. */
  readonly texts?: readonly string[];
  /**
   * The rows to keep; undefined: all of them. Asked once for each row, or twice in an ordered scan. `inOrder`: the rows
   * are in the order of the first key.
   */
  readonly keep: (rows: Vector, inOrder?: boolean) => MaybePromise<KeptRows>;
  readonly best?: BestRows;
  readonly stored?: StoredTests;
}
/** The shape of `StoredTests` in exec/source.ts. */
export interface StoredTests {
  readonly tests: readonly StoredTest[];
  readonly columns?: Paths;
  readonly rest?: (rows: Vector, kept: Uint32Array | undefined, isAfterFirst?: boolean) => MaybePromise<KeptRows>;
  readonly first?: {
    readonly columns: Paths;
    readonly leavesFew: () => boolean;
    readonly keep: (rows: Vector, kept: Uint32Array | undefined) => Uint32Array | undefined;
  };
  readonly seen: (rows: number) => void;
}
/** The shape of `KeptRows` in exec/source.ts: numbers of rows, or a run of them. */
export type KeptRows = Uint32Array | { readonly start: number; readonly length: number } | undefined;

/** The shape of `BestRows` in exec/source.ts. */
export interface BestRows {
  readonly path: readonly string[];
  readonly rows: number;
  readonly isTested: boolean;
  readonly greater: boolean;
  readonly floor: () => number | undefined;
  readonly dropsNulls: boolean;
  readonly nanLast: boolean;
  readonly ahead: (rows: Vector) => number | Promise<number>;
}
/**
 * Part of the shape of `ScanCounts` in exec/source.ts: told of objects that are opened, with their blocks, of blocks
 * that are read, and of those of other objects.
 */
export interface BlockCounts {
  readonly opened: (object: string, blocks: number) => void;
  readonly block: (object: string, block: number) => void;
  readonly skipped: (blocks: number) => void;
}
/** The shape of `BlockSummaries` in exec/source.ts. */
export interface BlockSummaries {
  readonly of: readonly SummaryRequest[];
  readonly take: (rows: number, columns: readonly ColumnSummary[]) => boolean;
}
/** What is wanted of the rows. */
export interface ScanOptions {
  /** Paths of the fields that are needed; absent: all. Rows that are no records come whole. */
  readonly columns?: readonly (readonly string[])[];
  /** Rules out objects and blocks that cannot hold wanted rows. */
  readonly pruner?: ColumnPruner;
  /** The exact test; the pruner follows from it. Absent: all rows. */
  readonly filter?: RowFilter;
  readonly summaries?: BlockSummaries;
  /** In the pool's order; else in any. */
  readonly ordered: boolean;
  /** The blocks of an object that are to be read, in order; absent: all that the pruner leaves. */
  readonly blocks?: (id: string) => readonly number[];
  /** Rows of an object that are not wanted, as places [start, end) that rise; only for scans by `scanSteps`. */
  readonly without?: (id: string) => Uint32Array | undefined;
  /** Rows without fields may come in batches of any length. */
  readonly counted?: boolean;
  /** No more rows than this are needed, about. */
  readonly limit?: number;
  /** Default 4096. */
  readonly batchRows?: number;
  /** Some of these rows were read already: for the cache it is the same scan that goes on. */
  readonly goesOn?: boolean;
  readonly signal?: AbortSignal;
  /** Told of what was read: bytes of objects, and rows. */
  readonly read?: (bytes: number, rows: number) => void;
  readonly counts?: BlockCounts;
}
