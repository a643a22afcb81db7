/**
 * Changes of rows as bytes, one after the other: table u8 (its high bit: the row goes), length of the key u8, key, and
 * unless the row goes: length u32 little-endian, bytes. A table's code is its place among the names, to which others
 * are only ever added.
 */
import { type Change, type TableName, tableNames } from '../tables/table-rows.ts';

const goesFlag = 0x80;
const codes = new Map(tableNames.map((name, i) => [name, i]));

/** Bytes that they take. */
export const changesLength = (changes: readonly Change[]): number => {
  let bytes = 0;
  for (const { key, payload } of changes) bytes += 2 + key.length + (payload ? 4 + payload.length : 0);
  return bytes;
};

/** Writes them at `at`; answers their end. */
export const writeChanges = (out: Buffer, at: number, changes: readonly Change[]): number => {
  let end = at;
  for (const { table, key, payload } of changes) {
    out[end++] = codes.get(table)! | (payload ? 0 : goesFlag);
    out[end++] = key.length;
    out.set(key, end);
    end += key.length;
    if (!payload) continue;
    out.writeUInt32LE(payload.length, end);
    out.set(payload, end + 4);
    end += 4 + payload.length;
  }
  return end;
};

/** Those that the bytes are, as views of them. */
export const readChanges = (bytes: Buffer): readonly Change[] => {
  const changes: Change[] = [];
  for (let at = 0; at < bytes.length; ) {
    const code = bytes[at];
    const table: TableName = tableNames[code & ~goesFlag];
    const keyEnd = at + 2 + bytes[at + 1];
    const key = bytes.subarray(at + 2, keyEnd);
    if (code & goesFlag) {
      changes.push({ table, key });
      at = keyEnd;
    } else {
      const payloadEnd = keyEnd + 4 + bytes.readUInt32LE(keyEnd);
      changes.push({ table, key, payload: bytes.subarray(keyEnd + 4, payloadEnd) });
      at = payloadEnd;
    }
  }
  return changes;
};
