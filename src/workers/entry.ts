/** A worker thread: takes tasks, runs them side by side on its event loop. */
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { ColumnCache } from '../lake/columns/cache.ts';
import { threadIds } from '../lake/ksuid.ts';
import { openLakeObjects } from '../lake/objects/fetched.ts';
import { type ObjectStore, diskTotals, openIcebergFiles } from '../lake/objects/objects.ts';
import { CacheCounters } from './cache-counts.ts';
import {
  bytesInUse,
  collectAll,
  collectIdle,
  collectLarge,
  collectPause,
  collectRest,
  collectTight,
  heldBytes,
  noteResident,
} from './collector.ts';
import { KnownPlans } from './query/plans.ts';
import { ReaderList, type WorkerTools } from './query/tools.ts';
import { runIngest } from './ingest/task.ts';
import { runLoadPart } from './load/part.ts';
import { runPreview } from './load/preview-task.ts';
import { LoadBudget, runLoad } from './load/task.ts';
import { type FromWorker, type TaskOutcome, type TaskRequest, type ToWorker, stopPlace, toWire } from './messages.ts';
import { runOutputPart } from './query/output-part.ts';
import { giveWay } from './priority.ts';
import { runQueryPart } from './query/part.ts';
import { ToldError, runCompile, runQuery } from './query/task.ts';
import { linkTask } from '../vectors/stop.ts';
import { ThreadMemory, loads } from '../vectors/thread-memory.ts';
import { runDelete, runStatement, runUpdate } from './load/change-task.ts';
import { runCompact } from './load/rewrite-task.ts';
import { runMerge } from './merge/task.ts';
import { runBulk } from './load/bulk-task.ts';
import { runMergeInto } from './load/merge-into-task.ts';
import { isMergeInto } from '../query/analyze.ts';
import { runUpsert } from './load/upsert-task.ts';
import { runRender } from './load/render-task.ts';
import { TaskSpill } from './query/spill.ts';
import { Task, answerGather, answerWindow, discard, keepBuffersFor, smallChunkBytes } from './task.ts';
import { TaskCounter, taskAt, tellThread } from './task-counts.ts';
import { TurnClaim } from './query/turn-claim.ts';
import { WarmUp } from './warm-up.ts';
import type { WorkerSettings } from './worker-settings.ts';

// The main thread must get its turn at once when a request comes, however many scans run.
giveWay();

const settings = workerData as WorkerSettings;
threadIds.goOnFrom(settings.idsAbove);
const port = parentPort!;
const stops = new Int32Array(settings.stops);
const counts = new Float64Array(settings.counts);
const tasks = new Map<number, Task>();
let begunTasks = 0;
const windowBytes = answerWindow({ bytesMax: settings.windowBytesMax, answers: () => tasks.size });
const gatherBytesMax = answerGather({ answers: () => tasks.size });
const budget = new LoadBudget(settings.loadMemoryBytesMax, { isNear: () => isNear() });
const counters = new CacheCounters(settings.thread.of, settings.cacheCounts);
const { index: thread } = settings.thread;
/**
 * What all threads keep; a task whose rows do not fit into memory has this thread's part, and the others keep to
 * theirs.
 */
const cacheBytesOfAll = settings.cacheBytesMax * settings.thread.of;
const columns = new ColumnCache(settings.cacheBytesMax, counters.of(thread), counters.room(thread, cacheBytesOfAll));
/**
 * So near to what the process may take threads take care: what they make until the next look comes on top, which is no
 * less where the process may take little.
 */
const nearBytes = Math.max(settings.residentBytesMax / 8, 72 << 20);
/** From this one on each keeps to its share, and who needs more is refused. */
const tightShare = 15 / 16;
/**
 * The process is asked for its memory that often at most: operators ask at each batch, and each answer takes 0.1 ms (5
 * % of a large group by, and of small bodies one after the other). Far from its bound it is asked less often: it does
 * not get there in between.
 */
const residentEveryMs = { near: 5, far: 25 };
/** All threads together make at most so much of it, about. */
const residentBytesPerMs = 8 << 20;
let residentUntil = -Infinity;
let residentBytes = 0;
const isBeyond = (bytes: number): boolean => {
  const now = performance.now();
  if (now >= residentUntil) {
    residentBytes = process.memoryUsage.rss();
    const soonest = (settings.residentBytesMax - nearBytes - residentBytes) / residentBytesPerMs;
    residentUntil = now + Math.min(Math.max(soonest, residentEveryMs.near), residentEveryMs.far);
  }
  return residentBytes > bytes;
};
const isNear = (): boolean => isBeyond(settings.residentBytesMax - nearBytes);
/** This thread, as accounts of memory see it. */
const claim = new TurnClaim(settings.claim, thread);
const use = {
  bytes: bytesInUse,
  collect: collectAll,
  isTight: () => isBeyond(settings.residentBytesMax * tightShare),
  isNear,
};
/** Whatever a load may sort in memory: windows of its body, of what is read and of blocks in work are there besides. */
const loadBytesBesides = 48 << 20;
/**
 * What queries may hold, and loads: what they sort, once more to put it in order, and what they need besides. The cache
 * has a budget of its own.
 */
