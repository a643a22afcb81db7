/**
 * Laws of merges by record under random histories, beside bags of records: what comes of a merge follows from the
 * records of base and sides alone, whichever side is merged into the other, however rows are cut into objects and
 * however much memory there is; the second merge has nothing to do; a pick that is reverted was nothing.
 * `HISTORIES=2000` runs many, the seed is told.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Combination, RecordRule } from '../../src/lake/lake.types.ts';
import type { WorkerPool } from '../../src/workers/pool.types.ts';
import { LakeError } from '../../src/errors.ts';
import { parseSup } from '../../src/vectors/sup/parse.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { types } from '../../src/vectors/type.ts';
import { underValue } from '../../src/vectors/value.ts';
import { type Random, randomOf, seedOf } from '../support/random.ts';
import { type Bag, Course, type LawLake, bagOf, openLawLake, plain, refusedOnly } from './courses.ts';

let on: LawLake;
/** Has next to no memory. */
let poor: WorkerPool;
beforeAll(async () => {
  on = await openLawLake('merge');
  poor = on.poor(1 << 12);
});
afterAll(async () => {
  await on.close();
});

/** Not `-0.`: its text is that of `0.`, by which the model tells keys apart. */
const oddKeys = ['null', '2.', '"t"', 'error("e")', '0.', 'NaN', '1::uint8'];
const rowOf = (random: Random): string => {
  const id = random.below(12) === 0 ? random.pick(oddKeys) : String(random.below(12));
  const v = random.pick(['0', '1', '2', '1.', '"x"', 'null', '[1]']);
  if (random.below(15) === 0) return `{v:${v}}`;
  return random.below(3) === 0 ? `{id:${id},v:${v},w:${random.below(3)}}` : `{id:${id},v:${v}}`;
};

type Content = ReadonlyMap<string, Bag>;
const isSame = (a: Bag, b: Bag): boolean => a.size === b.size && [...a].every(([line, n]) => b.get(line) === n);
const none: Bag = new Map();

/** The identity of a row; undefined where it has none. */
const keyOf = (line: string): string | undefined => {
  const { type, data } = parseSup(line)!;
  if (type.kind !== 'record') return undefined;
  const at = type.fields.findIndex(({ name }) => name === 'id');
  const own = at < 0 ? undefined : (data as readonly unknown[])[at];
  if (own === undefined) return undefined;
  const value = { type: type.fields[at]!.type, data: own } as Parameters<typeof supText>[0];
  const under = underValue(value).type;
  return under === types.null || under.kind === 'error' ? undefined : supText(value);
};
const byKey = (lines: readonly string[]): Content => {
  const groups = new Map<string, string[]>();
  for (const line of lines) {
    const key = keyOf(line);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  return new Map([...groups].map(([key, rows]) => [key, bagOf(rows)]));
};

/** What whole values come to, and the least and most where objects tell more than records. */
const bagRule = (base: number, ours: number, theirs: number): readonly [number, number, number] => {
  const sum = ours + theirs - base;
  if (ours >= base || theirs >= base) return [sum, sum, sum];
  return [Math.min(ours, theirs), Math.max(0, sum), ours + theirs];
};

interface Expected {
  readonly exact: Bag;
  readonly least: Bag;
  readonly most: Bag;
  readonly conflicts: number;
}
/** What is to come of a merge that takes `side` of what is in conflict. */
const expected = (
  [base, ours, theirs]: readonly (readonly string[])[],
  isKeyed: boolean,
  side: 'ours' | 'theirs',
): Expected => {
  const bags = [base!, ours!, theirs!].map((lines) =>
    bagOf(isKeyed ? lines.filter((line) => keyOf(line) === undefined) : lines),
  );
  const found = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()] as const;
  const add = (line: string, counts: readonly number[]): void => {
    for (const [i, count] of counts.entries()) if (count > 0) found[i]!.set(line, (found[i]!.get(line) ?? 0) + count);
  };
  for (const line of new Set(bags.flatMap((bag) => [...bag.keys()]))) {
    const [b, o, t] = bags.map((bag) => bag.get(line) ?? 0);
    add(line, bagRule(b!, o!, t!));
  }
  let conflicts = 0;
  if (isKeyed) {
    const sides = [base!, ours!, theirs!].map(byKey);
    for (const key of new Set(sides.flatMap((content) => [...content.keys()]))) {
      const [b, o, t] = sides.map((content) => content.get(key) ?? none) as [Bag, Bag, Bag];
      const isConflict = !isSame(o, b) && !isSame(t, b) && !isSame(o, t);
      if (isConflict) conflicts++;
      const taken = isConflict ? (side === 'ours' ? o : t) : isSame(o, b) ? t : o;
      for (const [line, n] of taken) add(line, [n, n, n]);
    }
  }
  const [exact, least, most] = found;
  return { exact, least, most, conflicts };
};
/** A pool with a base and two branches that went on from it. */
class Branches extends Course {
  grow(branch: string): Promise<void> {
    return this.load(
      branch,
      Array.from({ length: 1 + this.random.below(8) }, () => rowOf(this.random)),
    );
  }
  async change(branch: string): Promise<void> {
    if (this.random.below(2) === 0) return this.grow(branch);
    const where = this.random.pick(['id==1', 'id < 4', 'v==1', 'v=="x"', 'id==null', 'w==1', 'is(id, <string>)']);
    await this.pool.deleteWhere(branch, this.workers.prepareDelete(where)).catch(refusedOnly);
  }
  /** The commit that was made; undefined: there was nothing to do. */
  async combine(combination: Combination, rule: RecordRule, by = this.workers): Promise<string | undefined> {
    try {
      return (await this.pool.combine(combination, {}, by.prepareRecords(rule))).commit;
    } catch (error) {
      if (error instanceof LakeError && /^(?:merge|pick|revert)-empty$/.test(error.code)) return undefined;
      throw error;
    }
  }
}

