/**
 * What pools as Iceberg tables cost: `npm run bench:tables -- --rows 1000000 --commits 10000 --objects 1000`.
 *
 * The files of so many rows: seconds of processors, the highest memory that the process had meanwhile, bytes beside
 * those that pyarrow writes of them with zstd (`ICEBERG_PYTHON`). `--mapping variant`: of that mapping; `--mixed`: a row
 * has all but its time and its kind in one field, which is a record, a list or a text. Then LoadTable of a pool of so many commits, whose head has so many objects: when
 * nothing changed (304), and when each time a commit came. Times are printed, what is told is checked.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { residentMib } from '../../support/resident.ts';
import type { Mapping } from '../../../src/iceberg/kinds.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Id } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { runSmallLoad } from '../../../src/workers/load/small.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import { tablePath } from '../../iceberg/support.ts';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { median, printFigures } from '../../support/figures.ts';
import { processorSecondsOf } from '../../support/service/process-figures.ts';
import { writeEvents } from '../events.ts';

/** The files of a table. */
export interface FileFigures {
  readonly rows: number;
  /** Of processors, all threads together. */
  readonly seconds: number;
  readonly residentMbBefore: number;
  readonly peakMb: number;
  readonly bytes: number;
  /** Of what pyarrow writes of the same rows, where it is there. */
  readonly partOfPyarrow?: number;
  readonly isRight: boolean;
}
export interface FilesWanted {
  readonly mapping?: Mapping;
  readonly isMixed?: boolean;
}
/** LoadTable: the time that the client waits, and that of processors of the service. */
export interface LoadFigures {
  readonly commits: number;
  readonly objects: number;
  readonly unchangedMs: number;
  readonly unchangedProcessorMs: number;
  readonly changedMs: number;
  readonly changedProcessorMs: number;
  readonly isRight: boolean;
}

