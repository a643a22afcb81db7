/** Elasticsearch's bulk request, over real HTTP: item by item, pool by pool. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect } from 'node:net';
import { setTimeout as later } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let pools = 0;
let pool = '';
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
beforeEach(() => {
  pool = `p${pools++}`;
});

interface Item {
  readonly _index: string;
  readonly _id: string | null;
  readonly status: number;
  readonly result?: string;
  readonly error?: { readonly type: string; readonly reason: string };
}
interface BulkAnswer {
  readonly errors: boolean;
  readonly items: readonly Readonly<Record<string, Item>>[];
}
const ndjson = 'application/x-ndjson';
const lines = (...values: readonly unknown[]): string =>
  values.map((value) => `${typeof value === 'string' ? value : JSON.stringify(value)}\n`).join('');
const post = (path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
  service.ask('POST', path, { headers: { 'content-type': ndjson, ...headers }, body });
const bulk = async (
  body: string | Uint8Array,
  { path = '/_bulk', headers = {} }: { readonly path?: string; readonly headers?: Record<string, string> } = {},
): Promise<BulkAnswer> => {
  const answer = await post(path, body, headers);
  expect(answer.status, answer.body).toBe(200);
  expect(answer.headers.get('x-elastic-product')).toBe('Elasticsearch');
  return JSON.parse(answer.body) as BulkAnswer;
};
/** Operation, index, id, status and why it failed. */
const toldOf = ({ items }: BulkAnswer): readonly unknown[] =>
  items.map((item) => {
    const [[operation, { _index, _id, status, error }]] = Object.entries(item) as [[string, Item]];
    return [operation, _index, _id, status, ...(error ? [error.type, error.reason] : [])];
  });
const rows = async (name: string): Promise<readonly string[]> =>
  (await service.query(`from ${name}`)).split('\n').filter((row) => row !== '');
const commitsOf = async (name: string): Promise<string> =>
  (await service.query(`from ${name}:log | has(message) | count()`)).trim();

describe('items', () => {
  test('each is answered in its place, and one that cannot be read fails alone', async () => {
    const answer = await bulk(
      lines(
        { index: { _index: pool } },
        { '@timestamp': '2026-11-28T05:00:00.5Z', n: 1 },
        { create: { _index: pool, _id: 'a' } },
        { n: 2, deep: { list: [1, 'x'] } },
        { index: { _index: pool } },
        '{"n":3',
        { index: { _index: pool } },
        '[4]',
        { index: { _index: pool } },
        '{"n":5} {"n":6}',
        { index: { _index: pool } },
        { _id: 'x', n: 7 },
        { delete: { _index: pool, _id: 'a' } },
        { update: { _index: pool, _id: 'a' } },
        { doc: { n: 8 } },
        { index: { _index: pool, _id: 9 } },
        { n: 9 },
      ),
    );
    expect(answer.errors).toBe(true);
    const parsing = 'document_parsing_exception';
    expect(toldOf(answer)).toEqual([
      ['index', pool, null, 201],
      ['create', pool, 'a', 201],
      ['index', pool, null, 400, parsing, 'json: unexpected end of JSON input (line 6, column 7, byte 173)'],
      ['index', pool, null, 400, parsing, 'bulk: expected a document, which is an object (line 8)'],
      ['index', pool, null, 400, parsing, 'bulk: more than one document in its line (line 10)'],
      ['index', pool, null, 400, parsing, 'bulk: _id belongs into the action, not the document (line 12)'],
      ...['delete', 'update'].map((operation) => [
        operation,
        pool,
        'a',
        400,
        'illegal_argument_exception',
        `bulk: ${operation}: pool ${pool} has no identity of one field; PUT /pool/${pool} with {"identity": [["id"]]} gives it one`,
      ]),
      ['index', pool, '9', 201],
    ]);
    expect((await rows(pool)).toSorted()).toEqual([
      '{"@timestamp":2026-11-28T05:00:00.5Z,n:1}',
      '{_id:"9",n:9}',
      '{_id:"a",n:2,deep:{list:[1,"x"]}}',
    ]);
  });

  test('large bodies, which workers decode, come to the same as small ones', async () => {
    const count = 20_000;
    const body = Array.from({ length: count }, (_, i) =>
      i % 1000 === 7
        ? lines({ index: { _index: pool } }, '{"cut')
        : lines({ index: { _index: pool, ...(i % 2 && { _id: `${i}` }) } }, { '@timestamp': 1_764_300_000_000 + i, i }),
    ).join('');
    const answer = await bulk(gzipSync(body), { headers: { 'content-encoding': 'gzip' } });
    expect(answer.items.length).toBe(count);
    expect(answer.items.filter(({ index }) => index!.status === 400).length).toBe(20);
    expect(answer.items[19_999]).toMatchObject({ index: { _index: pool, _id: '19999', status: 201 } });
    expect(
      await service.query(`from ${pool} | first:=min(i),last:=max(i),rows:=count(),from:=min(this["@timestamp"])`),
    ).toBe('{first:0,last:19999,rows:19980,from:2025-11-28T03:20:00Z}\n');
    expect(await service.query(`from ${pool} | has(_id) | count()`)).toBe('9980\n');
    expect(await commitsOf(pool)).toBe('1');
  });

  test('those without an index go to the pool of the path; PUT does the same', async () => {
    await bulk(lines({ index: {} }, { n: 1 }, { index: { _index: `${pool}b` } }, { n: 2 }), { path: `/${pool}/_bulk` });
    const put = await service.ask('PUT', `/${pool}/_bulk?refresh=true&time=at`, {
      body: lines({ create: {} }, { at: '1764300000', n: 3 }),
    });
    expect(put.status, put.body).toBe(200);
    expect((await rows(pool)).toSorted()).toEqual(['{at:2025-11-28T03:20:00Z,n:3}', '{n:1}']);
    expect(await rows(`${pool}b`)).toEqual(['{n:2}']);
  });
});

