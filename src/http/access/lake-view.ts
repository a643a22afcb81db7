/** The lake as one principal sees it: pools that they may not read are not there. */
import { LakeError } from '../../errors.ts';
import type { CommitNote, MetaPage, PoolConfig, ViewChange, ViewChanged } from '../../lake/lake.types.ts';
import type { LakeServices } from '../../workers/pool.types.ts';
import { type Refusal, poolNamed } from './access.ts';
import { mayOnLake, mayOnPool, type PoolName, type Principal, type Role, standing } from './roles.ts';

/** A commit that a query made, or a version of a view; without one the view was dropped. */
export type Change =
  | { readonly pool: string; readonly branch: string; readonly commit: string }
  | { readonly view: string; readonly version?: string };

/** Told of each change, and of what was refused. */
interface ViewListener {
  readonly changed: (change: Change) => void;
  readonly refused: (refusal: Refusal) => void;
}

/**
 * The lake without what is not theirs to see, which refuses what is not theirs to change; without a principal, all of
 * it.
 */
export const lakeOf = (lake: LakeServices, principal: Principal | undefined, listener?: ViewListener): LakeServices => {
  if (!principal && !listener) return lake;
  const readable = (pool: PoolName): boolean => !principal || mayOnPool(principal, 'reader', pool);
  const commit = async <T extends { readonly commit: string }>(
    config: PoolConfig,
    branch: string,
    note: CommitNote | undefined,
    make: (note: CommitNote) => Promise<T>,
  ): Promise<T> => {
    if (principal && !mayOnPool(principal, 'writer', config)) {
      listener?.refused({ lacks: 'writer', pool: config.id });
      throw new LakeError('auth-role', { name: principal.name, role: 'writer', where: `pool ${config.name}` });
    }
    const committed = await make({ ...note, terms: { ...note?.terms, ...standing(principal, config) } });
    listener?.changed({ pool: config.id, branch, commit: committed.commit });
    return committed;
  };
  const poolOf: LakeServices['pool'] = (reference) => {
    const pool = lake.pool(reference);
    const { config } = pool;
    if (!readable(config)) throw new LakeError('pool-not-found', { pool: reference });
    return {
      config,
      branch: (name) => pool.branch(name),
      branches: () => pool.branches(),
      tags: () => pool.tags(),
      tip: (name) => pool.tip(name),
      asOf: (name, time) => pool.asOf(name, time),
      load: (branch, objects, note) => commit(config, branch, note, (noted) => pool.load(branch, objects, noted)),
      deleteWhere: (branch, prepare, note) =>
        commit(config, branch, note, (noted) => pool.deleteWhere(branch, prepare, noted)),
      update: (branch, prepare, note) => commit(config, branch, note, (noted) => pool.update(branch, prepare, noted)),
      upsert: (branch, objects, prepare, note) =>
        commit(config, branch, note, (noted) => pool.upsert(branch, objects, prepare, noted)),
    };
  };
  const shown = (row: MetaPage['rows'][number]): boolean => {
    if (row.kind === 'view') return readable(row.view);
    return row.kind === 'pool' || row.kind === 'branch' || row.kind === 'tag' ? readable(row.pool) : true;
  };
  const viewOf: LakeServices['view'] = (reference, version) => {
    const view = lake.view(reference);
    return view && readable(view) ? lake.view(reference, version) : undefined;
  };
  const changeView = async (change: ViewChange): Promise<ViewChanged> => {
    if (principal && !checkChange(principal, change, lake.view(change.name), listener)) return { change: 'unchanged' };
    const changed = await lake.changeView(change, principal?.name);
    const { change: made, view } = changed;
    if (view && made !== 'unchanged')
      listener?.changed({ view: view.id, ...(made !== 'dropped' && { version: view.version }) });
    return changed;
  };
  return {
    pools: () => lake.pools().filter(readable),
    pool: poolOf,
    missed: (reference) => {
      const hidden = poolNamed(lake, reference);
      if (hidden && !readable(hidden)) listener?.refused({ lacks: 'reader', pool: hidden.id });
    },
    ...(lake.cut && { cut: () => lake.cut!() }),
    openSnapshot: (reference, commitish, cut) => {
      poolOf(reference);
      return lake.openSnapshot(reference, commitish, cut);
    },
    openDiff: (reference, request) => {
      poolOf(reference);
      return lake.openDiff(reference, request);
    },
    views: () => lake.views().filter(readable),
    view: viewOf,
    changeView,
    metaPage: async (source, next) => {
      if (source.view !== undefined && !viewOf(source.view))
        throw new LakeError('view-not-found', { view: source.view });
      if (source.pool !== undefined) poolOf(source.pool);
      const page = await lake.metaPage(source, next);
      return { ...page, rows: page.rows.filter(shown) };
    },
  };
};

/**
 * Views are made by those who may make pools; a new version, which takes nothing away, takes the role writer on the
 * view, and renaming or dropping it the role admin, as of pools. Grants name views as they name pools. False where there is nothing to do for
 * all that the client may know. @throws auth-role, view-not-found
 */
const checkChange = (
  principal: Principal,
  change: ViewChange,
  view: PoolName | undefined,
  listener: ViewListener | undefined,
): boolean => {
  const refuse = (lacks: Role, id?: string): void =>
    listener?.refused({ lacks, ...(id !== undefined && { pool: id }) });
  const { name } = principal;
  if (view && !mayOnPool(principal, 'reader', view)) {
    refuse('reader', view.id);
    // Who may not read it does not learn that it is there.
    if (change.action !== 'create' && change.ifExists) return false;
    if (change.action !== 'create' || change.existing === 'require')
      throw new LakeError('view-not-found', { view: change.name });
    throw new LakeError('auth-role', { name, role: 'writer', where: 'the lake' });
  }
  if (!view && (change.action !== 'create' || change.existing === 'require')) return true;
  const role = change.action === 'create' ? 'writer' : 'admin';
  if (view ? mayOnPool(principal, role, view) : mayOnLake(principal, role)) return true;
  refuse(role, view?.id);
  throw new LakeError('auth-role', { name, role, where: view ? `view ${view.name}` : 'the lake' });
};
