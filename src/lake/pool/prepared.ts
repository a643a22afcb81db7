/** Work on a branch that was prepared outside of its pool's queue, for a job of its own or as part of a transaction. */
import { LakeError } from '../../errors.ts';
import type { PartTask, RewriteCause } from '../../../machines/pool.events.ts';
import { checkIdentity } from '../commits/identity-check.ts';
import { base62 } from '../ksuid.ts';
import type { Id, Identity, ObjectMeta, PrepareRewrite, Snapshot } from '../lake.types.ts';
import type { ObjectList } from '../objects/list.ts';
import type { PoolStore } from './store.ts';

/** `objects`: what its commit brings; `written`: those of them that were made for it. */
export interface Prepared<T = PartTask> {
  readonly task: T;
  readonly objects: readonly ObjectMeta[];
  readonly written: readonly ObjectMeta[];
  /** What was read may be vacuumed from then on. */
  readonly release: () => void;
}

/** Objects of a branch that are to be replaced. */
export interface RewriteTerms {
  readonly branch: string;
  readonly cause: RewriteCause;
  readonly vectors: boolean;
  /** The branch must have these. */
  readonly wanted?: readonly Id[];
  /** Come with it, whatever is prepared. */
  readonly brings?: readonly ObjectMeta[];
  /** Which record of a body counts was decided by it: another one may have come since, also while a load was staged. */
  readonly identity?: Identity | undefined;
}
interface Opening {
  readonly store: PoolStore;
  open(commit: Id): Promise<{ readonly snapshot: Snapshot; readonly list: ObjectList }>;
}

/** Prepares a rewrite on what the branch has now. @throws transaction-empty, object-not-found, upsert-identity-other */
export const prepareRewrite = async (
  { store, open }: Opening,
  { branch, cause, vectors, wanted = [], brings = [], identity }: RewriteTerms,
  prepare: PrepareRewrite,
): Promise<Prepared> => {
  const { snapshot, list } = await open(store.branch(branch).commit);
  const release = (): void => {
    snapshot.release();
  };
  try {
    // Nothing is prepared in vain, or found to have nothing to change; its commit looks again.
    if (identity) checkIdentity(store.config, identity);
    for (const id of wanted) mustHave(store, list, id);
    const { removes, adds, parts } = await prepare(snapshot);
    const objects = [...adds, ...brings];
    if (removes.length === 0 && objects.length === 0) throw new LakeError('transaction-empty');
    const task: PartTask = {
      kind: 'rewrite',
      branch,
      cause,
      removes,
      adds: objects.map((o) => o.id),
      ...(parts && brings.length === 0 && { parts }),
      ...(cause === 'upsert' && { since: snapshot.commit }),
      ...(brings.length > 0 && { loads: true as const }),
      vectors,
    };
    return { task, objects, written: adds, release };
  } catch (error) {
    release();
    throw error;
  }
};
const mustHave = (store: PoolStore, list: ObjectList, id: Id): void => {
  const entry = store.entry(id);
  if (!entry || !list.has(entry)) throw new LakeError('object-not-found', { id: base62(id) });
};
