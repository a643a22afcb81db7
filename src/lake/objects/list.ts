/**
 * The objects of one commit as a persistent list: a commit shares with its parent all chunks that it did not touch.
 *
 * Invariants:
 * - Order: `asc` by smallest key, `desc` by largest key backwards; ties by `sequence`, the order in which objects came
 *   into the lake. So the order follows from the set alone, whatever way of commits led to it.
 * - Chunks hold 1 to `chunkEntriesMax` entries and are never changed; adding or removing one object copies one chunk
 *   and the list of chunks.
 */
import type { Id, KeyBound, KeyRange, SortOrder } from '../lake.types.ts';
import { compareBytes } from '../../vectors/value.ts';
import { overlaps } from '../scan/range.ts';

/** An object as the lake keeps it in memory: its body is elsewhere. */
export interface ObjectEntry {
  readonly id: Id;
  readonly count: number;
  /** Encoded bytes. */
  readonly size: number;
  readonly min: KeyBound;
  readonly max: KeyBound;
  /** Grows with every object that comes into the lake. */
  readonly sequence: number;
  /** The body lives in the tables. */
  readonly inTable: boolean;
  /** Has the marker that `:vectors` lists. */
  readonly vector: boolean;
}

/** What stands in the place of entries: another one, or nothing. */
export interface ListView {
  shown(entry: ObjectEntry): ObjectEntry | undefined;
  weight(shown: ObjectEntry): number;
}

/** `low` and `high` bound the keys of all entries. */
export interface Chunk {
  readonly entries: readonly ObjectEntry[];
  readonly low: Uint8Array;
  readonly high: Uint8Array;
  /** What it takes in memory, about. */
  readonly bytes: number;
  /** Lists of the snapshot cache that have it. */
  holders: number;
}

const chunkEntriesMax = 256;
/** Measured on Node 20: an entry with its id, its place in the chunk, and two bounds without their texts and keys. */
const entryBytes = 640;
const bytesOf = ({ min, max }: ObjectEntry): number =>
  entryBytes + min.text.length + min.sort.length + max.text.length + max.sort.length;

/** An immutable list: changes give a new one that shares chunks with it. */
export class ObjectList {
  readonly order: SortOrder;
  readonly length: number;
  readonly chunks: readonly Chunk[];
  private starts: Uint32Array | undefined;

  private constructor(order: SortOrder, length: number, chunks: readonly Chunk[]) {
    this.order = order;
    this.length = length;
    this.chunks = chunks;
  }

  static empty(order: SortOrder): ObjectList {
    return new ObjectList(order, 0, []);
  }
  /** Entries in any order. */
  static of(order: SortOrder, entries: readonly ObjectEntry[]): ObjectList {
    const sorted = [...entries].sort((a, b) => compare(order, a, b));
    const chunks: Chunk[] = [];
    for (let i = 0; i < sorted.length; i += chunkEntriesMax) chunks.push(chunkOf(sorted.slice(i, i + chunkEntriesMax)));
    return new ObjectList(order, sorted.length, chunks);
  }

  /** With these entries removed and added. Removed ones must be there, added ones must not. */
  change(removes: readonly ObjectEntry[], adds: readonly ObjectEntry[]): ObjectList {
    if (removes.length === 0 && adds.length === 0) return this;
    if (removes.length + adds.length > Math.max(64, this.length / 8)) {
      const gone = new Set(removes.map((e) => e.id));
      return ObjectList.of(this.order, [...this.entries()].filter((e) => !gone.has(e.id)).concat(adds));
    }
    const chunks = [...this.chunks];
    for (const entry of removes) removeFrom(chunks, this.order, entry);
    const own = new Set<Chunk>();
    for (const entry of adds) addTo(chunks, this.order, entry, own);
    return new ObjectList(this.order, this.length - removes.length + adds.length, chunks);
  }

  *entries(): IterableIterator<ObjectEntry> {
    for (const chunk of this.chunks) yield* chunk.entries;
  }

  has(entry: ObjectEntry): boolean {
    return this.find(entry) !== undefined;
  }
  /** The list's own entry of that object: its marker is that of this commit. */
  find(entry: ObjectEntry): ObjectEntry | undefined {
    const chunk = this.chunks[chunkAt(this.chunks, this.order, entry)];
    const found = chunk?.entries[place(chunk.entries, this.order, entry)];
    return found?.id === entry.id ? found : undefined;
  }

  /**
   * Entries from position `from` on that overlap the range, at most `limit`; `next` is where to go on, or undefined at
   * the end. With a view, what it shows: at least one, then no more than `limit` in sum of their weights.
   */
  page(
    from: number,
    limit: number,
    range: KeyRange = {},
    view?: ListView,
  ): { readonly entries: readonly ObjectEntry[]; readonly next: number | undefined } {
    const found: ObjectEntry[] = [];
    let weight = 0;
    const starts = this.startsOf();
    for (let c = chunkOfPosition(starts, from); c < this.chunks.length; c++) {
      const chunk = this.chunks[c];
      if (!overlaps(range, chunk.low, chunk.high)) continue;
      for (let i = Math.max(0, from - starts[c]); i < chunk.entries.length; i++) {
        const entry = chunk.entries[i];
        if (!overlaps(range, entry.min.sort, entry.max.sort)) continue;
        const shown = view ? view.shown(entry) : entry;
        if (!shown) continue;
        weight += view?.weight(shown) ?? 1;
        if (weight > limit && found.length > 0) return { entries: found, next: starts[c] + i };
        found.push(shown);
      }
    }
    return { entries: found, next: undefined };
  }

