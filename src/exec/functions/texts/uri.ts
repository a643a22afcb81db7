/** parse_uri: a URI in its parts, by the rules of RFC 3986 as common parsers relax them. */
import { goQuoted } from '../../../vectors/literal.ts';
import { arrayType, mapType, types } from '../../../vectors/type.ts';
import { type Data, type Value, canonicalMap, nullValue, recordValue, stringValue } from '../../../vectors/value.ts';

interface Uri {
  scheme?: string;
  opaque?: string;
  user?: string;
  password?: string;
  host?: string;
  port?: number;
  path?: string;
  query?: string;
  fragment?: string;
}

/** The record of a URI, or the text of what is wrong with it. */
export const parseUri = (text: string): Value | string => {
  if (/[\u0000-\u001f\u007f]/.test(text)) return `parse ${goQuoted(text)}: net/url: invalid control character in URL`;
  const uri = partsOf(text);
  return typeof uri === 'string' ? uri : recordOfParts(uri);
};

const optional = (part: string | undefined): Value =>
  part === undefined || part === '' ? nullValue : stringValue(part);
const recordOfParts = (uri: Uri): Value =>
  recordValue([
    { name: 'scheme', value: optional(uri.scheme) },
    { name: 'opaque', value: optional(uri.opaque) },
    { name: 'user', value: uri.user === undefined ? nullValue : stringValue(uri.user) },
    { name: 'password', value: uri.password === undefined ? nullValue : stringValue(uri.password) },
    { name: 'host', value: optional(uri.host) },
    { name: 'port', value: uri.port === undefined ? nullValue : { type: types.uint16, data: uri.port } },
    { name: 'path', value: optional(uri.path) },
    { name: 'query', value: queryValue(uri.query) },
    { name: 'fragment', value: optional(uri.fragment) },
  ]);

const strings = arrayType(types.string);
const queryValue = (query: string | undefined): Value => {
  if (query === undefined || query === '') return nullValue;
  const entries = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const at = pair.indexOf('=');
    const key = unescape(at < 0 ? pair : pair.slice(0, at), 'query');
    const value = unescape(at < 0 ? '' : pair.slice(at + 1), 'query');
    if (key.bad !== undefined || value.bad !== undefined) continue;
    entries.set(key.text, [...(entries.get(key.text) ?? []), value.text]);
  }
  if (entries.size === 0) return nullValue;
  return {
    type: mapType(types.string, strings),
    data: canonicalMap(types.string, [...entries] as (readonly [Data, Data])[]),
  };
};

const partsOf = (whole: string): Uri | string => {
  const uri: Uri = {};
  const fail = (what: string): string => `parse ${goQuoted(whole)}: ${what}`;
  const escape = (bad: string): string => fail(`invalid URL escape ${goQuoted(bad)}`);
  let rest = whole;
  const hash = rest.indexOf('#');
  if (hash >= 0) {
    const fragment = unescape(rest.slice(hash + 1), 'path');
    if (fragment.bad !== undefined) return escape(fragment.bad);
    uri.fragment = fragment.text;
    rest = rest.slice(0, hash);
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(rest);
  if (scheme) {
    uri.scheme = scheme[1].toLowerCase();
    rest = rest.slice(scheme[0].length);
  } else if (rest.startsWith(':')) return fail('missing protocol scheme');
  const mark = rest.indexOf('?');
  if (mark >= 0) {
    uri.query = rest.slice(mark + 1);
    rest = rest.slice(0, mark);
  }
  if (!rest.startsWith('/')) {
    if (uri.scheme !== undefined) {
      uri.opaque = rest;
      return uri;
    }
    const colon = rest.indexOf(':');
    if (colon >= 0 && !rest.slice(0, colon).includes('/'))
      return fail('first path segment in URL cannot contain colon');
  }
  if (rest.startsWith('//') && !(uri.scheme === undefined && rest.startsWith('///'))) {
    const slash = rest.indexOf('/', 2);
    const problem = readAuthority(uri, rest.slice(2, slash < 0 ? undefined : slash), fail);
    if (problem !== undefined) return problem;
    rest = slash < 0 ? '' : rest.slice(slash);
  }
  const path = unescape(rest, 'path');
  if (path.bad !== undefined) return escape(path.bad);
  uri.path = path.text;
  return uri;
};

const readAuthority = (uri: Uri, authority: string, fail: (what: string) => string): string | undefined => {
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    const info = authority.slice(0, at);
    const colon = info.indexOf(':');
    const user = unescape(colon < 0 ? info : info.slice(0, colon), 'path');
    const password = colon < 0 ? undefined : unescape(info.slice(colon + 1), 'path');
    const bad = user.bad ?? password?.bad;
    if (bad !== undefined) return fail(`invalid URL escape ${goQuoted(bad)}`);
    uri.user = user.text;
    if (password) uri.password = password.text;
  }
  const place = authority.slice(at + 1);
  const m = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(place);
  if (!m) return fail(`invalid port ${goQuoted(place.slice(place.lastIndexOf(':')))} after host`);
  const host = unescape(m[1], 'path');
  if (host.bad !== undefined) return fail(`invalid URL escape ${goQuoted(host.bad)}`);
  if (/[ <>"]/.test(host.text)) return fail(`invalid character ${goQuoted(/[ <>"]/.exec(host.text)![0])} in host name`);
  uri.host = host.text.startsWith('[') ? host.text.slice(1, -1) : host.text;
  if (m[2] === undefined || m[2] === '') return undefined;
  if (!/^\d+$/.test(m[2])) return fail(`invalid port ${goQuoted(`:${m[2]}`)} after host`);
  if (Number(m[2]) > 65535) return `invalid port ${goQuoted(m[2])}`;
  uri.port = Number(m[2]);
  return undefined;
};

/**
 * Text with its %XX read as UTF-8; `bad` is the first sequence that is no escape. A plus sign is a blank in queries.
 */
const unescape = (text: string, kind: 'path' | 'query'): { readonly text: string; readonly bad?: string } => {
  const plain = kind === 'query' ? text.replaceAll('+', ' ') : text;
  if (!plain.includes('%')) return { text: plain };
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(plain);
  if (bad) return { text: plain, bad: bad[0] };
  return {
    text: plain.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8')),
  };
};
