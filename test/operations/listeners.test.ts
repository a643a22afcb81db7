/** Where the service can be reached: several addresses, sockets in the file system, TLS, systemd's sockets, proxies. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { parseServe } from '../../src/config/serve.ts';
import { program } from '../support/service/built.ts';
import { runProgram } from '../support/service/lake-command.ts';
import { startService } from '../support/service/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-listeners-'));
const file = (name: string): string => join(folder, name);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Answered {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}
const ask = async (
  options: RequestOptions & { readonly ca?: Buffer; readonly body?: string },
  by: typeof request = request,
): Promise<Answered> => {
  const asked = by({ agent: false, ...options });
  asked.end(options.body);
  const [response] = (await once(asked, 'response')) as [
    AsyncIterable<Buffer> & { statusCode: number; headers: object },
  ];
  let body = '';
  for await (const chunk of response) body += chunk.toString();
  return { status: response.statusCode, body, headers: response.headers as Answered['headers'] };
};
/** Polls until it is so. */
const until = async <T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> => {
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
};
const makeCertificate = (name: string, days = 2): void => {
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(days)],
      ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
      ...['-keyout', file('key.pem'), '-out', file('cert.pem')],
    ],
    { stdio: 'ignore' },
  );
};

describe('several addresses', () => {
  test('reach one lake, a socket in the file system among them', async () => {
    const path = file('lake.sock');
    const service = await startService(['-l', `unix:${path}`, '-l', 'localhost:0']);
    try {
      const { addresses } = service.server;
      expect(addresses.slice(0, 3)).toEqual([
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        `unix:${path}`,
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      ]);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      await ask({
        socketPath: path,
        path: '/pool',
        method: 'POST',
        body: '{name:"p"}',
        headers: { host: 'localhost' },
      });
      const count = { path: '/query?query=from+:pools|count()&format=json', headers: { host: 'localhost' } };
      expect((await ask({ socketPath: path, ...count })).body).toBe('[1]\n');
      for (const address of addresses.filter((one) => one.startsWith('http')))
        expect(await (await fetch(`${address}${count.path}`)).text(), address).toBe('[1]\n');
    } finally {
      await service.close();
    }
    expect(existsSync(path)).toBe(false);
  });
  test('of a socket: its mode is what the option says, a dead one is taken over, a living one and files are not', async () => {
    const path = file('taken.sock');
    const holder = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path)})`]);
    await until(
      () => Promise.resolve(existsSync(path)),
      (there) => there,
    );
    await expect(startService(['-l', `unix:${path}?mode=660`])).rejects.toThrow(
      `cannot listen at unix:${path}: the address is in use, perhaps by another service (option -l)`,
    );
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const service = await startService(['-l', `unix:${path}?mode=660`]);
    try {
      expect(statSync(path).mode & 0o777).toBe(0o660);
      expect((await ask({ socketPath: path, path: '/status' })).body).toBe('ok');
    } finally {
      await service.close();
    }
    writeFileSync(path, 'precious');
    await expect(startService(['-l', `unix:${path}`])).rejects.toThrow('the address is in use');
    expect(readFileSync(path, 'utf8')).toBe('precious');
  });
  test('are refused one by one, in a line', async () => {
    const of = async (...flags: readonly string[]): Promise<readonly unknown[]> => {
      const { status, complaint } = await runProgram(['serve', '-lake', file('none'), ...flags]);
      return [status, complaint];
    };
    expect(await of('-l', '127.0.0.1:0', '-l', `unix:${file('no/such/folder.sock')}`)).toEqual([
      1,
      expect.stringContaining('or no such folder (option -l)'),
    ]);
    expect(await of('-l', '127.0.0.1:0', '-l', '0.0.0.0:0')).toEqual([
      2,
      expect.stringContaining('-l 0.0.0.0:0: others can reach this address'),
    ]);
    expect(await of('-l', 'unix:')).toEqual([2, expect.stringContaining('unix:PATH, with ?mode=660 behind it')]);
    expect(await of('-l', 'unix:/tmp/x?mode=9')).toEqual([2, expect.stringContaining('three octal digits')]);
  });
});

describe('sockets of systemd', () => {
  let listener: Server;
  beforeAll(async () => {
    listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
  });
  test('take the place of the default address', async () => {
    const { port } = listener.address() as AddressInfo;
    const handle = (listener as unknown as { readonly _handle: { readonly fd: number } })._handle;
    const flags = ['serve', '-lake', file('passed'), '-warmup', '0s', '-insecure', '-log.level', 'error'];
    const child = spawn(
      'sh',
      ['-c', 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', 'sh', process.execPath, program, ...flags],
      { stdio: ['ignore', 'pipe', 'inherit', handle.fd] },
    );
    // Else this process would take connections too.
    listener.close();
    const [text] = (await once(child.stdout!, 'data')) as [Buffer];
    expect(text.toString()).toContain(`is served on http://127.0.0.1:${port}\n`);
    expect((await ask({ port, path: '/status' })).body).toBe('ok');
    child.kill();
    await once(child, 'exit');
  });
  test('are those of this very process', () => {
    const addresses = (environment: Readonly<Record<string, string>>, ...argv: readonly string[]): unknown =>
      (parseServe(argv, environment) as { readonly listen: unknown }).listen;
    const passed = { LISTEN_PID: String(process.pid), LISTEN_FDS: '2' };
    const sockets = [3, 4].map((descriptor) => ({ kind: 'descriptor', descriptor }));
    const standard = { kind: 'tcp', host: '127.0.0.1', port: 9867 };
    expect(addresses(passed)).toEqual(sockets);
    expect(addresses(passed, '-l', '127.0.0.1:9867')).toEqual([...sockets, standard]);
    expect(addresses({ ...passed, LISTEN_PID: '1' })).toEqual([standard]);
    expect(addresses({ ...passed, LISTEN_FDS: 'x' })).toEqual([standard]);
  });
});

