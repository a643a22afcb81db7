/** Which builds can read a lake: the version of its layout, by the tables and rows that it has. */
import { type Change, type TableName, versionKey } from './table-rows.ts';

/**
 * Layout of the lake; one of a newer layout is refused. 2: a journal ahead of LMDB. 3: the lineage of rewritten
 * objects, which an older build would not add to. 4: one log, whose index LMDB is. 5: views, 6: tags and moves of
 * branches, 7: columns and files of Iceberg tables, none of which older builds would read, 8: pools with an identity
 * and protected branches, which they would lose; a lake has that version from its first of these on, so that they open
 * all others.
 */
export const formatVersion = 8;
/** That of a lake with such a pool. */
export const identityVersion = 8;
/** That of a lake without any of these. */
const plainVersion = 4;
/** From the first view on. */
export const viewsVersion = 5;
/** From the first tag or move on. */
export const tagsVersion = 6;
/** From the first Iceberg table on. */
export const icebergVersion = 7;
/** From the first protection on, which is in rows that others have too. */
export const protectionVersion = 8;
/** Tables that a lake has only from some version on. */
const firstVersions: Partial<Record<TableName, number>> = {
  views: viewsVersion,
  tags: tagsVersion,
  moves: tagsVersion,
  iceberg: icebergVersion,
};
const firstVersion = (name: TableName): number => firstVersions[name] ?? plainVersion;
/** Within a name or a path its quotes would be escaped. */
const identityMember = '"identity":';
const versionOfRow = ({ table, payload }: Change): number =>
  table === 'pools' && payload && Buffer.from(payload).includes(identityMember) ? identityVersion : firstVersion(table);
/** The row that says which one it is. */
export const versionRow = (version: number): Change => ({
  table: 'about',
  key: versionKey,
  payload: Buffer.from(String(Math.max(version, plainVersion))),
});
/** Whether tables of that version have this one in any case. */
export const hasTable = (version: number, name: TableName): boolean =>
  version <= formatVersion && version >= firstVersion(name);
/** The version that rows ask for. */
export const versionOf = (rows: readonly Change[]): number =>
  rows.reduce((version, row) => Math.max(version, versionOfRow(row)), plainVersion);
