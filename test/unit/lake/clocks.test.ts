/**
 * Clocks that are wrong: before the first second of KSUIDs, after the last one, and set to and fro; between starts too.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LakeDraws } from '../../../src/lake/draws.ts';
import { IdDraws, idBuffer, newIdText, parseId, zeroId } from '../../../src/lake/ksuid.ts';
import type { ClockNote } from '../../../src/lake/lake.types.ts';
import { Retries } from '../../../src/lake/commits/retries.ts';
import { branchKey, encodeBranch } from '../../../src/lake/tables/rows.ts';

import { randomOf, seedOf } from '../../support/random.ts';
import { inlineObject, metaRows, newPool, openTestLake, tablesOf, temporaryDirectory } from './support.ts';

const epochMs = Date.UTC(2014, 4, 13, 16, 53, 20);
const lastMs = epochMs + 0xffff_ffff * 1000;
const moments: Readonly<Record<string, number>> = {
  'before 1970': -86_400_000,
  '1970': 0,
  'a second before the first id': epochMs - 1000,
  'the first second': epochMs,
  '2026': Date.UTC(2026, 10, 23),
  'the last second': lastMs,
  '2150, after it': lastMs + 1000,
  '2200': Date.UTC(2200, 0, 1),
};
const setClock = (ms: number): void => {
  vi.spyOn(Date, 'now').mockReturnValue(ms);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
};

describe('ids', () => {
  test.each(Object.entries(moments))('are 40 hexadecimal digits and rise: %s', (_, ms) => {
    const draws = new IdDraws(() => ms);
    const ids = Array.from({ length: 300 }, () => draws.newId());
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{40}$/);
    expect([...new Set(ids)].sort()).toEqual(ids);
    expect(draws.corrections).toBe(ms < epochMs || ms > lastMs + 999 ? 300 : 0);
    expect(parseId(draws.newIdText())! > ids.at(-1)!).toBe(true);
  });
  test('rise whatever the clock does between them, and from one that was drawn before', () => {
    const seed = seedOf(1);
    const random = randomOf(seed);
    const times = Object.values(moments);
    let clock = 0;
    let last = zeroId;
    let draws = new IdDraws(() => clock);
    for (let i = 0; i < 5000; i++) {
      if (random.below(3) === 0) clock = random.pick(times) + random.below(5000);
      if (random.below(50) === 0) (draws = new IdDraws(() => clock)).goOnFrom(last);
      const id = draws.newId();
      if (!/^[0-9a-f]{40}$/.test(id) || id <= last) expect.fail(`seed ${seed}, id ${i}: ${id} after ${last}`);
      last = id;
    }
  });
  test('of requests are valid too', () => {
    setClock(0);
    expect(parseId(newIdText())).toMatch(/^[0-9a-f]{40}$/);
  });
  test('what is none is never made a key', () => {
    for (const text of ['', '-5370fc7e', `-${'5'.repeat(40)}`, '1'.repeat(41), '1'.repeat(39)])
      expect(() => idBuffer(text)).toThrow('is no id');
  });
});

describe('times and notes', () => {
  test('no time is a whole millisecond, whatever the clock shows and however often it is asked', () => {
    let clock = Date.UTC(2026, 0, 1);
    const draws = new LakeDraws(undefined, () => clock);
    const whole: bigint[] = [];
    for (let i = 0; i < 5000; i++) {
      if (i % 500 === 0) clock += 1;
      const ns = draws.nowNs();
      if (ns % 1_000_000n === 0n) whole.push(ns);
    }
    expect(whole).toEqual([]);
  });
  test('times never fall; one note when the clock falls behind, one when it has caught up', () => {
    let clock = Date.UTC(2026, 0, 1);
    const notes: ClockNote[] = [];
    const draws = new LakeDraws(
      (note) => {
        notes.push(note);
      },
      () => clock,
    );
    const times: bigint[] = [];
    const draw = (ms: number): void => {
      clock = ms;
      for (let i = 0; i < 3; i++) {
        draws.newId();
        times.push(draws.nowNs());
      }
    };
    for (const ms of [clock, 0, 5000, Date.UTC(2026, 0, 2), Date.UTC(2300, 0, 1)]) draw(ms);
    expect([...times].sort((a, b) => (a < b ? -1 : 1))).toEqual(times);
    expect(new Set(times).size).toBe(times.length);
    expect(times.at(-1)! < 2n ** 63n).toBe(true);
    expect(notes.map(({ isBehind }) => isBehind)).toEqual([true, false, true]);
    expect(notes[0]).toEqual({ isBehind: true, clockMs: 0, idMs: Date.UTC(2026, 0, 1) });
    expect(draws.clock.corrections).toBe(9);
  });
});

describe('a lake', () => {
  test('goes on from its newest commit where the clock stands in 1970 at the start; the graph has children before parents', async () => {
    setClock(Date.UTC(2040, 0, 1));
    const lake = await openTestLake();
    const pool = await newPool(lake);
    const { commit: before } = await pool.load('main', [inlineObject(1)]);
    await lake.close();
    setClock(0);
    const notes: ClockNote[] = [];
    const again = await openTestLake({
      directory: lake.directory,
      clockNoted: (note) => {
        notes.push(note);
      },
    });
    const { commit } = await again.pool('p').load('main', [inlineObject(2)]);
    expect(commit > before).toBe(true);
    expect((await again.pool('p').graph({ limit: 10 })).commits.map(({ id }) => id)).toEqual([commit, before]);
    expect(notes).toEqual([{ isBehind: true, clockMs: 0, idMs: Date.UTC(2040, 0, 1) }]);
    expect(again.figures().idsAheadSeconds).toBe(Date.UTC(2040, 0, 1) / 1000);
  });

  test.each(['1970', '2200'])(
    'is made, written and read with a clock of %s, and opens again with the right one',
    async (year) => {
      setClock(moments[year]!);
      const lake = await openTestLake();
      const pool = await newPool(lake);
      const made: string[] = [pool.config.id];
      for (let i = 0; i < 5; i++) made.push((await pool.load('main', [inlineObject(i)])).commit);
      expect(lake.figures().clockCorrections).toBeGreaterThan(0);
      await lake.close();
      setClock(Date.UTC(2026, 10, 23));
      const again = await openTestLake({ directory: lake.directory });
      for (let i = 5; i < 8; i++) made.push((await again.pool('p').load('main', [inlineObject(i)])).commit);
      made.push((await newPool(again, 'q')).config.id);
      expect(made.map((id) => /^[0-9a-f]{40}$/.test(id))).toEqual(made.map(() => true));
      expect([...made].sort()).toEqual(made);
      expect((await metaRows(again, 'p', 'log')).filter(({ kind }) => kind === 'commit').length).toBe(8);
    },
  );
});

test('a key that was used a moment ago is known when the clock has jumped, either way', async () => {
  const tables = await tablesOf(await temporaryDirectory());
  const key = (n: number): string => String(n).repeat(64);
  setClock(0);
  const pool = '2'.repeat(40);
  const branch = { name: 'main', tsNs: 1n, commit: zeroId };
  const branchRow = { table: 'branches', key: branchKey(pool, 'main'), payload: encodeBranch(branch) } as const;
  await tables.write([branchRow]);
  const use = (n: number): Promise<void> =>
    tables.write(
      retries.changes({ key: key(n), request: key(9), body: key(8) }, '1'.repeat(40), { key: branchRow.key, branch }),
    );
  const retries = new Retries(tables, 60_000);
  const known = (): readonly boolean[] => [1, 2, 3].map((n) => retries.find(key(n)) !== undefined);
  await use(1);
  setClock(Date.UTC(2026, 10, 23));
  await use(2);
  expect(known()).toEqual([true, true, false]);
  setClock(0);
  await use(3);
  expect(known()).toEqual([true, true, true]);
});
