/**
 * Rows of numbers and texts by partition, as they lie in memory: for each row its words, which are the bits of numbers
 * and the lengths of texts, and the bytes of each column of texts. Many rows at a time are put in order of their
 * partitions, held, and written to a file in one piece when there is no more room. To put batches together, gather,
 * encode, write and read each of 30,000,000 rows of ids took as long as to group them.
 *
 * Invariants:
 * - Rows that are put in order together have the same columns: names, types, and how numbers are held.
 * - Rows of a partition are read in the order in which they came.
 */
import { charge } from '../../../vectors/stop.ts';
import { copyRun, viewOf } from '../../../vectors/texts/byte-runs.ts';
import type { PrimitiveType, UnionType } from '../../../vectors/type.ts';
import { onlyMember, unionOfOne } from '../../../vectors/unions.ts';
import {
  type BytesVector,
  type NumberArray,
  type NumberVector,
  type Vector,
  emptyVector,
  flatten,
  numbers,
  typeAt,
} from '../../../vectors/vector.ts';
import { wordsOf } from '../../aggregates/grouping/number-table.ts';
import type { SpillBytes } from '../../spill-bytes.ts';
import type { Memory } from '../build.ts';
import { field, record } from './records.ts';

const what = 'rows that are spilled';
const wordBytes = Uint32Array.BYTES_PER_ELEMENT;
/** Bytes of rows that are put in order together: a part of the budget, within these bounds. */
const togetherPart = 1 / 32;
const togetherMin = 1 << 16;
const togetherMax = 4 << 20;
/** Of the budget, what is held before it is written. */
const heldPart = 0.2;
const textBytesMin = 1 << 12;
/** Frames with fewer rows of a partition are read together, but for long texts. */
const readRowsMin = 2048;
const readTextMin = 1 << 18;

type NumberKind = 'float' | 'signed' | 'unsigned';
/** A column; `at`: where its words are in those of a row; `union`: the type of which the values are one member. */
interface Column {
  readonly name: string;
  readonly type: PrimitiveType;
  readonly kind: NumberKind | 'text';
  readonly union: UnionType | undefined;
  readonly at: number;
}
type PlainVector = NumberVector | BytesVector;
/** A batch as its columns. */
export interface PlainBatch {
  readonly length: number;
  readonly columns: readonly Column[];
  readonly values: readonly PlainVector[];
}

/** Undefined where a column is something else. */
export const plainBatch = (given: Vector): PlainBatch | undefined => {
  const batch = given.form === 'selected' ? flatten(given) : given;
  if (batch.form !== 'record' || batch.length === 0) return undefined;
  const columns: Column[] = [];
  const values: PlainVector[] = [];
  let at = 0;
  for (const { name, optional, present, values: column } of batch.fields) {
    const flat = flatten(column);
    const own = flat.form === 'union' ? onlyMember(flat) : flat;
    const plain = own && flatten(own);
    if (optional || present || (plain?.form !== 'number' && plain?.form !== 'bytes')) return undefined;
    const kind = plain.form === 'bytes' ? 'text' : kindOf(plain.values);
    columns.push({ name, type: plain.type, kind, union: flat.form === 'union' ? flat.type : undefined, at });
    values.push(plain);
    at += kind === 'text' ? 1 : 2;
  }
  return at === 0 ? undefined : { length: batch.length, columns, values };
};
const kindOf = (values: NumberArray): NumberKind => {
  if (values instanceof Float64Array) return 'float';
  return values instanceof BigInt64Array ? 'signed' : 'unsigned';
};

/** Bytes one behind the other. */
class TextBytes {
  bytes = new Uint8Array(textBytesMin);
  used = 0;
  /** The bytes of so many rows. */
  append({ bytes, offsets }: BytesVector, length: number): void {
    const size = offsets[length] - offsets[0];
    const wanted = this.used + size;
    if (wanted > this.bytes.length) {
      const wider = new Uint8Array(Math.max(wanted, this.bytes.length * 2));
      charge(wider.length, what);
      wider.set(this.bytes.subarray(0, this.used));
      this.bytes = wider;
    }
    this.bytes.set(bytes.subarray(offsets[0], offsets[length]), this.used);
    this.used = wanted;
  }
}

/**
 * Rows that were put in order together: those of partition p end before `ends[p]`, their bytes of a column of texts,
 * which is from byte `from` on, before its `ends[p]`.
 */
interface Frame {
  readonly columns: readonly Column[];
  readonly ends: Uint32Array;
  readonly texts: readonly { readonly from: number; readonly ends: Uint32Array }[];
  /** Held, or in the file from byte `at` on. */
  bytes: Uint8Array | undefined;
  at: number;
}

/** `rowsMax`: rows that are put in order together, at most; `open`: makes the file. */
interface PlainOptions {
  readonly parts: number;
  readonly rowsMax: number;
  readonly memory: Memory;
  readonly open: () => SpillBytes;
}

/** The rows of one partition in a frame. */
interface Piece {
  readonly frame: Frame;
  readonly length: number;
  readonly words: Uint32Array;
}

