/**
 * The client of the lake service: pools, branches, loads, queries as typed values or Arrow, events that come back after
 * a lost connection.
 *
 * ```ts
 * import { connect } from 'lake-data-service/client';
 * const lake = connect('http://localhost:9867');
 * const events = await lake.createPool('events', { keys: [['ts']] });
 * await events.branch('main').insert([{ ts: new Date(), kind: 'http', status: 200 }]);
 * for await (const row of lake.query('from events | count() by kind')) console.log(row);
 * ```
 *
 * No dependencies; browsers and Node. A request that the service refuses is thrown as a `LakeFailure`.
 */
import { eventsOf, type EventsOptions, type LakeEvent } from './events.ts';
import { type LoadProgress, loadProgress, type QueryProgress, queryProgress } from './progress.ts';
import { type Format, mediaTypes, Query, type QueryOptions } from './query.ts';
import { renamed } from './renamed.ts';
import { type Body, type ConnectOptions, type RequestOptions, Requests } from './requests.ts';
import { supText } from './sup.ts';
import { nameText } from './types.ts';
import type { LakeRecord, LakeValue } from './values.ts';

export { LakeFailure, type FaultPlace } from './failure.ts';
export { MalformedAnswer } from './jsup.ts';
export type { LoadProgress, QueryProgress } from './progress.ts';
export { type Format, Query, type QueryOptions, type QueryStats, type TypedValue } from './query.ts';
export type { EventsOptions, LakeEvent } from './events.ts';
export type { Body, ConnectOptions } from './requests.ts';
export { type Type, typeText } from './types.ts';
export {
  Address,
  Duration,
  ErrorValue,
  type LakeRecord,
  type LakeValue,
  Network,
  Symbolic,
  Time,
  TypeValue,
} from './values.ts';

/** What a new pool keeps its records in order by. */
export interface PoolOptions {
  /** `asc` unless told. */
  readonly order?: 'asc' | 'desc';
  /** Paths of fields; `[['ts']]` unless told. */
  readonly keys?: readonly (readonly string[])[];
  /** Paths of the fields that identify a record; none unless told. */
  readonly identity?: readonly (readonly string[])[];
}
/**
 * A pool as the service describes it. `id` is `0x` and 40 hexadecimal digits, `ts` the time when it was made, in RFC
 * 3339; `keys` are paths of fields.
 */
export interface PoolInfo {
  readonly id: string;
  readonly name: string;
  readonly ts: string;
  readonly layout: { readonly order: 'asc' | 'desc'; readonly keys: readonly (readonly string[])[] };
  readonly identity?: readonly (readonly string[])[];
}
/** The identity of a pool, and what a look at a commit of `main` found: `double` keys of `records` records. */
export interface PoolIdentity {
  readonly identity: readonly (readonly string[])[];
  readonly check: {
    readonly commit: string;
    readonly state: 'running' | 'done' | 'failed';
    readonly double: number | null;
    readonly records: number | null;
    readonly sample: readonly { readonly key: LakeRecord; readonly count: number }[];
    readonly error: string | null;
  } | null;
}
/**
 * A view at one of its versions. Ids are `0x` and 40 hexadecimal digits; `ts` is when the version was made, in RFC 3339,
 * `author` by whom, where the service knows. `columns`: names that its first columns get, or null.
 */
export interface ViewInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly ts: string;
  readonly author: string;
  readonly columns: readonly string[] | null;
  readonly query: string;
}
/** How the query of a view is read: names of its first columns, and from where its brackets count. */
export interface ViewOptions {
  readonly columns?: readonly string[];
  readonly indexBase?: 0 | 1;
}
/** `commit`: its tip, all zeros while it is empty. `ts`: when it was made, in RFC 3339. */
export interface BranchInfo {
  readonly name: string;
  readonly commit: string;
  readonly ts: string;
  /** Absent where it has none. */
  readonly protection?: Protection;
}

