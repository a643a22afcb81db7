/**
 * Takes rows out of objects: those that hold some of them are rewritten without them.
 *
 * What is to go is looked up in a table, object by object, or, where that does not fit into memory, sorted into temporary
 * objects and compared with all objects in the order of their keys.
 */
import assert from 'node:assert';
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { Memory } from '../../exec/operators/build.ts';
import type { ObjectMeta, SortOrder } from '../../lake/lake.types.ts';
import { ObjectCutter } from '../../lake/objects/cutter.ts';
import { keyColumn } from '../../lake/load/sort-rows.ts';
import { sortIntoObjects } from '../../lake/load/sort.ts';
import { projectionOf } from '../../lake/objects/reader.ts';
import type { ScanSource } from '../../lake/scan/scan.types.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { working } from '../../vectors/stop.ts';
import { compareBytes } from '../../vectors/value.ts';
import { type Vector, take } from '../../vectors/vector.ts';
import { leftRows } from '../diff/diff.ts';
import { KeyPlaces } from '../load/key-places.ts';
import { opened, rewritten } from '../load/rewrite-task.ts';
import { sortingWithin } from '../load/task.ts';
import type { PoolLayout } from '../messages.ts';
import type { WorkerTools } from '../query/tools.ts';
import type { TaskSpill } from '../query/spill.ts';
import type { Task } from '../task.ts';
import type { RowList } from './row-store.ts';

/** What objects are written with. */
export interface ApplyTools {
  readonly task: Task;
  readonly tools: WorkerTools;
  readonly spill: TaskSpill;
  readonly pool: PoolLayout;
}
/** Objects that go, and those that come for them. */
export interface Applied {
  readonly removes: readonly string[];
  readonly adds: readonly ObjectMeta[];
}
/** Objects of a page. */
const pageObjects = 1024;

/** Rows as objects of their own. */
export const writeRows = async (
  rows: RowList,
  { task, tools, spill, pool }: ApplyTools,
): Promise<readonly ObjectMeta[]> => {
  if (rows.length === 0) return [];
  const share = tools.budget.begin();
  try {
    const { objects } = await sortIntoObjects(rows.read(), sortingWithin(share, pool, { task, tools, spill }));
    return objects;
  } finally {
    share.end();
  }
};

/** Takes rows out of the objects of a source, which has all of them. */
export const takeOut = async (rows: RowList, source: ScanSource, given: ApplyTools): Promise<Applied> => {
  if (rows.length === 0) return { removes: [], adds: [] };
  return rows.isFew ? takeFew(rows.all(), source, given) : takeMany(rows, source, given);
};

const takeFew = async (rows: Vector, source: ScanSource, { task, tools, pool }: ApplyTools): Promise<Applied> => {
  const taker = working(task.signal, () => new Taker(rows, pool.keys[0] ?? [], pool.order));
  const keyAlone = projectionOf([pool.keys[0] ?? []]);
  const removes: string[] = [];
  const adds: ObjectMeta[] = [];
  try {
    for (let cursor: number | undefined; taker.left > 0; ) {
      const page = await source.page({ limit: pageObjects, ...(cursor !== undefined && { cursor }) });
      for (const meta of page.objects) {
        if (taker.left === 0 || !taker.mayBeBetween(meta.min.sort, meta.max.sort)) continue;
        const reader = await opened(meta, tools.objects);
        const rest = await rewritten({ task, tools, pool, keepsEncodings: true }, meta, reader, async (block, read) => {
          const { firstKey, lastKey } = reader.blocks[block]!;
          const [least, most] = pool.order === 'asc' ? [firstKey, lastKey] : [lastKey, firstKey];
          if (taker.left === 0 || !taker.mayBeBetween(least, most)) return undefined;
          const keys = await reader.read(block, keyAlone);
          const places = working(task.signal, () => taker.places(keys));
          if (places.length === 0) return undefined;
          const rows = await read();
          const gone = working(task.signal, () => taker.going(rows, places));
          return gone.length > 0 ? { gone } : undefined;
        });
        if (!rest) continue;
        removes.push(meta.id);
        adds.push(...rest);
      }
      cursor = page.next;
      if (cursor === undefined) break;
    }
    assert(taker.left === 0, 'rows that are to be taken out are there');
    return { removes, adds };
  } catch (error) {
    for (const meta of adds) if (!meta.inline) await tools.objects.delete(meta.id);
    throw error;
  }
};

