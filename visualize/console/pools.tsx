/** All pools: what they hold, how they are kept; made, renamed, deleted from here. */
import { useEffect } from 'preact/hooks';
import { computed, signal } from '@preact/signals';
import type { PoolInfo } from '../../src/client/client.ts';
import { sums, sumsOf, wantSums } from './figures.ts';
import { branches, listState, pools, refresh, views } from './lake.ts';
import { CreatePool, DeletePool, RenamePool } from './pool/dialogs.tsx';
import { AddData } from './add-data/dialog.tsx';
import { Load } from './load/dialog.tsx';
import { Ago, Busy, Bytes, Empty, Icon, IconButton, Name, Records } from './parts.tsx';
import { link } from './route.ts';
import { may } from './session.ts';
import { count, counted, visible } from './text.ts';
import { used } from './used.ts';
import { LoadTogether } from './transaction/dialog.tsx';
import { Views } from './views.tsx';
import { useDrop } from '../shared/drop.ts';

type Column = 'name' | 'records' | 'bytes' | 'key' | 'branches' | 'created' | 'used';
const columns: readonly (readonly [Column, string])[] = [
  ['name', 'Pool'],
  ['records', 'Records'],
  ['bytes', 'Size'],
  ['key', 'Key'],
  ['branches', 'Branches'],
  ['created', 'Created'],
  ['used', 'Last used'],
];
/** Those that begin with the greatest. */
const downFirst: ReadonlySet<Column> = new Set(['records', 'bytes', 'branches', 'created', 'used']);
const rowsPerStep = 200;

const sort = signal<{ readonly by: Column; readonly down: boolean }>({ by: 'used', down: true });
const sortBy = (by: Column): void => {
  sort.value = { by, down: downFirst.has(by) };
};
const search = signal('');
const shownMax = signal(rowsPerStep);
const dialog = signal<
  | { readonly kind: 'create' | 'add' | 'together' }
  | { readonly kind: 'rename' | 'delete'; readonly pool: PoolInfo }
  | { readonly kind: 'load'; readonly files: readonly File[] }
  | null
>(null);
const close = (): void => {
  dialog.value = null;
};

/** How a pool is kept in order, for people. */
export const keyText = ({ layout }: PoolInfo): string => layout.keys.map((path) => path.join('.')).join(', ');
/** The branch that stands for the pool. */
const tipOf = (pool: PoolInfo): string | undefined => branches(pool).find((b) => b.name === 'main')?.commit;

const valueOf: { readonly [K in Column]: (pool: PoolInfo) => string | number } = {
  name: (p) => p.name.toLowerCase(),
  records: (p) => sumsOf(p, 'main')?.records ?? -1,
  bytes: (p) => sumsOf(p, 'main')?.bytes ?? -1,
  key: keyText,
  branches: (p) => branches(p).length,
  created: (p) => p.ts,
  used: (p) => used.value.get(p.id) ?? 0,
};
const found = computed(() => {
  const text = search.value.trim().toLowerCase();
  const { by, down } = sort.value;
  if (by === 'records' || by === 'bytes') sums.value;
  const kept =
    text === ''
      ? [...pools.value]
      : pools.value.filter(
          (p) => p.name.toLowerCase().includes(text) || p.id === text || keyText(p).toLowerCase().includes(text),
        );
  // What is equal stays by name.
  const less = down ? 1 : -1;
  return kept
    .map((pool) => ({ pool, key: valueOf[by](pool) }))
    .sort((a, b) => (a.key < b.key ? less : a.key > b.key ? -less : 0))
    .map(({ pool }) => pool);
});

