/**
 * Files of data objects: the one place of the service with `node:fs` for data, so that an object store can take the
 * folder's place.
 *
 * Invariants:
 * - An object's file is written once, under its own name, and never changed. When `put` or `close` has resolved, file
 *   and directory entry survive power loss.
 * - A crash in between leaves a file that no commit names: an orphan, swept at start. A disk that fails leaves none, as
 *   far as it lets us.
 * - Reads may answer at once or with a promise: callers `await` either.
 */
import { closeSync, openSync, readSync, writeSync, fstatSync, mkdirSync, fsync, statSync } from 'node:fs';
import { open, opendir, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LakeError, messageOf, pathlessMessageOf, codeOf, isDiskFull } from '../../errors.ts';
import { makeFolder, makeOne } from '../lock.ts';
import { killPoint } from '../kill-points.ts';
import type { Id, ObjectFiles } from '../lake.types.ts';

/** An object in the making. After `close` it is durable; `abort` removes what there is. One of both must be called. */
export interface ObjectSink {
  write(chunk: Uint8Array): void;
  close(): Promise<void>;
  abort(): Promise<void>;
}

/** The file interface: put, read range, delete, list. Ids are 40 hexadecimal digits. */
export interface ObjectStore extends ObjectFiles {
  /** Objects that are written there are compressed where that pays, unless their writer says otherwise. */
  readonly compresses?: boolean;
  /** Begins an object that is written piece by piece. */
  create(id: Id): ObjectSink;
  /** Writes a whole object; durable once resolved. */
  put(id: Id, bytes: Uint8Array): Promise<void>;
  /**
   * Exactly `length` bytes in an 8-byte aligned buffer of their own. @throws object-missing, object-corrupt when the
   * file is shorter
   */
  readRange(id: Id, offset: number, length: number): Uint8Array | Promise<Uint8Array>;
  /** It will be asked for soon; absent: nothing is far away. */
  ahead?(id: Id, offset: number, length: number): void;
  /** Whether the whole object is at hand, where some are not. */
  isHere?(id: Id): boolean;
  /**
   * What was read of it does not fit: it is read from elsewhere from now on. False: nobody else has it; absent: nobody
   * ever has.
   */
  distrust?(id: Id): Promise<boolean>;
  /** Removes the object; no error if there is none. */
  delete(id: Id): Promise<void>;
  /** The object was deleted, maybe elsewhere: closes its file, so that the disk gets its room back. */
  forget(id: Id): void;
  /** Bytes of the object's file, 0 if there is none; absent: where that is not known without asking far. */
  lengthOf?(id: Id): number;
  /**
   * What the file system says of the file that is read: another text once it is another file, or was written to.
   * Absent: nobody else writes there. @throws object-missing
   */
  stampOf?(id: Id): string;
  /** All ids, in no order. */
  list(): AsyncIterable<Id>;
  /** Closes what it keeps open. */
  close(): void;
}

/**
 * What this thread has done to the disk: files synced with their folders, milliseconds that it took, bytes of files
 * that need not last.
 */
export const diskTotals = { syncs: 0, syncMs: 0, scratchBytes: 0 };

/** Files that a thread keeps open for reading. */
const openFilesMax = 128;
const idPattern = /^[0-9a-f]{40}$/;

/** The objects in `<lake>/objects/xx/<id>`, `xx` being the last two digits of the id (the first ones are a time). */
export const openObjects = (lakeDirectory: string): ObjectStore => new ObjectFolder(join(lakeDirectory, 'objects'));

/** Files of Iceberg tables, in `<lake>/iceberg`: written, kept and swept as those of objects are. */
export const openIcebergFiles = (lakeDirectory: string): ObjectStore =>
  new ObjectFolder(join(lakeDirectory, 'iceberg'));

/** Objects that need not outlive the process: the same files without syncing. */
export const openScratch = (directory: string): ObjectStore => new ObjectFolder(directory, false);

