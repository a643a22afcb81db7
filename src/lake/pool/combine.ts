/**
 * Merges, reverts and picks as a pool's clients ask for them: by objects where that decides it, else by records, which
 * are compared outside of the queue; the job then checks and commits, as a rewrite's does.
 */
import { LakeError } from '../../errors.ts';
import type { PoolTask, RecordChange } from '../../../machines/pool.events.ts';
import {
  branchOf,
  isObjectFault,
  needsRecords,
  openSides,
  recordsError,
  sourcesOf,
  threeWay,
} from '../commits/records.ts';
import { mergeEmpty, type ThreeWay } from '../commits/merge.ts';
import { previewObjects } from '../commits/preview.ts';
import { checkTip } from '../commits/tip-check.ts';
import type {
  Combination,
  CommitResult,
  Id,
  ObjectMeta,
  PrepareRecords,
  Preview,
  PreviewAsked,
  RecordsAsked,
  RecordsPrepared,
} from '../lake.types.ts';
import { Overtaken } from '../jobs/overtaken.ts';
import { inLine, isWaitedFor, type Place } from './line.ts';
import type { Prepared } from './prepared.ts';
import type { PoolStore } from './store.ts';

/** How often it is prepared again when others change the branch under it. */
const attemptsMax = 8;
/** Conflicts that the error tells. */
const conflictsTold = 100;

/** What it is done with. `line`: where it waits for others that change the same branches. */
export interface CombineTools {
  readonly store: PoolStore;
  readonly line: readonly Place[];
  readonly submit: (task: PoolTask, objects: readonly ObjectMeta[]) => Promise<CommitResult>;
  readonly removeFiles: (objects: readonly ObjectMeta[]) => Promise<void>;
  readonly removeUncommitted: (objects: readonly ObjectMeta[], error: unknown) => Promise<void>;
}

/**
 * Without `prepare` by objects alone. Side by side with others until one of them was faster, then behind those who
 * change any of its branches. @throws combine-overtaken, and what the branch is against
 */
export const combine = async (
  tools: CombineTools,
  combination: Combination,
  prepare?: PrepareRecords,
): Promise<CommitResult> => {
  const { submit, line } = tools;
  if (!prepare) return submit(combination, []);
  if (isWaitedFor(line)) return inLine(line, () => untilMade(tools, combination, prepare, 1));
  const first = await attemptOf(tools, combination, prepare);
  return first ?? inLine(line, () => untilMade(tools, combination, prepare, 2));
};

/** `from`: the number of the next attempt. @throws combine-overtaken */
const untilMade = async (
  tools: CombineTools,
  combination: Combination,
  prepare: PrepareRecords,
  from: number,
): Promise<CommitResult> => {
  for (let attempt = from; attempt <= attemptsMax; attempt++) {
    const made = await attemptOf(tools, combination, prepare);
    if (made) return made;
  }
  throw new LakeError('combine-overtaken', { branch: branchOf(combination), attempts: attemptsMax });
};

/** Undefined: others changed its branches while its records were compared. */
const attemptOf = async (
  tools: CombineTools,
  combination: Combination,
  prepare: PrepareRecords,
): Promise<CommitResult | undefined> => {
  const { store, submit, removeFiles, removeUncommitted } = tools;
  // Objects tell all of it where records have no identity and none are in each other's way: its job finds that out.
  if (!store.config.identity) {
    try {
      return await submit(combination, []);
    } catch (error) {
      if (!isObjectFault(error)) throw error;
    }
  }
  const { task, objects, check, release } = await prepareCombined(store, combination, prepare);
  try {
    check();
    return await submit(task, objects);
  } catch (error) {
    if (!(error instanceof Overtaken)) {
      await removeUncommitted(objects, error);
      throw error;
    }
    await removeFiles(objects);
    return undefined;
  } finally {
    release();
  }
};

