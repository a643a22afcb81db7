/** Rows that were written a moment ago, by table and key: what LMDB does not have yet. */
import type { RangeOptions } from './environment.ts';
import type { Change, TableName } from './table-rows.ts';

/** Changes of one table in their order. */
class RecentTable {
  private changes: Change[] = [];
  /** The newest of each row, by the text of its key: made when somebody asks, since most rows are only passed on. */
  private index: Map<string, Change> | undefined;

  get size(): number {
    return this.changes.length;
  }
  /** All of them in their order; of what somebody reads the newest of each row alone. */
  get all(): Iterable<Change> {
    return this.index?.values() ?? this.changes;
  }
  get(key: Uint8Array): Change | undefined {
    return this.changes.length === 0 ? undefined : this.newest().get(textOf(key));
  }
  put(change: Change): void {
    this.changes.push(change);
    this.index?.set(textOf(change.key), change);
  }
  /** These go, which came in this order. */
  drop(gone: readonly Change[]): void {
    if (gone.every((change, i) => change === this.changes[i])) return this.dropFirst(gone.length);
    const all = new Set(gone);
    this.changes = this.changes.filter((change) => !all.has(change));
    this.index = undefined;
  }
  /** The first so many of them go. */
  dropFirst(count: number): void {
    const { index } = this;
    if (count === this.changes.length) this.index = undefined;
    else if (index)
      for (let i = 0; i < count; i++) {
        const change = this.changes[i];
        const text = textOf(change.key);
        if (index.get(text) === change) index.delete(text);
      }
    this.changes = this.changes.slice(count);
  }
  /** The newest of each row. */
  newest(): Map<string, Change> {
    if (this.index) return this.index;
    this.index = new Map();
    for (const change of this.changes) this.index.set(textOf(change.key), change);
    return this.index;
  }
}

/** Changes of each table. */
type RecentCounts = ReadonlyMap<TableName, number>;
/** The newest change of each row. */
export class RecentRows {
  private readonly tables = new Map<TableName, RecentTable>();

  /** Changes: a row may have several. */
  get size(): number {
    let size = 0;
    for (const rows of this.tables.values()) size += rows.size;
    return size;
  }
  /** The change that says what is there now, or that nothing is. */
  get(table: TableName, key: Uint8Array): Change | undefined {
    return this.tables.get(table)?.get(key);
  }
  put(changes: readonly Change[]): void {
    for (const change of changes) {
      let rows = this.tables.get(change.table);
      if (!rows) this.tables.set(change.table, (rows = new RecentTable()));
      rows.put(change);
    }
  }
  /** These changes go, which came in this order; others of their rows stay. */
  drop(changes: readonly Change[]): void {
    const gone = new Map<TableName, Change[]>();
    for (const change of changes) {
      const ofTable = gone.get(change.table);
      if (ofTable) ofTable.push(change);
      else gone.set(change.table, [change]);
    }
    for (const [table, ofTable] of gone) this.tables.get(table)?.drop(ofTable);
  }
  /** What is there: rows as they are written, those of a row in their order, and what `leave` takes away. */
  all(): { readonly changes: readonly Change[]; readonly held: RecentCounts } {
    const changes: Change[] = [];
    const held = new Map<TableName, number>();
    for (const [table, rows] of this.tables) {
      for (const change of rows.all) changes.push(change);
      held.set(table, rows.size);
    }
    return { changes, held };
  }
  /** What was there when `all` was called goes. */
  leave(held: RecentCounts): void {
    for (const [table, count] of held) this.tables.get(table)?.dropFirst(count);
  }
  /** The newest of each row. */
  of(table: TableName): Iterable<Change> {
    return this.tables.get(table)?.newest().values() ?? [];
  }

  /** The newest of the rows of a range, in its order; `limit` is not looked at. */
  range(table: TableName, { prefix, start, reverse }: RangeOptions): Change[] {
    const rows = this.tables.get(table);
    const found: Change[] = [];
    const low = start ?? prefix;
    if (!rows || rows.size === 0) return found;
    for (const change of rows.newest().values()) {
      const { key } = change;
      if (
        (low && Buffer.compare(key, low) < 0) ||
        (prefix && Buffer.compare(key.subarray(0, prefix.length), prefix) !== 0)
      )
        continue;
      found.push(change);
    }
    return found.sort((a, b) => (reverse ? Buffer.compare(b.key, a.key) : Buffer.compare(a.key, b.key)));
  }
}

/** Both in one order, the second's rows in the place of the first's. */
export const newestOf = (first: readonly Change[], second: readonly Change[], reverse = false): readonly Change[] => {
  const rows = new RecentRows();
  rows.put(first);
  rows.put(second);
  return [...new Set([...first, ...second].map(({ table }) => table))].flatMap((table) =>
    rows.range(table, { reverse }),
  );
};

const textOf = (key: Uint8Array): string =>
  (Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.length)).toString('latin1');
