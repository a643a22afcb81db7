/**
 * Which data objects of a pool went into which: a rewrite (delete by filter, compaction) puts rows of some objects into
 * new ones, and from then on a commit that held both would hold rows twice. Whoever brings objects to a branch (revert,
 * merge) asks here.
 *
 * A *step* is the smallest part of a rewrite that is known: the objects that went and those that came for them. A
 * delete by filter is one step an object, a compaction one in all, and so is a merge by record, whose objects also have
 * rows of the other side's. Two objects may share rows if both descend from one
 * object by different steps, or one from the other; the outputs of one step never do.
 *
 * Invariants:
 * - The rows of the table `lineage` follow from the commits: one an object (the step that made it, the steps that it
 *   went into), one a step, and one that says that the pool has them all. Where that one is missing (a lake of an
 *   earlier build, a repaired one) they are derived before anything is asked or added.
 * - Only rewrites and merges by record add to it, in their own transaction: other commits cost nothing, and a question costs what the
 *   objects in it have been through.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { idBuffer, idOfBytes } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import type { ObjectEntry } from '../objects/list.ts';
import { decodeCommit, decodeIds, encodeIds, pairKey, type StoredCommit } from '../tables/rows.ts';
import type { Put, Tables } from '../tables/tables.ts';

/** A part of a rewrite. */
interface Step {
  readonly inputs: readonly Id[];
  readonly outputs: readonly Id[];
}
/** Steps are named by the first of their outputs. */
interface Objects {
  readonly madeBy: Id | undefined;
  readonly into: readonly Id[];
}
/** The steps by which what was asked for came from an object, and all that it went into. */
interface Way {
  readonly taken: Set<Id>;
  into: readonly Id[];
}
/** What a pool's lineage is made from. */
interface LineageSource {
  readonly tables: Tables;
  readonly poolId: Id;
  entry(id: Id): ObjectEntry | undefined;
  /** For use inside a transaction. @throws pool-not-found */
  checkPool(): void;
}

const idBytes = 20;
const lookUpsPerTurn = 512;
const commitsPerPage = 512;
const stepsPerTransaction = 1000;
const none = Buffer.alloc(0);
const stepSuffix = Buffer.of(1);

/** The row that says that a pool's lineage is whole: that of a new pool. */
export const lineageIsWhole = (pool: Id): Put => ({ table: 'lineage', key: idBuffer(pool), payload: none });

/** The lineage of one pool's objects. */
export class Lineage {
  private readonly source: LineageSource;
  private isWhole = false;
  private deriving: Promise<void> | undefined;

  constructor(source: LineageSource) {
    this.source = source;
  }

  /** Resolves when every rewrite so far is in the table. */
  async ready(): Promise<void> {
    if (this.isWhole) return;
    const { tables, poolId } = this.source;
    if (!tables.has('lineage', idBuffer(poolId)))
      await (this.deriving ??= this.derive().finally(() => {
        this.deriving = undefined;
      }));
    this.isWhole = true;
  }

  /** No object of the pool was ever rewritten. */
  private get isEmpty(): boolean {
    return this.source.tables.keys('lineage', { prefix: idBuffer(this.source.poolId), limit: 2 }).length < 2;
  }

  /** The rows that a rewrite adds. Nobody else may add any before they are written: it is the pool's turn. */
  async changes(commit: Rewritten): Promise<readonly Put[]> {
    await this.ready();
    return this.rowsOf(stepsOf(commit));
  }
  private async rowsOf(steps: readonly Step[]): Promise<readonly Put[]> {
    const changed = new Map<Id, Objects>();
    const rows: Put[] = [];
    let seen = 0;
    for (const { inputs, outputs } of steps) {
      const name = outputs[0];
      rows.push({
        table: 'lineage',
        key: this.stepKey(name),
        payload: encodeIds(inputs.length, [...inputs, ...outputs]),
      });
      for (const id of outputs) changed.set(id, { into: [], ...changed.get(id), madeBy: name });
      for (const id of inputs) {
        const { madeBy, into } = changed.get(id) ?? this.objects(id);
        changed.set(id, { madeBy, into: into.includes(name) ? into : [...into, name] });
      }
      if ((seen += inputs.length + outputs.length) < lookUpsPerTurn) continue;
      seen = 0;
      await nextTurn();
    }
    for (const [id, { madeBy, into }] of changed) {
      rows.push({
        table: 'lineage',
        key: pairKey(this.source.poolId, id),
        payload: encodeIds(madeBy ? 1 : 0, [...(madeBy ? [madeBy] : []), ...into]),
      });
    }
    return rows;
  }

