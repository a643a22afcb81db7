/** A real lake in a temporary directory, and objects for it whose bodies nobody reads. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { newId } from '../../../src/lake/ksuid.ts';
import { openLake } from '../../../src/lake/lake.ts';
import type { KeyBound, Lake, LakeOptions, MetaRow, ObjectMeta, Pool } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { markClosed, type OpenOptions, openTables } from '../../../src/lake/repair/recovery.ts';
import { tablesFolder } from '../../../src/lake/repair/replay.ts';
import type { Tables } from '../../../src/lake/tables/tables.ts';
import { sortKeyBytes } from '../../../src/vectors/sort-key.ts';
import { intValue } from '../../../src/vectors/value.ts';
import { scriptArguments } from '../../support/script.ts';
import { testParts } from '../../support/store/test-parts.ts';

export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-unit-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};

/** Faults that the lake reported are thrown when the test ends. */
export const openTestLake = async (options: Partial<LakeOptions> = {}): Promise<Lake> => {
  const directory = options.directory ?? (await temporaryDirectory());
  const faults: unknown[] = [];
  const { objects, store } = await testParts(directory);
  const lake = await openLake({
    directory,
    objects,
    ...(store && { store }),
    report: (fault) => {
      faults.push(fault);
    },
    ...options,
  });
  onTestFinished(async () => {
    if (lake.status().state !== 'closed') await lake.close();
    if (faults.length > 0) throw faults[0];
  });
  return lake;
};

/** The tables of a lake that is closed, or of a new one. */
export const tablesOf = async (directory: string, options: Partial<OpenOptions> = {}): Promise<Tables> => {
  const { tables } = await openTables({ directory, ...options });
  onTestFinished(async () => {
    await tables.close().catch(() => undefined);
  });
  return tables;
};
const opener = scriptArguments(new URL('./lake-opener.ts', import.meta.url));
/** Opens and closes the lake in a process of its own, or repairs it; the signal or the status that it ended with. */
export const openIn = (directory: string, { killAt = '', what = '' } = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...opener, directory, what], {
      stdio: 'ignore',
      env: { ...process.env, LAKE_KILL_AT: killAt },
    });
    child.on('error', reject);
    child.on('close', (status, signal) => {
      resolve(signal ?? String(status));
    });
  });

/** Changes rows of a closed lake behind its back: the log has what was changed. */
export const edited = async (directory: string, edit: (tables: Tables) => Promise<void>): Promise<void> => {
  const { tables } = await openTables({ directory });
  await edit(tables);
  if (await tables.close()) markClosed(tablesFolder(directory));
};

export const newPool = async (lake: Lake, name = 'p', order: 'asc' | 'desc' = 'asc'): Promise<Pool> => {
  await lake.createPool({ name, order, keys: [['k']] });
  return lake.pool(name);
};

export const bound = (n: number): KeyBound => ({ text: String(n), sort: sortKeyBytes(intValue(n)) });
/** An object with keys `min` to `max`; its body lives in the tables. */
export const inlineObject = (min: number, max = min, count = 1): ObjectMeta => ({
  id: newId(),
  count,
  size: 9,
  min: bound(min),
  max: bound(max),
  inline: new TextEncoder().encode(`${min}..${max}`),
});
/** The same with a file. */
export const fileObject = async (lake: Lake, min: number, max = min): Promise<ObjectMeta> => {
  const object: ObjectMeta = { id: newId(), count: 1, size: 3, min: bound(min), max: bound(max) };
  await openObjects(lake.directory).put(object.id, Uint8Array.of(1, 2, 3));
  return object;
};

/** The keys of a commit's objects, in pool order, as `min` or `min-max`. */
export const keysAt = async (lake: Lake, pool: string, commitish: string): Promise<readonly string[]> => {
  const snapshot = await lake.openSnapshot(pool, commitish);
  try {
    const { objects, next } = snapshot.page({ limit: 1_000_000 });
    if (next !== undefined || objects.length !== snapshot.objectCount)
      throw new Error('a page that is large enough is the last one');
    return objects.map((o) => (o.min.text === o.max.text ? o.min.text : `${o.min.text}-${o.max.text}`));
  } finally {
    snapshot.release();
  }
};

export const metaRows = async (
  lake: Lake,
  pool: string | undefined,
  meta: string,
  commit?: string,
): Promise<readonly MetaRow[]> => {
  const rows: MetaRow[] = [];
  let next: string | undefined;
  do {
    const page = await lake.metaPage(
      { ...(pool !== undefined && { pool }), ...(commit !== undefined && { commit }), meta },
      next,
    );
    rows.push(...page.rows);
    next = page.next;
  } while (next !== undefined);
  return rows;
};

/** The error that a promise ends with. */
export const failure = async (
  promise: Promise<unknown>,
): Promise<{ readonly code: string; readonly status: number; readonly text: string }> => {
  try {
    await promise;
  } catch (error) {
    const { code, status, message } = error as {
      readonly code: string;
      readonly status: number;
      readonly message: string;
    };
    return { code, status, text: message };
  }
  throw new Error('it did not fail');
};
