/**
 * Gathers the figures of a plot from the rows, in turns, so that the page stays lively; and goes on when more rows have
 * come.
 */
import { parseTextTime } from './bins.ts';
import { cellAt } from '../columns/columns.ts';
import { type PlotChoice, numberOf, timeOf } from './chartable.ts';
import { shown } from '../print.ts';
import type { RowStore } from '../rows.ts';

const turnMs = 8;
const rowsATurn = 500;

/** The times of a histogram, as far as gathered. */
export class TimeGatherer {
  private timesMade = new Float64Array(1024);
  private count = 0;
  private readonly store: RowStore;
  private readonly choice: PlotChoice;
  constructor(store: RowStore, choice: PlotChoice) {
    this.store = store;
    this.choice = choice;
  }

  get times(): Float64Array {
    return this.timesMade.subarray(0, this.count);
  }
  get complete(): boolean {
    return this.count === this.store.count;
  }

  /** Takes the rows that have come, until `turn` says to stop. `turn` gives the page its turn. */
  async gather(turn: () => Promise<boolean>): Promise<void> {
    let ends = performance.now() + turnMs;
    while (this.count < this.store.count) {
      const end = Math.min(this.store.count, this.count + rowsATurn);
      if (end > this.timesMade.length) {
        const grown = new Float64Array(Math.max(end, this.timesMade.length * 2));
        grown.set(this.timesMade);
        this.timesMade = grown;
      }
      for (; this.count < end; this.count++) this.timesMade[this.count] = this.time(this.count);
      if (performance.now() < ends) continue;
      if (!(await turn())) return;
      ends = performance.now() + turnMs;
    }
  }

  private time(row: number): number {
    const { over } = this.choice;
    // A pool's key is mostly the first field: its text stands at the front of the row, which needs no decoding then.
    const { type } = this.store.types[this.store.typeOf(row)];
    if (
      over.path.length === 1 &&
      type.kind === 'record' &&
      type.fields[0]?.name === over.path[0] &&
      type.fields[0].type.kind === 'primitive' &&
      !type.fields.some((field) => field.optional)
    ) {
      const first = this.store.firstText(row);
      if (first !== undefined)
        return type.fields[0].type.name === 'time'
          ? Date.parse(first)
          : type.fields[0].type.name === 'string'
            ? parseTextTime(first)
            : NaN;
    }
    return timeOf(cellAt(this.store.cell(row), over));
  }
}

/** A row as bars: its key, and for each column of numbers the number and its text. NaN where there is none. */
interface BarRow {
  readonly key: string;
  readonly numbers: readonly number[];
  readonly texts: readonly string[];
}
/** The first rows as bars, `rowsMax` at most. */
export const barRows = (store: RowStore, { over, numbers }: PlotChoice, rowsMax: number): readonly BarRow[] =>
  Array.from({ length: Math.min(store.count, rowsMax) }, (_, i) => {
    const row = store.cell(i);
    const cells = numbers.map((column) => cellAt(row, column));
    const key = shown(cellAt(row, over));
    return {
      key: key.look === 'missing' ? 'missing' : key.text,
      numbers: cells.map(numberOf),
      texts: cells.map((cell) => shown(cell).text),
    };
  });

/** Lines over common times: `values` of each has a place for every one of `xs`, null where the line has no point. */
interface Lines {
  /** Seconds since 1970, rising. */
  readonly xs: readonly number[];
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
  /** Lines that were left out. */
  readonly more: number;
  /** Rows without a time. */
  readonly skipped: number;
}
/** Numbers over times: a line for each number, or for each key. */
export const linesOf = (store: RowStore, { over, numbers, by }: PlotChoice, linesMax: number): Lines => {
  const points = new Map<string, Map<number, number>>();
  const xs = new Set<number>();
  let skipped = 0;
  for (let i = 0; i < store.count; i++) {
    const row = store.cell(i);
    const ms = timeOf(cellAt(row, over));
    if (Number.isNaN(ms)) {
      skipped++;
      continue;
    }
    xs.add(ms / 1000);
    for (const column of numbers) {
      const value = numberOf(cellAt(row, column));
      const name = by ? shown(cellAt(row, by)).text : column.title;
      let line = points.get(name);
      if (!line) points.set(name, (line = new Map()));
      if (Number.isFinite(value)) line.set(ms / 1000, value);
    }
  }
  const sorted = [...xs].sort((a, b) => a - b);
  const all = [...points].sort(([, a], [, b]) => b.size - a.size);
  return {
    xs: sorted,
    lines: all.slice(0, linesMax).map(([name, line]) => ({ name, values: sorted.map((x) => line.get(x) ?? null) })),
    more: Math.max(0, all.length - linesMax),
    skipped,
  };
};
