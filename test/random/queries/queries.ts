/**
 * Random queries over mixed data, each checked by several oracles (checks.ts), and SQL queries checked against
 * DuckDB (sql.ts). `npm run fuzz:queries -- -count 50000 -seed 7` runs so many of the first and a fifth as many
 * of the second; `-sql 1000` says how many of the second, `-index 123` runs one query alone, `-sqlindex 123` one of
 * the second.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { seedOf } from '../../support/random.ts';
import { scriptArguments } from '../../support/script.ts';
import type { Work } from './child.ts';

interface QueryFault {
  readonly kind: Work['kind'];
  readonly index: number;
  readonly text: string;
}
interface QueryTotals {
  readonly faults: readonly QueryFault[];
  readonly ran: number;
  readonly partitioned: number;
  readonly compared: number;
}
interface QueryFuzzOptions {
  readonly count: number;
  readonly sql: number;
  readonly seed: number;
  readonly processes: number;
  readonly start?: number;
  /** The first statement of SQL; `sql` is the number behind the last. */
  readonly sqlStart?: number;
  readonly told?: (line: string) => void;
}

/** A query with all its variants and oracles takes no more than this. */
const cpuMsMax = 10_000;
/** Without a sign for this long the process hangs; comparing with DuckDB gives none until it is done. */
const silenceMsMax = { pipes: 300_000, sql: 600_000 } as const;
const heapMegabytesMax = 600;
/** Queries of one process. */
const chunk = { pipes: 500, sql: 2000 } as const;

/**
 * Runs the queries; what went wrong, and how many were worth something: ran without an error of theirs, were
 * partitioned, were compared with DuckDB.
 */
export const fuzzQueries = async ({
  count,
  sql,
  seed,
  processes,
  start = 0,
  sqlStart = 0,
  told,
}: QueryFuzzOptions): Promise<QueryTotals> => {
  const jobs: Work[] = [];
  const cut = (kind: Work['kind'], from: number, to: number): void => {
    const size = Math.max(1, Math.min(chunk[kind], Math.ceil((to - from) / processes)));
    for (let at = from; at < to; at += size)
      jobs.push({ kind, seed, start: at, end: Math.min(at + size, to), cpuMsMax });
  };
  cut('pipes', start, start + count);
  cut('sql', sqlStart, sql);
  const faults: QueryFault[] = [];
  const totals = { ran: 0, partitioned: 0, compared: 0 };
  const next = async (): Promise<void> => {
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      for (let rest: Work | undefined = job; rest; ) {
        const end: ChildEnd = await runChild(rest);
        faults.push(...end.faults);
        for (const f of end.faults) told?.(`#${f.index}: ${f.text}`);
        if (job.kind === 'sql') totals.compared += end.ran;
        else totals.ran += end.ran;
        totals.partitioned += end.partitioned;
        rest = end.rest;
      }
    }
  };
  await Promise.all(Array.from({ length: processes }, next));
  return { faults, ...totals };
};

interface ChildEnd {
  readonly faults: readonly QueryFault[];
  readonly ran: number;
  readonly partitioned: number;
  readonly rest: Work | undefined;
}

/**
 * Runs one chunk in a fresh process until it is done or the process is gone; the query that it was at is a fault then.
 */
const runChild = (work: Work): Promise<ChildEnd> =>
  new Promise((resolve, reject) => {
    const script = scriptArguments(new URL('child.ts', import.meta.url));
    const child = spawn(
      process.execPath,
      [`--max-old-space-size=${heapMegabytesMax}`, ...script, JSON.stringify(work)],
      { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] },
    );
    const faults: QueryFault[] = [];
    let at: number | undefined;
    let done: readonly number[] | undefined;
    let hung = false;
    let line = '';
    let complaints = '';
    let watch = setTimeout(() => undefined, 0);
    const alive = (): void => {
      clearTimeout(watch);
      watch = setTimeout(() => {
        hung = true;
        child.kill('SIGKILL');
      }, silenceMsMax[work.kind]);
    };
    alive();
    child.stdio[3]!.on('data', (data: Buffer) => {
      alive();
      const lines = (line + data.toString()).split('\n');
      line = lines.pop()!;
      for (const l of lines) {
        const [word, index, ...text] = l.split(' ');
        if (word === 'START') at = Number(index);
        else if (word === 'FAULT')
          faults.push({ kind: work.kind, index: Number(index), text: JSON.parse(text.join(' ')) as string });
        else done = [Number(index), Number(text[0])];
      }
    });
    child.stderr!.on('data', (data: Buffer) => {
      complaints = (complaints + data.toString()).slice(-2000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(watch);
      if (done) return resolve({ faults, ran: done[0]!, partitioned: done[1]!, rest: undefined });
      if (at === undefined) return reject(new Error(`the process ended before its first query: ${complaints}`));
      faults.push({
        kind: work.kind,
        index: at,
        text: hung
          ? 'no end'
          : `the process ended (${signal ?? code}): ${complaints.trim().split('\n').slice(0, 6).join(' ')}`,
      });
      const isOver = at + 1 >= work.end;
      resolve({ faults, ran: 0, partitioned: 0, rest: isOver ? undefined : { ...work, start: at + 1 } });
    });
  });

const main = async (argv: readonly string[]): Promise<number> => {
  const option = (name: string, fallback: number): number => {
    const at = argv.indexOf(`-${name}`);
    return at < 0 ? fallback : Number(argv[at + 1]);
  };
  const seed = option('seed', seedOf(1));
  const index = option('index', -1);
  const sqlIndex = option('sqlindex', -1);
  const count = index >= 0 ? 1 : sqlIndex >= 0 ? 0 : option('count', 50_000);
  const sql = index >= 0 ? 0 : sqlIndex >= 0 ? sqlIndex + 1 : option('sql', Math.ceil(count / 5));
  const began = performance.now();
  const { faults, ran, partitioned, compared } = await fuzzQueries({
    count,
    sql,
    seed,
    start: Math.max(index, option('start', 0)),
    sqlStart: Math.max(sqlIndex, 0),
    processes: option('processes', availableParallelism()),
    told: (line) => {
      console.log(`${line}\n`);
    },
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`seed ${seed}: ${count} queries (${ran} without an error of their own, ${partitioned} partitioned)`);
  console.log(`and ${sql} of SQL (${compared} compared with DuckDB) in ${seconds} s, ${faults.length} faults`);
  for (const f of faults.filter((x) => x.kind === 'pipes'))
    console.log(`  npm run fuzz:queries -- -seed ${seed} -index ${f.index}`);
  return faults.length === 0 ? 0 : 1;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