describe('bodies', () => {
  const document = '{"n":1}';
  test.each([
    ['', 'no operations (line 1)'],
    ['\n\n', 'no operations (line 3)'],
    [`{"index":{"_index":"a"}}\n${document}`, 'the body must end with a newline (line 2)'],
    ['{"index":{"_index":"a"}}\n', 'index: its document is missing (line 2)'],
    [`{"index":{}}\n${document}\n`, 'index: _index is missing (line 1)'],
    [`{"index":{"_index":"a"}}\n${document}\nnonsense\n`, 'expected an action, such as {"index":{}} (line 3)'],
    [`["index"]\n${document}\n`, 'expected an action, such as {"index":{}} (line 1)'],
    [`{"insert":{}}\n${document}\n`, 'expected one of index, create, update, delete, got insert (line 1)'],
    ['{}\n', 'expected one of index, create, update, delete, got {} (line 1)'],
    ['{"index":null}\n', 'index: expected an object (line 1)'],
    ['{"index":{"_index":["a"]}}\n', '_index: expected a string (line 1)'],
    ['{"index":{"_indx":"a"}}\n', 'index: unknown parameter _indx (line 1)'],
    [`{"index":{"_index":"${'a'.repeat(70_000)}"}}\n`, 'an action of more than 65536 bytes (line 1)'],
  ])('%j is refused as a whole', async (body, fault) => {
    const answer = await post('/_bulk', body);
    const reason = `bulk: ${fault}`;
    const error = { type: 'illegal_argument_exception', reason };
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      400,
      { error: { root_cause: [error], ...error }, status: 400 },
    ]);
    expect(answer.headers.get('x-elastic-product')).toBe('Elasticsearch');
  });

  test('what fails as a whole commits nothing, in no pool', async () => {
    const many = Array.from({ length: 9000 }, (_, i) => lines({ index: { _index: `${pool}${i % 3}` } }, { i })).join(
      '',
    );
    expect((await post('/_bulk', `${many}nonsense\n`)).status).toBe(400);
    for (const k of [0, 1, 2])
      if (service.lake.pools().some(({ name }) => name === `${pool}${k}`))
        expect(await rows(`${pool}${k}`)).toEqual([]);
  });

  test('each pool gets a commit, and has an event', async () => {
    const body = Array.from({ length: 300 }, (_, i) => lines({ index: { _index: `${pool}${i % 3}` } }, { i })).join('');
    expect((await bulk(body)).errors).toBe(false);
    for (const k of [0, 1, 2]) {
      expect(await commitsOf(`${pool}${k}`)).toBe('1');
      expect(await service.query(`from ${pool}${k} | count()`)).toBe('100\n');
    }
  });

  test('records for more pools than a body may name are to be sent again', async () => {
    const body = Array.from({ length: 102 }, (_, i) => lines({ index: { _index: `${pool}x${i}` } }, { i })).join('');
    const told = toldOf(await bulk(body)) as readonly (readonly unknown[])[];
    expect(told.filter(([, , , status]) => status === 201).length).toBe(100);
    expect(told[101]).toEqual([
      'index',
      `${pool}x101`,
      null,
      429,
      'es_rejected_execution_exception',
      `${pool}x101: request body has records for more than 100 pools; send the rest again`,
    ]);
  });

  test('a parameter that nobody knows is refused', async () => {
    expect((await post('/_bulk?refresj=true', lines({ index: { _index: pool } }, { n: 1 }))).body).toContain('refresj');
  });
});

