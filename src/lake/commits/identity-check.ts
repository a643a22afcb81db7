/** Whether records are still told apart as they were when a change of them was read. */
import { LakeError } from '../../errors.ts';
import type { Identity, PoolConfig } from '../lake.types.ts';

/** `read`: the identity that a body was read by. @throws upsert-identity-other unless the pool has the same */
export const checkIdentity = (
  { name: pool, identity: has = [] }: Pick<PoolConfig, 'name' | 'identity'>,
  read: Identity,
): void => {
  const [was, now] = [JSON.stringify(read), JSON.stringify(has)];
  if (was !== now) throw new LakeError('upsert-identity-other', { pool, read: was, now });
};
