/**
 * What is durable of one pool: branches, commits, objects. Reads answer from memory or the tables; `commit` is the only
 * way to a new commit.
 *
 * Invariants:
 * - One caller at a time writes (the pool's actor); between the check of a tip in memory and its transaction nobody
 *   else moves it. The transaction checks again.
 * - A branch in memory moves only after its transaction is durable. Where several are on their way each is put on what
 *   the one before makes of its branches (`ahead`), which nobody else sees; they become durable in their order, and
 *   behind one that does not none does.
 * - No tip of a branch, no tag's commit and no pinned list holds a vacuumed object.
 */
import assert from 'node:assert';
import { LakeError } from '../../errors.ts';
import type { Protection } from '../../../machines/pool.events.ts';
import { killPoint } from '../kill-points.ts';
import { idBuffer, parseId, plainId, zeroId } from '../ksuid.ts';
import type {
  BranchRecord,
  CommitNote,
  Draws,
  Id,
  Identity,
  LakeEvent,
  LakeFact,
  ObjectMeta,
  Retry,
  PoolConfig,
} from '../lake.types.ts';
import type { Feed } from '../feed.ts';
import type { Changes } from '../commits/commit.ts';
import { Lineage } from '../commits/lineage.ts';
import type { ObjectEntry, ObjectList } from '../objects/list.ts';
import {
  branchKey,
  decodeBranch,
  decodeCommit,
  decodeObject,
  decodePool,
  encodeBranch,
  encodeCommit,
  encodeObject,
  pairKey,
  type StoredCommit,
} from '../tables/rows.ts';
import { PackIndex } from '../objects/packs.ts';
import { isVacuumed, type SnapshotCache } from '../commits/snapshot.ts';
import { checkIdentity } from '../commits/identity-check.ts';
import type { Retries } from '../commits/retries.ts';
import { type Change, type Tables, rowMissing } from '../tables/tables.ts';
import { protectionVersion } from '../tables/versions.ts';
import { Moves } from './moves.ts';
import { Tags } from './tags.ts';

/** What the pools of a lake share. */
export interface Stores {
  readonly tables: Tables;
  readonly feed: Feed;
  readonly snapshots: SnapshotCache;
  readonly draws: Draws;
  /** Told of what was drawn for a change, before the change is durable. */
  readonly drew?: (poolId: Id, fact: LakeFact) => void;
  /** Keys under which requests may be sent again. */
  readonly retries?: Retries;
  /** Told when a branch got objects that live in the tables. */
  readonly small?: (poolId: Id, branch: string, objects: number) => void;
}

/** One commit to be written: who, what it changes, and the objects that are new to the lake. */
export interface NewCommit {
  readonly branch: string;
  readonly note: CommitNote;
  readonly message: string;
  readonly changes: Changes;
  /** Those of `changes.adds` that the lake does not know yet come from these. */
  readonly created?: readonly ObjectMeta[];
  /** The created objects get the marker that `:vectors` lists. */
  readonly vectorsOfCreated?: boolean;
  readonly secondParent?: Id | undefined;
  /** Of a merge: what was merged, as the request named it. */
  readonly child?: string | undefined;
  /**
   * It makes its objects of those that it removes (`StoredCommit.rewrite`); `lineage`: what that adds to the pool's
   * lineage.
   */
  readonly rewrite?: Exclude<StoredCommit['rewrite'], undefined | false>;
  /** Rows are others than those of the objects that it removes (`StoredCommit.changed`). */
  readonly changed?: true;
  readonly lineage?: readonly Change[];
  /** As `StoredCommit.from`. */
  readonly from?: readonly Id[];
  readonly addVectors?: readonly ObjectEntry[];
  readonly deleteVectors?: readonly ObjectEntry[];
  /** No event tells of it. */
  readonly silent?: boolean;
}

/** A commit that was written, and what listeners are to hear of it. */
interface MadeCommit {
  readonly commit: Id;
  readonly events: readonly LakeEvent[];
}

/** Commits that are being written. `branches`: as they were; `made`, `tips`: filled by `rows`. */
export interface Writing {
  readonly branches: readonly BranchRecord[];
  readonly made: readonly MadeCommit[];
  readonly tips: readonly WrittenTip[];
  readonly check: () => void;
  readonly rows: () => readonly Change[];
  readonly done: () => void;
}

