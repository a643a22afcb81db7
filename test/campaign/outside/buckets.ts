/**
 * Part `buckets`: a bucket that loses, swaps and damages what it holds, at random: segments, bases and objects, also
 * with those of another lake, with all that the store keeps beside them. Whoever opens it, from nothing, as a replica or
 * from the folder that has all, has what was acknowledged, or is told which of them is wrong; what is read of an object
 * is what was put, or names it. Nobody can miss the newest segment but the folder: it is never the one that is lost.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyBound, Lake, ObjectMeta } from '../../../src/lake/lake.types.ts';
import { newId } from '../../../src/lake/ksuid.ts';
import { openLake } from '../../../src/lake/lake.ts';
import { openLakeObjects } from '../../../src/lake/objects/fetched.ts';
import type { ObjectStore } from '../../../src/lake/objects/objects.ts';
import { openLakeStore } from '../../../src/lake/store/copy.ts';
import { openFollower } from '../../../src/lake/store/follow.ts';
import { openBucket, type S3Options } from '../../../src/store/s3.ts';
import { sortKeyBytes } from '../../../src/vectors/sort-key.ts';
import { intValue } from '../../../src/vectors/value.ts';
import { type BucketServer, startBucketServer } from '../../support/store/bucket-server.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

type Objects = BucketServer['objects'];
const commits = 40;
const histories = 4;
const cache = { bytesMax: 0, lookMs: 3_600_000 };

const addressAt = (endpoint: string): S3Options => ({
  bucket: 'lakes',
  prefix: 'a/',
  endpoint,
  region: 'us-east-1',
  style: 'path',
  environment: { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
  retryMsMax: 60,
});

interface Opened {
  readonly lake: Lake;
  readonly objects: ObjectStore;
}
/** Opens a folder with the bucket, as the writer or as a replica. */
const open = async (directory: string, endpoint: string, as: 'writer' | 'replica'): Promise<Opened> => {
  const address = addressAt(endpoint);
  const bucket = openBucket(address);
  const objects = openLakeObjects(directory, address, 'main');
  const own = { bucket, graceMs: 0, cache, noted: () => undefined };
  try {
    const lake = await openLake({
      directory,
      objects,
      report: () => undefined,
      ...(as === 'replica'
        ? { follow: openFollower({ ...own, pollMs: 20 }) }
        : {
            store: openLakeStore({
              ...own,
              ack: 'bucket',
              address: 'here',
              closeMsMax: 200,
              takesOver: true,
              baseBytesMin: 60_000,
            }),
          }),
    });
    return { lake, objects };
  } catch (fault) {
    bucket.close();
    objects.close();
    throw fault;
  }
};
const close = async ({ lake, objects }: Opened): Promise<void> => {
  await lake.close();
  objects.close();
};

const bodyOf = (key: number): Buffer => Buffer.from(`body of ${key} `.repeat(4));
const bound = (key: number): KeyBound => ({ text: String(key), sort: sortKeyBytes(intValue(key)) });
const keysAt = async (lake: Lake): Promise<readonly ObjectMeta[]> => {
  const snapshot = await lake.openSnapshot('p', 'main');
  try {
    return snapshot.page({ limit: 1_000_000 }).objects;
  } finally {
    snapshot.release();
  }
};

/** What a bucket and its folder are after some commits. */
interface History {
  readonly folder: string;
  readonly objects: Objects;
  readonly keys: string;
}
const historyOf = async (folder: string, server: BucketServer, random: Random): Promise<History> => {
  server.objects.clear();
  const opened = await open(folder, server.endpoint, 'writer');
  const { lake, objects } = opened;
  await lake.createPool({ name: 'p', keys: [['k']] });
  for (let key = 0; key < commits; key++) {
    const bytes = bodyOf(key);
    const meta = { id: newId(), count: 1, size: bytes.length, min: bound(key), max: bound(key) };
    const isFile = random.below(4) === 0;
    if (isFile) await objects.put(meta.id, bytes);
    await lake.pool('p').load('main', [isFile ? meta : { ...meta, inline: bytes }]);
  }
  const keys = textOf(await keysAt(lake));
  await close(opened);
  return { folder, objects: new Map(server.objects), keys };
};
const textOf = (objects: readonly ObjectMeta[]): string =>
  objects
    .map(({ min }) => Number(min.text))
    .sort((a, b) => a - b)
    .join();

