/**
 * Bytes that the readers of inputs hold: read-ahead, dictionaries, expanded pages, values that are being built. Batches
 * that were given out are their receiver's.
 *
 * Invariants:
 * - Bytes are charged before they are allocated, where they are allocated: a decoded page by its length, a dictionary
 *   once, a list by its elements.
 * - What was charged is given back when the reader lets go of it, also when it ends with an error.
 */
import { LakeError } from '../errors.ts';

/** The memory of one input's reader. */
export class ReadMemory {
  private held = 0;
  private readonly limit: () => number;
  private readonly shareOf: () => number;
  /** `limit`: bytes; asked for each time, since loads that run beside each other share a budget. */
  constructor(limit: () => number = () => Infinity, share = limit) {
    this.limit = limit;
    this.shareOf = share;
  }

  /**
   * Charges bytes that are about to be allocated. `what` names them in the error: `row group 3, column "a"`. @throws
   * LakeError format-memory
   */
  hold(bytes: number, { format, what }: { readonly format: string; readonly what: string }): void {
    const limit = this.limit();
    if (this.held + bytes > limit) throw new LakeError('format-memory', { format, what, limit });
    this.held += bytes;
  }
  /** Gives back bytes that were charged. */
  free(bytes: number): void {
    this.held -= bytes;
  }
  /** Bytes that are charged now. */
  get bytes(): number {
    return this.held;
  }
  /**
   * Bytes that it should keep to where it has the choice, as in how many rows it reads at once: others have their
   * shares.
   */
  get share(): number {
    return Math.min(this.limit(), this.shareOf());
  }
  /** Bytes that can still be charged. */
  get room(): number {
    return Math.max(0, this.limit() - this.held);
  }
}

/**
 * Bodies that are held whole and are longer are held one at a time in a thread: some at once would be all of its memory
 * many times.
 */
const shortBytesMax = 4 << 20;

/**
 * `tooLong`: what a body is that is longer; `hold` charges bytes that are kept; `alone` as of a reader
 * (format.types.ts).
 */
interface WholeOptions {
  readonly alone?: (() => Promise<void>) | undefined;
  readonly bytesMax: number;
  readonly tooLong: () => Error;
  readonly hold?: (bytes: number) => void;
}

/** All of a body. @throws what `tooLong` gives */
export const wholeBody = async (
  input: AsyncIterable<Uint8Array>,
  { bytesMax, tooLong, hold, alone }: WholeOptions,
): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    const before = length;
    length += chunk.length;
    if (length > bytesMax) throw tooLong();
    if (before <= shortBytesMax && length > shortBytesMax) await alone?.();
    hold?.(chunk.length);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
};
