/**
 * The rows of a scan as bytes, written by several threads: the thread of the query writes shares of the rows, idle
 * threads write others, and gives out the bytes of all of them in their order.
 *
 * Invariants:
 * - The bytes of the share whose turn it is flow as they are written. Of each share that is ahead of its turn no more
 *   than `aheadBytesMax` are held.
 * - What a thread has given out when it fails is given out before the query fails.
 * - A thread that dies while it writes a share fails the query. Leaving `chunks` ends the help.
 */
import type { MessagePort } from 'node:worker_threads';
import { LakeError } from '../../errors.ts';
import { pack } from '../../exec/carry.ts';
import { partWorker } from '../../exec/compile.ts';
import { Emission, drive } from '../../exec/operator.ts';
import { functionCatalog } from '../../exec/functions/functions.ts';
import type { PartPlan, ShareScan } from '../../exec/source.ts';
import type { ExecutionContext } from '../../exec/context.ts';
import type { Progress } from '../../exec/source.ts';
import { type FormatName, createWriter } from '../../formats/formats.ts';
import { canJoinParts } from '../../formats/parts.ts';
import { type Share, type ShareSizes, type ShareScanner, shareScanner } from '../../lake/scan/shares.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import type { Plan } from '../../query/plan/plan.ts';
import { rowByRow } from '../../query/plan/split.ts';
import type { WorkerTools } from './tools.ts';
import { type WireError, fromWire } from '../messages.ts';
import { Notifier } from '../notifier.ts';
import { type PartStart, readsInto, sharedRows } from './division.ts';
import { ShareClaims } from './share-claims.ts';
import type { Task } from '../task.ts';

/** Bytes of a share that are held before its turn. */
export const aheadBytesMax = 4 << 20;

/** What a helper begins with. */
export interface OutputStart extends PartStart {
  readonly format: FormatName;
}
/** `credit`: bytes that were given out, buffers to write in, and whether the client is slow. */
export type ToOutputHelper =
  | { readonly type: 'start'; readonly start: OutputStart }
  | { readonly type: 'more' }
  | {
      readonly type: 'credit';
      readonly bytes: number;
      readonly buffer?: SharedArrayBuffer;
      readonly isHeldUp: boolean;
    };
/** The first message tells the helper's thread. `progress`: what the whole share added to it. */
export type FromOutputHelper =
  | { readonly thread: number }
  | { readonly share: number; readonly bytes: Uint8Array }
  | { readonly share: number; readonly progress: Progress; readonly sent: number }
  | { readonly share: number; readonly error: WireError };

/** The bytes of a share's rows. */
export type ShareWriter = (scan: ShareScan) => AsyncGenerator<Uint8Array>;

/** What writes shares in this thread. */
export const shareWriter = (
  part: PartPlan,
  {
    format,
    context,
    thread,
    task,
    isHeldUp,
    sent,
  }: {
    readonly format: FormatName;
    readonly context: ExecutionContext;
    readonly thread: number;
    readonly task: Task;
    readonly isHeldUp: () => boolean;
    readonly sent: (rows: number) => void;
  },
): ShareWriter => {
  const { stream } = partWorker(part, context, thread);
  return async function* write(scan) {
    const writer = createWriter(format, {
      part: true,
      httpArray: format === 'json',
      buffers: task.buffers,
      isAwaited: () => !isHeldUp(),
    });
    for await (const item of drive(stream(scan), context.signal)) {
      if (item instanceof Emission) continue;
      sent(item.length);
      yield* writer.write(item);
    }
    yield* writer.end();
  };
};

