/** Which columns and rows the table shows: a list of all columns with a search, and limits of the answer. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { count, counted, visible } from '../../text.ts';
import { rowsMax, rowsMaxChoices, setRowsMax } from '../stored.ts';
import type { Table } from '../table.ts';
import type { Column } from './columns.ts';

const listedMax = 200;

/** The buttons that say which columns and rows the table shows. */
export const ColumnTools = ({ table }: { readonly table: Table }) => {
  const open = useSignal(false);
  const place = useRef<HTMLSpanElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const all = table.allColumns.value;
  const shown = table.columns.value.length;
  useEffect(() => {
    if (!open.value) return undefined;
    const away = (event: PointerEvent): void => {
      if (!place.current?.contains(event.target as Node)) open.value = false;
    };
    addEventListener('pointerdown', away);
    return () => {
      removeEventListener('pointerdown', away);
    };
  }, [open.value]);
  return (
    <>
      <Channels table={table} />
      <span
        class="menu-place"
        ref={place}
        onKeyDown={(e) => {
          if (e.key !== 'Escape' || !open.value) return;
          open.value = false;
          opener.current?.focus();
        }}
      >
        <button
          type="button"
          ref={opener}
          aria-expanded={open.value}
          onClick={() => {
            open.value = !open.value;
          }}
        >
          Columns
          {shown < all.length ? ` (${count(shown)} of ${count(all.length)})` : ''}
        </button>
        {open.value && (
          <ColumnList
            table={table}
            all={all}
            onGo={(key) => {
              open.value = false;
              table.goTo(key);
              document.querySelector<HTMLElement>('.answer .grid')?.focus();
            }}
          />
        )}
      </span>
    </>
  );
};

const Channels = ({ table }: { readonly table: Table }) => {
  const { channels } = table.run.store;
  // Channels are no signal: what came by the end is shown.
  table.run.state.value;
  if (channels.length < 2) return null;
  return (
    <label class="channel">
      Channel{' '}
      <select
        value={table.channel.value ?? ''}
        onChange={(e) => {
          table.channel.value = e.currentTarget.value === '' ? undefined : Number(e.currentTarget.value);
        }}
      >
        <option value="">all</option>
        {channels.map((name, i) => (
          <option key={name} value={i}>
            {visible(name, 60)}
          </option>
        ))}
      </select>
    </label>
  );
};

interface ListProps {
  readonly table: Table;
  readonly all: readonly Column[];
  /** Leads to a column by its key. */
  readonly onGo: (key: string) => void;
}
const ColumnList = ({ table, all, onGo }: ListProps) => {
  const wanted = useSignal('');
  const search = useRef<HTMLInputElement>(null);
  const hidden = table.hiddenColumns.value;
  const found = columnsNamed(all, wanted.value);
  const missing = found.filter(({ key }) => hidden.has(key));
  useEffect(() => {
    search.current?.focus();
  }, []);
  const keys = (columns: readonly Column[]): readonly string[] => columns.map(({ key }) => key);
  return (
    <div class="menu drop-down column-list" role="group" aria-label="Columns">
      <input
        type="search"
        ref={search}
        placeholder={`Find among ${counted(all.length, 'column')}`}
        aria-label="Find a column: Enter leads to the first"
        value={wanted.value}
        onInput={(e) => {
          wanted.value = e.currentTarget.value;
        }}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && found[0]) onGo(found[0].key);
        }}
      />
      <div class="column-actions">
        <span class="soft" role="status">
          {foundText(found.length, wanted.value)}
        </span>
        {missing.length > 0 && (
          <button
            type="button"
            onClick={() => {
              table.show(...keys(missing));
            }}
          >
            Show {count(missing.length)}
          </button>
        )}
        {found.length > missing.length && (
          <button
            type="button"
            onClick={() => {
              table.hide(...keys(found));
            }}
          >
            Hide {count(found.length - missing.length)}
          </button>
        )}
      </div>
      <ul>
        {found.slice(0, listedMax).map((column) => (
          <ColumnRow key={column.key} table={table} column={column} isShown={!hidden.has(column.key)} onGo={onGo} />
        ))}
      </ul>
      {found.length > listedMax && (
        <p class="soft">and {count(found.length - listedMax)} more: write more of the name.</p>
      )}
      <TableLimits table={table} />
    </div>
  );
};

const foundText = (found: number, wanted: string): string => {
  if (found === 0) return 'No column has this in its name.';
  return wanted.trim() === '' ? '' : `${counted(found, 'column')} found`;
};

/** Those with the text in their name, whatever the case; first those that begin with it. */
const columnsNamed = (all: readonly Column[], text: string): readonly Column[] => {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return all;
  const named = all.map((column) => ({ column, at: column.title.toLowerCase().indexOf(wanted) }));
  return [...named.filter(({ at }) => at === 0), ...named.filter(({ at }) => at > 0)].map(({ column }) => column);
};

const ColumnRow = ({
  table,
  column,
  isShown,
  onGo,
}: Pick<ListProps, 'table' | 'onGo'> & { readonly column: Column; readonly isShown: boolean }) => (
  <li>
    <label class="check">
      <input
        type="checkbox"
        checked={isShown}
        onChange={() => {
          if (isShown) table.hide(column.key);
          else table.show(column.key);
        }}
      />{' '}
      <bdi>{visible(column.title, 60)}</bdi>{' '}
      {column.only !== undefined && <span class="soft">{visible(column.only, 40)}</span>}
    </label>
    <button
      type="button"
      class="quiet"
      aria-label={`Go to ${visible(column.title, 60)}`}
      title="Go to it"
      onClick={() => {
        onGo(column.key);
      }}
    >
      →
    </button>
  </li>
);

const TableLimits = ({ table }: { readonly table: Table }) => (
  <>
    <label class="check">
      <input
        type="checkbox"
        checked={table.byType.value}
        onChange={(e) => {
          table.byType.value = e.currentTarget.checked;
        }}
      />{' '}
      A column for each type
    </label>
    <label class="keep">
      Keep at most{' '}
      <select
        value={rowsMax.value}
        onChange={(e) => {
          setRowsMax(Number(e.currentTarget.value));
        }}
      >
        {[...new Set([...rowsMaxChoices, rowsMax.value])]
          .sort((a, b) => a - b)
          .map((n) => (
            <option key={n} value={n}>
              {n.toLocaleString('en')}
            </option>
          ))}
      </select>{' '}
      rows
    </label>
  </>
);
