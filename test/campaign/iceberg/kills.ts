/**
 * Part `renditions`: the built service is killed where it makes the files of an Iceberg table, names them, or removes
 * them. After each kill whatever the table names is whole and has the rows of its commit, before and after the next
 * commit.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Mapping } from '../../../src/iceberg/kinds.ts';
import { faultOfTable } from '../../support/iceberg/http.ts';
import { randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';
import { faultAtStart, mixed, post, serveTables } from './course.ts';

/** Where it is killed; those of the store of files come by in each file, in the thread that makes it. */
const points = [
  'iceberg: columns added',
  'object: created',
  'object: written',
  'object: synced',
  'object: durable',
  'iceberg: file made',
  'iceberg: file named',
  'iceberg: merged file made',
  'iceberg: merged file named',
  'iceberg: metadata made',
  'iceberg: metadata named',
  'iceberg: file gone',
  'iceberg: rows gone',
] as const;
/** Of each, one of its first passes. */
const timesMax = 3;
/** How fields of several kinds are mapped, in turn. */
const mappings = ['typed', 'variant'] as const satisfies readonly Mapping[];
/** With which files go soon after a vacuum, and how long that is waited for. */
const shortGrace = ['-iceberg.grace', '1m'];
const sweepMsMax = 100_000;
const lookMs = 2_000;
/** Commits of a round: enough for merged files. */
const commits = 40;

export const renditions: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 4211);
    const point = points[seed % points.length]!;
    const cycle = Math.floor(seed / points.length);
    const killAt = `${point}:${1 + (cycle % timesMax)}`;
    const mapping = mappings[cycle % mappings.length]!;
    const lake = join(folder, `lake-${seed}`);
    try {
      // A commit that is durable before: what a kill may leave is beside it.
      const rows = await round(lake, { first: 0, rows: random.below(50) + 1 }, mapping);
      // Files that nothing names go at a start.
      if (point === 'iceberg: file gone') await killed(lake, { killAt: 'iceberg: merged file made:1', first: 1, rows });
      const grace = point === 'iceberg: rows gone' ? shortGrace : [];
      const end = await killed(lake, { killAt, first: 1, rows, flags: grace });
      if (end === 'SIGKILL') count('kills');
      else if (end === 0) count('not reached');
      else failed(seed, `killed at ${killAt}: it ended with ${end}`);
      const fault = await faultAtStart(lake, ['p']);
      if (fault !== undefined) failed(seed, `killed at ${killAt}: ${fault}`);
    } catch (error) {
      failed(seed, `killed at ${killAt}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      rmSync(lake, { recursive: true, force: true });
    }
  }
};

interface Round {
  readonly first: number;
  readonly rows: number;
}
/** The pool with a first commit, of which the table tells. */
const round = async (lake: string, { rows }: Round, mapping: Mapping): Promise<number> => {
  const service = await serveTables(lake);
  await post(service.address, '/pool', JSON.stringify({ name: 'p', iceberg: 'lazy', iceberg_mapping: mapping }));
  await post(service.address, '/pool/p/branch/main', `{"ts":0,"n":${rows},"m":[1]} {"ts":0,"m":"text"}`);
  const fault = await faultOfTable(service.address, 'p');
  await service.end();
  if (fault !== undefined) throw new Error(`before the kill: ${fault}`);
  return rows;
};
/** Small commits, a delete and a vacuum, each with a look at the table, until the process is gone. */
const killed = async (
  lake: string,
  { killAt, first, rows, flags = [] }: Round & { readonly killAt: string; readonly flags?: readonly string[] },
): Promise<number | string> => {
  const service = await serveTables(lake, ['env', `LAKE_KILL_AT=${killAt}`], flags);
  try {
    for (let i = first; i < first + commits; i++)
      await post(service.address, '/pool/p/branch/main', `{"ts":${i},"n":${rows},"s${i % 3}":"x",${mixed(i)}}`);
    for (let i = 0; i < 3; i++) await faultOfTable(service.address, 'p');
    await post(service.address, '/pool/p/branch/main/delete', '{"where":"ts == 5"}');
    await faultOfTable(service.address, 'p');
    await post(service.address, '/pool/p/revision/main/vacuum', '{}');
    // What the vacuum took goes a grace later.
    for (const until = Date.now() + sweepMsMax; flags.length > 0 && Date.now() < until; await pause(lookMs))
      await faultOfTable(service.address, 'p');
  } catch {
    // It was killed while it was asked.
  }
  return service.end();
};
