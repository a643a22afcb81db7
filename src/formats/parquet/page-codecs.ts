/** How pages are compressed. */
import { constants, gzipSync } from 'node:zlib';
import { nativeZstd } from '../codings/native-zstd.ts';
import { encodeSnappy } from '../codings/snappy.ts';

/** Compresses a page. */
export interface PageCodec {
  readonly name: 'SNAPPY' | 'GZIP' | 'ZSTD';
  readonly compress: (raw: Uint8Array) => Uint8Array;
}

export const snappyPages: PageCodec = { name: 'SNAPPY', compress: encodeSnappy };

/** The quickest level of either: more takes longer than it saves. */
const level = 1;
/**
 * A third smaller than snappy's: zstd where Node has it (22.15 and later). Elsewhere gzip is as small and takes half the
 * time of the zstd that is a package.
 */
export const smallPages: PageCodec = nativeZstd
  ? zstdOf(nativeZstd)
  : {
      name: 'GZIP',
      compress: (raw) => gzip(raw, isWorthMatching(raw)),
    };
/** `isMatched`: what came before within the page is looked for; without, bytes are only given codes by how frequent they are. */
function gzip(raw: Uint8Array, isMatched: boolean): Uint8Array {
  return gzipSync(raw, {
    level,
    memLevel: constants.Z_MAX_MEMLEVEL,
    strategy: isMatched ? constants.Z_DEFAULT_STRATEGY : constants.Z_HUFFMAN_ONLY,
    // One buffer, cut afterwards: those of 16 KiB that are otherwise put together are work for the collector.
    chunkSize: raw.length + gzipExtraBytes,
  });
}
/** More than gzip adds to a page that it cannot make smaller. */
const gzipExtraBytes = 1 << 10;
const sampleBytes = 16 << 10;
/** Smaller pages have too little to save for a sample. */
const sampledPageBytes = 4 * sampleBytes;
const matchingGainMin = 1.2;
/**
 * Whether looking for what came before makes a page so much smaller, by a sample from its middle, that it is worth two
 * to three times the time: ids, addresses and measured numbers hardly repeat, paths and messages do.
 */
function isWorthMatching(raw: Uint8Array): boolean {
  if (raw.length < sampledPageBytes) return true;
  const start = (raw.length - sampleBytes) >> 1;
  const sample = raw.subarray(start, start + sampleBytes);
  return gzip(sample, false).length > gzip(sample, true).length * matchingGainMin;
}
function zstdOf({ zstdCompressSync, constants: codes }: NonNullable<typeof nativeZstd>): PageCodec {
  const params = { [codes.ZSTD_c_compressionLevel]: level };
  return { name: 'ZSTD', compress: (raw) => zstdCompressSync(raw, { params }) };
}
