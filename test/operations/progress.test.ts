/** How far queries and loads are, over real HTTP: while they run, once they have ended, and for whom. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyCommand } from '../../src/commands/key.ts';
import { connect } from '../../src/client/client.ts';
import { type Answer, startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '2', '-query.status.ttl', '5s']);
  await pool(service, 'p');
  await load(service, 'p', rowsOf(rows));
});
afterAll(() => service.close());

const rows = 40_000;
const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const rowsOf = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, k) => `{"k":${from + k},"s":"row ${from + k}"}\n`).join('');
const pool = (on: TestService, name: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  on.ask('POST', '/pool', {
    headers: { ...json, ...headers },
    body: JSON.stringify({ name, layout: { order: 'asc', keys: [['k']] } }),
  });
const load = (
  on: TestService,
  into: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => on.ask('POST', `/pool/${into}/branch/main`, { headers: { ...json, ...headers }, body });
const query = (text: string, id: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  service.ask('POST', '/query', {
    headers: { ...json, accept: 'application/x-ndjson', 'accept-encoding': 'identity', 'x-request-id': id, ...headers },
    body: JSON.stringify({ query: text }),
  });

type Progress = Readonly<Record<string, string | number | null>>;
const progress = async (
  path: string,
  on = service,
  headers: Readonly<Record<string, string>> = {},
): Promise<Progress> => {
  const { status, body } = await on.ask('GET', path, { headers: { ...json, ...headers } });
  expect([path, status, status === 200 ? '' : body]).toEqual([path, 200, '']);
  return JSON.parse(body) as Progress;
};
/** Asks until it is so. */
const until = async (path: string, isSo: (now: Progress) => boolean): Promise<Progress> => {
  for (;;) {
    const { status, body } = await service.ask('GET', path, { headers: json });
    const now = JSON.parse(body) as Progress;
    if (status === 200 && isSo(now)) return now;
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
};
const errorOf = ({ status, body }: Answer): readonly [number, string] => [
  status,
  (JSON.parse(body) as { readonly error: string }).error,
];
/** Times and rates differ from run to run. */
const steady = ({ started, elapsed_ms, records_per_second, bytes_per_second, ...rest }: Progress): Progress => {
  expect(started).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
  for (const n of [elapsed_ms, records_per_second, bytes_per_second]) expect(Number.isSafeInteger(n)).toBe(true);
  return rest;
};

/** Begins a request whose body comes piece by piece, and whose answer is read when it is asked for. */
const begin = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): { readonly sent: ClientRequest; readonly answered: Promise<Answer> } => {
  const { hostname, port } = new URL(service.url);
  const sent = httpRequest({ hostname, port, method, path, agent: false, headers });
  const answered = new Promise<Answer>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('close', () => {
        resolve({ status: response.statusCode!, headers: new Headers(), body });
      });
    });
  });
  answered.catch(() => undefined);
  return { sent, answered };
};

