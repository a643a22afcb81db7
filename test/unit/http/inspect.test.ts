/**
 * The inspector's feed: what goes over the wire and what never does, who gets a connection, and what a slow page costs.
 */
import { connect } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createActor } from 'xstate';
import { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { parseServe } from '../../../src/config/serve.ts';
import { Inspection, type Wire } from '../../../src/http/inspect/feed.ts';
import { sendError } from '../../../src/http/reply.ts';
import { addPages, sendPage } from '../../../src/http/static-pages.ts';
import type { LiveDetail, LiveFrame, LiveHello, LiveMessage, LiveRecord } from '../../../src/recording/live.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';
import { startService, type TestService } from '../../support/service/server.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;

interface Page {
  readonly messages: LiveMessage[];
  readonly text: () => string;
  readonly socket: WebSocket;
  readonly until: (is: (messages: readonly LiveMessage[]) => boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}
const openPage = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Page> => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/inspect/feed`, { headers });
  const messages: LiveMessage[] = [];
  let text = '';
  let wake = (): void => undefined;
  socket.on('message', (data: Buffer) => {
    text += data.toString();
    messages.push(JSON.parse(data.toString()) as LiveMessage);
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return {
    messages,
    text: () => text,
    socket,
    until: async (is) => {
      while (!is(messages))
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    close: async () => {
      const closed = new Promise((resolve) => {
        socket.once('close', resolve);
      });
      socket.close();
      await closed;
    },
  };
};
/** Status and error text of a connection that is refused. */
const refusal = (url: string): Promise<readonly [number, string]> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/inspect/feed`);
    socket.on('error', reject);
    socket.on('open', () => reject(new Error('it was not refused')));
    socket.on('unexpected-response', (_, response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve([response.statusCode!, (JSON.parse(text) as { readonly error: string }).error]));
    });
  });
const recordsOf = (messages: readonly LiveMessage[]): readonly LiveRecord[] =>
  messages.flatMap((m) => (m.kind === 'detail' ? [] : m.records));

