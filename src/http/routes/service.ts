/** The service itself: version, health, figures, who one is, and a page for people who open the address in a browser. */
import type { IncomingHttpHeaders } from 'node:http';
import { LakeError } from '../../errors.ts';
import { checkOrigin } from '../origin.ts';
import { authIdentityValue, authMethodValue } from '../records.ts';
import { sendText, sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';

export const serviceRoutes: readonly Route[] = [
  route({
    method: 'GET', path: '/version', summary: 'Version of the service', need: 'open', open: true, preflight: true,
    handler: async ({ service, reply }) => sendText(reply, 200, 'application/json', `${JSON.stringify({ version: service.version })}\n`),
  }),
  route({
    method: 'GET', path: '/status', summary: 'Health: ok, or why writes are refused', need: 'open', open: true, preflight: true,
    handler: async ({ service, reply }) => {
      const { state, reason } = service.lake.status();
      return sendText(reply, state === 'ready' ? 200 : 503, 'text/plain; charset=utf-8', state === 'ready' ? 'ok' : `${state}${reason ? `: ${reason}` : ''}`);
    },
  }),
  route({
    method: 'GET', path: '/ready', summary: 'Whether work is taken: ready, or 503 and why not', need: 'open', open: true, preflight: true,
    handler: async ({ service, reply }) => {
      const { state } = service.lake.status(), isReady = state === 'ready' && !service.closing();
      return sendText(reply, isReady ? 200 : 503, 'text/plain; charset=utf-8', isReady ? 'ready' : state === 'failed' ? 'failed' : 'closing');
    },
  }),
  route({
    method: 'GET', path: '/metrics', summary: 'Figures in the text format of Prometheus', need: 'reader', open: true, preflight: true,
    handler: async ({ service, reply }) => sendText(reply, 200, service.metrics.contentType, await service.metrics.text()),
  }),
  route({
    method: 'GET', path: '/', summary: 'A page for people', need: 'open', open: true, preflight: true,
    handler: async ({ service, reply }) => sendText(reply, 200, 'text/html; charset=utf-8', frontPage(service.version)),
  }),
  route({
    method: 'GET', path: '/auth/method', summary: 'How one logs in', need: 'open',
    handler: async ({ service, reply, response }) => sendValue(reply, authMethodValue(service.config.auth), response),
  }),
  route({
    method: 'GET', path: '/auth/identity', summary: 'Who one is', need: 'known',
    handler: async ({ reply, who, response }) => sendValue(reply, authIdentityValue(who), response),
  }),
  route({
    method: 'POST', path: '/auth/session', summary: 'Change a token for a session cookie, for pages in a browser', need: 'known', writes: true, silent: true,
    handler: async ({ service: { access, config }, request, reply }) => {
      if (!access) throw new LakeError('auth-off');
      checkOrigin({ origins: config.corsOrigins, listen: config.listen }, request.headers);
      const { principal, token } = await access.identify(request.headers);
      return reply.code(204).header('set-cookie', access.sessions.open(token, principal, cameByHttps(request.headers))).send();
    },
  }),
  route({
    method: 'DELETE', path: '/auth/session', summary: 'End the session', need: 'open', writes: true, silent: true,
    handler: async ({ service: { access }, request, reply }) => {
      if (!access) throw new LakeError('auth-off');
      return reply.code(204).header('set-cookie', access.sessions.close(request.headers.cookie, cameByHttps(request.headers))).send();
    },
  }),
];

/** Behind a proxy that speaks HTTPS, the cookie is to be sent over HTTPS alone. */
const cameByHttps = (headers: IncomingHttpHeaders): boolean => headers['x-forwarded-proto'] === 'https' || (headers.origin?.startsWith('https://') ?? false);

const frontPage = (version: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Lake data service</title></head>
<body><h1>Lake data service ${version}</h1>
<p>This address answers queries: <code>POST /query</code> with <code>{"query":"from :pools"}</code> lists the pools, <code>GET /events</code> streams every change,
<code>GET /metrics</code> has figures.</p></body></html>
`;
