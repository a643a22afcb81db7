/**
 * Writes BSUP: values are gathered until a frame is full; the types that a frame needs and that the segment does not
 * know yet go out before it.
 *
 * Invariants: an end of segment follows the last frame, also between batches when a segment has very many types;
 * control messages come after the values that were written before them.
 */
import { LakeError } from '../../errors.ts';
import { typesOf } from '../../vectors/fuse.ts';
import { supText } from '../../vectors/sup/print.ts';
import type { ChunkBuffers } from '../../vectors/texts/chunk-buffers.ts';
import { checkStop } from '../../vectors/stop.ts';
import { namedType, types } from '../../vectors/type.ts';
import { type Value, recordValue, uvarintSize, itemsData } from '../../vectors/value.ts';
import { type Vector, slice } from '../../vectors/vector.ts';
import type { ControlMessage, WriteOptions, Writer } from '../format.types.ts';
import { encodeLz4, encodeLz4Marked } from '../codings/lz4.ts';
import { Space, type Target, taggedSize, writeUvarint } from './encode-leaves.ts';
import { measure, tooManyCells } from './encode.ts';
import { compressedBit, endOfSegment, formatLz4, frameKind, versionByte } from './frames.ts';
import { WrittenTypes } from './type-context.ts';

/** A frame ends when its values have this many bytes. */
const frameBytesDefault = 512 << 10;
/** Longest value: what readers of the reference take. */
const valueBytesMax = 1 << 30;
/** A segment with this many types ends at the next frame. */
const segmentTypesMax = 20_000;
const controlSup = 2;
/**
 * Frames of values from this size on may be compressed by their marks. Every so many of them is compressed in both
 * ways, which tells how the next ones are.
 */
const markedBytesMin = 64 << 10;
const trialEvery = 32;
/** What compression by marks may lose. */
const markedLossMax = 1.25;

/** Room for a frame's header before its payload. */
const headBytes = 16;
/** Room for the row that fills a frame up. */
const lastRowBytes = (32 << 10) - headBytes;

export const createBsupWriter = (options: WriteOptions): Writer => new BsupWriter(options);

class BsupWriter implements Writer {
  private readonly frameBytesDefault: number;
  private readonly gatherBytesMax: () => number;
  /** A frame of the batch that is written ends when its values have this many bytes. */
  private frameBytesMin: number;
  private readonly compress: boolean;
  private readonly isAwaited: () => boolean;
  private readonly buffers: ChunkBuffers | undefined;
  private readonly types = new WrittenTypes();
  /** A frame in the making: room for its header, then values. */
  private values: Uint8Array = new Uint8Array(1 << 16);
  private length = headBytes;
  private readonly space = new Space();
  private scratch = new Uint8Array(0);
  private marked = false;
  private trials = 0;
  /** A frame was given out since the last end of segment. */
  private open = false;

  constructor(options: WriteOptions) {
    this.frameBytesDefault = this.frameBytesMin = options.bsupFrameBytes ?? frameBytesDefault;
    this.gatherBytesMax = options.gatherBytesMax ?? (() => Infinity);
    this.compress = options.bsupCompress ?? true;
    this.isAwaited = options.isAwaited ?? (() => false);
    this.buffers = options.buffers;
    if (this.compress) this.space.marks = new Uint32Array((this.values.length >> 5) + 1);
  }

