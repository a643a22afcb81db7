/** HTTP/2 over TLS: every way of a request works as over HTTP/1.1, and who misuses a session harms nobody else. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startService, type TestService } from '../support/service/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-http2-'));
const file = (name: string): string => join(folder, name);
let service: TestService;
let url: string;
let ca: Buffer;
const warnings: string[] = [];
const noteWarning = ({ message }: Error): void => {
  warnings.push(message);
};
beforeAll(async () => {
  process.on('warning', noteWarning);
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=lake', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
      ...['-keyout', file('key.pem'), '-out', file('cert.pem')],
    ],
    { stdio: 'ignore' },
  );
  ca = readFileSync(file('cert.pem'));
  service = await startService([
    ...['-tls.cert', file('cert.pem'), '-tls.key', file('key.pem'), '-workers', '1'],
    ...['-events.heartbeat', '100ms', '-connections.max', '150'],
  ]);
  url = service.server.addresses[0]!;
  expect((await ask('POST', '/pool', { body: '{name:"p",layout:{order:"asc",keys:[["k"]]}}' })).status).toBe(200);
});
afterAll(async () => {
  await service.close();
  process.off('warning', noteWarning);
  rmSync(folder, { recursive: true });
});
const sessions = new Set<ClientHttp2Session>();
afterEach(() => {
  for (const session of sessions) session.destroy();
  sessions.clear();
});

const open = (): ClientHttp2Session => {
  const session = connect(url, { ca });
  session.on('error', () => undefined);
  sessions.add(session);
  return session;
};
interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly code: number;
}
interface Asked {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}
const begin = (session: ClientHttp2Session, method: string, path: string, headers: OutgoingHttpHeaders = {}) =>
  session.request(
    { ':method': method, ':path': path, ...headers },
    { endStream: method === 'GET' || method === 'HEAD' },
  );
const answered = async (stream: ClientHttp2Stream): Promise<Answered> => {
  let headers: IncomingHttpHeaders = {};
  let body = '';
  stream.on('response', (came) => {
    headers = came;
  });
  stream.on('data', (chunk: Buffer) => {
    body += chunk.toString();
  });
  stream.on('error', () => undefined);
  if (!stream.destroyed)
    await new Promise((resolve) => {
      stream.once('close', resolve);
    });
  const status = Number((headers as { readonly ':status'?: number })[':status'] ?? 0);
  return { status, headers, body, code: stream.rstCode };
};
const askOn = (session: ClientHttp2Session, method: string, path: string, { headers, body }: Asked = {}) => {
  const stream = begin(session, method, path, headers);
  if (!stream.writableEnded) stream.end(body);
  return answered(stream);
};
const ask = async (method: string, path: string, asked?: Asked): Promise<Answered> => {
  const session = open();
  const answer = await askOn(session, method, path, asked);
  session.close();
  return answer;
};
const count = async (pool = 'p'): Promise<string> =>
  (await ask('POST', '/query', { body: `{query:"from ${pool} | count()"}` })).body;
const until = async <T>(read: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> => {
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
};
const rows = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, i) => `{k:${from + i},s:"some text of a row"}\n`).join('');

/** What Node's client does not send: frames one by one, and the end of a stream at any place. */
const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
/** A header that no table knows (RFC 7541, 6.2.2). */
const header = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
/** Opens a connection: its preface and settings. */
const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0))]);
const head = (stream: number, method: string, path: string, isWhole = false): Buffer => {
  const named = [header(':method', method), header(':scheme', 'https'), header(':authority', 'localhost')];
  return frame(1, isWhole ? 5 : 4, stream, Buffer.concat([...named, header(':path', path)]));
};
interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}
const framesOf = (bytes: Buffer): readonly Frame[] => {
  const frames = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    frames.push({
      type: bytes[at + 3]!,
      flags: bytes[at + 4]!,
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, at + 9 + bytes.readUIntBE(at, 3)),
    });
  return frames;
};
/** An answer has its end: the flag of a frame with headers or data. */
const isEnd = ({ type, flags }: Frame): boolean => type <= 1 && (flags & 1) === 1;
/** The frames of stream 1 up to its end, whichever it is. */
const framesUntilEnd = async (sent: readonly Buffer[]): Promise<readonly Frame[]> => {
  const socket = await openSocket();
  let came = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    came = Buffer.concat([came, chunk]);
  });
  // Windows of 16 MiB: nothing waits for the client.
  const windows = [frame(4, 0, 0, Buffer.from([0, 4, 1, 0, 0, 0])), frame(8, 0, 0, Buffer.from([1, 0, 0, 0]))];
  socket.write(Buffer.concat([preface, ...windows, ...sent]));
  const isReset = ({ type }: Frame): boolean => type === 3;
  const frames = await until(
    () => framesOf(came).filter(({ stream }) => stream === 1),
    (all) => all.some((each) => isEnd(each) || isReset(each)),
  );
  socket.destroy();
  return frames.slice(0, frames.findIndex((each) => isEnd(each) || isReset(each)) + 1);
};
const reset = (stream: number, code: number): Buffer => frame(3, 0, stream, Buffer.from([0, 0, 0, code]));
const openSocket = async (): Promise<TLSSocket> => {
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => undefined).resume();
  await once(socket, 'secureConnect');
  return socket;
};

