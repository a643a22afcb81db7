/**
 * What is left of deleted pools, and files that nobody names.
 *
 * A deleted pool's name and record go in one transaction, which puts it on the list of purges; its rows and files go
 * afterwards, in small steps, once no open snapshot reads them. A stop in between goes on at the next start. Nobody
 * waits for the files, and the system has some work with each: they go one at a time, with rests.
 */
import { setTimeout as later } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import { killPoint } from '../kill-points.ts';
import { idBuffer } from '../ksuid.ts';
import type { Id, ObjectFiles } from '../lake.types.ts';
import { decodeObject, idOfPair } from '../tables/rows.ts';
import type { Change, TableName, Tables } from '../tables/tables.ts';

const rowsPerTransaction = 500;
/**
 * So many times as long as a file took nothing is removed: it is a twentieth of a processor then, whatever a file's
 * size.
 */
const restTimes = 20;
const restMsMax = 200;
const byPool: readonly TableName[] = [
  'branches',
  'tags',
  'moves',
  'commits',
  'vacuumed',
  'checkpoints',
  'packs',
  'lineage',
  'iceberg',
];

/** Removes rows and files of a pool that was deleted. `ended`: stop, the rest waits for the next start. */
export const purgePool = async (tables: Tables, files: ObjectFiles, pool: Id, ended: () => boolean): Promise<void> => {
  const prefix = idBuffer(pool);
  for (;;) {
    const rows = tables.rows('objects', { prefix, limit: rowsPerTransaction });
    if (rows.length === 0) break;
    if (ended()) return;
    const entries = rows.map(({ key, payload }) => ({ key, entry: decodeObject(idOfPair('objects', key), payload) }));
    for (const { entry } of entries) if (!entry.inTable && !(await removed(files, entry.id, ended))) return;
    killPoint('purge: files gone');
    await tables.write(
      entries.flatMap(({ key, entry }): Change[] => [
        // With it, so that the objects less those that were vacuumed are those that are kept.
        { table: 'objects', key },
        { table: 'vacuumed', key },
        { table: entry.inTable ? 'bodies' : 'files', key: idBuffer(entry.id) },
      ]),
      undefined,
      { frees: true },
    );
    killPoint('purge: rows gone');
  }
  for (const table of byPool) {
    for (;;) {
      const keys = tables.keys(table, { prefix, limit: rowsPerTransaction });
      if (keys.length === 0) break;
      if (ended()) return;
      await tables.write(
        keys.map((key) => ({ table, key })),
        undefined,
        { frees: true },
      );
    }
  }
  await tables.write([{ table: 'purges', key: prefix }], () => {
    if (tables.has('pools', prefix)) throw new LakeError('internal', { text: `pool ${pool} is alive` });
  });
  killPoint('purge: done');
};

/** Removes a file and rests; false if it is `ended`, and nothing was done. */
const removed = async (files: ObjectFiles, id: Id, ended: () => boolean): Promise<boolean> => {
  if (ended()) return false;
  const began = performance.now();
  await files.delete(id);
  await later(Math.min(restMsMax, (performance.now() - began) * restTimes));
  return true;
};

/**
 * Files that no table names, as they are before the first load begins: leftovers of loads that failed or died, and of
 * removals that did not finish.
 */
export const findOrphans = async (tables: Tables, files: ObjectFiles): Promise<readonly Id[]> => {
  const orphans = new Set<Id>();
  for await (const id of files.list()) if (!tables.has('files', idBuffer(id))) orphans.add(id);
  // A damaged page can lead a look-up astray; what stands anywhere in the table is no orphan.
  if (orphans.size > 0) for (const { key } of tables.soundRows('files')) orphans.delete(key.toString('hex'));
  return [...orphans];
};
