/**
 * Rows as LMDB has them: every value carries its checksum and its key, so that one that was damaged or lies under
 * another key is found out. LMDB has no checksums of its own.
 *
 * `crc u32 | key length u8 | key | payload`; the checksum covers table name, key and payload.
 */
import assert from 'node:assert';
import { crc32 } from 'node:zlib';
import type { Row, ValueChange } from './environment.ts';
import { type Change, rowFault, type TableName, tableNames } from './table-rows.ts';

const seeds = Object.fromEntries(tableNames.map((name) => [name, crc32(name)])) as Record<TableName, number>;
const frame = 5;

/** The row that a change leaves, as LMDB would give it; none where it goes. */
export const rowsOf = ({ table, key, payload }: Change): readonly Row[] =>
  payload ? [{ key: Buffer.from(key), value: framed(table, key, payload) }] : [];

/** What LMDB is to do for a change. */
export const valueOf = ({ table, key, payload }: Change): ValueChange => ({
  table,
  key,
  value: payload && framed(table, key, payload),
});

const framed = (table: TableName, key: Uint8Array, payload: Uint8Array): Buffer => {
  assert(key.length <= 255);
  const value = Buffer.allocUnsafe(frame + key.length + payload.length);
  value[4] = key.length;
  value.set(key, frame);
  value.set(payload, frame + key.length);
  value.writeUInt32LE(crc32(value.subarray(4), seeds[table]), 0);
  return value;
};

/** The payload of a value that was found under a key. @throws table-corrupt */
export const unframe = (table: TableName, key: Uint8Array, value: Buffer): Buffer => {
  const bytes = value.length;
  if (bytes < frame + key.length || value.readUInt32LE(0) !== crc32(value.subarray(4), seeds[table])) {
    throw rowFault(table, Buffer.from(key).toString('hex'), 'checksum does not match');
  }
  if (value[4] !== key.length || !hasKey(value, key)) {
    throw rowFault(
      table,
      Buffer.from(key).toString('hex'),
      `the value belongs to key ${value.subarray(frame, frame + value[4]).toString('hex')}`,
    );
  }
  return value.subarray(frame + key.length);
};

const hasKey = (value: Uint8Array, key: Uint8Array): boolean => {
  for (let i = 0; i < key.length; i++) if (value[frame + i] !== key[i]) return false;
  return true;
};
