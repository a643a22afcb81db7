/**
 * Sends requests: the address, the token, repetition of what may be repeated.
 *
 * What is sent again after a lost connection, a 503, or a proxy's word that the service is not there (502, 504):
 * requests that change nothing, and writes that have an `Idempotency-Key` and a body that can be read twice.
 */
import { failureOf, LakeFailure } from './failure.ts';

/** How requests are sent. */
export interface ConnectOptions {
  /** Bearer token, or what gives one; asked before each request. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a request that may be repeated is sent again; 2 unless told. */
  readonly retriesMax?: number;
  /** `fetch` of the platform unless told. */
  readonly fetch?: typeof fetch;
  /**
   * Number of an event that answers are to know of, or what gives it: what was written at one service is read at its
   * replica by `after: () => writer.lastEvent`. Where it does not come in time, that is a 504.
   */
  readonly after?: number | (() => number | undefined);
}

/** What a load takes: bytes or text at once or piece by piece. */
export type Body =
  | string
  | Uint8Array
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>;

/** One request. Queries and headers whose value is undefined are left out. */
export interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base address, without a leading slash; its parts are escaped. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: Body;
  /** The text of the query that is asked, for the places of its faults. */
  readonly text?: string;
  readonly signal?: AbortSignal;
}

/** Node and its kin send a request body while it is read; browsers do so over HTTP/2 alone. */
const sendsStreams =
  (globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } }).process?.versions?.node !==
  undefined;
const retryMsBase = 100;
/** Statuses of what passes. */
export const passing: ReadonlySet<number> = new Set([502, 503, 504]);

/** Sends requests to one service; `base` is its address without a slash at the end. */
export class Requests {
  readonly base: string;
  /** The highest number of an event that an answer knew of. */
  lastEvent: number | undefined;
  /** A function, so that a client that is printed or serialized does not show its token. */
  private readonly options: () => ConnectOptions;

  constructor(base: string, options: ConnectOptions) {
    this.base = base.replace(/\/+$/, '');
    this.options = () => options;
  }

  /** The answer, 2xx. @throws LakeFailure, or what `fetch` throws. */
  async send(request: RequestOptions): Promise<Response> {
    const mayRepeat =
      request.method === 'GET' || (request.headers?.['Idempotency-Key'] !== undefined && isWhole(request.body));
    const triesMax = mayRepeat ? 1 + (this.options().retriesMax ?? 2) : 1;
    for (let tries = 1; ; tries++) {
      let retryMs = retryMsBase * 2 ** (tries - 1);
      try {
        const response = await this.once(request);
        if (response.ok) return response;
        const failure = await failureOf(response, request.text);
        if (!passing.has(response.status) || tries === triesMax) throw failure;
        retryMs = Math.max(retryMs, Number(response.headers.get('retry-after') ?? 0) * 1000);
      } catch (error) {
        if (error instanceof LakeFailure || request.signal?.aborted || tries === triesMax) throw error;
      }
      await pause(retryMs, request.signal);
    }
  }

  /** The answer's JSON. */
  async json(request: RequestOptions): Promise<unknown> {
    const response = await this.send({ ...request, headers: { Accept: 'application/json', ...request.headers } });
    return response.status === 204 ? undefined : response.json();
  }

  private async once({ method, path, query = {}, headers = {}, body, signal }: RequestOptions): Promise<Response> {
    const { token, after, fetch: send = fetch } = this.options();
    const event = typeof after === 'function' ? after() : after;
    const secret = typeof token === 'function' ? await token() : token;
    const search = new URLSearchParams(given(query)).toString();
    const sent = await bodyOf(body);
    const response = await send(`${this.base}/${addressed(path)}${search && `?${search}`}`, {
      method,
      headers: given({
        ...this.options().headers,
        ...(secret !== undefined && { Authorization: `Bearer ${secret}` }),
        ...(event !== undefined && { 'Lake-After': String(event) }),
        ...headers,
      }),
      ...(sent !== undefined && { body: sent }),
      ...(sent instanceof ReadableStream && { duplex: 'half' }),
      ...(signal && { signal }),
    } as RequestInit);
    const known = response.headers.get('lake-event');
    if (known !== null) this.lastEvent = Math.max(this.lastEvent ?? 0, Number(known));
    return response;
  }
}

/**
 * The path of an address. The names that it cannot hold, since `fetch` and proxies take them out of it even where they
 * are escaped, are those that nothing in a lake has. @throws LakeFailure
 */
const addressed = (path: readonly string[]): string => {
  const unfit = path.find((name) => ['', '.', '..'].includes(name));
  if (unfit !== undefined)
    throw new LakeFailure(`"${unfit}": not found: nothing in a lake has this name`, {
      status: 404,
      kind: 'item does not exist',
    });
  return path.map(encodeURIComponent).join('/');
};

/** Those that have a value. */
const given = (all: Readonly<Record<string, string | undefined>>): [string, string][] =>
  Object.entries(all).filter((each): each is [string, string] => each[1] !== undefined);

const isWhole = (body: Body | undefined): body is string | Uint8Array | Blob | undefined =>
  body === undefined || typeof body === 'string' || body instanceof Uint8Array || body instanceof Blob;

/** What `fetch` takes: pieces become a stream where streams can be sent, else one Blob. */
const bodyOf = async (
  body: Body | undefined,
): Promise<string | Uint8Array | Blob | ReadableStream<Uint8Array> | undefined> => {
  if (isWhole(body)) return body;
  if (sendsStreams) return body instanceof ReadableStream ? body : streamOf(body);
  return body instanceof ReadableStream ? new Response(body).blob() : new Response(streamOf(body)).blob();
};

const streamOf = (
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder();
  const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await iterator.next();
      if (next.done) controller.close();
      else if (next.value.length > 0)
        controller.enqueue(typeof next.value === 'string' ? encoder.encode(next.value) : next.value);
      else controller.enqueue(new Uint8Array(0));
    },
    cancel: async (reason) => {
      await iterator.return?.(reason);
    },
  });
};

/** Waits; rejects with the signal's reason when it fires. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