/** Rows that are to go, by their values. */
class Taker {
  private readonly path: readonly string[];
  private readonly keys = new ColumnCodes();
  private readonly found: KeyPlaces;
  private readonly values = new ColumnCodes();
  private readonly counts: Uint32Array;
  private readonly first: Uint8Array;
  private readonly last: Uint8Array;
  left: number;
  constructor(rows: Vector, path: readonly string[], order: SortOrder) {
    this.path = path;
    this.left = rows.length;
    const keys = keyColumn(rows, path);
    this.found = new KeyPlaces(keys, path, order);
    this.keys.codes(keys);
    const codes = this.values.codes(rows);
    this.counts = new Uint32Array(this.values.size);
    for (const code of codes) this.counts[code]!++;
    [this.first, this.last] = this.found.ends;
  }
  /** Bounds of objects may be shortened, outwards. */
  mayBeBetween(least: Uint8Array, most: Uint8Array): boolean {
    return compareBytes(least, this.last) <= 0 && compareBytes(most, this.first) >= 0;
  }
  /** Rows of a block that may go, by their keys. */
  places(keys: Vector): Uint32Array {
    return this.found.in(keys) ?? this.placesOfKeys(keys);
  }
  /** Those of them that go, which then are taken. */
  going(rows: Vector, places: Uint32Array): Uint32Array {
    const gone = new Uint32List();
    const codes = this.values.codes(take(rows, places), false);
    for (let n = 0; n < places.length; n++) {
      const code = codes[n]!;
      if (code >= this.counts.length || this.counts[code] === 0) continue;
      this.counts[code]!--;
      this.left--;
      gone.push(places[n]!);
    }
    return gone.done();
  }
  private placesOfKeys(rows: Vector): Uint32Array {
    const keys = this.keys.codes(keyColumn(rows, this.path), false);
    const known = this.keys.size;
    const places = new Uint32List();
    for (let i = 0; i < keys.length; i++) if (keys[i]! < known) places.push(i);
    return places.done();
  }
}

const takeMany = async (rows: RowList, source: ScanSource, given: ApplyTools): Promise<Applied> => {
  const { task, tools, spill, pool } = given;
  const scratch = spill.objects();
  const gone = await writeRows(rows, { ...given, tools: { ...tools, objects: scratch } });
  const removes: string[] = [];
  const cutter = new ObjectCutter(pool, tools.objects, pool.threshold);
  let bytes = 0;
  let count = 0;
  for (let cursor: number | undefined; ; ) {
    const page = await source.page({ limit: pageObjects, inline: false, ...(cursor !== undefined && { cursor }) });
    for (const meta of page.objects) {
      removes.push(meta.id);
      bytes += meta.size;
      count += meta.count;
    }
    cursor = page.next;
    if (cursor === undefined) break;
  }
  cutter.expect(count - rows.length, (bytes / Math.max(1, count)) * 2);
  const after: ScanSource = { keys: pool.keys, order: pool.order, objects: scratch, page: () => ({ objects: gone }) };
  try {
    const sources = {
      before: source,
      after,
      keys: pool.keys,
      order: pool.order,
      spill,
      memoryBytesMax: tools.queryMemoryBytesMax,
      batchRows: tools.batchRows,
      signal: task.signal,
      read: () => undefined,
    };
    for await (const { side, rows: left } of leftRows(sources)) {
      assert(side === 'removed', 'rows that are to be taken out are there');
      cutter.add(left);
      await task.breathe();
    }
    return { removes, adds: (await cutter.finish()).objects };
  } catch (error) {
    await cutter.abort();
    throw error;
  } finally {
    for (const meta of gone) if (!meta.inline) await scratch.delete(meta.id);
  }
};

/** The memory that a merge has. */
export const memoryOf = ({ queryMemoryBytesMax }: WorkerTools): Memory => new Memory(queryMemoryBytesMax);
