/**
 * `lake serve`: opens the lake, starts the workers and the HTTP server, and closes them in turn when a signal comes.
 */
import { existsSync, readdirSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import pino, { type Logger } from 'pino';
import { type ListenAddress, listenText } from '../config/listen.ts';
import { ConfigError } from '../config/options.ts';
import type { ServeConfig } from '../config/serve.ts';
import { accessOf } from '../http/access/access.ts';
import { KeysUnavailable } from '../http/access/issuer-keys.ts';
import { TokenRefused } from '../http/access/tokens.ts';
import { listenEarly } from '../http/connections/early-listener.ts';
import { loggedFault } from '../http/log-fault.ts';
import { loopback } from '../http/connections/origin.ts';
import { startServer } from '../http/server.ts';
import { openLake } from '../lake/lake.ts';
import type { LakeOptions, PackOptions } from '../lake/lake.types.ts';
import { makeFolder } from '../lake/lock.ts';
import { LakeCatalogue } from '../iceberg/catalogue.ts';
import { openLakeObjects } from '../lake/objects/fetched.ts';
import { openIcebergFiles } from '../lake/objects/objects.ts';
import { tablesFolder } from '../lake/repair/replay.ts';
import { shareSizes } from '../lake/scan/shares.ts';
import { dataPath } from '../lake/tables/head.ts';
import { MachineWatch } from '../recording/watch.ts';
import { version } from '../version.ts';
import { startWorkerPool } from '../workers/pool.ts';
import { giveWay } from '../workers/priority.ts';
import { fromPolicyOf } from './from-options.ts';
import { icebergSecret } from './iceberg-secret.ts';
import type { CommandIo } from './io.ts';
import { openAudit } from './audit.ts';
import { watchKeys } from './key-file.ts';
import { lakeFolder } from './lake-folder.ts';
import { withinOpenFiles } from './open-files.ts';
import { Recorder } from './recorder.ts';
import { serveConfig } from './serve-config.ts';
import { openFollow, openStore } from './store.ts';
import { watchEvents } from './writer-events.ts';

/** The longest that the end may take beyond -shutdown.grace. */
const closeMsMore = 4_500;

/** Runs until SIGTERM or SIGINT; resolves to the exit status. */
export const serveCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = await serveConfig(argv, io.cwd);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  const guarded = config.auth.keys || config.auth.domain !== '';
  const reachable = config.listen.find(isReachable);
  if (!guarded && !config.insecure && reachable)
    throw new ConfigError(
      `-l ${listenText(reachable)}: others can reach this address, and there is no access control: -auth.keys or -auth.domain turn it on, -insecure goes without`,
    );
  checkSyslog(config, guarded);
  const { connectionsMax, answersMax, isTight } = withinOpenFiles(config);
  yieldCollectors();
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: false }));
  if (isTight)
    log.warn(
      { connectionsMax },
      'fewer connections than -connections.max: so few files may be open at once (ulimit -n)',
    );
  const directory = lakeFolder(io.cwd, config.lakeDirectory);
  const from = fromPolicyOf(config.from, io.cwd);
  makeFolder(directory);
  const watch = new MachineWatch();
  const recorder = await beginRecording(config, {
    cwd: io.cwd,
    watch,
    report: (fault) => {
      log.error({ err: fault }, 'recording');
    },
  });
  const inspect = recorder || config.inspect.on ? watch.inspect : undefined;
  const store = config.store && (await openStore(config.store, { log, shutdownMs: config.shutdownMs }));
  const follow = config.follow && (await openFollow(config.follow, { log, shutdownMs: config.shutdownMs }));
  const bucketAddress = store?.address ?? follow?.address;
  const objects = openLakeObjects(directory, bucketAddress, 'main');
  const packs: PackOptions = {
    objectsMin: config.packObjectsMin,
    prepare: (small, pool) => workers.packObjects(small, pool),
  };
  // What fails here does so before a lake is open and threads run.
  const audit =
    config.auditFile === ''
      ? undefined
      : await openAudit(resolvePath(io.cwd, config.auditFile), (fault) => {
          log.error({ err: fault }, 'audit log');
        });
  const access = accessOf({
    auth: config.auth,
    ...(config.auth.keys && {
      ring: watchKeys(directory, (fault) => {
        log.error({ err: fault }, 'keys');
      }),
    }),
    refused: (fault) => {
      log.info(refusalLine(fault), 'token refused');
    },
  });
  const earlyListener = await listenEarly(config, (fault) => {
    log.error({ err: fault }, 'certificate');
  });
  const owner = ownerText(earlyListener.names);
  const follower = follow?.follower(owner);
  const lake = await openLake({
    directory,
    objects,
    queueJobsMax: config.queueJobsMax,
    retryKeepMs: config.retryKeepMs,
    nameBytesMax: config.nameBytesMax,
    owner,
    ...(store && { store: store.copy(owner) }),
    ...(follower && { follow: follower }),
    snapshots: { bytesMax: Math.floor(config.memoryBytesMax / 8) },
    ...noted(log),
    ...(packs.objectsMin > 0 && { packs }),
    ...recorder?.lakeHooks,
    ...(inspect && { inspect }),
  }).catch(async (problem: unknown) => {
    await earlyListener.close();
    throw problem;
  });
  recorder?.begin(lake);
  const workers = startWorkerPool(
    {
      lakeDirectory: directory,
      ...(bucketAddress && { store: bucketAddress, objects }),
      threads: config.workerCount,
      tasksMax: config.tasksMax,
      warmUpMs: config.warmUpMs,
      shareSizes: { ...shareSizes, rowsMin: config.queryShareRowsMin },
      expandedBytesMax: config.expandedBytesMax,
      formatLimits: config.formatLimits,
      recursion: config.recursion,
      ...(config.indexBase !== undefined && { indexBase: config.indexBase }),
      loadMemoryBytesMax: Math.floor(config.memoryBytesMax / 4),
      queryMemoryBytesMax: Math.floor(config.memoryBytesMax / 2),
      cacheBytesMax: Math.floor(config.memoryBytesMax / 4),
      residentBytesMax: config.memoryBytesMax + memoryBesides,
      tablesFile: dataPath(tablesFolder(directory)),
      from,
      ...(inspect && { inspect }),
    },
    recorder?.lakeFor(lake, objects) ?? lake,
  );
  const catalogue = new LakeCatalogue({
    lake,
    render: (request) => workers.render(request),
    files: () => openIcebergFiles(directory),
    report: (fault) => {
      log.error({ err: fault }, 'iceberg');
    },
    waitMs: config.icebergWaitMs,
    graceMs: config.icebergGraceMs,
  });
  const tracing = config.trace && (await import('../http/tracing/otlp.ts')).openTracing(config.trace, { version, log });
  const server = await startServer({
    ...(access && { access }),
    ...(audit && { audit: audit.write }),
    earlyListener,
    answersMax,
    ...(tracing && { tracing }),
    config: { ...config, connectionsMax },
    version,
    lake,
    catalogue,
    iceberg: { secret: icebergSecret(directory) },
    workers: recorder?.workersFor(workers, objects) ?? workers,
    log,
    ...(inspect && { watch }),
  }).catch(async (problem: unknown) => {
    await catalogue.close();
    await workers.close();
    await lake.close();
    throw problem;
  });
  const writer =
    follower && config.follow?.url
      ? watchEvents({
          ...config.follow,
          heard: (event) => follower.heard(event),
          report: (fault) => {
            log.warn({ err: fault }, 'events of the writer');
          },
        })
      : undefined;
  await io.write(Buffer.from(welcome(server.addresses, directory)));
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name));
  });
  log.info({ signal }, 'closing');
  // Another signal ends the process at once; so does what does not end by itself. Either way nothing is lost that was
  // acknowledged.
  const cut = (reason: string): void => {
    log.error({ reason }, 'cut off');
    process.exit(1);
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => {
      cut(`a second signal: ${name}`);
    });
  const closeMs = config.shutdownMs + closeMsMore;
  const deadline = setTimeout(() => {
    cut(`not closed after ${closeMs} ms`);
  }, closeMs);
  await writer?.close();
  await server.close();
  await tracing?.close();
  await recorder?.tips(workers);
  await catalogue.close();
  await workers.close();
  await lake.close();
  await recorder?.close();
  await audit?.close();
  clearTimeout(deadline);
  return 0;
};

