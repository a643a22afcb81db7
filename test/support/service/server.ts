/** The real service on a temporary lake and a free port, for tests that talk HTTP. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { fromPolicyOf } from '../../../src/commands/from-options.ts';
import { openAudit } from '../../../src/commands/audit.ts';
import { icebergSecret } from '../../../src/commands/iceberg-secret.ts';
import { watchKeys } from '../../../src/commands/key-file.ts';
import { beginRecording } from '../../../src/commands/serve/recording.ts';
import { parseServe } from '../../../src/config/serve.ts';
import { accessOf } from '../../../src/http/access/access.ts';
import type { Clock } from '../../../src/http/access/tokens.ts';
import { listenEarly } from '../../../src/http/connections/early-listener.ts';
import { type Server, type ServiceCharts, startServer } from '../../../src/http/server.ts';
import { LakeCatalogue } from '../../../src/iceberg/catalogue.ts';
import type { IcebergCatalogue } from '../../../src/iceberg/catalogue.types.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { Lake, PackOptions } from '../../../src/lake/lake.types.ts';
import { openIcebergFiles } from '../../../src/lake/objects/objects.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';
import { startWorkerPool } from '../../../src/workers/pool.ts';
import type { WorkerPool } from '../../../src/workers/pool.types.ts';
import { testParts } from '../store/test-parts.ts';
import { listingsOf } from '../store/test-store.ts';

export interface TestService {
  readonly url: string;
  readonly directory: string;
  readonly lake: Lake;
  readonly workers: WorkerPool;
  readonly app: FastifyInstance;
  readonly server: Server;
  readonly watch: MachineWatch;
  /** One request; the body of the answer as text. */
  readonly ask: (method: string, path: string, options?: AskOptions) => Promise<Answer>;
  /** Runs a query; its rows as SUP, one a line. */
  readonly query: (text: string) => Promise<string>;
  readonly close: () => Promise<void>;
}
interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Starts a service with the given flags; `directory` keeps a lake that is already there, `log` gets its lines;
 * `charts`: others than those of machines/. `report` is told of certificates that are no good. `iceberg`: another
 * catalogue than the lake's own, another clock for its tokens. With its lake in a bucket of this process `close` rejects
 * if a request had the bucket listed.
 */
export const startService = async (
  flags: readonly string[] = [],
  directory?: string,
  log?: Logger,
  charts?: ServiceCharts,
  report?: (fault: unknown) => void,
  iceberg?: { readonly catalogue?: IcebergCatalogue; readonly clock?: Clock },
): Promise<TestService> => {
  const folder = directory ?? (await mkdtemp(join(tmpdir(), 'lake-test-')));
  const config = parseServe([
    '-lake',
    folder,
    '-l',
    '127.0.0.1:0',
    '-log.level',
    'silent',
    '-shutdown.grace',
    '200ms',
    ...flags,
  ]);
  if ('help' in config) throw new Error('no flags of a service');
  const watch = new MachineWatch();
  const recorder = await beginRecording(config, {
    cwd: process.cwd(),
    watch,
    report: (fault) => {
      throw fault;
    },
  });
  const inspect = recorder || config.inspect.on ? { inspect: watch.inspect } : {};
  const { objects, store, address } = await testParts(folder);
  const packs: PackOptions = {
    objectsMin: config.packObjectsMin,
    prepare: (small, pool) => workers.packObjects(small, pool),
  };
  const lake = await openLake({
    directory: folder,
    objects,
    ...(store && { store }),
    queueJobsMax: config.queueJobsMax,
    retryKeepMs: config.retryKeepMs,
    ...(packs.objectsMin > 0 && { packs }),
    ...recorder?.lakeHooks,
    ...inspect,
  });
  const listings = await listingsOf(address);
  recorder?.begin(lake);
  const workers = startWorkerPool(
    {
      lakeDirectory: folder,
      ...(address && { store: address, objects }),
      threads: config.workerCount,
      tasksMax: config.tasksMax,
      expandedBytesMax: config.expandedBytesMax,
      formatLimits: config.formatLimits,
      recursion: config.recursion,
      from: fromPolicyOf(config.from, process.cwd()),
      ...inspect,
    },
    recorder?.lakeFor(lake, objects) ?? lake,
  );
  const own = new LakeCatalogue({
    lake,
    render: (request) => workers.render(request),
    files: () => openIcebergFiles(folder),
    report: (fault) => {
      throw fault;
    },
    waitMs: config.icebergWaitMs,
    graceMs: config.icebergGraceMs,
  });
  const access = accessOf({
    auth: config.auth,
    ...(config.auth.keys && {
      ring: watchKeys(folder, (fault) => {
        throw fault;
      }),
    }),
  });
  const audit =
    config.auditFile === ''
      ? undefined
      : await openAudit(config.auditFile, (fault) => {
          throw fault;
        });
  const earlyListener = await listenEarly(
    config,
    report ??
      ((fault) => {
        throw fault;
      }),
  );
  const server = await startServer({
    config,
    earlyListener,
    ...(access && { access }),
    ...(audit && { audit: audit.write }),
    version: 'v0.0.0-test',
    lake,
    catalogue: iceberg?.catalogue ?? own,
    iceberg: { secret: icebergSecret(folder), ...(iceberg?.clock && { clock: iceberg.clock }) },
    workers: recorder?.workersFor(workers, objects) ?? workers,
    log: log ?? pino({ level: config.logLevel }),
    ...(charts && { charts }),
    ...('inspect' in inspect && { watch }),
  });
  const ask = async (method: string, path: string, { headers = {}, body }: AskOptions = {}): Promise<Answer> => {
    // A text body would get a Content-Type of fetch's own choice.
    const response = await fetch(server.address + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body: Buffer.from(body as string) }),
    });
    return { status: response.status, headers: response.headers, body: await response.text() };
  };
  return {
    url: server.address,
    directory: folder,
    lake,
    workers,
    app: server.app,
    server,
    watch,
    ask,
    query: async (text) => {
      const answer = await ask('POST', '/query', {
        headers: { 'content-type': 'application/json', accept: 'application/x-sup' },
        body: JSON.stringify({ query: text }),
      });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`);
      return answer.body;
    },
    close: async () => {
      const listed = (await listingsOf(address)) - listings;
      await server.close();
      await recorder?.tips(workers);
      await own.close();
      await workers.close();
      await lake.close();
      await audit?.close();
      await recorder?.close();
      if (!directory) await rm(folder, { recursive: true, force: true });
      if (listed > 0) throw new Error(`the bucket was listed ${listed} times for requests`);
    },
  };
};
