/** Runs of bytes, copied from one array to another. */

/** The words of an array: `copyRun` reads and writes those. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Longer runs are copied by the engine, others word by word: `set(subarray())` has a price per call. */
const shortRunMax = 128;

/** Copies the bytes of `from` from `start` on to the places of `to` from `at` up to `end`. The words view the bytes. */
export const copyRun = (
  from: Uint8Array,
  fromWords: DataView,
  start: number,
  to: Uint8Array,
  toWords: DataView,
  at: number,
  end: number,
): void => {
  if (end - at > shortRunMax) return to.set(from.subarray(start, start + end - at), at);
  let k = start;
  let n = at;
  for (; n + 4 <= end; k += 4, n += 4) toWords.setInt32(n, fromWords.getInt32(k, true), true);
  for (; n < end; n++) to[n] = from[k++];
};
