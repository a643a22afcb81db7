/**
 * The way of a load from its request to its commit: the one that every endpoint takes whose body is records, whatever
 * protocol it speaks.
 */
import { LakeError } from '../errors.ts';
import type { BodyForm, UpsertForm } from '../formats/format.types.ts';
import type { ContentCoding } from '../formats/codings/encoding.ts';
import type { InputName } from '../formats/formats.ts';
import type { CommitNote, CommitResult as Made, Id, Pool, PoolConfig } from '../lake/lake.types.ts';
import type { LoadOutcome, LoadReply, LoadRequest } from '../workers/pool.types.ts';
import { type LoadBody, loadBody } from './bodies/body.ts';
import { type Pace, paceOf } from './connections/pace.ts';
import { checkProtection } from '../lake/commits/tip-check.ts';
import { standing } from './access/roles.ts';
import { commitOnce } from './idempotency.ts';
import type { LoadStaged } from './bodies/load.types.ts';
import { commitRejected } from './rejected.ts';
import type { Call } from './route.ts';
import type { LoadRun } from './runs.ts';

/** Where a load goes, how its body is read, and what its commit says. */
export interface WantedLoad {
  readonly pool: Pool;
  readonly branch: string;
  readonly format: InputName | 'auto';
  readonly form?: BodyForm;
  /** In the order in which they were applied. */
  readonly contentCodings: readonly ContentCoding[];
  readonly note: CommitNote;
  /** Takes the records that `form` says are skipped, in a commit of their own. */
  readonly rejects?: Pool | undefined;
  /** Its records replace those of the same identity. */
  readonly upsert?: UpsertForm | undefined;
}
/** What became of it; `outcome` is absent where the commit had been made before. */
export interface LoadDone {
  readonly commit: Id;
  /** The commit of the records that were skipped. */
  readonly rejected?: Id;
  readonly outcome?: LoadOutcome;
}

/**
 * Reads the request's body into a commit. @throws branch-not-found, whatever is wrong with the body or its headers, and
 * what the commit is refused for
 */
export const loadRequest = async (call: LoadCall, wanted: WantedLoad): Promise<LoadDone> => {
  const { service } = call;
  const { pool, branch, note, rejects, upsert } = wanted;
  const { run, read, discard } = beginLoad(call, wanted);
  let done: Pick<LoadDone, 'outcome' | 'rejected'> = {};
  const make = async (terms: () => CommitNote | Promise<CommitNote>): Promise<Id> => {
    const outcome = await read();
    done = { outcome };
    const commit = async (): Promise<Made> => {
      const noted = terms();
      const given = noted instanceof Promise ? await noted : noted;
      return run.commit(() =>
        rejects || upsert ? withOthers(outcome, given) : pool.load(branch, outcome.objects, given),
      );
    };
    return made(call, await outcome.settled(commit()));
  };
  const withOthers = async (outcome: LoadReply, noted: CommitNote): Promise<Made> => {
    const rejected = rejects && (await commitRejected(call, outcome, { into: rejects, pool, branch, noted }));
    if (rejected !== undefined) done = { outcome, rejected };
    if (!upsert) return pool.load(branch, outcome.objects, noted);
    const keys = [...outcome.objects, ...(outcome.gone ?? [])];
    return await pool
      .upsert(branch, outcome.objects, service.workers.prepareUpsert(keys, upsert.identity), {
        ...noted,
        terms: { ...noted.terms, identity: upsert.identity },
      })
      .catch((error: unknown) => {
        // What was to go is gone: sent again, it is done as well.
        if (!isEmpty(error)) throw error;
        return pool.unchanged(branch, noted.terms);
      });
  };
  try {
    const commit = await commitOnce(call, { pool, branch }, note, make, discard);
    run.committed(commit);
    return { commit, rejected: done.rejected, outcome: done.outcome };
  } catch (error) {
    run.rejected(error);
    throw error;
  }
};

const isEmpty = (error: unknown): boolean => error instanceof LakeError && error.code === 'transaction-empty';

