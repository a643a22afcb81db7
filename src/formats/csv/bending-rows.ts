/**
 * Rows of every dialect but the plain one, where faulty ones do not end the input. The rule is that of the plain one: a
 * row goes as a whole where its quotes are in order; else its first line goes, and the next row begins behind that.
 *
 * csv-parse ends at its first fault, and what it finds behind one is guessed. So it is given pieces that end with lines,
 * and a new one behind each fault of quotes.
 */
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { LakeError } from '../../errors.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import { ByteWindow } from '../byte-window.ts';
import { type Faults, isOverlong, rawBytes } from '../faults/faults.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { Columns, namesOf, placesOf } from './dialect-columns.ts';
import { type Dialect, faultOf, parserOptions } from './dialect-parser.ts';

/** Bytes that are parsed at once, unless a row is longer. */
const pieceBytesLeast = 256 << 10;

interface Row {
  readonly record: readonly string[];
  /** Its last line, and where it ends, in the piece. */
  readonly line: number;
  readonly end: number;
}

/** Batches of the rows; the first `skip` lines are gone. @throws LakeError `format-broken` for a header that is none */
export async function* readBending(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  { faults, ...dialect }: Dialect & { readonly faults: Faults },
): AsyncGenerator<Vector> {
  const { batchRows, valueBytesMax } = readLimits(options);
  const { isCut = false } = options;
  const { format } = dialect;
  const window = new ByteWindow(input, { format, valueBytesMax });
  const batches = new Batches(batchRows);
  const rows = new BendingRows(window, { dialect, faults, batches, valueBytesMax, isCut });
  const more = async (): Promise<boolean> => {
    try {
      return await window.more();
    } catch (problem) {
      if (!isOverlong(problem) || !rows.canLeaveOut()) throw problem;
      rows.leaveOut('quote not closed');
      return true;
    }
  };
  try {
    while (await more())
      while (rows.next()) {
        yield* rows.full();
        if (faults.isDue()) yield batches.take();
      }
    if (batches.rows === 0 && !faults.isAny)
      throw new LakeError('format-broken', { format, fault: `empty ${format} file`, place: '', values: 0 });
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    throw problem;
  } finally {
    await window.close();
  }
  if (!batches.isEmpty) yield batches.take();
}

class BendingRows {
  private readonly window: ByteWindow;
  private readonly dialect: Dialect;
  private readonly faults: Faults;
  private readonly batches: Batches;
  private readonly valueBytesMax: number;
  private readonly isCut: boolean;
  /** The last byte of a line. */
  private readonly lineEndByte: number;
  private readonly heads: (readonly string[])[] = [];
  private columns: Columns | undefined;
  /** What rows end with, as the first one shows. */
  private delimiter: Buffer | undefined;
  /** Line that the window begins with. */
  private line: number;
  private pieceBytes = pieceBytesLeast;
  /** Rows of the piece in work that are not taken yet. */
  private found: { readonly rows: readonly Row[]; readonly piece: Uint8Array; at: number } | undefined;

  constructor(
    window: ByteWindow,
    {
      dialect,
      faults,
      batches,
      valueBytesMax,
      isCut,
    }: {
      readonly dialect: Dialect;
      readonly faults: Faults;
      readonly batches: Batches;
      readonly valueBytesMax: number;
      readonly isCut: boolean;
    },
  ) {
    this.window = window;
    this.dialect = dialect;
    this.faults = faults;
    this.batches = batches;
    this.valueBytesMax = valueBytesMax;
    this.isCut = isCut;
    this.lineEndByte = dialect.lineEnd.charCodeAt(0);
    this.line = 1 + (dialect.dialect.skip ?? 0);
  }

  /** Parses a piece; false: the window has to grow first. Its rows come from `full`. */
  next(): boolean {
    const window = this.window;
    const { bytes, start } = window;
    const end = this.pieceEnd();
    if (end <= start) return false;
    const piece = bytes.subarray(start, end);
    const { rows, problem } = this.parsed(piece);
    const last = rows.at(-1);
    if (problem && !last) {
      const isOpen = problem.code === 'CSV_QUOTE_NOT_CLOSED';
      const isLast = window.final && end === window.end;
      // The input is a part, and ends amid a cell.
      if (isOpen && isLast && this.isCut) throw this.broken(this.line, faultOf(problem), true);
      if (!isOpen || isLast) this.leaveOut(faultOf(problem));
      else if (end === this.lineEnd(window.end)) return false;
      else this.pieceBytes *= 2;
      return true;
    }
    this.pieceBytes = pieceBytesLeast;
    this.found = { rows, piece, at: 0 };
    window.start += last?.end ?? piece.length;
    return true;
  }

  /** Takes the rows of the piece; gives batches that are full. */
  *full(): Generator<Vector> {
    if (!this.found) return;
    const { rows, piece } = this.found;
    this.found = undefined;
    const first = this.line;
    let begin = 0;
    for (const row of rows) {
      this.take(row, { line: first - 1 + row.line, piece, begin });
      begin = row.end;
      if (this.batches.isFull) yield this.batches.take();
    }
    const last = rows.at(-1);
    this.line = first + (last?.line ?? this.breaksOf(piece));
  }

