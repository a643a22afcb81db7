/**
 * Rows of one block for a scan, part by part: parts that the pruner rules out are not read, columns that only the
 * answer needs are read when the filter has found rows in the part.
 */
import { areTimeTexts } from '../../vectors/texts/times.ts';
import { type Vector, noRows } from '../../vectors/vector.ts';
import { takenApart } from '../columns/apart.ts';
import type { ColumnCache } from '../columns/cache.ts';
import { pickedShareMax } from '../columns/picked.ts';
import type { Column } from '../columns/column.ts';
import { type Projection, textsAlone } from '../columns/wanted.ts';
import { type SearchedText, searchedTexts } from '../columns/pairs.ts';
import { type ColumnPruner, type Zone, mayBeTrue, zoneOf } from '../columns/prune.ts';
import { type BlockTags, type ObjectReader, projectionOf } from '../objects/reader.ts';
import type { ColumnSummary } from '../../vectors/summary.ts';
import type { Selection } from '../columns/select.ts';
import type { KnownValues } from '../columns/stored-tests.ts';
import { type BestKeys, spanOfBlock } from './best.ts';
import { cutOut, cutParts } from './cut.ts';
import { type Kept, type WantedColumns, fieldsAt, placesOf, someOf, wantedRows } from './kept-rows.ts';
import type { BestRows, BlockCounts, BlockSummaries, KeptRows, RowFilter } from './scan.types.ts';

type Paths = readonly (readonly string[])[];
type MaybePromise<T> = T | Promise<T>;

/** What a scan asks of each block. */
interface BlockOptions {
  readonly columns?: Paths;
  readonly pruner?: ColumnPruner;
  readonly filter?: RowFilter;
  /** The filter's best rows are those by the pool's first key. */
  readonly bestKeys?: BestKeys;
  readonly descending?: boolean;
  /** Decoded columns of the readers. */
  readonly cache?: ColumnCache;
  /** Told of what was read: bytes of objects, and rows. */
  readonly read?: (bytes: number, rows: number) => void;
  readonly counts?: BlockCounts;
  readonly summaries?: BlockSummaries;
}

/** Rows that were looked at: all of a part with the places of those that are kept, or these alone. */
interface Looked {
  readonly seen: Vector;
  readonly index: KeptRows;
  readonly isPicked?: boolean;
  readonly lacking: Lacking | undefined;
}
/** Reads blocks of any reader with the options of a scan. */
export class BlockScanner {
  private readonly options: BlockOptions;
  private readonly projection: Projection | undefined;
  private readonly filterProjection: Projection | undefined;
  /** What is wanted, and what the filter looks at, as texts. */
  private readonly name: string;
  private readonly filterName: string;
  /** The filter looks at all that is wanted. */
  private readonly filterSuffices: boolean;
  /** What is wanted beside the columns that the filter looks at; undefined: all of it is read. */
  private readonly filterLacks: Lacking | undefined;
  private readonly texts: readonly SearchedText[] | undefined;
  /** What is asked beyond tests that are answered from what is stored, and its columns. */
  private readonly restProjection: Projection | undefined;
  private readonly restName: string;
  private readonly restSuffices: boolean;
  private readonly restLacks: Lacking | undefined;
  /** The columns of what is asked of them first. */
  private readonly firstColumns: WantedColumns | undefined;
  /** All that is looked at; undefined: the whole row, or rows beside others. */
  private readonly looksAt: readonly Projection[] | undefined;
  private readonly summariesName: string;
  private readonly knownValues: readonly KnownValues[];
  /** Parts of blocks that the pruner leaves. */
  private readonly known = new Map<readonly Column[], readonly Column[]>();
  private readonly toldBytes = new WeakMap<ObjectReader, number>();

