/**
 * Compressed blocks as columnar files have them. The size of what comes out is known beforehand, so each codec writes
 * into that much room and no more.
 *
 * Invariant: nothing is allocated before the input is long enough to make it likely; damage is a BytesFault.
 */
import * as zlib from 'node:zlib';
import { messageOf } from '../../errors.ts';
import { decodeLz4At, lz4ExpansionMax } from './lz4.ts';
import { decodeSnappy } from './snappy.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { xxh32 } from './xxh.ts';
import { expandZstd } from './zstd.ts';

/** Compressions of columnar files. lz4-hadoop: blocks in Hadoop's frame, or a bare block. */
export type Codec = 'lz4-frame' | 'lz4-block' | 'lz4-hadoop' | 'zstd' | 'snappy' | 'gzip' | 'brotli';

/** Most bytes that a byte of input can stand for, rounded up; runs of a codec's longest kind. */
const expansionMax: Readonly<Record<Codec, number>> = {
  'lz4-frame': lz4ExpansionMax,
  'lz4-block': lz4ExpansionMax,
  'lz4-hadoop': lz4ExpansionMax,
  zstd: 65_536,
  snappy: 64,
  gzip: 1_100,
  brotli: 1 << 22,
};

/** The `size` bytes that `input` stands for. @throws BytesFault */
export const expand = (codec: Codec, input: Uint8Array, size: number): Uint8Array => {
  if (size === 0) return new Uint8Array(0);
  if (size > (input.length + 16) * expansionMax[codec])
    throw new BytesFault(`${codec}: ${size} bytes out of ${input.length}`);
  const out = expanders[codec](input, size);
  if (out === undefined || out.length !== size) throw new BytesFault(`${codec}: damaged, or not ${size} bytes`);
  return out;
};

type Expander = (input: Uint8Array, size: number) => Uint8Array | undefined;
const lz4Block: Expander = (input, size) => {
  const out = new Uint8Array(size);
  return decodeLz4At(input, 0, input.length, out, 0, size) === size ? out : undefined;
};
const expanders: Readonly<Record<Codec, Expander>> = {
  'lz4-frame': (input, size) => lz4Frame(input, size),
  'lz4-block': lz4Block,
  'lz4-hadoop': (input, size) => lz4Hadoop(input, size) ?? lz4Block(input, size),
  zstd: (input, size) => unlessBroken('zstd', () => expandZstd(input, size)),
  snappy: (input, size) => decodeSnappy(input, size),
  gzip: (input, size) => unlessBroken('gzip', () => zlib.unzipSync(input, { maxOutputLength: size })),
  brotli: (input, size) => unlessBroken('brotli', () => zlib.brotliDecompressSync(input, { maxOutputLength: size })),
};

/** What a codec says of the damage comes along. */
const unlessBroken = (codec: Codec, run: () => Uint8Array | undefined): Uint8Array | undefined => {
  try {
    return run();
  } catch (cause) {
    throw cause instanceof BytesFault ? cause : new BytesFault(`${codec}: ${messageOf(cause)}`, { cause });
  }
};
const mismatch = (codec: string, what: string): never => {
  throw new BytesFault(`${codec}: ${what} checksum does not match`);
};

const frameMagic = 0x184d2204;
const frameVersion = 1;
/** Bits of the descriptor. */
const hasBlockChecksums = 0x10;
const hasSize = 0x08;
const hasContentChecksum = 0x04;
const hasDictionary = 0x01;
/**
 * An LZ4 frame, and nothing behind it: blocks may refer to the blocks before them. Its checksums are compared, of the
 * header, of blocks and of the content.
 */
const lz4Frame = (input: Uint8Array, size: number): Uint8Array | undefined => {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const { length } = input;
  if (length < 7 || view.getUint32(0, true) !== frameMagic) return undefined;
  const flags = input[4];
  const headEnd = 6 + (flags & hasSize ? 8 : 0) + (flags & hasDictionary ? 4 : 0);
  if (flags >> 6 !== frameVersion || headEnd >= length || input[headEnd] !== ((xxh32(input, 4, headEnd) >>> 8) & 0xff))
    mismatch('lz4', 'header');
  if (flags & hasSize && view.getBigUint64(6, true) !== BigInt(size)) return undefined;
  let at = headEnd + 1;
  let to = 0;
  const out = new Uint8Array(size);
  const matches = (start: number, bytes: Uint8Array, from: number, end: number): boolean =>
    start + 4 <= length && view.getUint32(start, true) === xxh32(bytes, from, end);
  while (at + 4 <= length) {
    const word = view.getUint32(at, true);
    const blockSize = word & 0x7fffffff;
    at += 4;
    if (word === 0) {
      if (flags & hasContentChecksum && !matches(at, out, 0, to)) mismatch('lz4', 'content');
      return to === size && at + (flags & hasContentChecksum ? 4 : 0) === length ? out : undefined;
    }
    if (blockSize > length - at) return undefined;
    if (flags & hasBlockChecksums && !matches(at + blockSize, input, at, at + blockSize)) mismatch('lz4', 'block');
    if (word >>> 31) {
      if (blockSize > size - to) return undefined;
      out.set(input.subarray(at, at + blockSize), to);
      to += blockSize;
    } else {
      to = decodeLz4At(input, at, at + blockSize, out, to, size);
      if (to < 0) return undefined;
    }
    at += blockSize + (flags & hasBlockChecksums ? 4 : 0);
  }
  return undefined;
};

/** Blocks with the sizes before them, as Hadoop writes. */
const lz4Hadoop = (input: Uint8Array, size: number): Uint8Array | undefined => {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const out = new Uint8Array(size);
  let at = 0;
  let to = 0;
  while (at + 8 <= input.length) {
    const expanded = view.getUint32(at);
    const packed = view.getUint32(at + 4);
    at += 8;
    if (packed > input.length - at || expanded > size - to) return undefined;
    if (decodeLz4At(input, at, at + packed, out, to, to + expanded) !== to + expanded) return undefined;
    at += packed;
    to += expanded;
  }
  return at === input.length && to === size ? out : undefined;
};
