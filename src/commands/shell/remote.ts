/** A running service as a shell's lake: queries over HTTP, answers in BSUP. */
import { openReader } from '../../formats/formats.ts';
import { type Asked, ShellFault, type ShellLake, faultsOf } from './lake.ts';
import { noAnswerText, reasonOf } from '../no-answer.ts';
import { addressIn, serviceOf, shownService } from '../load/address.ts';
import { warningsOf } from '../warnings.ts';
import type { Vector } from '../../vectors/vector.ts';

/** Asks who is there. `indexBase` goes with each query. @throws ShellFault if nobody answers */
export const connectLake = async (address: string, token = '', indexBase?: 0 | 1): Promise<ShellLake> => {
  const service: Remote = {
    base: serviceOf(address, 's'),
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    ...(indexBase !== undefined && { indexBase }),
  };
  await ask(service, '/version', {});
  return {
    title: shownService(service.base),
    query: (text, asked = {}) => run(service, text, asked),
    close: async () => undefined,
  };
};

/** `headers` go with each request. */
interface Remote {
  readonly base: URL;
  readonly indexBase?: 0 | 1;
  readonly headers: Readonly<Record<string, string>>;
}

const ask = (
  { base, headers }: Remote,
  path: string,
  init: RequestInit & { readonly headers?: Readonly<Record<string, string>> },
): Promise<Response> =>
  fetch(addressIn(base, path), { ...init, headers: { ...headers, ...init.headers } }).catch((cause: unknown) => {
    if (init.signal?.aborted) throw cause;
    throw new ShellFault(noAnswerText(base, cause), [], { cause });
  });
async function* run(service: Remote, query: string, { head, signal, warn }: Asked): AsyncGenerator<Vector> {
  const response = await ask(service, '/query', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/x-bsup', 'accept-encoding': 'identity' },
    body: JSON.stringify({ query, ...(head && { head }), index_base: service.indexBase }),
    ...(signal && { signal }),
  });
  if (!response.ok) throw await faultOf(response);
  for (const text of warningsOf(response.headers.get('warning'))) warn?.(text);
  try {
    if (response.body) yield* await openReader('bsup', response.body as AsyncIterable<Uint8Array>);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ShellFault(
      (await statusText(service, response.headers.get('x-request-id'))) || `the answer broke off (${reasonOf(cause)})`,
      [],
      { cause },
    );
  }
}

const faultOf = async (response: Response): Promise<ShellFault> => {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as {
      readonly error?: unknown;
      readonly compilation_errors?: unknown;
      readonly hint?: unknown;
    };
    if (typeof body.error === 'string') return new ShellFault(body.error, faultsOf(body));
  } catch {
    // No service of ours: its text is all there is.
  }
  return new ShellFault(`${response.status} ${response.statusText}: ${text.slice(0, 1000).trim()}`);
};

/** Why a query failed that had begun to answer. */
const statusText = async (service: Remote, id: string | null): Promise<string> => {
  if (id === null) return '';
  try {
    const response = await ask(service, `/query/status/${encodeURIComponent(id)}`, {
      headers: { accept: 'application/json' },
    });
    return response.ok ? ((await response.json()) as { error: string }).error : '';
  } catch {
    return '';
  }
};
