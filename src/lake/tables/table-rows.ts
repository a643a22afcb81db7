/** The names of the tables, and what a transaction changes in them. */
import { LakeError } from '../../errors.ts';

/**
 * `about`: format version and counters. `pools`, `names` (by digest), `branches` (pool, digest), `commits` and
 * `objects` (pool, id), `bodies` (object id: objects small enough to live here), `files` (object id -> pool: objects
 * with a file), `vacuumed` (pool, object), `checkpoints` (pool, commit, part), `events` (number), `purges` (pools whose
 * rows are still to be removed), `packs` (pool, pack: copies, see packs.ts), `retries` (keys of requests that may be
 * sent again, see retries.ts), `lineage` (pool; pool, object; pool, step: see lineage.ts), `views` (view, version), `tags`
 * (pool, digest), `moves` (pool, digest of a branch, time), `iceberg` (pool, what for: columns and files of the pool as an
 * Iceberg table, see src/iceberg).
 */
export const tableNames = [
  'about',
  'pools',
  'names',
  'branches',
  'commits',
  'objects',
  'bodies',
  'files',
  'vacuumed',
  'checkpoints',
  'events',
  'purges',
  'packs',
  'retries',
  'lineage',
  'views',
  'tags',
  'moves',
  'iceberg',
] as const;
/** The name of a table. */
export type TableName = (typeof tableNames)[number];

/** A row is written, whether it was there before or not. */
export interface Put {
  readonly table: TableName;
  readonly key: Uint8Array;
  readonly payload: Uint8Array;
}
/** A row goes. */
export interface Remove {
  readonly table: TableName;
  readonly key: Uint8Array;
  readonly payload?: undefined;
}
/** What a transaction does to one row. */
export type Change = Put | Remove;

/**
 * What is thrown for a row that is not as it was written, though its checksum holds. `key`: in hexadecimal digits, or
 * the id in it.
 */
export const rowFault = (table: TableName, key: string, fault: string, cause?: unknown): LakeError =>
  new LakeError('table-corrupt', { table, key, fault }, { cause });
/** The same for one that must be there, since another one names it. */
export const rowMissing = (table: TableName, key: string): LakeError => rowFault(table, key, 'the row is missing');

/** LMDB takes keys of 1 to 1,978 bytes; a value has its key's length in one byte. */
const keyBytesMax = 255;
/** Whether a row can have this key. */
export const isKey = (key: Uint8Array): boolean => key.length > 0 && key.length <= keyBytesMax;

/** Rows of `about` that LMDB has for itself: the version of its rows, and up to where it has the log. */
export const versionKey = Buffer.from('format version'),
  placeKey = Buffer.from('log');
/** Whether a row is the log's, and not LMDB's own. */
export const isLogged = ({ table, key }: { readonly table: TableName; readonly key: Uint8Array }): boolean =>
  table !== 'about' || ![versionKey, placeKey, journalKey, followedKey].some((own) => own.equals(key));
/** Of a replica: up to which segment of the bucket its tables are. */
export const followedKey = Buffer.from('followed');
/** Of lakes up to format 3. */
export const journalKey = Buffer.from('journal');
