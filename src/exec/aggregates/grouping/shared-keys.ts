/**
 * Group keys of shares that several threads work on: a thread names a group by its number, and tells the key of a
 * number once.
 *
 * Invariants:
 * - Groups of a share are in the order in which its rows meet them; merged share by share they are in the order of all
 *   rows.
 * - Numbers belong to the store of one thread; a store that has grown large is given up for a new one.
 */
import { Uint32List } from '../../../vectors/lists.ts';
import { concat } from '../../../vectors/concat.ts';
import { type Vector, take } from '../../../vectors/vector.ts';
import { GroupTable } from './groups.ts';
import { none } from './pair-table.ts';

/** A store that holds more is given up. */
const storeBytesMax = 16 << 20;

/**
 * The groups of a share by their numbers in a store, and the keys that the store has not told yet: those of numbers
 * from `start` on.
 */
export interface ShareKeys {
  readonly store: string;
  readonly order: Uint32Array;
  readonly start: number;
  readonly keys: readonly Vector[];
}

/** The keys that one thread has met. */
export class KeyStore {
  private readonly keys: number;
  private readonly thread: number;
  private readonly sql: boolean;
  private generation = 0;
  private told = 0;
  table: GroupTable;
  constructor(keys: number, thread: number, sql: boolean) {
    this.keys = keys;
    this.thread = thread;
    this.sql = sql;
    this.table = new GroupTable(keys, sql);
  }

  /** Ids for a new share. */
  begin(): ShareIds {
    if (this.table.bytes > storeBytesMax) {
      this.table = new GroupTable(this.keys, this.sql);
      this.generation++;
      this.told = 0;
    }
    return new ShareIds(this.table.size);
  }
  tell(ids: ShareIds): ShareKeys {
    const { table, told: start } = this;
    const isNew = this.keys > 0 && table.size > start;
    this.told = table.size;
    return {
      store: `${this.thread}/${this.generation}`,
      order: ids.order.array.slice(0, ids.order.length),
      start,
      keys: isNew ? table.keys(start) : [],
    };
  }
}

/** Numbers of a store's groups in one share: 0 for the first met. */
export class ShareIds {
  readonly order = new Uint32List();
  private map: Uint32Array;
  constructor(groups: number) {
    this.map = new Uint32Array(Math.max(64, groups)).fill(none);
  }
  get size(): number {
    return this.order.length;
  }

  one(group: number, groups: number): number {
    this.widen(groups);
    const known = this.map[group];
    if (known !== none) return known;
    this.order.push(group);
    return (this.map[group] = this.order.length - 1);
  }
  /** For use until the next call. */
  of(ids: Uint32Array, groups: number): Uint32Array {
    this.widen(groups);
    const { map, order } = this;
    const out = scratch(ids.length);
    for (let i = 0; i < ids.length; i++) {
      const g = ids[i];
      let own = map[g];
      if (own === none) {
        own = map[g] = order.length;
        order.push(g);
      }
      out[i] = own;
    }
    return out;
  }
  private widen(groups: number): void {
    if (groups <= this.map.length) return;
    const wider = new Uint32Array(Math.max(groups, this.map.length * 2)).fill(none, this.map.length);
    wider.set(this.map);
    this.map = wider;
  }
}

let scratchIds = new Uint32Array(0);
const scratch = (length: number): Uint32Array => {
  if (scratchIds.length < length) scratchIds = new Uint32Array(Math.max(length, 8192));
  return scratchIds.subarray(0, length);
};

interface Chunk {
  readonly start: number;
  readonly end: number;
  readonly keys: readonly Vector[];
}
interface Known {
  chunks: Chunk[];
  map: Uint32Array;
}

/** What the stores of all threads have told, and the groups of one table that their numbers stand for. */
export class KeyBook {
  private readonly stores = new Map<string, Known>();

  /** Notes the keys that came; before `groupsOf` is asked for any share of that store. */
  note({ store, start, keys }: ShareKeys): void {
    const known = this.storeOf(store);
    if (keys.length > 0) known.chunks.push({ start, end: start + keys[0].length, keys });
  }

  /** The groups of the table for the groups of a share. */
  groupsOf({ store, order }: ShareKeys, table: GroupTable, keyCount: number): Uint32Array {
    if (keyCount === 0) return new Uint32Array(order.length);
    const known = this.storeOf(store);
    const out = new Uint32Array(order.length);
    const unknown: number[] = [];
    for (let i = 0; i < order.length; i++) {
      const group = known.map[order[i]] ?? none;
      if (group === none) unknown.push(i);
      else out[i] = group;
    }
    if (unknown.length > 0) this.add(known, order, unknown, table, out);
    return out;
  }
  private add(known: Known, order: Uint32Array, unknown: readonly number[], table: GroupTable, out: Uint32Array): void {
    const numbers = Uint32Array.from(unknown, (i) => order[i]);
    const chunk = chunkOf(known, numbers);
    const rows = numbers.map((n) => n - chunk.start);
    const groups = table.ids(
      chunk.keys.map((k) => take(k, rows)),
      rows.length,
    );
    if (known.map.length < chunk.end) {
      const wider = new Uint32Array(Math.max(chunk.end, known.map.length * 2)).fill(none, known.map.length);
      wider.set(known.map);
      known.map = wider;
    }
    unknown.forEach((at, k) => {
      out[at] = known.map[numbers[k]] = groups[k];
    });
  }

  private storeOf(store: string): Known {
    let known = this.stores.get(store);
    if (!known) this.stores.set(store, (known = { chunks: [], map: new Uint32Array(0) }));
    return known;
  }
}

/** The keys of all these numbers: mostly they came together, else all that came are put together. */
const chunkOf = (known: Known, numbers: Uint32Array): Chunk => {
  const found = known.chunks.find((c) => numbers.every((n) => n >= c.start && n < c.end));
  if (found) return found;
  const chunks = [...known.chunks].sort((a, b) => a.start - b.start);
  const [first] = chunks;
  const all: Chunk = {
    start: first!.start,
    end: chunks.at(-1)!.end,
    keys: first!.keys.map((_, k) => concat(chunks.map((c) => c.keys[k]))),
  };
  known.chunks = [all];
  return all;
};
