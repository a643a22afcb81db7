/** Pools made, renamed and deleted. */
import { useState } from 'preact/hooks';
import type { PoolInfo } from '../../../src/client/client.ts';
import { curlName, curlOf, useAction } from '../action.ts';
import { Field, NewNameField, ConfirmField } from '../fields.tsx';
import { sumsOf } from '../figures.ts';
import { branches, pools } from '../lake.ts';
import { CopyLine, Dialog, Fault, Name } from '../parts.tsx';
import { go, link, route } from '../route.ts';
import { client } from '../session.ts';
import { counted, visible } from '../text.ts';

/** Paths of fields as they are typed: `ts, user.name`. */
export const keysOf = (text: string): string[][] =>
  text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '')
    .map((path) => path.split('.').map((part) => part.trim()));

/** The order of a new pool; undefined: the service's own, which is `asc`. */
export type Order = 'desc' | undefined;
/** Asks for the order of a new pool. */
export const OrderField = ({
  order,
  disabled = false,
  onOrder,
}: {
  readonly order: Order;
  readonly disabled?: boolean;
  readonly onOrder: (order: Order) => void;
}) => (
  <Field label="Order" hint="asc is what the service takes by default, here as elsewhere.">
    {(props) => (
      <select
        {...props}
        value={order ?? ''}
        disabled={disabled}
        onChange={(e) => {
          onOrder(e.currentTarget.value === 'desc' ? 'desc' : undefined);
        }}
      >
        <option value="">asc: the least first</option>
        <option value="desc">desc: the greatest first</option>
      </select>
    )}
  </Field>
);
/** What is asked of the service for a new pool. */
export const layoutOf = (keys: string[][], order: Order): { keys: string[][]; order?: 'desc' } => ({
  keys,
  ...(order && { order }),
});

/** The dialog that makes a pool; it leads to the pool's page. */
export const CreatePool = ({ onClose }: { readonly onClose: () => void }) => {
  const [name, setName] = useState('');
  const [key, setKey] = useState('ts');
  const [order, setOrder] = useState<Order>(undefined);
  const action = useAction(() => {
    onClose();
    go(link(['pool', name]));
  });
  const keys = keysOf(key);
  const taken = pools.value.some((p) => p.name === name);
  const ready = name !== '' && keys.length > 0 && !taken;
  const submit = (): void => {
    if (ready)
      action.run(async () => {
        await client.createPool(name, layoutOf(keys, order));
        return `Pool ${name} is there.`;
      });
  };
  return (
    <Dialog
      title="New pool"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={!ready || action.busy}>
            Create pool
          </button>
        </>
      }
    >
      <NewNameField value={name} onValue={setName} taken={taken ? 'a pool' : undefined} />
      <div class="field-row">
        <Field
          label="Key"
          hint="The field by which records are kept in order; queries by ranges of it read little. Nested: a.b"
        >
          {(props) => (
            <input
              {...props}
              class="mono"
              value={key}
              autocomplete="off"
              spellcheck={false}
              onInput={(e) => {
                setKey(e.currentTarget.value);
              }}
            />
          )}
        </Field>
        <OrderField order={order} onOrder={setOrder} />
      </div>
      <Fault text={action.fault} />
      <CopyLine text={curlOf({ method: 'POST', path: ['pool'], json: { name, layout: layoutOf(keys, order) } })} />
    </Dialog>
  );
};

/** The dialog that renames a pool. */
export const RenamePool = ({ pool, onClose }: { readonly pool: PoolInfo; readonly onClose: () => void }) => {
  const [name, setName] = useState(pool.name);
  const action = useAction(() => {
    onClose();
    if (route.peek().path[0] === 'pool') go(link(['pool', name]));
  });
  const taken = pools.value.some((p) => p.name === name && p.id !== pool.id);
  const ready = name !== '' && name !== pool.name && !taken;
  const submit = (): void => {
    if (ready)
      action.run(async () => {
        await client.pool(pool.id).rename(name);
        return `The pool is now called ${name}.`;
      });
  };
  return (
    <Dialog
      title="Rename pool"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={!ready || action.busy}>
            Rename
          </button>
        </>
      }
    >
      <NewNameField
        label="New name"
        hint="Queries and links that name the pool have to follow; its id stays."
        value={name}
        onValue={setName}
        taken={taken ? 'a pool' : undefined}
      />
      <Fault text={action.fault} />
      <CopyLine text={curlOf({ method: 'PUT', path: ['pool', curlName(pool)], json: { name } })} />
    </Dialog>
  );
};

/** The dialog that deletes a pool, once that was confirmed by typing. */
export const DeletePool = ({ pool, onClose }: { readonly pool: PoolInfo; readonly onClose: () => void }) => {
  const [typed, setTyped] = useState('');
  const records = sumsOf(pool, 'main')?.records;
  const all = branches(pool).length;
  const action = useAction(() => {
    onClose();
    if (route.peek().path[0] === 'pool') go(link(['pools']));
  });
  // What cannot be typed (control characters, 10 kB) is confirmed by the id's last digits.
  const word = visible(pool.name, 60) === pool.name ? pool.name : pool.id.slice(-8);
  const ready = typed === word;
  const submit = (): void => {
    if (ready)
      action.run(async () => {
        await client.pool(pool.id).delete();
        return `Pool ${visible(pool.name, 60)} is deleted.`;
      });
  };
  return (
    <Dialog
      title="Delete pool"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={!ready || action.busy}>
            Delete pool
          </button>
        </>
      }
    >
      <p>
        This deletes{' '}
        <strong>
          <Name text={pool.name} max={120} />
        </strong>{' '}
        with {counted(all, 'branch', 'branches')}
        {records === undefined ? '' : ` and the ${counted(records, 'record')} of main`}, its history and its data. It
        cannot be undone.
      </p>
      <ConfirmField word={word} value={typed} onValue={setTyped} />
      <Fault text={action.fault} />
      <CopyLine text={curlOf({ method: 'DELETE', path: ['pool', curlName(pool)] })} />
    </Dialog>
  );
};
