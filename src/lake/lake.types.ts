/**
 * What the lake gives to the rest of the process: shapes of records, requests and answers.
 *
 * Ids (pools, commits, objects) are texts of 40 lower-case hexadecimal digits, without `0x`; `ksuid.ts` turns them into
 * other spellings. Everything here can be cloned between threads, save for what has functions: `Lake`, `Pool`,
 * `Snapshot`, `ObjectFiles`.
 */

import type { FollowFigures, LakeFollower, LakeStore, StoreFigures } from './store/store.types.ts';
import type { LakeTask, PoolSettings } from '../../machines/lake.events.ts';
import type { lakeMachine } from '../../machines/lake.machine.ts';
import type { poolMachine } from '../../machines/pool.machine.ts';
import type { transactionMachine } from '../../machines/transaction.machine.ts';
import type { ChangeEvent, PartTask, PoolTask, Protection } from '../../machines/pool.events.ts';

/** 40 lower-case hexadecimal digits. */
export type Id = string;
/** The order of a pool's keys. */
export type SortOrder = 'asc' | 'desc';

/**
 * One end of an object's range of primary key values: SUP text for people, `sort` compares by bytes
 * (vectors/sort-key.ts). A missing key is `null`.
 */
export interface KeyBound {
  readonly text: string;
  readonly sort: Uint8Array;
}

/**
 * A data object. `size` is the encoded length in bytes. `inline` is the body, if it lives inside the lake's tables and
 * not in a file.
 */
export interface ObjectMeta {
  readonly id: Id;
  readonly count: number;
  readonly size: number;
  readonly min: KeyBound;
  readonly max: KeyBound;
  readonly inline?: Uint8Array;
}

/** When the files of a pool's Iceberg table are made: when somebody asks, or after each commit. */
export type IcebergMode = 'lazy' | 'eager';
/** How an Iceberg table holds fields of several kinds of values: in a column for each, or in one of variants. */
export type IcebergMapping = 'typed' | 'variant';
/** Paths of the fields that tell records apart: those that have the same values of them are one record's versions. */
export type Identity = readonly (readonly string[])[];
/** What a pool is. Its name can change, whether it is an Iceberg table, and its identity. */
export interface PoolConfig {
  /** When it was made: nanoseconds since 1970. */
  readonly tsNs: bigint;
  readonly name: string;
  readonly id: Id;
  /** The sort keys, the first one first, each as a path of field names. */
  readonly layout: { readonly order: SortOrder; readonly keys: readonly (readonly string[])[] };
  /** Bytes. */
  readonly seekStride: number;
  /** Bytes: about where a load cuts its objects. */
  readonly threshold: number;
  /** Absent: it is no Iceberg table. */
  readonly iceberg?: IcebergMode;
  /** Absent: `typed`. */
  readonly icebergMapping?: 'variant';
  /** Absent: records are compared as whole values. */
  readonly identity?: Identity;
}
/**
 * `tsNs`: when the branch was made, nanoseconds since 1970. `commit`: its tip; the zero commit while it is empty.
 * `protection`: absent where it has none.
 */
export interface BranchRecord {
  readonly tsNs: bigint;
  readonly name: string;
  readonly commit: Id;
  readonly protection?: Protection;
}

/** A name for a commit, which never moves. `tsNs`: when it was given, nanoseconds since 1970. */
export type TagRecord = Omit<BranchRecord, 'protection'>;

/** What a commit did to its branch: the objects that it added and deleted, against its parent. */
export interface CommitRecord {
  readonly id: Id;
  /** 40 zeros for the first commit of a branch that began empty. */
  readonly parent: Id;
  /** The tip of the child at that time; merges only. */
  readonly secondParent?: Id;
  readonly author: string;
  readonly dateNs: bigint;
  readonly message: string;
  /** SUP text of one value; `null` when none was given. */
  readonly meta: string;
  readonly adds: readonly Id[];
  readonly deletes: readonly Id[];
  /** Objects that got or lost the marker that `:vectors` lists. */
  readonly addVectors?: readonly Id[];
  readonly deleteVectors?: readonly Id[];
}

/**
 * A view at one of its versions. Its id is that of its first version. `query` is the text as it was written; `columns`:
 * names that its first columns get; `indexBase`: from where its indexes count, if it does not say it itself.
 */
export interface ViewVersion {
  readonly id: Id;
  readonly version: Id;
  readonly name: string;
  /** When the version was made: nanoseconds since 1970. */
  readonly tsNs: bigint;
  readonly author: string;
  readonly query: string;
  readonly columns?: readonly string[];
  readonly indexBase?: 0 | 1;
}
/** What a version says, beside what the lake draws. */
export type ViewDefinition = Omit<ViewVersion, 'id' | 'version' | 'tsNs'>;
/**
 * What is done to a view. `existing`: what is done where there is one of that name; `require`: where there is none it is
 * not found. `ifVersion`: versions, one of which the view must have; default: any.
 */
