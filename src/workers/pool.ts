/**
 * The worker pool: bodies become objects, query texts become bytes, objects are rewritten, all in worker threads. The
 * main thread passes bytes on and tells the watches of loads and queries.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { LakeError } from '../errors.ts';
import { recursionMax } from '../exec/context.ts';
import type { RenderedFile, RenderRequest } from '../iceberg/render.types.ts';
import type {
  Identity,
  ObjectMeta,
  PoolConfig,
  PrepareRecords,
  PrepareRewrite,
  RecordRule,
  Snapshot,
} from '../lake/lake.types.ts';
import { type ObjectStore, openObjects } from '../lake/objects/objects.ts';
import { removeObjectFiles } from '../lake/objects/removal.ts';
import { outputShares, shareSizes } from '../lake/scan/shares.ts';
import { poolsOnly } from './from/policy.ts';
import type { BulkOperations, BulkResults } from './ingest/bulk-results.ts';
import type { IngestOutcome, IngestReply, IngestRequest, Protocol } from './ingest/ingest.types.ts';
import { layoutOf } from './lake-session.ts';
import type { BulkOutcome, MergeOutcome, RewriteOutcome, TaskOutcome, TaskRequest } from './messages.ts';
import { returnPages } from './page-returns.ts';
import { Loads } from './pool/loads.ts';
import { Queries } from './pool/queries.ts';
import type { Running } from './pool/running.ts';
import { Scheduler, type SchedulerOptions } from './pool/scheduler.ts';
import type {
  CompileReply,
  LakeServices,
  LoadOutcome,
  LoadPreview,
  LoadReply,
  LoadRequest,
  PreviewRequest,
  QueryReply,
  QueryRequest,
  ThreadFigures,
  WorkerPool,
  WorkerPoolOptions,
  WorkerPoolStatus,
  UpdateText,
} from './pool.types.ts';
import { clearSpill } from './query/spill.ts';
import { claimMemory } from './query/turn-claim.ts';

const defaults = {
  loadMemoryBytesMax: 64 << 20,
  queryMemoryBytesMax: 128 << 20,
  cacheBytesMax: 64 << 20,
  windowBytesMax: 1 << 20,
  loadWindowBytesMax: 4 << 20,
  tasksMax: 256,
  cancelMsMax: 10_000,
  expandedBytesMax: Infinity,
  formatLimits: {},
  recursion: recursionMax,
  from: poolsOnly,
  shareSizes,
  outputShares,
  residentBytesMax: Infinity,
  warmUpMs: 0,
};
const batchRows = 8192;
/** Objects of a page when a snapshot is searched. */
const pageObjects = 4096;

/** Starts the threads. */
export const startWorkerPool = (options: WorkerPoolOptions, lake: LakeServices): WorkerPool =>
  new Workers(options, lake);

class Workers implements WorkerPool {
  private readonly lake: LakeServices;
  private readonly objects: ObjectStore;
  private readonly scheduler: Scheduler;
  private readonly loads: Loads;
  private readonly queries: Queries;
  private readonly unlisten: (() => void) | undefined;
  private readonly keepPages: (() => void) | undefined;
  private readonly running: Running = { queries: 0, loads: 0, begun: 0 };
  private closing = false;

  constructor(given: WorkerPoolOptions, lake: LakeServices) {
    const options = { ...defaults, ...defined(given) };
    const { lakeDirectory, formatLimits, expandedBytesMax, residentBytesMax, inspect, tablesFile } = options;
    const { running } = this;
    this.lake = lake;
    this.objects = options.objects ?? openObjects(lakeDirectory);
    this.scheduler = new Scheduler(schedulerOptions(options), lake, (request, outcome) => {
      removeUnheard(request, outcome, this.objects);
    });
    this.loads = new Loads({
      scheduler: this.scheduler,
      objects: this.objects,
      small: { objects: this.objects, readLimits: { ...formatLimits, expandedBytesMax } },
      running,
      inspect,
    });
    this.queries = new Queries(this.scheduler, running, inspect);
    if (Number.isFinite(residentBytesMax))
      this.keepPages = returnPages({
        residentBytesMax,
        isBusy: () => running.queries + running.loads > 0,
        begun: () => running.begun,
        ...(tablesFile !== undefined && { mapped: tablesFile }),
      });
    this.unlisten = lake.onObjectGone?.((id) => {
      this.scheduler.forget(id);
    });
  }

  load(request: LoadRequest): Promise<LoadReply> {
    return this.loads.load(request);
  }
  preview(request: PreviewRequest): Promise<LoadPreview> {
    return this.loads.preview(request);
  }
  ingest<P extends Protocol>(request: IngestRequest<P>): Promise<IngestReply<P>> {
    return this.loads.ingest(request);
  }
  query(request: QueryRequest): Promise<QueryReply> {
    return this.queries.query(request);
  }

  prepareDelete(where: string, lake = this.lake, warn?: (texts: readonly string[]) => void): PrepareRewrite {
    return (snapshot) =>
      this.scheduler.rewrite({ kind: 'delete', where, pool: layoutOf(snapshot.pool) }, snapshot, { lake, warn });
  }
  prepareUpdate(update: UpdateText, lake = this.lake, warn?: (texts: readonly string[]) => void): PrepareRewrite {
    return (snapshot) =>
      this.scheduler.rewrite({ kind: 'update', ...update, pool: layoutOf(snapshot.pool) }, snapshot, { lake, warn });
  }

  prepareUpsert(keys: readonly ObjectMeta[], identity: Identity): PrepareRewrite {
    return (snapshot) =>
      this.scheduler.rewrite({ kind: 'upsert', keys, identity, pool: layoutOf(snapshot.pool) }, snapshot);
  }

