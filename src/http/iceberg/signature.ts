/**
 * Signatures of S3 requests (AWS Signature Version 4), in the header `Authorization` or in the parameters of a presigned
 * URL: what a request says of its signature, and whether it is what the credentials give.
 *
 * - The path is signed as it was sent, and the parameters, the headers that the client lists, and what it says of its
 *   body; `host` must be among the headers.
 * - A signature in a header is good for a quarter of an hour before and after its time, by our clock; a presigned URL
 *   until the time that it names, a week at most.
 * - Anybody may send any number of wrong ones: a check takes two digests once the signing key is there.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../../errors.ts';
import {
  type CanonicalRequest,
  type SigningScope,
  canonicalQuery,
  scopeEnd,
  signatureAlgorithm as algorithm,
  signatureBytes,
  signatureHeaders,
} from '../../store/signature.ts';

/** A request as it came. `path` and `query` as they stand in the request line. */
interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly headers: IncomingHttpHeaders;
}
/** What it says of its signature. */
export interface Signature extends SigningScope {
  readonly accessKeyId: string;
  readonly sessionToken: string | undefined;
  /** As it was written, like `20261128T070000Z`. */
  readonly date: string;
  /** When it was made, and until when it is good: milliseconds since 1970. */
  readonly dateMs: number;
  readonly expiresMs: number;
  readonly signedHeaders: readonly string[];
  readonly payloadHash: string;
  readonly hex: string;
}

const skewMsMax = 15 * 60_000;
const presignedSecondsMax = 7 * 24 * 3600;
const signedHeadersMax = 64;

/** Undefined where there is none. @throws s3-signature-malformed */
export const signatureOf = ({ query, headers }: Pick<SignedRequest, 'query' | 'headers'>): Signature | undefined => {
  const { authorization } = headers;
  const parameter = (name: string): string | undefined => {
    const values = query.get(name) ?? [];
    if (values.length > 1) throw malformed(`${name} is there more than once`);
    return values[0];
  };
  if (query.has('X-Amz-Signature')) {
    if (authorization !== undefined) throw malformed('it is in a header and in the parameters');
    return presigned(parameter);
  }
  if (authorization === undefined || !authorization.startsWith('AWS')) return undefined;
  const fields =
    /^AWS4-HMAC-SHA256\s+Credential=([^,\s]+)\s*,\s*SignedHeaders=([^,\s]+)\s*,\s*Signature=([^,\s]+)\s*$/.exec(
      authorization,
    );
  if (!fields) throw malformed(`expected ${algorithm} Credential=.., SignedHeaders=.., Signature=..`);
  const [, credential = '', signed = '', hex = ''] = fields;
  const date = textOf(headers[signatureHeaders.date]);
  const dateMs = timeOf(date);
  return {
    sessionToken: textOf(headers[signatureHeaders.token]),
    date: date ?? '',
    dateMs,
    expiresMs: dateMs + skewMsMax,
    signedHeaders: signedHeadersOf(signed),
    payloadHash: textOf(headers[signatureHeaders.payload]) ?? emptyHash,
    hex: signatureHex(hex),
    // Spread last: before names that come to it, Node 20 takes six times what all the rest of this does.
    ...scopeOf(credential, date),
  };
};
const emptyHash = hash('sha256', '');
const textOf = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join() : header;

const presigned = (parameter: (name: string) => string | undefined): Signature => {
  if (parameter('X-Amz-Algorithm') !== algorithm) throw malformed(`X-Amz-Algorithm is not ${algorithm}`);
  const date = parameter('X-Amz-Date');
  const dateMs = timeOf(date);
  const expires = parameter('X-Amz-Expires') ?? '';
  const seconds = Number(expires);
  if (!/^\d{1,6}$/.test(expires) || seconds < 1 || seconds > presignedSecondsMax)
    throw malformed(`X-Amz-Expires is not 1 to ${presignedSecondsMax}`);
  return {
    sessionToken: parameter('X-Amz-Security-Token'),
    date: date ?? '',
    dateMs,
    expiresMs: dateMs + seconds * 1000,
    signedHeaders: signedHeadersOf(parameter('X-Amz-SignedHeaders') ?? ''),
    payloadHash: 'UNSIGNED-PAYLOAD',
    hex: signatureHex(parameter('X-Amz-Signature') ?? ''),
    ...scopeOf(parameter('X-Amz-Credential') ?? '', date),
  };
};

