/** Reads BSUP streams, segment by segment, straight from the bytes of frames into columns. */
import { LakeError } from '../../errors.ts';
import type { Type } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { BytesFault, Cursor } from '../type-bytes.ts';
import { BodyReader } from './body.ts';
import { type Census, Column, type Decoder } from './column.ts';
import { type Frame, FrameReader, frameKind } from './frames.ts';
import { ReadTypes } from './type-context.ts';

/** Longest frame. The reference's limit is eight times that; its frames end at half a MiB, or with one value that is longer. */
const frameBytesMax = 128 << 20;
/** A batch ends when it holds this much, however few rows that are. */
const batchBytesMax = 16 << 20, batchCellsMax = 2_000_000;
/** Columns that are kept from one batch to the next. */
const columnsMax = 20_000;

/** Batches of the values of a BSUP stream. @throws LakeError `format-broken`, `format-too-large`, after giving out what came before */
export async function* readBsup(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
  const { batchRows, nestingMax } = readLimits(options);
  const rows = new Rows(nestingMax, batchRows);
  const fault = (text: string, offset: number): LakeError =>
    new LakeError('format-broken', { format: 'bsup', fault: text, place: ` (byte ${offset})`, values: rows.count });
  const frames = new FrameReader(input, { frameBytesMax: options.bsupFrameBytesMax ?? frameBytesMax, fault });
  try {
    for (let frame = await frames.next(); frame !== undefined; frame = await frames.next()) {
      if (frame === 'segment') rows.endSegment();
      else if (frame.kind === frameKind.values) yield* rows.read(frame);
      else if (frame.kind === frameKind.types) rows.define(frame);
      else throw fault('control', frames.offset);
    }
  } catch (problem) {
    const last = rows.takeWhole();
    if (last) yield last;
    throw problem instanceof BytesFault ? fault(problem.message, frames.offset) : problem;
  } finally {
    await frames.close();
  }
  const last = rows.take();
  if (last) yield last;
}

/** The rows of the batch in the making. */
class Rows {
  count = 0;
  private readonly nestingMax: number;
  private readonly batchRows: number;
  private readonly bodies: BodyReader;
  private types: ReadTypes;
  private census: Census = { columns: 0 };
  private root = new Column({ exact: false }, this.census);
  /** Decoders by type id. */
  private decoders: (Decoder | undefined)[] = [];
  private length = 0;
  private bytes = 0;

  constructor(nestingMax: number, batchRows: number) {
    this.nestingMax = nestingMax;
    this.batchRows = batchRows;
    this.bodies = new BodyReader(nestingMax);
    this.types = new ReadTypes(nestingMax);
  }

  endSegment(): void {
    this.types = new ReadTypes(this.nestingMax);
    this.decoders = [];
  }
  define(frame: Frame): void { this.types.define(new Cursor(frame.bytes, frame.start, frame.end, 'truncated input')); }

  /** Reads the values of a frame; batches that become full are given out. */
  *read({ bytes, start, end }: Frame): Generator<Vector> {
    for (let at = start; at < end;) {
      const from = at;
      at = this.values(bytes, at, end);
      this.bytes += at - from;
      if (at < end || this.isFull()) yield this.take()!;
    }
  }

  private isFull(): boolean {
    return this.length >= this.batchRows || this.bytes >= batchBytesMax || this.bodies.cells >= batchCellsMax || this.census.columns > columnsMax;
  }

  /** Appends values until the batch is full or the frame ends; returns the place behind them. */
  private values(bytes: Uint8Array, start: number, end: number): number {
    const { bodies, batchRows, census } = this, bytesStop = start + batchBytesMax - this.bytes;
    let at = start, rows = this.length;
    bodies.begin(bytes);
    while (at < end && rows < batchRows && at < bytesStop && bodies.cells < batchCellsMax && census.columns <= columnsMax) {
      let id = bytes[at++];
      if (id >= 0x80) ({ value: id, at } = longVarint(bytes, at - 1, end));
      const decoder = this.decoders[id] ?? this.decoderOf(id);
      if (at >= end) throw new BytesFault('truncated input');
      let tag = bytes[at++];
      if (tag >= 0x80) ({ value: tag, at } = longVarint(bytes, at - 1, end));
      const stop = tag === 0 ? at : at + tag - 1;
      if (stop > end) throw new BytesFault('truncated input');
      bodies.append(decoder, tag, bytes, at, stop);
      at = stop;
      this.length = ++rows;
      this.count++;
    }
    return at;
  }
  private decoderOf(id: number): Decoder {
    const type: Type = this.types.lookUp(id), decoder = this.root.decoderOf(type);
    this.decoders[id] = decoder;
    return decoder;
  }

  /** The rows so far, without half a row that a fault left behind. */
  takeWhole(): Vector | undefined {
    this.root.cutTo(this.length);
    return this.take();
  }
  /** The rows so far as a batch, if there are any. */
  take(): Vector | undefined {
    if (this.length === 0) return undefined;
    const batch = this.root.take();
    this.length = 0;
    this.bytes = 0;
    this.bodies.cells = 0;
    if (this.census.columns > columnsMax) {
      this.census = { columns: 0 };
      this.root = new Column({ exact: false }, this.census);
      this.decoders = [];
    }
    return batch;
  }
}

const longVarint = (bytes: Uint8Array, start: number, end: number): { readonly value: number; readonly at: number } => {
  let value = 0, scale = 1;
  for (let at = start; at < end && scale <= 2 ** 42; at++) {
    value += (bytes[at] & 0x7f) * scale;
    if (bytes[at] < 0x80) return { value, at: at + 1 };
    scale *= 128;
  }
  throw new BytesFault('truncated input');
};
