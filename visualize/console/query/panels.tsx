/** Dialogs of the query page: what was asked before, queries with names, help. */
import { useSignal } from '@preact/signals';
import { language } from 'virtual:language';
import { Field } from '../fields.tsx';
import { Dialog, Fault } from '../parts.tsx';
import { ago, counted, duration, visible } from '../text.ts';
import { drop, forget, past, save, saved } from './stored.ts';

interface PickProps {
  readonly onPick: (text: string) => void;
  readonly onClose: () => void;
}

const shownMax = 100;
const endTexts: Readonly<Record<string, string>> = { failed: 'failed', cancelled: 'cancelled', full: 'stopped' };

/** The queries that were run in this browser, to pick one from; what is picked runs. */
export const HistoryDialog = ({ onPick, onClose }: PickProps) => {
  const filter = useSignal('');
  const wanted = filter.value.toLowerCase();
  const now = Date.now();
  const rows = past.value.filter(({ text }) => text.toLowerCase().includes(wanted)).slice(0, shownMax);
  return (
    <Dialog
      title="History"
      wide
      onClose={onClose}
      actions={
        <>
          <button
            type="button"
            disabled={past.value.length === 0}
            onClick={() => {
              forget(undefined);
            }}
          >
            Forget all
          </button>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </>
      }
    >
      <input
        type="search"
        data-first
        placeholder="Search"
        aria-label="Search the history"
        value={filter.value}
        onInput={(e) => {
          filter.value = e.currentTarget.value;
        }}
      />
      {rows.length === 0 ? (
        <p class="soft">
          {past.value.length === 0
            ? 'Queries that you run are listed here, in this browser alone.'
            : 'No query has this text.'}
        </p>
      ) : (
        <ul class="picks" aria-label="Queries that were run">
          {rows.map((query) => (
            <li key={query.text}>
              <button
                type="button"
                class="pick"
                onClick={() => {
                  onPick(query.text);
                }}
              >
                <code>
                  <bdi>{visible(query.text, 400)}</bdi>
                </code>
                <span class="soft">
                  {ago(query.at, now)} · {endTexts[query.state] ?? counted(query.rows, 'row')} · {duration(query.ms)}
                </span>
              </button>
              <button
                type="button"
                class="quiet"
                aria-label={`Forget ${visible(query.text, 60)}`}
                onClick={() => {
                  forget(query);
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
};

/** Queries with names, to pick one from, and a name for the query as it stands. */
export const SavedDialog = ({ text, onPick, onClose }: PickProps & { readonly text: string }) => {
  const name = useSignal('');
  const fault = useSignal<string | undefined>(undefined);
  const taken = saved.value.some((query) => query.name === name.value.trim());
  const submit = (): void => {
    if (name.value.trim() === '' || text.trim() === '') return;
    fault.value = save({ name: name.value.trim(), text });
    if (fault.value === undefined) name.value = '';
  };
  return (
    <Dialog
      title="Saved queries"
      wide
      onClose={onClose}
      onSubmit={submit}
      actions={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      <div class="save-line">
        <Field label="Save the query as">
          {(props) => (
            <input
              {...props}
              type="text"
              maxLength={200}
              data-first
              value={name.value}
              onInput={(e) => {
                name.value = e.currentTarget.value;
              }}
            />
          )}
        </Field>
        <button type="submit" class="main" disabled={name.value.trim() === '' || text.trim() === ''}>
          {taken ? 'Replace' : 'Save'}
        </button>
      </div>
      <Fault text={fault.value} />
      {saved.value.length === 0 ? (
        <p class="soft">Queries with names are kept in this browser. A link carries a query to others.</p>
      ) : (
        <ul class="picks" aria-label="Saved queries">
          {saved.value.map((query) => (
            <li key={query.name}>
              <button
                type="button"
                class="pick"
                onClick={() => {
                  onPick(query.text);
                }}
              >
                <strong>
                  <bdi>{visible(query.name, 200)}</bdi>
                </strong>
                <code class="soft">
                  <bdi>{visible(query.text, 300)}</bdi>
                </code>
              </button>
              <button
                type="button"
                class="quiet"
                aria-label={`Delete ${visible(query.name, 60)}`}
                onClick={() => {
                  drop(query);
                  fault.value = undefined;
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
};

const keys: readonly (readonly [string, string])[] = [
  ['Ctrl+Enter', 'Run (⌘+Enter on a Mac)'],
  ['Ctrl+Space', 'Complete'],
  ['Tab', 'Take the chosen completion; else leave the editor. Escape first closes the list.'],
  ['F8', 'To the next error in the text'],
  ['Ctrl+/', 'Make a comment of the line'],
  ['Ctrl+Z', 'Undo, also what a brush wrote'],
  ['Arrow keys', 'Move through the table; the titles are its first row'],
  ['Enter', 'On a title: its menu. On a cell: the whole value'],
  ['Ctrl+C', 'Copy the cell; on the number of a row, the row'],
  ['Ctrl+Arrow', 'To the end of the row or column'],
];
/** Keys of the page and words of the language, with a search. */
export const HelpDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const filter = useSignal('');
  const wanted = filter.value.toLowerCase();
  const words = [
    ...language.operators.map((row) => ({ ...row, kind: 'operator' })),
    ...language.functions.map((row) => ({ ...row, kind: 'function' })),
    ...language.aggregates.map((row) => ({ ...row, kind: 'aggregate' })),
    ...language.windows.map((row) => ({ ...row, kind: 'window' })),
  ].filter((row) => wanted === '' || row.name.includes(wanted) || row.text.toLowerCase().includes(wanted));
  return (
    <Dialog
      title="Help"
      wide
      onClose={onClose}
      actions={
        <button type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      <h3>Keys</h3>
      <dl class="keys">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <h3>Words of the language</h3>
      <input
        type="search"
        data-first
        placeholder="Search"
        aria-label="Search the words of the language"
        value={filter.value}
        onInput={(e) => {
          filter.value = e.currentTarget.value;
        }}
      />
      <dl class="words">
        {words.map((row) => (
          <div key={`${row.kind} ${row.name}`}>
            <dt>
              <code>{row.syntax}</code> <span class="soft">{row.kind}</span>
            </dt>
            <dd>{row.text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
};
