/**
 * Objects of a lake in a bucket: those of the folder, and of the bucket what the folder does not have. Of these the
 * ranges are fetched that are asked for (ranges.ts), and stay until others need their room (store/cache.ts). What does
 * not have the bytes that were put is removed from the disk, if the bucket says that it has them.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, utimes } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import type { S3Options } from '../../store/s3.ts';
import type { Id } from '../lake.types.ts';
import { objectPath, openObjects, type ObjectSink, type ObjectStore } from './objects.ts';
import { RangeCache, rangesOf } from './ranges.ts';

/** The key of an object below the bucket's prefix. */
export const objectKey = (id: Id): string => `objects/${id.slice(38)}/${id}`;
/** A use is noted so often. */
const touchMs = 60_000;
const touchesMax = 10_000;

/**
 * The objects of a lake, in its folder alone or in a bucket too. `name`: tells this thread's files in the making from
 * those of others.
 */
export const openLakeObjects = (lakeDirectory: string, store: S3Options | undefined, name: string): ObjectStore =>
  store ? new FetchedObjects(lakeDirectory, store, name) : openObjects(lakeDirectory);

class FetchedObjects implements ObjectStore {
  private readonly directory: string;
  private readonly files: ObjectStore;
  private readonly store: S3Options;
  private bucket: Promise<Bucket> | undefined;
  private readonly ranges: RangeCache;
  private readonly touched = new Map<Id, number>();

  constructor(directory: string, store: S3Options, name: string) {
    this.directory = directory;
    this.files = openObjects(directory);
    this.store = store;
    this.ranges = new RangeCache(directory, name, (id, offset, length) => this.fetch(id, offset, length));
  }

  create(id: Id): ObjectSink {
    return this.files.create(id);
  }
  put(id: Id, bytes: Uint8Array): Promise<void> {
    return this.files.put(id, bytes);
  }
  readRange(id: Id, offset: number, length: number): Uint8Array | Promise<Uint8Array> {
    try {
      const bytes = this.files.readRange(id, offset, length);
      this.touch(id);
      return bytes;
    } catch (fault) {
      if (!(fault instanceof LakeError) || fault.code !== 'object-missing') throw fault;
      return this.ranges.read(id, offset, length);
    }
  }
  isHere(id: Id): boolean {
    return existsSync(objectPath(this.directory, id));
  }
  ahead(id: Id, offset: number, length: number): void {
    if (!this.isHere(id)) this.ranges.ahead(id, offset, length);
  }
  /** Its time of use is that of the file. */
  private touch(id: Id): void {
    const now = Date.now();
    if ((this.touched.get(id) ?? 0) > now - touchMs) return;
    if (this.touched.size > touchesMax) this.touched.clear();
    this.touched.set(id, now);
    utimes(objectPath(this.directory, id), now / 1000, now / 1000, () => undefined);
  }
  private async fetch(id: Id, offset: number, length: number): Promise<Uint8Array> {
    const bytes = await (await this.opened()).getRange(objectKey(id), offset, length);
    if (!bytes) throw new LakeError('object-missing', { id });
    return bytes;
  }
  /** What buckets need is loaded by who has one. */
  private opened(): Promise<Bucket> {
    return (this.bucket ??= import('../../store/s3.ts').then(({ openBucket }) => openBucket(this.store)));
  }

  async distrust(id: Id): Promise<boolean> {
    // Its file may be another one by now, or gone, and still be open.
    this.files.forget(id);
    if (this.isHere(id) && !(await this.removeDamaged(id))) return false;
    await this.forgetRanges(id);
    return true;
  }
  /** False: it is not known that the bucket has other bytes. */
  private async removeDamaged(id: Id): Promise<boolean> {
    const path = objectPath(this.directory, id);
    const put = await this.opened()
      .then((bucket) => bucket.head(objectKey(id)))
      .catch(() => undefined);
    if (!put || put.sha256 === '' || put.sha256 === (await sumOf(path))) return false;
    await rm(path, { recursive: true, force: true });
    return true;
  }
  private async forgetRanges(id: Id): Promise<void> {
    this.ranges.forget(id);
    await rm(rangesOf(this.directory, id), { recursive: true, force: true });
  }

  async delete(id: Id): Promise<void> {
    await this.forgetRanges(id);
    await this.files.delete(id);
  }
  forget(id: Id): void {
    this.ranges.forget(id);
    this.files.forget(id);
  }
  list(): AsyncIterable<Id> {
    return this.files.list();
  }
  close(): void {
    this.files.close();
    void this.bucket?.then((bucket) => bucket.close());
  }
}

/** Undefined: it cannot be read. */
const sumOf = async (path: string): Promise<string | undefined> => {
  const sum = createHash('sha256');
  try {
    await pipeline(createReadStream(path), sum);
    return sum.digest('hex');
  } catch {
    return undefined;
  }
};
