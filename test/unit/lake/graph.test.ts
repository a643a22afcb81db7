/** The graph of a pool's commits, read page by page from a lake with random merges, beside what its log says. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type GraphCommit, type Pool } from '../../../src/client/client.ts';
import { randomOf, seedOf } from '../../support/random.ts';
import { startService, type TestService } from '../../support/service/server.ts';

let service: TestService;
let pool: Pool;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  pool = await connect(service.url).createPool('p', { keys: [['k']] });
});
afterAll(() => service.close());

/** All commits, in pages of a size. */
const all = async (limit: number): Promise<readonly GraphCommit[]> => {
  const found: GraphCommit[] = [];
  for (let from: readonly string[] | undefined; ; ) {
    const { commits, next } = await pool.graph({ limit, ...(from && { from }) });
    found.push(...commits);
    if (next.length === 0) return found;
    from = next;
  }
};

test('pages of any size give each commit once, before its parents, with both parents of a merge and what it added and removed', async () => {
  const seed = seedOf(10);
  const random = randomOf(seed);
  const made = new Map<string, { readonly parents: readonly string[]; readonly records: number }>();
  const names = ['main'];
  const tip = (name: string): Promise<string> => pool.branch(name).tip();
  const zero = `0x${'0'.repeat(40)}`;
  for (let i = 0; i < 60; i++) {
    const name = random.pick(names);
    const other = random.pick(names);
    const before = await tip(name);
    if (random.below(4) === 0 && other !== name) {
      const child = await tip(other);
      const merged = await pool
        .branch(name)
        .merge(other)
        .catch(() => undefined);
      if (merged) made.set(merged.commit, { parents: [before, child].filter((id) => id !== zero), records: -1 });
    } else if (random.below(5) === 0 && before !== zero) {
      names.push(`b${i}`);
      await pool.createBranch(`b${i}`, before);
    } else {
      const rows = Array.from({ length: 1 + random.below(5) }, (_, at) => ({ k: BigInt(i * 10 + at) }));
      const { commit } = await pool.branch(name).insert(rows, { author: name, message: `number ${i}` });
      made.set(commit, { parents: before === zero ? [] : [before], records: rows.length });
    }
  }
  const one = await all(1000);
  expect(one.map((c) => c.id).sort(), `seed ${seed}`).toEqual([...made.keys()].sort());
  expect([...made.values()].some((c) => c.parents.length === 2)).toBe(true);
  const places = new Map(one.map((c, i) => [c.id, i]));
  for (const commit of one) {
    const { parents, records } = made.get(commit.id)!;
    expect(commit.parents).toEqual(parents);
    if (records >= 0)
      expect(commit).toMatchObject({ added: { objects: 1, records }, removed: { objects: 0, records: 0, bytes: 0 } });
    for (const parent of parents) expect(places.get(parent)).toBeGreaterThan(places.get(commit.id)!);
  }
  for (const limit of [1, 7]) expect((await all(limit)).map((c) => c.id)).toEqual(one.map((c) => c.id));
});

test('what a branch and a commit hold is what a query counts', async () => {
  for (const { name, commit } of await pool.branches()) {
    const records = Number(await connect(service.url).query(`from p@${name} | count()`).first());
    expect(await pool.sums(name)).toMatchObject({ commit, records });
    expect(await pool.sums(commit)).toEqual(await pool.sums(name));
  }
});
