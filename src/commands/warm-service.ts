/**
 * Makes the main thread's code warm after the start: the server is lent to lakes in a temporary folder, and is sent
 * small requests for them until this thread has worked for so long. What answers them is what answers the first
 * clients, the very objects of the server: compiled code is for objects of the forms that it was made with. Inspectors,
 * options and the ways in which clients write a request are as they will be, too.
 *
 * - Nothing of it can be seen in the real service: neither its lake, its events, its machines nor its figures. The
 *   folder goes when it ends; what a crash leaves goes with the next one.
 * - It gives way: between two requests it waits until the real service has been idle for a moment.
 *
 * The workers warm up by themselves (workers/warm-up.ts); `startWarmUp` says when, so that neither is in the other's
 * way.
 */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { ServeConfig } from '../config/serve.ts';
import { compiling } from '../engine-flags.ts';
import type { LentServer, Server } from '../http/server.ts';
import { openLake } from '../lake/lake.ts';
import type { Lake } from '../lake/lake.types.ts';
import { openObjects } from '../lake/objects/objects.ts';
import { MachineWatch } from '../recording/watch.ts';
import { collectInSteps } from '../workers/collector.ts';
import type { WorkerPool } from '../workers/pool.types.ts';
import { type Asked, WarmClient } from './warm-client.ts';

/** The service whose main thread and workers are warmed up. */
interface WarmUpOptions {
  readonly config: ServeConfig;
  readonly server: Server;
  readonly workers: WorkerPool;
  /** Whether the service's machines are watched. */
  readonly watched: boolean;
  /** Told of what goes wrong, which hurts nobody. */
  readonly report: (fault: unknown) => void;
}
/** Those who waited for the start go first, and the worker threads: while they warm up nothing is compiled early. */
const afterMs = 700;
/**
 * The warm-up waits for so long a pause of the clients, in the worker threads too: between two requests of one of them
 * it would be in the way of the second.
 */
const quietMs = 250;
/** How often the workers are told whether they may. */
const lookMs = 50;

/** Warms a service up in the pauses of its clients, the workers first. The function that it returns ends it. */
export const startWarmUp = ({ config, server, workers, watched, report }: WarmUpOptions): (() => Promise<void>) => {
  if (config.warmUpMs === 0) return async () => undefined;
  const ending = new AbortController();
  const isQuiet = (): boolean => server.quietMs() >= quietMs;
  const look = setInterval(() => {
    if (!workers.isWarm()) workers.letWarm(isQuiet());
  }, lookMs).unref();
  const warm = later(afterMs, undefined, { signal: ending.signal, ref: false })
    .then(() =>
      warmService({
        config,
        server,
        watched,
        budgetMs: config.warmUpMs,
        isIdle: () => isQuiet() && workers.isWarm(),
        signal: ending.signal,
      }),
    )
    .catch(report);
  return () => {
    clearInterval(look);
    ending.abort();
    return warm;
  };
};

/** What is warmed up, and when it gives way. */
interface WarmServiceOptions {
  readonly config: ServeConfig;
  /** It answers. */
  readonly server: Server;
  /** Whether the real service's machines are watched. */
  readonly watched: boolean;
  /** How long this thread may work for it. */
  readonly budgetMs: number;
  /** Whether the real service has nothing to do. */
  readonly isIdle: () => boolean;
  /** Fires when the real service ends. */
  readonly signal: AbortSignal;
}

const waitMs = 20;
/** Every so many turns so many small loads come at once, for what commits a group. */
const crowdEvery = 6;
const crowd = 8;
/** Values come again, the first ones too: those of the first turns are seen by nobody who compiles. */
const row = (n: number): string => JSON.stringify({ ts: n % 97, value: `row ${n}`, n: n * 7 });
/** Rows of three kinds, which a worker reads. */
const rowsOf = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) =>
      [
        `{"ts":"2020-01-01T00:00:${10 + (i % 50)}Z","kind":"a","who":"user ${i}","took":${i / 7},"sent":${i * 300}}`,
        `{"ts":"2020-01-01T00:00:${10 + (i % 50)}Z","kind":"b","path":"/some/where/${i}","code":${200 + i},"took":null}`,
        `{"ts":"2020-01-01T00:00:${10 + (i % 50)}Z","kind":"c","note":"text of note ${i / 7}","marks":["m${i}","m"],"place":{"line":${i}}}`,
      ][i % 3]!,
  ).join('\n');
/**
 * Bodies of larger loads: what becomes of `rows` lies in the tables, of `manyRows` in a file. Both come in more pieces
 * than are read at once.
 */
interface Bodies {
  readonly rows: string;
  readonly manyRows: string;
}
const makeBodies = (): Bodies => ({ rows: rowsOf(300), manyRows: rowsOf(6000) });
/** `far`: a worker thread has a part in it. */
interface Turn extends Asked {
  readonly far?: true;
}
/** In turn: most clients write small bodies and ask small questions. */
const requests: readonly ((n: number, bodies: Bodies) => Turn)[] = [
  (n) => ({ method: 'POST', path: '/pool/warm/branch/main', body: row(n) }),
  (n) => ({ method: 'POST', path: '/query', body: `{"query":"values ${n}"}`, far: true }),
  (n) => ({ method: 'POST', path: '/pool/warm/branch/main', body: row(n) }),
  () => ({ method: 'GET', path: '/pool/warm/branch/main' }),
  (n) => ({ method: 'POST', path: '/pool/warm/branch/main', body: row(n) }),
  (n) => ({ method: 'POST', path: '/pool/warm/branch/main', body: row(n) }),
  (_n, { rows }) => ({ method: 'POST', path: '/pool/warm/branch/main', body: rows, far: true }),
  () => ({ method: 'GET', path: '/version' }),
  () => ({ method: 'POST', path: '/query', body: '{"query":"from warm | head 1"}', far: true }),
  (n) => ({ method: 'POST', path: '/pool/warm/branch/main', body: row(n) }),
];

