/**
 * The bodies of a recording: their digests, and with `-record.bodies` their bytes in a folder, one file each, named by
 * the digest.
 *
 * The bytes are copied on their way to the worker, which never waits for the disk: a body for which too much is
 * unwritten, or for which there is no more room, is not kept, and its line says so.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedBody } from './record.ts';

/** Where bodies are kept, if they are. */
interface BodyKeeperOptions {
  readonly folder: string;
  /** False: only their digests are known. */
  readonly keep: boolean;
  /** Bytes of all bodies together. */
  readonly bytesMax: number;
  readonly report: (fault: unknown) => void;
}

/** Bytes of all bodies together that may wait for the disk. */
const unwrittenBytesMax = 64 << 20;

/** The bodies of one recording. */
export class BodyKeeper {
  private readonly options: BodyKeeperOptions;
  private readonly kept = new Set<string>();
  private readonly pending = new Set<Promise<void>>();
  private unwritten = 0;
  private bytes = 0;

  constructor(options: BodyKeeperOptions) {
    this.options = options;
    if (options.keep) mkdirSync(options.folder, { recursive: true });
  }

  get keeps(): boolean {
    return this.options.keep;
  }

  /**
   * The chunks as they are; `told` gets what they were, once they have ended. A body that broke off is told with what
   * came of it.
   */
  async *tee(
    chunks: AsyncIterable<Uint8Array>,
    told: (body: Promise<RecordedBody>) => void,
  ): AsyncGenerator<Uint8Array> {
    const copy = this.begin();
    try {
      for await (const chunk of chunks) {
        copy.add(chunk);
        yield chunk;
      }
    } finally {
      told(copy.end());
    }
  }
  /** Bytes that are there at once. */
  async keep(bytes: Uint8Array): Promise<RecordedBody> {
    const copy = this.begin();
    copy.add(bytes);
    return copy.end();
  }

  /** Waits until everything is written. */
  async close(): Promise<void> {
    while (this.pending.size > 0) await Promise.allSettled(this.pending);
  }

  private begin(): { add(chunk: Uint8Array): void; end(): Promise<RecordedBody> } {
    const hash = createHash('sha256');
    const chunks: Uint8Array[] = [];
    let length = 0;
    let { keep } = this.options;
    let waiting = 0;
    let file: Promise<FileHandle> | undefined;
    let last: Promise<void> = Promise.resolve();
    const path = join(this.options.folder, `.${randomBytes(8).toString('hex')}`);
    const write = (): void => {
      const bytes = Buffer.concat(chunks);
      chunks.length = 0;
      waiting = 0;
      file ??= open(path, 'w');
      const opened = file;
      last = last
        .then(async () => {
          const handle = await opened;
          for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
        })
        .finally(() => {
          this.unwritten -= bytes.length;
        });
      last.catch(() => undefined);
    };
    const add = (chunk: Uint8Array): void => {
      hash.update(chunk);
      length += chunk.length;
      if (
        keep &&
        (this.unwritten + chunk.length > unwrittenBytesMax || this.bytes + chunk.length > this.options.bytesMax)
      ) {
        keep = false;
        this.unwritten -= waiting;
        chunks.length = 0;
      }
      if (!keep) return;
      // A copy: the chunk's memory goes to the worker.
      chunks.push(Buffer.from(chunk));
      waiting += chunk.length;
      this.unwritten += chunk.length;
      this.bytes += chunk.length;
      if (waiting >= writeBytes) write();
    };
    const end = async (): Promise<RecordedBody> => {
      const digest = hash.digest('hex');
      if (!keep || this.kept.has(digest)) {
        this.unwritten -= waiting;
        chunks.length = 0;
        if (file)
          this.settle(
            last
              .then(async () => {
                await (await file!).close();
              })
              .then(() => rm(path, { force: true })),
          );
        return { digest, bytes: length, kept: keep };
      }
      write();
      this.kept.add(digest);
      const done = last
        .then(async () => {
          await (await file!).close();
        })
        .then(() => rename(path, join(this.options.folder, digest)));
      this.settle(done);
      const kept = await done.then(
        () => true,
        () => false,
      );
      if (!kept) this.kept.delete(digest);
      return { digest, bytes: length, kept };
    };
    return { add, end };
  }
  private settle(work: Promise<void>): void {
    const settled = work
      .catch((fault: unknown) => {
        this.options.report(fault);
      })
      .finally(() => {
        this.pending.delete(settled);
      });
    this.pending.add(settled);
  }
}

const writeBytes = 256 << 10;

/** A kept body's bytes, checked against its digest. @throws Error when it is not there or not what it was */
export const readBody = async (folder: string, body: RecordedBody): Promise<Uint8Array> => {
  const bytes = await readFile(join(folder, body.digest));
  if (createHash('sha256').update(bytes).digest('hex') !== body.digest)
    throw new Error(`body ${body.digest} is not what was recorded`);
  return bytes;
};

/** Where the bodies of a recording are. */
export const bodiesFolder = (recording: string): string => `${recording}.bodies`;
