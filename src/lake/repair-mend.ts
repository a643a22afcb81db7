/**
 * Data objects whose bytes are lost, or were vacuumed since the commit to which a branch was set back: their rows stay in the history, marked as vacuumed, and a commit on each branch that
 * holds them takes them out, so that the rest can be read. What is lost is named, and the commit's message says it.
 */
import { LakeDraws, lastDrawn } from './draws.ts';
import type { FsckOptions } from './fsck.ts';
import { tipObjects } from './fsck-affected.ts';
import { base62, idBuffer, idOfBytes } from './ksuid.ts';
import type { Id, ObjectMeta, PoolConfig } from './lake.types.ts';
import { objectNames } from './merge.ts';
import type { ObjectEntry } from './object-list.ts';
import { decodeBranch, decodeCommit, decodeObject, decodePool, encodeBranch, encodeCommit, idOfPair, pairKey } from './rows.ts';
import { objectMeta } from './snapshot.ts';
import type { Change, Tables } from './tables.ts';

/** Answers with what is lost, one line each. */
export const mend = async (tables: Tables, options: FsckOptions): Promise<readonly string[]> => {
  const onDisk = new Set<Id>(), lost: string[] = [];
  for await (const id of options.files.list()) onDisk.add(id);
  for (const row of [...tables.soundRows('pools')]) {
    const pool = decodePool(idOfBytes(row.key), row.payload), gone = await lostObjects(tables, options, pool, onDisk, lost);
    if (gone.size > 0) await takeOut(tables, pool, gone, lost);
  }
  return lost;
};

const lostObjects = async (tables: Tables, options: FsckOptions, pool: PoolConfig, onDisk: ReadonlySet<Id>, lost: string[]): Promise<ReadonlyMap<Id, ObjectEntry>> => {
  const gone = new Map<Id, ObjectEntry>();
  for (const { key, payload } of tables.soundRows('objects', { prefix: idBuffer(pool.id) })) {
    const entry = decodeObject(idOfPair('objects', key), payload);
    if (tables.has('vacuumed', key)) {
      // No trouble to a tip, unless it was set back to a commit that held it.
      gone.set(entry.id, entry);
      continue;
    }
    const fault = entry.inTable ? (tables.has('bodies', idBuffer(entry.id)) ? undefined : 'its body is missing') : onDisk.has(entry.id) ? undefined : 'its file is missing';
    const found = fault ?? await faultOf(options, () => objectMeta(entry, tables));
    if (found === undefined) continue;
    gone.set(entry.id, entry);
    lost.push(`pool "${pool.name}", object ${base62(entry.id)}, ${entry.count} row${entry.count === 1 ? '' : 's'}: ${found}`);
  }
  return gone;
};
const faultOf = async (options: FsckOptions, object: () => ObjectMeta): Promise<string | undefined> => {
  try {
    return await options.checkObject?.(object());
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const takeOut = async (tables: Tables, pool: PoolConfig, gone: ReadonlyMap<Id, ObjectEntry>, lost: string[]): Promise<void> => {
  const changes: Change[] = [], draws = new LakeDraws();
  draws.goOnFrom(lastDrawn(tables));
  for (const { key, payload } of tables.soundRows('branches', { prefix: idBuffer(pool.id) })) {
    const branch = decodeBranch(key, payload), held = [...tipObjects((id) => decodeCommit(id, tables.get('commits', pairKey(pool.id, id))!), branch.commit).objects].filter((id) => gone.has(id));
    if (held.length === 0) continue;
    const before = decodeCommit(branch.commit, tables.get('commits', pairKey(pool.id, branch.commit))!), id = draws.newId();
    const rows = held.reduce((sum, object) => sum + gone.get(object)!.count, 0);
    const message = `lake fsck -repair: ${rows} row${rows === 1 ? '' : 's'} lost with ${held.length} data object${held.length === 1 ? '' : 's'}: ${objectNames(held)}`;
    changes.push(
      { table: 'commits', key: pairKey(pool.id, id), payload: encodeCommit({ id, parent: branch.commit, height: before.height + 1, author: 'lake fsck', dateNs: draws.nowNs(), message, meta: 'null', adds: [], deletes: held }) },
      { table: 'branches', key, payload: encodeBranch({ ...branch, commit: id }) },
    );
    lost.push(`pool "${pool.name}", branch "${branch.name}": commit ${base62(id)} takes out ${held.length} lost data object${held.length === 1 ? '' : 's'} with ${rows} row${rows === 1 ? '' : 's'}`);
  }
  for (const entry of gone.values()) {
    if (tables.has('vacuumed', pairKey(pool.id, entry.id))) continue;
    changes.push({ table: 'vacuumed', key: pairKey(pool.id, entry.id), payload: Buffer.alloc(0) }, { table: entry.inTable ? 'bodies' : 'files', key: idBuffer(entry.id) });
  }
  await tables.write(changes);
};
