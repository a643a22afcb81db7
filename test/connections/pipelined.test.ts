/** Requests that a client sends on one connection without waiting for answers (RFC 9112, 9.3.2). */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestService, startService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService([]);
});
afterAll(async () => {
  await service?.close();
});

const request = (method: string, path: string, body = '', last = false): string =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/x-ndjson\r\n${last ? 'Connection: close\r\n' : ''}Content-Length: ${body.length}\r\n\r\n${body}`;
/** The answers to all of them, sent in one piece, as statuses and last lines of bodies. */
const answersTo = async (...requests: readonly string[]): Promise<string> => {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(requests.join(''));
  return text(socket);
};
const statuses = (answers: string): readonly number[] =>
  [...answers.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((found) => Number(found[1]));

test('each change begins when the one before it has ended', async () => {
  const answers = await answersTo(
    request('POST', '/pool', '{name:"p"}'),
    request('POST', '/pool/p/branch/main', '{ts:1}'),
    request('POST', '/pool/p/branch/main/delete', '{where:"true"}'),
    request('POST', '/pool/p/branch/main', '{ts:2}'),
    request('GET', '/query?query=from+p'),
    request('GET', '/query?query=from+p|count()|values+{n:this}'),
    request('DELETE', '/pool/p'),
    request('GET', '/pool/p/stats', '', true),
  );
  expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 200, 204, 404]);
  expect(answers).toContain('{"ts":2}');
  expect(answers).toContain('{"n":1}');
});
test('many requests behind a long one are all answered, in their order', async () => {
  const count = 100;
  // More than are parsed in one piece.
  const versions = 3000;
  const numbers = Array.from({ length: count }, (_, i) => i);
  const answers = await answersTo(
    request('POST', '/query', '{query:"select count(*) as other from range(2000000) t(a) where a % 7 = 1"}'),
    ...Array.from({ length: versions }, () => request('GET', '/version')),
    ...numbers.map((i) => request('GET', `/query?query=values+{n:${i}}`, '', i === count - 1)),
  );
  expect(statuses(answers)).toEqual(Array.from({ length: count + versions + 1 }, () => 200));
  expect([...answers.matchAll(/^\{"n":(\d+)\}$/gm)].map((found) => Number(found[1]))).toEqual(numbers);
});
test('a body behind a change is read when its turn has come', async () => {
  await service.ask('POST', '/pool', { body: '{name:"q"}' });
  const rows = '{ts:1}\n'.repeat(100_000);
  const answers = await answersTo(
    request('POST', '/pool/q/branch/main', rows),
    request('POST', '/pool/q/branch/main', rows),
    request('GET', '/query?query=from+q|count()|values+{n:this}', '', true),
  );
  expect(statuses(answers)).toEqual([200, 200, 200]);
  expect(answers).toContain('{"n":200000}');
});
test('what waits when its connection is gone never begins', async () => {
  await service.ask('POST', '/pool', { body: '{name:"r"}' });
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    request('POST', '/query', '{query:"select count(*) as n from range(30000000) t(a) where a % 7 = 1"}') +
      request('POST', '/pool/r/branch/main', '{ts:1}'),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  socket.resetAndDestroy();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(
    (await service.ask('GET', '/query?query=from+r|count()', { headers: { accept: 'application/json' } })).body,
  ).toContain('[0]');
});
