/**
 * Reads all tables of a lake in a process of its own: a damaged LMDB file ends its reader by a signal, and that must not be the service.
 * Prints one JSON line: rows by table and the faults found. `probeTables` starts it and reads the line.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { tableNames, Tables } from './tables.ts';

export interface TablesReport { readonly rows: Readonly<Record<string, number>>; readonly faults: readonly string[] }

const faultsMax = 1000;

const walk = async (directory: string): Promise<void> => {
  const tables = new Tables(directory, { readOnly: true });
  const faults: string[] = [], rows: Record<string, number> = {};
  for (const name of tableNames) rows[name] = tables.verify(name, (fault) => { if (faults.length < faultsMax) faults.push(fault); });
  await tables.close();
  process.stdout.write(`${JSON.stringify({ rows, faults } satisfies TablesReport)}\n`);
};

/** Starts the process and waits for it. A reader that died, by a signal or an error, is a fault too. */
export const probeTables = (directory: string): Promise<TablesReport> => new Promise((resolve) => {
  const file = fileURLToPath(import.meta.url);
  const loader = file.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const child = spawn(process.execPath, [...loader, file, directory], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } });
  let out = '', fault = '';
  child.stdout.on('data', (chunk: Buffer) => { out += chunk.toString('utf8'); });
  child.stderr.on('data', (chunk: Buffer) => { fault = (fault + chunk.toString('utf8')).slice(-2000); });
  child.on('error', (error) => resolve({ rows: {}, faults: [`the process that reads the tables cannot be started: ${error.message}`] }));
  child.on('close', (code, signal) => {
    if (code === 0) resolve(JSON.parse(out) as TablesReport);
    else resolve({ rows: {}, faults: [`reading the tables ended a process by ${signal ?? `exit status ${code}`}${fault ? `: ${fault.trim().split('\n').slice(-6).join(' | ')}` : ''}`] });
  });
});

if (process.argv[1] === fileURLToPath(import.meta.url)) await walk(process.argv[2] ?? '.');
