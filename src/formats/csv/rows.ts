/**
 * Rows of cells between delimiters, straight from bytes. A row is scanned to its end before its cells go to the
 * builders, so that a row that the window cuts leaves no trace.
 *
 * Quotes: where a cell has any, they toggle quoting wherever they stand, two within quotes are one, and none is kept;
 * so stray quotes vanish as in the reference. White space before a cell goes, between tabs only before a cell with
 * quotes; what is within quotes stays as it is, line breaks too (the reference drops the white space that a quoted cell
 * begins with, and the carriage returns before line breaks in it). Blank lines are skipped; a carriage return before
 * the line break that ends a row belongs to it.
 */
import { LakeError } from '../../errors.ts';
import { Builder, type Shape, partsMade, shapeOf } from '../../vectors/builder.ts';
import { componentsMax } from '../../vectors/type.ts';
import { packVectors } from '../../vectors/transfer.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import {
  type BlockHelper,
  type BlockParser,
  type Progress,
  blockBytesMax,
  blockPartsMax,
  lineCut,
  readBlocks,
  sequentialBytes,
} from '../blocks.ts';
import { ByteWindow } from '../byte-window.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { textOf } from '../text-cell.ts';
import { appendCell, appendSpacedCell } from './cells.ts';
import { behindSpaces, isSpaceStart } from './spaces.ts';

interface Dialect {
  readonly format: 'csv' | 'tsv';
  readonly delimiter: string;
}
/** Rows and lines before the input; the columns, if the header was read. */
interface Start {
  readonly values: number;
  readonly lines: number;
  readonly offset: number;
  readonly shape?: Shape;
}

/** Batches of the rows; long inputs are read in blocks, if there is help. */
export async function* readDelimited(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  dialect: Dialect,
  linesBefore = 0,
): AsyncGenerator<Vector> {
  const start = { values: 0, lines: 1 + linesBefore, offset: 0 };
  const stopped = yield* readInSequence(input, options, dialect, start, options.helper);
  if (!stopped) return;
  const { progress, rest, helper, shape } = stopped;
  const wrong = yield* readBlocks(
    rest,
    progress,
    { parser: delimitedBlocks({ ...dialect, names: shape.names }), cut: unquotedCut, copied: options.copied },
    helper,
  );
  if (wrong) yield* readInSequence(wrong.rest, options, dialect, { ...wrong, shape }, undefined);
}

interface Handover {
  readonly progress: Progress;
  readonly rest: AsyncIterable<Uint8Array>;
  readonly helper: BlockHelper;
  readonly shape: Shape;
}

/** Reads to the end; or, if there is a helper, until the input has proved long. */
async function* readInSequence(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  dialect: Dialect,
  { values, lines, offset, shape: known }: Start,
  help: ReadOptions['helper'],
): AsyncGenerator<Vector, Handover | undefined> {
  const limits = readLimits(options);
  const window = new ByteWindow(input, { format: dialect.format, valueBytesMax: limits.valueBytesMax, offset });
  const row = new RowScanner(dialect.delimiter);
  const rows = new Rows();
  const batches = new Batches(limits.batchRows);
  row.nextLine = lines;
  let shape = known;
  let handed = false;
  let alone = !help || limits.valueBytesMax < blockBytesMax;
  const broken = (fault: string): LakeError =>
    new LakeError('format-broken', { format: dialect.format, fault, place: '', values: values + batches.rows });
  try {
    while (await window.more()) {
      for (;;) {
        const state = row.next(window);
        if (state === 'cut' || state === 'none') break;
        if (state === 'open') throw broken(`record on line ${row.line}: quote not closed`);
        if (options.strictQuotes && row.hasStrayQuote())
          throw broken(
            `record on line ${row.line}: a quote within a cell: put the cell in quotes, and write each quote within it twice`,
          );
        if (!shape) {
          shape = headerOf(row, broken);
          continue;
        }
        if (row.length !== shape.names.length) throw broken(`record on line ${row.line}: wrong number of fields`);
        rows.append(row, shape, batches.begin());
        batches.end(row.size);
        if (batches.isFull) yield batches.take();
      }
      const count = values + batches.rows;
      if (alone || !shape || count === 0 || window.final || window.offset + window.start < sequentialBytes) continue;
      alone = true;
      const helper = await help?.({ ...dialect, names: shape.names });
      if (!helper) continue;
      handed = true;
      if (!batches.isEmpty) yield batches.take();
      return {
        progress: { values: count, lines: row.nextLine, offset: window.offset + window.start, lineStart: 0 },
        rest: window.rest(),
        helper,
        shape,
      };
    }
    if (values + batches.rows === 0) throw broken(`empty ${dialect.format} file`);
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    throw problem;
  } finally {
    if (!handed) await window.close();
  }
  if (!batches.isEmpty) yield batches.take();
  return undefined;
}

