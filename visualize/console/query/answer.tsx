/** What came of a question: how its run stands, and its rows as a table, as SUP, as a plot. */
import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import type { PoolInfo } from '../../../src/client/client.ts';
import { ColumnTools } from './columns/tools.tsx';
import { DownloadMenu, DownloadState } from './download.tsx';
import { Grid } from './grid.tsx';
import { Plot } from './plot/view.tsx';
import type { Question } from './question.ts';
import { sourceOf } from './scan.ts';
import { RunFault, RunProgress, RunStatus, Warnings } from './status.tsx';
import { SupView } from './sup-view.tsx';
import type { Table } from './table.ts';
import { ValuePane } from './value-tree.tsx';

type View = 'table' | 'sup' | 'plot';
const views: readonly (readonly [View, string])[] = [
  ['table', 'Table'],
  ['sup', 'SUP'],
  ['plot', 'Plot'],
];

/** The panel of the answer. `table`: the question's own, of its last run. */
export const Answer = ({
  question,
  table,
  pools,
}: {
  readonly question: Question;
  readonly table: Table;
  readonly pools: ReadonlySignal<readonly PoolInfo[]>;
}) => {
  const view = useSignal<View>('table');
  const { run } = table;
  const isOutdated = useComputed(() => question.isOutdated).value;
  const withPane = table.paneOpen.value && view.value !== 'plot';
  const poolKey = useComputed(() => {
    const source = sourceOf(question.table.value?.run.text ?? '');
    return (
      source &&
      pools.value.find(({ name, id }) => name === source.pool || id === source.pool)?.layout.keys[0]?.join('.')
    );
  });
  return (
    <section class={`panel answer${isOutdated ? ' is-outdated' : ''}`} aria-label="Answer">
      <header>
        <RunStatus
          run={run}
          {...(isOutdated && {
            onBringBack: () => {
              question.editor?.replace(run.text);
            },
          })}
        />
        <div class="group answer-tools">
          <div
            class="view-tabs"
            role="tablist"
            aria-label="Show as"
            onKeyDown={(e) => {
              tabKey(e, view);
            }}
          >
            {views.map(([id, title]) => (
              <button
                key={id}
                type="button"
                role="tab"
                id={`tab-${id}`}
                aria-selected={view.value === id}
                aria-controls="answer-view"
                tabIndex={view.value === id ? 0 : -1}
                onClick={() => {
                  view.value = id;
                }}
              >
                {title}
              </button>
            ))}
          </div>
          {view.value === 'table' && <ColumnTools table={table} />}
          {view.value !== 'plot' && (
            <button
              type="button"
              aria-pressed={table.paneOpen.value}
              title="The active row, with all of its parts"
              disabled={table.rowCount.value === 0}
              onClick={() => {
                table.paneOpen.value = !table.paneOpen.value;
              }}
            >
              Row
            </button>
          )}
          <Download question={question} table={table} />
        </div>
      </header>
      <RunProgress run={run} />
      <DownloadState />
      <RunFault
        run={run}
        onPlace={(start, end) => {
          question.place(start, end);
        }}
      />
      <Warnings run={run} />
      <div
        class={`answer-body${withPane ? ' with-pane' : ''}`}
        id="answer-view"
        role="tabpanel"
        aria-labelledby={`tab-${view.value}`}
      >
        <Rows key={run.requestId} question={question} table={table} view={view.value} poolKey={poolKey.value} />
        {withPane && <ValuePane table={table} />}
      </div>
    </section>
  );
};

const tabKey = (event: KeyboardEvent, view: { value: View }): void => {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  view.value = views[(views.findIndex(([id]) => id === view.value) + step + views.length) % views.length][0];
  document.getElementById(`tab-${view.value}`)?.focus();
};

const Rows = ({
  question,
  table,
  view,
  poolKey,
}: {
  readonly question: Question;
  readonly table: Table;
  readonly view: View;
  readonly poolKey: string | undefined;
}) => {
  const { run } = table;
  const isEmpty = table.rowCount.value === 0;
  if (view === 'plot')
    return (
      <Plot
        run={run}
        poolKey={poolKey}
        onNarrow={(path, from, to) => {
          question.narrow(path, from, to);
        }}
        widen={(path) => question.widen(path)}
      />
    );
  if (isEmpty)
    return (
      <div class="nothing">
        <p class="soft">
          {run.state.value === 'running'
            ? 'Rows are on their way.'
            : run.state.value === 'failed'
              ? 'No row came before the failure.'
              : 'The answer has no rows.'}
        </p>
      </div>
    );
  return view === 'sup' ? (
    <SupView table={table} />
  ) : (
    <Grid table={table} label={`Answer, ${table.rowCount.value} rows`} />
  );
};

const Download = ({ question, table: { run } }: { readonly question: Question; readonly table: Table }) => {
  const open = useSignal(false);
  return (
    <span class="menu-place">
      <button
        type="button"
        aria-haspopup="menu"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        Download
      </button>
      {open.value && (
        <DownloadMenu
          client={question.client}
          text={run.text}
          fused={run.store.types.length > 1}
          onClose={() => {
            open.value = false;
          }}
        />
      )}
    </span>
  );
};
