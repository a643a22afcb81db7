/**
 * The promise face of a pool: turns calls into jobs of the pool's machine, keeps what the machine need not see,
 * publishes the events of what it settles and settles the promises.
 *
 * Invariant: a job's promise settles exactly once, with the machine's `settled`, or at once when the machine has ended
 * or too many wait for it.
 */
import assert from 'node:assert';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError, messageOf } from '../../errors.ts';
import type { JobOutcome, PoolJob, PoolTask, Protection, WorkDone } from '../../../machines/pool.events.ts';
import { killPoint } from '../kill-points.ts';
import { firstParents } from '../commits/history.ts';
import { base62, parseId, plainId, zeroId } from '../ksuid.ts';
import { graphCommitsMax, graphPage, listSums } from '../commits/graph.ts';
import type { Payload } from '../jobs/job.ts';
import { kindOf } from '../jobs/kinds.ts';
import { Overtaken } from '../jobs/overtaken.ts';
import { doJobs, type JobEnd, NotTried } from '../jobs/run.ts';
import type {
  BranchRecord,
  Combination,
  CommitNote,
  CommitResult,
  CommitTerms,
  Cut,
  DoneJob,
  GraphPage,
  Id,
  JobMarks,
  JobResult,
  LakeEvent,
  ObjectFiles,
  ObjectMeta,
  ObjectSums,
  Pool,
  PoolConfig,
  PoolStats,
  PrepareRecords,
  PrepareRewrite,
  Preview,
  PreviewAsked,
  Snapshot,
  TagRecord,
  TipTerms,
} from '../lake.types.ts';
import { type Prepared, prepareRewrite, type RewriteTerms } from './prepared.ts';
import type { ObjectList } from '../objects/list.ts';
import { inLine, isWaitedFor, type Lines, type Place } from './line.ts';
import type { Mailbox } from './mailbox.ts';
import { isTimeText } from './moves.ts';
import type { PoolStore } from './store.ts';
import { previewOf } from '../commits/preview.ts';
import { checkTip } from '../commits/tip-check.ts';
import { type Picked, pickedOf } from '../commits/pick.ts';
import { combine, type CombineTools, previewCombined } from './combine.ts';
import { checkBelow } from '../tables/rows.ts';
import { objectMeta, snapshotOf } from '../commits/snapshot.ts';
import { rowMissing, StoreFailure } from '../tables/tables.ts';
import { removeObjectFiles, removeUncommitted } from '../objects/removal.ts';
import { vacuumCandidates, vacuumedError } from '../commits/vacuum.ts';

/** What a pool needs of its lake. */
interface PoolHost {
  readonly files: ObjectFiles;
  /** Told of faults that no call can tell of. */
  readonly report: (fault: unknown) => void;
  /** Where jobs for the pool's machine wait; undefined when there is none any more. */
  mailbox(poolId: Id): Mailbox | undefined;
  /** @throws store-fenced, store-unreachable where nothing can be written */
  readonly checkWrites?: () => void;
  /** Puts files of objects where they must be before a commit names them. */
  readonly objectsMade?: (ids: readonly Id[]) => Promise<void>;
  nextJobId(): number;
  /** The disk failed: the whole lake takes no writes any more. */
  storeFailed(reason: string): void;
  /** Told of each job that is over, done or not. */
  jobDone(job: DoneJob): void;
  closing(): boolean;
}

interface Waiting {
  readonly payload: Payload;
  readonly kind: PoolTask['kind'];
  readonly askedAt: number;
  beganAt: number;
  readonly resolve: (result: JobResult & { readonly marks: JobMarks }) => void;
  readonly reject: (error: unknown) => void;
  error?: unknown;
}

/** How often a rewrite is prepared again when others change the branch under it. */
const attemptsMax = 8;
/** An object of so many bytes is worth a commit that does no more than to compress it. */
const compactAloneBytesMin = 1 << 20;

const tipsPerTurn = 256;
const nothing: Payload = { note: {}, objects: [], candidates: [] };

