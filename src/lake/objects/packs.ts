/**
 * Packs of a pool: the rows of many small objects once more, as one columnar body. A scan of a snapshot that has all
 * objects of a pack reads the pack in their place.
 *
 * Invariants:
 * - A pack is a copy. Ids, commits, logs and the objects' own bodies stay as they are, and whoever asks for an object
 *   by its id gets its own body.
 * - A pack is read only for a list that has every one of its objects, and stands where the first of them would.
 * - A pack goes in the transaction in which one of its objects is vacuumed: what was vacuumed is in no pack.
 * - An object is in one pack at most.
 */
import { idBuffer, idOfBytes } from '../ksuid.ts';
import type { Id, KeyRange, ObjectMeta } from '../lake.types.ts';
import type { Chunk, ListView, ObjectEntry, ObjectList } from './list.ts';
import { decodeObject, encodeObject, idOfPair, pairKey } from '../tables/rows.ts';
import { type Change, type Tables, rowMissing } from '../tables/tables.ts';

/**
 * `members`: ids in the order of a list. `entry` is the object that stands in their place; its body is in the pack's
 * row.
 */
export interface Pack {
  readonly entry: ObjectEntry;
  readonly members: readonly Id[];
}
/** The packs that a list may read, by the ids of their objects. */
export type UsablePacks = ReadonlyMap<Id, Pack>;

const idBytes = 20;
const noPacks: UsablePacks = new Map();

/** `count u32 | ids | length of the entry u32 | entry | body`. */
export const encodePack = ({ entry, members }: Pack, body: Uint8Array): Buffer => {
  const head = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  const encoded = encodeObject(entry);
  head.writeUInt32LE(members.length);
  length.writeUInt32LE(encoded.length);
  return Buffer.concat([head, ...members.map(idBuffer), length, encoded, body]);
};
const decodePack = (id: Id, payload: Buffer): { readonly pack: Pack; readonly body: Uint8Array } => {
  const count = payload.readUInt32LE(0);
  const entryAt = 4 + count * idBytes + 4;
  const bodyAt = entryAt + payload.readUInt32LE(entryAt - 4);
  const members = Array.from({ length: count }, (_, i) =>
    idOfBytes(payload.subarray(4 + i * idBytes, 4 + (i + 1) * idBytes)),
  );
  return {
    pack: { entry: decodeObject(id, payload.subarray(entryAt, bodyAt), 'packs'), members },
    body: payload.subarray(bodyAt),
  };
};

/** The packs of one pool, and which objects each of them stands for. */
export class PackIndex {
  private readonly tables: Tables;
  private readonly poolId: Id;
  private packs: Map<Id, Pack> | undefined;
  /** By the ids of their objects. */
  private readonly of = new Map<Id, Pack>();
  /** Counts changes, so that what was found out about a list can be kept. */
  private version = 0;
  private readonly known = new WeakMap<ObjectList, { readonly version: number; readonly usable: UsablePacks }>();
  private counts = new WeakMap<Chunk, ReadonlyMap<Pack, number>>();
  /** Of these chunks nothing is left to pack, as long as no pack is forgotten. */
  private full = new WeakSet<Chunk>();

  constructor(tables: Tables, poolId: Id) {
    this.tables = tables;
    this.poolId = poolId;
  }

  has(id: Id): boolean {
    return this.load().size > 0 && this.of.has(id);
  }
  get size(): number {
    return this.load().size;
  }

  /**
   * Entries of a list that are in no pack though they fit into one, in order. Looking through a long list again costs
   * the chunks that had some, or are new.
   */
  *loose(list: ObjectList, fits: (entry: ObjectEntry) => boolean): Generator<ObjectEntry> {
    for (const chunk of list.chunks) {
      // A pack that is forgotten meanwhile begins another set.
      const { full } = this;
      if (full.has(chunk)) continue;
      let found = false;
      for (const entry of chunk.entries) {
        if (!fits(entry) || this.has(entry.id)) continue;
        found = true;
        yield entry;
      }
      if (!found) full.add(chunk);
    }
  }

