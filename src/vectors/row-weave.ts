/**
 * Rows of records as text, woven from their columns: what stands before a value, then the value, strand by strand. The
 * loop over the strands is one for all shapes, and most values are copied as they lie in their columns.
 *
 * Invariant: the text is that of the style's own printer; a strand is only a quicker way to it.
 */
import { TextOut, bytesOfText } from './texts/out.ts';
import { types } from './type.ts';
import type { BytesVector, Vector } from './vector.ts';

/** Prints one row. */
export type RowPrinter = (row: number) => void;

/** How a format prints values. */
export interface WeaveStyle {
  /** Around strings. */
  readonly quote: string;
  /** No byte of the vector's strings has to be printed in another way. */
  readonly isClean: (v: BytesVector) => boolean;
  /** A printer of the vector's rows, whatever they are. */
  readonly printer: (v: Vector, out: TextOut) => RowPrinter;
  /** Texts of dictionaries, as long as the writer lives. */
  readonly tables: WeakMap<Vector, Map<string, TextTable>>;
}

/** Texts one behind the other: row i is bytes[offsets[i], offsets[i + 1]). */
interface TextTable {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
}

const kinds = { runs: 0, integers: 1, printed: 2, nothing: 3 } as const;
type Kind = (typeof kinds)[keyof typeof kinds];
const noOffsets = new Uint32Array(0);
const noNumbers = new Float64Array(0);
const noPrinter = (): void => undefined;
const noBytes = new Uint8Array(0);
const noView = new DataView(noBytes.buffer);

/** One column of a record's rows: text before each value, and where the values are. */
interface Strand {
  readonly kind: Kind;
  readonly head: string;
  /** What follows each value. */
  readonly tail?: string;
  readonly runs?: TextTable;
  readonly numbers?: Float64Array;
  readonly print?: RowPrinter;
  /** The row of the values of each row; absent: the same. */
  readonly codes?: Uint32Array;
  /** 0: the field is absent in that row, and nothing is printed, not even its head. */
  present?: Uint8Array | undefined;
}

/** The strand of a column with `head` before each value. `rows`: how many will be printed, about. */
export const strandOf = (head: string, v: Vector, style: WeaveStyle, out: TextOut, rows: number): Strand => {
  switch (v.form) {
    case 'bytes':
      if (v.type === types.string && v.length <= rows * 4 && style.isClean(v))
        return { kind: kinds.runs, head: head + style.quote, tail: style.quote, runs: v };
      break;
    case 'number':
      if (v.type === types.int64 && v.values instanceof Float64Array)
        return { kind: kinds.integers, head, numbers: v.values };
      break;
    case 'constant':
      if (!isScalar(v.inner)) break;
      return { kind: kinds.nothing, head: head + textOfRow(v.inner, style) };
    case 'dictionary': {
      const { values, codes } = v;
      const known = style.tables.get(values)?.get(head);
      if (!known && (values.length > rows * 2 || !isScalar(values))) break;
      return { kind: kinds.runs, head: '', runs: known ?? tableOf(head, values, style), codes };
    }
  }
  return printedStrand(head, style.printer(v, out));
};
/** The text of a row does not depend on what was printed before it. */
const isScalar = (v: Vector): boolean =>
  v.form === 'bytes' || v.form === 'number' || v.form === 'bool' || v.form === 'null';

/** Anything that prints itself behind its head. */
export const printedStrand = (head: string, print: RowPrinter): Strand => ({ kind: kinds.printed, head, print });

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const textOfRow = (v: Vector, style: WeaveStyle): string => {
  const out = new TextOut();
  style.printer(v, out)(0);
  return decoder.decode(out.take());
};
/** The texts of a dictionary's values with their head. */
const tableOf = (head: string, values: Vector, style: WeaveStyle): TextTable => {
  const out = new TextOut();
  const offsets = new Uint32Array(values.length + 1);
  const print = style.printer(values, out);
  const before = bytesOfText(head);
  for (let i = 0; i < values.length; i++) {
    out.raw(before);
    print(i);
    offsets[i + 1] = out.length;
  }
  const table = { bytes: out.take(), offsets };
  let tables = style.tables.get(values);
  if (!tables) style.tables.set(values, (tables = new Map<string, TextTable>()));
  tables.set(head, table);
  return table;
};

/**
 * A printer of rows woven from the strands, with text before and after each row. What is the same in all rows becomes
 * one piece.
 */
export const weavePrinter = (before: string, strands: readonly Strand[], after: string, out: TextOut): RowPrinter => {
  const threads: Thread[] = [];
  let fixed = before;
  for (const strand of strands) {
    const { kind, head, tail = '', present } = strand;
    if (!present && kind === kinds.nothing) {
      fixed += head;
      continue;
    }
    if (present && fixed !== '') {
      threads.push(new Thread(fixed, { kind: kinds.nothing, head: '' }));
      fixed = '';
    }
    threads.push(new Thread(fixed + head, strand));
    // What may be absent keeps its tail to itself.
    if (present && tail !== '') threads.push(new Thread(tail, { kind: kinds.nothing, head: '', present }));
    fixed = present ? '' : tail;
  }
  if (fixed + after !== '') threads.push(new Thread(fixed + after, { kind: kinds.nothing, head: '' }));
  return (row) => printThreads(threads, out, row);
};

