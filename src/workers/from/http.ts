/**
 * Reads a URL that `from` names, within a policy. Used by the workers of the service and by the command line.
 *
 * Invariants:
 * - A name is resolved once for each request, all its addresses are checked, and the connection goes to one of these:
 *   what the name resolves to later is of no matter.
 * - Each redirect is checked as if it had been the URL of the query; there are at most `redirectsMax`. Another origin
 *   gets none of the query's headers.
 * - Bytes and waiting time are bounded; time in which nobody asks for bytes does not count.
 */
import { lookup as lookUp } from 'node:dns/promises';
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type LookupFunction, isIP } from 'node:net';
import { LakeError, messageOf } from '../../errors.ts';
import { type ContentCoding, contentCodings } from '../../formats/codings/encoding.ts';
import { type HttpPolicy, allowedUrl, isPublicAddress } from './policy.ts';

/** The request that a `from` stands for. */
export interface UrlRequest {
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
}
/** An answer with a status from 200 to 299, whose body is still to be read. */
interface UrlAnswer {
  /** The address that answered, after redirects. */
  readonly url: string;
  /** Codings of the bytes, in the order in which they were applied. */
  readonly codings: readonly ContentCoding[];
  /**
   * With the codings on. Reading throws `from-http-bytes`, `from-http-time` or `from-http-failed`; leaving the loop
   * ends the connection.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
}
/** An address of a host; the family is 4 or 6. */
export interface HostAddress {
  readonly address: string;
  readonly family: number;
}
/** What may be read, and how names are looked up. */
export interface OpenUrlOptions {
  readonly policy: HttpPolicy;
  readonly signal?: AbortSignal;
  /** The system's resolver by default. */
  readonly resolve?: (host: string) => Promise<readonly HostAddress[]>;
}

const redirectsMax = 5;
const addressesMax = 16;
/** Headers that are the connection's business, or name another host to the same server. */
const ownHeaders =
  /^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*)$/i;
const methodsRefused = /^(?:connect|trace|track)$/i;

/** Opens a URL; resolves when the headers of the last answer are there. @throws from-http-* */
export const openUrl = async (
  request: UrlRequest,
  { policy, signal, resolve = systemAddresses }: OpenUrlOptions,
): Promise<UrlAnswer> => {
  const clock = new WaitClock(request.url, policy.waitMsMax);
  const abort = new AbortController();
  const stop = (): void => {
    abort.abort(signal?.reason);
  };
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  const close = (): void => {
    signal?.removeEventListener('abort', stop);
    abort.abort();
  };
  try {
    const { url, response } = await clock.wait(followed(checkedRequest(request), policy, resolve, abort.signal), close);
    return {
      url: url.href,
      codings: codingsOf(request.url, response),
      bytes: bodyOf(request.url, response, policy, clock, close),
    };
  } catch (problem) {
    close();
    signal?.throwIfAborted();
    if (problem instanceof LakeError) throw problem;
    throw new LakeError('from-http-failed', { url: request.url, fault: reasonOf(problem) }, { cause: problem });
  }
};

const checkedRequest = (request: UrlRequest): UrlRequest => {
  const { url, method = 'GET', headers = {} } = request;
  if (!/^[a-z]+$/i.test(method) || methodsRefused.test(method))
    throw new LakeError('from-http-failed', { url, fault: `method ${JSON.stringify(method)} cannot be used` });
  const own = Object.keys(headers).find((name) => ownHeaders.test(name));
  if (own !== undefined)
    throw new LakeError('from-http-failed', { url, fault: `header ${JSON.stringify(own)} cannot be set` });
  return request;
};

/** The answer after redirects. */
const followed = async (
  first: UrlRequest,
  policy: HttpPolicy,
  resolve: NonNullable<OpenUrlOptions['resolve']>,
  signal: AbortSignal,
): Promise<{ readonly url: URL; readonly response: IncomingMessage }> => {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    const { url, anyAddress } = allowedUrl(request.url, policy);
    const addresses = await addressesOf(request.url, url, anyAddress, resolve);
    const response = await sent(url, request, addresses, signal);
    const status = response.statusCode ?? 0;
    const { location } = response.headers;
    if ([301, 302, 303, 307, 308].includes(status) && location !== undefined) {
      response.destroy();
      if (redirects >= redirectsMax)
        throw new LakeError('from-http-redirects', { url: first.url, limit: redirectsMax });
      request = redirected(request, url, location, status);
    } else {
      // Rows that lack the rest of a resource would be taken for all of it.
      const isUnaskedPart = status === 206 && !asksRange(request);
      if (status >= 200 && status < 300 && !isUnaskedPart) return { url, response };
      response.destroy();
      const fault = `${status} ${response.statusMessage ?? ''}`.trim();
      throw new LakeError('from-http-failed', {
        url: request.url,
        fault: isUnaskedPart ? `${fault}, though no range was asked for` : fault,
      });
    }
  }
};