/** Why, as far as the text is ours. */
const refusalLine = (fault: unknown): object =>
  fault instanceof TokenRefused || fault instanceof KeysUnavailable
    ? { reason: fault.message }
    : { fault: loggedFault(fault) };

/** What the lake has to say to nobody in particular goes into the log. */
const noted = (
  log: Logger,
): Required<Pick<LakeOptions, 'report' | 'clockNoted' | 'tablesMade' | 'basePassedOver'>> => ({
  report: (fault) => {
    log.error({ err: fault }, 'lake');
  },
  tablesMade: (why) => {
    log.warn({ why }, 'the tables were made again from the log');
  },
  basePassedOver: (why) => {
    log.warn({ why }, 'a base was passed over');
  },
  clockNoted: ({ isBehind, clockMs, idMs }) => {
    const times = { clock: new Date(clockMs).toISOString(), ids: new Date(idMs).toISOString() };
    if (isBehind)
      log.warn(
        times,
        'the clock is behind the ids that were drawn, or out of their range: they go on from the last one',
      );
    else log.info(times, 'the clock has caught up with the ids');
  },
});

/** Syslog knows no keys: who lets others write by it says into which pool. @throws ConfigError */
const checkSyslog = ({ syslog }: ServeConfig, guarded: boolean): void => {
  if (!syslog || syslog.isPoolNamed) return;
  const address = `-syslog ${listenText({ kind: 'tcp', ...syslog })}`;
  const why = guarded ? 'there is access control' : loopback(syslog.host) ? undefined : 'others can reach this address';
  if (why !== undefined)
    throw new ConfigError(
      `${address}: ${why}, and syslog has no keys: -syslog.pool names the pool that anyone who reaches the port may write`,
    );
};

