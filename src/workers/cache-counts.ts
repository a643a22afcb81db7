/** How often the workers found a decoded column in their caches: numbers that all threads see, each worker writing its own. */
import type { CacheCounts } from '../lake/columns/cache.ts';

const perThread = 2;

export interface CacheTotals { readonly found: number; readonly missed: number }

export class CacheCounters {
  readonly memory: SharedArrayBuffer;
  private readonly numbers: Float64Array;
  constructor(threads: number, memory = new SharedArrayBuffer(threads * perThread * 8)) {
    this.memory = memory;
    this.numbers = new Float64Array(memory);
  }

  of(thread: number): CacheCounts {
    const { numbers } = this, at = thread * perThread;
    return { found: () => { numbers[at]!++; }, missed: () => { numbers[at + 1]!++; } };
  }
  totals(): CacheTotals {
    const sum = (offset: number): number => this.numbers.reduce((n, x, i) => (i % perThread === offset ? n + x : n), 0);
    return { found: sum(0), missed: sum(1) };
  }
}
