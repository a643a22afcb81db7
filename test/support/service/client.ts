/**
 * Clients of a service over HTTP: many connections, answers as text, events as they come. Formats are asked for as
 * JSON, so that rows can be compared.
 */
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}
/** `whole`: the body came to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly whole: boolean;
}
export interface Client {
  readonly address: string;
  /** One request. Rejects only when no answer came. */
  readonly ask: (method: string, path: string, options?: AskOptions) => Promise<Answer>;
  /** JSON of a request that must succeed. */
  readonly json: <T>(method: string, path: string, body?: unknown) => Promise<T>;
  /** Creates a pool ordered by `key`; its id. */
  readonly createPool: (name: string, key?: string) => Promise<string>;
  /** Loads rows, or text as it is; the commit's id. */
  readonly load: (pool: string, rows: readonly unknown[] | string, branch?: string) => Promise<string>;
  /** Rows of a query. */
  readonly query: <T>(text: string) => Promise<readonly T[]>;
  /** The commit that a branch points at. */
  readonly tip: (pool: string, branch?: string) => Promise<string>;
  readonly events: (options?: { readonly lastEventId?: number }) => Promise<EventStream>;
  /** Ends all connections. */
  readonly close: () => void;
}

interface StreamedEvent {
  readonly id: number;
  readonly kind: string;
  readonly data: { readonly pool_id: string; readonly branch?: string; readonly commit_id?: string };
}
interface EventStream {
  readonly seen: readonly StreamedEvent[];
  /** Resolves once so many events have come. */
  readonly until: (count: number) => Promise<readonly StreamedEvent[]>;
  readonly close: () => void;
}

export const jsonType = { 'content-type': 'application/json' } as const;

export const clientOf = (address: string, connections = 64): Client => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(address);
  const ask: Client['ask'] = (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const client = httpRequest(
        { hostname, port, method, path, agent, headers: { accept: 'application/json', ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          const end = (whole: boolean): void =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks).toString(),
              whole,
            });
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
          });
          response.on('end', () => end(true));
          response.on('error', () => end(false));
        },
      );
      client.on('error', reject);
      client.end(body);
    });
  const must = async (method: string, path: string, options: AskOptions): Promise<Answer> => {
    const answer = await ask(method, path, options);
    if (answer.status >= 300 || !answer.whole)
      throw new Error(
        `${method} ${path}: ${answer.status} ${answer.body.slice(0, 500)}${answer.whole ? '' : ' (cut off)'}`,
      );
    return answer;
  };
  const json = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await must(
      method,
      path,
      body === undefined ? {} : { headers: jsonType, body: JSON.stringify(body) },
    );
    return (answer.body === '' ? undefined : JSON.parse(answer.body)) as T;
  };
  return {
    address,
    ask,
    json,
    createPool: async (name, key = 'k') =>
      (await json<{ pool: { id: string } }>('POST', '/pool', { name, layout: { order: 'asc', keys: [[key]] } })).pool
        .id,
    load: async (pool, rows, branch = 'main') => {
      const body = typeof rows === 'string' ? rows : rows.map((row) => JSON.stringify(row)).join('\n');
      return (JSON.parse((await must('POST', `/pool/${pool}/branch/${branch}`, { body })).body) as { commit: string })
        .commit;
    },
    query: async <T>(text: string) => {
      const { body } = await must('POST', '/query', {
        headers: { ...jsonType, accept: 'application/x-ndjson' },
        body: JSON.stringify({ query: text }),
      });
      return body
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as T);
    },
    tip: async (pool, branch = 'main') =>
      (await json<{ commit: string }>('GET', `/pool/${pool}/branch/${branch}`)).commit,
    events: ({ lastEventId } = {}) => openEvents(address, lastEventId),
    close: () => {
      agent.destroy();
    },
  };
};

const openEvents = (address: string, lastEventId: number | undefined): Promise<EventStream> =>
  new Promise((resolve, reject) => {
    const seen: StreamedEvent[] = [];
    let rest = '';
    let fault: Error | undefined;
    let waiting: { readonly count: number; readonly tell: () => void }[] = [];
    const wake = (): void => {
      const ready = waiting.filter(({ count }) => fault || seen.length >= count);
      waiting = waiting.filter((w) => !ready.includes(w));
      for (const { tell } of ready) tell();
    };
    const client = httpRequest(
      `${address}/events`,
      {
        agent: false,
        headers: {
          accept: 'application/json',
          ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
        },
      },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          const blocks = (rest + text).split('\n\n');
          rest = blocks.pop()!;
          for (const block of blocks) if (!block.startsWith(':')) seen.push(parseEvent(block));
          wake();
        });
        const ended = (): void => {
          fault ??= new Error(`the events ended after ${seen.length}`);
          wake();
        };
        response.on('error', ended);
        response.on('end', ended);
        resolve({
          seen,
          until: async (count) => {
            if (seen.length < count && !fault)
              await new Promise<void>((tell) => {
                waiting.push({ count, tell });
              });
            if (seen.length < count) throw fault!;
            return seen;
          },
          close: () => {
            client.destroy();
          },
        });
      },
    );
    client.on('error', reject);
    client.end();
  });

const parseEvent = (block: string): StreamedEvent => {
  const lines = block.split('\n');
  const field = (name: string): string =>
    lines
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
      .join('\n');
  return { id: Number(field('id')), kind: field('event'), data: JSON.parse(field('data')) as StreamedEvent['data'] };
};

/** All commits of a branch, newest first: as `from pool@branch:log` lists them. */
export const logOf = async (client: Client, pool: string, branch = 'main'): Promise<readonly LoggedCommit[]> =>
  client.query<LoggedCommit>(`from ${pool}@${branch}:log`);
interface LoggedCommit {
  readonly id: string;
  readonly parent: string;
  readonly message: string;
}