  constructor(options: BlockOptions) {
    const { columns, filter, bestKeys } = options;
    this.options = options;
    this.projection = columns && projectionOf(columns);
    this.filterProjection = filter?.columns && projectionOf(filter.columns);
    this.texts = filter?.textOnly && filter.texts ? searchedTexts(filter.texts) : undefined;
    this.name = JSON.stringify(columns ?? null);
    this.filterName = filter ? JSON.stringify([filter.columns ?? null, filter.textOnly ?? false]) : this.name;
    this.filterSuffices =
      (!this.filterProjection && (!filter?.textOnly || columns?.length === 0)) ||
      (columns !== undefined && covers(filter!.columns!, columns));
    const rest = filter?.stored?.columns;
    this.restProjection = rest && projectionOf(rest);
    this.restName = JSON.stringify([rest ?? null, false]);
    this.filterLacks = filter?.textOnly ? undefined : lackingOf(columns, filter?.columns);
    this.restLacks = lackingOf(columns, rest);
    const first = filter?.stored?.first?.columns;
    this.firstColumns = first && { name: JSON.stringify([first, false]), projection: projectionOf(first) };
    this.restSuffices = !rest || (columns !== undefined && covers(rest, columns));
    if (this.projection && !bestKeys && !filter?.best && !filter?.textOnly && (!filter || this.filterProjection))
      this.looksAt = this.filterProjection ? [this.projection, this.filterProjection] : [this.projection];
    this.summariesName = options.summaries
      ? JSON.stringify(options.summaries.of.map(({ path, totals }) => [path, totals]))
      : '';
    this.knownValues = filter?.stored?.tests.map(() => new WeakMap()) ?? [];
  }

  /** Whether what all rows of an object come to is enough, and was taken; only of a scan of all rows. */
  takesAll(reader: ObjectReader): boolean {
    const { summaries, read, counts } = this.options;
    if (!summaries) return false;
    const columns = reader.summariesOfAll(this.summariesName, summaries.of);
    if (!columns || !summaries.take(reader.count, columns)) return false;
    for (let block = 0; counts && block < reader.blocks.length; block++) counts.block(reader.id, block);
    read?.(0, reader.count);
    return true;
  }

  /** The wanted rows, apart by part and so not in the block's order; at once if all of it is at hand. */
  parts(reader: ObjectReader, block: number): MaybePromise<readonly Vector[]> {
    const out: Vector[] = [];
    if (reader.isFar && !this.toldBytes.has(reader)) this.toldBytes.set(reader, reader.bytesRead);
    const live = this.apart(this.live(reader.parts(block)));
    for (let k = 0; k < live.length; k++) {
      const kept = this.kept(reader, block, live[k]);
      if (kept instanceof Promise) return this.partsLater(reader, block, { live, from: k + 1, first: kept, out });
      if (kept) out.push(wantedRows(kept));
    }
    return out;
  }
  private async partsLater(
    reader: ObjectReader,
    block: number,
    {
      live,
      from,
      first,
      out,
    }: {
      readonly live: readonly Column[];
      readonly from: number;
      readonly first: Promise<Kept | undefined>;
      readonly out: Vector[];
    },
  ): Promise<readonly Vector[]> {
    let kept = await first;
    if (kept) out.push(wantedRows(kept));
    for (let k = from; k < live.length; k++) {
      kept = await this.kept(reader, block, live[k]);
      if (kept) out.push(wantedRows(kept));
    }
    return out;
  }

  /** The wanted rows in the block's order; undefined if there are none. */
  async inOrder(reader: ObjectReader, block: number): Promise<Vector | undefined> {
    const parts = reader.parts(block);
    const found = new Map<Column, Kept>();
    for (const part of this.live(parts)) {
      const kept = await this.kept(reader, block, part);
      if (kept) found.set(part, kept);
    }
    if (found.size === 0) return undefined;
    if (found.size > 1)
      return woven(
        (await reader.tags(block))!,
        parts.map((p) => found.get(p)),
        parts.map((p) => p.rows),
      );
    const [kept] = found.values();
    return wantedRows(kept);
  }

