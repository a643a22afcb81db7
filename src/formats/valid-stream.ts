/** A stream of text whose bytes are valid UTF-8, so that readers need not look at every character. */
import { isUtf8 } from 'node:buffer';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The same bytes, with replacement characters for what is no UTF-8; no chunk ends within a character. */
export async function* validUtf8(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left: Uint8Array = new Uint8Array(0);
  for await (const chunk of input) {
    const bytes = left.length > 0 ? Buffer.concat([left, chunk]) : chunk;
    const end = wholeEnd(bytes);
    // The next chunk may take the place of this one.
    left = bytes.slice(end);
    if (end > 0) yield valid(bytes.subarray(0, end));
  }
  if (left.length > 0) yield valid(left);
}

const valid = (bytes: Uint8Array): Uint8Array => (isUtf8(bytes) ? bytes : Buffer.from(decoder.decode(bytes)));

/** Where the last character begins that may go on beyond the end; the end if none does. */
const wholeEnd = (bytes: Uint8Array): number => {
  const size = bytes.length;
  for (let i = size - 1; i >= 0 && i >= size - 3; i--) {
    const b = bytes[i];
    if (b >= 0xc0) return i + (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) > size ? i : size;
    if (b < 0x80) return size;
  }
  return size;
};
