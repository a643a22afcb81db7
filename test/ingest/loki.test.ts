/** Loki's push, over real HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import { encodeSnappy } from '../../src/formats/codings/snappy.ts';
import { bytes, message, text, varint } from '../support/formats/protobuf.ts';
import { type Answer, startService, type TestService } from '../support/service/server.ts';

let service: TestService;
let pools = 0;
let pool = '';
beforeAll(async () => {
  service = await startService(['-ingest.body.max', '2MiB']);
});
afterAll(() => service.close());
beforeEach(() => {
  pool = `p${pools++}`;
});
const push = (
  body: string | Uint8Array,
  type: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  service.ask('POST', `/loki/api/v1/push?pool=${pool}`, { headers: { 'content-type': type, ...headers }, body });
const json = (value: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer> =>
  push(typeof value === 'string' ? value : JSON.stringify(value), 'application/json', headers);
const protobuf = (value: Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Answer> =>
  push(encodeSnappy(value), 'application/x-protobuf', headers);
const rows = async (name = pool): Promise<readonly string[]> =>
  (await service.query(`from ${name} | sort ts`)).split('\n').filter((row) => row !== '');

interface Entry {
  readonly seconds: number | bigint;
  readonly nanos: number;
  readonly line: string | Uint8Array;
  readonly metadata?: Readonly<Record<string, string>>;
}
/** logproto.PushRequest */
const request = (...streams: readonly { readonly labels: string; readonly entries: readonly Entry[] }[]): Uint8Array =>
  message(
    ...streams.map(({ labels, entries }) =>
      bytes(
        1,
        message(
          text(1, labels),
          ...entries.map(({ seconds, nanos, line, metadata = {} }) =>
            bytes(
              2,
              message(
                bytes(1, message(varint(1, seconds), varint(2, nanos))),
                typeof line === 'string' ? text(2, line) : bytes(2, line),
                ...Object.entries(metadata).map(([name, value]) => bytes(3, message(text(1, name), text(2, value)))),
              ),
            ),
          ),
          varint(3, 18_446_744_073_709_551_615n),
        ),
      ),
    ),
  );

describe('JSON', () => {
  test('lines are records with their labels, times to the nanosecond and metadata', async () => {
    const { status, body } = await json({
      streams: [
        {
          stream: { app: 'shop', '1': 'é' },
          values: [
            ['1764300000123456789', 'one'],
            ['1764300001000000000', 'zwei\n"ü"', { trace_id: 'abc' }],
          ],
        },
        { stream: {}, values: [['-1', 'before 1970']] },
        { stream: { app: 'idle' }, values: [] },
      ],
    });
    expect([status, body]).toEqual([204, '']);
    expect(await rows()).toEqual([
      '{ts:1969-12-31T23:59:59.999999999Z,labels:{},line:"before 1970"}',
      '{ts:2025-11-28T03:20:00.123456789Z,labels:{"1":"é",app:"shop"},line:"one"}',
      '{ts:2025-11-28T03:20:01Z,labels:{"1":"é",app:"shop"},line:"zwei\\n\\"ü\\"",metadata:{trace_id:"abc"}}',
    ]);
  });
  test.each([
    ['{', 'loki: no JSON: '],
    ['[]', 'loki: the body: expected an object'],
    [{}, 'loki: streams: expected a list'],
    [{ streams: [1] }, 'loki: a stream: expected an object (stream 1)'],
    [{ streams: [{ stream: { a: 1 }, values: [] }] }, 'loki: stream: expected strings (stream 1)'],
    [
      { streams: [{ stream: {}, values: [['1']] }] },
      'loki: expected [time, line] or [time, line, metadata] (stream 1, line 1)',
    ],
    [
      {
        streams: [
          {
            stream: {},
            values: [
              ['1', 'a'],
              [2, 'b'],
            ],
          },
        ],
      },
      'loki: expected the nanoseconds since 1970 as a string of digits (stream 1, line 2)',
    ],
    [
      { streams: [{ stream: {}, values: [['9223372036854775808', 'a']] }] },
      'loki: time beyond 64 bits (stream 1, line 1)',
    ],
    [{ streams: [{ stream: {}, values: [['1', 2]] }] }, 'loki: expected the line as a string (stream 1, line 1)'],
    [{ streams: [{ stream: {}, values: [['1', 'a', []]] }] }, 'loki: metadata: expected an object (stream 1, line 1)'],
  ])('%j is refused in words', async (body, fault) => {
    const answer = await json(body);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain; charset=utf-8']);
    expect(answer.body.startsWith(fault), answer.body).toBe(true);
  });
  test('a push without a line is told so, and one that is too long', async () => {
    const empty = await json({ streams: [] });
    expect([empty.status, empty.body]).toEqual([422, 'loki: at least one stream with a line is required\n']);
    const long = await json({ streams: [{ stream: {}, values: [['1', 'x'.repeat(2 << 20)]] }] });
    expect([long.status, long.body]).toEqual([
      413,
      'loki: a request: more than 2097152 bytes (option -ingest.body.max)\n',
    ]);
  });
});

