/**
 * What is removed of tables: files that nothing names, and those of objects that were vacuumed, a grace later, so that
 * whoever has older metadata can finish.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { killPoint } from '../../lake/kill-points.ts';
import type { DerivedPool, Id } from '../../lake/lake.types.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import type { Mapping } from '../kinds.ts';
import { MergedFiles } from '../merged.ts';
import {
  isCurrent,
  mergedOf,
  mergedRow,
  metadataOf,
  metadataRow,
  renditionRow,
  renditionsOf,
  rowsPerTurn,
} from '../rows.ts';

/** A pool with the rows of one mapping (rows.ts). */
export interface MappedPool {
  readonly pool: DerivedPool;
  readonly mapping: Mapping;
}
/**
 * At a start, before any file is made: files that no row names go, and rows whose file is not there, is cut off, or is
 * of an earlier mapping of types, which is made again when it is wanted.
 */
export const sweepFiles = async (pools: readonly MappedPool[], store: ObjectStore): Promise<void> => {
  const there = new Set<Id>();
  for await (const id of store.list()) there.add(id);
  const isWhole = (file: Id, end: number): boolean => there.has(file) && (store.lengthOf?.(file) ?? end) >= end;
  const named = new Set<Id>();
  for (const { pool, mapping } of pools) {
    const lost: Parameters<DerivedPool['write']>[0][number][] = [];
    let rows = 0;
    for (const { object, rendition } of renditionsOf(pool)) {
      if (isCurrent(rendition, mapping) && isWhole(rendition.file, rendition.at + rendition.bytes))
        named.add(rendition.file);
      else lost.push(renditionRow(object));
      if (++rows % rowsPerTurn === 0) await nextTurn();
    }
    const files = new MergedFiles();
    for (const { number, merged } of mergedOf(pool)) {
      if (++rows % rowsPerTurn === 0) await nextTurn();
      if (!merged) continue;
      // One whose parts are lost cannot be told of either.
      if (isCurrent(merged, mapping) && isWhole(merged.file, merged.bytes) && files.add(number, merged.parts))
        named.add(merged.file);
      else lost.push(mergedRow(number, 'gone'));
    }
    for (const { digest, stored } of metadataOf(pool))
      if (isWhole(digest, stored.bytes)) named.add(digest);
      else lost.push(metadataRow(digest));
    if (lost.length > 0) await pool.write(lost);
  }
  for (const id of there) {
    if (named.has(id)) continue;
    await store.delete(id);
    killPoint('iceberg: file gone');
  }
};

/** `nowMs`: milliseconds since 1970. */
interface SweepTimes {
  readonly graceMs: number;
  readonly nowMs: number;
}

/** What is gone of a table. `merged`: numbers. */
interface Swept {
  readonly objects: readonly Id[];
  readonly merged: readonly number[];
}

/** What is to go of one table. Gives what is gone. */
export const sweepTable = async (
  pool: DerivedPool,
  store: ObjectStore,
  { graceMs, nowMs }: SweepTimes,
): Promise<Swept> => {
  const rows: Parameters<DerivedPool['write']>[0][number][] = [];
  const gone: Id[] = [];
  const files = new Map<Id, boolean>();
  let seen = 0;
  for (const { object, rendition } of renditionsOf(pool)) {
    const since = rendition.goneMs;
    const isOver = since !== undefined && since + graceMs <= nowMs;
    // A file goes with the last of its objects.
    files.set(rendition.file, (files.get(rendition.file) ?? true) && isOver);
    if (isOver) {
      rows.push(renditionRow(object));
      gone.push(object);
    } else if (since === undefined && pool.isVacuumed(object))
      rows.push(renditionRow(object, { ...rendition, goneMs: nowMs }));
    if (++seen % rowsPerTurn === 0) await nextTurn();
  }
  const merged: number[] = [];
  const tiers = new MergedFiles();
  for (const { number, merged: file } of mergedOf(pool)) {
    if (++seen % rowsPerTurn === 0) await nextTurn();
    if (!file) continue;
    tiers.add(number, file.parts);
    const since = file.goneMs;
    if (since !== undefined && since + graceMs <= nowMs) {
      rows.push(mergedRow(number, 'gone'));
      merged.push(number);
      files.set(file.file, true);
    } else if (since === undefined && tiers.objectsOf(number).some((id) => pool.isVacuumed(id)))
      rows.push(mergedRow(number, { ...file, goneMs: nowMs }));
  }
  const metadata = [...metadataOf(pool)].sort((a, b) => a.stored.ms - b.stored.ms);
  // The newest may be what is given out yet, unchanged since.
  for (const { digest, stored } of metadata.slice(0, -metadataKept))
    if (stored.ms + graceMs <= nowMs) {
      rows.push(metadataRow(digest));
      files.set(digest, true);
    }
  if (rows.length > 0) {
    await pool.write(rows);
    killPoint('iceberg: rows gone');
  }
  for (const [file, isOver] of files) {
    if (!isOver) continue;
    await store.delete(file);
    killPoint('iceberg: file gone');
  }
  return { objects: gone, merged };
};
/** As many as are kept in memory, so that none of those goes. */
const metadataKept = 64;
