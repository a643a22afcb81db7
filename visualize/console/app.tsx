/** The console's frame: where one can go, who one is, and the page that the address names. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { computed, signal } from '@preact/signals';
import { nextTheme, theme } from '../shared/theme.ts';
import { EventsPage } from './events.tsx';
import { commitRate, feedState, leaveLake, listed, pools, views, watchLake } from './lake.ts';
import { LoginPage, UnreachablePage } from './login.tsx';
import { Icon, Notices } from './parts.tsx';
import { PoolPage } from './pool/page.tsx';
import { PoolsPage } from './pools.tsx';
import type { Beginning, QueryPageProps } from './query/page.tsx';
import { link, note, route, step, stepOf } from './route.ts';
import { client, inside, may, session, signOut, version } from './session.ts';
import { count, visible } from './text.ts';

const places = [
  ['pools', 'Pools'],
  ['query', 'Query'],
  ['events', 'Events'],
] as const;
const place = computed(() => (route.value.path[0] === 'pool' ? 'pools' : (route.value.path[0] ?? 'pools')));
const title = computed(() => {
  const [first, name] = route.value.path;
  const page =
    first === 'pool' && name !== undefined ? visible(name, 60) : (places.find(([id]) => id === first)?.[1] ?? 'Pools');
  return inside.value ? `${page} · Lake data service` : 'Lake data service';
});

/** The whole console: the page of the address, or the way in while there is no session. */
export const App = () => {
  useEffect(
    () =>
      title.subscribe((text) => {
        document.title = text;
      }),
    [],
  );
  useEffect(
    () =>
      inside.subscribe((is) => {
        if (is) watchLake();
        else leaveLake();
      }),
    [],
  );
  const { kind } = session.value;
  if (kind === 'starting')
    return (
      <main class="alone" aria-busy="true">
        <p class="soft">Connecting…</p>
      </main>
    );
  if (kind === 'unreachable') return <UnreachablePage />;
  if (kind === 'login') return <LoginPage />;
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('content')?.focus();
        }}
      >
        Skip to content
      </a>
      <Top />
      <Content />
      <Notices />
    </>
  );
};

const feedTexts = {
  connecting: ['warn', 'Connecting'],
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost'],
  ended: ['bad', 'No events'],
} as const;

