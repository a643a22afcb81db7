/** Runs of bytes compared four bytes at a time: a `DataView` reads words at any place. */

/** A view of the same bytes. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Whether a[aStart, aEnd) and b[bStart, bEnd) are the same bytes. */
export const sameRuns = (
  a: DataView,
  aStart: number,
  aEnd: number,
  b: DataView,
  bStart: number,
  bEnd: number,
): boolean => {
  const size = aEnd - aStart;
  if (bEnd - bStart !== size) return false;
  if (size < 4) {
    for (let i = 0; i < size; i++) if (a.getUint8(aStart + i) !== b.getUint8(bStart + i)) return false;
    return true;
  }
  for (let i = 0; i < size - 4; i += 4) if (a.getInt32(aStart + i, true) !== b.getInt32(bStart + i, true)) return false;
  // The last word overlaps the one before.
  return a.getInt32(aEnd - 4, true) === b.getInt32(bEnd - 4, true);
};

/** Order of a[aStart, aEnd) and b[bStart, bEnd) by their bytes: below, equal or above 0. */
export const compareRuns = (
  a: DataView,
  aStart: number,
  aEnd: number,
  b: DataView,
  bStart: number,
  bEnd: number,
): number => {
  const aSize = aEnd - aStart;
  const bSize = bEnd - bStart;
  const size = aSize < bSize ? aSize : bSize;
  let i = 0;
  for (; i + 4 <= size; i += 4) {
    const x = a.getUint32(aStart + i);
    const y = b.getUint32(bStart + i);
    if (x !== y) return x < y ? -1 : 1;
  }
  for (; i < size; i++) {
    const x = a.getUint8(aStart + i);
    const y = b.getUint8(bStart + i);
    if (x !== y) return x - y;
  }
  return aSize - bSize;
};
