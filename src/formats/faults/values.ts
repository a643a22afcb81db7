/**
 * Faulty values of formats whose values stand one behind the other, on any number of lines.
 *
 * The rule: a faulty value is the rest of the line on which it begins, and the lines after it that are indented further
 * than it is or begin with what ends or goes on (`}`, `]`, `)`, `>`, `,`, `:`), as those of a record over several lines
 * do. Reading goes on at the next line. Lines on which no value had begun when the fault was found are read again, each
 * alone: that is how a record which was cut does not take its successors with it, and no byte is scanned more than
 * three times.
 */
import type { LakeError } from '../../errors.ts';
import type { Batches } from '../batches.ts';
import type { ByteWindow } from '../byte-window.ts';
import { type Faults, isOverlong, rawBytes } from './faults.ts';

/** Where a line is: its number, and the byte of the stream at which it begins. */
export interface LinePlace {
  readonly lines: number;
  readonly lineStart: number;
}
/** A line of a window, as a window of its own. */
export type LineWindow = Pick<ByteWindow, 'bytes' | 'start' | 'end' | 'final' | 'offset'>;

/** The error of a value that is longer than allowed. */
export const endless = 'value does not end';

const newline = 0x0a;
const isSpace = (c: number): boolean => c === 0x20 || c === 0x09 || c === 0x0d || c === newline;
const goesOn = new Set([...'}])>,:'].map((c) => c.charCodeAt(0)));

export class FaultyValues {
  private readonly faults: Faults;
  private readonly window: ByteWindow;
  /** Values that begin before this byte of the stream end with their lines. */
  private aloneBefore = 0;
  constructor(faults: Faults, window: ByteWindow) {
    this.faults = faults;
    this.window = window;
  }

  /** Whether the next value is on a line that is read alone. */
  get isAlone(): boolean {
    const { offset, start, end } = this.window;
    return start < end && offset + start < this.aloneBefore;
  }
  /** That line; undefined: not all of it is here. */
  line(): LineWindow | undefined {
    const { bytes, start, end, final, offset } = this.window;
    const found = bytes.indexOf(newline, start);
    const isWhole = found >= 0 && found < end;
    if (!isWhole && !final) return undefined;
    // A break alone is the line: it is to be taken too.
    const stop = isWhole ? Math.max(found, start + 1) : end;
    const line = new Uint8Array(stop - start + 1);
    line.set(bytes.subarray(start, stop));
    return { bytes: line, start: 0, end: stop - start, final: true, offset: offset + start };
  }

  /**
   * Takes the faulty value that begins at the window's start or behind white space there. `seen`: the byte of the
   * stream at which the fault was found; `error`: its text. Gives the place behind it.
   */
  async take(
    error: string,
    { place, seen, batches }: { readonly place: LinePlace; readonly seen: number; readonly batches: Batches },
  ): Promise<LinePlace> {
    const window = this.window;
    let { lines, lineStart } = place;
    for (let c = window.bytes[window.start]; window.start < window.end && isSpace(c); c = window.bytes[window.start]) {
      window.start++;
      if (c !== newline) continue;
      lines++;
      lineStart = window.offset + window.start;
    }
    const column = window.offset + window.start - lineStart + 1;
    const length = await this.length(column - 1);
    const { start, bytes, end } = window;
    const raw = rawBytes(bytes, start, start + length);
    this.faults.take({ line: lines, column, error, raw }, batches);
    if (seen > this.aloneBefore) this.aloneBefore = seen;
    window.start = Math.min(start + length + 1, end);
    const breaks = breaksOf(bytes, start, window.start);
    if (breaks === 0) return { lines, lineStart };
    return { lines: lines + breaks, lineStart: window.offset + window.start };
  }

  /**
   * Whether a value that is longer than allowed can be taken: its first line is here. It does not end within that, as
   * one that was cut: `endless`.
   */
  canTake(problem: unknown): problem is LakeError {
    const { bytes, start, end } = this.window;
    const found = bytes.indexOf(newline, start);
    return isOverlong(problem) && found >= 0 && found < end;
  }

  /** Bytes of the faulty value at the window's start, which is indented so far. */
  private async length(indent: number): Promise<number> {
    const window = this.window;
    for (let length = await this.lineEnd(0); ; ) {
      let at = length + 1;
      while ((await this.has(at)) && (byteAt(window, at) === 0x20 || byteAt(window, at) === 0x09)) at++;
      if (!(await this.has(at))) return length;
      const c = byteAt(window, at);
      const deeper = at - length - 1 > indent;
      if (c === newline || c === 0x0d || !(deeper || goesOn.has(c))) return length;
      length = await this.lineEnd(at);
    }
  }
  /** The line's break behind that byte of the window's rest, or the end of the stream. */
  private async lineEnd(from: number): Promise<number> {
    const window = this.window;
    for (let seen = from; ; ) {
      const found = window.bytes.indexOf(newline, window.start + seen);
      if (found >= 0 && found < window.end) return found - window.start;
      seen = Math.max(seen, window.end - window.start);
      if (!(await window.more())) return seen;
    }
  }
  private async has(at: number): Promise<boolean> {
    const window = this.window;
    while (window.start + at >= window.end) if (!(await window.more())) return false;
    return true;
  }
}

const byteAt = ({ bytes, start }: ByteWindow, at: number): number => bytes[start + at];
const breaksOf = (bytes: Uint8Array, start: number, end: number): number => {
  let breaks = 0;
  for (let at = bytes.indexOf(newline, start); at >= 0 && at < end; at = bytes.indexOf(newline, at + 1)) breaks++;
  return breaks;
};
