/** The page where questions are asked: the query's text, what became of it, and its rows as a table, as SUP, as a plot. */
import './query.css';
import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Lake, LakeFailure, type PoolInfo } from '../../../src/client/client.ts';
import { visible } from '../text.ts';
import { copyText } from './clipboard.ts';
import type { Names } from './completion.ts';
import type { Path } from './columns.ts';
import { DownloadMenu, DownloadState } from './download.tsx';
import { Editor, type EditorHandle, type TextFault } from './editor.tsx';
import { FieldCache, fieldsIn } from './fields.ts';
import { Grid } from './grid.tsx';
import { narrowing, tidy, widening } from './narrow.ts';
import { HelpDialog, HistoryDialog, SavedDialog } from './panels.tsx';
import { Plot } from './plot.tsx';
import { Run } from './run.ts';
import { poolText, scan, sourceOf } from './scan.ts';
import { RunFault, RunProgress, RunStatus, Warnings } from './status.tsx';
import { remember, rowsMax, rowsMaxChoices, setRowsMax } from './stored.ts';
import { SupView } from './sup-view.tsx';
import { Table } from './table.ts';
import { ValuePane } from './value-tree.tsx';

/** Which lake is asked, and what the page begins with. */
export interface QueryPageProps {
  readonly client: Lake;
  readonly pools: ReadonlySignal<readonly PoolInfo[]>;
  /** `waits`: the text is shown and not run. */
  readonly initial: { readonly text?: string; readonly pool?: string; readonly branch?: string; readonly waits?: true };
  /** Told of the text that a link to the page should carry. */
  readonly onLink: (text: string) => void;
  /** Told of the text as it stands. */
  readonly onText: (text: string) => void;
}
type View = 'table' | 'sup' | 'plot';
type Panel = 'history' | 'saved' | 'help' | undefined;
const views: readonly (readonly [View, string])[] = [['table', 'Table'], ['sup', 'SUP'], ['plot', 'Plot']];
const checkAfterMs = 350;

const initialText = ({ text, pool, branch }: QueryPageProps['initial']): string =>
  text ?? (pool === undefined ? '' : `from ${poolText(pool)}${branch === undefined || branch === 'main' ? '' : `@${poolText(branch)}`}`);
/** A link runs what it carries, unless that would write, or fetch something from elsewhere: that takes the reader's own word. */
export const runsByItself = (text: string): boolean => text.trim() !== '' && !text.includes('://') && !scan(text).some(({ kind, text: word }) => kind === 'word' && word.toLowerCase() === 'load');