  /** The first rows of the block in its order, unfiltered: of its parts only those are read that these rows are in. */
  async first(reader: ObjectReader, block: number, count: number): Promise<Vector> {
    const parts = reader.parts(block);
    const places = await reader.tags(block);
    if (!places) return cutOut(await this.part(reader, block, parts[0]), 0, count);
    const tags = places.tags.subarray(0, count);
    const found: Vector[] = parts.map(() => noRows);
    for (const tag of new Set(tags)) found[tag] = await this.part(reader, block, parts[tag]);
    return cutParts({ tags, slots: places.slots, parts: found }, 0, count)!;
  }
  private part(reader: ObjectReader, block: number, part: Column): MaybePromise<Vector> {
    const { bytesRead } = reader;
    this.options.counts?.block(reader.id, block);
    return this.told(reader, bytesRead, this.rows(reader, block, part));
  }

  /** What the wanted columns of a block take once they are expanded. */
  wantedBytes(reader: ObjectReader, block: number): number {
    return reader.wantedBytes(block, this.projection);
  }

  /** Begins to fetch what the block is looked at with first; what that takes at most, once it is expanded. */
  fetch(reader: ObjectReader, block: number): number {
    const { pruner, filter, summaries, bestKeys } = this.options;
    // Where the best rows are wanted most blocks are not read, texts are looked for in what is stored of them.
    if (filter?.best || filter?.textOnly || (!filter && summaries)) return 0;
    const projection = filter ? this.filterProjection : this.projection;
    for (const part of this.apart(this.live(reader.parts(block)))) {
      if (pruner && reader.fetchFilters(block, part, pruner)) continue;
      if (filter?.stored?.tests.length && !bestKeys && reader.fetchTests(block, part, filter.stored.tests)) continue;
      reader.fetchPart(block, part, projection);
    }
    return reader.wantedBytes(block, projection);
  }

  /** All rows of the block with the wanted columns, unfiltered. */
  async all(reader: ObjectReader, block: number): Promise<Vector> {
    const { bytesRead } = reader;
    this.options.counts?.block(reader.id, block);
    return this.told(reader, bytesRead, reader.read(block, this.projection));
  }

  private passing(parts: readonly Column[], pruner: ColumnPruner): readonly Column[] {
    let passing = this.known.get(parts);
    if (!passing) {
      passing = parts.filter((p) => mayBeTrue(p, pruner));
      // Blocks are looked at several times only where the best rows are wanted.
      if (this.options.filter?.best) this.known.set(parts, passing);
    }
    return passing;
  }
  private live(parts: readonly Column[]): readonly Column[] {
    const { pruner, filter, bestKeys } = this.options;
    const passing = pruner ? this.passing(parts, pruner) : parts;
    const best = filter?.best;
    const floor = best?.floor();
    if (floor !== undefined) return passing.filter((p) => mayBeBest(zoneOf(p, best!.path), best!, floor));
    return best?.dropsNulls && bestKeys?.floor ? passing.filter((p) => !isNothing(zoneOf(p, best.path))) : passing;
  }

  /** The parts, and those within them where nothing else is looked at: only where rows may come in any order. */
  private apart(parts: readonly Column[]): readonly Column[] {
    return this.looksAt ? parts.flatMap((part) => takenApart(part, this.looksAt!)) : parts;
  }

  /**
   * The best number that the block may hold, turned so that greater is better; undefined if it holds none that is
   * known.
   */
  promise(reader: ObjectReader, block: number): number | undefined {
    const { best } = this.options.filter!;
    let most: number | undefined;
    for (const part of this.live(reader.parts(block))) {
      const { min, max } = zoneOf(part, best!.path);
      if (min <= max) most = Math.max(most ?? -Infinity, best!.greater ? max : -min);
    }
    return most;
  }
  /** Shows the block's rows to those that look for the best ones; so many of them the filter keeps. */
  async ahead(reader: ObjectReader, block: number): Promise<number> {
    const { pruner, filter } = this.options;
    let kept = 0;
    for (const part of this.live(reader.parts(block))) {
      if (pruner && !(await reader.mayHold(block, part, pruner))) continue;
      this.options.counts?.block(reader.id, block);
      const { bytesRead } = reader;
      const rows = this.told(reader, bytesRead, reader.readPart(block, part, this.filterProjection), false);
      kept += await filter!.best!.ahead(rows instanceof Promise ? await rows : rows);
    }
    return kept;
  }