  add(pack: Pack): void {
    this.load().set(pack.entry.id, pack);
    for (const id of pack.members) this.of.set(id, pack);
    this.changed();
  }

  /** A replica's tables have the row of a pack now, or lack it. */
  followed(id: Id, payload: Buffer | undefined): void {
    // What is not read yet is read with it.
    if (!this.packs) return;
    if (payload) this.add(decodePack(id, payload).pack);
    else this.forget(this.packs.get(id)?.members.slice(0, 1) ?? []);
  }

  /** The rows of packs that hold one of these objects go; call `forget` when that is durable. */
  removals(ids: readonly Id[]): readonly Change[] {
    const found = new Set<Pack>();
    if (this.load().size > 0) for (const id of ids) if (this.of.has(id)) found.add(this.of.get(id)!);
    return [...found].map(({ entry }) => ({ table: 'packs', key: pairKey(this.poolId, entry.id) }));
  }
  forget(ids: readonly Id[]): void {
    for (const id of ids) {
      const pack = this.of.get(id);
      if (!pack) continue;
      this.packs!.delete(pack.entry.id);
      for (const member of pack.members) this.of.delete(member);
    }
    this.full = new WeakSet();
    this.changed();
  }

  /** The packs that a list has whole. Costs the chunks that were not looked at before. */
  usable(list: ObjectList): UsablePacks {
    if (this.load().size === 0) return noPacks;
    const known = this.known.get(list);
    if (known?.version === this.version) return known.usable;
    const totals = new Map<Pack, number>();
    const usable = new Map<Id, Pack>();
    for (const chunk of list.chunks)
      for (const [pack, n] of this.countsOf(chunk)) totals.set(pack, (totals.get(pack) ?? 0) + n);
    for (const [pack, n] of totals) if (n === pack.members.length) for (const id of pack.members) usable.set(id, pack);
    this.known.set(list, { version: this.version, usable });
    return usable;
  }

  isPack(id: Id): boolean {
    return this.load().has(id);
  }
  /** A pack as an object. */
  meta({ id, count, size, min, max }: ObjectEntry, withBody: boolean): ObjectMeta {
    if (!withBody) return { id, count, size, min, max };
    const payload = this.tables.get('packs', pairKey(this.poolId, id));
    if (!payload) throw rowMissing('packs', id);
    return { id, count, size, min, max, inline: decodePack(id, payload).body };
  }

  private countsOf(chunk: Chunk): ReadonlyMap<Pack, number> {
    let counts = this.counts.get(chunk);
    if (counts) return counts;
    const found = new Map<Pack, number>();
    for (const { id, inTable } of chunk.entries) {
      const pack = inTable ? this.of.get(id) : undefined;
      if (pack) found.set(pack, (found.get(pack) ?? 0) + 1);
    }
    this.counts.set(chunk, (counts = found));
    return counts;
  }

  private load(): Map<Id, Pack> {
    if (this.packs) return this.packs;
    this.packs = new Map();
    for (const { key, payload } of this.tables.rows('packs', { prefix: idBuffer(this.poolId) }))
      this.add(decodePack(idOfPair('packs', key), payload).pack);
    return this.packs;
  }
  private changed(): void {
    this.version++;
    this.counts = new WeakMap();
  }
}

/** A pack weighs as much as this part of its objects. */
const objectsPerWeight = 64;

/**
 * What a scan is shown of an entry: itself, the pack in whose place it is the first, or nothing as one of the others. A
 * pack is shown whole or not at all.
 */
export const packed = (usable: UsablePacks, isPack: (id: Id) => boolean, range: KeyRange = {}): ListView => ({
  shown: (entry) => {
    const pack = usable.get(entry.id);
    if (!pack || !isWithin(pack.entry, range)) return entry;
    return entry.id === pack.members[0] ? pack.entry : undefined;
  },
  weight: (shown) => (isPack(shown.id) ? Math.max(1, shown.count / objectsPerWeight) : 1),
});
const isWithin = ({ min, max }: ObjectEntry, range: KeyRange): boolean =>
  (!range.min || Buffer.compare(min.sort, range.min) >= 0) && (!range.max || Buffer.compare(max.sort, range.max) <= 0);