  /** Takes the faulty row that the window begins with, up to the end of its first line. @throws what a header lacks */
  leaveOut(fault: string): void {
    const window = this.window;
    const { bytes } = window;
    const rest = bytes.subarray(window.start, window.end);
    const begin = this.behindBlanks(rest, 0);
    const line = this.line + this.breaksOf(rest.subarray(0, begin));
    if (!this.columns) throw this.broken(line, fault);
    const found = rest.indexOf(this.lineEndByte, begin);
    const end = found < 0 ? rest.length : found;
    this.tell(line, fault, rawBytes(rest, begin, end));
    window.start += Math.min(end + 1, rest.length);
    this.line = line + 1;
  }
  /** Whether its first line is here. */
  canLeaveOut(): boolean {
    const { bytes, start, end } = this.window;
    const found = bytes.indexOf(this.lineEndByte, start);
    return this.columns !== undefined && found >= 0 && found < end;
  }

  private take(
    { record, end }: Row,
    { line, piece, begin }: { readonly line: number; readonly piece: Uint8Array; readonly begin: number },
  ): void {
    const { dialect } = this.dialect;
    const { header = 1 } = dialect;
    const broken = (fault: string): LakeError => this.broken(line, fault);
    if (!this.columns) {
      if (header > 0) this.heads.push(record);
      if (this.heads.length < header) return;
      this.columns = new Columns(header > 0 ? namesOf(this.heads) : placesOf(record.length), dialect, broken);
      if (header > 0) return;
    }
    const fault = this.columns.fault(record);
    if (fault === undefined) {
      this.columns.append(record, this.batches.begin(), line, broken);
      this.batches.end(end - begin);
      return;
    }
    const start = this.behindBlanks(piece, begin);
    const raw = rawBytes(piece, start, piece[end - 1] === this.lineEndByte ? end - 1 : end);
    this.tell(line - this.breaksOf(raw), fault, raw);
  }
  private tell(line: number, fault: string, raw: Uint8Array): void {
    this.faults.take({ line, column: 1, error: `record on line ${line}: ${fault}`, raw }, this.batches);
  }
  private broken(line: number, fault: string, isOfCut = false): LakeError {
    const { format } = this.dialect;
    return new LakeError('format-broken', {
      format,
      fault: `record on line ${line}: ${fault}`,
      place: '',
      values: this.batches.rows,
      ...(isOfCut && { cut: format }),
    });
  }

  private parsed(piece: Uint8Array): { readonly rows: readonly Row[]; readonly problem?: CsvError } {
    const rows: Row[] = [];
    try {
      parse(Buffer.from(piece.buffer, piece.byteOffset, piece.length), {
        ...parserOptions(this.dialect),
        bom: false,
        info: false,
        max_record_size: this.valueBytesMax,
        ...(this.delimiter && { record_delimiter: this.delimiter }),
        on_record: (record: readonly string[], { lines, bytes }) => {
          rows.push({ record, line: lines, end: bytes });
          return null;
        },
      });
      return { rows };
    } catch (problem) {
      if (!(problem instanceof CsvError)) throw problem;
      return { rows, problem };
    }
  }

  /** Where the piece ends that is parsed next. */
  private pieceEnd(): number {
    const { bytes, start, end, final } = this.window;
    this.delimiter ??= rowEnd(bytes.subarray(start, end), this.dialect);
    if (start + this.pieceBytes >= end) return final ? end : this.lineEnd(end);
    const cut = this.lineEnd(start + this.pieceBytes);
    if (cut > start) return cut;
    return final ? end : this.lineEnd(end);
  }
  /** Behind the last end of a line before `end`. */
  private lineEnd(end: number): number {
    const { bytes } = this.window;
    if (!this.delimiter) return 0;
    const { length } = this.delimiter;
    const found = Buffer.from(bytes.buffer, bytes.byteOffset, end).lastIndexOf(this.delimiter);
    return found < 0 ? 0 : found + length;
  }

  /** Behind the blank lines and comments that begin there. */
  private behindBlanks(bytes: Uint8Array, from: number): number {
    const { comment } = this.dialect.dialect;
    for (let at = from; ; ) {
      const found = bytes.indexOf(this.lineEndByte, at);
      if (found < 0) return at;
      const text = Buffer.from(bytes.buffer, bytes.byteOffset + at, found - at).toString('latin1');
      const isComment = comment !== undefined && text.startsWith(Buffer.from(comment).toString('latin1'));
      if (!isComment && !/^\s*$/.test(text)) return at;
      at = found + 1;
    }
  }
  private breaksOf(bytes: Uint8Array): number {
    const end = this.lineEndByte;
    let breaks = 0;
    for (let at = bytes.indexOf(end); at >= 0; at = bytes.indexOf(end, at + 1)) breaks++;
    return breaks;
  }
}

/** What the first line that does not end within quotes ends with; undefined: none does. */
const rowEnd = (bytes: Uint8Array, { dialect: { quote = '"' }, lineEnd }: Dialect): Buffer | undefined => {
  if (lineEnd === '\r') return Buffer.from(lineEnd);
  const mark = quote === '' ? -1 : Buffer.from(quote)[0];
  let isQuoted = false;
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    if (c === mark) isQuoted = !isQuoted;
    else if (c === 0x0a && !isQuoted) return Buffer.from('\n');
    else if (c === 0x0d && !isQuoted && i + 1 < bytes.length) return Buffer.from(bytes[i + 1] === 0x0a ? '\r\n' : '\r');
  }
  return undefined;
};
