/** The service as users start it: the built program in a process of its own, on a temporary lake and a free port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testFlags } from '../store/test-store.ts';

/** The program that `npm run build` makes, or another build of it. */
export const program =
  process.env['LAKE_PROGRAM'] ?? fileURLToPath(new URL('../../../dist/src/main.js', import.meta.url));

export interface Service {
  /** `http://127.0.0.1:PORT`. */
  readonly address: string;
  readonly process: ChildProcess;
  /** Folder of the lake. */
  readonly lake: string;
  /** All that the program printed so far. */
  readonly printed: () => string;
  /**
   * Ends it by a signal (default SIGTERM); resolves to the exit status, or the signal's name. The lake stays until
   * `remove`.
   */
  readonly end: (signal?: NodeJS.Signals) => Promise<number | string>;
  /** Exit status or the signal's name, once it has ended. */
  readonly ended: Promise<number | string>;
  /** Ends it and removes its folder. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts the program; resolves when it has printed its address. `lake`: an existing folder to open. `port`: a free one
 * unless told. `by`: a program that starts it, and its arguments. `asShipped`: for figures, it warms up as it does for
 * users; tests, small runs of the benches among them, have no time for it. `program`: another build of it. `engine`:
 * options of Node itself.
 */
export const startBuiltService = async (
  options: {
    readonly lake?: string;
    readonly port?: number;
    readonly flags?: readonly string[];
    readonly by?: readonly string[];
    readonly asShipped?: boolean;
    readonly program?: string;
    readonly engine?: readonly string[];
  } = {},
): Promise<Service> => {
  const folder = options.lake ? undefined : mkdtempSync(join(tmpdir(), 'lake-service-'));
  const lake = options.lake ?? join(folder!, 'lake');
  const flags = options.flags ?? [];
  const stored = await testFlags(lake, flags);
  const [command, ...before] = [...(options.by ?? []), process.execPath];
  const child = spawn(
    command!,
    [
      ...before,
      ...(options.engine ?? []),
      options.program ?? program,
      'serve',
      '-lake',
      lake,
      '-l',
      `127.0.0.1:${options.port ?? 0}`,
      '-log.level',
      'error',
      ...(options.asShipped && !process.env['VITEST'] ? [] : ['-warmup', '0s']),
      ...stored.flags,
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...stored.environment } },
  );
  let printed = '';
  const ended = new Promise<number | string>((resolve) =>
    child.once('exit', (status, signal) => resolve(status ?? signal ?? 'unknown')),
  );
  child.stderr.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(printed);
      if (found) resolve(found[0]);
    });
    void ended.then((status) => reject(new Error(`the service ended with ${status}: ${printed}`)));
  });
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    child.kill(signal);
    return ended;
  };
  return {
    address,
    process: child,
    lake,
    printed: () => printed,
    end,
    ended,
    stop: async () => {
      await end();
      if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
};
