/** Lakes and objects in the bucket that `LAKE_TEST_STORE` asks for (test-store.ts), as the tests of this process open them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../../src/lake/ksuid.ts';
import { objectKey, openLakeObjects } from '../../../src/lake/objects/fetched.ts';
import { type ObjectStore, openObjects } from '../../../src/lake/objects/objects.ts';
import type { ObjectSource } from '../../../src/lake/objects/copies.ts';
import { openLakeStore } from '../../../src/lake/store/copy.ts';
import type { LakeStore } from '../../../src/lake/store/store.types.ts';
import { openBucket, type S3Options } from '../../../src/store/s3.ts';
import type { Bucket } from '../../../src/store/bucket.ts';
import { anyAddress, beginAgain, testAddress } from './test-store.ts';

/** Objects go from the folder at the next look. */
const cache = { bytesMax: 1, lookMs: 100 };

/** What of a lake's options is another in a bucket; `address` is what worker threads are told of it. */
export interface TestParts {
  readonly objects: ObjectStore;
  readonly store?: LakeStore;
  readonly address?: S3Options;
}
export const testParts = async (directory: string): Promise<TestParts> => {
  const address = await testAddress(directory);
  if (!address) return { objects: openObjects(directory) };
  beginAgain(directory);
  const store = openLakeStore({
    bucket: openBucket(address),
    ack: 'bucket',
    address: 'test',
    graceMs: 3_600_000,
    cache,
    closeMsMax: 60_000,
    // What is listed besides is on the path of a request (service/server.ts).
    sweepDelayMs: 24 * 3_600_000,
    takesOver: true,
    noted: () => undefined,
  });
  return { objects: openLakeObjects(directory, address, 'main'), store, address };
};

let objectsInBucket: Promise<{ readonly bucket: Bucket; readonly objects: ObjectStore }> | undefined;
/** A data object in a bucket, of which nothing is at hand. */
export const sourceInBucket = async (bytes: Uint8Array): Promise<ObjectSource> => {
  objectsInBucket ??= openObjectsInBucket();
  const { bucket, objects } = await objectsInBucket;
  const id = newId();
  await bucket.put(objectKey(id), bytes);
  return {
    id,
    size: bytes.length,
    read: (offset, length) => objects.readRange(id, offset, length),
    ahead: (offset, length) => objects.ahead?.(id, offset, length),
  };
};
const openObjectsInBucket = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'lake-objects-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const address = await anyAddress(directory);
  return { bucket: openBucket(address), objects: openLakeObjects(directory, address, 'main') };
};
