/**
 * Random histories of a pool whose objects are rewritten under every verb, beside a model that knows each row of each
 * object and what every rewrite made of what.
 *
 * The right answer of a merge or a revert is one of rows (three-way: a row stays where both sides have it, comes or
 * goes as the side wanted that changed it); what the lake can do is one of objects. A *world* is a course that rows may
 * have taken as far as the commits tell: each step of a rewrite sends a row of one of its inputs into one of its
 * outputs, or into none. What must hold:
 * - what was done is right in every world: each row once where it belongs, none where it does not; with the rows that
 *   there are, too;
 * - what was refused would be wrong in some world, and the dry run says the same with the same objects;
 * - what is called empty changes no row. A commit's own objects, a branch at a vacuumed commit and what a vacuum takes
 *   are held against the model on the way.
 *
 * Steps are natural numbers that are taken modulo what there is: any list of steps is a history.
 */
import { newId, zeroId } from '../../src/lake/ksuid.ts';
import type { Id, Lake, ObjectMeta, Pool, Preview } from '../../src/lake/lake.types.ts';
import { Lineage } from '../../src/lake/commits/lineage.ts';
import type { PoolFace } from '../../src/lake/pool/pool.ts';
import { sortKeyBytes } from '../../src/vectors/sort-key.ts';
import { intValue } from '../../src/vectors/value.ts';
import { type LineageStep, type Sides, threeWay, worldsOf } from './worlds.ts';

type Step = readonly [kind: number, a: number, b: number, c: number];
interface Commit {
  readonly id: Id;
  readonly parents: readonly Id[];
  readonly objects: ReadonlySet<Id>;
}
interface Failure {
  readonly code: string;
  readonly objects: readonly Id[];
}

