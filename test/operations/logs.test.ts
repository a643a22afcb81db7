/**
 * The log: one JSON object a line, with the id of the request that it is about and nothing that its client sent but
 * that; of a query that failed midway and of a fault in a worker too.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { once } from 'node:events';
import { readdirSync, truncateSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Service, startBuiltService } from '../support/service/built.ts';
import { type Client, clientOf, jsonType } from '../support/service/client.ts';

type Line = Readonly<Record<string, unknown>>;
let service: Service;
let client: Client;
beforeAll(async () => {
  service = await startBuiltService({ flags: ['-log.level', 'debug', '-workers', '1'] });
  client = clientOf(service.address);
  await client.createPool('p');
  await client.load(
    'p',
    Array.from({ length: 30_000 }, (_, k) => `{"k":${k},"s":"row ${(k * 7919) % 30_000} ${k % 7}"}`).join('\n'),
  );
});
afterAll(async () => {
  client.close();
  await service.stop();
});
const ask = (
  method: string,
  path: string,
  id: string,
  body?: unknown,
  accept = 'application/json',
): ReturnType<Client['ask']> =>
  client.ask(method, path, {
    headers: { ...jsonType, accept, 'x-request-id': id },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
/** All lines but the greeting; one that is no JSON throws. */
const lines = (): readonly Line[] =>
  service
    .printed()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
const about = (id: string): readonly Line[] => lines().filter((line) => line['id'] === id);

test('each answered request is a line with its id, method, path, status and time', async () => {
  await ask('GET', '/pool/p/stats', 'one "id"\u00e9'.normalize().replace('\u00e9', 'e'));
  await expect.poll(() => about('one "id"e')).toHaveLength(1);
  expect(about('one "id"e')[0]).toEqual({
    level: 20,
    time: expect.any(Number) as unknown,
    pid: service.process.pid,
    hostname: expect.any(String) as unknown,
    id: 'one "id"e',
    method: 'GET',
    route: '/pool/:pool/stats',
    status: 200,
    ms: expect.any(Number) as unknown,
    msg: 'answered',
  });
});
test('a query that fails midway is told of with its id and error', async () => {
  const { whole } = await ask(
    'POST',
    '/query',
    'midway',
    { query: 'from p | sort k | values k < 29999 ? {a:k} : {b:k}' },
    'text/csv',
  );
  expect(whole).toBe(false);
  await expect
    .poll(() => about('midway').find(({ msg }) => msg === 'query failed while it streamed'))
    .toMatchObject({ level: 30, fault: { code: 'write-not-uniform' } });
});
test('a fault in a worker is an error of the request that met it', async () => {
  // Rows that nobody has read yet.
  await client.createPool('unread');
  await client.load(
    'unread',
    Array.from({ length: 30_000 }, (_, k) => `{"k":${k},"s":"line ${(k * 104_729) % 30_000}"}`).join('\n'),
  );
  const folder = join(service.lake, 'objects');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(files.length).toBeGreaterThan(0);
  for (const { parentPath, name } of files) truncateSync(join(parentPath, name), 100);
  const { status } = await ask('POST', '/query', 'broken', {
    query: 'from unread | where s=="nothing like it" | sum(len(s))',
  });
  expect(status).toBe(500);
  await expect
    .poll(() => about('broken').find(({ level }) => level === 50))
    .toMatchObject({ msg: 'request failed', fault: { code: 'object-corrupt' } });
});
test('a watcher that breaks the protocol is a short line, as one that leaves', async () => {
  const { hostname, port } = new URL(service.address);
  const frames = {
    long: Buffer.concat([Buffer.of(0x81, 0xff), Buffer.alloc(12, 0x7f)]),
    unmasked: Buffer.of(0x81, 1, 65),
    large: Buffer.concat([Buffer.of(0x81, 0xfe, 0xff, 0xff), Buffer.alloc(4)]),
  };
  for (const [id, frame] of Object.entries(frames)) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      `GET /inspect/feed HTTP/1.1\r\nHost: ${hostname}:${port}\r\nX-Request-ID: ${id}\r\nUpgrade: websocket\r\n` +
        'Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    await once(socket, 'data');
    socket.resume().write(frame);
    await once(socket, 'close');
    await expect.poll(() => about(id)).toMatchObject([{ level: 20, msg: 'client went away' }]);
  }
});
test('nothing of what was loaded or asked is in the log', () => {
  expect(service.printed()).not.toContain('nothing like it');
  expect(service.printed()).not.toContain('row 7');
});
