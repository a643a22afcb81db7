/** A pool as the source of what is derived from it, with the rows that this keeps. */
import { idBuffer } from '../ksuid.ts';
import type { DerivedPool, Id } from '../lake.types.ts';
import { objectMeta } from '../commits/snapshot.ts';
import type { Change, Tables } from '../tables/tables.ts';
import { icebergVersion } from '../tables/versions.ts';
import type { PoolStore } from './store.ts';

/** The rows that are derived from a pool. */
export const rowsOfPool = (tables: Pick<Tables, 'rows'>, poolId: Id): Pick<DerivedPool, 'rows'> => {
  const pool = idBuffer(poolId);
  const keyOf = (key: Uint8Array): Buffer => Buffer.concat([pool, key]);
  return {
    rows: ({ prefix, start, limit }) =>
      tables
        .rows('iceberg', { prefix: keyOf(prefix), ...(start && { start: keyOf(start) }), limit })
        .map(({ key, payload }) => ({ key: key.subarray(pool.length), payload })),
  };
};

/** The pool of a store, as long as that is there. */
export const derivedPool = (store: PoolStore): DerivedPool => {
  const { tables } = store.stores;
  const pool = idBuffer(store.poolId);
  const keyOf = (key: Uint8Array): Buffer => Buffer.concat([pool, key]);
  return {
    get config() {
      return store.config;
    },
    branches: () => [...store.branches().values()],
    tags: () => [...store.tags.all().values()],
    resolve: (commitish) => store.resolve(commitish),
    asOf: (time) => store.moves.asOf('main', time),
    commit: store.commit,
    object: (id, body = false) => {
      const entry = store.entry(id);
      return entry && objectMeta(entry, body ? tables : undefined);
    },
    isVacuumed: (id) => store.vacuumed(id),
    vacuums: () => store.vacuumCount,
    objects: async (commit: Id) => {
      const list = await store.list(commit);
      return {
        *[Symbol.iterator]() {
          for (const entry of list.entries()) yield objectMeta(entry);
        },
      };
    },
    hold: async (commit) => store.pin(await store.list(commit)),
    row: (key) => tables.get('iceberg', keyOf(key)),
    rows: rowsOfPool(tables, store.poolId).rows,
    write: async (rows) => {
      await tables.raiseVersion(icebergVersion);
      await tables.write(
        rows.map(({ key, payload }): Change => ({ table: 'iceberg', key: keyOf(key), ...(payload && { payload }) })),
        () => store.checkPool(),
      );
    },
  };
};
