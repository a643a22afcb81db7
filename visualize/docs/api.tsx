/**
 * The endpoints, as the service's OpenAPI document tells of them: each with its parameters, bodies, answers and errors,
 * to be tried on the spot.
 */
import { useState } from 'preact/hooks';
import { baseUrl, curlOf, type Document, type Endpoint } from './document.ts';
import { AnswerRow, Content, Copyable, Parameters, Prose, Shape } from './parts.tsx';
import { canTry, TryIt } from './try-it.tsx';

const idOfTag = (tag: string): string => `tag-${tag}`;

const Events = ({ events }: { readonly events: NonNullable<Endpoint['x-events']> }) => (
  <details>
    <summary>
      Events <span class="soft">{Object.keys(events).join(', ')}</span>
    </summary>
    <dl class="fields">
      {Object.entries(events).map(([name, { when, superdb, data }]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            When {when}.{' '}
            {superdb !== name && (
              <>
                With <code>names=superdb</code>: <code>{superdb}</code>.
              </>
            )}
            <Shape schema={data} />
          </dd>
        </div>
      ))}
    </dl>
  </details>
);

const Card = ({ endpoint, document }: { readonly endpoint: Endpoint; readonly document: Document }) => {
  const { operationId, method, path, summary, description, parameters, requestBody, responses, anyMethod } = endpoint;
  const events = endpoint['x-events'];
  const [open, setOpen] = useState(false);
  return (
    <article id={operationId} class="panel endpoint" aria-labelledby={`${operationId}-title`} tabIndex={-1}>
      <header>
        <h3 id={`${operationId}-title`}>
          <span class={`method ${method.toLowerCase()}`}>{method}</span>{' '}
          <code class="path">
            {path.split(/(?=\/)/).map((part, i) => (
              <>
                {i > 0 && <wbr />}
                {part}
              </>
            ))}
          </code>
        </h3>
        {anyMethod && <span class="soft">or any method</span>}
        <a class="anchor" href={`#${operationId}`} aria-label={`Link to ${operationId}`}>
          #
        </a>
      </header>
      <div class="inside">
        <p class="summary">{summary}</p>
        {description !== undefined && <Prose text={description} />}
        <Copyable text={curlOf(endpoint)} label={`curl line of ${operationId}`} />
        {parameters.length > 0 && (
          <details>
            <summary>
              Parameters <span class="soft">{parameters.map((p) => p.name).join(', ')}</span>
            </summary>
            <Parameters parameters={parameters} />
          </details>
        )}
        {requestBody && (
          <details>
            <summary>Body {requestBody.required && <span class="soft">required</span>}</summary>
            <Prose text={requestBody.description} />
            <Content content={requestBody.content} />
          </details>
        )}
        {events && <Events events={events} />}
        <h4>Answers</h4>
        {Object.entries(responses).map(([status, answer]) => (
          <AnswerRow key={status} status={status} answer={answer} document={document} />
        ))}
        {canTry(endpoint) && (
          <details
            onToggle={(e) => {
              setOpen((e.currentTarget as HTMLDetailsElement).open);
            }}
          >
            <summary>Try it</summary>
            {open && <TryIt endpoint={endpoint} />}
          </details>
        )}
      </div>
    </article>
  );
};

/** The endpoints by their tags, as links. */
export const EndpointLinks = ({
  document,
  shown,
}: {
  readonly document: Document;
  readonly shown: readonly Endpoint[];
}) => (
  <>
    {document.tags.map(({ name }) => {
      const own = shown.filter((e) => e.tags.includes(name));
      return own.length === 0 ? null : (
        <section key={name}>
          <h2>
            <a href={`#${idOfTag(name)}`}>{name}</a>
          </h2>
          <ul>
            {own.map((e) => (
              <li key={e.operationId}>
                <a href={`#${e.operationId}`}>
                  <span class={`method ${e.method.toLowerCase()}`}>{e.method}</span>{' '}
                  <span class="grow">{e.summary}</span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      );
    })}
  </>
);

/** The endpoints, by their tags. */
export const Endpoints = ({
  document,
  shown,
}: {
  readonly document: Document;
  readonly shown: readonly Endpoint[];
}) => (
  <>
    {document.tags.map(({ name, description }) => {
      const own = shown.filter((e) => e.tags.includes(name));
      return own.length === 0 ? null : (
        <section key={name} aria-labelledby={idOfTag(name)}>
          <h2 id={idOfTag(name)} tabIndex={-1}>
            {name} <span class="soft">{description}</span>
          </h2>
          {own.map((endpoint) => (
            <Card key={endpoint.operationId} endpoint={endpoint} document={document} />
          ))}
        </section>
      );
    })}
  </>
);

/** All endpoints, with what the service says of itself before and the shapes of bodies after them. */
export const Api = ({
  document,
  endpoints,
}: {
  readonly document: Document;
  readonly endpoints: readonly Endpoint[];
}) => (
  <>
    <section class="panel inside intro">
      <p class="summary">{document.info.summary}</p>
      <p class="soft">
        All addresses begin with <code>{baseUrl()}</code>
      </p>
      <Prose text={document.info.description} />
    </section>
    <Endpoints document={document} shown={endpoints} />
    <section aria-labelledby="shapes">
      <h2 id="shapes" tabIndex={-1}>
        Shapes <span class="soft">What bodies are, as JSON</span>
      </h2>
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <article key={name} id={`shape-${name}`} class="panel endpoint" tabIndex={-1}>
          <header>
            <h3>
              <code>{name}</code>
            </h3>
            <a class="anchor" href={`#shape-${name}`} aria-label={`Link to ${name}`}>
              #
            </a>
          </header>
          <div class="inside">
            {schema.description !== undefined && <Prose text={schema.description} />}
            <Shape schema={schema} />
          </div>
        </article>
      ))}
    </section>
  </>
);
