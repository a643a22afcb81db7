/**
 * Compressed segments: what lies still takes less room on disk and in buckets, and more time to be read the first time.
 * Readers keep what they decoded, so that it is expanded once as long as there is room for it (cache.ts).
 *
 * Zstandard where Node has it (22.15 and later). Elsewhere deflate, which then is the quicker one by far. Measured in
 * CPU time over the texts of 1,000,000 events, 50 MB: zstd of node:zlib 0.46 of the bytes, 114 MB/s in, 700 out;
 * deflate 0.52, 60 in, 270 out; on Node 20 zstd as a package 20 in, our own decoder 93 out.
 *
 * Invariants:
 * - A segment is compressed only if that saves what its kind has to save; segments of an object may differ.
 * - Nothing expands to more than `expandedBytesMax`, nor to another length than its directory tells.
 */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { expand } from '../../formats/codings/block-codecs.ts';
import { nativeZstd } from '../../formats/codings/native-zstd.ts';

/** How segments are compressed, by the byte that says so. */
export const codecs = { zstd: 1, deflate: 2 } as const;
/** What a compressed segment becomes: its codec, and how many bytes. */
export interface Expansion {
  readonly codec: number;
  readonly length: number;
}
/**
 * `texts`: bytes that are decoded by being there. `numbers`: fixed widths, which are read in much less time than it
 * takes to expand them, so that they have to save more.
 */
export type SegmentKind = 'texts' | 'numbers';
/** Compresses a segment; undefined: it stays as it is. */
export type Compress = (bytes: Uint8Array, kind: SegmentKind) => CompressedSegment | undefined;
export interface CompressedSegment {
  readonly codec: number;
  readonly bytes: Uint8Array;
}

/** Longer ones are not compressed: so much memory at once for a few bytes of input, and no more. */
export const expandedBytesMax = 64 << 20;
/** How short a segment may be for the 50 us that a codec takes to begin, and how much of it may be left. */
const worth: Readonly<Record<SegmentKind, { readonly bytesMin: number; readonly partMax: number }>> = {
  texts: { bytesMin: 8 << 10, partMax: 0.8 },
  numbers: { bytesMin: 16 << 10, partMax: 0.66 },
};
/** A long segment is compressed if a sample of it promises as much: short pieces compress a little worse. */
const sampledBytesMin = 32 << 10;
const sampleBytes = 4 << 10;
const sampleSlack = 0.15;

/** What objects are compressed with that lie still. */
export const compress: Compress = (bytes, kind) => {
  const { length } = bytes;
  const { bytesMin, partMax } = worth[kind];
  if (length < bytesMin || length > expandedBytesMax) return undefined;
  if (length >= sampledBytesMin) {
    const start = (length - sampleBytes) >> 1;
    const sample = encoded(bytes.subarray(start, start + sampleBytes));
    if (sample.length > sampleBytes * (partMax + sampleSlack)) return undefined;
  }
  const small = encoded(bytes);
  return small.length <= length * partMax
    ? { codec: nativeZstd ? codecs.zstd : codecs.deflate, bytes: small }
    : undefined;
};

/** Level 3 of either: the next ones save little more in much more time. */
const level = 3;
const encoded = (bytes: Uint8Array): Uint8Array =>
  nativeZstd
    ? nativeZstd.zstdCompressSync(bytes, { params: { [nativeZstd.constants.ZSTD_c_compressionLevel]: level } })
    : deflateRawSync(bytes, { level, memLevel: constants.Z_MAX_MEMLEVEL });

/** The bytes of a compressed segment, aligned to 8 in their buffer. @throws Error that says what does not fit */
export const expanded = (bytes: Uint8Array, { codec, length }: Expansion): Uint8Array => {
  const out = codec === codecs.zstd ? expand('zstd', bytes, length) : inflated(bytes, length);
  // Not as a Buffer: loops over arrays of one class are the quick ones, and its `slice` makes no copy.
  return (out.byteOffset & 7) === 0 ? new Uint8Array(out.buffer, out.byteOffset, length) : new Uint8Array(out);
};
/** Smaller buffers would come out of the pool that all share. */
const roomBytesMin = 16 << 10;
const inflated = (bytes: Uint8Array, length: number): Uint8Array => {
  // With room for all of it, and a byte more that is not used, it is written where it stays.
  const out = inflateRawSync(bytes, { maxOutputLength: length, chunkSize: Math.max(length + 1, roomBytesMin) });
  if (out.length !== length) throw new Error(`deflate: ${out.length} bytes, not ${length}`);
  return out;
};
/** Whether a directory may say so. */
export const isExpansion = ({ codec, length }: Expansion, stored: number): boolean =>
  (codec === codecs.zstd || codec === codecs.deflate) && length > stored && length <= expandedBytesMax;
