/**
 * What is wrong with the head of a request whatever it asks for: its body, or whom it is for, could be read in two
 * ways.
 */
import type { IncomingMessage } from 'node:http';
import { LakeError } from '../../errors.ts';

/** Headers that have one value. Of two lines Node takes the first, or joins them to a value that nobody sent. */
const singles: ReadonlyMap<string, string> = new Map(
  ['Host', 'Authorization', 'Content-Type', 'Idempotency-Key', 'SuperDB-Commit', 'X-Lake-Pool'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
);

/**
 * Checks a request's head, before anything of its body is read. @throws host-missing, header-twice,
 * expectation-unknown, transfer-coding-unknown
 */
export const checkHead = ({
  httpVersion,
  headers,
  rawHeaders,
}: Pick<IncomingMessage, 'httpVersion' | 'headers' | 'rawHeaders'>): void => {
  checkSingles(rawHeaders);
  // RFC 9112, 3.2; RFC 9113, 8.3.1.
  if (headers.host === undefined && httpVersion !== '1.0') throw new LakeError('host-missing');
  if (headers[':authority'] !== undefined) checkAuthority(headers[':authority'] as string, rawHeaders);
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    throw new LakeError('expectation-unknown', { expectation: headers.expect });
  const codings = headers['transfer-encoding'];
  if (codings !== undefined) checkTransferCodings(codings);
};

/** HTTP/2 names the host beside the headers; some proxies send both. */
const checkAuthority = (authority: string, rawHeaders: readonly string[]): void => {
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name === 'host');
  if (at >= 0 && rawHeaders[at + 1] !== authority) throw new LakeError('header-twice', { name: 'Host' });
};

/**
 * Node takes any coding before `chunked` and undoes none of them: what it gives as the body would still be encoded (RFC
 * 9112, 6.1).
 */
const checkTransferCodings = (header: string): void => {
  const codings = header
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '');
  const isChunked = (coding: string): boolean => coding.toLowerCase() === 'chunked';
  if (codings.length === 1 && isChunked(codings[0])) return;
  throw new LakeError('transfer-coding-unknown', { coding: codings.find((coding) => !isChunked(coding)) ?? header });
};

const checkSingles = (rawHeaders: readonly string[]): void => {
  let seen = '';
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = singles.get(rawHeaders[at].toLowerCase());
    if (name === undefined) continue;
    if (seen.includes(name)) throw new LakeError('header-twice', { name });
    seen += name;
  }
};
