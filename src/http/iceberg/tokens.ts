/**
 * POST oauth/tokens: changes a key, or a token of the issuer, for a token of the catalogue (RFC 6749, RFC 8693), which
 * is good for an hour or until its key ends.
 *
 * - The key is the client's secret; its two parts may be id and secret too. They come in the body, or by HTTP Basic.
 * - A token that was given out can be exchanged for a new one, as Iceberg's Java clients do before it ends.
 * - `catalog` and `PRINCIPAL_ROLE:ALL`, which clients ask for by themselves, mean all that the key may read; `pool:NAME`
 *   is a table: the token is for these alone.
 */
import type { FastifyRequest } from 'fastify';
import { LakeError } from '../../errors.ts';
import type { Access, Identified } from '../access/access.ts';
import { isKey } from '../access/keys.ts';
import { isMediaType } from '../bodies/negotiate.ts';
import { readBody } from '../bodies/body.ts';
import { paceOf } from '../connections/pace.ts';
import type { Service } from '../route.ts';
import { type Caller, type IcebergService, tablesOf } from './callers.ts';
import type { CatalogueCall } from './calls.ts';
import { sendJson } from './faults.ts';
import { tableNamed } from './names.ts';
import { isSealed } from './seals.ts';

const formBytesMax = 65_536;
const clientGrant = 'client_credentials';
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
/** Asked for by clients that were told nothing. */
const wholeScopes: ReadonlySet<string> = new Set(['catalog', 'PRINCIPAL_ROLE:ALL']);
const tableScope = 'pool:';

export const exchangeToken = async ({ service, iceberg, request, reply, audit }: CatalogueCall): Promise<unknown> => {
  const form = await formOf(service, request);
  const granted = await grantOf(service.access, iceberg, form, request.headers.authorization);
  if (audit && granted.principal) audit.who = granted.principal;
  const scopes = (form.get('scope') ?? '').split(/\s+/).filter((scope) => scope !== '');
  const tables = scopedTables(scopes, granted, iceberg);
  const { clock, tokenMs, seals } = iceberg;
  const nowMs = clock.wallMs();
  const expiresMs = Math.min(nowMs + tokenMs, granted.principal?.expiresMs ?? Infinity);
  const { token } = granted;
  const sealed = { expiresMs, ...(token !== undefined && { token }), ...(tables && { tables }) };
  return sendJson(reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' }), 200, {
    access_token: seals.seal('catalogue', sealed),
    token_type: 'bearer',
    expires_in: Math.floor((expiresMs - nowMs) / 1000),
    issued_token_type: accessTokenType,
    scope: scopes.length === 0 ? 'catalog' : scopes.join(' '),
  });
};

/** The fields of the body. @throws oauth-request, what readBody throws */
const formOf = async (
  { config, controlBodies: held }: Service,
  { raw, headers }: FastifyRequest,
): Promise<ReadonlyMap<string, string>> => {
  if (!isMediaType(headers['content-type'], 'application/x-www-form-urlencoded'))
    throw new LakeError('oauth-request', { fault: 'its type is not application/x-www-form-urlencoded' });
  const pace = paceOf(raw, 'body', config);
  const bytes = await readBody(raw, { bytesMax: formBytesMax, idleMsMax: config.bodyIdleMsMax, pace, held });
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(Buffer.from(bytes).toString())) {
    if (fields.has(name)) throw new LakeError('oauth-request', { fault: `${name} is there more than once` });
    fields.set(name, value);
  }
  return fields;
};

/** Whom a token is asked for. @throws oauth-grant, oauth-client, oauth-request, auth-keys-unavailable */
const grantOf = async (
  access: Access | undefined,
  iceberg: IcebergService,
  form: ReadonlyMap<string, string>,
  authorization: string | undefined,
): Promise<Caller> => {
  const grant = form.get('grant_type') ?? '';
  if (grant !== clientGrant && grant !== exchangeGrant) throw new LakeError('oauth-grant', { grant });
  const client = clientOf(form, authorization);
  // A client that shows its key beside a token that has ended means the key.
  const subject = grant === exchangeGrant && client === undefined ? form.get('subject_token') : undefined;
  const key = subject ?? client;
  if (key === undefined) {
    const wanted = grant === exchangeGrant ? 'subject_token' : 'client_secret';
    throw new LakeError('oauth-request', { fault: `${wanted} is missing` });
  }
  if (!access) return {};
  const said = isSealed(key) ? iceberg.seals.open('catalogue', key) : { token: key, expiresMs: Infinity };
  if (said?.token === undefined || said.expiresMs <= iceberg.clock.wallMs()) throw new LakeError('oauth-client');
  const { principal, token } = await identified(access, said.token);
  // A token for some tables is never exchanged for one that is for more.
  return { principal, token, ...('tables' in said && said.tables && { tables: said.tables }) };
};
const identified = async (access: Access, token: string): Promise<Identified> => {
  try {
    return await access.identify({ authorization: `Bearer ${token}` });
  } catch (cause) {
    if (cause instanceof LakeError && cause.code === 'auth-invalid') throw new LakeError('oauth-client', {}, { cause });
    throw cause;
  }
};

/** The key that a client shows. */
const clientOf = (form: ReadonlyMap<string, string>, authorization: string | undefined): string | undefined => {
  const basic = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '')?.[1];
  if (basic === undefined) return keyOf(form.get('client_id'), form.get('client_secret'));
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(basic, 'base64').toString()) ?? [];
  return keyOf(id, secret);
};
const keyOf = (id: string | undefined, secret: string | undefined): string | undefined => {
  if (secret === undefined || secret === '') return undefined;
  const whole = `lake_${id?.replace(/^lake_/, '')}_${secret}`;
  return isKey(whole) ? whole : secret;
};

/** The pools that scopes name; undefined: all. @throws oauth-scope */
const scopedTables = (
  scopes: readonly string[],
  caller: Caller,
  iceberg: IcebergService,
): readonly string[] | undefined => {
  const named: string[] = [];
  for (const scope of scopes) {
    if (wholeScopes.has(scope)) continue;
    const table = scope.startsWith(tableScope)
      ? tableNamed(tablesOf(caller, iceberg), scope.slice(tableScope.length))
      : undefined;
    if (!table) throw new LakeError('oauth-scope', { scope });
    named.push(table.pool);
  }
  return named.length > 0 ? named : caller.tables;
};
