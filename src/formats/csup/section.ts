/** The data section of a CSUP object in the making. */
import { ByteWriter } from '../../vectors/value.ts';
import { encodeLz4 } from '../codings/lz4.ts';
import type { Segment } from './descriptors.ts';

/** A segment of no bytes. */
export const noSegment: Segment = { offset: 0, length: 0, memory: 0, compression: 0 };

const manyBytes = 4096;
const savedShift = 4;

/** Segments one behind the other; each method adds one and tells where it is. */
export class DataSection {
  private readonly out = new ByteWriter();

  get size(): number {
    return this.out.length;
  }
  bytes(): Uint8Array {
    return this.out.bytes.subarray(0, this.out.length);
  }

  /** Blocks of integers, `plain` bytes without the packing. */
  blocks(bytes: Uint8Array, plain: number): Segment {
    return { ...this.raw(bytes), length: plain, memory: bytes.length };
  }

  /** Bytes as they are. */
  raw(bytes: Uint8Array): Segment {
    const offset = this.out.length;
    this.out.raw(bytes);
    return { offset, length: bytes.length, memory: bytes.length, compression: 0 };
  }

  /**
   * Bytes, compressed if that makes them fewer: many bytes only if by a good part of them, since expanding takes longer
   * than reading that part.
   */
  packed(bytes: Uint8Array): Segment {
    const { length } = bytes;
    const offset = this.out.length;
    if (length < 2) return this.raw(bytes);
    this.out.reserve(length);
    const end = encodeLz4(
      bytes,
      0,
      length,
      this.out.bytes,
      offset,
      offset + length - (length < manyBytes ? 1 : length >> savedShift),
    );
    if (end < 0) return this.raw(bytes);
    this.out.length = end;
    return { offset, length: end - offset, memory: length, compression: 1 };
  }
}