/** A name for a commit, which never moves. `ts`: when it was given, in RFC 3339. */
export type TagInfo = Omit<BranchInfo, 'protection'>;
/** Who may change a branch. */
export interface Protection {
  readonly load?: Who;
  readonly delete?: Who;
  readonly merge?: Who;
  readonly reset?: Who;
}
type Who = 'writer' | 'admin' | 'nobody';

/** Data objects in sum; `bytes` are encoded. */
export interface ObjectSums {
  readonly objects: number;
  readonly records: number;
  readonly bytes: number;
}
/** What a branch, tag or commit holds; `commit` is the one that it was resolved to. */
export interface RevisionSums extends ObjectSums {
  readonly commit: string;
}
/**
 * A record that one revision has otherwise than another: `before` is null where it was added, `after` where it was
 * removed. `key`: the pool's keys of the record. In a pool with an identity `changed` are two versions of one record, and
 * `fields` the paths of what differs: those of `after` in its order, then those that are gone.
 */
export interface RecordChange<T = LakeValue> {
  readonly change: 'added' | 'removed' | 'changed';
  readonly key: LakeRecord;
  readonly before: T | null;
  readonly after: T | null;
  readonly fields?: readonly (readonly string[])[];
}
/** How many records were added and removed; in a pool with an identity also how many changed, and each field in how many. */
export interface DiffSummary {
  readonly added: number;
  readonly removed: number;
  readonly changed?: number;
  readonly fields?: readonly { readonly path: readonly string[]; readonly count: number }[];
}
/** `parents` has two for a merge, none for the first commit. */
export interface GraphCommit {
  readonly id: string;
  readonly parents: readonly string[];
  readonly author: string;
  readonly date: string;
  readonly message: string;
  readonly added: ObjectSums;
  readonly removed: ObjectSums;
}
/** `next`: where to go on from; empty at the end. */
export interface GraphPage {
  readonly commits: readonly GraphCommit[];
  readonly next: readonly string[];
}
/** What a write would do to the branch. `error`: why it would be refused. */
export interface Preview {
  readonly tip: string;
  readonly adds: readonly string[];
  readonly removes: readonly string[];
  readonly recordsAdded: number;
  readonly recordsRemoved: number;
  /** By how many the branch would change. */
  readonly records: number;
  readonly conflicts: readonly string[];
  readonly error: string | undefined;
  /** Where it goes by records: how many are in conflict, and the first of them. */
  readonly recordConflicts?: {
    readonly count: number;
    readonly offset: number;
    readonly conflicts: readonly RecordConflict[];
  };
}
/** A record that both sides changed; null where there is none, a list where there are several of one identity. */
export interface RecordConflict {
  readonly key: LakeRecord;
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** When a request is refused. */
export interface Condition {
  /** Commit id: refused with 412 when the branch has moved on from it. */
  readonly ifMatch?: string;
}
/** What a write says of its commit, and when it is refused or sent again. */
export interface WriteOptions extends Condition {
  readonly author?: string;
  readonly message?: string;
  /** SUP text of a value that the commit carries. */
  readonly meta?: string;
  /**
   * The same key gives the same commit once, however often it is sent; what has one is sent again after a lost
   * connection.
   */
  readonly idempotencyKey?: string;
  /** Names a load, so that `loadProgress` and `cancelLoad` find it. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
}
/** How records in conflict are settled. */
export interface CombineOptions extends WriteOptions {
  /** Records whose fields the sides changed apart are put together. */
  readonly fields?: boolean;
  readonly resolve?: 'ours' | 'theirs';
  /** Of single records: by a side or a value, null taking it away; or SUP text of a list of these. */
  readonly settle?:
    | string
    | readonly (
        | { readonly key: object; readonly take: 'ours' | 'theirs' | 'base' }
        | { readonly key: object; readonly value: unknown }
      )[];
}
/** How the body of a load is to be read. */
export interface LoadOptions extends WriteOptions {
  /** Found out by the service unless told. */
  readonly format?: Exclude<Format, 'ndjson'>;
  /** Of CSV, one character. */
  readonly delimiter?: string;
  /** How the body is compressed. */
  readonly encoding?: 'gzip' | 'br' | 'zstd';
  /** Records that cannot be read are left out, or kept as error values. Default: the first one refuses the load. */
  readonly errors?: 'skip' | 'wrap';
  /** Records replace those of the same identity, which the pool must have. */
  readonly upsert?: true;
  /** With `upsert`: the field that is true in records that only take others away. */
  readonly delete?: string;
  /** With `errors: 'skip'`: the pool whose branch main gets the faulty records. */
  readonly rejected?: string;
}
/** How a body is looked into; `cut`: it is the beginning of what is to be loaded. */
export interface LookOptions extends Pick<LoadOptions, 'format' | 'delimiter' | 'encoding' | 'errors' | 'signal'> {
  readonly cut?: boolean;
  /** Parameters of a load that have no field here, by their names in HTTP. */
  readonly parameters?: Readonly<Record<string, string>>;
}
/**
 * What a load would come to: why it is that format, what speaks against that, the type of the `records` that were read
 * (`complete`: of all), and the first `rows` of them, both as SUP. `fault`: what ended the reading of a body that is
 * cut.
 */
export interface LoadPreview extends Pick<PoolInfo, 'layout'> {
  readonly format: string;
  readonly why: string;
  readonly doubts: readonly string[];
  readonly type: string | null;
  readonly records: number;
  readonly complete: boolean;
  readonly rows: readonly string[];
  readonly fields: readonly string[];
  readonly warnings: readonly string[];
  readonly fault: string | null;
}
/** A load that `Lake.transact` may commit. */
export interface Staged {
  readonly id: string;
  readonly records: number;
  readonly until: string;
}
/** A commit of a transaction: `load`, `delete` or `update`, `load` with one of the two, or `merge`. */
export interface PartOfTransaction {
  readonly pool: string;
  /** Default: `main`. */
  readonly branch?: string;
  /** Ids of what `Branch.stage` gave. */
  readonly load?: readonly string[];
  readonly delete?: { readonly where: string };
  readonly update?: { readonly where: string; readonly put: string };
  readonly merge?: string;
  readonly fields?: boolean;
  readonly resolve?: 'ours' | 'theirs';
  /** The commit at which the branch must be. */
  readonly ifMatch?: string;
}
/** `transaction` is also the id of the first commit in each pool. */
export interface Transacted {
  readonly transaction: string;
  readonly commits: readonly { readonly pool: string; readonly branch: string; readonly commit: string }[];
}
/** `commit` is the id of the commit that was made. */
export interface Committed {
  readonly commit: string;
}
/** A record that could not be read. `raw`: its text, of which 4,096 bytes are told of all its `bytes`. */
export interface FaultyRecord {
  readonly line: number;
  readonly column: number;
  readonly error: string;
  readonly raw: string;
  readonly bytes: number;
}
/**
 * A load, with `errors` also what became of its records: how many were loaded and how many `faulty`, the first 100 of
 * those, and the commit that has them where a pool takes them. Not told where the same idempotency key came before.
 */
export interface Loaded extends Committed {
  readonly records?: number;
  readonly faulty?: number;
  readonly faults?: readonly FaultyRecord[];
  readonly rejected?: string;
}

/** A service to talk to. No connection is made before the first request. */
export const connect = (address: string | URL, options: ConnectOptions = {}): Lake =>
  new Lake(new Requests(String(address), options));

/** A lake: its pools, its events, queries over any of them. */
export class Lake {
  private readonly requests: Requests;
  constructor(requests: Requests) {
    this.requests = requests;
  }