  private kept(reader: ObjectReader, block: number, part: Column): MaybePromise<Kept | undefined> {
    const { pruner } = this.options;
    const may = !pruner || reader.mayHold(block, part, pruner);
    if (may instanceof Promise) return may.then((holds) => (holds ? this.filtered(reader, block, part) : undefined));
    return may ? this.filtered(reader, block, part) : undefined;
  }
  private filtered(reader: ObjectReader, block: number, part: Column): MaybePromise<Kept | undefined> {
    const { filter, counts, bestKeys } = this.options;
    const { bytesRead } = reader;
    counts?.block(reader.id, block);
    if (filter?.stored && !bestKeys) {
      const passing = reader.passing(block, part, filter.stored.tests, this.knownValues);
      if (passing instanceof Promise)
        return passing.then((found) => this.passed(reader, block, part, { found, bytesRead }));
      if (passing) return this.passed(reader, block, part, { found: passing, bytesRead });
    }
    return filter
      ? this.looked(reader, block, part, bytesRead)
      : this.whole(reader, block, part, () => this.looked(reader, block, part, bytesRead));
  }
  /** All rows of a part are wanted: what they come to may be enough. */
  private whole(
    reader: ObjectReader,
    block: number,
    part: Column,
    rows: () => MaybePromise<Kept | undefined>,
  ): MaybePromise<Kept | undefined> {
    const { summaries, filter, read } = this.options;
    if (!summaries || part.rows === 0) return rows();
    const { bytesRead } = reader;
    const found = reader.summaries(block, part, summaries.of);
    const taken = (columns: readonly ColumnSummary[] | undefined): MaybePromise<Kept | undefined> => {
      read?.(this.newBytes(reader, bytesRead), 0);
      if (!columns || !summaries.take(part.rows, columns)) return rows();
      if (!filter) read?.(0, part.rows);
      return undefined;
    };
    return found instanceof Promise ? found.then(taken) : taken(found);
  }
  private looked(reader: ObjectReader, block: number, part: Column, bytesRead: number): MaybePromise<Kept | undefined> {
    const { filter } = this.options;
    const seen = this.told(reader, bytesRead, this.rows(reader, block, part, filter));
    if (!filter) return seen instanceof Promise ? seen.then((rows) => ({ rows })) : { rows: seen };
    return seen instanceof Promise
      ? seen.then((rows) => this.chosen(reader, block, part, rows))
      : this.chosen(reader, block, part, seen);
  }
  private chosen(reader: ObjectReader, block: number, part: Column, seen: Vector): MaybePromise<Kept | undefined> {
    const answer = this.options.filter!.keep(seen, true);
    const completed = (index: KeptRows) =>
      this.completed(reader, block, part, seen, this.best(reader, block, seen, index));
    return answer instanceof Promise ? answer.then(completed) : completed(answer);
  }
  /** What is left of the rows that pass the stored tests. */
  private passed(
    reader: ObjectReader,
    block: number,
    part: Column,
    { found, bytesRead }: { readonly found: { readonly rows: Selection } | undefined; readonly bytesRead: number },
  ): MaybePromise<Kept | undefined> {
    if (!found) return this.looked(reader, block, part, bytesRead);
    const { rows: kept } = found;
    const { rest, seen, first } = this.options.filter!.stored!;
    this.options.read?.(this.newBytes(reader, bytesRead), 0);
    seen(part.rows);
    if (kept?.length === 0) return undefined;
    const index = kept?.length === part.rows ? undefined : kept;
    // Rows that are only counted need not come.
    if (!rest && this.options.summaries?.of.length === 0 && this.options.summaries.take(kept?.length ?? part.rows, []))
      return undefined;
    if (!rest)
      return index
        ? this.wanted(reader, block, part, index)
        : this.whole(reader, block, part, () => this.wanted(reader, block, part, undefined));
    return first?.leavesFew()
      ? this.askedFirst(reader, block, part, index)
      : this.askedRest(reader, block, part, index, false);
  }
  /** What is asked first, of one column or two; the rest is asked of the rows that it leaves. */
  private askedFirst(
    reader: ObjectReader,
    block: number,
    part: Column,
    index: Uint32Array | undefined,
  ): MaybePromise<Kept | undefined> {
    const { bytesRead: before } = reader;
    const { rows, picks } = this.columnsAt(reader, block, part, this.firstColumns!, index);
    const asked = (seen: Vector): MaybePromise<Kept | undefined> => {
      this.told(reader, before, seen, false);
      const chosen = this.options.filter!.stored!.first!.keep(seen, picks ? undefined : index);
      const left = picks ? placesOf(picks, chosen) : chosen;
      return left?.length === 0 ? undefined : this.askedRest(reader, block, part, left, true);
    };
    return rows instanceof Promise ? rows.then(asked) : asked(rows);
  }
  /** What is asked beside the stored tests, of the rows that passed. */
  private askedRest(
    reader: ObjectReader,
    block: number,
    part: Column,
    index: Uint32Array | undefined,
    isAfterFirst: boolean,
  ): MaybePromise<Kept | undefined> {
    const rest = this.options.filter!.stored!.rest!;
    const { bytesRead: before } = reader;
    const own = { name: this.restName, projection: this.restProjection };
    const { rows, picks } = this.columnsAt(reader, block, part, own, index);
    const asked = (seen: Vector): MaybePromise<Kept | undefined> => {
      this.told(reader, before, seen, false);
      const answer = rest(seen, picks ? undefined : index, isAfterFirst);
      const completed = (chosen: KeptRows): MaybePromise<Kept | undefined> => {
        if (chosen?.length === 0) return undefined;
        const looked = picks
          ? { seen: someOf(seen, chosen), index: placesOf(picks, chosen), isPicked: true }
          : { seen, index: chosen };
        return this.restSuffices
          ? { ...looked, rows: looked.seen }
          : this.beside(reader, block, part, { ...looked, lacking: this.restLacks });
      };
      return answer instanceof Promise ? answer.then(completed) : completed(answer);
    };
    return rows instanceof Promise ? rows.then(asked) : asked(rows);
  }
  private wanted(reader: ObjectReader, block: number, part: Column, index: KeptRows): MaybePromise<Kept> {
    const { bytesRead } = reader;
    const own = { name: this.name, projection: this.projection };
    const { rows, picks } = this.columnsAt(reader, block, part, own, index);
    const read = this.told(reader, bytesRead, rows, false);
    const kept = (all: Vector): Kept => (picks ? { rows: all, index, isPicked: true } : { rows: all, index });
    return read instanceof Promise ? read.then(kept) : kept(read);
  }
  /** Columns of the rows `picks` alone, where few of a part are wanted; else of all of them. */
  private columnsAt(
    reader: ObjectReader,
    block: number,
    part: Column,
    own: WantedColumns,
    index: KeptRows,
  ): { readonly rows: MaybePromise<Vector>; readonly picks: Uint32Array | undefined } {
    return this.isToPick(part, own, index)
      ? { rows: reader.pickPart(block, part, index, own.projection), picks: index }
      : { rows: this.named(reader, block, part, own), picks: undefined };
  }
  /** Whether some rows are wanted of columns that are not all at hand. */
  private isToPick(part: Column, { name }: WantedColumns, index: KeptRows): index is Uint32Array {
    return (
      part.form === 'record' &&
      index instanceof Uint32Array &&
      index.length <= part.rows * pickedShareMax &&
      this.options.cache?.made(part, name) === undefined
    );
  }
  /** The wanted columns: those that were looked at, with the others beside them. */
  private beside(reader: ObjectReader, block: number, part: Column, looked: Looked): MaybePromise<Kept> {
    const { seen, index, isPicked, lacking } = looked;
    if (!lacking || part.form !== 'record' || seen.form !== 'record') return this.wanted(reader, block, part, index);
    const { bytesRead } = reader;
    const { rows: found, picks } = this.columnsAt(reader, block, part, lacking, index);
    const read = this.told(reader, bytesRead, found, false);
    const joined = (all: Vector): MaybePromise<Kept> => {
      if (all.form !== 'record') return this.wanted(reader, block, part, index);
      const isFew = picks !== undefined || isPicked === true;
      const own = isFew && !isPicked ? fieldsAt(seen, index) : seen;
      const others = isFew && !picks ? fieldsAt(all, index) : all;
      const fields = new Map([...own.fields, ...others.fields].map((f) => [f.name, f]));
      const wanted = part.fields.flatMap(({ name }) => (lacking.names.has(name) ? (fields.get(name) ?? []) : []));
      const rows: Vector = { form: 'record', length: others.length, fields: wanted };
      return isFew ? { rows, index, isPicked: true } : { rows, index };
    };
    return read instanceof Promise ? read.then(joined) : joined(read);
  }
  private best(reader: ObjectReader, block: number, seen: Vector, index: KeptRows): KeptRows {
    const { bestKeys, descending } = this.options;
    return bestKeys ? bestKeys.chosen(seen, index, spanOfBlock(reader.blocks[block], descending === true)) : index;
  }
  /** The rows that the filter chose, with the columns that it did not look at. */
  private completed(
    reader: ObjectReader,
    block: number,
    part: Column,
    seen: Vector,
    index: KeptRows,
  ): MaybePromise<Kept | undefined> {
    if (index?.length === 0) return undefined;
    return this.filterSuffices
      ? { rows: seen, index }
      : this.beside(reader, block, part, { seen, index, lacking: this.filterLacks });
  }

