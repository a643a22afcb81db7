/**
 * Random histories of a pool over real HTTP beside a model of plain sets: loads, deletes, branches, tags, merges,
 * reverts, compactions, vacuums, with queries that stay open meanwhile.
 *
 * What must hold, after each step:
 * - a tip is the commit that was answered last; loads that were sent at once are a chain, in the order of their events;
 * - the rows of each branch are those of the model, each once; those of older commits too, unless their objects were
 *   vacuumed (410);
 * - a filter and its complement share the rows between them; what a delete by filter leaves is the complement;
 * - a merge gives the three-way merge of rows; whichever of two branches is merged first, the rows are the same;
 * - a revert of any commit, of other branches too, is the three-way merge of its parent's rows with the commit's as the
 *   base; the revert of a revert restores;
 * - a compaction changes no row;
 * - a branch that was reset has the rows of that commit;
 * - a tag has the rows that its commit had, whatever its branch does, and can be merged;
 * - the dry run of a vacuum lists what the run removes, and neither touches what a tip, a tag or an open query has.
 *
 * Steps are natural numbers that are taken modulo what there is: any list of steps is a history, so that fast-check can
 * shrink it.
 */
import fc from 'fast-check';
import { request } from 'node:http';
import type { Client } from '../support/service/client.ts';

type Step = readonly [kind: number, a: number, b: number, c: number];
export const steps = (most: number): fc.Arbitrary<readonly Step[]> =>
  fc.array(fc.tuple(fc.nat(99), fc.nat(9999), fc.nat(9999), fc.nat(9999)), {
    minLength: Math.ceil(most / 3),
    maxLength: most,
  });

interface Commit {
  readonly id: string;
  readonly parents: readonly string[];
  readonly rows: ReadonlySet<number>;
  readonly objects: ReadonlySet<string>;
  readonly adds: ReadonlySet<string>;
  readonly deletes: ReadonlySet<string>;
}
interface Refusal {
  readonly status: number;
  readonly error: string;
}
interface Preview {
  readonly records: number;
  readonly error: string | null;
}
type Outcome = { readonly commit: string } | Refusal;