  /** By name or id; whether there is one shows when it is used. */
  pool(pool: string): Pool {
    return new Pool(this.requests, pool);
  }

  async createPool(name: string, options: PoolOptions = {}): Promise<Pool> {
    const { order, keys, identity } = options;
    const created = await this.requests.json({
      method: 'POST',
      path: ['pool'],
      ...jsonBody({ name, layout: (order ?? keys) && { order, keys }, identity }),
    });
    return new Pool(this.requests, (created as { readonly pool: PoolInfo }).pool.id);
  }

  /** Commits in several pools, all or none. */
  transact(commits: readonly PartOfTransaction[], options: WriteOptions = {}): Promise<Transacted> {
    const { headers, ...request } = jsonBody({
      commits: commits.map(({ ifMatch, fields, ...rest }) => ({ ...rest, if_match: ifMatch, fields: fields && 'T' })),
    });
    return this.requests.json({
      method: 'POST',
      path: ['transaction'],
      ...request,
      ...(options.signal && { signal: options.signal }),
      headers: { ...headers, ...noteHeaders(options) },
    }) as Promise<Transacted>;
  }

  pools(): Promise<PoolInfo[]> {
    return rowsOf<PoolInfo>(this.requests, 'from :pools');
  }

  /** By their names, at their newest versions. */
  async views(): Promise<readonly ViewInfo[]> {
    return (await this.sendView<{ readonly views: readonly ViewInfo[] }>('GET', [])).views;
  }
  /** By name or id. */
  view(view: string, version?: string): Promise<ViewInfo> {
    return this.sendView('GET', [view], { query: { version } });
  }
  /** A query with a name, by which it is read like a pool. @throws LakeFailure 409 where the name is taken */
  createView(name: string, query: string, { columns, indexBase }: ViewOptions = {}): Promise<ViewInfo> {
    return this.sendView('POST', [], jsonBody({ name, query, columns, index_base: indexBase }));
  }
  /** Makes it, or its next version. `ifMatch`: the version that it must have. @throws LakeFailure 412 */
  putView(view: string, query: string, options: ViewOptions & Condition = {}): Promise<ViewInfo> {
    const { columns, indexBase } = options;
    return this.changeView(view, { query, columns, index_base: indexBase }, options);
  }
  /** Its versions go along. */
  renameView(view: string, name: string, options: Condition = {}): Promise<ViewInfo> {
    return this.changeView(view, { name }, options);
  }
  /** With all its versions. */
  dropView(view: string, options: Condition = {}): Promise<void> {
    return this.sendView('DELETE', [view], { headers: conditionHeaders(options) });
  }
  private changeView(view: string, change: object, options: Condition): Promise<ViewInfo> {
    const { headers, ...body } = jsonBody(change);
    return this.sendView('PUT', [view], { ...body, headers: { ...headers, ...conditionHeaders(options) } });
  }
  private sendView<T>(
    method: RequestOptions['method'],
    path: readonly string[],
    request?: Partial<RequestOptions>,
  ): Promise<T> {
    return this.requests.json({ method, path: ['view', ...path], ...request }) as Promise<T>;
  }