/** The bytes of a plan's answer by way of several threads; undefined if one thread had better do it. */
export const divideOutput = async (
  plan: Plan,
  {
    format,
    task,
    tools,
    context,
    sizes,
  }: {
    readonly format: FormatName;
    readonly task: Task;
    readonly tools: WorkerTools;
    readonly context: ExecutionContext;
    readonly sizes: ShareSizes;
  },
): Promise<AsyncGenerator<Uint8Array> | undefined> => {
  const ops = canJoinParts(format) ? rowByRow(plan, functionCatalog) : undefined;
  if (!ops) return undefined;
  const part: PartPlan = { ops, aggregate: undefined, functions: plan.functions };
  const { progress } = context.host;
  const rows = await sharedRows(part, { task, tools, progress, sizes });
  if (!rows) return undefined;
  const shared = new SharedOutput({ ...rows, part, format, task, tools, context });
  return (await shared.isHelped()) ? shared.chunks() : undefined;
};

interface SharedOutputOptions {
  readonly source: ScanSource;
  readonly shares: readonly Share[];
  readonly part: PartPlan;
  readonly format: FormatName;
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly context: ExecutionContext;
}
/** What another thread has written of a share. */
interface Pieces {
  readonly port: MessagePort;
  readonly chunks: Uint8Array[];
  hasEnded: boolean;
  failure?: LakeError;
}
/** What this thread has written of a share before its turn. */
interface Ahead {
  readonly share: number;
  readonly bytes: AsyncGenerator<Uint8Array>;
  readonly held: Uint8Array[];
  heldBytes: number;
  hasEnded: boolean;
  failure?: unknown;
}

class SharedOutput {
  private readonly options: SharedOutputOptions;
  private readonly claims: ShareClaims;
  private readonly scanned: ShareScanner;
  private readonly pieces = new Map<number, Pieces>();
  /** With their threads, once they have told. */
  private readonly helpers = new Map<MessagePort, number | undefined>();
  private passed = 0;
  private isLeft = false;
  private failure: LakeError | undefined;
  private readonly notifier = new Notifier();

  constructor(options: SharedOutputOptions) {
    this.options = options;
    this.scanned = shareScanner(options.source);
    // Whoever comes takes the next one: nobody keeps columns of all rows.
    this.claims = new ShareClaims(options.shares.map(() => -1));
  }

  /** Asks for help; without any the plan is sooner run as it is. */
  async isHelped(): Promise<boolean> {
    const {
      shares,
      tools: { thread },
    } = this.options;
    try {
      for (let k = 1; k < Math.min(thread.of, shares.length); k++) await this.askForHelp();
    } catch (error) {
      this.leave();
      throw error;
    }
    return this.helpers.size > 0;
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const {
      shares,
      part,
      format,
      task,
      context,
      tools: { thread },
    } = this.options;
    const write = shareWriter(part, {
      format,
      context,
      thread: thread.index,
      task,
      isHeldUp: () => task.isHeldUp,
      sent: (rows) => {
        task.counter.recordsSent += rows;
      },
    });
    let ahead: Ahead | undefined;
    try {
      while (this.passed < shares.length) {
        task.signal.throwIfAborted();
        const theirs = this.pieces.get(this.passed);
        const chunk = theirs?.chunks.shift();
        if (theirs && chunk) {
          yield chunk;
          this.credit(theirs.port, chunk.length);
          continue;
        }
        if (theirs?.failure) throw theirs.failure;
        if (theirs?.hasEnded) {
          this.pass();
          continue;
        }
        if (this.failure) throw this.failure;
        ahead ??= this.begin(write);
        if (ahead?.share === this.passed) {
          yield* this.rest(ahead);
          ahead = undefined;
          this.pass();
        } else if (ahead && !ahead.hasEnded && ahead.heldBytes < aheadBytesMax) {
          await advance(ahead);
          await task.breathe();
        } else await this.notifier.waitUnless(this.options.task.signal);
      }
    } finally {
      this.leave();
      await ahead?.bytes.return(undefined);
    }
  }

