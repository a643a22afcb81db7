/**
 * Messages of syslog on their way to commits: they wait until there are enough of them, or the first has waited long
 * enough; one batch at a time is committed, and what comes meanwhile is the next.
 *
 * Invariants:
 * - What is `taken` is committed, or counted as dropped with a reason; order is that of arrival.
 * - A batch whose commit failed for what may pass is tried again for as long as that takes: connections are not read
 *   meanwhile (`isFull`), and datagrams that find no room are dropped.
 */
import { framed } from '../../workers/ingest/syslog-frames.ts';
import { LakeError } from '../../errors.ts';
import type { SyslogFigures } from './figures.ts';

/** A batch that is as long as this waits no longer. */
const batchBytesMax = 1 << 20;
const againMsMin = 100;
const againMsMax = 5_000;

/** Commits a batch of framed messages. @throws why not */
type Commit = (batch: Uint8Array, messages: number) => Promise<void>;

interface BatchOptions {
  /** How long a message waits for others. */
  readonly delayMs: number;
  /** Bytes that wait, from which on no more are wanted. */
  readonly waitingBytesMax: number;
  readonly figures: SyslogFigures;
  readonly commit: Commit;
  /** Told of each batch that failed. */
  readonly report: (fault: unknown) => void;
  /** There is room again. */
  readonly drained: () => void;
}

/** The messages of all connections. */
export class SyslogBatches {
  private readonly options: BatchOptions;
  private frames: Buffer[] = [];
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private committing: Promise<void> | undefined;
  /** Of the batch that is committed. */
  private committingBytes = 0;
  /** Ends the wait between two tries. */
  private wake: (() => void) | undefined;
  private givesUp = false;
  constructor(options: BatchOptions) {
    this.options = options;
  }

  get waitingBytes(): number {
    return this.bytes + this.committingBytes;
  }
  get isFull(): boolean {
    return this.waitingBytes >= this.options.waitingBytesMax;
  }

  /** Takes a message; its bytes may go afterwards. */
  take(message: Uint8Array, address: string): void {
    const frame = framed(message, Date.now(), address);
    this.frames.push(frame);
    this.bytes += frame.length;
    if (this.bytes >= batchBytesMax) this.begin();
    else
      this.timer ??= setTimeout(() => {
        this.begin();
      }, this.options.delayMs);
  }

  /** Commits all that was taken; gives up on what cannot be until `deadline`. */
  async close(deadline: Promise<void>): Promise<void> {
    void deadline.then(() => {
      this.givesUp = true;
      this.wake?.();
    });
    while (this.frames.length > 0 || this.committing) {
      this.begin();
      await this.committing;
    }
  }

  /** Commits what waits, unless a batch is under way: then behind that. */
  private begin(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.committing || this.frames.length === 0) return;
    const { frames } = this;
    this.committingBytes = this.bytes;
    this.frames = [];
    this.bytes = 0;
    this.committing = this.make(frames).finally(() => {
      this.committing = undefined;
      this.committingBytes = 0;
      if (!this.isFull) this.options.drained();
      if (this.frames.length > 0) this.begin();
    });
  }
  private async make(frames: readonly Buffer[]): Promise<void> {
    const { figures, commit, report } = this.options;
    const batch = Buffer.concat(frames);
    for (let wait = againMsMin; ; wait = Math.min(againMsMax, wait * 2)) {
      try {
        await commit(batch, frames.length);
        figures.batches.committed++;
        return;
      } catch (error) {
        report(error);
        if (isFinal(error) || this.givesUp) {
          figures.batches.refused++;
          figures.dropped[this.givesUp ? 'closing' : 'refused'] += frames.length;
          return;
        }
        figures.batches.again++;
        await this.pause(wait);
      }
    }
  }
  private pause(ms: number): Promise<void> {
    if (this.givesUp) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** What is wrong with the messages stays wrong; a pool that is not there may come. */
const isFinal = (error: unknown): boolean =>
  error instanceof LakeError && error.status < 500 && error.status !== 429 && error.code !== 'pool-not-found';