  /** The wanted columns of a part, or those that the filter looks at. */
  private rows(reader: ObjectReader, block: number, part: Column, filter?: RowFilter): Vector | Promise<Vector> {
    if (filter?.textOnly && this.texts) return this.searched(reader, block, part, this.texts);
    return filter
      ? this.named(reader, block, part, {
          name: this.filterName,
          projection: this.filterProjection,
          textOnly: filter.textOnly === true,
        })
      : this.named(reader, block, part, { name: this.name, projection: this.projection });
  }
  private named(
    reader: ObjectReader,
    block: number,
    part: Column,
    { name, projection, textOnly = false }: WantedColumns,
  ): MaybePromise<Vector> {
    const { cache } = this.options;
    const made = cache?.made(part, name) as Vector | undefined;
    if (made) return made;
    const { bytesRead } = reader;
    const refused = cache?.refused;
    const rows = reader.readPart(block, textOnly ? textsAlone(part, () => true) : part, projection);
    // What took no bytes is made of kept columns and of what the directory says.
    if (
      cache &&
      !(rows instanceof Promise) &&
      reader.bytesRead === bytesRead &&
      cache.refused === refused &&
      !isLate(rows)
    )
      cache.keepMade(part, name, rows);
    return rows;
  }

  /** What a search for texts looks at. */
  private searched(
    reader: ObjectReader,
    block: number,
    part: Column,
    texts: readonly SearchedText[],
  ): Vector | Promise<Vector> {
    const read = (wanted: Column): MaybePromise<Vector> => reader.readPart(block, wanted, this.filterProjection);
    const wanted = reader.searched(block, part, texts);
    return wanted instanceof Promise ? wanted.then(read) : read(wanted);
  }

