/**
 * Answers that come before the request's body has ended: each client gets to see them, whatever it sends meanwhile. The
 * bodies are longer than all buffers of a connection, so that a service that stopped reading, or ended the connection
 * with bytes unread, would make the client fail as it sends.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacksPython } from '../support/python.ts';
import { type TestService, startService } from '../support/service/server.ts';

const bodyBytes = 16 << 20;
let service: TestService;
let guarded: TestService;
let folder = '';
let file = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lake-early-'));
  file = join(folder, 'body');
  // A text that does not end.
  writeFileSync(file, `"${'x'.repeat(bodyBytes - 1)}`);
  service = await startService(['-value.max', '1MiB']);
  guarded = await startService(['-auth.keys']);
  await service.ask('POST', '/pool', { body: '{name:"p"}' });
});
afterAll(async () => {
  await service?.close();
  await guarded?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Refusal {
  readonly why: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly text: string;
  readonly guarded?: true;
}
const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const refusals: readonly Refusal[] = [
  {
    why: 'a control body over its limit',
    path: '/pool',
    headers: json,
    status: 413,
    text: 'request body: longer than 1048576 bytes (option -body.max)',
  },
  {
    why: 'a load of an endless line',
    path: '/pool/p/branch/main',
    headers: json,
    status: 413,
    text: 'more than 1048576 bytes',
  },
  {
    why: 'a load into a pool that is not there',
    path: '/pool/nope/branch/main',
    headers: json,
    status: 404,
    text: 'nope: pool not found',
  },
  {
    why: 'a load of an unknown media type',
    path: '/pool/p/branch/main',
    headers: { ...json, 'content-type': 'application/xml' },
    status: 400,
    text: 'unsupported MIME type: application/xml',
  },
  {
    why: 'a load without a token',
    path: '/pool/p/branch/main',
    headers: json,
    status: 401,
    text: 'no token present in request',
    guarded: true,
  },
  {
    why: 'a method that the path does not have',
    path: '/events',
    headers: json,
    status: 405,
    text: 'method not allowed',
  },
];
const urlOf = ({ path, guarded: isGuarded }: Refusal): string => `${(isGuarded ? guarded : service).url}${path}`;

/** What a client saw: the status, or the fault that it met instead, and the body. */
interface Seen {
  readonly status: number | string;
  readonly body: string;
}
type Ask = (refusal: Refusal) => Promise<Seen>;
const run = promisify(execFile);

const curl =
  (...more: readonly string[]): Ask =>
  async (refusal) => {
    const headers = Object.entries(refusal.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const { stdout } = await run('curl', [
      '-m',
      '20',
      '-sS',
      '-X',
      'POST',
      '-w',
      '\n%{http_code}',
      ...headers,
      ...more,
      urlOf(refusal),
    ]).catch((fault: { readonly stderr: string }) => ({ stdout: `${fault.stderr}\n-1` }));
    const at = stdout.lastIndexOf('\n');
    return { status: Number(stdout.slice(at + 1)), body: stdout.slice(0, at) };
  };
const python =
  (script: string): Ask =>
  async (refusal) => {
    const { stdout } = await run('python3', ['-c', script, urlOf(refusal), file, JSON.stringify(refusal.headers)], {
      timeout: 20_000,
    }).catch((fault: { readonly stderr: string }) => ({ stdout: fault.stderr }));
    const at = stdout.indexOf('\n');
    return { status: Number(stdout.slice(0, at)), body: stdout.slice(at + 1) };
  };
const pythonHead =
  'import sys, json, http.client, urllib.request, urllib.error, urllib.parse\nurl, path, headers = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])\n';
const httpClient = (chunked: boolean): string => `${pythonHead}u = urllib.parse.urlparse(url)
c = http.client.HTTPConnection(u.hostname, u.port)
body = open(path, 'rb')
c.request('POST', u.path, body=${chunked ? 'iter(lambda: body.read(65536), b""), encode_chunked=True' : 'body'}, headers=dict(headers, **${chunked ? '{"Transfer-Encoding": "chunked"}' : `{"Content-Length": "${bodyBytes}"}`}))
r = c.getresponse()
print(r.status)
print(r.read().decode())
c.request('GET', '/status')
assert c.getresponse().read() == b'ok'
`;
const urllib = `${pythonHead}try:
  urllib.request.urlopen(urllib.request.Request(url, data=open(path, 'rb').read(), headers=headers))
except urllib.error.HTTPError as e:
  print(e.code)
  print(e.read().decode())
`;
const viaFetch =
  (body: () => NonNullable<RequestInit['body']>): Ask =>
  async (refusal) => {
    const answer = await fetch(urlOf(refusal), {
      method: 'POST',
      headers: refusal.headers,
      body: body(),
      duplex: 'half',
    } as RequestInit);
    return { status: answer.status, body: await answer.text() };
  };
const viaHttp =
  (headers: Readonly<Record<string, string>>): Ask =>
  (refusal) =>
    new Promise((resolve, reject) => {
      const agent = new Agent({ keepAlive: true });
      const sent = httpRequest(
        urlOf(refusal),
        { method: 'POST', agent, headers: { ...refusal.headers, ...headers } },
        (response) => {
          let body = '';
          response
            .setEncoding('utf8')
            .on('data', (text: string) => {
              body += text;
            })
            .on('error', reject)
            .on('end', () => {
              resolve({ status: response.statusCode!, body });
              agent.destroy();
            });
        },
      );
      sent.on('error', reject);
      createReadStream(file).pipe(sent);
    });
/** Sends all of it before it reads a byte, as many a simple client does. */
const socket: Ask = async (refusal) => {
  const { port, pathname } = new URL(urlOf(refusal));
  const raw = connect(Number(port), '127.0.0.1').pause();
  const head = Object.entries({ host: 'localhost', ...refusal.headers, 'content-length': String(bodyBytes) })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  let fault = '';
  raw.on('error', (error: NodeJS.ErrnoException) => {
    fault = error.code ?? error.message;
  });
  raw.write(`POST ${pathname} HTTP/1.1\r\n${head}\r\n`);
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>)
    if (fault === '' && !raw.write(chunk)) await Promise.race([once(raw, 'drain'), once(raw, 'close')]);
  let got = '';
  raw
    .on('data', (chunk: Buffer) => {
      got += chunk.toString();
    })
    .resume();
  if (!raw.destroyed) await once(raw, 'close');
  return { status: fault || Number(/^HTTP\/1\.1 (\d+)/.exec(got)?.[1]), body: got };
};