  /** A query that runs when it is read. `T` is what the caller knows of the rows; it is not checked. */
  query<T = LakeValue>(text: string, options: QueryOptions = {}): Query<T> {
    return new Query<T>(this.requests, text, options);
  }

  /** The syntax tree of a query that could run. @throws LakeFailure with the places of what is wrong in its text */
  compile(text: string, options: { readonly signal?: AbortSignal } = {}): Promise<unknown> {
    return this.requests.json({ method: 'POST', path: ['compile'], text, ...jsonBody({ query: text }), ...options });
  }

  /** Looks into a body that no pool was made for yet; loads nothing. */
  preview(body: Body, options: LookOptions = {}): Promise<LoadPreview> {
    return looked(this.requests, ['preview'], {}, loadOf(body, options), options);
  }

  /**
   * How far a query or a load is, by its request id. @throws LakeFailure 404 when none of that id runs or ended lately
   */
  queryProgress(requestId: string): Promise<QueryProgress> {
    return queryProgress(this.requests, requestId);
  }
  loadProgress(requestId: string): Promise<LoadProgress> {
    return loadProgress(this.requests, requestId);
  }
  /** Ends a query that runs. */
  async cancelQuery(requestId: string): Promise<void> {
    await this.requests.send({ method: 'DELETE', path: ['query', requestId] });
  }
  /** Ends a load that is not committed yet. @throws LakeFailure 409 when it is */
  async cancelLoad(requestId: string): Promise<void> {
    await this.requests.send({ method: 'DELETE', path: ['load', requestId] });
  }

