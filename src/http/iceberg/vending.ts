/**
 * Credentials for the files of one table, as LoadTable gives them: short-lived, for reading, by the endpoint at which
 * the client reached the service.
 */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { IcebergTable } from '../../iceberg/catalogue.types.ts';
import type { Caller, IcebergService } from './callers.ts';
import { lakeName } from './names.ts';
import { filesRoot } from './targets.ts';

/** Clients name one for signatures; it means nothing here. */
export const region = 'us-east-1';
/** A table is loaded again, whatever its ETag, after this part of the time for which its credentials are good. */
const windowPart = 4;

/** The URL by which clients reach the service: that of a request, unless one is set; undefined where it names no host. */
const baseOf = (
  { publicUrl }: IcebergService,
  { protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>,
): string | undefined => {
  if (publicUrl !== '') return publicUrl;
  return host === '' ? undefined : `${protocol}://${host}`;
};

/** Where a table's files are. */
export const locationOf = ({ pool }: Pick<IcebergTable, 'pool'>): string => `s3://${lakeName}/${pool}/`;

/** What a client reads a table's files with. */
export const fileConfig = (
  service: IcebergService,
  { token, principal }: Caller,
  { pool }: IcebergTable,
  request: Pick<FastifyRequest, 'protocol' | 'host' | 'headers'>,
): Readonly<Record<string, string>> => {
  const { seals, tokenMs, clock } = service;
  const expiresMs = Math.min(clock.wallMs() + tokenMs, principal?.expiresMs ?? Infinity);
  const sealed = seals.credentials({ pool, expiresMs, ...(token !== undefined && { token }) });
  const base = baseOf(service, request);
  return {
    ...(base !== undefined && takesEndpoint(request) && { 's3.endpoint': base + filesRoot }),
    's3.path-style-access': 'true',
    's3.region': region,
    'client.region': region,
    's3.access-key-id': sealed.accessKeyId,
    's3.secret-access-key': sealed.secretAccessKey,
    's3.session-token': sealed.sessionToken,
    's3.session-token-expires-at-ms': String(expiresMs),
  };
};

/** ClickHouse doubles the path of one: it is told by its own setting (`storage_endpoint`). */
const takesEndpoint = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  !/^ClickHouse\b/.test(headers['user-agent'] ?? '');

/**
 * What an answer depends on beside the table's metadata: whose credentials are in it, for which endpoint, and of which
 * time: a client that hears that nothing changed goes on with those it has.
 */
export const windowTag = (
  service: IcebergService,
  { token = '', principal }: Caller,
  request: Pick<FastifyRequest, 'protocol' | 'host' | 'headers'>,
  ...more: readonly string[]
): string => {
  const { seals, tokenMs, clock } = service;
  const window = Math.floor(clock.wallMs() / (tokenMs / windowPart));
  const parts = [seals.id, window, token, principal?.name, baseOf(service, request), takesEndpoint(request), ...more];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
};
