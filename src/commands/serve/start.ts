/**
 * What `lake serve` starts, in two steps: what a service stands on, of which all can fail or take long, then what works
 * on it.
 */
import { resolve as resolvePath } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { Logger } from 'pino';
import type { ServeConfig } from '../../config/serve.ts';
import { type Access, accessOf } from '../../http/access/access.ts';
import { KeysUnavailable } from '../../http/access/issuer-keys.ts';
import { TokenRefused } from '../../http/access/tokens.ts';
import { type EarlyListener, listenEarly } from '../../http/connections/early-listener.ts';
import { loggedFault } from '../../http/log-fault.ts';
import { startServer } from '../../http/server.ts';
import { LakeCatalogue } from '../../iceberg/catalogue.ts';
import { openLake } from '../../lake/lake.ts';
import type { Lake, LakeOptions, PackOptions } from '../../lake/lake.types.ts';
import { openLakeObjects } from '../../lake/objects/fetched.ts';
import { type ObjectStore, openIcebergFiles } from '../../lake/objects/objects.ts';
import type { LakeFollower } from '../../lake/store/store.types.ts';
import { tablesFolder } from '../../lake/repair/replay.ts';
import { shareSizes } from '../../lake/scan/shares.ts';
import { dataPath } from '../../lake/tables/head.ts';
import { MachineWatch } from '../../recording/watch.ts';
import type { S3Options } from '../../store/s3.ts';
import { version } from '../../version.ts';
import type { FromPolicy } from '../../workers/from/policy.ts';
import { startWorkerPool } from '../../workers/pool.ts';
import type { WorkerPool } from '../../workers/pool.types.ts';
import { type AuditFile, openAudit } from '../audit.ts';
import { fromPolicyOf } from '../from-options.ts';
import { icebergSecret } from '../iceberg-secret.ts';
import { watchKeys } from '../key-file.ts';
import type { Recorder } from '../recorder.ts';
import { openFollow, openStore } from '../store.ts';
import { watchEvents } from '../writer-events.ts';
import type { Parts } from './parts.ts';
import { beginRecording } from './recording.ts';

interface GroundOptions {
  /** The lake's folder, which is there. */
  readonly directory: string;
  readonly cwd: string;
  readonly log: Logger;
  /** Gets what is started, in that order. */
  readonly parts: Parts;
}
/** What a service stands on. */
interface Ground {
  readonly directory: string;
  readonly from: FromPolicy;
  readonly watch: MachineWatch;
  readonly recorder: Recorder | undefined;
  /** Told of what the machines do, where anybody wants to know. */
  readonly inspect: MachineWatch['inspect'] | undefined;
  readonly bucketAddress: S3Options | undefined;
  readonly objects: ObjectStore;
  readonly audit: AuditFile | undefined;
  readonly access: Access | undefined;
  readonly earlyListener: EarlyListener;
  /** The early listener ends with the server that took it. */
  readonly handOn: () => void;
  readonly follower: LakeFollower | undefined;
  readonly lake: Lake;
  /** What the lake asks of the workers, once there are any. */
  readonly late: LateWorkers;
}
interface LateWorkers {
  workers?: Pick<WorkerPool, 'packObjects'>;
}

/** Opens the lake; who asks meanwhile waits at the address. What fails here does so before any thread runs. */
export const openGround = async (config: ServeConfig, options: GroundOptions): Promise<Ground> => {
  const { directory, cwd, log, parts } = options;
  const from = fromPolicyOf(config.from, cwd);
  const watch = new MachineWatch();
  const recorder = await beginRecording(config, { cwd, watch, report: reportTo(log, 'recording') });
  if (recorder) parts.add(() => recorder.close());
  const inspect = recorder || config.inspect.on ? watch.inspect : undefined;
  const storeParts = { log, shutdownMs: config.shutdownMs, inspect };
  const store = config.store && (await openStore(config.store, storeParts));
  const follow = config.follow && (await openFollow(config.follow, storeParts));
  const bucketAddress = store?.address ?? follow?.address;
  const objects = openLakeObjects(directory, bucketAddress, 'main');
  const audit =
    config.auditFile === ''
      ? undefined
      : await openAudit(resolvePath(cwd, config.auditFile), reportTo(log, 'audit log')).catch(refusedBy('audit'));
  if (audit) parts.add(() => audit.close());
  const access = openAccess(config, directory, log);
  const earlyListener = await listenEarly(config, reportTo(log, 'certificate'));
  const handOn = parts.add(() => earlyListener.close());
  const owner = ownerText(earlyListener.names);
  const follower = follow?.follower(owner);
  const late: LateWorkers = {};
  const lake = await openLake({
    directory,
    objects,
    ...lakeLimits(config),
    owner,
    ...(store && { store: store.copy(owner) }),
    ...(follower && { follow: follower }),
    ...noted(log),
    ...packsOf(config, late),
    ...recorder?.lakeHooks,
    ...(inspect && { inspect }),
  });
  parts.add(() => lake.close());
  recorder?.begin(lake);
  return {
    directory,
    from,
    watch,
    recorder,
    inspect,
    bucketAddress,
    objects,
    audit,
    access,
    earlyListener,
    handOn,
    follower,
    lake,
    late,
  };
};
const reportTo =
  (log: Logger, subject: string) =>
  (fault: unknown): void => {
    log.error({ err: fault }, subject);
  };