/** A tip that this process wrote: what follows from it is known without a read. `row`: the branch's. */
interface WrittenTip {
  readonly branch: BranchRecord;
  readonly height: number;
  readonly row: Buffer;
}
/** A branch that commits are put on. */
interface MovingTip {
  readonly before: BranchRecord;
  readonly key: Buffer;
  now: Id;
  height: number;
  readonly removes: ObjectEntry[];
  readonly adds: ObjectEntry[];
  changed: number;
}
interface MovedTip {
  readonly tip: MovingTip;
  readonly after: WrittenTip;
}

/** The branches, commits and objects of one pool, in memory and in the tables. */
export class PoolStore {
  readonly stores: Stores;
  readonly poolId: Id;
  config: PoolConfig;
  readonly packs: PackIndex;
  readonly lineage: Lineage;
  readonly tags: Tags;
  readonly moves: Moves;
  /** Lists of open snapshots, and how many of them hold each. */
  readonly pins = new Map<ObjectList, number>();
  /** Objects whose vacuum is under way: gone for whoever comes now. */
  readonly vacuuming = new Set<Id>();
  /** Counts vacuums, so that what was found out about a list can be kept. */
  private vacuums = 0;
  private readonly checked = new WeakMap<ObjectList, { readonly vacuums: number; readonly missing: readonly Id[] }>();
  private branchMap: Map<string, BranchRecord> | undefined;
  private readonly written = new Map<string, WrittenTip>();
  /** Branches as they are when all that is on its way is durable. */
  private readonly ahead = new Map<string, WrittenTip>();
  /** The end of the last write; it never rejects. */
  private writes: Promise<unknown> = Promise.resolve();
  private onTheirWay = 0;
  /** What one of those that are on their way came to: those behind it come to the same. */
  private fault: { readonly error: unknown } | undefined;
  private readonly branchKeys = new Map<string, Buffer>();
  private readonly poolKey: Buffer;
  deleted = false;
  /** Commits of the transaction before. */
  private groupBefore = 0;

  constructor(stores: Stores, config: PoolConfig) {
    this.stores = stores;
    this.config = config;
    this.poolId = config.id;
    this.poolKey = idBuffer(config.id);
    this.packs = new PackIndex(stores.tables, config.id);
    this.lineage = new Lineage({
      tables: stores.tables,
      poolId: config.id,
      entry: (id) => this.entry(id),
      checkPool: () => {
        this.checkPool();
      },
    });
    this.moves = new Moves({
      stores,
      poolId: config.id,
      commit: this.commit,
      branch: (name) => this.branches().get(name),
      tag: (name) => this.tags.find(name),
    });
    this.tags = new Tags({
      stores,
      pool: () => this.config,
      checkPool: () => {
        this.checkPool();
      },
    });
  }

  get order(): PoolConfig['layout']['order'] {
    return this.config.layout.order;
  }

  branches(): ReadonlyMap<string, BranchRecord> {
    return this.loadBranches();
  }
  private loadBranches(): Map<string, BranchRecord> {
    return this.branchMap ?? this.readBranches();
  }
  private readBranches(): Map<string, BranchRecord> {
    this.branchMap = new Map(
      this.stores.tables.rows('branches', { prefix: idBuffer(this.poolId) }).map((row) => {
        const branch = decodeBranch(row.key, row.payload);
        return [branch.name, branch] as const;
      }),
    );
    return this.branchMap;
  }
  /** A replica's tables have this branch now, or lack one of that name. */
  followed(name: string, branch: BranchRecord | undefined): void {
    if (branch) this.branchMap?.set(name, branch);
    else this.branchMap?.delete(name);
  }
  /** One that may move. @throws branch-not-found, tag-fixed */
  branch(name: string): BranchRecord {
    const branch = this.loadBranches().get(name);
    if (branch) return branch;
    if (this.tags.find(name)) throw new LakeError('tag-fixed', { tag: name });
    throw new LakeError('branch-not-found', { branch: name });
  }
  /** The commit of a branch or a tag. @throws branch-not-found */
  tip(reference: string): Id {
    const name = this.nameOf(reference);
    return (this.tags.find(name) ?? this.branch(name)).commit;
  }
  /** The name of a branch or tag that is read by it in whatever Unicode form. */
  nameOf(reference: string): string {
    return this.branches().has(reference) || this.tags.find(reference) ? reference : reference.normalize('NFC');
  }
  /** A branch or a tag is at the commit. */
  isNamed(commit: Id): boolean {
    if (this.isTip(commit)) return true;
    for (const tag of this.tags.all().values()) if (tag.commit === commit) return true;
    return false;
  }
  /**
   * A commit of this pool in a client's spelling (which wins over a branch or tag of that name), else a branch's tip or
   * a tag's commit, be its name like an id, else a commit in the service's own spelling.
   * @throws branch-not-found, commit-file-missing, table-corrupt
   */
  resolve(commitish: string): Id {
    const id = parseId(commitish);
    if (id && this.hasCommit(id)) return id;
    const name = this.nameOf(commitish);
    const named = (this.branches().get(name) ?? this.tags.find(name))?.commit;
    const found = named ?? plainId(commitish);
    if (!found) throw new LakeError('branch-not-found', { branch: commitish });
    if (this.hasCommit(found)) return found;
    throw named === undefined ? new LakeError('commit-file-missing') : rowMissing('commits', found);
  }
  isTip(commit: Id): boolean {
    for (const branch of this.loadBranches().values()) if (branch.commit === commit) return true;
    return false;
  }