describe('a session', () => {
  test('has loads, queries, pages, errors and conditions at once, as HTTP/1.1 has them', async () => {
    const session = open();
    const load = await askOn(session, 'POST', '/pool/p/branch/main', { body: rows(20_000) });
    expect([load.status, load.body]).toEqual([200, expect.stringMatching(/^\{commit:0x[0-9a-f]{40}/)]);
    const [data, status, page, none, moved, wrong, head, options, tip] = await Promise.all([
      askOn(session, 'GET', '/pool/p/branch/main/data?format=ndjson', { headers: { 'accept-encoding': 'identity' } }),
      askOn(session, 'GET', '/status'),
      askOn(session, 'GET', '/docs', { headers: { accept: 'text/html' } }),
      askOn(session, 'GET', '/nowhere'),
      askOn(session, 'GET', '//pool'),
      askOn(session, 'POST', '/query', { body: '{query:"from nobody"}' }),
      askOn(session, 'HEAD', '/pool/p/branch/main'),
      askOn(session, 'OPTIONS', '/pool'),
      askOn(session, 'GET', '/pool/p/branch/main'),
    ]);
    expect(data.body.split('\n')).toHaveLength(20_001);
    expect(data.code).toBe(constants.NGHTTP2_NO_ERROR);
    expect([status.status, status.body]).toEqual([200, 'ok']);
    expect([page.status, page.body.slice(0, 15)]).toEqual([200, '<!doctype html>']);
    expect([none.status, wrong.status, moved.status, head.status, options.status]).toEqual([404, 400, 301, 200, 204]);
    expect(head.body).toBe('');
    expect(wrong.body).toContain('nobody: pool not found');
    const same = await askOn(session, 'GET', '/pool/p/branch/main', {
      headers: { 'if-none-match': tip.headers.etag },
    });
    expect(same.status).toBe(304);
    // `Connection` is of HTTP/1.1, and Node warns of it.
    expect(warnings.filter((text) => /connection/i.test(text))).toEqual([]);
    session.close();
  });
  test('is told when its host is missing, or named twice in two ways', async () => {
    const session = open();
    const named = (headers: OutgoingHttpHeaders) => askOn(session, 'GET', '/pool/p/branch/main', { headers });
    expect((await named({ ':authority': 'localhost', host: 'localhost' })).status).toBe(200);
    const twice = await named({ ':authority': 'localhost', host: 'elsewhere' });
    expect([twice.status, twice.body]).toEqual([400, expect.stringContaining('Host')]);
    const foreign = await named({ ':authority': 'evil.example' });
    expect([foreign.status, foreign.body]).toEqual([403, expect.stringContaining('evil.example')]);
  });
  test('gets 100 Continue when its body is wanted, and the final answer else', async () => {
    const session = open();
    const expecting = { expect: '100-continue', 'content-length': 6 };
    const wanted = begin(session, 'POST', '/pool', expecting);
    const refused = answered(begin(session, 'POST', '/nowhere', expecting));
    await once(wanted, 'continue');
    const taken = answered(wanted);
    wanted.end('{a:1}\n');
    expect((await taken).status).toBe(400);
    expect((await refused).status).toBe(404);
  });
  test('shows events as they happen, heartbeats between them, and those that were missed', async () => {
    const session = open();
    const stream = begin(session, 'GET', '/events', { accept: 'application/json' });
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(headers['content-type']).toBe('text/event-stream');
    await askOn(session, 'POST', '/pool', { body: '{name:"seen"}' });
    await until(
      () => text,
      (all) => all.includes('event: pool-new') && all.endsWith(': heartbeat\n'),
    );
    stream.close();
    const again = begin(session, 'GET', '/events', { 'last-event-id': '0' });
    const [chunk] = (await once(again, 'data')) as [Buffer];
    expect(chunk.toString()).toContain('event: pool-new');
    again.close();
    // Who left is no subscriber any more.
    const subscribers = (): Promise<string> =>
      askOn(session, 'GET', '/metrics').then(({ body }) => /^lake_events_subscribers\S* (\d+)/m.exec(body)?.[1] ?? '');
    await until(subscribers, (value) => value === '0');
  });
  test('whose window takes nothing loses its subscriber when the stream is reset', async () => {
    const session = connect(url, { ca, settings: { initialWindowSize: 0 } });
    session.on('error', () => undefined);
    sessions.add(session);
    const stream = begin(session, 'GET', '/events', { 'last-event-id': '0' });
    stream.on('error', () => undefined);
    await once(stream, 'response');
    const subscribers = (): Promise<string> =>
      ask('GET', '/metrics').then(({ body }) => /^lake_events_subscribers\S* (\d+)/m.exec(body)?.[1] ?? '');
    await until(subscribers, (value) => value === '1');
    stream.close(constants.NGHTTP2_CANCEL);
    await until(subscribers, (value) => value === '0');
  });
  test('of a page has the inspector too, over a connection of its own', async () => {
    const socket = new WebSocket(`${url.replace('https', 'wss')}/inspect/feed`, { ca });
    const [data] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(data.toString())).toBeTypeOf('object');
    socket.terminate();
  });
});

