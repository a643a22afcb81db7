/**
 * What engines and attackers cost those who write: `npm run bench:engines`.
 *
 * - Small durable commits of 64 clients, in turn to a pool that is no Iceberg table and to one whose files are made after
 *   each commit (`eager`): how much longer they take.
 * - Requests with forged, expired and other tables' signatures as fast as they are taken, beside somebody who reads a file
 *   with credentials of its own: what each costs the service, and how long that one waits.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { signedHeaders, type Signer } from '../../iceberg/sign.ts';
import { bearer, lakeKey, tablePath } from '../../iceberg/support.ts';
import { type Service, startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf } from '../../support/service/client.ts';
import { median, ms, percentile, printFigures } from '../../support/figures.ts';
import { mainThreadSecondsOf, memoryOf, processorSecondsOf } from '../../support/service/process-figures.ts';

const clients = 64;

interface BesideFigures {
  /** Milliseconds of a commit, of all the time that many by 64 clients took: medians of the rounds. */
  readonly offMs: number;
  readonly eagerMs: number;
  /** The same of the processor: what the service's main thread had to do for each. */
  readonly offMainMs: number;
  readonly eagerMainMs: number;
  /** Rows that the table has in the end, of those that were committed. */
  readonly rows: number;
  readonly committed: number;
}

/** `rounds` of `commits` each, to either pool in turn; what is left of files to be made is waited for in between. */
export const measureBeside = async (rounds: number, commits: number): Promise<BesideFigures> => {
  const service = await startBuiltService({ asShipped: true });
  const client = clientOf(service.address);
  try {
    for (const [name, iceberg] of [
      ['off', 'off'],
      ['eager', 'eager'],
    ])
      await client.json('POST', '/pool', { name, layout: { order: 'asc', keys: [['ts']] }, iceberg });
    const times: Record<'off' | 'eager', number[]> = { off: [], eager: [] };
    const mainTimes: Record<'off' | 'eager', number[]> = { off: [], eager: [] };
    const pid = service.process.pid ?? 0;
    let next = 0;
    const round = async (pool: 'off' | 'eager'): Promise<void> => {
      const began = performance.now();
      const mainBegan = mainThreadSecondsOf(pid);
      let left = commits;
      await Promise.all(
        Array.from({ length: clients }, async () => {
          while (left-- > 0) await client.load(pool, [{ ts: next++, value: `row ${next}`, n: next * 7 }]);
        }),
      );
      times[pool].push((performance.now() - began) / commits);
      mainTimes[pool].push(((mainThreadSecondsOf(pid) - mainBegan) * 1000) / commits);
      await settled(client);
    };
    // The first of either is not counted.
    for (let i = 0; i <= rounds; i++) for (const pool of ['off', 'eager'] as const) await round(pool);
    return {
      offMs: median(times.off.slice(1)),
      eagerMs: median(times.eager.slice(1)),
      offMainMs: median(mainTimes.off.slice(1)),
      eagerMainMs: median(mainTimes.eager.slice(1)),
      rows: Number((await tableOf(client)).rows),
      committed: (rounds + 1) * commits,
    };
  } finally {
    client.close();
    await service.stop();
  }
};

interface LoadedTable {
  readonly etag: string;
  readonly rows: string;
}
const tableOf = async (client: Client): Promise<LoadedTable> => {
  for (;;) {
    const { status, body, headers } = await client.ask('GET', tablePath('eager'));
    if (status === 503) continue;
    if (status !== 200) throw new Error(body);
    const { metadata } = JSON.parse(body) as {
      readonly metadata: { readonly snapshots: readonly { readonly summary: Readonly<Record<string, string>> }[] };
    };
    return { etag: headers.etag ?? '', rows: metadata.snapshots.at(-1)?.summary['total-records'] ?? '0' };
  }
};
/** Resolves once nothing of the table is being made. */
const settled = async (client: Client): Promise<void> => {
  for (let before = ''; ; ) {
    const { etag } = await tableOf(client);
    if (etag === before) return;
    before = etag;
  }
};

