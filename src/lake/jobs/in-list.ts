/** Objects that a job names, in what its branch has. */
import { LakeError } from '../../errors.ts';
import { base62 } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import type { ObjectEntry, ObjectList } from '../objects/list.ts';
import type { PoolStore } from '../pool/store.ts';

/** The entries of these ids in a list. @throws object-not-found */
export const inList = (store: PoolStore, list: ObjectList, ids: readonly Id[]): readonly ObjectEntry[] =>
  [...new Set(ids)].map((id) => {
    const entry = store.entry(id);
    if (!entry || !list.has(entry)) throw new LakeError('object-not-found', { id: base62(id) });
    return entry;
  });