export type ViewChange = { readonly ifVersion?: readonly Id[] } & (
  | ({ readonly action: 'create'; readonly existing: 'refuse' | 'replace' | 'keep' | 'require' } & Omit<
      ViewDefinition,
      'author'
    >)
  | { readonly action: 'rename'; readonly name: string; readonly to: string; readonly ifExists: boolean }
  | { readonly action: 'drop'; readonly name: string; readonly ifExists: boolean }
);
/** What became of it. `view`: its newest version, or the last one it had. */
export interface ViewChanged {
  readonly change: 'created' | 'replaced' | 'renamed' | 'dropped' | 'unchanged';
  readonly view?: ViewVersion;
}

/**
 * What a client may say about its commit (header `SuperDB-Commit`). `body` replaces the message that the lake makes up;
 * `meta` is SUP text, already checked.
 */
export interface CommitNote {
  readonly author?: string;
  readonly body?: string;
  readonly meta?: string;
  readonly terms?: CommitTerms;
}
/**
 * `ifTip`: only on one of these tips; `by`: as of pools' jobs. @throws tip-moved, branch-protected from whatever takes
 * it
 */
export interface TipTerms {
  readonly ifTip?: readonly Id[];
  readonly by?: 'writer';
}
/**
 * `retry`: the commit is known under this key from then on. `identity`: what records were told apart by when the commit
 * was prepared; none: []. @throws upsert-identity-other where the pool has another one by then
 */
export interface CommitTerms extends TipTerms {
  readonly retry?: Retry;
  readonly identity?: Identity;
}
/**
 * Digests, 64 hexadecimal digits each: of the key and whose it is, of what is asked, and of the body with what says how
 * it is read.
 */
export interface Retry {
  readonly key: string;
  readonly request: string;
  readonly body: string;
}
/**
 * A commit that was made under a key, and the digests of what was asked. `body` is absent where an earlier build made
 * it.
 */
export interface KnownRetry {
  readonly commit: Id;
  readonly request: string;
  readonly body?: string;
}
/** `marks`: when the job that made the commit waited and worked. */
export interface CommitResult {
  readonly commit: Id;
  readonly marks?: JobMarks;
}

/**
 * Objects to be replaced in one commit: those of `removes` go, those of `adds` (written and synced already) come.
 * `parts`: how many of `adds` each of `removes` was made into, in their order; absent: rows of any may be in any.
 */
export interface Rewrite {
  readonly removes: readonly Id[];
  readonly adds: readonly ObjectMeta[];
  readonly parts?: readonly number[];
  /** The same texts may make something else of the same snapshot another time. */
  readonly varies?: boolean;
}
/**
 * Prepares a rewrite against one snapshot. Called again with a newer snapshot when the branch lost a removed object in
 * the meantime.
 */
export type PrepareRewrite = (snapshot: Snapshot) => Promise<Rewrite>;

/** A side of a merge that a record is taken from. */
export type TakenSide = 'base' | 'ours' | 'theirs';
/**
 * How records are merged that both sides changed to different things. `fields`: those of which the sides changed
 * different fields are put together. `settled`: SUP of values `{key,take}` or `{key,value}`, one for each record.
 */
export interface RecordRule {
  readonly fields?: boolean;
  readonly resolve?: 'ours' | 'theirs';
  readonly settled?: string;
}
/** Which conflicts are told, and whether anything is written. */
export interface RecordsAsked {
  readonly offset: number;
  readonly limit: number;
  readonly dryRun: boolean;
  /** Nothing need be written where the sides changed different records: their objects do not get in each other's way. */
  readonly objectsFit: boolean;
}
/**
 * The three sides of a merge by record. `ours`, `theirs`: what they have otherwise than the base; `target`: the objects
 * of our side in which rows may be that are to go. They stay readable until `release`.
 */
export interface RecordSides {
  readonly pool: PoolConfig;
  readonly ours: Diff;
  readonly theirs: Diff;
  readonly target: Snapshot;
  /** Some of what both added they have from the same objects: equal records of both are then the same ones. */
  readonly isKin: boolean;
  release(): void;
}
/**
 * What a merge by record does to our side: objects that go and come, or conflicts; `told`: some of these, lines of SUP
 * `{key,base,ours,theirs}`. `removed`, `added`: records. `isApart`: the sides changed different records, and where the
 * objects fit nothing was written.
 */
