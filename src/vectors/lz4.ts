/**
 * LZ4 blocks (the raw block format, no frame around them). Decoding checks every length and offset against both buffers, so that damaged input ends
 * in undefined and never in bytes that were not there.
 */

const minMatch = 4;
/** The format's own rules: the last five bytes are literals, no match begins in the last twelve. */
const lastLiterals = 5;
const matchEndMargin = 12;
const hashBits = 14;

/** Decodes a block that expands to exactly `size` bytes; undefined if it is damaged. */
export const lz4Decode = (source: Uint8Array, size: number): Uint8Array | undefined => {
  const out = new Uint8Array(size), end = source.length;
  let i = 0, to = 0;
  while (i < end) {
    const token = source[i++]!;
    let literals = token >> 4;
    if (literals === 15) {
      let more;
      do {
        if (i >= end) return undefined;
        more = source[i++]!;
        literals += more;
      } while (more === 255);
    }
    if (i + literals > end || to + literals > size) return undefined;
    if (literals > 32) out.set(source.subarray(i, i + literals), to);
    else for (let k = 0; k < literals; k++) out[to + k] = source[i + k]!;
    i += literals;
    to += literals;
    if (i === end) return to === size ? out : undefined;
    if (i + 2 > end) return undefined;
    const offset = source[i]! | (source[i + 1]! << 8);
    i += 2;
    let length = (token & 15) + minMatch;
    if (length === 15 + minMatch) {
      let more;
      do {
        if (i >= end) return undefined;
        more = source[i++]!;
        length += more;
      } while (more === 255);
    }
    if (offset === 0 || offset > to || to + length > size) return undefined;
    // Matches may overlap what they produce, so bytes go one by one.
    for (let from = to - offset, stop = to + length; to < stop;) out[to++] = out[from++]!;
  }
  return size === 0 && to === 0 ? out : undefined;
};

const hashAt = (bytes: Uint8Array, i: number): number =>
  Math.imul(bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24), -1640531535) >>> (32 - hashBits);

/** Encodes source[0, length) as one block, or undefined if that would not be smaller. */
export const lz4Encode = (source: Uint8Array, length = source.length): Uint8Array | undefined => {
  const out = new Uint8Array(length);
  const table = new Int32Array(1 << hashBits).fill(-1);
  const lastMatchStart = length - matchEndMargin;
  let to = 0, anchor = 0, i = 0;
  while (i < lastMatchStart) {
    const h = hashAt(source, i), candidate = table[h]!;
    table[h] = i;
    if (candidate < 0 || i - candidate > 0xffff || source[candidate] !== source[i] || source[candidate + 1] !== source[i + 1]
      || source[candidate + 2] !== source[i + 2] || source[candidate + 3] !== source[i + 3]) {
      // Steps grow where nothing matches.
      i += 1 + ((i - anchor) >> 6);
      continue;
    }
    let end = i + minMatch, from = candidate + minMatch;
    while (end < length - lastLiterals && source[end] === source[from]) {
      end++;
      from++;
    }
    to = sequence(out, to, source, { literals: anchor, match: i, offset: i - candidate, length: end - i });
    if (to < 0) return undefined;
    i = anchor = end;
  }
  to = sequence(out, to, source, { literals: anchor, match: length, offset: 0, length: 0 });
  return to < 0 ? undefined : out.subarray(0, to);
};

/** Writes literals [literals, match) and, where `length` is not 0, a match; the place behind, or -1 if there is no room. */
const sequence = (out: Uint8Array, at: number, source: Uint8Array, s: { readonly literals: number; readonly match: number; readonly offset: number; readonly length: number }): number => {
  const literals = s.match - s.literals, matched = s.length === 0 ? 0 : s.length - minMatch;
  if (at + 1 + literals + literals / 255 + 1 + 2 + matched / 255 + 1 > out.length) return -1;
  let to = at;
  out[to++] = (Math.min(literals, 15) << 4) | Math.min(matched, 15);
  if (literals >= 15) to = lengthBytes(out, to, literals - 15);
  out.set(source.subarray(s.literals, s.match), to);
  to += literals;
  if (s.length === 0) return to;
  out[to++] = s.offset & 0xff;
  out[to++] = s.offset >> 8;
  return matched >= 15 ? lengthBytes(out, to, matched - 15) : to;
};
const lengthBytes = (out: Uint8Array, at: number, length: number): number => {
  let rest = length, to = at;
  for (; rest >= 255; rest -= 255) out[to++] = 255;
  out[to++] = rest;
  return to;
};
