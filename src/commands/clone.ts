/**
 * `lake clone`: copies a lake as it is at one moment, between folders and buckets: its backup, and the way back. What it
 * made on this disk is gone again if it fails or a signal ends it.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { type LakePlace, parseClone } from '../config/clone.ts';
import { ConfigError } from '../config/options.ts';
import { openLake } from '../lake/lake.ts';
import { makeFolder } from '../lake/lock.ts';
import { openObjects } from '../lake/objects/objects.ts';
import { checkThere } from '../lake/repair/fsck.ts';
import { type Cloned, cloneBucket, cloneFolder } from '../lake/store/clone.ts';
import { openLakeStore } from '../lake/store/copy.ts';
import { findTip } from '../lake/store/segments.ts';
import { type Bucket, bucketName } from '../store/bucket.ts';
import { openBucket } from '../store/s3.ts';
import type { CommandIo } from './io.ts';
import { lakeFolder } from './lake-folder.ts';
import { addressOf, openCheckedBucket } from './store.ts';

/** Runs the command; gives its exit status. */
export const cloneCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = parseClone(argv, process.env);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  const { from, to } = config;
  const cloned =
    'folder' in to ? await intoFolder(from, lakeFolder(io.cwd, to.folder), io.cwd) : await intoBucket(from, to, io.cwd);
  const objects = cloned.objects === 1 ? '1 data object' : `${cloned.objects} data objects`;
  await io.write(Buffer.from(`${nameOf(to)}: the lake up to record ${cloned.record}, with ${objects}\n`));
  return 0;
};
const nameOf = (place: LakePlace): string => ('folder' in place ? place.folder : bucketName(place.store));

const intoFolder = async (from: LakePlace, folder: string, cwd: string): Promise<Cloned> => {
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there && !there.isDirectory())
    throw new ConfigError(`${folder} is no folder: a lake is cloned into one of its own`);
  if (there && readdirSync(folder).length > 0)
    throw new ConfigError(`${folder} is not empty: a lake is cloned into a folder or prefix of its own`);
  if ('folder' in from) {
    const source = lakeFolder(cwd, from.folder);
    checkThere(source);
    if (`${folder}${sep}`.startsWith(`${source}${sep}`))
      throw new ConfigError(`${folder} is in ${source}: a lake is cloned into a folder or prefix of its own`);
    return whole(madeBy(folder), () => cloneFolder(source, folder));
  }
  const bucket = openBucket(await addressOf(from.store));
  try {
    return await whole(madeBy(folder), () => cloneBucket(bucket, folder));
  } finally {
    bucket.close();
  }
};

/** Makes a folder; gives what takes it away again: with those above it that were made, or empty if it was there. */
const madeBy = (folder: string): (() => void) => {
  const [outermost] = makeFolder(folder);
  return () => {
    const made = outermost ? [outermost] : readdirSync(folder).map((name) => join(folder, name));
    for (const path of made) rmSync(path, { recursive: true, force: true, maxRetries: 9 });
  };
};

const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Does work on what was made; if it fails, or a signal ends the program, that is undone. */
const whole = async <T>(undo: () => void, work: () => Promise<T>): Promise<T> => {
  const ended = (signal: NodeJS.Signals): void => {
    for (const each of endSignals) process.off(each, ended);
    undo();
    // As if nobody had listened: whoever began the program sees that the signal ended it.
    process.kill(process.pid, signal);
  };
  for (const signal of endSignals) process.on(signal, ended);
  try {
    return await work();
  } catch (fault) {
    undo();
    throw fault;
  } finally {
    for (const signal of endSignals) process.off(signal, ended);
  }
};

/** By a folder in between, which is then copied into the bucket as any lake is that gets one. */
const intoBucket = async (
  from: LakePlace,
  to: Extract<LakePlace, { store: unknown }>,
  cwd: string,
): Promise<Cloned> => {
  const address = await addressOf(to.store);
  const bucket = await openCheckedBucket(address);
  const folder = mkdtempSync(join(tmpdir(), 'lake-clone-'));
  const between = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 9 });
  try {
    return await whole(between, async () => {
      if ((await findTip(bucket)).tip > 0)
        throw new ConfigError(`${bucket.name} is not empty: a lake is cloned into a folder or prefix of its own`);
      const directory = join(folder, 'lake');
      const cloned = await intoFolder(from, directory, cwd);
      await putInto(bucket, directory);
      return cloned;
    });
  } finally {
    bucket.close();
    between();
  }
};
const putInto = async (bucket: Bucket, directory: string): Promise<void> => {
  const store = openLakeStore({
    bucket,
    ack: 'bucket',
    address: 'lake clone',
    graceMs: graceMs,
    cache: { bytesMax: 0, lookMs: graceMs },
    closeMsMax: 0,
    noted: () => undefined,
  });
  const lake = await openLake({ directory, objects: openObjects(directory), store, owner: 'lake clone' });
  await lake.close();
};
const graceMs = 3_600_000;