export interface RecordsPrepared {
  readonly removes: readonly Id[];
  readonly adds: readonly ObjectMeta[];
  readonly removed: number;
  readonly added: number;
  readonly conflicts: number;
  readonly told: string;
  /** Records that would have been in conflict. */
  readonly settled: number;
  /** The least and the greatest first key of what theirs changed, by bytes. */
  readonly keys?: readonly [Uint8Array, Uint8Array];
  readonly isApart: boolean;
}
/**
 * One commit of a transaction. `pool`: by name or id; `label`: begins the text of errors that are about it. `brings`:
 * objects that come whatever `prepare` makes. Of `objects` and `brings` files are not removed when it fails.
 */
export type TransactionChange = {
  readonly pool: string;
  readonly branch: string;
  readonly label?: string;
  readonly note: CommitNote;
} & (
  | { readonly what: 'load'; readonly objects: readonly ObjectMeta[] }
  | {
      readonly what: 'rewrite';
      readonly cause: 'delete where' | 'update' | 'upsert';
      readonly prepare: PrepareRewrite;
      readonly brings: readonly ObjectMeta[];
    }
  | { readonly what: 'merge'; readonly child: string; readonly prepare: PrepareRecords }
);
/**
 * What a transaction made. `commits`: in the order of the changes; the first one of each pool has the transaction's id.
 * Where an upsert had nothing to do it is the commit at which its branch is; if there is nothing else, the first of
 * these is the transaction's.
 */
export interface TransactionResult {
  readonly transaction: Id;
  readonly commits: readonly { readonly pool: Id; readonly branch: string; readonly commit: Id }[];
}

/** A commit of a transaction that only has to be made, in the pool's turn. `pool`: its id. */
export interface ReadyCommit {
  readonly pool: Id;
  readonly task: PartTask;
  readonly note: CommitNote;
  readonly objects: readonly ObjectMeta[];
}
/** What became of them, in their order. */
export interface PartsMade {
  readonly transaction: Id;
  readonly commits: readonly Id[];
}

/** A merge, a revert or a pick on a branch; a pick does what `to` has otherwise than `from`. */
export type Combination =
  | { readonly kind: 'merge'; readonly target: string; readonly child: string }
  | { readonly kind: 'revert'; readonly branch: string; readonly commit: Id }
  | { readonly kind: 'pick'; readonly branch: string; readonly from: Id; readonly to: Id };
/** How a merge, revert or pick is previewed; which conflicts are told. */
export interface PreviewAsked extends TipTerms {
  readonly prepare?: PrepareRecords;
  readonly offset?: number;
  readonly limit?: number;
}
/** Prepares a merge by record, outside of the pool's queue. */
export type PrepareRecords = (sides: RecordSides, asked: RecordsAsked) => Promise<RecordsPrepared>;

/** A pool that is wanted. */
export interface CreatePoolRequest {
  readonly name: string;
  readonly order?: SortOrder;
  /** Default `[['ts']]`; an empty list means the default too. */
  readonly keys?: readonly (readonly string[])[];
  /** Default 65536; 0 means the default. */
  readonly seekStride?: number;
  /** Default 524288000; 0 means the default. */
  readonly threshold?: number;
  readonly iceberg?: IcebergMode;
  /** Default: typed. */
  readonly icebergMapping?: IcebergMapping;
  /** Default: none; an empty list means none too. */
  readonly identity?: Identity;
}

/**
 * A data key range, both ends included; compared with `KeyBound.sort`. `complex`: keys of complex types too: an enum
 * equals its number, and has its place elsewhere. `nan`: NaN too, which SELECT has as the greatest number and keys as
 * the least. `around`: all keys of another class than this one too (the first byte of a sort key): SELECT casts texts
 * beside numbers and times.
 */
export interface KeyRange {
  readonly min?: Uint8Array;
  readonly max?: Uint8Array;
  readonly complex?: boolean;
  readonly nan?: boolean;
  readonly around?: number;
}
/** Which objects of a snapshot are wanted. */
export interface PageRequest {
  /** Where the last page ended (`next`); absent: from the start. */
  readonly cursor?: number;
  readonly limit: number;
  readonly range?: KeyRange;
  /** Bodies of objects inside the tables come along; default true. */
  readonly inline?: boolean;
  /** The rows are wanted, not the objects: packs may stand in the place of small ones. */
  readonly packs?: boolean;
}
/**
 * `next` is absent on the last page. Objects in pool order: smallest `min` first (`asc`) or largest `max` first
 * (`desc`), ties oldest first.
 */
export interface ObjectPage {
  readonly objects: readonly ObjectMeta[];
  readonly next?: number;
}

/** The state of a branch at one commit. Its objects stay readable until `release`. */
export interface Snapshot {
  readonly pool: PoolConfig;
  readonly commit: Id;
  readonly objectCount: number;
  page(request: PageRequest): ObjectPage;
  /** May be called more than once. */
  release(): void;
}

/**
 * A comparison that is wanted; names of branches or tags, or commit ids. `base` absent: the parent of a commit and of branch main,
 * the fork of another branch.
 */
