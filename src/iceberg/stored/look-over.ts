/** Which files of tables are not what their rows say, for who looks over a lake that nobody serves. Changes nothing. */
import type { Id } from '../../lake/lake.types.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { type CheckedPart, digestIn } from './checks.ts';
import { type Mapping, mappings } from '../kinds.ts';
import { type PoolRows, isCurrent, mergedOf, metadataOf, namesOf, renditionsOf, rowsOf } from '../rows.ts';

/** A file of the store that is wrong. `name`: of the first file of the table that is wrong in there, below its folder. */
export interface WrongStored {
  readonly file: Id;
  readonly name: string;
}

/** Files that are there and are not what rows say; those that are not there are made again, and no fault. */
export const wrongStored = async (pool: PoolRows, store: ObjectStore): Promise<readonly WrongStored[]> => {
  const wrong = new Map<Id, string>();
  for (const mapping of mappings)
    for (const { name, part } of partsOf(rowsOf(pool, mapping), mapping))
      if (!wrong.has(part.file) && (await isWrong(store, part))) wrong.set(part.file, name);
  return [...wrong].map(([file, name]) => ({ file, name }));
};

function* partsOf(pool: PoolRows, mapping: Mapping): Generator<{ readonly name: string; readonly part: CheckedPart }> {
  const names = namesOf(mapping);
  for (const { object, rendition } of renditionsOf(pool))
    if (isCurrent(rendition, mapping)) yield { name: names.data(object), part: rendition };
  for (const { number, merged } of mergedOf(pool))
    if (merged && isCurrent(merged, mapping)) yield { name: names.merged(number), part: { ...merged, at: 0 } };
  for (const { digest, stored } of metadataOf(pool))
    yield { name: names.metadata(digest), part: { file: digest, at: 0, bytes: stored.bytes, digest } };
}
const isWrong = async (store: ObjectStore, part: CheckedPart): Promise<boolean> => {
  const { file, at, bytes, digest } = part;
  const length = store.lengthOf?.(file) ?? 0;
  if (length < at + bytes) return length > 0;
  return digest !== undefined && (await digestIn(store, part)) !== digest;
};
