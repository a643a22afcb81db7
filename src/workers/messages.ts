/**
 * What the main thread and a worker tell each other. Plain data that can be cloned; chunks of a body are transferred,
 * those of an answer are shared.
 *
 * Invariants:
 * - A task's messages carry its number; a number is never used again.
 * - Bytes flow under credit in both directions: a side sends no more unread bytes than the window, and gets credit back
 *   as the other side takes them.
 * - Each task ends with exactly one `done` or `failed` from the worker, or with the worker's death.
 */
import type { MessagePort } from 'node:worker_threads';
import { hintOfAll } from '../query/parse/advice.ts';
import { CompileError, SourceFault, compilationErrorsJson, formatCompileErrors } from '../query/parse/error.ts';
import { LakeError, type ErrorCode, type ErrorParameters, errorTable, framesOf, messageOf } from '../errors.ts';
import type { TableColumn } from '../iceberg/columns.ts';
import type { Mapping } from '../iceberg/kinds.ts';
import type { GivenColumns, RenderedFile, WantedColumns } from '../iceberg/render.types.ts';
import type {
  CommitNote,
  DiffSide,
  Identity,
  MetaPage,
  MetaSource,
  ObjectMeta,
  PageRequest,
  RecordRule,
  RecordsPrepared,
  SortOrder,
  ViewChanged,
} from '../lake/lake.types.ts';
import type { ContentCoding } from '../formats/codings/encoding.ts';
import type { AnswerCoding } from '../formats/codings/encode.ts';
import type { BodyForm } from '../formats/format.types.ts';
import type { FormatName, InputName } from '../formats/formats.ts';
import type { BulkOperations, BulkResults } from './ingest/bulk-results.ts';
import type { SaidFormat } from '../formats/preview.ts';
import type { IngestForm, IngestOutcome } from './ingest/ingest.types.ts';
import type { Ending } from '../query/analyze.ts';
import type { ChangeVerb, FoundSource, ResolvedSource, SourceRequest, ViewChange } from '../query/plan/plan.ts';
import type { PackedPage } from './packed-page.ts';
import type { LoadOutcome, LoadPreview, QueryStats } from './pool.types.ts';

/** Keys, order and size of objects of a pool that is loaded into. */
export interface PoolLayout {
  readonly keys: readonly (readonly string[])[];
  readonly order: SortOrder;
  readonly threshold: number;
}

/** The pool that takes faulty records, and what their rows tell: the load's time, and where it loads into. */
export interface Rejects {
  readonly layout: PoolLayout;
  readonly ms: number;
  readonly pool: string;
  readonly branch: string;
}

/** An UPDATE, a DELETE or a MERGE INTO of SQL. */
export interface StatementText {
  readonly text: string;
  readonly indexBase?: 0 | 1;
}

/** What a task is to do. */
export type TaskRequest =
  | {
      readonly kind: 'load';
      readonly pool: PoolLayout;
      readonly format: InputName | 'auto';
      readonly form?: BodyForm;
      readonly contentCodings?: readonly ContentCoding[];
      readonly rejects?: Rejects;
    }
  /** `said`: what names the format, where it is named; `isCut`: the body is the beginning of one. */
  | {
      readonly kind: 'preview';
      readonly said?: SaidFormat;
      readonly form?: BodyForm;
      readonly contentCodings?: readonly ContentCoding[];
      readonly isCut: boolean;
    }
  /** Asks for the pools of its records as it meets them. */
  | ({ readonly kind: 'ingest' } & IngestForm)
  | {
      readonly kind: 'query';
      readonly text: string;
      readonly format: FormatName;
      readonly control: boolean;
      readonly channelIds?: boolean;
      readonly arrowFile?: boolean;
      readonly coding?: AnswerCoding;
      readonly head?: { readonly pool?: string; readonly branch?: string };
      readonly indexBase?: 0 | 1;
      readonly ending?: Ending;
    }
  /** The snapshot is handle 0 of the task's session. */
  | { readonly kind: 'delete'; readonly where: string; readonly pool: PoolLayout }
  | { readonly kind: 'update'; readonly where: string; readonly put: string; readonly pool: PoolLayout }
  | ({ readonly kind: 'statement'; readonly pool: PoolLayout } & StatementText)
  /** `keys`: objects that hold the identities whose records go. */
  | {
      readonly kind: 'upsert';
      readonly keys: readonly ObjectMeta[];
      readonly identity: Identity;
      readonly pool: PoolLayout;
    }
  /** `objects`: rows of operations by the only field of the pool's identity; `time`: whose values become times. */
  | ({ readonly kind: 'bulk'; readonly pool: PoolLayout } & BulkOperations)
  | { readonly kind: 'compact'; readonly objects: readonly ObjectMeta[]; readonly pool: PoolLayout }
  /** The differences of our side and theirs are diffs 0 and 1 of the session, our objects its handle 0. */
  | {
      readonly kind: 'merge';
      readonly pool: PoolLayout;
      readonly identity: readonly (readonly string[])[];
      readonly rule: RecordRule;
      readonly page: { readonly offset: number; readonly limit: number };
      readonly dryRun: boolean;
      readonly objectsFit: boolean;
      readonly isKin: boolean;
    }
  /** `table`: the columns that the table has. */
  | {
      readonly kind: 'render';
      readonly objects: readonly ObjectMeta[];
      readonly isMerged: boolean;
      readonly mapping: Mapping;
      readonly table: readonly TableColumn[];
    }
  | { readonly kind: 'compile'; readonly text: string; readonly indexBase?: 0 | 1 }
  /** Helps a task of another thread: what is to be done comes and goes over the port, until it closes. */
  | { readonly kind: 'part'; readonly of: PartOf; readonly port: MessagePort };

