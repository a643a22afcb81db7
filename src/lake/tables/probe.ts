/**
 * Reads all tables of a lake in a process of its own (probe-entry.ts): a damaged LMDB file ends its reader by a signal,
 * and that must not be the service.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LakeError } from '../../errors.ts';
import type { KeyValue, TableName } from './tables.ts';
import { formatVersion } from './versions.ts';

/**
 * `rows`: how many rows each table has, by its name; empty if the reader died. `version`: of their layout, 0 if it is
 * not known. `faults`: a line each.
 */
export interface TablesReport {
  readonly rows: Readonly<Record<string, number>>;
  readonly version: number;
  /** The last record of the log that they have, if they say so. */
  readonly record?: number;
  readonly faults: readonly string[];
}

/** A row of a table, key and payload in base64; without them: the table is begun. */
export type RowLine = readonly [table: TableName, key?: string, payload?: string];

const start = (directory: string, ...options: readonly string[]) => {
  // As this file is: from the sources, compiled, or in the bundle.
  const ending = extname(import.meta.url);
  const entry = ending === '.ts' ? './probe-entry-from-source.mjs' : `./probe-entry${ending}`;
  const file = fileURLToPath(new URL(entry, import.meta.url));
  return spawn(process.execPath, [file, directory, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '', LAKE_KILL_AT: '' },
  });
};

/**
 * The sound rows of these tables that another process could read. When it dies in a table it begins again, from that
 * table's end back, then with the next.
 */
export async function* salvageRows(
  directory: string,
  names: readonly TableName[],
): AsyncIterableIterator<KeyValue & { readonly table: TableName }> {
  for (let first = 0, reverse = false; first < names.length; ) {
    const child = start(directory, 'rows', names.slice(first).join(','), reverse ? 'reverse' : '');
    const ended = faultOfEnd(child);
    child.stderr.resume();
    let table: TableName | undefined;
    for await (const line of createInterface({ input: child.stdout })) {
      // One that the process died in is cut off.
      if (!line.endsWith(']')) continue;
      const [name, key, payload] = JSON.parse(line) as RowLine;
      table = name;
      if (key !== undefined && payload !== undefined)
        yield { table, key: Buffer.from(key, 'base64'), payload: Buffer.from(payload, 'base64') };
    }
    // Without a single table it could not even be opened.
    if ((await ended) === undefined || table === undefined) return;
    const died = names.indexOf(table);
    reverse = !(reverse && died === first);
    first = reverse ? died : died + 1;
  }
}

/**
 * Starts the process and waits for it. A reader that died, by a signal or an error, is a fault too. `look`: rows are
 * decoded, too. @throws lake-newer
 */
export const probeTables = async (directory: string, { look = false } = {}): Promise<TablesReport> => {
  const child = start(directory, look ? 'look' : '');
  let out = '';
  let thrown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString('utf8');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    thrown = (thrown + chunk.toString('utf8')).slice(-2000);
  });
  const fault = await faultOfEnd(child);
  if (fault !== undefined) {
    const cause = thrown ? `: ${causeOf(thrown)}` : '';
    return { rows: {}, version: 0, faults: [`${fault}${cause}`] };
  }
  const report = JSON.parse(out) as TablesReport;
  const { version } = report;
  if (version > formatVersion) throw new LakeError('lake-newer', { directory, version, versionMax: formatVersion });
  return report;
};
/** Why it did not end as it should, when it has ended; undefined: it did. */
const faultOfEnd = (child: ChildProcess): Promise<string | undefined> =>
  new Promise((resolve) => {
    child.on('error', ({ message }) => resolve(`the process that reads the tables cannot be started: ${message}`));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : `reading the tables ended a process by ${signal ?? `exit status ${code}`}`),
    );
  });

/** What the process threw, without the way to it. */
const causeOf = (text: string): string =>
  /^(?:\w*Error: )?(.+)$/.exec(
    text.split('\n').findLast((line) => /^\w*Error: /.test(line)) ?? text.trim().split('\n').slice(-6).join(' | '),
  )?.[1] ?? text;