const minus = <T>(a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> => new Set([...a].filter((x) => !b.has(x)));
const same = <T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean => a.size === b.size && [...a].every((x) => b.has(x));

/**
 * What a run did, for the totals. That some of the conflicts are none with the rows that there are only records could
 * tell that are compared.
 */
export type RewriteCounts = Readonly<
  Record<
    | 'steps'
    | 'commits'
    | 'rewrites'
    | 'merges'
    | 'crosswise merges'
    | 'reverts'
    | 'empty'
    | 'conflicts'
    | 'conflicts for records that were not compared',
    number
  >
>;

/** Runs a history in a pool of its own. Throws for the first law that is broken. */
export const runRewrites = async (lake: Lake, name: string, history: readonly Step[]): Promise<RewriteCounts> => {
  await lake.createPool({ name, keys: [['k']] });
  const run = new Rewrites(lake.pool(name));
  await run.begin();
  for (const [at, step] of history.entries()) {
    try {
      await run.step(step);
    } catch (cause) {
      throw new Error(`step ${at} (${run.last}): ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
  return run.counts;
};

class Rewrites {
  last = '';
  readonly counts = {
    steps: 0,
    commits: 0,
    rewrites: 0,
    merges: 0,
    'crosswise merges': 0,
    reverts: 0,
    empty: 0,
    conflicts: 0,
    'conflicts for records that were not compared': 0,
  };
  private readonly pool: Pool;
  private readonly rows = new Map<Id, ReadonlySet<number>>();
  private readonly steps: LineageStep[] = [];
  private readonly commits = new Map<Id, Commit>([[zeroId, { id: zeroId, parents: [], objects: new Set() }]]);
  private readonly branches = new Map<string, Id>([['main', zeroId]]);
  private readonly tags = new Map<string, Id>();
  private readonly vacuumed = new Set<Id>();
  private nextRow = 0;
  private nextBranch = 0;
  private reverted: Id | undefined;

  constructor(pool: Pool) {
    this.pool = pool;
  }

  /** Three branches that begin with the same objects. */
  async begin(): Promise<void> {
    await this.load('main', 3, 4);
    for (let i = 0; i < 2; i++) await this.fork('main', 0, 1);
  }

  async step([kind, a, b, c]: Step): Promise<void> {
    this.counts.steps++;
    const names = [...this.branches.keys()];
    const branch = names[a % names.length]!;
    const others = names.filter((name) => name !== branch);
    const other = others[b % others.length] ?? branch;
    if (kind < 15) await this.load(branch, 1 + (b % 3), 1 + (c % 6));
    else if (kind < 25) await this.delete(branch, b, 1 + (c % 2));
    else if (kind < 39) await this.deleteWhere(branch, b, c);
    else if (kind < 47) await this.compact(branch, b, c);
    else if (kind < 58) await this.merge(branch, other);
    else if (kind < 64) await this.cross(branch, other, [kind, a, b, c]);
    else if (kind < 84) await this.revert(branch, b, c);
    else if (kind < 90) await this.fork(branch, b, c);
    else if (kind < 92) await this.tag(b, c);
    else if (kind < 93) await this.reset(branch, b, c);
    else if (kind < 96) await this.vacuum(branch);
    else if (kind < 98) await this.drop(branch);
    else await this.forget();
  }

  private async load(branch: string, objects: number, rows: number): Promise<void> {
    this.last = `load of ${objects} objects into ${branch}`;
    const made = Array.from({ length: objects }, () => this.object(Array.from({ length: rows }, () => this.nextRow++)));
    await this.note(
      branch,
      await this.pool.load(branch, made),
      made.map(({ id }) => id),
      [],
    );
  }

  private async delete(branch: string, pick: number, count: number): Promise<void> {
    const all = [...this.tip(branch).objects];
    const ids = [...new Set(Array.from({ length: count }, (_, i) => all[(pick + i) % all.length]!))];
    this.last = `delete of ${ids.join(' ')} from ${branch}`;
    if (all.length > 0) await this.note(branch, await this.pool.deleteObjects(branch, ids), [], ids);
  }

  /**
   * Each object that is hit becomes none, one or two; sometimes nobody says which became which, as in a lake of an
   * earlier build.
   */
  private async deleteWhere(branch: string, pick: number, modulus: number): Promise<void> {
    const m = 2 + (modulus % 4);
    const isHit = (n: number): boolean => n % m === pick % m;
    this.last = `delete from ${branch} where n%${m}==${pick % m}`;
    const removes: Id[] = [];
    const adds: ObjectMeta[] = [];
    const parts: number[] = [];
    for (const id of this.tip(branch).objects) {
      const rows = [...this.rows.get(id)!];
      const rest = rows.filter((n) => !isHit(n));
      if (rest.length === rows.length) continue;
      const cut = rest.length > 1 && pick % 2 === 0 ? [rest.slice(0, 1), rest.slice(1)] : rest.length > 0 ? [rest] : [];
      removes.push(id);
      adds.push(...cut.map((part) => this.object(part)));
      parts.push(cut.length);
    }
    if (removes.length === 0) return;
    const known = modulus % 7 !== 0;
    await this.rewrite(branch, removes, adds, known ? parts : undefined, () =>
      this.pool.deleteWhere(branch, async () => ({ removes, adds, ...(known && { parts }) })),
    );
  }

  private async compact(branch: string, pick: number, cut: number): Promise<void> {
    const all = [...this.tip(branch).objects];
    const removes = [...new Set([all[pick % all.length]!, all[(pick + 1) % all.length]!, all[cut % all.length]!])];
    this.last = `compaction of ${removes.join(' ')} on ${branch}`;
    if (all.length < 2) return;
    const rows = removes.flatMap((id) => [...this.rows.get(id)!]);
    const at = rows.length > 2 && cut % 3 === 0 ? rows.length >> 1 : rows.length;
    const adds = [rows.slice(0, at), rows.slice(at)].filter((part) => part.length > 0).map((part) => this.object(part));
    await this.rewrite(branch, removes, adds, undefined, () =>
      this.pool.compact(branch, removes, async () => ({ removes, adds })),
    );
  }

  private async rewrite(
    branch: string,
    removes: readonly Id[],
    adds: readonly ObjectMeta[],
    parts: readonly number[] | undefined,
    make: () => Promise<{ readonly commit: Id }>,
  ): Promise<void> {
    await this.note(
      branch,
      await make(),
      adds.map(({ id }) => id),
      removes,
    );
    this.counts.rewrites++;
    const outputs = adds.map(({ id }) => id);
    let at = 0;
    if (!parts) this.steps.push({ inputs: removes, outputs });
    else removes.forEach((id, i) => this.steps.push({ inputs: [id], outputs: outputs.slice(at, (at += parts[i]!)) }));
  }

  private async merge(target: string, child: string): Promise<void> {
    this.last = `merge of ${child} into ${target}`;
    const one = this.tip(target);
    const two = this.tip(child);
    const bases = this.bestCommon(one.id, two.id);
    if (bases.length > 1) this.counts['crosswise merges']++;
    const made = await this.decide(
      { target: one.objects, child: two.objects, ...this.base(bases) },
      {
        tip: one,
        preview: () => this.pool.previewMerge(target, child),
        make: () => this.pool.merge(target, child),
        conflicts: ['merge-conflict'],
        empty: 'merge-empty',
      },
    );
    if (!made) return;
    this.counts.merges++;
    this.noteAs(target, made.commit, [one.id, two.id], made.objects);
  }

  /**
   * Merges two branches into each other as they were before: what comes then has several common ancestors, that may be
   * at odds.
   */
  private async cross(one: string, two: string, [kind, a, b, c]: Step): Promise<void> {
    if (one === two) return;
    const before = [one, two].map((name) => ({ name: `b${this.nextBranch++}`, commit: this.branches.get(name)! }));
    for (const { name, commit } of before) {
      this.last = `branch ${name} at ${commit}`;
      await this.pool.createBranch(name, commit);
      this.branches.set(name, commit);
    }
    if (c % 3 === 0) await this.delete(one, a, 3);
    await this.merge(one, before[1]!.name);
    if (c % 3 < 2) await this.delete(two, b, 3);
    if (c % 4 === 0) await this.revert(two, b, a);
    await this.merge(two, before[0]!.name);
    if (kind % 2 === 0) await this.merge(one, two);
    for (const { name } of before) await this.drop(name);
  }

  /** Of any commit of the pool, of this branch or another, often the one that was reverted last. */
  private async revert(branch: string, pick: number, again: number): Promise<void> {
    const all = [...this.commits.keys()].filter((id) => id !== zeroId);
    const near = again % 2 === 0 ? all.slice(-6) : all;
    const id = again % 5 === 0 && this.reverted !== undefined ? this.reverted : near[pick % near.length];
    if (id === undefined) return;
    this.last = `revert of ${id} on ${branch}`;
    this.reverted = id;
    const {
      objects,
      parents: [parent],
    } = this.commits.get(id)!;
    const before = this.commits.get(parent!)!.objects;
    const tip = this.tip(branch);
    const vacuumed = [...minus(minus(before, objects), tip.objects)].some((object) => this.vacuumed.has(object));
    const made = await this.decide(
      { base: objects, rowBase: (rows) => rows(objects), target: tip.objects, child: before },
      {
        tip,
        preview: () => this.pool.previewRevert(branch, id),
        make: () => this.pool.revert(branch, id),
        conflicts: ['revert-conflict', 'revert-rewritten'],
        empty: 'revert-empty',
        ...(vacuumed && { only: 'revert-vacuumed' }),
      },
    );
    if (!made) return;
    this.counts.reverts++;
    this.noteAs(branch, made.commit, [tip.id], made.objects);
  }

  /** Asks for a change and holds the answer against the model. */
  private async decide(
    sides: Sides<Id>,
    asked: Asked,
  ): Promise<{ readonly commit: Id; readonly objects: ReadonlySet<Id> } | undefined> {
    const preview = await asked.preview();
    const ended = await asked.make().catch(failureOf);
    const objects = threeWay(sides.base, sides.target, sides.child);
    const worlds = worldsOf(this.steps, sides, objects);
    const isWrongHere = !this.isRight(sides, objects);
    const failed = 'code' in ended;
    if ((preview.refusal !== undefined) !== failed)
      throw new Error(`the dry run said ${preview.refusal}, the call ${failed ? ended.code : 'made it'}`);
    if (asked.only !== undefined || (failed && ended.code === 'revert-vacuumed')) {
      if (failed && ended.code === asked.only) return undefined;
      throw new Error(`${failed ? ended.code : 'done'} instead of ${asked.only ?? 'anything else'}`);
    }
    if (!failed) {
      if (isWrongHere || worlds.wrong !== undefined)
        throw new Error(`done although it is wrong${isWrongHere ? ' here' : ''}: ${worlds.wrong ?? ''}`);
      const found = await this.objectsAt(ended.commit);
      if (!same(found, objects))
        throw new Error(`objects ${[...found].join(' ')} instead of ${[...objects].join(' ')}`);
      if (
        !same(new Set(preview.adds), minus(objects, asked.tip.objects)) ||
        !same(new Set(preview.removes), minus(asked.tip.objects, objects))
      )
        throw new Error('the dry run told otherwise');
      return { commit: ended.commit, objects };
    }
    if (ended.code === asked.empty) {
      this.counts.empty++;
      if (isWrongHere || worlds.wrong !== undefined || !same(objects, asked.tip.objects))
        throw new Error(`called empty: ${worlds.wrong ?? 'there is something to do'}`);
    } else if (!asked.conflicts.includes(ended.code)) throw new Error(`${ended.code}`);
    else {
      if (worlds.wrong === undefined && !worlds.tooMany)
        throw new Error(`refused (${ended.code}, ${ended.objects.join(' ')}) although it is right in every world`);
      if (ended.objects.length === 0 || !same(new Set(ended.objects), new Set(preview.conflicts)))
        throw new Error('the refusal names other objects than the dry run');
      this.counts.conflicts++;
      if (!isWrongHere) this.counts['conflicts for records that were not compared']++;
    }
    return undefined;
  }
  /** With the rows that there are: each once, where it belongs. */
  private isRight({ rowBase, target, child }: Sides<Id>, objects: ReadonlySet<Id>): boolean {
    const of = (ids: ReadonlySet<Id>): Set<number> => new Set([...ids].flatMap((id) => [...this.rows.get(id)!]));
    const found = [...objects].flatMap((id) => [...this.rows.get(id)!]);
    return new Set(found).size === found.length && same(new Set(found), threeWay(rowBase(of), of(target), of(child)));
  }

  private async fork(branch: string, pick: number, where: number): Promise<void> {
    const commits = [...this.commits.keys()];
    const from = where % 3 === 0 ? commits[pick % commits.length]! : this.branches.get(branch)!;
    const isTaken = where % 11 === 0;
    const name = isTaken ? branch : `b${this.nextBranch++}`;
    const isGone = [...this.commits.get(from)!.objects].some((id) => this.vacuumed.has(id));
    this.last = `branch ${name} at ${from}`;
    if (this.branches.size >= 5 && !isTaken) return;
    const made = await this.pool.createBranch(name, from).then(
      () => 'made',
      (error: unknown) => failureOf(error).code,
    );
    const wanted = isTaken ? 'branch-exists' : isGone ? 'vacuumed' : 'made';
    if (made !== wanted) throw new Error(`${made} instead of ${wanted}`);
    if (made === 'made') this.branches.set(name, from);
  }
  private async drop(branch: string): Promise<void> {
    this.last = `branch ${branch} goes`;
    if (branch === 'main') return;
    await this.pool.deleteBranch(branch);
    this.branches.delete(branch);
  }
  /** To any commit, or where it is; on the condition that it is somewhere. */
  private async reset(branch: string, pick: number, what: number): Promise<void> {
    const commits = [...this.commits.keys()];
    const to = what % 4 === 0 ? this.branches.get(branch)! : commits[pick % commits.length]!;
    const isAstray = what % 5 === 0;
    const ifTip = [isAstray ? newId() : this.branches.get(branch)!];
    const isGone = [...this.commits.get(to)!.objects].some((id) => this.vacuumed.has(id));
    this.last = `reset of ${branch} to ${to}`;
    const ended = await this.pool.reset(branch, to, what % 3 === 0 ? {} : { ifTip }).then(
      () => 'made',
      (error: unknown) => failureOf(error).code,
    );
    const wanted = isAstray && what % 3 !== 0 ? 'tip-moved' : isGone ? 'vacuumed' : 'made';
    if (ended !== wanted) throw new Error(`${ended} instead of ${wanted}`);
    if (ended === 'made') this.branches.set(branch, to);
    const found = await this.objectsAt(this.pool.branch(branch).commit);
    if (!same(found, this.tip(branch).objects)) throw new Error('the branch has other objects');
  }
  /** A tag comes, or one goes; its name may be taken, by a branch too. */
  private async tag(pick: number, what: number): Promise<void> {
    const names = [...this.tags.keys()];
    if (what % 3 === 0 && names.length > 0) {
      const name = names[pick % names.length]!;
      this.last = `tag ${name} goes`;
      await this.pool.deleteTag(name);
      this.tags.delete(name);
      return;
    }
    const commits = [...this.commits.keys()];
    const at = commits[pick % commits.length]!;
    const taken = [...(what % 2 === 0 ? this.branches : this.tags).keys()];
    const name = (what % 5 === 0 && taken[pick % taken.length]) || `t${this.nextBranch++}`;
    const isGone = [...this.commits.get(at)!.objects].some((id) => this.vacuumed.has(id));
    this.last = `tag ${name} at ${at}`;
    const made = await this.pool.createTag(name, at).then(
      () => 'made',
      (error: unknown) => failureOf(error).code,
    );
    const wanted = this.branches.has(name)
      ? 'branch-exists'
      : this.tags.has(name)
        ? 'tag-exists'
        : isGone
          ? 'vacuumed'
          : 'made';
    if (made !== wanted) throw new Error(`${made} instead of ${wanted}`);
    if (made === 'made') this.tags.set(name, at);
  }
  /** Just what the way back holds and nothing else does: the dry run says the same. */
  private async vacuum(branch: string): Promise<void> {
    this.last = `vacuum of ${branch}`;
    const named = [...this.branches.values(), ...this.tags.values()];
    const held = new Set(named.flatMap((id) => [...this.commits.get(id)!.objects]));
    const wanted = new Set(
      [...this.ancestors(this.branches.get(branch)!)]
        .flatMap((id) => [...this.commits.get(id)!.objects])
        .filter((id) => !held.has(id) && !this.vacuumed.has(id)),
    );
    const told = new Set(await this.pool.vacuum(branch, { dryRun: true }));
    const gone = new Set(await this.pool.vacuum(branch, { dryRun: false }));
    for (const id of gone) {
      if (held.has(id)) throw new Error(`object ${id} of a tip or a tag was removed`);
      this.vacuumed.add(id);
    }
    if (!same(told, gone)) throw new Error('the dry run told otherwise');
    if (!same(gone, wanted)) throw new Error(`${[...gone].join(' ')} went instead of ${[...wanted].join(' ')}`);
    for (const [name, commit] of this.tags)
      if (!same(await this.objectsAt(commit), this.commits.get(commit)!.objects))
        throw new Error(`tag ${name} has other objects`);
  }
  /** As in a lake that was repaired: the lineage is derived from the commits again. */
  private async forget(): Promise<void> {
    this.last = 'the lineage is forgotten';
    const { store } = this.pool as PoolFace;
    const { tables } = store.stores;
    const prefix = Buffer.from(store.poolId, 'hex');
    await tables.write(tables.keys('lineage', { prefix }).map((key) => ({ table: 'lineage', key })));
    const { poolId } = store;
    Object.assign(store, {
      lineage: new Lineage({
        tables,
        poolId,
        entry: (id) => store.entry(id),
        checkPool: () => {
          store.checkPool();
        },
      }),
    });
  }

  private object(rows: readonly number[]): ObjectMeta {
    const id = newId();
    const [min, max] = [Math.min(...rows), Math.max(...rows)].map((n) => ({
      text: String(n),
      sort: sortKeyBytes(intValue(n)),
    })) as [ObjectMeta['min'], ObjectMeta['max']];
    this.rows.set(id, new Set(rows));
    return { id, count: rows.length, size: 9, min, max, inline: new TextEncoder().encode(rows.join()) };
  }
  private async note(
    branch: string,
    { commit }: { readonly commit: Id },
    adds: readonly Id[],
    removes: readonly Id[],
  ): Promise<void> {
    const tip = this.tip(branch);
    const objects = new Set([...minus(tip.objects, new Set(removes)), ...adds]);
    if (!same(await this.objectsAt(commit), objects)) throw new Error('the commit has other objects');
    this.noteAs(branch, commit, [tip.id], objects);
  }
  private noteAs(branch: string, id: Id, parents: readonly Id[], objects: ReadonlySet<Id>): void {
    this.counts.commits++;
    this.commits.set(id, { id, parents, objects });
    this.branches.set(branch, id);
  }
  private async objectsAt(commit: Id): Promise<ReadonlySet<Id>> {
    const { snapshot } = await (this.pool as PoolFace).open(commit);
    try {
      return new Set(snapshot.page({ limit: 1_000_000 }).objects.map(({ id }) => id));
    } finally {
      snapshot.release();
    }
  }

  private tip(branch: string): Commit {
    return this.commits.get(this.branches.get(branch)!)!;
  }
  private ancestors(id: Id): Set<Id> {
    const found = new Set<Id>();
    const next = [id];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      if (found.has(at)) continue;
      found.add(at);
      next.push(...this.commits.get(at)!.parents);
    }
    return found;
  }
  /** Newest first, as the lake takes them: with three of them the order counts. */
  private bestCommon(one: Id, two: Id): readonly Id[] {
    const mine = this.ancestors(one);
    const common = [...this.ancestors(two)].filter((id) => mine.has(id));
    const best = common.filter((id) => !common.some((other) => other !== id && this.ancestors(other).has(id)));
    return best.sort((a, b) => this.height(b) - this.height(a));
  }
  private height(id: Id): number {
    return Math.max(0, ...this.commits.get(id)!.parents.map((parent) => 1 + this.height(parent)));
  }
  /** Of several ancestors: merged with each other over their own base, the objects, and the rows of whatever world. */
  private base(bases: readonly Id[]): Pick<Sides<Id>, 'base' | 'rowBase'> {
    let base = this.commits.get(bases[0] ?? zeroId)!.objects;
    const first = base;
    let rowBase: Sides<Id>['rowBase'] = (rows) => rows(first);
    for (const other of bases.slice(1)) {
      const below = this.base(this.bestCommon(bases[0]!, other));
      const { objects } = this.commits.get(other)!;
      const before = rowBase;
      base = threeWay(below.base, base, objects);
      rowBase = (rows) => threeWay(below.rowBase(rows), before(rows), rows(objects));
    }
    return { base, rowBase };
  }
}

interface Asked {
  readonly tip: Commit;
  readonly preview: () => Promise<Preview>;
  readonly make: () => Promise<{ readonly commit: Id }>;
  readonly conflicts: readonly string[];
  readonly empty: string;
  /** The one answer that there can be. */
  readonly only?: string;
}

const failureOf = (error: unknown): Failure => {
  const { code, details } = error as {
    readonly code?: string;
    readonly details?: { readonly object_ids?: readonly string[] };
  };
  if (code === undefined) throw error;
  return { code, objects: (details?.object_ids ?? []).map((id) => id.replace(/^0x/, '')) };
};