/** Where the service is, with the ports that it got, for those that find its lock or its segments in a bucket. */
const ownerText = (names: readonly string[]): string => names.map((name) => name.replace(/^http:\/\//, '')).join(', ');

/** Whether others than people of this machine may reach an address; what systemd opened may be anything. */
const isReachable = (address: ListenAddress): boolean =>
  address.kind === 'tcp' ? !loopback(address.host) : address.kind === 'descriptor';

/** What the program takes besides -memory. */
const memoryBesides = 256 << 20;

/** Threads that the engine starts before any code of ours runs: they collect and compile for all others. */
const engineThreads = 5;
/**
 * Lets the main thread go before them, as it goes before the workers, or it would wait for its turn while these collect
 * for scans.
 */
const yieldCollectors = (): void => {
  if (process.platform !== 'linux' || !existsSync('/proc/self/task')) return;
  const others = readdirSync('/proc/self/task')
    .map(Number)
    .sort((a, b) => a - b)
    .filter((id) => id !== process.pid);
  for (const id of others.slice(0, engineThreads)) giveWay(id);
};

/** Begins what `-record` asks for, if anything. */
export const beginRecording = async (
  config: ServeConfig,
  {
    cwd,
    watch,
    report,
  }: { readonly cwd: string; readonly watch: MachineWatch; readonly report: (fault: unknown) => void },
): Promise<Recorder | undefined> => {
  const {
    record: { file, ...limits },
    workerCount,
    memoryBytesMax,
    queueJobsMax,
    tasksMax,
    expandedBytesMax,
    queryStatusMs,
    subscribersMax,
    subscriberEventsMax,
  } = config;
  // Those that have a say in what happens; others may hold secrets.
  const options = {
    workerCount,
    memoryBytesMax,
    queueJobsMax,
    tasksMax,
    expandedBytesMax,
    queryStatusMs,
    subscribersMax,
    subscriberEventsMax,
  };
  return file === ''
    ? undefined
    : Recorder.open({ path: resolvePath(cwd, file), ...limits, watch, version, options, report });
};

const welcome = (addresses: readonly string[], directory: string): string => {
  const [first = ''] = addresses;
  const target = first.startsWith('unix:') ? `--unix-socket ${first.slice('unix:'.length)} http://localhost` : first;
  return `The lake in ${directory} is served on ${addresses.join(' and ')}

Try: curl ${target}/pool -H 'Accept: application/json' -d '{name:"events"}'
`;
};