  /**
   * Objects other than these that may hold rows which one of these holds too: those that they came from, and what else
   * became of those. These must not share rows with each other, or more is found.
   */
  async relatives(ids: Iterable<Id>): Promise<ReadonlySet<Id>> {
    const found = new Set<Id>();
    const asked = [...ids];
    if (asked.length === 0 || this.isEmpty) return found;
    const { own, ways } = await this.ancestry(asked);
    const steps = new Set(own.flatMap(({ into }) => into));
    for (const [id, { taken, into }] of ways) {
      found.add(id);
      // Rows that took this way are in the objects that were asked for; those that took another one are the same rows
      // once more.
      for (const step of into) if (taken.size > 1 || !taken.has(step)) steps.add(step);
    }
    let seen = 0;
    for (const name of steps) {
      for (const id of this.step(name).outputs) {
        found.add(id);
        for (const next of this.objects(id).into) steps.add(next);
      }
      if (++seen % lookUpsPerTurn === 0) await nextTurn();
    }
    return found;
  }
  /** The objects, and all that they came from. */
  async origins(ids: readonly Id[]): Promise<ReadonlySet<Id>> {
    if (ids.length === 0 || this.isEmpty) return new Set(ids);
    const { ways } = await this.ancestry(ids);
    return new Set([...ids, ...ways.keys()]);
  }
  /** What is known of the objects, and what they came from, with the steps that were taken from there. */
  private async ancestry(
    ids: readonly Id[],
  ): Promise<{ readonly own: readonly Objects[]; readonly ways: ReadonlyMap<Id, Way> }> {
    const own: Objects[] = [];
    const ways = new Map<Id, Way>();
    const steps = new Set<Id>();
    const open: Id[] = [];
    const follow = ({ madeBy }: Objects): void => {
      if (madeBy === undefined || steps.has(madeBy)) return;
      steps.add(madeBy);
      for (const input of this.step(madeBy).inputs) {
        const way = ways.get(input);
        if (way) way.taken.add(madeBy);
        else {
          ways.set(input, { taken: new Set([madeBy]), into: [] });
          open.push(input);
        }
      }
    };
    for (const [i, id] of ids.entries()) {
      const known = this.objects(id);
      own.push(known);
      follow(known);
      if (i % lookUpsPerTurn === lookUpsPerTurn - 1) await nextTurn();
    }
    for (let seen = 1, id = open.pop(); id !== undefined; seen++, id = open.pop()) {
      const known = this.objects(id);
      ways.get(id)!.into = known.into;
      follow(known);
      if (seen % lookUpsPerTurn === 0) await nextTurn();
    }
    return { own, ways };
  }

  private objects(id: Id): Objects {
    const row = this.source.tables.get('lineage', pairKey(this.source.poolId, id));
    if (!row) return { madeBy: undefined, into: [] };
    const { count, ids } = decodeIds(row);
    return { madeBy: count === 0 ? undefined : ids[0], into: ids.slice(count) };
  }
  private step(name: Id): Step {
    const row = this.source.tables.get('lineage', this.stepKey(name));
    if (!row) return { inputs: [], outputs: [] };
    const { count, ids } = decodeIds(row);
    return { inputs: ids.slice(0, count), outputs: ids.slice(count) };
  }
  private stepKey(name: Id): Buffer {
    return Buffer.concat([pairKey(this.source.poolId, name), stepSuffix]);
  }