/** Cuts behind the last line break that is not within quotes: each quote toggles, wherever it stands. */
const unquotedCut = (bytes: Uint8Array, length: number): number => {
  const first = bytes.indexOf(0x22);
  if (first < 0 || first >= length) return lineCut(bytes, length);
  let last = first === 0 ? 0 : lineCut(bytes, first);
  let inside = false;
  for (let i = first; i < length; i++) {
    const c = bytes[i]!;
    if (c === 0x22) inside = !inside;
    else if (c === 0x0a && !inside) last = i + 1;
  }
  return last;
};

/** After so many blocks the storage is made again: what only some of them needed goes. */
const blocksPerBuilder = 64;

/** Reads blocks of whole rows behind the header. */
export const delimitedBlocks = ({
  delimiter,
  names,
}: {
  readonly delimiter: string;
  readonly names: readonly string[];
}): BlockParser => {
  const row = new RowScanner(delimiter);
  const shape = shapeOf(names.map((name) => ({ name })));
  const rows = new Rows();
  let builder = new Builder();
  let blocks = 0;
  let parts = 0;
  const anew = (): undefined => {
    builder = new Builder();
    parts = 0;
    return undefined;
  };
  return (bytes, length) => {
    const window = { bytes, start: 0, end: length, final: false };
    if (++blocks % blocksPerBuilder === 0 || parts > blockPartsMax) anew();
    const mark = partsMade();
    row.nextLine = 0;
    for (;;) {
      const state = row.next(window);
      if (state === 'none') break;
      if (state !== 'row' || row.length !== names.length) return anew();
      rows.append(row, shape, builder);
      if (partsMade() - mark > blockPartsMax) return anew();
    }
    parts += partsMade() - mark;
    const { length: count } = builder;
    return {
      batches: builder.lend((v) => packVectors(count > 0 ? [v] : [])),
      rows: count,
      lines: row.nextLine,
      tail: 0,
    };
  };
};

const headerOf = (row: RowScanner, broken: (fault: string) => LakeError): Shape => {
  const names: string[] = [];
  const seen = new Set<string>();
  if (row.length > componentsMax) throw broken(`line ${row.line}: more than ${componentsMax} columns`);
  for (let i = 0; i < row.length; i++) {
    const { bytes, start, end } = row.cell(i);
    const name = textOf(bytes, start, end);
    if (seen.has(name)) throw broken(`duplicate field: "${name}"`);
    seen.add(name);
    names.push(name);
  }
  return shapeOf(names.map((name) => ({ name })));
};

/** Appends rows of one shape. */
class Rows {
  private builder: Builder | undefined;
  private tag = -1;

  append(row: RowScanner, shape: Shape, builder: Builder): void {
    if (this.builder !== builder) {
      this.builder = builder;
      this.tag = builder.recordTag(shape);
    }
    const record = builder.beginRecord(this.tag);
    const { fields } = record;
    for (let i = 0; i < fields.length; i++) {
      if (row.plain) appendCell(fields[i]!, row.bytes, row.starts[i]!, row.ends[i]!);
      else {
        const { bytes, start, end } = row.cell(i);
        if (row.isQuoted(i) && isSpaceStart(bytes[start]!)) appendSpacedCell(fields[i]!, bytes, start, end);
        else appendCell(fields[i]!, bytes, start, end);
      }
    }
    record.end();
  }
}

/** The part of a `ByteWindow` that is looked at. */
type RowWindow = Pick<ByteWindow, 'bytes' | 'start' | 'end' | 'final'>;

/** The cells of one row of the window. */
class RowScanner {
  bytes: Uint8Array = new Uint8Array(1);
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  quoted = new Uint8Array(64);
  length = 0;
  /** No cell of the row has a quote. */
  plain = true;
  /** Bytes of the row. */
  size = 0;
  /** Line on which the row begins. */
  line = 0;
  /** Line that the next row begins on. */
  nextLine = 1;
  /** The delimiter's first byte, and how many it has. */
  private readonly delimiter: number;
  private readonly width: number;
  private readonly delimiterBytes: Uint8Array;
  constructor(delimiter: string) {
    this.delimiterBytes = Buffer.from(delimiter);
    this.delimiter = this.delimiterBytes[0]!;
    this.width = this.delimiterBytes.length;
  }

