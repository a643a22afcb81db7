/**
 * Part `clocks`: histories under a clock that is in 1970, 2014, 2150 or jumps between them, also while the lake is
 * closed. Ids rise in the order in which they were drawn, children come before parents in the graph, no commit is lost,
 * `lake fsck` finds nothing. Every tenth seed is the built service in a process with such a clock: each answer is JSON.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyBound, Lake, ObjectMeta } from '../../src/lake/lake.types.ts';
import { sortKeyBytes } from '../../src/vectors/sort-key.ts';
import { intValue } from '../../src/vectors/value.ts';
import { startBuiltService } from '../support/service/built.ts';
import { checkLake } from '../support/service/lake-command.ts';
import { type Random, randomOf } from '../support/random.ts';
import { checkBuiltLake, newObjectId, openBuiltLake, stateOf } from './built-lake.ts';
import type { PartRun } from './part.ts';

const epochMs = Date.UTC(2014, 4, 13, 16, 53, 20);
const moments = [
  0,
  1000,
  epochMs - 1000,
  epochMs,
  Date.UTC(2026, 0, 1),
  Date.UTC(2149, 11, 31),
  epochMs + 0xffff_ffff * 1000,
  Date.UTC(2151, 0, 1),
];
const someTime = (random: Random): number =>
  random.pick(moments) + random.below(random.below(2) === 0 ? 3000 : 86_400_000);
const stepsPerOpen = 12;
const opens = 3;

type Count = (name: string, n?: number) => void;

export const clocks: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const lake = join(folder, `lake-${seed}`);
    const random = randomOf(seed + 101);
    try {
      await (seed % 10 === 0 ? ofService(lake, random, count) : ofLake(lake, random, count));
      count('histories');
    } catch (error) {
      failed(seed, error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      rmSync(lake, { recursive: true, force: true });
    }
  }
};

/** Whether these ids rise, and are ids. */
const faultOfIds = (ids: readonly string[]): string | undefined => {
  const at = ids.findIndex((id, i) => !/^[0-9a-f]{40}$/.test(id) || (i > 0 && id <= ids[i - 1]!));
  return at < 0 ? undefined : `id ${at} is ${ids[at]}, after ${ids[at - 1]}`;
};

const ofLake = async (directory: string, random: Random, count: Count): Promise<void> => {
  const real = Date.now;
  const drawn: string[] = [];
  const keys = new Map<string, number[]>();
  let key = 0;
  try {
    for (let open = 0; open < opens; open++) {
      let clock = someTime(random);
      Date.now = () => clock++;
      const lake = await openBuiltLake(directory, (fault) => {
        throw fault;
      });
      if (
        JSON.stringify(sorted(await stateOf(lake))) !==
        JSON.stringify(sorted({ ...(open > 0 && { p: Object.fromEntries(keys) }) }))
      )
        throw new Error('another state after the start');
      if (open === 0) {
        drawn.push((await lake.createPool({ name: 'p', keys: [['k']] })).pool.id);
        keys.set('main', []);
      }
      for (let step = 0; step < stepsPerOpen; step++) {
        if (random.below(3) === 0) {
          clock = someTime(random);
          count('jumps');
        }
        key = await doStep(lake, random, { drawn, keys, key });
      }
      await checkGraph(lake);
      await lake.close();
    }
  } finally {
    Date.now = real;
  }
  const fault = faultOfIds(drawn);
  if (fault !== undefined) throw new Error(fault);
  count('ids', drawn.length);
  const { faults } = await checkBuiltLake(directory);
  if (faults.length > 0) throw new Error(`fsck: ${faults.join('; ')}`);
};
const sorted = (state: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>): unknown =>
  Object.entries(state)
    .sort()
    .map(([pool, branches]) => [
      pool,
      Object.entries(branches)
        .sort()
        .map(([name, found]) => [name, [...found].sort((a, b) => a - b)]),
    ]);