  /** What changes from now on, or since an event; reconnects and resumes until the signal fires. */
  events(options: EventsOptions = {}): AsyncGenerator<LakeEvent> {
    return eventsOf(this.requests, options);
  }

  /**
   * The highest number of an event that an answer knew of so far: what a write of this client has done is not behind it.
   * `after` of a query, or of the client of a replica.
   */
  get lastEvent(): number | undefined {
    return this.requests.lastEvent;
  }
  /** Makes a standby the writer of its bucket. @throws LakeFailure 409 where it is none */
  async promote(): Promise<void> {
    await this.requests.send({ method: 'POST', path: ['promote'] });
  }

  /** The branches of all pools. */
  branches(): Promise<{ readonly pool: PoolInfo; readonly branch: BranchInfo }[]> {
    return rowsOf(this.requests, 'from :branches');
  }

  /** How one logs in: by a key, by a token of an issuer (`auth0`), or not at all (an empty kind). */
  async authMethod(): Promise<{ readonly kind: 'auth0' | 'key' | '' }> {
    return (await this.requests.json({ method: 'GET', path: ['auth', 'method'] })) as {
      readonly kind: 'auth0' | 'key' | '';
    };
  }
  /** Who one is, and the grants that one has; none without access control. @throws LakeFailure 401 */
  async identity(): Promise<{ readonly name: string; readonly grants: readonly string[] }> {
    const { user_id, roles } = (await this.requests.json({ method: 'GET', path: ['auth', 'identity'] })) as {
      readonly user_id: string;
      readonly roles?: readonly string[];
    };
    return { name: user_id, grants: roles ?? [] };
  }
  /** Changes the token for a session cookie of this browser. */
  async openSession(): Promise<void> {
    await this.requests.send({ method: 'POST', path: ['auth', 'session'] });
  }
  async closeSession(): Promise<void> {
    await this.requests.send({ method: 'DELETE', path: ['auth', 'session'] });
  }

  async version(): Promise<string> {
    return ((await this.requests.json({ method: 'GET', path: ['version'] })) as { readonly version: string }).version;
  }
}

/** A pool of the lake. Whether there is one shows when it is used. */
export class Pool {
  /** Name or id, as it was asked for. */
  readonly pool: string;
  private readonly requests: Requests;
  constructor(requests: Requests, pool: string) {
    this.pool = pool;
    this.requests = requests;
  }