export interface DiffRequest {
  readonly revision: string;
  readonly base?: string;
}
/**
 * What commit `commit` has otherwise than `base` (the zero commit: nothing): the objects that only one of them has.
 * They stay readable until `release`.
 */
export interface Diff {
  readonly pool: PoolConfig;
  readonly base: Id;
  readonly commit: Id;
  readonly removed: ObjectSums;
  readonly added: ObjectSums;
  page(side: DiffSide, request: PageRequest): ObjectPage;
  /** May be called more than once. */
  release(): void;
}
export type DiffSide = 'base' | 'commit';

/** A moment of the lake, until it is closed. */
export interface Cut {
  /** Where a branch was before the first transaction that moved it since; undefined: none has. */
  before(poolId: Id, branch: string): Id | undefined;
  /** May be called more than once. */
  close(): void;
}

/** A change as listeners hear of it. */
export type LakeEvent = ChangeEvent;
/** What an event tells of. */
export type EventKind = LakeEvent['kind'];

/**
 * Of what branch `main` holds: `size` in encoded bytes, and the range of its primary keys; no `span` when it holds
 * nothing.
 */
export interface PoolStats {
  readonly size: number;
  readonly span?: { readonly min: KeyBound; readonly max: KeyBound };
}

/** Rows of a meta source, as plain data. */
export type MetaRow =
  | { readonly kind: 'pool'; readonly pool: PoolConfig }
  | { readonly kind: 'branch'; readonly pool: PoolConfig; readonly branch: BranchRecord }
  | { readonly kind: 'tag'; readonly pool: PoolConfig; readonly tag: TagRecord }
  | { readonly kind: 'view'; readonly view: ViewVersion }
  | { readonly kind: 'object'; readonly object: ObjectMeta }
  | {
      readonly kind: 'partition';
      readonly min: KeyBound;
      readonly max: KeyBound;
      readonly objects: readonly ObjectMeta[];
    }
  | { readonly kind: 'tip'; readonly name: string; readonly commit: Id }
  | { readonly kind: 'commit'; readonly commit: CommitRecord }
  | { readonly kind: 'action-commit'; readonly commit: CommitRecord }
  | { readonly kind: 'action-add'; readonly commit: Id; readonly object: ObjectMeta }
  | {
      readonly kind: 'action-delete' | 'action-add-vector' | 'action-delete-vector';
      readonly commit: Id;
      readonly id: Id;
    };
/** Meta sources of the whole lake: `from :pools`. */
export type LakeMeta = 'pools' | 'branches' | 'tags' | 'views';
/** Meta sources of a pool: `from p:branches`. */
export type PoolMeta = 'branches' | 'tags';
/** Meta sources of a commit: `from p@main:objects`. */
export type CommitMeta = 'objects' | 'partitions' | 'vectors' | 'log' | 'rawlog';
/**
 * `pool` absent: a source of the lake (`pools`, `branches`, `tags`, `views`), or of a view. `commit`: name of a branch
 * or tag, or a commit's id; default `main`.
 */
export interface MetaSource {
  readonly pool?: string;
  readonly view?: string;
  readonly commit?: string;
  readonly meta: string;
}
/** `next` goes into the next call; absent on the last page. */
export interface MetaPage {
  readonly rows: readonly MetaRow[];
  readonly next?: string;
}

/**
 * `commit`: the commit that the job made; `commits`: all of them, of a transaction; `objects`: the objects that a vacuum
 * removed; `events`: what listeners are to hear of it.
 */
export interface JobResult {
  readonly commit?: Id;
  readonly commits?: readonly Id[];
  readonly objects?: readonly Id[];
  readonly events?: readonly LakeEvent[];
}

/**
 * Promise face of one pool. Writes wait for their turn in the pool's actor and settle once they are durable. All throw
 * LakeError.
 */
