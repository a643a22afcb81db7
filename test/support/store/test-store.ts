/**
 * The variant of the tests whose lakes are in a bucket: with `LAKE_TEST_STORE` the lakes that tests open have one each.
 * `memory`: in a small store of this process (bucket-server.ts); a URL: in the bucket `lakes` of a store that is there.
 * `npm run test:bucket` runs them so; some run so with all others (test/store/variant.test.ts).
 *
 * Commits are acknowledged by the bucket, and no data object stays in the folder once the bucket has it: all that is
 * read comes from there. A folder that was closed in order is begun again from nothing.
 */
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { S3Options } from '../../../src/store/s3.ts';
import { type BucketServer, startBucketServer } from './bucket-server.ts';

const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' } as const;

let started: Promise<BucketServer> | undefined;
/** Where the store is that lakes are in; undefined: they are in folders alone. */
const askedEndpoint = (): Promise<string> | undefined => {
  const asked = process.env['LAKE_TEST_STORE'] ?? '';
  if (asked === '') return undefined;
  return asked === 'memory' ? ownEndpoint() : Promise.resolve(asked);
};
const ownEndpoint = async (): Promise<string> => {
  started ??= startBucketServer().then((server) => {
    // It goes with the process.
    server.unref();
    return server;
  });
  return (await started).endpoint;
};
/** How often a lake's part of the store of this process was listed so far; of another store: 0. */
export const listingsOf = async (address: S3Options | undefined): Promise<number> => {
  const server = await started;
  if (!server || address?.endpoint !== server.endpoint) return 0;
  const prefix = `prefix=${encodeURIComponent(address.prefix)}`;
  return server.requests.filter((each) => each.includes('list-type=') && each.includes(prefix)).length;
};

/** The bucket of the lake in a folder; undefined: it has none. */
export const testAddress = async (directory: string): Promise<S3Options | undefined> => {
  const endpoint = await askedEndpoint();
  return endpoint === undefined ? undefined : addressAt(endpoint, directory);
};
/** One in a store of this process, if none is asked for. */
export const anyAddress = async (name: string): Promise<S3Options> =>
  addressAt(await (askedEndpoint() ?? ownEndpoint()), name);
const addressAt = (endpoint: string, name: string): S3Options => {
  const prefix = `${createHash('sha256').update(`${process.pid} ${name}`).digest('hex').slice(0, 16)}/`;
  return { bucket: 'lakes', prefix, endpoint, region: 'us-east-1', style: 'path', environment: credentials };
};

/** What a service in a process of its own is told of it. */
export const testFlags = async (
  directory: string,
  flags: readonly string[],
): Promise<{ readonly flags: readonly string[]; readonly environment: Readonly<Record<string, string>> }> => {
  const address = flags.some((flag) => /^--?(store|follow)(\.|=|$)/.test(flag))
    ? undefined
    : await testAddress(directory);
  if (!address) return { flags: [], environment: {} };
  beginAgain(directory);
  const { bucket, prefix, endpoint } = address;
  return {
    flags: [
      ...['-store', `s3://${bucket}/${prefix.replace(/\/$/, '')}`, '-store.endpoint', endpoint!],
      ...['-store.ack', 'bucket', '-store.takeover', '-cache.max', '1B'],
    ],
    environment: credentials,
  };
};

/** A lake that was closed in order goes on from what the bucket has; one that was killed from its folder. */
export const beginAgain = (directory: string): void => {
  if (!existsSync(join(directory, 'store.json')) || existsSync(join(directory, 'running'))) return;
  for (const name of ['log', 'base', 'tables', 'objects', 'ranges', 'store.json'])
    rmSync(join(directory, name), { recursive: true, force: true });
};
