/**
 * Rows of frames on their way to batches.
 *
 * Invariants:
 * - Rows that wait for more are in bytes of our own: a frame's are gone with the next frame.
 * - A row at fault costs the rows behind it, none before it.
 */
import type { Type } from '../../vectors/type.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { ReadLimits } from '../format.types.ts';
import { BytesFault, Cursor } from '../columns/type-bytes.ts';
import { extentOf } from '../../vectors/type-limits.ts';
import { tagBytes } from './decode-leaves.ts';
import { type Rows, decodeRows, tooManyCells } from './decode.ts';
import type { Frame } from './frames.ts';
import { ReadTypes } from './type-context.ts';

/** A batch ends when it holds this much, however few rows that are: bytes, values of the columns, columns. */
const batchBytesMax = 16 << 20;
const batchCellsMax = 2_000_000;
const batchColumnsMax = 20_000;
/**
 * What is left over of a frame that gave a batch is one, too, if it has this part of a batch's rows; less than that
 * waits for the next frame.
 */
const restPart = 8;
/** Room behind the rows that wait: they are read by words. */
const slack = 16;

/** What is wrong with the bytes that begin at `offset` of the stream. */
export class PlacedFault extends BytesFault {
  readonly offset: number;
  constructor(text: string, offset: number) {
    super(text);
    this.offset = offset;
  }
}

/** A type of the segment. `code`: its place among the types of the batch with that number. */
interface KnownType {
  readonly type: Type;
  readonly nodes: number;
  batch: number;
  code: number;
}
/** Rows from `row` on are of the frame at `offset` of the stream. */
interface FrameRows {
  readonly row: number;
  readonly offset: number;
}

/** Gathers the rows of values frames and gives them as batches. */
export class Batches {
  /** Rows of the batches given out. */
  count = 0;
  private readonly limits: ReadLimits;
  private types: ReadTypes;
  /** By the type's number in the segment. */
  private known: (KnownType | undefined)[] = [];

  // The batch in the making.
  private batch = 0;
  private length = 0;
  private at = new Uint32Array(256);
  private codes = new Uint32Array(256);
  private table: Type[] = [];
  private frames: FrameRows[] = [];
  private size = 0;
  private cells = 0;
  private columns = 0;
  /** Rows of earlier frames, and how many bytes they are. */
  private kept = new Uint8Array(0);
  private keptSize = 0;
  /** Where the last whole row that was found ends. */
  private stop = 0;

  constructor(limits: ReadLimits) {
    this.limits = limits;
    this.types = new ReadTypes(limits.nestingMax);
  }

  endSegment(): void {
    this.types = new ReadTypes(this.limits.nestingMax);
    this.known = [];
  }
  define(frame: Frame): void {
    this.types.define(new Cursor(frame.bytes, frame.start, frame.end, 'truncated input'));
  }

  /** Reads the values of the frame at `offset`; batches that become full are given out. */
  *read({ bytes, start, end }: Frame, offset: number): Generator<Vector> {
    let given = false;
    for (let at = start; at < end; ) {
      const first = this.length;
      const from = at;
      this.frames.push({ row: first, offset });
      try {
        this.find(bytes, at, end);
      } catch (problem) {
        this.keep(bytes, from, first);
        throw problem;
      }
      at = this.stop;
      if (first > 0) this.keep(bytes, from, first);
      if (this.isFull() || (given && this.length >= this.limits.batchRows / restPart)) {
        given ||= first === 0;
        yield* this.take(first > 0 ? this.kept : bytes);
      } else if (first === 0) this.keep(bytes, from, first);
    }
  }
  /** The rows so far, if there are any. */
  *rest(): Generator<Vector> {
    if (this.length > 0) yield* this.take(this.kept);
  }

  private isFull(): boolean {
    return (
      this.length >= this.limits.batchRows ||
      this.size >= batchBytesMax ||
      this.cells >= batchCellsMax ||
      this.columns > batchColumnsMax
    );
  }

