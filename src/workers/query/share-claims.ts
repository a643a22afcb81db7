/**
 * Who works on which share of a divided scan: memory that the threads share, so that taking a share costs no message.
 *
 * Invariants:
 * - A share is taken once.
 * - Shares are taken no further ahead of the answers that were passed on than the window, so that answers do not pile
 *   up.
 * - A thread takes those that it prefers first, then what is left: one that is busy with something else only helps
 *   less.
 */

/** Answers that may wait to be passed on, with those in work. */
const windowShares = 8;
const free = 0;

/** Which shares of one scan are still to be taken. */
export class ShareClaims {
  readonly memory: SharedArrayBuffer;
  private readonly homes: readonly number[];
  /** How many answers were passed on, then for each share the number of its thread plus one. */
  private readonly words: Int32Array;
  constructor(homes: readonly number[], memory = new SharedArrayBuffer(4 * (homes.length + 1))) {
    this.homes = homes;
    this.memory = memory;
    this.words = new Int32Array(memory);
  }

  /** The next share for a thread; `wait` when those that are left are too far ahead, `none` when none are left. */
  take(thread: number, threads: number): number | 'wait' | 'none' {
    const passed = Atomics.load(this.words, 0);
    const end = Math.min(this.homes.length, passed + windowShares);
    for (let k = passed; k < end; k++) if (this.homes[k]! % threads === thread && this.claim(k, thread)) return k;
    for (let k = passed; k < end; k++) if (this.claim(k, thread)) return k;
    return this.words.includes(free, end + 1) ? 'wait' : 'none';
  }
  /** The first share, whoever prefers it. */
  takeFirst(thread: number): boolean {
    return this.claim(0, thread);
  }
  private claim(k: number, thread: number): boolean {
    return Atomics.compareExchange(this.words, k + 1, free, thread + 1) === free;
  }

  /** The answers of the first `count` shares were passed on. */
  pass(count: number): void {
    Atomics.store(this.words, 0, count);
  }

  /** Whether the thread has taken the share. */
  isOf(k: number, thread: number): boolean {
    return Atomics.load(this.words, k + 1) === thread + 1;
  }

  /** Nothing is to be taken any more. */
  close(): void {
    for (let k = 0; k < this.homes.length; k++) this.claim(k, -2);
  }
}
