/**
 * Lakes of formats 1 to 3: LMDB was the truth, since format 2 with a ring of the newest transactions ahead of it
 * (`tables/journal`), and `log/` had a copy. Their rows become the base of a new log; LMDB's tables are made again from
 * it.
 *
 * Invariants:
 * - Nothing of the old lake is changed before the new log's first segment is there, which takes the lake over: a stop
 *   at any point leaves the one or the other.
 * - Of the ring only what follows LMDB's own place is read, record by record: nothing is searched for. After a stop in
 *   order LMDB has all of it, and what stands there is of no meaning.
 *
 * The ring, little-endian: `LJRN`, length of the payload u32, number u64, CRC-32 of length, number and payload u32;
 * payload: changes (log/changes.ts). A record begins where the one before ends, or at the file's begin where it would
 * not fit. LMDB's place: number u64, offset u32.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Environment } from '../tables/environment.ts';
import { killPoint } from '../kill-points.ts';
import { allRows, writeBase } from '../log/base.ts';
import { readChanges } from '../log/changes.ts';
import { newIdentity, noDigest } from '../log/format.ts';
import { beginLog } from '../log/log.ts';
import { logFolder } from '../log/reader.ts';
import { type Change, isKey, journalKey } from '../tables/table-rows.ts';
import { Tables } from '../tables/tables.ts';

/**
 * Begins the log of a lake that has none, with the rows that it has as the base. `isUnclean`: the last service died, so
 * that its ring may have what LMDB lacks.
 */
export const upgrade = async (directory: string, isUnclean: boolean): Promise<void> => {
  const folder = join(directory, 'tables');
  const environment = new Environment(folder, { readOnly: true });
  const identity = newIdentity();
  try {
    const records = isUnclean
      ? ringRecords(join(folder, 'journal'), new Tables({ environment }).get('about', journalKey))
      : [];
    await writeBase({
      directory,
      identity,
      record: 0,
      before: noDigest,
      rows: allRows(new Tables({ environment, records })),
    });
  } finally {
    await environment.close();
  }
  killPoint('upgrade: base written');
  beginLog(directory, { identity, hasBase: true });
  killPoint('upgrade: log begun');
};

/** Removes what the old formats had besides LMDB. */
export const dropOld = (directory: string): void => {
  rmSync(join(directory, 'tables', 'journal'), { force: true });
  for (const name of readdirSync(logFolder(directory)))
    if (/^[0-9a-f]{8}-[0-9a-f]{8}\.log$/.test(name)) rmSync(join(logFolder(directory), name));
};

const headBytes = 20;
const ringRecords = (path: string, place: Buffer | undefined): readonly (readonly Change[])[] => {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const records: (readonly Change[])[] = [];
  let number = place ? Number(place.readBigUInt64LE(0)) : 0;
  let offset = place ? place.readUInt32LE(8) : 0;
  for (; place; ) {
    const next = recordAt(bytes, offset, number + 1) ?? recordAt(bytes, 0, number + 1);
    if (!next) break;
    // A build that drew malformed ids left keys there that LMDB does not take.
    records.push(next.changes.filter(({ key }) => isKey(key)));
    [number, offset] = [number + 1, next.end];
  }
  return records;
};
const recordAt = (
  bytes: Buffer,
  at: number,
  number: number,
): { readonly changes: readonly Change[]; readonly end: number } | undefined => {
  if (
    bytes.length - at < headBytes ||
    bytes.toString('latin1', at, at + 4) !== 'LJRN' ||
    Number(bytes.readBigUInt64LE(at + 8)) !== number
  )
    return undefined;
  const end = at + headBytes + bytes.readUInt32LE(at + 4);
  if (
    end > bytes.length ||
    bytes.readUInt32LE(at + 16) !== crc32(bytes.subarray(at + headBytes, end), crc32(bytes.subarray(at + 4, at + 16)))
  )
    return undefined;
  return { changes: readChanges(bytes.subarray(at + headBytes, end)), end };
};
