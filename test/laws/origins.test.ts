/**
 * Laws of `:diff` and of merges where objects have files, so that the origins of their rows are known: random histories
 * of deletes, updates, loads, merges, reverts and compactions, beside what the rows of both commits say themselves.
 * `HISTORIES=200` runs many.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomOf, seedOf } from '../support/random.ts';
import { Course, type LawLake, linesOf as rowsOf, openLawLake, refusedOnly } from './courses.ts';

let on: LawLake;
beforeAll(async () => {
  on = await openLawLake('origins');
});
afterAll(async () => {
  await on.close();
});

const linesOf = (text: string): Promise<readonly string[]> => rowsOf(on.workers, text);
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

class History extends Course {
  /** What the pool refuses is no step. */
  async step(): Promise<void> {
    await this.change(this.random.pick(this.branches)).catch(refusedOnly);
  }
  private async change(branch: string): Promise<void> {
    const { random, pool, workers } = this;
    const where = random.pick([`k%97==${random.below(97)}`, `k>${random.below(3000)} and k%31==0`, 'k%500<90']);
    switch (random.below(9)) {
      case 0:
        await this.fork(branch);
        return;
      case 1:
      case 2:
        return this.took(await pool.deleteWhere(branch, workers.prepareDelete(where)));
      case 3:
      case 4: {
        const put = random.pick(['v:=v+1', 'v:="x"', 'k:=k+1']);
        return this.took(await pool.update(branch, workers.prepareUpdate({ where, put })));
      }
      case 5:
        return this.took(await pool.merge(branch, random.pick(this.branches)));
      case 6:
        return this.took(await pool.revert(branch, random.pick(this.commits).slice(2)));
      case 7:
        return this.compact(branch);
      default:
        await this.grow(branch, 1 + random.below(40));
    }
  }
  async grow(branch: string, count: number): Promise<void> {
    const { random } = this;
    const rows = Array.from({ length: count }, () => {
      const text = Array.from({ length: 5 }, () => random.below(1e9).toString(36)).join('');
      return `{k:${random.below(4000)},v:${random.below(3)},t:"${text}"}`;
    });
    await this.load(branch, rows);
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
    await on.lake.createPool({ name, keys: [['k']], order: random.pick(['asc', 'desc']), threshold });
    const history = new History(on, name, random);
    await history.grow('main', 3500);
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
