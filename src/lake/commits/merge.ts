/**
 * Merges a branch or a tag into a branch: three-way by object against the nearest common ancestor (rules in commit.ts).
 *
 * The base: of one best common ancestor, its objects. Of several (the branches were merged into each other crosswise)
 * those ancestors merged with each other over *their* base, again and again as git's recursive merge does: any single
 * one of them would make a change that the other side has already taken, or taken back, look new. The zero commit is
 * the root of everything, so there always is a base.
 */
import { LakeError } from '../../errors.ts';
import { planMerge, type Changes } from './commit.ts';
import { commonAncestors } from './history.ts';
import { clashOfSides, differing, type Kin, named } from './kinship.ts';
import { base62 } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { ObjectList } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';

/**
 * Crosswise merges on top of each other that are resolved exactly; beyond, the newest common ancestor alone is the
 * base.
 */
const crossingsMax = 64;
const namedObjectsMax = 20;

/** What a merge does to the target. `childTip` becomes the second parent of its commit. */
interface Merge {
  readonly changes: Changes;
  readonly childTip: Id;
}

/** @throws branch-not-found, merge-empty, merge-conflict */
export const prepareMerge = async (store: PoolStore, target: string, child: string): Promise<Merge> => {
  const childTip = store.tip(child);
  const targetTip = store.branch(target).commit;
  await store.lineage.ready();
  const bases = await commonAncestors(store.commit, targetTip, childTip);
  const base = await baseOf(store, bases, 0);
  const targetList = await store.list(targetTip);
  const childList = await store.list(childTip);
  const sides = planMerge(base.list, targetList, childList);
  const clash = await clashOfSides(store.lineage, sides, bases.length > 1);
  const disputed: Id[] = [];
  for (const pair of base.disputed)
    disputed.push(
      ...(await differing(store.lineage, pair, (id) => [holds(store, targetList, id), holds(store, childList, id)])),
    );
  const clashing = named(clash);
  const objects = clashing.length > 0 ? clashing : [...new Set(disputed)];
  if (objects.length > 0)
    throw new LakeError(
      'merge-conflict',
      { child, target, objects: objectNames(objects) },
      { details: { object_ids: objects.map((id) => `0x${id}`) } },
    );
  const { adds, removes } = sides;
  if (adds.length === 0 && removes.length === 0) throw new LakeError('merge-empty', { child, target });
  return { changes: { adds, removes }, childTip };
};

/** Ids in base 62 for an error text, the first twenty of them. */
export const objectNames = (ids: readonly Id[]): string =>
  ids.slice(0, namedObjectsMax).map(base62).join(', ') +
  (ids.length > namedObjectsMax ? ` and ${ids.length - namedObjectsMax} more` : '');

/**
 * `disputed`: pairs of objects about whose rows the ancestors themselves were at odds. What became of them is clear
 * only where both sides have the same of them.
 */
interface Base {
  readonly list: ObjectList;
  readonly disputed: readonly Kin[];
}

const baseOf = async (store: PoolStore, bases: readonly Id[], depth: number): Promise<Base> => {
  let list = bases.length > 0 ? await store.list(bases[0]!) : ObjectList.empty(store.order);
  const disputed: Kin[] = [];
  if (depth >= crossingsMax) return { list, disputed };
  for (const [i, other] of bases.slice(1).entries()) {
    const belowBases = await commonAncestors(store.commit, bases[0]!, other);
    const below = await baseOf(store, belowBases, depth + 1);
    const sides = planMerge(below.list, list, await store.list(other));
    const clash = await clashOfSides(store.lineage, sides, i > 0 || belowBases.length > 1);
    disputed.push(...below.disputed, ...(clash.gone.ids.length > 0 ? [clash.gone] : []));
    list = list.change(sides.removes, sides.adds);
  }
  return { list, disputed };
};

const holds = (store: PoolStore, list: ObjectList, id: Id): boolean => {
  const entry = store.entry(id);
  return entry !== undefined && list.has(entry);
};
