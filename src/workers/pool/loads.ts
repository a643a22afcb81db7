/** Bodies become objects: in a worker thread, or at once where they are small. */
import { LakeError } from '../../errors.ts';
import type { ObjectMeta, PoolConfig } from '../../lake/lake.types.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { removeObjectFiles, removeUncommitted } from '../../lake/objects/removal.ts';
import type { IngestOutcome, IngestReply, IngestRequest, Protocol, Told } from '../ingest/ingest.types.ts';
import { isSmallIngest, runSmallIngest } from '../ingest/small.ts';
import { IngestTargets } from '../ingest/targets.ts';
import { layoutOf } from '../lake-session.ts';
import { type SmallLoad, type SmallLoadTools, isSmallLoad, once, runSmallLoad } from '../load/small.ts';
import type { Rejects, TaskRequest } from '../messages.ts';
import type {
  LoadOutcome,
  LoadPreview,
  LoadReply,
  LoadRequest,
  PreviewRequest,
  WorkerPoolOptions,
} from '../pool.types.ts';
import { LoadWatch } from '../watches.ts';
import type { Running } from './running.ts';
import type { Scheduler } from './scheduler.ts';

/** What loads share with the rest of the worker pool. */
export interface LoadTools {
  readonly scheduler: Scheduler;
  readonly objects: ObjectStore;
  readonly small: SmallLoadTools;
  readonly running: Running;
  readonly inspect: WorkerPoolOptions['inspect'];
}

const rejectsOf = ({ name }: PoolConfig, { pool, ms, branch }: NonNullable<LoadRequest['rejects']>): Rejects => ({
  layout: layoutOf(pool),
  ms,
  pool: name,
  branch,
});

/** Requests are of classes: where a body comes from is told beside them, for a copy would lack their getters. */
type Source = Pick<LoadRequest, 'body' | 'begun'>;
/** Where files go that no commit names. */
interface Removal {
  readonly files: ObjectStore;
}
/** Tells the chart how the commit went. What no commit names goes; also where the commit was never asked for. */
const settledLoad = async <T extends { readonly commit: string }>(
  {
    watch,
    objects,
    removal,
  }: { readonly watch: LoadWatch; readonly objects: readonly ObjectMeta[]; readonly removal: Removal },
  commit: Promise<T>,
): Promise<T> => {
  try {
    const result = await commit;
    watch.committed(result.commit);
    return result;
  } catch (error) {
    watch.failed(error);
    await removeUncommitted(objects, error, removal);
    throw error;
  }
};

/** What became of a load's body; of one shape for all loads. */
class Reply implements LoadReply {
  readonly objects: LoadOutcome['objects'];
  readonly records: number;
  readonly bytes: number;
  readonly warnings: LoadOutcome['warnings'];
  readonly isOneArray: LoadOutcome['isOneArray'];
  readonly faults: LoadOutcome['faults'];
  readonly rejected: LoadOutcome['rejected'];
  readonly gone: LoadOutcome['gone'];
  private readonly watch: LoadWatch;
  private readonly removal: Removal;
  private areTaken = false;

  constructor(outcome: LoadOutcome, watch: LoadWatch, removal: Removal) {
    this.objects = outcome.objects;
    this.records = outcome.records;
    this.bytes = outcome.bytes;
    this.warnings = outcome.warnings;
    this.isOneArray = outcome.isOneArray;
    this.faults = outcome.faults;
    this.rejected = outcome.rejected;
    this.gone = outcome.gone;
    this.watch = watch;
    this.removal = removal;
  }

  async settled<T extends { readonly commit: string }>(commit: Promise<T>): Promise<T> {
    try {
      return await settledLoad({ watch: this.watch, objects: this.objects, removal: this.removal }, commit);
    } catch (error) {
      await removeObjectFiles(this.takeRejected(), this.removal);
      throw error;
    } finally {
      if (this.gone) await removeObjectFiles(this.gone, this.removal);
    }
  }
  async taken<T>(commit: () => Promise<T | undefined>): Promise<T | undefined> {
    const taken = this.takeRejected();
    try {
      const made = await commit();
      if (made === undefined) await removeObjectFiles(taken, this.removal);
      return made;
    } catch (error) {
      await removeUncommitted(taken, error, this.removal);
      throw error;
    }
  }
  /** Once. */
  private takeRejected(): readonly ObjectMeta[] {
    const { rejected = [] } = this;
    if (this.areTaken) return [];
    this.areTaken = true;
    return rejected;
  }
}

/** Loads, and bodies of shippers, from their beginning to their commit. */
export class Loads {
  private readonly scheduler: Scheduler;
  private readonly removal: Removal;
  private readonly smallTools: SmallLoadTools;
  private readonly running: Running;
  private readonly inspect: WorkerPoolOptions['inspect'];

  constructor({ scheduler, objects, small, running, inspect }: LoadTools) {
    this.scheduler = scheduler;
    this.removal = { files: objects };
    this.smallTools = small;
    this.running = running;
    this.inspect = inspect;
  }

  async load(request: LoadRequest): Promise<LoadReply> {
    const { pool, whole } = request;
    const watch = request.watch ?? new LoadWatch({ poolId: pool.id }, this.inspect);
    this.running.loads++;
    this.running.begun++;
    watch.begin();
    try {
      const outcome = whole
        ? await this.loadWhole(request, await whole(), watch)
        : await this.loadChunks(request, watch, request);
      return new Reply(outcome, watch, this.removal);
    } catch (error) {
      watch.failed(error);
      throw error;
    } finally {
      this.running.loads--;
    }
  }

