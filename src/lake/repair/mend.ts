/**
 * Data objects whose bytes are lost, or were vacuumed since the commit to which a branch was set back: their rows stay
 * in the history, marked as vacuumed, and a commit on each branch that holds them takes them out, so that the rest can
 * be read. What is lost is named, and the commit's message says it. A tag cannot move: one whose commit holds what is
 * lost goes, and is named with its commit.
 */
import { LakeDraws, lastDrawn } from '../draws.ts';
import type { FsckOptions } from './fsck.ts';
import { base62, idBuffer } from '../ksuid.ts';
import type { Id, PoolConfig } from '../lake.types.ts';
import { objectNames } from '../commits/merge.ts';
import { plural } from '../commits/messages.ts';
import type { ObjectEntry } from '../objects/list.ts';
import { encodeBranch, encodeCommit, pairKey } from '../tables/rows.ts';
import {
  faultOfObject,
  idsOnDisk,
  type ObjectChecks,
  ofPool,
  soundCommit,
  soundPools,
  soundTips,
  tipObjects,
} from './sound-rows.ts';
import type { Change, Tables } from '../tables/tables.ts';

/** Answers with what is lost, one line each. */
export const mend = async (tables: Tables, { files, checkObject }: FsckOptions): Promise<readonly string[]> => {
  const onDisk = await idsOnDisk(files);
  const lost: string[] = [];
  for (const pool of soundPools(tables)) {
    const gone = await lostObjects(tables, pool, { onDisk, checkObject }, lost);
    if (gone.size > 0) await takeOut(tables, pool, gone, lost);
  }
  return lost;
};

const lostObjects = async (
  tables: Tables,
  pool: PoolConfig,
  checks: ObjectChecks,
  lost: string[],
): Promise<ReadonlyMap<Id, ObjectEntry>> => {
  const gone = new Map<Id, ObjectEntry>();
  for (const { key, row: entry } of ofPool(tables, 'objects', pool.id)) {
    // One that was vacuumed is no trouble to a tip, unless it was set back to a commit that held it.
    const isVacuumed = tables.has('vacuumed', key);
    const fault = isVacuumed ? undefined : await faultOfObject(tables, entry, checks);
    if (isVacuumed || fault) gone.set(entry.id, entry);
    if (fault)
      lost.push(`pool "${pool.name}", object ${base62(entry.id)}, ${plural(entry.count, 'row')}: ${fault.text}`);
  }
  return gone;
};

const takeOut = async (
  tables: Tables,
  pool: PoolConfig,
  gone: ReadonlyMap<Id, ObjectEntry>,
  lost: string[],
): Promise<void> => {
  const changes: Change[] = [];
  const draws = new LakeDraws();
  const read = (id: Id) => soundCommit(tables, pool.id, id);
  draws.goOnFrom(lastDrawn(tables));
  for (const { kind, key, row: tip } of soundTips(tables, pool.id)) {
    const held = [...tipObjects(read, tip.commit).objects].filter((id) => gone.has(id));
    if (held.length === 0) continue;
    if (kind === 'tag') {
      changes.push({ table: 'tags', key });
      lost.push(
        `pool "${pool.name}", tag "${tip.name}": it is gone, as its commit ${base62(tip.commit)} holds lost data objects: ${objectNames(held)}`,
      );
      continue;
    }
    const id = draws.newId();
    const height = read(tip.commit)!.height + 1;
    const rows = held.reduce((sum, object) => sum + gone.get(object)!.count, 0);
    const message = `lake fsck -repair: ${plural(rows, 'row')} lost with ${plural(held.length, 'data object')}: ${objectNames(held)}`;
    changes.push(
      {
        table: 'commits',
        key: pairKey(pool.id, id),
        payload: encodeCommit({
          id,
          parent: tip.commit,
          height,
          author: 'lake fsck',
          dateNs: draws.nowNs(),
          message,
          meta: 'null',
          adds: [],
          deletes: held,
        }),
      },
      { table: 'branches', key, payload: encodeBranch({ ...tip, commit: id }) },
    );
    lost.push(
      `pool "${pool.name}", branch "${tip.name}": commit ${base62(id)} takes out ${plural(held.length, 'lost data object')} with ${plural(rows, 'row')}`,
    );
  }
  for (const entry of gone.values()) {
    if (tables.has('vacuumed', pairKey(pool.id, entry.id))) continue;
    changes.push(
      { table: 'vacuumed', key: pairKey(pool.id, entry.id), payload: Buffer.alloc(0) },
      { table: entry.inTable ? 'bodies' : 'files', key: idBuffer(entry.id) },
    );
  }
  await tables.write(changes);
};