/** Where an object's file is. */
export const objectPath = (lakeDirectory: string, id: Id): string => join(lakeDirectory, 'objects', id.slice(38), id);

/** Moves an object's file out of the lake, into a folder of the same file system; no error if there is none. */
export const moveObject = async (lakeDirectory: string, id: Id, folder: string): Promise<void> => {
  await rename(objectPath(lakeDirectory, id), join(folder, id)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
};

class ObjectFolder implements ObjectStore {
  private readonly root: string;
  private readonly durable: boolean;
  /** Folders whose own entry was synced by this process: another load may have made one and not be done with it. */
  private readonly durableFolders = new Set<string>();
  /** Least recently used first. */
  private readonly descriptors = new Map<Id, number>();

  constructor(root: string, durable = true) {
    this.root = root;
    this.durable = durable;
    if (durable) makeFolder(root);
    else mkdirSync(root, { recursive: true });
  }

  create(id: Id): ObjectSink {
    const folder = this.folder(id);
    const path = join(folder, id);
    try {
      // Never the root: where it is gone the lake was moved, and nothing is begun in its place.
      if (this.durable) makeOne(folder);
      else mkdirSync(folder, { recursive: true });
      const fd = this.withDescriptor(() => openSync(path, 'wx'));
      if (this.durable) killPoint('object: created');
      return new FileSink({
        id,
        fd,
        path,
        ...(this.durable && { folder, root: this.root, durableFolders: this.durableFolders }),
      });
    } catch (error) {
      throw unwritten(id, error, this.durable);
    }
  }

  async put(id: Id, bytes: Uint8Array): Promise<void> {
    const sink = this.create(id);
    try {
      sink.write(bytes);
    } catch (error) {
      await sink.abort();
      throw error;
    }
    await sink.close();
  }

  readRange(id: Id, offset: number, length: number): Uint8Array {
    const fd = this.descriptor(id);
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const n = readAt(id, fd, bytes, done, offset + done);
      if (n === 0)
        throw new LakeError('object-corrupt', {
          id,
          place: `byte ${offset + done}`,
          fault: `the file ends there, ${fstatSync(fd).size} bytes long`,
        });
      done += n;
    }
    return bytes;
  }

  forget(id: Id): void {
    const fd = this.descriptors.get(id);
    if (fd === undefined) return;
    this.descriptors.delete(id);
    closeSync(fd);
  }

  async delete(id: Id): Promise<void> {
    this.forget(id);
    if (this.durable) killPoint('object: going');
    await rm(join(this.folder(id), id), { force: true });
    if (this.durable) killPoint('object: gone');
  }

  lengthOf(id: Id): number {
    return statSync(join(this.folder(id), id), { throwIfNoEntry: false })?.size ?? 0;
  }

  stampOf(id: Id): string {
    const { dev, ino, size, mtimeNs } = fstatSync(this.descriptor(id), { bigint: true });
    return [dev, ino, size, mtimeNs].join(' ');
  }

  async *list(): AsyncIterable<Id> {
    for await (const folder of await opendir(this.root)) {
      if (!folder.isDirectory()) continue;
      for await (const file of await opendir(join(this.root, folder.name)))
        if (idPattern.test(file.name)) yield file.name;
    }
  }

  close(): void {
    for (const fd of this.descriptors.values()) closeSync(fd);
    this.descriptors.clear();
  }

  /** When the process has no descriptors left, those that are kept open for the next read are given back. */
  private withDescriptor(openFile: () => number): number {
    try {
      return openFile();
    } catch (error) {
      if (!/^(EMFILE|ENFILE)$/.test(codeOf(error) ?? '') || this.descriptors.size === 0) throw error;
      this.close();
      return openFile();
    }
  }

  private folder(id: Id): string {
    return join(this.root, id.slice(38));
  }

  private descriptor(id: Id): number {
    let fd = this.descriptors.get(id);
    if (fd !== undefined) this.descriptors.delete(id);
    else {
      try {
        fd = this.withDescriptor(() => openSync(join(this.folder(id), id), 'r'));
      } catch (error) {
        if (codeOf(error) === 'ENOENT') throw new LakeError('object-missing', { id }, { cause: error });
        throw new LakeError('object-unread', { id, place: 'file', fault: messageOf(error) }, { cause: error });
      }
      for (const [oldest, old] of this.descriptors) {
        if (this.descriptors.size < openFilesMax) break;
        this.descriptors.delete(oldest);
        closeSync(old);
      }
    }
    this.descriptors.set(id, fd);
    return fd;
  }
}