describe('TLS', () => {
  test('answers requests, streams and WebSockets; a new certificate is shown without a restart, a bad one is not', async () => {
    makeCertificate('first');
    const tls = ['-tls.cert', file('cert.pem'), '-tls.key', file('key.pem')];
    const reports: string[] = [];
    const service = await startService(
      [...tls, '-l', `unix:${file('tls.sock')}`],
      undefined,
      undefined,
      undefined,
      (fault) => reports.push((fault as Error).message),
    );
    try {
      const [address, unix] = service.server.addresses;
      expect([address, unix]).toEqual([
        expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
        `unix:${file('tls.sock')}`,
      ]);
      const port = Number(new URL(address!).port);
      const ca = readFileSync(file('cert.pem'));
      const secure = (options: RequestOptions & { readonly body?: string }): Promise<Answered> =>
        ask({ port, ca, ...options }, secureRequest);
      expect((await secure({ path: '/pool', method: 'POST', body: '{name:"p"}' })).status).toBe(200);
      const rows = 'x'.repeat(100).replaceAll('x', '{a:1,s:"some text that is long"}\n').repeat(200);
      expect((await secure({ path: '/pool/p/branch/main', method: 'POST', body: rows })).status).toBe(200);
      const lines = (await secure({ path: '/pool/p/branch/main/data?format=ndjson' })).body.split('\n');
      expect(lines).toHaveLength(20_001);
      expect((await ask({ socketPath: file('tls.sock'), path: '/status' })).body).toBe('ok');

      const socket = new WebSocket(`wss://127.0.0.1:${port}/inspect/feed`, { ca });
      await once(socket, 'message');
      socket.terminate();

      // Plain HTTP gets no answer, and hurts nobody.
      await expect(ask({ port, path: '/status' })).rejects.toThrow();
      const shown = (): Promise<string> =>
        new Promise((resolve, reject) => {
          const asked = secureRequest(
            { port, path: '/status', agent: false, rejectUnauthorized: false },
            (response) => {
              const { subject } = (response.socket as import('node:tls').TLSSocket).getPeerCertificate();
              response.resume();
              resolve(subject.CN as string);
            },
          );
          asked.on('error', reject).end();
        });
      expect(await shown()).toBe('first');
      writeFileSync(file('cert.pem'), 'nonsense');
      await until(
        () => Promise.resolve(reports.length),
        (count) => count > 0,
      );
      expect(reports[0]).toContain('-tls.cert and -tls.key: ');
      expect(await shown()).toBe('first');
      makeCertificate('second');
      await until(shown, (name) => name === 'second');
    } finally {
      await service.close();
    }
  });
  test('is refused in a line without its key, and with what is none', async () => {
    const flags = ['serve', '-lake', file('none'), '-l', '127.0.0.1:0', '-tls.cert', file('none.pem')];
    const alone = await runProgram(flags);
    expect([alone.status, alone.complaint]).toEqual([2, expect.stringContaining('-tls.cert needs -tls.key')]);
    const absent = await runProgram([...flags, '-tls.key', file('none.pem')]);
    expect([absent.status, absent.complaint]).toEqual([1, expect.stringMatching(/^-tls\.cert: ENOENT.*\n$/)]);
  });
});

describe('option -proxy.trust', () => {
  const forwarded = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'lake.example',
    origin: 'https://lake.example',
  };
  /** The last line of an audit log, once it is written. */
  const audited = async (audit: string): Promise<{ readonly from: string }> => {
    const text = await until(
      () => Promise.resolve(readFileSync(audit, 'utf8')),
      (lines) => lines.endsWith('\n'),
    );
    return JSON.parse(text.trim().split('\n').at(-1)!) as { readonly from: string };
  };
  test.each([
    [[], 403, '127.0.0.1'],
    [['10.0.0.0/8', '192.0.2.1'], 403, '127.0.0.1'],
    [['loopback'], 200, '203.0.113.9'],
    [['10.0.0.0/8', '127.0.0.0/8'], 200, '203.0.113.9'],
  ] as const)('%j: a page of the proxy is answered %i, the audit log names %s', async (trusted, status, from) => {
    const audit = file(`audit-${trusted.join().replaceAll('/', '-')}`);
    const flags = trusted.flatMap((one) => ['-proxy.trust', one]);
    const service = await startService([...flags, '-audit', audit, '-cors.origin', 'https://lake.example:1']);
    try {
      const answer = await service.ask('POST', '/pool', { body: `{name:"p"}`, headers: forwarded });
      expect(answer.status, answer.body).toBe(status);
      expect((await audited(audit)).from).toBe(from);
    } finally {
      await service.close();
    }
  });
  test('may be whoever comes by a socket of the file system', async () => {
    const [path, audit] = [file('proxy.sock'), file('audit-unix')];
    const service = await startService(['-l', `unix:${path}`, '-proxy.trust', 'unix', '-audit', audit]);
    try {
      const headers = { ...forwarded, 'x-forwarded-host': 'localhost', origin: 'https://localhost' };
      const made = { socketPath: path, path: '/pool', method: 'POST', body: '{name:"p"}', headers };
      expect((await ask(made)).status).toBe(200);
      expect((await audited(audit)).from).toBe('203.0.113.9');
    } finally {
      await service.close();
    }
  });
  test.each(['nobody', '10.0.0.0/33', '1.2.3.4/8/8', '10.0.0'])('%s is none', async (text) => {
    const { status, complaint } = await runProgram(['serve', '-proxy.trust', text]);
    expect([status, complaint]).toEqual([2, expect.stringContaining(`bad value for -proxy.trust: "${text}"`)]);
  });
});
