/**
 * Rows of the meta sources (`from :pools`, `from p@main:log`, ...) as plain data, in pages. A page's `next` names the
 * commit that the first page was resolved to, so that all pages are of one commit.
 */
import { LakeError } from '../errors.ts';
import { firstParents } from './commits/history.ts';
import { zeroId } from './ksuid.ts';
import type {
  CommitMeta,
  Id,
  LakeMeta,
  MetaPage,
  MetaRow,
  MetaSource,
  ObjectMeta,
  PoolMeta,
  ViewVersion,
} from './lake.types.ts';
import type { ObjectEntry } from './objects/list.ts';
import type { PoolFace } from './pool/pool.ts';
import { checkBelow } from './tables/rows.ts';
import { objectMeta } from './commits/snapshot.ts';

/** What meta sources need of the lake: its open pools and its views. `face` throws pool-not-found. */
interface MetaLake {
  faces(): readonly PoolFace[];
  face(reference: string): PoolFace;
  views(): readonly ViewVersion[];
  view(reference: string): ViewVersion | undefined;
  viewVersions(id: Id): readonly ViewVersion[];
}

const rowsPerPage = 1000;

/**
 * What is at hand as a whole comes as one page: of a list that changes meanwhile the next page might lack a row.
 *
 * @throws meta-unknown, meta-unknown-lake, pool-not-found, branch-not-found, commit-file-missing
 */
export const metaPage = async (lake: MetaLake, source: MetaSource, next?: string): Promise<MetaPage> => {
  if (source.view !== undefined) {
    const view = lake.view(source.view);
    if (!view) throw new LakeError('view-not-found', { view: source.view });
    return { rows: lake.viewVersions(view.id).map(viewRow) };
  }
  if (source.pool === undefined) {
    if (!Object.hasOwn(lakeSources, source.meta)) throw new LakeError('meta-unknown-lake', { meta: source.meta });
    return { rows: lakeSources[source.meta as LakeMeta](lake) };
  }
  const pool = lake.face(source.pool);
  if (Object.hasOwn(poolSources, source.meta)) return { rows: poolSources[source.meta as PoolMeta](pool) };
  if (!Object.hasOwn(commitSources, source.meta)) throw new LakeError('meta-unknown', { meta: source.meta });
  const [at, cursor] =
    next === undefined ? [await pool.resolveAt(source.commit ?? 'main'), undefined] : (next.split(':') as [Id, string]);
  const { rows, cursor: onward } = await commitSources[source.meta as CommitMeta](pool, at, cursor);
  return { rows, ...(onward !== undefined && { next: `${at}:${onward}` }) };
};

const sortedFaces = (lake: MetaLake): readonly PoolFace[] =>
  [...lake.faces()].sort((a, b) => (a.config.id < b.config.id ? -1 : 1));
const branchRows = (pool: PoolFace): readonly MetaRow[] =>
  pool.branches().map((branch) => ({ kind: 'branch', pool: pool.config, branch }));
const tagRows = (pool: PoolFace): readonly MetaRow[] =>
  pool.tags().map((tag) => ({ kind: 'tag', pool: pool.config, tag }));

const viewRow = (view: ViewVersion): MetaRow => ({ kind: 'view', view });

const lakeSources: { readonly [K in LakeMeta]: (lake: MetaLake) => readonly MetaRow[] } = {
  pools: (lake) => sortedFaces(lake).map((pool) => ({ kind: 'pool', pool: pool.config })),
  branches: (lake) => sortedFaces(lake).flatMap(branchRows),
  tags: (lake) => sortedFaces(lake).flatMap(tagRows),
  views: (lake) => lake.views().map(viewRow),
};
const poolSources: { readonly [K in PoolMeta]: (pool: PoolFace) => readonly MetaRow[] } = {
  branches: branchRows,
  tags: tagRows,
};

type CommitPage = (
  pool: PoolFace,
  at: Id,
  cursor: string | undefined,
) => Promise<{ readonly rows: readonly MetaRow[]; readonly cursor?: string }>;