const Top = () => {
  const [tone, text] = feedTexts[feedState.value];
  const { value } = session;
  const rate = commitRate.value;
  return (
    <header class="top">
      <a class="brand" href={link(['pools'])}>
        <img src={icon} alt="" width="24" height="24" />
        <span>Lake</span>
      </a>
      <nav aria-label="Console">
        {places.map(([id, name]) => (
          <a
            key={id}
            href={id === 'query' ? asked.value : link([id])}
            aria-current={place.value === id ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
        {may('reader') && (
          <a class="away" href="./inspect">
            Machines
          </a>
        )}
        <a class="away" href="./docs">
          Manual
        </a>
      </nav>
      <div class="group">
        <span class={`pill ${tone}`} role="status">
          {text}
        </span>
        {rate >= 1 && (
          <span class="soft rate" title="Commits a second, now">
            {count(Math.round(rate))}/s
          </span>
        )}
        {value.kind === 'in' && (
          <span class="who" title={value.grants.join(', ')}>
            <bdi>{visible(value.name, 40)}</bdi>
          </span>
        )}
        {value.kind === 'in' && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              void signOut();
            }}
          >
            <Icon name="leave" />
            <span class="wide">Sign out</span>
            <span class="hidden-text narrow">Sign out</span>
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={nextTheme}
          aria-label={`Theme: ${theme.value}`}
          title={`Theme: ${theme.value}`}
        >
          <Icon name="theme" />
        </button>
      </div>
    </header>
  );
};
const icon = new URL('../shared/icon.svg', import.meta.url).href;

/** The page of the address. The query page stays as it is while one looks elsewhere. */
const Content = () => {
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const { path } = route.value;
  const key = path.slice(0, 2).join('/');
  useEffect(() => {
    if (first.current) first.current = false;
    // Who cannot see the page hears where they have come to.
    else main.current?.focus({ preventScroll: true });
  }, [key]);
  const isQuery = path[0] === 'query';
  return (
    <main id="content" ref={main} tabIndex={-1} class={`content at-${isQuery ? 'query' : path[0]}`}>
      <QueryPlace shown={isQuery} />
      {path[0] === 'pool' && path[1] !== undefined ? (
        <PoolPage key={path[1]} reference={path[1]} />
      ) : path[0] === 'events' ? (
        <EventsPage />
      ) : isQuery ? null : (
        <PoolsPage />
      )}
      {!isQuery && <p class="foot soft">Lake data service {version.value}</p>}
    </main>
  );
};

const beginningOf = (query: URLSearchParams): Beginning => {
  const text = query.get('text');
  const pool = query.get('pool');
  const branch = query.get('branch');
  return { ...(text !== null && { text }), ...(pool !== null && { pool }), ...(branch !== null && { branch }) };
};
/** Address of the question as it stands. */
const asked = signal(link(['query']));
/** The question as it was typed: a session that ends does not take it along, signing out does. */
let draft: string | undefined;
session.subscribe((now) => {
  if (now.kind === 'login' && now.fault === undefined) draft = undefined;
});

const QueryPlace = ({ shown }: { readonly shown: boolean }) => {
  const [Page, setPage] = useState<((props: QueryPageProps) => preact.JSX.Element) | undefined>(undefined);
  const [fault, setFault] = useState(false);
  const opened = useRef<{ readonly initial: Beginning; readonly key: number } | undefined>(undefined);
  const restored = useRef<(Beginning & { readonly n: number }) | undefined>(undefined);
  const { query } = route.value;
  if (shown && (!opened.current || location.hash !== asked.peek())) {
    const isLink = [...query.keys()].length > 0;
    const beginning = beginningOf(query);
    if (opened.current && stepOf() === opened.current.key) {
      // Back or on: another text of the question that stands there.
      asked.value = location.hash;
      restored.current = { ...beginning, n: (restored.current?.n ?? 0) + 1 };
    } else if (!opened.current || isLink) {
      // A link with a question of its own opens it; one without leads back to the question that stands there.
      asked.value = location.hash;
      const kept = opened.current || draft === undefined || draft === beginning.text ? undefined : draft;
      opened.current = {
        initial: kept === undefined ? beginning : { ...beginning, text: kept, waits: true },
        key: (opened.current?.key ?? 0) + 1,
      };
      restored.current = undefined;
    }
  }
  const key = opened.current?.key;
  useEffect(() => {
    // A step of this question keeps its address: one may have gone on to it meanwhile.
    if (shown && key !== undefined && stepOf() !== key) note(asked.peek(), key);
  }, [route.value]);
  useEffect(() => {
    if (shown && !Page)
      void import('./query/page.tsx').then(
        (module) => {
          setPage(() => module.QueryPage);
        },
        () => {
          setFault(true);
        },
      );
  }, [shown]);
  if (!opened.current) return null;
  const { initial } = opened.current;
  const onRun = (hash: string, isNew: boolean): void => {
    const isStep = isNew && hash !== asked.peek();
    asked.value = hash;
    if (route.peek().path[0] !== 'query') return;
    if (isStep) step(hash, key!);
    else note(hash, key);
  };
  return (
    <div class="query-place" hidden={!shown}>
      {fault && (
        <p class="fault" role="alert">
          This part of the page cannot be loaded. Is the service there?{' '}
          <button
            type="button"
            onClick={() => {
              location.reload();
            }}
          >
            Load again
          </button>
        </p>
      )}
      {Page && (
        <Page
          key={key}
          client={client}
          pools={pools}
          views={views}
          listed={listed}
          initial={initial}
          restored={restored.current}
          onRun={onRun}
          onText={(text) => {
            draft = text;
          }}
        />
      )}
    </div>
  );
};
