/**
 * What the engine reads from and writes to besides its plan: given by the worker (service) or by the command line
 * (`lake query`).
 */
import type { SpillBytes } from './spill-bytes.ts';
import type { ColumnSummary } from '../vectors/summary.ts';
import type { Vector } from '../vectors/vector.ts';
import type { PrimitiveType } from '../vectors/type.ts';
import type { Value } from '../vectors/value.ts';
import type {
  CompareOperator,
  FieldPath,
  PlanFunction,
  PlanOp,
  Pruner,
  ResolvedSource,
  ViewChange,
} from '../query/plan/plan.ts';
import type { ShareKeys } from './aggregates/grouping/shared-keys.ts';
import type { AggregateState } from './aggregates/grouping/state.ts';

/** What a scan of a source is to give; hosts may give more columns and rows than asked for, unless they filter. */
export interface ScanRequest {
  readonly columns?: readonly FieldPath[];
  readonly pruner?: Pruner;
  /** Only for hosts that filter (`ExecutionHost.filters`). */
  readonly filter?: ScanFilter;
  readonly ordered: boolean;
  readonly limit?: number;
  /** The rows are counted and not looked at: without fields they may come in batches of any length. */
  readonly counted?: boolean;
  /** Only for hosts that filter, and in any order. */
  readonly summaries?: BlockSummaries;
  readonly signal: AbortSignal;
  /** Told of what is read, where somebody asked for that. */
  readonly counts?: ScanCounts;
}

/**
 * What an aggregate needs of the rows that are wanted as a whole: the host may give what they come to instead of them.
 */
export interface BlockSummaries {
  readonly of: readonly { readonly path: FieldPath; readonly totals: boolean }[];
  /** `columns`: one for each that is asked for. False: the rows themselves are needed. */
  readonly take: (rows: number, columns: readonly ColumnSummary[]) => boolean;
}

/** What a scan reads and what it passes over; an object's blocks count as skipped until they are read. */
export interface ScanCounts {
  readonly read: (bytes: number) => void;
  readonly opened: (object: string, blocks: number) => void;
  readonly block: (object: string, block: number) => void;
  /** Blocks of objects that are not opened. */
  readonly skipped: (blocks: number) => void;
}

/** Which rows a scan is to give. */
export interface ScanFilter {
  /** What it looks at; absent: all of the row. */
  readonly columns?: readonly FieldPath[];
  /** It looks at strings and names of fields alone: numbers may come as nulls. */
  readonly textOnly?: boolean;
  /** It looks for these texts alone, whatever their case: strings may come as nulls where none of them is. */
  readonly texts?: readonly string[];
  /** The rows to keep; undefined: all of them. `inOrder`: they are in the order of the source's first key. */
  readonly keep: (rows: Vector, inOrder?: boolean) => KeptRows | Promise<KeptRows>;
  readonly best?: BestRows;
  readonly stored?: StoredTests;
}
/**
 * A comparison of one column with a constant. `readAs`: the constant as it is read beside a column of another type
 * (SQL); undefined if it cannot be. `others`: with `==`, constants that do as well.
 */
export interface StoredTest {
  readonly path: FieldPath;
  readonly operator: CompareOperator;
  readonly value: Value;
  readonly others?: readonly Value[];
  readonly sql?: true;
  readonly readAs?: (type: PrimitiveType) => Value | undefined;
}
/**
 * Of the conditions of a filter those that a host may answer from how it stores a column, without making vectors of it.
 * Where it cannot answer one of them, it asks `keep` for all.
 */
export interface StoredTests {
  readonly tests: readonly StoredTest[];
  /** What `rest` looks at; absent: all of the row. */
  readonly columns?: readonly FieldPath[];
  /**
   * What is asked besides, of the rows that passed (undefined: all); absent: nothing. The answer are numbers of `rows`.
   */
  readonly rest?: (rows: Vector, kept: Uint32Array | undefined, isAfterFirst?: boolean) => KeptRows | Promise<KeptRows>;
  /** A part of `rest` that leaves few rows, and looks at few columns: the others are read of what it leaves. */
  readonly first?: {
    readonly columns: readonly FieldPath[];
    /** Whether it leaves few, as far as is known by now. */
    readonly leavesFew: () => boolean;
    readonly keep: (rows: Vector, kept: Uint32Array | undefined) => Uint32Array | undefined;
  };
  /** So many rows were tested. */
  readonly seen: (rows: number) => void;
}
/** Rows one behind the other. */
export interface RowRun {
  readonly start: number;
  readonly length: number;
}
/** Their numbers, or the run that they are; undefined: all rows. */
export type KeptRows = Uint32Array | RowRun | undefined;
/**
 * Of the rows that a filter keeps only the best by one field are wanted: bounds of columns tell where none of them can
 * be.
 */
export interface BestRows {
  readonly path: FieldPath;
  /** So many are wanted. */
  readonly rows: number;
  /** There is a test besides: of rows that were not shown nobody knows whether it keeps them. */
  readonly isTested: boolean;
  /** Greater values are better, else smaller ones. */
  readonly greater: boolean;
  /** Numbers worse than this one are not wanted; undefined as long as nothing is known. */
  readonly floor: () => number | undefined;
  /** Once there is a floor, nulls and rows without the field are not wanted either. */
  readonly dropsNulls: boolean;
  /** NaN is the greatest number, else the least. */
  readonly nanLast: boolean;
  /**
   * Looks at rows that the scan will give later, so that the floor is high from the start; tells how many the test
   * keeps. No row may be shown twice.
   */
  readonly ahead: (rows: Vector) => number | Promise<number>;
}