/** One open pool: each method that changes it is a job of its machine. */
export class PoolFace implements Pool {
  readonly store: PoolStore;
  private readonly host: PoolHost;
  private readonly waiting = new Map<number, Waiting>();
  private readonly lines: Lines = new Map();
  private readonly statsOf = new WeakMap<ObjectList, PoolStats>();
  /** Tips that cannot be read, with their faults. */
  private readonly unreadable = new Map<Id, string>();
  /** The same of the lists of branches and tags. */
  private branchesFault: string | undefined;

  constructor(store: PoolStore, host: PoolHost) {
    this.store = store;
    this.host = host;
  }

  get config(): PoolConfig {
    return this.store.config;
  }
  branches(): readonly BranchRecord[] {
    return [...this.store.branches().values()];
  }
  branch(name: string): BranchRecord {
    return this.store.branch(name);
  }

  /** Each job is told of a row that is damaged; the next one may not need it. */
  readBranches(): void {
    try {
      this.store.branches();
    } catch (fault) {
      if (!(fault instanceof LakeError)) throw fault;
    }
  }

  /** Looks whether branches, tags and their commits can be read; each tip's history as far as its parents. */
  async look(): Promise<void> {
    let looked = 0;
    try {
      for (const { commit } of [...this.store.branches().values(), ...this.store.tags.all().values()]) {
        this.lookAt(commit);
        if (++looked % tipsPerTurn === 0) await nextTurn();
      }
    } catch (fault) {
      this.branchesFault = (fault as Error).message;
      this.host.report(fault);
    }
  }
  private lookAt(tip: Id): void {
    try {
      const [own] = firstParents(this.store.commit, tip);
      const parents = [own?.parent, own?.secondParent].flatMap((id) => (id === undefined || id === zeroId ? [] : [id]));
      for (const id of parents) {
        const parent = this.store.commit(id);
        if (!parent) throw rowMissing('commits', id);
        checkBelow(parent, own!);
      }
    } catch (fault) {
      this.noteUnreadable(tip, ofTip(fault, tip));
    }
  }
  private noteUnreadable(tip: Id, fault: unknown): void {
    if (!(fault instanceof LakeError) || fault.code !== 'table-corrupt' || this.unreadable.has(tip)) return;
    this.unreadable.set(tip, fault.message);
    this.host.report(fault);
  }
  /** Why a branch cannot be read, as far as that was found out. */
  fault(): string | undefined {
    if (this.branchesFault !== undefined) return this.branchesFault;
    for (const [tip, fault] of this.unreadable) if (this.store.isNamed(tip)) return fault;
    return undefined;
  }

  tags(): readonly TagRecord[] {
    return [...this.store.tags.all().values()];
  }
  tag(name: string): TagRecord {
    return this.store.tags.tag(name);
  }
  tip(name: string): Id {
    return this.store.tip(name);
  }

  async createBranch(written: string, commit: Id): Promise<BranchRecord> {
    const name = written.normalize('NFC');
    await this.do({ kind: 'create branch', name, commit: plainId(commit) ?? commit });
    return this.store.branch(name);
  }
  async deleteBranch(name: string, terms: TipTerms = {}): Promise<void> {
    await this.do({ kind: 'delete branch', name, ...terms });
  }
  async reset(branch: string, commit: Id, terms: TipTerms = {}): Promise<Id> {
    const to = plainId(commit) ?? commit;
    await this.do({ kind: 'reset', branch, commit: to, ...terms });
    return to;
  }
  async protect(branch: string, protection: Protection, terms: TipTerms = {}): Promise<void> {
    await this.do({ kind: 'protect', branch, protection, ...terms });
  }
  async createTag(written: string, commit: Id): Promise<TagRecord> {
    const name = written.normalize('NFC');
    await this.do({ kind: 'create tag', name, commit: plainId(commit) ?? commit });
    return this.store.tags.tag(name);
  }
  async deleteTag(name: string, terms: TipTerms = {}): Promise<void> {
    await this.do({ kind: 'delete tag', name, ...terms });
  }