  /** Adds what the commits tell. No rewrite is written meanwhile: `changes` waits for it. */
  private async derive(): Promise<void> {
    const { tables, poolId } = this.source;
    const doubtful: StoredCommit[] = [];
    let steps: Step[] = [];
    const write = async (): Promise<void> => {
      await tables.write(await this.rowsOf(steps), () => {
        this.source.checkPool();
      });
      steps = [];
    };
    const take = async (commit: StoredCommit): Promise<void> => {
      steps.push(...stepsOf(commit));
      if (steps.length >= stepsPerTransaction) await write();
    };
    for await (const commit of this.commits()) {
      if (commit.rewrite || commit.from) await take(commit);
      else if (commit.rewrite === undefined && canRewrite(commit)) doubtful.push(commit);
    }
    for (const commit of await this.rewritesAmong(doubtful)) await take(commit);
    await write();
    await tables.write([lineageIsWhole(poolId)], () => {
      this.source.checkPool();
    });
  }

  /**
   * Commits of earlier builds do not say whether they made their objects, as a rewrite does, or brought them back, as a
   * revert does: whoever added an object first made it.
   */
  private async rewritesAmong(commits: readonly StoredCommit[]): Promise<readonly StoredCommit[]> {
    const sequences = (ids: readonly Id[]): readonly number[] => ids.map((id) => this.source.entry(id)?.sequence ?? 0);
    const likely = commits.filter(({ adds, deletes }) => least(sequences(adds)) > greatest(sequences(deletes)));
    if (likely.length === 0) return [];
    const makers = new Map<Id, StoredCommit | undefined>(
      likely.flatMap(({ adds }) => adds.map((id) => [id, undefined] as const)),
    );
    for await (const commit of this.commits()) {
      if (commit.secondParent !== undefined) continue;
      for (const id of commit.adds) {
        if (!makers.has(id)) continue;
        const known = makers.get(id);
        if (!known || isBefore(commit, known)) makers.set(id, commit);
      }
    }
    return likely.filter(({ id, adds }) => adds.every((object) => makers.get(object)?.id === id));
  }

  private async *commits(): AsyncIterableIterator<StoredCommit> {
    const { tables, poolId } = this.source;
    const prefix = idBuffer(poolId);
    for (let start: Uint8Array = prefix; ; ) {
      const rows = tables.rows('commits', { prefix, start, limit: commitsPerPage });
      for (const { key, payload } of rows) yield decodeCommit(idOfBytes(key.subarray(idBytes)), payload);
      if (rows.length < commitsPerPage) return;
      start = Buffer.concat([rows.at(-1)!.key, Buffer.of(0)]);
      await nextTurn();
    }
  }
}

type Rewritten = Pick<StoredCommit, 'adds' | 'deletes' | 'rewrite' | 'from'>;

/** The steps of a rewrite that made anything; none of another commit. */
const stepsOf = ({ adds, deletes, from, rewrite = true }: Rewritten): readonly Step[] => {
  if (from) return adds.length > 0 ? [{ inputs: [...deletes, ...from], outputs: adds }] : [];
  if (rewrite === false) return [];
  if (rewrite === true) return adds.length > 0 && deletes.length > 0 ? [{ inputs: deletes, outputs: adds }] : [];
  const steps: Step[] = [];
  let at = 0;
  rewrite.forEach((count, i) => {
    if (count > 0) steps.push({ inputs: [deletes[i]], outputs: adds.slice(at, at + count) });
    at += count;
  });
  return steps;
};

const canRewrite = ({ adds, deletes, secondParent }: StoredCommit): boolean =>
  secondParent === undefined && adds.length > 0 && deletes.length > 0;
const isBefore = (a: StoredCommit, b: StoredCommit): boolean =>
  a.dateNs === b.dateNs ? a.height < b.height : a.dateNs < b.dateNs;
const least = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.min(a, b), Infinity);
const greatest = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b), -Infinity);
