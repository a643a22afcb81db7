/** Which events a principal sees: those of pools that they may read, or could while the pool was there. */
import type { LakeEvent } from '../../lake/lake.types.ts';
import type { LakeServices } from '../../workers/pool.types.ts';
import { mayOnLake, mayOnPool, type Principal } from './roles.ts';

/** Undefined: all events. */
export const eventFilter = (lake: Pick<LakeServices, 'pool'>, principal: Principal): ((event: LakeEvent) => boolean) | undefined => {
  if (mayOnLake(principal, 'reader')) return undefined;
  const known = new Map<string, boolean>();
  return ({ poolId }) => {
    try {
      known.set(poolId, mayOnPool(principal, 'reader', lake.pool(`0x${poolId}`).config));
    } catch {
      // It is gone: what was last known of it holds; by its id alone a grant can still name it.
      if (!known.has(poolId)) known.set(poolId, mayOnPool(principal, 'reader', { id: poolId, name: '' }));
    }
    return known.get(poolId)!;
  };
};