  async load(branch: string, objects: readonly ObjectMeta[], note: CommitNote = {}): Promise<CommitResult> {
    try {
      return await this.commit(
        { kind: 'load', branch, objects: objects.map((o) => o.id) },
        { note, objects, candidates: [] },
      );
    } catch (error) {
      await this.removeUncommitted(objects, error);
      throw error;
    }
  }
  async deleteObjects(branch: string, ids: readonly Id[], note: CommitNote = {}): Promise<CommitResult> {
    return made(await this.do({ kind: 'delete', branch, objects: ids }, note));
  }
  combine(combination: Combination, note: CommitNote = {}, prepare?: PrepareRecords): Promise<CommitResult> {
    const tools: CombineTools = {
      store: this.store,
      line: branchesOf(combination).map((branch) => this.place(branch)),
      submit: (task, objects) => this.commit(task, { ...nothing, note, objects }),
      removeFiles: (objects) => this.removeFiles(objects),
      removeUncommitted: (objects, error) => this.removeUncommitted(objects, error),
    };
    return combine(tools, combination, prepare);
  }
  merge(target: string, child: string, note: CommitNote = {}): Promise<CommitResult> {
    return this.combine({ kind: 'merge', target, child }, note);
  }
  revert(branch: string, commit: Id, note: CommitNote = {}): Promise<CommitResult> {
    return this.combine({ kind: 'revert', branch, commit }, note);
  }
  picked(text: string): Picked {
    return pickedOf(this.store, text);
  }
  async vectors(
    branch: string,
    action: 'add' | 'delete',
    ids: readonly Id[],
    note: CommitNote = {},
  ): Promise<CommitResult> {
    return made(await this.do({ kind: 'vectors', branch, action, objects: ids }, note));
  }

  async deleteWhere(branch: string, prepare: PrepareRewrite, note: CommitNote = {}): Promise<CommitResult> {
    return this.rewriteFairly({ branch, cause: 'delete where', vectors: false }, prepare, note);
  }
  async update(branch: string, prepare: PrepareRewrite, note: CommitNote = {}): Promise<CommitResult> {
    return this.rewriteFairly({ branch, cause: 'update', vectors: false }, prepare, note);
  }
  upsert(
    branch: string,
    objects: readonly ObjectMeta[],
    prepare: PrepareRewrite,
    note: CommitNote = {},
  ): Promise<CommitResult> {
    // Each has to see what the one before it added: side by side all but one would be prepared for nothing.
    const { identity } = note.terms ?? {};
    const task = { branch, cause: 'upsert', vectors: false, brings: objects, identity } as const;
    return inLine([this.place(branch)], () => this.rewrite(task, prepare, note));
  }
  async unchanged(branch: string, { ifTip, retry }: Pick<CommitTerms, 'ifTip' | 'retry'> = {}): Promise<CommitResult> {
    checkTip(ifTip, this.tip(branch));
    return { commit: retry ? await this.store.keepKey(branch, retry) : this.tip(branch) };
  }
  /**
   * Side by side with others until one of them was faster, then one after the other: of many changes of the same
   * records each is prepared twice at most, not once for each that comes before it.
   */
  private async rewriteFairly(task: RewriteTerms, prepare: PrepareRewrite, note: CommitNote): Promise<CommitResult> {
    const line = [this.place(task.branch)];
    if (isWaitedFor(line)) return inLine(line, () => this.rewrite(task, prepare, note));
    const first = await this.rewriteOnce(task, prepare, note);
    return 'overtaken' in first ? inLine(line, () => this.rewrite(task, prepare, note, 2)) : first;
  }
  /** Where changes of a branch wait for each other. */
  place(branch: string): Place {
    return { lines: this.lines, branch };
  }
  async compact(
    branch: string,
    ids: readonly Id[],
    prepare: PrepareRewrite,
    note: CommitNote = {},
    options: { readonly vectors?: boolean } = {},
  ): Promise<CommitResult> {
    const wanted = [...new Set(ids)];
    if (wanted.length < 2 && !this.isLarge(wanted[0])) throw new LakeError('compact-few');
    return this.rewrite({ branch, cause: 'compact', vectors: options.vectors ?? false, wanted }, prepare, note);
  }
  private isLarge(id: Id | undefined): boolean {
    const size = id === undefined ? undefined : this.store.entry(id)?.size;
    return size !== undefined && size >= compactAloneBytesMin;
  }

