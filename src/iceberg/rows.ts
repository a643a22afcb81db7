/**
 * The rows that a pool keeps as an Iceberg table, durable as its commits are: columns, what is known of the files of its
 * data objects and of merged ones, metadata that was given out. All JSON.
 */
import { base62, idBuffer, idOfBytes } from '../lake/ksuid.ts';
import type { DerivedPool, Id } from '../lake/lake.types.ts';
import type { ColumnRole, TableColumn } from './columns.ts';
import type { Mapping } from './kinds.ts';
import type { MergedPart } from './merged.ts';
import type { ColumnFigures } from './rendition.ts';

/**
 * Of the mapping of types (columns.ts): part of the name of each file. Files of an earlier one are made again: 2 had no
 * decimals, dates, UUIDs and bytes of one length; 3 and 101 had lists of records without a field, which nobody reads, and
 * bounds beside NaN. Those of the mapping `variant` begin at 101.
 */
export const mappingVersions = { typed: 4, variant: 102 } as const satisfies Record<Mapping, number>;
/** Of rows that do not say theirs. */
const firstMapping = 2;

const columnsPrefix = Buffer.from('c');
const filesPrefix = Buffer.from('o');
const mergedPrefix = Buffer.from('g');
const metadataPrefix = Buffer.from('m');
/** Rows that are read in one turn of the event loop. */
export const rowsPerTurn = 1000;

/**
 * An object's rows as a Parquet file. `file`: in which it lies, from byte `at` on; `schema`: how many columns the table
 * had when it was made; `mapping`: the version of it. `digest`: of the bytes (digest.ts); rows of earlier versions have none. `goneMs`: when it was found that the object had been vacuumed, milliseconds since 1970.
 */
export interface Rendition {
  readonly file: Id;
  readonly at: number;
  readonly bytes: number;
  readonly rows: number;
  readonly schema: number;
  readonly columns: readonly ColumnFigures[];
  readonly mapping?: number;
  readonly digest?: string;
  readonly goneMs?: number;
}
/** Whether a file has its values where they belong by now. */
export const isCurrent = ({ mapping: version = firstMapping }: Pick<Rendition, 'mapping'>, mapping: Mapping): boolean =>
  version === mappingVersions[mapping];
/** Metadata that was given out, in a file of its own. */
export interface StoredMetadata {
  readonly bytes: number;
  readonly ms: number;
}

/** Before the keys of all rows of the mapping `variant`, which is a table of its own: ids and files are others. */
const variantPrefix = Buffer.from('v');
const ownKey = (key: Uint8Array): Buffer => Buffer.concat([variantPrefix, key]);
/** The rows of one mapping alone. */
export const rowsOf = (pool: PoolRows, mapping: Mapping): PoolRows =>
  mapping === 'typed'
    ? pool
    : {
        rows: ({ prefix, start, limit }) =>
          pool
            .rows({ prefix: ownKey(prefix), ...(start && { start: ownKey(start) }), limit })
            .map(({ key, payload }) => ({ key: key.subarray(variantPrefix.length), payload })),
      };
/** A pool with the rows of one mapping alone. */
export const poolOf = (pool: DerivedPool, mapping: Mapping): DerivedPool => {
  if (mapping === 'typed') return pool;
  return {
    get config() {
      return pool.config;
    },
    branches: () => pool.branches(),
    tags: () => pool.tags(),
    resolve: (commitish) => pool.resolve(commitish),
    asOf: (time) => pool.asOf(time),
    commit: (id) => pool.commit(id),
    object: (id, body) => pool.object(id, body),
    isVacuumed: (id) => pool.isVacuumed(id),
    vacuums: () => pool.vacuums(),
    objects: (commit) => pool.objects(commit),
    hold: (commit) => pool.hold(commit),
    row: (key) => pool.row(ownKey(key)),
    rows: rowsOf(pool, mapping).rows,
    write: (rows) => pool.write(rows.map((row) => ({ ...row, key: ownKey(row.key) }))),
  };
};

/** The rows of a pool, as who only reads them sees them. */
export type PoolRows = Pick<DerivedPool, 'rows'>;
type Row = Parameters<DerivedPool['write']>[0][number];
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value), 'utf8');

type ColumnRow = readonly [parent: number, role: ColumnRole, field: string, kind: string, name: string];
/** New columns, behind those that are there: rows only come. */
export const columnsRow = (columns: readonly TableColumn[]): Row => {
  const key = Buffer.alloc(5);
  columnsPrefix.copy(key);
  key.writeUInt32BE(columns[0]?.id ?? 0, 1);
  return {
    key,
    payload: json(columns.map(({ parent, role, field, kind, name }): ColumnRow => [parent, role, field, kind, name])),
  };
};
/** All columns of a table. */
export const readColumns = (pool: DerivedPool): readonly TableColumn[] => {
  const columns: TableColumn[] = [];
  for (const { payload } of allRows(pool, columnsPrefix))
    for (const [parent, role, field, kind, name] of JSON.parse(payload.toString('utf8')) as readonly ColumnRow[])
      columns.push({ id: columns.length + 1, parent, role, field, kind, name });
  return columns;
};

