/**
 * The commits of a pool as a graph, page by page, the newest first, with what each added and removed.
 *
 * Commits come in the order in which their ids were drawn, by the second, and of one second by height: so each comes
 * after all that it is a parent of. Dates say nothing: they come from a clock that may have been set. The place to go
 * on from is the set of commits that come next: it belongs to no branch, so that the pages fit together however the
 * branches move in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import { zeroId } from '../ksuid.ts';
import type { GraphCommit, GraphPage, Id, ObjectSums } from '../lake.types.ts';
import type { Chunk, ObjectEntry, ObjectList } from '../objects/list.ts';
import type { StoredCommit } from '../tables/rows.ts';

interface GraphStore {
  commit(id: Id): StoredCommit | undefined;
  entry(id: Id): ObjectEntry | undefined;
}

/** Commits of one page; objects that it adds up, but for those of its first commit. */
export const graphCommitsMax = 1000;
const objectsMax = 20_000;
const readsPerTurn = 256;

/** @throws commit-not-found */
export const graphPage = async (store: GraphStore, from: readonly Id[], limit: number): Promise<GraphPage> => {
  const waiting: StoredCommit[] = [];
  const known = new Set<Id>();
  const commits: GraphCommit[] = [];
  const push = (id: Id): void => {
    if (id === zeroId || known.has(id)) return;
    const commit = store.commit(id);
    if (!commit) throw new LakeError('commit-not-found', { id });
    known.add(id);
    waiting.splice(placeOf(waiting, commit), 0, commit);
  };
  for (const id of from) push(id);
  let reads = 0;
  let turn = 0;
  while (waiting.length > 0 && commits.length < limit && (commits.length === 0 || reads < objectsMax)) {
    const { id, parent, secondParent, author, dateNs, message, adds, deletes } = waiting.pop()!;
    const parents = [parent, ...(secondParent === undefined ? [] : [secondParent])].filter((each) => each !== zeroId);
    commits.push({ id, parents, author, dateNs, message, added: sumsOf(store, adds), removed: sumsOf(store, deletes) });
    reads += adds.length + deletes.length;
    for (const each of parents) push(each);
    turn += 1 + adds.length + deletes.length;
    if (turn >= readsPerTurn) {
      turn = 0;
      await nextTurn();
    }
  }
  return { commits, next: waiting.map(({ id }) => id) };
};

/** Where a commit belongs in a list whose end comes next. */
const placeOf = (list: readonly StoredCommit[], commit: StoredCommit): number => {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comesFirst(commit, list[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
};
const comesFirst = (a: StoredCommit, b: StoredCommit): boolean => {
  const second = secondOf(a.id);
  const other = secondOf(b.id);
  if (second !== other) return second > other;
  return a.height === b.height ? a.id > b.id : a.height > b.height;
};
/**
 * Its text is in the order of time. Versions that drew ids of one second without an order may have made some of a
 * lake's.
 */
const secondOf = (id: Id): string => id.slice(0, 8);

const sumsOf = (store: GraphStore, ids: readonly Id[]): ObjectSums => {
  let records = 0;
  let bytes = 0;
  for (const id of ids) {
    const entry = store.entry(id);
    records += entry?.count ?? 0;
    bytes += entry?.size ?? 0;
  }
  return { objects: ids.length, records, bytes };
};

const chunkSums = new WeakMap<Chunk, { readonly records: number; readonly bytes: number }>();
/** What a list holds; only chunks that were not seen before are added up. */
export const listSums = (list: ObjectList): ObjectSums => {
  let records = 0;
  let bytes = 0;
  for (const chunk of list.chunks) {
    let sums = chunkSums.get(chunk);
    if (!sums)
      chunkSums.set(
        chunk,
        (sums = chunk.entries.reduce((sum, e) => ({ records: sum.records + e.count, bytes: sum.bytes + e.size }), {
          records: 0,
          bytes: 0,
        })),
      );
    records += sums.records;
    bytes += sums.bytes;
  }
  return { objects: list.length, records, bytes };
};
