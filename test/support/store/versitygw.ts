/**
 * A real store: versitygw over a folder, a program in Go (`go install github.com/versity/versitygw/cmd/versitygw@latest`).
 * `VERSITYGW` names it where it is not in the path. Where it is absent tests are skipped by name.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { freePort } from '../service/free-port.ts';

const program = process.env['VERSITYGW'] ?? 'versitygw';
export const lacksVersity = (): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0;

/** Starts it with a bucket of this name; its user is `key`, `secret`. */
export const startVersity = async (
  bucket: string,
  region = 'eu-central-1',
): Promise<{ endpoint: string; close: () => Promise<void> }> => {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'lake-versity-'));
  mkdirSync(join(folder, 'data', bucket), { recursive: true });
  const user = ['--access', 'key', '--secret', 'secret'];
  const child: ChildProcess = spawn(
    program,
    [...user, '--region', region, '--port', `127.0.0.1:${port}`, 'posix', join(folder, 'data')],
    { stdio: 'ignore' },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const endpoint = `http://127.0.0.1:${port}`;
  for (let tries = 0; (await fetch(endpoint).catch(() => undefined)) === undefined; tries++) {
    if (tries > 600 || child.exitCode !== null) throw new Error('versitygw does not start');
    await later(100);
  }
  return {
    endpoint,
    close: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