describe('protobuf in Snappy', () => {
  test('is the same as JSON', async () => {
    const sent = request(
      {
        labels: String.raw`{app="shop", level="a\"b\n\x41\u00e9", raw=` + '`\\n`' + '}',
        entries: [
          { seconds: 1_764_300_000, nanos: 123_456_789, line: 'one' },
          { seconds: -1n, nanos: 0, line: 'two', metadata: { trace_id: 'abc' } },
        ],
      },
      { labels: '{}', entries: [{ seconds: 0, nanos: 1, line: Uint8Array.of(0x61, 0xff) }] },
    );
    for (const encoding of [undefined, 'snappy'])
      expect((await protobuf(sent, encoding === undefined ? {} : { 'content-encoding': encoding })).status).toBe(204);
    expect(await rows()).toEqual([
      String.raw`{ts:1969-12-31T23:59:59Z,labels:{app:"shop",level:"a\"b\nAé",raw:"\\n"},line:"two",metadata:{trace_id:"abc"}}`,
      String.raw`{ts:1970-01-01T00:00:00.000000001Z,labels:{},line:"a\ufffd"}`.replace('\\ufffd', '\ufffd'),
      String.raw`{ts:2025-11-28T03:20:00.123456789Z,labels:{app:"shop",level:"a\"b\nAé",raw:"\\n"},line:"one"}`,
    ]);
    expect(await service.query(`from ${pool} | ts==1970-01-01T00:00:00.000000001Z | values line::bytes`)).toBe(
      '0x61ff\n',
    );
  });
  test('many lines come through a worker, coded once more', async () => {
    const entries = Array.from({ length: 20_000 }, (_, i) => ({
      seconds: 1_764_300_000 + i,
      nanos: i,
      line: `line ${i}`,
    }));
    const body = gzipSync(encodeSnappy(request({ labels: '{app="a"}', entries })));
    expect((await push(body, 'application/x-protobuf', { 'content-encoding': 'gzip' })).status).toBe(204);
    expect(await service.query(`from ${pool} | rows:=count(),last:=max(ts)`)).toBe(
      '{rows:20000,last:2025-11-28T08:53:19.000019999Z}\n',
    );
  });
  test.each([
    ['nothing', new Uint8Array(0), 'loki: snappy: no length'],
    ['a length without bytes', Uint8Array.of(0xff, 0xff, 0x03), 'loki: snappy: 65535 bytes out of 3'],
    [
      'a length beyond the limit',
      Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f),
      'loki: a request: more than 2097152 bytes',
    ],
    [
      'a field that is cut',
      encodeSnappy(Uint8Array.of(0x0a, 0x10, 0x0a)),
      'loki: protobuf: a message ends in the middle',
    ],
    ['a group', encodeSnappy(Uint8Array.of(0x0b)), 'loki: protobuf: wire type 3 is not known'],
    [
      'labels that are none',
      encodeSnappy(request({ labels: 'app', entries: [] })),
      'loki: labels: expected {name="text"}, got app',
    ],
    [
      'a broken label',
      encodeSnappy(request({ labels: '{a=1}', entries: [] })),
      'loki: labels: expected name="text" at a=1',
    ],
    [
      'a time out of range',
      encodeSnappy(request({ labels: '{}', entries: [{ seconds: 1, nanos: 1_000_000_000, line: '' }] })),
      'loki: time out of range: 1 s and 1000000000 ns',
    ],
  ])('%s is refused', async (_, body, fault) => {
    const answer = await push(body, 'application/x-protobuf');
    expect([400, 413]).toContain(answer.status);
    expect(answer.body.startsWith(fault), answer.body).toBe(true);
  });
});

describe('pools', () => {
  test('the same push again is the same commit; the header names the pool too', async () => {
    const body = { streams: [{ stream: { a: 'b' }, values: [['1', 'x']] }] };
    expect((await json(body)).status).toBe(204);
    expect((await json(body)).status).toBe(204);
    expect(await rows()).toEqual(['{ts:1970-01-01T00:00:00.000000001Z,labels:{a:"b"},line:"x"}']);
    const headers = { 'content-type': 'application/json', 'x-lake-pool': `${pool}h` };
    const answer = await service.ask('POST', '/loki/api/v1/push', { headers, body: JSON.stringify(body) });
    expect([answer.status, (await rows(`${pool}h`)).length]).toEqual([204, 1]);
  });
});
