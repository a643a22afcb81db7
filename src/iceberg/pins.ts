/** What a table may be pinned to: a branch, a tag, a commit, or a time. */
import { LakeError } from '../errors.ts';
import type { DerivedPool, Id } from '../lake/lake.types.ts';

/** `name`: as it was written; absent: the table with all of its refs. */
export interface Pin {
  readonly name?: string;
  readonly commit?: Id;
}

/** What a text pins a table to: a commit, a branch, a tag, or what `main` was at a time; undefined: nothing. */
export const pinOf = async (pool: DerivedPool, text: string): Promise<Pin | undefined> => {
  try {
    return { name: text, commit: pool.resolve(text) };
  } catch (fault) {
    unlessNotThere(fault);
  }
  const time = timeOf(text);
  if (time === undefined) return undefined;
  try {
    return { name: text, commit: await pool.asOf(time) };
  } catch (fault) {
    return unlessNotThere(fault);
  }
};
const notThere: ReadonlySet<string> = new Set(['branch-not-found', 'commit-file-missing', 'asof-absent']);
const unlessNotThere = (fault: unknown): undefined => {
  if (!(fault instanceof LakeError) || !notThere.has(fault.code)) throw fault;
  return undefined;
};

/**
 * A date of ISO 8601, with a zone where it has a time of day, as the end of its millisecond: engines tell the times of
 * snapshots in these.
 */
const timeOf = (text: string): string | undefined => {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace('Z', '999999Z');
};
