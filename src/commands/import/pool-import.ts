/** One pool of a SuperDB lake, made again move by move of its branches. */
import { LakeError, messageOf } from '../../errors.ts';
import { zeroId } from '../../lake/ksuid.ts';
import type { Id, Lake, ObjectMeta, Pool } from '../../lake/lake.types.ts';
import type { LoadReply, WorkerPool } from '../../workers/pool.types.ts';
import type { GivenDraws } from './given-draws.ts';
import type { BranchMove, ForeignCommit, ForeignLake, ForeignObject, ForeignPool } from './superdb.ts';

interface ImportTools {
  readonly foreign: ForeignLake;
  readonly lake: Lake;
  readonly workers: WorkerPool;
  readonly draws: GivenDraws;
}
/** What was made. `lost`: objects that a branch holds, and that are not there. */
interface Imported {
  readonly commits: number;
  readonly vacuumed: number;
  readonly lost: readonly { readonly branch: string; readonly objects: number }[];
}
/** A commit that was made, and what its objects there are here. */
interface MadeCommit {
  readonly parent: Id;
  readonly objects: ReadonlyMap<Id, readonly Id[]>;
}

/** Stands for the rows of an object that was vacuumed, until it is vacuumed here too. */
const standIn = Buffer.from('null');

export class PoolImport {
  private readonly tools: ImportTools;
  private readonly source: ForeignPool;
  private readonly made = new Map<Id, MadeCommit>();
  /** Objects here that stand for missing ones. */
  private readonly standIns = new Set<Id>();
  private pool!: Pool;

  constructor(tools: ImportTools, source: ForeignPool) {
    this.tools = tools;
    this.source = source;
  }

  /** @throws whatever is wrong with the source; then the pool is not there */
  async run(): Promise<Imported> {
    const { lake, draws, foreign } = this.tools;
    const { id, name, tsNs, order, keys, seekStride, threshold } = this.source;
    draws.begin();
    draws.give(tsNs, id);
    await lake.createPool({ name, order, keys, seekStride, threshold });
    this.pool = lake.pool(`0x${id}`);
    try {
      for await (const move of foreign.moves(this.source)) await this.follow(move);
      const lost = await this.vacuum();
      return { commits: this.made.size, vacuumed: this.standIns.size, lost };
    } catch (problem) {
      await lake.deletePool(`0x${id}`);
      throw problem;
    }
  }

  /** What happened to a branch happens here; commits that it has now and that are not there yet are made on it. */
  private async follow({ name, commit, tsNs }: BranchMove): Promise<void> {
    const { draws } = this.tools;
    const has = this.pool.branches().some((branch) => branch.name === name);
    if (commit === undefined) {
      if (has && name !== 'main') await this.pool.deleteBranch(name);
      return;
    }
    const chain = await this.missing(commit);
    const base = chain[0]?.parent ?? commit;
    if (!has) {
      draws.give(tsNs);
      await this.pool.createBranch(name, base);
    } else if (this.pool.tip(name) !== base) await this.pool.reset(name, base);
    for (const one of chain) await this.commit(name, one);
  }
  /** Commits that are not made yet, the oldest first. */
  private async missing(commit: Id): Promise<readonly ForeignCommit[]> {
    const chain: ForeignCommit[] = [];
    for (let at = commit; at !== zeroId && !this.made.has(at); at = chain.at(-1)!.parent)
      chain.push(await this.tools.foreign.commit(this.source, at));
    return chain.reverse();
  }