  /** By name; whether there is one shows when it is used. */
  branch(name: string): Branch {
    return new Branch(this.requests, this.pool, name);
  }
  rename(name: string): Promise<void> {
    return this.ask('PUT', [], jsonBody({ name }));
  }
  /** Says which fields identify a record, such as `[['id']]`; none: records are compared as whole values. */
  setIdentity(identity: readonly (readonly string[])[]): Promise<void> {
    return this.ask('PUT', [], jsonBody({ identity }));
  }
  /** What identifies a record, and which records of `main` have the same. */
  identity(): Promise<PoolIdentity> {
    return this.ask('GET', ['identity']);
  }
  /** With all its branches and data. */
  delete(): Promise<void> {
    return this.ask('DELETE', []);
  }
  /** At a commit: the tip of a branch, or any older one. */
  async createBranch(name: string, commit: string): Promise<Branch> {
    await this.ask('POST', [], jsonBody({ name, commit }));
    return this.branch(name);
  }
  branches(): Promise<BranchInfo[]> {
    return rowsOf<{ readonly branch: BranchInfo }>(this.requests, `from ${nameText(this.pool)}:branches`).then((rows) =>
      rows.map(({ branch }) => branch),
    );
  }
  /** Gives a commit a name that never moves, and is read wherever a branch is. */
  createTag(name: string, commit: string): Promise<TagInfo> {
    return this.ask('POST', ['tag'], jsonBody({ name, commit }));
  }
  /** By their names. */
  async tags(): Promise<readonly TagInfo[]> {
    return (await this.ask<{ readonly tags: readonly TagInfo[] }>('GET', ['tag'])).tags;
  }
  deleteTag(name: string, options: Condition = {}): Promise<void> {
    return this.ask('DELETE', ['tag', name], { headers: conditionHeaders(options) });
  }
  /**
   * The commits of all branches and tags, the newest first, a page at a time; `from` is `next` of the page before.
   */
  graph(
    options: { readonly limit?: number; readonly from?: readonly string[]; readonly signal?: AbortSignal } = {},
  ): Promise<GraphPage> {
    const { limit, from, signal } = options;
    return this.ask('GET', ['graph'], {
      query: { limit: limit === undefined ? undefined : String(limit), from: from?.join(',') },
      ...(signal && { signal }),
    });
  }
  /** What a branch, tag or commit holds. */
  sums(revision: string): Promise<RevisionSums> {
    return this.ask('GET', ['revision', revision, 'sums']);
  }
  /**
   * What a branch or commit changed, record by record in the order of the pool key, when it is read: against its fork
   * from `main`, or its parent, or against `base`, a branch, tag or commit.
   */
  diff<T = LakeValue>(
    revision: string,
    options: Pick<QueryOptions, 'requestId' | 'signal'> & { readonly base?: string } = {},
  ): Query<RecordChange<T>> {
    const { base, ...others } = options;
    const against = base === undefined ? '' : ` (base ${nameText(base)})`;
    return new Query(this.requests, `from ${nameText(this.pool)}@${nameText(revision)}:diff${against}`, others);
  }
  /** How many records `revision` has otherwise than `base`. */
  async diffSummary(base: string, revision: string): Promise<DiffSummary> {
    const rows = await this.ask<readonly DiffSummary[]>('GET', ['revision', base, 'diff', revision], {
      query: { summary: 'T', format: 'json' },
    });
    return rows[0]!;
  }
  /** Removes the bodies of data objects that no branch or tag holds any more; `dryRun` only lists them. */
  async vacuum(revision: string, options: Condition & { readonly dryRun?: boolean } = {}): Promise<readonly string[]> {
    return (
      await this.ask<{ readonly object_ids: readonly string[] }>('POST', ['revision', revision, 'vacuum'], {
        query: { dryrun: options.dryRun ? 'T' : 'F' },
        headers: conditionHeaders(options),
      })
    ).object_ids;
  }

  private ask<T>(
    method: RequestOptions['method'],
    path: readonly string[],
    more: Omit<RequestOptions, 'method' | 'path'> = {},
  ): Promise<T> {
    return this.requests.json({ method, path: ['pool', this.pool, ...path], ...more }) as Promise<T>;
  }
}

/** A branch of a pool. Whether there is one shows when it is used. */
export class Branch {
  readonly name: string;
  private readonly pool: string;
  private readonly requests: Requests;
  constructor(requests: Requests, pool: string, name: string) {
    this.requests = requests;
    this.pool = pool;
    this.name = name;
  }

  /** Id of the commit that it points at. */
  async tip(): Promise<string> {
    return ((await this.requests.json({ method: 'GET', path: this.path() })) as Committed).commit;
  }
  /** The commits and what they did, the newest first. */
  log(): Promise<LakeRecord[]> {
    return new Query<LakeRecord>(
      this.requests,
      `from ${nameText(this.pool)}@${nameText(this.name)}:log | has(parent)`,
      {},
    ).all();
  }
  async delete(options: Condition = {}): Promise<void> {
    await this.requests.send({ method: 'DELETE', path: this.path(), headers: conditionHeaders(options) });
  }
  /** Moves it to another commit, without making one. */
  async reset(commit: string, options: Condition = {}): Promise<Committed> {
    const { headers, ...request } = jsonBody({ commit });
    await this.requests.send({
      method: 'PUT',
      path: this.path(),
      ...request,
      headers: { ...headers, ...conditionHeaders(options) },
    });
    return { commit };
  }
  /** Says who may change it from now on; verbs that are not named are for whoever may write. */
  protect(who: Protection): Promise<Protection> {
    return this.requests.json({
      method: 'PUT',
      path: [...this.path(), 'protection'],
      ...jsonBody(who),
    }) as Promise<Protection>;
  }

