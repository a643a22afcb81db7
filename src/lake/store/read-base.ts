/**
 * Bases of a bucket are read newest first: in place of one that is damaged the one before it serves, with the segments
 * behind that, which are still there; or the log from its beginning, where it is.
 */
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import { type BaseFile, readBaseHead } from './base-file.ts';
import { baseKey, lastNumber, segmentAround } from './segments.ts';

/** A base that cannot be read. `text`: why, with the store and the key. */
export interface PassedBase {
  readonly base: number;
  readonly fault: string;
  readonly text: string;
}

/** Gets a base's file into the folder and reads its head. @throws store-corrupt */
export const getBase = async (bucket: Bucket, directory: string, base: number): Promise<BaseFile> => {
  const path = join(directory, 'store.base');
  const key = baseKey(base);
  if (!(await bucket.getFile(key, path)))
    throw new LakeError('store-corrupt', { store: bucket.name, key, fault: 'it is missing' });
  const file = readBaseHead(path, { store: bucket.name, key });
  const { segment, sum, lake } = file.head;
  const corrupt = (fault: string): LakeError => new LakeError('store-corrupt', { store: bucket.name, key, fault });
  if (segment !== base) throw corrupt(`it is base ${segment}`);
  // A put of another time or lake may have come late. Where its segment was pruned, those behind it tell.
  const own = await segmentAround(bucket, base);
  if (own && lastNumber(own.head) === base && (own.sum !== sum || own.head.lake !== lake))
    throw corrupt('it is of another log than its segment');
  return file;
};

/**
 * What `read` makes of the newest base that is whole; 0: of the log from its beginning. `bases`: oldest first.
 * @throws store-corrupt of the newest one where none serves
 */
export const readByBase = async <T>(
  bucket: Bucket,
  bases: readonly number[],
  read: (base: number) => Promise<T>,
): Promise<{ readonly made: T; readonly base: number; readonly passed: readonly PassedBase[] }> => {
  const passed: PassedBase[] = [];
  let newest: LakeError | undefined;
  for (const base of bases.length === 0 ? [0] : [...bases].reverse()) {
    const made = await tried(base, read, newest);
    if (!(made instanceof LakeError)) return { made, base, passed };
    newest ??= made;
    passed.push({ base, fault: String(made.parameters['fault']), text: made.message });
  }
  if (!(await beginsHere(bucket))) throw newest;
  const made = await tried(0, read, newest);
  if (made instanceof LakeError) throw newest;
  return { made, base: 0, passed };
};
/** The fault of that base. Of an older one, damage of the segments behind it is none: what is wrong is the newest. */
const tried = async <T>(
  base: number,
  read: (base: number) => Promise<T>,
  newest: LakeError | undefined,
): Promise<T | LakeError> => {
  try {
    return await read(base);
  } catch (fault) {
    if (!(fault instanceof LakeError) || fault.code !== 'store-corrupt') throw fault;
    if (base > 0 && fault.parameters['key'] === baseKey(base)) return fault;
    throw newest ?? fault;
  }
};
/** The bucket's first segment is there and begins the lake. */
const beginsHere = async (bucket: Bucket): Promise<boolean> => {
  const first = await segmentAround(bucket, 1);
  return first !== undefined && first.head.begins === undefined;
};

/** `base`: the one that was read. */
export const notePassed = (passed: readonly PassedBase[], base: number, noted: (text: string) => void): void => {
  const instead = base > 0 ? baseKey(base) : 'the log from its beginning';
  for (const { text } of passed) noted(`${text}: ${instead} was read in its place`);
};
