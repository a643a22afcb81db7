/**
 * What real clients ask of the service beyond its interface, and where each point is held:
 *
 * | point | test |
 * | --- | --- |
 * | 1 errors are exactly `application/json`; kinds and statuses | http-cases (`routes`, `post-pool`, `delete-data`), below |
 * | 2 any request may have BSUP's media type, chunks and no body; a JSON type without a body; an empty one | below; http-cases (`post-pool`) |
 * | 3, 4 the command line's data path, its names of types, further paths | exchanges; below for what has no body |
 * | 5 `SuperDB-Commit` and `Zed-Commit` | http-cases (`post-branch`), unit/http/headers, javascript.test |
 * | 6 booleans as Go spells them; `thresh: 0`, `seek_stride` | below |
 * | 7 channel numbers for x-zjson alone | unit/http/encoding ("gets a number for each channel"), javascript.test |
 * | 8 JSUP's types | unit/formats/jsup-zed, exchanges |
 * | 9 events: headers at once, order of lines, `text/event-stream` | unit/http/events, curl.test, javascript.test (EventSource over a restart), event-resumption |
 * | 10 curl | curl.test |
 * | 11 Parquet and Arrow of other writers | python.test, unit/formats/parquet-python, unit/formats/arrows-python |
 * | departures and further choices | reference-mistakes, http-cases, below |
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { request } from 'node:http';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  await service.ask('POST', '/pool', { body: '{name:"p",layout:{order:"asc",keys:[["k"]]}}' });
  await service.ask('POST', '/pool/p/branch/main', { body: '{k:1}' });
});
afterAll(() => service.close());

/** As the command line sends it: a media type and chunks even where there is no body. */
const send = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<{ readonly status: number; readonly type: string | undefined; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(service.url + path, { method, agent: false, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        resolve({ status: response.statusCode!, type: response.headers['content-type'], body: text });
      });
    });
    sent.on('error', reject);
    if (body !== '') sent.write(body);
    sent.end();
  });
const bsup = {
  'content-type': 'application/x-bsup',
  'transfer-encoding': 'chunked',
  accept: 'application/json',
} as const;

describe('requests', () => {
  test("with BSUP's media type and chunks but no body are taken everywhere", async () => {
    for (const [method, path, status] of [
      ['GET', '/version', 200],
      ['GET', '/status', 200],
      ['GET', '/auth/method', 200],
      ['GET', '/auth/identity', 200],
      ['GET', '/pool/p/stats', 200],
      ['GET', '/pool/p/branch/main', 200],
      ['GET', '/query/status/none', 400],
      ['POST', '/pool/p/revision/main/vacuum?dryrun=T', 200],
      ['POST', '/pool/p/branch/main/merge/main', 409],
      ['DELETE', '/pool/p/branch/none', 404],
      ['DELETE', '/pool/none', 404],
    ] as const)
      expect([method, path, (await send(method, path, bsup)).status]).toEqual([method, path, status]);
  });
  test('with a JSON type and no body, an empty type or any type are no 415', async () => {
    for (const type of ['application/json', '', '*/*'])
      expect([
        type,
        (await send('GET', '/pool/p/stats', { 'content-type': type, accept: 'application/json' })).status,
      ]).toEqual([type, 200]);
    for (const type of ['', '*/*'])
      expect([
        type,
        (await send('POST', '/pool/p/branch/main', { 'content-type': type, accept: 'application/json' }, '{k:2}'))
          .status,
      ]).toEqual([type, 200]);
  });
  test('take booleans as Go spells them', async () => {
    for (const [spelled, status] of [
      ...['1', 't', 'T', 'TRUE', 'true', 'True', '0', 'f', 'F', 'FALSE', 'false', 'False'].map(
        (text) => [text, 200] as const,
      ),
      ...['', 'yes', 'tRUE', '2'].map((text) => [text, 400] as const),
    ]) {
      expect([
        spelled,
        (await send('POST', `/pool/p/revision/main/vacuum?dryrun=${spelled}`, { accept: 'application/json' })).status,
      ]).toEqual([spelled, status]);
      expect([
        spelled,
        (await send('POST', `/query?ctrl=${spelled}`, { accept: 'application/x-jsup' }, '{query:"values 1"}')).status,
      ]).toEqual([spelled, status]);
    }
  });
});

describe('pools', () => {
  test('a threshold of 0 is the default, a seek stride is kept, and all keys are', async () => {
    const { body } = await send(
      'POST',
      '/pool',
      { 'content-type': 'application/json', accept: 'application/json' },
      '{"name":"sized","thresh":0,"seek_stride":4096,"layout":{"order":"desc","keys":[["a"],["b","c"]]}}',
    );
    expect((JSON.parse(body) as { readonly pool: unknown }).pool).toMatchObject({
      threshold: 524_288_000,
      seek_stride: 4096,
      layout: { order: 'desc', keys: [['a'], ['b', 'c']] },
    });
  });
  test('without a layout the order is ascending, by ts', async () => {
    const { body } = await send(
      'POST',
      '/pool',
      { 'content-type': 'application/json', accept: 'application/json' },
      '{"name":"plain"}',
    );
    expect((JSON.parse(body) as { readonly pool: unknown }).pool).toMatchObject({
      layout: { order: 'asc', keys: [['ts']] },
    });
  });
});

test('errors are told in one form, whatever is accepted, with a type that is exactly application/json', async () => {
  for (const accept of ['application/x-bsup', 'text/csv', 'application/x-sup']) {
    expect(await send('GET', '/pool/none/stats', { accept })).toEqual({
      status: 404,
      type: 'application/json',
      body: '{"type":"Error","kind":"item does not exist","error":"none: pool not found"}\n',
    });
  }
});
test('an unknown commit is a 404, nothing to merge or to revert a 409; vacuum with nothing to do is an empty list', async () => {
  const json = { accept: 'application/json' };
  expect((await send('POST', `/pool/p/branch/main/revert/0x${'1'.repeat(40)}`, json)).status).toBe(404);
  expect((await send('POST', '/pool/p/branch/main/merge/main', json)).status).toBe(409);
  expect((await send('POST', '/pool/p/revision/main/vacuum', json)).body).toBe('{"object_ids":[]}\n');
});
test('JSON has no NaN and no infinities, and leaves out what is absent', async () => {
  await send('POST', '/pool/p/branch/main', { accept: 'application/json' }, '{k:9,a:NaN,b:+Inf,c:-Inf,d?:_::int64}');
  expect(
    (
      await send(
        'POST',
        '/query',
        { accept: 'application/json', 'content-type': 'application/json' },
        '{"query":"from p | where k==9"}',
      )
    ).body,
  ).toBe('[{"k":9,"a":null,"b":null,"c":null}]\n');
});