/** Reads the request's body for a transaction to come. @throws stages-full, pool-not-found, and what is wrong with the body */
export const stageRequest = async (call: LoadCall, wanted: WantedLoad): Promise<LoadStaged> => {
  const { pool, branch, upsert } = wanted;
  const { run, read } = beginLoad(call, wanted);
  try {
    const outcome = await read();
    const { objects, gone = [] } = outcome;
    const settled = (commit: Promise<Made>): Promise<void> =>
      outcome.settled(commit).then(
        ({ commit: id }) => {
          run.committed(id);
        },
        (error: unknown) => {
          run.rejected(error);
        },
      );
    try {
      // It may have been deleted meanwhile: nothing waits from here until its deletion is heard of.
      call.service.lake.pool(`0x${pool.config.id}`);
      const { id, untilMs, commit } = call.service.staged.add({
        pool: pool.config,
        branch,
        objects,
        gone,
        ...(upsert && { identity: upsert.identity }),
        signal: run.signal,
      });
      void settled(commit);
      return { id, untilMs, outcome };
    } catch (error) {
      await settled(Promise.reject(error as Error));
      throw error;
    }
  } catch (error) {
    run.rejected(error);
    throw error;
  }
};

type LoadCall = Pick<Call, 'service' | 'request' | 'who' | 'sent' | 'id' | 'whenLeft'>;
/** A load up to its objects. `discard` reads what is left of a body that nobody needs. */
interface LoadBegun {
  readonly run: LoadRun;
  readonly read: () => Promise<LoadReply>;
  readonly discard: () => Promise<void>;
}
const beginLoad = (call: LoadCall, wanted: WantedLoad): LoadBegun => {
  const { pool, branch, rejects } = wanted;
  const { service, request, who, sent, id } = call;
  // Before anybody sends a long body for nothing; the pool's job looks again.
  checkProtection(pool.branch(branch), 'load', standing(who, pool.config));
  const length = request.headers['content-length'];
  const pace = paceOf(request.raw, 'body', service.config);
  const run = service.runs.beginLoad({
    id,
    owner: who?.name,
    poolId: pool.config.id,
    pool: pool.config.name,
    branch,
    bytesTotal: length === undefined ? undefined : Number(length),
    whenLeft: (left) => {
      call.whenLeft(left);
    },
  });
  service.tracing?.note(request, { load: run });
  const body = loadBody(request.raw, {
    idleMsMax: service.config.bodyIdleMsMax,
    pace,
    held: service.loadBodies,
    run,
    sent,
    told: (bytes) => {
      run.watch.took(bytes);
    },
  });
  const read = (): Promise<LoadReply> =>
    service.workers.load(
      new AskedLoad({ run, body, pace }, wanted, rejects && { pool: rejects.config, ms: Date.now(), branch }),
    );
  return { run, read, discard: () => body.discard() };
};
/** A load as the workers are asked for it. What few of them need is made for those who ask. */
class AskedLoad implements LoadRequest {
  readonly pool: PoolConfig;
  readonly format: WantedLoad['format'];
  readonly contentCodings: WantedLoad['contentCodings'];
  readonly form: BodyForm | undefined;
  readonly rejects: LoadRequest['rejects'];
  readonly client: Pace;
  private readonly run: LoadRun;
  private readonly source: LoadBody;

  constructor(
    { run, body, pace }: { readonly run: LoadRun; readonly body: LoadBody; readonly pace: Pace },
    { pool, format, contentCodings, form, upsert }: WantedLoad,
    rejects: LoadRequest['rejects'],
  ) {
    this.pool = pool.config;
    this.format = format;
    this.contentCodings = contentCodings;
    this.form = upsert ? { ...form, upsert } : form;
    this.rejects = rejects;
    this.client = pace;
    this.run = run;
    this.source = body;
  }

  get watch(): LoadRun['watch'] {
    return this.run.watch;
  }
  get body(): LoadRequest['body'] {
    return this.source.body;
  }
  get whole(): LoadRequest['whole'] {
    return this.source.whole;
  }
  get begun(): LoadRequest['begun'] {
    return this.source.begun;
  }
  get signal(): AbortSignal {
    return this.run.signal;
  }
}

/** The commit; a trace is told when it was made. */
export const made = ({ service, request }: Pick<Call, 'service' | 'request'>, { commit, marks }: Made): Id => {
  if (marks) service.tracing?.note(request, { job: marks });
  return commit;
};
