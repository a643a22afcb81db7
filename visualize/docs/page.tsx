/**
 * The manual of the service and its API, found by search, tried on the spot. It loads nothing but what the service
 * gives.
 */
import './page.css';
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { nextTheme, theme } from '../shared/theme.ts';
import { Api, EndpointLinks, Endpoints } from './api.tsx';
import { type Document, endpointsOf, found } from './document.ts';
import { Article, Contents, foundPlaces, Home, pageWith, Results } from './manual.tsx';

const icon = new URL('../shared/icon.svg', import.meta.url).href;

interface TopProps {
  readonly document: Document;
  readonly search: string;
  readonly onSearch: (text: string) => void;
  readonly told: string;
}
const Top = ({ document, search, onSearch, told }: TopProps) => {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const keys = (event: KeyboardEvent): void => {
      if (
        event.key !== '/' ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.target instanceof HTMLInputElement ||
        event.target instanceof HTMLSelectElement
      )
        return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', keys);
    return () => {
      removeEventListener('keydown', keys);
    };
  }, []);
  return (
    <header class="top">
      <a class="skip" href="#main">
        Skip to the text
      </a>
      <a class="home" href="./" aria-label="Console" title="Console">
        <img src={icon} alt="" width="24" height="24" />
      </a>
      <h1>
        <a href="#contents">Manual</a>
      </h1>
      <span class="soft service">
        {document.info.title} {document.info.version}
      </span>
      <input
        ref={box}
        type="search"
        class="search"
        aria-label="Search the manual and the API"
        placeholder="Search (press /)"
        value={search}
        onInput={(e) => {
          onSearch(e.currentTarget.value);
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape') onSearch('');
        }}
      />
      <span class="soft" role="status">
        {told}
      </span>
      <a class="button" href="./openapi.json">
        openapi.json
      </a>
      <button type="button" onClick={nextTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M8 1a7 7 0 100 14A7 7 0 008 1zm0 1.8v10.4a5.2 5.2 0 010-10.4z" />
        </svg>
      </button>
    </header>
  );
};

const anchorOf = (): string => decodeURIComponent(location.hash.slice(1));

/** The part that the address names is shown, and has the keyboard. */
const follow = (): void => {
  const target = location.hash.length > 1 ? document.getElementById(anchorOf()) : null;
  target?.scrollIntoView();
  target?.focus({ preventScroll: true });
};

const counted = (n: number, one: string): string => `${n} ${n === 1 ? one : `${one}s`}`;

const Page = ({ shownDocument }: { readonly shownDocument: Document }) => {
  const [search, setSearch] = useState('');
  const [anchor, setAnchor] = useState(anchorOf);
  const endpoints = useMemo(() => endpointsOf(shownDocument), [shownDocument]);
  const shown = found(endpoints, search);
  const places = useMemo(() => foundPlaces(search), [search]);
  useEffect(() => {
    const moved = (): void => {
      setSearch('');
      setAnchor(anchorOf());
    };
    addEventListener('hashchange', moved);
    return () => {
      removeEventListener('hashchange', moved);
    };
  }, []);
  useEffect(follow, [anchor]);
  const page = pageWith(anchor);
  const isHome = anchor === '' || anchor === 'contents';
  const isApi = !page && !isHome;
  return (
    <>
      <Top
        document={shownDocument}
        search={search}
        onSearch={setSearch}
        told={search === '' ? '' : `${counted(shown.length, 'endpoint')}, ${counted(places.length, 'place')}`}
      />
      <div class="columns">
        <nav class="panel contents" aria-label="Contents" tabIndex={0}>
          <Contents current={page?.name ?? ''} />
          <section>
            <h2>
              <a href="#api" aria-current={isApi ? 'page' : undefined}>
                API
              </a>
            </h2>
          </section>
          {(isApi || search !== '') && <EndpointLinks document={shownDocument} shown={shown} />}
          {isApi && (
            <section>
              <h2>
                <a href="#shapes">Shapes</a>
              </h2>
            </section>
          )}
        </nav>
        <main id="main" tabIndex={-1}>
          {search !== '' && (
            <>
              <Results places={places} search={search} />
              <Endpoints document={shownDocument} shown={shown} />
            </>
          )}
          {search !== '' && shown.length + places.length === 0 && (
            <p class="panel inside">Nothing has all of these words.</p>
          )}
          {search === '' &&
            (page ? (
              <Article page={page} />
            ) : isHome ? (
              <Home />
            ) : (
              <Api document={shownDocument} endpoints={endpoints} />
            ))}
        </main>
      </div>
    </>
  );
};

const root = document.getElementById('page')!;
const start = async (): Promise<void> => {
  try {
    const answer = await fetch('./openapi.json');
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    render(<Page shownDocument={(await answer.json()) as Document} />, root);
  } catch (error) {
    render(
      <p class="panel inside" role="alert">
        The document of the API cannot be had: {error instanceof Error ? error.message : String(error)}
      </p>,
      root,
    );
  }
};
void start();
