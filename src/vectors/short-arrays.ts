/**
 * Arrays of few numbers. One of more than 64 bytes has memory of its own outside of the heap, which takes half a
 * microsecond to get and to give back, and so does one of less as soon as it is viewed: of a batch of ten rows most of
 * the time goes there. So short ones are views of a chunk that they share (0.05 us).
 *
 * Invariants:
 * - Their numbers are zero at first, as those of other arrays: no part of a chunk is used twice.
 * - A chunk stays as long as any array in it, so it is small.
 * - Nobody transfers the buffer of an array that came from here, or takes it for the array's own.
 */

const chunkBytes = 4 << 10;
/** Longer ones are left to the engine. */
const shortBytesMax = 512;
/** Arrays of so many bytes live in the heap. */
const heapBytesMax = 64;

let chunk = new ArrayBuffer(chunkBytes);
let used = 0;
/** Where so many bytes begin in `chunk`. */
const place = (bytes: number): number => {
  let at = used;
  if (at + bytes > chunkBytes) {
    chunk = new ArrayBuffer(chunkBytes);
    at = 0;
  }
  used = at + ((bytes + 7) & ~7);
  return at;
};
const isShared = (bytes: number): boolean => bytes > heapBytesMax && bytes <= shortBytesMax;

export const newFloats = (length: number): Float64Array<ArrayBuffer> => {
  const bytes = length * 8;
  if (!isShared(bytes)) return new Float64Array(length);
  const at = place(bytes);
  return new Float64Array(chunk, at, length);
};
export const newWords = (length: number): Uint32Array<ArrayBuffer> => {
  const bytes = length * 4;
  if (!isShared(bytes)) return new Uint32Array(length);
  const at = place(bytes);
  return new Uint32Array(chunk, at, length);
};
export const newBytes = (length: number): Uint8Array<ArrayBuffer> => {
  if (!isShared(length)) return new Uint8Array(length);
  const at = place(length);
  return new Uint8Array(chunk, at, length);
};
/** Of 16 and 32 bits, which are viewed as bytes: in a chunk too if they would be in the heap. */
export const newViewed = (length: number, width: 2 | 4): Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> => {
  const bytes = length * width;
  if (bytes > shortBytesMax) return width === 2 ? new Uint16Array(length) : new Uint32Array(length);
  const at = place(bytes);
  return width === 2 ? new Uint16Array(chunk, at, length) : new Uint32Array(chunk, at, length);
};
/** Of 64 bits, which are looked at word by word: the same. */
export const newSigned = (length: number): BigInt64Array<ArrayBuffer> => {
  const bytes = length * 8;
  if (bytes > shortBytesMax) return new BigInt64Array(length);
  const at = place(bytes);
  return new BigInt64Array(chunk, at, length);
};
export const newUnsigned = (length: number): BigUint64Array<ArrayBuffer> => {
  const bytes = length * 8;
  if (bytes > shortBytesMax) return new BigUint64Array(length);
  const at = place(bytes);
  return new BigUint64Array(chunk, at, length);
};
