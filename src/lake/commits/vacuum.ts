/**
 * Vacuum: removes objects that only earlier commits hold.
 *
 * Candidates are the objects that the given commit's ancestors added and its own snapshot does not hold. Of these stay
 * all that a branch's tip, a tag's commit or an open snapshot holds. The dry run and the real run are the same up to the first write.
 *
 * A pack that holds one of them goes too. Order: marked in the tables durably, then the files go. A crash in between
 * leaves files that no table names: orphans, swept at start.
 */
import { LakeError } from '../../errors.ts';
import { ancestors } from './history.ts';
import { objectNames } from './merge.ts';
import { killPoint } from '../kill-points.ts';
import { base62, idBuffer } from '../ksuid.ts';
import type { Id, ObjectFiles } from '../lake.types.ts';
import type { ObjectEntry } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import { pairKey } from '../tables/rows.ts';
import type { Change } from '../tables/tables.ts';

const objectsPerTransaction = 2000;

/** Found outside of the pool's queue, since it walks the whole history. */
export const vacuumCandidates = async (store: PoolStore, commit: Id): Promise<readonly ObjectEntry[]> => {
  const list = await store.list(commit);
  const found = new Map<Id, ObjectEntry>();
  for await (const ancestor of ancestors(store.commit, commit)) {
    for (const id of ancestor.adds) {
      if (found.has(id) || store.vacuumed(id)) continue;
      const entry = store.entry(id);
      if (entry && !list.has(entry)) found.set(id, entry);
    }
  }
  return [...found.values()];
};

/** The candidates that nothing holds, in the pool's turn. */
export const vacuumable = async (
  store: PoolStore,
  candidates: readonly ObjectEntry[],
): Promise<readonly ObjectEntry[]> => {
  const named = [...store.branches().values(), ...store.tags.all().values()];
  let free = candidates;
  // Neither branches nor tags change before this job has ended; one list after the other is looked at, as there may be
  // many.
  for (const commit of new Set(named.map((each) => each.commit))) {
    if (free.length === 0) break;
    const list = await store.list(commit);
    free = free.filter((e) => !list.has(e));
  }
  // From here on nothing waits: a snapshot that is opened later finds its objects in `vacuuming`.
  const pinned = [...store.pins.keys()];
  return free.filter((e) => !store.vacuumed(e.id) && !pinned.some((list) => list.has(e)));
};

/** Removes them for good. Answers with those that are gone: all, or those before a failure, which it throws. */
export const removeObjects = async (
  store: PoolStore,
  entries: readonly ObjectEntry[],
  files: ObjectFiles,
  report: (fault: unknown) => void,
): Promise<void> => {
  for (const entry of entries) store.vacuuming.add(entry.id);
  store.vacuumChanged();
  try {
    for (let i = 0; i < entries.length; i += objectsPerTransaction) {
      const part = entries.slice(i, i + objectsPerTransaction);
      const ids = part.map((e) => e.id);
      await store.stores.tables.write(
        [...part.flatMap((e) => marks(store.poolId, e)), ...store.packs.removals(ids)],
        () => store.checkPool(),
        { frees: true },
      );
      store.packs.forget(ids);
      killPoint('vacuum: marked');
      for (const entry of part) if (!entry.inTable) await files.delete(entry.id).catch(report);
      killPoint('vacuum: file gone');
    }
  } finally {
    store.vacuuming.clear();
    store.vacuumChanged();
  }
};

const marks = (poolId: Id, entry: ObjectEntry): readonly Change[] => [
  { table: 'vacuumed', key: pairKey(poolId, entry.id), payload: Buffer.alloc(0) },
  { table: entry.inTable ? 'bodies' : 'files', key: idBuffer(entry.id) },
];

/** The error of a commit some of whose objects were vacuumed. */
export const vacuumedError = (commit: Id, missing: readonly Id[]): LakeError =>
  new LakeError(
    'vacuumed',
    { id: base62(commit), objects: objectNames(missing) },
    { details: { object_ids: missing.map((id) => `0x${id}`) } },
  );
