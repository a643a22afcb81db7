/**
 * What the rows of a branch come to: their number, and a digest that does not depend on their order, since rows with
 * equal keys have none.
 */
import { createHash } from 'node:crypto';

/** How many rows there are, and their digest. */
export interface TipRows {
  readonly count: number;
  readonly digest: string;
}

const modulus = 1n << 256n;
const newline = 10;

/** Of rows as lines of text: the sum of the lines' SHA-256 digests, as 64 hexadecimal digits. */
export const digestRows = async (chunks: AsyncIterable<Uint8Array>): Promise<TipRows> => {
  let sum = 0n;
  let count = 0;
  let rest = Buffer.alloc(0);
  const add = (line: Uint8Array): void => {
    sum = (sum + BigInt(`0x${createHash('sha256').update(line).digest('hex')}`)) % modulus;
    count++;
  };
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      add(bytes.subarray(start, end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
  if (rest.length > 0) add(rest);
  return { count, digest: sum.toString(16).padStart(64, '0') };
};