/** Between them, now and then: pools that come and go, and one that is not there. */
const seldom: readonly ((bodies: Bodies) => Turn)[] = [
  () => ({ method: 'POST', path: '/pool', body: '{"name":"other","layout":{"order":"asc","keys":[["ts"]]}}' }),
  () => ({ method: 'POST', path: '/pool/other/branch/main', body: '{"ts":0,"value":"a row","n":1.5}' }),
  ({ manyRows }) => ({ method: 'POST', path: '/pool/other/branch/main', body: manyRows, far: true }),
  () => ({ method: 'DELETE', path: '/pool/other' }),
  () => ({ method: 'DELETE', path: '/pool/other' }),
];
const seldomEvery = 20;

/**
 * Time for which this thread was at work: how busy the machine is with others does not matter. Where the system does
 * not tell, they and waiting for the disk count too.
 */
const workedMs = (): number => {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    return performance.eventLoopUtilization().active;
  }
};

/** Resolves when its time is over or the real service ends; what goes wrong is told by rejection and hurts nobody. */
export const warmService = async (options: WarmServiceOptions): Promise<void> => {
  await idle(options);
  if (options.signal.aborted) return;
  const directory = await temporaryFolder();
  try {
    await inFolder(directory, options);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
/** In memory where there is such a folder: waiting for a disk makes nothing warm. */
const temporaryFolder = (): Promise<string> => folderIn('/dev/shm').catch(() => folderIn(tmpdir()));
/** What a crash left goes when the next service starts: memory is not to fill with it. */
const folderIn = async (parent: string): Promise<string> => {
  for (const name of await readdir(parent)) {
    const owner = /^lake-warm-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await rm(join(parent, name), { recursive: true, force: true });
  }
  return mkdtemp(join(parent, `lake-warm-${process.pid}-`));
};
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code === 'EPERM';
  }
};

const compile = (when: keyof typeof compiling): void => {
  for (const flag of compiling[when]) setFlagsFromString(flag);
};

/** Of two lakes: what belongs to one of them is no reason for code to be made for it alone. */
const inFolder = async (directory: string, options: WarmServiceOptions): Promise<void> => {
  const lent: LentServer[] = [];
  const lakes: Lake[] = [];
  try {
    for (const name of ['one', 'other']) await openAt(join(directory, name), options, lakes, lent);
    const { budgetMs, isIdle, signal } = options;
    const beganAt = workedMs();
    compile('early');
    await askAll(lent, async () => {
      if (!isIdle()) {
        compile('usual');
        await idle(options);
        compile('early');
      }
      return !signal.aborted && workedMs() - beganAt < budgetMs;
    });
  } finally {
    compile('usual');
    for (const server of lent) await server.close();
    for (const lake of lakes) await lake.close();
    collectInSteps();
  }
};
const idle = async ({ isIdle, signal }: WarmServiceOptions): Promise<void> => {
  while (!isIdle() && !signal.aborted) await later(waitMs);
};
const openAt = async (
  directory: string,
  { config, server, watched }: WarmServiceOptions,
  lakes: Lake[],
  lent: LentServer[],
): Promise<void> => {
  await mkdir(directory);
  const watch = watched ? new MachineWatch() : undefined;
  const lake = await openLake({
    directory,
    objects: openObjects(directory),
    queueJobsMax: config.queueJobsMax,
    retryKeepMs: config.retryKeepMs,
    owner: 'warm-up',
    ...(watch && { inspect: watch.inspect }),
  });
  lakes.push(lake);
  lent.push(await server.lend({ lake, directory, ...(watch && { watch }) }));
};

/** The engine's options are all threads': what workers do here is too little to tell how their code will be used. */
const askOne = async (client: WarmClient, asked: Turn): Promise<void> => {
  if (asked.far) compile('usual');
  await client.ask(asked);
  if (asked.far) compile('early');
};

/** Sends requests while it `goesOn`. */
const askAll = async (lent: readonly LentServer[], goesOn: () => Promise<boolean>): Promise<void> => {
  const bodies = makeBodies();
  const crowds = lent.map((server) => Array.from({ length: crowd }, () => new WarmClient(server)));
  try {
    for (const clients of crowds) await clients[0]!.ask({ method: 'POST', path: '/pool', body: '{"name":"warm"}' });
    for (let turn = 0; await goesOn(); turn++) {
      const clients = crowds[Math.floor(turn / requests.length) % crowds.length]!;
      if (turn % crowdEvery === 0)
        await Promise.all(clients.map((client, i) => client.ask(requests[0]!(turn + i, bodies))));
      else
        await askOne(
          clients[turn % crowd]!,
          turn % seldomEvery === 1
            ? seldom[Math.floor(turn / seldomEvery) % seldom.length]!(bodies)
            : requests[turn % requests.length]!(turn, bodies),
        );
    }
  } finally {
    for (const client of crowds.flat()) client.close();
  }
};
