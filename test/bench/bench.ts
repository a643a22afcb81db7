/**
 * The bench: `npm run bench -- --rows 1000000 --runs 5` (`--only load,query,output,commits,latency`, `--file FILE` for
 * rows that are there already, `--markdown FILE`, `--manual`: the table goes into the manual).
 *
 * Loads, queries, outputs and small commits over HTTP on a service of its own, every answer checked (bench-steps.ts),
 * beside DuckDB in process on the same file where python3 has the package: ours, DuckDB's, and ours by DuckDB's. The
 * two take turns. Times are medians in milliseconds of the client's clock; the first run of a query warms up and is
 * told apart only in the cold steps.
 */
import { spawn } from 'node:child_process';
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { geometricMean, machine, median, percentile, syncTimes } from '../support/figures.ts';
import { type DuckDb, startDuckDb } from './bench-duckdb.ts';
import { type Answer, type Row, type Sample, type StepRun, steps } from './bench-steps.ts';
import { writeEvents } from './events.ts';

/** The service has warmed up by then. */
const warmUpMs = 10_000;

interface BenchOptions {
  readonly rows: number;
  readonly runs: number;
  /** NDJSON of events.ts; made when there is none. */
  readonly file?: string;
  readonly only?: ReadonlySet<Part>;
  readonly duckdb?: boolean;
}
type Part = 'load' | 'query' | 'output' | 'commits' | 'latency';
/** Milliseconds; `peer` is DuckDB's. `note` stands beside the figure. */
interface Line {
  readonly step: string;
  readonly ours: number;
  readonly peer?: number;
  readonly note?: string;
  readonly query?: boolean;
}
export interface BenchFigures {
  readonly rows: number;
  readonly runs: number;
  readonly megabytes: number;
  readonly duckdb?: string;
  readonly lines: readonly Line[];
  readonly wrong: readonly string[];
  readonly mean: number | undefined;
}

const shuffledBlockRows = 997;

/** The same rows, blocks of them in a fixed order that is far from sorted. */
const writeShuffled = async (file: string, target: string): Promise<void> => {
  const blocks: string[][] = [[]];
  for await (const line of createInterface(createReadStream(file))) {
    if (blocks.at(-1)!.length === shuffledBlockRows) blocks.push([]);
    blocks.at(-1)!.push(line);
  }
  const out = createWriteStream(target);
  const step = [7919, 6101, 1].find((n) => blocks.length % n !== 0)!;
  for (let k = 0; k < blocks.length; k++)
    if (!out.write(`${blocks[(k * step) % blocks.length]!.join('\n')}\n`)) await once(out, 'drain');
  out.end();
  await once(out, 'close');
};

interface Streamed {
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  readonly lines: number;
  readonly text: string;
}
/**
 * One exchange; the body of the request comes from a file or a text, that of the answer is counted, and kept when it is
 * asked for.
 */
