/** DuckDB in a process beside the service, on the same file: asked in turn with it, so that both see the same weather. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./bench-duckdb.py', import.meta.url));

export interface DuckDb {
  /** Milliseconds that a statement took inside of it, its rows fetched; undefined, and a line on stderr, when it failed. */
  readonly run: (sql: string) => Promise<number | undefined>;
  readonly stop: () => void;
}

/** Starts it on a store of its own; undefined when Python or its package is not there. */
export const startDuckDb = async (store: string): Promise<DuckDb | undefined> => {
  const child = spawn('python3', [script, store], { stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting: ((line: string | undefined) => void)[] = [];
  let ended = false;
  const end = (): void => {
    ended = true;
    for (const tell of waiting.splice(0)) tell(undefined);
  };
  child.on('error', end);
  child.on('exit', end);
  child.stdin.on('error', end);
  createInterface(child.stdout).on('line', (line) => { waiting.shift()?.(line); });
  const run = async (sql: string): Promise<number | undefined> => {
    const line = await new Promise<string | undefined>((resolve) => {
      if (ended) return resolve(undefined);
      waiting.push(resolve);
      child.stdin.write(`${JSON.stringify({ sql })}\n`);
    });
    const answer = line === undefined ? { fault: 'DuckDB has ended' } : JSON.parse(line) as { readonly ms: number } | { readonly fault: string };
    if (!('fault' in answer)) return answer.ms;
    if (!ended) process.stderr.write(`DuckDB: ${sql}: ${answer.fault}\n`);
    return undefined;
  };
  if (await run('select 1') === undefined) {
    child.kill();
    return undefined;
  }
  return { run, stop: () => { child.kill(); } };
};
