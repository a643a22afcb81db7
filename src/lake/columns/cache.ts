/**
 * Decoded columns that a worker keeps for later scans, by their place in an opened object's directory; objects never change, so nothing goes stale.
 *
 * Invariants:
 * - What is held stays within the budget, as far as the owners of the bytes tell it.
 * - Only what no scan since the last `begin` has used gives way to something new: a scan of more than the budget keeps a part of it, rather than nothing.
 */
export class ColumnCache {
  private readonly bytesMax: number;
  private readonly counts: CacheCounts;
  /** Least recently used first. */
  private readonly entries = new Map<object, Entry>();
  private held = 0;
  private scan = 0;
  constructor(bytesMax: number, counts: CacheCounts = { found: () => undefined, missed: () => undefined }) {
    this.bytesMax = bytesMax;
    this.counts = counts;
  }

  get bytes(): number { return this.held; }

  /** A new scan. */
  begin(): void { this.scan++; }

  get(key: object): unknown {
    const entry = this.entries.get(key);
    if (!entry) {
      this.counts.missed();
      return undefined;
    }
    this.counts.found();
    if (entry.scan !== this.scan) {
      entry.scan = this.scan;
      this.entries.delete(key);
      this.entries.set(key, entry);
    }
    return entry.value;
  }

  /** Keeps what `value` gives, if there is room for so many bytes. */
  set(key: object, bytes: number, value: () => unknown): void {
    if (bytes > this.bytesMax || this.entries.has(key)) return;
    for (const [oldest, entry] of this.entries) {
      if (this.held + bytes <= this.bytesMax) break;
      if (entry.scan === this.scan) return;
      this.entries.delete(oldest);
      this.held -= entry.bytes;
    }
    this.entries.set(key, { value: value(), bytes, scan: this.scan });
    this.held += bytes;
  }
}

/** Told of every look. */
export interface CacheCounts { readonly found: () => void; readonly missed: () => void }

interface Entry { readonly value: unknown; readonly bytes: number; scan: number }
