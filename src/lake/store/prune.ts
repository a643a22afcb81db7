/**
 * Takes away what nobody needs to open the lake: all bases but the newest two, and the segments before them.
 *
 * Bases go first: who has found one in an old listing asks for it, and looks again when it is not there.
 */
import type { Bucket } from '../../store/bucket.ts';
import { numberOf } from './segments.ts';

/** The second newest is for who began to open the lake before the newest one was there. */
const basesKept = 2;

export const pruneLog = async (bucket: Bucket, graceMs: number): Promise<void> => {
  const bases: { readonly key: string; readonly segment: number }[] = [];
  for await (const { key } of bucket.list('base/')) if (numberOf(key) > 0) bases.push({ key, segment: numberOf(key) });
  bases.sort((a, b) => a.segment - b.segment);
  if (bases.length < basesKept) return;
  const oldest = bases.at(-basesKept)!.segment;
  for (const { key, segment } of bases) if (segment < oldest) await bucket.delete(key);
  for await (const { key, modifiedMs } of bucket.list('log/')) {
    if (numberOf(key) === 0) continue;
    if (numberOf(key) > oldest) return;
    if (modifiedMs < Date.now() - graceMs) await bucket.delete(key);
  }
};
