/**
 * How long a small GET takes while loads and scans run, and how late the main thread's event loop is: `npm run
 * bench:latency -- --rows 1000000`. Afterwards what small durable commits cost, beside a raw sync of the same disk. The
 * load, the scans and this clock are three kinds of processes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf } from '../support/service/client.ts';
import { median, ms, percentile, printFigures, syncTimes } from '../support/figures.ts';
import { scriptArguments } from '../support/script.ts';
import { writeEvents } from './events.ts';

interface LatencyFigures {
  readonly rows: number;
  readonly gets: { readonly whileLoading: readonly number[]; readonly whileLoadingAndScanning: readonly number[] };
  /** Milliseconds that the main thread's event loop was late, from the service's own /metrics. */
  readonly loopLateMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly scans: number;
  readonly counts: readonly number[];
}
interface Traffic {
  readonly status: number;
  readonly bytes: number;
  readonly tookMs: number;
}

const trafficScript = scriptArguments(new URL('./traffic.ts', import.meta.url));
const traffic = (kind: 'load' | 'query', url: string, argument: string): Promise<Traffic> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...trafficScript, kind, url, argument], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => {
      const answer = out === '' ? undefined : (JSON.parse(out) as Traffic);
      if (answer?.status === 200) resolve(answer);
      else reject(new Error(`${kind} ${argument}: ${answer?.status ?? 'no answer'}`));
    });
  });

/** GETs one after the other, of a path that reads the lake and one that does not, until the work is done. */
const getsDuring = async (client: Client, path: string, work: Promise<unknown>): Promise<readonly number[]> => {
  const times: number[] = [];
  let over = false;
  void work
    .finally(() => {
      over = true;
    })
    .catch(() => undefined);
  while (!over) {
    for (const target of ['/version', path]) {
      const began = performance.now();
      const { status } = await client.ask('GET', target);
      times.push(performance.now() - began);
      if (status !== 200) throw new Error(`GET ${target}: ${status}`);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
  await work;
  return times;
};

const loopLate = async (client: Client): Promise<LatencyFigures['loopLateMs']> => {
  const { body } = await client.ask('GET', '/metrics');
  const [p50 = NaN, p99 = NaN, max = NaN] = ['p50', 'p99', 'max'].map(
    (name) => 1000 * Number(new RegExp(`^lake_main_thread_late_${name}_seconds (\\S+)$`, 'm').exec(body)?.[1]),
  );
  return { p50, p99, max };
};

/**
 * Measures on a service of its own, prints what it finds. Throws when an answer is wrong, never because one is slow.
 */
export const measureLatency = async (rows: number): Promise<LatencyFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-latency-'));
  const file = join(folder, 'events.ndjson');
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  try {
    await writeEvents(file, rows);
    for (const pool of ['a', 'b']) await client.createPool(pool, 'ts');
    const firstLoad = traffic('load', `${service.address}/pool/a/branch/main`, file);
    const whileLoading = await getsDuring(client, '/pool/a/branch/main', firstLoad);
    await loopLate(client);
    let loading = true;
    let scans = 0;
    const load = traffic('load', `${service.address}/pool/b/branch/main`, file).finally(() => {
      loading = false;
    });
    const scan = async (query: string): Promise<void> => {
      do {
        await traffic('query', `${service.address}/query`, query);
        scans++;
      } while (loading);
    };
    const whileLoadingAndScanning = await getsDuring(
      client,
      '/pool/b/branch/main',
      Promise.all([load, scan('from a | sort uid | tail 1'), scan('from a')]),
    );
    const loopLateMs = await loopLate(client);
    const counts = (
      await Promise.all(['a', 'b'].map((pool) => client.query<{ n: number }>(`from ${pool} | aggregate n:=count()`)))
    ).map(([row]) => row!.n);
    printFigures('latency', {
      rows,
      'file MB': (statSync(file).size / 1e6).toFixed(0),
      load: ms((await firstLoad).tookMs),
      'load beside two scans': ms((await load).tookMs),
      scans,
      'GET p50 / p99 while loading': `${ms(median(whileLoading))} / ${ms(percentile(whileLoading, 0.99))}`,
      'GET p50 / p99 while loading and scanning': `${ms(median(whileLoadingAndScanning))} / ${ms(percentile(whileLoadingAndScanning, 0.99))}`,
      'event loop late p50 / p99 / max': `${ms(loopLateMs.p50)} / ${ms(loopLateMs.p99)} / ${ms(loopLateMs.max)}`,
    });
    return { rows, gets: { whileLoading, whileLoadingAndScanning }, loopLateMs, scans, counts };
  } finally {
    client.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

/**
 * Small durable commits: by one client in turn, and by 64 at once. Milliseconds each, and a raw sync of the disk in the
 * same minute.
 */
export const measureCommits = async (options: {
  readonly inTurn: number;
  readonly atOnce: number;
}): Promise<{ readonly inTurn: number; readonly atOnce: number; readonly rows: number }> => {
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  try {
    await client.createPool('small', 'ts');
    const sync = syncTimes(service.lake);
    const times: number[] = [];
    let next = 0;
    const one = (): Promise<string> => client.load('small', [{ ts: next++, value: `row ${next}`, n: next * 7 }]);
    for (let i = 0; i < options.inTurn; i++) {
      const began = performance.now();
      await one();
      times.push(performance.now() - began);
    }
    const began = performance.now();
    let left = options.atOnce;
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        while (left-- > 0) await one();
      }),
    );
    const atOnce = (performance.now() - began) / options.atOnce;
    const rows = (await client.query<{ n: number }>('from small | aggregate n:=count()'))[0]!.n;
    printFigures('small commits', {
      'in turn': ms(median(times)),
      p99: ms(percentile(times, 0.99)),
      '64 at once, each': ms(atOnce),
      'raw fdatasync before': ms(median(sync)),
      after: ms(median(syncTimes(service.lake))),
    });
    return { inTurn: median(times), atOnce, rows };
  } finally {
    client.close();
    await service.stop();
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--rows');
  await measureLatency(at > 0 ? Number(process.argv[at + 1]) : 1_000_000);
  await measureCommits({ inTurn: 1000, atOnce: 6400 });
}