/** A strand as the loop takes it. */
class Thread {
  readonly kind: Kind;
  /** What stands before each value, and blanks up to a whole number of strides. */
  readonly headView: DataView;
  readonly headSize: number;
  readonly codes: Uint32Array | undefined;
  readonly present: Uint8Array | undefined;
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly numbers: Float64Array;
  readonly print: RowPrinter;

  constructor(head: string, { kind, codes, present, runs, numbers, print }: Strand) {
    const { view, size } = knownHead(head);
    this.kind = kind;
    this.headView = view;
    this.headSize = size;
    this.codes = codes;
    this.present = present;
    this.offsets = runs?.offsets ?? noOffsets;
    this.bytes = runs?.bytes ?? noBytes;
    this.view = runs ? new DataView(runs.bytes.buffer, runs.bytes.byteOffset, runs.bytes.byteLength) : noView;
    this.numbers = numbers ?? noNumbers;
    this.print = print ?? noPrinter;
  }
}

/** What stands before values. */
interface Head {
  readonly view: DataView;
  readonly size: number;
}
const headsMax = 4096;
const heads = new Map<string, Head>();
/** Names of fields come again with every batch. */
const knownHead = (text: string): Head => {
  let head = heads.get(text);
  if (!head) {
    if (heads.size >= headsMax) heads.clear();
    const bytes = bytesOfText(text);
    const padded = new Uint8Array(Math.ceil(bytes.length / stride) * stride);
    padded.set(bytes);
    heads.set(text, (head = { view: new DataView(padded.buffer), size: bytes.length }));
  }
  return head;
};

/** Longer runs go through the engine's copy, which has a price per call. */
const longRun = 128;
/**
 * Bytes that one step copies: most heads and values have no more, and how many they have is hard to guess. They go as
 * floats of eight bytes, which the engine moves as they are; no eight bytes of UTF-8 are a NaN.
 */
const stride = 16;
/** Room behind a head or a run: for what is copied too much, a quote, a number. */
const slack = 48;

const printThreads = (threads: readonly Thread[], out: TextOut, row: number): void => {
  let { bytes, view, length: to } = out;
  let room = bytes.length - slack;
  for (let k = 0; k < threads.length; k++) {
    const thread = threads[k]!;
    const { present, headView, headSize, codes, kind } = thread;
    if (present !== undefined && present[row] === 0) continue;
    if (to + headSize > room) {
      out.length = to;
      out.reserve(headSize + slack);
      ({ bytes, view } = out);
      room = bytes.length - slack;
    }
    // With what is behind it: that is printed over by what comes next.
    for (let i = 0; i < headSize; i += stride) {
      view.setFloat64(to + i, headView.getFloat64(i, true), true);
      view.setFloat64(to + i + 8, headView.getFloat64(i + 8, true), true);
    }
    to += headSize;
    if (kind === kinds.runs) {
      const { offsets, view: source } = thread;
      const r = codes === undefined ? row : codes[row]!;
      const from = offsets[r]!;
      const size = offsets[r + 1]! - from;
      if (to + size > room) {
        out.length = to;
        out.reserve(size + slack);
        ({ bytes, view } = out);
        room = bytes.length - slack;
      }
      if (size > longRun || from + size + stride > source.byteLength)
        bytes.set(thread.bytes.subarray(from, from + size), to);
      else {
        view.setFloat64(to, source.getFloat64(from, true), true);
        view.setFloat64(to + 8, source.getFloat64(from + 8, true), true);
        for (let i = stride; i < size; i += stride) {
          view.setFloat64(to + i, source.getFloat64(from + i, true), true);
          view.setFloat64(to + i + 8, source.getFloat64(from + i + 8, true), true);
        }
      }
      to += size;
    } else if (kind !== kinds.nothing) {
      out.length = to;
      if (kind === kinds.integers) out.integer(thread.numbers[codes === undefined ? row : codes[row]!]!);
      else thread.print(row);
      ({ bytes, view, length: to } = out);
      room = bytes.length - slack;
    }
  }
  out.length = to;
};

/** Whether bytes [start, end) have none that is below a blank, `"`, `\`, DEL or no ASCII. */
export const isPlainAscii = (bytes: Uint8Array, start: number, end: number): boolean => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = start;
  while (at + 4 <= end) {
    // The flags of many words together are looked at once.
    let flags = 0;
    for (const stop = Math.min(end - 3, at + 256); at < stop; at += 4) {
      const word = view.getInt32(at, true);
      flags |=
        word |
        (word + 0x01010101) |
        (word - 0x20202020) |
        ((word ^ 0x22222222) - 0x01010101) |
        ((word ^ 0x5c5c5c5c) - 0x01010101);
    }
    if ((flags & 0x80808080) !== 0) return false;
  }
  for (; at < end; at++) {
    const b = bytes[at]!;
    if (b < 0x20 || b >= 0x7f || b === 0x22 || b === 0x5c) return false;
  }
  return true;
};

/** Remembers of each vector whether it is clean: batches of one block share theirs. */
export const cleanliness = (
  isClean: (bytes: Uint8Array, start: number, end: number) => boolean,
): ((v: BytesVector) => boolean) => {
  const known = new WeakMap<BytesVector, boolean>();
  return (v) => {
    let clean = known.get(v);
    if (clean === undefined)
      known.set(v, (clean = v.length === 0 || isClean(v.bytes, v.offsets[0]!, v.offsets[v.length]!)));
    return clean;
  };
};