const commitSources: { readonly [K in CommitMeta]: CommitPage } = {
  objects: async (pool, at, cursor) => {
    const { entries, next } = (await pool.store.list(at)).page(Number(cursor ?? 0), rowsPerPage);
    return {
      rows: entries.map((e) => ({ kind: 'object', object: objectMeta(e) })),
      ...(next !== undefined && { cursor: String(next) }),
    };
  },
  vectors: async (pool, at, cursor) => {
    const { entries, next } = (await pool.store.list(at)).page(Number(cursor ?? 0), rowsPerPage);
    return {
      rows: entries.filter((e) => e.vector).map((e) => ({ kind: 'object', object: objectMeta(e) })),
      ...(next !== undefined && { cursor: String(next) }),
    };
  },
  partitions: async (pool, at, cursor) => {
    const start = Number(cursor ?? 0);
    const list = await pool.store.list(at);
    const groups = partition(list.page(start, list.length).entries, rowsPerPage);
    const end = start + groups.reduce((n, group) => n + group.length, 0);
    return { rows: groups.map(partitionRow), ...(end < list.length && { cursor: String(end) }) };
  },
  log: async (pool, at, cursor) => {
    const rows: MetaRow[] =
      cursor === undefined
        ? pool.branches().map((branch) => ({ kind: 'tip', name: branch.name, commit: branch.commit }))
        : [];
    // Where to go on from, and the height that is above it.
    const [from, height] =
      cursor === undefined ? [at, Infinity] : [cursor.slice(0, at.length), Number(cursor.slice(at.length + 1))];
    for (const commit of firstParents(pool.store.commit, from)) {
      if (rows.length === 0) checkBelow(commit, { id: from, height });
      rows.push({ kind: 'commit', commit });
      if (rows.length >= rowsPerPage && commit.parent !== zeroId)
        return { rows, cursor: `${commit.parent} ${commit.height}` };
    }
    return { rows };
  },
  rawlog: async (pool, at, cursor) => {
    const chain = chainOf(pool, at);
    const rows: MetaRow[] = [];
    let position = Number(cursor ?? 0);
    for (; position < chain.length && rows.length < rowsPerPage; position++)
      rows.push(...actions(pool, chain[chain.length - 1 - position]));
    return { rows, ...(position < chain.length && { cursor: String(position) }) };
  },
};

/** Neighbours in the list whose key ranges touch, at least `objectsMin` objects in all unless the list ends. */
const partition = (entries: readonly ObjectEntry[], objectsMin: number): readonly (readonly ObjectEntry[])[] => {
  const groups: ObjectEntry[][] = [];
  let low: Uint8Array | undefined;
  let high: Uint8Array | undefined;
  let taken = 0;
  for (const entry of entries) {
    const touches =
      low && high && Buffer.compare(entry.min.sort, high) <= 0 && Buffer.compare(entry.max.sort, low) >= 0;
    if (touches) groups.at(-1)!.push(entry);
    else {
      if (taken >= objectsMin) break;
      groups.push([entry]);
    }
    taken++;
    low = touches && Buffer.compare(low!, entry.min.sort) < 0 ? low : entry.min.sort;
    high = touches && Buffer.compare(high!, entry.max.sort) > 0 ? high : entry.max.sort;
  }
  return groups;
};
const partitionRow = (group: readonly ObjectEntry[]): MetaRow => {
  const objects: readonly ObjectMeta[] = group.map((e) => objectMeta(e));
  const min = objects.reduce((a, b) => (Buffer.compare(b.min.sort, a.min.sort) < 0 ? b : a)).min;
  const max = objects.reduce((a, b) => (Buffer.compare(b.max.sort, a.max.sort) > 0 ? b : a)).max;
  return { kind: 'partition', min, max, objects };
};

const chains = new WeakMap<PoolFace, { readonly at: Id; readonly chain: readonly Id[] }>();
/**
 * The first parents of a commit, itself first; the last one asked for is kept, since a long log is read page by page.
 */
const chainOf = (pool: PoolFace, at: Id): readonly Id[] => {
  const known = chains.get(pool);
  if (known?.at === at) return known.chain;
  const chain = Array.from(firstParents(pool.store.commit, at), ({ id }) => id);
  chains.set(pool, { at, chain });
  return chain;
};

const actions = (pool: PoolFace, id: Id): readonly MetaRow[] => {
  const commit = pool.store.commit(id);
  if (!commit) throw new LakeError('commit-file-missing');
  return [
    { kind: 'action-commit', commit },
    ...commit.deletes.map((object): MetaRow => ({ kind: 'action-delete', commit: id, id: object })),
    ...commit.adds.flatMap((object): MetaRow[] => {
      const entry = pool.store.entry(object);
      return entry ? [{ kind: 'action-add', commit: id, object: objectMeta(entry) }] : [];
    }),
    ...(commit.addVectors ?? []).map((object): MetaRow => ({ kind: 'action-add-vector', commit: id, id: object })),
    ...(commit.deleteVectors ?? []).map(
      (object): MetaRow => ({ kind: 'action-delete-vector', commit: id, id: object }),
    ),
  ];
};
