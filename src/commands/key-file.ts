/**
 * The keys of a lake, in a file of its folder that only its owner may read.
 *
 * - Commands write it, a service only reads it, at most a second late: keys can be added and revoked while it runs.
 * - A write goes to a file beside it that is synced and renamed; one command writes at a time.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyRecord, KeyRing } from '../http/access/keys.ts';

const fileName = 'keys.json', checkMs = 1000;

const pathIn = (directory: string): string => join(directory, fileName);

/** The keys of a lake's folder; none where there is no file. @throws Error for a file that is no list of keys */
export const readKeys = (directory: string): readonly KeyRecord[] => {
  let text: string;
  try {
    text = readFileSync(pathIn(directory), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const { keys } = parsed(text) as { readonly keys?: unknown };
  if (!Array.isArray(keys) || !keys.every(isRecord)) throw new Error(`${pathIn(directory)}: not a list of keys`);
  return keys;
};
const parsed = (text: string): unknown => { try { return JSON.parse(text); } catch { return {}; } };
const isRecord = (x: unknown): x is KeyRecord => {
  const { id, name, sha256, grants } = (x ?? {}) as Partial<KeyRecord>;
  return typeof id === 'string' && typeof name === 'string' && /^[0-9a-f]{64}$/.test(sha256 ?? '') && Array.isArray(grants);
};

/** Replaces the keys by what `change` makes of them. @throws Error while another command changes them */
export const changeKeys = (directory: string, change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): void => {
  const path = pathIn(directory), beside = `${path}.new`;
  let file: number;
  try {
    file = openSync(beside, 'wx', 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw new Error(`${beside} is there: another command is changing the keys, or one was cut off; remove it then`, { cause });
    throw cause;
  }
  try {
    writeSync(file, `${JSON.stringify({ keys: change(readKeys(directory)) }, undefined, 1)}\n`);
    fsyncSync(file);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  const folder = openSync(directory, 'r');
  fsyncSync(folder);
  closeSync(folder);
};

/** The keys of a lake's folder as they are now. A file that cannot be read keeps the keys of before, and is told to `report`. */
export const watchKeys = (directory: string, report: (fault: unknown) => void): KeyRing => {
  let keys = new Map(readKeys(directory).map((key) => [key.id, key])), seen = stampOf(directory), checkedAt = performance.now();
  const listeners: (() => void)[] = [];
  const refresh = (): void => {
    checkedAt = performance.now();
    const stamp = stampOf(directory);
    if (stamp === seen) return;
    try {
      keys = new Map(readKeys(directory).map((key) => [key.id, key]));
      seen = stamp;
    } catch (fault) {
      report(fault);
      return;
    }
    for (const listener of listeners) listener();
  };
  return {
    onChange: (listener) => {
      if (listeners.push(listener) === 1) setInterval(refresh, checkMs).unref();
    },
    find: (id) => {
      if (performance.now() - checkedAt >= checkMs || !keys.has(id)) refresh();
      return keys.get(id);
    },
  };
};
const stampOf = (directory: string): string => {
  try {
    const { mtimeMs, size, ino } = statSync(pathIn(directory));
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return '';
  }
};