const renditionKey = (object: Id): Buffer => Buffer.concat([filesPrefix, idBuffer(object)]);
/** What is known of an object's file; without it the row goes. */
export const renditionRow = (object: Id, rendition?: Rendition): Row => ({
  key: renditionKey(object),
  ...(rendition && { payload: json(rendition) }),
});
export const readRendition = (pool: DerivedPool, object: Id): Rendition | undefined => {
  const payload = pool.row(renditionKey(object));
  return payload && (JSON.parse(payload.toString('utf8')) as Rendition);
};
/** Those of all objects, in order of their ids, behind one of them. */
export function* renditionsOf(
  pool: PoolRows,
  after?: Id,
): IterableIterator<{ readonly object: Id; readonly rendition: Rendition }> {
  for (const { key, payload } of allRows(pool, filesPrefix, after === undefined ? undefined : renditionKey(after))) {
    const object = idOfBytes(key.subarray(1));
    if (object !== after) yield { object, rendition: JSON.parse(payload.toString('utf8')) as Rendition };
  }
}

/** A file that has the rows of several objects, as that of one has. `parts`: merged.ts. */
export interface MergedRendition extends Omit<Rendition, 'at'> {
  readonly parts: readonly MergedPart[];
}
const mergedKey = (number: number): Buffer => {
  const key = Buffer.alloc(5);
  mergedPrefix.copy(key);
  key.writeUInt32BE(number, 1);
  return key;
};
/** What is known of a merged file; `gone`: its number is not to be given again. */
export const mergedRow = (number: number, merged: MergedRendition | 'gone'): Row => ({
  key: mergedKey(number),
  payload: json(merged === 'gone' ? null : merged),
});
const parsedMerged = (payload: Buffer): MergedRendition | undefined =>
  (JSON.parse(payload.toString('utf8')) as MergedRendition | null) ?? undefined;
export const readMerged = (pool: DerivedPool, number: number): MergedRendition | undefined => {
  const payload = pool.row(mergedKey(number));
  return payload && parsedMerged(payload);
};
/** All of them in order, behind a number; those that went are undefined. */
export function* mergedOf(
  pool: PoolRows,
  after = 0,
): IterableIterator<{ readonly number: number; readonly merged: MergedRendition | undefined }> {
  for (const { key, payload } of allRows(pool, mergedPrefix, mergedKey(after + 1)))
    yield { number: key.readUInt32BE(1), merged: parsedMerged(payload) };
}

const metadataKey = (digest: Id): Buffer => Buffer.concat([metadataPrefix, idBuffer(digest)]);
/** Metadata that was given out; without it the row goes. `digest`: the first 40 digits, which name its file. */
export const metadataRow = (digest: Id, stored?: StoredMetadata): Row => ({
  key: metadataKey(digest),
  ...(stored && { payload: json(stored) }),
});
export const readMetadata = (pool: DerivedPool, digest: Id): StoredMetadata | undefined => {
  const payload = pool.row(metadataKey(digest));
  return payload && (JSON.parse(payload.toString('utf8')) as StoredMetadata);
};
export function* metadataOf(
  pool: PoolRows,
): IterableIterator<{ readonly digest: Id; readonly stored: StoredMetadata }> {
  for (const { key, payload } of allRows(pool, metadataPrefix))
    yield { digest: idOfBytes(key.subarray(1)), stored: JSON.parse(payload.toString('utf8')) as StoredMetadata };
}

function* allRows(
  pool: PoolRows,
  prefix: Buffer,
  start?: Buffer,
): IterableIterator<{ readonly key: Buffer; readonly payload: Buffer }> {
  for (let from = start; ; ) {
    const rows = pool.rows({ prefix, limit: rowsPerTurn, ...(from && { start: from }) });
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < rowsPerTurn) return;
    from = Buffer.concat([last.key, Buffer.of(0)]);
  }
}

/** Digits of the numbers of merged files, so that names are in their order. */
export const mergedDigits = 10;
/** Names of a table's files below its folder. */
export const namesOf = (mapping: Mapping): FileNames => names[mapping];
interface FileNames {
  data(object: Id): string;
  merged(number: number): string;
  /** `generation`: of the merged files that the manifests may name; they are others for each. */
  manifestList(commit: Id, generation: number): string;
  manifest(commit: Id, generation: number, part: string): string;
  /** As engines name them, some of which look for the number. */
  metadata(digest: Id): string;
}
const namesFor = (version: number): FileNames => {
  const manifests = (commit: Id, generation: number): string =>
    `manifests/${base62(commit)}-${version}${generation === 0 ? '' : `-g${generation}`}`;
  return {
    data: (object) => `data/${base62(object)}-${version}.parquet`,
    merged: (number) => `merged/${String(number).padStart(mergedDigits, '0')}-${version}.parquet`,
    manifestList: (commit, generation) => `${manifests(commit, generation)}.avro`,
    manifest: (commit, generation, part) => `${manifests(commit, generation)}-${part}.avro`,
    metadata: (digest) => `metadata/00000-${digest}.metadata.json`,
  };
};
const names = {
  typed: namesFor(mappingVersions.typed),
  variant: namesFor(mappingVersions.variant),
} satisfies Record<Mapping, FileNames>;
