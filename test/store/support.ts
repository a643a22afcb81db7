/** Lakes in a bucket of a store on loopback. */
import { onTestFinished } from 'vitest';
import { openLake } from '../../src/lake/lake.ts';
import type { Lake, LakeOptions } from '../../src/lake/lake.types.ts';
import { openLakeObjects } from '../../src/lake/objects/fetched.ts';
import type { ObjectStore } from '../../src/lake/objects/objects.ts';
import { openLakeStore, type StoreOptions } from '../../src/lake/store/copy.ts';
import { type FollowOptions, openFollower } from '../../src/lake/store/follow.ts';
import { fenceSkips } from '../../src/lake/store/open-bucket.ts';
import { segmentKey } from '../../src/lake/store/segments.ts';
import type { LakeFollower } from '../../src/lake/store/store.types.ts';
import { openBucket, type S3Options } from '../../src/store/s3.ts';
import type { Bucket } from '../../src/store/bucket.ts';
import { type BucketServer, startBucketServer } from '../support/store/bucket-server.ts';
import { type FaultProxy, startFaultProxy } from '../support/store/fault-proxy.ts';

/** The number of the n-th segment (from 1) behind the fence of a bucket's first writer, which is segment 1. */
export const numberAfterFence = (n: number): number => fenceSkips + 1 + n;
/** Its key. */
export const keyAfterFence = (n: number): string => segmentKey(numberAfterFence(n));

export const addressAt = (endpoint: string, prefix = 'a/'): S3Options => ({
  bucket: 'lakes',
  prefix,
  endpoint,
  region: 'us-east-1',
  style: 'path',
  environment: { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
  retryMsMax: 400,
  idleMsMax: 20_000,
});

/** A store of our own with a proxy before it. */
export const startStore = async (): Promise<{ server: BucketServer; proxy: FaultProxy; keys: () => string[] }> => {
  const server = await startBucketServer();
  const proxy = await startFaultProxy(server.endpoint);
  onTestFinished(async () => {
    await proxy.close();
    await server.close();
  });
  const from = '/lakes/a/'.length;
  return { server, proxy, keys: () => [...server.objects.keys()].map((key) => key.slice(from)).sort() };
};

/** `faults`: what the lake reported. */
export interface StoredLake {
  readonly lake: Lake;
  readonly objects: ObjectStore;
  readonly bucket: Bucket;
  readonly faults: unknown[];
  readonly noted: string[];
}
export const openStored = async (
  directory: string,
  endpoint: string,
  options: Partial<StoreOptions> & {
    readonly lake?: Partial<LakeOptions>;
    readonly prefix?: string;
    readonly retryMsMax?: number;
  } = {},
): Promise<StoredLake> => {
  const { prefix, retryMsMax } = options;
  const address = { ...addressAt(endpoint, prefix), ...(retryMsMax !== undefined && { retryMsMax }) };
  const bucket = openBucket(address);
  const objects = openLakeObjects(directory, address, 'main');
  const faults: unknown[] = [];
  const noted: string[] = [];
  const store = openLakeStore({
    bucket,
    ack: 'bucket',
    address: 'here',
    graceMs: 3_600_000,
    cache: { bytesMax: 0, lookMs: 3_600_000 },
    closeMsMax: 200,
    takesOver: true,
    noted: (text) => noted.push(text),
    ...options,
  });
  const lake = await openLake({
    directory,
    objects,
    store,
    report: (fault) => {
      faults.push(fault);
    },
    ...options.lake,
  }).catch((fault: unknown) => {
    bucket.close();
    objects.close();
    throw fault;
  });
  onTestFinished(async () => {
    if (lake.status().state !== 'closed') await lake.close();
    objects.close();
  });
  return { lake, objects, bucket, faults, noted };
};

/** A replica of the lake of such a bucket. */
export const openReplica = async (
  directory: string,
  endpoint: string,
  options: Partial<FollowOptions> & { readonly lake?: Partial<LakeOptions>; readonly prefix?: string } = {},
): Promise<StoredLake & { readonly follower: LakeFollower }> => {
  const address = addressAt(endpoint, options.prefix);
  const bucket = openBucket(address);
  const objects = openLakeObjects(directory, address, 'main');
  const faults: unknown[] = [];
  const noted: string[] = [];
  const follower = openFollower({
    bucket,
    pollMs: 20,
    graceMs: 3_600_000,
    cache: { bytesMax: 0, lookMs: 3_600_000 },
    noted: (text) => noted.push(text),
    ...options,
  });
  const lake = await openLake({
    directory,
    objects,
    follow: follower,
    report: (fault) => {
      faults.push(fault);
    },
    ...options.lake,
  }).catch((fault: unknown) => {
    objects.close();
    throw fault;
  });
  onTestFinished(async () => {
    if (lake.status().state !== 'closed') await lake.close();
    objects.close();
  });
  return { lake, follower, objects, bucket, faults, noted };
};
