/**
 * The columns of a table, and which of them holds a value of a given type ("mapping 2").
 *
 * A field has one column for each *kind* of value that it holds: the first kind has the field's own name, others are its
 * siblings, `a__string`. So a field that becomes mixed later gains a column, and no file is ever written again. Kinds
 * are texts: `int`, `record`, `list<int>`, `map<string,float>` (kinds.ts).
 *
 * The mapping `variant` has at most two columns a field: the first one, which is of variants if the first rows that had
 * the field held several kinds, and else a sibling of variants, for values that the first one has no room for.
 *
 * Invariants:
 * - A column is known by its parent, its role in it, its field and its kind; its id is its place in the order in which
 *   columns came, from 1 on, and is never used again.
 * - A column comes behind its parent; what is in a list or a map comes together with it.
 */
import { type Mapping, holds, partsOf, variantKind, withVariants } from './kinds.ts';

/** What a column is in its parent. `rest`: what no other column of the row holds, as one JSON object. */
export type ColumnRole = 'field' | 'element' | 'key' | 'value' | 'rest';
/** A column that is wanted. `parent`: 0 for those of the table. */
export interface ColumnKey {
  readonly parent: number;
  readonly role: ColumnRole;
  /** The field's name in the records; empty but for fields. */
  readonly field: string;
  readonly kind: string;
}
/** A column of a table. `name`: in the table. */
export interface TableColumn extends ColumnKey {
  readonly id: number;
  readonly name: string;
}

/** So many columns a table has at most, parts of columns counted; what comes beyond is in the column of the rest. */
export const tableColumnsMax = 2000;
/** The name of the column of the rest. */
export const restName = '_json';
/** That column, which tables get when they need it. */
export const restKey: ColumnKey = { parent: 0, role: 'rest', field: '', kind: 'json' };

/** Names that engines have for columns of their own. */
const reservedNames: ReadonlySet<string> = new Set([
  '_file',
  '_pos',
  '_deleted',
  '_spec_id',
  '_partition',
  '_row_id',
  '_last_updated_sequence_number',
  '_change_type',
  '_change_ordinal',
  '_commit_snapshot_id',
  restName,
]);
/** Fields of records that ClickHouse takes for its own map of nulls, and refuses the table. */
const reservedWithin: ReadonlySet<string> = new Set(['null']);

const keyText = ({ parent, role, field, kind }: ColumnKey): string => `${parent} ${role} ${kind} ${field}`;

const placeText = ({ parent, role, field }: Omit<ColumnKey, 'kind'>): string => `${parent} ${role} ${field}`;
/** Whether a column is beside the others of its field, or of none. */
export const isAside = ({ role, kind }: Pick<ColumnKey, 'role' | 'kind'>): boolean =>
  role === 'rest' || kind === 'error' || kind === 'ns';

/** What stands for a NUL in a column's name, which DuckDB ends there, and then has two of one name. */
const nulWritten = '_x0000_';

/** The columns of a table in the order in which they came; it only grows. */
export class ColumnSet {
  private readonly all: TableColumn[] = [];
  private readonly byKey = new Map<string, TableColumn>();
  /** The first column of each place. */
  private readonly firsts = new Map<string, TableColumn>();
  private readonly children = new Map<number, TableColumn[]>();
  /** Names within a parent, in lower case: engines do not tell them apart. */
  private readonly names = new Map<number, Set<string>>();

  readonly mapping: Mapping;

  constructor(columns: Iterable<TableColumn> = [], mapping: Mapping = 'typed') {
    this.mapping = mapping;
    for (const column of columns) this.put(column);
  }

  /** Columns that are behind these by their ids. */
  append(columns: Iterable<TableColumn>): void {
    for (const column of columns) this.put(column);
  }
  get length(): number {
    return this.all.length;
  }
  columns(): readonly TableColumn[] {
    return this.all;
  }
  find(key: ColumnKey): TableColumn | undefined {
    return this.byKey.get(keyText(key));
  }
  /** The first column that came for a place, whatever its kind; those that are always beside others are none. */
  first({ parent, role, field }: Omit<ColumnKey, 'kind'>): TableColumn | undefined {
    return this.firsts.get(placeText({ parent, role, field }));
  }
  /** The key of the column that values of a key are in, as the mapping has it. */
  placed(key: ColumnKey): ColumnKey {
    if (this.mapping === 'typed' || isAside(key)) return key;
    const kind = withVariants(key.kind);
    const first = this.first(key);
    return { ...key, kind: first === undefined ? kind : holds(first.kind, kind) ? first.kind : variantKind };
  }
  at(id: number): TableColumn | undefined {
    return this.all[id - 1];
  }
  /** What is in a column, or in the table (0), in order. */
  below(parent: number): readonly TableColumn[] {
    return this.children.get(parent) ?? [];
  }