export class PlainRows {
  private readonly partsCount: number;
  private readonly rowsMax: number;
  private readonly memory: Memory;
  private readonly open: () => SpillBytes;
  private readonly bytesTogether: number;
  private columns: readonly Column[] = [];
  private width = 0;
  private rowsTogether = 0;
  private noted = 0;
  private words = new Uint32Array(0);
  private partOf = new Uint8Array(0);
  private texts: TextBytes[] = [];
  private readonly frames: Frame[] = [];
  private held = 0;
  private file: SpillBytes | undefined;
  private fileBytes = 0;
  constructor({ parts, rowsMax, memory, open }: PlainOptions) {
    this.partsCount = parts;
    this.rowsMax = rowsMax;
    this.memory = memory;
    this.open = open;
    this.bytesTogether = Math.min(togetherMax, Math.max(togetherMin, memory.max * togetherPart));
  }

  add({ length, columns, values }: PlainBatch, parts: Uint8Array): void {
    if (!areAlike(columns, this.columns)) this.change(columns);
    if (this.noted + length > this.rowsTogether) this.settle();
    if (length > this.partOf.length) this.reserve(length);
    const { width, noted, words } = this;
    let text = 0;
    for (const [k, v] of values.entries()) {
      const at = noted * width + this.columns[k].at;
      if (v.form === 'number') placeNumbers(words, at, width, v.values, length);
      else {
        placeLengths(words, at, width, v.offsets, length);
        this.texts[text++].append(v, length);
      }
    }
    this.partOf.set(parts.subarray(0, length), noted);
    this.noted += length;
    if (this.texts.some((t) => t.used > this.bytesTogether)) this.settle();
  }
  /** Rows of other columns come: those that were noted are put in order by themselves. */
  private change(columns: readonly Column[]): void {
    this.settle();
    this.columns = columns;
    const width = widthOf(columns);
    this.texts = columns.filter((c) => c.kind === 'text').map(() => new TextBytes());
    if (width === this.width) return;
    this.width = width;
    this.rowsTogether = Math.min(this.rowsMax, Math.floor(this.bytesTogether / (width * wordBytes)));
    this.reserve(this.rowsTogether);
  }
  private reserve(rows: number): void {
    charge(rows * (this.width * wordBytes + 1), what);
    this.words = new Uint32Array(rows * this.width);
    this.partOf = new Uint8Array(rows);
  }

  /** Puts what was noted in order, and writes what is held if there is no room for it. */
  settle(): void {
    const { noted, width, memory } = this;
    if (noted === 0) return;
    const size = noted * width * wordBytes + this.texts.reduce((n, t) => n + t.used, 0);
    charge(size, what);
    const bytes = new Uint8Array(size);
    const ends = this.orderWords(new Uint32Array(bytes.buffer, 0, noted * width));
    const texts: { from: number; ends: Uint32Array }[] = [];
    let from = noted * width * wordBytes;
    const columns = this.columns.filter((c) => c.kind === 'text');
    for (const [k, { used }] of this.texts.entries()) {
      texts.push({ from, ends: this.orderTexts(k, columns[k].at, bytes.subarray(from, from + used)) });
      from += used;
    }
    this.frames.push({ columns: this.columns, ends, texts, bytes, at: 0 });
    this.hold(size);
    this.noted = 0;
    for (const t of this.texts) t.used = 0;
    if (this.held > memory.max * heldPart || memory.isOver) this.write();
  }
  private orderWords(to: Uint32Array): Uint32Array {
    const { partOf, noted, words, width } = this;
    const next = new Uint32Array(this.partsCount);
    for (let i = 0; i < noted; i++) next[partOf[i]]++;
    starts(next);
    for (let i = 0, at = 0; i < noted; i++) {
      let out = next[partOf[i]]++ * width;
      for (const end = at + width; at < end; at++) to[out++] = words[at];
    }
    return next;
  }
  private orderTexts(text: number, at: number, to: Uint8Array): Uint32Array {
    const { partOf, noted, words, width } = this;
    const { bytes } = this.texts[text];
    const [from, out] = [viewOf(bytes), viewOf(to)];
    const next = new Uint32Array(this.partsCount);
    for (let i = 0; i < noted; i++) next[partOf[i]] += words[i * width + at];
    starts(next);
    for (let i = 0, start = 0; i < noted; i++) {
      const length = words[i * width + at];
      if (length === 0) continue;
      const place = next[partOf[i]];
      copyRun(bytes, from, start, to, out, place, place + length);
      next[partOf[i]] = place + length;
      start += length;
    }
    return next;
  }
  private write(): void {
    const file = (this.file ??= this.open());
    for (const frame of this.frames) {
      if (!frame.bytes) continue;
      file.append(frame.bytes);
      frame.at = this.fileBytes;
      this.fileBytes += frame.bytes.length;
      frame.bytes = undefined;
    }
    this.hold(-this.held);
  }
  private hold(bytes: number): void {
    this.held += bytes;
    this.memory.add(bytes);
  }