describe('a body that is cut off', () => {
  const running = async (): Promise<number> => {
    const { body } = await ask('GET', '/metrics');
    return Number(/^lake_loads_running (\d+)$/m.exec(body)![1]);
  };
  /** Sends the beginning of a load, and its end when the service has begun with it. */
  const send = async (body: string, end: Uint8Array): Promise<void> => {
    const socket = await openSocket();
    socket.write(Buffer.concat([preface, head(1, 'POST', '/pool/p/branch/main'), frame(0, 0, 1, Buffer.from(body))]));
    await until(running, (loads) => loads === 1);
    socket.write(end);
    if (end.length === 0) socket.destroy();
    await until(running, (loads) => loads === 0);
    socket.destroy();
  };
  test('is committed when it is whole', async () => {
    const before = Number(await count());
    await send(rows(10, 1_000_000), frame(0, 1, 1, Buffer.alloc(0)));
    expect(Number(await count())).toBe(before + 10);
  });
  test.each([
    ['with an error', reset(1, constants.NGHTTP2_INTERNAL_ERROR)],
    ['with a word that nothing is wrong', reset(1, constants.NGHTTP2_NO_ERROR)],
    ['by who changed their mind', reset(1, constants.NGHTTP2_CANCEL)],
    ['with its connection', Buffer.alloc(0)],
  ])('%s commits nothing', async (_, end) => {
    const before = await count();
    for (const size of [10, 400]) await send(rows(size, 1_000_000), end);
    expect(await count()).toBe(before);
  });
  test('before its length is refused with its stream', async () => {
    const before = await count();
    const session = open();
    const stream = begin(session, 'POST', '/pool/p/branch/main', { 'content-length': 1000 });
    const answer = answered(stream);
    stream.end('{k:1}\n');
    expect([(await answer).status, (await answer).code]).toEqual([0, constants.NGHTTP2_PROTOCOL_ERROR]);
    expect(await count()).toBe(before);
  });
});

