/** Names that pools, views, branches and tags cannot have. */
import { LakeError } from '../errors.ts';

type Named = 'pool' | 'view' | 'branch' | 'tag';
/**
 * `.` and `..` mean something else in paths, so that hardly a client could reach what has such a name; `HEAD` is
 * reserved by SuperDB.
 */
const reserved: Readonly<Record<Named, readonly string[]>> = {
  pool: ['HEAD', '.', '..'],
  view: ['HEAD', '.', '..'],
  branch: ['.', '..'],
  tag: ['.', '..'],
};

/** @throws name-reserved */
export const checkNotReserved = (what: Named, name: string): void => {
  if (reserved[what].includes(name)) throw new LakeError('name-reserved', { what, name });
};