/** Does one kind of harm; says which. `other`: another lake's bucket. */
const harm = (objects: Objects, other: Objects, random: Random): string => {
  const kind = random.pick(['log', 'log', 'base', 'objects']);
  const of = (all: Objects): readonly string[] => [...all.keys()].filter((key) => key.startsWith(`/lakes/a/${kind}/`));
  const own = of(objects).toSorted();
  const newest = kind === 'log' ? own.at(-1) : undefined;
  const places = own.filter((key) => key !== newest);
  if (places.length === 0) return 'nothing';
  const key = random.pick(places);
  const swapped = random.pick(places);
  const stored = objects.get(key)!;
  switch (random.below(5)) {
    case 0:
    case 1:
      objects.delete(key);
      return `lost ${key}`;
    case 2:
      objects.set(key, objects.get(swapped)!);
      objects.set(swapped, stored);
      return `swapped ${key} with ${swapped}`;
    case 3: {
      const foreign = other.get(random.pick(of(other)));
      // Segments and bases say themselves whose they are; of an object that is said beside it.
      const isBare = kind !== 'objects' && random.below(2) === 0;
      if (foreign) objects.set(key, isBare ? { ...foreign, meta: {} } : foreign);
      return `${key} of another lake`;
    }
    default: {
      const bytes = Buffer.from(stored.bytes);
      const at = random.below(bytes.length);
      const cut = random.below(2) === 0;
      if (!cut) bytes[at]! ^= 1 << random.below(8);
      objects.set(key, { ...stored, bytes: cut ? bytes.subarray(0, at) : bytes });
      return `${cut ? 'cut' : 'flipped'} ${key} at ${at}`;
    }
  }
};

/** Names what is wrong, or is the lake's refusal to be another one. */
const isNamed = (fault: unknown): boolean =>
  fault instanceof Error && /(log|base)\/(\d{16})?|objects\/[0-9a-f]{2}\/|object [0-9a-f]{40}/.test(fault.message);

/** What is wrong with what an opening gave, if anything. */
const faultOf = async (
  { lake, objects }: Opened,
  keys: string,
  count: (name: string) => void,
): Promise<string | undefined> => {
  const found = await keysAt(lake);
  if (textOf(found) !== keys) return `it has ${textOf(found)} in place of ${keys}`;
  for (const { id, size, inline, min } of found) {
    try {
      const bytes = inline ?? (await objects.readRange(id, 0, size));
      if (!bodyOf(Number(min.text)).equals(bytes)) return `object ${id} of ${min.text} has other bytes`;
    } catch (fault) {
      if (!isNamed(fault)) return `object ${id}: ${String(fault)}`;
      count('objects named');
    }
  }
  return undefined;
};

export const buckets: PartRun = async ({ folder, seeds, count, failed }) => {
  const server = await startBucketServer();
  const known: History[] = [];
  const history = async (number: number): Promise<History> =>
    (known[number] ??= await historyOf(join(folder, `sound-${number}`), server, randomOf(number)));
  try {
    for (const seed of seeds) {
      const random = randomOf(seed + 59);
      const number = seed % histories;
      const sound = await history(number);
      const other = await history((number + 1) % histories);
      const objects: Objects = new Map(sound.objects);
      const harms = Array.from({ length: 1 + random.below(3) }, () => harm(objects, other.objects, random));
      for (const from of ['nothing', 'replica', 'folder'] as const) {
        server.objects.clear();
        for (const [key, stored] of objects) server.objects.set(key, stored);
        const directory = join(folder, 'opened');
        rmSync(directory, { recursive: true, force: true });
        if (from === 'folder') cpSync(sound.folder, directory, { recursive: true });
        try {
          const opened = await open(directory, server.endpoint, from === 'replica' ? 'replica' : 'writer');
          const fault = await faultOf(opened, sound.keys, count).finally(() => close(opened));
          if (fault !== undefined) failed(seed, `from ${from}, ${harms.join(', ')}: ${fault}`);
          count('opened whole');
        } catch (fault) {
          if (!isNamed(fault)) failed(seed, `from ${from}, ${harms.join(', ')}: ${String(fault)}`);
          count('refused by name');
        }
      }
      count('buckets');
    }
  } finally {
    await server.close();
  }
};
