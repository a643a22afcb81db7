/**
 * Clients that send or take little: alone they are left alone, and where others need their place or their memory the
 * slowest goes.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'vitest';
import { type Answer, type TestService, startService } from '../support/service/server.ts';

/** For what comes as soon as the machine has time for it. */
const soon = { timeout: 30_000 } as const;
const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const chunked = 'Transfer-Encoding: chunked\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const rows = (count: number): string =>
  Array.from({ length: count }, (_, k) => `{"k":${k},"s":"${'x'.repeat(90)}"}\n`).join('');
const errorOf = ({ status, body }: Answer): string => `${status} ${(JSON.parse(body) as { error: string }).error}`;

/** A service, and clients of it that do what a test tells them; all end with the test. */
const begin = async ({ expect, onTestFinished }: TestContext, ...flags: readonly string[]) => {
  const service = await startService(['-workers', '1', ...flags]);
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await service.close();
  });
  await service.ask('POST', '/pool', { headers: json, body: '{"name":"p","layout":{"keys":[["k"]]}}' });
  const send = (head: string, text = ''): { readonly socket: Socket; readonly got: () => string } => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    let got = '';
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .on('data', (data: Buffer) => {
        got += data.toString();
      });
    socket.write(`${head}\r\n${text}`.replace('\r\n', '\r\nHost: localhost\r\n'));
    return { socket, got: () => got };
  };
  const load = (): Promise<Answer> => service.ask('POST', '/pool/p/branch/main', { headers: json, body: rows(2000) });
  const query = (text = 'values 1'): Promise<Answer> =>
    service.ask('POST', '/query', { headers: json, body: JSON.stringify({ query: text }) });
  /** Asks again as long as there is no room. */
  const untilDone = (ask: () => Promise<Answer>): Promise<void> =>
    expect
      .poll(
        () =>
          ask().then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 50_000, interval: 300 },
      )
      .toBe(200);
  return { service, send, load, query, untilDone, expect };
};
const allTasks = (service: TestService): number => service.workers.threads().reduce((sum, { tasks }) => sum + tasks, 0);
const count = async ({ query }: Awaited<ReturnType<typeof begin>>): Promise<string> =>
  (await query('from p | count()')).body;

