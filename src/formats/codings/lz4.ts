/**
 * LZ4 blocks (no frame around them): a block is a series of (literals, match) pairs, the last without a match.
 *
 * Invariants: neither function reads outside `source[start, end)` or writes outside the room it is given, whatever the
 * bytes are.
 */

/** Most bytes that one byte of a block can stand for. */
export const lz4ExpansionMax = 255;
/** Runs longer than this go through the engine's copy, which has a price per call. */
const shortRun = 64;
const longMatch = 128;
/** The same for literals that are written: they have no short first step. */
const wordRun = 200;

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Short runs are copied by so many bytes: as many more may be read and written behind a run, to be overwritten by what
 * comes next.
 */
const stride = 8;

/**
 * Decodes source[start, end) into target[0, size). False if the block is broken or does not have exactly `size` bytes
 * in it. What lies behind `size` in the target may be overwritten; eight bytes there make it faster.
 */
export const decodeLz4 = (source: Uint8Array, start: number, end: number, target: Uint8Array, size: number): boolean =>
  decodeLz4At(source, start, end, target, 0, size) === size;

/**
 * Decodes source[start, end) to target[targetStart, size) at most; matches may reach back to target[0]. The end of what
 * came, or -1 if the block is broken. As with `decodeLz4`, what lies behind may be overwritten.
 */
export const decodeLz4At = (
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  targetStart: number,
  size: number,
): number => {
  const from = viewOf(source);
  const into = viewOf(target);
  const fromStop = source.length - stride;
  const intoStop = target.length - stride;
  let at = start;
  let to = targetStart;
  while (at < end) {
    const token = source[at++];
    let run = token >> 4;
    if (run === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) return -1;
        more = source[at++];
        run += more;
      }
    }
    if (run > end - at || run > size - to) return -1;
    if (run > shortRun || at + run > fromStop || to + run > intoStop) target.set(source.subarray(at, at + run), to);
    else {
      // The first eight bytes without a question: most runs are no longer, and their lengths are hard to guess.
      into.setInt32(to, from.getInt32(at, true), true);
      into.setInt32(to + 4, from.getInt32(at + 4, true), true);
      for (let i = stride; i < run; i += stride) {
        into.setInt32(to + i, from.getInt32(at + i, true), true);
        into.setInt32(to + i + 4, from.getInt32(at + i + 4, true), true);
      }
    }
    at += run;
    to += run;
    if (at === end) return to;
    if (end - at < 2) return -1;
    const distance = source[at] | (source[at + 1] << 8);
    at += 2;
    run = token & 15;
    if (run === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) return -1;
        more = source[at++];
        run += more;
      }
    }
    run += 4;
    if (distance === 0 || distance > to || run > size - to) return -1;
    if (run > longMatch) repeat(target, to, distance, run);
    else if (distance < 4 || to + run > intoStop)
      for (let i = to, stop = to + run; i < stop; i++) target[i] = target[i - distance];
    else {
      const back = to - distance;
      into.setInt32(to, into.getInt32(back, true), true);
      into.setInt32(to + 4, into.getInt32(back + 4, true), true);
      for (let i = stride; i < run; i += stride) {
        into.setInt32(to + i, into.getInt32(back + i, true), true);
        into.setInt32(to + i + 4, into.getInt32(back + i + 4, true), true);
      }
    }
    to += run;
  }
  return to;
};

/** Copies `run` bytes from `distance` before `to`; a run longer than the distance repeats itself. */
const repeat = (target: Uint8Array, to: number, distance: number, run: number): void => {
  const from = to - distance;
  const stop = to + run;
  let at = to;
  while (at < stop) {
    // Everything since `from` has the period already, so what is copied doubles each time.
    const length = Math.min(at - from, stop - at);
    target.copyWithin(at, from, from + length);
    at += length;
  }
};

const hashBits = 13;
/** Places by hash, plus `placeBase`: what lies below the base is of an earlier call, so the table needs no clearing. */
const places = new Int32Array(1 << hashBits);
let placeBase = 1;

/**
 * The last match begins this far before the end at least, and the last five bytes are literals: the format's own rules.
 */
const matchMargin = 12;
const literalMargin = 5;
const distanceMax = 65_535;
/**
 * Shortest match that is taken in a block of many bytes: shorter ones save few bytes each and cost the reader as much
 * time as longer ones.
 */
const matchLeast = 8;
const manyBytes = 64 << 10;

const hashOf = (word: number): number => Math.imul(word, -1640531535) >>> (32 - hashBits);
/** Of six bytes: what is alike by its first four alone is no long match and only costs time. */
const hashOfSix = (view: DataView, at: number): number =>
  (Math.imul(view.getInt32(at, true), -1640531535) ^ Math.imul(view.getUint16(at + 4, true), 1028477387)) >>>
  (32 - hashBits);

// Both encoders write out how a match is measured and told: as functions of their own these steps make blocks of a few
// KB slower.

/**
 * Encodes source[start, end) into target[targetStart, targetEnd); answers the end of the block, or -1 if it does not
 * fit.
 */
