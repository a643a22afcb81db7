/**
 * Takes away objects that no commit came to name: what loads had put before their commit, and their service died.
 *
 * Invariants:
 * - Only what was put before this writer's fence, by the store's own clock, is looked at. Whoever put it cannot write
 *   any more, and what a later writer puts is newer: so that one which was overtaken and does not know takes away
 *   nothing of that one's.
 * - What was removed from the lake stays for its time: an object that no row names is looked at again when the bucket
 *   has all removals, and whoever keeps those knows it then.
 */
import type { Bucket } from '../../store/bucket.ts';
import type { Id } from '../lake.types.ts';
import { objectKey } from '../objects/fetched.ts';
import { segmentKey } from './segments.ts';

interface Sweep {
  readonly bucket: Bucket;
  /** Of the fence. */
  readonly segment: number;
  /** Objects put so long before the fence, or longer. */
  readonly graceMs: number;
  /** Whether a row names it, or a commit may come to. */
  readonly isNamed: (id: Id) => boolean;
  /** All that rows name. */
  readonly named: () => Iterable<Id>;
  /** Resolves when the bucket has all that was removed until now. */
  readonly settled: () => Promise<void>;
  /** Objects that were removed and go when their time has come. */
  readonly leaving: () => Iterable<Id>;
  readonly ended: () => boolean;
}
const idPattern = /\/([0-9a-f]{40})$/;
/** Kept in mind at once; each is 40 characters. */
const candidatesMax = 10_000;

/** Answers how many went. */
export const sweepObjects = async (sweep: Sweep): Promise<number> => {
  const { bucket, segment, graceMs, isNamed, ended } = sweep;
  const fenceMs = await putAt(bucket, segmentKey(segment));
  // A fence that is behind a base already: the next start does it.
  if (fenceMs === undefined) return 0;
  let count = 0;
  let candidates: Id[] = [];
  for await (const { key, modifiedMs } of bucket.list('objects/')) {
    if (ended()) return count;
    const id = idPattern.exec(key)?.[1];
    // A store that does not say when it was put leaves it.
    const isOld = modifiedMs > 0 && modifiedMs < fenceMs - graceMs;
    if (id === undefined || key !== objectKey(id) || !isOld || isNamed(id)) continue;
    candidates.push(id);
    if (candidates.length < candidatesMax) continue;
    count += await removeUnnamed(sweep, candidates);
    candidates = [];
  }
  return count + (await removeUnnamed(sweep, candidates));
};
const putAt = async (bucket: Bucket, wanted: string): Promise<number | undefined> => {
  for await (const { key, modifiedMs } of bucket.list(wanted)) if (key === wanted) return modifiedMs;
  return undefined;
};
const removeUnnamed = async (
  { bucket, isNamed, named, settled, leaving, ended }: Sweep,
  ids: readonly Id[],
): Promise<number> => {
  if (ids.length === 0 || ended()) return 0;
  await settled();
  const candidates = new Set(ids);
  for (const id of leaving()) candidates.delete(id);
  // A damaged page can lead a look-up astray; what stands anywhere in the table is named.
  if (candidates.size > 0) for (const id of named()) candidates.delete(id);
  let count = 0;
  for (const id of candidates) {
    if (ended()) return count;
    if (isNamed(id)) continue;
    await bucket.delete(objectKey(id));
    count++;
  }
  return count;
};