/** A full disk is told as such: the load can be tried again when there is room. */
const unwritten = (id: Id, error: unknown, isDurable: boolean): LakeError => {
  const fault = messageOf(error);
  if (!isDurable) return scratchFault(error);
  if (isDiskFull(error)) return new LakeError('storage-full', { fault }, { cause: error });
  return new LakeError('object-unwritten', { id, fault }, { cause: error });
};
/** What a fault is of writing what need not outlive the process: `spill-full` if there is no room, `spill-unwritten`. */
export const scratchFault = (error: unknown): LakeError =>
  isDiskFull(error)
    ? new LakeError('spill-full', { fault: pathlessMessageOf(error) }, { cause: error })
    : new LakeError('spill-unwritten', { fault: messageOf(error) }, { cause: error });
const readAt = (id: Id, fd: number, bytes: Uint8Array, at: number, position: number): number => {
  try {
    return readSync(fd, bytes, at, bytes.length - at, position);
  } catch (error) {
    throw new LakeError('object-unread', { id, place: `byte ${position}`, fault: messageOf(error) }, { cause: error });
  }
};

/** `folder`: where the file is; absent: nothing is synced. */
interface SinkOptions {
  readonly id: Id;
  readonly fd: number;
  readonly path: string;
  readonly folder?: string;
  readonly root?: string;
  readonly durableFolders?: Set<string>;
}

class FileSink implements ObjectSink {
  private readonly id: Id;
  private readonly fd: number;
  private readonly path: string;
  private readonly options: SinkOptions;
  private isOpen = true;
  constructor(options: SinkOptions) {
    this.id = options.id;
    this.fd = options.fd;
    this.path = options.path;
    this.options = options;
  }

  write(chunk: Uint8Array): void {
    try {
      for (let done = 0; done < chunk.length; ) done += writeSync(this.fd, chunk, done, chunk.length - done);
      if (!this.options.folder) diskTotals.scratchBytes += chunk.length;
    } catch (error) {
      throw unwritten(this.id, error, this.options.folder !== undefined);
    }
  }

  async close(): Promise<void> {
    try {
      await this.sync();
    } catch (error) {
      await unlink(this.path).catch(() => undefined);
      throw unwritten(this.id, error, this.options.folder !== undefined);
    }
  }
  private async sync(): Promise<void> {
    const { folder, root, durableFolders } = this.options;
    const began = performance.now();
    try {
      if (!folder) return;
      killPoint('object: written');
      await syncDescriptor(this.fd);
      killPoint('object: synced');
    } finally {
      this.closeFile();
    }
    await syncFolder(folder);
    if (!durableFolders!.has(folder)) {
      await syncFolder(root!);
      durableFolders!.add(folder);
    }
    killPoint('object: durable');
    diskTotals.syncs++;
    diskTotals.syncMs += performance.now() - began;
  }

  async abort(): Promise<void> {
    this.closeFile();
    await unlink(this.path).catch(() => undefined);
  }
  /** Once: the number may be another file's by then. */
  private closeFile(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    closeSync(this.fd);
  }
}

const syncDescriptor = (fd: number): Promise<void> =>
  new Promise((resolve, reject) => {
    fsync(fd, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
