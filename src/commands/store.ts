/** Buckets as commands open them. What they need is loaded where one is named. */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { FollowConfig, StoreAddress, StoreConfig } from '../config/store.ts';
import type { StoreOptions } from '../lake/store/copy.ts';
import type { LakeFollower, LakeStore } from '../lake/store/store.types.ts';
import type { Bucket } from '../store/bucket.ts';
import type { S3Options } from '../store/s3.ts';

/** So long a request is tried again, and so long nothing may come of one try. */
const retryMsMax = 10_000;
const idleMsMax = 5000;
const cacheLookMs = 10_000;
const regionDefault = 'us-east-1';

/** The bucket's address, and credentials as this process has them. */
export const addressOf = async (address: StoreAddress): Promise<S3Options> => {
  const { regionOf } = await import('../store/credentials.ts');
  const { bucket, prefix, endpoint, region, style } = address;
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name === 'HOME' || name.startsWith('AWS_')),
  );
  return {
    bucket,
    prefix,
    endpoint,
    region: region || regionOf(environment) || regionDefault,
    style,
    environment,
    retryMsMax,
    idleMsMax,
  };
};
/** @throws store-unconditional, store-unreachable, store-refused */
export const openCheckedBucket = async (address: S3Options): Promise<Bucket> => {
  const { checkConditional, openBucket } = await import('../store/s3.ts');
  const bucket = openBucket(address);
  try {
    await checkConditional(bucket);
    return bucket;
  } catch (fault) {
    bucket.close();
    throw fault;
  }
};

/** The copy of a lake, for `lake serve`; `at`: where the service listens, which is known later. */
export const openStore = async (
  config: StoreConfig,
  parts: StoreParts,
): Promise<{ readonly address: S3Options; readonly copy: (at: string) => LakeStore }> => {
  const address = await addressOf(config);
  const bucket = await openCheckedBucket(address);
  const { openLakeStore } = await import('../lake/store/copy.ts');
  return { address, copy: (at) => openLakeStore(storeOptions(config, bucket, at, parts)) };
};
/** What a service has for its buckets. */
interface StoreParts {
  readonly log: Logger;
  readonly shutdownMs: number;
  readonly inspect: ((event: unknown) => void) | undefined;
}
const storeOptions = (
  { ack, graceMs, cacheBytesMax, leaseMs, takesOver }: StoreConfig,
  bucket: Bucket,
  at: string,
  { log, shutdownMs, inspect }: StoreParts,
): StoreOptions => ({
  bucket,
  ack,
  address: `${hostname()}, ${at}`,
  graceMs,
  cache: { bytesMax: cacheBytesMax, lookMs: cacheLookMs },
  closeMsMax: shutdownMs,
  leaseMs,
  takesOver,
  ...(inspect && { role: { inspect } }),
  noted: (text) => {
    log.warn(text);
  },
});

/** What feeds a replica, for `lake serve`; `at` as of `openStore`. */
export const openFollow = async (
  config: FollowConfig,
  parts: StoreParts,
): Promise<{ readonly address: S3Options; readonly follower: (at: string) => LakeFollower }> => {
  const address = await addressOf(config);
  const { openBucket } = await import('../store/s3.ts');
  const { openFollower } = await import('../lake/store/follow.ts');
  const bucket = config.standby ? await openCheckedBucket(address) : openBucket(address);
  const { log, inspect } = parts;
  const follower = (at: string): LakeFollower =>
    openFollower({
      bucket,
      ...(config.standby && { standby: storeOptions(config.standby, bucket, at, parts) }),
      pollMs: config.pollMs,
      graceMs: config.graceMs,
      cache: { bytesMax: config.cacheBytesMax, lookMs: cacheLookMs },
      ...(inspect && { role: { inspect } }),
      noted: (text) => {
        log.warn(text);
      },
    });
  return { address, follower };
};
