/**
 * What a lake in a bucket costs beside one in a folder: `npm run bench:store -- [-rows 1000000] [-commits 100000]
 * [-pools 2000] [-seconds 10] [-put 20] [-objects 1000000] [-parts load,cold,opening,clients,replicas,listings]`. Times
 * of the machine and of the service's processor; the store is versitygw where it is
 * installed, else (and where requests are counted or slowed down) a small one in this process. Prints each figure with
 * its bound; with a machine that does other work, processor times and counts say more than the clock.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newId } from '../../src/lake/ksuid.ts';
import { openLake } from '../../src/lake/lake.ts';
import type { KeyBound } from '../../src/lake/lake.types.ts';
import { objectKey, openLakeObjects } from '../../src/lake/objects/fetched.ts';
import { openObject, projectionOf, sourceOfBytes } from '../../src/lake/objects/reader.ts';
import { openLakeStore } from '../../src/lake/store/copy.ts';
import { openBucket, type S3Options } from '../../src/store/s3.ts';
import { sortKeyBytes } from '../../src/vectors/sort-key.ts';
import { intValue } from '../../src/vectors/value.ts';
import { type BucketServer, startBucketServer } from '../support/store/bucket-server.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { median, percentile } from '../support/figures.ts';
import { processorSecondsOf } from '../support/service/process-figures.ts';
import { lacksVersity, startVersity } from '../support/store/versitygw.ts';
import { writeEvents } from './events.ts';
import { sent } from './sent.ts';

/** `bound`: what it may be at most, or at least where it begins with `>=`. */
export interface StoreFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound: string;
}
export interface StoreBenchOptions {
  readonly rows: number;
  readonly commits: number;
  readonly pools: number;
  readonly seconds: number;
  /** What a put takes where clients commit, in milliseconds. */
  readonly put: number;
  /** What a bucket has besides where listings are counted. */
  readonly objects: number;
  /** Default: all. */
  readonly parts?: readonly string[];
}

const user = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
/** And the columns that they need. */
const queries: readonly (readonly [query: string, columns: readonly string[]])[] = [
  ['from p0 | count() by kind', ['kind']],
  ['from p0 | where status==404 | count(), sum(bytes)', ['status', 'bytes']],
  ['from p0 | sum(dur) by user | sort -r sum | head 10', ['dur', 'user']],
];
const warmRuns = 7;

/** All figures, one after the other; `told` hears of each. */
export const measureStore = async (
  options: StoreBenchOptions,
  told: (figure: StoreFigure) => void,
): Promise<readonly StoreFigure[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-bench-store-'));
  const figures: StoreFigure[] = [];
  const say = (name: string, value: number, unit: string, bound: string): void => {
    const figure = { name, value, unit, bound };
    figures.push(figure);
    told(figure);
  };
  const before = { ...process.env };
  Object.assign(process.env, user);
  try {
    for (const [name, measure] of Object.entries(benchParts))
      if (options.parts?.includes(name) ?? true) await measure(folder, options, say);
    return figures;
  } finally {
    process.env = before;
    rmSync(folder, { recursive: true, force: true });
  }
};
type Say = (name: string, value: number, unit: string, bound: string) => void;

const withService = async <T>(
  lake: string,
  flags: readonly string[],
  act: (service: Service) => Promise<T>,
): Promise<T> => {
  const service = await startBuiltService({ lake, flags });
  try {
    return await act(service);
  } finally {
    await service.end();
  }
};
const storeFlags = (endpoint: string, prefix: string): readonly string[] => [
  ...['-store', `s3://lakes/${prefix}`, '-store.endpoint', endpoint, '-store.region', 'eu-central-1'],
];
/** The writer of a lake in a bucket, under the lake's name there, with pools `p0`, `p1`, ..; commits are there when answered. */
const withWriter = <T>(
  folder: string,
  { name, endpoint, pools = 1 }: { readonly name: string; readonly endpoint: string; readonly pools?: number },
  act: (service: Service) => Promise<T>,
): Promise<T> =>
  withService(join(folder, name), [...storeFlags(endpoint, name), '-store.ack', 'bucket'], async (service) => {
    await Promise.all(Array.from({ length: pools }, (_, n) => makePool(service, `p${n}`)));
    return act(service);
  });
const ask = async ({ address }: Service, path: string, body: string): Promise<string> => {
  const headers = { accept: 'application/x-ndjson', 'content-type': 'application/json' };
  const answer = await fetch(address + path, { method: 'POST', body, headers });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return text;
};
const makePool = (service: Service, name: string): Promise<string> =>
  ask(service, '/pool', JSON.stringify({ name, layout: { order: 'asc', keys: [['ts']] } }));
