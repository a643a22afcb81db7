/**
 * Pools that shippers name by their protocol, not by a path: found, or made on demand.
 *
 * - Who writes needs the role writer of the pool; who may not read it gets the same as if it were not there.
 * - A missing pool is made if option -ingest.pools says so, the caller may make pools (the role writer on the lake), and
 *   there are fewer than -ingest.pools.max. Who may not make it gets what a missing pool is: 404.
 * - Of several requests that want a new pool at once one makes it, and the others find it.
 */
import { type ErrorCode, LakeError } from '../../errors.ts';
import type { ServeConfig } from '../../config/serve.ts';
import type { CreatePoolRequest, Lake, Pool } from '../../lake/lake.types.ts';
import { checkNeed, poolNamed } from '../access/access.ts';
import { mayOnLake } from '../access/roles.ts';
import { checkName } from '../bodies/parameters.ts';
import type { Call } from '../route.ts';

/** Who asks, and what they ask. */
interface Asking extends Pick<Call, 'who' | 'audit'> {
  readonly service: {
    readonly lake: Pick<Lake, 'pool' | 'pools' | 'createPool'>;
    readonly config: Pick<ServeConfig, 'nameBytesMax'> & {
      readonly ingest: Pick<ServeConfig['ingest'], 'pools' | 'poolsMax'>;
    };
  };
}
/** A pool by its name (or id), and what it is like if it has to be made. */
export type WantedPool = Pick<CreatePoolRequest, 'name' | 'keys' | 'order'>;

/** What `ingestPool` can throw beside what every write of a pool can: for the `errors` of a route. */
export const ingestPoolErrors = [
  'pool-not-found',
  'pool-name-missing',
  'pools-many',
  'auth-role',
  'name-long',
  'name-reserved',
  'view-exists',
] as const satisfies readonly ErrorCode[];

/**
 * The pool, which the caller may write. The route's own `need` is `known`: who that is is looked at here.
 * @throws pool-not-found, pool-name-missing, pools-many, auth-role, name-long, name-reserved, view-exists, and what the
 *   lake's queue refuses
 */
export const ingestPool = async (asking: Asking, wanted: WantedPool): Promise<Pool> => {
  const there = checkIngestPool(asking, wanted.name);
  if (there) return there;
  try {
    await asking.service.lake.createPool(wanted);
  } catch (error) {
    if (!(error instanceof LakeError && error.code === 'pool-exists')) throw error;
  }
  const made = found(asking, wanted.name);
  if (!made) throw new LakeError('pool-not-found', { pool: wanted.name });
  return made;
};

/**
 * The same without making it: undefined if it is not there and may be made.
 * @throws pool-not-found, pool-name-missing, pools-many, auth-role, name-long, name-reserved
 */
export const checkIngestPool = (asking: Asking, name: string): Pool | undefined => {
  const {
    service: { lake, config },
    who,
    audit,
  } = asking;
  if (name === '') throw new LakeError('pool-name-missing');
  const there = found(asking, name);
  if (there) return there;
  if (config.ingest.pools === 'existing') throw new LakeError('pool-not-found', { pool: name });
  if (who && !mayOnLake(who, 'writer')) {
    audit?.refused({ lacks: 'writer' });
    throw new LakeError('pool-not-found', { pool: name });
  }
  checkName('pool', name, config.nameBytesMax);
  const count = lake.pools().length;
  const limit = config.ingest.poolsMax;
  if (count >= limit) throw new LakeError('pools-many', { pool: name, count, limit });
  return undefined;
};

const found = ({ service: { lake }, who, audit }: Asking, name: string): Pool | undefined => {
  const pool = poolNamed(lake, name);
  if (!pool) return undefined;
  if (who)
    checkNeed('writer of pool', who, { reference: name, found: pool }, (refusal) => {
      audit?.refused(refusal);
    });
  return lake.pool(name);
};