const openAccess = ({ auth }: ServeConfig, directory: string, log: Logger): Access | undefined =>
  accessOf({
    auth,
    ...(auth.keys && { ring: watchKeys(directory, reportTo(log, 'keys')) }),
    refused: (fault) => {
      log.info(refusalLine(fault), 'token refused');
    },
  });
const lakeLimits = ({ queueJobsMax, retryKeepMs, nameBytesMax, memoryBytesMax }: ServeConfig) => ({
  queueJobsMax,
  retryKeepMs,
  nameBytesMax,
  snapshots: { bytesMax: Math.floor(memoryBytesMax / 8) },
});
const packsOf = ({ packObjectsMin }: ServeConfig, late: LateWorkers): { readonly packs?: PackOptions } =>
  packObjectsMin > 0
    ? { packs: { objectsMin: packObjectsMin, prepare: (small, pool) => late.workers!.packObjects(small, pool) } }
    : {};

interface StartOptions extends Ground {
  readonly answersMax: number;
  readonly log: Logger;
  readonly parts: Parts;
}

/** Starts what works on an open lake, and answers; gives the addresses. */
export const startParts = async (config: ServeConfig, options: StartOptions): Promise<readonly string[]> => {
  const { directory, recorder, inspect, audit, access, earlyListener, lake, objects, log, parts } = options;
  const workers = startWorkers(config, options);
  parts.add(() => workers.close());
  options.late.workers = workers;
  const catalogue = new LakeCatalogue({
    lake,
    render: (request) => workers.render(request),
    files: () => openIcebergFiles(directory),
    report: reportTo(log, 'iceberg'),
    wrong: (file) => {
      log.warn(file, file.isMade ? 'iceberg: wrong file made again' : 'iceberg: wrong file cannot be made again');
    },
    waitMs: config.icebergWaitMs,
    graceMs: config.icebergGraceMs,
  });
  parts.add(() => catalogue.close());
  if (recorder) parts.add(() => recorder.tips(workers));
  const tracing =
    config.trace && (await import('../../http/tracing/otlp.ts')).openTracing(config.trace, { version, log });
  if (tracing) parts.add(() => tracing.close());
  const server = await startServer({
    ...(access && { access }),
    ...(audit && { audit: audit.write }),
    earlyListener,
    answersMax: options.answersMax,
    ...(tracing && { tracing }),
    config,
    version,
    lake,
    catalogue,
    iceberg: { secret: icebergSecret(directory) },
    workers: recorder?.workersFor(workers, objects) ?? workers,
    log,
    ...(inspect && { watch: options.watch }),
  });
  options.handOn();
  parts.add(() => server.close());
  listenToWriter(config, options);
  return server.addresses;
};

const startWorkers = (
  config: ServeConfig,
  { directory, bucketAddress, objects, from, inspect, recorder, lake }: StartOptions,
): WorkerPool =>
  startWorkerPool(
    {
      lakeDirectory: directory,
      ...(bucketAddress && { store: bucketAddress, objects }),
      threads: config.workerCount,
      tasksMax: config.tasksMax,
      warmUpMs: config.warmUpMs,
      compress: config.compress,
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

/** A replica hears of its writer's events, where it is told whom to ask. */
const listenToWriter = ({ follow }: ServeConfig, { follower, log, parts }: StartOptions): void => {
  if (!follower || !follow?.url) return;
  const writer = watchEvents({
    ...follow,
    heard: (event) => follower.heard(event),
    report: (fault) => {
      log.warn({ err: fault }, 'the events of the writer cannot be followed');
    },
  });
  parts.add(() => writer.close());
};

/** A file that an option names cannot be written. */
const refusedBy =
  (option: string) =>
  (cause: unknown): never => {
    throw new Error(`-${option} ${messageOf(cause)}`, { cause });
  };

/** What the program takes besides -memory. */
const memoryBesides = 256 << 20;

/** Where the service is, with the ports that it got, for those that find its lock or its segments in a bucket. */
const ownerText = (names: readonly string[]): string => names.map((name) => name.replace(/^http:\/\//, '')).join(', ');

/** Why, as far as the text is ours. */
const refusalLine = (fault: unknown): object =>
  fault instanceof TokenRefused || fault instanceof KeysUnavailable
    ? { reason: fault.message }
    : { fault: loggedFault(fault) };

/** What the lake has to say to nobody in particular goes into the log. */
const noted = (
  log: Logger,
): Required<Pick<LakeOptions, 'report' | 'clockNoted' | 'tablesMade' | 'basePassedOver' | 'filesOwned'>> => ({
  report: (fault) => {
    log.error({ err: fault }, 'lake');
  },
  tablesMade: (why) => {
    log.warn({ why }, 'the tables were rebuilt from the log');
  },
  basePassedOver: (why) => {
    log.warn({ why }, 'a base that cannot be used was skipped');
  },
  filesOwned: (files) => {
    log.warn({ files }, "files that had other names (hard links) were copied: they are the lake folder's own now");
  },
  clockNoted: ({ isBehind, clockMs, idMs }) => {
    const times = { clock: new Date(clockMs).toISOString(), ids: new Date(idMs).toISOString() };
    if (isBehind)
      log.warn(
        times,
        'the clock is behind the latest id, or out of the range of ids: they continue from the latest one',
      );
    else log.info(times, 'the clock has caught up with the ids');
  },
});
