/** Sends a GET from the page and shows what comes. */
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { addressOf, baseUrl, defaultOf, type Endpoint } from './document.ts';

/** A key to ask with, where the service asks for one. It lives as long as the page. */
const key = signal('');

interface Came {
  readonly line: string;
  readonly headers: string;
  readonly body: string;
  readonly bad: boolean;
}
const shownMax = 20_000;

/** Whether an endpoint can be tried here: a GET whose answer ends and is no page. */
export const canTry = ({ method, path, tags }: Endpoint): boolean =>
  method === 'GET' && path !== '/events' && !tags.includes('Pages');

/** The form of an endpoint that can be tried, and what came. */
export const TryIt = ({ endpoint }: { readonly endpoint: Endpoint }) => {
  const { operationId, parameters, responses, guarded } = endpoint;
  const inputs = parameters.filter((p) => p.in !== 'header');
  const types = Object.keys(responses['200']?.content ?? {});
  const [values, setValues] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(inputs.filter((p) => p.in === 'path').map((p) => [p.name, defaultOf(p)])),
  );
  const [accept, setAccept] = useState(types.includes('application/json') ? 'application/json' : (types[0] ?? '*/*'));
  const [came, setCame] = useState<Came | 'waiting' | undefined>();
  const send = async (): Promise<void> => {
    setCame('waiting');
    const began = performance.now();
    try {
      const answer = await fetch(baseUrl() + addressOf(endpoint, values), {
        headers: { accept, ...(guarded && key.value !== '' && { authorization: `Bearer ${key.value}` }) },
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
            <select
              value={values[p.name] ?? ''}
              onChange={(e) => {
                setValues({ ...values, [p.name]: e.currentTarget.value });
              }}
            >
              {p.schema.enum.map((x) => (
                <option key={String(x)} value={String(x)}>
                  {String(x)}
                </option>
              ))}
            </select>
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
      {types.length > 1 && (
        <label>
          Accept
          <select
            value={accept}
            onChange={(e) => {
              setAccept(e.currentTarget.value);
            }}
          >
            {types.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
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
      <button type="submit" class="main">
        Send
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