const askQuery = (service: Service, query: string): Promise<string> =>
  ask(service, '/query', JSON.stringify({ query }));

/** A load of the benchmark's records and warm queries, in a folder and in a bucket. */
const besideFolder = async (folder: string, { rows }: StoreBenchOptions, say: Say): Promise<void> => {
  const file = join(folder, 'events.ndjson');
  await writeEvents(file, rows);
  const versity = lacksVersity() ? undefined : await startVersity('lakes');
  const own = versity ? undefined : await startBucketServer();
  const { endpoint } = versity ?? own!;
  const measured = async (
    service: Service,
  ): Promise<{ load: number; cpu: number; warm: number; warmCpu: number; answers: string }> => {
    const cpu = processorSecondsOf(service.process.pid!);
    const began = performance.now();
    await sent(`${service.address}/pool/p0/branch/main`, file);
    const load = performance.now() - began;
    const used = processorSecondsOf(service.process.pid!) - cpu;
    const answers: string[] = [];
    const times: number[] = [];
    for (const [query] of queries) answers.push(await askQuery(service, query));
    const before = processorSecondsOf(service.process.pid!);
    for (const [query] of queries)
      for (let n = 0; n < warmRuns; n++) {
        const asked = performance.now();
        await askQuery(service, query);
        times.push(performance.now() - asked);
      }
    const warmCpu = processorSecondsOf(service.process.pid!) - before;
    return { load, cpu: used, warm: median(times), warmCpu, answers: answers.map(sortedLines).join('\n') };
  };
  try {
    const plain = await withService(join(folder, 'folder'), [], async (service) => {
      await makePool(service, 'p0');
      return measured(service);
    });
    const stored = await withWriter(folder, { name: 'load', endpoint }, measured);
    if (plain.answers !== stored.answers) throw new Error('a lake in a bucket answers otherwise');
    const beside = versity ? 'versitygw' : 'a store in this process';
    say(`load of ${rows} records beside ${beside}, by the clock`, stored.load / plain.load, 'of the folder', '1.3');
    say('the same, processor of the service', stored.cpu / plain.cpu, 'of the folder', '1.3');
    say('warm queries, by the clock', stored.warm / plain.warm, 'of the folder', '1.1');
    say('the same, processor of the service', stored.warmCpu / plain.warmCpu, 'of the folder', '1.1');
  } finally {
    await versity?.close();
    await own?.close();
  }
};
const sortedLines = (text: string): string => text.split('\n').sort().join('\n');

/** Ranges are counted where they are asked for. */
const coldQueries = async (folder: string, { rows }: StoreBenchOptions, say: Say): Promise<void> => {
  const server = await startBucketServer();
  const file = join(folder, 'events.ndjson');
  if (!existsSync(file)) await writeEvents(file, rows);
  try {
    await withWriter(folder, { name: 'cold', endpoint: server.endpoint }, (service) =>
      sent(`${service.address}/pool/p0/branch/main`, file),
    );
    server.quietMs = 500;
    const lists = listsOf(server);
    for (const [n, [query, columns]] of queries.entries())
      await withService(
        join(folder, `cold-${n}`),
        ['-follow', 's3://lakes/cold', '-store.endpoint', server.endpoint],
        async (service) => {
          const from = server.ranges.length;
          const { rounds } = server;
          const text = await askQuery(service, query);
          if (text === '') throw new Error('no answer');
          const asked = server.ranges.slice(from);
          // The object's head comes first: its footer, and what of it was not in the first guess.
          say(`cold: ${query}`, server.rounds - rounds - 1, 'rounds after the head', '2');
          const bytes = asked.reduce((sum, range) => sum + range.bytes, 0);
          const needed = await neededBytes(server, columns);
          say('the same', bytes / needed, 'of the bytes of the blocks and columns it reads', '1.2');
          const again = server.ranges.length;
          await askQuery(service, query);
          say('the same, warm', server.ranges.length - again, 'ranges fetched', '0');
        },
      );
    say(
      `listings by ${queries.length} cold and warm queries of ${rows} records`,
      listsOf(server) - lists - 3 * openingLists,
      '',
      '0',
    );
  } finally {
    await server.close();
  }
};
/** What a reader takes of all objects that has them at hand. */
const neededBytes = async (server: BucketServer, columns: readonly string[]): Promise<number> => {
  let bytes = 0;
  for (const [key, object] of server.objects) {
    if (!key.includes('/objects/')) continue;
    const reader = await openObject(sourceOfBytes(basename(key), object.bytes));
    for (const block of reader.blocks.keys()) await reader.read(block, projectionOf(columns.map((column) => [column])));
    bytes += reader.bytesRead;
  }
  return bytes;
};
/** What a replica asks before it is open: bases twice, and the log. */
const openingLists = 3;
const listsOf = ({ requests }: BucketServer): number => requests.filter((each) => each.includes('list-type=')).length;