describe.concurrent('slow clients', { timeout: 300_000 }, () => {
  test('what was asked in a row on one connection ends with it, also what waits for its turn', async (context) => {
    const all = await begin(context, '-tasks.max', '64');
    const { service, send, load, expect } = all;
    for (let i = 0; i < 20; i++) await load();
    // Requests that only read run beside each other.
    const query = 'GET /query?query=from+p HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const events = 'GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const { socket } = send('GET /query?query=from+p HTTP/1.1', '\r\n');
    socket.pause();
    socket.write(query.repeat(20) + events.repeat(5));
    const subscribers = async (): Promise<string | undefined> =>
      /lake_events_subscribers (\d+)/.exec((await service.ask('GET', '/metrics')).body)?.[1];
    await expect.poll(() => allTasks(service), soon).toBe(21);
    await expect.poll(subscribers, soon).toBe('5');
    socket.destroy();
    await expect.poll(() => allTasks(service), soon).toBe(0);
    await expect.poll(subscribers, soon).toBe('0');
    expect(await count(all)).toContain('40000');
  });

  test('loads of which little has come take no place', async (context) => {
    const all = await begin(context, '-tasks.max', '8');
    const { service, send, load, expect } = all;
    const drips = Array.from({ length: 40 }, (_, i) =>
      send(
        `POST /pool/p/branch/main HTTP/1.1\r\n${i % 2 === 0 ? chunked : 'Content-Length: 1000000\r\n'}`,
        i % 2 === 0 ? chunk('{') : '{',
      ),
    );
    await expect.poll(() => service.workers.status().loadsRunning, soon).toBe(40);
    expect(allTasks(service)).toBe(0);
    expect([(await load()).status, await count(all)]).toEqual([200, '[2000]\n']);
    // They are not ended for it.
    for (const { socket } of drips) socket.write(chunk(' '));
    expect([service.workers.status().loadsRunning, drips.filter(({ got }) => got() !== '').length]).toEqual([40, 0]);
    for (const { socket } of drips) socket.destroy();
    await expect.poll(() => service.workers.status().loadsRunning, soon).toBe(0);
  });

  test('loads that stop keep their places until another load needs one; queries have places of their own', async (context) => {
    const all = await begin(context, '-tasks.max', '8');
    const { service, send, load, query, untilDone, expect } = all;
    const stopped = Array.from({ length: 6 }, () =>
      send(`POST /pool/p/branch/main HTTP/1.1\r\nContent-Type: application/json\r\n${chunked}`, chunk(rows(3000))),
    );
    await expect.poll(() => allTasks(service), soon).toBe(6);
    expect(errorOf(await load())).toBe('503 too many concurrent loads: limit 6 (option -tasks.max 8)');
    expect((await query()).body).toBe('[1]\n');
    await untilDone(load);
    const ended = stopped.filter(({ got }) => got() !== '');
    expect(ended.map(({ got }) => /^HTTP\/1\.1 (\d+)/.exec(got())?.[1])).toEqual(['408']);
    expect(ended[0]!.got()).toMatch(
      /"error":"request body is too slow: \d+ bytes\/s, at least 1024 while others wait \(option -rate\.min\)"/,
    );
    // Who goes on is in time.
    for (const { socket, got } of stopped) if (got() === '') socket.write('0\r\n\r\n');
    await expect.poll(() => stopped.filter(({ got }) => got().startsWith('HTTP/1.1 200')).length, soon).toBe(5);
    expect(await count(all)).toBe(`[${5 * 3000 + 2000}]\n`);
  });

  test('queries whose answers are not read keep their places until another query needs one; loads have places of their own', async (context) => {
    const { service, send, load, query, untilDone, expect } = await begin(
      context,
      '-tasks.max',
      '8',
      '-query.status.ttl',
      '60s',
    );
    const body = '{"query":"from p | fork (pass) (pass) (pass)"}';
    await service.ask('POST', '/pool/p/branch/main', { headers: json, body: rows(60_000) });
    const unread = Array.from({ length: 6 }, (_, i) =>
      send(
        `POST /query HTTP/1.1\r\nX-Request-Id: unread ${i}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`,
        body,
      ),
    );
    for (const { socket } of unread) socket.pause();
    await expect.poll(() => service.workers.status().queriesRunning, soon).toBe(6);
    expect(errorOf(await query())).toBe('503 too many concurrent queries: limit 6 (option -tasks.max 8)');
    expect((await load()).status).toBe(200);
    await untilDone(query);
    const errors = await Promise.all(
      unread.map(
        async (_, i) =>
          (
            JSON.parse((await service.ask('GET', `/query/unread%20${i}`, { headers: json })).body) as {
              error: string | null;
            }
          ).error,
      ),
    );
    expect(errors.filter((error) => error !== null)).toEqual([
      expect.stringMatching(
        /^client reads too slowly: \d+ bytes\/s, at least 1024 while others wait \(option -rate\.min\)$/,
      ),
    ]);
    expect(service.workers.status().queriesRunning).toBe(5);
    // Its connection has ended without the last chunk; those of the others go on.
    const ends = unread.map(({ socket, got }) =>
      once(socket.resume(), 'close').then(() => got().endsWith('0\r\n\r\n')),
    );
    await expect.poll(() => service.workers.status().queriesRunning, { timeout: 20_000 }).toBe(0);
    for (const { socket } of unread) socket.end();
    expect((await Promise.all(ends)).filter((isWhole) => !isWhole).length).toBe(1);
  });

  test('with -rate.min 0 nobody is ended', async (context) => {
    const { service, send, load, expect } = await begin(context, '-tasks.max', '2', '-rate.min', '0');
    send(`POST /pool/p/branch/main HTTP/1.1\r\n${chunked}`, chunk(rows(3000)));
    await expect.poll(() => allTasks(service), soon).toBe(1);
    await new Promise((resolve) => {
      setTimeout(resolve, 7000);
    });
    expect(errorOf(await load())).toBe('503 too many concurrent loads: limit 1 (option -tasks.max 2)');
  });

  test('unfinished control bodies hold so much memory together; short ones are always read', async (context) => {
    const { service, send, query, untilDone, expect } = await begin(context);
    const long = `{"query":"values 1${' '.repeat(900_000)}"}`;
    const ask = (): Promise<Answer> => service.ask('POST', '/query', { headers: json, body: long });
    const stalled = Array.from({ length: 40 }, (_, i) =>
      send(
        `POST /query HTTP/1.1\r\nContent-Type: application/json\r\n${i % 2 === 0 ? 'Content-Length: 1000000\r\n' : chunked}`,
        i % 2 === 0 ? long : chunk(long.slice(0, -1)),
      ),
    );
    const answered = (status: number): number =>
      stalled.filter(({ got }) => got().startsWith(`HTTP/1.1 ${status} `)).length;
    await expect.poll(() => answered(503), soon).toBeGreaterThan(0);
    expect(stalled.find(({ got }) => got() !== '')!.got()).toContain(
      '"error":"too many unfinished request bodies: limit 33554432 bytes"',
    );
    expect((await query()).body).toBe('[1]\n');
    await untilDone(ask);
    expect(answered(408)).toBeGreaterThan(0);
  });
});

test('at the limit of connections those go that do nothing', async (context) => {
  const { service, send, untilDone, expect } = await begin(context, '-connections.max', '20');
  const idle = Array.from({ length: 30 }, () => send('GET /version HTTP/1.1\r\nX: '));
  // One of less than a second is not idle: those that came first have their second.
  await untilDone(() => service.ask('GET', '/version'));
  expect(idle.filter(({ socket }) => !socket.destroyed).length).toBeLessThan(30);
  // That one's own connection may have been cut for another.
  await expect
    .poll(
      () =>
        service.ask('GET', '/metrics').then(
          ({ body }) => body,
          () => '',
        ),
      soon,
    )
    .toMatch(/^lake_http_connections_cut_total\{reason="full"\} [1-9]/m);
});
