/**
 * Makes the main thread's code warm after the start: a service of its own, on a lake in a temporary folder and a free port of this machine, is sent small requests until its
 * time is over. The code that answers them is the code that answers the first clients.
 *
 * - Nothing of it can be seen in the real service: neither its lake, its events nor its figures. The folder goes when it ends; what a crash leaves is in the system's folder for such things.
 * - It gives way: between two requests it waits until the real service has none.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServeConfig } from '../config.ts';
import { type ServerOptions, startServer } from '../http/server.ts';
import { openLake } from '../lake/lake.ts';
import { openObjects } from '../lake/objects.ts';
import type { WorkerPool } from '../workers/pool.types.ts';

export interface WarmServiceOptions {
  readonly config: ServeConfig;
  readonly version: string;
  /** Its threads answer the queries. */
  readonly workers: WorkerPool;
  readonly log: ServerOptions['log'];
  readonly budgetMs: number;
  /** Whether the real service has nothing to do. */
  readonly isIdle: () => boolean;
  /** Fires when the real service ends. */
  readonly signal: AbortSignal;
}

const waitMs = 5;
/** Every so many turns so many small loads come at once, for what commits a group. */
const crowdEvery = 4, crowd = 8;
/** Time for which this thread was at work: waiting for the disk or for workers makes nothing warm. */
const activeMs = (): number => performance.eventLoopUtilization().active;
/** In turn: most clients write small bodies and ask small questions. */
const requests: readonly (readonly [method: string, path: string, body?: string])[] = [
  ['POST', '/pool/warm/branch/main', '{"ts":1,"value":"row 1","n":7}'], ['POST', '/query', '{"query":"values 1"}'], ['POST', '/pool/warm/branch/main', '{"ts":2,"value":"row 2","n":14}'],
  ['GET', '/pool/warm/branch/main'], ['GET', '/version'], ['POST', '/query', '{"query":"from warm | head 1"}'],
];

/** Resolves when its time is over or the real service ends; what goes wrong is told by rejection and hurts nobody. */
export const warmService = async ({ config, version, workers, log, budgetMs, isIdle, signal }: WarmServiceOptions): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-warm-')), agent = new Agent({ keepAlive: true, maxSockets: crowd });
  try {
    const lake = await openLake({ directory, objects: openObjects(directory) });
    const own: WorkerPool = Object.assign(Object.create(workers) as WorkerPool, {
      load: (body: Parameters<WorkerPool['load']>[0]) => workers.load({ ...body, unseen: true }), status: () => workers.status(), threads: () => workers.threads(), forgetLate: () => { workers.forgetLate(); }, queryStatus: (id: string) => workers.queryStatus(id),
      query: (query: Parameters<WorkerPool['query']>[0]) => workers.query({ ...query, lake, unseen: true }),
    });
    const server = await startServer({ config: { ...config, listen: { host: '127.0.0.1', port: 0 }, inspect: { ...config.inspect, on: false } }, version, lake, workers: own, log });
    try {
      await ask(agent, server.address, 'POST', '/pool', '{"name":"warm"}');
      let spentMs = 0;
      for (let turn = 0; spentMs < budgetMs && !signal.aborted; turn++) {
        while (!isIdle() && !signal.aborted) await new Promise((resolve) => { setTimeout(resolve, waitMs); });
        const before = activeMs(), next = requests[turn % requests.length]!;
        await Promise.all(Array.from({ length: turn % crowdEvery === 0 ? crowd : 1 }, () => ask(agent, server.address, ...(turn % crowdEvery === 0 ? requests[0]! : next))));
        spentMs += activeMs() - before;
      }
    } finally {
      agent.destroy();
      await server.close();
      await lake.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

const ask = (agent: Agent, address: string, method: string, path: string, body?: string): Promise<void> => new Promise((resolve, reject) => {
  const sent = request(`${address}${path}`, { method, agent, headers: { 'content-type': 'application/json', accept: 'application/json' } }, (response) => {
    response.resume();
    response.on('end', resolve);
    response.on('error', reject);
  });
  sent.on('error', reject);
  sent.end(body);
});