describe('an answer', () => {
  test('that fails behind its first byte is reset with an error, never ended', async () => {
    const text = `{query:"from p | put x:=k | sort k | yield k == 19999 ? regexp_replace(string(s),string(k)+'(','') : k"}`;
    const answer = await ask('POST', '/query?ctrl=F', { headers: { accept: 'application/x-ndjson' }, body: text });
    expect(answer.status === 200 ? answer.code : answer.status).not.toBe(constants.NGHTTP2_NO_ERROR);
  });
  test('ahead of its body ends the stream, and the session goes on', async () => {
    const session = open();
    const stream = begin(session, 'POST', '/nowhere');
    stream.on('error', () => undefined);
    stream.write(rows(50_000));
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(headers[':status']).toBe(404);
    stream.resume();
    await once(stream, 'end');
    expect((await askOn(session, 'GET', '/status')).body).toBe('ok');
  });
  test.each([
    ['GET', '/status', 200],
    ['GET', '/nowhere', 404],
    ['GET', '/openapi.json', 200],
    ['GET', '/query?query=from+p+|+head+5000&format=csv', 200],
    ['HEAD', '/status', 200],
    ['DELETE', '/pool/nobody', 404],
    ['OPTIONS', '/pool', 204],
  ])('to %s %s ends its stream by a flag, as a whole answer does', async (method, path) => {
    const frames = await framesUntilEnd([head(1, method, path, true)]);
    expect(frames.map(({ type }) => type)).not.toContain(3);
  });
  test('ahead of its body has its end before the client is told to stop', async () => {
    const frames = await framesUntilEnd([head(1, 'POST', '/nowhere'), frame(0, 0, 1, Buffer.from('{k:1}'))]);
    expect(frames.map(({ type }) => type)).not.toContain(3);
  });
  test('that nobody reads ends with its client, and holds no other stream up', async () => {
    const session = open();
    const stream = begin(session, 'GET', '/query?query=from+p+|+fork+(+pass+)+(+pass+)+(+pass+)+|+sort+k&format=json');
    stream.on('error', () => undefined);
    await once(stream, 'response');
    expect((await askOn(session, 'GET', '/status')).body).toBe('ok');
    stream.close(constants.NGHTTP2_CANCEL);
    await once(stream, 'close');
    await until(
      async () => (await askOn(session, 'GET', '/metrics')).body,
      (text) => !/^lake_queries_running\S* [1-9]/m.test(text),
    );
  });
});

