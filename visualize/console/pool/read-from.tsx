/** The dialog that says how other engines read what the page shows, and makes the pool a table if it is none. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { PoolInfo } from '../../../src/client/client.ts';
import { curlName, curlOf, useAction, useAnswer } from '../action.ts';
import { Field } from '../fields.tsx';
import { Busy, CopyLine, Dialog, Fault, Name } from '../parts.tsx';
import { ask, base, may, session } from '../session.ts';
import { visible } from '../text.ts';
import { engineRows, type ReadPlace } from './engines.ts';
import type { Place } from './place.ts';

type Setting = 'off' | 'lazy' | 'eager';
type Mapping = 'typed' | 'variant';
interface Table {
  readonly setting: Setting;
  readonly mapping: Mapping;
  readonly table: string;
  readonly columns: readonly { readonly iceberg: string }[];
}

export const ReadFrom = ({
  pool,
  place,
  onClose,
}: {
  readonly pool: PoolInfo;
  readonly place: Place;
  readonly onClose: () => void;
}) => {
  const [turned, setTurned] = useState(0);
  const path = `/pool/${pool.id}`;
  const { value, fault } = useAnswer(`${path} ${turned}`, () => ask<Table>('GET', `${path}/iceberg`));
  const turnedOn = (): void => {
    setTurned(turned + 1);
  };
  return (
    <Dialog
      title="Read it from another engine"
      onClose={onClose}
      wide
      actions={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      {value === undefined ? (
        fault === undefined && <Busy text="Asking for the table…" />
      ) : value.setting === 'off' ? (
        <TurnOn pool={pool} before={value.mapping} onDone={turnedOn} />
      ) : (
        <Lines
          place={readPlace(place, value.table)}
          hasVariants={value.columns.some(({ iceberg }) => iceberg.includes('variant'))}
        />
      )}
      <Fault text={fault} />
    </Dialog>
  );
};

/** A pool is a table only if its setting says so, which is for an admin of it to change. */
const TurnOn = ({
  pool,
  before,
  onDone,
}: {
  readonly pool: PoolInfo;
  /** The mapping that it has. */
  readonly before: Mapping;
  readonly onDone: () => void;
}) => {
  const [setting, setSetting] = useState<Setting>('lazy');
  const [mapping, setMapping] = useState(before);
  const action = useAction(onDone);
  const mayTurn = may('admin', pool);
  const json = { iceberg: setting, ...(mapping !== before && { iceberg_mapping: mapping }) };
  const turn = (): void => {
    action.run(async () => {
      await ask('PUT', `/pool/${pool.id}`, json);
      return `${visible(pool.name, 60)} is an Iceberg table.`;
    });
  };
  return (
    <>
      <p>
        <Name text={pool.name} max={60} /> is no Iceberg table yet. As one, it is read by pyiceberg, DuckDB, Spark,
        Trino and others where it lies, with all its branches and commits.
      </p>
      {mayTurn ? (
        <>
          <Field label="Files are made" hint="Of the records, as Parquet, beside them in the lake.">
            {(props) => (
              <select
                {...props}
                data-first
                value={setting}
                onChange={(e) => {
                  setSetting(e.currentTarget.value as Setting);
                }}
              >
                <option value="lazy">when somebody asks for the table</option>
                <option value="eager">after each commit</option>
              </select>
            )}
          </Field>
          <Field
            label="Fields with values of several kinds"
            hint="Variants are read by Spark 4.1 and DuckDB 1.5. The others read no table that has one."
          >
            {(props) => (
              <select
                {...props}
                value={mapping}
                onChange={(e) => {
                  setMapping(e.currentTarget.value as Mapping);
                }}
              >
                <option value="typed">a column for each kind, for every engine</option>
                <option value="variant">one column of variants</option>
              </select>
            )}
          </Field>
          <button type="button" class="main" disabled={action.busy} onClick={turn}>
            Make it a table
          </button>
          <CopyLine text={curlOf({ method: 'PUT', path: ['pool', curlName(pool)], json })} />
        </>
      ) : (
        <p class="soft">An admin of the pool can make it one.</p>
      )}
      <Fault text={action.fault} />
    </>
  );
};
const Lines = ({ place, hasVariants }: { readonly place: ReadPlace; readonly hasVariants: boolean }) => {
  const [chosen, setChosen] = useState(lastEngine);
  const engine = engineRows.find(({ name }) => name === chosen) ?? engineRows[0];
  return (
    <div class="engine-lines">
      <Field label="Engine">
        {(props) => (
          <select
            {...props}
            data-first
            value={engine.name}
            onChange={(e) => {
              lastEngine = e.currentTarget.value;
              setChosen(lastEngine);
            }}
          >
            {engineRows.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {engine.steps(place).map(({ title, text }) => (
        <CopyLine key={`${engine.name} ${title}`} text={text} label={title} />
      ))}
      {engine.note !== undefined && <Hint>{engine.note}</Hint>}
      {hasVariants && engine.readsVariants !== true && (
        <Hint>This table has a column of variants, which {engine.name} does not read: Spark and DuckDB do.</Hint>
      )}
      {place.key !== undefined && <Hint>KEY stands for a key of yours, or a token of the issuer.</Hint>}
    </div>
  );
};
/** The one that was chosen last, while the page is open. */
let lastEngine = '';
const Hint = ({ children }: { readonly children: ComponentChildren }) => <p class="hint soft">{children}</p>;

/** What the page shows, as engines name it. */
const readPlace = ({ branch, tag, at, isCommit }: Place, table: string): ReadPlace => {
  const kind = tag ? 'tag' : isCommit ? 'commit' : 'branch';
  const name = tag?.name ?? (isCommit ? at : branch?.name);
  return {
    base,
    table,
    ...(name !== undefined && { at: { kind, name } }),
    ...(session.value.kind === 'in' && { key: 'KEY' }),
  };
};
