/** What an endpoint's description is made of: tables of parameters, bodies, answers, shapes. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import {
  type Answer,
  type Document,
  limitsOf,
  type Media,
  nameOfRef,
  type Parameter,
  type Schema,
  typeOf,
} from './document.ts';

/** Text with `code` and **bold** parts; blank lines part paragraphs. */
export const Prose = ({ text }: { readonly text: string }) => (
  <>
    {text.split('\n\n').map((paragraph, i) => (
      <p key={i}>
        {paragraph
          .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
          .map((part, j) =>
            part.startsWith('`') ? (
              <code key={j}>{part.slice(1, -1)}</code>
            ) : part.startsWith('**') ? (
              <strong key={j}>{part.slice(2, -2)}</strong>
            ) : (
              part
            ),
          )}
      </p>
    ))}
  </>
);

/** The words for a schema; names of shapes lead to them. */
const Type = ({ schema }: { readonly schema: Schema }) => {
  const parts: ComponentChildren[] = [];
  const add = (one: Schema): void => {
    if (one.$ref !== undefined) parts.push(<a href={`#shape-${nameOfRef(one.$ref)}`}>{nameOfRef(one.$ref)}</a>);
    else if (one.anyOf)
      one.anyOf.forEach((each, i) => {
        if (i > 0) parts.push(' or ');
        add(each);
      });
    else if (one.type === 'array' && one.items) {
      parts.push('array of ');
      add(one.items);
    } else
      parts.push(
        one.enum
          ? one.enum.map((x, i) => (
              <>
                {i > 0 && ', '}
                <code>{x === '' ? '""' : String(x)}</code>
              </>
            ))
          : typeOf(one),
      );
  };
  add(schema);
  return <>{parts}</>;
};

/** Fields of an object, those of objects within it below. */
const Fields = ({ schema }: { readonly schema: Schema }) => (
  <dl class="fields">
    {Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const limits = limitsOf(field);
      const inner = field.properties ? field : field.items?.properties ? field.items : undefined;
      return (
        <div key={name}>
          <dt>
            <code>{name}</code>
            {schema.required?.includes(name) ? '' : <span class="soft"> (optional)</span>}
          </dt>
          <dd>
            <span class="soft">
              <Type schema={field} />
              {limits !== '' && (
                <>
                  {' '}
                  · <code>{limits}</code>
                </>
              )}
            </span>
            {field.description !== undefined && <Prose text={field.description} />}
            {inner && <Fields schema={inner} />}
          </dd>
        </div>
      );
    })}
  </dl>
);

/** What a value looks like: its fields in a table, or its type and limits. */
export const Shape = ({ schema }: { readonly schema: Schema }) =>
  schema.properties ? (
    <Fields schema={schema} />
  ) : (
    <p class="soft">
      <Type schema={schema} />
      {limitsOf(schema) !== '' && (
        <>
          {' '}
          · <code>{limitsOf(schema)}</code>
        </>
      )}
    </p>
  );

/** The table of an endpoint's parameters. */
export const Parameters = ({ parameters }: { readonly parameters: readonly Parameter[] }) => (
  <div class="scroll" tabIndex={0} role="group" aria-label="Parameters">
    <table>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col">In</th>
          <th scope="col">What it is</th>
        </tr>
      </thead>
      <tbody>
        {parameters.map((p) => {
          const schema = p.schema ?? Object.values(p.content ?? {})[0]?.schema ?? {};
          return (
            <tr key={`${p.in} ${p.name}`}>
              <th scope="row">
                <code>{p.name}</code>
                {p.required && <span class="soft"> required</span>}
              </th>
              <td>{p.in}</td>
              <td>
                {p.description !== undefined && <Prose text={p.description} />}
                <span class="soft">
                  <Type schema={schema} />
                  {limitsOf(schema) !== '' && (
                    <>
                      {' '}
                      · <code>{limitsOf(schema)}</code>
                    </>
                  )}
                </span>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  </div>
);

const exampleText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** Media types of a body, what JSON of it is, and examples. */
export const Content = ({ content }: { readonly content: Readonly<Record<string, Media>> }) => {
  const types = Object.keys(content);
  const shown = content['application/json'] ?? Object.values(content).find((media) => media.schema);
  const examples = Object.entries(content).flatMap(([type, media]) =>
    [
      ...Object.values(media.examples ?? {}),
      ...(media.example === undefined ? [] : [{ summary: 'Example', value: media.example }]),
    ].map((e) => ({ ...e, type })),
  );
  return (
    <>
      <ul class="types" aria-label="Media types">
        {types.map((type) => (
          <li key={type}>
            <code>{type}</code>
          </li>
        ))}
      </ul>
      {shown?.schema && Object.keys(shown.schema).length > 0 && <Shape schema={shown.schema} />}
      {examples.map(({ summary, value, type }) => (
        <figure key={summary + type}>
          <figcaption class="soft">
            {summary} · {type}
          </figcaption>
          <pre tabIndex={0}>{exampleText(value)}</pre>
        </figure>
      ))}
    </>
  );
};

/** An answer, and the errors that it can be. */
export const AnswerRow = ({
  status,
  answer,
  document,
}: {
  readonly status: string;
  readonly answer: Answer;
  readonly document: Document;
}) => {
  const errors = answer['x-errors'];
  return (
    <details class={`answer s${status[0]}`}>
      <summary>
        <span class="status mono">{status}</span>{' '}
        {answer.description
          .split(/(`[^`]+`)/)
          .map((part, i) => (part.startsWith('`') ? <code key={i}>{part.slice(1, -1)}</code> : part))}
      </summary>
      {answer.headers && (
        <p class="soft">
          Headers:{' '}
          {Object.keys(answer.headers).map((name, i) => (
            <>
              {i > 0 && ', '}
              <code>{name}</code>
            </>
          ))}
        </p>
      )}
      {answer.content && !errors && <Content content={answer.content} />}
      {errors && (
        <ul class="errors">
          {errors.map((code) => {
            const { kind, text } = document.components['x-errors'][code];
            return (
              <li key={code}>
                <code>{text}</code>{' '}
                <span class="soft">
                  {kind} · {code}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </details>
  );
};

/** Text with a button that copies it. */
export const Copyable = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const [told, tell] = useState('');
  const line = useRef<HTMLPreElement>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      tell('Copied');
    } catch {
      // Without the right to, the reader copies what is marked.
      if (line.current) getSelection()?.selectAllChildren(line.current);
      tell('Marked: copy it');
    }
    setTimeout(() => {
      tell('');
    }, 3000);
  };
  return (
    <div class="copyable">
      <pre ref={line} tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <button
        type="button"
        onClick={() => {
          void copy();
        }}
        aria-label={`Copy ${label}`}
      >
        Copy
      </button>
      <span class="told soft" role="status">
        {told}
      </span>
    </div>
  );
};
