/**
 * Crowds: many loaders on one branch, many clients that do this and that, subscribers of whom a tenth never read, and
 * idle connections, all at one service: `npm run crowds`. No append may fail, no row may be lost, memory stays bounded,
 * descriptors are given back, events come soon.
 *
 * Each client is a connection, so that this process and the service need some 7,000 descriptors each (`ulimit -Hn`;
 * Node raises the soft limit itself).
 */
import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { type Socket, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { residentMib } from '../support/resident.ts';
import { startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../support/service/client.ts';
import { median, ms, percentile, printFigures } from '../support/figures.ts';
import { randomOf } from '../support/random.ts';

interface CrowdSizes {
  readonly loaders: number;
  readonly commitsEach: number;
  readonly mixed: number;
  readonly mixedMs: number;
  readonly subscribers: number;
  readonly events: number;
  readonly eventEveryMs: number;
  readonly idle: number;
}
const largeCrowds: CrowdSizes = {
  loaders: 256,
  commitsEach: 20,
  mixed: 512,
  mixedMs: 15_000,
  subscribers: 1000,
  events: 200,
  eventEveryMs: 50,
  idle: 5000,
};
export const smallCrowds: CrowdSizes = {
  loaders: 32,
  commitsEach: 2,
  mixed: 32,
  mixedMs: 300,
  subscribers: 30,
  events: 10,
  eventEveryMs: 20,
  idle: 100,
};

interface CrowdFigures {
  readonly commits: number;
  readonly failedAppends: readonly string[];
  readonly lostRows: number;
  readonly otherFaults: readonly string[];
  readonly refused: number;
  readonly asked: number;
  readonly idleKept: number;
  readonly eventsMissed: number;
  readonly delaysMs: readonly number[];
  readonly rssMb: { readonly before: number; readonly peak: number; readonly after: number };
  readonly descriptors: { readonly before: number; readonly peak: number; readonly after: number };
}

const pause = (forMs: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, forMs);
  });
const atOnce = (count: number, each: (index: number) => Promise<void>): Promise<void[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => each(index)));
const rssMbOf = (pid: number): number => residentMib(pid, 'VmRSS')!;
const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Appends that are told apart from everything else: each of them must be there in the end. */
class Appends {
  commits = 0;
  readonly failed: string[] = [];
  private readonly client: Client;
  private readonly pool: string;
  constructor(client: Client, pool: string) {
    this.client = client;
    this.pool = pool;
  }
  async one(): Promise<void> {
    try {
      await this.client.load(this.pool, [{ k: this.commits + this.failed.length, text: 'one of many' }]);
      this.commits++;
    } catch (fault) {
      this.failed.push(String(fault));
    }
  }
}

/** What the clients of a crowd do besides appending; answers the status. */
const errand = async (client: Client, random: ReturnType<typeof randomOf>): Promise<number> => {
  const query = (text: string): Promise<number> =>
    client
      .ask('POST', '/query', { headers: jsonType, body: JSON.stringify({ query: text }) })
      .then(({ status }) => status);
  switch (random.below(6)) {
    case 0:
      return query('from crowd | count() by k % 10');
    case 1:
      return query('from crowd | sort -r k | head 3');
    case 2:
      return query('from crowd:log | head 5');
    case 3:
      return (await client.ask('GET', '/pool/crowd/branch/main')).status;
    case 4:
      return (await client.ask('GET', '/pool/crowd/stats')).status;
    default:
      return (await client.ask('GET', '/version')).status;
  }
};

interface Listener {
  readonly close: () => void;
  readonly got: ReadonlySet<string>;
}
/** A subscriber; one that never reads gets its head and no more. */
const listen = (address: string, reads: boolean, told: (commit: string) => void): Promise<Listener> =>
  new Promise((resolve, reject) => {
    const got = new Set<string>();
    const client = httpRequest(
      `${address}/events`,
      { agent: false, headers: { accept: 'application/json' } },
      (response) => {
        response.on('error', () => undefined);
        if (reads) {
          let rest = '';
          response.setEncoding('latin1');
          response.on('data', (text: string) => {
            const blocks = (rest + text).split('\n\n');
            rest = blocks.pop()!;
            for (const block of blocks) {
              const commit = /"commit_id":"(0x[0-9a-f]+)"/.exec(block)?.[1];
              if (commit === undefined) continue;
              got.add(commit);
              told(commit);
            }
          });
        } else response.socket.pause();
        resolve({
          got,
          close: () => {
            client.destroy();
          },
        });
      },
    );
    client.on('error', reject);
    client.end();
  });

const idleSockets = (address: string, count: number): Promise<readonly Socket[]> => {
  const { hostname, port } = new URL(address);
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(Number(port), hostname, () => {
            resolve(socket);
          });
          socket.on('error', reject);
        }),
    ),
  );
};

/** Sends commits at a steady pace and tells how long after each was sent the subscribers heard of it. */
const eventDelays = async (
  client: Client,
  address: string,
  { subscribers, events, eventEveryMs }: CrowdSizes,
): Promise<{ readonly missed: number; readonly delaysMs: readonly number[] }> => {
  const heard = new Map<string, number[]>();
  const sent = new Map<string, number>();
  const told = (commit: string): void => {
    const times = heard.get(commit);
    if (times) times.push(performance.now());
    else heard.set(commit, [performance.now()]);
  };
  const listeners: Listener[] = [];
  const silent = Math.floor(subscribers / 10);
  for (let at = 0; at < subscribers; at += 100)
    listeners.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(100, subscribers - at) }, (_, i) => listen(address, at + i >= silent, told)),
      )),
    );
  const commits: Promise<void>[] = [];
  for (let i = 0; i < events; i++) {
    const began = performance.now();
    commits.push(
      client.load('told', [{ k: i }]).then((commit) => {
        sent.set(commit, began);
      }),
    );
    await pause(Math.max(0, eventEveryMs - (performance.now() - began)));
  }
  await Promise.all(commits);
  const all = listeners.slice(silent);
  const complete = (): boolean => all.every(({ got }) => got.size >= events);
  for (let waited = 0; !complete() && waited < 10_000; waited += 50) await pause(50);
  const missed = all.reduce((n, { got }) => n + [...sent.keys()].filter((commit) => !got.has(commit)).length, 0);
  for (const { close } of listeners) close();
  return {
    missed,
    delaysMs: [...sent].flatMap(([commit, began]) => (heard.get(commit) ?? []).map((at) => at - began)),
  };
};

