/**
 * Suites of others beside DuckDB: `npm run bench:suites -- [--runs 3] [--markdown FILE] [--manual] NAME TABLES QUERIES ..`
 *
 * Of each suite TABLES is a folder of tables, NAME.parquet or NAME.ndjson, and QUERIES one of queries in SQL, a file
 * each, as their authors wrote them. All tables are loaded into a service of its own and into DuckDB, which runs in
 * process on two threads; each query is asked of both in turn, over HTTP and in process, and the answers are compared.
 * Prints a line for each query, and a table with a line for each suite; `--manual` puts that on the page of
 * measurements.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../support/service/client.ts';
import { geometricMean, machine, median } from '../support/figures.ts';
import { type DuckDb, startDuckDb } from './bench-duckdb.ts';
import { sent } from './sent.ts';

export interface Suite {
  readonly name: string;
  readonly tables: string;
  readonly queries: string;
}
/** Of one query, in milliseconds. `fault`: why it has none; `wrong`: how its answer differs. */
interface QueryFigures {
  readonly name: string;
  readonly ours?: number;
  readonly peer?: number;
  readonly fault?: string;
  readonly wrong?: string;
}
export interface SuiteFigures {
  readonly name: string;
  readonly queries: readonly QueryFigures[];
  /** Of all tables, in milliseconds. */
  readonly load: { readonly ours: number; readonly peer: number | undefined };
}

const types: Readonly<Record<string, string>> = {
  '.parquet': 'application/x-parquet',
  '.ndjson': 'application/x-ndjson',
};
const filesIn = (folder: string, suffixes: readonly string[]): readonly string[] =>
  readdirSync(folder)
    .filter((name) => suffixes.includes(extname(name)))
    .sort()
    .map((name) => join(folder, name));

/** All figures of a suite; `told` hears a line for each query. Without DuckDB nothing is compared. */
export const measureSuite = async (
  { name, tables, queries }: Suite,
  runs: number,
  told: (line: string) => void,
): Promise<SuiteFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-suite-'));
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  const duckdb = await startDuckDb(join(folder, 'duckdb'));
  try {
    const load = await loaded(filesIn(tables, Object.keys(types)), client, duckdb);
    await duckdb?.run('set threads=2');
    const figures: QueryFigures[] = [];
    for (const file of filesIn(queries, ['.sql'])) {
      const sql = readFileSync(file, 'utf8').trim().replace(/;$/, '');
      const found = { name: basename(file, '.sql'), ...(await measured(sql, { client, duckdb, runs })) };
      figures.push(found);
      told(shown(name, found));
    }
    return { name, queries: figures, load };
  } finally {
    duckdb?.stop();
    client.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

const loaded = async (
  files: readonly string[],
  client: Client,
  duckdb: DuckDb | undefined,
): Promise<SuiteFigures['load']> => {
  let ours = 0;
  let peer = 0;
  for (const file of files) {
    const suffix = extname(file);
    const table = basename(file, suffix);
    await client.json('POST', '/pool', { name: table });
    const began = performance.now();
    await sent(`${client.address}/pool/${encodeURIComponent(table)}/branch/main`, file, types[suffix]);
    ours += performance.now() - began;
    const read = suffix === '.parquet' ? 'read_parquet' : 'read_json_auto';
    const path = file.replaceAll("'", "''");
    peer += (await duckdb?.run(`create table "${table}" as select * from ${read}('${path}')`)) ?? 0;
  }
  return { ours, peer: duckdb && peer };
};
const errorIn = (text: string): string => {
  try {
    return String((JSON.parse(text) as { readonly error?: string }).error ?? text);
  } catch {
    return text;
  }
};

/** One query, asked of both in turn; the first run of each is not counted, and compares. */
const measured = async (
  sql: string,
  { client, duckdb, runs }: { readonly client: Client; readonly duckdb: DuckDb | undefined; readonly runs: number },
): Promise<Omit<QueryFigures, 'name'>> => {
  const ours: number[] = [];
  const peers: number[] = [];
  const right = await duckdb?.askLists(sql);
  let wrong: string | undefined;
  for (let run = 0; run <= runs; run++) {
    const began = performance.now();
    const { status, body } = await client.ask('POST', '/query', {
      headers: { ...jsonType, accept: 'application/x-ndjson' },
      body: JSON.stringify({ query: sql }),
    });
    if (status !== 200) return { fault: `${status} ${errorIn(body).split('\n', 1)[0]}` };
    if (run > 0) ours.push(performance.now() - began);
    else if (right) wrong = difference(rowsOf(body), right.rows, cutOf(sql));
    const peer = run > 0 && right ? await duckdb?.run(sql) : undefined;
    if (peer !== undefined) peers.push(peer);
  }
  return {
    ours: median(ours),
    ...(peers.length > 0 && { peer: median(peers) }),
    ...(wrong !== undefined && { wrong }),
  };
};
const rowsOf = (ndjson: string): readonly (readonly unknown[])[] =>
  ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const value = JSON.parse(line) as unknown;
      return typeof value === 'object' && value !== null ? Object.values(value) : [value];
    });

