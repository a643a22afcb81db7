/**
 * The service itself: version, health, figures, who one is, and a page for people who open the address in a browser.
 */
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { LakeError } from '../../errors.ts';
import { named, record } from '../bodies/records.ts';
import { elasticInfo, sendWanted, wantsElastic } from '../ingest/elastic.ts';
import { readyText, whyNoWrites, whyNotReady } from '../readiness.ts';
import { sendText, sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';
import { nullable, array } from '../schemas.ts';
import { consoleFile, hasPage, sendPage, wantsPage } from '../static-pages.ts';
import type { AuthConfig } from '../../config/serve.ts';
import { type Value, stringValue, nullValue } from '../../vectors/value.ts';
import { type Principal, grantText } from '../access/roles.ts';
import { arrayType, types } from '../../vectors/type.ts';

/** How one logs in: with a token of an issuer (`auth0`), with a key (`key`), or not at all. */
const authMethodValue = ({ domain, keys, audience, clientId }: AuthConfig): Value =>
  named(
    'api.AuthMethodResponse',
    record({
      kind: named('api.AuthMethod', stringValue(domain !== '' ? 'auth0' : keys ? 'key' : '')),
      auth0:
        domain === ''
          ? nullValue
          : named(
              'api.AuthMethodAuth0Details',
              record({
                audience: stringValue(audience),
                client_id: stringValue(clientId),
                domain: stringValue(domain),
              }),
            ),
    }),
  );
/** Who one is; without access control everybody is the same. */
const authIdentityValue = (who: Principal | undefined): Value =>
  named(
    'api.AuthIdentityResponse',
    record({
      tenant_id: stringValue('tenant_000000000000000000000000001'),
      user_id: stringValue(who?.name ?? 'user_000000000000000000000000001'),
      ...(who && { roles: { type: arrayType(types.string), data: who.grants.map(grantText) } }),
    }),
  );

/** The answer of `GET /auth/method`. */
const AuthMethod = Type.Object(
  {
    kind: Type.Enum(['', 'auth0', 'key']),
    auth0: nullable(Type.Object({ audience: Type.String(), client_id: Type.String(), domain: Type.String() })),
  },
  {
    $id: 'AuthMethod',
    description: 'How one says who one is: with a token of an issuer (`auth0`), with a key (`key`), or not at all.',
  },
);
/** The answer of `GET /auth/identity`. */
const Identity = Type.Object(
  {
    tenant_id: Type.String(),
    user_id: Type.String(),
    roles: Type.Optional(array(Type.String(), { description: 'Such as `writer`, or `reader:POOL`.' })),
  },
  { $id: 'Identity', description: 'Who one is, and what one may do.' },
);
/** The answer of `GET /version`. */
const Version = Type.Object({ version: Type.String() }, { $id: 'Version' });

export const serviceRoutes: readonly Route[] = [
  route({
    id: 'version',
    tag: 'Service',
    method: 'GET',
    path: '/version',
    summary: 'Version of the service',
    description: 'Any method but TRACE will do: health checks send what they like.',
    need: 'open',
    open: true,
    anyMethod: true,
    preflight: true,
    answers: {
      200: { text: 'The version.', content: { 'application/json': Version }, example: { version: 'v0.1.0' } },
    },
    errors: [],
    handler: async ({ service, reply }) =>
      sendText(reply, 200, 'application/json', `${JSON.stringify({ version: service.version })}\n`),
  }),
  route({
    id: 'status',
    tag: 'Service',
    method: 'GET',
    path: '/status',
    summary: 'Health: ok, or why writes are refused',
    description:
      'Any method but TRACE will do. It is 503 where the disk is full, the log cannot be written, or the bucket is away that commits wait for: what is there can still be read.',
    need: 'open',
    open: true,
    anyMethod: true,
    preflight: true,
    answers: {
      200: { text: 'ok', content: { 'text/plain': Type.Literal('ok') } },
      503: { text: 'Why writes are refused.', content: { 'text/plain': Type.String() } },
    },
    errors: [],
    handler: async ({ service, reply }) => {
      const why = whyNoWrites(service.lake);
      return sendText(reply, why === undefined ? 200 : 503, 'text/plain; charset=utf-8', why ?? 'ok');
    },
  }),
  route({
    id: 'ready',
    tag: 'Service',
    method: 'GET',
    path: '/ready',
    summary: 'Whether work is taken: ready, or 503 and why not',
    description:
      'For load balancers: 503 while the service opens its lake, ends, has a pool that it cannot read, is no longer the writer of its bucket, or refuses writes since the bucket is away that commits wait for (`-store.ack bucket`). In the last two cases queries are answered.',
    need: 'open',
    open: true,
    preflight: true,
    answers: {
      200: {
        text: 'ready, and of a lake in a bucket how far its copy there is behind',
        content: { 'text/plain': Type.String({ pattern: '^ready' }) },
      },
      503: { text: 'Why not.', content: { 'text/plain': Type.String() } },
    },
    errors: [],
    handler: async ({ service, reply }) => {
      const why = whyNotReady(service);
      return sendText(reply, why === undefined ? 200 : 503, 'text/plain; charset=utf-8', why ?? readyText(service));
    },
  }),
  route({
    id: 'promote',
    tag: 'Service',
    method: 'POST',
    path: '/promote',
    summary: 'Make a standby the writer of its bucket',
    description:
      'A service with `-store` and `-standby` takes over at once, whether the writer before lives or not: that one cannot write any more. The answer comes when this one writes.',
    need: 'admin',
    writes: true,
    silent: true,
    answers: { 204: { text: 'It is the writer.' } },
    errors: ['standby-none', 'replica-failed', 'store-corrupt', 'lake-closing'],
    handler: async ({ service: { lake }, reply }) => {
      await lake.promote();
      return reply.code(204).send();
    },
  }),
  route({
    id: 'metrics',
    tag: 'Service',
    method: 'GET',
    path: '/metrics',
    summary: 'Figures in the text format of Prometheus',
    need: 'reader',
    open: true,
    preflight: true,
    answers: { 200: { text: 'The figures.', content: { 'text/plain': Type.String() } } },
    errors: [],
    handler: async ({ service, reply }) =>
      sendText(reply, 200, service.metrics.contentType, await service.metrics.text()),
  }),
  route({
    id: 'consolePage',
    tag: 'Pages',
    method: 'GET',
    path: '/',
    summary: 'The console: a page for browsers',
    description:
      'Who asks for JSON and not for HTML gets what clients of Elasticsearch look for; all others a short text with the most important addresses.',
    need: 'open',
    open: true,
    preflight: true,
    answers: {
      200: { text: 'The page.', content: { 'text/html': Type.String(), 'application/json': Type.Object({}) } },
    },
    errors: ['filter-path-long'],
    handler: async ({ service, request, reply }) => {
      const { method, headers } = request;
      if (wantsElastic(headers))
        return sendWanted(
          reply.header('vary', 'Origin, Accept'),
          elasticInfo(service.version),
          (request.query as { readonly filter_path?: string }).filter_path,
        );
      const isBrowser =
        (method === 'GET' || method === 'HEAD') && wantsPage(headers.accept) && hasPage(reply, consoleFile);
      return isBrowser
        ? sendPage(reply.header('vary', 'Origin, Accept'), consoleFile)
        : sendText(reply, 200, 'text/html; charset=utf-8', frontPage(service.version));
    },
  }),
  route({
    id: 'authMethod',
    tag: 'Access',
    method: 'GET',
    path: '/auth/method',
    summary: 'How one logs in',
    description: 'As the clients of SuperDB ask for it; without access control `kind` is empty.',
    need: 'open',
    answers: { 200: { text: 'The way.', value: AuthMethod, example: { kind: '', auth0: null } } },
    errors: [],
    handler: async ({ service, reply, response }) => sendValue(reply, authMethodValue(service.config.auth), response),
  }),
  route({
    id: 'authIdentity',
    tag: 'Access',
    method: 'GET',
    path: '/auth/identity',
    summary: 'Who one is',
    need: 'known',
    description: 'Without access control everybody is the same.',
    answers: { 200: { text: 'Name and roles.', value: Identity } },
    errors: [],
    handler: async ({ reply, who, response }) => sendValue(reply, authIdentityValue(who), response),
  }),
  route({
    id: 'openSession',
    tag: 'Access',
    method: 'POST',
    path: '/auth/session',
    summary: 'Change a token for a session cookie, for pages in a browser',
    need: 'known',
    writes: true,
    silent: true,
    description: "A browser's EventSource and WebSocket cannot send a token.",
    answers: { 204: { text: 'The cookie is set.', headers: ['Set-Cookie'] } },
    errors: ['auth-off'],
    handler: async ({ service: { access }, request, reply }) => {
      if (!access) throw new LakeError('auth-off');
      const { principal, token } = await access.identify(request.headers);
      return reply
        .code(204)
        .header('set-cookie', access.sessions.open(token, principal, cameByHttps(request)))
        .send();
    },
  }),
  route({
    id: 'closeSession',
    tag: 'Access',
    method: 'DELETE',
    path: '/auth/session',
    summary: 'End the session',
    description: 'The cookie is taken back, and what it stood for is forgotten.',
    need: 'open',
    writes: true,
    silent: true,
    answers: { 204: { text: 'It has ended, if there was one.', headers: ['Set-Cookie'] } },
    errors: ['auth-off'],
    handler: async ({ service: { access }, request, reply }) => {
      if (!access) throw new LakeError('auth-off');
      return reply
        .code(204)
        .header('set-cookie', access.sessions.close(request.headers.cookie, cameByHttps(request)))
        .send();
    },
  }),
];

/** Where the page came over HTTPS, also by a proxy that is not listed, the cookie is to be sent over HTTPS alone. */
const cameByHttps = ({ protocol, headers }: Pick<FastifyRequest, 'protocol' | 'headers'>): boolean =>
  protocol === 'https' || headers['x-forwarded-proto'] === 'https' || (headers.origin?.startsWith('https://') ?? false);

const frontPage = (version: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Lake data service</title></head>
<body><h1>Lake data service ${version}</h1>
<p>This address answers queries: <code>POST /query</code> with <code>{"query":"from :pools"}</code> lists the pools, <code>GET /events</code> streams every change,
<code>GET /metrics</code> has figures, and <a href="./docs">/docs</a> says what else there is.</p></body></html>
`;
