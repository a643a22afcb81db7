/** Sends a request from the page and shows what comes. What would change something is said so where it is sent. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { addressOf, baseUrl, defaultOf, type Endpoint, exampleOf } from './document.ts';

/** A key to ask with, where the service asks for one. It lives as long as the page. */
const key = signal('');

interface Came {
  readonly line: string;
  readonly headers: string;
  readonly body: string;
  readonly bad: boolean;
}
const shownMax = 20_000;

/** Whether an endpoint can be tried here: its answer ends and is no page. */
export const canTry = ({ path, tags }: Endpoint): boolean => path !== '/events' && !tags.includes('Pages');

const Select = ({
  value,
  choices,
  set,
}: {
  readonly value: string;
  readonly choices: readonly string[];
  readonly set: (value: string) => void;
}) => (
  <select
    value={value}
    onChange={(e) => {
      set(e.currentTarget.value);
    }}
  >
    {choices.map((choice) => (
      <option key={choice}>{choice}</option>
    ))}
  </select>
);

/** The form of an endpoint that can be tried, and what came. */
export const TryIt = ({ endpoint }: { readonly endpoint: Endpoint }) => {
  const { method, operationId, parameters, requestBody, responses, guarded, 'x-writes': writes = false } = endpoint;
  const inputs = parameters.filter((p) => p.in !== 'header');
  const types = Object.keys(responses['200']?.content ?? {});
  const [values, setValues] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(inputs.filter((p) => p.in === 'path').map((p) => [p.name, defaultOf(p)])),
  );
  const example = requestBody && exampleOf(requestBody);
  // Bytes cannot be typed: formats of text have a schema.
  const bodyTypes = Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => (schema ? [type] : []));
  const [bodyType, setBodyType] = useState(example?.type ?? '');
  const [body, setBody] = useState(example?.text ?? '');
  const [accept, setAccept] = useState(types.includes('application/json') ? 'application/json' : (types[0] ?? '*/*'));
  const [came, setCame] = useState<Came | 'waiting' | undefined>();
  const send = async (): Promise<void> => {
    setCame('waiting');
    const began = performance.now();
    try {
      const answer = await fetch(baseUrl() + addressOf(endpoint, values), {
        method,
        headers: {
          accept,
          ...(requestBody && { 'content-type': bodyType }),
          ...(guarded && key.value !== '' && { authorization: `Bearer ${key.value}` }),
        },
        ...(requestBody && { body }),
      });
      const text = await answer.text();
      setCame({
        line: `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - began)} ms`,
        headers: [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
        body: text.length > shownMax ? `${text.slice(0, shownMax)}\n… ${text.length - shownMax} characters more` : text,
        bad: !answer.ok,
      });
    } catch (error) {
      setCame({
        line: 'No answer',
        headers: '',
        body: error instanceof Error ? error.message : String(error),
        bad: true,
      });
    }
  };
  return (
    <form
      class="try"
      aria-label={`Try ${operationId}`}
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      {inputs.map((p) => (
        <label key={p.name}>
          {p.name}
          {p.required ? '' : ' (optional)'}
          {p.schema?.enum ? (
            <Select
              value={values[p.name] ?? ''}
              choices={p.schema.enum.map(String)}
              set={(value) => {
                setValues({ ...values, [p.name]: value });
              }}
            />
          ) : (
            <input
              value={values[p.name] ?? ''}
              required={p.required ?? false}
              onInput={(e) => {
                setValues({ ...values, [p.name]: e.currentTarget.value });
              }}
            />
          )}
        </label>
      ))}
      {requestBody && (
        <>
          <label>
            Content-Type
            <Select value={bodyType} choices={bodyTypes} set={setBodyType} />
          </label>
          <label class="wide">
            Body
            <textarea
              class="mono"
              rows={3}
              spellcheck={false}
              value={body}
              onInput={(e) => {
                setBody(e.currentTarget.value);
              }}
            />
          </label>
        </>
      )}
      {types.length > 1 && (
        <label>
          Accept
          <Select value={accept} choices={types} set={setAccept} />
        </label>
      )}
      {guarded && (
        <label>
          Key
          <input
            type="password"
            autocomplete="off"
            value={key.value}
            onInput={(e) => {
              key.value = e.currentTarget.value;
            }}
          />
        </label>
      )}
      <button type="submit" class={writes ? 'danger' : 'main'}>
        {writes ? 'Send: this changes the lake' : 'Send'}
      </button>
      <div class="came" aria-live="polite">
        {came === 'waiting' && <p>Waiting…</p>}
        {came !== undefined && came !== 'waiting' && (
          <>
            <p class={came.bad ? 'bad' : 'good'}>{came.line}</p>
            {came.headers !== '' && (
              <details>
                <summary>Headers</summary>
                <pre tabIndex={0}>{came.headers}</pre>
              </details>
            )}
            <pre tabIndex={0} aria-label="Body of the answer">
              {came.body}
            </pre>
          </>
        )}
      </div>
    </form>
  );
};