const malformed = (fault: string): LakeError => new LakeError('s3-signature-malformed', { fault });
const timeOf = (date: string | undefined): number => {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date ?? '') ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(ms)) throw malformed('its date is not like 20261128T070000Z');
  return ms;
};
const scopeOf = (credential: string, date: string | undefined): SigningScope & Pick<Signature, 'accessKeyId'> => {
  const [accessKeyId = '', day = '', region = '', service = '', end, ...more] = credential.split('/');
  if (accessKeyId === '' || region === '' || end !== scopeEnd || more.length > 0)
    throw malformed('its credential is not KEY/DAY/REGION/s3/aws4_request');
  if (service !== 's3') throw malformed('its service is not s3');
  if (date?.slice(0, 8) !== day) throw malformed('the day of its credential is not that of its date');
  return { accessKeyId, day, region, service };
};
const signedHeadersOf = (text: string): readonly string[] => {
  const names = text.split(';');
  if (!names.includes('host')) throw malformed('host is not among its headers');
  if (names.length > signedHeadersMax) throw malformed(`more than ${signedHeadersMax} headers`);
  return names;
};
const signatureHex = (text: string): string => {
  if (!/^[0-9a-f]{64}$/.test(text)) throw malformed('it is not 64 hexadecimal digits');
  return text;
};

/** Whether the time of a signature is one that it is good for. @throws s3-skew, s3-expired */
export const checkTime = ({ dateMs, expiresMs }: Signature, nowMs: number): void => {
  if (dateMs > nowMs + skewMsMax) throw new LakeError('s3-skew', { skew: Math.round((dateMs - nowMs) / 1000) });
  if (expiresMs >= nowMs) return;
  if (expiresMs === dateMs + skewMsMax) throw new LakeError('s3-skew', { skew: Math.round((dateMs - nowMs) / 1000) });
  throw new LakeError('s3-expired', { time: new Date(expiresMs).toISOString() });
};

/**
 * Whether a request's signature is what a key gives that `signingKeyOf` made, as the request came, or as the client sent
 * it to `publicUrl` before a proxy took away the path there and the host. @throws s3-signature-wrong
 */
export const checkSignature = (
  request: SignedRequest,
  signature: Signature,
  { signingKey, publicUrl = '' }: { readonly signingKey: Uint8Array; readonly publicUrl?: string },
): void => {
  if (isSignature(request, signature, signingKey)) return;
  if (publicUrl !== '') {
    const { host, pathname } = new URL(publicUrl);
    const path = pathname.replace(/\/+$/, '') + request.path;
    const sent = { ...request, path, headers: { ...request.headers, host } };
    if (isSignature(sent, signature, signingKey)) return;
  }
  throw new LakeError('s3-signature-wrong');
};
const isSignature = (request: SignedRequest, signature: Signature, key: Uint8Array): boolean => {
  const canonical = canonicalRequest(request, signature);
  if (!canonical) return false;
  const { date, day, region, service, hex } = signature;
  const made = signatureBytes(canonical, { date, scope: { day, region, service }, key });
  return timingSafeEqual(made, Buffer.from(hex, 'hex'));
};

/** Undefined where a header is listed that the request does not have. */
const canonicalRequest = (
  { method, path, query, headers }: SignedRequest,
  { signedHeaders, payloadHash }: Signature,
): CanonicalRequest | undefined => {
  const names = [...new Set(signedHeaders)].sort();
  // A name such as `constructor` is one of the object itself.
  if (!names.every((name) => Object.hasOwn(headers, name))) return undefined;
  return {
    method,
    path,
    query: canonicalQuery([...query].filter(([name]) => name.toLowerCase() !== 'x-amz-signature')),
    headers: names.map((name) => [name, textOf(headers[name]) ?? '']),
    payload: payloadHash,
  };
};