  readonly commit = (id: Id): StoredCommit | undefined => {
    const payload = this.stores.tables.get('commits', pairKey(this.poolId, id));
    return payload && decodeCommit(id, payload);
  };
  hasCommit(id: Id): boolean {
    return id === zeroId || this.stores.tables.has('commits', pairKey(this.poolId, id));
  }
  /** An object of any commit, vacuumed ones too. */
  readonly entry = (id: Id): ObjectEntry | undefined => {
    const payload = this.stores.tables.get('objects', pairKey(this.poolId, id));
    return payload && decodeObject(id, payload);
  };
  list(commit: Id): ObjectList | Promise<ObjectList> {
    return this.stores.snapshots.list(this, commit);
  }

  pin(list: ObjectList): () => void {
    this.pins.set(list, (this.pins.get(list) ?? 0) + 1);
    return () => {
      const left = this.pins.get(list)! - 1;
      if (left > 0) this.pins.set(list, left);
      else this.pins.delete(list);
      this.onRelease();
    };
  }
  /** Told when a pinned list was released. */
  onRelease: () => void = () => undefined;

  vacuumed(id: Id): boolean {
    return this.vacuuming.has(id) || isVacuumed(this.stores.tables, this.poolId, id);
  }
  /** How often what is vacuumed has changed. */
  get vacuumCount(): number {
    return this.vacuums;
  }
  vacuumChanged(): void {
    this.vacuums++;
  }
  /** Objects of the list that were vacuumed; what was found is kept until the next vacuum. */
  missing(list: ObjectList): readonly Id[] {
    const known = this.checked.get(list);
    if (known?.vacuums === this.vacuums) return known.missing;
    const any =
      this.vacuuming.size > 0 ||
      this.stores.tables.keys('vacuumed', { prefix: idBuffer(this.poolId), limit: 1 }).length > 0;
    const missing = any ? [...list.entries()].filter((e) => this.vacuumed(e.id)).map((e) => e.id) : [];
    this.checked.set(list, { vacuums: this.vacuums, missing });
    return missing;
  }

  /**
   * Writes commits, each on what the one before made of its branch, in one durable transaction. Answers with their ids
   * and the events of each, which are published when the pool's machine settles them. `placed`: called when others can
   * be written behind them, though they are not durable yet.
   */
  async write(commits: readonly NewCommit[], placed?: () => void): Promise<readonly MadeCommit[]> {
    // What is on its way behind a fault was checked against what does not come.
    while (this.fault) await this.writes;
    const before = this.writes;
    const writing = this.writing(commits);
    const written = this.inTables(writing, { alone: commits.length === 1 && this.groupBefore === 1, placed });
    this.onTheirWay++;
    const made = Promise.all([written, before]).then(() => {
      this.groupBefore = commits.length;
      writing.done();
      return writing.made;
    });
    this.writes = made.then(
      () => this.ended(undefined),
      (error: unknown) => this.ended({ error }),
    );
    return made;
  }
  private inTables(
    writing: Writing,
    options: { readonly alone: boolean; readonly placed: (() => void) | undefined },
  ): Promise<void> {
    const { tables, feed } = this.stores;
    const rows = (): readonly Change[] => {
      const made = feed.drawing(() => [...writing.rows(), feed.countersRow()]);
      for (const tip of writing.tips) this.ahead.set(tip.branch.name, tip);
      return made;
    };
    const check = (): void => {
      if (this.fault) throw this.fault.error;
      writing.check();
    };
    return tables.write(rows, check, options);
  }
  private ended(fault: PoolStore['fault']): void {
    if (fault) this.ahead.clear();
    this.fault = --this.onTheirWay === 0 ? undefined : (this.fault ?? fault);
  }