  /** Scans the next row that is not blank and moves the window behind it. 'open': the input ends within quotes. */
  next(window: RowWindow): 'row' | 'none' | 'cut' | 'open' {
    this.bytes = window.bytes;
    for (;;) {
      if (window.start >= window.end) return 'none';
      const lines = this.nextLine;
      const start = window.start;
      const end = this.scan(window);
      this.line = lines;
      this.size = end - start;
      if (end < 0) {
        if (!window.final) {
          this.nextLine = lines;
          return 'cut';
        }
        return 'open';
      }
      window.start = end;
      if (this.length > 1 || this.quoted[0] === 1 || !this.isBlankLine()) return 'row';
    }
  }

  private isBlankLine(): boolean {
    let at = this.starts[0]!;
    while (at < this.ends[0]! && isBlank(this.bytes[at]!, this.delimiter)) at++;
    return at === this.ends[0]!;
  }

  /** Whether cell `i` has quotes. */
  isQuoted(i: number): boolean {
    return this.quoted[i] === 1;
  }

  /** Whether a cell has quotes that neither begin nor end it, nor come in twos within it. */
  hasStrayQuote(): boolean {
    for (let i = 0; i < this.length; i++) {
      const end = this.ends[i]!;
      const start = behindSpaces(this.bytes, this.starts[i]!, end);
      if (this.isQuoted(i) && (this.bytes[start] !== 0x22 || this.closing(start, end) !== end - 1)) return true;
    }
    return false;
  }

  /** The bytes of cell `i` with its quotes undone. */
  cell(i: number): { readonly bytes: Uint8Array; readonly start: number; readonly end: number } {
    const start = this.starts[i]!;
    const end = this.ends[i]!;
    if (this.quoted[i] === 0) return { bytes: this.bytes, start, end };
    const out = new Uint8Array(end - start);
    let length = 0;
    let inside = false;
    for (let k = behindSpaces(this.bytes, start, end); k < end; k++) {
      const c = this.bytes[k]!;
      if (c !== 0x22) out[length++] = c;
      else if (inside && this.bytes[k + 1] === 0x22 && k + 1 < end) {
        out[length++] = c;
        k++;
      } else inside = !inside;
    }
    return { bytes: out, start: 0, end: length };
  }

  /** Behind the row's line break, or -1 if the window ends before. */
  private scan(window: RowWindow): number {
    const { bytes, delimiter, width } = this;
    const { end } = window;
    const trims = delimiter !== 0x09;
    let i = window.start;
    this.length = 0;
    this.plain = true;
    for (;;) {
      if (trims && isSpaceStart(bytes[i]!)) i = behindSpaces(bytes, i, end, delimiter);
      const start = i;
      let quotes = 0;
      let c = bytes[i]!;
      for (; i < end && (c !== delimiter || (width > 1 && !this.isDelimited(i, end))) && c !== 0x0a; c = bytes[++i]!) {
        if (c !== 0x22) continue;
        quotes = 1;
        i = this.closing(i, end);
        if (i < 0) return -1;
      }
      if (i >= end && !window.final) return -1;
      const last = i >= end || c === 0x0a;
      this.push(start, last && i > start && bytes[i - 1] === 0x0d ? i - 1 : i, quotes);
      if (last) {
        this.nextLine++;
        return Math.min(i + 1, end);
      }
      i += width;
    }
  }
  /**
   * Whether a delimiter of several bytes begins at `i`. One that the window cuts is none yet: its row is scanned again
   * with more.
   */
  private isDelimited(i: number, end: number): boolean {
    if (i + this.width > end) return false;
    for (let k = 1; k < this.width; k++) if (this.bytes[i + k] !== this.delimiterBytes[k]) return false;
    return true;
  }
  /** Place of the quote that closes the one at `i`, or -1. Breaks within quotes are lines too. */
  private closing(i: number, end: number): number {
    const { bytes } = this;
    for (let k = i + 1; k < end; k++) {
      const c = bytes[k]!;
      if (c === 0x0a) this.nextLine++;
      else if (c === 0x22) {
        if (bytes[k + 1] !== 0x22) return k;
        k++;
      }
    }
    return -1;
  }
  private push(start: number, end: number, quoted: number): void {
    if (this.length === this.starts.length) {
      const { starts, ends, quoted: old } = this;
      const size = this.length * 2;
      (this.starts = new Int32Array(size)).set(starts);
      (this.ends = new Int32Array(size)).set(ends);
      (this.quoted = new Uint8Array(size)).set(old);
    }
    this.starts[this.length] = start;
    this.ends[this.length] = end;
    this.quoted[this.length++] = quoted;
    if (quoted) this.plain = false;
  }
}

/** White space within a line that is not the delimiter. */
const isBlank = (c: number, delimiter: number): boolean =>
  (c === 0x20 || c === 0x09 || c === 0x0b || c === 0x0c) && c !== delimiter;
