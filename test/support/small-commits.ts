/**
 * A lake with a history of one-record commits, made without a server: the objects are the real ones, only the way
 * through HTTP is left out. Runs in a process of its own, where nothing slows it down: `node --import tsx
 * small-commits.ts DIRECTORY COMMITS`.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openLake } from '../../src/lake/lake.ts';
import { sortIntoObjects } from '../../src/lake/load/sort.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { vectorOf } from '../../src/vectors/builder.ts';
import { intValue, recordValue, stringValue } from '../../src/vectors/value.ts';

const file = fileURLToPath(import.meta.url);

/** Makes a lake with a pool `p`, ordered by `k`, that has so many commits of one record each: keys count up from 0. */
export const makeSmallCommits = (directory: string, commits: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', file, directory, String(commits)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.on('close', (status) =>
      status === 0 ? resolve() : reject(new Error(`making ${commits} commits ended with ${status}`)),
    );
  });

const make = async (directory: string, commits: number): Promise<void> => {
  const objects = openObjects(directory);
  const lake = await openLake({ directory, objects });
  await lake.createPool({ name: 'p', keys: [['k']] });
  const pool = lake.pool('p');
  const waiting: Promise<unknown>[] = [];
  for (let k = 0; k < commits; k++) {
    const batch = vectorOf([
      recordValue([
        { name: 'k', value: intValue(k) },
        { name: 'text', value: stringValue(`row ${k}`) },
      ]),
    ]);
    const { objects: made } = await sortIntoObjects(once(batch), {
      keys: [['k']],
      order: 'asc',
      threshold: 1 << 20,
      memoryBytesMax: 1 << 20,
      objects,
      spill: () => {
        throw new Error('one row needs no runs');
      },
    });
    waiting.push(pool.load('main', made));
    // They are committed as groups.
    if (waiting.length === 512) await Promise.all(waiting.splice(0));
  }
  await Promise.all(waiting);
  await lake.close();
};

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

if (process.argv[1] === file) await make(process.argv[2]!, Number(process.argv[3]));