  /**
   * The same, step by step: `check` and then `rows` in one transaction of the tables, `done` once that is durable, with
   * no wait in between. `transaction`: whose part it is; the first commit has its id.
   */
  writing(commits: readonly NewCommit[], transaction?: () => Id): Writing {
    const tips = new Map<string, MovingTip>();
    const made: MadeCommit[] = [];
    const moved: MovedTip[] = [];
    const written: WrittenTip[] = [];
    for (const { branch } of commits) if (!tips.has(branch)) tips.set(branch, this.moving(branch));
    return {
      branches: [...tips.values()].map(({ before }) => before),
      made,
      tips: written,
      check: () => {
        this.checkPool();
        for (const tip of tips.values()) this.checkTip(tip.before, tip.key);
        for (const { note } of commits) this.checkIdentity(note.terms?.identity);
      },
      rows: () => {
        const rows: Change[] = [];
        const transactionId = transaction?.();
        for (const [i, commit] of commits.entries()) {
          const id = (i === 0 ? transactionId : undefined) ?? this.stores.draws.newId();
          made.push(this.makeCommit(commit, { id, transactionId }, tips.get(commit.branch)!, rows));
        }
        for (const tip of tips.values()) {
          const branch = { ...tip.before, commit: tip.now };
          const row = encodeBranch(branch);
          const after = { branch, height: tip.height, row };
          moved.push({ tip, after });
          written.push(after);
          rows.push({ table: 'branches', key: tip.key, payload: row });
        }
        return rows;
      },
      done: () => {
        for (const one of moved) this.move(one);
        killPoint('commit: branch moved');
        this.noteSmall(moved);
      },
    };
  }
  /** Packs are made of small objects. */
  private noteSmall(moved: readonly MovedTip[]): void {
    for (const { tip } of moved) {
      let small = 0;
      for (const entry of tip.adds) if (entry.inTable) small++;
      if (small > 0) this.stores.small?.(this.poolId, tip.before.name, small);
    }
  }

  private moving(name: string): MovingTip {
    const before = this.ahead.get(name)?.branch ?? this.branch(name);
    return {
      before,
      key: this.keyOf(name),
      now: before.commit,
      height: this.tipHeight(before),
      removes: [],
      adds: [],
      changed: 0,
    };
  }
  /** Puts a commit on a tip: its rows and its event. */
  private makeCommit(
    commit: NewCommit,
    { id, transactionId }: { readonly id: Id; readonly transactionId: Id | undefined },
    tip: MovingTip,
    rows: Change[],
  ): MadeCommit {
    const { stores, poolId } = this;
    const { branch, note, changes, secondParent, child, deleteVectors } = commit;
    const created: ObjectEntry[] = [];
    for (const meta of commit.created ?? []) created.push(this.newObject(meta, rows));
    const adds = changes.adds.length > 0 ? [...changes.adds, ...created] : created;
    const addVectors = commit.vectorsOfCreated ? created : (commit.addVectors ?? []);
    const row: StoredCommit = {
      id,
      parent: tip.now,
      secondParent,
      height: 1 + Math.max(tip.height, secondParent ? this.height(secondParent) : 0),
      author: note.author ?? '',
      dateNs: stores.draws.nowNs(),
      message: note.body || commit.message,
      meta: note.meta ?? 'null',
      adds: idsOf(adds),
      deletes: idsOf(changes.removes),
      addVectors: addVectors.length > 0 ? idsOf(addVectors) : undefined,
      deleteVectors: deleteVectors && idsOf(deleteVectors),
      rewrite: adds.length > 0 && changes.removes.length > 0 && !secondParent ? (commit.rewrite ?? false) : undefined,
      from: commit.from,
      changed: commit.changed,
    };
    if (commit.lineage) rows.push(...commit.lineage);
    if (stores.drew) this.drewCommit(branch, row);
    rows.push({ table: 'commits', key: pairKey(poolId, row.id), payload: encodeCommit(row) });
    if (note.terms?.retry && stores.retries)
      rows.push(...stores.retries.changes(note.terms.retry, row.id, { key: tip.key, branch: tip.before }));
    const events: LakeEvent[] = [];
    if (!commit.silent) {
      const event = stores.feed.make(poolId, rows, (number) => ({
        id: number,
        kind: 'pool-commit',
        poolId,
        poolName: this.config.name,
        commitId: row.id,
        branch,
        parent: secondParent ? branch : '',
        child,
        transactionId,
      }));
      events.push(event);
    }
    tip.now = row.id;
    tip.height = row.height;
    this.collect(tip, commit, adds, addVectors);
    return { commit: row.id, events };
  }

