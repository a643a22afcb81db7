/**
 * Clients that end their side of the connection: those that still wait for the answer get it, those that left are
 * noticed.
 */
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestService, startService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["a"]]}}' });
  await service.ask('POST', '/pool/p/branch/main', {
    body: Array.from({ length: 20_000 }, (_, a) => `{a:${a}}`).join('\n'),
  });
});
afterAll(async () => {
  await service?.close();
});

const open = (): Socket =>
  connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', allowHalfOpen: true }).on(
    'error',
    () => undefined,
  );
const post = (path: string, body: string, { length = body.length, version = '1.1' } = {}): string =>
  `POST ${path} HTTP/${version}\r\nHost: localhost\r\nAccept: application/json\r\nContent-Type: application/x-sup\r\nContent-Length: ${length}\r\n\r\n${body}`;
const query = (text: string): string => post('/query', `{query:${JSON.stringify(text)}}`);
const slow = 'from p | values {a} | cross join (from p | head 1000) as {l,r} | where l.a+r.a<10 | count()';
const endless =
  'from p | values {a} | cross join (from p) as {l,r} | cross join (from p) as {l,r} | sort this | head 1';

/** Sends this, ends its side, and gives the statuses and what came as the last body. */
const halfClosed = async (text: string): Promise<{ readonly statuses: readonly number[]; readonly body: string }> => {
  const socket = open();
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString();
  });
  socket.end(text);
  await once(socket, 'close');
  return {
    statuses: [...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    body: got.slice(got.indexOf('\r\n\r\n', got.lastIndexOf('HTTP/1.1 ')) + 4),
  };
};
const running = (): number => service.workers.status().queriesRunning;
const loading = (): number => service.workers.status().loadsRunning;

describe('a connection that is half closed behind a whole request', () => {
  test('gets the answer of a load that was committed', async () => {
    const before = service.lake.lastEventId();
    const { statuses, body } = await halfClosed(post('/pool/p/branch/main', '{a:-1}'));
    expect(statuses.at(-1)).toBe(200);
    expect(body).toContain('"commit":');
    expect(service.lake.lastEventId()).toBeGreaterThan(before);
  });
  test('gets it by HTTP/1.0 too', async () => {
    const { statuses, body } = await halfClosed(post('/pool/p/branch/main', '{a:-2}', { version: '1.0' }));
    expect(statuses).toEqual([200]);
    expect(body).toContain('"commit":');
    expect((await halfClosed(query(slow).replace('HTTP/1.1', 'HTTP/1.0'))).body).toMatch(/\[\d+/);
  });
  test('gets the answer of a query that takes a while', async () => {
    const { statuses, body } = await halfClosed(query(slow));
    expect(statuses).toEqual([...statuses.slice(0, -1).map(() => 100), 200]);
    expect(statuses.length).toBeGreaterThan(1);
    expect(body).toMatch(/\[\d+/);
  });
  test('gets one of a few bytes, and each of two that came together', async () => {
    expect((await halfClosed('GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n')).statuses.at(-1)).toBe(200);
    expect(
      (await halfClosed('GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2))).statuses.filter(
        (status) => status === 200,
      ),
    ).toHaveLength(2);
  });
  test('in the middle of a body gets a 400, and nothing is committed', async () => {
    const before = service.lake.lastEventId();
    expect((await halfClosed(post('/pool/p/branch/main', '{a:1}{a:2}', { length: 1_000_000 }))).statuses).toEqual([
      400,
    ]);
    await expect.poll(loading).toBe(0);
    expect(service.lake.lastEventId()).toBe(before);
  });
});

describe('a client that left', () => {
  test('before its answer begins: its query is cancelled', async () => {
    const socket = open();
    socket.write(query(endless));
    await expect.poll(running, { interval: 5, timeout: 30_000 }).toBe(1);
    socket.destroy();
    await expect.poll(running, { interval: 5, timeout: 30_000 }).toBe(0);
  });
  test('while its events come: nobody is told any more', async () => {
    const socket = open();
    const requests = (): number => Number(/^lake_events_subscribers (\d+)/m.exec(metrics)?.[1]);
    let metrics = '';
    socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    const look = async (): Promise<number> => {
      metrics = (await service.ask('GET', '/metrics')).body;
      return requests();
    };
    await expect.poll(look).toBe(1);
    socket.end();
    await expect.poll(look).toBe(0);
    socket.destroy();
  });
});

test('of very many headers the last one counts as the first does', async () => {
  const many = Array.from({ length: 3000 }, (_, k) => `X${k}: 1\r\n`).join('');
  const load = (header: string): string =>
    post('/pool/p/branch/main', '{a:1}').replace('\r\n\r\n', `\r\n${many}${header}\r\n\r\n`);
  const before = service.lake.lastEventId();
  const statuses = [];
  for (const header of ['If-Match: "0x1111111111111111111111111111111111111111"', 'Origin: http://evil.example'])
    statuses.push((await halfClosed(load(header))).statuses.at(-1));
  expect(statuses).toEqual([412, 403]);
  expect(service.lake.lastEventId()).toBe(before);
});