/** The page of queries. */
export const QueryPage = ({ client, pools, initial, onLink, onText }: QueryPageProps) => {
  const first = useMemo(() => initialText(initial), []), text = useSignal(first), editor = useRef<EditorHandle | undefined>(undefined);
  const table = useSignal<Table | undefined>(undefined), view = useSignal<View>('table'), panel = useSignal<Panel>(undefined), downloading = useSignal(false), faults = useSignal<readonly TextFault[]>([]);
  const names = useNames(client, pools, table);
  const run = (): void => {
    const asked = text.peek();
    if (asked.trim() === '') return;
    table.peek()?.run.cancel();
    const before = table.peek(), next = new Table(new Run(client, asked, rowsMax.peek()));
    if (before) next.byType.value = before.byType.peek();
    table.value = next;
    onLink(asked);
  };
  useCheck(client, text, faults, editor);
  useEffect(() => {
    const untell = text.subscribe(onText);
    if (!initial.waits && runsByItself(first)) run();
    else editor.current?.focus();
    return () => {
      untell();
      table.peek()?.run.cancel();
    };
  }, []);
  useHistory(table);
  const pick = (picked: string): void => {
    panel.value = undefined;
    editor.current?.replace(picked);
    run();
  };
  const narrow = (path: Path, from: string, to: string): void => {
    editor.current?.change(narrowing(text.peek(), { path, from, to }));
    run();
  };
  const widen = (path: Path): (() => void) | undefined => {
    const change = widening(text.value, path);
    return change && (() => {
      editor.current?.change(change);
      run();
    });
  };
  const current = table.value, asked = current?.run.text;
  const poolKey = useComputed(() => {
    const source = sourceOf(table.value?.run.text ?? '');
    return source && pools.value.find(({ name, id }) => name === source.pool || id === source.pool)?.layout.keys[0]?.join('.');
  });
  const place = (start: number, end: number): void => { editor.current?.select(start, end); };
  return (
    <div class="query">
      <h1 class="hidden-text">Query</h1>
      <section class="panel ask" aria-label="Query">
        <Editor text={first} names={names} onText={(value) => { text.value = value; }} onRun={run} onReady={(handle) => { editor.current = handle; }} />
        <FaultLine faults={faults.value} text={text.value} onPlace={place} />
        <div class="ask-bar">
          <button type="button" class="main run" onClick={run} disabled={text.value.trim() === ''}>Run <kbd aria-hidden="true">Ctrl ⏎</kbd></button>
          {current?.run.running && current.run.state.value === 'running' && <button type="button" onClick={() => { current.run.cancel(); }}>Cancel</button>}
          <span class="group">
            <button type="button" class="quiet" onClick={() => { panel.value = 'history'; }}>History</button>
            <button type="button" class="quiet" onClick={() => { panel.value = 'saved'; }}>Saved</button>
            <button type="button" class="quiet" onClick={() => { editor.current?.replace(tidy(text.peek())); }} disabled={text.value.trim() === ''}>Tidy</button>
            <CopyLink text={text} onLink={onLink} />
            <button type="button" class="quiet" onClick={() => { panel.value = 'help'; }}>Help</button>
          </span>
        </div>
      </section>
      {current ? <section class="panel answer" aria-label="Answer">
        <header>
          <RunStatus run={current.run} />
          <div class="group answer-tools">
            <div class="view-tabs" role="tablist" aria-label="Show as" onKeyDown={(e) => { tabKey(e, view); }}>{views.map(([id, title]) => <button key={id} type="button" role="tab" id={`tab-${id}`} aria-selected={view.value === id} aria-controls="answer-view" tabIndex={view.value === id ? 0 : -1} onClick={() => { view.value = id; }}>{title}</button>)}</div>
            {view.value === 'table' && <ColumnTools table={current} />}
            <span class="menu-place"><button type="button" aria-haspopup="menu" aria-expanded={downloading.value} onClick={() => { downloading.value = !downloading.value; }}>Download</button>
              {downloading.value && <DownloadMenu client={client} text={asked!} fused={current.run.store.types.length > 1} onClose={() => { downloading.value = false; }} />}</span>
          </div>
        </header>
        <RunProgress run={current.run} />
        <DownloadState />
        <RunFault run={current.run} onPlace={place} />
        <Warnings run={current.run} />
        <div class={`answer-body${current.paneOpen.value && view.value !== 'plot' ? ' with-pane' : ''}`} id="answer-view" role="tabpanel" aria-labelledby={`tab-${view.value}`}>
          <Rows key={current.run.requestId} table={current} view={view.value} poolKey={poolKey.value} narrow={narrow} widen={widen} />
          {current.paneOpen.value && view.value !== 'plot' && <ValuePane table={current} />}
        </div>
      </section> : <Beginning pools={pools.value} onPick={pick} />}
      {panel.value === 'history' && <HistoryDialog onPick={pick} onClose={() => { panel.value = undefined; }} />}
      {panel.value === 'saved' && <SavedDialog text={text.value} onPick={pick} onClose={() => { panel.value = undefined; }} />}
      {panel.value === 'help' && <HelpDialog onClose={() => { panel.value = undefined; }} />}
    </div>
  );
};

const tabKey = (event: KeyboardEvent, view: { value: View }): void => {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  view.value = views[(views.findIndex(([id]) => id === view.value) + step + views.length) % views.length]![0];
  document.getElementById(`tab-${view.value}`)?.focus();
};

