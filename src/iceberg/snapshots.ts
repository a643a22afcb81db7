/**
 * The commits of a pool as snapshots of its table: heads of branches, and what came before them on the way of first
 * parents.
 *
 * A snapshot is told of only if each object of its commit has a file: so it is not while files are being made, and not
 * any more once an object of it was vacuumed. Counts are the service's own.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../errors.ts';
import { base62, idBuffer, zeroId } from '../lake/ksuid.ts';
import type { DerivedCommit, Id } from '../lake/lake.types.ts';
import type { Mapping } from './kinds.ts';
import { namesOf } from './rows.ts';
import type { Table } from './table.ts';

/** Commits of a branch that are told of, its head included; others are reached by a catalogue that is pinned to them. */
export const commitsOfRefMax = 1000;
/** Commits and objects that are looked at in one turn of the event loop. */
const looksPerTurn = 2000;
/** Bits of the ids of snapshots: JSON's numbers hold no more everywhere. */
const idBits = 53n;

/** Objects in sum. */
export interface Sums {
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
}
/** A commit that engines can read. */
export interface Snapshot {
  readonly commit: DerivedCommit | undefined;
  readonly id: number;
  readonly parent: number | undefined;
  readonly sequence: number;
  readonly ms: number;
  readonly operation: 'append' | 'overwrite' | 'delete' | 'replace';
  readonly added: Sums;
  readonly deleted: Sums;
  /** `files` and `bytes`: as many as objects have, without merged ones. */
  readonly total: Sums;
  /** How many of the table's columns it has. */
  readonly schema: number;
  /** Its manifest list, below the table's folder. */
  readonly manifests: string;
  /** Of merged files that the manifests may name. */
  readonly generation: number;
}

/** The id of a commit's snapshot: the first bits of a digest of its id, never 0. */
export const snapshotId = (commit: Id): number => {
  const digest = createHash('sha256').update(idBuffer(commit)).digest();
  const id = Number(digest.readBigUInt64BE() >> (64n - idBits));
  return id === 0 ? 1 : id;
};

/**
 * Adds the snapshots of a chain, the oldest first, to those that are told of, and gives the ones that are. Two commits
 * whose ids come to be the same are no two snapshots: the one that came first is told, of a chain the newest, and the
 * other is read by a catalogue that is pinned to it.
 */
export const tellDistinct = (told: Map<number, Snapshot>, chain: readonly Snapshot[]): readonly Snapshot[] => {
  for (const snapshot of chain.toReversed()) if (!told.has(snapshot.id)) told.set(snapshot.id, snapshot);
  return chain.filter(({ id, commit }) => told.get(id)?.commit?.id === commit?.id);
};

/** The commit and its first parents that are told of, the newest first. */
export const chainOf = (table: Table, head: Id): readonly DerivedCommit[] => {
  const chain: DerivedCommit[] = [];
  for (let at = head; at !== zeroId && chain.length < commitsOfRefMax; ) {
    const commit = table.pool.commit(at);
    if (!commit) {
      if (chain.length > 0) break;
      throw new LakeError('commit-not-found', { id: at });
    }
    chain.push(commit);
    at = commit.parent;
  }
  return chain;
};

/** The objects that these commits hold, those of the head first: what needs a file. */
export const objectsOf = async (table: Table, chain: readonly DerivedCommit[]): Promise<HeldObjects> => {
  const head = new Set<Id>();
  const [newest] = chain;
  if (!newest) return { head, earlier: new Set() };
  const turns = new Turns();
  for (const { id } of await table.pool.objects(newest.id)) {
    head.add(id);
    await turns.next();
  }
  const earlier = new Set<Id>();
  // What the oldest took away was held before it.
  for (const { deletes } of chain.slice(0, -1)) for (const id of deletes) if (!head.has(id)) earlier.add(id);
  return { head, earlier };
};
export interface HeldObjects {
  readonly head: ReadonlySet<Id>;
  readonly earlier: ReadonlySet<Id>;
}

/** The snapshots of a chain that can be read, the oldest first. */
export const snapshotsOf = async (
  table: Table,
  chain: readonly DerivedCommit[],
  generation = 0,
): Promise<readonly Snapshot[]> => {
  const [newest] = chain;
  if (!newest) return [];
  const turns = new Turns();
  const missing = new Set<Id>();
  let total = none;
  const added = new Set(chain.flatMap(({ adds }) => adds));
  let schema = 0;
  const see = (id: Id): void => {
    const rendition = table.rendition(id);
    if (!rendition || table.pool.isVacuumed(id)) missing.add(id);
    if (rendition && !added.has(id)) schema = Math.max(schema, rendition.schema);
  };
  for (const { id, count } of await table.pool.objects(newest.id)) {
    see(id);
    total = plus(total, { files: 1, rows: count, bytes: table.rendition(id)?.bytes ?? 0 });
    await turns.next();
  }
  const found: Omit<Snapshot, 'ms' | 'schema'>[] = [];
  for (const commit of chain) {
    const own = { added: sumsOf(table, commit.adds), deleted: sumsOf(table, commit.deletes) };
    if (missing.size === 0) found.push({ ...snapshotOf(table.mapping, commit, generation, own), total });
    for (const id of commit.adds) missing.delete(id);
    if (commit !== chain.at(-1)) for (const id of commit.deletes) see(id);
    total = minus(plus(total, own.deleted), own.added);
    await turns.next(commit.adds.length + commit.deletes.length);
  }
  return inOrder(table, found.reverse(), schema);
};