describe('loads', () => {
  test('a load is seen while its body comes, and its commit once it is made', async () => {
    await pool(service, 'seen');
    const half = rowsOf(rows / 2);
    const { sent, answered } = begin('POST', '/pool/seen/branch/main', {
      ...json,
      'x-request-id': 'seen',
      'content-length': String(half.length + rowsOf(rows / 2, rows / 2).length),
    });
    sent.write(half);
    const before = await until('/load/seen', ({ records }) => (records as number) > 0);
    expect(steady(before)).toEqual({
      request_id: 'seen',
      state: 'receiving',
      pool: 'seen',
      branch: 'main',
      bytes_received: expect.any(Number),
      bytes_total: expect.any(Number),
      records: expect.any(Number),
      commit: null,
      error: null,
    });
    expect(before.bytes_received as number).toBeGreaterThan(0);
    expect(before.bytes_received as number).toBeLessThanOrEqual(half.length);
    sent.end(rowsOf(rows / 2, rows / 2));
    const { commit } = JSON.parse((await answered).body) as { readonly commit: string };
    const total = before.bytes_total as number;
    expect(steady(await progress('/load/seen'))).toEqual({
      request_id: 'seen',
      state: 'committed',
      pool: 'seen',
      branch: 'main',
      bytes_received: total,
      bytes_total: total,
      records: rows,
      commit,
      error: null,
    });
    expect(errorOf(await service.ask('DELETE', '/load/seen'))).toEqual([
      409,
      `load seen is already committed: ${commit}`,
    ]);
  });
  test('a small load too, and its length is not known when it comes in chunks', async () => {
    const { commit } = JSON.parse((await load(service, 'seen', '{"k":-1}', { 'x-request-id': 'small' })).body) as {
      readonly commit: string;
    };
    expect(steady(await progress('/load/small'))).toEqual({
      request_id: 'small',
      state: 'committed',
      pool: 'seen',
      branch: 'main',
      bytes_received: 8,
      bytes_total: 8,
      records: 1,
      commit,
      error: null,
    });
    const { sent, answered } = begin('POST', '/pool/seen/branch/main', {
      ...json,
      'x-request-id': 'chunks',
      'transfer-encoding': 'chunked',
    });
    sent.end('{"k":-2}');
    await answered;
    expect(await progress('/load/chunks')).toMatchObject({
      state: 'committed',
      bytes_received: 8,
      bytes_total: null,
      records: 1,
    });
  });
  test('DELETE ends one whose body still comes, and nothing is committed', async () => {
    await pool(service, 'ended');
    for (const [id, headers, body] of [
      ['long', {}, rowsOf(1000)],
      ['short', { 'content-length': '100' }, '{"k":1}'],
    ] as const) {
      const { sent, answered } = begin('POST', '/pool/ended/branch/main', { ...json, 'x-request-id': id, ...headers });
      sent.write(body);
      await until(`/load/${id}`, ({ state }) => state === 'receiving');
      expect((await service.ask('DELETE', `/load/${id}`)).status).toBe(204);
      expect(errorOf(await answered)).toEqual([400, 'load was cancelled: by request']);
      expect(await progress(`/load/${id}`)).toMatchObject({
        state: 'cancelled',
        commit: null,
        error: 'load was cancelled: by request',
      });
      expect((await service.ask('DELETE', `/load/${id}`)).status).toBe(204);
      sent.destroy();
    }
    expect(await service.query('from ended | count()')).toBe('0\n');
  });
  test('one that cannot be read says why', async () => {
    const answer = await load(service, 'seen', '{"k":1}\n{"k":', { 'x-request-id': 'broken' });
    expect(await progress('/load/broken')).toMatchObject({
      state: 'rejected',
      commit: null,
      error: errorOf(answer)[1],
    });
  });
  test('one that waits for a request of the same key is not cancelled into a second commit', async () => {
    const first = await load(service, 'seen', '{"k":-3}', { 'idempotency-key': 'once', 'x-request-id': 'first' });
    const again = await load(service, 'seen', '{"k":-3}', { 'idempotency-key': 'once', 'x-request-id': 'again' });
    expect(again.body).toBe(first.body);
    expect(await progress('/load/again')).toMatchObject({
      state: 'committed',
      commit: (JSON.parse(first.body) as { readonly commit: string }).commit,
    });
  });
  test('what was never there is not found', async () => {
    for (const method of ['GET', 'DELETE'])
      expect(errorOf(await service.ask(method, '/load/nobody'))).toEqual([
        404,
        'no running or recently finished load with id nobody',
      ]);
  });
});

