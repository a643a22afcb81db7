/** The lake as one principal sees it: pools that they may not read are not there. */
import { LakeError } from '../../errors.ts';
import type { MetaPage } from '../../lake/lake.types.ts';
import type { LakeServices } from '../../workers/pool.types.ts';
import { type Refusal, poolNamed } from './access.ts';
import { mayOnLake, mayOnPool, type PoolName, type Principal } from './roles.ts';

/** A commit that a query made. */
export interface Change {
  readonly pool: string;
  readonly branch: string;
  readonly commit: string;
}

/** Told of each commit, and of what was refused. */
interface ViewListener {
  readonly changed: (change: Change) => void;
  readonly refused: (refusal: Refusal) => void;
}

/**
 * The lake without what is not theirs to see, which refuses what is not theirs to change; without a principal, all of
 * it.
 */
export const lakeOf = (lake: LakeServices, principal: Principal | undefined, listener?: ViewListener): LakeServices => {
  if ((!principal || mayOnLake(principal, 'writer')) && !listener) return lake;
  const readable = (pool: PoolName): boolean => !principal || mayOnPool(principal, 'reader', pool);
  const poolOf: LakeServices['pool'] = (reference) => {
    const pool = lake.pool(reference);
    const { config } = pool;
    if (!readable(config)) throw new LakeError('pool-not-found', { pool: reference });
    return {
      config,
      branch: (name) => pool.branch(name),
      branches: () => pool.branches(),
      load: async (branch, objects, note) => {
        if (principal && !mayOnPool(principal, 'writer', config)) {
          listener?.refused({ lacks: 'writer', pool: config.id });
          throw new LakeError('auth-role', { name: principal.name, role: 'writer', where: `pool ${config.name}` });
        }
        const committed = await pool.load(branch, objects, note);
        listener?.changed({ pool: config.id, branch, commit: committed.commit });
        return committed;
      },
    };
  };
  const shown = (row: MetaPage['rows'][number]): boolean =>
    row.kind === 'pool' || row.kind === 'branch' ? readable(row.pool) : true;
  return {
    pools: () => lake.pools().filter(readable),
    pool: poolOf,
    missed: (reference) => {
      const hidden = poolNamed(lake, reference);
      if (hidden && !readable(hidden)) listener?.refused({ lacks: 'reader', pool: hidden.id });
    },
    openSnapshot: (reference, commitish) => {
      poolOf(reference);
      return lake.openSnapshot(reference, commitish);
    },
    metaPage: async (source, next) => {
      if (source.pool !== undefined) poolOf(source.pool);
      const page = await lake.metaPage(source, next);
      return { ...page, rows: page.rows.filter(shown) };
    },
  };
};
