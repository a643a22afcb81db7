/** Names that pools and branches cannot have. */
import { LakeError } from '../errors.ts';

/**
 * `.` and `..` mean something else in paths, so that hardly a client could reach what has such a name; `HEAD` is
 * reserved by SuperDB.
 */
const reserved: Readonly<Record<'pool' | 'branch', readonly string[]>> = {
  pool: ['HEAD', '.', '..'],
  branch: ['.', '..'],
};

/** @throws name-reserved */
export const checkNotReserved = (what: 'pool' | 'branch', name: string): void => {
  if (reserved[what].includes(name)) throw new LakeError('name-reserved', { what, name });
};