  prepareBulk(operations: BulkOperations, tell: (results: BulkResults) => void): PrepareRewrite {
    return async (snapshot) => {
      const session = this.scheduler.session();
      session.lend(snapshot);
      const request = { kind: 'bulk', ...operations, pool: layoutOf(snapshot.pool) } as const;
      const outcome = await this.scheduler.outcome<BulkOutcome>(request, session);
      tell(outcome.told);
      return outcome;
    };
  }

  prepareCompact(ids: readonly string[]): PrepareRewrite {
    return async (snapshot) => {
      const objects = await findObjects(snapshot, ids);
      return this.scheduler.rewrite({ kind: 'compact', objects, pool: layoutOf(snapshot.pool) }, snapshot);
    };
  }

  prepareRecords(rule: RecordRule): PrepareRecords {
    return (sides, { offset, limit, dryRun, objectsFit }) => {
      const session = this.scheduler.session();
      session.lendSides(sides);
      const { pool, isKin } = sides;
      return this.scheduler.outcome<MergeOutcome>(
        {
          kind: 'merge',
          pool: layoutOf(pool),
          identity: pool.identity ?? [],
          rule,
          page: { offset, limit },
          dryRun,
          objectsFit,
          isKin,
        },
        session,
      );
    };
  }

  packObjects(objects: readonly ObjectMeta[], pool: PoolConfig): Promise<RewriteOutcome> {
    return this.scheduler.outcome<RewriteOutcome>(
      { kind: 'compact', objects, pool: layoutOf(pool) },
      this.scheduler.session(),
    );
  }

  render({ objects, isMerged, mapping, table, register, signal }: RenderRequest): Promise<RenderedFile> {
    const session = this.scheduler.session();
    session.renderFor(register);
    return this.scheduler.outcome<RenderedFile>(
      { kind: 'render', objects, isMerged, mapping, table },
      session,
      signal ? { signal } : {},
    );
  }

  compile(text: string, lake = this.lake, indexBase?: 0 | 1): Promise<CompileReply> {
    return this.scheduler.outcome<CompileReply>(
      { kind: 'compile', text, ...(indexBase !== undefined && { indexBase }) },
      this.scheduler.session(lake),
    );
  }

  status(): WorkerPoolStatus {
    const { queries, loads } = this.running;
    return { ...this.scheduler.status(), queriesRunning: queries, loadsRunning: loads };
  }
  forgetLate(): void {
    this.scheduler.forgetLate();
  }
  threads(): readonly ThreadFigures[] {
    return this.scheduler.figures();
  }

  async close(): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    this.unlisten?.();
    this.keepPages?.();
    await this.scheduler.close();
    this.objects.close();
  }
}

/** Starts the threads with what the options say. */
const schedulerOptions = (options: WorkerPoolOptions & typeof defaults): SchedulerOptions => {
  const {
    lakeDirectory,
    loadMemoryBytesMax,
    queryMemoryBytesMax,
    windowBytesMax,
    loadWindowBytesMax,
    expandedBytesMax,
    formatLimits,
    recursion,
    from,
    shareSizes,
    outputShares,
    residentBytesMax,
    warmUpMs,
    compress = 'compacted',
    indexBase,
    store,
    tasksMax,
    cancelMsMax,
    threads = availableParallelism(),
    spillDirectory = join(lakeDirectory, 'spill'),
  } = options;
  clearSpill(spillDirectory);
  return {
    threads,
    tasksMax,
    windowBytesMax,
    loadWindowBytesMax,
    cancelMsMax,
    residentBytesMax,
    settings: {
      cacheBytesMax: Math.floor(options.cacheBytesMax / threads),
      claim: claimMemory(),
      lakeDirectory,
      spillDirectory,
      loadMemoryBytesMax,
      queryMemoryBytesMax,
      windowBytesMax,
      batchRows,
      expandedBytesMax,
      formatLimits,
      recursion,
      from,
      shareSizes,
      outputShares,
      residentBytesMax,
      warmUpMs,
      compress,
      ...(indexBase !== undefined && { indexBase }),
      ...(store && { store }),
    },
  };
};

/** Objects that were written when nobody waited for them any more go. */
const removeUnheard = (request: TaskRequest, outcome: TaskOutcome, files: ObjectStore): void => {
  const remove = (objects: readonly ObjectMeta[]): void => {
    void removeObjectFiles(objects, { files });
  };
  if (request.kind === 'load') remove((outcome as LoadOutcome).objects);
  else if (request.kind === 'ingest')
    for (const pool of (outcome as IngestOutcome).pools.values()) {
      if ('objects' in pool) remove(pool.objects);
    }
  else if (isRewrite(request)) remove((outcome as RewriteOutcome | MergeOutcome).adds);
};

const isRewrite = ({ kind }: TaskRequest): boolean =>
  kind === 'delete' ||
  kind === 'update' ||
  kind === 'statement' ||
  kind === 'upsert' ||
  kind === 'bulk' ||
  kind === 'compact' ||
  kind === 'merge';

/** Without the entries that are undefined, which would hide defaults. */
const defined = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;

/**
 * The objects of these ids; turns of the event loop in between. @throws object-not-found for the first that is not
 * there
 */
const findObjects = async (snapshot: Snapshot, ids: readonly string[]): Promise<readonly ObjectMeta[]> => {
  const wanted = new Set(ids);
  const found: ObjectMeta[] = [];
  for (let cursor: number | undefined; ; ) {
    const page = snapshot.page({ limit: pageObjects, ...(cursor !== undefined && { cursor }), inline: true });
    for (const object of page.objects) if (wanted.delete(object.id)) found.push(object);
    cursor = page.next;
    if (cursor === undefined || wanted.size === 0) break;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  for (const id of wanted) throw new LakeError('object-not-found', { id });
  return found;
};
