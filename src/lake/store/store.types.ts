/** What a lake that has a bucket needs of its copy there. */
import type { Id } from '../lake.types.ts';
import type { Log } from '../log/log.ts';
import type { LogPlace } from '../log/format.ts';
import type { Change, Tables } from '../tables/tables.ts';

/** Where records go besides the log. Calls come in the order of the records. */
export interface RecordCopy {
  /** Nobody sees a record before the bucket has it. */
  readonly waits: boolean;
  /** @throws store-fenced, or store-unreachable or -refused where commits wait for a bucket that is away */
  check(): void;
  /** The log has this record, which is the last one. */
  add(place: LogPlace, changes: readonly (readonly Change[])[]): void;
  /** Resolves when all that was added is in the bucket. @throws store-fenced, store-unreachable */
  settled(): Promise<void>;
  /** The first of the log's segments that the copy still needs. */
  neededFrom(segment: number): number;
}

/** How the copy is. Numbers of segments and records; times in milliseconds. */
export interface StoreFigures {
  readonly store: string;
  readonly segment: number;
  /** Records and time by which the bucket is behind. */
  readonly behindRecords: number;
  readonly behindMs: number;
  /** Why nothing is put any more: another one writes. */
  readonly fenced?: string;
  /** The last fault, until something was put again. */
  readonly fault?: string;
  readonly requests: number;
  readonly retries: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly lists: number;
  readonly cachedBytes: number;
}

/** The copy of a lake in a bucket. */
export interface LakeStore extends RecordCopy {
  /** Before the tables are opened: makes the folder, if it is not there or fell behind. */
  prepare(directory: string): Promise<void>;
  /** Behind this all writes are this process' own, until another one takes over. */
  attach(lake: AttachedLake): Promise<void>;
  /** Puts files of objects that a commit is going to name. */
  putObjects(ids: readonly Id[]): Promise<void>;
  /** A file is to go from this disk: true if it goes later, when the bucket has what names it. */
  objectGone(id: Id): boolean;
  figures(): StoreFigures;
  /** The lake begins to close: what cannot be put is given up after a while. */
  stop(): void;
  /** Puts what is left. */
  close(): Promise<void>;
}
/** `evicted`: told of files that went from the cache. */
export interface AttachedLake {
  readonly directory: string;
  readonly tables: Tables;
  readonly log: Log;
  readonly report: (fault: unknown) => void;
  readonly evicted: (id: Id) => void;
}