  /**
   * The column of a key, which is added with all that is in it if there is none; undefined if there are too many.
   * Records get the columns of their fields one by one.
   */
  add(key: ColumnKey): TableColumn | undefined {
    const found = this.find(key);
    if (found) return found;
    if (this.length >= tableColumnsMax && !this.isNeeded(key)) return undefined;
    const column = { ...key, id: this.length + 1, name: this.nameFor(key) };
    this.put(column);
    this.addParts(column);
    return column;
  }
  /**
   * Takes in what a survey found that began with the first `known` columns of this table: others may have come since.
   * Gives the ids of the columns that the survey's rows are to have; undefined if, with those that came since, it would
   * have found others.
   */
  adopt(wanted: readonly TableColumn[], known: number): readonly number[] | undefined {
    const ids = new Map<number, number>();
    let isWhole = true;
    for (const { id, name: _, ...key } of wanted) {
      const parent = key.parent <= known ? key.parent : ids.get(key.parent);
      if (parent !== undefined && id > known && this.isOther({ ...key, parent }, known)) return undefined;
      const column = id <= known ? this.at(id) : parent === undefined ? undefined : this.add({ ...key, parent });
      if (column) ids.set(id, column.id);
      else isWhole = false;
    }
    if (!isWhole) ids.set(0, this.add(restKey)?.id ?? 0);
    return [...ids.values()];
  }

  /** Whether the first column of a new place came since, and is of another kind. */
  private isOther(key: ColumnKey, known: number): boolean {
    const first = this.mapping === 'typed' || isAside(key) ? undefined : this.first(key);
    return first !== undefined && first.id > known && first.kind !== key.kind;
  }
  /** The rest is where the others go that have no room; no record is without a field. */
  private isNeeded({ role, parent }: ColumnKey): boolean {
    return role === 'rest' || (parent !== 0 && this.at(parent)?.kind === 'record' && this.below(parent).length === 0);
  }
  private addParts(column: TableColumn): void {
    const parts = partsOf(column.kind);
    const pieces: readonly (readonly [ColumnRole, string])[] =
      parts.form === 'list'
        ? [['element', parts.element]]
        : parts.form === 'map'
          ? [
              ['key', parts.key],
              ['value', parts.value],
            ]
          : [];
    for (const [role, kind] of pieces) {
      const part = { parent: column.id, role, field: '', kind, id: this.length + 1, name: role };
      this.put(part);
      this.addParts(part);
    }
  }

  private put(column: TableColumn): void {
    if (column.id !== this.length + 1) throw new Error(`column ${column.id} comes after ${this.length}`);
    this.all.push(column);
    this.byKey.set(keyText(column), column);
    const place = placeText(column);
    if (!isAside(column) && !this.firsts.has(place)) this.firsts.set(place, column);
    const siblings = this.children.get(column.parent);
    if (siblings) siblings.push(column);
    else this.children.set(column.parent, [column]);
    let names = this.names.get(column.parent);
    if (!names) this.names.set(column.parent, (names = new Set()));
    names.add(column.name.toLowerCase());
  }

  /** A name that no column beside it has, nor an engine for itself. */
  private nameFor({ parent, role, field, kind }: ColumnKey): string {
    if (role === 'rest') return restName;
    const own = field === '' ? '_' : field.replaceAll('\0', nulWritten);
    const taken = this.names.get(parent);
    const isFree = (name: string): boolean =>
      !taken?.has(name.toLowerCase()) && !(parent === 0 ? reservedNames : reservedWithin).has(name.toLowerCase());
    const isSibling =
      kind === 'error' ||
      kind === 'ns' ||
      this.below(parent).some((column) => column.field === field && column.kind !== 'error' && column.kind !== 'ns');
    const wanted = isSibling ? `${own}__${kind.replace(/[<,]/g, '_').replaceAll('>', '')}` : own;
    if (isFree(wanted)) return wanted;
    for (let n = 2; ; n++) if (isFree(`${wanted}_${n}`)) return `${wanted}_${n}`;
  }
}