  /** Loads a body, all of it or nothing. In browsers a stream is gathered first, since they send none over HTTP/1.1. */
  load(body: Body, options: LoadOptions = {}): Promise<Loaded> {
    return this.write([], options, loadOf(body, options));
  }
  /** The same up to its commit, which `Lake.transact` may make within an hour. */
  async stage(body: Body, options: Omit<LoadOptions, 'author' | 'message' | 'meta' | 'ifMatch'> = {}): Promise<Staged> {
    const { query, ...request } = loadOf(body, options);
    return (await this.write([], options, { ...request, query: { ...query, stage: 'T' } })) as unknown as Staged;
  }
  /** What a load would come to; loads nothing. */
  previewLoad(body: Body, options: LookOptions = {}): Promise<LoadPreview> {
    return looked(this.requests, this.path(), { dryrun: 'T' }, loadOf(body, options), options);
  }
  /**
   * Loads JavaScript values: whole numbers as `int64`, Dates as `time`, bigints, Maps, Sets, bytes and this package's
   * values as what they are.
   */
  async insert(values: Iterable<unknown> | AsyncIterable<unknown>, options: WriteOptions = {}): Promise<Committed> {
    const body = Array.isArray(values) ? values.map((value) => `${supText(value)}\n`).join('') : supLines(values);
    return this.write([], options, supBody(body));
  }
  /** Deletes the rows that a filter keeps. */
  deleteWhere(where: string, options: WriteOptions = {}): Promise<Committed> {
    return this.write(['delete'], options, jsonBody({ where }));
  }
  deleteObjects(objectIds: readonly string[], options: WriteOptions = {}): Promise<Committed> {
    return this.write(['delete'], options, jsonBody({ object_ids: objectIds }));
  }
  /** Changes the rows that a filter keeps: `put` are assignments of the language, such as `price:=price*2, seen:=true`. */
  update(where: string, put: string, options: WriteOptions = {}): Promise<Committed> {
    return this.write(['update'], options, jsonBody({ where, put }));
  }
  /** Brings what another branch, or a tag, has into this one. */
  merge(child: string, options: CombineOptions = {}): Promise<Committed> {
    return this.combine('merge', child, options);
  }
  /** Does what a commit did, or all from `A` to `B` as `A..B`. */
  pick(commit: string, options: CombineOptions = {}): Promise<Committed> {
    return this.combine('pick', commit, options);
  }
  /** What they would do at this moment. */
  previewDelete(where: string): Promise<Preview> {
    return this.preview(['delete'], jsonBody({ where }));
  }
  previewUpdate(where: string, put: string): Promise<Preview> {
    return this.preview(['update'], jsonBody({ where, put }));
  }
  previewMerge(child: string, options: CombineOptions = {}): Promise<Preview> {
    return this.preview(['merge', child], ruleOf(options));
  }
  previewPick(commit: string, options: CombineOptions = {}): Promise<Preview> {
    return this.preview(['pick', commit], ruleOf(options));
  }
  previewRevert(commit: string, options: CombineOptions = {}): Promise<Preview> {
    return this.preview(['revert', commit], ruleOf(options));
  }
  /** Puts data objects together into new ones. */
  compact(objectIds: readonly string[], options: WriteOptions = {}): Promise<Committed> {
    return this.write(['compact'], options, jsonBody({ object_ids: objectIds }));
  }
  /** Undoes a commit by a new one. */
  revert(commit: string, options: CombineOptions = {}): Promise<Committed> {
    return this.combine('revert', commit, options);
  }
  private combine(verb: string, what: string, options: CombineOptions): Promise<Committed> {
    return this.write([verb, what], options, ruleOf(options));
  }

