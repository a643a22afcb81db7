/** Rows that were written a moment ago, by table and key: what LMDB does not have yet. */
import type { RangeOptions } from './environment.ts';
import type { Change, TableName } from './table-rows.ts';

/** The newest change of each row. */
export class RecentRows {
  private readonly tables = new Map<TableName, Map<string, Change>>();

  get size(): number {
    let size = 0;
    for (const rows of this.tables.values()) size += rows.size;
    return size;
  }
  /** The change that says what is there now, or that nothing is. */
  get(table: TableName, key: Uint8Array): Change | undefined {
    const rows = this.tables.get(table);
    return rows && rows.size > 0 ? rows.get(textOf(key)) : undefined;
  }
  /** `texts`: of the keys, one by one (`keyTexts`), where somebody has them. */
  put(changes: readonly Change[], texts = keyTexts(changes)): void {
    for (let i = 0; i < changes.length; i++) {
      const change = changes[i];
      let rows = this.tables.get(change.table);
      if (!rows) this.tables.set(change.table, (rows = new Map()));
      rows.set(texts[i], change);
    }
  }
  /** Those of these changes that no later one took the place of. */
  drop(changes: readonly Change[], texts = keyTexts(changes)): void {
    for (let i = 0; i < changes.length; i++) {
      const change = changes[i];
      const rows = this.tables.get(change.table);
      if (rows?.get(texts[i]) === change) rows.delete(texts[i]);
    }
  }
  /** All of them, and the texts of their keys. */
  all(): { readonly changes: readonly Change[]; readonly texts: readonly string[] } {
    const changes: Change[] = [];
    const texts: string[] = [];
    for (const rows of this.tables.values())
      for (const [text, change] of rows) {
        changes.push(change);
        texts.push(text);
      }
    return { changes, texts };
  }
  of(table: TableName): IterableIterator<Change> | readonly Change[] {
    return this.tables.get(table)?.values() ?? [];
  }

  /** Those of a range, in its order; `limit` is not looked at. */
  range(table: TableName, { prefix, start, reverse }: RangeOptions): Change[] {
    const rows = this.tables.get(table);
    const found: Change[] = [];
    const low = start ?? prefix;
    if (!rows || rows.size === 0) return found;
    for (const change of rows.values()) {
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

/** Keys as texts, by which rows are looked up: each is made once, though a row goes from one set to the next. */
export const keyTexts = (changes: readonly Change[]): readonly string[] => changes.map(({ key }) => textOf(key));
const textOf = (key: Uint8Array): string =>
  (Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.length)).toString('latin1');
