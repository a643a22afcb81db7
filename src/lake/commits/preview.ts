/** What a merge, a revert or a delete by filter would do, without doing it. */
import { LakeError } from '../../errors.ts';
import type { Changes } from './commit.ts';
import type { Id, ObjectMeta, Preview, TipTerms } from '../lake.types.ts';
import { prepareMerge } from './merge.ts';
import type { ObjectEntry } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import { prepareRevert } from './revert.ts';
import { objectMeta } from './snapshot.ts';
import { checkTip } from './tip-check.ts';

/** Refusals that a preview shows instead of being refused itself. */
const shown: ReadonlySet<string> = new Set([
  'merge-empty',
  'merge-conflict',
  'revert-empty',
  'revert-conflict',
  'revert-rewritten',
  'revert-vacuumed',
  'transaction-empty',
]);

/** What a merge of branch `child` into `target` would do. */
export const previewMerge = (store: PoolStore, target: string, child: string, terms: TipTerms): Promise<Preview> =>
  previewOf(store, target, terms, async () => changed((await prepareMerge(store, target, child)).changes));
/** What a revert of `commit` on `branch` would do. */
export const previewRevert = (store: PoolStore, branch: string, commit: Id, terms: TipTerms): Promise<Preview> =>
  previewOf(store, branch, terms, async () => changed(await prepareRevert(store, branch, commit)));

interface Effect {
  readonly adds: readonly ObjectMeta[];
  readonly removes: readonly ObjectMeta[];
}
const changed = ({ adds, removes }: Changes): Effect => ({ adds: adds.map(meta), removes: removes.map(meta) });
const meta = (entry: ObjectEntry): ObjectMeta => objectMeta(entry);

/**
 * The effect at the branch's present tip, or why there would be none. @throws branch-not-found, tip-moved,
 * commit-not-found and what else is no refusal of the change itself
 */
export const previewOf = async (
  store: PoolStore,
  branch: string,
  { ifTip }: TipTerms,
  effect: () => Promise<Effect>,
): Promise<Preview> => {
  const tip = store.branch(branch).commit;
  checkTip(ifTip, tip);
  try {
    const { adds, removes } = await effect();
    return {
      tip,
      adds: adds.map(({ id }) => id),
      removes: removes.map(({ id }) => id),
      recordsAdded: recordsOf(adds),
      recordsRemoved: recordsOf(removes),
      conflicts: [],
    };
  } catch (error) {
    if (!(error instanceof LakeError) || !shown.has(error.code)) throw error;
    const { object_ids: conflicts = [] } = error.details as { readonly object_ids?: readonly string[] };
    return {
      tip,
      adds: [],
      removes: [],
      recordsAdded: 0,
      recordsRemoved: 0,
      conflicts: conflicts.map((id) => id.replace(/^0x/, '')),
      refusal: error.message,
    };
  }
};
const recordsOf = (objects: readonly ObjectMeta[]): number => objects.reduce((sum, object) => sum + object.count, 0);
