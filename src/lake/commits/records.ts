/** The sides of a merge by record, opened for who compares their rows. */
import { LakeError } from '../../errors.ts';
import { base62 } from '../ksuid.ts';
import type { Combination, Diff, Id, RecordSides } from '../lake.types.ts';
import { type ObjectEntry, ObjectList, difference } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';
import { sidesOfDiff } from './diff.ts';
import { type ThreeWay, sidesOfMerge } from './merge.ts';
import { sidesOfPick } from './pick.ts';
import { prepareRevert } from './revert.ts';
import { snapshotOf } from './snapshot.ts';

/** The branch that changes. */
export const branchOf = (combination: Combination): string =>
  combination.kind === 'merge' ? combination.target : combination.branch;

/** Conflicts by objects, which records may not have. */
const objectFaults: ReadonlySet<unknown> = new Set([
  'merge-conflict',
  'revert-conflict',
  'revert-rewritten',
  'pick-conflict',
]);
/** Whether it is a conflict of objects alone. */
export const isObjectFault = (fault: unknown): fault is LakeError =>
  fault instanceof LakeError && objectFaults.has(fault.code);

/** The sides as they are now. @throws what the combination throws but for a conflict of objects */
export const threeWay = async (store: PoolStore, combination: Combination): Promise<ThreeWay> => {
  switch (combination.kind) {
    case 'merge':
      return sidesOfMerge(store, combination.target, combination.child);
    case 'pick':
      return sidesOfPick(store, combination.branch, combination);
    case 'revert':
      return sidesOfRevert(store, combination.branch, combination.commit);
  }
};
/** A revert is the merge of the commit's parent, with the commit as the base. */
const sidesOfRevert = async (store: PoolStore, branch: string, commitId: Id): Promise<ThreeWay> => {
  const ours = store.branch(branch).commit;
  let fault: LakeError | undefined;
  try {
    await prepareRevert(store, branch, commitId);
  } catch (error) {
    // Objects know nothing of identities: records of the commit may be there in others.
    if (!isObjectFault(error) && !(store.config.identity && isEmptyRevert(error))) throw error;
    fault = error;
  }
  const { parent } = store.commit(commitId)!;
  const found = await sidesOfPick(store, branch, { from: commitId, to: parent });
  const { fault: _, ...sides } = found;
  return { ...sides, ours, ...(fault && { fault }) };
};

const isEmptyRevert = (error: unknown): error is LakeError =>
  error instanceof LakeError && error.code === 'revert-empty';

/**
 * Whether records have to be looked at: objects are in each other's way, or both sides changed something and records
 * have an identity, of which objects know nothing.
 */
export const needsRecords = (store: PoolStore, { fault, sides }: ThreeWay): boolean =>
  fault !== undefined ||
  (store.config.identity !== undefined && sides.own.length + sides.removed.length + sides.gone.length > 0);

/** Pins what is read. @throws records-vacuumed, and the conflict of objects in each other's way where the base is in doubt */
export const openSides = async (store: PoolStore, found: ThreeWay): Promise<RecordSides> => {
  const { base, baseCommit, ours, theirs, fault, isExact } = found;
  const [ourList, theirList] = [await store.list(ours), await store.list(theirs)];
  const { own, other, isCommonRead } = differencesOf(store, [base, ourList, theirList]);
  // Rows that they took away are in what they took away, or in what we made of it.
  const isKin = isCommonRead || (await haveCommonOrigin(store, base, found));
  const candidates = [...own.adds, ...other.removes.filter((entry) => ourList.has(entry))];
  if (!isExact && fault) throw fault;
  try {
    // From here to the pins nothing waits, so that no vacuum comes in between.
    if (store.deleted) throw new LakeError('pool-not-found', { pool: store.config.name });
    const opened: (() => void)[] = [];
    const diffOf = (commit: Id, { adds, removes }: typeof own): Diff => {
      const diff = sidesOfDiff(store, { from: baseCommit, commit, adds, removes });
      opened.push(diff.release);
      return diff;
    };
    const ourDiff = diffOf(ours, { adds: own.adds, removes: own.removes });
    const theirDiff = diffOf(theirs, other);
    const list = ObjectList.of(store.order, candidates);
    const target = snapshotOf({
      pool: store.config,
      commit: ours,
      list,
      tables: store.stores.tables,
      packs: undefined,
      onRelease: store.pin(list),
    });
    opened.push(target.release);
    return {
      pool: store.config,
      ours: ourDiff,
      theirs: theirDiff,
      target,
      isKin,
      release: () => {
        for (const release of opened.splice(0)) release();
      },
    };
  } catch (error) {
    if (!(error instanceof LakeError && error.code === 'vacuumed')) throw error;
    const told = {
      fault: fault?.message ?? 'both sides changed something, and records have an identity',
      objects: error.parameters['objects'] ?? '',
    };
    throw new LakeError('records-vacuumed', told, { cause: error, details: (fault ?? error).details });
  }
};

