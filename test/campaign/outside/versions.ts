/**
 * Part `versions`: random histories of a pool over HTTP beside a model that knows the rows of each commit: loads, deletes,
 * updates and upserts, merges, reverts and picks (also of ranges, by fields, with a side that wins), often two of these at
 * once on one branch, with compactions, tags, branches that go and come, and vacuums in between.
 *
 * The model is one of rows: no two that were loaded or updated are equal, so that a row on both sides is the same row. A
 * commit has what its parent had and the change comes to, whichever of two that came at once was first; a refusal is
 * right of the branch as it is. Seeds that are even have an identity.
 */
import { join } from 'node:path';
import { type Random, randomOf } from '../../support/random.ts';
import { startBuiltService } from '../../support/service/built.ts';
import { type Answer, type Client, clientOf, jsonType } from '../../support/service/client.ts';
import { threeWay } from '../../laws/worlds.ts';
import type { PartRun } from '../part.ts';

const steps = 40;
const branchesMax = 6;
const noCommit = `0x${'0'.repeat(40)}`;
/** What an update adds to a number: rows that differ differ afterwards, and no two updates make the same of one. */
const updateStep = 1_000_003;

/** `u,a,b`. */
type Rows = ReadonlySet<string>;
const fieldsOf = (row: string): readonly [u: number, a: number, b: number] =>
  row.split(',').map(Number) as [number, number, number];
const idOf = (row: string): number => fieldsOf(row)[0];
const jsonOf = (row: string): string => {
  const [u, a, b] = fieldsOf(row);
  return JSON.stringify({ u, a, b });
};

/** What a change comes to. `conflicts`: identities of records that it cannot settle. */
interface Settled {
  readonly rows: Rows;
  readonly conflicts: readonly number[];
}
interface Rules {
  readonly hasIdentity: boolean;
  readonly fields: boolean;
  readonly resolve: 'ours' | 'theirs' | undefined;
}
interface Sides<T> {
  readonly base: T;
  readonly ours: T;
  readonly theirs: T;
}

const merged = ({ base, ours, theirs }: Sides<Rows>, rules: Rules): Settled =>
  rules.hasIdentity ? byIdentity({ base, ours, theirs }, rules) : { rows: threeWay(base, ours, theirs), conflicts: [] };
const byIdentity = ({ base, ours, theirs }: Sides<Rows>, rules: Rules): Settled => {
  const [bases, our, their] = [base, ours, theirs].map((rows) => new Map([...rows].map((row) => [idOf(row), row])));
  const rows = new Set<string>();
  const conflicts: number[] = [];
  for (const id of new Set([...bases!.keys(), ...our!.keys(), ...their!.keys()])) {
    const sides = { base: bases!.get(id), ours: our!.get(id), theirs: their!.get(id) };
    const settled = settleRecord(sides, rules);
    if (settled === 'conflict') conflicts.push(id);
    else if (settled !== undefined) rows.add(settled);
  }
  return { rows, conflicts };
};
const settleRecord = (
  sides: Sides<string | undefined>,
  { fields, resolve }: Rules,
): string | 'conflict' | undefined => {
  const { base, ours, theirs } = sides;
  if (ours === theirs || theirs === base) return ours;
  if (ours === base) return theirs;
  if (fields && base !== undefined && ours !== undefined && theirs !== undefined) {
    const [before, one, other] = [base, ours, theirs].map(fieldsOf);
    const fieldsMerged = before!.map((value, i) =>
      one![i] === other![i] || other![i] === value ? one![i] : other![i],
    );
    if (before!.every((value, i) => one![i] === other![i] || one![i] === value || other![i] === value))
      return fieldsMerged.join();
  }
  return resolve === undefined ? 'conflict' : sides[resolve];
};

