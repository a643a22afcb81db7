/**
 * Results as a table for people: a line of names, a line of types, a line a row. Rows of one shape after another share
 * a table; one that has other fields begins a new one. Columns are cut to fit the terminal; those that do not fit at
 * all are named below.
 */
import { supText } from '../../vectors/sup/print.ts';
import { type Type, isNumeric, typeText, types } from '../../vectors/type.ts';
import { type Data, type Value, underValue, fieldsData, stringData } from '../../vectors/value.ts';
import { type Vector, valueAt } from '../../vectors/vector.ts';
import { type Colors, fitted, harmless, textWidth } from './text.ts';

/** How a table looks. */
interface TableOptions {
  /** Columns of the terminal; Infinity: cells are not cut. */
  readonly width: number;
  readonly colors: Colors;
}

/** Rows that are kept to find the widths of columns; those behind them get the same widths. */
const pageRows = 500;
/** Columns are not made narrower than this to fit more of them. */
const columnWidthMin = 10;
const gap = '  ';

interface Cell {
  readonly text: string;
  readonly kind: 'text' | 'number' | 'null' | 'error';
}
interface Column {
  readonly name: string;
  readonly types: Set<Type>;
  readonly cells: Cell[];
}
interface Layout {
  readonly widths: readonly number[];
  readonly right: readonly boolean[];
  readonly hidden: number;
}

/** The text of a table, made as its rows come. */
export class TableText {
  private readonly options: TableOptions;
  private columns: Column[] = [];
  private rows = 0;
  private layout: Layout | undefined;

  constructor(options: TableOptions) {
    this.options = options;
  }

  /** The text that is certain by now. */
  add(batch: Vector): string {
    let out = '';
    for (let row = 0; row < batch.length; row++) {
      const cells = cellsOf(valueAt(batch, row));
      if (!this.fits(cells)) out += this.begin(cells);
      cells.forEach(({ type, cell }, i) => {
        if (type) this.columns[i].types.add(type);
        this.columns[i].cells.push(cell);
      });
      if (++this.rows >= pageRows) out += this.flush();
    }
    return out;
  }

  /** The rest. */
  end(): string {
    const out = this.flush() + this.hiddenNote();
    this.columns = [];
    this.layout = undefined;
    return out;
  }

  private fits(cells: readonly NamedCell[]): boolean {
    return cells.length === this.columns.length && cells.every(({ name }, i) => name === this.columns[i].name);
  }

  private begin(cells: readonly NamedCell[]): string {
    const before = this.columns.length > 0 ? `${this.end()}\n` : '';
    this.columns = cells.map(({ name }) => ({ name, types: new Set(), cells: [] }));
    return before;
  }

  private flush(): string {
    if (this.rows === 0) return '';
    const isFirst = this.layout === undefined;
    const layout = (this.layout ??= layoutOf(this.columns, this.options.width));
    const lines: string[] = isFirst ? this.head(layout) : [];
    for (let row = 0; row < this.rows; row++)
      lines.push(
        this.line(
          layout,
          (column) => this.painted(column.cells[row]),
          (column) => column.cells[row].text,
        ),
      );
    for (const column of this.columns) column.cells.length = 0;
    this.rows = 0;
    return lines.map((line) => `${line}\n`).join('');
  }

  private head(layout: Layout): string[] {
    const { bold, dim } = this.options.colors;
    return [
      this.line(
        layout,
        () => bold,
        ({ name }) => nameText(name),
      ),
      this.line(layout, () => dim, typesText),
    ];
  }

  private line(
    { widths, right }: Layout,
    paint: (column: Column) => (text: string) => string,
    text: (column: Column) => string,
  ): string {
    const cells = widths.map((width, i) => {
      const column = this.columns[i];
      const own = text(column);
      const isLast = i === widths.length - 1;
      return paint(column)(
        this.options.width === Infinity && textWidth(own) > width
          ? own
          : fitted(own, isLast && !right[i] ? Math.min(width, textWidth(own)) : width, right[i]),
      );
    });
    return cells.join(gap);
  }

  private painted({ kind }: Cell): (text: string) => string {
    const { dim, red } = this.options.colors;
    return kind === 'null' ? dim : kind === 'error' ? red : (text) => text;
  }

  private hiddenNote(): string {
    const hidden = this.layout?.hidden ?? 0;
    if (hidden === 0) return '';
    const names = this.columns
      .slice(-hidden)
      .map(({ name }) => nameText(name))
      .join(', ');
    return `${this.options.colors.dim(fitted(`... and ${hidden} more ${hidden === 1 ? 'column' : 'columns'} (.mode sup shows all): ${names}`, this.options.width, false).trimEnd())}\n`;
  }
}

interface NamedCell {
  readonly name: string;
  readonly type?: Type;
  readonly cell: Cell;
}

/** The fields of a record; of another value one cell named `this`. */
const cellsOf = (value: Value): readonly NamedCell[] => {
  const { type, data } = underValue(value);
  if (type.kind !== 'record' || type.fields.length === 0)
    return [{ name: 'this', type: value.type, cell: cellOf(value.type, value.data) }];
  return type.fields.map((f, i) => {
    const item = fieldsData(data)[i];
    return item === undefined
      ? { name: f.name, cell: { text: '', kind: 'text' } }
      : { name: f.name, type: f.type, cell: cellOf(f.type, item) };
  });
};

const cellOf = (declared: Type, data: Data): Cell => {
  const { type, data: d } = underValue({ type: declared, data });
  if (type === types.null) return { text: 'null', kind: 'null' };
  if (type === types.string) return { text: oneLineText(stringData(d)), kind: 'text' };
  if (type.kind === 'error') return { text: oneLineText(supText({ type, data: d })), kind: 'error' };
  if (type.kind === 'enum') return { text: oneLineText(String(d)), kind: 'text' };
  // The types stand above: the values go without.
  const text =
    type.kind === 'primitive' ? supText({ type, data: d }).replace(/::[a-z]+\d*$/, '') : supText({ type, data: d });
  return { text: oneLineText(text), kind: isNumeric(type) && type !== types.time ? 'number' : 'text' };
};
const oneLineText = (text: string): string => harmless(text.replaceAll('\t', '\\t').replaceAll('\n', '\\n'));
const nameText = (name: string): string => (name === '' ? '""' : oneLineText(name));

const typesText = ({ types: seen }: Column): string =>
  [...seen].map((type) => oneLineText(typeText(type).replace(/\s+/g, ' '))).join('|');

/** Columns are narrowed, the widest first, until they fit or cannot be narrower; then the last ones are left out. */
const layoutOf = (columns: readonly Column[], width: number): Layout => {
  const right = columns.map(
    ({ cells }) =>
      cells.some((c) => c.kind === 'number') &&
      cells.every((c) => c.kind === 'number' || c.kind === 'null' || c.text === ''),
  );
  const widths = columns.map((column) => {
    const cells = column.cells.reduce(
      (most, { text }) => Math.max(most, textWidth(text)),
      textWidth(nameText(column.name)),
    );
    return Math.min(Math.max(cells, Math.min(textWidth(typesText(column)), 24)), width);
  });
  const total = (): number => widths.reduce((sum, w) => sum + w, gap.length * (widths.length - 1));
  while (width !== Infinity && total() > width) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= columnWidthMin) {
      if (widths.length === 1) break;
      widths.pop();
    } else widths[widest]--;
  }
  return { widths, right, hidden: columns.length - widths.length };
};
