/**
 * How far followed files were loaded, in a folder that one command holds at a time.
 *
 * A batch is written down before it is sent: after a crash the same bytes go under the same Idempotency-Key again,
 * whatever came to the file meanwhile, and the service knows whether it has them.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError, codeOf } from '../../errors.ts';
import { type Lock, lockLake, syncFolder } from '../../lake/lock.ts';
import type { FormatName } from '../../formats/formats.ts';
import type { Mark } from './marks.ts';

/** A batch that was sent, or is about to be: up to where, and how. */
export interface Sending {
  readonly mark: Mark;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}
/** A file, as it was last seen. */
export interface Place {
  /** Drawn when the file was first seen; keys are made of it. */
  readonly id: string;
  /** Device and inode. */
  readonly inode: string;
  readonly name: string;
  /** Empty: not known yet. */
  readonly format: FormatName | '';
  /** What it was before it was truncated: its first line may be the rest of one. */
  readonly before?: FormatName;
  readonly mark: Mark;
  readonly sending?: Sending;
  /** Since when it is not found, in milliseconds since 1970. */
  readonly gone?: number;
}
/** The mark by which the file is known: that of all that was sent. */
export const knownBy = ({ mark, sending }: Place): Mark => sending?.mark ?? mark;
interface Kept {
  readonly version: 1;
  readonly target: string;
  readonly places: readonly Place[];
}

/** The state of one command. */
export class FollowState {
  readonly places = new Map<string, Place>();
  private readonly file: string;
  private readonly folder: string;
  private readonly target: string;
  private readonly lock: Lock;
  private isWritten = true;
  private constructor(folder: string, target: string, lock: Lock) {
    this.folder = folder;
    this.file = join(folder, 'state.json');
    this.target = target;
    this.lock = lock;
  }

  /** `target`: where it loads; a state is of one. @throws Error where the folder is held, or is of another target */
  static async open(folder: string, target: string): Promise<FollowState> {
    mkdirSync(folder, { recursive: true });
    const lock = await lockLake(folder, 'lake load -follow', { marks: false }).catch((problem: unknown) => {
      if (!(problem instanceof LakeError) || problem.code !== 'lake-locked') throw problem;
      const owner = String(problem.parameters['owner']);
      throw new Error(`${folder}: another command follows files with this state (${owner}; option -state)`);
    });
    const state = new FollowState(folder, target, lock);
    try {
      state.read();
    } catch (problem) {
      await state.close();
      throw problem;
    }
    return state;
  }

  private read(): void {
    let text: string;
    try {
      text = readFileSync(this.file, 'utf8');
    } catch (problem) {
      if (codeOf(problem) === 'ENOENT') return;
      throw problem;
    }
    const kept = keptIn(text);
    if (!kept) throw new Error(`${this.file}: this is no state of lake load -follow (option -state)`);
    if (kept.target !== this.target)
      throw new Error(`${this.file}: the state is of loads into ${kept.target}, not ${this.target} (option -state)`);
    for (const place of kept.places) this.places.set(place.id, place);
  }

  /** Keeps a place; durable after `write`. */
  keep(place: Place): void {
    this.places.set(place.id, place);
    this.isWritten = false;
  }
  forget(id: string): void {
    this.isWritten &&= !this.places.delete(id);
  }
  /** Writes what has changed; durable when it returns. */
  write(): void {
    if (this.isWritten) return;
    const kept: Kept = { version: 1, target: this.target, places: [...this.places.values()] };
    const next = `${this.file}.next`;
    const file = openSync(next, 'w');
    try {
      writeFileSync(file, `${JSON.stringify(kept, undefined, 1)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, this.file);
    syncFolder(this.folder);
    this.isWritten = true;
  }

  async close(): Promise<void> {
    await this.lock.release(false);
  }
}

const keptIn = (text: string): Kept | undefined => {
  try {
    const kept = JSON.parse(text) as Partial<Kept> | null;
    return kept?.version === 1 && typeof kept.target === 'string' && Array.isArray(kept.places)
      ? { version: 1, target: kept.target, places: kept.places }
      : undefined;
  } catch {
    return undefined;
  }
};
