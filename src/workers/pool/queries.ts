/** Query texts become bytes. */
import { LakeError } from '../../errors.ts';
import { layoutOf } from '../lake-session.ts';
import type { TaskRequest } from '../messages.ts';
import type { QueryReply, QueryRequest, QueryStats, WorkerPoolOptions } from '../pool.types.ts';
import { QueryStream } from '../query/reply.ts';
import type { RunningTask, TaskEvents } from '../thread.ts';
import { QueryWatch } from '../watches.ts';
import type { Running } from './running.ts';
import type { Scheduler } from './scheduler.ts';

/** Queries from their text to the end of their answer. */
export class Queries {
  private readonly scheduler: Scheduler;
  private readonly running: Running;
  private readonly inspect: WorkerPoolOptions['inspect'];

  constructor(scheduler: Scheduler, running: Running, inspect: WorkerPoolOptions['inspect']) {
    this.scheduler = scheduler;
    this.running = running;
    this.inspect = inspect;
  }

  /** The answer of a query, as it comes. @throws what the compilation or the first rows throw */
  async query({
    id,
    text,
    format,
    control,
    channelIds,
    arrowFile,
    coding,
    head,
    indexBase,
    ending,
    readOnly = false,
    compiled,
    lake,
    client,
    watch: given,
    signal,
  }: QueryRequest): Promise<QueryReply> {
    const stream = new QueryStream();
    const session = this.scheduler.session(lake, readOnly);
    session.prepareStatement = (statement) => (snapshot) =>
      this.scheduler.rewrite({ kind: 'statement', ...statement, pool: layoutOf(snapshot.pool) }, snapshot, {
        ...(lake && { lake }),
      });
    const watch = given ?? new QueryWatch({ id }, this.inspect);
    const ended = (error?: LakeError): void => {
      this.running.queries--;
      watch.ended(error);
      if (!given) leave(watch, error);
    };
    let task: RunningTask | undefined;
    const events: TaskEvents = {
      step: (_step, { warnings = [], varies = false }) => {
        stream.warnings = warnings;
        watch.compiled();
        compiled?.(varies ? undefined : session.reads());
      },
      chunk: (bytes, stats) => {
        watch.gaveBytes();
        stream.push(bytes, stats);
      },
      done: (outcome) => {
        ended();
        stream.stats = outcome as QueryStats;
        stream.close({});
      },
      failed: (error, told) => {
        ended(error);
        stream.close(told ? {} : { error });
      },
    };
    try {
      const request: TaskRequest = {
        kind: 'query',
        text,
        format,
        control,
        ...(channelIds && { channelIds }),
        ...(arrowFile && { arrowFile }),
        ...(coding && { coding }),
        ...(head && { head }),
        ...(indexBase !== undefined && { indexBase }),
        ...(ending && { ending }),
      };
      const prefetched = await session.prefetch(text, head);
      const started = this.scheduler.start(request, session, events, { client, prefetched });
      task = started;
      watch.began(started);
      this.running.queries++;
      this.running.begun++;
      const cancel = (): void => {
        started.cancel(signal?.reason instanceof LakeError ? signal.reason : new LakeError('query-cancelled'));
      };
      if (signal?.aborted) cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      await stream.ready;
      return stream.reply(id, started, watch, () => {
        signal?.removeEventListener('abort', cancel);
        cancel();
      });
    } catch (error) {
      // What was started releases it when its worker has stopped.
      if (!task) session.release();
      if (!task && !given) leave(watch, error);
      throw error;
    }
  }
}

/** Nobody else says how it ended, or asks for it. */
const leave = (watch: QueryWatch, failure?: unknown): void => {
  watch.answered(failure);
  watch.expire();
};
