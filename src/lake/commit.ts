/**
 * What a commit does to the objects of a branch, as pure functions: nothing here reads or writes anything.
 *
 * Merge is three-way by object: what the child added and deleted since the base is done to the target. Rules:
 * - An object that the target already has is not added again; one that it never had is not deleted: no change, no conflict.
 * - Both sides deleted the same object: the same outcome, unless one of them *rewrote* it (a delete by filter or a compaction puts the surviving rows into new
 *   objects): the surviving rows would then come twice, or rows that one side deleted would come back. That is a conflict that names the objects.
 */
import { type ObjectEntry, type ObjectList, difference } from './object-list.ts';

/** Objects that a commit removes and adds. A marker that changes is the old entry removed and the new one added. */
export interface Changes { readonly removes: readonly ObjectEntry[]; readonly adds: readonly ObjectEntry[] }

/** What a merge would change in the target. */
interface MergePlan {
  readonly changes: Changes;
  /** Deleted on both sides since the base: a conflict if a side rewrote one. */
  readonly deletedTwice: readonly ObjectEntry[];
}

/** Does to the target what the child did since the base. */
export const planMerge = (base: ObjectList, target: ObjectList, child: ObjectList): MergePlan => {
  const { adds, removes } = difference(base, child);
  return {
    changes: { adds: adds.filter((e) => !target.has(e)), removes: removes.filter((e) => target.has(e)) },
    deletedTwice: removes.filter((e) => !target.has(e)),
  };
};

/** The base of a criss-cross history: the best common ancestors merged with each other, conflicts counting as done. */
export const mergedBase = (below: ObjectList, first: ObjectList, second: ObjectList): ObjectList => {
  const { removes, adds } = planMerge(below, first, second).changes;
  return first.change(removes, adds);
};

/** Undoes a commit where it still applies: removes what it added and is still there, adds what it deleted and is gone. */
export const planRevert = (tip: ObjectList, commit: { readonly adds: readonly ObjectEntry[]; readonly deletes: readonly ObjectEntry[] }): Changes => ({
  removes: commit.adds.filter((e) => tip.has(e)),
  adds: commit.deletes.filter((e) => !tip.has(e)),
});
