/**
 * Bodies of shippers on their way to commits: decoded by the workers, then committed as every load is, each pool by
 * itself. A pool that refuses its records, or whose commit fails, fails alone.
 */
import { LakeError } from '../../errors.ts';
import type { CommitNote, CommitResult, CommitTerms, Id, Identity, Pool } from '../../lake/lake.types.ts';
import type { IngestRequest, PoolReply, Protocol, Told } from '../../workers/ingest/ingest.types.ts';
import type { BulkOperations, BulkResults } from '../../workers/ingest/bulk-results.ts';
import { noteCommit } from '../access/audit.ts';
import { loadBody } from '../bodies/body.ts';
import { requestCodings } from '../bodies/encoding.ts';
import { commitNote } from '../commit-note.ts';
import { paceOf } from '../connections/pace.ts';
import { type BodyKey, bodyKeyOf, commitKeyedOnce } from '../idempotency.ts';
import { made } from '../load.ts';
import type { Call } from '../route.ts';
import type { LoadRun } from '../runs.ts';
import { checkIngestPool, ingestPool } from './pools.ts';

/** The branch that shippers write to. */
const branch = 'main';

/**
 * How a body is to be taken. `time`: the field by which pools that are made are ordered, and whose values become times;
 * `isKnown`: whether the body says by itself that it came before, when it does again.
 */
export interface BodyForm<P extends Protocol> {
  readonly protocol: P;
  readonly pool?: string | undefined;
  readonly time: string;
  readonly defaults?: Readonly<Record<string, string>>;
  readonly utf8?: 'refuse';
  readonly contentEncoding?: string | undefined;
  readonly isKnown?: (told: Told[P]) => boolean;
  /** Records go by an id where a pool's identity is one field. */
  readonly byId?: boolean;
}
/** What became of a pool's records. */
export type PoolTaken = { readonly commit: Id; readonly results?: BulkResults } | { readonly error: unknown };
/** What became of a body. */
export interface Taken<P extends Protocol> {
  readonly told: Told[P];
  readonly pools: ReadonlyMap<string, PoolTaken>;
}

/** Takes a body and commits what is in it. @throws what is wrong with all of it */
export const takeBody = async <P extends Protocol>(call: Call, form: BodyForm<P>): Promise<Taken<P>> => {
  const { time } = form;
  const loads = new BodyLoads(call);
  const note = commitNote(call.request.headers);
  try {
    const { told, pools, digest } = await call.service.workers.ingest<P>(new AskedIngest(form, loads));
    const key = bodyKeyOf(call, digest, (form.isKnown ?? never)(told));
    const taken = new Map<string, PoolTaken>();
    const committing = [...pools].map(async ([name, reply]) => {
      taken.set(name, await loads.commit(name, reply, { note, key, time }));
    });
    await Promise.all(committing);
    return { told, pools: taken };
  } catch (error) {
    loads.rejected(error);
    throw error;
  }
};

const never = (): boolean => false;

/** A body as the workers are asked for it; of one shape for all protocols. */
class AskedIngest<P extends Protocol> implements IngestRequest<P> {
  readonly protocol: P;
  readonly pool: string | undefined;
  readonly time: string;
  readonly defaults: IngestRequest['defaults'];
  readonly utf8: IngestRequest['utf8'];
  readonly contentCodings: IngestRequest['contentCodings'];
  readonly body: IngestRequest['body'];
  readonly whole: IngestRequest['whole'];
  readonly begun: IngestRequest['begun'];
  readonly client: IngestRequest['client'];
  private readonly byId: boolean;
  private readonly loads: BodyLoads;

  constructor({ protocol, pool, time, defaults, utf8, contentEncoding, byId = false }: BodyForm<P>, loads: BodyLoads) {
    const { body, whole, begun, client } = loads.body();
    this.protocol = protocol;
    this.pool = pool;
    this.time = time;
    this.defaults = defaults;
    this.utf8 = utf8;
    this.contentCodings = requestCodings(contentEncoding);
    this.body = body;
    this.whole = whole;
    this.begun = begun;
    this.client = client;
    this.byId = byId;
    this.loads = loads;
  }

  get signal(): AbortSignal {
    return this.loads.signal;
  }
  target(name: string): ReturnType<IngestRequest['target']> {
    return this.loads.begin(name, this.time);
  }
  identity(name: string): string | null | undefined {
    return this.byId ? this.loads.identityField(name) : null;
  }
}

/** The pool of a body that has records for one. @throws why they were not committed */
export const onlyCommit = ({ pools }: Pick<Taken<Protocol>, 'pools'>): Id | undefined => {
  const [taken] = pools.values();
  if (taken && 'error' in taken) throw taken.error;
  return taken?.commit;
};

/** All pools took their records. @throws why the first of those that did not did not */
export const checkAllTaken = ({ pools }: Pick<Taken<Protocol>, 'pools'>): void => {
  for (const taken of pools.values()) if ('error' in taken) throw taken.error;
};

