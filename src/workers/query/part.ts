/**
 * Help for a query of another thread: takes shares of its scan as long as there are any, and sends the answers over the
 * port.
 */
import type { MessagePort } from 'node:worker_threads';
import { pack, unpack } from '../../exec/carry.ts';
import { partWorker } from '../../exec/compile.ts';
import type { PartPlan, PartWorker } from '../../exec/source.ts';
import { type ShareScanner, shareScanner } from '../../lake/scan/shares.ts';
import { linkPart } from '../../vectors/stop.ts';
import type { WorkerTools } from './tools.ts';
import { toWire } from '../messages.ts';
import { Notifier } from '../notifier.ts';
import { noProgress, partContext, partSource, progressSince } from '../part.ts';
import { type FromHelper, type PartStart, type ToHelper, readsInto } from './division.ts';
import { ShareClaims } from './share-claims.ts';
import type { Task } from '../task.ts';

/** Runs until the port closes, or no share is left. */
export const runQueryPart = (task: Task, port: MessagePort, tools: WorkerTools): Promise<undefined> =>
  new Promise((resolve) => {
    let part: QueryPart | undefined;
    const end = (): void => {
      part?.stop();
      resolve(undefined);
    };
    port.on('message', (message: ToHelper) => {
      if (message.type === 'more') return part?.more();
      part = new QueryPart(task, port, tools, message.start);
      void part.run().then(end);
    });
    port.on('close', end);
    task.signal.addEventListener(
      'abort',
      () => {
        port.close();
        end();
      },
      { once: true },
    );
  });

class QueryPart {
  private readonly task: Task;
  private readonly port: MessagePort;
  private readonly tools: WorkerTools;
  private readonly start: PartStart;
  private readonly scanned: ShareScanner;
  private readonly claims: ShareClaims;
  private readonly abort = new AbortController();
  private readonly progress = noProgress();
  private readonly passes = new Notifier();

  constructor(task: Task, port: MessagePort, tools: WorkerTools, start: PartStart) {
    this.task = task;
    this.port = port;
    this.tools = tools;
    this.start = start;
    this.scanned = shareScanner(partSource(tools, start));
    linkPart(this.abort.signal, task.signal);
    this.claims = new ShareClaims(
      start.shares.map((s) => s.home),
      start.claims,
    );
  }

  async run(): Promise<void> {
    let work: PartWorker | undefined;
    const { thread, begun } = this.tools;
    const others = begun();
    this.port.postMessage({ thread: thread.index } satisfies FromHelper);
    for (;;) {
      const { told } = this.passes;
      const share = this.claims.take(thread.index, thread.of);
      if (share === 'none' || this.abort.signal.aborted) return;
      if (share === 'wait') {
        if (told === this.passes.told) await this.passes.wait();
        continue;
      }
      try {
        work ??= this.worker();
        await this.answer(share, work);
        await this.task.breathe();
        // This core is not idle any more: the thread of the query does what is left.
        if (begun() > others) return;
      } catch (error) {
        if (!this.abort.signal.aborted) this.port.postMessage({ share, error: toWire(error) } satisfies FromHelper);
        return;
      }
    }
  }

  /** More shares may be taken. */
  more(): void {
    this.passes.tell();
  }
  stop(): void {
    this.abort.abort(new Error('the query has ended'));
    this.more();
  }

  private worker(): PartWorker {
    return partWorker(
      unpack(this.start.plan) as PartPlan,
      partContext(this.tools, this.progress, this.abort.signal),
      this.tools.thread.index,
    ).work;
  }

  private async answer(share: number, work: PartWorker): Promise<void> {
    const { progress, tools, start } = this;
    const before = { ...progress };
    const answer = await work((request) =>
      this.scanned(start.shares[share]!, {
        ...request,
        batchRows: tools.batchRows,
        read: readsInto(progress, request.counts),
      }),
    );
    const { content, buffers } = pack(answer);
    this.port.postMessage({ share, answer: content, progress: progressSince(before, progress) } satisfies FromHelper, [
      ...buffers,
    ]);
  }
}
