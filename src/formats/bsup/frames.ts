/**
 * Frames of a BSUP stream (reference/formats/bsup.md section 2): header, length, payload, compressed or not.
 *
 * Invariants: a payload's length is compared with the limit before anything is read, an expanded size also with what
 * the payload can expand to.
 */
import { LakeError } from '../../errors.ts';
import { ByteSource } from '../byte-source.ts';
import type { ReadMemory } from '../read-memory.ts';
import { lz4ExpansionMax, decodeLz4 } from '../codings/lz4.ts';

/** What a frame holds: bits 4 and 5 of its second byte. */
export const frameKind = { types: 0, values: 1, control: 2 } as const;
/**
 * `versionByte` begins a frame, `endOfSegment` stands alone; `compressedBit` is one of a frame's second byte,
 * `formatLz4` the only compression there is.
 */
export const versionByte = 0x81,
  endOfSegment = 0xff,
  compressedBit = 0x40,
  formatLz4 = 0;

/** Room behind expanded bytes: they are written and read by words. */
const slack = 16;
/** More than this is given back when frames get smaller. */
const keptBytesMax = 4 << 20;

/** One frame; its bytes hold until the next is asked for. */
export interface Frame {
  readonly kind: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** How a fault of these bytes becomes an error. */
type Fault = (fault: string, offset: number) => Error;

/** The frames of one stream, in order. */
export class FrameReader {
  private readonly source: ByteSource;
  private readonly frameBytesMax: number;
  private readonly memory: ReadMemory | undefined;
  private readonly fault: Fault;
  private expanded = new Uint8Array(0);
  /** Where the frame of the last answer begins in the stream. */
  offset = 0;

  constructor(
    input: AsyncIterable<Uint8Array>,
    options: { readonly frameBytesMax: number; readonly memory?: ReadMemory | undefined; readonly fault: Fault },
  ) {
    this.source = new ByteSource(input, { memory: options.memory, format: 'bsup', what: 'frame' });
    this.memory = options.memory;
    this.frameBytesMax = options.frameBytesMax;
    this.fault = options.fault;
  }

  close(): Promise<void> {
    this.memory?.free(this.expanded.length);
    this.expanded = new Uint8Array(0);
    return this.source.close();
  }

  /**
   * The next frame; 'segment' where a segment ends, undefined at the end of the stream. @throws LakeError
   * `format-broken`, `format-too-large`
   */
  async next(): Promise<Frame | 'segment' | undefined> {
    const { source } = this;
    if (!(await source.need(1))) return undefined;
    this.offset = source.offset;
    const version = source.bytes[source.start++];
    if (version === endOfSegment) return 'segment';
    if (version !== versionByte)
      throw this.fault(`BSUP version mismatch: expected 1, found ${version < 0x80 ? 0 : version & 0x7f}`, this.offset);
    const code = await this.byte();
    const kind = (code >> 4) & 3;
    const length = (await this.uvarint()) * 16 + (code & 15);
    if (kind === 3) throw this.fault('unknown BSUP message frame type: 3', this.offset);
    if (length > this.frameBytesMax) throw this.tooLarge(length);
    if (!(await source.need(length))) throw this.cut();
    const start = source.start;
    const end = start + length;
    source.start = end;
    return code & compressedBit
      ? this.expand(kind, source.bytes, start, end)
      : { kind, bytes: source.bytes, start, end };
  }

  private expand(kind: number, bytes: Uint8Array, start: number, end: number): Frame {
    if (end - start < 2) throw this.fault(`bsupio: frame length (${end - start}) too small`, this.offset);
    if (bytes[start] !== formatLz4)
      throw this.fault(`bsupio: unknown compression format 0x${bytes[start].toString(16)}`, this.offset);
    let at = start + 1;
    let size = 0;
    let scale = 1;
    for (let more = true; more; at++) {
      if (at >= end || scale > 2 ** 42)
        throw this.fault(`bsupio: frame length (${end - start}) too small`, this.offset);
      size += (bytes[at] & 0x7f) * scale;
      scale *= 128;
      more = bytes[at] >= 0x80;
    }
    if (size > this.frameBytesMax) throw this.tooLarge(size);
    if (size > (end - at) * lz4ExpansionMax) throw this.fault('bsupio: broken LZ4 block', this.offset);
    this.setRoom(size + slack);
    if (!decodeLz4(bytes, at, end, this.expanded, size)) throw this.fault('bsupio: broken LZ4 block', this.offset);
    return { kind, bytes: this.expanded, start: 0, end: size };
  }

  /** Room for expanded bytes; what a large frame needed is not kept for small ones. */
  private setRoom(size: number): void {
    const { length } = this.expanded;
    if (length >= size && (length <= keptBytesMax || length < size * 2)) return;
    const bytes = Math.max(size, 1 << 16);
    this.memory?.free(length);
    this.expanded = new Uint8Array(0);
    this.memory?.hold(bytes, { format: 'bsup', what: 'expanded frame' });
    this.expanded = new Uint8Array(bytes);
  }

  private async byte(): Promise<number> {
    if (!(await this.source.need(1))) throw this.cut();
    return this.source.bytes[this.source.start++];
  }
  private async uvarint(): Promise<number> {
    let n = 0;
    let scale = 1;
    for (;;) {
      const b = await this.byte();
      n += (b & 0x7f) * scale;
      if (b < 0x80) return n;
      scale *= 128;
      if (scale > 2 ** 42) throw this.fault('malformed BSUP frame length', this.offset);
    }
  }
  private cut(): Error {
    return this.fault('truncated input', this.source.offset);
  }
  private tooLarge(size: number): LakeError {
    return new LakeError('format-too-large', {
      format: 'bsup',
      fault: `large value of ${size} bytes exceeds maximum read buffer`,
      place: ` (byte ${this.offset})`,
    });
  }
}
