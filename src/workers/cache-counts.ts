/**
 * How often the workers found a decoded column in their caches, and how many bytes these hold: numbers that all threads
 * see, each worker writing its own.
 */
import type { CacheCounts, CacheRoom } from '../lake/columns/cache.ts';

/** Found, missed, bytes that are taken of the budget, bytes that are held. */
const perThread = 4;

/** `bytes`: of decoded columns. */
export interface CacheTotals {
  readonly found: number;
  readonly missed: number;
  readonly bytes: number;
}

/**
 * The numbers of all threads, in memory that they share; each has a place of its own in it, and the main thread one
 * behind them.
 */
export class CacheCounters {
  readonly memory: SharedArrayBuffer;
  private readonly threads: number;
  private readonly numbers: Float64Array;
  private readonly besides: Float64Array;
  constructor(threads: number, memory = new SharedArrayBuffer((threads * perThread + 1) * 8)) {
    this.memory = memory;
    this.threads = threads;
    this.numbers = new Float64Array(memory, 0, threads * perThread);
    this.besides = new Float64Array(memory, threads * perThread * 8);
  }

  /** What caches of the main thread hold of the budget of all. */
  tellBesides(bytes: number): void {
    this.besides[0] = bytes;
  }

  of(thread: number): CacheCounts {
    const { numbers } = this;
    const at = thread * perThread;
    return {
      found: () => {
        numbers[at]!++;
      },
      missed: () => {
        numbers[at + 1]!++;
      },
    };
  }
  /** A thread's place in the budget of all. */
  room(thread: number, bytesMax: number): CacheRoom {
    const { numbers, besides, threads } = this;
    const own = thread * perThread + 2;
    return {
      own: () => (bytesMax - besides[0]!) / threads,
      left: () => {
        let left = bytesMax - besides[0]! + numbers[own]!;
        for (let at = 2; at < numbers.length; at += perThread) left -= numbers[at]!;
        return left;
      },
      told: (held, lent) => {
        numbers[own] = held + lent;
        numbers[own + 1] = held;
      },
    };
  }
  totals(): CacheTotals {
    const sum = (offset: number): number => this.numbers.reduce((n, x, i) => (i % perThread === offset ? n + x : n), 0);
    return { found: sum(0), missed: sum(1), bytes: sum(3) };
  }
}
