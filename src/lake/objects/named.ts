/** The id that an object's file has in its footer. */
import { ByteReader } from '../columns/byte-reader.ts';
import { checksum } from '../columns/checksum.ts';
import { idBuffer, idBytes } from '../ksuid.ts';
import type { Id } from '../lake.types.ts';
import { footerFlags, trailerLength } from './format.ts';

/** The bytes of an object as they are under another id. */
export const underId = (object: Uint8Array, id: Id): Uint8Array => {
  const bytes = object.slice();
  const end = bytes.length - trailerLength;
  const trailer = new DataView(bytes.buffer, bytes.byteOffset + end, trailerLength);
  const footer = bytes.subarray(end - trailer.getUint32(0, true), end);
  const input = new ByteReader(footer);
  input.uvarint(); // The version.
  if ((input.byte() & footerFlags.named) === 0) return bytes;
  footer.set(idBuffer(id), footer.length - idBytes);
  trailer.setUint32(4, checksum(footer), true);
  return bytes;
};
