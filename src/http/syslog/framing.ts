/**
 * Messages in the bytes of a connection (RFC 6587): octet counting where a message begins with its length, else it ends
 * with a newline. Senders of both kinds may share a connection, each message for itself. A length has a priority behind
 * it, as every message that is counted: a line that begins with a number ("404 GET /") would take what follows along.
 *
 * Invariant: no more than `messageBytesMax` and a count are held; of a longer message nothing is kept.
 */

/** What a splitter tells. */
interface Hearer {
  /** A whole message; its bytes are gone when this returns. */
  readonly message: (bytes: Uint8Array) => void;
  /** One that was too long, or whose end never came. */
  readonly dropped: (reason: 'long' | 'cut') => void;
}

/** Digits of a count. */
const digitsMax = 9;
const newline = 0x0a;
const space = 0x20;
const priorityMark = 0x3c;
const noBytes = Buffer.alloc(0);

/** Splits the bytes of one connection. */
export class SyslogSplitter {
  private readonly messageBytesMax: number;
  private readonly hearer: Hearer;
  private held: Buffer = noBytes;
  /** Bytes of a counted message that is too long which are still to come. */
  private skip = 0;
  /** A message that is too long goes on to its newline. */
  private skipsLine = false;
  constructor(messageBytesMax: number, hearer: Hearer) {
    this.messageBytesMax = messageBytesMax;
    this.hearer = hearer;
  }

  /** More bytes came. */
  push(chunk: Buffer): void {
    let bytes = this.held.length > 0 ? Buffer.concat([this.held, chunk]) : chunk;
    this.held = noBytes;
    for (let next = this.take(bytes); next; next = this.take(bytes)) bytes = next;
  }
  /** No more bytes are read, though more may come. */
  cut(): void {
    if (this.held.length > 0) this.hearer.dropped('cut');
    this.held = noBytes;
  }
  /** No more bytes come. A last line may lack its newline; a counted message may not lack a byte. */
  end(): void {
    const { held } = this;
    this.held = noBytes;
    if (this.skip > 0 || this.skipsLine || held.length === 0) return;
    const { state } = countOf(held);
    if (state === 'none') this.tell(held);
    else this.hearer.dropped('cut');
  }

  /** Takes what the bytes begin with; gives those behind it, or undefined when more must come first. */
  private take(bytes: Buffer): Buffer | undefined {
    if (bytes.length === 0) return undefined;
    if (this.skip > 0) {
      const gone = Math.min(this.skip, bytes.length);
      this.skip -= gone;
      return bytes.subarray(gone);
    }
    if (this.skipsLine) {
      const end = bytes.indexOf(newline);
      if (end < 0) return undefined;
      this.skipsLine = false;
      return bytes.subarray(end + 1);
    }
    const { state, length, start } = countOf(bytes);
    if (state === 'cut') return this.wait(bytes);
    if (state === 'none') return this.takeLine(bytes);
    if (length > this.messageBytesMax) {
      this.hearer.dropped('long');
      this.skip = length;
      return bytes.subarray(start);
    }
    if (bytes.length < start + length) return this.wait(bytes);
    this.tell(bytes.subarray(start, start + length));
    return bytes.subarray(start + length);
  }
  private takeLine(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf(newline);
    const isLong = (end < 0 ? bytes.length : end) > this.messageBytesMax;
    if (isLong) this.hearer.dropped('long');
    if (end < 0) {
      this.skipsLine = isLong;
      return isLong ? undefined : this.wait(bytes);
    }
    if (!isLong) this.tell(bytes.subarray(0, end));
    return bytes.subarray(end + 1);
  }
  private wait(bytes: Buffer): undefined {
    // Not the whole chunk that it came with.
    this.held = Buffer.from(bytes);
  }
  private tell(bytes: Buffer): void {
    const trimmed = withoutEnd(bytes);
    if (trimmed.length > 0) this.hearer.message(trimmed);
  }
}

/** Without the ends of lines and the zeros that some senders put behind a message. */
export const withoutEnd = (bytes: Buffer): Buffer => {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === newline || bytes[end - 1] === 0x0d || bytes[end - 1] === 0)) end--;
  return bytes.subarray(0, end);
};

/** The count that bytes begin with: digits, the first of them not 0, a space and the `<` of a priority. `start`: there. */
const countOf = (
  bytes: Buffer,
): { readonly state: 'count' | 'cut' | 'none'; readonly length: number; readonly start: number } => {
  let at = 0;
  let length = 0;
  while (at < bytes.length && at < digitsMax && isDigit(bytes[at], at)) length = length * 10 + bytes[at++] - 0x30;
  if (at === 0) return { state: 'none', length: 0, start: 0 };
  if (at === bytes.length || (bytes[at] === space && at + 1 === bytes.length))
    return { state: 'cut', length: 0, start: 0 };
  return bytes[at] === space && bytes[at + 1] === priorityMark
    ? { state: 'count', length, start: at + 1 }
    : { state: 'none', length: 0, start: 0 };
};
const isDigit = (byte: number, at: number): boolean => byte >= (at === 0 ? 0x31 : 0x30) && byte <= 0x39;