  /** `before`: what the reader had read until then. */
  private told(reader: ObjectReader, before: number, read: MaybePromise<Vector>, counts = true): MaybePromise<Vector> {
    if (read instanceof Promise) return read.then((rows) => this.told(reader, before, rows, counts));
    this.options.read?.(this.newBytes(reader, before), counts ? read.length : 0);
    return read;
  }
  /** Bytes that were read since. Blocks of what is far away are read side by side: each byte is told once. */
  private newBytes(reader: ObjectReader, before: number): number {
    const from = this.toldBytes.get(reader) ?? before;
    if (reader.isFar) this.toldBytes.set(reader, reader.bytesRead);
    return reader.bytesRead - from;
  }
}

/** Whether some of it is worked out when it is looked at, and then held by the vector. */
const isLate = (v: Vector): boolean => {
  switch (v.form) {
    case 'bytes':
      return areTimeTexts(v);
    case 'record':
      return v.fields.some((f) => isLate(f.values));
    case 'dynamic':
      return v.parts.some(isLate);
    case 'union':
      return v.members.some(isLate);
    case 'list':
      return isLate(v.items);
    case 'map':
      return isLate(v.keys) || isLate(v.values);
    case 'named':
    case 'error':
      return isLate(v.inner);
    default:
      return false;
  }
};

