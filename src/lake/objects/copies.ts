/** Objects of a store as a reader takes them: of bytes that do not fit another copy is read, where there is one. */
import { LakeError } from '../../errors.ts';
import type { Id } from '../lake.types.ts';
import type { ObjectStore } from './objects.ts';

type MaybePromise<T> = T | Promise<T>;

/** Where an object's bytes come from. `read` answers exactly `length` bytes, aligned to 8 in their buffer. */
export interface ObjectSource {
  readonly id: string;
  readonly size: number;
  readonly read: (offset: number, length: number) => MaybePromise<Uint8Array>;
  /** Begins to fetch what will be read soon; absent: it is at hand. */
  readonly ahead?: (offset: number, length: number) => void;
  /** Whether all of it is at hand by now. */
  readonly isHere?: () => boolean;
  /** What was read does not fit: another copy is read from now on; false, or absent: there is none. */
  readonly distrust?: () => Promise<boolean>;
}

/** The source of an object of a store. */
export const sourceOfStored = (
  objects: Pick<ObjectStore, 'readRange' | 'ahead' | 'isHere' | 'distrust'>,
  { id, size }: { readonly id: Id; readonly size: number },
): ObjectSource => ({
  id,
  size,
  read: (offset, length) => objects.readRange(id, offset, length),
  ...(objects.ahead && {
    ahead: (offset: number, length: number) => objects.ahead?.(id, offset, length),
    isHere: () => objects.isHere?.(id) ?? false,
  }),
  ...(objects.distrust && { distrust: async () => objects.distrust?.(id) ?? false }),
});

/** Copies that are read of the same bytes: those of a bucket may come wrong more than once. */
const copiesMax = 4;

/** What `work` makes of a source, of another copy where what it read does not fit. */
export const ofSoundCopy = <T>({ distrust }: ObjectSource, work: () => MaybePromise<T>): MaybePromise<T> => {
  if (!distrust) return work();
  const again = async (fault: unknown): Promise<T> => {
    for (let copies = 1; copies < copiesMax && isDamage(fault) && (await distrust()); copies++)
      try {
        return await work();
      } catch (next) {
        fault = next;
      }
    throw fault;
  };
  try {
    const made = work();
    return made instanceof Promise ? made.catch(again) : made;
  } catch (fault) {
    return again(fault);
  }
};
const isDamage = (fault: unknown): boolean =>
  fault instanceof LakeError && (fault.code === 'object-corrupt' || fault.code === 'object-unread');
