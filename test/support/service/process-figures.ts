/**
 * What a process and a lake's folder take, as the system tells it: memory, descriptors by what they are of, threads,
 * bytes of files.
 */
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Resident memory in MB. `anonymous` is the process's own, `file` pages of files that the system takes back at will.
 */
export interface MemoryFigures {
  readonly anonymous: number;
  readonly file: number;
  readonly shared: number;
}

export const memoryOf = (pid: number): MemoryFigures => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { anonymous: of('RssAnon'), file: of('RssFile'), shared: of('RssShmem') };
};

/** Seconds of processors that it took so far, all threads together. */
export const processorSecondsOf = (pid: number): number => secondsIn(`/proc/${pid}/stat`);
/** Of the thread that it began with: in a service, the one that answers requests and orders commits. */
export const mainThreadSecondsOf = (pid: number): number => secondsIn(`/proc/${pid}/task/${pid}/stat`);
const secondsIn = (path: string): number => {
  const text = readFileSync(path, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
};
const ticksPerSecond = 100;

export const threadsOf = (pid: number): number => readdirSync(`/proc/${pid}/task`).length;

/** Open descriptors. `deleted`: of files that are gone from their folder, whose room the disk does not get back. */
export interface DescriptorFigures {
  readonly all: number;
  readonly objects: number;
  readonly sockets: number;
  readonly deleted: number;
  readonly others: number;
}

export const descriptorsOf = (pid: number): DescriptorFigures => {
  const targets = targetsOf(pid);
  const isDeleted = (target: string): boolean => target.startsWith('/') && target.endsWith(' (deleted)');
  const count = (match: (target: string) => boolean): number => targets.filter(match).length;
  const deleted = count(isDeleted);
  const sockets = count((target) => target.startsWith('socket:'));
  const objects = count((target) => target.includes('/objects/') && !isDeleted(target));
  return { all: targets.length, objects, sockets, deleted, others: targets.length - objects - sockets - deleted };
};

/** What each descriptor is of. */
export const targetsOf = (pid: number): readonly string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });

/** Bytes that the files below a folder take on the disk. */
export const diskBytesOf = (folder: string): number => {
  let bytes = 0;
  const walk = (path: string): void => {
    try {
      const found = lstatSync(path);
      bytes += found.blocks * 512;
      if (found.isDirectory()) for (const name of readdirSync(path)) walk(join(path, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  };
  walk(folder);
  return bytes;
};

/** Names of the files below a folder. */
export const filesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};
