/** What a table may be pinned to: a branch, a commit, or a time. */
import { LakeError } from '../errors.ts';
import { zeroId } from '../lake/ksuid.ts';
import type { DerivedPool, Id } from '../lake/lake.types.ts';

/** `name`: as it was written; absent: the table with all of its refs. */
export interface Pin {
  readonly name?: string;
  readonly commit?: Id;
}

/** What a text pins a table to: a commit, a branch, or the newest commit of `main` up to a time; undefined: nothing. */
export const pinOf = (pool: DerivedPool, text: string): Pin | undefined => {
  try {
    return { name: text, commit: pool.resolve(text) };
  } catch (fault) {
    if (!(fault instanceof LakeError) || !notThere.has(fault.code)) throw fault;
  }
  const ms = timeOf(text);
  const main = pool.branches().find(({ name }) => name === 'main');
  if (ms === undefined || !main) return undefined;
  for (let at = main.commit; at !== zeroId; ) {
    const commit = pool.commit(at);
    if (!commit) return undefined;
    if (commit.dateNs <= BigInt(ms) * 1_000_000n + 999_999n) return { name: text, commit: at };
    at = commit.parent;
  }
  return { name: text, commit: zeroId };
};
const notThere: ReadonlySet<string> = new Set(['branch-not-found', 'commit-file-missing']);

/** A date of ISO 8601, with a zone where it has a time of day. Milliseconds since 1970. */
const timeOf = (text: string): number | undefined => {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
};