  private async preview(
    path: readonly string[],
    { query, ...request }: Pick<RequestOptions, 'body' | 'headers' | 'query'>,
  ): Promise<Preview> {
    return renamed<Preview>(
      await this.requests.json({
        method: 'POST',
        path: [...this.path(), ...path],
        query: { ...query, dryrun: 'T' },
        ...request,
      }),
    );
  }
  private path(): string[] {
    return ['pool', this.pool, 'branch', this.name];
  }
  private async write(
    path: readonly string[],
    options: WriteOptions,
    request: Pick<RequestOptions, 'body' | 'query' | 'headers'>,
  ): Promise<Loaded> {
    const { signal } = options;
    const answer = await this.requests.json({
      method: 'POST',
      path: [...this.path(), ...path],
      ...request,
      ...(signal && { signal }),
      headers: {
        ...request.headers,
        ...conditionHeaders(options),
        ...noteHeaders(options),
      },
    });
    const { warnings: _, hint: _hint, ...made } = answer as Loaded & Readonly<Record<'warnings' | 'hint', unknown>>;
    return made;
  }
}

const ruleOf = ({ fields, resolve, settle }: CombineOptions): Pick<RequestOptions, 'body' | 'headers' | 'query'> => ({
  query: { fields: fields ? 'T' : undefined, resolve },
  ...(settle && supBody(typeof settle === 'string' ? `{settle:${settle}}` : supText({ settle }))),
});

const looked = (
  requests: Requests,
  path: readonly string[],
  asked: RequestOptions['query'],
  { query, ...request }: ReturnType<typeof loadOf>,
  { cut, parameters, signal }: LookOptions,
): Promise<LoadPreview> =>
  requests.json({
    method: 'POST',
    path,
    ...request,
    query: { ...query, ...parameters, ...asked, cut: cut ? 'T' : undefined },
    ...(signal && { signal }),
  }) as Promise<LoadPreview>;
const loadOf = (body: Body, options: LoadOptions): Pick<RequestOptions, 'body' | 'query' | 'headers'> => {
  const { format, delimiter, encoding, errors, rejected, upsert } = options;
  return {
    body,
    query: { 'csv.delim': delimiter, errors, rejected, upsert: upsert && 'T', delete: options.delete },
    headers: { 'Content-Type': format ? mediaTypes[format] : '', ...(encoding && { 'Content-Encoding': encoding }) },
  };
};
const conditionHeaders = ({ ifMatch }: Condition): RequestOptions['headers'] & object => ({
  'If-Match': ifMatch && `"${ifMatch}"`,
});
const noteHeaders = ({
  author,
  message,
  meta,
  idempotencyKey,
  requestId,
}: WriteOptions): RequestOptions['headers'] & object => {
  const note = asciiJson({ author, body: message, meta });
  return {
    'SuperDB-Commit': note === '{}' ? undefined : note,
    'X-Request-ID': requestId,
    'Idempotency-Key': idempotencyKey,
  };
};
/** JSON that an HTTP header may hold. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const supBody = (body: RequestOptions['body']): Pick<RequestOptions, 'body' | 'headers'> => ({
  body,
  headers: { 'Content-Type': mediaTypes.sup },
});
const jsonBody = (value: unknown): Pick<RequestOptions, 'body' | 'headers'> => ({
  body: JSON.stringify(value),
  headers: { 'Content-Type': 'application/json' },
});

async function* supLines(values: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield `${supText(value)}\n`;
}

/** The rows of a small query as plain JSON. */
const rowsOf = async <T>(requests: Requests, text: string): Promise<T[]> =>
  (await requests.json({ method: 'POST', path: ['query'], ...jsonBody({ query: text }) })) as T[];