  previewMerge(target: string, child: string, terms: TipTerms = {}): Promise<Preview> {
    return this.previewCombined({ kind: 'merge', target, child }, terms);
  }
  previewRevert(branch: string, commit: Id, terms: TipTerms = {}): Promise<Preview> {
    return this.previewCombined({ kind: 'revert', branch, commit }, terms);
  }
  previewCombined(combination: Combination, asked: PreviewAsked = {}): Promise<Preview> {
    return previewCombined(this.store, combination, asked);
  }
  /** Prepares the rewrite as a delete or an update would, and throws away what it wrote. */
  previewRewrite(branch: string, prepare: PrepareRewrite, terms: TipTerms = {}): Promise<Preview> {
    return previewOf(this.store, branch, terms, async () => {
      const { snapshot } = await this.open(this.store.branch(branch).commit);
      try {
        const { removes, adds } = await prepare(snapshot);
        await this.removeFiles(adds);
        if (removes.length === 0) throw new LakeError('transaction-empty');
        return { adds, removes: removes.map((id) => objectMeta(this.store.entry(id)!)) };
      } finally {
        snapshot.release();
      }
    });
  }

  /** Again where it was overtaken. `from`: the number of the next attempt. */
  private async rewrite(
    terms: RewriteTerms,
    prepare: PrepareRewrite,
    note: CommitNote,
    from = 1,
  ): Promise<CommitResult> {
    for (let attempt = from; ; attempt++) {
      const result = await this.rewriteOnce(terms, prepare, note);
      if (!('overtaken' in result)) return result;
      if (attempt < attemptsMax) continue;
      await this.removeFiles(terms.brings ?? []);
      const { missing } = result.overtaken;
      throw new LakeError('rewrite-overtaken', {
        branch: terms.branch,
        attempts: attempt,
        objects: missing.map(base62).join(', '),
      });
    }
  }
  /** Prepares on a pinned snapshot, and commits if the branch still has what is to be removed. */
  private async rewriteOnce(
    terms: RewriteTerms,
    prepare: PrepareRewrite,
    note: CommitNote,
  ): Promise<CommitResult | { readonly overtaken: Overtaken }> {
    const { brings = [] } = terms;
    this.host.checkWrites?.();
    let prepared: Prepared | undefined;
    try {
      prepared = await this.prepareRewrite(terms, prepare);
      const { task, objects } = prepared;
      return await this.commit(task, { ...nothing, note, objects });
    } catch (error) {
      const written = prepared?.written ?? [];
      if (!(error instanceof Overtaken)) {
        await this.removeUncommitted([...written, ...brings], error);
        throw error;
      }
      await this.removeFiles(written);
      return { overtaken: error };
    } finally {
      prepared?.release();
    }
  }
  prepareRewrite(terms: RewriteTerms, prepare: PrepareRewrite): Promise<Prepared> {
    return prepareRewrite({ store: this.store, open: (commit) => this.open(commit) }, terms, prepare);
  }
  removeUncommitted(objects: readonly ObjectMeta[], error: unknown): Promise<void> {
    return removeUncommitted(objects, error, this.host);
  }
  removeFiles(objects: readonly ObjectMeta[]): Promise<void> {
    return removeObjectFiles(objects, this.host);
  }

  async vacuum(
    revision: string,
    { dryRun, only, ...terms }: { readonly dryRun: boolean; readonly only?: ReadonlySet<Id> } & TipTerms,
  ): Promise<readonly Id[]> {
    const at = this.resolveAt(revision);
    const commit = await at;
    const all = await vacuumCandidates(this.store, commit);
    const candidates = only ? all.filter(({ id }) => only.has(id)) : all;
    // The job looks its revision up again where it has a condition; a time means one commit.
    const task = {
      kind: 'vacuum',
      revision: at instanceof Promise ? `0x${commit}` : revision,
      dryRun,
      ...terms,
    } as const;
    const result = await this.submit(task, { ...nothing, candidates });
    return result.objects ?? [];
  }

  async stats(): Promise<PoolStats> {
    const list = await this.store.list(this.store.branch('main').commit);
    let stats = this.statsOf.get(list);
    if (!stats) this.statsOf.set(list, (stats = measure(list)));
    return stats;
  }

