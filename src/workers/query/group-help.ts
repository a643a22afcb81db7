/**
 * Help for the groups of a query: once much of its aggregate's work seems to be left, an idle thread is asked to make
 * the groups of one half of the keys, of all rows of the scan; this thread goes on with those of the other half.
 *
 * Rows are read and keys are hashed by both, but of the tables of groups, which is most of the work where groups are
 * many, each thread makes a half, and nothing is merged. Every group is made of all of its rows in their order: answers
 * are those of one thread to the last digit.
 *
 * It is off unless `-query.help` asks for it. Of ClickBench's queries over 1,000,000 rows, by processor time, the busier
 * of the two threads has 0.75 (two keys) to 0.9 (distinct by few groups) of what one thread alone has, and both
 * together 1.35 to 1.5: with other work on the machine that is lost, and alone it is less than the 1.6 that would be
 * worth it. What is done twice is reading, filters, keys, and the choice of a half's rows.
 *
 * Invariants:
 * - Nothing waits for a thread that has not begun; a query that is not helped loses nothing.
 * - A helper that dies before it has answered fails the query.
 * - The helper reads the objects of the query's own snapshot, which stays pinned as long as the query runs.
 */
import type { MessagePort } from 'node:worker_threads';
import { LakeError } from '../../errors.ts';
import { pack, unpack } from '../../exec/carry.ts';
import type { GroupHelper, HalfAnswer, HalfPlan, Progress } from '../../exec/source.ts';
import { scannedRows } from '../../lake/scan/shares.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import type { ObjectMeta } from '../../lake/lake.types.ts';
import type { Scan } from '../../query/plan/plan.ts';
import { fromWire } from '../messages.ts';
import type { Task } from '../task.ts';
import { readsInto } from './division.ts';
import type { FromGroupHelper, ToGroupHelper } from './half.ts';
import { type WorkerTools, poolSource } from './tools.ts';

/** Nobody is asked before this part of the work that halves are worth: most queries are over by then. */
const lookPart = 0.2;
/** Of the query's budget, what the other thread's groups may hold. */
const memoryShare = 0.5;

/** Who may help a query's aggregate. */
export const groupHelpers =
  (task: Task, tools: WorkerTools, progress: Progress) =>
  (plan: Omit<HalfPlan, 'key'>): GroupHelper | undefined => {
    const [resolved] = (plan.ops[0] as Scan).sources;
    if (tools.thread.of < 2 || resolved?.kind !== 'pool' || tools.shareSizes.halvesMsMin === Infinity) return undefined;
    const layout = { keys: resolved.sortKeys ?? [['ts']], order: resolved.order ?? 'asc' } as const;
    return new GroupHelp({ task, tools, progress, plan, source: poolSource(task, resolved.handle, layout, tools) });
  };

interface GroupHelpOptions {
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly progress: Progress;
  readonly plan: Omit<HalfPlan, 'key'>;
  readonly source: ScanSource;
}

class GroupHelp implements GroupHelper {
  private readonly options: GroupHelpOptions;
  private readonly began = performance.now();
  private readonly readBefore: number;
  private state: 'alone' | 'asking' | 'helped' | 'refused' | 'left' = 'alone';
  private key: number | undefined;
  private port: MessagePort | undefined;
  private readonly held = new Float64Array(new SharedArrayBuffer(8));
  private readonly answered: Promise<HalfAnswer | undefined>;
  private settle!: {
    readonly resolve: (answer: HalfAnswer | undefined) => void;
    readonly reject: (e: unknown) => void;
  };

  constructor(options: GroupHelpOptions) {
    this.options = options;
    this.readBefore = options.progress.recordsRead;
    this.answered = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    // Who leaves does not ask what became of it.
    this.answered.catch(() => undefined);
    const { signal } = options.task;
    signal.addEventListener(
      'abort',
      () => {
        this.settle.reject(signal.reason);
      },
      { once: true },
    );
  }

  get isAsking(): boolean {
    return this.state === 'asking';
  }
  get isRefused(): boolean {
    return this.state === 'refused';
  }
  get helpsBy(): number | undefined {
    return this.state === 'helped' ? this.key : undefined;
  }
  get heldBytes(): number {
    return this.held[0];
  }

  consider(key: number, isWorth: boolean): void {
    if (this.state !== 'alone' || !isWorth) return;
    const ms = performance.now() - this.began;
    if (ms < this.options.tools.shareSizes.halvesMsMin * lookPart) return;
    this.state = 'asking';
    this.ask(key, ms).catch(() => {
      // It goes on alone; what is wrong with an object it finds out itself.
      if (this.state === 'asking') this.state = 'refused';
    });
  }

  private async ask(key: number, ms: number): Promise<void> {
    const { task, tools, plan, progress, source } = this.options;
    const { pruner } = plan.ops[0] as Scan;
    const read = progress.recordsRead - this.readBefore;
    const scanned = await scannedRows(source, {
      signal: task.signal,
      read: readsInto(progress),
      ...(pruner && { pruner }),
    });
    const left = scanned && read > 0 ? (ms * (scanned.rows - read)) / read : 0;
    const port =
      scanned && left >= tools.shareSizes.halvesMsMin ? await task.call({ kind: 'helper', of: 'query' }) : undefined;
    if (this.state !== 'asking') return port?.close();
    if (!port || !scanned) {
      this.state = 'refused';
      return;
    }
    this.begin(port, scanned.objects, { ...plan, key });
  }

  private begin(port: MessagePort, objects: readonly ObjectMeta[], plan: HalfPlan): void {
    const { source, tools } = this.options;
    this.port = port;
    this.key = plan.key;
    this.state = 'helped';
    port.on('message', (message: FromGroupHelper) => {
      this.hear(message);
    });
    port.on('close', () => {
      this.settle.reject(new LakeError('worker-died', { reason: 'it was helping this query' }));
    });
    const { content, buffers } = pack(plan);
    const { keys, order } = source;
    const start = {
      plan: content,
      keys,
      order,
      objects,
      memoryBytesMax: tools.queryMemoryBytesMax * memoryShare,
      held: this.held.buffer as SharedArrayBuffer,
    };
    port.postMessage({ type: 'half', start } satisfies ToGroupHelper, [...buffers]);
  }

  private hear(message: FromGroupHelper): void {
    if ('error' in message) this.settle.reject(fromWire(message.error));
    else if ('full' in message) this.settle.resolve(undefined);
    else {
      this.options.progress.bytesRead += message.bytesRead;
      this.settle.resolve(unpack(message.answer) as HalfAnswer);
    }
  }

  async answer(): Promise<HalfAnswer | undefined> {
    const { task } = this.options;
    const answer = await this.answered;
    task.signal.throwIfAborted();
    return answer;
  }
  leave(): void {
    this.state = 'left';
    this.held[0] = 0;
    this.port?.close();
  }
}
