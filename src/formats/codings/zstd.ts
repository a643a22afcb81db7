/**
 * Reads Zstandard (RFC 8878): with the codec of node:zlib where there is one (Node 22.15), else with our own. Frames
 * are told apart here in either case (zstd-frames.ts).
 */
import { type NativeZstd, nativeZstd } from './native-zstd.ts';
import { throughZlib } from './through-zlib.ts';
import { expandBlocks, expandFrameInto } from './zstd-blocks.ts';
import { type ExpandFrame, expandFrames, framesOf, windowLogMax } from './zstd-frames.ts';

const chunkSize = 1 << 18;
const nativeFrame =
  ({ createZstdDecompress, constants }: NativeZstd): ExpandFrame =>
  (_head, parts) =>
    throughZlib(() => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: windowLogMax } }))(
      copies(parts),
    );
/** A thread of node:zlib reads them while others are read. */
async function* copies(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield part.slice();
}

/** The bytes that a stream of frames stands for. @throws BytesFault */
export const zstdExpanded = (input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> =>
  expandFrames(input, nativeZstd ? nativeFrame(nativeZstd) : expandBlocks);

/**
 * All frames of `input` into `size` bytes; undefined if it is not that many. @throws BytesFault, or what node:zlib does
 */
export const expandZstd = (input: Uint8Array, size: number): Uint8Array | undefined => {
  let out: Uint8Array | undefined;
  let to = 0;
  for (const { head, start, end } of framesOf(input)) {
    if (!nativeZstd) {
      out ??= new Uint8Array(size);
      to += expandFrameInto(head, input, start, out.subarray(to));
      continue;
    }
    const bytes = expandWhole(nativeZstd, input.subarray(start, end), size - to);
    to += bytes.length;
    if (end - start === input.length) out = bytes;
    else (out ??= new Uint8Array(size)).set(bytes, to - bytes.length);
  }
  return to === size ? (out ?? new Uint8Array(0)) : undefined;
};

/** Smaller ones would come out of the pool that buffers share. */
const roomBytesMin = 16 << 10;
/** Windows are what the bytes are, which are there: no bound but the codec's own. */
const wholeWindowLogMax = 31;
/** In one piece: with room for all of it, and a byte more that is not used, the codec writes where the bytes stay. */
const expandWhole = ({ zstdDecompressSync, constants }: NativeZstd, frame: Uint8Array, sizeMax: number): Uint8Array =>
  zstdDecompressSync(frame, {
    maxOutputLength: Math.max(sizeMax, 1),
    chunkSize: Math.max(sizeMax + 1, roomBytesMin),
    params: { [constants.ZSTD_d_windowLogMax]: wholeWindowLogMax },
  });