export interface Pool {
  readonly config: PoolConfig;
  branches(): readonly BranchRecord[];
  /** @throws branch-not-found */
  branch(name: string): BranchRecord;
  /** The commit that a branch name or commit id means. @throws branch-not-found, commit-file-missing */
  resolve(commitish: string): Id;
  /** `commit`: id in either spelling; must exist in this pool or be the zero commit. */
  createBranch(name: string, commit: Id): Promise<BranchRecord>;
  deleteBranch(name: string, terms?: TipTerms): Promise<void>;
  /**
   * Moves a branch to any commit of the pool, or to the zero commit: what comes after it then is no longer the
   * branch's, and stays readable by its ids. Answers with the commit. @throws vacuumed, commit-not-found
   */
  reset(branch: string, commit: Id, terms?: TipTerms): Promise<Id>;
  /** Protects a branch like this and not otherwise. */
  protect(branch: string, protection: Protection, terms?: TipTerms): Promise<void>;
  tags(): readonly TagRecord[];
  /** @throws tag-not-found */
  tag(name: string): TagRecord;
  /** The commit of a branch or a tag. @throws branch-not-found */
  tip(name: string): Id;
  /**
   * Where a branch or tag of this name was at an RFC 3339 time: the zero commit while it was empty, its tip for a time
   * to come. @throws asof-malformed, asof-absent, branch-not-found
   */
  asOf(name: string, time: string): Promise<Id>;
  /** As `createBranch`; nothing of what the commit holds is vacuumed while the tag is there. */
  createTag(name: string, commit: Id): Promise<TagRecord>;
  deleteTag(name: string, terms?: TipTerms): Promise<void>;
  /**
   * One commit that adds these objects; their files are written and synced already. @throws load-empty for no objects
   */
  load(branch: string, objects: readonly ObjectMeta[], note?: CommitNote): Promise<CommitResult>;
  deleteObjects(branch: string, ids: readonly Id[], note?: CommitNote): Promise<CommitResult>;
  /**
   * Runs `prepare` outside of the queue, commits its result, again with a fresh snapshot if it was overtaken. @throws
   * transaction-empty when it removes nothing, rewrite-overtaken when it was overtaken too often
   */
  deleteWhere(branch: string, prepare: PrepareRewrite, note?: CommitNote): Promise<CommitResult>;
  /** The same of rows that are changed. */
  update(branch: string, prepare: PrepareRewrite, note?: CommitNote): Promise<CommitResult>;
  /**
   * One commit that adds these objects and what `prepare` makes of others: those without the records that these replace.
   * Those of a branch are prepared one after the other. @throws transaction-empty when there is neither
   */
  upsert(
    branch: string,
    objects: readonly ObjectMeta[],
    prepare: PrepareRewrite,
    note?: CommitNote,
  ): Promise<CommitResult>;
  /**
   * For a request that had nothing to change: where the branch is. Its key is on disk then, so that sent again it is
   * done, whatever has come since. @throws branch-not-found
   */
  unchanged(branch: string, terms?: Pick<CommitTerms, 'ifTip' | 'retry'>): Promise<CommitResult>;
  /**
   * Replaces at least two objects by what `prepare` makes of them. `vectors`: the same commit marks the new ones, as
   * `vectors()` does.
   */
  compact(
    branch: string,
    ids: readonly Id[],
    prepare: PrepareRewrite,
    note?: CommitNote,
    options?: { readonly vectors?: boolean },
  ): Promise<CommitResult>;
  /**
   * A merge (`child`: name of a branch or a tag), a revert or a pick. `prepare` compares records where objects do not
   * decide it; without it these are a conflict. @throws combine-overtaken when it was overtaken too often
   */
  combine(combination: Combination, note?: CommitNote, prepare?: PrepareRecords): Promise<CommitResult>;
  merge(target: string, child: string, note?: CommitNote): Promise<CommitResult>;
  revert(branch: string, commit: Id, note?: CommitNote): Promise<CommitResult>;
  /** What it would do at this moment; nothing is written or queued. */
  previewMerge(target: string, child: string, terms?: TipTerms): Promise<Preview>;
  previewRevert(branch: string, commit: Id, terms?: TipTerms): Promise<Preview>;
  previewCombined(combination: Combination, asked?: PreviewAsked): Promise<Preview>;
  /** What a pick means: one commit, against its first parent; or `A..B`. @throws pick-range, commit-not-found */
  picked(text: string): { readonly from: Id; readonly to: Id };
  previewRewrite(branch: string, prepare: PrepareRewrite, terms?: TipTerms): Promise<Preview>;
  vectors(branch: string, action: 'add' | 'delete', ids: readonly Id[], note?: CommitNote): Promise<CommitResult>;
  /**
   * Object ids that were removed, or would be with `dryRun`. `revision`: name of a branch or tag, or a commit's id.
   * `only`: no others than these.
   */
  vacuum(
    revision: string,
    options: { readonly dryRun: boolean; readonly only?: ReadonlySet<Id> } & TipTerms,
  ): Promise<readonly Id[]>;
  /**
   * Does a job of any kind that needs nothing prepared; what a kind asks for stands with it (`lake/jobs`). Ids of commits
   * are plain.
   */
  do(task: PoolTask, note?: CommitNote): Promise<JobResult>;
  stats(): Promise<PoolStats>;
  /** The commits of all branches and tags, or those before and with `from`, the newest first. */
  graph(options: { readonly from?: readonly Id[]; readonly limit: number }): Promise<GraphPage>;
  /** What a branch, a tag or a commit holds. */
  sums(commitish: string): Promise<ObjectSums & { readonly commit: Id }>;
}

