/**
 * Commits in several pools, all or none. What is replaced and merged is prepared first, outside of the pools' queues;
 * then the transaction's machine asks the pools for their turns, and what was prepared is checked and written in one
 * transaction of the tables, which is one record of the log: after a crash all of it is there or nothing.
 *
 * Invariants:
 * - Branches in memory move together, in one turn of the event loop: nobody sees some of them.
 * - The first commit of each pool has the transaction's id, so that `p@ID` is what the transaction made of any of them.
 */
import assert from 'node:assert';
import { type Actor, createActor } from 'xstate';
import { LakeError, messageOf } from '../../errors.ts';
import type { PartTask } from '../../../machines/pool.events.ts';
import { transactionMachine } from '../../../machines/transaction.machine.ts';
import type { Cuts } from '../cuts.ts';
import { killPoint } from '../kill-points.ts';
import type {
  CommitNote,
  Id,
  JobResult,
  LakeEvent,
  ObjectMeta,
  PartsMade,
  ReadyCommit,
  TransactionChange,
  TransactionResult,
} from '../lake.types.ts';
import { prepareCombined } from './combine.ts';
import { checkTip } from '../commits/tip-check.ts';
import { Overtaken } from '../jobs/overtaken.ts';
import { checkTerms, draftCommit, NotTried } from '../jobs/run.ts';
import { inLine, isWaitedFor, type Place } from './line.ts';
import type { PoolFace } from './pool.ts';
import type { NewCommit, Stores, Writing } from './store.ts';

/** How often it is prepared again when others change the branches under it. */
const attemptsMax = 8;

/** What transactions need of their lake. */
export interface TransactionHost {
  readonly stores: Stores;
  readonly cuts: Cuts;
  readonly chart?: typeof transactionMachine;
  readonly inspect?: (event: unknown) => void;
  face(reference: string): PoolFace;
  nextNumber(): number;
}

/** One commit of a transaction, ready to be checked and written. */
interface TransactionPart {
  readonly face: PoolFace;
  readonly task: PartTask;
  readonly note: CommitNote;
  readonly objects: readonly ObjectMeta[];
}

/**
 * Side by side with others until one of them was faster, then behind those who change any of its branches.
 * @throws transaction-twice, transaction-overtaken, and what any of the changes is refused for
 */
export const transact = async (
  host: TransactionHost,
  changes: readonly TransactionChange[],
): Promise<TransactionResult> => {
  checkOnce(host, changes);
  const line = placesOf(host, changes);
  if (isWaitedFor(line) || changes.some(isUpsert)) return inLine(line, () => untilMade(host, changes, 1));
  return (await attemptAt(host, changes)) ?? inLine(line, () => untilMade(host, changes, 2));
};
/** Has to see what those before it added, as an upsert of its own has. */
const isUpsert = (change: TransactionChange): boolean => change.what === 'rewrite' && change.cause === 'upsert';

/** Branches on which others can overtake it: loads are beside whatever is there. */
const placesOf = (host: TransactionHost, changes: readonly TransactionChange[]): readonly Place[] => {
  const found = new Map<string, Place>();
  for (const change of changes) {
    if (change.what === 'load') continue;
    const face = host.face(change.pool);
    for (const branch of change.what === 'merge' ? [change.branch, change.child] : [change.branch])
      found.set(`${face.config.id} ${branch}`, face.place(branch));
  }
  return [...found.values()];
};

/** @throws transaction-overtaken */
const untilMade = async (
  host: TransactionHost,
  changes: readonly TransactionChange[],
  from: number,
): Promise<TransactionResult> => {
  for (let attempt = from; attempt <= attemptsMax; attempt++) {
    const made = await attemptAt(host, changes);
    if (made) return made;
  }
  throw new LakeError('transaction-overtaken', { attempts: attemptsMax });
};

/** Undefined: others changed its branches while it was prepared. */
const attemptAt = async (
  host: TransactionHost,
  changes: readonly TransactionChange[],
): Promise<TransactionResult | undefined> => {
  const ready: ReadyPart[] = [];
  /** Upserts that found nothing to do, and where their branches were. */
  const unchanged = new Map<TransactionChange, Id>();
  try {
    for (const change of changes) {
      const part = await readyPart(host, change);
      if (part) ready.push(part);
      else unchanged.set(change, await unchangedAt(host, change));
    }
    const made = ready.length > 0 ? await makeParts(host, ready) : undefined;
    const commits = changes.map((change) => ({
      pool: host.face(change.pool).config.id,
      branch: change.branch,
      commit: unchanged.get(change) ?? made!.commits[ready.findIndex((part) => part.change === change)]!,
    }));
    return { transaction: made?.transaction ?? commits[0]!.commit, commits };
  } catch (error) {
    const isOvertaken = error instanceof Overtaken;
    for (const { face, written } of ready)
      await (isOvertaken ? face.removeFiles(written) : face.removeUncommitted(written, error));
    if (isOvertaken) return undefined;
    throw error;
  } finally {
    for (const { release } of ready) release();
  }
};

