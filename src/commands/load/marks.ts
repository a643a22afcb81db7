/**
 * How a followed file is known again: by what stands at its beginning and before the place up to which it was loaded.
 * A name says nothing (files are renamed), an inode little (it is given again, and a truncated file keeps it).
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

/** A place in a file, and what was before it. */
export interface Mark {
  /** Bytes before it are loaded. */
  readonly offset: number;
  /** SHA-256 of the first bytes, and of those before the place; as many as there were, up to `markBytes`. */
  readonly head: string;
  readonly tail: string;
}

const markBytes = 1024;

/** The mark of a file at a place. */
export const markAt = async (file: FileHandle, offset: number): Promise<Mark> => {
  const length = Math.min(offset, markBytes);
  return { offset, head: digest(await read(file, 0, length)), tail: digest(await read(file, offset - length, length)) };
};

/** The mark behind bytes that stand behind a mark. */
export const markBehind = async (file: FileHandle, { offset }: Mark, bytes: Uint8Array): Promise<Mark> =>
  offset > 0
    ? markAt(file, offset + bytes.length)
    : {
        offset: bytes.length,
        head: digest(bytes.subarray(0, markBytes)),
        tail: digest(bytes.subarray(-markBytes)),
      };
/** Of a file that nothing was loaded of. */
export const noMark: Mark = { offset: 0, head: digest(new Uint8Array(0)), tail: digest(new Uint8Array(0)) };

/** Whether a file has before the place what was there when the mark was made. */
export const continues = async (file: FileHandle, { offset, head, tail }: Mark): Promise<boolean> => {
  if ((await file.stat()).size < offset) return false;
  const now = await markAt(file, offset);
  return now.head === head && now.tail === tail;
};
/** The same of a file that may be gone. */
export const pathContinues = async (path: string, mark: Mark): Promise<boolean> => {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return false;
  try {
    return await continues(file, mark);
  } finally {
    await file.close();
  }
};

/** Bytes of a file; fewer where it ends. */
export const read = async (file: FileHandle, from: number, length: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, from + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
};

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
}