const exchange = (
  address: string,
  path: string,
  options: {
    readonly file?: string;
    readonly body?: string | Buffer;
    readonly accept?: string;
    readonly type?: string;
    readonly keep?: Buffer[];
  },
): Promise<Streamed> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const client = request(
      `${address}${path}`,
      {
        method: 'POST',
        headers: { 'content-type': options.type ?? 'application/json', accept: options.accept ?? 'application/json' },
      },
      (response) => {
        let bytes = 0;
        let lines = 0;
        const failed: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          options.keep?.push(chunk);
          if (response.statusCode !== 200) failed.push(chunk);
          else if (options.accept === 'application/x-ndjson')
            for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
        });
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(failed).toString();
          if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode} ${text}`));
          else resolve({ status: 200, ms: performance.now() - began, bytes, lines, text });
        });
      },
    );
    client.on('error', reject);
    if (options.file !== undefined) createReadStream(options.file, { highWaterMark: 1 << 20 }).pipe(client);
    else client.end(options.body);
  });

class Bench {
  readonly lines: Line[] = [];
  readonly wrong: string[] = [];
  private readonly options: BenchOptions;
  private readonly folder: string;
  private readonly file: string;
  private service: Service;
  private client: Client;
  private readonly duckdb: DuckDb | undefined;

  constructor(options: BenchOptions, folder: string, file: string, service: Service, duckdb: DuckDb | undefined) {
    this.options = options;
    this.folder = folder;
    this.file = file;
    this.service = service;
    this.client = clientOf(service.address);
    this.duckdb = duckdb;
  }

  private record(line: Line): void {
    this.lines.push(line);
    process.stderr.write(`${shown(line)}\n`);
  }
  private check(what: string, right: boolean): void {
    if (!right) this.wrong.push(what);
  }

  async run(): Promise<void> {
    const wanted = (part: Part): boolean => this.options.only?.has(part) ?? true;
    await this.load();
    if (wanted('load')) await this.loadShuffled();
    if (wanted('query')) await this.queries();
    if (wanted('output')) await this.outputs();
    if (wanted('commits')) await this.commits();
    if (wanted('latency')) await this.latency();
  }
  async stop(): Promise<void> {
    this.client.close();
    await this.service.stop();
    this.duckdb?.stop();
  }

  private async count(pool: string): Promise<number> {
    return (await this.client.query<{ n: number }>(`from ${pool} | aggregate n:=count()`))[0]?.n ?? 0;
  }

  private async load(): Promise<void> {
    await this.client.createPool('bench', 'ts');
    const { ms } = await exchange(this.service.address, '/pool/bench/branch/main', { file: this.file });
    const peer = await this.duckdb?.run(
      `create table ev as select * from read_json('${this.file}', format='newline_delimited', sample_size=100000) order by ts`,
    );
    this.record({ step: 'load NDJSON, durable, sorted', ours: ms, ...(peer !== undefined && { peer }) });
    this.check('rows after the load', (await this.count('bench')) === this.options.rows);
  }
  private async loadShuffled(): Promise<void> {
    const file = join(this.folder, 'shuffled.ndjson');
    await writeShuffled(this.file, file);
    await this.client.createPool('shuffled', 'ts');
    const { ms } = await exchange(this.service.address, '/pool/shuffled/branch/main', { file });
    this.record({ step: 'load NDJSON, shuffled', ours: ms });
    const first = await this.client.query<Row>('from shuffled | head 1');
    const kept = await this.client.query<Row>('from bench | head 1');
    this.check(
      'shuffled load',
      (await this.count('shuffled')) === this.options.rows && JSON.stringify(first) === JSON.stringify(kept),
    );
    await this.client.ask('DELETE', '/pool/shuffled');
    rmSync(file);
  }

  private async queries(): Promise<void> {
    const { runs } = this.options;
    const sample = await sampleOf(this.file, this.options.rows, runs + 2);
    const all = steps.map((step) => ({
      step,
      runs: Array.from({ length: runs + 2 }, (_, run) => step.run(run, sample)),
    }));
    const oracles = all
      .flatMap((one) => one.runs.map(({ oracle }) => oracle))
      .filter((oracle) => oracle.add !== undefined);
    for await (const line of createInterface(createReadStream(this.file))) {
      const row = JSON.parse(line) as Row;
      for (const oracle of oracles) oracle.add!(row);
    }
    for (const {
      step,
      runs: [, ...counted],
    } of all) {
      const ours: number[] = [];
      const peer: number[] = [];
      for (const [i, one] of counted.entries()) {
        const took = await this.ask(step.name, one);
        const other = await this.duckdb?.run(one.sql);
        if (i === 0) {
          // Its own answer counts for the warm-up alone: the rows are looked at once.
          if (one.alike && this.duckdb)
            this.check(`${step.name}: DuckDB's answer`, one.oracle.right((await this.duckdb.ask(one.sql))?.rows ?? []));
          continue;
        }
        ours.push(took);
        if (other !== undefined) peer.push(other);
      }
      this.record({ step: step.name, ours: median(ours), ...(peer.length > 0 && { peer: median(peer) }), query: true });
    }
    // The run that was kept back: each on a service that has just started.
    for (const name of ['count by low cardinality', 'point look-up, not the key']) {
      await this.restart();
      this.record({
        step: `${name}, first after a restart`,
        ours: await this.ask(name, all.find(({ step }) => step.name === name)!.runs[0]!),
      });
    }
  }
  private async ask(step: string, { query, oracle }: StepRun): Promise<number> {
    const kept: Buffer[] = [];
    const { ms } = await exchange(this.service.address, '/query', {
      body: JSON.stringify({ query }),
      accept: 'application/x-ndjson',
      keep: kept,
    });
    const answer = Buffer.concat(kept)
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Answer);
    if (!oracle.right(answer)) this.wrong.push(`${step}: ${query}: ${JSON.stringify(answer).slice(0, 300)}`);
    return ms;
  }
  private async restart(): Promise<void> {
    this.client.close();
    const { lake } = this.service;
    const old = this.service;
    await old.end();
    const service = await startBuiltService({ asShipped: true, lake });
    this.service = {
      ...service,
      stop: async () => {
        await service.end();
        await old.stop();
      },
    };
    this.client = clientOf(service.address);
  }

  private async outputs(): Promise<void> {
    const conn = Number(
      (await this.client.query<{ n: number }>("from bench | kind=='conn' | aggregate n:=count()"))[0]?.n,
    );
    for (const [name, type] of [
      ['JSON', 'application/json'],
      ['NDJSON', 'application/x-ndjson'],
      ['SUP', 'application/x-sup'],
      ['BSUP', 'application/x-bsup'],
    ] as const) {
      await this.output(
        `all rows out as ${name}`,
        'from bench',
        type,
        this.options.rows,
        name === 'JSON' ? `copy ev to '${join(this.folder, 'out')}' (format json)` : undefined,
      );
    }
    const fused = "from bench | kind=='conn' | fuse";
    const copy = (format: string): string =>
      `copy (select * from ev where kind='conn') to '${join(this.folder, 'out')}' (format ${format})`;
    for (const [name, type] of [
      ['Arrow', 'application/vnd.apache.arrow.stream'],
      ['Parquet', 'application/x-parquet'],
      ['CSV', 'text/csv'],
    ] as const) {
      await this.output(
        `35 % of the rows, fused, out as ${name}`,
        fused,
        type,
        conn,
        name === 'Arrow' ? undefined : copy(name.toLowerCase()),
      );
    }
  }
  /** What came out is loaded again to see whether it is all there, unless it is large. */
  private async output(
    step: string,
    query: string,
    type: string,
    rows: number,
    sql: string | undefined,
  ): Promise<void> {
    const again = this.options.rows <= 100_000;
    const kept: Buffer[] = [];
    const { ms, bytes, lines } = await exchange(this.service.address, '/query', {
      body: JSON.stringify({ query }),
      accept: type,
      ...(again && { keep: kept }),
    });
    const peer = sql === undefined ? undefined : await this.duckdb?.run(sql);
    this.record({ step, ours: ms, ...(peer !== undefined && { peer }) });
    this.check(
      `${step}: ${bytes} bytes, ${lines} lines`,
      bytes > rows * 10 && (type !== 'application/x-ndjson' || lines === rows),
    );
    if (!again) return;
    // JSON is one array, which would be one value of the pool.
    if (type === 'application/json')
      return this.check(`${step}: values`, (JSON.parse(Buffer.concat(kept).toString()) as unknown[]).length === rows);
    await this.client.createPool('again', 'ts');
    await exchange(this.service.address, '/pool/again/branch/main', {
      body: Buffer.concat(kept),
      type: type === 'application/x-ndjson' ? 'application/json' : type,
    });
    this.check(`${step}: rows after loading it again`, (await this.count('again')) === rows);
    await this.client.ask('DELETE', '/pool/again');
  }

  private async commits(): Promise<void> {
    await this.client.createPool('small', 'ts');
    const inTurn = Math.min(1000, this.options.rows / 100);
    const sync = syncTimes(this.service.lake);
    let next = 0;
    const row = (): unknown => ({ ts: next++, value: `row ${next}`, n: next * 7 });
    const own = await commitTimes(() => this.client.load('small', [row()]), inTurn);
    const total = Math.min(10_000, Math.max(next, this.options.rows / 100));
    const bare = await this.bareTimes(inTurn);
    const raw = `one raw fdatasync ${median([...sync, ...syncTimes(this.service.lake)]).toFixed(2)} ms`;
    this.record({
      step: 'small durable commits, one client, each',
      ours: own.inTurn,
      note: `${raw}, a bare server that writes and syncs ${bare.inTurn.toFixed(2)} ms`,
    });
    this.record({
      step: 'small durable commits, 64 clients, each',
      ours: own.atOnce,
      note: `${raw}, a bare server that writes and syncs ${bare.atOnce.toFixed(2)} ms`,
    });
    // As many commits as the bound on scans of fine-grained branches speaks of.
    let left = total - next;
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        while (left-- > 0) await this.client.load('small', [row()]);
      }),
    );
    for (const when of ['', ', first after a restart']) {
      if (when !== '') await this.restart();
      const asked = performance.now();
      const [sums] = await this.client.query<{ s: number; n: number }>('from small | s:=sum(n), n:=count()');
      this.record({ step: `scan of ${next} one-record commits${when}`, ours: performance.now() - asked });
      this.check(
        `scan of small commits${when}: ${JSON.stringify(sums)}`,
        sums?.n === next && sums.s === (7 * next * (next + 1)) / 2,
      );
    }
  }

  /** What the same commits take of a server that does the least for them. */
  private async bareTimes(inTurn: number): Promise<CommitTimes> {
    const server = spawn(
      process.execPath,
      [fileURLToPath(new URL('./bare-server.mjs', import.meta.url)), join(this.folder, 'bare')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      const [port] = (await once(server.stdout, 'data')) as [Buffer];
      const client = clientOf(`http://127.0.0.1:${port.toString().trim()}`);
      let next = 0;
      const times = await commitTimes(
        () => client.load('small', [{ ts: next++, value: `row ${next}`, n: next * 7 }]),
        inTurn,
      );
      client.close();
      return times;
    } finally {
      server.kill();
      await once(server, 'close');
    }
  }

  /** A small GET while two scans run. */
  private async latency(): Promise<void> {
    let over = false;
    const scan = async (query: string): Promise<void> => {
      await exchange(this.service.address, '/query', {
        body: JSON.stringify({ query }),
        accept: 'application/x-ndjson',
      });
    };
    const scans = Promise.all([scan('from bench | sort uid | tail 1'), scan('from bench')]).finally(() => {
      over = true;
    });
    const times: number[] = [];
    while (!over) {
      const began = performance.now();
      const { status } = await this.client.ask('GET', '/pool/bench/branch/main');
      times.push(performance.now() - began);
      this.check(`GET while scanning: ${status}`, status === 200);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
    await scans;
    this.record({ step: 'p99 of a small GET while two scans run', ours: percentile(times, 0.99) });
  }
}

/** Milliseconds: the median of commits in turn, and of many by 64 clients what each takes of all the time. */
interface CommitTimes {
  readonly inTurn: number;
  readonly atOnce: number;
}
const commitTimes = async (one: () => Promise<unknown>, inTurn: number): Promise<CommitTimes> => {
  const times: number[] = [];
  const atOnce = inTurn * 4;
  for (let i = 0; i < inTurn; i++) {
    const began = performance.now();
    await one();
    times.push(performance.now() - began);
  }
  const began = performance.now();
  let left = atOnce;
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (left-- > 0) await one();
    }),
  );
  return { inTurn: median(times), atOnce: (performance.now() - began) / atOnce };
};

