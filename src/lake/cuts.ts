/**
 * What queries see of transactions: all of one or nothing, in whatever order they look pools up. A cut is made when a
 * query looks up its first branch; a branch that a transaction has moved since is, for that query, where it was before.
 *
 * Nothing is kept while no cut is open.
 */
import type { BranchRecord, Cut, Id } from './lake.types.ts';

/** The cuts of a lake that are open. */
export class Cuts {
  private readonly openCuts = new Set<Map<string, Id>>();

  open(): Cut {
    const moved = new Map<string, Id>();
    this.openCuts.add(moved);
    return {
      before: (poolId, branch) => moved.get(keyOf(poolId, branch)),
      close: () => {
        this.openCuts.delete(moved);
      },
    };
  }
  /** A transaction moved branches of a pool: called for all of its pools in one turn, as the branches are moved. */
  moved(poolId: Id, branches: readonly BranchRecord[]): void {
    for (const moved of this.openCuts)
      for (const { name, commit } of branches) {
        const key = keyOf(poolId, name);
        if (!moved.has(key)) moved.set(key, commit);
      }
  }
}

const keyOf = (poolId: Id, branch: string): string => `${poolId} ${branch}`;