  private startsOf(): Uint32Array {
    if (this.starts) return this.starts;
    const starts = new Uint32Array(this.chunks.length);
    let at = 0;
    this.chunks.forEach((chunk, i) => {
      starts[i] = at;
      at += chunk.entries.length;
    });
    this.starts = starts;
    return starts;
  }
}

/** What two lists do not share: costs the chunks that differ. */
export const difference = (
  from: ObjectList,
  to: ObjectList,
): { readonly adds: ObjectEntry[]; readonly removes: ObjectEntry[] } => {
  const shared = new Set(from.chunks);
  const toOwn = to.chunks.filter((chunk) => !shared.delete(chunk));
  const fromOwn = from.chunks.filter((chunk) => shared.has(chunk));
  const before = new Set(fromOwn.flatMap((chunk) => chunk.entries.map((e) => e.id)));
  const adds: ObjectEntry[] = [];
  for (const chunk of toOwn) for (const entry of chunk.entries) if (!before.delete(entry.id)) adds.push(entry);
  const removes = fromOwn.flatMap((chunk) => chunk.entries.filter((e) => before.has(e.id)));
  return { adds, removes };
};

const compare = (order: SortOrder, a: ObjectEntry, b: ObjectEntry): number =>
  (order === 'asc' ? compareBytes(a.min.sort, b.min.sort) : compareBytes(b.max.sort, a.max.sort)) ||
  a.sequence - b.sequence;

const chunkOf = (entries: readonly ObjectEntry[]): Chunk => {
  let low = entries[0].min.sort;
  let high = entries[0].max.sort;
  for (const e of entries) {
    if (compareBytes(e.min.sort, low) < 0) low = e.min.sort;
    if (compareBytes(e.max.sort, high) > 0) high = e.max.sort;
  }
  return { entries, low, high, bytes: entries.reduce((sum, e) => sum + bytesOf(e), 0), holders: 0 };
};

/** Position of the first entry that is not before this one. */
const place = (entries: readonly ObjectEntry[], order: SortOrder, entry: ObjectEntry): number => {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(order, entries[middle], entry) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Index of the chunk where the entry is or would come: the first whose last entry is not before it. */
const chunkAt = (chunks: readonly Chunk[], order: SortOrder, entry: ObjectEntry): number => {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(order, chunks[middle]!.entries.at(-1)!, entry) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

const chunkOfPosition = (starts: Uint32Array, position: number): number => {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= position) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
};

/** A chunk that no list has yet. */
type GrowingChunk = { -readonly [K in Exclude<keyof Chunk, 'entries'>]: Chunk[K] } & {
  readonly entries: ObjectEntry[];
};
/** `own`: chunks that were made for this list, which may still grow. */
const addTo = (chunks: Chunk[], order: SortOrder, entry: ObjectEntry, own: Set<Chunk>): void => {
  if (chunks.length === 0) {
    chunks.push(chunkOf([entry]));
    return;
  }
  const at = Math.min(chunkAt(chunks, order, entry), chunks.length - 1);
  const { entries } = chunks[at];
  const where = place(entries, order, entry);
  // A full last chunk that is appended to stays as it is: keys that only grow then leave full chunks behind.
  if (entries.length === chunkEntriesMax && where === entries.length) {
    const next = chunkOf([entry]);
    own.add(next);
    chunks.splice(at + 1, 0, next);
    return;
  }
  if (entries.length === chunkEntriesMax) {
    const grown = entries.toSpliced(where, 0, entry);
    const half = grown.length >> 1;
    chunks.splice(at, 1, chunkOf(grown.slice(0, half)), chunkOf(grown.slice(half)));
    return;
  }
  let chunk = chunks[at];
  if (!own.has(chunk)) own.add((chunk = chunks[at] = copyOf(chunk)));
  grow(chunk as GrowingChunk, where, entry);
};
const copyOf = ({ entries, low, high, bytes }: Chunk): Chunk => ({
  entries: [...entries],
  low,
  high,
  bytes,
  holders: 0,
});
const grow = (chunk: GrowingChunk, where: number, entry: ObjectEntry): void => {
  chunk.entries.splice(where, 0, entry);
  if (compareBytes(entry.min.sort, chunk.low) < 0) chunk.low = entry.min.sort;
  if (compareBytes(entry.max.sort, chunk.high) > 0) chunk.high = entry.max.sort;
  chunk.bytes += bytesOf(entry);
};

const removeFrom = (chunks: Chunk[], order: SortOrder, entry: ObjectEntry): void => {
  const at = chunkAt(chunks, order, entry);
  const chunk = chunks[at];
  const where = chunk ? place(chunk.entries, order, entry) : -1;
  if (!chunk || chunk.entries[where]?.id !== entry.id) throw new Error(`object ${entry.id} is not in the list`);
  if (chunk.entries.length === 1) chunks.splice(at, 1);
  else chunks[at] = chunkOf([...chunk.entries.slice(0, where), ...chunk.entries.slice(where + 1)]);
};