/**
 * What both sides have otherwise than the base. What both added as the very same object is no difference between them:
 * its rows are there, once, whatever else is to be done. It is read all the same where records have an identity: what
 * a side made of a record may be in it, and what went with the object that the base has instead.
 */
const differencesOf = (
  store: PoolStore,
  [base, ours, theirs]: readonly [ObjectList, ObjectList, ObjectList],
): { readonly own: Difference; readonly other: Difference; readonly isCommonRead: boolean } => {
  const [own, other] = [difference(base, ours), difference(base, theirs)];
  const ids = new Set(own.adds.map(({ id }) => id));
  const common = new Set(other.adds.map(({ id }) => id).filter((id) => ids.has(id)));
  const isCommonRead = store.config.identity !== undefined && common.size > 0;
  if (common.size === 0 || isCommonRead) return { own, other, isCommonRead };
  const rest = ({ adds, removes }: Difference): Difference => ({
    adds: adds.filter(({ id }) => !common.has(id)),
    removes,
  });
  return { own: rest(own), other: rest(other), isCommonRead };
};
type Difference = ReturnType<typeof difference>;

/**
 * Whether no record of these objects, which our side got while records were compared, can be one of the base or of the
 * other side too, as it is with those that are loaded.
 */
export const areNew = async (
  store: PoolStore,
  combination: Combination,
  objects: readonly ObjectEntry[],
): Promise<boolean> => {
  if ((await store.lineage.relatives(objects.map(({ id }) => id))).size > 0) return false;
  const { base, theirs } = await threeWay(store, combination);
  const theirList = await store.list(theirs);
  return !objects.some((entry) => base.has(entry) || theirList.has(entry));
};

/** Whether both sides added objects that come from one which the base has not. */
const haveCommonOrigin = async (store: PoolStore, base: ObjectList, { sides }: ThreeWay): Promise<boolean> => {
  const idsOf = (entries: ThreeWay['sides']['adds']): readonly Id[] => entries.map(({ id }) => id);
  const theirs = await store.lineage.origins(idsOf(sides.adds));
  for (const id of await store.lineage.origins(idsOf(sides.own))) {
    const entry = theirs.has(id) ? store.entry(id) : undefined;
    if (entry && !base.has(entry)) return true;
  }
  return false;
};

/** The error of records in conflict; `told`: the first of them. */
export const recordsError = (combination: Combination, count: number, told: string): LakeError => {
  const details = { details: { conflicts: told === '' ? [] : told.split('\n') } };
  switch (combination.kind) {
    case 'merge':
      return new LakeError('merge-records', { child: combination.child, target: combination.target, count }, details);
    case 'revert':
      return new LakeError('revert-records', { id: base62(combination.commit), count }, details);
    case 'pick':
      return new LakeError('pick-records', { id: base62(combination.to), count }, details);
  }
};
/** The objects of the other side of which rows may be in what is written. */
export const sourcesOf = ({ sides }: ThreeWay): readonly Id[] => sides.adds.map(({ id }) => id);
