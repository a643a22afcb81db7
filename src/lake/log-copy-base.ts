/**
 * What goes into the copy of the commit log from the tables and not from transactions: everything, as the base of a new generation, or what a crash kept from it.
 *
 * Invariant: a part is read at once, in the turn in which it is queued; transactions that come later are queued behind it, so that the last one wins.
 */
import { firstParents } from './history.ts';
import { idBuffer, zeroId } from './ksuid.ts';
import type { Id } from './lake.types.ts';
import type { RecordKind } from './log-copy-format.ts';
import { type Counters, decodeBranch, decodeCommit, decodeEvent, decodeObject, eventKey, idOfEventKey, pairKey, type StoredCommit } from './rows.ts';
import type { Change, Put, TableName, Tables } from './tables.ts';

/** The counters up to which everything is durable. */
type CountersRow = () => readonly Change[];
/** A record to be written: what its changes are, and themselves. */
interface CopyPart { readonly kind: RecordKind; readonly changes: readonly Change[] }

const rowsPerPart = 500;
/** Bodies are up to 64 KiB each. */
const bodiesPerPart = 32;
const baseTables: readonly TableName[] = ['commits', 'objects', 'bodies', 'vacuumed', 'events'];

/** Everything. */
export function* baseParts(tables: Tables, counters: CountersRow): IterableIterator<CopyPart> {
  yield roster(tables);
  for (const table of baseTables) yield* wholeTable(tables, table, 'base');
  // What the machine changed meanwhile is queued already; pools and branches once more, so that they are all of one moment.
  yield roster(tables);
  yield { kind: 'base end', changes: counters() };
}

/**
 * What transactions after these counters wrote: the events tell which commits there were, pools and branches are written whole. Silent commits (markers
 * of vectors) have no event: they are found below the tips. Undefined when the events are no longer kept.
 */
export const missedParts = (tables: Tables, since: Counters, counters: CountersRow): IterableIterator<CopyPart> | undefined => {
  const oldest = tables.keys('events', { limit: 1 })[0], last = tables.rows('events', { reverse: true, limit: 1 })[0];
  const reached = last ? idOfEventKey(last.key) : 0;
  // A change that was refused leaves a gap at the end of the numbers, never an event.
  if (oldest ? idOfEventKey(oldest) > since.event + 1 : since.event < reached) return undefined;
  return missed(tables, since, counters);
};

function* missed(tables: Tables, since: Counters, counters: CountersRow): IterableIterator<CopyPart> {
  for (let start = since.event + 1; ;) {
    const rows = tables.rows('events', { start: eventKey(start), limit: bodiesPerPart }), changes: Change[] = [];
    for (const { key, payload } of rows) {
      changes.push({ table: 'events', key, payload });
      const { poolId, commitId } = decodeEvent(key, payload);
      if (commitId !== undefined) changes.push(...commitRows(tables, poolId, commitId, since));
    }
    if (rows.length === 0) break;
    yield { kind: 'caught up', changes };
    start = idOfEventKey(rows.at(-1)!.key) + 1;
  }
  yield roster(tables);
  const tips: Change[] = [];
  for (const { key, payload } of tables.rows('branches')) tips.push(...commitRows(tables, key.subarray(0, 20).toString('hex'), decodeBranch(key, payload).commit, since));
  yield { kind: 'caught up', changes: tips };
  yield* wholeTable(tables, 'vacuumed', 'caught up');
  yield { kind: 'caught up', changes: counters() };
}

/** A commit, the silent ones right below it, and the objects that are new since then. */
const commitRows = (tables: Tables, pool: Id, id: Id, since: Counters): Change[] => {
  const changes: Change[] = [];
  const rowOf = (commit: Id): Buffer | undefined => tables.get('commits', pairKey(pool, commit));
  // Without a row its pool was deleted since.
  if (id === zeroId || !rowOf(id)) return changes;
  for (const commit of firstParents((each) => { const row = rowOf(each); return row && decodeCommit(each, row); }, id)) {
    changes.push({ table: 'commits', key: pairKey(pool, commit.id), payload: rowOf(commit.id)! });
    for (const object of commit.adds) changes.push(...objectRows(tables, pool, object, since));
    if ((commit.id !== id && !isSilent(commit)) || commit.parent === zeroId || !rowOf(commit.parent)) break;
  }
  return changes;
};
const isSilent = ({ adds, deletes, addVectors, deleteVectors }: StoredCommit): boolean => adds.length === 0 && deletes.length === 0 && (addVectors !== undefined || deleteVectors !== undefined);

const objectRows = (tables: Tables, pool: Id, id: Id, since: Counters): readonly Change[] => {
  const key = pairKey(pool, id), payload = tables.get('objects', key);
  if (!payload) return [];
  const { sequence, inTable } = decodeObject(id, payload);
  if (sequence <= since.sequence) return [];
  const body = inTable ? tables.get('bodies', idBuffer(id)) : undefined;
  return [{ table: 'objects', key, payload }, ...(body ? [{ table: 'bodies' as const, key: idBuffer(id), payload: body }] : [])];
};

const roster = (tables: Tables): CopyPart => ({ kind: 'roster', changes: (['pools', 'branches'] as const).flatMap((table) => tables.rows(table).map((row): Put => ({ table, ...row }))) });
function* wholeTable(tables: Tables, table: TableName, kind: RecordKind): IterableIterator<CopyPart> {
  const limit = table === 'bodies' ? bodiesPerPart : rowsPerPart;
  for (let start: Buffer | undefined; ;) {
    const rows = tables.rows(table, { ...(start && { start }), limit });
    if (rows.length > 0) yield { kind, changes: rows.map((row): Put => ({ table, ...row })) };
    if (rows.length < limit) return;
    start = Buffer.concat([rows.at(-1)!.key, Buffer.from([0])]);
  }
}