const addressAt = (endpoint: string, prefix: string): S3Options => ({
  bucket: 'lakes',
  prefix,
  endpoint,
  region: 'us-east-1',
  style: 'path',
  environment: user,
});
const openStored = async (directory: string, address: S3Options, ack: 'local' | 'bucket') => {
  const objects = openLakeObjects(directory, address, 'main');
  const store = openLakeStore({
    bucket: openBucket(address),
    ack,
    address: 'bench',
    graceMs: 3_600_000,
    cache: { bytesMax: 0, lookMs: 3_600_000 },
    closeMsMax: 600_000,
    takesOver: true,
    noted: () => undefined,
  });
  const lake = await openLake({ directory, objects, store });
  return {
    lake,
    close: async () => {
      await lake.close();
      objects.close();
    },
  };
};
const bound = (n: number): KeyBound => ({ text: String(n), sort: sortKeyBytes(intValue(n)) });
const rowObject = (n: number) => {
  const inline = Buffer.from(`row ${n}`);
  return { id: newId(), count: 1, size: inline.length, min: bound(n), max: bound(n), inline };
};
const sideBySide = (count: number, work: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, work));

/** A lake of many commits and pools is opened from the bucket alone. */
const opening = async (folder: string, { commits, pools }: StoreBenchOptions, say: Say): Promise<void> => {
  const server = await startBucketServer();
  const address = addressAt(server.endpoint, 'many/');
  try {
    const made = await openStored(join(folder, 'many'), address, 'local');
    let pool = 0;
    let commit = 0;
    await sideBySide(64, async () => {
      while (pool < pools) await made.lake.createPool({ name: `p${pool++}`, keys: [['k']] });
    });
    const perPool = Math.max(1, Math.ceil(commits / pools));
    await sideBySide(1024, async () => {
      while (commit < commits) {
        const n = commit++;
        await made.lake.pool(`p${Math.floor(n / perPool)}`).load('main', [rowObject(n)]);
      }
    });
    await made.close();
    const cpu = process.cpuUsage();
    const began = performance.now();
    const opened = await openStored(join(folder, 'many-again'), address, 'local');
    const took = performance.now() - began;
    const { user: own, system } = process.cpuUsage(cpu);
    const found = opened.lake.pools().length;
    await opened.close();
    if (found !== pools) throw new Error(`${found} pools of ${pools}`);
    say(`opening ${commits} commits and ${pools} pools from the bucket, by the clock`, took / 1000, 's', '5');
    say('the same, processor (the store in it)', (own + system) / 1e6, 's', '5');
  } finally {
    await server.close();
  }
};

/**
 * Clients that commit a record each, one after the other, while the store takes its time for each put: in pools of
 * their own, and in one, whose commits go in turns.
 */
const manyClients = async (folder: string, { seconds, put }: StoreBenchOptions, say: Say): Promise<void> => {
  for (const pools of [clients, 1]) {
    const server = await startBucketServer();
    try {
      await withWriter(folder, { name: `clients-${pools}`, endpoint: server.endpoint, pools }, async (service) => {
        const where = pools === 1 ? 'one pool' : `${pools} pools`;
        const lists = listsOf(server);
        server.putMs = put;
        await commits(service, { pools, seconds: seconds / 3 });
        const puts = server.requests.length;
        const cpu = processorSecondsOf(service.process.pid!);
        const done = await commits(service, { pools, seconds });
        const used = processorSecondsOf(service.process.pid!) - cpu;
        const many = `${clients} clients in ${where}, ack bucket, ${put} ms a put`;
        say(many, done / seconds, 'commits/s', '>= 2000');
        // However slow the machine is: how well what goes at once is used. All clients at once are 64.
        say('the same', (done / seconds) * (put / 1000), 'commits in the time of a put', '>= 40');
        say('the same', done / Math.max(1, server.requests.length - puts), 'commits a request to the store', '>= 8');
        say('the same, processor of the service', (used * 1000) / Math.max(1, done), 'ms a commit', '0.4');
        say('the same', listsOf(server) - lists, 'listings', '0');
        server.putMs = 0;
      });
    } finally {
      await server.close();
    }
  }
};
const clients = 64;
/** How many were done. */
const commits = async (
  { address }: Service,
  { pools, seconds }: { readonly pools: number; readonly seconds: number },
): Promise<number> => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const until = performance.now() + seconds * 1000;
  let next = 0;
  let done = 0;
  await sideBySide(clients, async () => {
    const pool = next++ % pools;
    while (performance.now() < until) {
      await posted(`${address}/pool/p${pool}/branch/main`, `{"ts":${done}}`, agent);
      done++;
    }
  });
  agent.destroy();
  return done;
};
const posted = (url: string, body: string, agent: Agent): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-ndjson', 'content-length': Buffer.byteLength(body) };
    const asked = request(url, { method: 'POST', headers, agent }, (answer) => {
      answer.resume();
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`a commit: ${answer.statusCode}`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });

