/**
 * Decoded columns that a worker keeps for later scans, by their place in an opened object's directory; objects never
 * change, so nothing goes stale.
 *
 * Invariants:
 * - What is held stays within the budget, as far as the owners of the bytes tell it; what other caches leave of a
 *   common budget may be used until they need it.
 * - Only what no scan since the last `begin` has used gives way to something new: a scan of more than the budget keeps
 *   a part of it, rather than nothing.
 * - What the last few scans have not used gives way first, the oldest of it first; then what the scan before has used:
 *   of scans that take turns and need more than there is each keeps a part. (Were it always the oldest, each would
 *   throw out what it needs next.)
 * - What was made of kept columns alone, like the rows of a part of a block, is at hand as long as nothing has given
 *   way: it holds no bytes of its own.
 * - Columns go with their owner, the opened object that they were decoded from: nobody finds them without it.
 */
export class ColumnCache {
  private readonly own: number;
  private readonly room: CacheRoom | undefined;
  private readonly counts: CacheCounts;
  private readonly entries = new Map<object, Entry>();
  /** By the last scan that has used them, the latest last. */
  private readonly keysOf = new Map<number, Set<object>>();
  private readonly keysOfOwner = new Map<object, Set<object>>();
  /** Owners that were forgotten, and may still be read. */
  private readonly forgotten = new WeakSet<object>();
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
  constructor(
    bytesMax: number,
    counts: CacheCounts = { found: () => undefined, missed: () => undefined },
    room?: CacheRoom,
  ) {
    this.own = bytesMax;
    this.room = room;
    room?.told(0, 0);
    this.counts = counts;
  }

  get bytes(): number {
    return this.held;
  }
  /** Scans that have begun. */
  get scans(): number {
    return this.scan;
  }
  private get bytesMax(): number {
    const { room } = this;
    const bytes = room ? Math.max(room.own(), room.left()) : this.own;
    return Math.max(0, bytes - this.lent);
  }

  /** Leaves so many bytes to something else for a while (negative: takes them back). */
  lend(bytes: number): void {
    this.lent += bytes;
    this.tell();
    this.trim();
  }
  private tell(): void {
    this.room?.told(this.held, this.lent);
  }

  /** A new scan. */
  begin(): void {
    this.scan++;
    if (!this.isStale) return;
    this.isStale = false;
    this.derived.clear();
  }

  /** Nobody scans for some time: what was made of columns goes, which may hold some bytes of its own for constants. */
  rest(): void {
    this.derived.clear();
  }

  /** Gives back what others need of the common budget. */
  trim(): void {
    const most = this.bytesMax;
    for (const keys of this.keysOf.values()) {
      for (const key of keys) {
        if (this.held <= most) return;
        this.drop(key);
      }
    }
  }
  /** Drops all columns of an owner, and keeps none of it from here on. */
  forget(owner: object): void {
    this.forgotten.add(owner);
    for (const key of [...(this.keysOfOwner.get(owner) ?? [])]) this.drop(key);
  }
  private drop(key: object): void {
    const { bytes, scan, owner } = this.entries.get(key)!;
    const keys = this.keysOfOwner.get(owner)!;
    this.held -= bytes;
    this.entries.delete(key);
    keys.delete(key);
    if (keys.size === 0) this.keysOfOwner.delete(owner);
    this.leave(key, scan);
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
      this.leave(key, entry.scan);
      entry.scan = this.scan;
      this.enter(key);
    }
    return entry.value;
  }
  private enter(key: object): void {
    const keys = this.keysOf.get(this.scan);
    if (keys) keys.add(key);
    else this.keysOf.set(this.scan, new Set([key]));
  }
  private leave(key: object, scan: number): void {
    const keys = this.keysOf.get(scan)!;
    keys.delete(key);
    if (keys.size === 0) this.keysOf.delete(scan);
  }
  /** What gives way next; undefined if the running scan has used all there is. */
  private victim(): object | undefined {
    let found: Set<object> | undefined;
    for (const [scan, keys] of this.keysOf) {
      if (scan === this.scan) break;
      found = keys;
      if (scan < this.scan - recentScans) break;
    }
    return found?.values().next().value;
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
  set(key: object, bytes: number, value: () => unknown, owner: object = key): void {
    if (this.entries.has(key) || this.forgotten.has(owner)) return;
    this.refused++;
    const most = this.bytesMax;
    if (bytes > most) return;
    if (this.held + bytes > most && this.madeScan === this.scan) {
      // What this scan has used is not known: nothing gives way, and the next scan looks everything up.
      this.isStale = true;
      return;
    }
    while (this.held + bytes > most) {
      const victim = this.victim();
      if (!victim) return;
      this.drop(victim);
    }
    this.refused--;
    this.entries.set(key, { value: value(), bytes, scan: this.scan, owner });
    const keys = this.keysOfOwner.get(owner);
    if (keys) keys.add(key);
    else this.keysOfOwner.set(owner, new Set([key]));
    this.enter(key);
    this.held += bytes;
    this.tell();
  }
}

/** Scans that may come again soon. */
const recentScans = 16;
/** Keys with something made of them, and things made for one key. */
const derivedMax = 8192;
const derivedPerKey = 3;

/** Told of every look. */
export interface CacheCounts {
  readonly found: () => void;
  readonly missed: () => void;
}

/** A budget that several caches share: each may count on its part, and use what the others leave. */
export interface CacheRoom {
  /** What this one may count on, in bytes. */
  readonly own: () => number;
  /** What the others leave, in bytes. */
  readonly left: () => number;
  /** What this one holds, and what it has lent of its room. */
  readonly told: (held: number, lent: number) => void;
}

interface Entry {
  readonly value: unknown;
  readonly bytes: number;
  scan: number;
  readonly owner: object;
}
