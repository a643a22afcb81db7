/** What a lake that has a bucket needs of its copy there. */
import type { Id } from '../lake.types.ts';
import type { Log } from '../log/log.ts';
import type { LogPlace } from '../log/format.ts';
import type { Change, TableName } from '../tables/table-rows.ts';
import type { StoreState } from './role.ts';

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
  readonly state: StoreState;
  readonly segment: number;
  /** Records and time by which the bucket is behind. */
  readonly behindRecords: number;
  readonly behindMs: number;
  /** Why nothing is put any more: another one writes. */
  readonly fenced?: string;
  /** The last fault, until something was put again. */
  readonly fault?: string;
  /** Why new writes are refused although this is the writer: commits wait for a bucket that is away. */
  readonly refusing?: string;
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
/** How a replica is. Times in milliseconds. */
export interface FollowFigures {
  readonly store: string;
  readonly state: StoreState;
  /** The newest segment that it has. */
  readonly segment: number;
  /** Who wrote that. */
  readonly writer: string;
  /** How long ago it had all that the bucket had. */
  readonly behindMs: number;
  /** Why it cannot go on: it is to be started again. */
  readonly ended?: string;
  /** The last fault, until the bucket answered again. */
  readonly fault?: string;
  readonly requests: number;
  readonly retries: number;
  readonly receivedBytes: number;
  readonly cachedBytes: number;
}
/** What feeds a lake that follows a bucket and never writes. */
export interface LakeFollower {
  /** Before the tables are opened: makes the folder if need be. Answers up to where it is. */
  prepare(directory: string): Promise<LogPlace>;
  /**
   * From here on the lake is fed; resolves when it has all that the bucket had: what was answered before a kill is
   * answered again. @throws store-corrupt, store-unreachable, store-refused
   */
  begin(lake: FollowingLake): Promise<void>;
  /** @throws replica-write */
  refuse(): never;
  /** A standby takes over, whether the writer lives or not; resolves when it writes. @throws standby-none, replica-failed */
  promote(): Promise<void>;
  /** Something may be new: the writer's event of that number. */
  heard(event: number): void;
  figures(): FollowFigures;
  close(): Promise<void>;
}
/** A lake that is fed with what another one's log has. */
export interface FollowingLake {
  readonly directory: string;
  /** All of it is seen at once; `place` is behind it. */
  take(changes: readonly Change[], place: LogPlace): void;
  /** Resolves when it can take more. @throws StoreFailure, storage-full */
  room(): Promise<void>;
  /** The lake writes from here on, behind `place`, into its own log and this store; nothing feeds it any more. */
  lead(store: LakeStore, place: LogPlace): Promise<void>;
  /** Number of the last event that its readers know of. */
  lastEvent(): number;
  /** Whether a row of the tables names a file. */
  hasFile(id: Id): boolean;
  /** An object is not in the lake any more, and was not for so long that nobody reads it. */
  removeFile(id: Id): Promise<void>;
  /** A file went from the cache. */
  evicted(id: Id): void;
  readonly report: (fault: unknown) => void;
}
/** The tables, as a copy reads them. `seen`: up to where readers see the log. */
interface CopiedTables {
  readonly seen: LogPlace;
  has(table: TableName, key: Uint8Array): boolean;
  keys(table: TableName): readonly Buffer[];
  rows(
    table: TableName,
    options: { readonly start?: Uint8Array; readonly limit: number },
  ): readonly { readonly key: Uint8Array; readonly payload: Uint8Array }[];
}
/** `evicted`: told of files that went from the cache. */
export interface AttachedLake {
  readonly directory: string;
  readonly tables: CopiedTables;
  readonly log: Log;
  readonly report: (fault: unknown) => void;
  readonly evicted: (id: Id) => void;
}