const checkMerge = async (course: Branches, isKeyed: boolean, base: string): Promise<void> => {
  const side = 'theirs';
  const sides = [await course.lines(base), await course.lines('main'), await course.lines('kid')];
  const wanted = expected(sides, isKeyed, side);
  const merge = (target: string, child: string): Combination => ({ kind: 'merge', target, child });
  const preview = await course.pool.previewCombined(merge('main', 'kid'), { prepare: on.workers.prepareRecords({}) });
  expect(preview.records?.conflicts ?? 0).toBe(wanted.conflicts);
  if (wanted.conflicts > 0)
    await expect(course.combine(merge('main', 'kid'), {})).rejects.toMatchObject({ code: 'merge-records' });
  const isExact = preview.records !== undefined;
  const check = (lines: readonly string[]): void => {
    const found = bagOf(lines);
    if (isExact) expect(plain(found)).toEqual(plain(wanted.exact));
    for (const line of new Set([...found.keys(), ...wanted.most.keys()])) {
      expect(found.get(line) ?? 0, line).toBeGreaterThanOrEqual(wanted.least.get(line) ?? 0);
      expect(found.get(line) ?? 0, line).toBeLessThanOrEqual(wanted.most.get(line) ?? 0);
    }
  };
  const [one, other, thin] = [await course.fork('main'), await course.fork('kid'), await course.fork('main')];
  await course.combine(merge(one, 'kid'), { resolve: side });
  check(await course.lines(one));
  expect(await course.combine(merge(one, 'kid'), {})).toBeUndefined();
  await course.combine(merge(other, 'main'), { resolve: 'ours' });
  const content = plain(bagOf(await course.lines(one)));
  expect(plain(bagOf(await course.lines(other)))).toEqual(content);
  await course.combine(merge(thin, 'kid'), { resolve: side }, poor);
  expect(plain(bagOf(await course.lines(thin)))).toEqual(content);
  // However rows are cut into objects.
  const [ours, theirs] = [await course.fork('main'), await course.fork('kid')];
  await course.compact(ours, 2 / 3);
  await course.compact(theirs, 2 / 3);
  await course.combine(merge(ours, theirs), { resolve: side });
  check(await course.lines(ours));
  if (isExact) expect(plain(bagOf(await course.lines(ours)))).toEqual(content);
};

const checkPick = async (course: Branches): Promise<void> => {
  const branch = await course.fork('main');
  const before = plain(bagOf(await course.lines(branch)));
  const picked = course.pool.picked(`0x${course.pool.branch('kid').commit}`);
  const commit = await course.combine({ kind: 'pick', branch, ...picked }, { resolve: 'theirs' });
  if (commit === undefined) return;
  await course.combine({ kind: 'revert', branch, commit }, {});
  expect(plain(bagOf(await course.lines(branch)))).toEqual(before);
};

const seed = seedOf(29_002);
const histories = Number(process.env['HISTORIES'] ?? 4);
test(`random histories keep the laws of merges (seed ${seed})`, { timeout: 120_000 + histories * 10_000 }, async () => {
  for (let run = 0; run < histories; run++) {
    const random = randomOf(seed + run);
    const isKeyed = run % 2 === 0;
    const name = `h${run}`;
    const keys = random.pick([[['id']], [['v']], [['id'], ['v']], [['none']]]);
    const threshold = random.pick([200, 2000, 0]);
    const identity = isKeyed ? { identity: [['id']] } : {};
    await on.lake.createPool({ name, keys, order: random.pick(['asc', 'desc']), threshold, ...identity });
    const course = new Branches(on, name, random);
    for (let n = 0; n <= random.below(3); n++) await course.grow('main');
    const base = `0x${course.pool.branch('main').commit}`;
    await course.pool.createBranch('kid', base);
    for (let n = 0; n < 5; n++) await course.change(random.pick(['main', 'kid']));
    if (random.below(2) === 0) await course.compact(random.pick(['main', 'kid']), 2 / 3);
    try {
      await checkMerge(course, isKeyed, base);
      await checkPick(course);
    } catch (error) {
      throw new Error(`history ${run} (SEED=${seed}), keys ${JSON.stringify(keys)}`, { cause: error });
    }
  }
});
