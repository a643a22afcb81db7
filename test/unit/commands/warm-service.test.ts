import { connect } from 'node:net';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WarmClient } from '../../../src/commands/warm-client.ts';
import { warmService } from '../../../src/commands/warm-service.ts';
import { parseServe } from '../../../src/config/serve.ts';
import { openLake } from '../../../src/lake/lake.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { type TestService, startService } from '../../support/server.ts';

let service: TestService;
beforeEach(async () => {
  service = await startService();
});
afterEach(() => service.close());

const config = parseServe(['-lake', 'unused', '-l', '127.0.0.1:0']);
if ('help' in config) throw new Error('no flags of a service');
const folders = async (): Promise<readonly string[]> =>
  (await Promise.all(['/dev/shm', tmpdir()].map((parent) => readdir(parent).catch(() => []))))
    .flat()
    .filter((name) => name.startsWith(`lake-warm-${process.pid}-`));
/** Names of the files of a lake's objects. */
const objectsIn = async (directory: string): Promise<readonly string[]> =>
  (await readdir(join(directory, 'objects'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
/** Lines of figures that requests, connections, commits or machines would have moved. */
const figures = async (): Promise<readonly string[]> =>
  (await service.ask('GET', '/metrics')).body
    .split('\n')
    .filter(
      (line) =>
        /^lake_(http_(requests|connections)|jobs|loads_total|queries_total|commits|pools|last_event)/.test(line) &&
        !line.includes('"/metrics"'),
    );

describe('the warm-up', () => {
  test('leaves nothing in the service, and no folder', async () => {
    await service.ask('GET', '/version');
    const before = { figures: await figures(), machines: service.watch.actors().map(({ actor }) => actor) };
    expect(before.figures).toContain('lake_http_requests_total{method="GET",route="/version",status="200"} 1');
    await warmService({
      config,
      server: service.server,
      watched: true,
      budgetMs: 400,
      isIdle: () => service.server.quietMs() > 0,
      signal: new AbortController().signal,
    });
    expect({ figures: await figures(), machines: service.watch.actors().map(({ actor }) => actor) }).toEqual(before);
    expect(service.lake.pools()).toEqual([]);
    expect(await objectsIn(service.directory)).toEqual([]);
    expect(await folders()).toEqual([]);
  });
  test('is not recorded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lake-warm-test-'));
    const file = join(folder, 'recording');
    const recorded = await startService(['-record', file]);
    await warmService({
      config,
      server: recorded.server,
      watched: true,
      budgetMs: 200,
      isIdle: () => true,
      signal: new AbortController().signal,
    });
    await recorded.ask('POST', '/pool', { body: '{name:"p"}' });
    await recorded.ask('POST', '/pool/p/branch/main', { body: '{a:1}' });
    await recorded.close();
    const kinds = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly kind: string }).kind);
    expect(kinds.filter((kind) => kind === 'objects')).toEqual(['objects']);
    await rm(folder, { recursive: true, force: true });
  });
  test('ends when the service does', async () => {
    const ending = new AbortController();
    const warm = warmService({
      config,
      server: service.server,
      watched: false,
      budgetMs: Infinity,
      isIdle: () => true,
      signal: ending.signal,
    });
    while ((await folders()).length === 0)
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    ending.abort();
    await warm;
    expect(await folders()).toEqual([]);
  });
});

/** What a connection gets that says this, then asks. */
const heardAt = (port: number, secret: string | Uint8Array): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port });
    socket
      .on('data', (chunk: Buffer) => {
        text += chunk.toString();
      })
      .on('error', () => undefined)
      .on('close', () => {
        resolve(text);
      });
    socket.write(secret);
    socket.write('GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  });

describe('a server that is lent', () => {
  test('answers for the other lake at the port that it gives, and for its own at its own; there it hears nobody who does not say the secret', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lake-lent-test-'));
    try {
      const lake = await openLake({ directory, objects: openObjects(directory) });
      const lent = await service.server.lend({ lake, directory });
      const client = new WarmClient(lent);
      const at = `http://127.0.0.1:${lent.port}`;
      const ask = (method: 'GET' | 'POST', path: string, body?: string): Promise<string> =>
        client.ask({ method, path, ...(body !== undefined && { body }) });
      expect(await ask('POST', '/pool', '{"name":"there"}')).toMatch(/^HTTP\/1.1 200 /);
      expect(await ask('POST', '/pool/there/branch/main', '{"a":1}')).toMatch(/^HTTP\/1.1 200 /);
      await ask('GET', '/version');
      // The fourth way to write a request asks for JSON.
      expect(await ask('POST', '/query', '{"query":"from there"}')).toContain('{"a":1}');
      // More than lies in the tables.
      expect(
        await ask(
          'POST',
          '/pool/there/branch/main',
          Array.from({ length: 9000 }, (_, i) => `{"b":${Math.sin(i)}}`).join(' '),
        ),
      ).toMatch(/^HTTP\/1.1 200 /);
      expect([await objectsIn(directory), await objectsIn(service.directory)]).toEqual([[expect.any(String)], []]);
      await expect(fetch(`${at}/version`)).rejects.toThrow();
      const said = {
        none: '',
        half: lent.secret.subarray(0, 16),
        wrong: Buffer.alloc(32),
        reversed: Buffer.from(lent.secret).reverse(),
      };
      for (const [what, secret] of Object.entries(said))
        expect({ what, heard: await heardAt(lent.port, secret) }).toEqual({ what, heard: '' });
      expect(await heardAt(lent.port, lent.secret)).toMatch(/^HTTP\/1.1 200 /);
      client.close();
      expect((await service.ask('POST', '/query', { body: '{query:"from there"}' })).body).toContain('pool not found');
      expect((await service.ask('GET', '/pool/there/branch/main')).status).toBe(404);
      expect(lake.pools().map(({ name }) => name)).toEqual(['there']);
      expect(service.lake.pools()).toEqual([]);
      await lent.close();
      await expect(fetch(`${at}/version`)).rejects.toThrow();
      await lake.close();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
  test('a folder that a process left behind goes with the next warm-up', async () => {
    // No system gives out a number as high.
    const left = join(tmpdir(), 'lake-warm-999999999-left');
    await mkdir(left, { recursive: true });
    const inMemory = '/dev/shm/lake-warm-999999999-left';
    const isThere = await mkdir(inMemory, { recursive: true }).then(
      () => true,
      () => false,
    );
    await warmService({
      config,
      server: service.server,
      watched: false,
      budgetMs: 0,
      isIdle: () => true,
      signal: new AbortController().signal,
    });
    const gone = isThere ? inMemory : left;
    await expect(readdir(gone)).rejects.toThrow('ENOENT');
    await rm(left, { recursive: true, force: true });
  });
  test('a client of the warm-up is told that its connection was closed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lake-lent-test-'));
    const lake = await openLake({ directory, objects: openObjects(directory) });
    const lent = await service.server.lend({ lake, directory });
    const client = new WarmClient(lent);
    await client.ask({ method: 'GET', path: '/version' });
    await lent.close();
    await expect(client.ask({ method: 'GET', path: '/version' })).rejects.toThrow();
    client.close();
    await lake.close();
    await rm(directory, { recursive: true, force: true });
  });
});
