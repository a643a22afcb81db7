/**
 * Bases: all rows of the tables in one file, so that the log before it is not needed any more.
 *
 * A base is written while commits go on: rows are read in steps, not of one moment. What changed meanwhile is in the
 * log behind the record that the base says, and changes are whole rows: done in their order on top of what was read,
 * they give the state after the last one, whatever of them was read already.
 *
 * Invariants:
 * - A base has its name when it is complete and durable; only then segments and bases before it go.
 */
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { killing, killPoint } from '../kill-points.ts';
import { syncFolder } from '../lock.ts';
import { type Change, isLogged, type Put, type TableName, tableNames } from '../tables/table-rows.ts';
import { changesLength, writeChanges } from './changes.ts';
import {
  encodeHead,
  headBytes,
  type LogIdentity,
  recordBytes,
  recordHeadBytes,
  type RecordKind,
  sealRecord,
} from './format.ts';
import { baseFolder, basePath, listBases, strangeBase } from './reader.ts';

const rowsPerPart = 500;
/** Rows of these are up to 64 KiB each, or larger. */
const largeRowsPerPart = 16;
const largeRows: ReadonlySet<TableName> = new Set(['bodies', 'packs', 'checkpoints']);

/** What the rows are read from. */
interface RowSource {
  rows(
    table: TableName,
    options: { readonly start?: Uint8Array; readonly limit: number },
  ): readonly { readonly key: Uint8Array; readonly payload: Uint8Array }[];
}

/** All rows that are the log's, in parts; each part is read at once. */
export function* allRows(tables: RowSource): IterableIterator<readonly Change[]> {
  for (const table of tableNames) {
    const limit = largeRows.has(table) ? largeRowsPerPart : rowsPerPart;
    for (let start: Buffer | undefined; ; ) {
      const rows = tables.rows(table, { ...(start && { start }), limit }).map((row): Put => ({ table, ...row }));
      const own = rows.filter(isLogged);
      if (own.length > 0) yield own;
      if (rows.length < limit) break;
      start = Buffer.concat([rows.at(-1)!.key, Buffer.from([0])]);
    }
  }
}

interface BaseOptions {
  readonly directory: string;
  readonly identity: LogIdentity;
  /** The last record that is durable in the log before the first row is read, and its digest. */
  readonly record: number;
  readonly before: Buffer;
  readonly rows: Iterable<readonly Change[]>;
  /** Writing it is given up. */
  readonly ended?: () => boolean;
}

/** Writes a base; false when it was given up. */
export const writeBase = async ({
  directory,
  identity,
  record,
  before,
  rows,
  ended = () => false,
}: BaseOptions): Promise<boolean> => {
  const folder = baseFolder(directory);
  const path = basePath(directory, record);
  const making = `${path}.making`;
  mkdirSync(folder, { recursive: true });
  dropUnfinished(directory);
  const file = await open(making, 'w');
  try {
    const head = encodeHead({ kind: 'base', number: 0, identity, first: record + 1, before, hasBase: false });
    let [number, byte, digest] = [0, headBytes, head.subarray(headBytes - 16)];
    const write = async (kind: RecordKind, changes: readonly Change[]): Promise<void> => {
      const payloadBytes = changesLength(changes);
      const out = Buffer.allocUnsafe(recordBytes(payloadBytes));
      writeChanges(out, recordHeadBytes, changes);
      const place = { salt: identity.salt, file: 0, byte };
      digest = sealRecord(out, 0, payloadBytes, { kind, number: ++number, before: digest, place });
      byte += out.length;
      if (killing) {
        await file.appendFile(out.subarray(0, out.length >> 1));
        killPoint('base: half written');
        await file.appendFile(out.subarray(out.length >> 1));
      } else await file.appendFile(out);
    };
    await file.appendFile(head);
    for (const changes of rows) {
      await write('rows', changes);
      if (ended()) return false;
      await nextTurn();
    }
    await write('end', []);
    await file.sync();
    killPoint('base: written');
    renameSync(making, path);
  } finally {
    await file.close();
    rmSync(making, { force: true });
  }
  syncFolder(folder);
  syncFolder(directory);
  killPoint('base: named');
  for (const other of listBases(directory))
    if (other !== record && strangeBase(directory, other, identity) === undefined)
      rmSync(basePath(directory, other), { force: true });
  return true;
};
/** Removes what a stop left of one. */
const dropUnfinished = (directory: string): void => {
  const folder = baseFolder(directory);
  for (const name of readdirSync(folder)) if (name.endsWith('.making')) rmSync(join(folder, name), { force: true });
};
