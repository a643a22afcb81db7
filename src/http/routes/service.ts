/** The service itself: version, health, figures, who one is, and a page for people who open the address in a browser. */
import { authIdentityValue, authMethodValue } from '../records.ts';
import { sendText, sendValue } from '../reply.ts';
import { type Route, route } from '../route.ts';

export const serviceRoutes: readonly Route[] = [
  route({
    method: 'GET', path: '/version', summary: 'Version of the service', open: true, preflight: true,
    handler: async ({ service, reply }) => sendText(reply, 200, 'application/json', `${JSON.stringify({ version: service.version })}\n`),
  }),
  route({
    method: 'GET', path: '/status', summary: 'Health: ok, or why writes are refused', open: true, preflight: true,
    handler: async ({ service, reply }) => {
      const { state, reason } = service.lake.status();
      return sendText(reply, state === 'ready' ? 200 : 503, 'text/plain; charset=utf-8', state === 'ready' ? 'ok' : `${state}${reason ? `: ${reason}` : ''}`);
    },
  }),
  route({
    method: 'GET', path: '/metrics', summary: 'Figures in the text format of Prometheus', open: true, preflight: true,
    handler: async ({ service, reply }) => sendText(reply, 200, service.metrics.contentType, await service.metrics.text()),
  }),
  route({
    method: 'GET', path: '/', summary: 'A page for people', open: true, preflight: true,
    handler: async ({ service, reply }) => sendText(reply, 200, 'text/html; charset=utf-8', frontPage(service.version)),
  }),
  route({
    method: 'GET', path: '/auth/method', summary: 'How one logs in',
    handler: async ({ reply, response }) => sendValue(reply, authMethodValue(), response),
  }),
  route({
    method: 'GET', path: '/auth/identity', summary: 'Who one is',
    handler: async ({ reply, response }) => sendValue(reply, authIdentityValue(), response),
  }),
];

const frontPage = (version: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Lake data service</title></head>
<body><h1>Lake data service ${version}</h1>
<p>This address answers queries: <code>POST /query</code> with <code>{"query":"from :pools"}</code> lists the pools, <code>GET /events</code> streams every change,
<code>GET /metrics</code> has figures.</p></body></html>
`;
