/**
 * Which web pages may use the service.
 *
 * - Without `-cors.origin` its own pages alone: those whose origin is the Host of the request, which must be a name of
 *   this machine (a page whose DNS name was bent to point here has another). All others are refused, whatever they ask
 *   for, and no header lets them read an answer.
 * - With `-cors.origin` pages of the origins listed (with `*` for any part), and their hosts, may do everything. `*`
 *   alone is any page: without cookies, since these are the user's and not the page's.
 * - A request without Origin comes from a program, or from a browser that says in `Sec-Fetch-Site` where its page is
 *   from.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { LakeError } from '../../errors.ts';
import { remembered } from '../known.ts';

/**
 * Which pages are trusted. `origins`: patterns of option `-cors.origin`, none without it; `hosts`: those that the
 * service listens at.
 */
export interface OriginRules {
  readonly origins: readonly string[];
  readonly hosts: readonly string[];
  /** Others are let in without access control: an address as Host is theirs to use, a name is not. */
  readonly insecure?: boolean;
  /** There is access control: a page that was bent to point here has no token. */
  readonly guarded?: boolean;
}

/** Response headers by name. */
type Headers = Readonly<Record<string, string>>;

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
const requestHeaders: ReadonlyMap<string, string> = new Map(
  [
    'Accept',
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'If-Match',
    'Lake-After',
    'Last-Event-ID',
    'Origin',
    'SuperDB-Commit',
    'X-Request-Id',
    'Zed-Commit',
  ].map((name) => [name.toLowerCase(), name]),
);

const matches = (pattern: string, text: string): boolean => {
  const parts = pattern.toLowerCase().split('*');
  const lower = text.toLowerCase();
  if (parts.length === 1) return lower === parts[0];
  let at = parts[0].length;
  if (!lower.startsWith(parts[0])) return false;
  for (const part of parts.slice(1, -1)) {
    const found = lower.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const last = parts.at(-1)!;
  return lower.length - last.length >= at && lower.endsWith(last);
};

const anybody = '*';
const listed = (rules: OriginRules, origin: string): boolean =>
  rules.origins.some((pattern) => matches(pattern, origin));
/** Listed by more than `*`. */
const named = (rules: OriginRules, origin: string): boolean =>
  rules.origins.some((pattern) => pattern !== anybody && matches(pattern, origin));

/** CORS headers of an answer to a request from `origin`; none if no option allows it. */
export const corsHeaders = (rules: OriginRules, origin: string | undefined): Headers => {
  if (!origin || !listed(rules, origin)) return {};
  const isNamed = named(rules, origin);
  return {
    'access-control-allow-origin': isNamed ? origin : '*',
    ...(isNamed && { 'access-control-allow-credentials': 'true' }),
    'access-control-expose-headers': 'ETag, Lake-Event, X-Request-Id',
  };
};

/** Headers of the answer to a preflight; only `vary` if it asks for what is not allowed. */
export const preflightHeaders = (rules: OriginRules, request: IncomingHttpHeaders): Headers => {
  const vary = { vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers' };
  const cors = corsHeaders(rules, request.origin);
  const method = (request['access-control-request-method'] ?? '').toUpperCase();
  const asked = (request['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  if (!cors['access-control-allow-origin'] || !methods.has(method) || asked.some((name) => !requestHeaders.has(name)))
    return vary;
  const { 'access-control-expose-headers': _exposed, ...allowed } = cors;
  return {
    ...vary,
    ...allowed,
    'access-control-allow-methods': method,
    ...(asked.length > 0 && {
      'access-control-allow-headers': asked.map((name) => requestHeaders.get(name)!).join(', '),
    }),
  };
};

const hostName = remembered((host) =>
  host
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase(),
);
/** Whether a name or an address is this machine's own, whatever DNS says. */
export const loopback = (name: string): boolean =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '::1' ||
  /^127(?:\.\d{1,3}){3}$/.test(name) ||
  name === '0:0:0:0:0:0:0:1';

/** Refuses a Host that is no name of this machine. @throws host-foreign */
export const checkHost = (rules: OriginRules, host: string | undefined): void => {
  if (!host || rules.guarded) return;
  let check = hostChecks.get(rules);
  if (!check) hostChecks.set(rules, (check = remembered((text) => allowedHost(rules, text))));
  check(host);
};
/** What was found out about hosts: most clients name the same. */
const hostChecks = new WeakMap<OriginRules, (host: string) => true>();
const allowedHost = (rules: OriginRules, host: string): true => {
  const name = hostName(host);
  const isOurs = rules.hosts.some((own) => own !== '0.0.0.0' && own !== '::' && own.toLowerCase() === name);
  if (loopback(name) || (rules.insecure && isIP(name) !== 0) || isOurs) return true;
  if (listed(rules, `http://${host}`) || listed(rules, `https://${host}`)) return true;
  if (
    rules.origins.some(
      (pattern) => /^https?:\/\//i.test(pattern) && hostName(pattern.replace(/^https?:\/\//i, '')) === name,
    )
  )
    return true;
  throw new LakeError('host-foreign', { host });
};

/** Whose pages count: all that may use the service, or those that cookies count for. */
type Whose = 'any' | 'cookie';

/**
 * The page that a browser sends a request for without saying its origin: one of another site, also where it opens an
 * answer in a frame or a tab.
 */
const hiddenPage = ({ 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): boolean =>
  site !== 'none' && site !== 'same-origin';

/**
 * Whether a browser asks because somebody follows a link into a tab of its own (Fetch Metadata, 2.3): not for a frame, an
 * image or a script of the page.
 */
export const isFollowedLink = ({
  origin,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': destination,
}: IncomingHttpHeaders): boolean => !origin && mode === 'navigate' && destination === 'document';

/** Whether the request comes from a web page of an origin that is neither ours nor allowed. */
export const isForeign = (rules: OriginRules, headers: IncomingHttpHeaders, whose: Whose = 'any'): boolean => {
  const { origin, host = '' } = headers;
  if (!origin) return hiddenPage(headers) && (whose === 'cookie' || !rules.origins.includes(anybody));
  if (whose === 'any' ? listed(rules, origin) : named(rules, origin)) return false;
  return ![`http://${host}`, `https://${host}`].some((own) => own.toLowerCase() === origin.toLowerCase());
};

/** Refuses pages of foreign origins. @throws origin-foreign */
export const checkOrigin = (rules: OriginRules, headers: IncomingHttpHeaders, whose: Whose = 'any'): void => {
  if (isForeign(rules, headers, whose))
    throw new LakeError('origin-foreign', { origin: headers.origin ?? 'of another site' });
};