  /** The rows of a partition: those of some frames at a time, where these have few. */
  *read(part: number): Generator<Vector> {
    let pieces: Piece[] = [];
    let rows = 0;
    for (const frame of this.frames) {
      const from = part === 0 ? 0 : frame.ends[part - 1];
      const length = frame.ends[part] - from;
      if (length === 0) continue;
      if (rows >= readRowsMin || (pieces[0] && !areAlike(pieces[0].frame.columns, frame.columns))) {
        yield this.rowsOf(pieces, part);
        pieces = [];
        rows = 0;
      }
      const width = widthOf(frame.columns) * wordBytes;
      const bytes = this.bytesOf(frame, from * width, length * width);
      pieces.push({ frame, length, words: new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / wordBytes) });
      rows += length;
      if (frame.texts.some(({ ends }) => ends[part] - (part === 0 ? 0 : ends[part - 1]) > readTextMin))
        rows = readRowsMin;
    }
    if (pieces.length > 0) yield this.rowsOf(pieces, part);
  }
  private rowsOf(pieces: readonly Piece[], part: number): Vector {
    const length = pieces.reduce((n, p) => n + p.length, 0);
    let text = 0;
    return record(
      pieces[0].frame.columns.map(({ name, type, kind, union, at }) => {
        let values: Vector;
        if (kind === 'text') {
          const k = text++;
          const runs = pieces.map(({ frame }) => {
            const { from, ends } = frame.texts[k];
            const start = part === 0 ? 0 : ends[part - 1];
            return this.bytesOf(frame, from + start, ends[part] - start);
          });
          values = { form: 'bytes', type, length, offsets: offsetsOf(pieces, at, length), bytes: joined(runs) };
        } else values = numbers(type, numbersOf(pieces, at, length, kind));
        return field(name, union ? unionOf(union, values) : values);
      }),
      length,
    );
  }
  private bytesOf({ bytes, at }: Frame, from: number, length: number): Uint8Array {
    return bytes ? bytes.subarray(from, from + length) : this.file!.read(at + from, length);
  }
  close(): void {
    this.file?.close();
    this.file = undefined;
    this.frames.length = 0;
    this.hold(-this.held);
  }
}

const widthOf = (columns: readonly Column[]): number =>
  columns.reduce((n, { kind }) => n + (kind === 'text' ? 1 : 2), 0);
const areAlike = (some: readonly Column[], others: readonly Column[]): boolean =>
  some.length === others.length &&
  some.every((a, k) => {
    const b = others[k];
    return a.name === b.name && a.type === b.type && a.kind === b.kind && a.union === b.union;
  });
/** Counts become where each begins. */
const starts = (counts: Uint32Array): void => {
  let sum = 0;
  for (let p = 0; p < counts.length; p++) {
    const count = counts[p];
    counts[p] = sum;
    sum += count;
  }
};
const placeNumbers = (to: Uint32Array, start: number, width: number, values: NumberArray, length: number): void => {
  const words = wordsOf(values);
  for (let i = 0, at = start; i < length; i++, at += width) {
    to[at] = words[2 * i];
    to[at + 1] = words[2 * i + 1];
  }
};
const placeLengths = (to: Uint32Array, start: number, width: number, offsets: Uint32Array, length: number): void => {
  for (let i = 0, at = start; i < length; i++, at += width) to[at] = offsets[i + 1] - offsets[i];
};
const numbersOf = (pieces: readonly Piece[], start: number, length: number, kind: NumberKind): NumberArray => {
  charge(length * 2 * wordBytes, what);
  const out = new Uint32Array(length * 2);
  let to = 0;
  for (const { words, frame } of pieces) {
    const width = widthOf(frame.columns);
    for (let at = start; at < words.length; at += width) {
      out[to++] = words[at];
      out[to++] = words[at + 1];
    }
  }
  if (kind === 'float') return new Float64Array(out.buffer);
  return kind === 'signed' ? new BigInt64Array(out.buffer) : new BigUint64Array(out.buffer);
};
const offsetsOf = (pieces: readonly Piece[], start: number, length: number): Uint32Array => {
  const offsets = new Uint32Array(length + 1);
  let to = 0;
  for (const { words, frame } of pieces) {
    const width = widthOf(frame.columns);
    for (let at = start; at < words.length; at += width, to++) offsets[to + 1] = offsets[to] + words[at];
  }
  return offsets;
};
const joined = (runs: readonly Uint8Array[]): Uint8Array => {
  if (runs.length === 1) return runs[0];
  const out = new Uint8Array(runs.reduce((n, run) => n + run.length, 0));
  charge(out.length, what);
  let at = 0;
  for (const run of runs) {
    out.set(run, at);
    at += run.length;
  }
  return out;
};
const unionOf = (type: UnionType, values: Vector): Vector =>
  unionOfOne(type, type.members.indexOf(typeAt(values, 0)), values, type.members.map(emptyVector));