  async graph({ from, limit }: { readonly from?: readonly Id[]; readonly limit: number }): Promise<GraphPage> {
    return graphPage(
      this.store,
      from ?? [...this.store.branches().values(), ...this.store.tags.all().values()].map(({ commit }) => commit),
      Math.min(limit, graphCommitsMax),
    );
  }
  async sums(commitish: string): Promise<ObjectSums & { readonly commit: Id }> {
    const commit = await this.resolveAt(commitish);
    return { commit, ...listSums(await this.store.list(commit)) };
  }

  resolve(commitish: string): Id {
    return this.store.resolve(commitish);
  }
  /** The same, and what main was at where an RFC 3339 time stands, which nothing has as its name. */
  resolveAt(commitish: string): Id | Promise<Id> {
    try {
      return this.store.resolve(commitish);
    } catch (fault) {
      if (!(fault instanceof LakeError && fault.code === 'branch-not-found' && isTimeText(commitish))) throw fault;
      return this.asOf('main', commitish);
    }
  }
  /** Where a branch of this name was before a transaction moved it, which came after the cut; undefined: none did. */
  before(cut: Cut, commitish: string): Id | undefined {
    const id = parseId(commitish);
    return id && this.store.hasCommit(id) ? undefined : cut.before(this.config.id, this.store.nameOf(commitish));
  }
  async asOf(name: string, time: string): Promise<Id> {
    return this.store.moves.asOf(name, time);
  }

  /** @throws vacuumed */
  async open(commit: Id): Promise<{ readonly snapshot: Snapshot; readonly list: ObjectList }> {
    const found = this.store.list(commit);
    const list =
      found instanceof Promise
        ? await found.catch((fault: unknown) => {
            throw this.store.isTip(commit) ? this.tipFault(fault, commit) : fault;
          })
        : found;
    // From here to the pin nothing waits, so that no vacuum comes in between.
    if (this.store.deleted) throw new LakeError('pool-not-found', { pool: this.config.name });
    if (!this.store.isTip(commit)) {
      const missing = this.store.missing(list);
      if (missing.length > 0) throw vacuumedError(commit, missing);
    }
    const onRelease = this.store.pin(list);
    return {
      list,
      snapshot: snapshotOf({
        pool: this.config,
        commit,
        list,
        tables: this.store.stores.tables,
        packs: this.store.packs,
        onRelease,
      }),
    };
  }

  private tipFault(fault: unknown, tip: Id): unknown {
    const own = ofTip(fault, tip);
    this.noteUnreadable(tip, own);
    return own;
  }

  /** Puts files of objects where they must be before a commit names them; undefined: there is none to wait for. */
  objectsMade(objects: readonly ObjectMeta[]): Promise<void> | undefined {
    if (objects.every(({ inline }) => inline)) return undefined;
    const files = objects.filter((object) => !object.inline);
    return this.host.objectsMade?.(files.map((object) => object.id));
  }
  async do(task: PoolTask, note: CommitNote = {}): Promise<JobResult & { readonly marks: JobMarks }> {
    kindOf(task).check?.(this.store, task);
    return this.submit(withTerms(task, note), { ...nothing, note });
  }
  private async commit(task: PoolTask, payload: Payload): Promise<CommitResult> {
    // A job without files is in the queue when the call returns: who closes the lake next has it settled.
    const placed = this.objectsMade(payload.objects);
    if (placed) await placed;
    return made(await this.submit(withTerms(task, payload.note), payload));
  }

  /** Puts a job into the queue as it is; what the other calls check before is not checked here. */
  submit(task: PoolTask, payload: Payload = nothing): Promise<JobResult & { readonly marks: JobMarks }> {
    const id = this.host.nextJobId();
    return new Promise((resolve, reject) => {
      // Not only when its turn comes: that may be long.
      this.host.checkWrites?.();
      this.waiting.set(id, { payload, kind: task.kind, askedAt: performance.now(), beganAt: 0, resolve, reject });
      const mailbox = this.host.mailbox(this.store.poolId);
      if (mailbox?.post({ id, ...task })) return;
      this.waiting.delete(id);
      reject(mailbox ? mailbox.full() : this.ended());
    });
  }
  private ended(): LakeError {
    return this.host.closing()
      ? new LakeError('lake-closing')
      : new LakeError('pool-not-found', { pool: this.config.name });
  }

