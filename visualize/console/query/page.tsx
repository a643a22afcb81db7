/**
 * The page where questions are asked: the query's text, what became of it, and its rows as a table, as SUP, as a plot.
 */
import './query.css';
import { type ReadonlySignal, signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Lake, PoolInfo, ViewInfo } from '../../../src/client/client.ts';
import { counted, visibleName } from '../text.ts';
import { lastUsedFirst, use } from '../used.ts';
import { Answer } from './answer.tsx';
import { Ask, type Panel } from './ask.tsx';
import type { Names } from './completion.ts';
import { FieldCache, fieldsIn } from './fields.ts';
import { HelpDialog, HistoryDialog, SavedDialog } from './panels.tsx';
import { questionLink } from './link.ts';
import { Question } from './question.ts';
import { poolText, scan, sourceOf } from './scan.ts';
import { remember, setStartsOrder, type StartsOrder, startsOrder, startsOrders } from './stored.ts';
import type { Table } from './table.ts';

/** What an address names. `waits`: the text is shown and not run. */
export interface Beginning {
  readonly text?: string;
  readonly pool?: string;
  readonly branch?: string;
  readonly waits?: true;
}
/** Which lake is asked, and what the page begins with. All but `pools`, `views` and `restored` are those of the first drawing. */
export interface QueryPageProps {
  readonly client: Lake;
  readonly pools: ReadonlySignal<readonly PoolInfo[]>;
  readonly views: ReadonlySignal<readonly ViewInfo[]>;
  /** Resolves when `pools` and `views` were read, or cannot be. */
  readonly listed: () => Promise<void>;
  readonly initial: Beginning;
  /** What a later address of the same question names, in place of what stands there; `n` counts them. */
  readonly restored: (Beginning & { readonly n: number }) | undefined;
  /** Told of each run with the address of its text. `isNew`: the reader asked for it, not the address. */
  readonly onRun: (hash: string, isNew: boolean) => void;
  /** Told of the text as it stands. */
  readonly onText: (text: string) => void;
}

const textOf = ({ text, pool, branch }: Beginning): string =>
  text ??
  (pool === undefined
    ? ''
    : `from ${poolText(pool)}${branch === undefined || branch === 'main' ? '' : `@${poolText(branch)}`}`);
/**
 * A link runs what it carries, unless that would write, or fetch something from elsewhere: that takes the reader's own
 * word.
 */
const runsByItself = (text: string): boolean => {
  const words = scan(text).flatMap(({ kind, text: word }) => (kind === 'word' ? [word.toLowerCase()] : []));
  const changesViews = (words[0] === 'create' || words[0] === 'drop') && words.includes('view');
  const changesRows = ['insert', 'update', 'delete', 'merge'].includes(words[0] ?? '');
  return text.trim() !== '' && !text.includes('://') && !words.includes('load') && !changesViews && !changesRows;
};

/** The page of queries. */
export const QueryPage = ({ client, pools, views, listed, initial, restored, onRun, onText }: QueryPageProps) => {
  const question = useMemo(
    () =>
      new Question({
        client,
        text: textOf(initial),
        onRun: ({ text, isNew }) => {
          onRun(questionLink(text), isNew);
          const source = sourceOf(text);
          const pool = source && pools.peek().find(({ name, id }) => name === source.pool || id === source.pool);
          if (pool) use(pool);
        },
      }),
    [],
  );
  const panel = useSignal<Panel | undefined>(undefined);
  const names = useNames(client, { pools, views, listed }, question.table);
  const table = question.table.value;
  useEffect(() => {
    const untell = question.text.subscribe(onText);
    if (!initial.waits && runsByItself(question.first)) question.run({ isNew: false });
    else question.editor?.focus();
    return () => {
      untell();
      question.cancel();
    };
  }, []);
  useEffect(() => {
    if (restored) question.restore(textOf(restored), runsByItself(textOf(restored)));
  }, [restored?.n]);
  useHistory(question.table);
  const close = (): void => {
    panel.value = undefined;
  };
  const pick = (text: string): void => {
    close();
    question.ask(text);
  };
  return (
    <div class="query">
      <h1 class="hidden-text">Query</h1>
      <Ask
        question={question}
        names={names}
        onPanel={(chosen) => {
          panel.value = chosen;
        }}
      />
      {table ? (
        <Answer question={question} table={table} pools={pools} />
      ) : (
        <Starts pools={pools.value} onPick={pick} />
      )}
      {panel.value === 'history' && <HistoryDialog onPick={pick} onClose={close} />}
      {panel.value === 'saved' && <SavedDialog text={question.text.value} onPick={pick} onClose={close} />}
      {panel.value === 'help' && <HelpDialog onClose={close} />}
    </div>
  );
};

