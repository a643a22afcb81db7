/**
 * Which events a principal sees: those of pools that they might read when it happened, by the name that the pool had
 * then. So who comes back later gets what an open stream got.
 */
import type { LakeEvent } from '../../lake/lake.types.ts';
import type { LakeServices } from '../../workers/pool.types.ts';
import { poolNamed } from './access.ts';
import { mayOnLake, mayOnPool, type Principal } from './roles.ts';

/** Undefined: all events. */
export const eventFilter = (
  lake: Pick<LakeServices, 'pool'>,
  principal: Principal,
): ((event: LakeEvent) => boolean) | undefined => {
  if (mayOnLake(principal, 'reader')) return undefined;
  return ({ poolId: id, poolName: name = nameNow(lake, id) }) => mayOnPool(principal, 'reader', { id, name });
};

/** Of events that an earlier build kept; none if the pool is gone: by its id a grant can still name it. */
const nameNow = (lake: Pick<LakeServices, 'pool'>, id: string): string => {
  const pool = poolNamed(lake, `0x${id}`);
  return pool?.id === id ? pool.name : '';
};
