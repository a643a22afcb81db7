/** The refs that a table's metadata tell, and what they hold while their files are made. */
import { zeroId } from '../lake/ksuid.ts';
import type { Id } from '../lake/lake.types.ts';
import type { Pin } from './pins.ts';
import type { Table } from './table.ts';

export interface Ref {
  readonly name: string;
  readonly commit: Id;
  readonly type: 'branch' | 'tag';
}
/** Branches, `main` first, and tags; or what the table is pinned to, which is its `main`. */
export const refsOf = (table: Table, pin: Pin): readonly Ref[] => {
  const main: Ref = { name: 'main', commit: pin.commit ?? zeroId, type: 'branch' };
  if (pin.commit !== undefined) return [main];
  const branches = table.pool.branches().map(({ name, commit }): Ref => ({ name, commit, type: 'branch' }));
  // Engines make a ref called main a branch; a tag can have that name once the branch is gone.
  const tags = table.pool.tags().map(({ name, commit }): Ref => ({ name, commit, type: 'tag' }));
  const others = [...branches, ...tags].filter(({ name }) => name !== 'main');
  others.sort((a, b) => (a.name < b.name ? -1 : 1));
  return [branches.find(({ name }) => name === 'main') ?? main, ...others];
};

/** Refs whose data are kept from vacuums while their files are made; what others have lost meanwhile is not told of. */
const heldRefsMax = 256;
/** Commits of branches whose small files are merged. */
export const branchesOf = (table: Table): readonly Id[] =>
  table.pool
    .branches()
    .slice(0, heldRefsMax)
    .map(({ commit }) => commit);
/** Keeps what the refs have from vacuums, until what this gives is called. */
export const hold = async (table: Table, refs: readonly Ref[]): Promise<() => void> => {
  const releases: (() => void)[] = [];
  const release = (): void => {
    for (const each of releases.splice(0)) each();
  };
  const commits = new Set(refs.slice(0, heldRefsMax).map(({ commit }) => commit));
  commits.delete(zeroId);
  try {
    for (const commit of commits) releases.push(await table.pool.hold(commit));
  } catch (fault) {
    release();
    throw fault;
  }
  return release;
};