describe('queries', () => {
  test('one that has ended tells what it read and sent', async () => {
    const answer = await query('from p | where k < 10', 'ten');
    const { bytes_read, ...rest } = steady(await progress('/query/ten'));
    expect(rest).toEqual({
      request_id: 'ten',
      state: 'done',
      query: 'from p | where k < 10',
      records_read: expect.any(Number),
      records_total: null,
      records_sent: 10,
      bytes_sent: answer.body.length,
      error: null,
    });
    expect(bytes_read as number).toBeGreaterThan(0);
    await query('from p | values k', 'all');
    expect(await progress('/query/all')).toMatchObject({ records_read: rows, records_sent: rows });
  });
  test('one that runs is seen at work, with the rows of what it reads, and can be ended', async () => {
    const answered = query('from p | join (from p) as {l,r} on l.k+r.k < 0 | count()', 'busy');
    const now = await until(
      '/query/busy',
      ({ state, records_read: read }) => state === 'running' && (read as number) > 0,
    );
    expect(steady(now)).toEqual({
      request_id: 'busy',
      state: 'running',
      query: expect.any(String),
      records_read: expect.any(Number),
      bytes_read: expect.any(Number),
      records_total: rows,
      records_sent: 0,
      bytes_sent: 0,
      error: null,
    });
    expect((await service.ask('DELETE', '/query/busy')).status).toBe(204);
    await answered.catch(() => undefined);
    expect(await until('/query/busy', ({ state }) => state !== 'running')).toMatchObject({
      state: 'cancelled',
      error: 'query was cancelled',
      records_total: rows,
    });
  });
  test('one whose client does not read is streaming', async () => {
    const { sent } = begin('POST', '/query', { ...json, accept: 'application/x-ndjson', 'x-request-id': 'stalled' });
    const body = new Promise<void>((resolve) => {
      sent.prependListener('response', (response) => {
        response.pause();
        resolve();
      });
    });
    sent.end(
      JSON.stringify({
        query:
          'fork (from p) (from p) (from p) (from p) (from p) (from p) (from p) (from p) (from p) (from p) | values f"{s} {s} {s} {s} {s} {s} {s} {s} {s}"',
      }),
    );
    await body;
    expect(await progress('/query/stalled')).toMatchObject({ state: 'streaming', error: null });
    sent.destroy();
    expect(await until('/query/stalled', ({ state }) => state !== 'streaming')).toMatchObject({ state: 'cancelled' });
  });
  test('one that failed tells its error, compiled or not', async () => {
    const answer = await query('from p | sort | head x', 'wrong');
    expect(await progress('/query/wrong')).toMatchObject({
      state: 'failed',
      records_read: 0,
      error: errorOf(answer)[1],
    });
    await query('from p | fuse | values {k,s} | put x:=k', 'csv', { accept: 'text/csv' });
    const mixed = await query('values {a:1},{b:2}', 'mixed', { accept: 'text/csv' }).catch(() => undefined);
    expect(await progress('/query/mixed')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('CSV') as unknown,
    });
    expect(mixed?.status ?? 0).not.toBe(404);
  });
  test('rows that are not counted beforehand have no total', async () => {
    const answered = query(
      'with recursive t(n) as (select 1 union all select n+1 from t where n < 100000000) select count(*) from t',
      'counted',
    );
    expect(await until('/query/counted', ({ state }) => state === 'running')).toMatchObject({ records_total: null });
    await service.ask('DELETE', '/query/counted');
    await answered.catch(() => undefined);
  });
  test('of one id the newest is told', async () => {
    await query('values 1', 'twice');
    await query('values 2', 'twice');
    expect(await progress('/query/twice')).toMatchObject({ query: 'values 2' });
  });
  test('what was never there is not found', async () => {
    expect(errorOf(await service.ask('GET', '/query/nobody'))).toEqual([
      404,
      'no running or recently finished query with id nobody',
    ]);
  });
  test('formats other than JSON have times as times', async () => {
    await query('values 3', 'formats');
    const { body } = await service.ask('GET', '/query/formats', { headers: { accept: 'application/x-sup' } });
    expect(
      body
        .replace(/started:[^,]+,elapsed_ms:\d+/, '')
        .replace(/per_second:\d+/g, '')
        .replace(/bytes_sent:\d+/, ''),
    ).toBe(
      '{request_id:"formats",state:"done",query:"values 3",,records_read:0,bytes_read:0,records_total:null,records_sent:1,,records_,bytes_,error:null}::=api.QueryProgress\n',
    );
    expect(body).toMatch(/started:\d{4}-\d\d-\d\dT[\d:.]+Z,/);
  });
  test('the client package asks for them, and ends them', async () => {
    const lake = connect(service.url);
    const busy = lake.query('from p | join (from p) as {l,r} on l.k+r.k < 0 | count()', { requestId: 'by client' });
    const rowsRead = busy.all();
    rowsRead.catch(() => undefined);
    await until('/query/by%20client', ({ state }) => state === 'running');
    expect(await lake.queryProgress('by client')).toMatchObject({
      requestId: 'by client',
      state: 'running',
      recordsTotal: rows,
      error: undefined,
      startedAt: expect.any(Date) as unknown,
    });
    await lake.cancelQuery('by client');
    await expect(rowsRead).rejects.toThrow('query was cancelled');
    const { commit } = await lake.pool('seen').branch('main').load('{"k":-9}', { requestId: 'loaded by client' });
    expect(await lake.loadProgress('loaded by client')).toMatchObject({
      state: 'committed',
      commit,
      records: 1,
      bytesReceived: 8,
    });
    await expect(lake.cancelLoad('loaded by client')).rejects.toMatchObject({ status: 409 });
  });
});

