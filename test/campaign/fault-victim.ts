/**
 * A victim that does script after script with faults that fault-shim.c makes, and is started again when one ends it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Told, victim } from './run-victim.ts';
import type { Step } from './scripts.ts';

/**
 * By the shim's numbers: kinds of calls, and what each may fail with (numbers of errno; 0: it moves less than it was
 * asked to).
 */
export const errno = { EIO: 5, EMFILE: 24, ENOSPC: 28, short: 0 } as const;
export const faultKinds: readonly { readonly name: string; readonly errors: readonly (keyof typeof errno)[] }[] = [
  { name: 'write', errors: ['EIO', 'ENOSPC', 'short'] },
  { name: 'writev', errors: ['EIO', 'ENOSPC', 'short'] },
  { name: 'sync', errors: ['EIO', 'ENOSPC'] },
  { name: 'open', errors: ['EMFILE', 'EIO', 'ENOSPC'] },
  { name: 'unlink', errors: ['EIO'] },
  { name: 'mkdir', errors: ['ENOSPC'] },
  { name: 'read', errors: ['EIO'] },
  { name: 'rename', errors: ['EIO', 'ENOSPC'] },
];
export interface Place {
  readonly kind: number;
  readonly n: number;
  readonly error: keyof typeof errno;
  /** The end of the paths whose calls are counted; without it all in the lake's folder. */
  readonly of?: string;
}

const cFile = fileURLToPath(new URL('./fault-shim.c', import.meta.url));
/** `struck`: the call that failed, its file and the library that made it. `counted`: calls by kind. */
export interface FaultTold extends Told {
  readonly struck?: string;
  readonly counted?: readonly number[];
}

/** Makes the shim in a folder; gives its path. */
export const builtShim = (folder: string): string => {
  const shim = join(folder, 'fault-shim.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, cFile, '-ldl'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return shim;
};

export class FaultVictim {
  private readonly shim: string;
  private child: ChildProcess | undefined;
  private hear: ((line: string) => void) | undefined;
  private complaint = '';

  /** Makes the shim in this folder. */
  constructor(folder: string) {
    this.shim = builtShim(folder);
  }

  /** Does a script in a lake that is not there yet; with a place that has no number calls are counted and none fails. */
  async run(
    directory: string,
    script: readonly Step[],
    place?: Place | Pick<Place, 'of'>,
    msMax = 120_000,
  ): Promise<FaultTold> {
    const child = (this.child ??= this.start());
    const lines: string[] = [];
    let struck: string | undefined;
    let counted: readonly number[] | undefined;
    this.complaint = '';
    const status = await new Promise<number | string>((resolve) => {
      const ended = (code: number | null, signal: string | null): void => {
        clearTimeout(timer);
        this.child = undefined;
        resolve(code ?? signal ?? '');
      };
      const timer = setTimeout(() => {
        this.complaint += 'it hung';
        child.kill('SIGKILL');
      }, msMax);
      this.hear = (line) => {
        const [word] = line.split(' ', 1);
        if (word === 'struck') struck = line.slice(7);
        else if (word === 'counted') counted = line.slice(8).split(' ').map(Number);
        else if (word !== 'end') lines.push(line);
        else {
          clearTimeout(timer);
          child.off('close', ended);
          this.complaint += line.slice(6);
          resolve(Number(line.slice(4, 5)));
        }
      };
      child.once('close', ended);
      const of = place?.of === undefined ? '' : `of ${place.of} `;
      const faults = of + (place && 'n' in place ? `${place.kind} ${place.n} ${errno[place.error]}` : 'count');
      child.stdin!.write(`${JSON.stringify({ directory, script, mode: 'states', faults })}\n`);
    });
    return {
      status,
      lines,
      complaint: this.complaint,
      ...(struck !== undefined && { struck }),
      ...(counted && { counted }),
    };
  }

  private start(): ChildProcess {
    const child = spawn(process.execPath, [victim, 'serve'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      // The linker takes blanks for the end of a name: the one from the folder has none.
      cwd: dirname(this.shim),
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        UV_THREADPOOL_SIZE: '1',
        LAKE_KILL_AT: '',
        LD_PRELOAD: `./${basename(this.shim)}`,
      },
    });
    child.stdin!.on('error', () => undefined);
    child.stderr!.on('data', (chunk: Buffer) => {
      this.complaint = (this.complaint + chunk.toString()).slice(-4000);
    });
    createInterface({ input: child.stdout! }).on('line', (line) => this.hear?.(line));
    return child;
  }

  async end(): Promise<void> {
    const { child } = this;
    if (!child) return;
    this.child = undefined;
    await new Promise<void>((resolve) => {
      child.once('close', () => resolve());
      child.kill('SIGKILL');
    });
  }
}