describe('the feed of a service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(['-workers', '1', '-inspect.max', '3']);
  });
  afterAll(() => service.close());
  const createPool = (name: string) => service.ask('POST', '/pool', { headers: json, body: JSON.stringify({ name }) });

  test('a page gets all actors, then each message of a load in its order', async () => {
    const page = await openPage(service.url);
    await page.until((m) => m.length > 0);
    const [hello] = page.messages as [LiveHello];
    expect({ kind: hello.kind, service: hello.service, actors: hello.actors, dropped: hello.dropped }).toEqual({
      kind: 'hello',
      service: 'v0.0.0-test',
      actors: [{ actor: 'lake', machine: 'lake', state: ['ready.idle'], waiting: 0, running: 0 }],
      dropped: 0,
    });
    expect((await createPool('flights')).status).toBe(200);
    expect(
      (
        await service.ask('POST', '/pool/flights/branch/main', {
          headers: { accept: 'application/json' },
          body: '{ts:1}',
        })
      ).status,
    ).toBe(200);
    await page.until((m) => recordsOf(m).some((r) => r.outcome === 'ended'));
    const steps = [...recordsOf(page.messages)]
      .sort((a, b) => a.seq - b.seq)
      .map((r) => [
        r.actor.replace(/\/[0-9a-f]{40}/, '/ID'),
        r.by?.replace(/\/[0-9a-f]{40}/, '/ID') ?? '',
        r.event.type.replace(/^xstate\.(\w+)\..*/, '$1'),
        (r.from ?? r.to).join(),
        r.to.join(),
        r.settled?.done ?? 0,
      ]);
    expect(steps).toEqual([
      ['lake', '', 'job', 'ready.idle', 'ready.working', 0],
      ['lake', 'lake:work', 'done', 'ready.working', 'ready.idle', 1],
      ['load/1', '', 'begun', 'waiting', 'receiving', 0],
      ['load/1', '', 'done at once', 'receiving', 'committing.prepared', 0],
      ['load/1', '', 'commit asked', 'committing.prepared', 'committing.asked', 0],
      ['lake', '', 'pool wanted', 'ready.idle', 'ready.idle', 0],
      ['pool/ID', '', 'work waiting', 'opening', 'opening', 0],
      ['pool/ID', 'pool/ID:open', 'done', 'opening', 'working', 0],
      ['pool/ID', '', 'done', 'working', 'idle', 1],
      ['load/1', '', 'committed', 'committing.asked', 'committed', 0],
    ]);
    const pool = (page.messages as readonly LiveFrame[]).flatMap((m) => m.actors).find((a) => a.machine === 'pool')!;
    expect(pool).toMatchObject({ parent: 'lake', name: 'flights' });
    page.socket.send('no JSON');
    page.socket.send(JSON.stringify({ kind: 'watch', actor: pool.actor }));
    await page.until((m) => m.some((x) => x.kind === 'detail'));
    const detail = page.messages.find((m): m is LiveDetail => m.kind === 'detail')!;
    expect(detail).toEqual({
      kind: 'detail',
      actor: pool.actor,
      context: {
        poolId: pool.actor.slice(5),
        waiting: 0,
        running: 0,
        closeAsked: false,
        failure: null,
      },
      waiting: [],
      running: [],
    });
    await page.close();
    const later = await openPage(service.url);
    await later.until((m) => m.length > 0);
    expect(recordsOf(later.messages)).toHaveLength(steps.length);
    await later.close();
  });

  test('one that comes late is told of what was, and that it missed nothing', async () => {
    for (let i = 0; i < 300; i++) await service.query('values 1');
    const page = await openPage(service.url);
    await service.query('values 2');
    await page.until((m) => m.some((x) => x.kind === 'frame' && x.records.some((r) => r.event.type === 'ended')));
    expect([
      recordsOf(page.messages.slice(0, 1)).length > 1000 - 100,
      (page.messages.at(-1) as LiveFrame).dropped,
    ]).toEqual([true, 0]);
    await page.close();
  });

  test('a new name of a pool comes with its next state', async () => {
    expect((await createPool('before')).status).toBe(200);
    expect((await service.ask('POST', '/pool/before/branch/main', { body: '{ts:1}' })).status).toBe(200);
    const page = await openPage(service.url);
    expect((await service.ask('PUT', '/pool/before', { headers: json, body: '{"name":"behind"}' })).status).toBe(204);
    await page.until((m) => m.some((x) => x.kind === 'frame' && x.actors.some((a) => a.name === 'behind')));
    await page.close();
  });

  test('nothing of what records, queries and errors hold goes over the wire', async () => {
    const secret = 'Zq7Marker';
    const page = await openPage(service.url);
    const stately = new WebSocket(`${service.url.replace('http', 'ws')}/inspect/feed?protocol=stately`);
    let seen = '';
    stately.on('message', (data: Buffer) => {
      seen += data.toString();
    });
    await new Promise((resolve) => {
      stately.once('open', resolve);
    });
    await createPool('secrets');
    const load = (body: string) =>
      service.ask('POST', '/pool/secrets/branch/main', {
        body,
        headers: { 'superdb-commit': JSON.stringify({ author: secret, body: secret }) },
      });
    expect((await load(`{ts:1,a:"${secret}"}`)).status).toBe(200);
    expect((await load(`{ts:1,a:"${secret}`)).status).toBe(400);
    expect(
      (
        await service.ask('POST', '/pool/secrets/branch/main/delete', {
          headers: json,
          body: `{"where":"a=='${secret}'"}`,
        })
      ).status,
    ).toBe(200);
    await service.query(`from secrets | a=="${secret}"`);
    expect(
      (
        await service.ask('POST', '/query', {
          headers: json,
          body: JSON.stringify({ query: `values ${secret} ${secret}` }),
        })
      ).status,
    ).toBe(400);
    for (const actor of [
      'lake',
      ...(page.messages as readonly LiveFrame[]).flatMap((m) => m.actors.map((a) => a.actor)),
    ])
      page.socket.send(JSON.stringify({ kind: 'watch', actor }));
    await page.until(
      (m) =>
        recordsOf(m).filter(
          (r) => r.actor.startsWith('query/') && (r.event.type === 'ended' || r.event.type === 'failed'),
        ).length >= 2,
    );
    await expect.poll(() => page.text()).toContain('secrets');
    await expect.poll(() => seen).toContain('objects written');
    expect(page.text()).not.toContain(secret);
    expect(seen).not.toContain(secret);
    stately.terminate();
    await page.close();
  });

  test('pages of other origins and names of other hosts get no connection', async () => {
    await expect(openPage(service.url, { origin: 'http://elsewhere.example' })).rejects.toThrow('403');
    await expect(openPage(service.url, { host: 'bent.example' })).rejects.toThrow('403');
    const own = await openPage(service.url, { origin: service.url });
    await own.close();
  });

  test('one watcher too many is refused with 503, and again has a place when one has left', async () => {
    const pages = [await openPage(service.url), await openPage(service.url), await openPage(service.url)];
    expect(await refusal(service.url)).toEqual([503, 'inspector: too many watchers: limit 3 (option -inspect.max)']);
    await pages[0]!.close();
    await expect.poll(() => openPage(service.url).then((page) => page.close().then(() => 'open'), String)).toBe('open');
    for (const page of pages.slice(1)) await page.close();
  });

  test('a plain request to the feed is told to upgrade (feed-not-upgraded)', async () => {
    const answer = await service.ask('GET', '/inspect/feed');
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      426,
      { type: 'Error', kind: 'invalid operation', error: 'inspector feed requires a WebSocket' },
    ]);
  });

  test('a request that asks for HTTP/2 on the way is answered in HTTP/1.1, with its body', async () => {
    const body = '{"query":"values 6*7"}';
    const { hostname, port } = new URL(service.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let text = '';
      socket.on('data', (data) => {
        text += data.toString();
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
      socket.write(
        `POST /query HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
      );
      setTimeout(() => socket.write(body.slice(5)), 50);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\n42\n/);
  });

  test('the page comes with a strict policy and keeps its assets for a year', async () => {
    const page = await service.ask('GET', '/inspect');
    expect([
      page.status,
      page.headers.get('content-type'),
      page.headers.get('cache-control'),
      page.headers.get('x-content-type-options'),
      page.headers.get('referrer-policy'),
    ]).toEqual([200, 'text/html; charset=utf-8', 'no-cache', 'nosniff', 'no-referrer']);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'self';(?!.*unsafe)/);
    expect(page.body).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/);
    const [, script] = /src="\.(\/assets\/[^"]+\.js)"/.exec(page.body)!;
    const asset = await service.ask('GET', script!);
    expect([asset.status, asset.headers.get('cache-control'), asset.headers.get('x-content-type-options')]).toEqual([
      200,
      'public, max-age=31536000, immutable',
      'nosniff',
    ]);
    for (const [path, { length }] of [
      ['/inspect', Buffer.from(page.body)],
      [script!, Buffer.from(asset.body)],
    ] as const) {
      const beyond = await service.ask('GET', path, { headers: { range: 'bytes=99999999-' } });
      expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${length}`]);
      expect(beyond.body).toContain(`range bytes=99999999- is beyond the answer, which has ${length} bytes`);
    }
    const missing = await service.ask('GET', '/assets/none.js');
    expect(missing).toMatchObject({ status: 404, body: '404 page not found\n' });
    expect(await service.ask('GET', '/assets/..%2f..%2fpackage.json')).toMatchObject({
      status: missing.status,
      body: missing.body,
    });
  });
});

