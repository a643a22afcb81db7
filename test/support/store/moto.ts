/** A real store: moto's server, a package for Python. Where it is absent tests are skipped by name; with NO_SKIPS they fail. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as later } from 'node:timers/promises';
import { freePort } from '../service/free-port.ts';

export const lacksMoto = (): boolean =>
  process.env['NO_SKIPS'] === undefined &&
  spawnSync('python3', ['-c', 'import moto.server, flask'], { stdio: 'ignore' }).status !== 0;

/** Starts it with a bucket of this name. */
export const startMoto = async (bucket: string): Promise<{ endpoint: string; close: () => Promise<void> }> => {
  const port = await freePort();
  const code = 'from moto.server import main; import sys; main(sys.argv[1:])';
  const child: ChildProcess = spawn('python3', ['-c', code, '-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const endpoint = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${endpoint}/${bucket}`, { method: 'PUT' }).catch(() => undefined);
    if (answer?.ok) break;
    if (tries > 600 || child.exitCode !== null) throw new Error('moto does not start');
    await later(100);
  }
  return {
    endpoint,
    close: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
};