/** Each branch has one commit. @throws pool-not-found, transaction-twice */
const checkOnce = (host: TransactionHost, changes: readonly TransactionChange[]): void => {
  const seen = new Set<string>();
  for (const change of changes) {
    const { config } = within(change, () => host.face(change.pool));
    const key = `${config.id} ${change.branch}`;
    if (seen.has(key))
      throw new LakeError('transaction-twice', { pool: config.name, branch: change.branch }, { within: change.label });
    seen.add(key);
  }
};

interface ReadyPart extends TransactionPart {
  readonly change: TransactionChange;
  readonly written: readonly ObjectMeta[];
  readonly release: () => void;
}
/** Where the branch of a change is that has nothing to do: its key is known before others are made, as it is alone. */
const unchangedAt = async (host: TransactionHost, change: TransactionChange): Promise<Id> => {
  try {
    return (await host.face(change.pool).unchanged(change.branch, change.note.terms)).commit;
  } catch (error) {
    throw labelled(error, change);
  }
};
const isNothing = (error: unknown): boolean => error instanceof LakeError && error.code === 'transaction-empty';
/** Undefined: an upsert has nothing to do. */
const readyPart = async (host: TransactionHost, change: TransactionChange): Promise<ReadyPart | undefined> => {
  try {
    const face = host.face(change.pool);
    const { note, branch } = change;
    const { ifTip, by } = note.terms ?? {};
    const terms = { ...(ifTip && { ifTip }), ...(by && { by }) };
    // Nothing is prepared for a branch that others have moved since.
    checkTip(ifTip, face.branch(branch).commit);
    const { task, objects, written, release } = await preparedOf(face, change);
    try {
      // Before anybody waits for it; looked at again in the pool's turn.
      face.branch(branch);
      await face.objectsMade(objects);
    } catch (error) {
      release();
      await face.removeUncommitted(written, error);
      throw error;
    }
    return { face, task: { ...task, ...terms }, note, objects, change, written, release };
  } catch (error) {
    if (isUpsert(change) && isNothing(error)) return undefined;
    throw labelled(error, change);
  }
};
const preparedOf = async (
  face: PoolFace,
  change: TransactionChange,
): Promise<Pick<ReadyPart, 'task' | 'objects' | 'written' | 'release'>> => {
  const { branch } = change;
  switch (change.what) {
    case 'load': {
      const { objects } = change;
      const task: PartTask = { kind: 'load', branch, objects: objects.map(({ id }) => id) };
      return { task, objects, written: [], release: () => undefined };
    }
    case 'rewrite': {
      const { cause, brings, prepare, note } = change;
      return face.prepareRewrite({ branch, cause, vectors: false, brings, identity: note.terms?.identity }, prepare);
    }
    case 'merge': {
      const combination = { kind: 'merge', target: branch, child: change.child } as const;
      const { check, ...prepared } = await prepareCombined(face.store, combination, change.prepare);
      try {
        check();
      } catch (error) {
        prepared.release();
        await face.removeUncommitted(prepared.written, error);
        throw error;
      }
      return prepared;
    }
  }
};

/** Errors tell which of the changes they are about. */
const labelled = (error: unknown, { label }: Pick<TransactionChange, 'label'>): unknown => {
  if (!(error instanceof LakeError) || label === undefined) return error;
  const { code, parameters, details } = error;
  return new LakeError(code, parameters, { cause: error, details, within: label });
};
const within = <T>(change: TransactionChange, look: () => T): T => {
  try {
    return look();
  } catch (error) {
    throw labelled(error, change);
  }
};

/** Makes commits that are ready, all or none. @throws Overtaken, and what a part is refused for */
const makeParts = (host: TransactionHost, parts: readonly Part[]): Promise<PartsMade> =>
  new Transaction(host, parts).run();
/** The same of commits that were ready before: nothing is prepared. */
export const transactAgain = (host: TransactionHost, parts: readonly ReadyCommit[]): Promise<PartsMade> =>
  makeParts(
    host,
    parts.map(({ pool, ...part }) => ({ face: host.face(`0x${pool}`), ...part })),
  );

/** A pool's turn: what ends it. */
interface Turn {
  readonly resolve: (result: JobResult) => void;
  readonly reject: (error: unknown) => void;
}
type Part = TransactionPart & { readonly change?: TransactionChange };

class Transaction {
  private readonly host: TransactionHost;
  private readonly parts: readonly Part[];
  private readonly byPool = new Map<Id, Part[]>();
  private readonly number: number;
  private readonly actor: Actor<typeof transactionMachine>;
  private readonly turns = new Map<Id, Turn>();
  private readonly results = new Map<Id, JobResult>();
  private made: PartsMade | undefined;
  private error: unknown;
  /** The part that is looked at, or was when it failed. */
  private at: Part | undefined;
  /** Whether it failed before anything was tried. */
  private isRefused = false;

