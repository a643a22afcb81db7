/**
 * Laws of `:diff` and of merges where objects have files, so that the origins of their rows are known: random histories
 * of deletes, updates, loads, merges, reverts and compactions, beside what the rows of both commits say themselves.
 * `HISTORIES=200` runs many.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LakeError } from '../../src/errors.ts';
import { openLake } from '../../src/lake/lake.ts';
import type { Id, Lake, Pool } from '../../src/lake/lake.types.ts';
import { startWorkerPool } from '../../src/workers/pool.ts';
import type { WorkerPool } from '../../src/workers/pool.types.ts';
import { type Random, randomOf, seedOf } from '../support/random.ts';
import { testParts } from '../support/test-parts.ts';
import { answerOf } from '../unit/workers/support.ts';

const directory = mkdtempSync(join(tmpdir(), 'lake-origins-'));
let lake: Lake;
let workers: WorkerPool;
beforeAll(async () => {
  const { objects, store, address } = await testParts(directory);
  lake = await openLake({ directory, objects, ...(store && { store }) });
  const far = address && { store: address, objects };
  workers = startWorkerPool({ lakeDirectory: directory, ...far, threads: 1 }, lake);
});
afterAll(async () => {
  await workers.close();
  await lake.close();
  rmSync(directory, { recursive: true });
});

const linesOf = async (text: string): Promise<readonly string[]> =>
  (await answerOf(workers, text)).split('\n').filter((line) => line !== '');
/** Lines that the one has and the other lacks, as often as it has more of them. */
const without = (lines: readonly string[], others: readonly string[]): readonly string[] => {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines
    .filter((line) => {
      const left = counts.get(line) ?? 0;
      if (left > 0) counts.set(line, left - 1);
      return left === 0;
    })
    .sort();
};
const checkDiff = async (pool: string, base: string, to: string): Promise<number> => {
  const [before, after] = [await linesOf(`from ${pool}@${base}`), await linesOf(`from ${pool}@${to}`)];
  const source = `from ${pool}@${to}:diff (base ${base})`;
  const removed = await linesOf(`${source} | change!="added" | values before`);
  const added = await linesOf(`${source} | change!="removed" | values after`);
  expect([...removed].sort()).toEqual(without(before, after));
  expect([...added].sort()).toEqual(without(after, before));
  return removed.length + added.length;
};

class History {
  readonly commits: string[] = [];
  readonly branches = ['main'];
  private readonly pool: Pool;
  private readonly random: Random;
  constructor(pool: Pool, random: Random) {
    this.pool = pool;
    this.random = random;
  }
  /** What the pool refuses is no step. */
  async step(): Promise<void> {
    const { random, pool } = this;
    const branch = random.pick(this.branches);
    const where = random.pick([`k%97==${random.below(97)}`, `k>${random.below(3000)} and k%31==0`, 'k%500<90']);
    try {
      switch (random.below(9)) {
        case 0: {
          const name = `b${this.branches.length}`;
          await pool.createBranch(name, pool.branch(branch).commit);
          this.branches.push(name);
          return;
        }
        case 1:
        case 2:
          this.took(await pool.deleteWhere(branch, workers.prepareDelete(where)));
          return;
        case 3:
        case 4: {
          const put = random.pick(['v:=v+1', 'v:="x"', 'k:=k+1']);
          this.took(await pool.update(branch, workers.prepareUpdate({ where, put })));
          return;
        }
        case 5:
          this.took(await pool.merge(branch, random.pick(this.branches)));
          return;
        case 6:
          this.took(await pool.revert(branch, random.pick(this.commits).slice(2)));
          return;
        case 7:
          await this.compact(branch);
          return;
        default:
          await this.load(branch, 1 + random.below(40));
      }
    } catch (error) {
      if (!(error instanceof LakeError) || error.code === 'internal') throw error;
    }
  }
  async load(branch: string, count: number): Promise<void> {
    const { random, pool } = this;
    const rows = Array.from({ length: count }, () => {
      const text = Array.from({ length: 5 }, () => random.below(1e9).toString(36)).join('');
      return `{k:${random.below(4000)},v:${random.below(3)},t:"${text}"}`;
    });
    const body = (async function* chunks() {
      yield Buffer.from(rows.join('\n'));
    })();
    const outcome = await workers.load({ pool: pool.config, body, format: 'sup' });
    this.took(await outcome.settled(pool.load(branch, outcome.objects)));
  }
  private async compact(branch: string): Promise<void> {
    const { name } = this.pool.config;
    const objects = (await lake.metaPage({ pool: name, commit: branch, meta: 'objects' })).rows.flatMap((row) =>
      row.kind === 'object' ? [row.object.id] : [],
    );
    const some = objects.filter(() => this.random.below(2) === 0);
    if (some.length >= 2) this.took(await this.pool.compact(branch, some, workers.prepareCompact(some)));
  }
  private took({ commit }: { readonly commit: Id }): void {
    this.commits.push(`0x${commit}`);
  }
}

const seed = seedOf(29_201);
const histories = Number(process.env['HISTORIES'] ?? 3);
test(`commits of files compare as their rows do (seed ${seed})`, {
  timeout: 120_000 + histories * 20_000,
}, async () => {
  let changes = 0;
  for (let run = 0; run < histories; run++) {
    const random = randomOf(seed + run);
    const name = `f${run}`;
    const threshold = random.pick([0, 100_000]);
    await lake.createPool({ name, keys: [['k']], order: random.pick(['asc', 'desc']), threshold });
    const history = new History(lake.pool(name), random);
    await history.load('main', 3500);
    for (let n = 0; n < 10; n++) await history.step();
    for (let n = 0; n < 4; n++) {
      const place = (): string => random.pick([...history.branches, ...history.commits]);
      const [base, to] = [place(), place()];
      try {
        changes += await checkDiff(name, base, to);
      } catch (error) {
        throw new Error(`history ${run} (SEED=${seed}), ${base} to ${to}`, { cause: error });
      }
    }
  }
  expect(changes).toBeGreaterThan(0);
});