describe('a Stately inspector', () => {
  const seen: StatelyInspectionEvent[] = [];
  const receive = (server: string): { readonly unsubscribe: () => void } =>
    createWebSocketReceiver({ server }).subscribe((event) => {
      seen.push(event);
    });
  afterEach(() => {
    seen.length = 0;
  });
  const run = async (service: TestService): Promise<void> => {
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"p"}' });
    expect((await service.ask('POST', '/pool/p/branch/main', { body: '{ts:1}' })).status).toBe(200);
    await expect
      .poll(
        () =>
          seen.some(
            (e) =>
              e.type === '@xstate.snapshot' &&
              e.sessionId.startsWith('pool/') &&
              (e.snapshot as unknown as { value: unknown }).value === 'idle',
          ),
        { timeout: 30_000 },
      )
      .toBe(true);
  };
  const check = (): void => {
    const lake = seen.find((e) => e.type === '@xstate.actor' && e.sessionId === 'lake') as Extract<
      StatelyInspectionEvent,
      { type: '@xstate.actor' }
    >;
    expect(Object.keys((JSON.parse(lake.definition!) as { readonly states: object }).states)).toEqual([
      'starting',
      'recovering',
      'ready',
      'closing',
      'failed',
      'closed',
    ]);
    const pool = seen.filter((e) => e.sessionId.startsWith('pool/'));
    expect(pool.map((e) => e.type)).toEqual([
      '@xstate.actor',
      '@xstate.event',
      '@xstate.snapshot',
      '@xstate.event',
      '@xstate.snapshot',
      '@xstate.event',
      '@xstate.snapshot',
    ]);
    expect(
      pool.filter((e) => e.type === '@xstate.snapshot').map((e) => (e.snapshot as unknown as { value: unknown }).value),
    ).toEqual(['opening', 'working', 'idle']);
    expect(pool[0]).toMatchObject({ parentId: 'lake', rootId: 'lake' });
  };

  test('that connects to the feed is told of actors, events and snapshots', async () => {
    const service = await startService(['-workers', '1']);
    const receiver = receive(`${service.url.replace('http', 'ws')}/inspect/feed?protocol=stately`);
    await expect.poll(() => seen.length).toBe(1);
    await run(service);
    check();
    receiver.unsubscribe();
    await service.close();
  });

  test('that -inspect.stately names is connected to, and again when it comes later', async () => {
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const url = `ws://127.0.0.1:${port}`;
    const service = await startService(['-workers', '1', '-inspect.stately', url]);
    // It was not there when the service started.
    const bridge = createInspectorServer({ port, autoOpen: false });
    receive(url);
    await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(1);
    await run(service);
    check();
    await service.close();
    bridge.stop();
  });

  test('of a bad address is refused at once', () => {
    expect(() => parseServe(['-inspect.stately', 'http://x'])).toThrow(
      'bad value for -inspect.stately: "http://x" (a ws:// or wss:// address)',
    );
  });
});

