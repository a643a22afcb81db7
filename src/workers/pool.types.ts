/**
 * What the worker pool does for the main thread: bodies become objects, query texts become bytes, objects are
 * rewritten. Promise faces only; the threads behind them are pool.ts.
 */
import type { RenderedFile, RenderRequest } from '../iceberg/render.types.ts';
import type {
  CommitNote,
  Cut,
  Identity,
  MetaPage,
  MetaSource,
  ObjectMeta,
  PoolConfig,
  PrepareRecords,
  PrepareRewrite,
  RecordRule,
  Diff,
  DiffRequest,
  Snapshot,
  ViewChange,
  ViewChanged,
  ViewVersion,
} from '../lake/lake.types.ts';
import type { ContentCoding } from '../formats/codings/encoding.ts';
import type { AnswerCoding } from '../formats/codings/encode.ts';
import type { ExecutionContext } from '../exec/context.ts';
import type { Ending } from '../query/analyze.ts';
import type { BodyForm } from '../formats/format.types.ts';
import type { FormatLimits, FormatName, InputName } from '../formats/formats.ts';
import type { Preview, SaidFormat } from '../formats/preview.ts';
import type { ObjectStore } from '../lake/objects/objects.ts';
import type { QueryShares, ShareSizes } from '../lake/scan/shares.ts';
import type { S3Options } from '../store/s3.ts';
import type { BulkOperations, BulkResults } from './ingest/bulk-results.ts';
import type { IngestReply, IngestRequest, Protocol } from './ingest/ingest.types.ts';
import type { CacheTotals } from './cache-counts.ts';
import type { FromPolicy } from './from/policy.ts';
import type { TaskClient } from './places.ts';
import type { ThreadTotals } from './task-counts.ts';
import type { LoadWatch, QueryWatch } from './watches.ts';
import type { CompressedObjects } from './worker-settings.ts';

/** One load: its body, how that is to be read, and the pool that gives keys, order and size of the objects. */
export interface LoadRequest {
  readonly pool: PoolConfig;
  /** Default: detected. */
  readonly format?: InputName | 'auto';
  /** Content codings of the body, in the order in which they were applied. */
  readonly contentCodings?: readonly ContentCoding[];
  /** How it is written, where its format leaves that open. */
  readonly form?: BodyForm;
  /** Takes the records that `form` says are skipped. */
  readonly rejects?: { readonly pool: PoolConfig; readonly ms: number; readonly branch: string };
  /** Read under backpressure; an error of it fails the load. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads the whole body instead, where it is known to be small. */
  readonly whole?: () => Promise<Uint8Array>;
  /** Resolves when enough of a longer body has come for the load to take a place among the tasks. */
  readonly begun?: () => Promise<void>;
  /** Whose body it is; without it the load keeps its place, however slowly it comes. */
  readonly client?: TaskClient;
  /** Told how far it is. */
  readonly watch?: LoadWatch;
  /** Cancels a load that is in a worker, with its reason if that is a LakeError, else `load-cancelled`. */
  readonly signal?: AbortSignal;
}
/** A body that is looked into, and how it is to be read. Nothing is loaded. */
export interface PreviewRequest
  extends Pick<LoadRequest, 'contentCodings' | 'form' | 'body' | 'begun' | 'client' | 'signal'> {
  /** Where the format is named. Default: it is detected. */
  readonly said?: SaidFormat;
  /** The body is the beginning of one. */
  readonly isCut: boolean;
}
/** What a load of it would come to, with what could not be kept as it came. */
export interface LoadPreview extends Preview {
  readonly warnings: readonly string[];
}
/** Faulty records of a load: how many, and the first of them. `raw` may be cut: it was so many `bytes`. */
export interface FaultsTold {
  readonly count: number;
  readonly first: readonly {
    readonly line: number;
    readonly column: number;
    readonly error: string;
    readonly raw: Uint8Array;
    readonly bytes: number;
  }[];
}
/** Objects are in files that are synced, or inline. Nothing is committed yet. `bytes`: encoded size of all objects. */
export interface LoadOutcome {
  readonly objects: readonly ObjectMeta[];
  readonly records: number;
  readonly bytes: number;
  readonly warnings: readonly string[];
  /** What was perhaps meant: the body was one array, and so is the record. */
  readonly isOneArray?: boolean;
  /** Where faulty records do not fail it. */
  readonly faults?: FaultsTold;
  /** The rows of those that were rejected, for the pool that takes them. */
  readonly rejected?: readonly ObjectMeta[];
  /** Of an upsert: rows whose identities only go; for no commit. */
  readonly gone?: readonly ObjectMeta[];
}
/**
 * `settled` tells the load's chart how the commit went, and removes the files of a load that was not committed. It
 * passes the promise on.
 */
