/**
 * DuckDB in a process beside the service, on the same file: asked in turn with it, so that both see the same weather.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./bench-duckdb.py', import.meta.url));

/** Rows that are looked at, at most. */
const rowsMax = 1000;
const listsMax = 100_000;
interface DuckAnswer<Row = Readonly<Record<string, unknown>>> {
  readonly ms: number;
  readonly rows: readonly Row[];
}
export interface DuckDb {
  readonly version: string;
  /**
   * Milliseconds that a statement took inside of it, its rows fetched; undefined, and a line on stderr, when it failed.
   */
  readonly run: (sql: string) => Promise<number | undefined>;
  /** The same with the first rows of the answer. */
  readonly ask: (sql: string) => Promise<DuckAnswer | undefined>;
  /** The same with all rows as lists of their values; of very many the first ones. */
  readonly askLists: (sql: string) => Promise<DuckAnswer<readonly unknown[]> | undefined>;
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
  createInterface(child.stdout).on('line', (line) => {
    waiting.shift()?.(line);
  });
  const send = async <Row = Readonly<Record<string, unknown>>>(
    sql: string,
    keep: number,
    more: { readonly lists?: true } = {},
  ): Promise<DuckAnswer<Row> | undefined> => {
    const line = await new Promise<string | undefined>((resolve) => {
      if (ended) return resolve(undefined);
      waiting.push(resolve);
      child.stdin.write(`${JSON.stringify({ sql, keep, ...more })}\n`);
    });
    const answer =
      line === undefined
        ? { fault: 'DuckDB has ended' }
        : (JSON.parse(line) as { readonly ms: number; readonly rows?: readonly Row[] } | { readonly fault: string });
    if (!('fault' in answer)) return { ms: answer.ms, rows: answer.rows ?? [] };
    if (!ended) process.stderr.write(`DuckDB: ${sql}: ${answer.fault}\n`);
    return undefined;
  };
  const about = await send('select version() v', 1);
  if (about === undefined) {
    child.kill();
    return undefined;
  }
  return {
    version: String(about.rows[0]?.['v']),
    run: async (sql) => (await send(sql, 0))?.ms,
    ask: (sql) => send(sql, rowsMax),
    askLists: (sql) => send<readonly unknown[]>(sql, listsMax, { lists: true }),
    stop: () => {
      child.kill();
    },
  };
};