test.each([
  ['the stream alone', (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ['its session', (stream: ClientHttp2Stream) => stream.session!.destroy()],
])('a query whose client ends %s before the answer began is cancelled', async (_, end) => {
  const session = open();
  const stream = begin(session, 'POST', '/query', { accept: 'application/json', 'x-request-id': 'lasting' });
  stream.on('error', () => undefined);
  stream.end('{query:"fn fib(n): (n < 2 ? n : fib(n-1)+fib(n-2)) values fib(34)"}');
  const running = async (): Promise<string> => (await ask('GET', '/metrics')).body;
  await until(running, (text) => /^lake_queries_running\S* [1-9]/m.test(text));
  end(stream);
  await until(running, (text) => /^lake_queries_total\{outcome="cancelled"\} [1-9]/m.test(text));
  await until(running, (text) => !/^lake_queries_running\S* [1-9]/m.test(text));
});

describe('a client that means harm', () => {
  const stillAnswers = async (): Promise<void> => {
    expect((await ask('GET', '/status')).body).toBe('ok');
  };
  test('resets streams as fast as it can: nothing more of its session is read', async () => {
    const socket = await openSocket();
    let came = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      came = Buffer.concat([came, chunk]);
    });
    const streams = Array.from({ length: 4000 }, (_, i) => 2 * i + 1);
    const flood = streams.flatMap((id) => [head(id, 'GET', '/status'), reset(id, constants.NGHTTP2_CANCEL)]);
    socket.write(Buffer.concat([preface, ...flood]));
    // Whether the connection is closed at once, too, is the version of Node's affair; nothing of it is read any more.
    await until(
      () => framesOf(came).find(({ type }) => type === 7),
      (goodbye) => (goodbye?.payload.readUInt32BE(4) ?? constants.NGHTTP2_NO_ERROR) !== constants.NGHTTP2_NO_ERROR,
    );
    socket.destroy();
    await stillAnswers();
  });
  test('opens more streams than there may be: they are refused, and done by who asks again', async () => {
    const events = (session: ClientHttp2Session) => {
      const stream = begin(session, 'GET', '/events');
      stream.on('error', () => undefined);
      return stream;
    };
    const [first, second] = [open(), open()];
    await Promise.all([once(first, 'remoteSettings'), once(second, 'remoteSettings')]);
    expect(first.remoteSettings.maxConcurrentStreams).toBe(100);
    const streams = [
      ...Array.from({ length: 100 }, () => events(first)),
      ...Array.from({ length: 60 }, () => events(second)),
    ];
    // 150 of all sessions.
    await until(
      () => streams.filter(({ closed }) => closed).length,
      (refused) => refused >= 10,
    );
    const refused = streams.filter(({ closed }) => closed);
    expect(new Set(refused.map(({ rstCode }) => rstCode))).toEqual(new Set([constants.NGHTTP2_REFUSED_STREAM]));
    first.destroy();
    await until(
      () => askOn(second, 'GET', '/status'),
      ({ body }) => body === 'ok',
    );
  });
  test('sends headers without an end, or what is no HTTP/2: refused', async () => {
    const session = open();
    const long = await askOn(session, 'GET', '/status', { headers: { 'x-long': 'x'.repeat(200_000) } }).catch(() => ({
      status: 0,
    }));
    expect([0, 431]).toContain(long.status);
    const socket = await openSocket();
    socket.end('GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'close');
    await stillAnswers();
  });
});

test('connections of both kinds are counted and end with the service, which lets streams finish', async () => {
  const own = await startService(['-tls.cert', file('cert.pem'), '-tls.key', file('key.pem'), '-workers', '1']);
  const session = connect(own.server.addresses[0]!, { ca });
  session.on('error', () => undefined);
  const subscriber = begin(session, 'GET', '/events');
  await once(subscriber, 'response');
  const { body } = await askOn(session, 'GET', '/metrics');
  expect(/^lake_http_connections\S* (\d+)$/m.exec(body)?.[1]).toBe('1');
  const load = begin(session, 'POST', '/query');
  const answer = answered(load);
  load.end('{query:"values 1"}');
  const [done, end] = [await answer, answered(subscriber)];
  expect(done.body).toBe('1\n');
  const closed = once(session, 'close');
  await own.close();
  await closed;
  expect((await end).code).toBe(constants.NGHTTP2_NO_ERROR);
});

test('connections that never end by themselves end with the grace of a shutdown', async () => {
  const own = await startService([
    ...['-tls.cert', file('cert.pem'), '-tls.key', file('key.pem'), '-workers', '1', '-shutdown.grace', '300ms'],
  ]);
  const port = Number(new URL(own.server.addresses[0]!).port);
  // One that never says hello, and one that never answers the goodbye of its session.
  const silent = connectTcp({ port, host: '127.0.0.1' });
  const unread = connectTls({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
  await Promise.all([once(silent, 'connect'), once(unread, 'secureConnect')]);
  unread.write(Buffer.concat([preface, head(1, 'GET', '/status', true)]));
  await once(unread, 'data');
  unread.pause();
  const ends = [silent, unread].map((socket) => {
    socket.on('error', () => undefined);
    return once(socket, 'close');
  });
  await own.close();
  silent.resume();
  unread.destroy();
  await Promise.all(ends);
});

describe.skipIf(process.env['NO_SKIPS'] === undefined && spawnSync('curl', ['--version']).status !== 0)('curl', () => {
  const curl = (...flags: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = spawn('curl', ['-s', '--cacert', file('cert.pem'), ...flags]);
      let out = '';
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
      });
      child.on('error', reject);
      child.on('close', () => {
        resolve(out);
      });
    });
  test.each([
    ['--http2', '2'],
    ['--http1.1', '1.1'],
  ])('%s loads, queries and hears events', async (version, spoken) => {
    const said = (...flags: readonly string[]): Promise<string> => curl(version, '-w', ' %{http_version}', ...flags);
    writeFileSync(file('large.ndjson'), rows(60_000, 2_000_000).replaceAll(/\{k:(\d+),s:/g, '{"k":$1,"s":'));
    expect(await said(`${url}/status`)).toBe(`ok ${spoken}`);
    expect(await said('--data-binary', `@${file('large.ndjson')}`, `${url}/pool/p/branch/main`)).toMatch(
      /^\{commit:0x/,
    );
    expect(await said(`${url}/query?query=from+p|count()&format=json`)).toMatch(/^\[\d+\]\n /);
    expect((await said(`${url}/pool/p/branch/main/data?format=csv`)).split('\n').length).toBeGreaterThan(60_000);
    expect(await said('-N', '--max-time', '1', '-H', 'Last-Event-ID: 0', `${url}/events`)).toContain('event: pool-new');
    // An answer that comes ahead of a body.
    expect(
      await said(
        '--data-binary',
        `@${file('large.ndjson')}`,
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        `${url}/nowhere`,
      ),
    ).toContain('404');
  });
});