test('one that still comes is ended by a request, and nothing of it is committed', async () => {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (bytes) => {
    answer += String(bytes);
  });
  const id = `c${pool}`;
  socket.write(
    `POST /_bulk HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${ndjson}\r\nX-Request-Id: ${id}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const part = Array.from({ length: 5000 }, (_, n) => lines({ create: { _index: pool } }, { n })).join('');
  const told = async (): Promise<string> =>
    (await service.ask('GET', `/load/${id}`, { headers: { accept: 'application/json' } })).body;
  for (let sent = 0; !(await told()).includes('receiving'); sent++) {
    expect(answer + (sent < 50 ? '' : await told())).toBe('');
    socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
    await later(20);
  }
  expect((await service.ask('DELETE', `/load/${id}`)).status).toBe(204);
  while (!answer.includes('\r\n\r\n')) await later(5);
  socket.destroy();
  expect(answer).toContain('load was cancelled: by request');
  expect(await told()).toContain('"state":"cancelled"');
  expect(await rows(pool)).toEqual([]);
});

describe('sent again', () => {
  const withIds = (name: string): string =>
    Array.from({ length: 200 }, (_, i) => lines({ create: { _index: name, _id: `${i}` } }, { i })).join('');
  test('a body all of whose items have ids is committed once, and answered the same', async () => {
    const first = await bulk(withIds(pool));
    const again = await Promise.all([bulk(withIds(pool)), bulk(withIds(pool))]);
    expect(again.map(({ items }) => items)).toEqual([first.items, first.items]);
    expect((await rows(pool)).length).toBe(200);
    expect(await commitsOf(pool)).toBe('1');
    const progress = await service.ask('POST', '/_bulk', {
      headers: { 'x-request-id': `r${pool}` },
      body: withIds(pool),
    });
    const { status, body } = await service.ask('GET', `/load/r${pool}`, {
      headers: { accept: 'application/json' },
    });
    const commit = await service.ask('GET', `/pool/${pool}/branch/main`, { headers: { accept: 'application/json' } });
    expect([progress.status, status, JSON.parse(body)]).toEqual([
      200,
      200,
      // What it is: the commit that has its records. Nothing was cancelled.
      expect.objectContaining({
        state: 'committed',
        commit: (JSON.parse(commit.body) as { commit: string }).commit,
        error: null,
      }),
    ]);
  });
  test('one without ids is the same if its documents have times, and else is two', async () => {
    const timed = lines({ index: { _index: pool } }, { '@timestamp': '2026-11-28T05:00:00.123Z', n: 1 });
    const untimed = lines({ index: { _index: pool } }, { n: 2 });
    for (const body of [timed, untimed]) for (let k = 0; k < 2; k++) expect((await bulk(body)).errors).toBe(false);
    expect((await rows(pool)).length).toBe(3);
  });
  test('Idempotency-Key makes it one, and is not taken for another body', async () => {
    const headers = { 'idempotency-key': pool };
    const body = lines({ index: { _index: pool } }, { n: 1 });
    expect((await bulk(body, { headers })).errors).toBe(false);
    expect((await bulk(body, { headers })).errors).toBe(false);
    expect(toldOf(await bulk(lines({ index: { _index: pool } }, { n: 2 }), { headers }))).toMatchObject([
      ['index', pool, null, 422, 'illegal_argument_exception', expect.stringContaining('Idempotency-Key')],
    ]);
    expect(await rows(pool)).toEqual(['{n:1}']);
  });
});

describe('what clients look at', () => {
  const elastic = 'application/vnd.elasticsearch+json; compatible-with=9';
  test('GET / answers Elasticsearch to who takes its JSON, and the page to browsers', async () => {
    const info = await service.ask('GET', '/', { headers: { accept: elastic } });
    expect([info.headers.get('content-type'), info.headers.get('x-elastic-product')]).toEqual([
      elastic,
      'Elasticsearch',
    ]);
    expect(JSON.parse(info.body)).toMatchObject({
      tagline: 'You Know, for Search',
      version: { build_flavor: 'default' },
    });
    const head = await service.ask('HEAD', '/', { headers: { accept: 'application/json' } });
    expect([head.status, head.headers.get('x-elastic-product'), head.body]).toEqual([200, 'Elasticsearch', '']);
    for (const accept of ['text/html,application/json;q=0.9', '*/*']) {
      const page = await service.ask('GET', '/', { headers: { accept } });
      expect(page.headers.get('content-type')).toContain('text/html');
    }
  });
  test.each(['/_license', '/_xpack', '/_cluster/health'])('GET %s', async (path) => {
    const answer = await service.ask('GET', `${path}?human=false`, { headers: { accept: elastic } });
    expect([answer.status, answer.headers.get('x-elastic-product')]).toEqual([200, 'Elasticsearch']);
    expect(JSON.parse(answer.body)).toBeTypeOf('object');
  });
});
