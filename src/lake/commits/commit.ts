/**
 * What a commit does to the objects of a branch, as pure functions: nothing here reads or writes anything.
 *
 * A merge is three-way by object: what the child added and deleted since the base is done to the target. A revert is
 * the merge of a commit's parent into the branch with the commit itself as the base. Every row is then where it
 * belongs, once - on both sides it stays, on one side it comes or goes as that side wanted - unless rows of one object
 * went into others meanwhile (`Sides` says which objects are looked at, kinship.ts how).
 */
import { type ObjectEntry, type ObjectList, difference } from '../objects/list.ts';

/** Objects that a commit removes and adds. A marker that changes is the old entry removed and the new one added. */
export interface Changes {
  readonly removes: readonly ObjectEntry[];
  readonly adds: readonly ObjectEntry[];
}

/**
 * What differs between base, target and child. Rows in two of `adds`, `own` and `gone` are a conflict: they would come
 * twice (`adds` and `own`), or come or stay although a side deleted them (`gone` and one of the others).
 */
export interface Sides {
  /** The child's alone: they come. */
  readonly adds: readonly ObjectEntry[];
  /** The target's alone: they stay. */
  readonly own: readonly ObjectEntry[];
  /** The base's alone: gone on both sides. */
  readonly gone: readonly ObjectEntry[];
  /** In base and target: the child deleted them, they go. */
  readonly removes: readonly ObjectEntry[];
  /** In base and child: the target deleted them. */
  readonly removed: readonly ObjectEntry[];
}

/** Does to the target what the child did since the base: `adds` come, `removes` go. */
export const planMerge = (base: ObjectList, target: ObjectList, child: ObjectList): Sides => {
  const theirs = difference(base, child);
  const ours = difference(base, target);
  return {
    adds: theirs.adds.filter((e) => !target.has(e)),
    own: ours.adds.filter((e) => !child.has(e)),
    gone: theirs.removes.filter((e) => !target.has(e)),
    removes: theirs.removes.filter((e) => target.has(e)),
    removed: ours.removes.filter((e) => child.has(e)),
  };
};

/**
 * Undoes a commit where it still applies: removes what it added and is still there, adds what it deleted and is gone.
 * `gone`: what it added and is gone.
 */
export const planRevert = (
  tip: ObjectList,
  commit: { readonly adds: readonly ObjectEntry[]; readonly deletes: readonly ObjectEntry[] },
): Pick<Sides, 'adds' | 'removes' | 'gone'> => ({
  removes: commit.adds.filter((e) => tip.has(e)),
  adds: commit.deletes.filter((e) => !tip.has(e)),
  gone: commit.adds.filter((e) => !tip.has(e)),
});
