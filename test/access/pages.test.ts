/** Which web pages may use the service: all rows of the route table x where a page is from. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import type { Route } from '../../src/http/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { type TestService, startService } from '../support/service/server.ts';

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
const send = (url: string, { method = 'GET', path, headers = {}, body }: Sent): Promise<Got> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const client = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      let text = '';
      const done = (): void => {
        resolve({ status: response.statusCode!, headers: response.headers, body: text });
      };
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          text += chunk;
        })
        .on('end', done)
        .on('error', reject);
      if (response.headers['content-type'] !== 'text/event-stream') return;
      response.off('error', reject).destroy();
      done();
    });
    client
      .on('error', reject)
      .on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode!, headers: response.headers, body: '' });
      })
      .end(body);
  });

const target = ({ path }: Route): string =>
  path
    .replace(':pool', 'p')
    .replace(/:(branch|revision)/, 'main')
    .replace(':child', 'none')
    .replace(':commit', '0'.repeat(40))
    .replace(':id', 'none');
/** Health, version, pages: what says nothing of the lake. */
const isOpen = ({ need, writes }: Route): boolean => need === 'open' && !writes;
const corsOf = ({ headers }: Got): readonly string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control'));
const feed = {
  path: '/inspect/feed',
  headers: {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  },
};

describe.each([
  ['without', []],
  ['with', ['-auth.keys']],
] as const)('%s access control, a page that no option names', (_, flags) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(flags);
    await service.lake.createPool({ name: 'p', keys: [['k']] });
  });
  afterAll(() => service.close());

  const foreign = {
    'of another site': { origin: 'http://evil.example' },
    'of another port': { origin: 'http://127.0.0.1:1' },
    'of no origin': { origin: 'null' },
    'that looks like ours': { origin: 'http://127.0.0.1.evil.example' },
    'that opens a frame': { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    'that gets an image': { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    'of another port that gets a script': { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
  } as const satisfies Record<string, Readonly<Record<string, string>>>;
  test.each(Object.entries(foreign))('%s is refused by every row, and may read no answer', async (_where, headers) => {
    const seen: unknown[] = [];
    const wanted: unknown[] = [];
    for (const row of routes) {
      const got = await send(service.url, { method: row.method, path: target(row), headers });
      seen.push([
        row.method,
        row.path,
        got.status === 403 && got.body.includes('web pages of another origin are refused'),
        corsOf(got),
      ]);
      wanted.push([row.method, row.path, !isOpen(row), []]);
    }
    expect(seen).toEqual(wanted);
  });
  test('may ask for nothing by a simple request, a preflight, a stream or a socket', async () => {
    const headers = foreign['of another site'];
    const body = '{query:"from p | load p"}';
    const before = service.lake.lastEventId();
    for (const type of [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
    ] as readonly Readonly<Record<string, string>>[]) {
      expect(
        await send(service.url, { method: 'POST', path: '/query', headers: { ...headers, ...type }, body }),
      ).toMatchObject({ status: 403 });
    }
    const preflight = await send(service.url, {
      method: 'OPTIONS',
      path: '/query',
      headers: { ...headers, 'access-control-request-method': 'POST' },
    });
    expect({ status: preflight.status, cors: corsOf(preflight) }).toEqual({ status: 204, cors: [] });
    expect((await send(service.url, { path: '/events', headers })).status).toBe(403);
    expect((await send(service.url, { ...feed, headers: { ...feed.headers, ...headers } })).status).toBe(403);
    expect(service.lake.lastEventId()).toBe(before);
  });
  test('whose name was bent to point here is refused, or has no token', async () => {
    const host = 'evil.example:9867';
    const headers = { host, origin: `http://${host}` };
    const statuses = new Set<number>();
    for (const row of routes.filter((each) => !isOpen(each) && each.id !== 'closeSession'))
      statuses.add((await send(service.url, { method: row.method, path: target(row), headers })).status);
    expect([...statuses]).toEqual([flags.length === 0 ? 403 : 401]);
    expect((await send(service.url, { ...feed, headers: { ...feed.headers, ...headers } })).status).toBe(
      flags.length === 0 ? 403 : 401,
    );
  });
});

describe('pages that may', () => {
  let own: TestService;
  let listed: TestService;
  let any: TestService;
  beforeAll(async () => {
    [own, listed, any] = (await Promise.all([
      startService(),
      startService(['-cors.origin', 'http://friend.example', '-cors.origin', 'https://*.friends.example']),
      startService(['-cors.origin', '*']),
    ])) as [TestService, TestService, TestService];
  });
  afterAll(() => Promise.all([own, listed, any].map((service) => service.close())));
  const query = (service: TestService, headers: Readonly<Record<string, string>>): Promise<Got> =>
    send(service.url, { method: 'POST', path: '/query', headers, body: '{query:"values 1"}' });
  const cors = ({ status, headers }: Got): unknown => ({
    status,
    origin: headers['access-control-allow-origin'],
    credentials: headers['access-control-allow-credentials'],
  });

  test("the service's own need no header, by whatever scheme a proxy speaks, and neither do programs", async () => {
    const { host } = new URL(own.url);
    const none = { status: 200, origin: undefined, credentials: undefined };
    const sent: readonly Readonly<Record<string, string>>[] = [
      {},
      { origin: own.url },
      { origin: `https://${host}` },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
    ];
    for (const headers of sent) expect(cors(await query(own, headers))).toEqual(none);
    expect((await send(own.url, { ...feed, headers: { ...feed.headers, origin: own.url } })).status).toBe(101);
  });
  test('those of listed origins read answers, with cookies; others do not', async () => {
    for (const origin of ['http://friend.example', 'https://a.friends.example'])
      expect(cors(await query(listed, { origin }))).toEqual({ status: 200, origin, credentials: 'true' });
    for (const origin of [
      'https://friend.example',
      'http://friend.example:81',
      'https://friends.example',
      'https://a.friends.example.evil',
      'null',
    ]) {
      expect(cors(await query(listed, { origin }))).toEqual({ status: 403, origin: undefined, credentials: undefined });
    }
  });
  test('with * any page does, without cookies', async () => {
    for (const origin of ['http://a', 'null'])
      expect(cors(await query(any, { origin }))).toEqual({ status: 200, origin: '*', credentials: undefined });
  });
});