/** Whom a part helps. */
export type PartOf = 'load' | 'query' | 'output';

/** What a delete, an update or a compaction gives: ids of the objects that go, and the objects that it wrote. */
export interface RewriteOutcome {
  readonly removes: readonly string[];
  readonly adds: readonly ObjectMeta[];
  readonly parts?: readonly number[];
  readonly varies?: boolean;
}
/** What operations on a pool give beside its objects. */
export interface BulkOutcome extends RewriteOutcome {
  readonly told: BulkResults;
}
/** What a merge by record gives. */
export type MergeOutcome = RecordsPrepared;
/**
 * What a task gives at its end; in this order of a load, a preview, an ingest, a delete, update or compact, a merge by record, a part, a compile, a rendition,
 * a query.
 */
export type TaskOutcome =
  | LoadOutcome
  | LoadPreview
  | IngestOutcome
  | RewriteOutcome
  | BulkOutcome
  | MergeOutcome
  | undefined
  | { readonly ast: unknown; readonly plan: unknown }
  | RenderedFile
  | QueryStats;

/**
 * A pool that a query's text names, told before it is asked for. `objects`: all objects of its snapshot, if they are
 * few. `at`: names what is read of it, a commit; absent: nothing may be remembered of it.
 */
export interface Prefetched {
  readonly name: string;
  readonly commit?: string;
  readonly source: ResolvedSource;
  readonly objects?: PackedPage;
  readonly at?: string;
}

/** From the main thread: what tasks begin with, what they wait for, and when they are to stop. */
export type ToWorker =
  | {
      readonly type: 'start';
      readonly task: number;
      readonly request: TaskRequest;
      readonly prefetched?: readonly Prefetched[];
    }
  | { readonly type: 'body'; readonly task: number; readonly chunk: Uint8Array }
  | { readonly type: 'bodyEnd'; readonly task: number; readonly error?: WireError }
  /** Bytes of chunks that the consumer has taken; buffers of chunks that are not needed any more. */
  | {
      readonly type: 'credit';
      readonly task: number;
      readonly bytes: number;
      readonly buffers?: readonly SharedArrayBuffer[];
    }
  | { readonly type: 'cancel'; readonly task: number }
  /** Of no task: a data object was deleted that no task reads any more. */
  | { readonly type: 'gone'; readonly object: string }
  | {
      readonly type: 'answer';
      readonly task: number;
      readonly call: number;
      readonly value?: unknown;
      readonly error?: WireError;
    };

/** Of a query: compiled; of a load: all rows read, all rows sorted. */
export type Step = 'compiled' | 'read' | 'sorted';
/** Of a query that was compiled: what its text may not mean; whether it may answer otherwise from the same commits. */
export interface StepTold {
  readonly warnings?: readonly string[];
  readonly varies?: boolean;
}

/** From a worker: what its tasks give and ask for, and how they end. `credit`: bytes of the body that were taken. */
export type FromWorker =
  | { readonly type: 'credit'; readonly task: number; readonly bytes: number }
  | { readonly type: 'chunk'; readonly task: number; readonly bytes: Uint8Array; readonly stats: QueryStats }
  /** A step of the task for its machine. */
  | ({ readonly type: 'step'; readonly task: number; readonly step: Step } & StepTold)
  | { readonly type: 'call'; readonly task: number; readonly call: number; readonly request: Call }
  | { readonly type: 'done'; readonly task: number; readonly outcome: TaskOutcome }
  /** `told`: the error is in the chunks already, as a control message. */
  | {
      readonly type: 'failed';
      readonly task: number;
      readonly error: WireError;
      readonly told: boolean;
      readonly stats?: QueryStats;
    };

