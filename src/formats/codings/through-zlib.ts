/** Streams of node:zlib as functions of bytes. */
import type { Transform } from 'node:stream';
import { messageOf } from '../../errors.ts';
import { BytesFault } from '../columns/type-bytes.ts';

/** What undoes a coding. */
export type Expand = (input: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/**
 * Runs bytes through a stream of node:zlib, which works in threads of its own. It compares checksums and sizes itself,
 * but ends where it sees no more of its coding: what follows there is damage, or rows would be lost without a word.
 * `padded`: zeros may follow, as behind gzip's members.
 */
export const throughZlib = (create: () => Transform & { readonly bytesWritten: number }, padded = false): Expand =>
  async function* (input) {
    const transform = create();
    const rest = new Rest(padded);
    let inputFault: unknown;
    let isOver = false;
    let isDropped = false;
    let go: (() => void) | undefined;
    const wake = (): void => {
      go?.();
    };
    const feed = async (): Promise<void> => {
      for await (const chunk of input) {
        if (isDropped) return;
        if (isOver) rest.check(chunk);
        else {
          rest.took(chunk, transform.bytesWritten);
          if (!transform.write(chunk))
            await new Promise<void>((resolve) => {
              if (isOver) resolve();
              else go = resolve;
            });
        }
      }
      if (!isOver) transform.end();
    };
    transform.on('drain', wake).on('close', () => {
      isOver = true;
      wake();
    });
    const fed = feed().catch((fault: unknown) => {
      inputFault = fault;
      transform.destroy(fault as Error);
    });
    try {
      for await (const chunk of transform as AsyncIterable<Uint8Array>) yield chunk;
      rest.end(transform.bytesWritten);
      isOver = true;
      wake();
      await fed;
      if (inputFault !== undefined) throw inputFault;
    } catch (fault) {
      throw fault === inputFault ? fault : new BytesFault(messageOf(fault), { cause: fault });
    } finally {
      isDropped = true;
      transform.destroy();
      wake();
    }
  };

/** The bytes that a stream was given and may not have read. */
class Rest {
  private readonly padded: boolean;
  private chunks: Uint8Array[] = [];
  /** Where the first of them begins. */
  private start = 0;

  constructor(padded: boolean) {
    this.padded = padded;
  }

  took(chunk: Uint8Array, read: number): void {
    while (this.chunks.length > 0 && this.start + this.chunks[0].length <= read)
      this.start += this.chunks.shift()!.length;
    this.chunks.push(chunk);
  }
  /** The stream has ended and read so many. @throws BytesFault */
  end(read: number): void {
    let at = this.start;
    for (const chunk of this.chunks) {
      this.check(chunk.subarray(Math.max(0, read - at)));
      at += chunk.length;
    }
  }
  /** @throws BytesFault */
  check(bytes: Uint8Array): void {
    if (bytes.length === 0 || (this.padded && bytes.every((byte) => byte === 0))) return;
    throw new BytesFault('more bytes behind its end');
  }
}
