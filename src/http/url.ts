/**
 * Request targets as clients of the reference write them: segments are percent-decoded and a plus sign is a space,
 * `%2F` stays inside a name, `//` and dot segments are answered with the clean path, and a bad escape is a malformed
 * request.
 *
 * Names are composed (NFC), as texts of bodies are, so that a name is found by the bytes that made it.
 *
 * The router below us knows none of that, so it is given a target that it cannot misread: every segment decoded here
 * and escaped again.
 */

import type { FastifyRequest } from 'fastify';
import { firstInvalid } from '../vectors/texts/codec.ts';
import type { RouteConfig } from './route-config.ts';

/**
 * What to do with a request target: route `url`, send the client to `location`, ask the server as a whole (`*`), or
 * refuse it.
 */
type Target =
  | { readonly kind: 'route'; readonly url: string }
  | { readonly kind: 'moved'; readonly location: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'server' }
  | { readonly kind: 'unknown' };

/**
 * Targets that are as they should be: no escapes, no empty or dot segments, nothing that the router would have to see
 * otherwise.
 */
const plainTarget = /^(?:\/[\w~-][\w.~-]*)+(?:\?[^#]*)?$/;

/** Judges the target of a request line. */
export const targetOf = (raw: string): Target => {
  if (plainTarget.test(raw)) return { kind: 'route', url: raw };
  const [path, query] = splitTarget(raw);
  if (path === '*') return { kind: 'server' };
  if (!path.startsWith('/')) return { kind: 'unknown' };
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return { kind: 'malformed' };
  const clean = cleanPath(path);
  if (clean !== path) return { kind: 'moved', location: clean + query };
  if (path.length > 1 && path.endsWith('/')) return { kind: 'unknown' };
  return {
    kind: 'route',
    url:
      path
        .split('/')
        .map((segment) => encodeURIComponent(decodeSegment(segment).normalize('NFC')))
        .join('/') + query,
  };
};

const splitTarget = (raw: string): readonly [path: string, query: string] => {
  const start = /^https?:\/\/[^/?#]*/i.exec(raw)?.[0].length ?? 0;
  const fragment = raw.indexOf('#');
  const target = fragment < 0 ? raw.slice(start) : raw.slice(start, fragment);
  const mark = target.indexOf('?');
  return mark < 0 ? [target || '/', ''] : [target.slice(0, mark) || '/', target.slice(mark)];
};

/** Without empty, `.` and `..` segments; a slash at the end stays. */
const cleanPath = (path: string): string => {
  const out: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') out.pop();
    else out.push(segment);
  }
  const clean = `/${out.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
};

const lossy = new TextDecoder('utf-8', { ignoreBOM: true });

/** Percent-decodes; a plus sign becomes a space, bytes that are not UTF-8 become U+FFFD. */
const decodeSegment = (text: string): string => (/[%+]/.test(text) ? lossy.decode(segmentBytes(text)) : text);
const segmentBytes = (text: string): Uint8Array => {
  const source = Buffer.from(text, 'utf8');
  const bytes = new Uint8Array(source.length);
  let length = 0;
  for (let i = 0; i < source.length; i++) {
    const b = source[i];
    if (b === 0x2b) bytes[length++] = 0x20;
    else if (b === 0x25) {
      bytes[length++] = Number.parseInt(source.toString('latin1', i + 1, i + 3), 16);
      i += 2;
    } else bytes[length++] = b;
  }
  return bytes.subarray(0, length);
};

/**
 * Path and query as logs and traces may have them: of the parameters those alone that the endpoint takes, as any other
 * may hold a token or key; and without the user and password of an absolute target.
 */
export const shownTarget = ({
  originalUrl,
  routeOptions: { config },
}: Pick<FastifyRequest, 'originalUrl' | 'routeOptions'>): string => {
  const [path, query] = splitTarget(originalUrl);
  const { shown: names = [] } = (config as Partial<RouteConfig> | undefined) ?? {};
  const shown = query
    .slice(1)
    .split('&')
    .filter((pair) => names.includes(decodeSegment(pair.split('=', 1)[0])));
  return shown.length === 0 ? path : `${path}?${shown.join('&')}`;
};

/**
 * A pair of a query as it was written; without `value` where it cannot be read: a bad escape, or a raw semicolon, which
 * once separated pairs.
 */
interface QueryPair {
  readonly raw: string;
  readonly name: string;
  readonly value?: string;
  /** The first byte of the value that is no UTF-8; `at` counts from its beginning, bytes. */
  readonly fault?: { readonly byte: number; readonly at: number };
}

/** The pairs of a target's query, in their order. */
export const queryPairs = (url: string): readonly QueryPair[] => {
  const mark = url.indexOf('?');
  return mark < 0
    ? []
    : url
        .slice(mark + 1)
        .split('&')
        .filter((raw) => raw !== '')
        .map(pairOf);
};

const pairOf = (raw: string): QueryPair => {
  const equals = raw.indexOf('=');
  const rawName = equals < 0 ? raw : raw.slice(0, equals);
  const rawValue = equals < 0 ? '' : raw.slice(equals + 1);
  const name = decodeSegment(rawName);
  // `csv.delim=;` can only mean one thing; elsewhere guessing would be wrong half of the time.
  const isRead =
    !/%(?![0-9a-fA-F]{2})/.test(raw) && !rawName.includes(';') && (rawValue === ';' || !rawValue.includes(';'));
  if (!isRead) return { raw, name };
  const value = decodeSegment(rawValue);
  const bytes = value.includes('\ufffd') ? segmentBytes(rawValue) : new Uint8Array(0);
  const at = firstInvalid(bytes);
  return { raw, name, value, ...(at >= 0 && { fault: { byte: bytes[at], at } }) };
};

/**
 * Query parameters by name; the first value of a name counts. What cannot be read is left out (`checkParameters`
 * refuses it).
 */
export const queryParameters = (url: string): ReadonlyMap<string, string> => {
  const out = new Map<string, string>();
  for (const { name, value } of queryPairs(url)) if (value !== undefined && !out.has(name)) out.set(name, value);
  return out;
};