export const encodeLz4 = (
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  targetStart: number,
  targetEnd: number,
): number => {
  const base = placesFor(end - start);
  const view = viewOf(source);
  const sides = { source, view, target, out: viewOf(target) };
  // A place is kept as its distance from here.
  const origin = start - base;
  const matchStop = end - literalMargin;
  const fast = end - start >= manyBytes;
  const least = fast ? matchLeast : 4;
  let at = start;
  let anchor = start;
  let to = targetStart;
  let tries = 1 << 5;
  while (at <= end - matchMargin) {
    const word = view.getInt32(at, true);
    const hash = fast ? hashOfSix(view, at) : hashOf(word);
    const place = places[hash];
    places[hash] = at - origin;
    let from = place + origin;
    if (place < base || at - from > distanceMax || view.getInt32(from, true) !== word) {
      at += tries++ >> 4;
      continue;
    }
    const tried = at;
    while (at > anchor && from > start && source[at - 1] === source[from - 1]) {
      at--;
      from--;
    }
    let stop = at + 4;
    let other = from + 4;
    while (stop + 4 <= matchStop && view.getInt32(stop, true) === view.getInt32(other, true)) {
      stop += 4;
      other += 4;
    }
    while (stop < matchStop && source[stop] === source[other]) {
      stop++;
      other++;
    }
    if (stop - at < least) {
      at = tried + (tries++ >> 4);
      continue;
    }
    tries = 1 << 5;
    to = writeSequence(sides, anchor, at, to, targetEnd, stop - at);
    if (to < 0) return -1;
    target[to++] = (at - from) & 0xff;
    target[to++] = (at - from) >> 8;
    to = writeLength(target, to, stop - at - 4);
    anchor = at = stop;
    if (at <= end - matchMargin)
      places[fast ? hashOfSix(view, at - 2) : hashOf(view.getInt32(at - 2, true))] = at - 2 - origin;
  }
  return writeSequence(sides, anchor, end, to, targetEnd, 0);
};

/**
 * As `encodeLz4`, but matches of eight bytes and more are looked for at marked places alone: bit `p & 31` of marks[p >>
 * 5] is set for place p. For bytes whose writer knows where like runs begin: several times as fast, and blocks nearly
 * as small. Marks outside [start, end) must not be set.
 */
export const encodeLz4Marked = (
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  targetEnd: number,
  marks: Uint32Array,
): number => {
  const base = placesFor(end - start);
  const view = viewOf(source);
  const sides = { source, view, target, out: viewOf(target) };
  const origin = start - base;
  const matchStop = end - literalMargin;
  const last = end - matchMargin;
  const wordEnd = (end + 31) >> 5;
  let anchor = start;
  let to = 0;
  for (let w = start >> 5; w < wordEnd; w++) {
    for (let bits = marks[w] | 0; bits !== 0; bits &= bits - 1) {
      let at = (w << 5) + 31 - Math.clz32(bits & -bits);
      if (at < anchor || at > last) continue;
      const low = view.getInt32(at, true);
      const high = view.getInt32(at + 4, true);
      const hash = (Math.imul(low, -1640531535) ^ Math.imul(high, 1028477387)) >>> (32 - hashBits);
      const place = places[hash];
      places[hash] = at - origin;
      let from = place + origin;
      if (
        place < base ||
        at - from > distanceMax ||
        view.getInt32(from, true) !== low ||
        view.getInt32(from + 4, true) !== high
      )
        continue;
      let stop = at + 8;
      let other = from + 8;
      while (stop + 4 <= matchStop && view.getInt32(stop, true) === view.getInt32(other, true)) {
        stop += 4;
        other += 4;
      }
      while (stop < matchStop && source[stop] === source[other]) {
        stop++;
        other++;
      }
      if (stop > matchStop) continue;
      while (at > anchor && from > start && source[at - 1] === source[from - 1]) {
        at--;
        from--;
      }
      to = writeSequence(sides, anchor, at, to, targetEnd, stop - at);
      if (to < 0) return -1;
      target[to++] = (at - from) & 0xff;
      target[to++] = (at - from) >> 8;
      to = writeLength(target, to, stop - at - 4);
      anchor = stop;
    }
  }
  return writeSequence(sides, anchor, end, to, targetEnd, 0);
};

/** The place base of a call that has so many bytes. */
const placesFor = (length: number): number => {
  if (placeBase > 0x7fff_ffff - length - 2) {
    places.fill(0);
    placeBase = 1;
  }
  const base = placeBase;
  placeBase += length + 1;
  return base;
};

interface Sides {
  readonly source: Uint8Array;
  readonly view: DataView;
  readonly target: Uint8Array;
  readonly out: DataView;
}

/**
 * Token and literals source[start, end); -1 if they and what a match of that length needs behind them do not fit. Match
 * 0 is none.
 */
const writeSequence = (
  { source, view, target, out }: Sides,
  start: number,
  end: number,
  at: number,
  targetEnd: number,
  match: number,
): number => {
  const run = end - start;
  const stop = at + 1 + (run < 15 ? 0 : Math.floor((run - 15) / 255) + 1) + run;
  if (stop + (match === 0 ? 0 : 3 + Math.ceil(match / 255)) > targetEnd) return -1;
  target[at] = (Math.min(run, 15) << 4) | (match === 0 ? 0 : Math.min(match - 4, 15));
  const to = writeLength(target, at + 1, run);
  // By words where there is room for up to three bytes too many.
  if (run > wordRun || end + 3 > source.length || stop + 3 > targetEnd) target.set(source.subarray(start, end), to);
  else for (let i = 0; i < run; i += 4) out.setInt32(to + i, view.getInt32(start + i, true), true);
  return to + run;
};

/** What of a length does not fit in the token. */
const writeLength = (target: Uint8Array, at: number, length: number): number => {
  let to = at;
  if (length < 15) return to;
  let rest = length - 15;
  for (; rest >= 255; rest -= 255) target[to++] = 255;
  target[to++] = rest;
  return to;
};
