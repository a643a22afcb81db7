/**
 * How costs grow: `npm run bench:growth -- --pools 2000 --commits 100000 --rows 1000000,10000000`.
 *
 * Opening a lake of many pools and commits, counted from the start of the process to its first answer; then point
 * look-ups, key ranges and scans of a pool at several sizes: look-ups and ranges should grow by less than the rows do,
 * scans by no more. Answers are checked.
 */
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openLake } from '../../src/lake/lake.ts';
import { openObjects } from '../../src/lake/objects/objects.ts';
import { runSmallLoad } from '../../src/workers/load/small.ts';
import { startBuiltService } from '../support/service/built.ts';
import { clientOf } from '../support/service/client.ts';
import { median, ms, printFigures } from '../support/figures.ts';
import { writeEvents } from './events.ts';

/** `killedMs`: the opening after the process was killed, which reads the tables through before they are trusted. */
interface OpeningFigures {
  readonly pools: number;
  readonly commits: number;
  readonly openMs: number;
  readonly firstQueryMs: number;
  readonly killedMs: number;
  readonly emptyMs: number;
  readonly right: boolean;
}

/** Writes a lake of so many pools with so many one-record commits in all. */
const writeLake = async (
  directory: string,
  { pools, commits }: { readonly pools: number; readonly commits: number },
): Promise<void> => {
  const objects = openObjects(directory);
  const lake = await openLake({ directory, objects });
  const inParallel = (workers: number, work: () => Promise<void>): Promise<unknown> =>
    Promise.all(Array.from({ length: workers }, work));
  let pool = 0;
  let commit = 0;
  await inParallel(64, async () => {
    while (pool < pools) await lake.createPool({ name: `p${pool++}`, keys: [['k']] });
  });
  await inParallel(1024, async () => {
    while (commit < commits) {
      const k = commit++;
      const body = Buffer.from(JSON.stringify({ k, text: `row ${k}` }));
      const made = await runSmallLoad(
        { pool: { keys: [['k']], order: 'asc', threshold: 1 << 20 }, format: 'json', body },
        { objects, readLimits: {} },
      );
      // One pool after the other: the commits of a pool that wait together are written together.
      await lake.pool(`p${Math.floor((k * pools) / commits)}`).load('main', made.objects);
    }
  });
  await lake.close();
};

/** Makes such a lake and opens it. */
export const measureOpening = async (options: {
  readonly pools: number;
  readonly commits: number;
}): Promise<OpeningFigures> => {
  const began = performance.now();
  const made = await startBuiltService({ asShipped: true });
  const emptyMs = performance.now() - began;
  try {
    await made.end();
    await writeLake(made.lake, options);
    const started = performance.now();
    const service = await startBuiltService({ asShipped: true, lake: made.lake });
    const again = clientOf(service.address);
    const pools = await again.query<{ n: number }>('from :pools | aggregate n:=count()');
    const openMs = performance.now() - started;
    const asked = performance.now();
    const last = options.pools - 1;
    const rows = await again.query<{ n: number }>(`from p${last} | aggregate n:=count()`);
    const firstQueryMs = performance.now() - asked;
    const wanted = options.commits - Math.ceil((last * options.commits) / options.pools);
    again.close();
    await service.end('SIGKILL');
    const restarted = performance.now();
    const survivor = await startBuiltService({ asShipped: true, lake: made.lake });
    const another = clientOf(survivor.address);
    const kept = await another.query<{ n: number }>('from :pools | aggregate n:=count()');
    const killedMs = performance.now() - restarted;
    another.close();
    await survivor.end();
    printFigures('opening', {
      pools: options.pools,
      commits: options.commits,
      'tables MB': (statSync(join(made.lake, 'tables', 'data.mdb')).size / 1e6).toFixed(0),
      'start of an empty lake': ms(emptyMs),
      'open to first answer': ms(openMs),
      'first query of a pool': ms(firstQueryMs),
      'open after a kill': ms(killedMs),
    });
    return {
      ...options,
      openMs,
      firstQueryMs,
      killedMs,
      emptyMs,
      right: pools[0]?.n === options.pools && kept[0]?.n === options.pools && rows[0]?.n === wanted,
    };
  } finally {
    await made.stop();
  }
};

