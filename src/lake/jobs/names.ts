/** Branches and tags: they come, go, move and are protected. No commit is made. */
import { LakeError } from '../../errors.ts';
import { base62, plainId, zeroId } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { vacuumedError } from '../commits/vacuum.ts';
import { checkNotReserved } from '../names.ts';
import type { PoolStore } from '../pool/store.ts';
import type { OtherKind } from './job.ts';

/** A branch comes, at a commit. */
export const createBranch: OtherKind<'create branch'> = {
  check: (_, { name, commit }) => {
    if (name === '') throw new LakeError('branch-name-missing');
    checkNotReserved('branch', name);
    checkId(commit);
  },
  work: async ({ store }, job) => {
    await mustBeNameable(store, job);
    return store.createBranch(job.name, job.commit);
  },
};

/** A branch goes. */
export const deleteBranch: OtherKind<'delete branch'> = {
  check: (store, { name }) => {
    store.branch(name);
  },
  branch: (task) => task.name,
  verbs: () => ['reset'],
  work: ({ store }, job) => store.deleteBranch(job.name),
};

/** A branch goes to a commit that need not follow from its tip. */
export const reset: OtherKind<'reset'> = {
  check: (store, { branch, commit }) => {
    store.branch(branch);
    checkId(commit);
  },
  branch: (task) => task.branch,
  verbs: () => ['reset'],
  work: async ({ store }, job) => {
    await mustBeWhole(store, job.commit);
    return store.resetBranch(job.branch, job.commit);
  },
};

/** A branch is protected like this from then on. */
export const protect: OtherKind<'protect'> = {
  check: (store, { branch }) => {
    store.branch(branch);
  },
  branch: (task) => task.branch,
  work: ({ store }, job) => store.protect(job.branch, job.protection),
};

/** A tag comes, at a commit. */
export const createTag: OtherKind<'create tag'> = {
  check: (_, { name, commit }) => {
    if (name === '') throw new LakeError('tag-name-missing');
    checkNotReserved('tag', name);
    checkId(commit);
  },
  work: async ({ store }, job) => {
    await mustBeNameable(store, job);
    return store.tags.create(job.name, job.commit);
  },
};

/** A tag goes. */
export const deleteTag: OtherKind<'delete tag'> = {
  check: (store, { name }) => {
    store.tags.tag(name);
  },
  at: (store, { name }) => store.tags.tag(name).commit,
  work: ({ store }, job) => store.tags.delete(job.name),
};

/** @throws commit-invalid */
const checkId = (commit: Id): void => {
  if (!plainId(commit)) throw new LakeError('commit-invalid', { id: commit });
};
/** Branches and tags share their names. */
const mustBeNameable = async (
  store: PoolStore,
  { name, commit }: { readonly name: string; readonly commit: Id },
): Promise<void> => {
  store.mustBeNew(name);
  await mustBeWhole(store, commit);
};
/** What gets a name can be read. @throws commit-not-found, vacuumed */
const mustBeWhole = async (store: PoolStore, commit: Id): Promise<void> => {
  if (!store.hasCommit(commit)) throw new LakeError('commit-not-found', { id: base62(commit) });
  if (commit === zeroId) return;
  const missing = store.missing(await store.list(commit));
  if (missing.length > 0) throw vacuumedError(commit, missing);
};
