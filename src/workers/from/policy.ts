/**
 * What `from` may read besides pools: folders and URLs that the operator has listed. Pure: names and addresses in, a
 * verdict out.
 *
 * Invariants:
 * - Nothing is allowed that no entry lists; the empty policy allows nothing.
 * - An address that is not on the public Internet is allowed only to a host that an entry names as it is (no `*` in
 *   it), so that neither a name that resolves to the inside nor a redirect leads there.
 * - An entry's path holds however the server reads paths: below it, what could be a separator or a dot segment after
 *   decoding is refused.
 */
import { BlockList, isIP } from 'node:net';
import { LakeError } from '../../errors.ts';

/** A folder as it was given, and without symbolic links. */
export interface FromFolder {
  readonly path: string;
  readonly real: string;
}

/** One entry of `-from.http`, taken apart. */
export interface HttpRule {
  /** Absent: http and https. */
  readonly scheme?: 'http:' | 'https:';
  /** `*`, `*.example.com`, a name or an address (IPv6 in brackets). */
  readonly host: string;
  /** Absent: the scheme's own; `*`: any. */
  readonly port?: string;
  /** Begins with a slash; what is in this folder, and the path itself. */
  readonly path: string;
}

/** Which URLs a query may read, and limits of their answers. */
export interface HttpPolicy {
  /** `all`: any URL, whatever its address (the command line of a person). */
  readonly rules: readonly HttpRule[] | 'all';
  /** Most bytes of one answer. */
  readonly bytesMax: number;
  /** The longest time that one answer may keep us waiting, all its pauses together. */
  readonly waitMsMax: number;
}

/** What a query may read besides pools. */
export interface FromPolicy {
  readonly files: readonly FromFolder[];
  readonly http: HttpPolicy;
}

/** Pools alone. */
export const poolsOnly: FromPolicy = { files: [], http: { rules: [], bytesMax: 0, waitMsMax: 0 } };

const rulePattern =
  /^(?:(https?):\/\/)?(\*|\*\.[^\s/:*]+|\[[0-9a-f:.]+\]|[^\s/:*@?#[\]]+)(?::(\d{1,5}|\*))?(\/[^\s?#]*)?$/i;

/** Reads an entry: `[http://|https://]HOST[:PORT][/PATH]`; undefined if it is none. */
export const parseHttpRule = (entry: string): HttpRule | undefined => {
  const found = rulePattern.exec(entry.trim());
  if (!found) return undefined;
  const [, scheme, host, port, path] = found;
  try {
    // The URL class spells hosts and paths as those of a query will be spelled.
    const plain = host!.replace(/^\*\.?/, '');
    const url = new URL(`http://${plain || 'any.example'}${path ?? '/'}`);
    const spelled = plain === '' ? '*' : `${host!.startsWith('*') ? '*.' : ''}${plainHost(url)}`;
    return {
      host: spelled,
      path: url.pathname,
      ...(scheme && { scheme: `${scheme.toLowerCase()}:` as 'http:' | 'https:' }),
      ...(port && { port }),
    };
  } catch {
    return undefined;
  }
};

/**
 * The host in lower case, without the dot of a fully qualified name. A single label keeps it: without the dot the
 * resolver would search its domains.
 */
const plainHost = (url: URL): string => url.hostname.toLowerCase().replace(/(\..*[^.])\.$/, '$1');
const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

const hostFits = (rule: HttpRule, host: string): boolean => {
  if (rule.host === '*') return true;
  return rule.host.startsWith('*.') ? host.endsWith(rule.host.slice(1)) : host === rule.host;
};
const portFits = ({ port }: HttpRule, url: URL): boolean =>
  port === '*' || (port === undefined ? url.port === '' : portOf(url) === port);
const pathFits = ({ path }: HttpRule, { pathname }: URL): boolean => {
  const folder = path.endsWith('/') ? path : `${path}/`;
  if (pathname === path) return true;
  return pathname.startsWith(folder) && (folder === '/' || staysBelow(pathname.slice(folder.length)));
};

/** Servers decode a path once, some of them twice. */
const decodingsMax = 8;
/**
 * Whether the rest of a path stays in its folder for any server: for those that decode it (again), fold its
 * characters, or cut off the parameters of segments.
 */
const staysBelow = (rest: string): boolean => {
  for (let text = rest, decodings = 0; decodings < decodingsMax; decodings++) {
    if (!isPlainPath(text) || text.split('/').length !== rest.split('/').length) return false;
    let next;
    try {
      // A percent sign that stands for itself ends the decoding.
      next = decodings > 0 && !/%[0-9a-f]{2}/i.test(text) ? text : decodeURIComponent(text);
    } catch {
      return false;
    }
    if (next === text) return true;
    text = next;
  }
  return false;
};
const isPlainPath = (text: string): boolean => {
  const folded = text.normalize('NFKC');
  if (/[\\\0-\x1f\x7f]/.test(folded) || folded.split('/').length !== text.split('/').length) return false;
  const isPlain = (segment: string, isLast: boolean): boolean =>
    (segment !== '' || isLast) && !/^\.{1,2}(?:;.*)?$/s.test(segment);
  return folded.split('/').every((segment, i, all) => isPlain(segment, i === all.length - 1));
};

/** What programs read in different ways: control characters, backslashes, and an `@` before the host. */
const isAmbiguous = (text: string): boolean =>
  /[\0-\x1f\x7f]/.test(text) || /^[^?#]*\\/.test(text) || /^[a-z][a-z\d+.-]*:\/*[^/?#]*@/i.test(text);

/** The URL, and whether its host may have any address. @throws from-http-refused, from-http-malformed */
export const allowedUrl = (
  text: string,
  { rules }: HttpPolicy,
): { readonly url: URL; readonly anyAddress: boolean } => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new LakeError('from-http-malformed', { url: text });
  if (rules === 'all') return { url, anyAddress: true };
  if (isAmbiguous(text)) throw new LakeError('from-http-malformed', { url: text });
  const host = plainHost(url);
  const fitting = rules.filter(
    (r) =>
      (r.scheme === undefined || r.scheme === url.protocol) &&
      hostFits(r, host) &&
      portFits(r, url) &&
      pathFits(r, url),
  );
  if (fitting.length === 0) throw new LakeError('from-http-refused', { url: text });
  return { url, anyAddress: fitting.some((r) => !r.host.includes('*')) };
};

const inside = new BlockList();
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  inside.addSubnet(address, bits, 'ipv4');
/** Of IPv6 only 2000::/3 is global; these parts of it are not, or carry an IPv4 address that could be anything. */
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  inside.addSubnet(address, bits, 'ipv6');
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');

/** Whether an address is one of the public Internet: not private, loopback, link-local, multicast or reserved. */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 4) return !inside.check(address, 'ipv4');
  return family === 6 && global.check(address, 'ipv6') && !inside.check(address, 'ipv6');
};
