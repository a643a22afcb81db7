/** The bytes of a query on the main side: chunks wait here until the client takes them, under the worker's credit. */
import { LakeError } from '../../errors.ts';
import { noteShared } from '../collector.ts';
import type { QueryReply, QueryStats } from '../pool.types.ts';
import type { RunningTask } from '../thread.ts';
import type { QueryWatch } from '../watches.ts';

type End = { readonly error?: LakeError };

/** The answer of one query: the worker's side pushes chunks and closes it, `reply` is the client's side. */
export class QueryStream {
  stats: QueryStats = {
    startMs: Date.now(),
    updateMs: Date.now(),
    bytesRead: 0,
    bytesMatched: 0,
    recordsRead: 0,
    recordsMatched: 0,
  };
  /** Of the text, known before its first byte. */
  warnings: readonly string[] = [];
  private readonly queue: Uint8Array[] = [];
  private end: End | undefined;
  private waiting: (() => void) | undefined;
  /** The chunk whose bytes are not needed any more. */
  private done: Uint8Array | undefined;
  /** Resolves once there are bytes, or the end. */
  readonly ready: Promise<void>;
  private isReady!: () => void;
  private failed: (() => void) | undefined;
  constructor() {
    this.ready = new Promise((resolve) => {
      this.isReady = resolve;
    });
  }

  push(bytes: Uint8Array, stats: QueryStats): void {
    this.stats = stats;
    this.queue.push(bytes);
    this.wake();
  }
  /** No more bytes come; with an error the body must not look whole. */
  close(end: End): void {
    this.end ??= end;
    this.wake();
    if (this.end.error) this.failed?.();
  }

  /** What the query's caller gets, once it is ready. @throws the error of a query that failed before its first byte */
  reply(id: string, task: RunningTask, watch: QueryWatch, left: () => void): QueryReply {
    if (this.queue.length === 0 && this.end?.error) throw this.end.error;
    return {
      id,
      empty: this.queue.length === 0 && this.end !== undefined,
      chunks: this.chunks(task, watch, left),
      sent: (bytes) => {
        this.done = bytes;
      },
      stats: () => this.stats,
      warnings: this.warnings,
      whenFailed: (failed) => {
        this.failed = failed;
        if (this.end?.error) failed();
      },
    };
  }

  private async *chunks(task: RunningTask, watch: QueryWatch, left: () => void): AsyncGenerator<Uint8Array> {
    let held: Uint8Array | undefined;
    try {
      for (;;) {
        const bytes = this.queue.shift();
        if (bytes) {
          held = bytes;
          yield bytes;
          held = undefined;
          watch.bytesSent += bytes.length;
          const isDone = this.done === bytes;
          if (!isDone) letGo(bytes);
          task.credit(bytes.length, isDone && bytes.buffer instanceof SharedArrayBuffer ? bytes.buffer : undefined);
        } else if (this.end) {
          if (this.end.error) throw this.end.error;
          return;
        } else
          await new Promise<void>((resolve) => {
            this.waiting = resolve;
          });
      }
    } finally {
      // A consumer that leaves early cancels the query; after its end this does nothing.
      if (!this.end) left();
      if (held) letGo(held);
      for (const bytes of this.queue) letGo(bytes);
    }
  }
  private wake(): void {
    this.isReady();
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.();
  }
}

/** A chunk whose buffer does not go back to its thread. */
const letGo = ({ buffer }: Uint8Array): void => {
  if (buffer instanceof SharedArrayBuffer) noteShared(buffer.byteLength);
};
