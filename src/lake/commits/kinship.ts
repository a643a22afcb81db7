/**
 * Objects that may hold the same rows, of those that a merge or a revert would have beside each other. Records are not
 * compared: that rows of one object went into another is enough (lineage.ts).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sides } from './commit.ts';
import type { Id } from '../lake.types.ts';
import type { Lineage } from './lineage.ts';
import type { ObjectEntry } from '../objects/list.ts';

const lookUpsPerTurn = 512;

/** Objects of one side that may share rows with others, and these others. */
export interface Kin {
  readonly ids: readonly Id[];
  readonly others: readonly Id[];
}

/**
 * The kin of `ids`, which share no rows with each other, among those for which `other` holds. `relatives`: theirs, if
 * they are known.
 */
const kin = async (
  lineage: Lineage,
  ids: readonly Id[],
  other: (id: Id) => boolean,
  relatives?: ReadonlySet<Id>,
): Promise<Kin> => {
  const others: Id[] = [];
  let seen = 0;
  for (const id of relatives ?? (await lineage.relatives(ids))) {
    if (other(id)) others.push(id);
    if (++seen % lookUpsPerTurn === 0) await nextTurn();
  }
  if (others.length === 0) return { ids: [], others };
  const back = await lineage.relatives(others);
  return { ids: ids.filter((id) => back.has(id)), others };
};

/** Objects of base and sides that stand in the way. */
export interface Clash {
  /** Pairs of what is gone, or lost, and what has rows of it. */
  readonly gone: Kin;
  /** Would be beside each other with the same rows. */
  readonly beside: Kin;
}

/** `isOwn`: of an object that is neither one of `adds` nor of `gone`. */
export const clashOf = async (
  lineage: Lineage,
  { adds, gone }: Pick<Sides, 'adds' | 'gone'>,
  isOwn: (id: Id) => boolean,
): Promise<Clash> => {
  const goneIds = new Set(idsOf(gone));
  const addIds = idsOf(adds);
  const ofAdds = await lineage.relatives(addIds);
  const stay = await kin(lineage, [...goneIds], isOwn);
  const come = await kin(lineage, addIds, (id) => goneIds.has(id), ofAdds);
  return {
    gone: joined(stay, { ids: come.others, others: come.ids }),
    beside: await kin(lineage, addIds, isOwn, ofAdds),
  };
};

/**
 * The same of two lists. `isVirtual`: the base is no commit's list but several merged with each other, and may hold
 * rows twice itself.
 */
export const clashOfSides = async (lineage: Lineage, sides: Sides, isVirtual: boolean): Promise<Clash> => {
  const [few, many] = sides.adds.length <= sides.own.length ? [sides.adds, sides.own] : [sides.own, sides.adds];
  const others = new Set(idsOf(many));
  const clash = await clashOf(lineage, { adds: few, gone: sides.gone }, (id) => others.has(id));
  if (!isVirtual) return clash;
  // Each side deleted another one of two with the same rows, and kept the rows.
  const removed = new Set(idsOf(sides.removed));
  const lost = await kin(lineage, idsOf(sides.removes), (id) => removed.has(id));
  return { gone: joined(clash.gone, lost), beside: clash.beside };
};

/** The objects to be named: those that are gone, if it is about any, else those that would be beside each other. */
export const named = ({ gone, beside }: Clash): readonly Id[] =>
  gone.ids.length > 0 ? gone.ids : [...beside.ids, ...beside.others];

/** Objects that may hold rows of both parts of a pair, as far as one list has them and the other does not. */
export const differing = async (
  lineage: Lineage,
  pair: Kin,
  has: (id: Id) => readonly [boolean, boolean],
): Promise<readonly Id[]> => {
  const near = await circle(lineage, pair.ids);
  const far = await circle(lineage, pair.others);
  return [...near].filter((id) => {
    if (!far.has(id)) return false;
    const [one, other] = has(id);
    return one !== other;
  });
};
/** The objects and their relatives. They may share rows with each other. */
const circle = async (lineage: Lineage, ids: readonly Id[]): Promise<ReadonlySet<Id>> => {
  const all = new Set<Id>(ids);
  for (const id of ids) for (const each of await lineage.relatives([id])) all.add(each);
  return all;
};

const joined = (one: Kin, other: Kin): Kin => ({
  ids: [...new Set([...one.ids, ...other.ids])],
  others: [...new Set([...one.others, ...other.others])],
});
const idsOf = (entries: readonly ObjectEntry[]): readonly Id[] => entries.map((e) => e.id);
