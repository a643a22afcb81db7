/** Shippers where there is access control: their ways to send a key, and what a pool refuses. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyCommand } from '../../src/commands/key.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let directory: string;
const keys: Record<string, string> = {};
const lakeKey = async (...argv: readonly string[]): Promise<string> => {
  let out = '';
  await keyCommand([argv[0]!, '-lake', directory, ...argv.slice(1)], {
    cwd: directory,
    stdin: (async function* none() {
      yield* [];
    })(),
    stdoutIsTerminal: false,
    complain: () => undefined,
    write: async (chunk) => {
      out += Buffer.from(chunk).toString();
    },
  });
  return out.trim();
};
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lake-ingest-access-'));
  service = await startService(['-auth.keys'], directory);
  keys['all'] = await lakeKey('add', '-role', 'writer', 'all');
  await bulk('all', 'mine', 'seen', 'hidden');
  keys['some'] = await lakeKey('add', '-role', 'writer:mine', '-role', 'reader:seen', 'some');
});
afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true, force: true });
});
const body = (pools: readonly string[]): string =>
  pools.map((pool) => `{"index":{"_index":"${pool}"}}\n{"n":1}\n`).join('');
const bulk = async (who: string, ...pools: readonly string[]): Promise<readonly unknown[]> => {
  const headers = { authorization: `Bearer ${keys[who]!}` };
  const answer = await service.ask('POST', '/_bulk', { headers, body: body(pools) });
  expect(answer.status, answer.body).toBe(200);
  const { items } = JSON.parse(answer.body) as { readonly items: readonly { readonly index: Item }[] };
  return items.map(({ index: { status, error } }) => [status, error?.type]);
};
interface Item {
  readonly status: number;
  readonly error?: { readonly type: string; readonly reason: string };
}

describe('what a pool refuses fails for its items alone', () => {
  test('a pool that may not be read is not there, and none is made without the right', async () => {
    expect(await bulk('some', 'mine', 'seen', 'hidden', 'new')).toEqual([
      [201, undefined],
      [403, 'security_exception'],
      [404, 'index_not_found_exception'],
      [404, 'index_not_found_exception'],
    ]);
    expect(service.lake.pools().some(({ name }) => name === 'new')).toBe(false);
    expect(await bulk('all', 'new')).toEqual([[201, undefined]]);
  });
});

describe('keys', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const ways: readonly (readonly [string, (key: string) => string])[] = [
    ['Bearer', (key) => `Bearer ${key}`],
    ['Basic, as the password', (key) => `Basic ${base64(`elastic:${key}`)}`],
    ['ApiKey with an id', (key) => `ApiKey ${base64(`id:${key}`)}`],
    ['ApiKey alone', (key) => `ApiKey ${key}`],
    ['Splunk', (key) => `Splunk ${key}`],
  ];
  test.each(ways)('%s', async (_, written) => {
    const look = (authorization: string) => service.ask('GET', '/_license', { headers: { authorization } });
    expect((await look(written(keys['some']!))).status).toBe(200);
    const wrong = await look(written(`${keys['some']!.slice(0, -4)}AAAA`));
    expect([wrong.status, wrong.headers.get('x-elastic-product')]).toEqual([401, 'Elasticsearch']);
    expect(JSON.parse(wrong.body)).toMatchObject({ status: 401, error: { type: 'security_exception' } });
  });
  test('ApiKey alone, whatever bytes the key stands for', async () => {
    // One key in eight has a byte that reads as the colon behind an id.
    let key: string;
    for (let n = 0; ; n++) {
      key = await lakeKey('add', '-role', 'reader', `colon${n}`);
      if (Buffer.from(key, 'base64').includes(':')) break;
    }
    const answer = await service.ask('GET', '/_license', { headers: { authorization: `ApiKey ${key}` } });
    expect(answer.status).toBe(200);
  });
  test.each(['Basic', 'Basic nonsense', `Basic ${base64('elastic:')}`, 'ApiKey', 'Digest x'])(
    '%s is none',
    async (authorization) => {
      expect((await service.ask('POST', '/_bulk', { headers: { authorization }, body: body(['mine']) })).status).toBe(
        401,
      );
    },
  );
  test('without one Loki refuses in plain text', async () => {
    const answer = await service.ask('POST', '/loki/api/v1/push', { body: '{}' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'text/plain; charset=utf-8']);
  });
});
