/**
 * Objects that may hold the same rows, of those that a merge or a revert would have beside each other. Records are not compared: that rows of one object went into another is
 * enough (lineage.ts).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sides } from './commit.ts';
import type { Id } from './lake.types.ts';
import type { Lineage } from './lineage.ts';
import type { ObjectEntry } from './object-list.ts';

const lookUpsPerTurn = 512;

/** Objects of one side that may share rows with others, and these others. */
interface Kin { readonly ids: readonly Id[]; readonly others: readonly Id[] }

/** The kin of `ids`, which share no rows with each other, among those for which `other` holds. `relatives`: theirs, if they are known. */
const kin = async (lineage: Lineage, ids: readonly Id[], other: (id: Id) => boolean, relatives?: ReadonlySet<Id>): Promise<Kin> => {
  const others: Id[] = [];
  let seen = 0;
  for (const id of relatives ?? await lineage.relatives(ids)) {
    if (other(id)) others.push(id);
    if (++seen % lookUpsPerTurn === 0) await nextTurn();
  }
  if (others.length === 0) return { ids: [], others };
  const back = await lineage.relatives(others);
  return { ids: ids.filter((id) => back.has(id)), others };
};

/** Objects with rows that would come twice, or that a side deleted and that would be there: those that are gone on both sides, if it is about any, else those that would be beside each other. */
export interface Clash { readonly gone: readonly Id[]; readonly beside: readonly Id[] }

/** `isOwn`: of an object that is neither one of `adds` nor of `gone`. */
export const clashOf = async (lineage: Lineage, { adds, gone }: Pick<Sides, 'adds' | 'gone'>, isOwn: (id: Id) => boolean): Promise<Clash> => {
  const goneIds = new Set(idsOf(gone)), addIds = idsOf(adds), ofAdds = await lineage.relatives(addIds);
  const rewritten = await kin(lineage, [...goneIds], isOwn), back = await kin(lineage, addIds, (id) => goneIds.has(id), ofAdds);
  const beside = await kin(lineage, addIds, isOwn, ofAdds);
  return { gone: [...new Set([...rewritten.ids, ...back.others])], beside: [...beside.ids, ...beside.others] };
};

/** The same of two lists. `isVirtual`: the base is no commit's list but several merged with each other, and may hold rows twice itself. */
export const clashOfSides = async (lineage: Lineage, sides: Sides, isVirtual: boolean): Promise<Clash> => {
  const [few, many] = sides.adds.length <= sides.own.length ? [sides.adds, sides.own] : [sides.own, sides.adds], others = new Set(idsOf(many));
  const clash = await clashOf(lineage, { adds: few, gone: sides.gone }, (id) => others.has(id));
  if (!isVirtual) return clash;
  const removed = new Set(idsOf(sides.removed)), twice = await kin(lineage, idsOf(sides.removes), (id) => removed.has(id));
  return { gone: [...new Set([...clash.gone, ...twice.ids, ...twice.others])], beside: clash.beside };
};

/** Objects that may hold rows of these, and these, as far as one list has them and the other does not. */
export const differing = async (lineage: Lineage, ids: readonly Id[], has: (id: Id) => readonly [boolean, boolean]): Promise<readonly Id[]> => {
  const all = new Set<Id>(ids);
  for (const id of ids) for (const each of await lineage.relatives([id])) all.add(each);
  return [...all].filter((id) => {
    const [one, other] = has(id);
    return one !== other;
  });
};

const idsOf = (entries: readonly ObjectEntry[]): readonly Id[] => entries.map((e) => e.id);
