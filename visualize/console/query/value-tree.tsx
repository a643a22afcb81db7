/** One value as a tree: all of it, with its types. Arrow keys move, open and close; by the ARIA pattern of trees. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { nameText, typeText } from '../../../src/client/types.ts';
import { visible } from '../text.ts';
import { copyText } from './clipboard.ts';
import { copied, shown, supText } from './print.ts';
import type { Table } from './table.ts';
import { type Cell, partsOf, plain } from './wire.ts';

interface TreeRow {
  readonly key: string;
  readonly name: string;
  readonly cell: Cell | undefined;
  readonly type: string;
  readonly level: number;
  readonly open: boolean | undefined;
}

const rowsMax = 2000;
const openParts = 40;
const textMax = 4000;

/** The rows of a tree as far as it is open; short parts are open to begin with. */
const rowsOf = (cell: Cell, toggled: ReadonlySet<string>): readonly TreeRow[] => {
  const rows: TreeRow[] = [];
  const visit = (at: Cell | undefined, name: string, key: string, level: number, type: string): void => {
    if (rows.length >= rowsMax) return;
    const parts = at && plain(at).type.kind !== 'error' ? partsOf(at) : [];
    const first = parts.length <= openParts && level <= 3;
    const open = parts.length === 0 ? undefined : first !== toggled.has(key);
    rows.push({ key, name, cell: at, type, level, open });
    if (!open) return;
    parts.forEach((part, i) => {
      const label = part.field ? nameText(part.field.name) : part.key ? supText(part.key) : `[${i}]`;
      visit(part.cell, label, `${key}/${i}`, level + 1, typeText(part.field?.type ?? part.cell!.type));
    });
  };
  const { type } = plain(cell);
  if (type.kind === 'record')
    partsOf(cell).forEach((part, i) => {
      visit(part.cell, nameText(part.field!.name), `/${i}`, 1, typeText(part.field!.type));
    });
  else visit(cell, 'this', '', 1, typeText(cell.type));
  return rows;
};

/** The pane with the value of the table's active row. */
export const ValuePane = ({ table }: { readonly table: Table }) => {
  const toggled = useSignal<ReadonlySet<string>>(new Set());
  const active = useSignal(0);
  const tree = useRef<HTMLUListElement>(null);
  const close = useRef<HTMLButtonElement>(null);
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    pane.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const { row } = table.active.value;
  const count = table.rowCount.value;
  const cell = row >= 0 && row < count ? table.cell(row) : undefined;
  const rows = cell ? rowsOf(cell, toggled.value) : [];
  const at = Math.min(active.value, rows.length - 1);
  useEffect(() => {
    tree.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const toggle = (key: string): void => {
    const next = new Set(toggled.value);
    if (!next.delete(key)) next.add(key);
    toggled.value = next;
  };
  const keys = (event: KeyboardEvent): void => {
    const here = rows[at];
    if (!here || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = (
      { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 } as Readonly<Record<string, number>>
    )[event.key];
    if (to !== undefined) active.value = Math.max(0, Math.min(rows.length - 1, to));
    else if (event.key === 'ArrowRight') here.open === false ? toggle(here.key) : here.open && (active.value = at + 1);
    else if (event.key === 'ArrowLeft')
      here.open
        ? toggle(here.key)
        : (active.value = Math.max(
            0,
            rows.findLastIndex((each, i) => i < at && each.level < here.level),
          ));
    else if (event.key === 'Enter' && here.open !== undefined) toggle(here.key);
    else return;
    event.preventDefault();
  };
  const leave = (): void => {
    table.paneOpen.value = false;
    // The focus was in the pane, which goes.
    document.querySelector<HTMLElement>('.answer :is(.grid, .sup)')?.focus();
  };
  const step = (by: number): void => {
    table.active.value = { ...table.active.value, row: Math.max(0, Math.min(count - 1, row + by)) };
  };
  return (
    <aside
      class="value-pane panel"
      ref={pane}
      aria-label="Value"
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave();
      }}
    >
      <header>
        <h2>Row {cell ? (table.rowAt(row) + 1).toLocaleString('en') : '–'}</h2>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            step(-1);
          }}
          disabled={row <= 0}
          aria-label="Row before"
        >
          ↑
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            step(1);
          }}
          disabled={row >= count - 1}
          aria-label="Next row"
        >
          ↓
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            if (cell) copyText(supText(cell));
          }}
          disabled={!cell}
        >
          Copy
        </button>
        <button type="button" class="quiet" ref={close} onClick={leave} aria-label="Close">
          ×
        </button>
      </header>
      {cell ? (
        <>
          <p class="row-type mono soft" title={visible(typeText(cell.type), 2000)}>
            <bdi>{visible(typeText(cell.type), 300)}</bdi>
          </p>
          <ul
            class="tree"
            role="tree"
            aria-label="Parts of the value"
            tabIndex={0}
            ref={tree}
            onKeyDown={keys}
            {...(rows[at] && { 'aria-activedescendant': `part-${at}` })}
            onCopy={(event) => {
              if (!rows[at] || !(getSelection()?.isCollapsed ?? true)) return;
              event.preventDefault();
              event.clipboardData?.setData('text/plain', copied(rows[at].cell));
            }}
          >
            {rows.map((each, i) => (
              <TreeItem
                key={each.key}
                row={each}
                at={i}
                isActive={i === at}
                onPick={() => {
                  active.value = i;
                  if (each.open !== undefined) toggle(each.key);
                }}
              />
            ))}
            {rows.length === 0 && (
              <li class="soft" role="none">
                An empty record.
              </li>
            )}
          </ul>
        </>
      ) : (
        <p class="soft empty">Choose a row.</p>
      )}
    </aside>
  );
};

const TreeItem = ({
  row,
  at,
  isActive,
  onPick,
}: {
  readonly row: TreeRow;
  readonly at: number;
  readonly isActive: boolean;
  readonly onPick: () => void;
}) => {
  const { name, cell, type, level, open } = row;
  const { text, look } = full(cell);
  return (
    <li
      role="treeitem"
      id={`part-${at}`}
      class={`part level-${Math.min(level, 6)}`}
      aria-level={level}
      aria-selected={isActive}
      {...(open !== undefined && { 'aria-expanded': open })}
      onClick={onPick}
    >
      <span class="twist" aria-hidden="true">
        {open === undefined ? '' : open ? '▾' : '▸'}
      </span>
      <span class="part-name">
        <bdi>{visible(name, 120)}</bdi>
      </span>
      <span class={`part-value is-${look}`}>
        <bdi>{look === 'missing' ? 'missing' : look === 'error' ? `error: ${text}` : open ? summary(cell!) : text}</bdi>
      </span>
      <span class="part-type soft">
        <bdi>{visible(type, 60)}</bdi>
      </span>
    </li>
  );
};

/** The whole text of a part, cut far behind what a cell shows. */
const full = (cell: Cell | undefined) => {
  const short = shown(cell);
  return cell && (short.look === 'string' || short.look === 'error')
    ? { ...short, text: visible(short.look === 'error' ? supText(plain(cell)).slice(6, -1) : copied(cell), textMax) }
    : short;
};
const summary = (cell: Cell): string => {
  const { type } = plain(cell);
  const { length } = partsOf(cell);
  return type.kind === 'record'
    ? `${length} field${length === 1 ? '' : 's'}`
    : `${length} ${type.kind === 'map' ? 'entr' : 'element'}${type.kind === 'map' ? (length === 1 ? 'y' : 'ies') : length === 1 ? '' : 's'}`;
};