  /** Finds rows until the batch is full or the frame ends. @throws BytesFault */
  private find(bytes: Uint8Array, start: number, end: number): void {
    const { batchRows } = this.limits;
    const bytesStop = start + batchBytesMax - this.size;
    this.stop = start;
    for (let at = start; at < end; at = this.stop) {
      if (this.length >= batchRows || at >= bytesStop || this.cells >= batchCellsMax || this.columns > batchColumnsMax)
        return;
      const id = bytes[at] < 0x80 ? bytes[at] : varintAt(bytes, at, end);
      const type = this.known[id] ?? this.know(id);
      if (type.batch !== this.batch) this.enter(type);
      const place = at + (id < 0x80 ? 1 : tagBytes(bytes, at));
      if (place >= end) throw truncated();
      const tag = bytes[place];
      const stop =
        place + (tag === 0 ? 1 : tag < 0x80 ? tag : tagBytes(bytes, place) - 1 + varintAt(bytes, place, end));
      if (stop > end) throw truncated();
      if (this.length === this.at.length) this.grow();
      this.at[this.length] = place;
      this.codes[this.length++] = type.code;
      this.cells += type.nodes;
      this.size += stop - at;
      this.stop = stop;
    }
  }
  private know(id: number): KnownType {
    const type = this.types.lookUp(id);
    return (this.known[id] = { type, nodes: extentOf(type).nodes, batch: -1, code: 0 });
  }
  /** The batch has its first row of that type. */
  private enter(type: KnownType): void {
    type.batch = this.batch;
    type.code = this.table.push(type.type) - 1;
    this.columns += type.nodes;
  }
  private grow(): void {
    const at = new Uint32Array(this.length * 2);
    const codes = new Uint32Array(this.length * 2);
    at.set(this.at);
    codes.set(this.codes);
    this.at = at;
    this.codes = codes;
  }

  /** Takes the bytes of the rows from `first` on, which begin at `from`, to those that are kept. */
  private keep(bytes: Uint8Array, from: number, first: number): void {
    const size = this.stop - from;
    const end = this.keptSize + size;
    if (end + slack > this.kept.length) {
      const grown = new Uint8Array(Math.max(end + slack, Math.min(this.kept.length * 2, batchBytesMax)));
      grown.set(this.kept.subarray(0, this.keptSize));
      this.kept = grown;
    }
    this.kept.set(bytes.subarray(from, this.stop), this.keptSize);
    for (let i = first; i < this.length; i++) this.at[i] += this.keptSize - from;
    this.keptSize = end;
  }

  /** Gives the rows out, which are in these bytes, and begins again. */
  private *take(bytes: Uint8Array): Generator<Vector> {
    const { length, at, codes, table, frames } = this;
    this.length = this.size = this.cells = this.columns = this.keptSize = 0;
    this.batch++;
    this.table = [];
    this.frames = [];
    yield* this.decoded(bytes, { at, codes, types: table, length }, frames);
  }

  /** In halves, if the rows are too much at once or one of them is at fault. */
  private *decoded(bytes: Uint8Array, rows: Rows, frames: readonly FrameRows[]): Generator<Vector> {
    const { length } = rows;
    let vector;
    try {
      vector = decodeRows(bytes, rows, this.limits.nestingMax);
    } catch (problem) {
      if (problem !== tooManyCells && !(problem instanceof BytesFault)) throw problem;
      if (length === 1 && problem instanceof BytesFault)
        throw new PlacedFault(problem.message, frames.findLast((f) => f.row <= 0)?.offset ?? 0);
      const half = length >> 1;
      const rest = {
        at: rows.at.subarray(half),
        codes: rows.codes.subarray(half),
        types: rows.types,
        length: length - half,
      };
      yield* this.decoded(bytes, { ...rows, length: half }, frames);
      yield* this.decoded(
        bytes,
        rest,
        frames.map((f) => ({ ...f, row: f.row - half })),
      );
      return;
    }
    this.count += length;
    yield vector;
  }
}

const truncated = (): BytesFault => new BytesFault('truncated input');

/** The number of a type, or a tag, that takes more than one byte. */
const varintAt = (bytes: Uint8Array, start: number, end: number): number => {
  let n = 0;
  let scale = 1;
  for (let at = start; at < end && scale <= 2 ** 42; at++) {
    n += (bytes[at] & 0x7f) * scale;
    if (bytes[at] < 0x80) return n;
    scale *= 128;
  }
  throw truncated();
};
