import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { type TestService, startService } from '../../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService(['-query.status.ttl', '300ms']);
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["a"]]}}' });
  await service.ask('POST', '/pool/p/branch/main', { body: '{a:1}{a:2}' });
});
afterAll(() => service?.close());

/** Sends raw bytes and gives all that comes back until the connection ends. */
const raw = async (text: string): Promise<string> => {
  const socket = open();
  socket.write(text);
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString();
  });
  await once(socket, 'close');
  return got;
};
const open = (): Socket => {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  return socket;
};
const until = async (what: string, holds: () => boolean): Promise<void> => {
  const end = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited too long until ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
};
const endless = JSON.stringify({
  query: 'from p | values {a} | cross join (from p) as {l,r} | cross join (from p) as {l,r} | sort this | head 1',
});

describe('answers that stream', () => {
  test('a failure after the first row delivers what came before and ends without the last chunk', async () => {
    const body = '{query:"values {a:1},{b:2}"}';
    const got = await raw(
      `POST /query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Request-Id: late\r\nAccept: text/csv\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(got).toContain('HTTP/1.1 200 OK');
    expect(got).toContain('a\n1\n');
    expect(got.endsWith('0\r\n\r\n')).toBe(false);
    expect((await service.ask('GET', '/query/status/late', { headers: { accept: 'application/json' } })).body).toBe(
      '{"error":"CSV output requires uniform records but multiple types encountered (consider \'fuse\')"}\n',
    );
  });
  test('the status of a query is forgotten after its time', async () => {
    await service.ask('POST', '/query', { headers: { 'x-request-id': 'short' }, body: '{query:"values 1"}' });
    expect((await service.ask('GET', '/query/status/short')).status).toBe(200);
    await new Promise((resolve) => {
      setTimeout(resolve, 500);
    });
    expect((await service.ask('GET', '/query/status/short')).status).toBe(400);
  });
  test('a client that goes away cancels its query', async () => {
    await service.ask('POST', '/pool', { body: '{name:"many",layout:{keys:[["a"]]}}' });
    await service.ask('POST', '/pool/many/branch/main', {
      body: Array.from({ length: 20_000 }, (_, a) => `{a:${a}}`).join('\n'),
    });
    const socket = open();
    const body = endless.replaceAll('from p', 'from many');
    socket.write(
      `POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until('the query runs', () => service.workers.status().queriesRunning > 0);
    socket.destroy();
    await until('no query runs any more', () => service.workers.status().queriesRunning === 0);
  });
});

describe('bodies', () => {
  test('a client that goes away in the middle of a load commits nothing', async () => {
    const before = service.lake.lastEventId();
    const socket = open();
    socket.write('POST /pool/p/branch/main HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{a:1}{a:2}');
    await until('the load runs', () => service.workers.status().loadsRunning > 0);
    socket.destroy();
    await until('no load runs any more', () => service.workers.status().loadsRunning === 0);
    expect(service.lake.lastEventId()).toBe(before);
  });
  test('a client that waits for 100 Continue gets it', async () => {
    const socket = open();
    socket.write(
      'POST /pool/p/branch/main HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{a:7}');
    const [second] = (await once(socket, 'data')) as [Buffer];
    expect(second.toString()).toContain('200 OK');
    socket.destroy();
  });
  test('a control body beyond the limit is a 413, and the connection goes on', async () => {
    const answer = await service.ask('POST', '/pool', { body: `{name:"${'x'.repeat(2 ** 20)}"}` });
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 413,
      body: '{"type":"Error","kind":"payload too large","error":"request body: longer than 1048576 bytes (option -body.max)"}\n',
    });
    expect((await service.ask('GET', '/status')).body).toBe('ok');
  });
});

describe('requests that are none', () => {
  test('headers beyond the limit are a 431', async () => {
    const got = await raw(`GET /version HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'b'.repeat(1_200_000)}\r\n\r\n`);
    expect(got.startsWith('HTTP/1.1 431 Request Header Fields Too Large\r\n')).toBe(true);
  });
  test('a path of 100,000 letters is looked up', async () => {
    expect((await service.ask('GET', `/pool/${'a'.repeat(100_000)}/branch/main`)).status).toBe(404);
  });
  test('noise is a 400 that says what is wrong', async () => {
    const got = await raw('nonsense\r\n\r\n');
    expect(got.startsWith('HTTP/1.1 400 Bad Request\r\n')).toBe(true);
    expect(got).toMatch(/\r\n\r\n400 Bad Request: Invalid method encountered$/);
    // A blank that was not escaped.
    expect(await raw('GET /query?query=from p HTTP/1.1\r\nHost: localhost\r\n\r\n')).toMatch(
      /\r\n\r\n400 Bad Request: Expected HTTP\/.*$/,
    );
  });
});

test('figures are in the text format of Prometheus', async () => {
  const { body, headers } = await service.ask('GET', '/metrics');
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(body).toMatch(/^lake_http_requests_total\{method="POST",route="\/query",status="200"\} \d+$/m);
  expect(body).toMatch(/^lake_pools \d+$/m);
});