  constructor(host: TransactionHost, parts: readonly Part[]) {
    this.host = host;
    this.parts = parts;
    const poolIds = [...new Set(parts.map(({ face }) => face.config.id))].sort();
    for (const id of poolIds)
      this.byPool.set(
        id,
        parts.filter(({ face }) => face.config.id === id),
      );
    this.number = host.nextNumber();
    const { chart = transactionMachine, inspect } = host;
    this.actor = createActor(chart, {
      id: `transaction ${this.number}`,
      input: { poolIds },
      ...(inspect && { inspect }),
    });
    this.actor.on('ask', ({ poolId }) => {
      this.ask(poolId);
    });
    this.actor.on('write', () => {
      void this.write();
    });
    this.actor.on('release', ({ poolIds: held, isWritten }) => {
      for (const id of held) this.release(id, isWritten);
    });
  }

  run(): Promise<PartsMade> {
    return new Promise((resolve, reject) => {
      this.actor.subscribe({
        complete: () => {
          if (!this.actor.getSnapshot().matches('committed'))
            return reject(this.at?.change ? labelled(this.error, this.at.change) : this.error);
          assert(this.made, 'what was written was made');
          resolve(this.made);
        },
      });
      this.actor.start();
    });
  }

  private ask(poolId: Id): void {
    const parts = this.byPool.get(poolId)!;
    const [{ face }] = parts as [Part];
    const turn = (): Promise<JobResult> =>
      new Promise((resolve, reject) => {
        this.turns.set(poolId, { resolve, reject });
        killPoint('turns: one granted');
        this.actor.send({ type: 'granted', poolId });
      });
    face
      .submit(
        {
          kind: 'transaction',
          transaction: this.number,
          pools: [...this.byPool.keys()],
          parts: parts.map(({ task }) => task),
        },
        { note: {}, objects: [], candidates: [], turn },
      )
      .then(
        () => {
          this.ended(poolId, undefined);
        },
        (error: unknown) => {
          this.ended(poolId, error);
        },
      );
  }
  /** A pool's job is settled, after its turn or without one. */
  private ended(poolId: Id, error: unknown): void {
    if (this.turns.delete(poolId)) {
      killPoint('turns: one let go');
      this.actor.send({ type: 'let go', poolId });
      return;
    }
    this.error = error;
    this.isRefused = true;
    this.actor.send({ type: 'refused', poolId, text: messageOf(error) });
  }
  private release(poolId: Id, isWritten: boolean): void {
    const { resolve, reject } = this.turns.get(poolId)!;
    if (isWritten) resolve(this.results.get(poolId)!);
    else reject(this.isRefused ? new NotTried(messageOf(this.error), { cause: this.error }) : this.error);
  }

  private async write(): Promise<void> {
    killPoint('turns: all granted');
    try {
      await this.commit();
      this.actor.send({ type: 'written' });
    } catch (error) {
      this.error = error;
      this.actor.send({ type: 'not written', text: messageOf(error) });
    }
  }
  private async commit(): Promise<void> {
    const { stores, cuts } = this.host;
    const { tables, feed, draws } = stores;
    let id: Id | undefined;
    const transaction = (): Id => (id ??= draws.newId());
    const pools: { readonly poolId: Id; readonly parts: readonly Part[]; readonly writing: Writing }[] = [];
    for (const [poolId, parts] of this.byPool) {
      const commits: NewCommit[] = [];
      for (const part of parts) {
        this.at = part;
        commits.push(await draftOf(part));
      }
      pools.push({ poolId, parts, writing: parts[0]!.face.store.writing(commits, transaction) });
    }
    this.at = undefined;
    await tables.write(
      () => feed.drawing(() => [...pools.flatMap(({ writing }) => writing.rows()), feed.countersRow()]),
      () => {
        for (const { writing } of pools) writing.check();
      },
    );
    const commits = new Map<Part, Id>();
    for (const { poolId, parts, writing } of pools) {
      writing.done();
      cuts.moved(poolId, writing.branches);
      writing.made.forEach(({ commit }, i) => commits.set(parts[i]!, commit));
      this.results.set(poolId, resultOf(writing.made));
    }
    this.made = { transaction: transaction(), commits: this.parts.map((part) => commits.get(part)!) };
  }
}

/** In its pool's turn. */
const draftOf = async ({ face: { store }, task, note, objects }: Part): Promise<NewCommit> => {
  checkTerms(store, task);
  return draftCommit(store, task, { note, objects });
};
const resultOf = (made: readonly { readonly commit: Id; readonly events: readonly LakeEvent[] }[]): JobResult => ({
  commit: made[0]!.commit,
  commits: made.map(({ commit }) => commit),
  events: made.flatMap(({ events }) => events),
});