  private drewCommit(
    branch: string,
    { height: _, rewrite: __, changed: ___, from: _from, dateNs, ...commit }: StoredCommit,
  ): void {
    this.stores.drew?.(this.poolId, { what: 'commit', branch, commit: { ...commit, dateNs: String(dateNs) } });
  }

  /**
   * Adds a commit's changes up, so that a group changes the list once. Only single commits remove anything: a group is
   * loads alone.
   */
  private collect(
    tip: MovingTip,
    { changes: { removes }, deleteVectors = [] }: NewCommit,
    adds: readonly ObjectEntry[],
    addVectors: readonly ObjectEntry[],
  ): void {
    assert(tip.changed === 0 || removes.length === 0);
    tip.changed += adds.length + removes.length + addVectors.length + deleteVectors.length;
    tip.removes.push(...removes);
    if (addVectors.length === 0 && deleteVectors.length === 0) {
      tip.adds.push(...adds);
      return;
    }
    const marked = [
      ...addVectors.map((e) => ({ ...e, vector: true })),
      ...deleteVectors.map((e) => ({ ...e, vector: false })),
    ];
    const markedIds = new Set(marked.map((e) => e.id));
    const addedIds = new Set(adds.map((e) => e.id));
    tip.removes.push(...marked.filter((e) => !addedIds.has(e.id)));
    tip.adds.push(...adds.filter((e) => !markedIds.has(e.id)), ...marked);
  }

  private move({ tip: { before, removes, adds, changed }, after }: MovedTip): void {
    this.loadBranches().set(before.name, after.branch);
    this.written.set(before.name, after);
    if (this.ahead.get(before.name) === after) this.ahead.delete(before.name);
    const list = this.stores.snapshots.warmList(this, before.commit);
    if (!list) return;
    const keep = this.isTip(before.commit);
    this.stores.snapshots.advance(this, {
      from: before.commit,
      to: after.branch.commit,
      list: list.change(removes, adds),
      changes: changed,
      keep,
    });
  }

  private newObject(meta: ObjectMeta, rows: Change[]): ObjectEntry {
    const { id, count, size, min, max, inline } = meta;
    const entry: ObjectEntry = {
      id,
      count,
      size,
      min,
      max,
      sequence: this.stores.feed.nextSequence(),
      inTable: inline !== undefined,
      vector: false,
    };
    rows.push({ table: 'objects', key: pairKey(this.poolId, id), payload: encodeObject(entry) });
    if (inline) rows.push({ table: 'bodies', key: idBuffer(id), payload: inline });
    else rows.push({ table: 'files', key: idBuffer(id), payload: idBuffer(this.poolId) });
    return entry;
  }

  /** The key of a branch that is there; a digest each. */
  private keyOf(name: string): Buffer {
    let key = this.branchKeys.get(name);
    if (!key) this.branchKeys.set(name, (key = branchKey(this.poolId, name)));
    return key;
  }
  private tipHeight(branch: BranchRecord): number {
    return this.knownTip(branch)?.height ?? this.height(branch.commit);
  }
  /** What is known of a branch that this process wrote, be it on its way. */
  private knownTip(branch: BranchRecord): WrittenTip | undefined {
    return [this.ahead, this.written].map((tips) => tips.get(branch.name)).find((known) => known?.branch === branch);
  }
  private height(commit: Id): number {
    if (commit === zeroId) return 0;
    const row = this.commit(commit);
    // A tip and a second parent were there when they were made.
    if (!row) throw rowMissing('commits', commit);
    return row.height;
  }

  /** Of branches and tags. @throws branch-exists, tag-exists */
  mustBeNew(name: string): void {
    if (this.loadBranches().has(name)) throw new LakeError('branch-exists', { pool: this.config.name, branch: name });
    this.tags.checkFree(name);
  }
  async createBranch(name: string, commit: Id): Promise<MadeCommit> {
    this.mustBeNew(name);
    const branch: BranchRecord = { tsNs: this.stores.draws.nowNs(), name, commit };
    this.stores.drew?.(this.poolId, { what: 'branch', name, commit, tsNs: String(branch.tsNs) });
    const row: Change = { table: 'branches', key: branchKey(this.poolId, name), payload: encodeBranch(branch) };
    const events = await this.stores.feed.write(
      { kind: 'branch-update', poolId: this.poolId, poolName: this.config.name, branch: name },
      [row],
      () => this.checkPool(),
    );
    killPoint('branch: in the tables');
    this.loadBranches().set(name, branch);
    return { commit, events };
  }

