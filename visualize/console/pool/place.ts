/** What the page of a pool shows: which branch or commit, and where changes are made meanwhile. */
import type { BranchInfo, TagInfo } from '../../../src/client/client.ts';

/** A branch, or a commit for itself, which may have the name of a tag. */
export interface Place {
  readonly all: readonly BranchInfo[];
  /** The branch that is shown; undefined for a commit, and where the pool has none. */
  readonly branch: BranchInfo | undefined;
  /** The commit that the page shows. */
  readonly at: string | undefined;
  readonly isCommit: boolean;
  /** What the address names, if nothing of the pool is called so: a branch is shown in its place. */
  readonly missing: string | undefined;
  /** The tag that the address names. */
  readonly tag: TagInfo | undefined;
  /** The branch on which changes are made. */
  readonly writeBranch: BranchInfo | undefined;
  /** As the service is asked for it: the branch's name, or the commit. */
  readonly revision: string | undefined;
  /** Whether nothing has been loaded there. */
  readonly isEmpty: boolean;
}
/** Of a pool's branches and tags. `asked`: what the address names: a branch, a tag or a commit. */
export const placeOf = (all: readonly BranchInfo[], tags: readonly TagInfo[], asked: string | null): Place => {
  const main = all.find((b) => b.name === 'main') ?? all[0];
  const isBranch = all.some((b) => b.name === asked);
  const tag = isBranch ? undefined : tags.find((each) => each.name === asked);
  const isCommit = tag !== undefined || (asked !== null && /^0x[0-9a-f]{40}$/.test(asked) && !isBranch);
  const branch = isCommit ? undefined : (all.find((b) => b.name === asked) ?? main);
  const at = isCommit ? (tag?.commit ?? asked!) : branch?.commit;
  return {
    all,
    branch,
    at,
    isCommit,
    missing: asked === null || isBranch || isCommit ? undefined : asked,
    tag,
    writeBranch: branch ?? main,
    revision: isCommit ? asked! : branch?.name,
    isEmpty: at === undefined || isNoCommit(at),
  };
};
/** Whether a tip says that nothing has been committed yet. */
export const isNoCommit = (commit: string): boolean => /^0x0+$/.test(commit);