test('what has ended is known as long as the status of queries is', async () => {
  const brief = await startService(['-workers', '1', '-query.status.ttl', '60ms']);
  try {
    await pool(brief, 'q');
    await load(brief, 'q', '{"k":1}', { 'x-request-id': 'l' });
    await brief.ask('POST', '/query', { headers: { ...json, 'x-request-id': 'q' }, body: '{"query":"from q"}' });
    await new Promise((resolve) => {
      setTimeout(resolve, 80);
    });
    expect((await brief.ask('GET', '/load/l')).status).toBe(404);
    expect((await brief.ask('GET', '/query/q')).status).toBe(404);
  } finally {
    await brief.close();
  }
});

test('who may see a query or a load: who sent it, and who administers the lake', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lake-progress-'));
  const key = async (name: string, role: string): Promise<Record<string, string>> => {
    let token = '';
    await keyCommand(['add', '-lake', directory, '-role', role, name], {
      cwd: directory,
      stdin: (async function* none() {
        yield* [];
      })(),
      stdoutIsTerminal: false,
      complain: () => undefined,
      write: async (chunk) => {
        token += Buffer.from(chunk).toString();
      },
    });
    return { authorization: `Bearer ${token.trim()}` };
  };
  const ann = await key('ann', 'writer');
  const bob = await key('bob', 'writer');
  const admin = await key('admin', 'admin');
  const guarded = await startService(['-auth.keys', '-workers', '1'], directory);
  try {
    await pool(guarded, 'q', ann);
    await load(guarded, 'q', '{"k":1}', { ...ann, 'x-request-id': 'hers' });
    await guarded.ask('POST', '/query', {
      headers: { ...json, ...ann, 'x-request-id': 'hers' },
      body: '{"query":"from q"}',
    });
    for (const path of ['/load/hers', '/query/hers']) {
      const seen = await Promise.all(
        [ann, bob, admin, {}].map(async (headers) => (await guarded.ask('GET', path, { headers })).status),
      );
      expect([path, ...seen]).toEqual([path, 200, 404, 200, 401]);
    }
    expect((await guarded.ask('DELETE', '/load/hers', { headers: bob })).status).toBe(404);
    expect((await guarded.ask('DELETE', '/load/hers', { headers: ann })).status).toBe(409);
    // Somebody else's request of the same id gives no look at hers.
    await guarded.ask('POST', '/query', {
      headers: { ...json, ...bob, 'x-request-id': 'hers' },
      body: '{"query":"values 1"}',
    });
    expect(await progress('/query/hers', guarded, bob)).toMatchObject({ query: 'values 1' });
  } finally {
    await guarded.close();
    await rm(directory, { recursive: true, force: true });
  }
});
