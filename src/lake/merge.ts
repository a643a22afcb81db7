/**
 * Merges a branch into another one: three-way by object against the nearest common ancestor (rules in commit.ts).
 *
 * The base: of one best common ancestor, its objects. Of several (the branches were merged into each other crosswise) those ancestors merged with each other over
 * *their* base, again and again as git's recursive merge does: any single one of them would make a change that the other side has already taken, or taken back,
 * look new. The zero commit is the root of everything, so there always is a base.
 */
import { LakeError } from '../errors.ts';
import { mergedBase, planMerge, type Changes } from './commit.ts';
import { ancestors, commonAncestors } from './history.ts';
import { base62, zeroId } from './ksuid.ts';
import type { Id } from './lake.types.ts';
import { ObjectList } from './object-list.ts';
import type { PoolStore } from './pool-store.ts';

/** Crosswise merges on top of each other that are resolved exactly; beyond, the newest common ancestor alone is the base. */
const crossingsMax = 64;
const namedObjectsMax = 20;

/** What a merge does to the target. `childTip` becomes the second parent of its commit. */
interface Merge { readonly changes: Changes; readonly childTip: Id }

/** @throws branch-not-found, merge-empty, merge-conflict */
export const prepareMerge = async (store: PoolStore, target: string, child: string): Promise<Merge> => {
  const childTip = store.branch(child).commit, targetTip = store.branch(target).commit;
  const bases = await commonAncestors(store.commit, targetTip, childTip);
  const [base, targetList, childList] = [await baseList(store, bases, 0), await store.list(targetTip), await store.list(childTip)];
  const { changes, deletedTwice } = planMerge(base, targetList, childList);
  if (deletedTwice.length > 0) {
    const ids = new Set(deletedTwice.map((e) => e.id));
    const rewritten = new Set([...await rewrittenSince(store, targetTip, bases, ids), ...await rewrittenSince(store, childTip, bases, ids)]);
    if (rewritten.size > 0) throw new LakeError('merge-conflict', { child, target, objects: objectNames([...rewritten]) }, { details: { object_ids: [...rewritten].map((id) => `0x${id}`) } });
  }
  if (changes.adds.length === 0 && changes.removes.length === 0) throw new LakeError('merge-empty', { child, target });
  return { changes, childTip };
};

/** Ids in base 62 for an error text, the first twenty of them. */
export const objectNames = (ids: readonly Id[]): string =>
  ids.slice(0, namedObjectsMax).map(base62).join(', ') + (ids.length > namedObjectsMax ? ` and ${ids.length - namedObjectsMax} more` : '');

const baseList = async (store: PoolStore, bases: readonly Id[], depth: number): Promise<ObjectList> => {
  let list = bases.length > 0 ? await store.list(bases[0]!) : ObjectList.empty(store.order);
  if (depth >= crossingsMax) return list;
  for (const other of bases.slice(1)) {
    const below = await baseList(store, await commonAncestors(store.commit, bases[0]!, other), depth + 1);
    list = mergedBase(below, list, await store.list(other));
  }
  return list;
};

/** Those of the objects that a commit of this side since the bases replaced by others. A merge commit's own deletes come from commits that are walked too. */
const rewrittenSince = async (store: PoolStore, tip: Id, bases: readonly Id[], ids: ReadonlySet<Id>): Promise<ReadonlySet<Id>> => {
  const found = new Set<Id>();
  const heights = bases.map((id) => (id === zeroId ? 0 : store.commit(id)!.height));
  for await (const commit of ancestors(store.commit, tip, { heightMin: Math.min(...heights), stopAt: new Set(bases) })) {
    if (commit.secondParent || commit.adds.length === 0) continue;
    for (const id of commit.deletes) if (ids.has(id)) found.add(id);
  }
  return found;
};
