/** The pools of a shipper's body on the main thread: what the decoder asked for, and the watches of its loads. */
import type { ObjectMeta, PoolConfig } from '../../lake/lake.types.ts';
import { fromWire } from '../messages.ts';
import type { LoadReply } from '../pool.types.ts';
import type { LoadWatch } from '../watches.ts';
import type { IngestOutcome, IngestRequest, PoolOutcome, PoolReply } from './ingest.types.ts';

type Target = Awaited<ReturnType<IngestRequest['target']>>;
type Taken = Exclude<PoolOutcome, { readonly error: unknown }>;
type WatchedTask = Parameters<LoadWatch['began']>[0];
/** Removes what was not committed, and tells the watch. */
type Settle = (
  watch: LoadWatch,
  outcome: { readonly objects: readonly ObjectMeta[]; readonly field?: string | undefined },
  ...commit: Parameters<LoadReply['settled']>
) => Promise<Awaited<(typeof commit)[0]>>;

export class IngestTargets {
  private readonly request: Pick<IngestRequest, 'target'>;
  private readonly found = new Map<string, Target>();
  private readonly refused = new Map<string, unknown>();
  private task: WatchedTask | undefined;
  constructor(request: Pick<IngestRequest, 'target'>) {
    this.request = request;
  }

  /** A worker has the body. */
  began(task: WatchedTask): void {
    this.task = task;
  }
  /** @throws why the pool takes none */
  async find(name: string): Promise<PoolConfig> {
    try {
      const found = await this.request.target(name);
      found.watch.begin();
      // The body counts once, for the first pool.
      if (this.task && this.found.size === 0) found.watch.began(this.task);
      this.found.set(name, found);
      return found.pool;
    } catch (error) {
      this.refused.set(name, error);
      throw error;
    }
  }
  read(): void {
    for (const { watch } of this.found.values()) watch.read();
  }
  sorted(): void {
    for (const { watch } of this.found.values()) watch.sorted();
  }
  failed(error: unknown): void {
    for (const { watch } of this.found.values()) watch.failed(error);
  }

  /** `bytesAtOnce`: of a body that was read, sorted and made into objects in one go. */
  replies({ pools }: IngestOutcome, settle: Settle, bytesAtOnce?: number): ReadonlyMap<string, PoolReply> {
    const replies = new Map<string, PoolReply>();
    for (const [name, outcome] of pools) replies.set(name, this.reply(name, outcome, settle, bytesAtOnce));
    return replies;
  }
  private reply(name: string, outcome: PoolOutcome, settle: Settle, bytesAtOnce: number | undefined): PoolReply {
    const target = this.found.get(name);
    if ('error' in outcome || !target) {
      const error = this.refused.get(name) ?? ('error' in outcome && fromWire(outcome.error));
      target?.watch.failed(error);
      return { error };
    }
    const { watch } = target;
    if (bytesAtOnce === undefined) watch.wrote(outcome);
    else watch.wroteAtOnce(outcome, bytesAtOnce);
    return new Reply(outcome, watch, settle);
  }
}

/** What became of a pool's records; of one shape for all bodies. */
class Reply implements Exclude<PoolReply, { readonly error: unknown }> {
  readonly objects: Taken['objects'];
  readonly records: number;
  readonly bytes: number;
  readonly field: Taken['field'];
  private readonly watch: LoadWatch;
  private readonly settle: Settle;

  constructor({ objects, records, bytes, field }: Taken, watch: LoadWatch, settle: Settle) {
    this.objects = objects;
    this.records = records;
    this.bytes = bytes;
    this.field = field;
    this.watch = watch;
    this.settle = settle;
  }

  settled<T extends { readonly commit: string }>(commit: Promise<T>): Promise<T> {
    return this.settle(this.watch, this, commit) as Promise<T>;
  }
}
