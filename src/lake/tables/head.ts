/**
 * The first two pages of LMDB's file, looked at before LMDB opens it: its binding frees memory twice when its own
 * opening fails, which ends the process by a signal. So whatever can fail there is tried here first, where it is an
 * error: descriptors, the file's two heads, room for the lock's file.
 *
 * Layout, all little-endian: a page begins with number u64, transaction u64, u16, flags u16, u32; a head's page goes on
 * with magic u32, version u32, address u64, size of the map u64, two trees of 48 bytes (page size u32, flags u16, depth
 * u16, four u64, root u64), last page u64, transaction u64, boot u64.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { LakeError, codeOf, isDiskFull, messageOf } from '../../errors.ts';

const pageBytes = 4096;
const headBytes = 168;
const at = {
  flags: 18,
  magic: 24,
  version: 28,
  mapSize: 40,
  pageBytes: 48,
  treeFlags: 52,
  roots: [88, 136],
  lastPage: 144,
} as const;
const headFlag = 8;
const magic = 0xbeefc0de;
const version = 2;
const integerKeys = 8;
const noPage = 0xffff_ffff_ffff_ffffn;
/** Pages that every environment has before its first row. */
const emptyBytes = 2 * pageBytes;
/** Descriptors that LMDB opens. */
const descriptors = 4;
const lockBytes = 8272;
const lockName = 'lock.mdb';

/** The file of an environment, which is mapped. */
export const dataPath = (directory: string): string => join(directory, 'data.mdb');

/** An environment without rows, as LMDB itself makes it. */
const emptyEnvironment = (): Buffer => {
  const bytes = Buffer.alloc(emptyBytes);
  for (const page of [0, 1]) {
    const head = bytes.subarray(page * pageBytes);
    head.writeBigUInt64LE(BigInt(page), 0);
    head.writeUInt16LE(headFlag, at.flags);
    head.writeUInt32LE(magic, at.magic);
    head.writeUInt32LE(version, at.version);
    head.writeBigUInt64LE(0x20000n, at.mapSize);
    head.writeUInt32LE(pageBytes, at.pageBytes);
    head.writeUInt16LE(integerKeys, at.treeFlags);
    for (const root of at.roots) head.writeBigUInt64LE(noPage, root);
    head.writeBigUInt64LE(1n, at.lastPage);
  }
  return bytes;
};

/** Whether something else is there: a folder, or a link to nothing. */
const isNoFile = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false }) !== undefined &&
  statSync(path, { throwIfNoEntry: false })?.isFile() !== true;

/** Whether the environment may hold rows; one whose making was cut off holds none. */
export const hasTables = (directory: string): boolean =>
  (statSync(dataPath(directory), { throwIfNoEntry: false })?.size ?? 0) > emptyBytes;

/**
 * To be called right before LMDB opens the environment: makes one that is not there, and the lock's file in its full
 * length (LMDB maps it, and a disk without room for a page of it would end the process).
 * @throws lake-unreadable when a head is damaged or cannot be read, storage-full
 */
export const prepareTables = (directory: string, options: { readonly readOnly?: boolean } = {}): void => {
  const path = dataPath(directory);
  const lock = join(directory, lockName);
  const isEmpty = !hasTables(directory);
  try {
    if (!options.readOnly) {
      mkdirSync(directory, { recursive: true });
      // Durable before LMDB writes the first page behind it: a longer file has sound heads.
      if (isEmpty && faultOfHeads(path) !== undefined) writeFileSync(path, emptyEnvironment(), { flush: true });
      if (isNoFile(lock)) rmSync(lock, { recursive: true });
      if ((statSync(lock, { throwIfNoEntry: false })?.size ?? 0) < lockBytes)
        writeFileSync(lock, Buffer.alloc(lockBytes));
    }
    // LMDB's own opening would end the process; it opens both files for writing.
    if (isNoFile(lock)) throw new Error(`${lock} is no file`);
    for (const file of [lock, path]) if (existsSync(file)) checkWritable(file, options);
    const fault = faultOfHeads(path);
    if (fault !== undefined) throw new Error(fault);
  } catch (error) {
    const fault = messageOf(error);
    if (isDiskFull(error)) throw new LakeError('storage-full', { fault }, { cause: error });
    throw new LakeError('lake-unreadable', { directory: dirname(directory), fault }, { cause: error });
  }
};

/** Opens the file as LMDB does: of a reader's file system, which may be read-only, the lock's is not needed. */
const checkWritable = (path: string, { readOnly = false }: { readonly readOnly?: boolean }): void => {
  try {
    closeSync(openSync(path, readOnly && basename(path) !== lockName ? 'r' : 'r+'));
  } catch (error) {
    if (!readOnly || codeOf(error) !== 'EROFS') throw error;
  }
};

const faultOfHeads = (path: string): string | undefined => {
  if (!existsSync(path)) return `${path} is missing`;
  const open: number[] = [];
  try {
    while (open.length < descriptors) open.push(openSync(path, 'r'));
    const fd = open[0];
    const first = readHead(fd, 0);
    if (first.fault !== undefined) return `the first head of ${path} ${first.fault}`;
    const second = readHead(fd, first.pageBytes);
    if (second.fault !== undefined) return `the second head of ${path} ${second.fault}`;
    return second.pageBytes === first.pageBytes ? undefined : `the heads of ${path} differ in the size of a page`;
  } finally {
    for (const fd of open) closeSync(fd);
  }
};

const readHead = (fd: number, offset: number): { readonly pageBytes: number; readonly fault?: string } => {
  const head = Buffer.alloc(headBytes);
  const length = readSync(fd, head, 0, headBytes, offset);
  const size = head.readUInt32LE(at.pageBytes);
  const own = { pageBytes: size };
  if (length < headBytes) return { ...own, fault: `ends after ${length} bytes` };
  const isHead =
    (head.readUInt16LE(at.flags) & headFlag) !== 0 &&
    head.readUInt32LE(at.magic) === magic &&
    head.readUInt32LE(at.version) === version;
  return isHead && size >= 512 && size <= 65536 && (size & (size - 1)) === 0 ? own : { ...own, fault: 'is damaged' };
};
