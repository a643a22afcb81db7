/**
 * Merges a branch or a tag into a branch: three-way by object against the nearest common ancestor (rules in commit.ts).
 *
 * The base: of one best common ancestor, its objects. Of several (the branches were merged into each other crosswise)
 * those ancestors merged with each other over *their* base, again and again as git's recursive merge does: any single
 * one of them would make a change that the other side has already taken, or taken back, look new. The zero commit is
 * the root of everything, so there always is a base.
 */
import { LakeError } from '../../errors.ts';
import { planMerge, type Changes, type Sides } from './commit.ts';
import { commonAncestors } from './history.ts';
import { clashOfSides, differing, type Kin, named } from './kinship.ts';
import { base62, zeroId } from '../ksuid.ts';
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
  const { sides, theirs, fault } = await sidesOfMerge(store, target, child);
  if (fault) throw fault;
  const { adds, removes } = sides;
  if (adds.length === 0 && removes.length === 0) throw mergeEmpty(target, child);
  return { changes: { adds, removes }, childTip: theirs };
};
/** The error of a merge that would change nothing. */
export const mergeEmpty = (target: string, child: string): LakeError => new LakeError('merge-empty', { child, target });

/**
 * The three sides of a merge, a revert or a pick. `fault`: why it is a conflict by objects. `isExact`: the base is one
 * of which nothing is in doubt, so that records can be compared with it.
 */
export interface ThreeWay {
  readonly ours: Id;
  readonly theirs: Id;
  readonly base: ObjectList;
  readonly baseCommit: Id;
  readonly sides: Sides;
  readonly fault?: LakeError;
  readonly isExact: boolean;
}

/** @throws branch-not-found */
export const sidesOfMerge = async (store: PoolStore, target: string, child: string): Promise<ThreeWay> => {
  const theirs = store.tip(child);
  const ours = store.branch(target).commit;
  await store.lineage.ready();
  const bases = await commonAncestors(store.commit, ours, theirs);
  const base = await baseOf(store, bases, 0);
  const targetList = await store.list(ours);
  const childList = await store.list(theirs);
  const sides = planMerge(base.list, targetList, childList);
  const clash = await clashOfSides(store.lineage, sides, bases.length > 1);
  const disputed: Id[] = [];
  for (const pair of base.disputed)
    disputed.push(
      ...(await differing(store.lineage, pair, (id) => [holds(store, targetList, id), holds(store, childList, id)])),
    );
  const clashing = named(clash);
  const objects = clashing.length > 0 ? clashing : [...new Set(disputed)];
  const fault =
    objects.length > 0
      ? new LakeError(
          'merge-conflict',
          { child, target, objects: objectNames(objects) },
          { details: { object_ids: objects.map((id) => `0x${id}`) } },
        )
      : undefined;
  return {
    ours,
    theirs,
    base: base.list,
    baseCommit: bases[0] ?? zeroId,
    sides,
    ...(fault && { fault }),
    isExact: base.disputed.length === 0,
  };
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
  let list = bases.length > 0 ? await store.list(bases[0]) : ObjectList.empty(store.order);
  const disputed: Kin[] = [];
  if (depth >= crossingsMax) return { list, disputed };
  for (const [i, other] of bases.slice(1).entries()) {
    const belowBases = await commonAncestors(store.commit, bases[0], other);
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
