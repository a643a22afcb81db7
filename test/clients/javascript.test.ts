/**
 * Packages of others from npm, as they come: SuperDB's own client for JavaScript, and an EventSource that reconnects
 * over a restart.
 */
import { Client } from '@brimdata/zed-js';
import { EventSource } from 'eventsource';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service/server.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;

describe('@brimdata/zed-js', { timeout: 180_000 }, () => {
  const using = async (work: (client: Client, service: TestService) => Promise<void>): Promise<void> => {
    const service = await startService(['-workers', '1']);
    // The package is made for pages: it takes the window's fetch.
    try {
      await work(Object.assign(new Client(service.url), { fetch }), service);
    } finally {
      await service.close();
    }
  };
  test('creates, lists, renames and deletes pools', () =>
    using(async (client) => {
      expect(await client.version()).toEqual({ version: 'v0.0.0-test' });
      expect(await client.authMethod()).toMatchObject({ kind: '' });
      const { pool } = (await client.createPool('p', { key: 'k', order: 'asc' })) as {
        readonly pool: { readonly id: string };
      };
      expect((await client.getPools()).map(({ name }) => name)).toEqual(['p']);
      expect(await client.getPool('p')).toMatchObject({ name: 'p' });
      expect(await client.updatePool(pool.id, { name: 'q' })).toBe(true);
      expect((await client.getPools()).map(({ name }) => name)).toEqual(['q']);
      expect(await client.deletePool(pool.id)).toBe(true);
      expect(await client.getPools()).toEqual([]);
    }));
  test('loads rows, and reads what a query answers as values with their types', () =>
    using(async (client, service) => {
      const { pool } = (await client.createPool('p', { key: 'k', order: 'asc' })) as {
        readonly pool: { readonly id: string };
      };
      // This version has no call for loads: what older ones and Zui send is told in recorded exchanges.
      await service.ask('POST', '/pool/p/branch/main', {
        headers: { 'content-type': '*/*', 'zed-commit': '{"author":"zed","body":"from a client"}' },
        body: '{k:1,s:"one",t:2024-01-02T03:04:05Z} {k:2,s:null,a:[1,2],m:|{"x":1}|} "text"',
      });
      const result = await client.query('from p | sort k');
      const rows = await result.js();
      expect(rows).toEqual([
        expect.objectContaining({ s: 'one', t: new Date('2024-01-02T03:04:05Z') }),
        expect.objectContaining({ s: null }),
        'text',
      ]);
      expect(await client.getPoolStats(pool.id)).toMatchObject({ size: expect.anything() as unknown });
      expect(await service.query('from p:log | has(message) | cut author, message')).toBe(
        '{author:"zed",message:"from a client"}\n',
      );
    }));
  test('keeps the outputs of one query apart', () =>
    using(async (client) => {
      expect(await (await client.query('values 1,2 | fork (output a) (where this==2 | output b)')).js()).toEqual(
        expect.arrayContaining([expect.anything()]),
      );
    }));
  test('is told what is wrong as it expects to be', () =>
    using(async (client) => {
      await expect(client.query('from nowhere')).rejects.toThrow();
      await expect(client.createPool('')).rejects.toThrow();
      await client.createPool('p');
      await expect(client.createPool('p')).rejects.toThrow(/exists/);
    }));
});

test('an EventSource comes back after a restart with the id of the last event, and misses nothing', {
  timeout: 180_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-source-'));
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { readonly port: number };
  await new Promise((resolve) => {
    taken.close(resolve);
  });
  const flags = ['-l', `127.0.0.1:${port}`, '-workers', '1'];
  let service = await startService(flags, directory);
  // As a browser's own asks: for text/event-stream, and with the last id when it comes back.
  const asked: (string | undefined)[] = [];
  const seen: number[] = [];
  const source = new EventSource(`http://127.0.0.1:${port}/events`, {
    fetch: (url, init) => {
      asked.push((init.headers as Readonly<Record<string, string>>)['Last-Event-ID']);
      return fetch(url, init);
    },
  });
  try {
    for (const kind of ['pool-new', 'pool-commit', 'branch-update'])
      source.addEventListener(kind, ({ lastEventId }) => {
        seen.push(Number(lastEventId));
      });
    await expect.poll(() => source.readyState, { timeout: 20_000 }).toBe(1);
    await service.ask('POST', '/pool', { headers: json, body: '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}' });
    await service.ask('POST', '/pool/p/branch/main', { headers: json, body: '{"k":1}' });
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(2);
    await service.close();
    service = await startService(flags, directory);
    // These happen before it is back.
    for (let k = 2; k < 5; k++) await service.ask('POST', '/pool/p/branch/main', { headers: json, body: `{"k":${k}}` });
    await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(5);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(asked[0]).toBeUndefined();
    expect(asked.slice(1).every((id) => id === String(seen[1]))).toBe(true);
    expect(service.lake.lastEventId()).toBe(seen.at(-1));
  } finally {
    source.close();
    await service.close();
    await rm(directory, { recursive: true, force: true });
  }
});