/** A request that changes a branch. */
interface Asked {
  readonly text: string;
  readonly branch: string;
  readonly path: string;
  readonly body: string;
  /** Undefined: its base is several commits, which are not looked into. */
  readonly settle: (parent: string) => Settled | undefined;
}
/** A commit that came of it. */
interface Made {
  readonly commit: string;
  readonly asked: Asked;
  readonly parents: readonly string[];
}
interface Version {
  readonly rows: Rows;
  readonly parents: readonly string[];
}

class History {
  private readonly client: Client;
  private readonly random: Random;
  private readonly pool: string;
  private readonly hasIdentity: boolean;
  private readonly count: (name: string) => void;
  private readonly versions = new Map<string, Version>([[noCommit, { rows: new Set(), parents: [] }]]);
  private readonly branches = new Map<string, string>([['main', noCommit]]);
  private readonly tags = new Map<string, string>();
  private readonly told: string[] = [];
  private isVacuumed = false;
  private last = 0;

  constructor(client: Client, seed: number, count: (name: string) => void) {
    this.client = client;
    this.random = randomOf(seed + 211);
    this.pool = `p${seed}`;
    this.hasIdentity = seed % 2 === 0;
    this.count = count;
  }

  /** @throws what is wrong, with all that was done before */
  async run(): Promise<void> {
    const { random, pool } = this;
    const layout = { order: random.pick(['asc', 'desc']), keys: [[random.pick(['u', 'a', 'b'])]] };
    await this.client.json('POST', '/pool', { name: pool, layout, ...(this.hasIdentity && { identity: [['u']] }) });
    try {
      for (let i = 0; i < steps; i++) {
        await this.step();
        await this.look();
      }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.told.join('\n')}`, { cause: error });
    }
    this.count('histories');
  }

  private async step(): Promise<void> {
    const { random } = this;
    const branch = random.pick([...this.branches.keys()]);
    const kind = random.below(100);
    if (kind < 45) await this.done([this.change(branch)]);
    else if (kind < 75) await this.atOnce(branch);
    else if (kind < 83) await this.fork();
    else if (kind < 86) await this.drop();
    else if (kind < 89) await this.tag();
    else if (kind < 97) await this.compact(branch);
    else await this.vacuum(branch);
  }
  /** Two at once, most often on one branch. What is merged stands still. */
  private async atOnce(branch: string): Promise<void> {
    const other = this.random.below(3) === 0 ? this.random.pick([...this.branches.keys()]) : branch;
    const both = [this.combined(branch), this.combined(other)];
    const isStill = both.every(({ path }) => ![branch, other].some((name) => path.includes(`/merge/${name}`)));
    if (isStill) this.count('at once');
    await this.done(isStill ? both : both.slice(0, 1));
  }

  private rows(branch: string): Rows {
    return this.versions.get(this.branches.get(branch)!)!.rows;
  }
  private next(): number {
    return ++this.last;
  }
  private path(branch: string): string {
    return `/pool/${this.pool}/branch/${branch}`;
  }

  private change(branch: string): Asked {
    const { random } = this;
    const kind = random.below(100);
    if (this.rows(branch).size === 0 || kind < 30) return this.load(branch);
    if (kind < 45) return this.delete(branch);
    if (kind < 60) return this.update(branch);
    return kind < 68 && this.hasIdentity ? this.upsert(branch) : this.combined(branch);
  }
  private load(branch: string): Asked {
    const { random } = this;
    const rows = Array.from({ length: 1 + random.below(3) }, () =>
      [this.next(), random.below(1000), random.below(1000)].join(),
    );
    return {
      text: `load of ${rows.join(' ')} into ${branch}`,
      branch,
      path: this.path(branch),
      body: rows.map(jsonOf).join('\n'),
      settle: (parent) => plain([...this.versions.get(parent)!.rows, ...rows]),
    };
  }
  /** From one identity to another. */
  private range(branch: string): readonly [where: string, has: (row: string) => boolean] {
    const ids = [...this.rows(branch)].map(idOf);
    const low = this.random.pick(ids);
    const high = low + this.random.pick([0, 0, 3, 10]);
    return [`u>=${low} and u<=${high}`, (row) => idOf(row) >= low && idOf(row) <= high];
  }
  private delete(branch: string): Asked {
    const [where, has] = this.range(branch);
    return {
      text: `delete from ${branch} where ${where}`,
      branch,
      path: `${this.path(branch)}/delete`,
      body: JSON.stringify({ where }),
      settle: (parent) => plain([...this.versions.get(parent)!.rows].filter((row) => !has(row))),
    };
  }
  private update(branch: string): Asked {
    const [where, has] = this.range(branch);
    const by = this.next() * updateStep;
    const isFirst = this.random.below(2) === 0;
    const updated = (row: string): string => {
      const [u, a, b] = fieldsOf(row);
      return [u, isFirst ? a + by : a, isFirst ? b : b + by].join();
    };
    const put = isFirst ? `a:=a+${by}` : `b:=b+${by}`;
    return {
      text: `update of ${branch} where ${where} put ${put}`,
      branch,
      path: `${this.path(branch)}/update`,
      body: JSON.stringify({ where, put }),
      settle: (parent) => plain([...this.versions.get(parent)!.rows].map((row) => (has(row) ? updated(row) : row))),
    };
  }
  private upsert(branch: string): Asked {
    const ids = new Set([this.random.pick([...this.rows(branch)].map(idOf)), this.next()]);
    const rows = [...ids].map((id) => [id, this.next() * updateStep, this.random.below(1000)].join());
    return {
      text: `upsert of ${rows.join(' ')} into ${branch}`,
      branch,
      path: `${this.path(branch)}?upsert=T`,
      body: rows.map(jsonOf).join('\n'),
      settle: (parent) =>
        plain([...[...this.versions.get(parent)!.rows].filter((row) => !ids.has(idOf(row))), ...rows]),
    };
  }

  /** A merge, a revert or a pick. */
  private combined(branch: string): Asked {
    const { random } = this;
    const others = [...this.branches.keys()].filter((name) => name !== branch);
    const rules: Rules = {
      hasIdentity: this.hasIdentity,
      fields: random.below(5) < 2,
      resolve: this.hasIdentity ? random.pick([undefined, undefined, 'ours', 'theirs']) : undefined,
    };
    const query = [...(rules.fields ? ['fields=T'] : []), ...(rules.resolve ? [`resolve=${rules.resolve}`] : [])].join(
      '&',
    );
    const asked = (verb: string, settle: Asked['settle']): Asked => {
      const path = `${this.path(branch)}/${verb}${query === '' ? '' : `?${query}`}`;
      return { text: `${verb} ${query} on ${branch} at ${this.branches.get(branch)}`, branch, path, body: '', settle };
    };
    const rowsOf = (commit: string): Rows => this.versions.get(commit)!.rows;
    const sides = (base: string, theirs: string): Asked['settle'] => {
      const [before, after] = [rowsOf(base), rowsOf(theirs)];
      return (parent) => merged({ base: before, ours: rowsOf(parent), theirs: after }, rules);
    };
    const near = [...this.ancestors(this.branches.get(branch)!)].filter((id) => id !== noCommit);
    const commits = random.below(2) === 0 ? near : [...this.versions.keys()].filter((id) => id !== noCommit);
    if (others.length > 0 && (random.below(5) < 2 || commits.length === 0)) {
      const child = random.pick(others);
      const theirs = this.branches.get(child)!;
      return asked(`merge/${child}`, (parent) => {
        const [base, ...more] = this.bases(parent, theirs);
        return base === undefined || more.length > 0 ? undefined : sides(base, theirs)(parent);
      });
    }
    if (commits.length === 0) return this.load(branch);
    const commit = random.pick(commits);
    const parent = this.versions.get(commit)!.parents[0]!;
    if (random.below(2) === 0) return asked(`revert/${commit}`, sides(commit, parent));
    if (random.below(5) > 1) return asked(`pick/${commit}`, sides(parent, commit));
    const from = random.pick([...this.versions.keys()].filter((id) => id !== noCommit));
    return asked(`pick/${from}..${commit}`, sides(from, commit));
  }

  private ancestors(commit: string): ReadonlySet<string> {
    const seen = new Set([commit]);
    for (const id of seen) for (const parent of this.versions.get(id)!.parents) seen.add(parent);
    return seen;
  }
  private bases(one: string, other: string): readonly string[] {
    const theirs = this.ancestors(other);
    const common = [...this.ancestors(one)].filter((id) => theirs.has(id));
    const below = new Set(
      common.flatMap((id) => this.versions.get(id)!.parents.flatMap((p) => [...this.ancestors(p)])),
    );
    return common.filter((id) => !below.has(id));
  }

  /** Asks for all at once, and holds what comes of it against the model. */
  private async done(all: readonly Asked[]): Promise<void> {
    const answers = await Promise.all(
      all.map(({ path, body }) => this.client.ask('POST', path, { headers: jsonType, body })),
    );
    const made = new Map<string, Asked>();
    for (const [i, asked] of all.entries()) {
      const answer = answers[i]!;
      this.told.push(`${asked.text}: ${answer.status} ${answer.body.trim().slice(0, 200)}`);
      const commit =
        answer.status === 200 ? (JSON.parse(answer.body) as { readonly commit?: string }).commit : undefined;
      if (commit !== undefined && !this.versions.has(commit)) made.set(commit, asked);
      else if (answer.status !== 200 && (answer.status < 400 || answer.status >= 500)) throw new Error('not answered');
      else if (all.length === 1) this.checkNothingDone(asked, answer);
    }
    const commits: Made[] = [];
    for (const [commit, asked] of made) commits.push({ commit, asked, parents: await this.parentsOf(commit) });
    // Commits behind those that they came after.
    commits.sort((a, b) => Number(a.parents.includes(b.commit)) - Number(b.parents.includes(a.commit)));
    for (const one of commits) await this.take(one);
  }
  private async parentsOf(commit: string): Promise<readonly string[]> {
    const { commits } = await this.client.json<{
      readonly commits: readonly { readonly parents: readonly string[] }[];
    }>('GET', `/pool/${this.pool}/graph?from=${commit}&limit=1`);
    const { parents } = commits[0]!;
    return parents.length === 0 ? [noCommit] : parents;
  }
  private async take({ commit, asked: { branch, text, settle }, parents: told }: Made): Promise<void> {
    const before = this.branches.get(branch)!;
    // A merge into a branch without a commit has the other side's alone.
    const parents = before === noCommit && told[0] !== noCommit ? [noCommit, ...told] : told;
    if (parents[0] !== before) throw new Error(`${text}: its parent is ${parents[0]}, the branch was at ${before}`);
    const settled = settle(before);
    const found = await this.read(commit);
    if (settled && settled.conflicts.length > 0)
      throw new Error(`${text}: done in spite of ${settled.conflicts.join()}`);
    if (settled) checkSame(text, found, settled.rows);
    else this.count('crosswise merges');
    this.versions.set(commit, { rows: new Set(found), parents });
    this.branches.set(branch, commit);
    this.count('commits');
  }
  /** Nothing came of it: there was nothing to do, or it could not be done. */
  private checkNothingDone({ branch, text, settle }: Asked, { status, body }: Answer): void {
    const settled = settle(this.branches.get(branch)!);
    const error = status === 200 ? '' : (JSON.parse(body) as { readonly error: string }).error;
    this.count('refusals');
    if (!settled || (this.isVacuumed && /vacuum/.test(error))) return;
    if (/records in conflict/.test(error)) {
      if (settled.conflicts.length === 0) throw new Error(`${text}: no records are in conflict`);
    } else if (status === 200 || /empty|nothing to pick/.test(error)) {
      if (settled.conflicts.length > 0) throw new Error(`${text}: ${settled.conflicts.join()} are in conflict`);
      checkSame(text, [...this.rows(branch)], settled.rows);
    } else throw new Error(`${text}: refused`);
  }

  private async fork(): Promise<void> {
    if (this.branches.size >= branchesMax) return;
    const name = `b${this.next()}`;
    const places = [...this.branches.values(), ...this.tags.values()];
    const commit = this.random.pick(this.random.below(4) === 0 ? [...this.versions.keys()] : places);
    const { status } = await this.client.ask('POST', `/pool/${this.pool}`, {
      headers: jsonType,
      body: JSON.stringify({ name, commit }),
    });
    if (status === 410 && this.isVacuumed) return;
    if (status !== 200) throw new Error(`branch ${name} at ${commit}: ${status}`);
    this.told.push(`branch ${name} at ${commit}`);
    this.branches.set(name, commit);
  }
  private async drop(): Promise<void> {
    const others = [...this.branches.keys()].filter((name) => name !== 'main');
    if (others.length === 0) return;
    const name = this.random.pick(others);
    await this.client.json('DELETE', this.path(name));
    this.told.push(`branch ${name} goes`);
    this.branches.delete(name);
  }
  private async tag(): Promise<void> {
    const name = `t${this.next()}`;
    const commit = this.random.pick([...this.branches.values()]);
    await this.client.json('POST', `/pool/${this.pool}/tag`, { name, commit });
    this.tags.set(name, commit);
  }
  private async compact(branch: string): Promise<void> {
    const all = await this.client.query<string>(`from ${this.pool}@${branch}:objects | values id`);
    const ids = all.filter(() => this.random.below(4) > 0);
    if (ids.length < 2) return;
    await this.done([
      {
        text: `compaction of ${ids.length} of ${all.length} on ${branch}`,
        branch,
        path: `${this.path(branch)}/compact`,
        body: JSON.stringify({ object_ids: ids }),
        settle: (parent) => plain([...this.versions.get(parent)!.rows]),
      },
    ]);
    this.count('compactions');
  }
  private async vacuum(branch: string): Promise<void> {
    const { object_ids: gone } = await this.client.json<{ readonly object_ids: readonly string[] | null }>(
      'POST',
      `/pool/${this.pool}/revision/${branch}/vacuum`,
    );
    this.told.push(`vacuum of ${branch}: ${gone?.length ?? 0}`);
    if (gone && gone.length > 0) this.isVacuumed = true;
  }

  private async look(): Promise<void> {
    const [name, commit] = this.random.pick([...this.branches, ...this.tags]);
    checkSame(`rows of ${name}`, await this.read(name), this.versions.get(commit)!.rows);
  }
  private async read(revision: string): Promise<readonly string[]> {
    const rows = await this.client.query<{ readonly u: number; readonly a: number; readonly b: number }>(
      `from ${this.pool}@${revision}`,
    );
    return rows.map(({ u, a, b }) => [u, a, b].join());
  }
}

const plain = (rows: readonly string[]): Settled => ({ rows: new Set(rows), conflicts: [] });
const checkSame = (what: string, found: readonly string[], wanted: Rows): void => {
  const extra = [...found];
  const missing = [...wanted].filter((row) => {
    const at = extra.indexOf(row);
    if (at >= 0) extra.splice(at, 1);
    return at < 0;
  });
  if (extra.length + missing.length > 0)
    throw new Error(`${what}: ${extra.join(' ') || 'nothing'} too much, ${missing.join(' ') || 'nothing'} missing`);
};

export const versions: PartRun = async ({ folder, seeds, count, failed }) => {
  const service = await startBuiltService({ lake: join(folder, 'lake'), flags: ['-workers', '2'] });
  const client = clientOf(service.address, 4);
  for (const seed of seeds) {
    try {
      await new History(client, seed, count).run();
    } catch (error) {
      failed(seed, (error as Error).message);
    }
  }
  client.close();
  await service.end();
};