const zero = `0x${'0'.repeat(40)}`;
const minus = <T>(a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> => new Set([...a].filter((x) => !b.has(x)));
const union = <T>(...sets: readonly ReadonlySet<T>[]): Set<T> => new Set(sets.flatMap((set) => [...set]));
const both = <T>(a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> => new Set([...a].filter((x) => b.has(x)));
const threeWay = <T>(base: ReadonlySet<T>, a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> =>
  union(both(a, b), minus(a, base), minus(b, base));
const sorted = (rows: Iterable<number>): number[] => [...rows].sort((a, b) => a - b);

/** What a run did, for the totals. */
interface HistoryCounts {
  readonly steps: number;
  readonly commits: number;
  readonly refusals: number;
  readonly rowsChecked: number;
}

/** Runs a history in a pool of its own. Throws for the first law that is broken. */
export const runHistory = async (client: Client, pool: string, history: readonly Step[]): Promise<HistoryCounts> => {
  const run = new History(client, pool, await client.createPool(pool, 'n'));
  for (const [at, step] of history.entries()) {
    try {
      await run.step(step);
    } catch (cause) {
      throw new Error(`step ${at} (${run.last}): ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
  await run.finish();
  return run.counts;
};

class History {
  last = '';
  private readonly client: Client;
  private readonly pool: string;
  private readonly id: string;
  private readonly commits = new Map<string, Commit>([
    [zero, { id: zero, parents: [], rows: new Set(), objects: new Set(), adds: new Set(), deletes: new Set() }],
  ]);
  private readonly branches = new Map<string, string>([['main', zero]]);
  private readonly tags = new Map<string, string>();
  private readonly vacuumed = new Set<string>();
  private readonly open: {
    readonly commit: Commit;
    readonly rest: Promise<readonly number[]>;
    readonly resume: () => void;
  }[] = [];
  private nextRow = 0;
  private nextBranch = 0;
  private countsSoFar = { steps: 0, commits: 0, refusals: 0, rowsChecked: 0 };

  constructor(client: Client, pool: string, id: string) {
    this.client = client;
    this.pool = pool;
    this.id = id;
  }
  get counts(): HistoryCounts {
    return this.countsSoFar;
  }

  async step([kind, a, b, c]: Step): Promise<void> {
    this.countsSoFar.steps++;
    const names = [...this.branches.keys()];
    const branch = names[a % names.length]!;
    const other = names[b % names.length]!;
    const children = [...names, ...this.tags.keys()];
    if (kind < 22) await this.load(branch, 1 + (b % 6));
    else if (kind < 28) await this.loadAtOnce(branch, other, 2 + (c % 4));
    else if (kind < 34) await this.fork(branch, b);
    else if (kind < 36) await this.reset(branch, b, c);
    else if (kind < 40) await this.tag(branch, b);
    else if (kind < 56) await this.merge(branch, children[b % children.length]!);
    else if (kind < 68) await this.deleteWhere(branch, b, c);
    else if (kind < 74) await this.deleteObjects(branch, b, c);
    else if (kind < 84) await this.revert(branch, b, c);
    else if (kind < 88) await this.compact(branch, b);
    else if (kind < 92) await this.vacuum(branch);
    else if (kind < 95) await this.openQuery(branch);
    else if (kind < 97) await this.lookBack(b);
    else if (kind < 98) await this.tag(branch, b);
    else await this.dropBranch(branch);
    await this.checkBranch(this.branches.has(branch) ? branch : 'main');
  }

  /** Every branch, every open query, and both orders of a merge. */
  async finish(): Promise<void> {
    this.last = 'at the end';
    for (const query of this.open) {
      query.resume();
      this.same('rows of a query that stayed open', await query.rest, query.commit.rows);
    }
    for (const branch of this.branches.keys()) await this.checkBranch(branch);
    await this.checkTags();
    await this.mergeOrders();
  }

  private async load(branch: string, count: number): Promise<void> {
    this.last = `load of ${count} into ${branch}`;
    const rows = this.newRows(count);
    this.branches.set(
      branch,
      await this.note(
        await this.client.load(this.pool, rows.map(rowOf), branch),
        [this.branches.get(branch)!],
        union(this.tip(branch).rows, new Set(rows)),
      ),
    );
  }

  /** Loads that are sent at once, into two branches: each branch becomes a chain of them, in some order. */
  private async loadAtOnce(one: string, two: string, count: number): Promise<void> {
    this.last = `${count} loads at once into ${one} and ${two}`;
    const before = new Map([...this.branches]);
    const sent = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const branch = i % 2 === 0 ? one : two;
        const rows = this.newRows(1 + (i % 3));
        return { branch, rows, commit: await this.client.load(this.pool, rows.map(rowOf), branch) };
      }),
    );
    for (const branch of new Set([one, two])) {
      const mine = new Map(sent.filter((each) => each.branch === branch).map((each) => [each.commit, each]));
      const chain: string[] = [];
      for (let at = await this.client.tip(this.pool, branch); at !== before.get(branch); at = await this.parentOf(at)) {
        if (!mine.has(at) || chain.includes(at))
          throw new Error(`${branch} is not a chain of the commits that were answered: ${at} after ${chain.join(' ')}`);
        chain.unshift(at);
      }
      if (chain.length !== mine.size)
        throw new Error(`${branch}: ${mine.size} loads were answered, ${chain.length} are in its chain`);
      for (const id of chain)
        this.branches.set(
          branch,
          await this.note(id, [this.branches.get(branch)!], union(this.tip(branch).rows, new Set(mine.get(id)!.rows))),
        );
    }
  }

  private async fork(branch: string, pick: number): Promise<void> {
    const ancestry = [...this.ancestors(this.branches.get(branch)!)];
    const from = pick % 3 === 0 ? ancestry[pick % ancestry.length]! : this.branches.get(branch)!;
    const name = `b${this.nextBranch++}`;
    this.last = `branch ${name} at ${from}`;
    if (this.branches.size >= 6) return;
    const answer = await this.client.ask('POST', `/pool/${this.pool}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, commit: from }),
    });
    const gone = both(this.commits.get(from)!.objects, this.vacuumed).size > 0;
    if (answer.status !== (gone ? 410 : 200))
      throw new Error(
        `${gone ? 'vacuumed objects' : 'all objects'}, but ${answer.status} ${answer.body.slice(0, 200)}`,
      );
    if (!gone) this.branches.set(name, from);
  }

  /** To any commit of the pool, while it is where it was. */
  private async reset(branch: string, pick: number, what: number): Promise<void> {
    const all = [...this.commits.keys()];
    const to = all[pick % all.length]!;
    const from = what % 4 === 0 ? all[what % all.length]! : this.branches.get(branch)!;
    this.last = `reset of ${branch} to ${to} from ${from}`;
    const { status, body } = await this.client.ask('PUT', `/pool/${this.pool}/branch/${branch}`, {
      headers: { 'content-type': 'application/json', 'if-match': `"${from}"` },
      body: JSON.stringify({ commit: to }),
    });
    const gone = both(this.commits.get(to)!.objects, this.vacuumed).size > 0;
    const wanted = from !== this.branches.get(branch) ? 412 : gone ? 410 : 200;
    if (status !== wanted) throw new Error(`${status} instead of ${wanted}: ${body.slice(0, 200)}`);
    if (status === 200) this.branches.set(branch, to);
  }
  /** A tag comes at any commit of the branch, or one goes. */
  private async tag(branch: string, pick: number): Promise<void> {
    const [first] = this.tags.keys();
    if (first !== undefined && (pick % 4 === 0 || this.tags.size >= 4)) {
      this.last = `tag ${first} goes`;
      const { status } = await this.client.ask('DELETE', `/pool/${this.pool}/tag/${first}`);
      if (status !== 204) throw new Error(`refused: ${status}`);
      this.tags.delete(first);
      return;
    }
    const ancestry = [...this.ancestors(this.branches.get(branch)!)];
    const commit = ancestry[pick % ancestry.length]!;
    const isTaken = pick % 5 === 0;
    const name = isTaken ? branch : `v${this.nextBranch++}`;
    this.last = `tag ${name} at ${commit}`;
    const { status, body } = await this.client.ask('POST', `/pool/${this.pool}/tag`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, commit }),
    });
    const gone = both(this.commits.get(commit)!.objects, this.vacuumed).size > 0;
    const wanted = isTaken ? 409 : gone ? 410 : 200;
    if (status !== wanted) throw new Error(`${status} instead of ${wanted}: ${body.slice(0, 200)}`);
    if (status === 200) this.tags.set(name, commit);
  }
  private async checkTags(): Promise<void> {
    for (const [name, commit] of this.tags)
      this.same(`rows of tag ${name}`, await this.rows(name), this.commits.get(commit)!.rows);
  }

  private async merge(target: string, child: string): Promise<void> {
    this.last = `merge of ${child} into ${target}`;
    const one = this.tip(target);
    const two = this.tip(child);
    const base = this.base(one.id, two.id);
    const wanted = threeWay(base.objects, one.objects, two.objects);
    const twice = minus(minus(base.objects, one.objects), two.objects);
    // Which objects hold the same rows rewrites.ts looks at.
    const beside =
      minus(one.objects, union(base.objects, two.objects)).size > 0 &&
      minus(two.objects, union(base.objects, one.objects)).size > 0;
    const outcome = await this.write(`merge/${child}`, target);
    if ('status' in outcome) {
      if (
        outcome.error.includes('difference is empty') &&
        minus(wanted, one.objects).size + minus(one.objects, wanted).size === 0
      )
        return;
      if (outcome.error.includes('both changed the same data objects') && (twice.size > 0 || beside)) return;
      throw new Error(`refused: ${outcome.status} ${outcome.error}`);
    }
    this.branches.set(
      target,
      await this.note(outcome.commit, [one.id, two.id], threeWay(base.rows, one.rows, two.rows)),
    );
    // Where objects are in each other's way records decide, and what they come to is in new objects.
    if (twice.size > 0 || beside) return;
    const { objects } = this.tip(target);
    if (minus(objects, wanted).size + minus(wanted, objects).size > 0)
      throw new Error(`objects ${[...objects].join(' ')} instead of ${[...wanted].join(' ')}`);
  }

  private async deleteWhere(branch: string, pick: number, modulus: number): Promise<void> {
    const m = 2 + (modulus % 5);
    const rest = pick % m;
    const where = `n%${m}==${rest}`;
    const { rows } = this.tip(branch);
    const hit = new Set([...rows].filter((n) => n % m === rest));
    this.last = `delete from ${branch} where ${where}`;
    const found = await this.rows(branch, `| ${where}`);
    const others = await this.rows(branch, `| not (${where})`);
    this.same('rows of the filter', found, hit);
    this.same('rows of its complement', others, minus(rows, hit));
    const outcome = await this.write('delete', branch, { where });
    if ('status' in outcome) {
      if (hit.size === 0 && outcome.error?.startsWith('empty transaction')) return;
      throw new Error(`refused: ${outcome.status} ${outcome.error}`);
    }
    if (hit.size === 0) throw new Error('a delete of nothing made a commit');
    this.branches.set(branch, await this.note(outcome.commit, [this.branches.get(branch)!], minus(rows, hit)));
  }

  private async deleteObjects(branch: string, pick: number, count: number): Promise<void> {
    const tip = this.tip(branch);
    const all = [...tip.objects];
    if (all.length === 0) return;
    const ids = [...new Set(Array.from({ length: 1 + (count % 2) }, (_, i) => all[(pick + i) % all.length]!))];
    this.last = `delete of objects ${ids.join(' ')} from ${branch}`;
    const outcome = await this.write('delete', branch, { object_ids: ids });
    if ('status' in outcome) throw new Error(`refused: ${outcome.status} ${outcome.error}`);
    // Which rows an object has only the service knows: what is left must be rows of before, and come back with the
    // revert.
    const left = await this.rows(branch);
    if (left.some((n) => !tip.rows.has(n))) throw new Error(`rows that were not there: ${left.join(' ')}`);
    this.branches.set(branch, await this.note(outcome.commit, [tip.id], new Set(left)));
    const { objects } = this.tip(branch);
    if (minus(tip.objects, objects).size !== ids.length || minus(objects, tip.objects).size !== 0)
      throw new Error('other objects went');
  }

  private async revert(branch: string, pick: number, from: number): Promise<void> {
    const commits = [...(from % 3 === 0 ? this.commits.keys() : this.ancestors(this.branches.get(branch)!))].filter(
      (id) => id !== zero,
    );
    if (commits.length === 0) return;
    const commit = this.commits.get(commits[pick % commits.length]!)!;
    const before = this.tip(branch);
    this.last = `revert of ${commit.id} on ${branch}`;
    const goes = both(commit.adds, before.objects);
    const comes = minus(commit.deletes, before.objects);
    const outcome = await this.write(`revert/${commit.id}`, branch);
    if ('status' in outcome) {
      if (outcome.error === 'revert commit is empty' && goes.size + comes.size === 0) return;
      // Where its objects were rewritten since, records tell what is left to undo.
      const undone = threeWay(commit.rows, before.rows, this.parentRows(commit));
      if (outcome.error === 'revert commit is empty' && sorted(undone).join() === sorted(before.rows).join()) return;
      if (outcome.error.includes('were vacuumed') && both(comes, this.vacuumed).size > 0) return;
      if (outcome.error.includes('were rewritten since or deleted') && minus(commit.adds, before.objects).size > 0)
        return;
      if (outcome.error.includes('the branch has rows of the data objects it deleted') && comes.size > 0) return;
      throw new Error(`refused: ${outcome.status} ${outcome.error}`);
    }
    const after = await this.rows(branch);
    this.same('rows after a revert', after, threeWay(commit.rows, before.rows, this.parentRows(commit)));
    this.branches.set(branch, await this.note(outcome.commit, [before.id], new Set(after)));
    const again = await this.write(`revert/${outcome.commit}`, branch);
    if ('status' in again) throw new Error(`the revert of the revert was refused: ${again.status} ${again.error}`);
    this.branches.set(branch, await this.note(again.commit, [outcome.commit], before.rows));
  }
  private parentRows({ parents: [parent] }: Commit): ReadonlySet<number> {
    return this.commits.get(parent!)!.rows;
  }

  private async compact(branch: string, pick: number): Promise<void> {
    const { objects, rows } = this.tip(branch);
    const all = [...objects];
    if (all.length < 2) return;
    const ids = [all[pick % all.length]!, all[(pick + 1) % all.length]!];
    this.last = `compaction of ${ids.join(' ')} on ${branch}`;
    const answer = await this.client.ask('POST', `/pool/${this.pool}/branch/${branch}/compact`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ object_ids: ids }),
    });
    if (answer.status !== 200) throw new Error(`refused: ${answer.status} ${answer.body}`);
    this.branches.set(
      branch,
      await this.note(
        (JSON.parse(answer.body) as { readonly commit: string }).commit,
        [this.branches.get(branch)!],
        rows,
      ),
    );
  }

  private async vacuum(branch: string): Promise<void> {
    this.last = `vacuum of ${branch}`;
    const call = async (dryRun: string): Promise<readonly string[]> =>
      (
        await this.client.json<{ readonly object_ids: readonly string[] }>(
          'POST',
          `/pool/${this.pool}/revision/${branch}/vacuum?dryrun=${dryRun}`,
        )
      ).object_ids;
    const listed = [...(await call('T'))].sort();
    const removed = [...(await call('F'))].sort();
    if (listed.join() !== removed.join())
      throw new Error(`the dry run listed ${listed.join(' ')}, the run removed ${removed.join(' ')}`);
    for (const [name, id] of [...this.branches, ...this.tags]) {
      const taken = removed.filter((object) => this.commits.get(id)!.objects.has(object));
      if (taken.length > 0) throw new Error(`objects of ${name} were removed: ${taken.join(' ')}`);
    }
    for (const id of removed) this.vacuumed.add(id);
    for (const name of this.branches.keys()) await this.checkBranch(name);
    await this.checkTags();
  }

  /** Begins to read, and stops behind the first bytes. */
  private async openQuery(branch: string): Promise<void> {
    this.last = `query of ${branch} that stays open`;
    if (this.open.length >= 3) return;
    const commit = this.tip(branch);
    const address = new URL('/query', this.client.address);
    let resume = (): void => undefined;
    let begun = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const goOn = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const rest = new Promise<readonly number[]>((resolve, reject) => {
      const sent = request(
        address,
        {
          method: 'POST',
          agent: false,
          headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
        },
        (response) => {
          begun();
          void (async () => {
            let text = '';
            for await (const chunk of response) {
              text += (chunk as Buffer).toString();
              await goOn;
            }
            resolve(
              sorted(
                text
                  .split('\n')
                  .filter((line) => line !== '')
                  .map((line) => (JSON.parse(line) as { readonly n: number }).n),
              ),
            );
          })().catch(reject);
        },
      );
      sent.on('error', reject);
      sent.end(JSON.stringify({ query: `from ${this.pool}@${branch}` }));
    });
    rest.catch(() => undefined);
    this.open.push({ commit, rest, resume });
    await answered;
  }

  /** The rows of an older commit. */
  private async lookBack(pick: number): Promise<void> {
    const all = [...this.commits.values()];
    const commit = all[pick % all.length]!;
    this.last = `look back at ${commit.id}`;
    if (commit.id !== zero) await this.rowsOrGone(commit.id, commit);
  }
  private async rowsOrGone(at: string, commit: Commit): Promise<void> {
    if (both(commit.objects, this.vacuumed).size === 0)
      return this.same(`rows at ${at}`, await this.rows(at), commit.rows);
    const answer = await this.client.ask('POST', '/query', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: `from ${this.pool}@${at}` }),
    });
    if (answer.status !== 410) throw new Error(`vacuumed objects, but ${answer.status} ${answer.body.slice(0, 200)}`);
  }

  private async dropBranch(branch: string): Promise<void> {
    this.last = `end of ${branch}`;
    if (branch !== 'main') await this.drop(branch);
  }
  private async drop(branch: string): Promise<void> {
    await this.client.json('DELETE', `/pool/${this.pool}/branch/${branch}`);
    this.branches.delete(branch);
  }

  /** Two branches merged into a copy of main in one order, and into another copy in the other. */
  private async mergeOrders(): Promise<void> {
    const names = [...this.branches.keys()].filter((name) => name !== 'main');
    if (names.length < 2) return;
    const [one, two] = names as [string, string];
    const results: { readonly rows: readonly number[]; readonly whole: boolean }[] = [];
    for (const [name, order] of [
      ['first', [one, two]],
      ['second', [two, one]],
    ] as const) {
      this.last = `merge of ${order.join(' and ')} into a copy of main`;
      await this.client.json('POST', `/pool/${this.pool}`, { name, commit: this.branches.get('main')! });
      let whole = true;
      for (const child of order) {
        const outcome = await this.write(`merge/${child}`, name);
        // A merge that changes nothing is refused: what the child deleted before it came is not remembered then.
        if ('status' in outcome) whole = false;
      }
      results.push({ rows: await this.rows(name), whole });
    }
    if (results.every(({ whole }) => whole))
      this.same('rows after both orders of merging', results[1]!.rows, new Set(results[0]!.rows));
  }

  /** The write, once its dry run has told the same. */
  private async write(path: string, branch: string, body?: unknown): Promise<Outcome> {
    const outcome = await this.writeNow(path, branch, body, await this.dryRun(path, branch, body));
    return outcome;
  }
  private async dryRun(path: string, branch: string, body: unknown): Promise<Preview | undefined> {
    if (typeof body === 'object' && body !== null && 'object_ids' in body) return undefined;
    const answer = await this.client.ask(
      'POST',
      `/pool/${this.id}/branch/${branch}/${path}?dryrun=T`,
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    );
    if (answer.status !== 200) throw new Error(`dry run: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body) as Preview;
  }
  private async writeNow(path: string, branch: string, body: unknown, preview: Preview | undefined): Promise<Outcome> {
    const before = (await this.rows(branch)).length;
    const answer = await this.client.ask(
      'POST',
      `/pool/${this.id}/branch/${branch}/${path}`,
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    );
    const json = JSON.parse(answer.body) as { readonly commit: string; readonly error: string };
    if (preview && (preview.error !== null) !== (answer.status !== 200))
      throw new Error(`the dry run said ${preview.error}, the write ${answer.status} ${answer.body}`);
    if (preview && answer.status === 200 && (await this.rows(branch)).length !== before + preview.records)
      throw new Error(`the dry run promised ${preview.records} rows more than ${before}`);
    if (answer.status === 200) return { commit: json.commit };
    if (answer.status >= 500) throw new Error(`${answer.status} ${json.error}`);
    this.countsSoFar.refusals++;
    return { status: answer.status, error: json.error };
  }

  /** Notes a commit that was answered: what the service says of it against what its parent has. */
  private async note(id: string, parents: readonly string[], rows: ReadonlySet<number>): Promise<string> {
    if (this.commits.has(id)) throw new Error(`commit ${id} was answered twice`);
    const parent = await this.parentOf(id);
    const before = this.commits.get(parents[0]!)!;
    if (parent !== parents[0]) throw new Error(`the parent of ${id} is ${parent} instead of ${parents[0]}`);
    const objects = new Set(
      (await this.client.query<{ readonly id: string }>(`from ${this.pool}@${id}:objects | cut id`)).map(
        (object) => object.id,
      ),
    );
    this.commits.set(id, {
      id,
      parents,
      rows,
      objects,
      adds: minus(objects, before.objects),
      deletes: minus(before.objects, objects),
    });
    this.countsSoFar.commits++;
    return id;
  }
  private async parentOf(id: string): Promise<string> {
    const [commit] = await this.client.query<{ readonly id: string; readonly parent: string }>(
      `from ${this.pool}@${id}:log | has(parent) | head 1`,
    );
    if (commit?.id !== id) throw new Error(`the log of ${id} begins with ${commit?.id}`);
    return commit.parent;
  }
  private async checkBranch(branch: string): Promise<void> {
    const tip = await this.client.tip(this.pool, branch);
    if (tip !== this.branches.get(branch))
      throw new Error(`${branch} is at ${tip} instead of ${this.branches.get(branch)}`);
    this.same(`rows of ${branch}`, await this.rows(branch), this.tip(branch).rows);
  }
  /** With doubles, in order. */
  private async rows(at: string, filter = ''): Promise<readonly number[]> {
    const rows = await this.client.query<{ readonly n: number }>(`from ${this.pool}@${at} ${filter} | cut n`);
    this.countsSoFar.rowsChecked += rows.length;
    return sorted(rows.map((row) => row.n));
  }
  private same(what: string, rows: readonly number[], wanted: ReadonlySet<number>): void {
    if (rows.join() !== sorted(wanted).join())
      throw new Error(`${what}: ${rows.join(' ')} instead of ${sorted(wanted).join(' ')}`);
  }

  private newRows(count: number): number[] {
    return Array.from({ length: count }, () => this.nextRow++);
  }
  private tip(branch: string): Commit {
    return this.commits.get(this.branches.get(branch) ?? this.tags.get(branch)!)!;
  }
  private ancestors(id: string): Set<string> {
    const found = new Set<string>();
    const next = [id];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      if (found.has(at)) continue;
      found.add(at);
      next.push(...this.commits.get(at)!.parents);
    }
    return found;
  }
  /** The best common ancestors, merged with each other over their own base where there are several. */
  private base(
    one: string,
    two: string,
  ): { readonly rows: ReadonlySet<number>; readonly objects: ReadonlySet<string> } {
    const best = this.bestCommon(one, two);
    let { rows, objects }: { rows: ReadonlySet<number>; objects: ReadonlySet<string> } = this.commits.get(
      best[0] ?? zero,
    )!;
    for (const other of best.slice(1)) {
      const below = this.base(best[0]!, other);
      const { rows: otherRows, objects: otherObjects } = this.commits.get(other)!;
      rows = threeWay(below.rows, rows, otherRows);
      objects = threeWay(below.objects, objects, otherObjects);
    }
    return { rows, objects };
  }
  private bestCommon(one: string, two: string): readonly string[] {
    const common = [...both(this.ancestors(one), this.ancestors(two))];
    return common.filter((id) => !common.some((other) => other !== id && this.ancestors(other).has(id)));
  }
}

/** Long enough that a branch of some hundred rows does not fit into one buffer of a connection that nobody reads. */
const rowOf = (n: number): Record<string, unknown> => ({
  n,
  text: `row ${n} `.repeat(40),
  odd: n % 2 === 1 ? true : null,
});
