/** Every kind of job that a pool does in its turn. */
import type { PoolJobKind, PoolTask } from '../../../machines/pool.events.ts';
import { merge, pick, revert } from './combinations.ts';
import type { CommitKind, OtherKind } from './job.ts';
import { load } from './loads.ts';
import { createBranch, createTag, deleteBranch, deleteTag, protect, reset } from './names.ts';
import { deleteObjects, rewrite } from './rewrites.ts';
import { transaction } from './transaction.ts';
import { vacuum } from './vacuum.ts';
import { vectors } from './vectors.ts';

const jobKinds: { readonly [K in PoolJobKind]: CommitKind<K> | OtherKind<K> } = {
  load,
  delete: deleteObjects,
  rewrite,
  vectors,
  merge,
  revert,
  pick,
  'create branch': createBranch,
  'delete branch': deleteBranch,
  reset,
  protect,
  'create tag': createTag,
  'delete tag': deleteTag,
  vacuum,
  transaction,
};

/** What is known of a job's kind. */
export const kindOf = ({ kind }: PoolTask): CommitKind<PoolJobKind> | OtherKind<PoolJobKind> =>
  jobKinds[kind] as CommitKind<PoolJobKind> | OtherKind<PoolJobKind>;
/** Their names. */
export const poolJobKinds = Object.keys(jobKinds) as readonly PoolJobKind[];
