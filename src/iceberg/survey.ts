/** Which columns rows need. */
import { checkStop } from '../vectors/stop.ts';
import type { Vector } from '../vectors/vector.ts';
import { type ColumnKey, type ColumnSet, type TableColumn, isAside, restKey } from './columns.ts';
import { Cuts } from './cuts.ts';
import { commonKind, listOf, mapOf, variantKind, withVariants } from './kinds.ts';
import { type EmptyPlace, type Sink, keyAt, runsAt, walkRows } from './walk.ts';

/** Collects the columns that rows need. */
export class Survey {
  private readonly set: ColumnSet;
  private readonly known: number;
  private readonly used = new Set<number>();
  private readonly empties = new Map<string, EmptyPlace>();
  /** Columns of records, with the name of a field of each. */
  private readonly records = new Map<number, string>();
  private readonly sink: Sink;
  private readonly cuts = new Cuts();
  private needsRest = false;

  /** `set`: the columns of the table, `known` of them, and those that earlier surveys found, to which it adds. */
  constructor(set: ColumnSet, known: number) {
    this.set = set;
    this.known = known;
    this.sink = {
      column: (key) => this.use(key),
      leaf: () => undefined,
      record: ({ id }, _length, _rows, field) => {
        if (!this.records.has(id)) this.records.set(id, field);
      },
      runs: () => ({ sink: this.sink, first: 0 }),
      empty: (place) => void this.empties.set(JSON.stringify(keyAt(place, place.form)), place),
    };
  }

  private use(key: ColumnKey): TableColumn | undefined {
    const column = this.set.add(this.wanted(key));
    if (column) this.used.add(column.id);
    return column;
  }
  /** New places have a column for each kind at first: what becomes of them is known once all rows were seen. */
  private wanted(key: ColumnKey): ColumnKey {
    const placed = this.set.placed(key);
    const first = this.set.first(key);
    const isNew = first !== undefined && first.id > this.known;
    return placed.kind === variantKind && isNew && this.set.mapping === 'variant' && !isAside(key)
      ? { ...key, kind: withVariants(key.kind) }
      : placed;
  }

  /**
   * No record is without a column, nor is a file: not where all fields are null or absent either. `key`: the one that
   * comes if the table has none there.
   */
  private fill(parent: number, key: ColumnKey): void {
    const fields = this.set.below(parent);
    if (fields.some(({ id }) => this.used.has(id))) return;
    const [first = key] = fields;
    if (!this.use(first)) throw new Error(`column ${parent} has no room for a field`);
  }
  /** Records come with lists and maps, and with fields that fill others, though no row has one of their fields. */
  private fillRecords(): void {
    // What fills a record comes behind it in the table, as what is in that does: one pass sees all of them.
    for (const column of this.set.columns())
      if (column.kind === 'record' && this.isReached(column)) this.fill(column.id, fieldOf(column.id, ''));
  }

  /** What is in a list or a map comes with it, whether it has rows or not. */
  private isReached({ id, role, parent }: TableColumn): boolean {
    if (this.used.has(id)) return true;
    const outer = role === 'field' || role === 'rest' ? undefined : this.set.at(parent);
    return outer !== undefined && this.isReached(outer);
  }
  /** All that is in lists and maps of the table may come. */
  private isUsed(column: TableColumn): boolean {
    const { id, role } = column;
    return this.isReached(column) || (id <= this.known && role !== 'field' && role !== 'rest');
  }

  add(batch: Vector): void {
    checkStop();
    for (const { piece } of this.cuts.of(batch))
      if (!walkRows(piece, 0, this.sink, () => undefined)) this.needsRest = true;
  }

  /**
   * The columns that the rows need, parents first. Those that the table does not have yet have ids behind its own, in
   * which others may have come before them: by their keys they are to be asked for. Of several surveys with one set of
   * columns, all have seen their rows by then.
   */
  columns(): readonly TableColumn[] {
    // What is empty goes where others of its field are.
    for (const place of this.empties.values()) {
      const kind = place.form === 'list' ? listOf(undefined) : mapOf('string', undefined);
      const column = runsAt(this.set, place) ?? this.set.add(this.wanted(keyAt(place, kind)));
      if (column) this.used.add(column.id);
      else this.needsRest = true;
    }
    for (const [parent, field] of this.records) this.fill(parent, fieldOf(parent, field));
    if (this.needsRest) this.use(restKey);
    this.fill(0, restKey);
    this.fillRecords();
    const gone = this.set.mapping === 'variant' ? this.unite() : new Set<number>();
    return this.set.columns().filter((column) => !this.isIn(column, gone) && this.isUsed(column));
  }

  /** New places with columns of several kinds get one for them all. Gives the ids of those that are no columns then. */
  private unite(): ReadonlySet<number> {
    const places = new Map<string, TableColumn[]>();
    for (const column of this.set.columns()) {
      const { id, parent, role, field } = column;
      const first = this.set.first(column);
      if (id <= this.known || role !== 'field' || (first !== undefined && first.id <= this.known)) continue;
      const key = `${parent} ${field}`;
      const own = places.get(key);
      if (own) own.push(column);
      else places.set(key, [column]);
    }
    const gone = new Set<number>();
    for (const columns of places.values()) {
      const kinds = columns.filter((column) => !isAside(column)).map(({ kind }) => kind);
      const [{ parent, role, field } = restKey] = columns;
      const kind = commonKind(kinds);
      if (kinds.length < 2) continue;
      const column = this.set.add({ parent, role, field, kind });
      if (column && columns.some(({ id, kind: own }) => this.used.has(id) && own !== 'error')) this.used.add(column.id);
      for (const { id, kind: own } of columns)
        if (id !== column?.id && own !== 'error' && (own !== 'ns' || kind === variantKind)) gone.add(id);
    }
    return gone;
  }
  private isIn({ id, parent }: TableColumn, gone: ReadonlySet<number>): boolean {
    if (gone.size === 0) return false;
    if (gone.has(id)) return true;
    const outer = this.set.at(parent);
    return outer !== undefined && this.isIn(outer, gone);
  }
}

/** A field of a record of which nothing is known but its name. */
const fieldOf = (parent: number, field: string): ColumnKey => ({ parent, role: 'field', field, kind: 'json' });
