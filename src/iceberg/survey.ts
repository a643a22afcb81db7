/** Which columns rows need. */
import { checkStop } from '../vectors/stop.ts';
import type { Vector } from '../vectors/vector.ts';
import { type ColumnKey, type TableColumn, ColumnSet, listOf, mapOf, restKey } from './columns.ts';
import { type EmptyPlace, type Sink, keyAt, runsAt, walkRows } from './walk.ts';

/** Collects the columns that rows need. */
export class Survey {
  private readonly set: ColumnSet;
  private readonly used = new Set<number>();
  private readonly empties = new Map<string, EmptyPlace>();
  private readonly sink: Sink;
  private needsRest = false;

  /** `known`: the columns of the table. */
  constructor(known: readonly TableColumn[]) {
    this.set = new ColumnSet(known);
    this.sink = {
      column: (key) => this.use(key),
      leaf: () => undefined,
      record: () => undefined,
      runs: () => ({ sink: this.sink, first: 0 }),
      empty: (place) => void this.empties.set(JSON.stringify(keyAt(place, place.form)), place),
    };
  }

  private use(key: ColumnKey): TableColumn | undefined {
    const column = this.set.add(key);
    if (column) this.used.add(column.id);
    return column;
  }

  add(batch: Vector): void {
    checkStop();
    if (!walkRows(batch, 0, this.sink, () => undefined)) this.needsRest = true;
  }

  /**
   * The columns that the rows need, parents first. Those that the table does not have yet have ids behind its own, in
   * which others may have come before them: by their keys they are to be asked for.
   */
  columns(): readonly TableColumn[] {
    // What is empty goes where others of its field are.
    for (const place of this.empties.values()) {
      const kind = place.form === 'list' ? listOf(undefined) : mapOf('string', undefined);
      const column = runsAt(this.set, place) ?? this.set.add(keyAt(place, kind));
      if (column) this.used.add(column.id);
      else this.needsRest = true;
    }
    if (this.needsRest) this.use(restKey);
    return this.set
      .columns()
      .filter(({ id, role }) => this.used.has(id) || role === 'element' || role === 'key' || role === 'value');
  }
}