/** Times never go back, and a snapshot has the columns of those before it. */
const inOrder = (
  table: Table,
  snapshots: readonly Omit<Snapshot, 'ms' | 'schema'>[],
  oldest: number,
): readonly Snapshot[] => {
  let ms = 0;
  let schema = oldest;
  return snapshots.map((snapshot) => {
    const { commit } = snapshot;
    ms = Math.max(ms, commit ? Number(commit.dateNs / 1_000_000n) : 0);
    for (const id of commit?.adds ?? []) schema = Math.max(schema, table.rendition(id)?.schema ?? 0);
    return { ...snapshot, ms, schema };
  });
};

const snapshotOf = (
  mapping: Mapping,
  commit: DerivedCommit,
  generation: number,
  { added, deleted }: Pick<Snapshot, 'added' | 'deleted'>,
): Omit<Snapshot, 'ms' | 'schema' | 'total'> => ({
  commit,
  id: snapshotId(commit.id),
  parent: commit.parent === zeroId ? undefined : snapshotId(commit.parent),
  sequence: commit.height,
  operation: operationOf(commit, added, deleted),
  added,
  deleted,
  manifests: namesOf(mapping).manifestList(commit.id, generation),
  generation,
});
/** A rewrite that has the rows that it takes away changes no row. */
const operationOf = (commit: DerivedCommit, added: Sums, deleted: Sums): Snapshot['operation'] => {
  if (commit.deletes.length === 0) return commit.adds.length > 0 ? 'append' : 'replace';
  if (commit.adds.length === 0) return 'delete';
  return commit.rewrite !== undefined && commit.rewrite !== false && !commit.changed && added.rows === deleted.rows
    ? 'replace'
    : 'overwrite';
};

/** What a branch without a commit shows: nothing. */
export const emptySnapshot = (table: Table): Snapshot => ({
  commit: undefined,
  id: snapshotId(zeroId),
  parent: undefined,
  sequence: 0,
  ms: Number(table.pool.config.tsNs / 1_000_000n),
  operation: 'append',
  added: none,
  deleted: none,
  total: none,
  schema: 0,
  manifests: namesOf(table.mapping).manifestList(zeroId, 0),
  generation: 0,
});

const none: Sums = { files: 0, rows: 0, bytes: 0 };
const plus = (a: Sums, b: Sums): Sums => ({
  files: a.files + b.files,
  rows: a.rows + b.rows,
  bytes: a.bytes + b.bytes,
});
const minus = (a: Sums, b: Sums): Sums => ({
  files: a.files - b.files,
  rows: a.rows - b.rows,
  bytes: a.bytes - b.bytes,
});
const sumsOf = (table: Table, ids: readonly Id[]): Sums => {
  let sums = none;
  for (const id of ids) {
    const rendition = table.rendition(id);
    const rows = rendition?.rows ?? table.pool.object(id)?.count ?? 0;
    sums = plus(sums, { files: 1, rows, bytes: rendition?.bytes ?? 0 });
  }
  return sums;
};

/** Gives the event loop its turn now and then. */
export class Turns {
  private looks = 0;
  async next(looks = 1): Promise<void> {
    this.looks += looks;
    if (this.looks < looksPerTurn) return;
    this.looks = 0;
    await nextTurn();
  }
}

/** A snapshot as Iceberg's metadata have it. */
export const snapshotJson = (snapshot: Snapshot, location: string): object => {
  const { commit, id, parent, sequence, ms, operation, added, deleted, total, schema, manifests, generation } =
    snapshot;
  return {
    'snapshot-id': id,
    ...(parent !== undefined && { 'parent-snapshot-id': parent }),
    'sequence-number': sequence,
    'timestamp-ms': ms,
    summary: {
      operation,
      ...counts('added', added),
      ...counts('deleted', deleted),
      'total-records': String(total.rows),
      // Which merged files a commit has is known once its manifests are made, one by one.
      ...(generation === 0 && {
        'total-data-files': String(total.files),
        'total-files-size': String(total.bytes),
      }),
      'total-delete-files': '0',
      ...(commit && {
        'lake.commit': base62(commit.id),
        'lake.message': commit.message,
        ...(commit.author !== '' && { 'lake.author': commit.author }),
      }),
    },
    'manifest-list': `${location}/${manifests}`,
    'schema-id': schema,
  };
};
const counts = (what: 'added' | 'deleted', { files, rows, bytes }: Sums): Readonly<Record<string, string>> =>
  files === 0
    ? {}
    : {
        [`${what}-data-files`]: String(files),
        [`${what}-records`]: String(rows),
        [what === 'added' ? 'added-files-size' : 'removed-files-size']: String(bytes),
      };