/** Counts that a query's statistics report; the scan adds to them. */
export interface Progress {
  bytesRead: number;
  bytesMatched: number;
  recordsRead: number;
  recordsMatched: number;
}

/** Batches that do not fit the memory budget, written one behind the other. */
export interface SpillRun {
  /** Resolves to the bytes that it takes. */
  readonly append: (batch: Vector) => Promise<number>;
  /** The batches in order; may be called again for another pass. */
  readonly read: () => AsyncIterable<Vector>;
  /** Frees the run's space; idempotent. */
  readonly close: () => Promise<void>;
}
/** Where operators put the rows and states that do not fit their memory. */
export interface SpillStore {
  readonly open: () => SpillRun;
  /** For what is not rows of vectors. */
  readonly bytes: () => SpillBytes;
}

/** Figures of one operator; plain data, since those of other threads travel. */
export interface OperatorCount {
  rows: number;
  ms: number;
  bytes: number;
  blocks: number;
  blocksSkipped: number;
  spills: number;
  spillBytes: number;
}

/** Groups of one share of the input (parts.ts), to be merged with those of others. */
export interface GroupsOfShare {
  readonly rows: number;
  readonly keys: ShareKeys;
  readonly states: readonly AggregateState[];
}

/** What each thread is to do; plain data, to be packed (carry.ts). */
export interface PartPlan {
  readonly ops: readonly PlanOp[];
  readonly aggregate: Extract<PlanOp, { kind: 'aggregate' }> | undefined;
  readonly functions: readonly PlanFunction[];
  /** The answers say what the operators did. */
  readonly isCounted?: boolean;
}
/**
 * What a share comes to: rows in order, or groups if the part ends in an aggregate. `counts`: of the part's operators
 * and, last, of its aggregate.
 */
export type PartAnswer = ({ readonly rows: readonly Vector[] } | { readonly groups: GroupsOfShare }) & {
  readonly counts?: readonly OperatorCount[];
};
/** The rows of one share. */
export type ShareScan = (request: ScanRequest) => AsyncIterable<Vector>;
/** Works out shares, one at a time. */
export type PartWorker = (scan: ShareScan) => Promise<PartAnswer>;

/** Shares of a scan that threads work on side by side. */
export interface Division {
  /** The number of this thread. */
  readonly thread: number;
  /**
   * The answers in the order of the shares. `own` works out those that this thread takes; `heard` is told of each
   * answer as it comes.
   */
  readonly answers: (own: PartWorker, heard: (answer: PartAnswer) => void) => AsyncIterable<PartAnswer>;
  /** The rows of all shares whose answers have not been taken, in order. Asked for once `answers` has been left. */
  readonly rest: ShareScan;
}

/** An iterator may give batches that need no wait in between. */
export type QuickIterator = AsyncIterator<Vector> & { readonly nextNow?: () => Vector | undefined };

/** What became of a change of a view. `name`, and `version`, the 20 bytes of its id: undefined where there is no view. */
export interface ViewChanged {
  readonly change: string;
  readonly name: string | undefined;
  readonly version: Uint8Array | undefined;
}
/** Where a query's rows come from besides its plan, where it loads to, and where it spills. */
export interface ExecutionHost {
  /** Batches of a resolved source; their iterator may be a `QuickIterator`. */
  readonly scan: (source: ResolvedSource, request: ScanRequest) => AsyncIterable<Vector>;
  /** True for sources whose scan does the work of `ScanRequest.filter` itself; absent: none does. */
  readonly filters?: (source: ResolvedSource) => boolean;
  /** Shares out the rows of the part's scan among threads; undefined if that does not pay. */
  readonly divide?: (part: PartPlan, counts?: ScanCounts) => Promise<Division | undefined>;
  /** Opens what a row-dependent `from` names. */
  readonly open: (name: string, format: string | undefined, signal: AbortSignal) => AsyncIterable<Vector>;
  /** Commits the batches to a pool branch; resolves to the 20 bytes of the commit's id. */
  readonly load: (
    target: ResolvedSource,
    batches: AsyncIterable<Vector>,
    commit: { readonly author: string; readonly message: string; readonly meta: string },
  ) => Promise<Uint8Array>;
  /** Changes rows of a pool by a statement; the 20 bytes of the commit's id, none if it selects no row. */
  readonly changeRows?: (change: Extract<PlanOp, { readonly kind: 'changeRows' }>) => Promise<Uint8Array | undefined>;
  /** Makes or drops a view, and says what became of it. Absent: there is no lake. */
  readonly changeView?: (change: ViewChange) => Promise<ViewChanged>;
  /** Values of the `debug` operator. */
  readonly debug: (batch: Vector) => void;
  readonly progress: Progress;
  /** Absent: going over `memoryBytesMax` ends the query with `query-memory`. */
  readonly spill?: SpillStore;
}

/** A batch and the channel that it goes to (`output`; default `main`). */
export interface ChannelBatch {
  readonly channel: string;
  readonly batch: Vector;
}
