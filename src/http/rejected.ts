/** Faulty records of a load that a pool of their own takes: which pool, and their commit in it. */
import { LakeError } from '../errors.ts';
import type { FaultRule } from '../formats/faults/faults.ts';
import { checkTip } from '../lake/commits/tip-check.ts';
import type { CommitNote, Id, Pool } from '../lake/lake.types.ts';
import type { LoadReply } from '../workers/pool.types.ts';
import { checkNeed, poolNamed } from './access/access.ts';
import { standing } from './access/roles.ts';
import { rejectedRetry } from './idempotency.ts';
import type { Call } from './route.ts';

const rejectedBranch = 'main';

/**
 * The pool that takes faulty records; undefined: none was named. @throws rejected-alone, rejected-same, pool-not-found,
 * auth-role
 */
export const rejectsOf = (
  {
    service: { lake, access },
    who,
    audit,
    query: { rejected },
  }: Pick<Call<unknown, { readonly rejected?: string }>, 'service' | 'who' | 'audit' | 'query'>,
  target: Pool,
  errors: FaultRule | undefined,
): Pool | undefined => {
  if (rejected === undefined) return undefined;
  if (errors !== 'skip') throw new LakeError('rejected-alone', { pool: rejected });
  if (access && who)
    checkNeed('writer of pool', who, { reference: rejected, found: poolNamed(lake, rejected) }, (refusal) => {
      audit?.refused(refusal);
    });
  const pool = lake.pool(rejected);
  pool.branch(rejectedBranch);
  if (pool.config.id === target.config.id) throw new LakeError('rejected-same', { pool: rejected });
  return pool;
};

/**
 * The commit of the faulty records, which comes before that of the others: what a crash leaves between the two, the
 * request that is sent again under its key finds done. Undefined where there are none.
 */
export const commitRejected = async (
  { service: { lake }, who }: Pick<Call, 'service' | 'who'>,
  outcome: LoadReply,
  {
    into,
    pool,
    branch,
    noted: { author, terms },
  }: { readonly into: Pool; readonly pool: Pool; readonly branch: string; readonly noted: CommitNote },
): Promise<Id | undefined> => {
  const { rejected = [] } = outcome;
  if (rejected.length === 0) return undefined;
  if (terms?.ifTip) checkTip(terms.ifTip, pool.branch(branch).commit);
  const retry = terms?.retry && rejectedRetry(terms.retry);
  const before = retry && lake.retried(retry.key);
  const made = await outcome.taken(async () =>
    before
      ? undefined
      : into.load(rejectedBranch, rejected, {
          ...(author !== undefined && { author }),
          body: `faulty records of a load into ${pool.config.name}@${branch}`,
          terms: { ...(retry && { retry }), ...standing(who, into.config) },
        }),
  );
  return made?.commit ?? before?.commit;
};