/** Values as they are compared: times at midnight are dates, with or without a zone. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) return Object.values(value).map(plain);
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return value;
  const time = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(?:Z|\+00:00)?$/.exec(value);
  if (!time) return value;
  const clock = time[2]?.replace(/\.?0+$/, '');
  return clock === undefined || /^00:00(:00|:)?$|^$/.test(clock) ? time[1] : `${time[1]} ${time[2]}`;
};
const keyOf = (row: readonly unknown[]): string =>
  JSON.stringify(row.map((v) => (typeof v === 'number' ? v.toPrecision(5) : v)));
type Rows = readonly (readonly unknown[])[];
/** What a LIMIT leaves open: among rows of one rank any may be taken, without ORDER BY any at all. */
type Cut = 'ranked' | 'any' | undefined;
const cutOf = (sql: string): Cut => {
  if (!/\blimit\s+\d+/i.test(sql)) return undefined;
  return /\border\s+by\b/i.test(sql) ? 'ranked' : 'any';
};
/**
 * The same rows in any order, numbers to one in a million; undefined: they are. Where a LIMIT cuts, it is enough that a
 * column of numbers has the same ones, or that there are as many rows.
 */
export const difference = (ours: Rows, others: Rows, cut: Cut = undefined): string | undefined => {
  if (ours.length !== others.length) return `${ours.length} rows, not ${others.length}`;
  const sorted = [ours, others].map((rows) =>
    rows
      .map((row) => row.map(plain))
      .map((row) => ({ row, key: keyOf(row) }))
      .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))),
  );
  const [left, right] = sorted as [(typeof sorted)[0], (typeof sorted)[0]];
  const at = left.findIndex(({ row }, i) => !areAlike(row, right[i]!.row));
  if (at < 0 || cut === 'any' || (cut === 'ranked' && haveAlikeColumn(ours, others))) return undefined;
  return `row ${JSON.stringify(left[at]!.row)}, not ${JSON.stringify(right[at]!.row)}`;
};
const haveAlikeColumn = (ours: Rows, others: Rows): boolean =>
  ours[0]!.some((first, column) => {
    if (typeof first !== 'number') return false;
    const [left, right] = [ours, others].map((rows) =>
      rows.map((row) => row[column] as number).sort((a, b) => a - b),
    ) as [number[], number[]];
    return left.every((value, i) => areAlike(value, right[i]));
  });
const areAlike = (a: unknown, b: unknown): boolean => {
  if (typeof a === 'number' && typeof b === 'number')
    return a === b || Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b), 1e-3);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => areAlike(v, b[i]));
  return a === b || ((a ?? null) === null && (b ?? null) === null);
};

const shown = (suite: string, { name, ours, peer, fault, wrong }: QueryFigures): string => {
  const times = ours === undefined ? '' : ` ${ours.toFixed(1)} ms`;
  const ratio = ours === undefined || peer === undefined ? '' : `, ${(ours / peer).toFixed(2)} of DuckDB's`;
  const said = fault ?? (wrong === undefined ? '' : `wrong: ${wrong}`);
  return `${suite} ${name}:${times}${ratio}${said && ` ${said.slice(0, 300)}`}`;
};

/** The table as the manual shows it. */
export const suitesTable = (figures: readonly SuiteFigures[], runs: number, peer: string): string =>
  [
    `Medians of ${runs} runs, over HTTP; ${machine()}; DuckDB ${peer} in process, on two threads.`,
    '',
    '| Suite | queries | right | geometric mean of the ratios | half of them below | slowest beside DuckDB | load |',
    '|---|---|---|---|---|---|---|',
    ...figures.map(rowOf),
    '',
  ].join('\n');
const rowOf = ({ name, queries, load }: SuiteFigures): string => {
  const ratios = queries.flatMap(({ name: query, ours, peer }) =>
    ours !== undefined && peer !== undefined ? [{ query, ratio: ours / peer }] : [],
  );
  const worst = ratios.reduce((most, each) => (each.ratio > most.ratio ? each : most), { query: '', ratio: 0 });
  const right = queries.filter(({ peer, fault, wrong }) => peer !== undefined && fault === undefined && !wrong).length;
  const all = ratios.map(({ ratio }) => ratio);
  const cells = [
    ...[name, queries.length, right, geometricMean(all)?.toFixed(2) ?? '', median(all).toFixed(2)],
    `${worst.query}: ${worst.ratio.toFixed(1)}`,
    load.peer === undefined ? '' : (load.ours / load.peer).toFixed(1),
  ];
  return `| ${cells.join(' | ')} |`;
};

const page = fileURLToPath(new URL('../../visualize/docs/manual/measurements.md', import.meta.url));
export const suitesMarkers = { begin: '<!-- begin suites -->\n', end: '<!-- end suites -->' } as const;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { runs: { type: 'string', default: '3' }, markdown: { type: 'string' }, manual: { type: 'boolean' } },
  });
  const runs = Number(values.runs);
  const figures: SuiteFigures[] = [];
  for (let i = 0; i + 2 < positionals.length; i += 3) {
    const [name, tables, queries] = positionals.slice(i, i + 3) as [string, string, string];
    figures.push(await measureSuite({ name, tables, queries }, runs, (line) => process.stderr.write(`${line}\n`)));
  }
  const duckdb = await startDuckDb(':memory:');
  const table = suitesTable(figures, runs, duckdb?.version ?? 'which is not here');
  duckdb?.stop();
  process.stdout.write(table);
  if (values.markdown !== undefined) writeFileSync(values.markdown, table);
  if (values.manual) {
    const { withTable } = await import('./bench.ts');
    writeFileSync(page, withTable(readFileSync(page, 'utf8'), table, suitesMarkers));
  }
}
