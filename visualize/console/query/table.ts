/** What the table shows: which rows in which order, which columns how wide; and which cell is the active one. */
import { computed, signal } from '@preact/signals';
import { type Column, columnsOf, keyOf, type Path, cellAt } from './columns/columns.ts';
import type { Run } from './run.ts';
import { sortedRows } from './sorting.ts';
import { type Cell, partsOf } from './wire.ts';

/** The column, by its key, that rows are sorted by. */
interface Sorting {
  readonly key: string;
  readonly descending: boolean;
}

/** Rows up to this many are sorted here. */
export const sortRowsMax = 100_000;
/** Of more shapes than this the further ones show in the columns of the first alone. */
const typesShownMax = 2000;
const elementsMax = 16;
const elementRows = 1000;
const cellsKept = 3000;

/** The table of one run. What the reader sets are signals. */
export class Table {
  readonly run: Run;
  /** Keys of paths. */
  readonly unfolded = signal<ReadonlySet<string>>(new Set());
  /** Keys of columns. */
  readonly hiddenColumns = signal<ReadonlySet<string>>(new Set());
  /** Key of a column. */
  readonly pinned = signal<string | undefined>(undefined);
  readonly byType = signal(false);
  /** Widths in rem that were chosen. */
  readonly widths = signal<ReadonlyMap<string, number>>(new Map());
  readonly sorting = signal<Sorting | undefined>(undefined);
  /** Position in `channels`; undefined: all. */
  readonly channel = signal<number | undefined>(undefined);
  /** The active cell: -1 is the row of titles; column 0 the number of the row. */
  readonly active = signal<{ readonly row: number; readonly column: number }>({ row: 0, column: 0 });
  /** Whether the pane with the active row's value is open. */
  readonly paneOpen = signal(false);
  private readonly cells = new Map<number, Cell>();

  constructor(run: Run) {
    this.run = run;
  }

  /** Takes over how the table before was shown: all of it where it was of the same text. */
  keep(before: Table): void {
    this.byType.value = before.byType.peek();
    if (before.run.text !== this.run.text) return;
    this.unfolded.value = before.unfolded.peek();
    this.hiddenColumns.value = before.hiddenColumns.peek();
    this.pinned.value = before.pinned.peek();
    this.widths.value = before.widths.peek();
    this.sorting.value = before.sorting.peek();
  }

  /** All columns, the pinned one first. */
  readonly allColumns = computed(() => {
    this.typeCount.value;
    const all = columnsOf(
      this.run.store.types.slice(0, typesShownMax).map(({ type }) => type),
      { unfolded: this.unfolded.value, byType: this.byType.value, lengthOf: (path) => this.lengthAt(path) },
    );
    const pin = this.pinned.value;
    const first = all.find(({ key }) => key === pin);
    return first ? [first, ...all.filter((column) => column !== first)] : all;
  });
  readonly columns = computed(() => this.allColumns.value.filter(({ key }) => !this.hiddenColumns.value.has(key)));
  /** Which rows in which order; undefined: all as they came. */
  readonly order = computed<Uint32Array | undefined>(() => {
    const { store } = this.run;
    const sorting = this.sorting.value;
    const channel = this.channel.value;
    const rows = channel === undefined ? undefined : this.rowsOf(channel, this.run.version.value);
    const column = sorting && this.allColumns.value.find(({ key }) => key === sorting.key);
    if (!column || !this.sortable.value) return rows;
    return sortedRows(
      store,
      rows ?? Uint32Array.from({ length: store.count }, (_, i) => i),
      column,
      sorting.descending,
    );
  });
  readonly rowCount = computed(() => (this.run.version.value, this.order.value?.length ?? this.run.store.count));
  /** Whether what is there can be sorted here: it has all come, and is not too much. */
  readonly sortable = computed(
    () => this.run.state.value !== 'running' && this.run.version.value >= 0 && this.run.store.count <= sortRowsMax,
  );
  private readonly typeCount = computed(() => (this.run.version.value, this.run.store.types.length));

  /** Position among the answer's rows. */
  rowAt(index: number): number {
    return this.order.value?.[index] ?? index;
  }
  cell(index: number): Cell {
    return this.came(this.rowAt(index));
  }
  /** By the position among the answer's rows. */
  private came(row: number): Cell {
    let cell = this.cells.get(row);
    if (!cell) {
      if (this.cells.size > cellsKept) this.cells.clear();
      this.cells.set(row, (cell = this.run.store.cell(row)));
    }
    return cell;
  }

  toggleFold(path: Path): void {
    const next = new Set(this.unfolded.value);
    const key = keyOf(path);
    if (!next.delete(key)) next.add(key);
    this.unfolded.value = next;
  }
  hide(...keys: readonly string[]): void {
    this.hiddenColumns.value = new Set([...this.hiddenColumns.value, ...keys]);
  }
  show(...keys: readonly string[]): void {
    this.hiddenColumns.value = new Set([...this.hiddenColumns.value].filter((key) => !keys.includes(key)));
  }
  /** Makes a column's cell the active one, and shows the column if it is hidden. */
  goTo(key: string): void {
    this.show(key);
    const at = this.columns.peek().findIndex((column) => column.key === key);
    if (at >= 0) this.active.value = { row: Math.max(0, this.active.peek().row), column: at + 1 };
  }
  setWidth(key: string, rem: number): void {
    this.widths.value = new Map(this.widths.value).set(key, Math.max(3, Math.min(60, rem)));
  }

  /** In rem: what was chosen, else by the title, the types and the first values. */
  widthOf(column: Column): number {
    const chosen = this.widths.value.get(column.key);
    if (chosen !== undefined) return chosen;
    const known = this.natural.get(column.key);
    if (known !== undefined) return known;
    const { store } = this.run;
    const sample = Math.min(store.count, 60);
    let characters = Math.max(Math.min(column.title.length, 26) + 5, Math.min(typesText(column).length * 0.85 + 2, 22));
    for (let i = 0; i < sample; i++) {
      const cell = cellAt(this.came(i), column);
      const text =
        cell === undefined || cell.json === null
          ? ''
          : typeof cell.json === 'string'
            ? cell.json
            : JSON.stringify(cell.json);
      characters = Math.max(characters, Math.min(text.length, 36) + 2);
    }
    const width = Math.min(24, characters * 0.52 + 1);
    if (sample >= 20 || !this.run.running) this.natural.set(column.key, width);
    return width;
  }
  private readonly natural = new Map<string, number>();

  private lengthAt(path: Path): number {
    const { store } = this.run;
    let longest = 0;
    for (let i = 0; i < Math.min(store.count, elementRows) && longest < elementsMax; i++) {
      const cell = cellAt(this.came(i), { path });
      if (cell) longest = Math.max(longest, partsOf(cell).length);
    }
    return Math.min(longest, elementsMax);
  }
  private rowsOf(channel: number, _version: number): Uint32Array {
    const { store } = this.run;
    const rows = new Uint32Array(store.count);
    let count = 0;
    for (let i = 0; i < store.count; i++) if (store.channelOf(i) === channel) rows[count++] = i;
    return rows.subarray(0, count);
  }
}

const typesMax = 60;
/** The types of a column as one text, cut to 60 characters. */
export const typesText = ({ types }: Pick<Column, 'types'>): string => {
  const text = types.join(' | ');
  return text.length > typesMax ? `${text.slice(0, typesMax)}…` : text;
};