/** From the writer's answer to the replica's event of it. */
const replicas = async (folder: string, { seconds }: StoreBenchOptions, say: Say): Promise<void> => {
  const server = await startBucketServer();
  const follow = ['-follow', 's3://lakes/lag', '-store.endpoint', server.endpoint];
  try {
    await withWriter(folder, { name: 'lag', endpoint: server.endpoint }, async (writer) => {
      for (const [name, flags, most] of [
        ['by polling', [], '300'],
        ["by the writer's events", ['-follow.url', writer.address], '30'],
      ] as const)
        await withService(join(folder, `lag ${name}`), [...follow, ...flags], async (replica) => {
          const heard = new Map<number, number>();
          const ending = new AbortController();
          const listening = await listen(`${replica.address}/events`, ending.signal, (id) =>
            heard.set(id, performance.now()),
          );
          const lags: number[] = [];
          const cpu = processorSecondsOf(replica.process.pid!);
          const until = performance.now() + seconds * 1000;
          for (let n = 0; performance.now() < until; n++) {
            const answer = await fetch(`${writer.address}/pool/p0/branch/main`, {
              method: 'POST',
              body: `{"ts":${n}}`,
            });
            await answer.text();
            const acknowledged = performance.now();
            const event = Number(answer.headers.get('lake-event'));
            while (!heard.has(event)) {
              if (performance.now() > acknowledged + 60_000) throw new Error(`event ${event} does not come ${name}`);
              await later(1);
            }
            lags.push(Math.max(0, heard.get(event)! - acknowledged));
            await later(10);
          }
          const used = processorSecondsOf(replica.process.pid!) - cpu;
          ending.abort();
          await listening.ended;
          say(`a replica is behind, p99 of ${lags.length} commits, ${name}`, percentile(lags, 0.99), 'ms', most);
          say('the same, 9 of 10', percentile(lags, 0.9), 'ms', most);
          say('the same, half of them', median(lags), 'ms', most);
          say('the same, processor of the replica', (used * 1000) / Math.max(1, lags.length), 'ms a commit', '30');
        });
    });
  } finally {
    await server.close();
  }
};
/** Hears ids of events, from now on, until it is ended. */
const listen = async (
  url: string,
  signal: AbortSignal,
  heard: (id: number) => void,
): Promise<{ readonly ended: Promise<void> }> => {
  const { body } = await fetch(url, { signal, headers: { accept: 'text/event-stream' } });
  const hear = async (): Promise<void> => {
    let rest = '';
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        rest += Buffer.from(chunk).toString();
        for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
          const id = /^id: ?(\d+)/.exec(rest.slice(0, end))?.[1];
          if (id !== undefined) heard(Number(id));
          rest = rest.slice(end + 1);
        }
      }
    } catch (fault) {
      if (!signal.aborted) throw fault;
    }
  };
  return { ended: hear() };
};