interface RowsProps {
  readonly table: Table;
  readonly view: View;
  readonly poolKey: string | undefined;
  readonly narrow: (path: Path, from: string, to: string) => void;
  readonly widen: (path: Path) => (() => void) | undefined;
}
const Rows = ({ table, view, poolKey, narrow, widen }: RowsProps) => {
  const { run } = table, isEmpty = table.rowCount.value === 0;
  if (view === 'plot') return <Plot run={run} poolKey={poolKey} onNarrow={narrow} widen={widen} />;
  if (isEmpty) return <div class="nothing"><p class="soft">{run.state.value === 'running' ? 'Rows are on their way.' : run.state.value === 'failed' ? 'No row came before the failure.' : 'The answer has no rows.'}</p></div>;
  return view === 'sup' ? <SupView table={table} /> : <Grid table={table} label={`Answer, ${table.rowCount.value} rows`} />;
};

/** Which columns and rows the table shows. */
const ColumnTools = ({ table }: { readonly table: Table }) => {
  const open = useSignal(false), place = useRef<HTMLSpanElement>(null), all = table.allColumns.value, hidden = table.hiddenColumns.value, { channels } = table.run.store;
  useEffect(() => {
    if (!open.value) return undefined;
    const away = (event: PointerEvent): void => { if (!place.current?.contains(event.target as Node)) open.value = false; };
    addEventListener('pointerdown', away);
    return () => { removeEventListener('pointerdown', away); };
  }, [open.value]);
  const toggle = (key: string): void => {
    const next = new Set(hidden);
    if (!next.delete(key)) next.add(key);
    table.hiddenColumns.value = next;
  };
  return (
    <>
      {channels.length > 1 && <label class="channel">Channel <select value={table.channel.value ?? ''} onChange={(e) => { table.channel.value = e.currentTarget.value === '' ? undefined : Number(e.currentTarget.value); }}><option value="">all</option>{channels.map((name, i) => <option key={name} value={i}>{visible(name, 60)}</option>)}</select></label>}
      <span class="menu-place" ref={place} onKeyDown={(e) => { if (e.key === 'Escape') open.value = false; }}>
        <button type="button" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>Columns{hidden.size > 0 ? ` (${all.length - all.filter(({ key }) => hidden.has(key)).length} of ${all.length})` : ''}</button>
        {open.value && (
          <div class="menu drop-down column-list" role="group" aria-label="Columns">
            <label class="check"><input type="checkbox" checked={table.byType.value} onChange={(e) => { table.byType.value = e.currentTarget.checked; }} /> A column for each type</label>
            <label class="keep">Keep at most <select value={rowsMax.value} onChange={(e) => { setRowsMax(Number(e.currentTarget.value)); }}>{[...new Set([...rowsMaxChoices, rowsMax.value])].sort((a, b) => a - b).map((n) => <option key={n} value={n}>{n.toLocaleString('en')}</option>)}</select> rows</label>
            {hidden.size > 0 && <button type="button" onClick={() => { table.hiddenColumns.value = new Set(); }}>Show all</button>}
            {all.slice(0, 500).map((column) => <label key={column.key} class="check"><input type="checkbox" checked={!hidden.has(column.key)} onChange={() => { toggle(column.key); }} /> <bdi>{visible(column.title, 60)}</bdi> {column.only !== undefined && <span class="soft">{visible(column.only, 40)}</span>}</label>)}
          </div>
        )}
      </span>
    </>
  );
};

/** Errors of the text: what and where, for those too who do not hover. */
const FaultLine = ({ faults, text, onPlace }: { readonly faults: readonly TextFault[]; readonly text: string; readonly onPlace: (start: number, end: number) => void }) => {
  const [fault] = faults;
  const at = fault && text.slice(0, fault.start).split('\n');
  return (
    <div class="text-fault" role="status">
      {fault && at && <button type="button" class="quiet bad" onClick={() => { onPlace(fault.start, fault.end); }}><span class="mono">{at.length}:{at.at(-1)!.length + 1}</span> <span>{visible(fault.message, 300)}</span>{faults.length > 1 && <span class="soft">and {faults.length - 1} more</span>}</button>}
    </div>
  );
};

