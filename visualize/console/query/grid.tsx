/**
 * The rows as a table. The titles are drawn by Preact, the rows by hand into elements that are used again: a million
 * rows scroll as ten do.
 *
 * One tab stop: arrow keys, page keys, Home and End move the active cell, the titles are its first row. Enter on a
 * title opens what can be done with the column, Enter on a cell opens the row's value.
 */
import { effect, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../text.ts';
import { type Column, cellAt } from './columns/columns.ts';
import { ColumnMenu } from './columns/menu.tsx';
import { copied, shown, supText } from './print.ts';
import { Scroller } from './scroller.ts';
import { type Table, typesText } from './table.ts';
import type { Cell } from './wire.ts';

const rowRem = 1.75;
const headRem = 2.9;
const numberRem = 4.2;
const remOf = (): number => parseFloat(getComputedStyle(document.documentElement).fontSize);

/** Where each column stands, in rem from the left; the last entry is the width of all. */
const offsetsOf = (table: Table): readonly number[] => {
  const offsets = [numberRem];
  for (const column of table.columns.value) offsets.push(offsets.at(-1)! + table.widthOf(column));
  return offsets;
};

export const Grid = ({ table, label }: { readonly table: Table; readonly label: string }) => {
  const box = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const body = useRef<GridBody | undefined>(undefined);
  const menu = useSignal<{ readonly column: number } | undefined>(undefined);
  const span = useSignal({ first: 0, end: 40 });
  useEffect(() => {
    const drawn = new GridBody(
      table,
      { box: box.current!, space: space.current!, rows: rows.current! },
      (first, end) => {
        span.value = { first, end };
      },
    );
    body.current = drawn;
    return () => {
      drawn.close();
    };
  }, [table]);
  const columns = table.columns.value;
  const offsets = offsetsOf(table);
  const { row, column } = table.active.value;
  const rem = remOf();
  const openMenu = (at: number): void => {
    table.active.value = { row: -1, column: at };
    menu.value = { column: at };
  };
  const key = (event: KeyboardEvent): void => {
    if (event.target === box.current) gridKey(event, { table, pageRows: body.current!.pageRows, openMenu });
  };
  const resize = (event: PointerEvent, at: Column): void => {
    event.preventDefault();
    event.stopPropagation();
    const handle = event.currentTarget as HTMLElement;
    const from = event.clientX;
    const width = table.widthOf(at);
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (move) => {
      table.setWidth(at.key, width + (move.clientX - from) / rem);
    };
    handle.onpointerup = () => {
      handle.onpointermove = null;
    };
  };
  return (
    <div class="grid-place">
      <div
        class="grid"
        ref={box}
        role="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={table.rowCount.value + 1}
        aria-colcount={columns.length + 1}
        aria-multiselectable="false"
        aria-readonly="true"
        onKeyDown={key}
        onCopy={(event) => {
          copyCell(event, table);
        }}
      >
        <div class="grid-space" ref={space} role="presentation" style={{ width: `${offsets.at(-1)! * rem}px` }}>
          <div class="grid-view" role="presentation">
            <div role="rowgroup" class="grid-head" style={{ height: `${Math.round(headRem * rem)}px` }}>
              <div role="row" aria-rowindex={1} class="grid-titles">
                <div
                  role="columnheader"
                  aria-colindex={1}
                  id="title-0"
                  class={`title row-title${row === -1 && column === 0 ? ' active' : ''}`}
                  style={{ width: `${numberRem}rem` }}
                >
                  <span aria-label="Number of the row">#</span>
                </div>
                {columns.map((each, i) =>
                  (i >= span.value.first && i < span.value.end) ||
                  i + 1 === column ||
                  (i === 0 && table.pinned.value !== undefined) ? (
                    <Title
                      key={each.key}
                      table={table}
                      column={each}
                      at={i + 1}
                      left={offsets[i]}
                      isActive={row === -1 && column === i + 1}
                      openMenu={openMenu}
                      resize={resize}
                    />
                  ) : null,
                )}
              </div>
            </div>
            <div role="rowgroup" class="grid-rows" ref={rows} />
          </div>
        </div>
      </div>
      {menu.value && columns[menu.value.column - 1] && (
        <ColumnMenu
          table={table}
          column={columns[menu.value.column - 1]}
          anchor={`title-${menu.value.column}`}
          box={box.current!}
          onClose={() => {
            menu.value = undefined;
            box.current?.focus();
          }}
        />
      )}
    </div>
  );
};

const isNumeric = ({ types }: Column): boolean => types.every((type) => /^(u?int|float)\d+$/.test(type));

interface TitleProps {
  readonly table: Table;
  readonly column: Column;
  readonly at: number;
  readonly left: number;
  readonly isActive: boolean;
  readonly openMenu: (at: number) => void;
  readonly resize: (event: PointerEvent, column: Column) => void;
}
const Title = ({ table, column, at, left, isActive, openMenu, resize }: TitleProps) => {
  const sorting = table.sorting.value?.key === column.key ? table.sorting.value : undefined;
  const isPinned = table.pinned.value === column.key;
  const text = typesText(column);
  return (
    <div
      role="columnheader"
      aria-colindex={at + 1}
      id={`title-${at}`}
      class={`title${isActive ? ' active' : ''}${isPinned ? ' pinned' : ''}${isNumeric(column) ? ' right' : ''}`}
      style={
        isPinned
          ? { width: `${table.widthOf(column)}rem`, left: `${numberRem}rem` }
          : { width: `${table.widthOf(column)}rem`, left: `${left}rem` }
      }
      aria-sort={sorting ? (sorting.descending ? 'descending' : 'ascending') : 'none'}
      data-column={column.title}
      title={`${visible(column.title)}: ${visible(text)}`}
      onClick={() => {
        openMenu(at);
      }}
    >
      <span class="title-name">
        <bdi>{visible(column.title, 80)}</bdi>
        {sorting && (
          <span aria-hidden="true" class="sorted">
            {sorting.descending ? '▼' : '▲'}
          </span>
        )}
      </span>
      <span class="title-types">
        <bdi>{visible(text)}</bdi>
      </span>
      {column.nested && (
        <button
          type="button"
          tabIndex={-1}
          class="fold"
          aria-label={`Unfold ${visible(column.title, 80)}`}
          onClick={(e) => {
            e.stopPropagation();
            table.toggleFold(column.path);
          }}
        >
          ▸
        </button>
      )}
      <span
        class="resize"
        aria-hidden="true"
        onPointerDown={(e) => {
          resize(e, column);
        }}
        onClick={(e) => {
          e.stopPropagation();
        }}
      />
    </div>
  );
};

interface KeyPlace {
  readonly table: Table;
  readonly pageRows: number;
  readonly openMenu: (at: number) => void;
}
const gridKey = (event: KeyboardEvent, { table, pageRows, openMenu }: KeyPlace): void => {
  const { row, column } = table.active.value;
  const last = table.rowCount.value - 1;
  const lastColumn = table.columns.value.length;
  const all = event.ctrlKey || event.metaKey;
  if (event.altKey) return;
  const move = (toRow: number, toColumn: number): void => {
    event.preventDefault();
    table.active.value = {
      row: Math.max(-1, Math.min(last, toRow)),
      column: Math.max(0, Math.min(lastColumn, toColumn)),
    };
  };
  switch (event.key) {
    case 'ArrowDown':
      return move(all ? last : row + 1, column);
    case 'ArrowUp':
      return move(all ? 0 : row - 1, column);
    case 'ArrowRight':
      return move(row, all ? lastColumn : column + 1);
    case 'ArrowLeft':
      return move(row, all ? 0 : column - 1);
    case 'PageDown':
      return move(Math.max(0, row) + pageRows, column);
    case 'PageUp':
      return move(Math.max(0, row - pageRows), column);
    case 'Home':
      return move(all ? 0 : row, 0);
    case 'End':
      return move(all ? last : row, lastColumn);
    case 'Enter':
    case ' ':
      event.preventDefault();
      if (row === -1) {
        if (column > 0) openMenu(column);
      } else table.paneOpen.value = event.key === 'Enter' ? true : !table.paneOpen.value;
      return undefined;
    case 'Escape':
      if (table.paneOpen.value) {
        event.preventDefault();
        table.paneOpen.value = false;
      }
      return undefined;
    default:
      return undefined;
  }
};

/** Copies the active cell, or with the number's column the row; a text that the reader selected is copied as ever. */
const copyCell = (event: ClipboardEvent, table: Table): void => {
  if (!(getSelection()?.isCollapsed ?? true)) return;
  const { row, column } = table.active.value;
  const at = table.columns.value[column - 1];
  const text = row < 0 ? at?.title : at ? copied(cellAt(table.cell(row), at)) : supText(table.cell(row));
  if (text === undefined) return;
  event.preventDefault();
  event.clipboardData?.setData('text/plain', text);
};

interface Places {
  readonly box: HTMLElement;
  readonly space: HTMLElement;
  readonly rows: HTMLElement;
}
/** A row's element with those of its cells, and what they show. */
interface DrawnRow {
  readonly cells: { readonly element: HTMLElement; shown: string }[];
}

/** The rows in the document. */
class GridBody {
  private readonly table: Table;
  private readonly places: Places;
  private readonly onSpan: (first: number, end: number) => void;
  private readonly scroller: Scroller;
  private readonly drawn = new WeakMap<HTMLElement, DrawnRow>();
  private readonly stops: (() => void)[] = [];
  private readonly observer: ResizeObserver;
  private size = { width: 0, height: 0 };
  private offsets: readonly number[] = [];
  private first = 0;
  private end = 0;
  private readonly rem = remOf();

  constructor(table: Table, places: Places, onSpan: (first: number, end: number) => void) {
    this.table = table;
    this.onSpan = onSpan;
    this.places = places;
    const { box, space, rows } = places;
    this.scroller = new Scroller({
      box,
      space,
      rows,
      rowHeight: Math.round(rowRem * this.rem),
      headHeight: () => Math.round(headRem * this.rem),
      make: () => this.make(),
      fill: (element, row) => {
        this.fill(element, row);
      },
      onDrawn: () => {
        this.point();
      },
    });
    box.addEventListener('scroll', this.across, { passive: true });
    this.observer = new ResizeObserver(this.resized);
    this.observer.observe(box);
    this.stops.push(
      effect(() => {
        this.scroller.setCount(this.table.rowCount.value);
      }),
      effect(() => {
        this.table.order.value;
        this.offsets = offsetsOf(this.table);
        this.spanColumns();
        this.scroller.refresh();
      }),
      effect(() => {
        const { row, column } = this.table.active.value;
        if (row >= 0) this.scroller.reveal(row);
        this.revealColumn(column);
        this.scroller.refresh();
      }),
    );
  }
  close(): void {
    for (const stop of this.stops) stop();
    this.observer.disconnect();
    this.places.box.removeEventListener('scroll', this.across);
    this.scroller.close();
    this.places.rows.replaceChildren();
  }
  get pageRows(): number {
    return this.scroller.pageRows;
  }

  /** Tells which cell is the active one, while it is in the document. */
  private point(): void {
    const { row, column } = this.table.active.peek();
    const id = row < 0 ? `title-${column}` : `cell-${row}-${column}`;
    const { box } = this.places;
    if (row >= 0 && !this.scroller?.element(row)?.querySelector(`#${id}`)) box.removeAttribute('aria-activedescendant');
    else if (box.getAttribute('aria-activedescendant') !== id) box.setAttribute('aria-activedescendant', id);
  }
  /** Which columns are in sight. */
  private spanColumns(): boolean {
    const { box } = this.places;
    const left = box.scrollLeft / this.rem;
    const right = left + box.clientWidth / this.rem;
    const count = this.offsets.length - 1;
    const offsets = this.offsets;
    let first = 0;
    let end = count;
    while (first < count && offsets[first + 1] < left) first++;
    while (end > first && offsets[end - 1] > right) end--;
    const isNew = first !== this.first || end !== this.end;
    this.first = first;
    this.end = end;
    if (isNew) this.onSpan(first, end);
    return isNew;
  }
  private readonly across = (): void => {
    if (this.spanColumns()) this.scroller.refresh();
  };
  /** What takes room from the table, such as the pane of a row, leaves the active cell in sight. */
  private readonly resized = (): void => {
    const { width, height } = this.size;
    const { box } = this.places;
    this.size = { width: box.clientWidth, height: this.scroller.viewHeight };
    const { row, column } = this.table.active.peek();
    const left = (this.offsets[column - 1] ?? 0) * this.rem;
    if (row < 0 || !this.scroller.isInSight(row, height) || left > box.scrollLeft + width) return;
    this.scroller.reveal(row);
    this.revealColumn(column);
    this.scroller.refresh();
  };
  private revealColumn(column: number): void {
    const { box } = this.places;
    if (column === 0 || column >= this.offsets.length) return;
    const pinned = this.table.pinned.peek() === undefined ? 0 : this.table.widthOf(this.table.columns.peek()[0]);
    const left = this.offsets[column - 1] * this.rem;
    const right = this.offsets[column] * this.rem;
    const fixed = (numberRem + pinned) * this.rem;
    if (column === 1 && pinned > 0) return;
    if (left - fixed < box.scrollLeft) box.scrollLeft = left - fixed;
    else if (right > box.scrollLeft + box.clientWidth) box.scrollLeft = Math.min(right - box.clientWidth, left - fixed);
    this.spanColumns();
  }

  private make(): HTMLElement {
    const element = document.createElement('div');
    element.className = 'grid-row';
    element.setAttribute('role', 'row');
    this.drawn.set(element, { cells: [] });
    element.addEventListener('click', (event) => {
      const row = Number(element.dataset['row']);
      const cell = (event.target as HTMLElement).closest<HTMLElement>('[data-column]');
      const column = Number(cell?.dataset['column'] ?? 0);
      const { active, paneOpen } = this.table;
      // A second click on the number of a row, or a double one on a cell, opens its value.
      if (column === 0 || event.detail === 2) paneOpen.value = true;
      active.value = { row, column };
    });
    return element;
  }

  private fill(element: HTMLElement, row: number): void {
    const table = this.table;
    const columns = table.columns.peek();
    const active = table.active.peek();
    const { cells } = this.drawn.get(element)!;
    const value = table.cell(row);
    element.dataset['row'] = String(row);
    element.setAttribute('aria-rowindex', String(row + 2));
    element.className = `grid-row${row % 2 === 1 ? ' odd' : ''}${active.row === row ? ' here' : ''}`;
    element.setAttribute('aria-selected', String(active.row === row));
    let at = 0;
    const put = (column: number, text: string, look: string, title: string): void => {
      const drawn = cells[at] ?? makeCell(element, cells);
      const { element: cell } = drawn;
      at++;
      const isActive = active.row === row && active.column === column;
      const isPinned = column === 1 && table.pinned.peek() !== undefined;
      const key = `${look} ${column} ${isActive ? 1 : 0} ${isPinned ? 1 : 0} ${text}`;
      cell.id = `cell-${row}-${column}`;
      const left = column === 0 ? 0 : isPinned ? numberRem : this.offsets[column - 1];
      const width = column === 0 ? numberRem : this.offsets[column] - this.offsets[column - 1];
      const place = `${left}rem`;
      const wide = `${width}rem`;
      if (cell.style.left !== place) cell.style.left = place;
      if (cell.style.width !== wide) cell.style.width = wide;
      if (drawn.shown === key) return;
      drawn.shown = key;
      cell.setAttribute('role', column === 0 ? 'rowheader' : 'gridcell');
      cell.setAttribute('aria-colindex', String(column + 1));
      cell.dataset['column'] = String(column);
      cell.className = `cell ${column === 0 ? look : `is-${look}`}${isActive ? ' active' : ''}${isPinned ? ' pinned' : ''}`;
      cell.textContent = text;
      if (title === '') cell.removeAttribute('aria-label');
      else cell.setAttribute('aria-label', title);
    };
    put(0, String(table.rowAt(row) + 1), 'row-number', '');
    const isPinned = table.pinned.peek() !== undefined;
    const from = isPinned ? Math.max(1, this.first) : this.first;
    if (isPinned) this.putCell(put, 1, columns[0], value);
    for (let i = from; i < Math.min(this.end, columns.length); i++) this.putCell(put, i + 1, columns[i], value);
    for (; cells.length > at; ) cells.pop()!.element.remove();
  }
  /** What a look says is also said in words. */
  private putCell(
    put: (column: number, text: string, look: string, title: string) => void,
    at: number,
    column: Column,
    row: Cell,
  ): void {
    const { text, look } = shown(cellAt(row, column));
    // A null among numbers stands where they end.
    put(
      at,
      text,
      look === 'null' && isNumeric(column) ? 'null right' : look,
      look === 'missing' ? 'missing' : look === 'error' ? `error: ${text}` : look === 'empty' ? 'empty' : '',
    );
  }
}

const makeCell = (row: HTMLElement, cells: DrawnRow['cells']): DrawnRow['cells'][number] => {
  const drawn = { element: row.appendChild(document.createElement('div')), shown: '' };
  cells.push(drawn);
  return drawn;
};
