/** Data objects of a revision. */
import type { LakeValue, PoolInfo } from '../../src/client/client.ts';
import { client } from './session.ts';

/** A row of `:objects`. `size`: encoded bytes; `min` and `max`: of its primary key. */
interface DataObject {
  readonly id: string;
  readonly min: LakeValue;
  readonly max: LakeValue;
  readonly count: bigint;
  readonly size: bigint;
}
interface ObjectRow {
  readonly id: Uint8Array;
  readonly min: LakeValue;
  readonly max: LakeValue;
  readonly count: bigint;
  readonly size: bigint;
}

const hex = (bytes: Uint8Array): string => `0x${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;

/** The first so many, in the order of the key. `revision`: branch or commit. */
export const readObjects = async (
  pool: PoolInfo,
  revision: string,
  max: number,
): Promise<{ readonly objects: readonly DataObject[]; readonly more: boolean }> => {
  const objects: DataObject[] = [];
  const query = client.query<ObjectRow>(`${sourceText(pool.id, revision, 'objects')} | head ${max + 1}`);
  for await (const row of query)
    objects.push({ ...row, id: row.id instanceof Uint8Array ? hex(row.id) : String(row.id) });
  return { objects: objects.slice(0, max), more: objects.length > max };
};
/** A source as queries write it. Names are quoted, whatever they are. */
const sourceText = (pool: string, revision: string, meta?: string): string =>
  `from ${word(pool)}@${word(revision)}${meta === undefined ? '' : `:${meta}`}`;
const word = (name: string): string =>
  /^0x[0-9a-f]{40}$/.test(name) || /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name.toWellFormed());
