/** The rows as SUP text, one a line, in colours. As long as it likes: only the lines in sight are in the document. */
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../text.ts';
import { supPieces, supText } from './print.ts';
import { Scroller, type ScrollerOptions } from './scroller.ts';
import type { Table } from './table.ts';

const lineRem = 1.45;
const charactersMax = 3000;

export const SupView = ({ table }: { readonly table: Table }) => {
  const box = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const scroller = useRef<Scroller | undefined>(undefined);
  useEffect(() => {
    const drawn = (scroller.current = linesIn(
      { box: box.current!, space: space.current!, rows: rows.current! },
      table,
    ));
    const stops = [
      effect(() => {
        drawn.setCount(table.rowCount.value);
      }),
      effect(() => {
        table.order.value;
        const { row } = table.active.value;
        if (row >= 0) drawn.reveal(row);
        drawn.refresh();
      }),
    ];
    return () => {
      for (const stop of stops) stop();
      drawn.close();
    };
  }, [table]);
  const key = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { row, column } = table.active.value;
    const last = table.rowCount.value - 1;
    const page = scroller.current!.pageRows;
    const to = (
      {
        ArrowDown: row + 1,
        ArrowUp: row - 1,
        PageDown: row + page,
        PageUp: row - page,
        Home: 0,
        End: last,
      } as Readonly<Record<string, number>>
    )[event.key];
    if (event.key === 'Enter') table.paneOpen.value = true;
    else if (to === undefined) return;
    else table.active.value = { row: Math.max(0, Math.min(last, to)), column };
    event.preventDefault();
  };
  return (
    <div
      class="sup"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label="Rows as SUP"
      onKeyDown={key}
      onClick={(event) => {
        const line = (event.target as HTMLElement).closest('.sup-line');
        if (line && (getSelection()?.isCollapsed ?? true))
          table.active.value = { row: Number(line.id.slice('line-'.length)), column: table.active.value.column };
      }}
      onCopy={(event) => {
        const { row } = table.active.value;
        if (row < 0 || !(getSelection()?.isCollapsed ?? true)) return;
        event.preventDefault();
        event.clipboardData?.setData('text/plain', supText(table.cell(row)));
      }}
    >
      <div class="sup-space" ref={space} role="presentation">
        <div class="sup-view" role="presentation">
          <div class="sup-rows" role="presentation" ref={rows} />
        </div>
      </div>
    </div>
  );
};

/** Draws the lines of the table's rows into the elements of a scroller. */
const linesIn = (elements: Pick<ScrollerOptions, 'box' | 'space' | 'rows'>, table: Table): Scroller => {
  const { box, space } = elements;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  let widest = 0;
  const scroller: Scroller = new Scroller({
    ...elements,
    rowHeight: Math.round(lineRem * rem),
    headHeight: () => 0,
    make: () => {
      const element = document.createElement('div');
      element.className = 'sup-line';
      element.setAttribute('role', 'option');
      return element;
    },
    fill: (element, row) => {
      const length = fillLine(element, table, row);
      // The box is as wide as the longest line that was seen.
      if (length > widest) {
        widest = length;
        space.style.minWidth = `${widest + 12}ch`;
      }
    },
    onDrawn: () => {
      const { row } = table.active.peek();
      if (scroller.element(row)) box.setAttribute('aria-activedescendant', `line-${row}`);
      else box.removeAttribute('aria-activedescendant');
    },
  });
  return scroller;
};

/** The line of a row in its element; gives how many characters its value has, as far as it is drawn. */
const fillLine = (element: HTMLElement, table: Table, row: number): number => {
  const pieces = supPieces(table.cell(row), charactersMax);
  const number = document.createElement('span');
  number.className = 'sup-at';
  number.textContent = String(table.rowAt(row) + 1);
  number.setAttribute('aria-hidden', 'true');
  element.replaceChildren(
    number,
    ...pieces.map(({ text, tone }) => {
      const piece = document.createElement('span');
      piece.className = `sup-${tone}`;
      piece.textContent = visible(text, charactersMax);
      return piece;
    }),
  );
  element.id = `line-${row}`;
  element.setAttribute('aria-posinset', String(row + 1));
  element.setAttribute('aria-setsize', String(table.rowCount.peek()));
  element.setAttribute('aria-selected', String(table.active.peek().row === row));
  return pieces.reduce((sum, piece) => sum + piece.text.length, 0);
};
