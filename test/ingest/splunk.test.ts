/** Splunk's HTTP Event Collector, over real HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, startService, type TestService } from '../support/service/server.ts';
import { lakeKey } from '../iceberg/support.ts';

let service: TestService;
let guarded: TestService;
let directory: string;
let keys: { readonly all: string; readonly some: string };
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lake-hec-'));
  service = await startService();
  keys = {
    all: await lakeKey(directory, 'add', '-role', 'writer', 'all'),
    some: await lakeKey(directory, 'add', '-role', 'writer:mine', 'some'),
  };
  guarded = await startService(['-auth.keys'], directory);
});
afterAll(async () => {
  await service.close();
  await guarded.close();
  await rm(directory, { recursive: true, force: true });
});
const send = (
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
  to: Pick<TestService, 'ask'> = service,
): Promise<Answer> => to.ask('POST', `/services/collector${path}`, { headers, body });
const success = [200, '{"text":"Success","code":0}'];
const told = ({ status, body }: Answer): unknown => {
  const { detail, ...rest } = JSON.parse(body) as { readonly detail?: string };
  return [status, rest, detail];
};
const commits = async (pool: string): Promise<number> =>
  (await service.query(`from ${pool}:log | where has(parent)`)).split('\n').length - 1;

describe('events', () => {
  test("Splunk's own examples: objects one behind the other, nested events, fields, times as numbers and texts", async () => {
    const answer = await send(
      '/event',
      `{"time": 1426279439, "host": "localhost", "source": "random-data-generator", "sourcetype": "my_sample_data", "index": "examples", "event": "Hello world!"}
       {"time":"1437522387.5","index":"examples","event":{"message":"Something happened","severity":"INFO"},"fields":{"club":"glee","wins":["regionals","nationals"]}}{"index":"examples","time":1433188255500,"event":[1,null,"é"]}`,
      { authorization: 'Splunk 00000000-0000-0000-0000-000000000000' },
    );
    expect([answer.status, answer.body]).toEqual(success);
    expect((await service.query('from examples | sort time')).trimEnd().split('\n')).toEqual([
      '{time:2015-03-13T20:43:59Z,host:"localhost",source:"random-data-generator",sourcetype:"my_sample_data",event:"Hello world!"}',
      '{time:2015-06-01T19:50:55.5Z,event:[1,null,"é"]}',
      '{time:2015-07-21T23:46:27.5Z,event:{message:"Something happened",severity:"INFO"},fields:{club:"glee",wins:["regionals","nationals"]}}',
    ]);
  });
  test('an event without a time has that of its request; the request names what its events do not', async () => {
    const since = new Date().toISOString();
    await send('?index=named&host=h&sourcetype=s', '{"event":1}{"event":2,"host":"own","sourcetype":null}');
    expect(await service.query(`from named | where time >= ${since} | drop time | sort event`)).toBe(
      '{host:"h",sourcetype:"s",event:1}\n{event:2,host:"own",sourcetype:null}\n',
    );
    await send('/event/1.0', '{"event":3}');
    await send('', '{"event":4}', { 'x-lake-pool': 'headed' });
    expect(await service.query('from splunk | values event')).toBe('3\n');
    expect(await service.query('from headed | values event')).toBe('4\n');
  });
  test('a request is a commit of each pool, in any coding of its content', async () => {
    const body = gzipSync(
      '{"event":1,"index":"one","time":1}{"event":2,"index":"two","time":1}{"event":3,"index":"one","time":1}',
    );
    expect((await send('', body, { 'content-encoding': 'gzip' })).status).toBe(200);
    expect(await service.query('from one | count()')).toBe('2\n');
    expect(await service.query('from two | count()')).toBe('1\n');
  });
  test('the same body again is the same commit if its events have times', async () => {
    for (let n = 0; n < 2; n++) await send('', '{"event":1,"index":"timed","time":1}');
    for (let n = 0; n < 2; n++) await send('', '{"event":1,"index":"untimed"}');
    expect(await commits('timed')).toBe(1);
    expect(await commits('untimed')).toBe(2);
  });
  test('more events than a batch has', async () => {
    const body = Array.from({ length: 20_000 }, (_, n) => `{"time":${n},"index":"many","event":{"n":${n}}}`).join('');
    expect((await send('', body)).status).toBe(200);
    expect(await service.query('from many | aggregate n:=count(),s:=sum(event.n)')).toBe('{n:20000,s:199990000}\n');
  });
  test.each([
    ['', 5, 'No data', undefined, 'splunk: no events in request'],
    [' \n', 5, 'No data', undefined, 'splunk: no events in request'],
    ['{"event":1}{', 6, 'Invalid data format', 1],
    ['[{"event":1}]', 6, 'Invalid data format', 0],
    ['{"event":1}{"host":"h"}', 12, 'Event field is required', 1],
    ['{"event":null}', 12, 'Event field is required', 0],
    ['{"event":""}', 13, 'Event field cannot be blank', 0, 'splunk: event field cannot be blank (event 0, from 0)'],
    ['{"event":1,"index":5}', 7, 'Incorrect index', 0],
    ['{"event":1,"fields":[]}', 15, 'Error in handling indexed fields', 0],
    ['{"event":1,"fields":{"a":{"b":1}}}', 15, 'Error in handling indexed fields', 0],
  ])(
    '%j is refused as Splunk does, and leaves no pool',
    async (body, code, text, event, words: string = 'splunk: ') => {
      const { status, body: answer } = await send('?index=bad', body);
      const { detail, ...rest } = JSON.parse(answer) as { readonly detail: string };
      expect([status, rest]).toEqual([
        400,
        { text, code, ...(event !== undefined && { 'invalid-event-number': event }) },
      ]);
      expect(detail).toContain(words);
      expect(service.lake.pools().some(({ name }) => name === 'bad')).toBe(false);
    },
  );
});

test('lines are events; ends of lines and empty ones are none', async () => {
  for (const path of ['/raw', '/raw/1.0'])
    expect((await send(`${path}?index=lines&source=s&channel=c`, 'one\r\n\nzwei "ü"\n\xff')).status).toBe(200);
  expect(await service.query('from lines | where event != "one" | drop time | sort event')).toBe(
    '{source:"s",event:"zwei \\"ü\\""}\n{source:"s",event:"zwei \\"ü\\""}\n{source:"s",event:"ÿ"}\n{source:"s",event:"ÿ"}\n',
  );
  expect(told(await send('/raw', '\n'))).toEqual([400, { text: 'No data', code: 5 }, expect.any(String)]);
});

test('health and acknowledgements', async () => {
  const health = await service.ask('GET', '/services/collector/health');
  expect([health.status, health.body]).toEqual([200, '{"text":"HEC is healthy","code":17}']);
  expect(told(await send('/ack?channel=c', '{"acks":[0]}'))).toEqual([
    400,
    { text: 'ACK is disabled', code: 14 },
    'splunk: acknowledgements are off: an event is on disk when its request is answered',
  ]);
});

describe('with access control', () => {
  const as = (key: string): Readonly<Record<string, string>> => ({ authorization: `Splunk ${key}` });
  const event = '{"event":1,"index":"mine"}';
  test('tokens are keys of the lake', async () => {
    expect(told(await send('', event, {}, guarded))).toEqual([
      401,
      { text: 'Token is required', code: 2 },
      expect.any(String),
    ]);
    expect(told(await send('', event, { authorization: 'Splunk' }, guarded))).toEqual([
      401,
      { text: 'Invalid authorization', code: 3 },
      expect.any(String),
    ]);
    expect(told(await send('', event, as('nothing'), guarded))).toEqual([
      403,
      { text: 'Invalid token', code: 4 },
      expect.any(String),
    ]);
    expect(told(await send('', event, as(keys.some), guarded))).toEqual([
      400,
      { text: 'Incorrect index', code: 7 },
      'mine: pool not found',
    ]);
    expect((await send('', event, as(keys.all), guarded)).status).toBe(200);
    expect((await send('', event, as(keys.some), guarded)).status).toBe(200);
    expect(told(await send('', '{"event":1,"index":"other"}', as(keys.some), guarded))).toEqual([
      400,
      { text: 'Incorrect index', code: 7 },
      'other: pool not found',
    ]);
    expect((await guarded.ask('GET', '/services/collector/health/1.0')).status).toBe(200);
  });
});
