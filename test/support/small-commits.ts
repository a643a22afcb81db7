/**
 * A lake with a history of one-record commits, made without a server: the objects are the real ones, only the way
 * through HTTP is left out. Made in a process of its own, where nothing slows it down.
 */
import { spawn } from 'node:child_process';
import { scriptArguments } from './script.ts';

const writer = scriptArguments(new URL('./small-commits-writer.ts', import.meta.url));

/** Makes a lake with a pool `p`, ordered by `k`, that has so many commits of one record each: keys count up from 0. */
export const makeSmallCommits = (directory: string, commits: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...writer, directory, String(commits)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.on('close', (status) =>
      status === 0 ? resolve() : reject(new Error(`making ${commits} commits ended with ${status}`)),
    );
  });
