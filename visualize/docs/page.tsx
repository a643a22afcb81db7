/** The API for people: what the service's OpenAPI document says, found by search, tried on the spot. It loads nothing but what the service gives. */
import './page.css';
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { nextTheme, theme } from '../shared/theme.ts';
import { baseUrl, curlOf, type Document, type Endpoint, endpointsOf, found } from './document.ts';
import { AnswerRow, Content, Copyable, Parameters, Prose, Shape } from './parts.tsx';
import { Manual } from './manual.tsx';
import { canTry, TryIt } from './try-it.tsx';

const icon = new URL('../shared/icon.svg', import.meta.url).href;
const idOfTag = (tag: string): string => `tag-${tag}`;

const Card = ({ endpoint, document }: { readonly endpoint: Endpoint; readonly document: Document }) => {
  const { operationId, method, path, summary, description, parameters, requestBody, responses, anyMethod } = endpoint, events = endpoint['x-events'];
  const [open, setOpen] = useState(false);
  return (
    <article id={operationId} class="panel endpoint" aria-labelledby={`${operationId}-title`} tabIndex={-1}>
      <header>
        <h3 id={`${operationId}-title`}><span class={`method ${method.toLowerCase()}`}>{method}</span> <code class="path">{path.split(/(?=\/)/).map((part, i) => <>{i > 0 && <wbr />}{part}</>)}</code></h3>
        {anyMethod && <span class="soft">or any method</span>}
        <a class="anchor" href={`#${operationId}`} aria-label={`Link to ${operationId}`}>#</a>
      </header>
      <div class="inside">
        <p class="summary">{summary}</p>
        {description !== undefined && <Prose text={description} />}
        <Copyable text={curlOf(endpoint)} label={`curl line of ${operationId}`} />
        {parameters.length > 0 && <details><summary>Parameters <span class="soft">{parameters.map((p) => p.name).join(', ')}</span></summary><Parameters parameters={parameters} /></details>}
        {requestBody && <details><summary>Body {requestBody.required && <span class="soft">required</span>}</summary><Prose text={requestBody.description} /><Content content={requestBody.content} /></details>}
        {events && (
          <details><summary>Events <span class="soft">{Object.keys(events).join(', ')}</span></summary>
            <dl class="fields">{Object.entries(events).map(([name, { when, superdb, data }]) => <div key={name}><dt><code>{name}</code></dt><dd>When {when}. {superdb !== name && <>With <code>names=superdb</code>: <code>{superdb}</code>.</>}<Shape schema={data} /></dd></div>)}</dl>
          </details>
        )}
        <h4>Answers</h4>
        {Object.entries(responses).map(([status, answer]) => <AnswerRow key={status} status={status} answer={answer} document={document} />)}
        {canTry(endpoint) && <details onToggle={(e) => { setOpen((e.currentTarget as HTMLDetailsElement).open); }}><summary>Try it</summary>{open && <TryIt endpoint={endpoint} />}</details>}
      </div>
    </article>
  );
};

const Contents = ({ document, shown }: { readonly document: Document; readonly shown: readonly Endpoint[] }) => (
  <nav class="panel contents" aria-label="Endpoints" tabIndex={0}>
    {document.tags.map(({ name }) => {
      const own = shown.filter((e) => e.tags.includes(name));
      return own.length === 0 ? null : (
        <section key={name}>
          <h2><a href={`#${idOfTag(name)}`}>{name}</a></h2>
          <ul>{own.map((e) => <li key={e.operationId}><a href={`#${e.operationId}`}><span class={`method ${e.method.toLowerCase()}`}>{e.method}</span> <span class="grow">{e.summary}</span></a></li>)}</ul>
        </section>
      );
    })}
    <section><h2><a href="#language">Language</a></h2></section>
    <section><h2><a href="#shapes">Shapes</a></h2></section>
  </nav>
);

const Top = ({ document, search, onSearch, count }: { readonly document: Document; readonly search: string; readonly onSearch: (text: string) => void; readonly count: number }) => {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const keys = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', keys);
    return () => { removeEventListener('keydown', keys); };
  }, []);
  return (
    <header class="top">
      <a class="skip" href="#endpoints">Skip to the endpoints</a>
      <a class="home" href="./" aria-label="Console" title="Console"><img src={icon} alt="" width="24" height="24" /></a>
      <h1>API</h1>
      <span class="soft service">{document.info.title} {document.info.version}</span>
      <input ref={box} type="search" class="search" aria-label="Search endpoints" placeholder="Search (press /)" value={search} onInput={(e) => { onSearch(e.currentTarget.value); }} onKeyDown={(e) => { if (e.key === 'Escape') onSearch(''); }} />
      <span class="soft" role="status">{count} {count === 1 ? 'endpoint' : 'endpoints'}</span>
      <a class="button" href="./openapi.json">openapi.json</a>
      <button type="button" onClick={nextTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 1a7 7 0 100 14A7 7 0 008 1zm0 1.8v10.4a5.2 5.2 0 010-10.4z" /></svg></button>
    </header>
  );
};

/** The part that the address names is shown, and has the keyboard. */
const follow = (): void => {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  target?.scrollIntoView();
  target?.focus({ preventScroll: true });
};

const Page = ({ shownDocument }: { readonly shownDocument: Document }) => {
  const [search, setSearch] = useState(''), endpoints = endpointsOf(shownDocument), shown = found(endpoints, search);
  useEffect(() => {
    follow();
    addEventListener('hashchange', follow);
    return () => { removeEventListener('hashchange', follow); };
  }, []);
  return (
    <>
      <Top document={shownDocument} search={search} onSearch={setSearch} count={shown.length} />
      <div class="columns">
        <Contents document={shownDocument} shown={shown} />
        <main id="endpoints" tabIndex={-1}>
          {search === '' && <section class="panel inside intro"><p class="summary">{shownDocument.info.summary}</p><p class="soft">All addresses begin with <code>{baseUrl()}</code></p><Prose text={shownDocument.info.description} /></section>}
          {shownDocument.tags.map(({ name, description }) => {
            const own = shown.filter((e) => e.tags.includes(name));
            return own.length === 0 ? null : (
              <section key={name} aria-labelledby={idOfTag(name)}>
                <h2 id={idOfTag(name)} tabIndex={-1}>{name} <span class="soft">{description}</span></h2>
                {own.map((endpoint) => <Card key={endpoint.operationId} endpoint={endpoint} document={shownDocument} />)}
              </section>
            );
          })}
          {shown.length === 0 && <p class="panel inside">No endpoint has all of these words.</p>}
          <Manual search={search} />
          {search === '' && (
            <section aria-labelledby="shapes">
              <h2 id="shapes" tabIndex={-1}>Shapes <span class="soft">What bodies are, as JSON</span></h2>
              {Object.entries(shownDocument.components.schemas).map(([name, schema]) => (
                <article key={name} id={`shape-${name}`} class="panel endpoint" tabIndex={-1}><header><h3><code>{name}</code></h3><a class="anchor" href={`#shape-${name}`} aria-label={`Link to ${name}`}>#</a></header><div class="inside">{schema.description !== undefined && <Prose text={schema.description} />}<Shape schema={schema} /></div></article>
              ))}
            </section>
          )}
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
    render(<Page shownDocument={await answer.json() as Document} />, root);
  } catch (error) {
    render(<p class="panel inside" role="alert">The document of the API cannot be had: {error instanceof Error ? error.message : String(error)}</p>, root);
  }
};
void start();
