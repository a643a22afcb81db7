/** Strings of binary formats: what claims to be UTF-8 and may not be. */
import { isAscii, isUtf8 } from 'node:buffer';
import { types } from '../vectors/type.ts';
import type { BytesVector } from '../vectors/vector.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * A string vector of these runs: what is not valid gets replacement characters, as in text formats. `bytes` may be
 * longer than the runs.
 */
export const validText = (offsets: Uint32Array, bytes: Uint8Array): BytesVector => {
  const length = offsets.length - 1;
  const made = { form: 'bytes', type: types.string, length, offsets, bytes } as const;
  const used = bytes.subarray(offsets[0], offsets[length]);
  if (isAscii(used) || (isUtf8(used) && isWhole(offsets, bytes))) return made;
  const rows: Uint8Array[] = [];
  const ends = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) {
    rows.push(encoder.encode(decoder.decode(bytes.subarray(offsets[i], offsets[i + 1]))));
    ends[i + 1] = ends[i] + rows[i].length;
  }
  return { ...made, offsets: ends, bytes: Buffer.concat(rows) };
};
/** No run begins within a character. */
const isWhole = (offsets: Uint32Array, bytes: Uint8Array): boolean => {
  for (let i = 0; i < offsets.length - 1; i++)
    if (offsets[i] < offsets[i + 1] && (bytes[offsets[i]] & 0xc0) === 0x80) return false;
  return true;
};
