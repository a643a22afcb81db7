/**
 * Decoded columns that a worker keeps for later scans, by their place in an opened object's directory; objects never change, so nothing goes stale.
 *
 * Invariants:
 * - What is held stays within the budget, as far as the owners of the bytes tell it; what other caches leave of a common budget may be used until they need it.
 * - Only what no scan since the last `begin` has used gives way to something new: a scan of more than the budget keeps a part of it, rather than nothing.
 * - What was made of kept columns alone, like the rows of a part of a block, is at hand as long as nothing has given way: it holds no bytes of its own.
 */
export class ColumnCache {
  private readonly own: number;
  private readonly room: CacheRoom | undefined;
  private readonly counts: CacheCounts;
  /** Least recently used first. */
  private readonly entries = new Map<object, Entry>();
  private held = 0;
  private lent = 0;
  private scan = 0;
  /** By key, the latest last. */
  private readonly derived = new Map<object, { readonly name: string; readonly value: unknown }[]>();
  /** The last scan that was given something made, whose columns were not looked up then. */
  private madeScan = -1;
  private isStale = false;
  /** How many values were not kept, for want of room. */
  refused = 0;
  constructor(bytesMax: number, counts: CacheCounts = { found: () => undefined, missed: () => undefined }, room?: CacheRoom) {
    this.own = bytesMax;
    this.room = room;
    room?.told(0);
    this.counts = counts;
  }

  get bytes(): number { return this.held; }
  private get bytesMax(): number { return Math.max(0, (this.room ? Math.max(this.own, this.room.left()) : this.own) - this.lent); }

  /** Leaves so many bytes to something else for a while (negative: takes them back). */
  lend(bytes: number): void {
    this.lent += bytes;
    this.tell();
    this.trim();
  }
  private tell(): void { this.room?.told(this.held + this.lent); }

  /** A new scan. */
  begin(): void {
    this.scan++;
    if (!this.isStale) return;
    this.isStale = false;
    this.derived.clear();
  }

  /** Gives back what others need of the common budget. */
  trim(): void {
    const most = this.bytesMax;
    for (const oldest of this.entries.keys()) {
      if (this.held <= most) return;
      this.drop(oldest);
    }
  }
  private drop(key: object): void {
    this.held -= this.entries.get(key)!.bytes;
    this.entries.delete(key);
    this.derived.clear();
    this.tell();
  }

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

  /** What was made of a key's columns for a purpose of that name. */
  made(key: object, name: string): unknown {
    const found = this.derived.get(key)?.find((d) => d.name === name);
    if (found) this.madeScan = this.scan;
    return found?.value;
  }
  /** Keeps what was made, the last few of each key. */
  keepMade(key: object, name: string, value: unknown): void {
    if (this.derived.size >= derivedMax) this.derived.clear();
    const list = this.derived.get(key) ?? [];
    list.push({ name, value });
    if (list.length > derivedPerKey) list.shift();
    this.derived.set(key, list);
  }

  /** Keeps what `value` gives, if there is room for so many bytes. */
  set(key: object, bytes: number, value: () => unknown): void {
    if (this.entries.has(key)) return;
    this.refused++;
    const most = this.bytesMax;
    if (bytes > most) return;
    if (this.held + bytes > most && this.madeScan === this.scan) {
      // What this scan has used is not known: nothing gives way, and the next scan looks everything up.
      this.isStale = true;
      return;
    }
    for (const [oldest, entry] of this.entries) {
      if (this.held + bytes <= most) break;
      if (entry.scan === this.scan) return;
      this.drop(oldest);
    }
    if (this.held + bytes > most) return;
    this.refused--;
    this.entries.set(key, { value: value(), bytes, scan: this.scan });
    this.held += bytes;
    this.tell();
  }
}

/** Keys with something made of them, and things made for one key. */
const derivedMax = 8192, derivedPerKey = 3;

/** Told of every look. */
export interface CacheCounts { readonly found: () => void; readonly missed: () => void }

/** A budget that several caches share: each may count on its part, and use what the others leave. */
export interface CacheRoom {
  /** What the others leave, in bytes. */
  readonly left: () => number;
  /** What this one holds. */
  readonly told: (held: number) => void;
}

interface Entry { readonly value: unknown; readonly bytes: number; scan: number }
