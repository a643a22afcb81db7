/**
 * What health checks see from the first moment on: /ready, /status, and requests that come too early. (What they see at
 * the end: shutdown.test.ts.)
 */
import { expect, test } from 'vitest';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseServe } from '../../src/config/serve.ts';
import { listenEarly } from '../../src/http/connections/early-listener.ts';
import { program, startBuiltService } from '../support/service/built.ts';
import { freePort } from '../support/service/free-port.ts';

interface Seen {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
  readonly retryAfter: string | undefined;
}
const ask = (
  port: number,
  method: string,
  path: string,
  options: { readonly agent?: Agent; readonly body?: string } = {},
): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, agent: options.agent ?? false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => {
        resolve({
          status: response.statusCode!,
          type: response.headers['content-type'],
          body,
          retryAfter: response.headers['retry-after'],
        });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(options.body);
  });
const unexpected = (fault: unknown): void => {
  throw fault;
};

test('requests that come before the lake is open wait for it, those that waited for long are to come again', async () => {
  const port = await freePort();
  const config = parseServe(['-l', `127.0.0.1:${port}`, '-start.wait', '5s']);
  if ('help' in config) throw new Error('no help was asked for');
  const earlyListener = await listenEarly(config, unexpected);
  const bodies = ['first', 'x'.repeat(1 << 20)].map((body) => ask(port, 'POST', '/echo', { body }));
  // Both are there once a later one is answered.
  expect((await ask(port, 'GET', '/ready')).status).toBe(503);
  const seen: (string | undefined)[] = [];
  const server = earlyListener.take((request, response) => {
    seen.push(request.url);
    request.pipe(response);
  });
  server.listen();
  const answers = await Promise.all(bodies);
  expect(answers.map(({ status, body }) => [status, body.length])).toEqual([
    [200, 5],
    [200, 1 << 20],
  ]);
  expect(seen).toEqual(['/echo', '/echo']);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('before the lake is open, health checks are told so and everything else is to come again', async () => {
  const port = await freePort();
  const config = parseServe(['-l', `127.0.0.1:${port}`, '-start.wait', '1ms']);
  if ('help' in config) throw new Error('no help was asked for');
  const earlyListener = await listenEarly(config, unexpected);
  try {
    const early = { status: 503, type: 'text/plain; charset=utf-8', body: 'recovering', retryAfter: '1' };
    expect(await ask(port, 'GET', '/ready')).toEqual(early);
    expect(await ask(port, 'GET', '/status?x')).toEqual(early);
    expect(await ask(port, 'HEAD', '/ready')).toEqual({ ...early, body: '' });
    expect(await ask(port, 'POST', '/pool/p/branch/main', { body: 'x'.repeat(1 << 20) })).toEqual({
      status: 503,
      type: 'application/json',
      body: '{"type":"Error","kind":"overloaded","error":"service is starting: the lake is being recovered; retry shortly"}\n',
      retryAfter: '1',
    });
    await expect(listenEarly(config, unexpected)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  } finally {
    await earlyListener.close();
  }
  await expect(ask(port, 'GET', '/ready')).rejects.toThrow();
});

test('a service that was killed answers 503 while it recovers, then 200; a connection lives through both', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lake-ready-'));
  const lake = join(folder, 'lake');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const killed = await startBuiltService({ lake });
  await killed.end('SIGKILL');
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [program, 'serve', '-lake', lake, '-l', `127.0.0.1:${port}`, '-log.level', 'error', '-warmup', '0s'],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  try {
    const seen: string[] = [];
    const look = async (): Promise<string | undefined> => {
      const answer = await ask(port, 'GET', '/ready', { agent }).catch(() => undefined);
      const text = answer && `${answer.status} ${answer.body}`;
      if (text !== undefined && seen.at(-1) !== text) seen.push(text);
      return text;
    };
    while ((await look()) !== '200 ready')
      await new Promise((resolve) => {
        setTimeout(resolve, 1);
      });
    expect(seen).toEqual(['503 recovering', '200 ready']);
    expect(await ask(port, 'GET', '/status')).toMatchObject({ status: 200, body: 'ok' });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    agent.destroy();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Ports at which a process listens, as Linux has them. */
const portsOf = (pid: number): readonly number[] => {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return [/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1] ?? ''];
      } catch {
        // Closed by now.
        return [];
      }
    }),
  );
  const isListening = '0A';
  return ['tcp', 'tcp6'].flatMap((kind) =>
    readFileSync(`/proc/${pid}/net/${kind}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((cells) => cells[3] === isListening && sockets.has(cells[9]!))
      .map((cells) => parseInt(cells[1]!.split(':')[1]!, 16)),
  );
};
if (process.platform === 'linux')
  test('a service listens at one port, while it warms up too', async () => {
    const service = await startBuiltService({ flags: ['-warmup', '100ms'] });
    try {
      const { port } = new URL(service.address);
      const own = [Number(port)];
      for (let look = 0; look < 20; look++) {
        expect(portsOf(service.process.pid!)).toEqual(own);
        expect(await ask(Number(port), 'GET', '/ready')).toMatchObject({ status: 200 });
      }
    } finally {
      await service.stop();
    }
  });