interface Model {
  readonly drawn: string[];
  readonly keys: Map<string, number[]>;
  readonly key: number;
}
/** A load, a deletion, a branch or a merge; answers with the next key. */
const doStep = async (lake: Lake, random: Random, { drawn, keys, key }: Model): Promise<number> => {
  const pool = lake.pool('p');
  const name = random.pick([...keys.keys()]);
  const held = keys.get(name)!;
  const way = random.below(8);
  if (way === 0) {
    const made = `b${key}`;
    const { commit } = pool.branch(name);
    await pool.createBranch(made, commit);
    keys.set(made, [...held]);
  } else if (way === 1 && held.length > 0) {
    const snapshot = await lake.openSnapshot('p', name);
    const { objects } = snapshot.page({ limit: 1000 });
    const gone = random.pick(objects);
    snapshot.release();
    drawn.push((await pool.deleteObjects(name, [gone.id])).commit);
    held.splice(held.indexOf(Number(gone.min.text)), 1);
  } else {
    drawn.push((await pool.load(name, [objectOf(key)])).commit);
    held.push(key);
  }
  return key + 1;
};
const objectOf = (key: number): ObjectMeta => {
  const text = String(key);
  const bound: KeyBound = { text, sort: sortKeyBytes(intValue(key)) };
  const inline = Buffer.from(`${text}:`);
  return { id: newObjectId(), count: 1, size: inline.length, min: bound, max: bound, inline };
};

const checkGraph = async (lake: Lake): Promise<void> => {
  const { commits } = await lake.pool('p').graph({ limit: 1000 });
  const places = new Map(commits.map(({ id }, i) => [id, i]));
  for (const { id, parents } of commits)
    for (const parent of parents)
      if (places.get(parent)! <= places.get(id)!) throw new Error(`the graph has ${parent} before its child ${id}`);
};

const preload = new URL('../support/fake-clock.mjs', import.meta.url).href;
/** The service in a process with such a clock. */
const ofService = async (lake: string, random: Random, count: Count): Promise<void> => {
  const clock = `${lake}.clock`;
  const ids: string[] = [];
  const jump = (): void => {
    writeFileSync(clock, String(someTime(random)));
    count('jumps');
  };
  let rows = 0;
  for (let open = 0; open < opens; open++) {
    jump();
    const service = await startBuiltService({
      lake,
      by: ['env', `NODE_OPTIONS=--import ${preload}`, `LAKE_FAKE_CLOCK=${clock}`],
      flags: ['-workers', '1'],
    });
    const ask = async (path: string, body?: string): Promise<unknown> => {
      const answer = await fetch(service.address + path, {
        headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { method: 'POST', body }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
      count('answers');
      return JSON.parse(text) as unknown;
    };
    try {
      if (open === 0)
        ids.push(
          (
            (await ask('/pool', JSON.stringify({ name: 'p', layout: { order: 'asc', keys: [['k']] } }))) as {
              readonly pool: { readonly id: string };
            }
          ).pool.id,
        );
      for (let step = 0; step < stepsPerOpen; step++) {
        if (random.below(3) === 0) jump();
        ids.push(
          ((await ask('/pool/p/branch/main', JSON.stringify({ k: rows++ }))) as { readonly commit: string }).commit,
        );
      }
      for (const text of ['from :pools', 'from p:log', 'from p:rawlog', 'from p:objects', 'from :branches'])
        await ask('/query', JSON.stringify({ query: text }));
      const found = JSON.stringify(await ask('/query', JSON.stringify({ query: 'from p | count()' })));
      if (!found.includes(String(rows))) throw new Error(`${found} in place of ${rows} rows`);
      await ask('/pool/p/graph');
      const ready = await fetch(`${service.address}/ready`);
      if (!ready.ok) throw new Error(`not ready: ${await ready.text()}`);
    } finally {
      await service.end();
    }
  }
  const fault = faultOfIds(ids.map((id) => id.replace(/^0x/, '')));
  if (fault !== undefined) throw new Error(fault);
  count('ids', ids.length);
  const { status, output } = await checkLake(lake);
  if (status !== 0) throw new Error(`fsck: ${output}`);
};
