/**
 * Does to a branch what a commit, or all commits between two, did: a merge whose base is the commit before, by the same
 * rules. Of a merge it is what its first parent lacks.
 */
import { LakeError } from '../../errors.ts';
import { planMerge, type Changes } from './commit.ts';
import { clashOfSides, named } from './kinship.ts';
import { base62, parseId, zeroId } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { objectNames, type ThreeWay } from './merge.ts';
import type { PoolStore } from '../pool/store.ts';

/** What is picked: what `to` has otherwise than `from`. */
export interface Picked {
  readonly from: Id;
  readonly to: Id;
}

/**
 * What a text means: a commit in either spelling, against its (first) parent, or two as `A..B`. @throws pick-range,
 * commit-not-found
 */
export const pickedOf = (store: PoolStore, text: string): Picked => {
  const ends = text.split('..');
  const [first, last] = ends.map((end) => parseId(end));
  if (!first || ends.length > 2 || (ends.length === 2 && !last)) throw new LakeError('pick-range', { range: text });
  return last ? { from: first, to: last } : pickedCommit(store, first);
};
/** A commit against its (first) parent. @throws commit-not-found */
const pickedCommit = (store: PoolStore, to: Id): Picked => {
  const commit = to === zeroId ? undefined : store.commit(to);
  if (!commit) throw new LakeError('commit-not-found', { id: base62(to) });
  return { from: commit.parent, to };
};

/** @throws branch-not-found, commit-not-found, pick-vacuumed */
export const sidesOfPick = async (store: PoolStore, branch: string, { from, to }: Picked): Promise<ThreeWay> => {
  const ours = store.branch(branch).commit;
  for (const id of [from, to]) if (!store.hasCommit(id)) throw new LakeError('commit-not-found', { id: base62(id) });
  await store.lineage.ready();
  const base = await store.list(from);
  const sides = planMerge(base, await store.list(ours), await store.list(to));
  const vacuumed = sides.adds.filter(({ id }) => store.vacuumed(id)).map(({ id }) => id);
  if (vacuumed.length > 0) throw pickError('pick-vacuumed', to, vacuumed);
  const objects = named(await clashOfSides(store.lineage, sides, true));
  const fault = objects.length > 0 ? pickError('pick-conflict', to, objects) : undefined;
  return { ours, theirs: to, base, baseCommit: from, sides, ...(fault && { fault }), isExact: true };
};

/** @throws branch-not-found, commit-not-found, pick-empty, pick-vacuumed, pick-conflict */
export const preparePick = async (store: PoolStore, branch: string, picked: Picked): Promise<Changes> => {
  const { sides, fault } = await sidesOfPick(store, branch, picked);
  if (fault) throw fault;
  const { adds, removes } = sides;
  if (adds.length === 0 && removes.length === 0) throw new LakeError('pick-empty');
  return { adds, removes };
};

const pickError = (code: 'pick-vacuumed' | 'pick-conflict', commit: Id, ids: readonly Id[]): LakeError =>
  new LakeError(
    code,
    { id: base62(commit), objects: objectNames(ids) },
    { details: { object_ids: ids.map((id) => `0x${id}`) } },
  );