  private async commit(branch: string, commit: ForeignCommit): Promise<void> {
    const { id, parent, author, dateNs, message, meta, addVectors, deleteVectors } = commit;
    const objects = new Map<Id, readonly Id[]>();
    const note = { author, body: message, meta };
    const removes = commit.deletes.flatMap((object) => this.here(object, parent));
    const adds: ObjectMeta[] = [];
    const replies: LoadReply[] = [];
    for (const object of commit.adds) {
      const bytes = this.tools.foreign.object(this.source, object);
      const { workers } = this.tools;
      const pool = this.pool.config;
      const loaded = await workers
        .load({ pool, format: bytes ? 'bsup' : 'sup', body: bytes ?? once(standIn) })
        .catch((cause: unknown) => {
          const file = this.tools.foreign.fileOf(this.source, object.id);
          throw new Error(`${file}: ${messageOf(cause)}`, { cause });
        });
      if (!bytes) for (const meta of loaded.objects) this.standIns.add(meta.id);
      else this.checkCount(object, loaded.objects);
      objects.set(
        object.id,
        loaded.objects.map((meta) => meta.id),
      );
      adds.push(...loaded.objects);
      replies.push(loaded);
    }
    this.tools.draws.give(dateNs, id);
    const vectors = [...addVectors, ...deleteVectors].flatMap(
      (object) => objects.get(object) ?? this.here(object, parent),
    );
    const make = async (): Promise<{ readonly commit: Id }> => {
      if (removes.length > 0 && adds.length > 0)
        return this.pool.deleteWhere(branch, async () => ({ removes, adds }), note);
      if (removes.length > 0) return this.pool.deleteObjects(branch, removes, note);
      if (vectors.length > 0 && adds.length === 0)
        return this.pool.vectors(branch, addVectors.length > 0 ? 'add' : 'delete', vectors, note);
      return this.pool.load(branch, adds, note);
    };
    const making = make();
    await Promise.all(replies.map((reply) => reply.settled(making)));
    const made = await making;
    if (made.commit !== id) throw new Error(`pool ${this.source.name}: commit 0x${id} could not keep its id`);
    this.made.set(id, { parent, objects });
  }

  /** @throws Error where rows are missing, or are those of another object: files of BSUP have no checksum */
  private checkCount({ id, count }: ForeignObject, objects: readonly ObjectMeta[]): void {
    const found = objects.reduce((sum, meta) => sum + meta.count, 0);
    if (found === count) return;
    const file = this.tools.foreign.fileOf(this.source, id);
    throw new Error(`${file}: has ${found} values, its commit says ${count}`);
  }

  /** What an object is here that a commit or one before it added. */
  private here(object: Id, commit: Id): readonly Id[] {
    for (let at: Id | undefined = commit; at !== undefined; at = this.made.get(at)?.parent) {
      const found = this.made.get(at)?.objects.get(object);
      if (found) return found;
    }
    throw new Error(
      `pool ${this.source.name}: commit 0x${commit} does not have the object 0x${object} that the next one takes`,
    );
  }

  /**
   * Vacuums what stands for missing objects. Of a branch that holds one it is deleted first: its rows are lost, and the
   * branch says so by a commit.
   */
  private async vacuum(): Promise<Imported['lost']> {
    const left = await this.vacuumAll(this.standIns);
    if (left.size === 0) return [];
    const lost: { readonly branch: string; readonly objects: number }[] = [];
    this.tools.draws.begin();
    for (const { name } of this.pool.branches()) {
      let objects = 0;
      for (const id of left) if (await this.delete(name, id)) objects++;
      if (objects > 0) lost.push({ branch: name, objects });
    }
    await this.vacuumAll(left);
    return lost;
  }
  /** Those that branches hold. */
  private async vacuumAll(only: ReadonlySet<Id>): Promise<ReadonlySet<Id>> {
    const left = new Set(only);
    for (const { name, commit } of this.pool.branches()) {
      if (left.size === 0 || commit === zeroId) continue;
      for (const id of await this.pool.vacuum(name, { dryRun: false, only: left })) left.delete(id);
    }
    return left;
  }
  /** Whether the branch had it. */
  private async delete(branch: string, id: Id): Promise<boolean> {
    try {
      await this.pool.deleteObjects(branch, [id], { body: 'data object that was missing when the pool was imported' });
      return true;
    } catch (problem) {
      if (problem instanceof LakeError && problem.code === 'object-not-found') return false;
      throw problem;
    }
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