/** A commit as what is derived from it sees it. `height`: one more than that of its higher parent. */
export interface DerivedCommit extends CommitRecord {
  readonly height: number;
  /** It made its objects of those that it deletes. */
  readonly rewrite?: boolean | readonly number[];
  /** With other rows, though they may be as many. */
  readonly changed?: boolean;
}
/**
 * A pool as the source of what is derived from it, and the rows that this keeps with it: they go with the pool. Keys
 * are without the pool's id.
 */
export interface DerivedPool {
  readonly config: PoolConfig;
  branches(): readonly BranchRecord[];
  tags(): readonly TagRecord[];
  /** @throws branch-not-found, commit-file-missing */
  resolve(commitish: string): Id;
  /** What branch `main` was at. @throws asof-malformed, asof-absent, branch-not-found */
  asOf(time: string): Promise<Id>;
  commit(id: Id): DerivedCommit | undefined;
  /** With its body, if that is in the tables and wanted; vacuumed ones too, without. */
  object(id: Id, body?: boolean): ObjectMeta | undefined;
  isVacuumed(id: Id): boolean;
  /** Grows with every vacuum. */
  vacuums(): number;
  /** Those of a commit, in the pool's order, vacuumed ones too. */
  objects(commit: Id): Promise<Iterable<ObjectMeta>>;
  /** Keeps what a commit holds from vacuums until what this gives is called. */
  hold(commit: Id): Promise<() => void>;
  row(key: Uint8Array): Buffer | undefined;
  rows(options: {
    readonly prefix: Uint8Array;
    readonly start?: Uint8Array;
    readonly limit: number;
  }): readonly { readonly key: Buffer; readonly payload: Buffer }[];
  /** Durable once resolved; without a payload the row goes. @throws pool-not-found */
  write(rows: readonly { readonly key: Uint8Array; readonly payload?: Uint8Array }[]): Promise<void>;
}

/** Data objects in sum; `bytes` are encoded. */
export interface ObjectSums {
  readonly objects: number;
  readonly records: number;
  readonly bytes: number;
}
/**
 * A commit with what it did; what was vacuumed since still counts. `parents` has two for a merge, none for the first
 * commit.
 */
export interface GraphCommit {
  readonly id: Id;
  readonly parents: readonly Id[];
  readonly author: string;
  readonly dateNs: bigint;
  readonly message: string;
  readonly added: ObjectSums;
  readonly removed: ObjectSums;
}
/** `next`: where to go on from; empty at the end. */
export interface GraphPage {
  readonly commits: readonly GraphCommit[];
  readonly next: readonly Id[];
}

/** What a write would do; by records it tells no objects. `refusal`: why it would not be done; `conflicts`: the objects that stand in its way. */
export interface Preview {
  /** The branch's tip that it was worked out for. */
  readonly tip: Id;
  readonly adds: readonly Id[];
  readonly removes: readonly Id[];
  readonly recordsAdded: number;
  readonly recordsRemoved: number;
  readonly conflicts: readonly Id[];
  readonly refusal?: string;
  /** Where it goes by records: how many are in conflict, and a page of these, lines of SUP. */
  readonly records?: { readonly conflicts: number; readonly told: string };
}

/**
 * Moments of a job in its pool's queue, of `performance.now()`: when it was asked for, when its turn came, when it was
 * over (durable, if it made a commit).
 */
export interface JobMarks {
  readonly askedAt: number;
  readonly beganAt: number;
  readonly endedAt: number;
}
/** A job that a pool did, or could not do. */
export interface DoneJob extends JobMarks {
  readonly kind: string;
  readonly isDone: boolean;
}
/** `waiting`: jobs in the queue; `running`: those that are done just now. */
export interface PoolQueue {
  readonly pool: string;
  readonly waiting: number;
  readonly running: number;
}
/**
 * All that is kept, whether a branch still holds it or not. `clockCorrections`: ids that the clock had no time for;
 * `idsAheadSeconds`: by so much the last one is ahead of it.
 */
export interface LakeFigures {
  readonly commits: number;
  readonly objects: number;
  readonly tableBytes: number;
  /** Lists of data objects that are in memory, and their bytes, about. */
  readonly snapshots: number;
  readonly snapshotBytes: number;
  readonly clockCorrections: number;
  readonly idsAheadSeconds: number;
  /** Of a lake in a bucket. */
  readonly store?: StoreFigures;
  /** Of a replica. */
  readonly follow?: FollowFigures;
}
/** A pool that cannot be read, as far as is known: by its name (its row's key, where that is lost), with the fault. */
export interface UnreadablePool {
  readonly pool: string;
  readonly fault: string;
}

