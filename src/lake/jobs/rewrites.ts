/** Objects are taken away, or replaced by what was prepared outside of the queue. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RewriteCause } from '../../../machines/pool.events.ts';
import { type Named, section } from '../commits/messages.ts';
import type { Id, ObjectMeta } from '../lake.types.ts';
import { difference, type ObjectEntry, type ObjectList } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import { inList } from './in-list.ts';
import type { CommitKind } from './job.ts';
import { loadMessage } from './loads.ts';
import { Overtaken } from './overtaken.ts';

/** Objects that a job looks up before others get their turn of the event loop. */
const idsPerTurn = 512;

/** Objects are taken away as they are. */
export const deleteObjects: CommitKind<'delete'> = {
  branch: (task) => task.branch,
  verbs: () => ['delete'],
  draft: async (store, { branch, objects }, { note }) => {
    const list = await store.list(store.branch(branch).commit);
    const removes = inList(store, list, objects);
    return { branch, note, message: deleteMessage(removes), changes: { removes, adds: [] } };
  },
};

/** Objects are replaced: by a delete, an update or an upsert of rows, or by a compaction. */
export const rewrite: CommitKind<'rewrite'> = {
  branch: (task) => task.branch,
  verbs: ({ cause, loads }) => {
    // It changes no record.
    if (cause === 'compact') return [];
    // An upsert loads, and takes away what its records replace; so does a change that comes with loads.
    return cause === 'upsert' || loads ? ['load', 'delete'] : ['delete'];
  },
  draft: async (store, job, { note, objects }) => {
    const list = await store.list(store.branch(job.branch).commit);
    const ids = [...new Set(job.removes)];
    const removes = await allThere(store, list, ids);
    if (job.since !== undefined) checkNoneAdded(await store.list(job.since), list);
    const message = rewriteMessage[job.cause](removes, objects);
    const changes = { removes, adds: [] };
    if (removes.length === 0) return { branch: job.branch, note, message, changes, created: objects };
    const rewrite = job.parts && fits(job.parts, ids, objects) ? job.parts : true;
    const lineage = await store.lineage.changes({ adds: objects.map((o) => o.id), deletes: ids, rewrite });
    return {
      branch: job.branch,
      note,
      message,
      changes,
      created: objects,
      vectorsOfCreated: job.vectors,
      rewrite,
      ...((job.cause === 'update' || job.cause === 'upsert') && { changed: true as const }),
      lineage,
    };
  },
};

/** What came meanwhile may hold what is to be replaced. @throws Overtaken */
const checkNoneAdded = (before: ObjectList, now: ObjectList): void => {
  const { adds } = difference(before, now);
  if (adds.length > 0) throw new Overtaken(adds.map((e) => e.id));
};

/** @throws Overtaken */
const allThere = async (store: PoolStore, list: ObjectList, ids: readonly Id[]): Promise<readonly ObjectEntry[]> => {
  const removes: ObjectEntry[] = [];
  for (const [i, id] of ids.entries()) {
    const entry = store.entry(id);
    if (entry && list.has(entry)) removes.push(entry);
    // The branch cannot move meanwhile: this is its pool's turn.
    if (i % idsPerTurn === idsPerTurn - 1) await nextTurn();
  }
  if (removes.length === ids.length) return removes;
  const there = new Set(removes.map((e) => e.id));
  throw new Overtaken(ids.filter((id) => !there.has(id)));
};

const fits = (parts: readonly number[], removes: readonly Id[], adds: readonly ObjectMeta[]): boolean =>
  parts.length === removes.length && parts.reduce((sum, n) => sum + n, 0) === adds.length;

/** The message of a delete. `added`: the objects that hold what a delete by filter left of those it removed. */
const deleteMessage = (removed: readonly Named[], added: readonly Named[] = []): string =>
  section('deleted', 'data object', removed) + (added.length > 0 ? `\n${section('added', 'data object', added)}` : '');
/** The message of an update. `added`: the objects that hold the rows of those that it removed. */
const updateMessage = (removed: readonly Named[], added: readonly Named[]): string =>
  `${section('updated', 'data object', removed)}\n${section('added', 'data object', added)}`;
/** The message of an upsert. `added`: its own objects, and those that hold what is left of those that it removed. */
const upsertMessage = (removed: readonly Named[], added: readonly Named[]): string =>
  removed.length === 0
    ? loadMessage(added)
    : `${section('replaced', 'data object', removed)}${added.length > 0 ? `\n${section('added', 'data object', added)}` : ''}`;
/** The message of a compaction. */
const compactMessage = (removed: readonly Named[], added: readonly Named[]): string =>
  `${section('compacted', 'object', removed)}\n${section('created', 'object', added)}`;

const rewriteMessage = {
  'delete where': deleteMessage,
  update: updateMessage,
  upsert: upsertMessage,
  compact: compactMessage,
} as const satisfies Record<RewriteCause, unknown>;