/** What a worker asks of the main thread. */
export type Call =
  | { readonly kind: 'resolve'; readonly source: SourceRequest }
  | { readonly kind: 'page'; readonly handle: string; readonly page: PageRequest }
  /** Objects that one side of a comparison has alone. */
  | { readonly kind: 'diff'; readonly diff: number; readonly side: DiffSide; readonly page: PageRequest }
  | { readonly kind: 'meta'; readonly source: MetaSource; readonly next?: string }
  | { readonly kind: 'layout'; readonly handle: string }
  | { readonly kind: 'view'; readonly change: ViewChange }
  /** A statement that changes rows of a pool: the commit, none if it selects no row. */
  | ({ readonly kind: 'change'; readonly handle: string; readonly verb: ChangeVerb } & StatementText)
  /** The pool that a shipper names; it is made if need be. */
  | { readonly kind: 'target'; readonly pool: string }
  /** The field of the identity of the pool that a shipper names. */
  | { readonly kind: 'identity'; readonly pool: string }
  | {
      readonly kind: 'commit';
      readonly handle: string;
      readonly objects: readonly ObjectMeta[];
      readonly note: CommitNote;
    }
  /** Columns that a table is to have. */
  | { readonly kind: 'columns'; readonly wanted: WantedColumns }
  /** A part in another thread. */
  | { readonly kind: 'helper'; readonly of: PartOf };
/** What the main thread answers to each call of a worker. */
export interface Answers {
  readonly resolve: readonly FoundSource[];
  readonly view: ViewChanged;
  readonly page: PackedPage;
  readonly diff: PackedPage;
  readonly meta: MetaPage;
  readonly layout: PoolLayout;
  readonly target: PoolLayout;
  readonly identity: string | null | undefined;
  readonly commit: string;
  readonly change: string | undefined;
  readonly columns: GivenColumns;
  /** The way to the part; none if there is no other thread. */
  readonly helper: MessagePort | undefined;
}

/** An error on its way between threads. */
export interface WireError {
  readonly code?: ErrorCode;
  readonly parameters?: ErrorParameters;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly message: string;
  /** What was wrong with a source: it counts where the query text has no place for it, as for that of `head`. */
  readonly source?: { readonly code: ErrorCode; readonly parameters: ErrorParameters };
  /** Where what is no LakeError was thrown. */
  readonly frames?: string;
}

/** Faults of a query text become `query-invalid` with the marked lines; what is no LakeError keeps its text. */
export const toWire = (error: unknown, queryText = ''): WireError => {
  if (error instanceof LakeError)
    return { code: error.code, parameters: error.parameters, details: error.details, message: error.message };
  if (error instanceof CompileError) {
    const text = formatCompileErrors(queryText, error.errors);
    const hint = hintOfAll(queryText, error.errors);
    return {
      code: 'query-invalid',
      parameters: { text },
      details: { compilation_errors: compilationErrorsJson(error.errors), ...(hint !== undefined && { hint }) },
      message: text,
    };
  }
  if (error instanceof SourceFault) {
    const { message, hint, cause } = error;
    return {
      message,
      ...(hint !== undefined && { details: { hint } }),
      ...(cause instanceof LakeError && { source: { code: cause.code, parameters: cause.parameters } }),
    };
  }
  return { message: messageOf(error), ...(error instanceof Error && { frames: framesOf(error) }) };
};

/** The error as it was thrown in the other thread; what was no LakeError is `internal`. */
export const fromWire = (error: WireError): LakeError => {
  const { code, parameters } = error.source ?? error;
  if (code && code in errorTable) return new LakeError(code, parameters, { details: error.details });
  const cause = new Error(error.message);
  if (error.frames !== undefined) cause.stack = error.frames;
  return new LakeError('internal', { text: error.message }, { cause });
};

/** Places for the numbers of tasks that were given up. Two tasks that share one are told by message alone. */
const stopPlaces = 1024;
/** Bytes of the memory by which a thread is told which tasks to stop. */
export const stopBytes = stopPlaces * Int32Array.BYTES_PER_ELEMENT;
/** The place of a task's number in that memory, in words of 32 bits. */
export const stopPlace = (task: number): number => task % stopPlaces;