const memory: Record<'queries' | 'loads', ThreadMemory> = {
  queries: new ThreadMemory(settings.queryMemoryBytesMax, {
    ...use,
    claim,
    kept: () => tools.readers.bytes + memory.loads.reservedBeside(memory.queries.max),
  }),
  loads: new ThreadMemory(
    settings.loadMemoryBytesMax * 2 + loadBytesBesides,
    {
      ...use,
      kept: () => tools.readers.bytes + memory.queries.reservedBeside(memory.loads.max),
      hasOthers: () => memory.queries.isBusy,
    },
    loads,
  ),
};
/** What is there without a task is nobody's. */
const measureRest = (): void => {
  for (const kind of Object.values(memory)) kind.rest();
};
/** How soon a thread gives back what it holds beyond its part when others need theirs. */
const trimEveryMs = 1000;
setInterval(() => {
  tools.readers.trim();
  columns.trim();
}, trimEveryMs).unref();
const tools: WorkerTools = {
  objects: Object.assign(openLakeObjects(settings.lakeDirectory, settings.store, `thread${settings.thread.index}`), {
    compresses: settings.compress === 'all',
  }),
  compressesCompacted: settings.compress !== 'none',
  readers: new ReaderList(columns, settings.cacheBytesMax / 2),
  budget,
  plans: new KnownPlans(),
  batchRows: settings.batchRows,
  queryMemoryBytesMax: settings.queryMemoryBytesMax,
  recursion: settings.recursion,
  ...(settings.indexBase !== undefined && { indexBase: settings.indexBase }),
  from: settings.from,
  thread: settings.thread,
  begun: () => begunTasks,
  shareSizes: settings.shareSizes,
  outputShares: settings.outputShares,
  readLimits: { ...settings.formatLimits, expandedBytesMax: settings.expandedBytesMax },
};

/** Whether a task has something to do but to wait for a client that does not read. */
const isAtWork = (): boolean => {
  for (const task of tasks.values()) if (!task.isWaiting) return true;
  return false;
};
/** How often it is looked whether tasks hold much. */
const lookEveryMs = 100;
let lookedAt = performance.now();
setInterval(() => {
  const now = performance.now();
  tellThread(counts, { ...diskTotals, lateMs: now - lookedAt - lookEveryMs, ...heldBytes() });
  lookedAt = now;
  noteResident(process.memoryUsage.rss(), settings.residentBytesMax);
  if (isAtWork()) collectLarge(tasks.size);
  else collectTight();
}, lookEveryMs).unref();

/** First the service starts. */
const warmUpAfterMs = 100;

let held: FromWorker[] = [];
/**
 * Sends a message; those that nobody waits for, and few bytes, go along with the next one, or at the end of this turn
 * of the event loop.
 */
const post = (message: FromWorker, transfer: readonly ArrayBuffer[] = []): void => {
  const isPatient =
    message.type === 'credit' ||
    message.type === 'step' ||
    (message.type === 'chunk' && message.bytes.length < smallChunkBytes);
  if (held.push(message) === 1 && isPatient)
    setImmediate(() => {
      flush();
    });
  if (!isPatient) flush(transfer);
};
const flush = (transfer: readonly ArrayBuffer[] = []): void => {
  if (held.length === 0) return;
  port.postMessage(held, [...transfer]);
  held = [];
};

let openFiles: ObjectStore | undefined;
/** Those of Iceberg tables; a lake without any has no folder for them. */
const icebergFiles = (): ObjectStore => (openFiles ??= openIcebergFiles(settings.lakeDirectory));

const runPart = (task: Task, { of, port: way }: Extract<TaskRequest, { kind: 'part' }>): Promise<TaskOutcome> => {
  switch (of) {
    case 'load':
      return runLoadPart(task, way, { ...tools.readLimits, memory: budget.forReader() }, tools.objects);
    case 'query':
      return runQueryPart(task, way, tools);
    case 'output':
      return runOutputPart(task, way, tools);
  }
};