  private begin(write: ShareWriter): Ahead | undefined {
    const {
      shares,
      context,
      tools: { thread, batchRows },
    } = this.options;
    const { progress } = context.host;
    const share = this.claims.take(thread.index, thread.of);
    if (typeof share !== 'number') return undefined;
    const bytes = write((request) =>
      this.scanned(shares[share]!, { ...request, batchRows, read: readsInto(progress) }),
    );
    return { share, bytes, held: [], heldBytes: 0, hasEnded: false };
  }

  /** The bytes of a share whose turn it is. */
  private async *rest({ bytes, held, hasEnded, failure }: Ahead): AsyncGenerator<Uint8Array> {
    yield* held;
    if (failure !== undefined) throw failure;
    if (hasEnded) return;
    for await (const chunk of bytes) {
      yield chunk;
      await this.options.task.breathe();
    }
  }

  private pass(): void {
    this.pieces.delete(this.passed++);
    this.claims.pass(this.passed);
    for (const port of this.helpers.keys()) port.postMessage({ type: 'more' } satisfies ToOutputHelper);
  }

  private credit(port: MessagePort, bytes: number): void {
    const { task } = this.options;
    const buffer = task.buffers.spare();
    port.postMessage({
      type: 'credit',
      bytes,
      isHeldUp: task.isHeldUp,
      ...(buffer && { buffer }),
    } satisfies ToOutputHelper);
  }

  private async askForHelp(): Promise<void> {
    const {
      task,
      source: { keys, order },
      shares,
      part,
      format,
    } = this.options;
    const port = await task.call({ kind: 'helper', of: 'output' });
    if (!port) return;
    this.helpers.set(port, undefined);
    port.on('message', (message: FromOutputHelper) => {
      this.hear(port, message);
    });
    port.on('close', () => {
      this.lost(port);
    });
    const { content, buffers } = pack(part);
    port.postMessage(
      {
        type: 'start',
        start: { plan: content, keys, order, shares, claims: this.claims.memory, format },
      } satisfies ToOutputHelper,
      [...buffers],
    );
  }

  private hear(port: MessagePort, message: FromOutputHelper): void {
    if ('thread' in message) {
      this.helpers.set(port, message.thread);
      return;
    }
    let pieces = this.pieces.get(message.share);
    if (!pieces) this.pieces.set(message.share, (pieces = { port, chunks: [], hasEnded: false }));
    if ('bytes' in message) {
      this.options.task.buffers.adopt(message.bytes);
      pieces.chunks.push(message.bytes);
    } else if ('error' in message) pieces.failure = fromWire(message.error);
    else {
      const { counter } = this.options.task;
      for (const name of ['bytesRead', 'bytesMatched', 'recordsRead', 'recordsMatched'] as const)
        counter[name] += message.progress[name];
      counter.recordsSent += message.sent;
      pieces.hasEnded = true;
    }
    this.notifier.tell();
  }

  /** A helper is gone: what is left of the share that it had taken will not come. */
  private lost(port: MessagePort): void {
    const thread = this.helpers.get(port);
    this.helpers.delete(port);
    const isMissed = (k: number): boolean =>
      k >= this.passed && this.claims.isOf(k, thread!) && !this.pieces.get(k)?.hasEnded && !this.pieces.get(k)?.failure;
    if (!this.isLeft && thread !== undefined && this.options.shares.some((_, k) => isMissed(k)))
      this.failure ??= new LakeError('worker-died', { reason: 'it was helping this query' });
    this.notifier.tell();
  }

  private leave(): void {
    this.isLeft = true;
    this.claims.close();
    for (const port of this.helpers.keys()) port.close();
    this.pieces.clear();
  }
}

/** Writes one chunk more; what fails is told when it is the share's turn. */
const advance = async (ahead: Ahead): Promise<void> => {
  try {
    const { done, value } = await ahead.bytes.next();
    if (done) ahead.hasEnded = true;
    else {
      ahead.held.push(value);
      ahead.heldBytes += value.length;
    }
  } catch (problem) {
    ahead.failure = problem;
    ahead.hasEnded = true;
  }
};
