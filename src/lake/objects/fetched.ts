/**
 * Objects of a lake in a bucket: those of the folder, and of the bucket what the folder does not have. It is fetched
 * whole when it is asked for, and stays in the folder until others need its room (store/cache.ts).
 */
import { mkdirSync, renameSync, utimes } from 'node:fs';
import { dirname } from 'node:path';
import { LakeError } from '../../errors.ts';
import type { Bucket } from '../../store/bucket.ts';
import type { S3Options } from '../../store/s3.ts';
import type { Id } from '../lake.types.ts';
import { objectPath, openObjects, type ObjectSink, type ObjectStore } from './objects.ts';

/** The key of an object below the bucket's prefix. */
export const objectKey = (id: Id): string => `objects/${id.slice(38)}/${id}`;
/** A use is noted so often. */
const touchMs = 60_000;
const touchesMax = 10_000;
let fetches = 0;

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
  private readonly name: string;
  private readonly fetching = new Map<Id, Promise<void>>();
  private readonly touched = new Map<Id, number>();

  constructor(directory: string, store: S3Options, name: string) {
    this.directory = directory;
    this.files = openObjects(directory);
    this.store = store;
    this.name = name;
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
      return this.fetched(id).then(() => this.files.readRange(id, offset, length));
    }
  }
  /** Its time of use is that of the file. */
  private touch(id: Id): void {
    const now = Date.now();
    if ((this.touched.get(id) ?? 0) > now - touchMs) return;
    if (this.touched.size > touchesMax) this.touched.clear();
    this.touched.set(id, now);
    utimes(objectPath(this.directory, id), now / 1000, now / 1000, () => undefined);
  }
  private fetched(id: Id): Promise<void> {
    const under = this.fetching.get(id);
    if (under) return under;
    const fetching = this.fetch(id).finally(() => this.fetching.delete(id));
    this.fetching.set(id, fetching);
    return fetching;
  }
  private async fetch(id: Id): Promise<void> {
    const path = objectPath(this.directory, id);
    const making = `${path}.${this.name}-${process.pid}-${++fetches}`;
    mkdirSync(dirname(path), { recursive: true });
    // What buckets need is loaded by who has one.
    this.bucket ??= import('../../store/s3.ts').then(({ openBucket }) => openBucket(this.store));
    if (!(await (await this.bucket).getFile(objectKey(id), making))) throw new LakeError('object-missing', { id });
    // One that another thread has fetched meanwhile is the same.
    renameSync(making, path);
  }

  delete(id: Id): Promise<void> {
    return this.files.delete(id);
  }
  forget(id: Id): void {
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
