/** Which rows of a batch are grouped together, one by one, or not at all. */
import { runsOf } from '../../../vectors/runs.ts';
import type { Vector } from '../../../vectors/vector.ts';
import { none } from '../../aggregates/grouping/pair-table.ts';
import { kinds, kindsOf } from './kinds.ts';

/** Whether all rows are of one group, as those of sorted input often are. */
export const isOneGroup = (ids: Uint32Array): boolean => {
  const first = ids[0];
  if (ids[ids.length - 1] !== first) return false;
  for (let i = 1; i < ids.length; i++) if (ids[i] !== first) return false;
  return true;
};

/** A slice for each run has its price. */
const runRowsMin = 512;
/**
 * The ends of runs of equal keys that are so long, on the average, that each is taken as a whole; undefined if there
 * are none.
 */
export const longRuns = (keys: readonly Vector[]): Uint32Array | undefined => {
  const [key] = keys;
  const ends = keys.length === 1 && key!.form === 'dictionary' ? runsOf(key!) : undefined;
  return ends && ends.length * runRowsMin <= key!.length ? ends : undefined;
};

/** Rows of which no key is quiet; undefined for all. */
export const loudRows = (keys: readonly Vector[], length: number): Uint32Array | undefined => {
  const tables = keys.map(kindsOf).filter((t) => t?.includes(kinds.quiet));
  return tables.length === 0
    ? undefined
    : Uint32Array.from({ length }, (_, i) => i).filter((i) => !tables.some((t) => t![i] === kinds.quiet));
};

/** Rows by whether they have a group, and the groups of those that have one. */
interface KnownRows {
  readonly known: Uint32Array;
  readonly groups: Uint32Array;
  readonly others: Uint32Array;
}
/** `ids`: the groups, or none, of the rows that may have one; `maybe` names these in order. */
export const knownAndOthers = (ids: Uint32Array, maybe: Uint32Array, length: number): KnownRows => {
  const known = new Uint32Array(maybe.length);
  const groups = new Uint32Array(maybe.length);
  const others = new Uint32Array(length);
  let n = 0;
  let row = 0;
  let o = 0;
  for (let i = 0; i < maybe.length; i++) {
    const at = maybe[i];
    while (row < at) others[o++] = row++;
    if (ids[i] === none) others[o++] = at;
    else {
      groups[n] = ids[i];
      known[n++] = at;
    }
    row = at + 1;
  }
  while (row < length) others[o++] = row++;
  return { known: known.subarray(0, n), groups: groups.subarray(0, n), others: others.subarray(0, o) };
};