export interface LoadReply extends LoadOutcome {
  settled<T extends { readonly commit: string }>(commit: Promise<T>): Promise<T>;
  /**
   * Commits `rejected`: their files go where that fails, or gives undefined since nobody needs them. Without this call
   * they go when `settled` fails.
   */
  taken<T>(commit: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** One query: its text, what it may see, and how its answer is written. */
export interface QueryRequest {
  /** The request id. */
  readonly id: string;
  readonly text: string;
  readonly format: FormatName;
  /** Control messages (channels, statistics, errors) in the body: BSUP and JSUP only. */
  readonly control: boolean;
  /** Channel messages carry numbers too: JSUP for zed-js. */
  readonly channelIds?: boolean;
  /** Arrow as a file, not as a stream. */
  readonly arrowFile?: boolean;
  /** The bytes are to come in this coding. An answer without any bytes has none. */
  readonly coding?: AnswerCoding;
  /**
   * What a text without a source reads (`head` of the request body); branch default `main`. An empty text with `head`
   * is all its data. The branch is also that of pools which the text names without one: of `pool`, or of all where
   * there is no `pool`.
   */
  readonly head?: { readonly pool?: string; readonly branch?: string };
  /** From where indexes count; default: as in `WorkerPoolOptions`. */
  readonly indexBase?: 0 | 1;
  /** What is done with the rows beside what the text says. */
  readonly ending?: Ending;
  /** A query that would change anything is refused. @throws query-writes */
  readonly readOnly?: boolean;
  /**
   * Called once before it runs, with all that its answer depends on (commits, versions of views) beside the text;
   * undefined if it may answer otherwise from the same.
   */
  readonly compiled?: (reads: readonly string[] | undefined) => void;
  /** The lake as the one who asks sees it; default: all of it. */
  readonly lake?: LakeServices;
  /** Who takes the answer; without it the query keeps its place, however slowly that goes. */
  readonly client?: TaskClient;
  /** Says how far it is; default: one of its own, which ends with the worker's part. */
  readonly watch?: QueryWatch;
  /** Cancels the query, with its reason if that is a LakeError, else `query-cancelled`. */
  readonly signal?: AbortSignal;
}
/** What a query has read, up to `updateMs`. */
export interface QueryStats {
  /** Milliseconds since 1970. */
  readonly startMs: number;
  /** Milliseconds since 1970. */
  readonly updateMs: number;
  readonly bytesRead: number;
  readonly bytesMatched: number;
  readonly recordsRead: number;
  readonly recordsMatched: number;
}
/**
 * A query that has given its first bytes or has ended without any. A failure before that rejects `query()` instead.
 * `chunks` throws (LakeError) when the query fails later: the body must then end without its last chunk, unless
 * `control` was asked for (then the error is in the bytes as a QueryError message and `chunks` ends normally). Leaving
 * the loop over `chunks` cancels the query.
 */
export interface QueryReply {
  readonly id: string;
  /** Whether there are any bytes at all; if not, no Content-Type is sent. */
  readonly empty: boolean;
  /** What the text may not mean as it was written, such as names that no row has. */
  readonly warnings: readonly string[];
  readonly chunks: AsyncIterable<Uint8Array>;
  /**
   * Tells, before the next chunk is asked for, that the bytes of this one are not needed any more: its memory is used
   * again.
   */
  readonly sent?: (chunk: Uint8Array) => void;
  /** Calls when the query has failed: no more chunks come than are there. */
  readonly whenFailed: (failed: () => void) => void;
  readonly stats: () => QueryStats;
}

/** Answers of `POST /query/describe` and `POST /compile`, as plain data. */
export interface CompileReply {
  readonly ast: unknown;
  readonly plan: unknown;
}

/** What the pool has at the moment, and what it has counted since it was started. */
export interface WorkerPoolStatus {
  readonly threads: number;
  readonly queriesRunning: number;
  readonly loadsRunning: number;
  /** Workers that died and were replaced. */
  readonly replaced: number;
  /** Parts of queries and loads that were begun in another thread than theirs. */
  readonly parts: number;
  /** Looks for decoded columns in the workers' caches. */
  readonly columns: CacheTotals;
}

/**
 * A thread and what it has done since it was started. `busyMs`: in which its event loop was busy; `tasks`: those that
 * it is at, parts of others included.
 */
export interface ThreadFigures extends ThreadTotals {
  readonly thread: number;
  readonly busyMs: number;
  readonly tasks: number;
}

/** A change of rows: those that `where` selects get what `put`, assignments of the language, says. */
export interface UpdateText {
  readonly where: string;
  readonly put: string;
}

/**
 * The worker threads. What needs one of them throws `worker-tasks-full` at the limit of tasks, `workers-closed` after
 * `close`, `worker-died` if the thread ends.
 */
export interface WorkerPool {
  /** @throws LakeError for a body that cannot be read, load-empty for one without records */
  load(request: LoadRequest): Promise<LoadReply>;
  /** @throws LakeError as the load would */
  preview(request: PreviewRequest): Promise<LoadPreview>;
  /** @throws LakeError for a body that cannot be read; what a pool refuses is in the reply */
  ingest<P extends Protocol>(request: IngestRequest<P>): Promise<IngestReply<P>>;
  /** @throws LakeError for what fails before the first byte: syntax, unknown pools, ... */
  query(request: QueryRequest): Promise<QueryReply>;
  /**
   * What the lake's `deleteWhere` calls to rewrite a snapshot without the rows that `where` selects. `lake`: what its
   * subqueries see; default: all of it. `warn`: told what the filter names that is nowhere.
   */
  prepareDelete(where: string, lake?: LakeServices, warn?: (texts: readonly string[]) => void): PrepareRewrite;
  /** The same with these rows changed, for the lake's `update`. */
  prepareUpdate(update: UpdateText, lake?: LakeServices, warn?: (texts: readonly string[]) => void): PrepareRewrite;
  /** What the lake's `upsert` calls: a snapshot without the records of the identities that these objects hold. */
  prepareUpsert(keys: readonly ObjectMeta[], identity: Identity): PrepareRewrite;
  /** The same for operations of a bulk request. `tell`: told what became of them; the last time counts. */
  prepareBulk(operations: BulkOperations, tell: (results: BulkResults) => void): PrepareRewrite;
  /** What the lake's `compact` calls to merge these objects. */
  prepareCompact(ids: readonly string[]): PrepareRewrite;
  /** What the lake's `merge`, `revert` and `pick` call where they go by records. */
  prepareRecords(rule: RecordRule): PrepareRecords;
  /** Puts the rows of small objects together, in the pool's order, for no commit. */
  packObjects(objects: readonly ObjectMeta[], pool: PoolConfig): Promise<{ readonly adds: readonly ObjectMeta[] }>;
  /** Makes the files of objects for an Iceberg table: one file, in which each object's rows are a part. */
  render(request: RenderRequest): Promise<RenderedFile>;
  /** `lake`: as the one who asks sees it; default: all of it. */
  compile(text: string, lake?: LakeServices, indexBase?: 0 | 1): Promise<CompileReply>;
  status(): WorkerPoolStatus;
  /** Each thread of the moment; the totals of one that was replaced begin again. */
  threads(): readonly ThreadFigures[];
  /** The most that they were late is that since this. */
  forgetLate(): void;
  /** Cancels what runs and ends the threads. */
  close(): Promise<void>;
}

/** What the threads work on, and what they may take. */
export interface WorkerPoolOptions {
  readonly lakeDirectory: string;
  /** Default: one per core. */
  readonly threads?: number;
  /**
   * Bytes that the loads of one worker share; a load spills what is beyond its share, which is 4 MiB at least. Default
   * 64 MiB.
   */
  readonly loadMemoryBytesMax?: number;
  /** Bytes that the operators of one query may hold together before they spill; default 128 MiB. */
  readonly queryMemoryBytesMax?: number;
  /** Bytes of decoded columns that all workers together keep for later queries; default 64 MiB. */
  readonly cacheBytesMax?: number;
  /** What a compressed body may expand to; default: no limit. */
  readonly expandedBytesMax?: number;
  /** What readers of bodies, files and answers of URLs take at most; default: their own limits. */
  readonly formatLimits?: FormatLimits;
  /** How far WITH RECURSIVE may go; default: a million rounds, a hundred million rows. */
  readonly recursion?: NonNullable<ExecutionContext['recursion']>;
  /** From where indexes count in texts that do not say it; default: from 0 in pipes, from 1 in SELECT. */
  readonly indexBase?: 0 | 1;
  /** The bucket that the lake is in, and how this thread reads its objects; default: the folder has all of them. */
  readonly store?: S3Options;
  readonly objects?: ObjectStore;
  /** Where spill files go; default: `<lake>/spill`. */
  readonly spillDirectory?: string;
  /** Unread bytes of one answer, worker to main; default 1 MiB. Bodies of loads have a window of their own. */
  readonly windowBytesMax?: number;
  /** A worker that still has a task this long after it was cancelled is replaced (overdue.ts); default 10 s. */
  readonly cancelMsMax?: number;
  /**
   * Queries, loads and rewrites that may run at once, of which neither loads nor all others take more than three
   * quarters; more are refused. Default 256.
   */
  readonly tasksMax?: number;
  /** What `from` may read besides pools; default: nothing. */
  readonly from?: FromPolicy;
  /** Which data objects are compressed: those of compactions by default. */
  readonly compress?: CompressedObjects;
  /** How long the threads may make their code warm while they have nothing to do; default: not at all. */
  readonly warmUpMs?: number;
  /** When one query runs on several threads. */
  readonly shareSizes?: QueryShares;
  /** When the bytes of one answer are written by several threads. */
  readonly outputShares?: ShareSizes;
  /** Memory of the process from which on no thread helps to write an answer. Default: no limit. */
  readonly residentBytesMax?: number;
  /** The lake's tables, which are mapped: pages that were read of them go back where memory is short, and at rest. */
  readonly tablesFile?: string;
  /** Told of every machine event and snapshot (XState inspection). */
  readonly inspect?: (event: unknown) => void;
}

/** What the pool needs of the lake on the main thread; `Lake` of src/lake fits. */
export interface LakeServices {
  pools(): readonly PoolConfig[];
  pool(reference: string): {
    readonly config: PoolConfig;
    branch(name: string): { readonly commit: string };
    branches(): readonly { readonly name: string }[];
    tags(): readonly { readonly name: string }[];
    /** The commit of a branch or a tag. @throws branch-not-found */
    tip(name: string): string;
    /** Where the branch or tag was at a time. @throws asof-malformed, asof-absent, branch-not-found */
    asOf(name: string, time: string): Promise<string>;
    load(branch: string, objects: readonly ObjectMeta[], note?: CommitNote): Promise<{ readonly commit: string }>;
    /** @throws transaction-empty for no row */
    deleteWhere(branch: string, prepare: PrepareRewrite, note?: CommitNote): Promise<{ readonly commit: string }>;
    update(branch: string, prepare: PrepareRewrite, note?: CommitNote): Promise<{ readonly commit: string }>;
    /** @throws transaction-empty where nothing is changed */
    upsert(
      branch: string,
      objects: readonly ObjectMeta[],
      prepare: PrepareRewrite,
      note?: CommitNote,
    ): Promise<{ readonly commit: string }>;
  };
  views(): readonly ViewVersion[];
  /** By id or name, at its newest version or another; undefined if there is none. */
  view(reference: string, version?: string): ViewVersion | undefined;
  changeView(change: ViewChange, author?: string): Promise<ViewChanged>;
  /** Told of a pool that a query names and that is not there, or is not to be seen. */
  missed?(reference: string): void;
  /** From now on, for a query that is to see all of a transaction or nothing; absent: there are none. */
  cut?(): Cut;
  openSnapshot(pool: string, commitish: string, cut?: Cut): Promise<Snapshot>;
  openDiff(pool: string, request: DiffRequest): Promise<Diff>;
  metaPage(source: MetaSource, next?: string): Promise<MetaPage>;
  /** Bytes of its own caches, which are of the budget of decoded columns. */
  cachedBytes?(): number;
  /** Listens to the deletion of data objects' files; absent: none are deleted. Returns the call that ends it. */
  onObjectGone?(listener: (id: string) => void): () => void;
}
// The implementation: `export const startWorkerPool = (options: WorkerPoolOptions, lake: LakeServices): WorkerPool` in
// src/workers/pool.ts.
