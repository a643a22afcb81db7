/** A merge, revert or pick as it is asked for: how its conflicts are settled, what it would do, and its request. */
import type { PoolInfo, Preview } from '../../../src/client/client.ts';
import { mediaTypes } from '../../../src/client/query.ts';
import { curlName } from '../action.ts';
import type { CurlRequest } from '../curl.ts';
import { supText } from '../query/print.ts';
import { type Cell, fieldOf, partsOf, plain } from '../query/wire.ts';
import { cellsAccept, cellsOf } from '../records/cells.ts';
import { recordOf } from '../records/sides.tsx';
import { send } from '../session.ts';

/** What is combined: the other branch or tag, or the id of a commit. */
export interface Combination {
  readonly verb: 'merge' | 'revert' | 'pick';
  readonly pool: PoolInfo;
  readonly branch: string;
  readonly what: string;
}
/** Whose record is taken: the branch's, the other side's, or what both began with. */
export type Take = 'ours' | 'theirs' | 'base';
/** How records in conflict are settled. */
export interface Settlement {
  /** Records whose fields the sides changed apart are put together. */
  readonly fields: boolean;
  /** For those that are not chosen one by one. */
  readonly rest: '' | 'ours' | 'theirs';
  /** By the keys' texts. */
  readonly taken: ReadonlyMap<string, Take>;
}
/** Nothing is settled. */
export const unsettled: Settlement = { fields: false, rest: '', taken: new Map() };

/** A record that both sides changed. `id`: the key's text, as SUP. */
export interface Conflict {
  readonly id: string;
  readonly key: Cell;
  readonly base: Cell | undefined;
  readonly ours: Cell | undefined;
  readonly theirs: Cell | undefined;
}
/** The first of the conflicts, and how many there are. */
export interface Conflicts {
  readonly count: number;
  readonly told: readonly Conflict[];
}

const queryOf = ({ fields, rest }: Settlement): Readonly<Record<string, string>> => ({
  ...(fields && { fields: 'T' }),
  ...(rest !== '' && { resolve: rest }),
});
const bodyOf = ({ taken }: Settlement): string | undefined =>
  taken.size === 0
    ? undefined
    : `{settle:[${[...taken].map(([key, take]) => `{key:${key},take:"${take}"}`).join(',')}]}`;
const pathOf = ({ verb, pool, branch, what }: Combination, name = pool.id): readonly string[] => [
  'pool',
  name,
  'branch',
  branch,
  verb,
  what,
];
const typed = (body: string | undefined): Readonly<Record<string, string>> =>
  body === undefined ? {} : { 'Content-Type': mediaTypes.sup };

/** What it would do, so settled. @throws LakeFailure when it cannot be told */
export const previewOf = async (what: Combination, settlement: Settlement): Promise<Preview> => {
  const body = bodyOf(settlement);
  const response = await send('POST', pathOf(what), {
    query: { dryrun: 'T', limit: '1', ...queryOf(settlement) },
    headers: { Accept: 'application/json', ...typed(body) },
    ...(body !== undefined && { body }),
  });
  return previewFrom((await response.json()) as PreviewJson);
};
interface PreviewJson {
  readonly tip: string;
  readonly adds: readonly string[];
  readonly removes: readonly string[];
  readonly records_added: number;
  readonly records_removed: number;
  readonly records: number;
  readonly conflicts: readonly string[];
  readonly error: string | null;
  readonly record_conflicts?: NonNullable<Preview['recordConflicts']>;
}
const previewFrom = ({ records_added, records_removed, record_conflicts, error, ...rest }: PreviewJson): Preview => ({
  ...rest,
  recordsAdded: records_added,
  recordsRemoved: records_removed,
  error: error ?? undefined,
  ...(record_conflicts && { recordConflicts: record_conflicts }),
});

/** The conflicts that are there while none is settled one by one, with their records as they are. */
export const conflictsOf = async (what: Combination, fields: boolean, max: number): Promise<Conflicts> => {
  const response = await send('POST', pathOf(what), {
    query: { dryrun: 'T', limit: String(max), ...(fields && { fields: 'T' }) },
    headers: { Accept: cellsAccept },
  });
  for await (const preview of cellsOf(response.body!)) {
    const told = fieldOf(preview, 'record_conflicts');
    if (!told) break;
    return {
      count: Number(fieldOf(told, 'count')!.json),
      told: partsOf(fieldOf(told, 'conflicts')!).flatMap(({ cell }) => (cell ? [conflictOf(plain(cell))] : [])),
    };
  }
  return { count: 0, told: [] };
};
const conflictOf = (cell: Cell): Conflict => {
  const key = fieldOf(cell, 'key')!;
  const side = (name: string): Cell | undefined => recordOf(fieldOf(cell, name));
  return { id: supText(key), key, base: side('base'), ours: side('ours'), theirs: side('theirs') };
};

/** Does it. @throws LakeFailure */
export const combine = async (
  what: Combination,
  settlement: Settlement,
  headers: Readonly<Record<string, string>>,
): Promise<void> => {
  const body = bodyOf(settlement);
  await send('POST', pathOf(what), {
    query: queryOf(settlement),
    headers: { Accept: 'application/json', ...headers, ...typed(body) },
    ...(body !== undefined && { body }),
  });
};
/** The same as a line for a shell. */
export const combineRequest = (
  what: Combination,
  settlement: Settlement,
  headers: Readonly<Record<string, string>>,
): CurlRequest => {
  const body = bodyOf(settlement);
  const query = queryOf(settlement);
  return {
    method: 'POST',
    path: pathOf(what, curlName(what.pool)),
    headers: { ...headers, ...typed(body) },
    ...(Object.keys(query).length > 0 && { query }),
    ...(body !== undefined && { body }),
  };
};
