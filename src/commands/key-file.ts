/**
 * The keys of a lake, in a file of its folder that only its owner may read.
 *
 * - Commands write it, a service only reads it, at most a second late: keys can be added and revoked while it runs.
 * - A write goes to a file beside it that is synced and renamed; one command writes at a time.
 * - The file says the SHA-256 of its keys: a changed byte gives nobody a role, another pool or more time. Those of
 *   earlier builds have none.
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, pathlessMessageOf, codeOf } from '../errors.ts';
import type { KeyRecord, KeyRing } from '../http/access/keys.ts';
import { parseGrant } from '../http/access/roles.ts';
import { fileStamp } from '../http/connections/listeners.ts';

/** In the lake's folder. */
export const keysName = 'keys.json';
const checkMs = 1000;

const pathIn = (directory: string): string => join(directory, keysName);

/**
 * The keys of a lake's folder; none where there is no file. @throws Error for a file that is damaged: what to do about
 * it
 */
export const readKeys = (directory: string): readonly KeyRecord[] => {
  const keys = keysIn(directory);
  if (typeof keys === 'string')
    throw new Error(
      `${pathIn(directory)} is damaged: ${keys}. Restore it, or move it away and make keys again (lake key add); without it nobody has a key`,
    );
  return keys;
};
/** What is wrong with the file; undefined if nothing is. */
export const faultOfKeys = (directory: string): string | undefined => {
  const keys = keysIn(directory);
  return typeof keys === 'string' ? keys : undefined;
};

/** The keys, or what is wrong with the file. */
const keysIn = (directory: string): readonly KeyRecord[] | string => {
  let text: string;
  try {
    text = readFileSync(pathIn(directory), 'utf8');
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    // Whoever may not read it knows nothing against it.
    if (code === 'EACCES' || code === 'EPERM')
      throw new Error(`keys of the lake: ${messageOf(error)}`, { cause: error });
    return path === undefined ? messageOf(error) : pathlessMessageOf(error);
  }
  const { keys, sha256 } = parsed(text);
  if (!Array.isArray(keys) || !keys.every(isRecord)) return 'not a list of keys';
  return sha256 === undefined || sha256 === sumOf(keys) ? keys : 'its checksum does not match';
};
const parsed = (text: string): { readonly keys?: unknown; readonly sha256?: unknown } => {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
};
const isRecord = (x: unknown): x is KeyRecord => {
  const { id, name, sha256, grants, created, expires } = (x ?? {}) as Partial<KeyRecord>;
  return (
    typeof id === 'string' &&
    typeof name === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256 ?? '') &&
    Array.isArray(grants) &&
    grants.every((grant) => typeof grant === 'string' && parseGrant(grant)) &&
    isTime(created) &&
    (expires === undefined || isTime(expires))
  );
};
const isTime = (text: unknown): boolean => typeof text === 'string' && !Number.isNaN(Date.parse(text));
const sumOf = (keys: readonly KeyRecord[]): string => createHash('sha256').update(JSON.stringify(keys)).digest('hex');

/** Replaces the keys by what `change` makes of them. @throws Error while another command changes them */
export const changeKeys = (directory: string, change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): void => {
  const path = pathIn(directory);
  const beside = `${path}.new`;
  let file: number;
  try {
    file = openSync(beside, 'wx', 0o600);
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST')
      throw new Error(`${beside} is there: another command is changing the keys, or one was cut off; remove it then`, {
        cause,
      });
    throw cause;
  }
  try {
    const keys = change(readKeys(directory));
    writeSync(file, `${JSON.stringify({ keys, sha256: sumOf(keys) }, undefined, 1)}\n`);
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

/**
 * The keys of a lake's folder as they are now. A file that cannot be read keeps the keys of before, and is told to
 * `report`.
 */
export const watchKeys = (directory: string, report: (fault: unknown) => void): KeyRing => {
  let keys = new Map(readKeys(directory).map((key) => [key.id, key]));
  let seen = stampOf(directory);
  let checkedAt = performance.now();
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
const stampOf = (directory: string): string => fileStamp(pathIn(directory));