/** Rows at even distances, the first one among them. */
const sampleOf = async (file: string, rows: number, count: number): Promise<Sample> => {
  const picked: Row[] = [];
  const stride = Math.max(1, Math.floor(rows / count));
  let at = 0;
  for await (const line of createInterface(createReadStream(file))) {
    if (at++ % stride === 0) picked.push(JSON.parse(line) as Row);
  }
  return { rows: at, picked };
};

const figure = (ms: number | undefined): string => (ms === undefined ? '' : ms >= 100 ? ms.toFixed(0) : ms.toFixed(2));
const shown = ({ step, ours, peer, note }: Line): string =>
  `${step.padEnd(52)}${figure(ours).padStart(10)} ms${figure(peer).padStart(10)}${(peer === undefined ? '' : (ours / peer).toFixed(2)).padStart(8)}${note === undefined ? '' : `  (${note})`}`;

/**
 * Measures on a service of its own and prints as it goes. An answer that is wrong is in `wrong`; a slow one is never a
 * fault.
 */
export const runBench = async (options: BenchOptions): Promise<BenchFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-bench-'));
  const file = options.file ?? join(folder, 'events.ndjson');
  let bench: Bench | undefined;
  try {
    if (options.file === undefined) await writeEvents(file, options.rows);
    const duckdb = options.duckdb === false ? undefined : await startDuckDb(join(folder, 'duckdb'));
    process.stderr.write(
      `${options.rows} rows, ${(statSync(file).size / 1e6).toFixed(0)} MB; ${machine()}; ${duckdb ? `DuckDB ${duckdb.version}` : 'no DuckDB'}\n${'step'.padEnd(52)}${'ours'.padStart(10)}   ${'DuckDB'.padStart(10)}${'ratio'.padStart(8)}\n`,
    );
    bench = new Bench(options, folder, file, await startBuiltService({ asShipped: true }), duckdb);
    // What a service of some seconds takes; the steps behind a restart tell what one takes that has just begun.
    if (!process.env['VITEST'])
      await new Promise((resolve) => {
        setTimeout(resolve, warmUpMs);
      });
    await bench.run();
    const mean = geometricMean(
      bench.lines.flatMap(({ ours, peer, query }) => (query && peer !== undefined ? [ours / peer] : [])),
    );
    if (mean !== undefined) process.stderr.write(`geometric mean of the queries' ratios: ${mean.toFixed(2)}\n`);
    for (const fault of bench.wrong) process.stderr.write(`wrong: ${fault}\n`);
    const megabytes = Math.round(statSync(file).size / 1e6);
    return {
      rows: options.rows,
      runs: options.runs,
      megabytes,
      ...(duckdb && { duckdb: duckdb.version }),
      lines: bench.lines,
      wrong: bench.wrong,
      mean,
    };
  } finally {
    await bench?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The table as the manual shows it. */
export const markdown = ({ lines, mean, rows, runs, megabytes, duckdb }: BenchFigures): string =>
  [
    `${rows.toLocaleString('en')} records (${megabytes} MB of NDJSON), medians of ${runs} runs; ${machine()}${duckdb === undefined ? '' : `; DuckDB ${duckdb} in process`}.`,
    '',
    '| Step | ours | DuckDB | ratio |',
    '|---|---|---|---|',
    ...lines.map(
      ({ step, ours, peer, note }) =>
        `| ${step.replaceAll('|', '\\|')}${note === undefined ? '' : ` (${note})`} | ${figure(ours)} ms | ${peer === undefined ? '' : `${figure(peer)} ms`} | ${peer === undefined ? '' : (ours / peer).toFixed(2)} |`,
    ),
    ...(mean === undefined ? [] : [`| geometric mean of the queries | | | ${mean.toFixed(2)} |`]),
    '',
  ].join('\n');

const measurements = fileURLToPath(new URL('../../visualize/docs/manual/measurements.md', import.meta.url));
export const tableMarkers = { begin: '<!-- begin bench -->\n', end: '<!-- end bench -->' } as const;
/** A page with this table between its markers. */
export const withTable = (
  text: string,
  table: string,
  markers: { readonly begin: string; readonly end: string } = tableMarkers,
): string => {
  const start = text.indexOf(markers.begin) + markers.begin.length;
  const end = text.indexOf(markers.end);
  if (start < markers.begin.length || end < start) throw new Error('the page has no place for the table');
  return text.slice(0, start) + table + text.slice(end);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string): string | undefined =>
    process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : undefined;
  const only = option('only')?.split(',') as Part[] | undefined;
  const file = option('file');
  const target = option('markdown');
  const figures = await runBench({
    rows: Number(option('rows') ?? 1_000_000),
    runs: Number(option('runs') ?? 5),
    ...(file !== undefined && { file }),
    ...(only && { only: new Set(only) }),
  });
  if (target !== undefined) writeFileSync(target, markdown(figures));
  if (process.argv.includes('--manual'))
    writeFileSync(measurements, withTable(readFileSync(measurements, 'utf8'), markdown(figures)));
  process.exitCode = figures.wrong.length > 0 ? 1 : 0;
}