const CopyLink = ({ text, onLink }: { readonly text: ReadonlySignal<string>; readonly onLink: (text: string) => void }) => {
  const done = useSignal(false);
  return (
    <button type="button" class="quiet" onClick={() => {
      onLink(text.peek());
      copyText(location.href);
      done.value = true;
      setTimeout(() => { done.value = false; }, 2000);
    }}><span role="status">{done.value ? 'Copied' : 'Copy link'}</span></button>
  );
};

const exampleTexts = ['head 100', 'count()', 'shapes'] as const;
const Beginning = ({ pools, onPick }: { readonly pools: readonly PoolInfo[]; readonly onPick: (text: string) => void }) => (
  <section class="panel answer beginning" aria-label="Beginning">
    <div class="nothing">
      <h2>{pools.length === 0 ? 'Nothing to ask yet' : 'Ask the lake'}</h2>
      {pools.length === 0 ? <p class="soft">The lake has no pools. Make one under <a href="#/pools">Pools</a>, or try <button type="button" class="link" onClick={() => { onPick('values {hello:"lake",at:now()}'); }}>a value of your own</button>.</p> : <p class="soft">Begin with a pool, or write a query above.</p>}
      <ul class="starts">
        {pools.slice(0, 12).map(({ id, name }) => (
          <li key={id}><button type="button" class="start" onClick={() => { onPick(`from ${poolText(name)}`); }}><bdi>{visible(name, 60)}</bdi></button>
            {exampleTexts.map((rest) => <button key={rest} type="button" class="quiet" aria-label={`${rest} of ${visible(name, 60)}`} onClick={() => { onPick(`from ${poolText(name)} | ${rest}`); }}><code>{rest}</code></button>)}</li>
        ))}
      </ul>
    </div>
  </section>
);

/** What completion knows of the lake. */
const useNames = (client: Lake, pools: ReadonlySignal<readonly PoolInfo[]>, table: ReadonlySignal<Table | undefined>): Names => useMemo(() => {
  const cache = new FieldCache(client);
  return {
    pools: () => pools.peek().map(({ name }) => name),
    branches: async (pool) => {
      try { return (await client.pool(pool).branches()).map(({ name }) => name); } catch { return []; }
    },
    fields: async (source) => {
      const known = await (source ? cache.of(source) : []), found = table.peek()?.run.store.types.slice(0, 50).flatMap(({ type }) => fieldsIn(type)) ?? [];
      const seen = new Set(known.map(({ path }) => path.join('\u0000')));
      return [...known, ...found.filter(({ path }) => !seen.has(path.join('\u0000')) && seen.add(path.join('\u0000')))];
    },
  };
}, []);

/** Asks the service what is wrong with the text, when the reader pauses. */
const useCheck = (client: Lake, text: ReadonlySignal<string>, faults: { value: readonly TextFault[] }, editor: { readonly current: EditorHandle | undefined }): void => {
  const { value } = text;
  useEffect(() => {
    const stop = new AbortController();
    const show = (found: readonly TextFault[]): void => {
      if (stop.signal.aborted || (found.length === 0 && faults.value.length === 0)) return;
      faults.value = found;
      editor.current?.show(found);
    };
    if (value.trim() === '') {
      show([]);
      return undefined;
    }
    const timer = setTimeout(() => {
      client.compile(value, { signal: stop.signal }).then(() => { show([]); }, (error: unknown) => {
        if (!(error instanceof LakeFailure)) return;
        // Of several faults the hint does not say which one it means.
        const hint = error.hint === undefined || error.places.length > 1 ? '' : ` (${error.hint})`;
        show(error.places.map(({ message, start, end }) => ({ start, end: end < 0 ? start : end + 1, message: `${message}${hint}` })));
      });
    }, checkAfterMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [value]);
};

/** Each query that ends is remembered. */
const useHistory = (table: ReadonlySignal<Table | undefined>): void => {
  const run = table.value?.run, state = run?.state.value;
  useEffect(() => {
    if (run && state !== undefined && state !== 'running') remember({ text: run.text, at: new Date().toISOString(), rows: run.store.count, ms: Math.round(run.totalMs ?? performance.now() - run.startedAt), state });
  }, [run, state]);
};