const run = (task: Task, request: TaskRequest, spill: TaskSpill): Promise<TaskOutcome> => {
  switch (request.kind) {
    case 'load':
      return runLoad(task, request, { objects: tools.objects, spill, budget, readLimits: tools.readLimits });
    case 'preview':
      return runPreview(task, request, { spill, budget, readLimits: tools.readLimits });
    case 'ingest':
      return runIngest(task, request, { objects: tools.objects, spill, budget, readLimits: tools.readLimits });
    case 'query':
      return runQuery(task, request, tools, spill);
    case 'delete':
      return runDelete(task, request, tools, spill);
    case 'update':
      return runUpdate(task, request, tools, spill);
    case 'statement':
      return isMergeInto(request.text)
        ? runMergeInto(task, request, tools, spill)
        : runStatement(task, request, tools, spill);
    case 'upsert':
      return runUpsert(task, request, tools, spill);
    case 'bulk':
      return runBulk(task, request, tools, spill);
    case 'compact':
      return runCompact(task, request, tools);
    case 'merge':
      return runMerge(task, request, tools, spill);
    case 'render':
      return runRender(task, request, tools.objects, icebergFiles());
    case 'compile':
      return runCompile(task, request, tools);
    case 'part':
      return runPart(task, request);
  }
};

const start = async (task: Task, request: TaskRequest): Promise<void> => {
  let lent = 0;
  const spill = new TaskSpill(join(settings.spillDirectory), () => {
    columns.lend((lent = cacheBytesOfAll));
  });
  const isLoad =
    request.kind === 'load' ||
    request.kind === 'preview' ||
    request.kind === 'ingest' ||
    request.kind === 'compact' ||
    request.kind === 'render' ||
    (request.kind === 'part' && request.of === 'load');
  const accounts = memory[isLoad ? 'loads' : 'queries'];
  const account = accounts.open({ isPart: request.kind === 'part', isIdle: () => task.isWaiting });
  linkTask(task.signal, { isStopped: () => Atomics.load(stops, stopPlace(task.id)) === task.id, account });
  const text =
    request.kind === 'query' || request.kind === 'compile' || request.kind === 'statement'
      ? request.text
      : request.kind === 'delete' || request.kind === 'update'
        ? request.where
        : '';
  try {
    const outcome = await run(task, request, spill);
    post({ type: 'done', task: task.id, outcome });
  } catch (error) {
    const told = error instanceof ToldError;
    post({
      type: 'failed',
      task: task.id,
      error: toWire(told ? error.cause : error, text),
      told,
      ...(told && { stats: error.stats }),
    });
  } finally {
    accounts.close(account);
    spill.dispose();
    columns.lend(-lent);
    tasks.delete(task.id);
    keepBuffersFor(tasks.size);
    if (tasks.size === 0) rest(lent > 0 ? 'large' : 'usual');
  }
};

/**
 * A thread without a task gives back what the last one left: soon where rows had to be spilled; else what is much when
 * it has had none for some seconds, or when the process comes near to its bound, and all of it when it has had none for
 * long. What comes next often comes soon, and finds its code compiled if nothing was collected meanwhile: with pauses
 * of a second or more between them, four of ClickBench's groupings take 0.94 of the processor time that they take with
 * a collection in each.
 */
const rest = (after: keyof typeof rests): void => {
  clearTimeout(resting);
  const { ms, act } = rests[after];
  resting = setTimeout(() => {
    if (tasks.size > 0) return;
    measureRest();
    act();
  }, ms).unref();
};
let resting: NodeJS.Timeout | undefined;
const rests = {
  large: {
    ms: 500,
    act: () => {
      collectIdle();
      rest('usual');
    },
  },
  usual: {
    ms: 11_000,
    act: () => {
      columns.rest();
      collectPause();
      rest('long');
    },
  },
  // What is little beside the next task's is still much for a thread that none comes to.
  long: { ms: 330_000, act: collectRest },
};

measureRest();
const warmUp =
  settings.warmUpMs > 0
    ? new WarmUp({
        tools,
        budgetMs: settings.warmUpMs,
        windowBytes: Infinity,
        spill: () => new TaskSpill(settings.spillDirectory),
      })
    : undefined;
// A fault of it is ours, and no query's.
if (warmUp)
  setTimeout(() => {
    warmUp.run().catch((fault: unknown) => {
      console.error('warm-up', fault);
    });
  }, warmUpAfterMs).unref();

port.on('message', (messages: readonly ToWorker[]) => {
  for (const message of messages) take(message);
});

const take = (message: ToWorker): void => {
  if (message.type === 'gone') {
    tools.objects.forget(message.object);
    tools.readers.forget(message.object);
    return;
  }
  if (message.type !== 'start') {
    const task = tasks.get(message.task);
    if (task) task.take(message);
    else discard(message);
    return;
  }
  const task = new Task(
    message.task,
    windowBytes,
    post,
    message.prefetched,
    new TaskCounter(message.task, tasks.has(taskAt(counts, message.task)) ? undefined : counts),
    gatherBytesMax,
  );
  tasks.set(task.id, task);
  begunTasks++;
  keepBuffersFor(tasks.size);
  warmUp?.end();
  void start(task, message.request);
};
