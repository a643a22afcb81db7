/**
 * Whether files are what their rows say: files that were exchanged with one another, or had bits flipped, are as long as
 * they should be.
 *
 * - A part of a file is read whole once for what the file system says of the file, before the first answer from it; in
 *   pieces, between which others have their turn.
 * - One that is wrong is made again from what it was made from, once for all who ask meanwhile.
 * - What a row of an earlier version has no digest of is taken as it is.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LakeError } from '../../errors.ts';
import type { Id } from '../../lake/lake.types.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { Digest } from './digest.ts';

/** Bytes of a file of the store. */
export interface CheckedPart {
  readonly file: Id;
  readonly at: number;
  readonly bytes: number;
  readonly digest?: string;
}
/** A file that a table serves. `part`: as its row says now; undefined: there is none (any more). */
export interface CheckedFile<T extends CheckedPart> {
  /** Its key in the bucket. */
  readonly name: string;
  readonly part: () => T | undefined;
  readonly remake: () => Promise<void>;
}
/** A file that was wrong. `isMade`: it was made again. */
export interface WrongFile {
  readonly name: string;
  readonly file: Id;
  readonly isMade: boolean;
}

/** Parts that are remembered as sound. */
const soundMax = 100_000;
/** Bytes that are read in one turn of the event loop. */
const turnBytes = 256 << 10;

/** The checks of a store's files. */
export class FileChecks {
  private readonly store: () => ObjectStore;
  private readonly tell: (wrong: WrongFile) => void;
  /** What the file system said of the files of parts that are sound, the oldest first. */
  private readonly sound = new Map<string, string>();
  private readonly checking = new Map<string, Promise<boolean>>();
  private readonly making = new Map<string, Promise<void>>();
  /** Files that were wrong since the start. */
  wrong = 0;

  constructor(store: () => ObjectStore, tell: (wrong: WrongFile) => void) {
    this.store = store;
    this.tell = tell;
  }

  /** The part of a file once it is sound; undefined if there is none, or none can be made. */
  async soundPart<T extends CheckedPart>(file: CheckedFile<T>): Promise<T | undefined> {
    const part = file.part();
    if (!part || (await this.isSound(part))) return part;
    await once(this.making, keyOf(part), () => this.makeAgain(part, file));
    const made = file.part();
    return made && (await this.isSound(made)) ? made : undefined;
  }
  private async makeAgain(part: CheckedPart, { name, part: partNow, remake }: CheckedFile<CheckedPart>): Promise<void> {
    const now = partNow();
    // Others may have had it made since it was looked at.
    if (!now || keyOf(now) !== keyOf(part) || (await this.isSound(now))) return;
    this.wrong++;
    let isMade = false;
    try {
      await remake();
      const made = partNow();
      isMade = made !== undefined && (await this.isSound(made));
    } finally {
      this.tell({ name, file: part.file, isMade });
    }
  }

  private isSound(part: CheckedPart): Promise<boolean> {
    return once(this.checking, keyOf(part), () => this.check(part));
  }
  private async check(part: CheckedPart): Promise<boolean> {
    if (part.digest === undefined) return true;
    const store = this.store();
    const key = keyOf(part);
    try {
      const stamp = store.stampOf?.(part.file) ?? '';
      if (this.sound.get(key) === stamp) return true;
      if ((await digestIn(store, part)) !== part.digest) return false;
      this.sound.delete(key);
      this.sound.set(key, stamp);
      if (this.sound.size > soundMax) this.sound.delete(this.sound.keys().next().value ?? '');
      return true;
    } catch (fault) {
      if (fault instanceof LakeError && (fault.code === 'object-missing' || fault.code === 'object-corrupt'))
        return false;
      throw fault;
    }
  }
}

const keyOf = ({ file, at }: CheckedPart): string => `${file} ${at}`;
/** Does it once for all who ask while it is being done. */
const once = <T>(running: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> => {
  const known = running.get(key);
  if (known) return known;
  const own = work().finally(() => running.delete(key));
  running.set(key, own);
  return own;
};
export const digestIn = async (
  store: Pick<ObjectStore, 'readRange'>,
  { file, at, bytes }: CheckedPart,
): Promise<string> => {
  const digest = new Digest();
  for (let from = 0; from < bytes; from += turnBytes) {
    if (from > 0) await nextTurn();
    digest.add(await store.readRange(file, at + from, Math.min(turnBytes, bytes - from)));
  }
  return digest.end();
};