/** The page of all pools. */
export const PoolsPage = () => {
  const state = listState.value;
  const all = pools.value.length;
  const shown = found.value.slice(0, shownMax.value);
  const mayMake = may('writer');
  const over = useDrop(
    (files) => {
      dialog.value = { kind: 'load', files };
    },
    mayMake || pools.value.some((p) => may('writer', p)),
  );
  const byFigures = sort.value.by === 'records' || sort.value.by === 'bytes';
  // A dialog that was open when the reader left is not there when they come back.
  useEffect(() => close, []);
  useEffect(() => {
    // To sort by a figure, all of them have to be known.
    if (byFigures) for (const pool of pools.value) wantSums(pool, 'main', tipOf(pool) ?? '');
  }, [byFigures, all]);
  return (
    <section class="page" aria-labelledby="pools-title">
      <header class="page-head">
        <h1 id="pools-title">Pools {all > 0 && <span class="soft">{count(all)}</span>}</h1>
        {all > 0 && (
          <input
            type="search"
            placeholder="Filter"
            aria-label="Filter pools by name or key"
            value={search.value}
            onInput={(e) => {
              search.value = e.currentTarget.value;
              shownMax.value = rowsPerStep;
            }}
          />
        )}
        {all > 1 && <Order />}
        {pools.value.filter((p) => may('writer', p)).length > 1 && (
          <button
            type="button"
            onClick={() => {
              dialog.value = { kind: 'together' };
            }}
          >
            <Icon name="upload" />
            Load together
          </button>
        )}
        {mayMake && (
          <button
            type="button"
            onClick={() => {
              dialog.value = { kind: 'add' };
            }}
          >
            <Icon name="upload" />
            Add data
          </button>
        )}
        {mayMake && (
          <button
            type="button"
            class="main"
            onClick={() => {
              dialog.value = { kind: 'create' };
            }}
          >
            <Icon name="plus" />
            New pool
          </button>
        )}
      </header>
      {typeof state === 'object' && (
        <div class="fault" role="alert">
          {visible(state.fault, 2000)}{' '}
          <button
            type="button"
            onClick={() => {
              void refresh();
            }}
          >
            Try again
          </button>
        </div>
      )}
      {state === 'loading' ? (
        <Busy text="Reading the list of pools…" />
      ) : all === 0 ? (
        <NoPools mayMake={mayMake} />
      ) : found.value.length === 0 ? (
        <Empty title="No pool matches">
          <p class="soft">Neither a name nor a key contains what is typed above.</p>
          <button
            type="button"
            onClick={() => {
              search.value = '';
            }}
          >
            Show all pools
          </button>
        </Empty>
      ) : (
        <div class="panel table-panel">
          <table class="pools">
            <thead>
              <tr>
                {columns.map(([id, title]) => (
                  <Head key={id} id={id} title={title} />
                ))}
                <th>
                  <span class="hidden-text">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((pool) => (
                <PoolRow key={pool.id} pool={pool} />
              ))}
            </tbody>
          </table>
          {found.value.length > shown.length && (
            <p class="more">
              <button
                type="button"
                onClick={() => {
                  shownMax.value += rowsPerStep;
                }}
              >
                Show more of {counted(found.value.length - shown.length, 'pool')}
              </button>
            </p>
          )}
        </div>
      )}
      {views.value.length > 0 && <Views />}
      {over && (
        <div class="drop" aria-hidden="true">
          <p>Drop files to load them into a pool</p>
        </div>
      )}
      <Dialogs />
    </section>
  );
};

const Dialogs = () => {
  const { value } = dialog;
  if (value === null) return null;
  switch (value.kind) {
    case 'create':
      return <CreatePool onClose={close} />;
    case 'add':
      return <AddData onClose={close} />;
    case 'together':
      return <LoadTogether onClose={close} />;
    case 'rename':
      return <RenamePool pool={value.pool} onClose={close} />;
    case 'delete':
      return <DeletePool pool={value.pool} onClose={close} />;
    case 'load':
      return <Load files={value.files} onClose={close} />;
  }
};

const NoPools = ({ mayMake }: { readonly mayMake: boolean }) => (
  <Empty title="There are no pools yet">
    {mayMake ? (
      <>
        <p class="soft">
          A pool keeps records of any shape, in the order of a key, with branches and a history. Drop a file on this
          page (JSON, CSV, Parquet, Arrow, Zeek and more) to make one of it, or begin with an empty one.
        </p>
        <p class="actions">
          <button
            type="button"
            class="main"
            onClick={() => {
              dialog.value = { kind: 'load', files: [] };
            }}
          >
            <Icon name="upload" />
            Load a file
          </button>
          <button
            type="button"
            onClick={() => {
              dialog.value = { kind: 'create' };
            }}
          >
            <Icon name="plus" />
            New pool
          </button>
        </p>
      </>
    ) : (
      <p class="soft">
        None that you may read, at least. Pools show here once somebody makes one or lets you read one.
      </p>
    )}
  </Empty>
);

