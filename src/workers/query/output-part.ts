/**
 * Help for the answer of another thread's query: takes shares of its rows as long as there are any, and sends their
 * bytes over the port, no more than it gets credit for.
 */
import type { MessagePort } from 'node:worker_threads';
import { unpack } from '../../exec/carry.ts';
import type { PartPlan } from '../../exec/source.ts';
import { type ShareScanner, shareScanner } from '../../lake/scan/shares.ts';
import { linkPart } from '../../vectors/stop.ts';
import type { WorkerTools } from './tools.ts';
import { toWire } from '../messages.ts';
import { Notifier } from '../notifier.ts';
import {
  type FromOutputHelper,
  type OutputStart,
  type ShareWriter,
  type ToOutputHelper,
  aheadBytesMax,
  shareWriter,
} from './output-division.ts';
import { noProgress, partContext, partSource, progressSince } from '../part.ts';
import { readsInto } from './division.ts';
import { ShareClaims } from './share-claims.ts';
import type { Task } from '../task.ts';

/** Runs until the port closes, or no share is left. */
export const runOutputPart = (task: Task, port: MessagePort, tools: WorkerTools): Promise<undefined> =>
  new Promise((resolve) => {
    let part: OutputPart | undefined;
    const end = (): void => {
      part?.stop();
      port.close();
      resolve(undefined);
    };
    port.on('message', (message: ToOutputHelper) => {
      if (message.type === 'credit') return part?.credit(message);
      if (message.type === 'more') return part?.more();
      part = new OutputPart(task, port, tools, message.start);
      void part.run().then(end);
    });
    port.on('close', end);
    task.signal.addEventListener('abort', end, { once: true });
  });

class OutputPart {
  private readonly task: Task;
  private readonly port: MessagePort;
  private readonly tools: WorkerTools;
  private readonly start: OutputStart;
  private readonly claims: ShareClaims;
  private readonly abort = new AbortController();
  private readonly progress = noProgress();
  private readonly scanned: ShareScanner;
  private readonly notifier = new Notifier();
  private unreadBytes = 0;
  private rowsSent = 0;
  private isHeldUp = false;

  constructor(task: Task, port: MessagePort, tools: WorkerTools, start: OutputStart) {
    this.task = task;
    this.port = port;
    this.tools = tools;
    this.start = start;
    linkPart(this.abort.signal, task.signal);
    this.claims = new ShareClaims(
      start.shares.map(() => -1),
      start.claims,
    );
    this.scanned = shareScanner(partSource(tools, start));
  }

  async run(): Promise<void> {
    const { thread } = this.tools;
    this.tell({ thread: thread.index });
    const write = this.writer();
    for (;;) {
      const { told } = this.notifier;
      const share = this.claims.take(thread.index, thread.of);
      if (share === 'none' || this.abort.signal.aborted) return;
      if (share === 'wait') {
        if (told === this.notifier.told) await this.notifier.wait();
        continue;
      }
      try {
        await this.write(share, write);
      } catch (error) {
        if (!this.abort.signal.aborted) this.tell({ share, error: toWire(error) });
        return;
      }
    }
  }

  /** More shares may be taken. */
  more(): void {
    this.notifier.tell();
  }
  credit({ bytes, buffer, isHeldUp }: Extract<ToOutputHelper, { type: 'credit' }>): void {
    this.unreadBytes -= bytes;
    this.isHeldUp = isHeldUp;
    if (buffer) this.task.buffers.give(buffer);
    this.more();
  }
  stop(): void {
    this.abort.abort(new Error('the query has ended'));
    this.more();
  }

  private writer(): ShareWriter {
    const {
      tools,
      progress,
      task,
      start: { plan, format },
    } = this;
    const context = partContext(tools, progress, this.abort.signal);
    return shareWriter(unpack(plan) as PartPlan, {
      format,
      context,
      thread: tools.thread.index,
      task,
      isHeldUp: () => this.isHeldUp,
      sent: (rows) => {
        this.rowsSent += rows;
      },
    });
  }

  private async write(share: number, write: ShareWriter): Promise<void> {
    const { tools, progress, task, start } = this;
    const before = { ...progress };
    const sentBefore = this.rowsSent;
    for await (const chunk of write((request) =>
      this.scanned(start.shares[share]!, {
        ...request,
        batchRows: tools.batchRows,
        read: readsInto(progress),
      }),
    )) {
      for (const bytes of task.shareable(chunk)) {
        while (this.unreadBytes > 0 && this.unreadBytes + bytes.length > aheadBytesMax) {
          await this.notifier.wait();
          this.abort.signal.throwIfAborted();
        }
        this.unreadBytes += bytes.length;
        this.tell({ share, bytes });
      }
      await task.breathe();
      this.abort.signal.throwIfAborted();
    }
    this.tell({ share, progress: progressSince(before, progress), sent: this.rowsSent - sentBefore });
  }

  private tell(message: FromOutputHelper): void {
    this.port.postMessage(message);
  }
}