  async deleteBranch(name: string): Promise<Pick<MadeCommit, 'events'>> {
    const before = this.branch(name);
    const row: Change = { table: 'branches', key: branchKey(this.poolId, name) };
    const events = await this.stores.feed.write(
      { kind: 'branch-delete', poolId: this.poolId, poolName: this.config.name, branch: name },
      [row, await this.moves.leaving(before)],
      () => {
        this.checkPool();
        this.checkTip(before);
      },
    );
    killPoint('branch: in the tables');
    this.loadBranches().delete(name);
    this.written.delete(name);
    this.branchKeys.delete(name);
    if (!this.isTip(before.commit)) this.stores.snapshots.leave(this.poolId, before.commit);
    return { events };
  }

  /** Moves a branch to any commit; where it is there already nothing is written. */
  async resetBranch(name: string, commit: Id): Promise<MadeCommit> {
    const before = this.branch(name);
    if (before.commit === commit) return { commit, events: [] };
    const branch: BranchRecord = { ...before, commit };
    const row = encodeBranch(branch);
    const key = this.keyOf(name);
    const events = await this.stores.feed.write(
      { kind: 'branch-reset', poolId: this.poolId, poolName: this.config.name, commitId: commit, branch: name },
      [{ table: 'branches', key, payload: row }, await this.moves.leaving(before)],
      () => {
        this.checkPool();
        this.checkTip(before, key);
      },
    );
    killPoint('reset: in the tables');
    this.loadBranches().set(name, branch);
    this.written.set(name, { branch, height: this.height(commit), row });
    if (!this.isTip(before.commit)) this.stores.snapshots.leave(this.poolId, before.commit);
    return { commit, events };
  }

  /** Keeps the key of a request that had nothing to change, with the commit that the branch is at. */
  async keepKey(name: string, retry: Retry): Promise<Id> {
    let commit = zeroId;
    await this.stores.tables.write(
      () => {
        const branch = this.branch(name);
        commit = branch.commit;
        return this.stores.retries?.changes(retry, commit, { key: this.keyOf(name), branch }) ?? [];
      },
      () => {
        this.checkPool();
        this.branch(name);
      },
    );
    return commit;
  }

  /** Protects a branch like this; where it is so already nothing is written. */
  async protect(name: string, protection: Protection): Promise<Pick<MadeCommit, 'events'>> {
    const before = this.branch(name);
    const { protection: _, ...bare } = before;
    const branch: BranchRecord = Object.keys(protection).length === 0 ? bare : { ...bare, protection };
    const row = encodeBranch(branch);
    if (row.equals(encodeBranch(before))) return { events: [] };
    const key = this.keyOf(name);
    await this.stores.tables.raiseVersion(protectionVersion);
    const events = await this.stores.feed.write(
      { kind: 'branch-update', poolId: this.poolId, poolName: this.config.name, branch: name },
      [{ table: 'branches', key, payload: row }],
      () => {
        this.checkPool();
        this.checkTip(before, key);
      },
    );
    killPoint('branch: in the tables');
    this.loadBranches().set(name, branch);
    this.written.set(name, { branch, height: this.tipHeight(before), row });
    return { events };
  }

  /** For use inside a transaction. @throws pool-not-found */
  checkPool(): void {
    if (this.deleted || !this.stores.tables.has('pools', this.poolKey))
      throw new LakeError('pool-not-found', { pool: this.config.name });
  }
  /** By the rows, which have a change of the pool before its face does. @throws upsert-identity-other */
  private checkIdentity(read: Identity | undefined): void {
    const payload = read && this.stores.tables.get('pools', this.poolKey);
    if (payload) checkIdentity(decodePool(this.poolId, payload), read);
  }
  private checkTip(expected: BranchRecord, key = branchKey(this.poolId, expected.name)): void {
    const payload = this.stores.tables.get('branches', key);
    if (payload?.equals(this.knownTip(expected)?.row ?? encodeBranch(expected))) return;
    const found = payload && decodeBranch(key, payload);
    assert(
      found?.commit === expected.commit && found.name === expected.name,
      `branch ${expected.name} is at ${found?.commit}, not at ${expected.commit}`,
    );
  }
}

const idsOf = (entries: readonly { readonly id: Id }[]): readonly Id[] => entries.map((entry) => entry.id);
