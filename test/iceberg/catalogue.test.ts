/** The REST catalogue over real HTTP: what each endpoint of Iceberg's specification answers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LakeError } from '../../src/errors.ts';
import { eventsId, moviesId } from './folder-catalogue.ts';
import { errorOf, type IcebergTest, rawAsk, startIceberg, tablePath } from './support.ts';

let iceberg: IcebergTest;
beforeAll(async () => {
  iceberg = await startIceberg();
});
afterAll(async () => {
  await iceberg.close();
});
const get = (path: string, headers?: Readonly<Record<string, string>>) =>
  iceberg.json('GET', `/iceberg/v1/${path}`, headers);
const head = (path: string) => iceberg.service.ask('HEAD', `/iceberg/v1/${path}`);

describe('configuration', () => {
  test('names the prefix of the warehouse, and the reads that can be asked', async () => {
    expect((await get('config')).value).toEqual({
      defaults: {},
      overrides: { prefix: 'lake' },
      endpoints: [
        'GET /v1/{prefix}/namespaces',
        'GET /v1/{prefix}/namespaces/{namespace}',
        'HEAD /v1/{prefix}/namespaces/{namespace}',
        'GET /v1/{prefix}/namespaces/{namespace}/tables',
        'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}',
        'HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}',
        'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials',
      ],
    });
    const prefixes = ['lake', 'lake%40dev', 'lake@feature%2Fx', 'lake@2026-11-28T07:00:00Z', ''].map(
      async (warehouse) => (await get(`config?warehouse=${warehouse}`)).value['overrides']!['prefix'],
    );
    expect(await Promise.all(prefixes)).toEqual([
      'lake',
      'lake@dev',
      'lake@feature_x002f_x',
      'lake@2026-11-28T07_x003a_00_x003a_00Z',
      'lake',
    ]);
  });

  test('a warehouse that is not there is a 404', async () => {
    for (const warehouse of ['ice', 'lake@', 's3://lake'])
      expect(errorOf(await get(`config?warehouse=${encodeURIComponent(warehouse)}`))).toBe(
        '404 NoSuchWarehouseException 404',
      );
    expect(errorOf(await get('ice/namespaces'))).toBe('404 NoSuchWarehouseException 404');
    expect(errorOf(await get('config?warehouse=a&warehouse=b'))).toBe('400 BadRequestException 400');
  });
});

describe('namespaces and tables', () => {
  test('there is one namespace, with the pools as its tables', async () => {
    expect((await get('lake/namespaces')).value).toEqual({ namespaces: [['lake']] });
    expect((await get('namespaces')).value).toEqual({ namespaces: [['lake']] });
    expect((await get('lake/namespaces?parent=lake')).value).toEqual({ namespaces: [] });
    expect((await get('lake/namespaces/lake')).value).toEqual({ namespace: ['lake'], properties: {} });
    expect((await head('lake/namespaces/lake')).status).toBe(204);
    expect((await get('lake/namespaces/lake/tables')).value).toEqual({
      identifiers: [
        { namespace: ['lake'], name: 'events' },
        { namespace: ['lake'], name: 'movies' },
      ],
      'next-page-token': null,
    });
  });

  test('tables come by page where that is asked', async () => {
    const first = (await get('lake/namespaces/lake/tables?pageSize=1')).value;
    expect(first['identifiers']!.map((each) => each['name'])).toEqual(['events']);
    const second = (await get(`lake/namespaces/lake/tables?pageSize=1&pageToken=${first['next-page-token']}`)).value;
    expect(second).toMatchObject({ identifiers: [{ name: 'movies' }], 'next-page-token': null });
    expect((await get('lake/namespaces/lake/tables?pageToken=')).value['identifiers']!.length).toBe(2);
    for (const size of ['0', '-1', 'x', '1.5'])
      expect(errorOf(await get(`lake/namespaces/lake/tables?pageSize=${size}`))).toBe('400 BadRequestException 400');
  });

  test('another namespace is not there, and neither is a table below it', async () => {
    for (const path of ['namespaces/ice', 'namespaces/lake%1Fevents', 'namespaces/ice/tables', 'namespaces?parent=ice'])
      expect(errorOf(await get(`lake/${path}`)), path).toBe('404 NoSuchNamespaceException 404');
    expect((await head('lake/namespaces/ice')).status).toBe(404);
    // Spark asks so for `lake.events.refs`, and looks for a metadata table only if there is no such table.
    expect(errorOf(await get('lake/namespaces/lake%1Fevents/tables/refs'))).toBe('404 NoSuchTableException 404');
  });
});

describe('a table', () => {
  test('comes with its metadata and with credentials for its files', async () => {
    const { value, headers } = await get('lake/namespaces/lake/tables/events');
    expect(value['metadata-location']).toMatch(new RegExp(`^s3://lake/${eventsId}/metadata/.*\\.metadata\\.json$`));
    expect(value['metadata']).toMatchObject({ 'format-version': 2, location: `s3://lake/${eventsId}` });
    expect(value['config']).toMatchObject({
      's3.endpoint': `${iceberg.service.url}/s3`,
      's3.path-style-access': 'true',
      's3.access-key-id': expect.stringMatching(/^LAKE[0-9A-F]{16}$/),
    });
    expect(value['storage-credentials']).toEqual([{ prefix: `s3://lake/${eventsId}/`, config: value['config'] }]);
    expect(Number(value['config']!['s3.session-token-expires-at-ms']) - Date.now()).toBeGreaterThan(3_500_000);
    expect(headers.get('cache-control')).toBe('private, no-cache');
  });

  test('is there by HEAD too, and new credentials are given without its metadata', async () => {
    expect((await head('lake/namespaces/lake/tables/events')).status).toBe(204);
    expect((await head('lake@dev/namespaces/lake/tables/events')).status).toBe(204);
    expect((await head('lake@none/namespaces/lake/tables/events')).status).toBe(404);
    expect((await head('lake/namespaces/lake/tables/none')).status).toBe(404);
    const { value } = await get('lake/namespaces/lake/tables/movies/credentials');
    expect(value).toMatchObject({ 'storage-credentials': [{ prefix: `s3://lake/${moviesId}/` }] });
    expect(errorOf(await get('lake/namespaces/lake/tables/none/credentials'))).toBe('404 NoSuchTableException 404');
  });

  test('of a pinned warehouse is the state of that ref, and is not there where the pool has none', async () => {
    const pinned = (await get('lake@v1/namespaces/lake/tables/events')).value['metadata']!;
    expect(pinned['current-snapshot-id']).toEqual(pinned['refs']!['main']!['snapshot-id']);
    expect(errorOf(await get('lake@v1/namespaces/lake/tables/movies'))).toBe('404 NoSuchTableException 404');
    iceberg.catalogue.asked.length = 0;
    await get('lake%40feature_x002f_x/namespaces/lake/tables/events');
    expect(iceberg.catalogue.asked).toEqual([{ pool: eventsId, pin: 'feature/x', etag: undefined }]);
  });

  test('has the snapshots of its refs alone where these are asked for', async () => {
    const all = (await get('lake/namespaces/lake/tables/events?snapshots=all')).value['metadata']!;
    const refs = (await get('lake/namespaces/lake/tables/events?snapshots=refs')).value['metadata']!;
    expect(all['snapshots']!.length).toBe(4);
    const ids = Object.values(refs['refs'] as unknown as Record<string, { 'snapshot-id': number }>);
    expect(refs['snapshots']!.map((each) => each['snapshot-id']).sort()).toEqual(
      ids.map((ref) => ref['snapshot-id']).sort(),
    );
    expect(errorOf(await get('lake/namespaces/lake/tables/events?snapshots=some'))).toBe('400 BadRequestException 400');
  });

  test('that did not change is a 304, until its credentials have to be new', async () => {
    const first = await get('lake/namespaces/lake/tables/events');
    const known = { 'if-none-match': first.headers.get('etag')! };
    const second = await get('lake/namespaces/lake/tables/events', known);
    expect([second.status, second.body, second.headers.get('etag')]).toEqual([304, '', first.headers.get('etag')]);
    expect((await get('lake@dev/namespaces/lake/tables/events', known)).status).toBe(200);
    expect((await get('lake/namespaces/lake/tables/events?snapshots=refs', known)).status).toBe(200);
    expect((await get('lake/namespaces/lake/tables/movies', known)).status).toBe(200);
    expect((await get('lake/namespaces/lake/tables/events', { 'if-none-match': '*, "x", W/"' })).status).toBe(200);
    iceberg.clock.aheadMs = 1_800_000;
    expect((await get('lake/namespaces/lake/tables/events', known)).status).toBe(200);
    iceberg.clock.aheadMs = 0;
  });

  test('whose files are still being made is a 503 that says when to come again', async () => {
    iceberg.catalogue.fault = new LakeError('iceberg-not-ready', { pool: 'events', commit: 'x' });
    const answer = await get('lake/namespaces/lake/tables/events');
    iceberg.catalogue.fault = undefined;
    expect([errorOf(answer), answer.headers.get('retry-after')]).toEqual(['503 ServiceUnavailableException 503', '1']);
  });

  test('ClickHouse is not told the endpoint, whose path it would double', async () => {
    const { value } = await get('lake/namespaces/lake/tables/events', { 'user-agent': 'ClickHouse/26.9.2.1' });
    expect('s3.endpoint' in value['config']!).toBe(false);
    expect('s3.endpoint' in value['storage-credentials']![0]!['config']!).toBe(false);
  });
});

describe('what is not done', () => {
  test.each([
    ['POST', 'lake/namespaces'],
    ['DELETE', 'lake/namespaces/lake'],
    ['POST', 'lake/namespaces/lake/properties'],
    ['POST', 'lake/namespaces/lake/tables'],
    ['POST', 'lake/namespaces/lake/tables/events'],
    ['DELETE', 'lake/namespaces/lake/tables/events?purgeRequested=true'],
    ['POST', 'lake/namespaces/lake/register'],
    ['POST', 'lake/namespaces/lake/register-view'],
    ['POST', 'lake/tables/rename'],
    ['POST', 'lake/transactions/commit'],
    ['POST', 'transactions/commit'],
    ['POST', 'lake/namespaces/lake/views'],
    ['POST', 'lake/namespaces/lake/views/v'],
    ['DELETE', 'lake/namespaces/lake/views/v'],
    ['POST', 'lake/views/rename'],
  ])('%s %s would write: 403', async (method, path) => {
    const answer = await iceberg.service.ask(method, `/iceberg/v1/${path}`, {
      headers: { 'content-type': 'application/json' },
      body: '{"name":"x"}',
    });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      403,
      { error: { type: 'ForbiddenException', code: 403, message: expect.stringContaining('read-only') } },
    ]);
  });

  test.each([
    ['POST', 'lake/namespaces/lake/tables/events/plan'],
    ['GET', 'lake/namespaces/lake/tables/events/plan/1'],
    ['DELETE', 'lake/namespaces/lake/tables/events/plan/1'],
    ['POST', 'lake/namespaces/lake/tables/events/tasks'],
    ['POST', 'lake/namespaces/lake/tables/events/metrics'],
    ['GET', 'lake/namespaces/lake/views'],
  ])('%s %s is not supported: 406', async (method, path) => {
    expect(errorOf(await iceberg.json(method, `/iceberg/v1/${path}`))).toBe('406 UnsupportedOperationException 406');
  });

  test('there are no views', async () => {
    expect(errorOf(await get('lake/namespaces/lake/views/v'))).toBe('404 NoSuchViewException 404');
    expect((await head('lake/namespaces/lake/views/v')).status).toBe(404);
  });

  test('other methods are a 405 that says which there are', async () => {
    const answer = await iceberg.json('PUT', '/iceberg/v1/lake/namespaces');
    expect([errorOf(answer), answer.headers.get('allow')]).toEqual([
      '405 MethodNotAllowedException 405',
      'GET, POST, OPTIONS',
    ]);
    expect((await iceberg.service.ask('OPTIONS', '/iceberg/v1/config')).headers.get('allow')).toBe('GET, OPTIONS');
  });

  test.each([
    '/iceberg',
    '/iceberg/',
    '/iceberg/v1',
    '/iceberg/v2/config',
    '/iceberg/v1//config',
    '/iceberg/v1/config/',
    '/iceberg/v1/lake/../config',
    '/iceberg/v1/%2e%2e/config',
    '/iceberg/v1/lake/namespaces/%FF/tables',
    '/iceberg/v1/lake/namespaces/%/tables',
    '/iceberg/v1/{prefix}/namespaces/{namespace}/x',
    '/iceberg/..%2fquery',
  ])('%s is no endpoint', async (path) => {
    const { status, body } = await rawAsk(iceberg.service, 'GET', path);
    expect([status, JSON.parse(body)]).toMatchObject([
      404,
      { error: { type: expect.stringMatching(/^No/), code: 404 } },
    ]);
  });

  test('what is wrong with a head is told in the same words', async () => {
    const answer = await iceberg.service.app.inject({
      method: 'GET',
      url: '/iceberg/v1/config',
      headers: { host: '127.0.0.1', expect: 'the best' },
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      417,
      { error: { type: 'BadRequestException', code: 417 } },
    ]);
    const many = `/iceberg/v1/config?${'a=1&'.repeat(200)}`;
    expect(errorOf(await iceberg.json('GET', many))).toBe('400 BadRequestException 400');
    expect(errorOf(await iceberg.json('GET', '/iceberg/v1/config?warehouse=%F'))).toBe('400 BadRequestException 400');
  });

  test('web pages of other origins and names that are bent to this machine are refused', async () => {
    expect(errorOf(await get('config', { origin: 'http://evil.example' }))).toBe('403 ForbiddenException 403');
    const answer = await iceberg.service.app.inject({ url: '/iceberg/v1/config', headers: { host: 'evil.example' } });
    expect(answer.statusCode).toBe(403);
  });

  test('names are asked for as they are written', async () => {
    expect(errorOf(await get('lake/namespaces/lake/tables/EVENTS%00'))).toBe('404 NoSuchTableException 404');
    expect((await get('lake/namespaces/lake/tables/EVENTS')).status).toBe(200);
    expect((await iceberg.json('GET', tablePath('events', ''))).status).toBe(200);
  });
});
