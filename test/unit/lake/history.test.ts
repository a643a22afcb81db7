import { describe, expect, test } from 'vitest';
import { ancestors, commonAncestors } from '../../../src/lake/commits/history.ts';
import { zeroId } from '../../../src/lake/ksuid.ts';
import type { StoredCommit } from '../../../src/lake/tables/rows.ts';
import { inlineObject, keysAt, metaRows, newPool, openTestLake, temporaryDirectory } from './support.ts';

/** A history from lines like `c: a b` (commit c has the parents a and b). */
const history = (...lines: readonly string[]) => {
  const commits = new Map<string, StoredCommit>();
  for (const line of lines) {
    const [id, parents] = line.split(':').map((part) => part.trim()) as [string, string];
    const [parent = zeroId, secondParent] = parents.split(' ').filter(Boolean);
    const height = 1 + Math.max(commits.get(parent)?.height ?? 0, secondParent ? commits.get(secondParent)!.height : 0);
    commits.set(id, {
      id,
      parent,
      ...(secondParent && { secondParent }),
      height,
      author: '',
      dateNs: 0n,
      message: '',
      meta: 'null',
      adds: [],
      deletes: [],
    });
  }
  return (id: string) => commits.get(id);
};

describe('common ancestors', () => {
  const read = history('a:', 'b: a', 'c: a', 'd: b', 'e: c', 'f: d e', 'g: e d', 'h: f', 'i: g', 'lone:', 'j: h lone');
  test.each([
    ['b', 'c', ['a']],
    ['d', 'b', ['b']],
    ['a', 'a', ['a']],
    ['f', 'e', ['e']],
    ['a', 'lone', [zeroId]],
    ['b', zeroId, [zeroId]],
    ['j', 'lone', ['lone']],
    ['j', 'c', ['c']],
  ])('of %s and %s: %j', async (first, second, best) => {
    expect(await commonAncestors(read, first, second)).toEqual(best);
    expect(await commonAncestors(read, second, first)).toEqual(best);
  });
  test('crosswise merges have both sides as best ancestors', async () => {
    expect(new Set(await commonAncestors(read, 'h', 'i'))).toEqual(new Set(['d', 'e']));
  });
  test('every ancestor comes once, before its own ancestors', async () => {
    const seen: string[] = [];
    for await (const commit of ancestors(read, 'f')) seen.push(commit.id);
    expect([...seen].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect([seen[0], seen.at(-1)]).toEqual(['f', 'a']);
  });
});

describe('a long history', () => {
  test('20,000 commits: a warm tip, a cold one and an old commit cost their objects, not the history', {
    timeout: 300_000,
  }, async () => {
    const directory = await temporaryDirectory();
    const lake = await openTestLake({ directory });
    const pool = await newPool(lake);
    const median = async (runs: number, call: () => Promise<void>): Promise<number> => {
      const times: number[] = [];
      for (let i = 0; i < runs; i++) {
        const start = performance.now();
        await call();
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b)[runs >> 1]!;
    };
    const firstPage = async (): Promise<void> => {
      const snapshot = await lake.openSnapshot('p', 'main');
      snapshot.page({ limit: 1 });
      snapshot.release();
    };
    // Each step loads 64 objects and deletes them again: the history grows, the tip stays at 101 objects.
    await Promise.all(Array.from({ length: 100 }, (_, i) => pool.load('main', [inlineObject(i)])));
    const small = await median(200, firstPage);
    const { commit: old } = await pool.load('main', [inlineObject(100)]);
    for (let i = 0; i < 20_000 / 65; i++) {
      const objects = Array.from({ length: 64 }, (_, n) => inlineObject(1000 + i + n));
      await Promise.all(objects.map((object) => pool.load('main', [object])));
      await pool.deleteObjects(
        'main',
        objects.map((object) => object.id),
      );
    }
    const large = await median(200, firstPage);
    expect(large).toBeLessThan(small * 2 + 0.05);
    await lake.close();

    const start = performance.now();
    const again = await openTestLake({ directory });
    const opened = performance.now();
    expect((await keysAt(again, 'p', 'main')).length).toBe(101);
    const tip = performance.now();
    expect((await keysAt(again, 'p', old)).length).toBe(101);
    const past = performance.now();
    console.log(
      `20,000 commits, 101 objects: warm first page ${large.toFixed(3)} ms (after 100 commits ${small.toFixed(3)}), opening ${(opened - start).toFixed(1)} ms, cold tip ${(tip - opened).toFixed(1)} ms, old commit ${(past - tip).toFixed(1)} ms`,
    );
    // Walking the whole history, as the log does, is what must not happen.
    const walked = performance.now();
    expect((await metaRows(again, 'p', 'log')).length).toBeGreaterThan(20_000);
    const walk = performance.now() - walked;
    expect(tip - opened).toBeLessThan(walk / 2);
    expect(past - tip).toBeLessThan(walk / 2);
  });
});