interface ForgedFigures {
  readonly answered: number;
  /** By status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly seconds: number;
  /** Microseconds of processors of the service for each, of who reads meanwhile too. */
  readonly processorUs: number;
  /** The same where nobody reads: wrong signatures, and right ones for what is not theirs. */
  readonly wrongUs: number;
  readonly misusedUs: number;
  readonly megabytesGrown: number;
  /** Of who reads meanwhile: milliseconds of each request, and how many were not answered with the file. */
  readonly honestMs: readonly number[];
  readonly honestFaults: number;
}

/** So many forged requests over so many connections, each of which has some on their way at a time. */
export const measureForged = async (count: number, connections = 8): Promise<ForgedFigures> => {
  const lake = mkdtempSync(join(tmpdir(), 'lake-forged-'));
  const key = await lakeKey(lake, 'add', '-role', 'admin', 'admin');
  const service = await startBuiltService({ lake, flags: ['-auth.keys'], asShipped: true });
  try {
    const own = await table(service, key, 'own');
    const other = await table(service, key, 'other');
    const { wrong, misused } = hostile(service.address, own, other);
    const requests = [...wrong, ...misused];
    const pid = service.process.pid ?? 0;
    await flood(service.address, requests, Math.ceil(count / 10), connections);
    const before = { seconds: processorSecondsOf(pid), megabytes: memoryOf(pid).anonymous };
    let isOver = false;
    const honest = reading(service.address, own, () => isOver);
    const began = performance.now();
    const statuses = await flood(service.address, requests, count, connections);
    const seconds = (performance.now() - began) / 1000;
    isOver = true;
    const answered = sumOf(statuses);
    const took = processorSecondsOf(pid) - before.seconds;
    const figures = { ...(await honest), megabytesGrown: memoryOf(pid).anonymous - before.megabytes };
    const usOf = async (own: readonly Buffer[]): Promise<number> => {
      const secondsBefore = processorSecondsOf(pid);
      const each = await flood(service.address, own, Math.ceil(count / 2), connections);
      return ((processorSecondsOf(pid) - secondsBefore) / sumOf(each)) * 1e6;
    };
    const [wrongUs, misusedUs] = [await usOf(wrong), await usOf(misused)];
    return { answered, statuses, seconds, processorUs: (took / answered) * 1e6, wrongUs, misusedUs, ...figures };
  } finally {
    await service.stop();
    rmSync(lake, { recursive: true, force: true });
  }
};

const sumOf = (statuses: ReadonlyMap<number, number>): number => [...statuses.values()].reduce((sum, n) => sum + n, 0);