/** What the service needs of a lake that is open. Calls throw LakeError. */
export interface Lake {
  readonly directory: string;
  /** `failed` tells why writes are refused; reads go on. */
  status(): { readonly state: 'ready' | 'closing' | 'closed' | 'failed'; readonly reason?: string };
  /** Why nothing is written at the moment though the lake is ready: the disk is full. Undefined: writes are taken. */
  full(): string | undefined;
  pools(): readonly PoolConfig[];
  /** By `0x` and 40 hexadecimal digits, 27 characters of base 62, then by name. @throws pool-not-found */
  pool(reference: string): Pool;
  createPool(request: CreatePoolRequest): Promise<{ readonly pool: PoolConfig; readonly branch: BranchRecord }>;
  renamePool(reference: string, name: string): Promise<void>;
  /** Whether a pool is an Iceberg table, and what its identity is. */
  setPool(reference: string, settings: PoolSettings): Promise<void>;
  deletePool(reference: string): Promise<void>;
  /** What tables that are derived from a pool are made of. @throws pool-not-found */
  derived(reference: string): DerivedPool;
  /** The views at their newest versions, in order of their ids. */
  views(): readonly ViewVersion[];
  /** By id or name, as pools; undefined if there is none. `version`: in either spelling; default: the newest. */
  view(reference: string, version?: string): ViewVersion | undefined;
  /** @throws view-exists, view-not-found, view-moved, pool-exists, name-reserved */
  changeView(change: ViewChange, author?: string): Promise<ViewChanged>;
  /**
   * `commitish`: name of a branch or tag, or a commit's id. @throws pool-not-found, branch-not-found, commit-file-missing when there is
   * no such commit, vacuumed
   */
  openSnapshot(pool: string, commitish: string, cut?: Cut): Promise<Snapshot>;
  /** From now on, for who looks up several branches and is to see all of a transaction or nothing. */
  cut(): Cut;
  /** Commits in several pools, all or none. @throws transaction-twice, transaction-overtaken */
  transact(changes: readonly TransactionChange[]): Promise<TransactionResult>;
  /** The same errors, and diff-no-fork. */
  openDiff(pool: string, request: DiffRequest): Promise<Diff>;
  metaPage(source: MetaSource, next?: string): Promise<MetaPage>;
  /**
   * The commit that was made under a key; undefined when there is none, it is too long ago, or the branch was deleted
   * since.
   */
  retried(key: string, keepMs?: number): KnownRetry | undefined;
  /** Called in commit order, after the change is durable. Returns the call that ends it. A listener must not throw. */
  onEvent(listener: (event: LakeEvent) => void): () => void;
  /**
   * Events after that id, oldest first, at most `limit`; undefined if the first of them is no longer kept (or the id
   * was never given).
   */
  eventsSince(id: number, limit?: number): readonly LakeEvent[] | undefined;
  lastEventId(): number;
  /** The last one of a settled change, heard of or not: what a write that is answered has is not behind it. */
  settledEventId(): number;
  /** A standby takes over, whether the writer lives or not; resolves when it writes. @throws standby-none, replica-failed */
  promote(): Promise<void>;
  /** @throws replica-write, store-fenced, store-unreachable, store-refused where nothing can be written */
  checkWrites(): void;
  /** Called when a job of a pool is over; one listener, which must not throw. Returns the call that ends it. */
  onJob(listener: (job: DoneJob) => void): () => void;
  /**
   * Called when a data object's file was deleted: whoever has it open closes it. Returns the call that ends it. Must
   * not throw.
   */
  onObjectGone(listener: (id: Id) => void): () => void;
  /** Of pools that were written to. */
  queues(): readonly PoolQueue[];
  /** Bytes of the lists of data objects in memory. */
  cachedBytes(): number;
  figures(): LakeFigures;
  /** Pools of which a branch cannot be read: found in the background after the start, and whenever a branch is read. */
  unreadable(): readonly UnreadablePool[];
  /**
   * Puts a job into the lake's queue as it is; what the other calls check before is not checked here. `request` comes
   * with the creation of a pool, `view` with that of a view or a version.
   */
  submit(
    task: LakeTask,
    more?: { readonly request?: CreatePoolRequest; readonly view?: ViewDefinition },
  ): Promise<void>;
  /** The same of a transaction: makes its commits of what they were made of. */
  submitParts(parts: readonly ReadyCommit[]): Promise<PartsMade>;
  /** Refuses new work, lets running jobs settle, marks the clean stop. */
  close(): Promise<void>;
}

/** The part of the object files that the lake itself uses; src/lake/objects/objects.ts implements it. */
export interface ObjectFiles {
  delete(id: Id): Promise<void>;
  list(): AsyncIterable<Id>;
}

/**
 * What the lake draws: ids, times, and numbers of events (default: one more than the last). A replay gives those of its
 * recording.
 */
export interface Draws {
  newId(): Id;
  nowNs(): bigint;
  eventId?(last: number): number;
}
/**
 * The clock is behind the ids that were drawn, or has caught up with them: milliseconds since 1970, of the clock and of
 * the time that the last id names.
 */
