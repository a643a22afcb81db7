/**
 * One query on several threads: the thread of the query shares out its scan, works on shares itself, and asks idle
 * threads to help.
 *
 * Invariants:
 * - Nothing waits for a thread that has not begun: shares that nobody works on are done here.
 * - A helper that dies while it works on a share fails the query. Leaving `answers` ends the help.
 * - All shares are of one list of objects, which the query's snapshot pins.
 */
import type { MessagePort } from 'node:worker_threads';
import { LakeError } from '../../errors.ts';
import { pack, unpack } from '../../exec/carry.ts';
import type { Division, PartAnswer, PartPlan, PartWorker, ShareScan } from '../../exec/source.ts';
import type { ExecutionHost, Progress, ScanCounts, ScanRequest } from '../../exec/source.ts';
import type { Scan } from '../../query/plan/plan.ts';
import { nsOfRow } from '../../query/plan/work.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import {
  type QueryShares,
  type Share,
  type ShareSizes,
  type ShareScanner,
  shareScanner,
  sharesOf,
} from '../../lake/scan/shares.ts';
import { collectRead } from '../collector.ts';
import { type WorkerTools, poolSource } from './tools.ts';
import { type WireError, fromWire } from '../messages.ts';
import { Notifier } from '../notifier.ts';
import { ShareClaims } from './share-claims.ts';
import type { Task } from '../task.ts';

/** What a helper begins with. `plan` is packed. */
export interface PartStart {
  readonly plan: unknown;
  readonly keys: ScanSource['keys'];
  readonly order: ScanSource['order'];
  readonly shares: readonly Share[];
  readonly claims: SharedArrayBuffer;
}
/** To a helper. `more`: an answer was passed on, so that shares further ahead may be taken. */
export type ToHelper = { readonly type: 'start'; readonly start: PartStart } | { readonly type: 'more' };
/** The first message tells the helper's thread. `answer` is packed; `progress`: what the share added to it. */
export type FromHelper =
  | { readonly thread: number }
  | { readonly share: number; readonly answer: unknown; readonly progress: Progress }
  | { readonly share: number; readonly error: WireError };

/** How scans of pools are divided. */
export const divider =
  (task: Task, tools: WorkerTools, progress: Progress): NonNullable<ExecutionHost['divide']> =>
  async (plan, counts) => {
    const sizes = worthwhile(plan, tools.shareSizes);
    const rows = await sharedRows(plan, { task, tools, progress, sizes, ...(counts && { counts }) });
    return rows && new SharedScan({ ...rows, task, tools, progress, plan, sizes });
  };

/** A plan that does little with a row is shared from more rows on. */
const worthwhile = ({ ops, aggregate }: PartPlan, sizes: QueryShares): QueryShares => {
  const rows = (sizes.estimatedMsMin * 1e6) / nsOfRow(aggregate ? [...ops, aggregate] : ops);
  return { ...sizes, rowsMin: Math.max(sizes.rowsMin, rows) };
};

/** The shares of the scan that a part begins with; undefined if it is better done by one thread. */
interface SharedRowsOptions {
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly progress: Progress;
  readonly sizes: ShareSizes;
  readonly counts?: ScanCounts;
}
export const sharedRows = async (
  plan: PartPlan,
  { task, tools, progress, sizes, counts }: SharedRowsOptions,
): Promise<Pick<SharedScanOptions, 'source' | 'shares'> | undefined> => {
  const scan = plan.ops[0] as Scan;
  const resolved = scan.sources[0]!;
  const { thread } = tools;
  if (thread.of < 2 || resolved.kind !== 'pool') return undefined;
  const source = poolSource(
    task,
    resolved.handle,
    { keys: resolved.sortKeys ?? [['ts']], order: resolved.order ?? 'asc' },
    tools,
  );
  const read = readsInto(progress, counts);
  const { columns, pruner, filter, ordered } = scan;
  const options = {
    ordered,
    signal: task.signal,
    read,
    ...(columns && { columns }),
    ...(pruner && { pruner }),
    ...(filter && { filter: { keep: () => undefined } }),
    ...(counts && { counts }),
  };
  const shares = await sharesOf(source, options, sizes);
  return shares && { source, shares };
};

/** Counts bytes; rows are counted by the engine's scan operator. */
export const readsInto =
  (progress: Progress, counts?: ScanCounts) =>
  (bytes: number): void => {
    counts?.read(bytes);
    progress.bytesRead += bytes;
    progress.bytesMatched += bytes;
    collectRead(bytes);
  };

interface SharedScanOptions {
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly progress: Progress;
  readonly source: ScanSource;
  readonly shares: readonly Share[];
  readonly plan: PartPlan;
  readonly sizes: QueryShares;
}

class SharedScan implements Division {
  private readonly options: SharedScanOptions;
  private readonly claims: ShareClaims;
  private readonly scanned: ShareScanner;
  private readonly ready = new Map<number, PartAnswer>();
  /** With their threads, once they have told. */
  private readonly helpers = new Map<MessagePort, number | undefined>();
  private passed = 0;
  /** How long the first share took. */
  private firstMs = 0;
  private isLeft = false;
  private failure: unknown;
  private readonly notifier = new Notifier();
  private heard: (answer: PartAnswer) => void = () => undefined;

