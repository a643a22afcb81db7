/**
 * Laws of `:diff` under random histories, beside bags of records: what was taken from the one and given to the other
 * makes it the other, what went and came of one record is one change with its fields, nothing is both taken and given, rows come in the order of the pool's keys, and it does not
 * matter how rows are cut into objects nor how much memory there is. `HISTORIES=2000` runs many.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerPool } from '../../src/workers/pool.types.ts';
import { parseSupValues } from '../../src/vectors/sup/parse.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { types } from '../../src/vectors/type.ts';
import { type Data, type Value, underValue } from '../../src/vectors/value.ts';
import { type Random, randomOf, seedOf } from '../support/random.ts';
import { Course, type LawLake, bagOf, linesOf as rowsOf, openLawLake, plain, refusedOnly } from './courses.ts';

let on: LawLake;
/** Has next to no memory. */
let poor: WorkerPool;
beforeAll(async () => {
  on = await openLawLake('diff');
  poor = on.poor(1 << 18);
});
afterAll(async () => {
  await on.close();
});

/** Not `-0.`: its text is that of `0.`, by which the model tells rows apart. */
const values = [
  '1',
  '1.',
  '0.',
  'NaN',
  '9007199254740993',
  '"a"',
  '"longer text of a record"',
  'null',
  'true',
  '[1,2]',
  '[1,"x"]',
  '|["a"]|',
  '|{"k":1}|',
  '{x:1,y:"z"}',
  '{x:null}',
  'error("e")',
  '2024-01-01T00:00:00Z',
  '"2024-01-01T00:00:00.123Z"',
  '"2024-01-01T00:00:00.124Z"',
  '127.0.0.1',
  '1::uint8',
  '<int64>',
];
const rowOf = (random: Random): string => {
  const kind = random.below(20);
  if (kind === 0) return random.pick(values);
  const k = random.pick(['1', '2', '3', String(random.below(40)), '2.', '"t"', 'null']);
  const v = random.below(3) === 0 ? random.pick(values) : String(random.below(3));
  if (kind === 1) return `{v:${v}}`;
  if (kind < 5) return `{k:${k},v:${v},w:{a:${random.below(2)},b:"${random.below(2)}"}}`;
  return `{k:${k},v:${v}}`;
};

const linesOf = (text: string, by = on.workers): Promise<readonly string[]> => rowsOf(by, text);

/** `apply(base, diff(base, x)) = x`, and no more than that. */
const checkDiff = async (
  { name: pool, keys, identity }: { readonly name: string; readonly keys: Paths; readonly identity: Paths },
  base: string,
  to: string,
  wants: (line: string) => void,
): Promise<void> => {
  const source = `from ${pool}@${to}:diff (base ${base})`;
  const bag = bagOf(await linesOf(`from ${pool}@${base}`));
  const removed = bagOf(await linesOf(`${source} | change!="added" | values before`));
  const added = bagOf(await linesOf(`${source} | change!="removed" | values after`));
  expect([...removed.keys()].filter((line) => added.has(line))).toEqual([]);
  for (const [line, n] of removed) bag.set(line, (bag.get(line) ?? 0) - n);
  for (const [line, n] of added) bag.set(line, (bag.get(line) ?? 0) + n);
  const applied = new Map([...bag].filter(([, n]) => n !== 0));
  expect(plain(applied)).toEqual(plain(bagOf(await linesOf(`from ${pool}@${to}`))));
  const all = await linesOf(source);
  for (const line of all) wants(line);
  checkVersions(all, keys, identity);
  expect(plain(bagOf(await linesOf(source, poor)))).toEqual(plain(bagOf(all)));
  // The same as a query of whole values would have it, and the order of the pool.
  const counted = await linesOf(
    `${source} | unnest (change=="changed" ? ["removed","added"] : [change]) | count() by change:=this | sort change`,
  );
  expect(counted).toEqual(
    (['added', 'removed'] as const).flatMap((change) => {
      const n = [...(change === 'added' ? added : removed).values()].reduce((sum, x) => sum + x, 0);
      return n > 0 ? [`{change:"${change}",count:${n}}`] : [];
    }),
  );
};

type Paths = readonly (readonly string[])[];
const at = (value: Value | undefined, path: readonly string[]): Value | undefined => {
  if (path.length === 0 || !value) return value;
  const { type, data } = underValue(value);
  const place = type.kind === 'record' ? type.fields.findIndex(({ name }) => name === path[0]) : -1;
  if (type.kind !== 'record' || place < 0) return undefined;
  return at({ type: type.fields[place]!.type, data: (data as readonly Data[])[place]! }, path.slice(1));
};
const isNothing = (value: Value | undefined): boolean =>
  !value || underValue(value).type === types.null || underValue(value).type.kind === 'error';
const namesOf = (value: Value): readonly string[] =>
  value.type.kind === 'record' ? value.type.fields.map(({ name }) => name) : [];
