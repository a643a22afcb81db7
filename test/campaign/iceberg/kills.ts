/**
 * Part `renditions`: the built service is killed where it makes the files of an Iceberg table, names them, or removes
 * them. After each kill whatever the table names is whole and has the rows of its commit, before and after the next
 * commit.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startBuiltService } from '../support/built-service.ts';
import { faultOfTable } from '../support/iceberg-http.ts';
import { randomOf } from '../support/random.ts';
import type { PartRun } from './part.ts';

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
] as const;
/** Of each, one of its first passes. */
const timesMax = 3;
/** Commits of a round: enough for merged files. */
const commits = 40;

export const renditions: PartRun = async ({ folder, seeds, count, failed }) => {
  for (const seed of seeds) {
    const random = randomOf(seed + 4211);
    const point = points[seed % points.length]!;
    const killAt = `${point}:${1 + (Math.floor(seed / points.length) % timesMax)}`;
    const lake = join(folder, `lake-${seed}`);
    try {
      // A commit that is durable before: what a kill may leave is beside it.
      const rows = await round(lake, { first: 0, rows: random.below(50) + 1 });
      // Files that nothing names go at a start.
      if (point === 'iceberg: file gone') await killed(lake, { killAt: 'iceberg: merged file made:1', first: 1, rows });
      const end = await killed(lake, { killAt, first: 1, rows });
      if (end === 'SIGKILL') count('kills');
      else if (end === 0) count('not reached');
      else failed(seed, `killed at ${killAt}: it ended with ${end}`);
      const fault = await after(lake);
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
const json = { 'content-type': 'application/json', accept: 'application/json' };
const post = (address: string, path: string, body: string): Promise<Response> =>
  fetch(address + path, { method: 'POST', headers: json, body });

const serve = (lake: string, killAt = ''): ReturnType<typeof startBuiltService> =>
  startBuiltService({
    lake,
    flags: ['-workers', '1', '-iceberg.wait', '60s'],
    ...(killAt !== '' && { by: ['env', `LAKE_KILL_AT=${killAt}`] }),
  });
/** The pool with a first commit, of which the table tells. */
const round = async (lake: string, { rows }: Round): Promise<number> => {
  const service = await serve(lake);
  await post(service.address, '/pool', '{"name":"p","iceberg":"lazy"}');
  await post(service.address, '/pool/p/branch/main', `{"ts":0,"n":${rows}}`);
  const fault = await faultOfTable(service.address, 'p');
  await service.end();
  if (fault !== undefined) throw new Error(`before the kill: ${fault}`);
  return rows;
};
/** Small commits, a delete and a vacuum, each with a look at the table, until the process is gone. */
const killed = async (
  lake: string,
  { killAt, first, rows }: Round & { readonly killAt: string },
): Promise<number | string> => {
  const service = await serve(lake, killAt);
  try {
    for (let i = first; i < first + commits; i++)
      await post(service.address, '/pool/p/branch/main', `{"ts":${i},"n":${rows},"s${i % 3}":"x"}`);
    for (let i = 0; i < 3; i++) await faultOfTable(service.address, 'p');
    await post(service.address, '/pool/p/branch/main/delete', '{"where":"ts == 5"}');
    await faultOfTable(service.address, 'p');
    await post(service.address, '/pool/p/revision/main/vacuum', '{}');
  } catch {
    // It was killed while it was asked.
  }
  return service.end();
};

/** What is wrong with the table of a lake that was killed; its files are made again where they were lost. */
const after = async (lake: string): Promise<string | undefined> => {
  const service = await serve(lake);
  try {
    const found = await faultOfTable(service.address, 'p');
    if (found !== undefined) return found;
    await post(service.address, '/pool/p/branch/main', '{"ts":1000,"later":true}');
    return await faultOfTable(service.address, 'p');
  } finally {
    await service.end();
  }
};
