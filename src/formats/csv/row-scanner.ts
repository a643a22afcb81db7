/** Rows of cells between delimiters, found in a window of bytes; and what becomes of faulty ones. */
import { componentsMax } from '../../vectors/type.ts';
import type { Batches } from '../batches.ts';
import type { ByteWindow } from '../byte-window.ts';
import { type Faults, rawBytes } from '../faults/faults.ts';
import { behindSpaces, isSpaceStart } from './spaces.ts';

/** The part of a `ByteWindow` that is looked at. */
export type RowWindow = Pick<ByteWindow, 'bytes' | 'start' | 'end' | 'final'>;

/** The cells of one row of the window. */
export class RowScanner {
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
  /** Where the row begins in the window. */
  private begin = 0;
  private state: 'row' | 'open' | undefined;
  /** The delimiter's first byte, and how many it has. */
  private readonly delimiter: number;
  private readonly width: number;
  private readonly delimiterBytes: Uint8Array;
  constructor(delimiter: string) {
    this.delimiterBytes = Buffer.from(delimiter);
    this.delimiter = this.delimiterBytes[0];
    this.width = this.delimiterBytes.length;
  }

  /** Scans the next row that is not blank and moves the window behind it. 'open': the input ends within quotes. */
  next(window: RowWindow): 'row' | 'none' | 'cut' | 'open' {
    this.bytes = window.bytes;
    this.state = undefined;
    for (;;) {
      if (window.start >= window.end) return 'none';
      const lines = this.nextLine;
      const start = window.start;
      const end = this.scan(window);
      this.line = lines;
      this.size = end - start;
      this.begin = start;
      if (end < 0) {
        if (!window.final) {
          this.nextLine = lines;
          return 'cut';
        }
        return (this.state = 'open');
      }
      window.start = end;
      if (this.length > 1 || this.quoted[0] === 1 || !this.isBlankLine()) return (this.state = 'row');
    }
  }

  /** What is wrong with the row; `wanted`: cells that it should have. */
  fault(
    state: 'row' | 'open',
    { wanted, strictQuotes }: { readonly wanted: number | undefined; readonly strictQuotes: boolean },
  ): string | undefined {
    if (state === 'open') return 'quote not closed';
    if (strictQuotes && this.hasStrayQuote())
      return 'a quote within a cell: put the cell in quotes, and write each quote within it twice';
    return wanted !== undefined && this.length !== wanted ? 'wrong number of fields' : undefined;
  }
  /**
   * Whether a lone quote has taken other lines with it: where faulty rows do not end the input it makes its row one of
   * them.
   */
  get isRunOn(): boolean {
    if (this.plain || this.nextLine <= this.line + 1) return false;
    const { nextLine } = this;
    let found = false;
    for (let i = 0; i < this.length && !found; i++) found = this.isQuoted(i) && !this.isInQuotes(i, this.trimmedEnd(i));
    this.nextLine = nextLine;
    return found;
  }

  /**
   * Gives a faulty row away. A row whose quotes are in order goes as a whole; else nobody knows where it should have
   * ended: its first line goes, and the next row begins behind that.
   */
  leaveOut(window: RowWindow, fault: string, faults: Faults, batches: Batches): void {
    const { bytes } = window;
    const line = this.state ? this.line : this.nextLine;
    const start = this.state === 'row' ? this.begin : window.start;
    const isWhole = this.state === 'row' && !this.isRunOn;
    const found = isWhole ? window.start - 1 : bytes.indexOf(0x0a, start);
    const isBroken = found >= 0 && found < window.end && bytes[found] === 0x0a;
    const end = isBroken ? found : window.end;
    const raw = rawBytes(bytes, start, end);
    faults.take({ line, column: 1, error: `record on line ${line}: ${fault}`, raw }, batches);
    window.start = Math.min(end + 1, window.end);
    if (!isWhole) this.nextLine = line + 1;
  }
  /** Whether the first line of the window is there as a whole. */
  hasLine({ bytes, start, end }: RowWindow): boolean {
    const found = bytes.indexOf(0x0a, start);
    return found >= 0 && found < end;
  }

  private isBlankLine(): boolean {
    let at = this.starts[0];
    while (at < this.ends[0] && isBlank(this.bytes[at], this.delimiter)) at++;
    return at === this.ends[0];
  }

  /** Whether cell `i` has quotes. */
  isQuoted(i: number): boolean {
    return this.quoted[i] === 1;
  }

  /** Whether a cell has quotes that neither begin nor end it, nor come in twos within it. */
  hasStrayQuote(): boolean {
    const { nextLine } = this;
    let found = false;
    for (let i = 0; i < this.length && !found; i++) found = this.isQuoted(i) && !this.isInQuotes(i, this.ends[i]);
    this.nextLine = nextLine;
    return found;
  }
  private isInQuotes(i: number, end: number): boolean {
    const start = behindSpaces(this.bytes, this.starts[i], end);
    return this.bytes[start] === 0x22 && this.closing(start, end) === end - 1;
  }
  /** The end of cell `i` without white space before it. */
  private trimmedEnd(i: number): number {
    let end = this.ends[i];
    while (end > this.starts[i] && this.bytes[end - 1] <= 0x20) end--;
    return end;
  }

  /** The bytes of cell `i` with its quotes undone. */
  cell(i: number): { readonly bytes: Uint8Array; readonly start: number; readonly end: number } {
    const start = this.starts[i];
    const end = this.ends[i];
    if (this.quoted[i] === 0) return { bytes: this.bytes, start, end };
    const out = new Uint8Array(end - start);
    let length = 0;
    let inside = false;
    for (let k = behindSpaces(this.bytes, start, end); k < end; k++) {
      const c = this.bytes[k];
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
      if (trims && isSpaceStart(bytes[i])) i = behindSpaces(bytes, i, end, delimiter);
      const start = i;
      let quotes = 0;
      let c = bytes[i];
      for (; i < end && (c !== delimiter || (width > 1 && !this.isDelimited(i, end))) && c !== 0x0a; c = bytes[++i]) {
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
      const c = bytes[k];
      if (c === 0x0a) this.nextLine++;
      else if (c === 0x22) {
        if (bytes[k + 1] !== 0x22) return k;
        k++;
      }
    }
    return -1;
  }
  /** No header has more than so many cells; of a longer row those beyond are counted alone. */
  private push(start: number, end: number, quoted: number): void {
    if (quoted) this.plain = false;
    if (this.length > componentsMax) {
      this.length++;
      return;
    }
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
  }
}

/** White space within a line that is not the delimiter. */
const isBlank = (c: number, delimiter: number): boolean =>
  (c === 0x20 || c === 0x09 || c === 0x0b || c === 0x0c) && c !== delimiter;