const asksRange = ({ headers = {} }: UrlRequest): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'range');

const redirected = (request: UrlRequest, from: URL, location: string, status: number): UrlRequest => {
  if (!URL.canParse(location, from.href)) throw new LakeError('from-http-malformed', { url: location });
  const url = new URL(location, from);
  const keepsMethod = status >= 307 || /^(?:get|head)$/i.test(request.method ?? 'GET');
  return {
    url: url.href,
    ...(keepsMethod && request.method !== undefined && { method: request.method }),
    ...(keepsMethod && request.body !== undefined && { body: request.body }),
    ...(url.origin === from.origin && request.headers && { headers: request.headers }),
  };
};

const systemAddresses = (host: string): Promise<readonly HostAddress[]> =>
  lookUp(host, { all: true, order: 'verbatim' });

/** Where the connection may go. One address inside is enough to refuse the name. */
const addressesOf = async (
  text: string,
  url: URL,
  anyAddress: boolean,
  resolve: NonNullable<OpenUrlOptions['resolve']>,
): Promise<readonly HostAddress[]> => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family ? [{ address: host, family }] : (await resolve(host)).slice(0, addressesMax);
  const [first] = addresses;
  const hidden = anyAddress ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
  if (!first) throw new LakeError('from-http-failed', { url: text, fault: `${host} has no address` });
  if (hidden) throw new LakeError('from-http-address', { url: text, host, address: hidden.address });
  return addresses;
};

/** Sends the request to one of the addresses; resolves with the head of the answer. */
const sent = (
  url: URL,
  { method = 'GET', body, headers = {} }: UrlRequest,
  addresses: readonly HostAddress[],
  signal: AbortSignal,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const pinned: LookupFunction = (_host, options, callback) => {
      if (options.all) callback(null, [...addresses]);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    };
    const options: RequestOptions = {
      method: method.toUpperCase(),
      lookup: pinned,
      agent: false,
      signal,
      headers: {
        accept: '*/*',
        'accept-encoding': 'gzip, deflate, br',
        ...Object.fromEntries(Object.entries(headers).map(([name, values]) => [name.toLowerCase(), [...values]])),
      },
    };
    const client = url.protocol === 'https:' ? requestHttps(url, options, resolve) : requestHttp(url, options, resolve);
    client.on('error', reject);
    // A proxy or an option of the runtime must not lead elsewhere either.
    client.once('socket', (socket) =>
      socket.once('connect', () => {
        const peer = socket.remoteAddress ?? '';
        if (!addresses.some(({ address }) => address === peer || `::ffff:${address}` === peer))
          client.destroy(new Error(`connected to ${peer}, which is none of its addresses`));
      }),
    );
    client.end(body);
  });

const codingsOf = (url: string, { headers }: IncomingMessage): readonly ContentCoding[] =>
  (headers['content-encoding'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .map((name) => {
      const coding = contentCodings.find((c) => c === name || `x-${c}` === name);
      if (!coding)
        throw new LakeError('from-http-failed', { url, fault: `content coding ${JSON.stringify(name)} is not known` });
      return coding;
    });

async function* bodyOf(
  url: string,
  response: IncomingMessage,
  { bytesMax }: HttpPolicy,
  clock: WaitClock,
  close: () => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    for (;;) {
      const next = await clock.wait(chunks.next(), close);
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > bytesMax) throw new LakeError('from-http-bytes', { url, limit: bytesMax });
      yield next.value;
    }
  } catch (problem) {
    if (problem instanceof LakeError) throw problem;
    throw new LakeError('from-http-failed', { url, fault: reasonOf(problem) }, { cause: problem });
  } finally {
    close();
  }
}

/** Adds up the time that is spent waiting. */
class WaitClock {
  private left: number;
  private readonly url: string;
  private readonly limit: number;
  constructor(url: string, limit: number) {
    this.url = url;
    this.limit = limit;
    this.left = limit;
  }

  /** The promise's value, or from-http-time when it takes longer than what is left; `close` is then called. */
  async wait<T>(promise: Promise<T>, close: () => void): Promise<T> {
    if (this.limit === Infinity) return promise;
    const start = performance.now();
    let timer: NodeJS.Timeout | undefined;
    let isLate = false;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => {
          isLate = true;
          reject(new LakeError('from-http-time', { url: this.url, limit: this.limit }));
          close();
        },
        Math.max(this.left, 1),
      );
    });
    promise.catch(() => undefined);
    late.catch(() => undefined);
    try {
      return await Promise.race([late, promise]);
    } finally {
      clearTimeout(timer);
      if (!isLate) this.left -= performance.now() - start;
    }
  }
}

/** The text of a failure; several attempts to connect fail with their codes alone. */
const reasonOf = (problem: unknown): string => {
  if (problem instanceof AggregateError && problem.message === '') return problem.errors.map(reasonOf).join('; ');
  return messageOf(problem);
};
