/** Bases of a bucket as files: written while commits go on, read row by row (segments.ts has their bytes). */
import { createReadStream, createWriteStream, openSync, readSync, closeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { LakeError, messageOf } from '../../errors.ts';
import { changesLength, readChanges, writeChanges } from '../log/changes.ts';
import type { Change } from '../tables/table-rows.ts';
import { type BaseHead, baseMagic, headBytesMax } from './segments.ts';

const endMark = 0xffffffff;
/** Ids and digests are most of it, which no level makes shorter. */
const level = 1;
/** Compression's and the file's steps: each costs a hop between threads. */
const chunkBytes = 256 << 10;

/** Writes it; answers the bytes before compression. */
export const writeBaseFile = async (
  path: string,
  head: BaseHead,
  rows: Iterable<readonly Change[]>,
): Promise<number> => {
  const headBytes = Buffer.from(JSON.stringify(head));
  const begin = Buffer.alloc(baseMagic.length + 4);
  baseMagic.copy(begin);
  begin.writeUInt32LE(headBytes.length, baseMagic.length);
  const file = await open(path, 'w');
  await file.write(Buffer.concat([begin, headBytes]));
  let bytes = 0;
  const parts = async function* (): AsyncGenerator<Buffer> {
    for (const changes of rows) {
      const length = changesLength(changes);
      const part = Buffer.allocUnsafe(4 + length);
      part.writeUInt32LE(length);
      writeChanges(part, 4, changes);
      bytes += part.length;
      yield part;
      // Others get their turn: rows are read in this thread.
      await nextTurn();
    }
    const end = Buffer.alloc(4);
    end.writeUInt32LE(endMark);
    yield end;
  };
  await pipeline(
    parts,
    createGzip({ level, chunkSize: chunkBytes }),
    createWriteStream('', { fd: file, start: begin.length + headBytes.length, highWaterMark: chunkBytes }),
  );
  return bytes;
};

/** Its head. @throws store-corrupt */
export const readBaseHead = (path: string, named: { readonly store: string; readonly key: string }): BaseFile => {
  const fd = openSync(path, 'r');
  try {
    const begin = Buffer.alloc(baseMagic.length + 4);
    readSync(fd, begin, 0, begin.length, 0);
    const length = begin.readUInt32LE(baseMagic.length);
    if (!begin.subarray(0, baseMagic.length).equals(baseMagic) || length > headBytesMax)
      throw new LakeError('store-corrupt', { ...named, fault: 'it is no base' });
    const bytes = Buffer.alloc(length);
    readSync(fd, bytes, 0, length, begin.length);
    return { path, ...named, head: JSON.parse(bytes.toString('utf8')) as BaseHead, rowsAt: begin.length + length };
  } finally {
    closeSync(fd);
  }
};
/** `rowsAt`: where its rows begin. */
export interface BaseFile {
  readonly path: string;
  readonly store: string;
  readonly key: string;
  readonly head: BaseHead;
  readonly rowsAt: number;
}

/** Its rows, in parts. @throws store-corrupt when it ends early */
export async function* baseRows({ path, store, key, rowsAt }: BaseFile): AsyncGenerator<readonly Change[], void> {
  const rows = createReadStream(path, { start: rowsAt, highWaterMark: chunkBytes }).pipe(
    createGunzip({ chunkSize: chunkBytes }),
  );
  let held: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of rows as AsyncIterable<Buffer>) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      for (;;) {
        if (held.length < 4) break;
        const length = held.readUInt32LE();
        if (length === endMark) return;
        if (held.length < 4 + length) break;
        yield readChanges(held.subarray(4, 4 + length));
        held = held.subarray(4 + length);
      }
    }
  } catch (fault) {
    if (fault instanceof LakeError) throw fault;
    const text = messageOf(fault);
    throw new LakeError('store-corrupt', { store, key, fault: text }, { cause: fault });
  }
  throw new LakeError('store-corrupt', { store, key, fault: 'it ends early' });
}
