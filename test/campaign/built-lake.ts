/** The lake of the built program, in this process, and what a campaign asks of it. */
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Protection } from '../../machines/pool.events.ts';
import type { FsckReport } from '../../src/lake/repair/fsck.ts';
import type { Lake, ObjectMeta } from '../../src/lake/lake.types.ts';
import type { RepairReport } from '../../src/lake/repair/repair.ts';
import { program } from '../support/service/built.ts';
import type { LakeState } from './run-victim.ts';

const part = (path: string): Promise<unknown> => import(pathToFileURL(join(dirname(program), path)).href);
const { openLake } = (await part('lake/lake.js')) as typeof import('../../src/lake/lake.ts');
const { openObjects, moveObject } = (await part(
  'lake/objects/objects.js',
)) as typeof import('../../src/lake/objects/objects.ts');
const { fsck } = (await part('lake/repair/fsck.js')) as typeof import('../../src/lake/repair/fsck.ts');
const { repair } = (await part('lake/repair/repair.js')) as typeof import('../../src/lake/repair/repair.ts');

export const openBuiltLake = (directory: string, report: (fault: unknown) => void): Promise<Lake> =>
  openLake({ directory, objects: openObjects(directory), report });

/** The id of an object, from the same drawer as the program's own. */
export const { newId: newObjectId } = (await part('lake/ksuid.js')) as typeof import('../../src/lake/ksuid.ts');

/** The victim's bodies. */
const bodyOf = (key: string, bytes: number): Buffer =>
  Buffer.from(`${key}:`.repeat(1 + Math.ceil(bytes / (key.length + 1)))).subarray(0, bytes);
const faultOf = async (
  object: ObjectMeta,
  read: (id: string, offset: number, length: number) => Uint8Array | Promise<Uint8Array>,
): Promise<string | undefined> => {
  const bytes = object.inline ?? (await read(object.id, 0, object.size));
  return bodyOf(object.min.text, object.size).equals(bytes) ? undefined : 'other bytes';
};

/** As numbers, as the victim tells it. */
const protectionOf = (protection: Protection): readonly number[] =>
  (['load', 'delete', 'merge', 'reset'] as const).map((verb) => ['admin', 'nobody'].indexOf(protection[verb] ?? ''));

/** Keys of every tip. Throws when a body is not the one that belongs to its key. */
export const stateOf = async (lake: Lake): Promise<LakeState> => {
  const found: Record<string, Record<string, readonly number[]>> = {};
  const files = openObjects(lake.directory);
  try {
    for (const { id, name, query } of lake.views()) {
      const { rows } = await lake.metaPage({ view: `0x${id}`, meta: 'log' });
      found[`view ${name}`] = {
        newest: [Number(query)],
        versions: rows.flatMap((row) => (row.kind === 'view' ? [Number(row.view.query)] : [])),
      };
    }
    for (const { name } of lake.pools()) {
      found[name] = {};
      const pool = lake.pool(name);
      for (const [kind, each] of [
        ...pool.branches().map((branch) => ['', branch] as const),
        ...pool.tags().map((tag) => ['tag ', tag] as const),
      ]) {
        const snapshot = await lake.openSnapshot(name, each.name);
        try {
          const { objects } = snapshot.page({ limit: 100_000 });
          for (const object of objects) {
            const fault = await faultOf(object, (id, offset, length) => files.readRange(id, offset, length));
            if (fault !== undefined) throw new Error(`wrong rows: object of key ${object.min.text}: ${fault}`);
          }
          found[name]![kind + each.name] = objects.map((o) => Number(o.min.text)).sort((a, b) => a - b);
        } finally {
          snapshot.release();
        }
      }
      for (const { name: branch, protection } of pool.branches())
        if (protection) found[name]![`protection of ${branch}`] = protectionOf(protection);
    }
  } finally {
    files.close();
  }
  return found;
};

const options = (directory: string) => {
  const files = openObjects(directory);
  return {
    directory,
    files,
    checkObject: (object: ObjectMeta) => faultOf(object, (id, offset, length) => files.readRange(id, offset, length)),
  };
};
export const checkBuiltLake = async (directory: string): Promise<FsckReport> => {
  const own = options(directory);
  try {
    return await fsck(own);
  } finally {
    own.files.close();
  }
};
export const repairBuiltLake = async (directory: string): Promise<RepairReport> => {
  const own = options(directory);
  try {
    return await repair({ ...own, keepFile: (id, folder) => moveObject(directory, id, folder) });
  } finally {
    own.files.close();
  }
};
