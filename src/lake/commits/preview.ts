/** What a merge, a revert or a delete by filter would do, without doing it. */
import { LakeError } from '../../errors.ts';
import type { Changes } from './commit.ts';
import type { Combination, ObjectMeta, Preview, TipTerms } from '../lake.types.ts';
import { prepareMerge } from './merge.ts';
import { preparePick } from './pick.ts';
import type { ObjectEntry } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import { branchOf } from './records.ts';
import { prepareRevert } from './revert.ts';
import { objectMeta } from './snapshot.ts';
import { checkTip } from './tip-check.ts';

/** Refusals that a preview shows instead of being refused itself. */
const shown: ReadonlySet<string> = new Set([
  'merge-empty',
  'merge-conflict',
  'revert-empty',
  'pick-empty',
  'pick-conflict',
  'pick-vacuumed',
  'revert-conflict',
  'revert-rewritten',
  'revert-vacuumed',
  'transaction-empty',
]);

/** What a merge, a revert or a pick would do by objects. */
export const previewObjects = (store: PoolStore, combination: Combination, terms: TipTerms): Promise<Preview> =>
  previewOf(store, branchOf(combination), terms, async () => changed(await changesOf(store, combination)));
const changesOf = async (store: PoolStore, combination: Combination): Promise<Changes> => {
  switch (combination.kind) {
    case 'merge':
      return (await prepareMerge(store, combination.target, combination.child)).changes;
    case 'revert':
      return prepareRevert(store, combination.branch, combination.commit);
    case 'pick':
      return preparePick(store, combination.branch, combination);
  }
};

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