interface Table {
  readonly signer: Signer;
  readonly path: string;
}
/** A pool that is a table, its credentials and one of its files. */
const table = async ({ address }: Service, key: string, name: string): Promise<Table> => {
  const ask = async (method: string, path: string, body?: string): Promise<string> => {
    const headers = { ...bearer(key), 'content-type': 'application/json' };
    const answer = await fetch(address + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  };
  await ask('POST', '/pool', JSON.stringify({ name, iceberg: 'lazy' }));
  await ask('POST', `/pool/${name}/branch/main`, '{"a":1}');
  const { config, 'metadata-location': location } = JSON.parse(await ask('GET', tablePath(name))) as {
    readonly config: Readonly<Record<string, string>>;
    readonly 'metadata-location': string;
  };
  return {
    signer: {
      accessKeyId: config['s3.access-key-id']!,
      secretAccessKey: config['s3.secret-access-key']!,
      sessionToken: config['s3.session-token']!,
    },
    path: location.replace('s3://lake', '/s3/lake'),
  };
};

/** Requests as they are sent, none of which may be answered with a file. */
const hostile = (
  address: string,
  own: Table,
  other: Table,
): { readonly wrong: readonly Buffer[]; readonly misused: readonly Buffer[] } => {
  const hour = new Date(Date.now() - 3_600_000);
  const text = (path: string, signer: Signer, options = {}): Buffer => {
    const headers = { host: new URL(address).host, ...signedHeaders(address + path, signer, { path, ...options }) };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  };
  return {
    wrong: [
      text(own.path, { ...own.signer, secretAccessKey: 'x' }),
      text(own.path, { ...own.signer, sessionToken: `${own.signer.sessionToken}x` }),
      text(own.path, own.signer, { at: hour }),
    ],
    misused: [
      text(own.path, other.signer),
      text(own.path.replace('/metadata/', '/metadata/../metadata/'), own.signer),
      text('/s3/lake/..%2f..%2ficeberg.secret', own.signer),
    ],
  };
};

/** Sends them in turn until so many are answered. */
const flood = async (
  address: string,
  requests: readonly Buffer[],
  count: number,
  connections: number,
): Promise<ReadonlyMap<number, number>> => {
  const statuses = new Map<number, number>();
  const batch = Buffer.concat(Array.from({ length: batchRounds }, () => requests).flat());
  const ofBatch = batchRounds * requests.length;
  let left = count;
  const sent = async (socket: Socket): Promise<void> => {
    while (left > 0) {
      left -= ofBatch;
      await answers(socket, batch, ofBatch, statuses);
    }
    socket.destroy();
  };
  const { hostname, port } = new URL(address);
  await Promise.all(Array.from({ length: connections }, () => sent(connect(Number(port), hostname))));
  return statuses;
};
const batchRounds = 8;
const headLength = 'HTTP/1.1 403'.length;
/** Heads of answers are counted: none of their bodies has such a line. */
const answers = (socket: Socket, batch: Buffer, count: number, statuses: Map<number, number>): Promise<void> =>
  new Promise((resolve, reject) => {
    let rest = '';
    let seen = 0;
    const take = (chunk: Buffer): void => {
      const text = rest + chunk.toString('latin1');
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        seen++;
        statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1);
      }
      // A head may be cut in two; so much has none whole.
      rest = text.slice(-headLength + 1);
      if (seen < count) return;
      socket.off('data', take).off('error', reject).off('close', cut);
      resolve();
    };
    const cut = (): void => {
      reject(new Error(`the connection was closed after ${seen} of ${count} answers`));
    };
    socket.on('data', take).on('error', reject).on('close', cut);
    socket.write(batch);
  });

/** Reads a file again and again. */
const reading = async (
  address: string,
  { signer, path }: Table,
  isOver: () => boolean,
): Promise<Pick<ForgedFigures, 'honestMs' | 'honestFaults'>> => {
  const client = clientOf(address, 1);
  const honestMs: number[] = [];
  let honestFaults = 0;
  try {
    while (!isOver()) {
      const began = performance.now();
      const { status, whole } = await client.ask('GET', path, { headers: signedHeaders(address + path, signer) });
      honestMs.push(performance.now() - began);
      if (status !== 200 || !whole) honestFaults++;
    }
  } finally {
    client.close();
  }
  return { honestMs, honestFaults };
};

const main = async (): Promise<void> => {
  const forged = await measureForged(100_000);
  printFigures('forged signatures', {
    answered: [...forged.statuses].map(([status, n]) => `${n} with ${status}`).join(' and '),
    'a second': Math.round(forged.answered / forged.seconds),
    'processor of the service, each': `${forged.processorUs.toFixed(0)} us`,
    'of a wrong signature': `${forged.wrongUs.toFixed(0)} us`,
    'of a right one, for what is not theirs': `${forged.misusedUs.toFixed(0)} us`,
    'memory grown': `${forged.megabytesGrown.toFixed(0)} MB`,
    'who reads meanwhile, p50 / p99': `${ms(median(forged.honestMs))} / ${ms(percentile(forged.honestMs, 0.99))}`,
    'of whom not answered': `${forged.honestFaults} of ${forged.honestMs.length}`,
  });
  const { offMs, eagerMs, offMainMs, eagerMainMs, rows, committed } = await measureBeside(8, 6400);
  printFigures('commits of 64 clients', {
    'no table': ms(offMs),
    'files made after each': ms(eagerMs),
    'longer by': `${((eagerMs / offMs - 1) * 100).toFixed(1)} %`,
    'processor of the main thread': `${ms(offMainMs)} and ${ms(eagerMainMs)}`,
    'rows of the table': `${rows} of ${committed}`,
  });
};
if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