  *write(batch: Vector): Generator<Uint8Array> {
    if (batch.length === 0) return;
    this.frameBytesMin = Math.min(this.frameBytesDefault, this.gatherBytesMax());
    let column;
    this.space.begin();
    try {
      column = measure(batch, this.space);
    } catch (problem) {
      if (problem !== tooManyCells) throw problem;
      const half = batch.length >> 1;
      yield* this.write(slice(batch, 0, half));
      yield* this.write(slice(batch, half, batch.length));
      return;
    }
    const { bodies } = column;
    const { table, codes = new Uint32Array(batch.length) } = typesOf(batch);
    const places = this.space.take(batch.length);
    const ids = new Float64Array(table.length);
    const idSizes = new Float64Array(table.length);
    const full = headBytes + this.frameBytesMin;
    for (let start = 0; start < batch.length; ) {
      let end = start;
      let size = this.length;
      while (end < batch.length && !this.isFull(size)) {
        const code = codes[end];
        if (idSizes[code] === 0) idSizes[code] = uvarintSize((ids[code] = this.types.idOf(table[code])));
        end = placeRows({ bodies, codes, idSizes, places }, end, size, full);
        const last = end - 1;
        size = places[last] + idSizes[codes[last]] + taggedSize(bodies[last]);
      }
      if (size > valueBytesMax)
        for (let i = start; i < end; i++) if (bodies[i] > valueBytesMax) throw valueTooLarge(bodies[i]);
      this.reserve(size);
      writeIds(ids, codes, { start, end, places, out: this.values });
      column.write(start, end, places, this.values);
      this.length = size;
      start = end;
      if (this.isFull(size)) yield* this.flush();
      if (this.types.count >= segmentTypesMax) {
        yield* this.end();
        idSizes.fill(0);
      }
    }
  }

  *end(): Generator<Uint8Array> {
    yield* this.flush();
    if (this.open) yield Uint8Array.of(endOfSegment);
    this.open = false;
    this.types.clear();
  }

  *control(message: ControlMessage): Generator<Uint8Array> {
    yield* this.flush();
    const value = message.type === 'QueryStats' ? withProgress(message.value) : message.value;
    yield this.frame(
      frameKind.control,
      Buffer.concat([Uint8Array.of(controlSup), Buffer.from(`${supText(named(message.type, value))}\n`)]),
    );
  }

  /** Values or definitions are enough for a frame, or the segment has enough types. */
  private isFull(size: number): boolean {
    return (
      size - headBytes >= this.frameBytesMin ||
      this.types.pending.length >= this.frameBytesMin ||
      this.types.count >= segmentTypesMax
    );
  }

  private *flush(): Generator<Uint8Array> {
    const { pending } = this.types;
    if (pending.length > 0) yield this.frame(frameKind.types, pending.bytes.subarray(0, pending.length));
    pending.length = 0;
    const { length } = this;
    if (length > headBytes) yield this.valuesFrame();
    this.space.marks?.fill(0, 0, (length >> 5) + 1);
    this.length = headBytes;
  }

  /**
   * Values of some size go as they are, with their buffer, if the reader has nothing else to do than to wait for them.
   */
  private valuesFrame(): Uint8Array {
    const { values, length, buffers } = this;
    if (buffers?.has(values) && (!this.compress || this.isAwaited())) {
      this.open = true;
      this.values = new Uint8Array(0);
      return withHead(values, frameKind.values, length);
    }
    const frame = this.frame(frameKind.values, values.subarray(headBytes, length));
    // Large values are rare: what they took goes, and a usual frame is in one of the buffers again.
    if (buffers && values.length > buffers.size) {
      this.values = new Uint8Array(0);
      buffers.done(values);
    }
    return frame;
  }

  private frame(kind: number, payload: Uint8Array): Uint8Array {
    this.open = true;
    const { length } = payload;
    const sizeBytes = uvarintSize(length);
    if (this.compress) {
      checkStop();
      const packed = this.packed(kind, payload, length - 1 - sizeBytes);
      if (packed >= 0) {
        const { out, at } = header(kind | (compressedBit >> 4), packed + 1 + sizeBytes);
        out[at] = formatLz4;
        out.set(this.scratch.subarray(0, packed), writeUvarint(out, at + 1, length));
        return out;
      }
    }
    const { out, at } = header(kind, length);
    out.set(payload, at);
    return out;
  }

  /** Compresses to the scratch bytes; answers their end, or -1 if it does not fit. */
  private packed(kind: number, payload: Uint8Array, room: number): number {
    const { length } = payload;
    if (this.scratch.length < length) this.scratch = new Uint8Array(Math.max(length, 1 << 16));
    const byMarks = (): number =>
      encodeLz4Marked(this.values, headBytes, headBytes + length, this.scratch, room, this.space.marks!);
    const byAll = (): number => encodeLz4(payload, 0, length, this.scratch, 0, room);
    if (kind !== frameKind.values || length < markedBytesMin) return byAll();
    if (this.trials++ % trialEvery > 0) return this.marked ? byMarks() : byAll();
    const markedEnd = byMarks();
    const end = byAll();
    this.marked = end < 0 || (markedEnd >= 0 && markedEnd <= end * markedLossMax);
    return end;
  }