/** Runs the crowds against a service of its own. */
export const measureCrowds = async (sizes: CrowdSizes): Promise<CrowdFigures> => {
  const service = await startBuiltService({ asShipped: true, flags: ['-header.time', '10m'] });
  const pid = service.process.pid!;
  const client = clientOf(service.address, Math.max(sizes.loaders, sizes.mixed));
  let sampler: NodeJS.Timeout | undefined;
  try {
    for (const pool of ['crowd', 'told']) await client.createPool(pool);
    await client.query('from crowd | count()');
    await pause(500);
    client.close();
    await pause(100);
    const before = { rss: rssMbOf(pid), descriptors: descriptorsOf(pid) };
    const peak = { ...before };
    sampler = setInterval(() => {
      peak.rss = Math.max(peak.rss, rssMbOf(pid));
      peak.descriptors = Math.max(peak.descriptors, descriptorsOf(pid));
    }, 100);
    const idle = await idleSockets(service.address, sizes.idle);
    const appends = new Appends(client, 'crowd');
    const faults: string[] = [];
    await atOnce(sizes.loaders, async () => {
      for (let i = 0; i < sizes.commitsEach; i++) await appends.one();
    });
    let refused = 0;
    let asked = 0;
    const end = performance.now() + sizes.mixedMs;
    await atOnce(sizes.mixed, async (index) => {
      const random = randomOf(index);
      while (performance.now() < end) {
        if (random.below(2) === 0) await appends.one();
        else {
          const status = await errand(client, random).catch((fault: unknown) => String(fault));
          asked++;
          // Too many queries at once are refused, and the client is told when to come again.
          if (status === 503) {
            refused++;
            await pause(100);
          } else if (status !== 200) faults.push(String(status));
        }
      }
    });
    const { missed, delaysMs } = await eventDelays(client, service.address, sizes);
    const idleKept = idle.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
    const rows = (await client.query<{ n: number }>('from crowd | aggregate n:=count()'))[0]!.n;
    for (const socket of idle) socket.destroy();
    client.close();
    let after = descriptorsOf(pid);
    for (let waited = 0; after > before.descriptors && waited < 5000; waited += 100) {
      await pause(100);
      after = descriptorsOf(pid);
    }
    const figures: CrowdFigures = {
      commits: appends.commits,
      failedAppends: appends.failed,
      lostRows: appends.commits - rows,
      otherFaults: faults,
      refused,
      asked,
      idleKept,
      eventsMissed: missed,
      delaysMs,
      rssMb: { before: before.rss, peak: peak.rss, after: rssMbOf(pid) },
      descriptors: { before: before.descriptors, peak: peak.descriptors, after },
    };
    printFigures('crowds', {
      commits: figures.commits,
      'failed appends': appends.failed.length,
      'rows lost': figures.lostRows,
      'other requests': asked,
      'of these refused (503)': refused,
      'other faults': faults.length,
      'idle connections kept': idleKept,
      'events missed': missed,
      'event delay p50 / p99 / max': `${ms(median(delaysMs))} / ${ms(percentile(delaysMs, 0.99))} / ${ms(percentile(delaysMs, 1))}`,
      'RSS MB before / peak / after': [before.rss, peak.rss, figures.rssMb.after].map((n) => n.toFixed(0)).join(' / '),
      'descriptors before / peak / after': [before.descriptors, peak.descriptors, after].join(' / '),
    });
    return figures;
  } finally {
    clearInterval(sampler);
    client.close();
    await service.stop();
  }
};

/** What went wrong, in words; the delay is judged on a quiet machine alone. */
export const crowdFaults = (
  { failedAppends, lostRows, otherFaults, idleKept, eventsMissed, delaysMs, rssMb, descriptors }: CrowdFigures,
  { idle }: CrowdSizes,
  judgeDelay: boolean,
): readonly string[] => [
  ...(failedAppends.length > 0 ? [`${failedAppends.length} appends failed: ${failedAppends[0]}`] : []),
  ...(lostRows !== 0 ? [`${lostRows} rows lost`] : []),
  ...(otherFaults.length > 0 ? [`${otherFaults.length} requests failed: ${otherFaults[0]}`] : []),
  ...(idleKept < idle ? [`${idle - idleKept} idle connections were closed`] : []),
  ...(eventsMissed > 0 ? [`${eventsMissed} events missed`] : []),
  ...(judgeDelay && percentile(delaysMs, 0.99) > 250 ? [`p99 event delay ${ms(percentile(delaysMs, 0.99))}`] : []),
  ...(rssMb.peak > 1024 ? [`${rssMb.peak.toFixed(0)} MB at the peak`] : []),
  ...(descriptors.after > descriptors.before + 8
    ? [`${descriptors.after - descriptors.before} descriptors not given back`]
    : []),
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = crowdFaults(await measureCrowds(largeCrowds), largeCrowds, true);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