const pool = { name: 'events', layout: { order: 'asc', keys: [['ts']] }, iceberg: 'lazy' };
const post = async (url: string, body: RequestInit['body'], type = 'application/json'): Promise<string> => {
  const headers = { 'content-type': type, accept: 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text}`);
  return text;
};

interface LoadedTable {
  readonly etag: string;
  readonly snapshots: readonly { readonly summary: Readonly<Record<string, string>> }[];
}
/** The table as the service tells of it; waits as long as it is being made. Undefined: not modified. */
const loadTable = async ({ address }: Service, etag?: string): Promise<LoadedTable | undefined> => {
  const headers: Record<string, string> = etag === undefined ? {} : { 'if-none-match': etag };
  for (;;) {
    const answer = await fetch(address + tablePath('events'), { headers });
    const text = await answer.text();
    if (answer.status === 304) return undefined;
    if (answer.status === 503) continue;
    if (answer.status !== 200) throw new Error(text);
    const { metadata } = JSON.parse(text) as { readonly metadata: Pick<LoadedTable, 'snapshots'> };
    return { etag: answer.headers.get('etag') ?? '', snapshots: metadata.snapshots };
  }
};

/** A row with all but its time and its kind in one field, whose values are of three kinds. */
const mixedRow = (line: string): string => {
  const { ts, kind, uid, ...rest } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const list = (): unknown => Object.values(rest).map((value) => (typeof value === 'string' ? value : [value]));
  const text = (): unknown => rest['msg'] ?? null;
  const event = kind === 'http' ? rest : kind === 'conn' ? list() : text();
  return JSON.stringify({ ts, kind, uid, event });
};
const writeMixedEvents = async (path: string, rows: number): Promise<void> => {
  const plain = `${path}.plain`;
  await writeEvents(plain, rows);
  const out = createWriteStream(path);
  for await (const line of createInterface({ input: createReadStream(plain) }))
    if (!out.write(`${mixedRow(line)}\n`)) await once(out, 'drain');
  out.end();
  await once(out, 'close');
  rmSync(plain);
};

/** What pyarrow writes of the files of a lake's one table, in bytes; undefined where it is not there. */
const pyarrowBytes = (lake: string): number | undefined => {
  const python = process.env['ICEBERG_PYTHON'];
  if (python === undefined || !existsSync(join(python, 'pyarrow'))) return undefined;
  const found = spawnSync('python3', [script, join(lake, 'iceberg')], {
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: python },
  });
  if (found.status !== 0) throw new Error(found.stderr);
  return Number(found.stdout);
};
const script = fileURLToPath(new URL('tables.py', import.meta.url));

/** Loads rows of the benchmark's kind, and has their files made by a service that was just started. */
export const measureFiles = async (
  rows: number,
  { mapping = 'typed', isMixed = false }: FilesWanted = {},
): Promise<FileFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-tables-'));
  const lake = join(folder, 'lake');
  try {
    const path = join(folder, 'events.ndjson');
    await (isMixed ? writeMixedEvents : writeEvents)(path, rows);
    const loading = await startBuiltService({ lake });
    await post(`${loading.address}/pool`, JSON.stringify({ ...pool, iceberg_mapping: mapping }));
    const body = createReadStream(path) as unknown as RequestInit['body'];
    await post(`${loading.address}/pool/events/branch/main`, body, 'application/x-ndjson');
    await loading.stop();
    const service = await startBuiltService({ lake, flags: ['-workers', '1'] });
    try {
      const pid = service.process.pid ?? 0;
      // The highest memory counts from here on.
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
      const residentMbBefore = residentMib(pid, 'VmRSS') ?? 0;
      const before = processorSecondsOf(pid);
      const table = await loadTable(service);
      const seconds = processorSecondsOf(pid) - before;
      const peakMb = residentMib(pid, 'VmHWM') ?? 0;
      const { 'total-records': records, 'total-files-size': bytes } = table?.snapshots.at(-1)?.summary ?? {};
      const isRight = records === String(rows);
      const pyarrow = pyarrowBytes(lake);
      const partOfPyarrow = pyarrow === undefined ? {} : { partOfPyarrow: Number(bytes) / pyarrow };
      return { rows, seconds, residentMbBefore, peakMb, bytes: Number(bytes), ...partOfPyarrow, isRight };
    } finally {
      await service.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Loads that are compacted into one object. */
const compactedAtOnce = 10;

/** A pool of so many commits, whose head has so many objects: loads, and compactions of ten of them now and then. */
const writeTable = async (directory: string, { commits, objects }: TableSize): Promise<number> => {
  const store = openObjects(directory);
  const lake = await openLake({ directory, objects: store });
  const workers = startWorkerPool({ lakeDirectory: directory, threads: 1 }, lake);
  try {
    const { pool: config } = await lake.createPool({ name: 'events', keys: [['ts']], iceberg: 'lazy' });
    const own = lake.pool(`0x${config.id}`);
    const compactions = Math.min(objects, Math.floor((commits - objects) / compactedAtOnce));
    let row = 0;
    const load = async (): Promise<readonly Id[]> => {
      const ts = row++;
      const body = Buffer.from(JSON.stringify({ ts, text: `row ${ts}` }));
      const layout = { keys: [['ts']], order: 'asc' as const, threshold: own.config.threshold };
      const made = await runSmallLoad({ pool: layout, format: 'json', body }, { objects: store, readLimits: {} });
      await own.load('main', made.objects);
      return made.objects.map(({ id }) => id);
    };
    for (let n = 0; n < compactions; n++) {
      const ids = (await Promise.all(Array.from({ length: compactedAtOnce }, load))).flat();
      await own.compact('main', ids, workers.prepareCompact(ids));
    }
    const rest = commits - compactions * (compactedAtOnce + 1);
    for (let n = 0; n < rest; n += 100) await Promise.all(Array.from({ length: Math.min(100, rest - n) }, load));
    return row;
  } finally {
    await workers.close();
    await lake.close();
  }
};
interface TableSize {
  readonly commits: number;
  readonly objects: number;
}

/** `times`: how often the table is loaded either way. */
export const measureLoadTable = async (size: TableSize, times: number): Promise<LoadFigures> => {
  const lake = mkdtempSync(join(tmpdir(), 'lake-tables-'));
  try {
    let rows = await writeTable(lake, size);
    const service = await startBuiltService({ lake, flags: ['-workers', '1'] });
    try {
      let table = await settledTable(service);
      const pid = service.process.pid ?? 0;
      let isRight = table.snapshots.at(-1)?.summary['total-records'] === String(rows);
      const unchanged = await timed(pid, times, async () => {
        if ((await loadTable(service, table.etag)) !== undefined) isRight = false;
      });
      const changed = await timed(
        pid,
        times,
        async () => {
          const next = await loadTable(service, table.etag);
          if (next?.snapshots.at(-1)?.summary['total-records'] !== String(rows)) isRight = false;
          table = next ?? table;
        },
        async () => {
          await post(`${service.address}/pool/events/branch/main`, `{"ts":${rows},"text":"row ${rows}"}`);
          rows++;
        },
      );
      return {
        ...size,
        unchangedMs: unchanged.ms,
        unchangedProcessorMs: unchanged.processorMs,
        changedMs: changed.ms,
        changedProcessorMs: changed.processorMs,
        isRight,
      };
    } finally {
      await service.stop();
    }
  } finally {
    rmSync(lake, { recursive: true, force: true });
  }
};

/** The table once all of its files are made and merged: what is told twice stays so. */
const settledTable = async (service: Service): Promise<LoadedTable> => {
  for (let table = await loadTable(service); ; ) {
    const next = await loadTable(service);
    if (!next) throw new Error('no table');
    if (next.etag === table?.etag) return next;
    table = next;
  }
};

/** The middle time of so many runs, and the processor's of one; `before` is not counted. */
const timed = async (
  pid: number,
  times: number,
  run: () => Promise<void>,
  before?: () => Promise<void>,
): Promise<{ readonly ms: number; readonly processorMs: number }> => {
  const taken: number[] = [];
  let seconds = 0;
  for (let n = 0; n < times; n++) {
    await before?.();
    const started = performance.now();
    const secondsBefore = processorSecondsOf(pid);
    await run();
    taken.push(performance.now() - started);
    seconds += processorSecondsOf(pid) - secondsBefore;
  }
  return { ms: median(taken), processorMs: (seconds * 1000) / times };
};

const print = (what: string, { isRight, ...figures }: FileFigures | LoadFigures): void => {
  printFigures(what, { ...figures, 'what was told': isRight ? 'right' : 'WRONG' });
};

const main = async (argv: readonly string[]): Promise<void> => {
  const option = (name: string, or: number): number => {
    const at = argv.indexOf(`--${name}`);
    return at < 0 ? or : Number(argv[at + 1]);
  };
  const rows = option('rows', 1_000_000);
  const mapping = argv[argv.indexOf('--mapping') + 1] === 'variant' ? 'variant' : 'typed';
  const wanted = { mapping, isMixed: argv.includes('--mixed') } as const;
  if (rows > 0) print(`files of a table, mapping ${mapping}`, await measureFiles(rows, wanted));
  const size = { commits: option('commits', 10_000), objects: option('objects', 1_000) };
  if (size.commits > 0) print('LoadTable', await measureLoadTable(size, 20));
};
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