interface SizeFigures {
  readonly rows: number;
  readonly loadMs: number;
  readonly steps: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

const load = (address: string, file: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const client = request(
      `${address}/pool/events/branch/main`,
      { method: 'POST', headers: { 'content-type': 'application/json' } },
      (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(performance.now() - began)
            : reject(new Error(`load: ${response.statusCode}`)),
        );
      },
    );
    client.on('error', reject);
    createReadStream(file, { highWaterMark: 1 << 20 }).pipe(client);
  });

/** Measures a pool of so many rows: medians of some runs, each with another literal. */
export const measureSize = async (rows: number, runs = 5): Promise<SizeFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-growth-'));
  const file = join(folder, 'events.ndjson');
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  try {
    await writeEvents(file, rows);
    await client.createPool('events', 'ts');
    const loadMs = await load(service.address, file);
    const wrong: string[] = [];
    const steps: Record<string, number> = {};
    // The same width whatever the size of the pool: 137 seconds hold a thousand rows.
    const from = (run: number): number => Date.UTC(2026, 0, 1) + Math.floor(rows * 137 * (0.2 + run / 10));
    const iso = (time: number): string => new Date(time).toISOString();
    const range = (run: number): string =>
      `from events | ts >= '${iso(from(run))}' and ts < '${iso(from(run) + 137_000)}'`;
    const [some] = await client.query<{ ts: string }>(`${range(0)} | head 1`);
    if (!some) throw new Error('the range of keys is empty');
    const kinds: Record<string, { readonly text: (run: number) => string; readonly right: (n: number) => boolean }> = {
      'point look-up by key': { text: () => `from events | ts=='${some.ts}' | n:=count()`, right: (n) => n >= 1 },
      'range of 1,000 keys': { text: (run) => `${range(run)} | n:=count()`, right: (n) => Math.abs(n - 1000) < 5 },
      'count by kind': {
        text: (run) => `from events | count() by kind | n:=sum(count) | put run:=${run}`,
        right: (n) => n === rows,
      },
    };
    for (const [name, { text, right }] of Object.entries(kinds)) {
      const times: number[] = [];
      for (let run = 0; run <= runs; run++) {
        const began = performance.now();
        const [row] = await client.query<{ n: number }>(text(run));
        if (run > 0) times.push(performance.now() - began);
        if (!row || !right(row.n)) wrong.push(`${text(run)}: ${JSON.stringify(row)}`);
      }
      steps[name] = median(times);
    }
    printFigures('growth', {
      rows,
      load: ms(loadMs),
      ...Object.fromEntries(Object.entries(steps).map(([name, time]) => [name, ms(time)])),
    });
    return { rows, loadMs, steps, wrong };
  } finally {
    client.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name: string, standard: string): string =>
    process.argv.includes(`--${name}`) ? (process.argv[process.argv.indexOf(`--${name}`) + 1] ?? standard) : standard;
  const opening = await measureOpening({
    pools: Number(option('pools', '2000')),
    commits: Number(option('commits', '100000')),
  });
  const sizes: SizeFigures[] = [];
  for (const rows of option('rows', '1000000,10000000').split(',').map(Number)) sizes.push(await measureSize(rows));
  for (const [small, large] of sizes.slice(1).map((size, i) => [sizes[i]!, size] as const)) {
    const grown = (a: number, b: number): string => (b / a).toFixed(2);
    printFigures(`${large.rows / small.rows} times the rows`, {
      load: grown(small.loadMs, large.loadMs),
      ...Object.fromEntries(Object.entries(large.steps).map(([name, time]) => [name, grown(small.steps[name]!, time)])),
    });
  }
  const wrong = sizes.flatMap((size) => size.wrong);
  for (const fault of wrong) process.stderr.write(`wrong: ${fault}\n`);
  process.exitCode = opening.right && wrong.length === 0 ? 0 : 1;
}
