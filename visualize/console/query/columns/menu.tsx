/**
 * What can be done with a column: sort, unfold, pin, hide, change its width, copy its path. A menu by the ARIA pattern:
 * arrow keys move, Escape closes.
 */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { visible } from '../../text.ts';
import { menuKeys } from '../menu-keys.ts';
import { type Column, pathText } from './columns.ts';
import { copyText } from '../clipboard.ts';
import { sortRowsMax, type Table } from '../table.ts';

interface MenuProps {
  readonly table: Table;
  readonly column: Column;
  /** Id of the element that it belongs to. */
  readonly anchor: string;
  readonly box: HTMLElement;
  readonly onClose: () => void;
}
interface Item {
  readonly text: string;
  readonly run: () => void;
  readonly disabled?: boolean;
  readonly checked?: boolean;
}

/** The menu of a column, open below its title until something was chosen or the reader turns elsewhere. */
export const ColumnMenu = ({ table, column, anchor, box, onClose }: MenuProps) => {
  const place = useRef<HTMLDivElement>(null);
  const { key, path, parent } = column;
  const sorting = table.sorting.value;
  const mayNot = !table.sortable.value;
  const isPinned = table.pinned.value === key;
  const width = table.widthOf(column);
  const sort = (descending: boolean): void => {
    table.sorting.value = { key, descending };
  };
  const items: readonly Item[] = [
    {
      text: 'Sort ascending',
      run: () => {
        sort(false);
      },
      disabled: mayNot,
      checked: sorting?.key === key && !sorting.descending,
    },
    {
      text: 'Sort descending',
      run: () => {
        sort(true);
      },
      disabled: mayNot,
      checked: sorting?.key === key && sorting.descending,
    },
    ...(sorting
      ? [
          {
            text: 'As it came',
            run: () => {
              table.sorting.value = undefined;
            },
          },
        ]
      : []),
    ...(column.nested
      ? [
          {
            text: 'Unfold',
            run: () => {
              table.toggleFold(path);
            },
          },
        ]
      : []),
    ...(parent === undefined
      ? []
      : [
          {
            text: 'Fold',
            run: () => {
              table.toggleFold(JSON.parse(parent) as readonly (string | number)[]);
            },
          },
        ]),
    {
      text: isPinned ? 'Unpin' : 'Pin as first',
      run: () => {
        table.pinned.value = isPinned ? undefined : key;
      },
    },
    {
      text: 'Hide',
      run: () => {
        table.hide(key);
      },
    },
    {
      text: 'Wider',
      run: () => {
        table.setWidth(key, width * 1.5);
      },
    },
    {
      text: 'Narrower',
      run: () => {
        table.setWidth(key, width / 1.5);
      },
    },
    {
      text: 'Copy path',
      run: () => {
        copyText(pathText(path));
      },
    },
  ];
  useLayoutEffect(() => {
    const title = document.getElementById(anchor);
    const one = place.current!;
    if (!title) return;
    const at = title.getBoundingClientRect();
    const around = box.getBoundingClientRect();
    const own = one.getBoundingClientRect();
    one.style.left = `${Math.max(0, Math.min(at.left - around.left, around.width - own.width - 8))}px`;
    one.style.top = `${at.bottom - around.top}px`;
    place.current!.querySelector<HTMLElement>('[role^=menuitem]:not([aria-disabled=true])')?.focus();
  }, [anchor]);
  useEffect(() => {
    const away = (event: PointerEvent): void => {
      if (!place.current?.contains(event.target as Node)) onClose();
    };
    addEventListener('pointerdown', away);
    return () => {
      removeEventListener('pointerdown', away);
    };
  }, []);
  return (
    <div
      class="menu"
      ref={place}
      role="menu"
      aria-label={`Column ${visible(column.title, 80)}`}
      onKeyDown={menuKeys(onClose)}
    >
      {items.map(({ text, run, disabled, checked }) => (
        <button
          key={text}
          type="button"
          role={checked === undefined ? 'menuitem' : 'menuitemradio'}
          tabIndex={-1}
          aria-disabled={disabled ? 'true' : undefined}
          aria-checked={checked}
          onClick={() => {
            if (disabled) return;
            run();
            onClose();
          }}
        >
          <span class="tick" aria-hidden="true">
            {checked ? '✓' : ''}
          </span>
          {text}
        </button>
      ))}
      {mayNot && (
        <p class="soft">
          {table.run.state.value === 'running'
            ? 'Sorted once all is there.'
            : `Up to ${sortRowsMax.toLocaleString('en')} rows are sorted here: write “sort” into the query.`}
        </p>
      )}
    </div>
  );
};
