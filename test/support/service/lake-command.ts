/** Commands of the built program that end by themselves. */
import { spawn } from 'node:child_process';
import { program } from './built.ts';

interface CommandEnd {
  readonly status: number | null;
  readonly output: string;
  readonly complaint: string;
}

export const runProgram = (argv: readonly string[], options: { readonly cwd?: string } = {}): Promise<CommandEnd> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.cwd && { cwd: options.cwd }),
    });
    let output = '';
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output, complaint }));
  });

/** Looks a closed lake over; the first line tells how many files no table names. */
export const checkLake = (lake: string): Promise<CommandEnd> => runProgram(['fsck', '-lake', lake]);