/** What differs, looked for value by value. */
const differing = (before: Value, after: Value, path: readonly string[] = []): Paths =>
  [...new Set([...namesOf(after), ...namesOf(before)])].flatMap((name) => {
    const [was, is] = [at(before, [name]), at(after, [name])];
    const inner = [...path, name];
    if (was?.type.kind === 'record' && is?.type.kind === 'record') return differing(was, is, inner);
    return was && is && supText(was) === supText(is) ? [] : [inner];
  });

/**
 * A record is one change where either side has one of its identity at its keys that the other lacks, else two, and so
 * are all of a pool without an identity.
 */
const checkVersions = (lines: readonly string[], keys: Paths, identity: Paths): void => {
  const counts = new Map<string, { removed: number; added: number; changed: number }>();
  for (const line of lines) {
    const row = parseSupValues(line)[0]!;
    const [before, after] = [at(row, ['before'])!, at(row, ['after'])!];
    const change = at(row, ['change'])!.data as 'removed' | 'added' | 'changed';
    for (const one of change === 'changed' ? [before, after] : [change === 'added' ? after : before]) {
      const ids = identity.map((path) => at(one, path));
      const own = ids.length > 0 && !ids.some(isNothing);
      const key = [...ids, ...keys.map((path) => at(one, path))].map((value) =>
        isNothing(value) ? 'null' : supText(value!),
      );
      const text = own ? key.join(' ') : 'none';
      const count = counts.get(text) ?? { removed: 0, added: 0, changed: 0 };
      counts.set(text, count);
      count[change]++;
    }
    if (change !== 'changed') expect(at(row, ['fields'])).toBeUndefined();
    else {
      const fields = (at(row, ['fields'])!.data as readonly (readonly Data[])[]).map((path) =>
        path.map((name) => supText({ type: types.string, data: name })),
      );
      expect(fields, line).toEqual(differing(before, after).map((path) => path.map((name) => JSON.stringify(name))));
    }
  }
  for (const [text, { removed, added, changed }] of counts) {
    if (text === 'none') expect(changed).toBe(0);
    else if (changed > 0) expect([text, removed, added, changed]).toEqual([text, 0, 0, 2]);
    else expect([text, removed === 1 && added === 1]).toEqual([text, false]);
  }
};

class History extends Course {
  /** What the pool refuses is no step. */
  async step(): Promise<void> {
    await this.change(this.random.pick(this.branches)).catch(refusedOnly);
  }
  private async change(branch: string): Promise<void> {
    const { random, pool, workers } = this;
    switch (random.below(10)) {
      case 0:
        await this.fork(branch);
        return;
      case 1:
      case 2: {
        const condition = random.pick(['k==1', 'k==2', 'k > 20', 'v==1', 'v==0', 'is(k, <string>)', 'k==null']);
        return this.took(await pool.deleteWhere(branch, workers.prepareDelete(condition)));
      }
      case 3:
        return this.compact(branch);
      case 4:
        return this.took(await pool.merge(branch, random.pick(this.branches)));
      case 5:
        return this.took(await pool.revert(branch, random.pick(this.commits).slice(2)));
      default:
        await this.grow(branch);
    }
  }
  grow(branch: string): Promise<void> {
    return this.load(
      branch,
      Array.from({ length: 1 + this.random.below(30) }, () => rowOf(this.random)),
    );
  }
}

const seed = seedOf(29_001);
const histories = Number(process.env['HISTORIES'] ?? 8);
test(`random histories keep the laws of comparisons (seed ${seed})`, {
  timeout: 120_000 + histories * 10_000,
}, async () => {
  let changes = 0;
  for (let run = 0; run < histories; run++) {
    const random = randomOf(seed + run);
    const name = `h${run}`;
    const keys = random.pick([[['k']], [['k'], ['v']], [['w', 'a']], [['none']]]);
    const identity = random.pick<Paths>([[], [['k']], [['k'], ['w', 'b']], [['v']]]);
    await on.lake.createPool({
      name,
      keys,
      identity,
      order: random.pick(['asc', 'desc']),
      threshold: random.pick([200, 2000, 0]),
    });
    const history = new History(on, name, random);
    await history.grow('main');
    for (let n = 0; n < 12; n++) await history.step();
    for (let n = 0; n < 4; n++) {
      const place = (): string => random.pick([...history.branches, ...history.commits]);
      try {
        await checkDiff({ name, keys, identity }, place(), place(), () => changes++);
      } catch (error) {
        throw new Error(
          `history ${run} (SEED=${seed}), keys ${JSON.stringify(keys)}, identity ${JSON.stringify(identity)}`,
          { cause: error },
        );
      }
    }
    const tip = history.branches.at(-1)!;
    const before = await linesOf(`from ${name}@${tip}:diff (base ${history.commits[0]!})`);
    await history.compact(tip);
    const after = await linesOf(`from ${name}@${tip}:diff (base ${history.commits[0]!})`);
    expect(plain(bagOf(after)), `compaction in history ${run}`).toEqual(plain(bagOf(before)));
  }
  expect(changes).toBeGreaterThan(0);
});