const withoutPython = lacksPython('http.client');
const clients: Readonly<Record<string, { readonly ask: Ask; readonly lacking?: boolean }>> = {
  curl: { ask: (refusal) => curl('--data-binary', `@${file}`)(refusal) },
  'curl without Expect': { ask: (refusal) => curl('-H', 'Expect:', '--data-binary', `@${file}`)(refusal) },
  'curl, in chunks': {
    ask: (refusal) => curl('-H', 'Expect:', '-H', 'Transfer-Encoding: chunked', '--data-binary', `@${file}`)(refusal),
  },
  'curl -T': { ask: (refusal) => curl('-T', file)(refusal) },
  'http.client of Python': { ask: python(httpClient(false)), lacking: withoutPython },
  'http.client of Python, in chunks': { ask: python(httpClient(true)), lacking: withoutPython },
  'urllib of Python': { ask: python(urllib), lacking: withoutPython },
  fetch: { ask: viaFetch(() => Buffer.alloc(bodyBytes, 'x').fill('"', 0, 1)) },
  'fetch of a stream': { ask: viaFetch(() => Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>) },
  'node:http': { ask: viaHttp({ 'content-length': String(bodyBytes) }) },
  'node:http, in chunks': { ask: viaHttp({ 'transfer-encoding': 'chunked' }) },
  'a socket that sends first': { ask: socket },
};

for (const [client, { ask, lacking }] of Object.entries(clients)) {
  describe.skipIf(lacking ?? false)(client, () => {
    test.each(refusals)('$why: $status', async (refusal) => {
      const { status, body } = await ask(refusal);
      expect({ status, body }).toEqual({
        status: refusal.status,
        body: expect.stringContaining(refusal.text) as unknown,
      });
    });
  });
}

describe('on the wire', () => {
  /**
   * Sends pieces, the later ones when something has come, and gives what came until the service ended the connection,
   * or fell silent.
   */
  const exchange = async (...pieces: readonly string[]): Promise<string> => {
    const raw = connect(Number(new URL(service.url).port), '127.0.0.1');
    let got = '';
    raw
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        got += chunk.toString();
        const [next] = rest.splice(0, 1);
        if (next !== undefined) raw.write(next);
      });
    const rest = [...pieces];
    raw.write(rest.shift()!);
    await once(raw, 'close');
    return got;
  };
  const statuses = (got: string): readonly string[] =>
    [...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!);
  const post = (path: string, headers: string): string => `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
  const status = 'GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

  test('who waits for 100 Continue gets the refusal in its place, and the body where it is wanted', async () => {
    const expecting = (path: string, length: number): string =>
      post(path, `Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`);
    expect(statuses(await exchange(expecting('/pool/nope/branch/main', 5)))).toEqual(['404']);
    expect(statuses(await exchange(expecting('/pool', 2_000_000)))).toEqual(['413']);
    expect(statuses(await exchange(expecting('/pool/p/branch/main', 7), '{"k":1}', status))).toEqual([
      '100',
      '200',
      '200',
    ]);
    expect(statuses(await exchange(expecting('/query', 20), '{"query":"values 1"}', status))).toEqual([
      '100',
      '200',
      '200',
    ]);
  });
  test('a short body is waited for, and the connection goes on', async () => {
    const got = await exchange(
      post('/pool/nope/branch/main', 'Content-Length: 30000\r\n'),
      'x'.repeat(30_000) + status,
    );
    expect(statuses(got)).toEqual(['404', '200']);
    expect(got.split('\r\n\r\n')[0]).toMatch(/connection: keep-alive/i);
  });
  test('behind a long one the answer is the last, and what follows is not done', async () => {
    const removal = 'DELETE /pool/p HTTP/1.1\r\nHost: localhost\r\n\r\n';
    for (const [headers, body] of [
      ['Content-Length: 70000\r\n', 'x'.repeat(70_000)],
      ['Transfer-Encoding: chunked\r\n', '5\r\nxxxxx\r\n0\r\n\r\n'],
    ] as const) {
      const got = await exchange(post('/pool/nope/branch/main', headers), body + removal);
      expect(statuses(got)).toEqual(['404']);
      expect(got).toMatch(/connection: close/i);
    }
    expect(await service.query('from p | count()')).toBe('1\n');
  });
  test('a client that sends no more is not waited for without end', async () => {
    expect(statuses(await exchange(post('/pool/nope/branch/main', 'Content-Length: 70000\r\n')))).toEqual(['404']);
    expect(statuses(await exchange(post('/pool/nope/branch/main', 'Content-Length: 30000\r\n')))).toEqual(['404']);
  });
});