  /** What the machine begins. */
  async work(jobs: readonly PoolJob[], placed: () => void): Promise<WorkDone> {
    const {
      store,
      host: { files, report },
    } = this;
    const now = performance.now();
    for (const { id } of jobs) this.waiting.get(id)!.beganAt = now;
    const ends = await doJobs({ store, files, report, payload: (id) => this.waiting.get(id)!.payload, placed }, jobs);
    let unsound: string | undefined;
    const outcomes = ends.map((end): JobOutcome => {
      if ('error' in end && end.error instanceof StoreFailure) unsound = end.error.message;
      return this.outcome(end);
    });
    if (unsound !== undefined) this.host.storeFailed(unsound);
    return { outcomes, unsound };
  }
  private outcome(end: JobEnd): JobOutcome {
    if ('result' in end) {
      const { commit, commits, objects, events } = end.result;
      return { id: end.id, status: 'done', commit, commits, objects, events };
    }
    const { error } = end;
    const waiting = this.waiting.get(end.id)!;
    if (error instanceof NotTried) {
      waiting.error = error;
      return { id: end.id, status: 'refused', why: 'transaction refused', text: error.message };
    }
    waiting.error =
      error instanceof StoreFailure ? new LakeError('lake-failed', { fault: error.message }, { cause: error }) : error;
    if (!(error instanceof LakeError || error instanceof Overtaken)) this.host.report(error);
    return {
      id: end.id,
      status: 'failed',
      code: error instanceof LakeError ? error.code : 'internal',
      text: messageOf(error),
    };
  }

  /** The machine's `settled`: listeners hear of the changes before those who asked for them. */
  settle(outcomes: readonly JobOutcome[]): void {
    const events: LakeEvent[] = [];
    for (const outcome of outcomes) if (outcome.status === 'done' && outcome.events) events.push(...outcome.events);
    this.store.stores.feed.publish(events);
    killPoint('settled: told');
    const endedAt = performance.now();
    for (const outcome of outcomes) {
      const waiting = this.waiting.get(outcome.id);
      assert(waiting, 'a job is settled once');
      this.waiting.delete(outcome.id);
      const { kind, askedAt } = waiting;
      const beganAt = waiting.beganAt || endedAt;
      const marks: JobMarks = { askedAt, beganAt, endedAt };
      this.host.jobDone({ kind, isDone: outcome.status === 'done', askedAt, beganAt, endedAt });
      if (outcome.status === 'done') {
        const { commit, commits, objects, events } = outcome;
        waiting.resolve({ commit, commits, objects, events, marks });
      } else waiting.reject(waiting.error ?? refusal(outcome, this.ended()));
    }
  }
}

/** A job that has its conditions in the note of its commit. */
const withTerms = (task: PoolTask, { terms }: CommitNote): PoolTask => {
  const { ifTip, by } = terms ?? {};
  return ifTip || by ? { ...task, ...(ifTip && { ifTip }), ...(by && { by }) } : task;
};
const made = ({ commit, marks }: JobResult & { readonly marks: JobMarks }): CommitResult => {
  assert(commit);
  return { commit, marks };
};

/** Those whose tips it was prepared for. */
const branchesOf = (combination: Combination): readonly string[] =>
  combination.kind === 'merge' ? [combination.target, combination.child] : [combination.branch];

const refusal = (outcome: JobOutcome, ended: LakeError): LakeError => {
  if (outcome.status === 'failed') return new LakeError('internal', { text: outcome.text });
  assert(outcome.status === 'refused');
  return outcome.why === 'closing' ? ended : new LakeError('lake-failed', { fault: outcome.text });
};

const measure = (list: ObjectList): PoolStats => {
  let size = 0;
  let min: ObjectMeta['min'] | undefined;
  let max: ObjectMeta['max'] | undefined;
  for (const e of list.entries()) {
    size += e.size;
    if (!min || Buffer.compare(e.min.sort, min.sort) < 0) min = e.min;
    if (!max || Buffer.compare(e.max.sort, max.sort) > 0) max = e.max;
  }
  return { size, ...(min && max && { span: { min, max } }) };
};

/** The commit of a tip is there: that it is not is no fault of who asks. */
const ofTip = (fault: unknown, commit: Id): unknown =>
  fault instanceof LakeError && fault.code === 'commit-not-found' ? rowMissing('commits', commit) : fault;