/** How the records of a pool are committed. */
interface CommitTold {
  readonly note: CommitNote;
  readonly key: BodyKey | undefined;
  readonly time: string;
}
/** The loads of one request: one for each pool. */
class BodyLoads {
  private readonly call: Call;
  private readonly loads = new Map<string, { readonly pool: Pool; readonly run: LoadRun }>();
  /** What items by an id were read by, in pools that were there. */
  private readonly identities = new Map<string, Identity>();
  private controller: AbortController | undefined;
  /** It is to end: by a request, or since the client went away. */
  private stopped: { readonly reason?: LakeError } | undefined;
  private bytes = 0;
  constructor(call: Call) {
    this.call = call;
    call.whenLeft(() => {
      this.stop({});
    });
  }
  private stop(stopped: { readonly reason?: LakeError }): void {
    this.stopped ??= stopped;
    this.controller?.abort(this.stopped.reason);
  }
  /** Fires when it is to end. Made for who asks: what is done at once needs none. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.stopped) this.controller.abort(this.stopped.reason);
    return this.controller.signal;
  }

  /** What the workers read. */
  body(): Pick<IngestRequest, 'body' | 'whole' | 'begun' | 'client'> {
    const { service, request, sent } = this.call;
    const {
      config,
      config: { bodyIdleMsMax: idleMsMax },
      loadBodies: held,
    } = service;
    const pace = paceOf(request.raw, 'body', config);
    const told = (bytes: number): void => {
      this.bytes = bytes;
    };
    // Before its body was read nobody knows of a load that could be cancelled.
    const run = { unblock: undefined };
    const { body, whole, begun } = loadBody(request.raw, { idleMsMax, pace, held, run, sent, told });
    return { body, whole, begun, client: pace };
  }

  /**
   * The only field, at the top of records, of a pool's identity; null: it has another one or none; undefined: there is no
   * such pool.
   */
  identityField(name: string): string | null | undefined {
    const pool = checkIngestPool(this.call, name);
    if (!pool) return undefined;
    const { identity = [] } = pool.config;
    this.identities.set(name, identity);
    const [path = [], ...others] = identity;
    return path.length === 1 && others.length === 0 ? path[0] : null;
  }

  /** A load into a pool begins. @throws why the pool takes none */
  async begin(name: string, time: string): ReturnType<IngestRequest['target']> {
    const { service, request, id, who } = this.call;
    const pool = await ingestPool(this.call, { name, keys: [[time]], order: 'desc' });
    const length = request.headers['content-length'];
    const run = service.runs.beginLoad({
      id,
      owner: who?.name,
      poolId: pool.config.id,
      pool: pool.config.name,
      branch,
      bytesTotal: length === undefined ? undefined : Number(length),
      whenLeft: (left) => {
        this.call.whenLeft(left);
      },
      stopped: (reason) => {
        this.stop({ reason });
      },
    });
    run.watch.took(this.bytes);
    if (this.loads.size === 0) service.tracing?.note(request, { load: run });
    this.loads.set(name, { pool, run });
    return { pool: pool.config, watch: run.watch };
  }

  /** Commits what a pool has of the body. Never rejects. */
  async commit(name: string, reply: PoolReply, { note, key, time }: CommitTold): Promise<PoolTaken> {
    const load = this.loads.get(name);
    if ('error' in reply || !load) {
      const error = 'error' in reply ? reply.error : undefined;
      load?.run.rejected(error);
      return { error };
    }
    const { pool, run } = load;
    const { audit, reply: answer } = this.call;
    const { field } = reply;
    const told: { results?: BulkResults } = {};
    try {
      const make = async (terms: CommitTerms): Promise<Id> => {
        // Records that go nowhere by their ids are added, whatever the pool's identity.
        const identity = field === undefined ? undefined : this.identities.get(name);
        const noted = { ...note, terms: { ...terms, ...(identity && { identity }) } };
        const commit = (): Promise<CommitResult> =>
          field === undefined
            ? pool.load(branch, reply.objects, noted)
            : this.operate(pool, { objects: reply.objects, field, time }, noted, (results) => {
                told.results = results;
              });
        return made(this.call, await reply.settled(run.commit(commit)));
      };
      const drop = async (commit: Id): Promise<void> => {
        const error = new LakeError('load-cancelled', { reason: `this body made commit 0x${commit} before` });
        // Who asks how far it is hears of the commit that has its records, as who sent it does.
        run.committed(commit);
        await reply.settled(Promise.reject(error)).catch(() => undefined);
      };
      const commit = await commitKeyedOnce(this.call, pool.config, field === undefined ? key : undefined, {
        make,
        drop,
      });
      run.committed(commit);
      noteCommit(answer, commit);
      audit?.changed({ pool: pool.config.id, branch, commit });
      return { commit, ...told };
    } catch (error) {
      const fault = again(error);
      run.rejected(fault);
      return { error: fault };
    }
  }
  /** @throws bulk-retry */
  private operate(
    pool: Pool,
    operations: BulkOperations,
    noted: CommitNote,
    tell: (results: BulkResults) => void,
  ): Promise<CommitResult> {
    const { service, request } = this.call;
    if (request.headers['idempotency-key'] !== undefined)
      return Promise.reject(new LakeError('bulk-retry', { pool: pool.config.name }));
    return pool.upsert(branch, [], service.workers.prepareBulk(operations, tell), noted).catch((error: unknown) => {
      if (!(error instanceof LakeError && error.code === 'transaction-empty')) throw error;
      // Nothing had to be changed.
      return pool.unchanged(branch);
    });
  }
  rejected(error: unknown): void {
    for (const { run } of this.loads.values()) run.rejected(error);
  }
}

/** A shipper drops what is a conflict: what was read by another identity it is to send again. */
const again = (error: unknown): unknown =>
  error instanceof LakeError && error.code === 'upsert-identity-other'
    ? new LakeError('shipment-again', { fault: error.message }, { cause: error })
    : error;
