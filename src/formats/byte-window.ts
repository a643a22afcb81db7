/**
 * The bytes of a stream that are not used up yet, in one piece. Readers take what is whole from the front and ask for
 * more when a value is cut.
 *
 * Invariants: `bytes[end]` is there and 0, so that scanners stop at the end without asking for it at every byte; what
 * lies before `start` is used up; a byte-order mark at the beginning of a stream is never seen.
 */
import { LakeError } from '../errors.ts';

const partBytesLeast = 1 << 16;

/** UTF-8's byte-order mark, which some programs put before a text: it is no part of it. */
const mark = [0xef, 0xbb, 0xbf];
/** Bytes of the mark that a text begins with: three, or none. */
export const markLength = (bytes: Uint8Array, end: number): number =>
  end >= mark.length && mark.every((byte, i) => bytes[i] === byte) ? mark.length : 0;
const isMarkCut = (bytes: Uint8Array, end: number): boolean =>
  end > 0 && end < mark.length && mark.slice(0, end).every((byte, i) => bytes[i] === byte);

/** That of buffers takes a third of the time of `Uint8Array`'s on a line of 200 bytes. */
const indexOfByte = Buffer.prototype.indexOf as (this: Uint8Array, byte: number, start: number) => number;

export class ByteWindow {
  /** As long as the first chunk to begin with: most bodies of a busy service are small. */
  bytes: Uint8Array = new Uint8Array(1);
  start = 0;
  end = 0;
  /** The stream has ended: what is cut now stays cut. */
  final = false;
  /** Bytes before `bytes[0]` in the stream. */
  offset = 0;
  /** Where the line that `nextLine` took is, and whether a line break ended it. */
  lineStart = 0;
  lineEnd = 0;
  lineBroken = false;
  /** What is left of a chunk. */
  private waiting: Uint8Array | undefined;
  private readonly source: AsyncIterator<Uint8Array>;
  private readonly format: string;
  private readonly valueBytesMax: number;
  private readonly place: () => string;

  /** `place` tells where the window begins, for errors; `offset`: bytes before the input. */
  constructor(
    input: AsyncIterable<Uint8Array>,
    options: {
      readonly format: string;
      readonly valueBytesMax: number;
      readonly place?: () => string;
      readonly offset?: number;
    },
  ) {
    this.offset = options.offset ?? 0;
    this.source = input[Symbol.asyncIterator]();
    this.format = options.format;
    this.valueBytesMax = options.valueBytesMax;
    this.place = options.place ?? (() => '');
  }

  /**
   * Reads on; false when the stream has ended. A value that did not fit doubles the window at least, so that a long one
   * is scanned a few times only.
   * @throws LakeError `format-limit` when a single value is longer than allowed
   */
  async more(): Promise<boolean> {
    if (this.final) return false;
    const least = Math.max((this.end - this.start) * 2, 1);
    do {
      const chunk = this.waiting ?? (await this.nextChunk());
      if (!chunk) {
        this.final = true;
        break;
      }
      // A chunk that is longer than a value may be is looked at in parts, so that none that is too long slips through
      // with it.
      const size = Math.max(this.valueBytesMax, partBytesLeast);
      this.waiting = chunk.length > size ? chunk.subarray(size) : undefined;
      this.append(this.waiting ? chunk.subarray(0, size) : chunk);
    } while (this.end - this.start < least || (this.atBeginning() && isMarkCut(this.bytes, this.end)));
    if (this.atBeginning()) this.start = markLength(this.bytes, this.end);
    return true;
  }
  private atBeginning(): boolean {
    return this.offset + this.start === 0;
  }

  /**
   * Takes the next line: it is bytes[lineStart, lineEnd), without its break. False when the rest is no whole line yet;
   * at the end of the stream what is left counts as one.
   */
  nextLine(): boolean {
    const { bytes, start } = this;
    let end = indexOfByte.call(bytes, 0x0a, start);
    if (end < 0 || end >= this.end) {
      if (!this.final || start === this.end) return false;
      end = this.end;
    }
    this.lineStart = start;
    this.lineEnd = end;
    this.start = Math.min(end + 1, this.end);
    return true;
  }

  /** What is not used up yet and what comes; the window is done with then. */
  async *rest(): AsyncGenerator<Uint8Array> {
    try {
      if (this.end > this.start) yield this.bytes.subarray(this.start, this.end);
      if (this.waiting) yield this.waiting;
      for (let chunk = this.final ? undefined : await this.nextChunk(); chunk; chunk = await this.nextChunk())
        yield chunk;
      this.final = true;
    } finally {
      await this.close();
    }
  }

  /** The stream is not read any further. */
  async close(): Promise<void> {
    if (!this.final) await this.source.return?.();
    this.final = true;
  }

  private async nextChunk(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.source.next();
    return done ? undefined : value;
  }
  private append(chunk: Uint8Array): void {
    const kept = this.end - this.start;
    const size = kept + chunk.length;
    if (kept > this.valueBytesMax) {
      // Who leaves out what is too long reads on.
      this.waiting = this.waiting ? Buffer.concat([chunk, this.waiting]) : chunk;
      throw new LakeError('format-limit', {
        format: this.format,
        what: 'a single value',
        limit: this.valueBytesMax,
        place: `${this.place()} (option -value.max)`,
      });
    }
    if (size + 1 > this.bytes.length) {
      const grown = new Uint8Array(Math.max(size + 1, this.bytes.length * 2));
      grown.set(this.bytes.subarray(this.start, this.end));
      this.bytes = grown;
    } else this.bytes.copyWithin(0, this.start, this.end);
    this.bytes.set(chunk, kept);
    this.offset += this.start;
    this.start = 0;
    this.end = size;
    this.bytes[size] = 0;
  }
}