/** Columns beside others; `names`: of all fields that are wanted. */
interface Lacking extends WantedColumns {
  readonly names: ReadonlySet<string>;
}
/**
 * What of the wanted columns is not among those that are looked at, so that none is read and decoded twice, as keys of
 * joins would be, which are looked at first and then wanted. Undefined where fields are wanted of which some other part
 * is looked at.
 */
const lackingOf = (wanted: Paths | undefined, looked: Paths | undefined): Lacking | undefined => {
  if (!wanted || !looked || wanted.some((c) => c.length === 0)) return undefined;
  const lacking = wanted.filter((c) => !covers(looked, [c]));
  if (lacking.length === wanted.length || lacking.some((c) => looked.some((f) => f[0] === c[0]))) return undefined;
  return {
    name: JSON.stringify([lacking, false]),
    projection: projectionOf(lacking),
    names: new Set(wanted.map((c) => c[0])),
  };
};

/** Whether all wanted paths are those, or within them. */
const covers = (paths: Paths, wanted: Paths): boolean =>
  wanted.every((c) => paths.some((f) => f.length <= c.length && f.every((name, i) => name === c[i])));

const isNothing = ({ min, max, other }: Zone): boolean => !other && min > max;
const mayBeBest = ({ min, max, nothing, other }: Zone, { greater, dropsNulls }: BestRows, floor: number): boolean =>
  other || (nothing && !dropsNulls) || (min <= max && (greater ? max >= floor : min <= floor));

/** Rows of several parts in the order of the tags; parts that are absent are left out. */
const woven = (
  { tags, slots }: BlockTags,
  parts: readonly (Kept | undefined)[],
  partRows: readonly number[],
): Vector => {
  if (parts.every((p) => p && !p.index))
    return { form: 'dynamic', length: tags.length, tags, slots, parts: parts.map((p) => p!.rows) };
  const found = parts.filter((p) => p !== undefined);
  const places = parts.map((p) => (p ? found.indexOf(p) : -1));
  const runs = parts.map((p, k) => runOf(p, partRows[k]));
  const masks = parts.map((p, k) => (p?.index instanceof Uint32Array ? maskOf(p.index, partRows[k]) : undefined));
  const length = found.reduce((n, p) => n + (p.index ?? p.rows).length, 0);
  const outTags = new Uint32Array(length);
  const outSlots = new Uint32Array(length);
  const given = new Uint32Array(found.length);
  for (let i = 0, at = 0; at < length; i++) {
    const tag = tags[i];
    const slot = slots[i];
    const run = runs[tag];
    const mask = masks[tag];
    if (slot < run.start || slot >= run.end || (mask && mask[slot] === 0)) continue;
    const place = places[tag];
    outTags[at] = place;
    outSlots[at++] = given[place]++;
  }
  return { form: 'dynamic', length, tags: outTags, slots: outSlots, parts: found.map(wantedRows) };
};
/** The rows of a part outside of which none is wanted. */
const runOf = (part: Kept | undefined, rows: number): { readonly start: number; readonly end: number } => {
  if (!part) return { start: 0, end: 0 };
  const { index } = part;
  return index && !(index instanceof Uint32Array)
    ? { start: index.start, end: index.start + index.length }
    : { start: 0, end: rows };
};
const maskOf = (index: Uint32Array, length: number): Uint8Array => {
  const mask = new Uint8Array(length);
  for (let i = 0; i < index.length; i++) mask[index[i]] = 1;
  return mask;
};