  constructor(options: SharedScanOptions) {
    this.options = options;
    this.scanned = shareScanner(options.source);
    this.claims = new ShareClaims(options.shares.map((s) => s.home));
  }

  get thread(): number {
    return this.options.tools.thread.index;
  }

  async *answers(own: PartWorker, heard: (answer: PartAnswer) => void): AsyncGenerator<PartAnswer> {
    this.heard = heard;
    const {
      shares,
      task,
      tools: { thread },
    } = this.options;
    try {
      // What a share costs, and whether groups are too many to be merged, is seen in the first one.
      if (this.claims.takeFirst(thread.index)) yield await this.first(own);
      await this.askIfLong();
      while (this.passed < shares.length) {
        const answer = this.ready.get(this.passed) ?? (await this.next(own));
        task.signal.throwIfAborted();
        this.ready.delete(this.passed++);
        this.claims.pass(this.passed);
        if (this.passed < shares.length)
          for (const port of this.helpers.keys()) port.postMessage({ type: 'more' } satisfies ToHelper);
        yield answer;
      }
    } finally {
      this.leave();
    }
  }

  private async first(own: PartWorker): Promise<PartAnswer> {
    const began = performance.now();
    const answer = await this.answer(0, own);
    this.firstMs = performance.now() - began;
    this.claims.pass(++this.passed);
    return answer;
  }
  private async answer(share: number, own: PartWorker): Promise<PartAnswer> {
    const answer = await own((request) => this.scan(share, request));
    this.heard(answer);
    return answer;
  }

  rest: ShareScan = (request) => this.restRows(request);
  private async *restRows(request: ScanRequest): AsyncGenerator<Vector> {
    for (let k = this.passed; k < this.options.shares.length; k++) yield* this.scan(k, request);
  }

  /** Works and waits until the next answer is there. */
  private async next(own: PartWorker): Promise<PartAnswer> {
    const { thread } = this.options.tools;
    for (;;) {
      const share = this.claims.take(thread.index, thread.of);
      if (typeof share === 'number') {
        this.ready.set(share, await this.answer(share, own));
        // Answers of others come in between.
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      if (this.failure !== undefined) throw this.failure;
      const answer = this.ready.get(this.passed);
      if (answer) return answer;
      if (typeof share !== 'number') await this.notifier.waitUnless(this.options.task.signal);
    }
  }

  private scan(share: number, { signal, ...request }: ScanRequest): AsyncIterable<Vector> {
    const { shares, progress, tools } = this.options;
    return this.scanned(shares[share]!, {
      ...request,
      signal,
      batchRows: tools.batchRows,
      read: readsInto(progress, request.counts),
    });
  }

  /**
   * Asks for help if as much work seems to be left as is worth it, and waits until it is there: a thread that goes on at
   * once hears of it only at the end of its next share.
   */
  private async askIfLong(): Promise<void> {
    const { shares, sizes, tools } = this.options;
    const left = shares.slice(1).reduce((rows, share) => rows + share.rows, 0);
    if ((this.firstMs / shares[0]!.rows) * left < sizes.workMsMin) return;
    const helpers = Math.min(tools.thread.of, shares.length) - 1;
    await Promise.all(Array.from({ length: helpers }, () => this.askForHelp()));
  }
  private async askForHelp(): Promise<void> {
    const { task, source, shares, plan } = this.options;
    const port = await task.call({ kind: 'helper', of: 'query' }).catch(() => undefined);
    if (!port) return;
    if (this.isLeft) return port.close();
    this.helpers.set(port, undefined);
    port.on('message', (message: FromHelper) => {
      this.hear(port, message);
    });
    port.on('close', () => {
      this.lost(port);
    });
    const { content, buffers } = pack(plan);
    const { keys, order } = source;
    port.postMessage(
      { type: 'start', start: { plan: content, keys, order, shares, claims: this.claims.memory } } satisfies ToHelper,
      [...buffers],
    );
  }

  private hear(port: MessagePort, message: FromHelper): void {
    const { progress } = this.options;
    if ('thread' in message) this.helpers.set(port, message.thread);
    else if ('error' in message) this.failure ??= fromWire(message.error);
    else {
      const answer = unpack(message.answer) as PartAnswer;
      this.heard(answer);
      this.ready.set(message.share, answer);
      for (const name of ['bytesRead', 'bytesMatched', 'recordsRead', 'recordsMatched'] as const)
        progress[name] += message.progress[name];
    }
    this.notifier.tell();
  }

  /** A helper is gone: what it had taken will not come. */
  private lost(port: MessagePort): void {
    const thread = this.helpers.get(port);
    this.helpers.delete(port);
    const isMissed =
      thread !== undefined &&
      this.options.shares.some((_, k) => k >= this.passed && !this.ready.has(k) && this.claims.isOf(k, thread));
    if (!this.isLeft && isMissed)
      this.failure ??= new LakeError('worker-died', { reason: 'it was helping this query' });
    this.notifier.tell();
  }

  private leave(): void {
    this.isLeft = true;
    this.claims.close();
    for (const port of this.helpers.keys()) port.close();
    this.ready.clear();
  }
}