/** Requests of each kind on a bucket of very many objects, and an opening: which of them list. */
const listings = async (folder: string, { objects }: StoreBenchOptions, say: Say): Promise<void> => {
  const server = await startBucketServer();
  const { endpoint } = server;
  const stored = { bytes: Buffer.alloc(1), meta: {}, etag: '""', modifiedMs: Date.now() };
  for (let n = 0; n < objects; n++) server.objects.set(`/lakes/crowded/${objectKey(newId())}`, stored);
  const flags = [...storeFlags(endpoint, 'crowded'), '-store.ack', 'bucket', '-cache.max', '1B'];
  const many = `with ${objects.toLocaleString('en-US')} objects in the bucket`;
  try {
    let answers = '';
    await withService(join(folder, 'crowded'), flags, async (service) => {
      const from = listsOf(server);
      const cpu = processorSecondsOf(service.process.pid!);
      const requests = await someRequests(service);
      const used = processorSecondsOf(service.process.pid!) - cpu;
      say(`${requests} requests ${many}, processor of the service`, used, 's', '5');
      say(`listings by requests ${many}`, listsOf(server) - from, '', '0');
      answers = await askQuery(service, 'from p0 | count(), sum(n)');
    });
    const from = server.requests.length;
    await withService(join(folder, 'crowded-again'), flags, async (service) => {
      if ((await askQuery(service, 'from p0 | count(), sum(n)')) !== answers) throw new Error('other rows');
    });
    const listed = server.requests.slice(from).filter((each) => each.includes('list-type='));
    say(
      'listings of objects by an opening',
      listed.filter((each) => /prefix=\w+%2Fobjects/.test(each)).length,
      '',
      '0',
    );
  } finally {
    await server.close();
  }
};
/** Loads, queries, changes of all kinds and looks at metadata; how many. */
const someRequests = async (service: Service): Promise<number> => {
  let count = 0;
  const did = async (
    method: string,
    path: string,
    body?: string,
    headers?: Record<string, string>,
  ): Promise<string> => {
    const type = body?.startsWith('{"n"') ? 'application/x-ndjson' : 'application/json';
    const answer = await fetch(service.address + path, {
      method,
      headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': type }), ...headers },
      ...(body !== undefined && { body }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    count++;
    return text;
  };
  const json = (value: object): string => JSON.stringify(value);
  const main = '/pool/p0/branch/main';
  const rows = (from: number): string =>
    Array.from({ length: 5000 }, (_, i) => json({ n: from + i, text: `${i}`.repeat(20) })).join('\n');
  await did('POST', '/pool', json({ name: 'p0', layout: { order: 'asc', keys: [['n']] } }));
  const commits: string[] = [];
  for (let n = 0; n < 4; n++) commits.push((JSON.parse(await did('POST', main, rows(n * 5000))) as Commit).commit);
  const tip = commits.at(-1)!;
  await did('POST', '/pool/p0', json({ name: 'kid', commit: tip }));
  await did('POST', '/pool/p0/branch/kid', rows(50_000));
  await did('POST', `${main}/merge/kid`);
  await did('POST', `${main}/delete`, json({ where: 'n < 7000' }));
  const { commit } = JSON.parse(await did('POST', main, rows(90_000))) as Commit;
  await did('POST', `${main}/revert/${commit}`);
  const ids = JSON.parse(await did('POST', '/query', json({ query: 'from p0:objects | values id' }))) as string[];
  await did('POST', `${main}/compact`, json({ object_ids: ids }));
  await did('POST', '/pool/p0/revision/main/vacuum');
  for (const query of ['count()', 'where n > 12000 | count() by n % 7', 'sort -r n | head 3', 'sum(len(text))'])
    await did('POST', '/query', json({ query: `from p0 | ${query}` }));
  for (const meta of ['branches', 'log', 'objects'])
    await did('POST', '/query', json({ query: `from p0:${meta} | count()` }));
  for (const path of ['/view', '/pool/p0/stats', main, '/metrics', '/ready', '/pool/p0/graph'])
    await did('GET', path, undefined, path === '/metrics' ? { accept: 'text/plain' } : undefined);
  return count;
};
interface Commit {
  readonly commit: string;
}

const benchParts: Readonly<Record<string, (folder: string, options: StoreBenchOptions, say: Say) => Promise<void>>> = {
  load: besideFolder,
  cold: coldQueries,
  opening,
  clients: manyClients,
  replicas,
  listings,
};

const isWithin = ({ value, bound: most }: StoreFigure): boolean =>
  most.startsWith('>= ') ? value >= Number(most.slice(3)) : value <= Number(most);
const main = async (argv: readonly string[]): Promise<void> => {
  const option = (name: string, usual: number): number => {
    const at = argv.indexOf(`-${name}`);
    return at < 0 ? usual : Number(argv[at + 1]);
  };
  await measureStore(
    {
      rows: option('rows', 1_000_000),
      commits: option('commits', 100_000),
      pools: option('pools', 2000),
      seconds: option('seconds', 10),
      put: option('put', 20),
      objects: option('objects', 1_000_000),
      ...(argv.includes('-parts') && { parts: argv[argv.indexOf('-parts') + 1]!.split(',') }),
    },
    (figure) => {
      const { name, value, unit, bound: most } = figure;
      const text = value.toLocaleString('en-US', { maximumFractionDigits: 2 });
      console.log(`${isWithin(figure) ? ' ' : '!'} ${name}: ${text} ${unit} (bound: ${most})`);
    },
  );
};
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