/** Where the table has no heads to choose by. */
const Order = () => (
  <select
    class="order"
    aria-label="Order of the pools"
    value={sort.value.by}
    onChange={(e) => {
      sortBy(e.currentTarget.value as Column);
    }}
  >
    {columns.map(([id, title]) => (
      <option key={id} value={id}>
        {title}
      </option>
    ))}
  </select>
);

const Head = ({ id, title }: { readonly id: Column; readonly title: string }) => {
  const { by, down } = sort.value;
  const is = by === id;
  const numeric = id === 'records' || id === 'bytes' || id === 'branches';
  return (
    <th
      scope="col"
      aria-sort={is ? (down ? 'descending' : 'ascending') : 'none'}
      class={`${id === 'used' ? 'created' : id}${numeric ? ' numeric' : ''}`}
    >
      <button
        type="button"
        class="sort"
        onClick={() => {
          if (is) sort.value = { by, down: !down };
          else sortBy(id);
        }}
      >
        {title}
        <span class="arrow" aria-hidden="true">
          {is ? (down ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  );
};

const PoolRow = ({ pool }: { readonly pool: PoolInfo }) => {
  const tip = tipOf(pool);
  const known = sumsOf(pool, 'main');
  const mayEdit = may('admin', pool);
  const all = branches(pool);
  useEffect(() => {
    if (tip !== undefined) wantSums(pool, 'main', tip);
  }, [tip]);
  const name = visible(pool.name, 80);
  return (
    <tr>
      <th scope="row" class="name">
        <a href={link(['pool', referenceOf(pool)])}>
          <Name text={pool.name} max={120} />
        </a>
      </th>
      <td class="records numeric" data-label="Records">
        <Records n={tip === undefined ? 0 : known?.records} />
      </td>
      <td class="bytes numeric" data-label="Size">
        <Bytes n={tip === undefined ? 0 : known?.bytes} />
      </td>
      <td class="key" data-label="Key">
        <code>
          <Name text={keyText(pool)} max={60} />
        </code>{' '}
        <span class="soft">{pool.layout.order}</span>
      </td>
      <td class="branches numeric" data-label="Branches">
        {count(all.length)}
      </td>
      <td class="created soft" data-label="Created">
        <Ago time={pool.ts} />
      </td>
      <td class="created soft" data-label="Last used">
        <LastUse pool={pool} />
      </td>
      <td class="row-actions">
        <a class="button quiet" href={link(['query'], { pool: pool.name })} aria-label={`Query ${name}`} title="Query">
          <Icon name="ask" />
        </a>
        {mayEdit && (
          <IconButton
            icon="edit"
            label={`Rename ${name}`}
            title="Rename"
            onClick={() => {
              dialog.value = { kind: 'rename', pool };
            }}
          />
        )}
        {mayEdit && (
          <IconButton
            icon="trash"
            label={`Delete ${name}`}
            title="Delete"
            onClick={() => {
              dialog.value = { kind: 'delete', pool };
            }}
          />
        )}
      </td>
    </tr>
  );
};

const LastUse = ({ pool }: { readonly pool: PoolInfo }) => {
  const at = used.value.get(pool.id);
  if (at === undefined) return <>not yet</>;
  const time = new Date(at).toISOString();
  return <Ago time={time} />;
};

/** How addresses of the page name a pool: by its name, where that makes an address that can be read. */
export const referenceOf = (pool: PoolInfo): string =>
  pool.name.length <= 80 && !/^0x[0-9a-f]{40}$/.test(pool.name)
    ? pool.name.toWellFormed() === pool.name
      ? pool.name
      : pool.id
    : pool.id;