describe('without the inspector', () => {
  test('-inspect=false answers 404 on the feed, and pages that were not built are told', async () => {
    const service = await startService(['-workers', '1', '-inspect=false']);
    const answer = await service.ask('GET', '/inspect/feed');
    expect([answer.status, answer.body]).toEqual([
      404,
      '{"type":"Error","kind":"item does not exist","error":"inspector is disabled (option -inspect)"}\n',
    ]);
    await service.close();
    const folder = mkdtempSync(join(tmpdir(), 'pages-'));
    const app = Fastify() as FastifyInstance;
    addPages(app, folder);
    app.setErrorHandler((error, _, reply) => sendError(reply, error));
    app.get('/inspect', async (_, reply) => sendPage(reply, 'inspect.html'));
    const missing = await app.inject('/inspect');
    expect([missing.statusCode, missing.json<{ error: string }>().error]).toEqual([
      404,
      'inspect.html: page was not built (npm run build)',
    ]);
    await app.close();
    rmSync(folder, { recursive: true });
  });
});

describe('a slow page', () => {
  test('misses frames, is told how many messages, and then has the whole state; the others miss nothing', async () => {
    const watch = new MachineWatch(() => 0);
    const inspection = new Inspection(
      watch,
      {
        pool: () => {
          throw new Error('no pools here');
        },
      },
      'v1',
    );
    const wire = (): Wire & { readonly got: LiveMessage[]; bufferedAmount: number } => ({
      got: [],
      bufferedAmount: 0,
      send(text) {
        this.got.push(JSON.parse(text) as LiveMessage);
      },
    });
    const slow = wire();
    const quick = wire();
    const actor = createActor(subscriberMachine, { input: { waitingMax: 10, lastId: 0 }, inspect: watch.inspect });
    const watchers = [inspection.watch(slow), inspection.watch(quick)];
    actor.start();
    slow.bufferedAmount = 2 << 20;
    let id = 0;
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) actor.send({ type: 'event came', id: ++id });
      await expect.poll(() => recordsOf(quick.got).length, { timeout: 30_000 }).toBe(id);
    };
    for (const count of [700, 800]) await send(count);
    expect(slow.got.map((m) => m.kind)).toEqual(['hello']);
    slow.bufferedAmount = 0;
    await send(1);
    await expect.poll(() => slow.got.length).toBe(2);
    const [, again] = slow.got as [LiveHello, LiveHello];
    expect({
      kind: again.kind,
      dropped: again.dropped,
      records: again.records.length,
      newest: again.records.at(-1)!.event,
      actors: again.actors,
    }).toEqual({
      kind: 'hello',
      dropped: 501,
      records: 1000,
      newest: { type: 'event came', fields: { id: 1501 } },
      actors: [{ actor: 'subscriber/1', machine: 'subscriber', state: ['open'], waiting: 0, running: 0 }],
    });
    expect((quick.got.at(-1) as LiveFrame).dropped).toBe(0);
    actor.send({ type: 'client left' });
    await expect.poll(() => (quick.got.at(-1) as LiveFrame).gone).toEqual(['subscriber/1']);
    for (const watcher of watchers) watcher.close();
    expect(inspection.size).toBe(0);
    inspection.close();
  });
});