  private reserve(size: number): void {
    if (size <= this.values.length) return;
    const { buffers, values } = this;
    const grownSize = Math.max(size, values.length * 2);
    const frameSize = headBytes + this.frameBytesMin + lastRowBytes;
    // Small frames are copied into messages: in a shared buffer most of it would be empty.
    const isLarge = buffers && frameSize > buffers.size >> 1;
    const isShared = isLarge && grownSize >= frameSize >> 2 && Math.max(size, frameSize) <= buffers.size;
    const grown = isShared
      ? buffers.take()
      : buffers && grownSize > buffers.size
        ? buffers.takeLarge(grownSize)
        : new Uint8Array(grownSize);
    grown.set(values.subarray(0, this.length));
    this.values = grown;
    buffers?.done(values);
    const { marks } = this.space;
    const words = (grown.length >> 5) + 1;
    if (!marks || marks.length >= words) return;
    this.space.marks = new Uint32Array(words);
    this.space.marks.set(marks);
  }
}

/**
 * Places of rows from `start` on, the first at `size`, up to `full` or to the first whose type has no number yet; the
 * row behind them. One at least.
 */
const placeRows = (
  {
    bodies,
    codes,
    idSizes,
    places,
  }: {
    readonly bodies: Float64Array;
    readonly codes: Uint32Array;
    readonly idSizes: Float64Array;
    readonly places: Float64Array;
  },
  start: number,
  size: number,
  full: number,
): number => {
  let i = start;
  let at = size;
  for (; i < places.length && at < full; i++) {
    const idSize = idSizes[codes[i]];
    if (idSize === 0) break;
    places[i] = at;
    at += idSize + taggedSize(bodies[i]);
  }
  return i;
};
const writeIds = (ids: Float64Array, codes: Uint32Array, { start, end, places, out }: Target): void => {
  for (let i = start; i < end; i++) places[i] = writeUvarint(out, places[i], ids[codes[i]]);
};

/** A frame of `length` payload bytes, its header written. */
const header = (code: number, length: number): { readonly out: Uint8Array; readonly at: number } => {
  const high = Math.floor(length / 16);
  const at = 2 + uvarintSize(high);
  const out = new Uint8Array(at + length);
  out[0] = versionByte;
  out[1] = (code << 4) | (length & 15);
  writeUvarint(out, 2, high);
  return { out, at };
};
/** The frame whose payload is bytes[headBytes, length), its header written before it. */
const withHead = (bytes: Uint8Array, code: number, length: number): Uint8Array => {
  const size = length - headBytes;
  const high = Math.floor(size / 16);
  const start = headBytes - 2 - uvarintSize(high);
  bytes[start] = versionByte;
  bytes[start + 1] = (code << 4) | (size & 15);
  writeUvarint(bytes, start + 2, high);
  return bytes.subarray(start, length);
};
const valueTooLarge = (bytes: number): LakeError =>
  new LakeError('format-too-large', {
    format: 'bsup',
    fault: `value of ${bytes} bytes (limit ${valueBytesMax})`,
    place: '',
  });

const named = (name: string, value: Value): Value => ({ type: namedType(name, value.type), data: value.data });
/** The counts of a statistics message are in a record of their own here. */
const withProgress = (stats: Value): Value => {
  if (stats.type.kind !== 'record') return stats;
  const fields = stats.type.fields.map((f, i) => ({
    name: f.name,
    value: { type: f.type, data: itemsData(stats.data)[i] },
  }));
  const isTime = (f: { readonly value: Value }): boolean => f.value.type === types.time;
  return recordValue([
    ...fields.filter(isTime),
    { name: 'Progress', value: named('Progress', recordValue(fields.filter((f) => !isTime(f)))) },
  ]);
};
