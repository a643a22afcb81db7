/** UUIDs as SQL has them: texts of 36 characters in lower case; files have them as 16 bytes. */
import { types } from '../../../vectors/type.ts';
import type { BytesVector } from '../../../vectors/vector.ts';

const byteCount = 16;
const characterCount = 36;
const syntax = /^\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i;
/** The UUID that a text is, written with or without hyphens and braces; undefined for other texts. */
export const uuidOf = (text: string): string | undefined => {
  const m = syntax.exec(text.trim());
  return m ? m.slice(1).join('-').toLowerCase() : undefined;
};

/** The text of 16 bytes; undefined for another number of them. */
export const uuidOfBytes = (bytes: Uint8Array): string | undefined => {
  if (bytes.length !== byteCount) return undefined;
  const out = Buffer.alloc(characterCount);
  write(bytes, 0, out, 0);
  return out.toString('latin1');
};
/** The texts of rows of 16 bytes; undefined if one has another number of them. */
export const uuidTextsOf = ({ length, offsets, bytes }: BytesVector): BytesVector | undefined => {
  for (let i = 0; i < length; i++) if (offsets[i + 1] - offsets[i] !== byteCount) return undefined;
  const out = new Uint8Array(length * characterCount);
  const ends = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) {
    write(bytes, offsets[i], out, i * characterCount);
    ends[i + 1] = (i + 1) * characterCount;
  }
  return { form: 'bytes', type: types.string, length, offsets: ends, bytes: out };
};

const digits = Buffer.from('0123456789abcdef');
const hyphen = 0x2d;
const write = (bytes: Uint8Array, from: number, out: Uint8Array, to: number): void => {
  let at = to;
  for (let i = 0; i < byteCount; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) out[at++] = hyphen;
    const byte = bytes[from + i];
    out[at++] = digits[byte >> 4];
    out[at++] = digits[byte & 15];
  }
};
