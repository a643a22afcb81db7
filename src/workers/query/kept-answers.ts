/**
 * Answers that are kept on disk for a while, so that readers of files (Parquet above all) can ask for their length and
 * for ranges of their bytes: a query would have to be run for each of these, and need not give its rows in the same
 * order again.
 *
 * Invariants:
 * - A file has no name: it is gone with its last reader, also when the process ends.
 * - All of them together have at most `bytesMax` bytes, and there are at most `answersMax`, each of which has a
 *   descriptor; those that nobody asked for longest go first.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LakeError } from '../../errors.ts';
import { scratchFault } from '../../lake/objects/objects.ts';
import type { QueryReply } from '../pool.types.ts';

/** How long nobody asks for one before it goes. */
const keptMs = 5 * 60_000;

/** The bytes of an answer. `tag` names exactly these. */
export interface KeptAnswer {
  readonly size: number;
  readonly tag: string;
  /** Bytes from `start` to before `end`. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

const readBytes = 256 << 10;

class AnswerFile implements KeptAnswer {
  readonly size: number;
  readonly tag: string;
  private readonly file: FileHandle;
  private readers = 1;
  constructor(file: FileHandle, size: number, tag: string) {
    this.file = file;
    this.size = size;
    this.tag = tag;
  }

  async *read(start: number, end: number): AsyncGenerator<Uint8Array> {
    this.readers++;
    try {
      for (let at = start; at < end; ) {
        const { bytesRead, buffer } = await this.file.read({
          buffer: new Uint8Array(Math.min(readBytes, end - at)),
          position: at,
        });
        if (bytesRead === 0) throw new LakeError('internal', { text: 'a kept answer ends early' });
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await this.release();
    }
  }

  async release(): Promise<void> {
    if (--this.readers === 0) await this.file.close();
  }
}

type Answer = Pick<QueryReply, 'chunks' | 'sent'>;

interface Kept {
  readonly answer: Promise<AnswerFile>;
  /** Known once it is complete. */
  size: number;
  timer: NodeJS.Timeout | undefined;
}

/** The kept answers of a service. */
export class KeptAnswers {
  private readonly directory: string;
  private readonly bytesMax: number;
  private readonly answersMax: number;
  /** The one that was asked for last is the last. */
  private readonly answers = new Map<string, Kept>();
  private bytes = 0;
  private made = 0;
  constructor(
    directory: string,
    { bytesMax, answersMax = 256 }: { readonly bytesMax: number; readonly answersMax?: number | undefined },
  ) {
    this.directory = directory;
    this.bytesMax = bytesMax;
    this.answersMax = answersMax;
  }

  /** The answer of a key, if it is kept; also one that is still made, but not if that fails. */
  async find(key: string): Promise<KeptAnswer | undefined> {
    const kept = this.answers.get(key);
    if (!kept) return undefined;
    this.answers.delete(key);
    this.answers.set(key, kept);
    kept.timer?.refresh();
    return kept.answer.catch(() => undefined);
  }
  has(key: string): boolean {
    return this.answers.has(key);
  }

  /**
   * Keeps the bytes as the answer of a key. What fails is not kept. @throws answer-long; what ends the bytes; faults of
   * the disk
   */
  async keep(key: string, answer: Answer): Promise<KeptAnswer> {
    const kept: Kept = { answer: this.write(answer), size: 0, timer: undefined };
    this.answers.set(key, kept);
    try {
      const file = await kept.answer;
      kept.size = file.size;
      this.bytes += file.size;
      kept.timer = setTimeout(() => {
        this.drop(key, kept);
      }, keptMs).unref();
      for (const [other, one] of this.answers) {
        if (this.bytes <= this.bytesMax && this.answers.size <= this.answersMax) break;
        if (one !== kept && one.timer) this.drop(other, one);
      }
      return file;
    } catch (error) {
      if (this.answers.get(key) === kept) this.answers.delete(key);
      throw error;
    }
  }

  /** Lets go of all of them. */
  close(): void {
    for (const [key, kept] of [...this.answers]) this.drop(key, kept);
  }

  private drop(key: string, kept: Kept): void {
    clearTimeout(kept.timer);
    if (this.answers.get(key) === kept) this.answers.delete(key);
    this.bytes -= kept.size;
    kept.size = 0;
    void kept.answer.then(
      (answer) => answer.release(),
      () => undefined,
    );
  }

  private async write({ chunks, sent }: Answer): Promise<AnswerFile> {
    const path = join(this.directory, `answer${this.made++}`);
    const file = await open(path, 'wx+');
    try {
      await unlink(path);
      const hash = createHash('sha256');
      let size = 0;
      // Neither hashes nor files take bytes that threads share.
      let copy = new Uint8Array(0);
      for await (const chunk of chunks) {
        if (size + chunk.length > this.bytesMax) throw new LakeError('answer-long', { limit: this.bytesMax });
        if (copy.length < chunk.length) copy = new Uint8Array(chunk.length);
        copy.set(chunk);
        const bytes = copy.subarray(0, chunk.length);
        sent?.(chunk);
        hash.update(bytes);
        await file.appendFile(bytes).catch((error: unknown) => {
          throw scratchFault(error);
        });
        size += bytes.length;
      }
      return new AnswerFile(file, size, hash.digest('base64url').slice(0, 22));
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}