/** Compares records where objects do not decide it. `check` throws the records in conflict, or that nothing is left to do. */
export const prepareCombined = async <C extends Combination>(
  store: PoolStore,
  combination: C,
  prepare: PrepareRecords,
): Promise<Prepared<C & { readonly records: RecordChange }> & { readonly check: () => void }> => {
  const found = await threeWay(store, combination);
  const { ours, theirs } = found;
  if (!needsRecords(store, found)) {
    const nothing = (): void => undefined;
    const task = { ...combination, records: { ours, theirs } };
    return { task, objects: [], written: [], check: nothing, release: nothing };
  }
  const asked: RecordsAsked = { offset: 0, limit: conflictsTold, dryRun: false, objectsFit: !found.fault };
  const { prepared, release } = await compared(store, found, prepare, asked);
  return {
    task: { ...combination, records: changeOf(found, prepared) },
    objects: prepared.adds,
    written: prepared.adds,
    check: () => {
      checkPrepared(combination, prepared, found);
    },
    release,
  };
};

const changeOf = (found: ThreeWay, { removes, adds, isApart, keys: ends }: RecordsPrepared): RecordChange => {
  const { fault } = found;
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const keys = ends && ([hex(ends[0]), hex(ends[1])] as const);
  const sides = { ours: found.ours, theirs: found.theirs, ...(keys && { keys }) };
  if (isApart && !fault) return sides;
  return { ...sides, change: { removes, adds: adds.map(({ id }) => id), from: sourcesOf(found) } };
};

/** @throws the records in conflict, or that there is nothing to do */
const checkPrepared = (
  combination: Combination,
  { conflicts, told, removed, added, settled, isApart }: RecordsPrepared,
  { fault }: ThreeWay,
): void => {
  if (conflicts > 0) throw recordsError(combination, conflicts, told);
  // Without a commit of it what was settled would be in conflict again.
  if (removed + added + settled > 0 || (isApart && !fault)) return;
  if (combination.kind === 'merge') throw mergeEmpty(combination.target, combination.child);
  throw new LakeError(combination.kind === 'revert' ? 'revert-empty' : 'pick-empty');
};

/** Compares the records of the sides, which stay pinned until `release`. */
const compared = async (
  store: PoolStore,
  found: ThreeWay,
  prepare: PrepareRecords,
  asked: RecordsAsked,
): Promise<{ readonly prepared: RecordsPrepared; readonly release: () => void }> => {
  const sides = await openSides(store, found);
  const release = (): void => {
    sides.release();
  };
  try {
    return { prepared: await prepare(sides, asked), release };
  } catch (error) {
    release();
    throw error;
  }
};

/** What it would do at the branch's present tip: by records where it goes by these. */
export const previewCombined = async (
  store: PoolStore,
  combination: Combination,
  { prepare, offset = 0, limit = conflictsTold, ...terms }: PreviewAsked,
): Promise<Preview> => {
  const tip = store.branch(branchOf(combination)).commit;
  checkTip(terms.ifTip, tip);
  const byObjects = (): Promise<Preview> => previewObjects(store, combination, terms);
  if (!prepare) return byObjects();
  let found: ThreeWay;
  try {
    found = await threeWay(store, combination);
  } catch (error) {
    // What a preview shows instead of being refused itself.
    if (error instanceof LakeError) return byObjects();
    throw error;
  }
  if (!needsRecords(store, found)) return byObjects();
  const asked: RecordsAsked = { offset, limit, dryRun: true, objectsFit: !found.fault };
  try {
    const { prepared, release } = await compared(store, found, prepare, asked);
    release();
    if (prepared.isApart && !found.fault && prepared.conflicts === 0) return await byObjects();
    return previewOfRecords(tip, combination, prepared, found);
  } catch (error) {
    if (error === found.fault) return byObjects();
    if (!(error instanceof LakeError && error.code === 'records-vacuumed')) throw error;
    return { ...(await byObjects()), refusal: error.message };
  }
};
const previewOfRecords = (tip: Id, combination: Combination, prepared: RecordsPrepared, found: ThreeWay): Preview => {
  const { conflicts, told, removed, added } = prepared;
  let refusal: string | undefined;
  try {
    checkPrepared(combination, prepared, found);
  } catch (error) {
    refusal = (error as Error).message;
  }
  return {
    tip,
    adds: [],
    removes: [],
    recordsAdded: conflicts > 0 ? 0 : added,
    recordsRemoved: conflicts > 0 ? 0 : removed,
    conflicts: [],
    records: { conflicts, told },
    ...(refusal !== undefined && { refusal }),
  };
};
