/** What every answer has, whatever was asked: an X-Request-Id, and a content type where it is not 2xx. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from 'node:net';
import { type TestService, startService } from '../../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
/** Sends bytes and reads to the end of the connection. */
const raw = (bytes: string): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    let text = '';
    socket
      .setEncoding('latin1')
      .on('data', (chunk: string) => {
        text += chunk;
      })
      .on('error', reject)
      .on('close', () => {
        const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s);
        const [line = '', ...lines] = head.split('\r\n');
        resolve({
          status: Number(line.split(' ')[1]),
          headers: Object.fromEntries(
            lines.map((l) => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 2)]),
          ),
          body,
        });
      });
    socket.write(bytes);
  });
const host = 'Host: localhost\r\n';
const close = 'Connection: close\r\n';

const requests: readonly (readonly [what: string, bytes: string, status: number])[] = [
  ['no Host', `GET /version HTTP/1.1\r\n${close}\r\n`, 400],
  ['no Host, to a write', `POST /pool HTTP/1.1\r\n${close}Content-Length: 8\r\n\r\n{name:1}`, 400],
  ['two Hosts', `GET /version HTTP/1.1\r\n${host}${host}${close}\r\n`, 400],
  [
    'an expectation that nobody knows',
    `POST /query HTTP/1.1\r\n${host}Expect: a-miracle\r\n${close}Content-Length: 0\r\n\r\n`,
    417,
  ],
  ['a path that nobody knows', `GET /nope HTTP/1.1\r\n${host}${close}\r\n`, 404],
  ['a method that the path has not', `PUT /query HTTP/1.1\r\n${host}${close}\r\n`, 405],
  ['a path to be cleaned', `POST //pool HTTP/1.1\r\n${host}${close}Content-Length: 0\r\n\r\n`, 301],
  ['a path that is no path', `GET /%zz HTTP/1.1\r\n${host}${close}\r\n`, 400],
  ['the server as a whole, of which nothing can be read', `GET * HTTP/1.1\r\n${host}${close}\r\n`, 404],
  ['a tunnel', `CONNECT example.com:443 HTTP/1.1\r\n${host}\r\n`, 405],
  ['what is no HTTP', 'hello?\r\n\r\n', 400],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['a header that is too long', `GET /version HTTP/1.1\r\n${host}X: ${'x'.repeat(2 << 20)}\r\n\r\n`, 431],
  [
    'a coding of the transfer that nobody knows',
    `POST /query HTTP/1.1\r\n${host}${close}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    501,
  ],
  ['another host', `POST /query HTTP/1.1\r\nHost: evil.example\r\n${close}Content-Length: 0\r\n\r\n`, 403],
];
test.each(requests)('%s', async (_what, bytes, status) => {
  const answer = await raw(bytes);
  expect({ status: answer.status, headers: answer.headers }).toEqual({
    status,
    headers: expect.objectContaining({
      'x-request-id': expect.stringMatching(/^[0-9A-Za-z]{27}$/),
      'content-type': expect.stringMatching(/^(application\/json|text\/plain; charset=utf-8)$/),
    }),
  });
  expect(answer.body).not.toBe('');
});

test('the texts of what a head lacks', async () => {
  const errorOf = async (bytes: string): Promise<unknown> =>
    (JSON.parse((await raw(bytes)).body) as { readonly error: string }).error;
  expect(await errorOf(requests[0]![1])).toBe('missing Host header');
  expect(await errorOf(requests[3]![1])).toBe('Expect: unknown expectation a-miracle, only 100-continue is supported');
});

test('HTTP/1.0 needs no Host, and what is open has an id too', async () => {
  expect(await raw('GET /status HTTP/1.0\r\nX-Request-Id: mine\r\n\r\n')).toMatchObject({
    status: 200,
    headers: { 'x-request-id': 'mine' },
    body: 'ok',
  });
});
