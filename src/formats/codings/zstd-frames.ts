/**
 * Frames of Zstandard (RFC 8878): what their headers say, and where they and their blocks end. Decoders of blocks are
 * given whole frames: that of Node 22 takes a frame that ends too early for a whole one, and all of them end after the
 * first.
 *
 * Invariant: windows are `windowBytesMax` at most in streams, and a block claims 128 KiB at most.
 */
import { ByteSource } from '../byte-source.ts';
import { BytesFault } from '../columns/type-bytes.ts';

/** Ends the reading of what is damaged. @throws BytesFault that names it */
export const damaged = (what: string): never => {
  throw new BytesFault(`zstd: damaged ${what}`);
};

/** What HTTP's coding allows (RFC 9659), as a power of two; programs go beyond it only when they are told to. */
export const windowLogMax = 23;
const windowBytesMax = 2 ** windowLogMax;
export const blockBytesMax = 128 << 10;
export const blockHeadBytes = 3;
/** The low half of the hash. */
export const checksumBytes = 4;
const magicBytes = 4;
/** The first four bytes of a frame, as a little-endian number. */
export const zstdMagic = 0xfd2fb528;

/** The four bytes at `at` as a little-endian number. */
export const uint32 = (bytes: Uint8Array, at: number): number =>
  (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
/** Whether a number begins a frame that holds nothing to read: its length and so many bytes follow. */
export const isSkippable = (magic: number): boolean => magic >>> 4 === 0x184d2a5;
const skippableHeadBytes = 8;

/** What the header of a frame says. */
export interface FrameHead {
  /** Of the header, its magic number included. */
  readonly bytes: number;
  readonly window: number;
  /** Bytes that the frame stands for, if it says so. */
  readonly size: number | undefined;
  readonly hasChecksum: boolean;
}
const dictionaryBytes = [0, 1, 2, 4];
const contentBytes = [0, 2, 4, 8];
/** Bytes of a frame's header with its magic number, by its descriptor. */
const headBytes = (descriptor: number): number => {
  const single = (descriptor >> 5) & 1;
  const content = contentBytes[descriptor >> 6];
  return magicBytes + 1 + (1 - single) + dictionaryBytes[descriptor & 3] + (content === 0 && single ? 1 : content);
};
const readFrameHead = (bytes: Uint8Array, start: number, most: number): FrameHead => {
  if (uint32(bytes, start) !== zstdMagic) damaged('frame');
  const descriptor = bytes[start + magicBytes];
  const single = (descriptor & 0x20) !== 0;
  if (descriptor & 8) damaged('frame header');
  let at = start + magicBytes + 1;
  let window = 0;
  if (!single) {
    const code = bytes[at++];
    const base = 2 ** (10 + (code >> 3));
    window = base + (base / 8) * (code & 7);
  }
  for (let k = dictionaryBytes[descriptor & 3]; k > 0; k--)
    if (bytes[at++] !== 0) throw new BytesFault('zstd: frames with a dictionary are not read');
  const count = contentBytes[descriptor >> 6] || (single ? 1 : 0);
  let size = 0;
  for (let k = count - 1; k >= 0; k--) size = size * 256 + bytes[at + k];
  if (count === 2) size += 256;
  if (single) window = size;
  if (window > most) throw new BytesFault(`zstd: window of ${window} bytes (limit ${most})`);
  return {
    bytes: headBytes(descriptor),
    window,
    size: count > 0 ? size : undefined,
    hasChecksum: (descriptor & 4) !== 0,
  };
};

/** `size`: of what a block stands for, where it is no sequences. `bytes`: of what follows its header. */
export interface BlockHead {
  readonly isLast: boolean;
  readonly kind: number;
  readonly size: number;
  readonly bytes: number;
}
export const readBlockHead = (bytes: Uint8Array, at: number): BlockHead => {
  const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
  const kind = (word >> 1) & 3;
  const size = word >> 3;
  if (kind === 3 || size > blockBytesMax) damaged('block header');
  return { isLast: (word & 1) === 1, kind, size, bytes: kind === 1 ? 1 : size };
};

/** A frame within bytes that are there already. */
export interface FrameExtent {
  readonly head: FrameHead;
  readonly start: number;
  readonly end: number;
}
/** The frames of `input`, one after another. @throws BytesFault where one ends too early */
export function* framesOf(input: Uint8Array): Generator<FrameExtent> {
  const within = (end: number): void => {
    if (end > input.length) damaged('frame');
  };
  for (let at = 0; at < input.length; ) {
    within(at + magicBytes + 1);
    if (isSkippable(uint32(input, at))) {
      within(at + skippableHeadBytes);
      at += skippableHeadBytes + uint32(input, at + magicBytes);
      within(at);
      continue;
    }
    const start = at;
    within(at + headBytes(input[at + magicBytes]));
    const head = readFrameHead(input, at, Infinity);
    at += head.bytes;
    for (let isLast = false; !isLast; ) {
      within(at + blockHeadBytes);
      const block = readBlockHead(input, at);
      isLast = block.isLast;
      at += blockHeadBytes + block.bytes;
      within(at);
    }
    if (head.hasChecksum) at += checksumBytes;
    within(at);
    yield { head, start, end: at };
  }
}

/** Expands a frame of a stream; it reads all of the `parts`: header, each block with its own, checksum. */
export type ExpandFrame = (head: FrameHead, parts: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** What the frames of a stream stand for. @throws BytesFault where one ends too early */
export async function* expandFrames(
  input: AsyncIterable<Uint8Array>,
  expandFrame: ExpandFrame,
): AsyncGenerator<Uint8Array> {
  const source = new FrameSource(input);
  try {
    for (let head = await source.nextHead(); head; head = await source.nextHead())
      yield* expandFrame(head, source.parts(head));
  } finally {
    await source.close();
  }
}

/** The parts of frames as a stream has them. */
class FrameSource {
  private readonly source: ByteSource;

  constructor(input: AsyncIterable<Uint8Array>) {
    this.source = new ByteSource(input, { format: 'zstd', what: 'block' });
  }

  /** The header of the next frame, which is not used up; undefined at the end. */
  async nextHead(): Promise<FrameHead | undefined> {
    const source = this.source;
    while (await source.need(1)) {
      await this.need(magicBytes);
      if (isSkippable(uint32(source.bytes, source.start))) {
        await this.skip();
        continue;
      }
      await this.need(magicBytes + 1);
      await this.need(headBytes(source.bytes[source.start + magicBytes]));
      return readFrameHead(source.bytes, source.start, windowBytesMax);
    }
    return undefined;
  }

  /** Each holds until the next is asked for. */
  async *parts(head: FrameHead): AsyncGenerator<Uint8Array> {
    yield await this.take(head.bytes);
    for (let isLast = false; !isLast; ) {
      await this.need(blockHeadBytes);
      const block = readBlockHead(this.source.bytes, this.source.start);
      isLast = block.isLast;
      yield await this.take(blockHeadBytes + block.bytes);
    }
    if (head.hasChecksum) yield await this.take(checksumBytes);
  }
  close(): Promise<void> {
    return this.source.close();
  }

  private async need(count: number): Promise<void> {
    if (!(await this.source.need(count))) throw new BytesFault('zstd: unexpected end of file');
  }
  private async take(count: number): Promise<Uint8Array> {
    await this.need(count);
    const source = this.source;
    const part = source.bytes.subarray(source.start, source.start + count);
    source.start += count;
    return part;
  }
  private async skip(): Promise<void> {
    const source = this.source;
    await this.need(skippableHeadBytes);
    let rest = skippableHeadBytes + uint32(source.bytes, source.start + magicBytes);
    while (rest > 0) {
      await this.need(1);
      const some = Math.min(rest, source.end - source.start);
      source.start += some;
      rest -= some;
    }
  }
}
