/**
 * A query that runs: its rows as they come, how far it is, what came of it.
 *
 * - Rows are shown from the first piece of the answer on; the page gets its turns while an answer streams.
 * - At `rowsMax` kept rows reading stops, and with it the service; `more` goes on.
 * - What came before a failure or the end by the reader stays.
 */
import { signal } from '@preact/signals';
import { type Lake, LakeFailure, type Query, type QueryProgress } from '../../../src/client/client.ts';
import { type Control, RowStore } from './rows.ts';

/** `full`: as many rows as are kept at once are there, and reading waits. */
type RunState = 'running' | 'full' | 'done' | 'failed' | 'cancelled';
/** What the service read for the query. */
interface RunStats {
  readonly recordsRead: number;
  readonly bytesRead: number;
}

const progressAfterMs = 300;
const progressEveryMs = 250;
const paintEveryMs = 100;
const turnMs = 10;

/** One run of a query. What views draw are signals, or fields that change with `version`. */
export class Run {
  readonly text: string;
  readonly store = new RowStore();
  readonly state = signal<RunState>('running');
  /** Counts the times that there was something new to show. */
  readonly version = signal(0);
  readonly fault = signal<Error | undefined>(undefined);
  readonly progress = signal<QueryProgress | undefined>(undefined);
  readonly warnings = signal<readonly string[]>([]);
  readonly requestId: string = requestId();
  readonly startedAt = performance.now();
  /** Milliseconds from the start to the first row, and to the end. */
  firstMs: number | undefined;
  totalMs: number | undefined;
  stats: RunStats | undefined;
  private rowsMax: number;
  private readonly rowsStep: number;
  private readonly client: Lake;
  private readonly query: Query;
  private resume: (() => void) | undefined;
  private paintedAt = 0;
  /** Its channels have ended: statistics that come now are the last message. */
  private ended = false;
  private complete = false;

  constructor(client: Lake, text: string, rowsMax: number) {
    this.text = text;
    this.client = client;
    this.rowsMax = this.rowsStep = rowsMax;
    this.query = client.query(text, { requestId: this.requestId });
    void this.go();
    void this.watch();
  }

  get running(): boolean {
    return this.state.value === 'running' || this.state.value === 'full';
  }

  /** Ends it here and in the service. */
  cancel(): void {
    if (!this.running) return;
    this.end('cancelled');
    this.query.cancel();
    this.resume?.();
    // The service sees that its reader is gone; this ends a query that has sent nothing yet at once.
    this.client.cancelQuery(this.requestId).catch(() => undefined);
  }
  /** Keeps as many rows again. */
  more(): void {
    if (this.state.value !== 'full') return;
    this.rowsMax += this.rowsStep;
    this.state.value = 'running';
    this.resume?.();
  }

  private async go(): Promise<void> {
    try {
      const reader = (await this.query.bytes('jsup', { control: true })).getReader();
      let turnEnds = performance.now() + turnMs;
      for (;;) {
        // A piece beyond the limit is kept: whether there is more shows in it.
        if (this.store.count > this.rowsMax) {
          this.state.value = 'full';
          this.paint();
          await new Promise<void>((resolve) => {
            this.resume = resolve;
          });
        }
        const { done, value } = await reader.read();
        if (this.state.value === 'cancelled') return;
        if (done) break;
        for (const control of this.store.append(value)) this.take(control);
        const now = performance.now();
        if (this.firstMs === undefined && this.store.count > 0) this.firstMs = now - this.startedAt;
        if (this.paintedAt === 0 ? this.store.count > 0 : now - this.paintedAt > paintEveryMs) this.paint();
        if (now > turnEnds) {
          await turn();
          turnEnds = performance.now() + turnMs;
        }
      }
      if (!this.fault.value && !this.complete)
        this.fault.value = new Error('The connection was lost before the query had ended.');
      this.end(this.fault.value ? 'failed' : 'done');
    } catch (error) {
      if (this.state.value === 'cancelled') return;
      this.fault.value = error instanceof Error ? error : new Error(String(error));
      this.end('failed');
    }
  }

  private take({ name, value }: Control): void {
    if (name === 'QueryError') this.fault.value = new LakeFailure(String(value['error']), { status: 200 });
    else if (name === 'QueryWarning')
      this.warnings.value = [...this.warnings.value, String(value['warning'])].slice(-20);
    else if (name === 'QueryChannelEnd') this.ended = true;
    else if (name === 'QueryStats') {
      this.stats = { recordsRead: Number(value['records_read']), bytesRead: Number(value['bytes_read']) };
      this.complete = this.ended;
    }
  }

  /** Asks how far it is, once it has lasted a while. */
  private async watch(): Promise<void> {
    await pause(progressAfterMs);
    while (this.running) {
      if (this.state.value === 'running') {
        try {
          const progress = await this.client.queryProgress(this.requestId);
          if (this.running) this.progress.value = progress;
        } catch {
          // It has just ended, or waits to begin.
        }
      }
      await pause(progressEveryMs);
    }
  }

  private end(state: RunState): void {
    this.totalMs = performance.now() - this.startedAt;
    this.state.value = state;
    this.paint();
  }
  private paint(): void {
    this.paintedAt = performance.now();
    this.version.value++;
  }
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const channel = new MessageChannel();
const waiting: (() => void)[] = [];
channel.port1.onmessage = () => {
  waiting.shift()?.();
};
/** Lets the page have its turn; sooner back than a timer. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
/** `crypto.randomUUID` is there on safe origins alone. */
const requestId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