export interface ClockNote {
  readonly isBehind: boolean;
  readonly clockMs: number;
  readonly idMs: number;
}
/**
 * Something that was drawn for a change, told before the change is durable. Times are nanoseconds since 1970 as text.
 */
export type LakeFact =
  | {
      readonly what: 'pool';
      readonly name: string;
      readonly tsNs: string;
      readonly order: SortOrder;
      readonly keys: readonly (readonly string[])[];
      readonly seekStride: number;
      readonly threshold: number;
      readonly iceberg?: IcebergMode;
      readonly icebergMapping?: 'variant';
      readonly identity?: Identity;
    }
  /** `move`: a branch went from that commit, or was deleted. */
  | { readonly what: 'branch' | 'tag' | 'move'; readonly name: string; readonly commit: Id; readonly tsNs: string }
  | ({ readonly what: 'view'; readonly version: Id; readonly tsNs: string } & ViewDefinition)
  | {
      readonly what: 'commit';
      readonly branch: string;
      readonly commit: Omit<CommitRecord, 'dateNs'> & { readonly dateNs: string };
    }
  | { readonly what: 'event'; readonly id: number };

/**
 * `objectsMin`: so many small objects that are in no pack are packed. `prepare` puts the rows of objects together, in
 * the pool's order.
 */
export interface PackOptions {
  readonly objectsMin: number;
  readonly prepare: (objects: readonly ObjectMeta[], pool: PoolConfig) => Promise<Pick<Rewrite, 'adds'>>;
}

/** Of the lists of data objects in memory. `idleMs`: those that nobody used for so long go. */
export interface SnapshotLimits {
  readonly bytesMax: number;
  readonly idleMs: number;
}

/** The charts of a lake and of its pools. */
export interface LakeCharts {
  readonly lake: typeof lakeMachine;
  readonly pool: typeof poolMachine;
  /** Default: that of machines/. */
  readonly transaction?: typeof transactionMachine;
}
/** Where a lake is, what bounds it, and who is told of what it does. */
export interface LakeOptions {
  /** Of the lake and of its pools; default: those of machines/. */
  readonly charts?: LakeCharts;
  readonly directory: string;
  readonly objects: ObjectFiles;
  /** Jobs that may wait in one pool's queue; default 10,000. */
  readonly queueJobsMax?: number;
  /** Bytes of a view's name; default: no limit. */
  readonly nameBytesMax?: number;
  /** How long the commit of a request that may be sent again is known; default 24 hours. */
  readonly retryKeepMs?: number;
  /** Events that stay readable by id; default 10,000. */
  readonly eventsKeptMax?: number;
  /**
   * Bytes of records after which LMDB is given what it does not have; default 256 KiB, and after 200 ms in any case.
   */
  readonly applyBytes?: number;
  /** Bytes of a segment of the log at most; default 8 MiB. */
  readonly segmentBytes?: number;
  /** Bytes by which the log may be longer than the tables' rows; default 32 MiB. */
  readonly baseBytesMin?: number;
  /**
   * Free bytes of the tables' file from which on a start compacts it, if they are half of it or more; default 16 MiB.
   */
  readonly compactBytesMin?: number;
  /**
   * Lists of data objects kept in memory, all pools together; default 32 MiB, and five minutes after their last use.
   */
  readonly snapshots?: Partial<SnapshotLimits>;
  /** Told of every machine event and snapshot (XState inspection); for the visualizer. */
  readonly inspect?: (event: unknown) => void;
  /** Default: those of draws.ts, by the system's clock. */
  readonly draws?: Draws;
  /** Told when the clock falls behind what was drawn, and when it has caught up. Must not throw. */
  readonly clockNoted?: (note: ClockNote) => void;
  /** Told why the tables were made again from base and log at the start. Must not throw. */
  readonly tablesMade?: (why: string) => void;
  /** Told why a base is not read: it is another lake's, or damaged, and the lake does not need it. */
  readonly basePassedOver?: (why: string) => void;
  /**
   * Told of files that were another folder's too, a copy by hard links: by their names in the lake's folder. They are
   * its own now. Must not throw.
   */
  readonly filesOwned?: (names: readonly string[]) => void;
  /** Told of what was drawn, in order. Must not throw. */
  readonly drew?: (poolId: Id, fact: LakeFact) => void;
  /** Told of faults that no call can tell of: background work, errors of the service itself. */
  readonly report?: (fault: unknown) => void;
  /** Small objects are packed in the background; absent: they are not. */
  readonly packs?: PackOptions;
  /** The lake's copy in a bucket; absent: it has none. */
  readonly store?: LakeStore;
  /** The lake is a replica: this feeds it, and all writes are refused. */
  readonly follow?: LakeFollower;
  /** Text that a second server tells of this one, e.g. its address. */
  readonly owner?: string;
}
// The implementation: `export const openLake = (options: LakeOptions): Promise<Lake>` in src/lake/lake.ts.