const exampleTexts = ['head 100', 'count()', 'shapes'] as const;
const startsPerStep = 12;
const shownStarts = signal(startsPerStep);
const Starts = ({
  pools,
  onPick,
}: {
  readonly pools: readonly PoolInfo[];
  readonly onPick: (text: string) => void;
}) => {
  const order = startsOrder.value;
  const all = inOrder(pools, order);
  return (
    <section class="panel answer beginning" aria-label="Beginning">
      <div class="nothing">
        <h2>{pools.length === 0 ? 'Nothing to ask yet' : 'Ask the lake'}</h2>
        {pools.length === 0 ? (
          <p class="soft">
            The lake has no pools. Make one under <a href="#/pools">Pools</a>, or try{' '}
            <button
              type="button"
              class="link"
              onClick={() => {
                onPick('values {hello:"lake",at:now()}');
              }}
            >
              a value of your own
            </button>
            .
          </p>
        ) : (
          <p class="soft">Begin with a pool, or write a query above.</p>
        )}
        {pools.length > 1 && (
          <label class="starts-order">
            In the order of{' '}
            <select
              value={order}
              onChange={(e) => {
                setStartsOrder(e.currentTarget.value);
              }}
            >
              {startsOrders.map(([id, title]) => (
                <option key={id} value={id}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <ul class="starts">
          {all.slice(0, shownStarts.value).map(({ id, name }) => (
            <li key={id}>
              <button
                type="button"
                class="start"
                onClick={() => {
                  onPick(`from ${poolText(name)}`);
                }}
              >
                <bdi>{visibleName(name, 60)}</bdi>
              </button>
              {exampleTexts.map((rest) => (
                <button
                  key={rest}
                  type="button"
                  class="quiet"
                  aria-label={`${rest} of ${visibleName(name, 60)}`}
                  onClick={() => {
                    onPick(`from ${poolText(name)} | ${rest}`);
                  }}
                >
                  <code>{rest}</code>
                </button>
              ))}
            </li>
          ))}
        </ul>
        {all.length > shownStarts.value && (
          <button
            type="button"
            onClick={() => {
              shownStarts.value += startsPerStep * 5;
            }}
          >
            Show more of {counted(all.length - shownStarts.value, 'pool')}
          </button>
        )}
      </div>
    </section>
  );
};

const inOrder = (pools: readonly PoolInfo[], order: StartsOrder): readonly PoolInfo[] => {
  if (order === 'used') return lastUsedFirst(pools);
  return order === 'made' ? pools.toSorted((a, b) => (a.ts < b.ts ? 1 : -1)) : pools;
};

/** What completion knows of the lake. */
const useNames = (
  client: Lake,
  { pools, views, listed }: Pick<QueryPageProps, 'pools' | 'views' | 'listed'>,
  table: ReadonlySignal<Table | undefined>,
): Names =>
  useMemo(() => {
    const cache = new FieldCache(client);
    return {
      listed,
      pools: () => lastUsedFirst(pools.peek()).map(({ name }) => name),
      views: () => views.peek().map(({ name }) => name),
      branches: async (pool) => {
        try {
          const named = await Promise.all([client.pool(pool).branches(), client.pool(pool).tags()]);
          return named.flat().map(({ name }) => name);
        } catch {
          return [];
        }
      },
      fields: async (source) => {
        const known = await (source ? cache.of(source) : []);
        const found =
          table
            .peek()
            ?.run.store.types.slice(0, 50)
            .flatMap(({ type }) => fieldsIn(type)) ?? [];
        const seen = new Set(known.map(({ path }) => path.join('\u0000')));
        return [
          ...known,
          ...found.filter(({ path }) => !seen.has(path.join('\u0000')) && seen.add(path.join('\u0000'))),
        ];
      },
    };
  }, []);

/** Each query that ends is remembered. */
const useHistory = (table: ReadonlySignal<Table | undefined>): void => {
  const run = table.value?.run;
  const state = run?.state.value;
  useEffect(() => {
    if (run && state !== undefined && state !== 'running')
      remember({
        text: run.text,
        at: new Date().toISOString(),
        rows: run.store.count,
        ms: Math.round(run.totalMs ?? performance.now() - run.startedAt),
        state,
      });
  }, [run, state]);
};
