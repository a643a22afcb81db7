/**
 * The bytes of an input whose content codings are undone, held open behind their reader. A bit that was flipped on the
 * way changes what comes out first, and the reader of the format stumbles over that before the coding's checksum is
 * reached: so the rest is looked at, and a fault of the coding is the one that is told.
 *
 * Invariants:
 * - Who reads may give up at any time; the input is closed by `close`, and by nothing else.
 * - Looking at the rest has a bound of compressed bytes, of expanded ones (that of the input) and of time, silence of
 *   the input included.
 */
import { LakeError } from '../../errors.ts';
import { contentCodings } from './encoding.ts';

/** Most compressed bytes, and most time, for which the rest of a coded input is looked at. */
const restBytesMax = 32 << 20;
const restMsMax = 3_000;
/** Faults of readers that a flipped bit may have caused. */
const readerFaults: ReadonlySet<string> = new Set([
  'format-broken',
  'format-detection',
  'format-limit',
  'format-too-large',
]);

/** An input that can be undone once, and be looked at to its end. */
export class CodedBytes implements AsyncIterable<Uint8Array> {
  private readonly input: BoundedInput;
  private readonly bytes: AsyncIterator<Uint8Array>;
  private isLeft = false;
  private isCoded = false;
  /** `undo`: gives the bytes without their codings, and calls `found` when there is one. */
  constructor(
    input: AsyncIterable<Uint8Array>,
    undo: (input: AsyncIterable<Uint8Array>, found: () => void) => AsyncIterable<Uint8Array>,
  ) {
    this.input = new BoundedInput(input);
    this.bytes = undo(this.input, () => {
      this.isCoded = true;
    })[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => (this.isLeft ? Promise.resolve({ done: true, value: undefined }) : this.bytes.next()),
      return: () => {
        this.isLeft = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  /**
   * What work on these bytes comes to, after which they are read on. @throws a fault of a coding rather than one of the
   * format
   */
  async work<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (problem) {
      const cause = await this.causeOf(problem);
      await this.close();
      throw cause;
    }
  }
  /** What a reader of these bytes gives, to their end. @throws a fault of a coding rather than one of the format */
  async *read<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* items;
    } catch (problem) {
      throw await this.causeOf(problem);
    } finally {
      await this.close();
    }
  }

  private async close(): Promise<void> {
    await this.bytes.return?.();
  }

  /** The fault of a coding that lies behind a reader's, as far as the rest of the input tells; else the reader's. */
  private async causeOf(problem: unknown): Promise<unknown> {
    if (!this.isCoded || !(problem instanceof LakeError) || !readerFaults.has(problem.code)) return problem;
    const timer = setTimeout(() => {
      this.input.stop();
    }, restMsMax);
    this.input.limit(restBytesMax);
    try {
      while (!this.input.isStopped && !(await this.bytes.next()).done);
      return problem;
    } catch (fault) {
      return fault instanceof LakeError &&
        fault.code === 'format-broken' &&
        codings.has(String(fault.parameters['format']))
        ? fault
        : problem;
    } finally {
      clearTimeout(timer);
    }
  }
}
const codings: ReadonlySet<string> = new Set(contentCodings);

/** An input that can be stopped from outside, also while it is waited for. */
class BoundedInput implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  isStopped = false;
  private left = Infinity;
  private isWaiting = false;
  private fail: ((fault: Error) => void) | undefined;
  private readonly source: AsyncIterator<Uint8Array>;
  constructor(input: AsyncIterable<Uint8Array>) {
    this.source = input[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      if (this.isStopped) return reject(stopped());
      this.fail = reject;
      this.isWaiting = true;
      this.source.next().then(
        (result) => {
          this.isWaiting = false;
          this.left -= result.done ? 0 : result.value.length;
          if (this.left < 0) this.stop();
          resolve(result);
        },
        (fault: unknown) => {
          this.isWaiting = false;
          reject(fault);
        },
      );
    });
  }
  async return(): Promise<IteratorResult<Uint8Array>> {
    const returned = this.source.return?.();
    // What is still waited for may never come.
    if (this.isWaiting) returned?.catch(() => undefined);
    else await returned;
    return { done: true, value: undefined };
  }

  /** So many bytes more, and it stops. */
  limit(bytes: number): void {
    this.left = bytes;
  }
  stop(): void {
    this.isStopped = true;
    this.fail?.(stopped());
  }
}
const stopped = (): Error => new Error('the input is not looked at any further');
