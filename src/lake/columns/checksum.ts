/**
 * The checksum of every stored segment: 32 bits, four lanes of multiply and rotate over little-endian words (xxHash32's
 * rounds and mixing).
 *
 * Each round is a bijection of its lane, so a change within one word of 32 bits is always found.
 */
import assert from 'node:assert';

const prime1 = 0x9e3779b1 | 0;
const prime2 = 0x85ebca77 | 0;
const prime3 = 0xc2b2ae3d | 0;
const prime4 = 0x27d4eb2f;
const prime5 = 0x165667b1;

assert(
  new Uint8Array(Uint32Array.of(1).buffer)[0] === 1,
  'data objects are read and written on little-endian machines only',
);

/**
 * A short segment is copied here: a view of it of its own would take its bytes out of the heap (vectors/lists.ts), which
 * costs more than all the rest.
 */
const short = new Uint8Array(64);
const shortWords = new Int32Array(short.buffer);

/** Checksum of `bytes`; quickest when they begin at a multiple of four in their buffer, or are few. */
export const checksum = (bytes: Uint8Array): number => {
  if (bytes.length <= short.length) {
    for (let i = 0; i < bytes.length; i++) short[i] = bytes[i];
    return checksumOf(bytes, shortWords);
  }
  if ((bytes.byteOffset & 3) !== 0) return checksum(new Uint8Array(bytes));
  return checksumOf(bytes, new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2));
};
/** `whole`: the bytes as words, and perhaps others behind them. */
const checksumOf = (bytes: Uint8Array, whole: Int32Array): number => {
  const words = bytes.length >> 2;
  let hash = words >= 4 ? lanes(whole, words & ~3) : prime5;
  hash = (hash + bytes.length) | 0;
  for (let i = words & ~3; i < words; i++) {
    const x = (hash + Math.imul(whole[i], prime3)) | 0;
    hash = Math.imul((x << 17) | (x >>> 15), prime4);
  }
  for (let i = words << 2; i < bytes.length; i++) {
    const x = (hash + Math.imul(bytes[i], prime5)) | 0;
    hash = Math.imul((x << 11) | (x >>> 21), prime1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2);
  hash = Math.imul(hash ^ (hash >>> 13), prime3);
  return (hash ^ (hash >>> 16)) >>> 0;
};

const lanes = (words: Int32Array, end: number): number => {
  let a = (prime1 + prime2) | 0;
  let b = prime2;
  let c = 0;
  let d = -prime1 | 0;
  for (let i = 0; i < end; i += 4) {
    a = (a + Math.imul(words[i], prime2)) | 0;
    a = Math.imul((a << 13) | (a >>> 19), prime1);
    b = (b + Math.imul(words[i + 1], prime2)) | 0;
    b = Math.imul((b << 13) | (b >>> 19), prime1);
    c = (c + Math.imul(words[i + 2], prime2)) | 0;
    c = Math.imul((c << 13) | (c >>> 19), prime1);
    d = (d + Math.imul(words[i + 3], prime2)) | 0;
    d = Math.imul((d << 13) | (d >>> 19), prime1);
  }
  return (((a << 1) | (a >>> 31)) + ((b << 7) | (b >>> 25)) + ((c << 12) | (c >>> 20)) + ((d << 18) | (d >>> 14))) | 0;
};
