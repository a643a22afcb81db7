/** A worker thread: takes tasks, runs them side by side on its event loop. */
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openObjects } from '../lake/objects.ts';
import { ReaderList, type WorkerTools } from './lake-source.ts';
import { LoadBudget, runLoad } from './load-task.ts';
import { type FromWorker, type TaskOutcome, type TaskRequest, type ToWorker, toWire } from './messages.ts';
import { ToldError, runCompile, runQuery } from './query-task.ts';
import { runCompact, runDelete } from './rewrite-task.ts';
import { TaskSpill } from './spill.ts';
import { Task } from './task.ts';
import type { WorkerSettings } from './worker-settings.ts';

// The main thread must get its turn at once when a request comes, however many scans run. On Linux this is the calling thread's priority alone.
if (process.platform === 'linux') setPriority(0, 5);

const settings = workerData as WorkerSettings;
const port = parentPort!;
const tasks = new Map<number, Task>();
const budget = new LoadBudget(settings.loadMemoryBytesMax);
const tools: WorkerTools = {
  objects: openObjects(settings.lakeDirectory), readers: new ReaderList(), budget, batchRows: settings.batchRows, queryMemoryBytesMax: settings.queryMemoryBytesMax,
};

let held: FromWorker[] = [];
/** Sends a message; those that nobody waits for go along with the next one, or at the end of this turn of the event loop. */
const post = (message: FromWorker, transfer: readonly ArrayBuffer[] = []): void => {
  if (held.push(message) === 1 && patient.has(message.type)) setImmediate(() => { flush(); });
  if (!patient.has(message.type)) flush(transfer);
};
const patient: ReadonlySet<FromWorker['type']> = new Set(['credit', 'step']);
const flush = (transfer: readonly ArrayBuffer[] = []): void => {
  if (held.length === 0) return;
  port.postMessage(held, [...transfer]);
  held = [];
};

const run = (task: Task, request: TaskRequest, spill: TaskSpill): Promise<TaskOutcome> => {
  switch (request.kind) {
    case 'load': return runLoad(task, request, { objects: tools.objects, spill, budget, expandedBytesMax: settings.expandedBytesMax });
    case 'query': return runQuery(task, request, tools, spill);
    case 'delete': return runDelete(task, request, tools);
    case 'compact': return runCompact(task, request, tools);
    case 'compile': return runCompile(task, request.text);
  }
};

const start = async (task: Task, request: TaskRequest): Promise<void> => {
  const spill = new TaskSpill(join(settings.spillDirectory));
  const text = request.kind === 'query' || request.kind === 'compile' ? request.text : request.kind === 'delete' ? request.where : '';
  try {
    const outcome = await run(task, request, spill);
    post({ type: 'done', task: task.id, outcome });
  } catch (error) {
    const told = error instanceof ToldError;
    post({ type: 'failed', task: task.id, error: toWire(told ? error.cause : error, text), told, ...(told && { stats: error.stats }) });
  } finally {
    spill.dispose();
    tasks.delete(task.id);
  }
};

port.on('message', (messages: readonly ToWorker[]) => { for (const message of messages) take(message); });

const take = (message: ToWorker): void => {
  if (message.type !== 'start') {
    tasks.get(message.task)?.take(message);
    return;
  }
  const task = new Task(message.task, settings.windowBytesMax, post);
  tasks.set(task.id, task);
  void start(task, message.request);
};