  private async loadWhole(request: LoadRequest, body: Uint8Array, watch: LoadWatch): Promise<LoadOutcome> {
    watch.took(body.length);
    const { pool, format, form, contentCodings, rejects } = request;
    const small: SmallLoad = {
      pool: layoutOf(pool),
      format: format ?? 'auto',
      body,
      form,
      rejects: rejects && rejectsOf(pool, rejects),
    };
    if (!isSmallLoad(small, contentCodings ?? [])) return this.loadChunks(request, watch, { body: once(body) });
    this.scheduler.checkOpen();
    const outcome = await runSmallLoad(small, this.smallTools);
    watch.wroteAtOnce(outcome, body.length);
    return outcome;
  }

  /** `source`: where its body comes from. */
  private async loadChunks(
    { pool, format, form, contentCodings, rejects, client, signal }: LoadRequest,
    watch: LoadWatch,
    { body, begun }: Source,
  ): Promise<LoadOutcome> {
    const request: TaskRequest = {
      kind: 'load',
      pool: layoutOf(pool),
      format: format ?? 'auto',
      ...(form && { form }),
      ...(contentCodings?.length && { contentCodings }),
      ...(rejects && { rejects: rejectsOf(pool, rejects) }),
    };
    await begun?.();
    const outcome = await this.scheduler.outcome<LoadOutcome>(request, this.scheduler.session(), {
      client,
      signal,
      cancelled: () => cancelledLoad(signal),
      started: (task) => {
        watch.began(task);
        void task.pump(body);
      },
      step: (step) => {
        if (step === 'read') watch.read();
        else watch.sorted();
      },
    });
    watch.wrote(outcome);
    return outcome;
  }

  async preview({
    said,
    form,
    contentCodings,
    isCut,
    body,
    begun,
    client,
    signal,
  }: PreviewRequest): Promise<LoadPreview> {
    this.running.loads++;
    this.running.begun++;
    try {
      await begun?.();
      return await this.scheduler.outcome<LoadPreview>(
        {
          kind: 'preview',
          isCut,
          ...(said && { said }),
          ...(form && { form }),
          ...(contentCodings?.length && { contentCodings }),
        },
        this.scheduler.session(),
        {
          client,
          signal,
          cancelled: () => cancelledLoad(signal),
          started: (task) => {
            void task.pump(body);
          },
        },
      );
    } finally {
      this.running.loads--;
    }
  }

  async ingest<P extends Protocol>(request: IngestRequest<P>): Promise<IngestReply<P>> {
    const targets = new IngestTargets(request);
    this.running.loads++;
    this.running.begun++;
    try {
      const body = await request.whole?.();
      const isSmall = body !== undefined && isSmallIngest(request, body);
      const outcome = isSmall
        ? await this.ingestSmall(request, body, targets)
        : await this.ingestChunks(request, targets, body ? { body: once(body) } : request);
      const pools = targets.replies(
        outcome,
        (watch, outcome, commit) => this.settledOf(watch, outcome, commit),
        isSmall ? body.length : undefined,
      );
      return { ...outcome, pools, told: outcome.told as Told[P] };
    } catch (error) {
      targets.failed(error);
      throw error;
    } finally {
      this.running.loads--;
    }
  }
  private ingestSmall(request: IngestRequest, body: Uint8Array, targets: IngestTargets): Promise<IngestOutcome> {
    this.scheduler.checkOpen();
    const pools = {
      layoutOf: async (name: string) => layoutOf(await targets.find(name)),
      identityOf: async (name: string) => identityOf(request, name),
    };
    return runSmallIngest(request, body, pools, this.smallTools);
  }
  private async ingestChunks(
    ingested: IngestRequest,
    targets: IngestTargets,
    { body, begun }: Source,
  ): Promise<IngestOutcome> {
    const { protocol, pool, time, defaults, utf8, contentCodings, client, signal } = ingested;
    const session = this.scheduler.session();
    session.identity = (name) => identityOf(ingested, name);
    session.target = (name) => targets.find(name);
    await begun?.();
    return this.scheduler.outcome<IngestOutcome>(
      {
        kind: 'ingest',
        protocol,
        pool,
        time,
        ...(defaults && { defaults }),
        ...(utf8 && { utf8 }),
        ...(contentCodings?.length && { contentCodings }),
      },
      session,
      {
        client,
        signal,
        cancelled: () => cancelledLoad(signal),
        started: (task) => {
          targets.began(task);
          void task.pump(body);
        },
        step: (step) => {
          if (step === 'read') targets.read();
          else targets.sorted();
        },
      },
    );
  }

  /** Operations go in any case: no commit names them. */
  private settledOf<T extends { readonly commit: string }>(
    watch: LoadWatch,
    { objects, field }: { readonly objects: readonly ObjectMeta[]; readonly field?: string | undefined },
    commit: Promise<T>,
  ): Promise<T> {
    const { removal } = this;
    if (field === undefined) return settledLoad({ watch, objects, removal }, commit);
    return settledLoad({ watch, objects: [], removal }, commit).finally(() => removeObjectFiles(objects, removal));
  }
}

/** @throws why it may not be asked */
const identityOf = (request: IngestRequest, name: string): string | null | undefined =>
  request.identity ? request.identity(name) : null;
const cancelledLoad = (signal: AbortSignal | undefined): LakeError =>
  signal?.reason instanceof LakeError
    ? signal.reason
    : new LakeError('load-cancelled', { reason: 'the client went away' });
