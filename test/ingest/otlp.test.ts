/** OTLP/HTTP over real requests: what is taken, where it goes, what is answered. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { keyCommand } from '../../src/commands/key.ts';
import { type ErrorCode, LakeError } from '../../src/errors.ts';
import { contentCodings } from '../../src/formats/codings/encoding.ts';
import { createEncoder } from '../../src/formats/codings/encode.ts';
import { shipperError } from '../../src/http/ingest/refusal.ts';
import { logRecord, logsOf, otlpBytes, otlpJson } from '../support/formats/otlp.ts';
import { type Answer, startService, type TestService } from '../support/service/server.ts';

const protobuf = { 'content-type': 'application/x-protobuf' } as const;
const json = { 'content-type': 'application/json' } as const;

let service: TestService;
beforeAll(async () => {
  service = await startService(['-ingest.body.max', '64KiB']);
});
afterAll(async () => {
  await service.close();
  await rm(service.directory, { recursive: true, force: true });
});
const post = (
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  to: TestService = service,
): Promise<Answer> => to.ask('POST', path, { headers, body });
const logs = (...texts: readonly string[]): Uint8Array =>
  otlpBytes('logs', logsOf(...texts.map((text, i) => logRecord(text, i))));
const bodies = (pool: string, of: TestService = service): Promise<string> => of.query(`from ${pool} | collect(body)`);
const commits = async (pool: string, of: TestService = service): Promise<number> =>
  (await of.lake.pool(pool).graph({ limit: 100 })).commits.length;
/** Status, type and body of an answer; a google.rpc.Status in bytes as `[code, message]`. */
const told = ({ status, headers, body }: Answer): readonly unknown[] => [
  status,
  headers.get('content-type'),
  headers.get('content-type') === 'application/json' ? JSON.parse(body) : body,
];

describe('what is taken', () => {
  test('each signal, in both encodings, answered by the empty message of its response', async () => {
    const spans = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'a', startTimeUnixNano: '1' }] }] }] };
    const metrics = {
      resourceMetrics: [
        { scopeMetrics: [{ metrics: [{ name: 'm', gauge: { dataPoints: [{ timeUnixNano: '1', asInt: '5' }] } }] }] },
      ],
    };
    for (const [path, signal, request] of [
      ['/v1/logs', 'logs', logsOf(logRecord('a'))],
      ['/v1/traces', 'traces', spans],
      ['/v1/metrics', 'metrics', metrics],
    ] as const) {
      expect(told(await post(path, protobuf, otlpBytes(signal, request)))).toEqual([200, protobuf['content-type'], '']);
      expect(told(await post(path, { ...json, accept: 'application/json' }, otlpJson(request)))).toEqual([
        200,
        json['content-type'],
        {},
      ]);
    }
    expect(await bodies('otel_logs')).toBe('["a","a"]\n');
    expect(await service.query('from otel_traces | count()')).toBe('2\n');
    expect(await service.query('from otel_metrics | values {name,value}')).toBe(
      '{name:"m",value:5}\n{name:"m",value:5}\n',
    );
    expect(service.lake.pool('otel_logs').config.layout).toEqual({ order: 'desc', keys: [['ts']] });
  });
  test('gzip and zstd, and every other coding that loads have', async () => {
    const zstd = await createEncoder('zstd');
    const coded = { gzip: gzipSync(logs('coded')), zstd: await zstd.end(logs('coded too')) };
    expect(contentCodings).toEqual(expect.arrayContaining(['gzip', 'zstd']));
    for (const [coding, bytes] of Object.entries(coded))
      expect(
        (await post('/v1/logs', { ...protobuf, 'content-encoding': coding, 'x-lake-pool': 'coded' }, bytes)).status,
      ).toBe(200);
    expect(await service.query('from coded | sort body | collect(body)')).toBe('["coded","coded too"]\n');
  });
  test('long batches and short ones, in chunks without a length too', async () => {
    const texts = Array.from({ length: 300 }, (_, i) => `row ${i} of a batch that goes to a worker`);
    expect((await post('/v1/logs', { ...protobuf, 'x-lake-pool': 'long' }, logs(...texts))).status).toBe(200);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(
        `${service.url}/v1/logs`,
        { method: 'POST', headers: { ...protobuf, 'x-lake-pool': 'long' } },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      );
      request.on('error', reject);
      const bytes = logs('in pieces');
      request.write(bytes.subarray(0, 10));
      request.end(bytes.subarray(10));
    });
    expect(status).toBe(200);
    expect(await service.query('from long | count()')).toBe('301\n');
    expect(
      await service.query('from long | where body=="in pieces" | values resource.attributes["service.name"]'),
    ).toBe('"shop"\n');
  });
  test('a request without anything in it is a success and no commit', async () => {
    for (const [headers, body] of [
      [protobuf, new Uint8Array(0)],
      [protobuf, otlpBytes('logs', { resourceLogs: [{ scopeLogs: [{}] }] })],
      [json, '{}'],
      [json, '{"resourceLogs":[]}'],
    ] as const)
      expect((await post('/v1/logs', { ...headers, 'x-lake-pool': 'empty' }, body)).status).toBe(200);
    expect(service.lake.pools().some(({ name }) => name === 'empty')).toBe(false);
  });
  test('records sort and are asked for as all records are', async () => {
    const records = [3, 1, 2].map((n) => ({
      ...logRecord(`n${n}`, n),
      severityNumber: n * 6,
      attributes: [{ key: 'n', value: { intValue: n } }],
      traceId: Buffer.alloc(16, n),
    }));
    await post('/v1/logs', { ...protobuf, 'x-lake-pool': 'asked' }, otlpBytes('logs', logsOf(...records)));
    expect(await service.query('from asked | values body')).toBe('"n3"\n"n2"\n"n1"\n');
    expect(await service.query('from asked | where severity_number >= 12 and attributes.n < 3 | values trace_id')).toBe(
      '0x02020202020202020202020202020202\n',
    );
    expect(await service.query('from asked | count() by service:=resource.attributes["service.name"]')).toBe(
      '{service:"shop",count:3}\n',
    );
  });
});

describe('a batch that is sent again', () => {
  test('is the commit of the first time, also when both come at once', async () => {
    const headers = { ...protobuf, 'x-lake-pool': 'again' };
    await post('/v1/logs', headers, logs('a'));
    await post('/v1/logs', headers, logs('a'));
    expect(await bodies('again')).toBe('["a"]\n');
    const both = await Promise.all(Array.from({ length: 6 }, () => post('/v1/logs', headers, logs('b', 'c'))));
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await commits('again')).toBe(2);
    // In another coding it is the same; elsewhere, or of other bytes, it is another one.
    await post('/v1/logs', { ...headers, 'content-encoding': 'gzip' }, gzipSync(logs('a')));
    await post('/v1/logs', { ...headers, 'x-lake-pool': 'elsewhere' }, logs('a'));
    await post('/v1/logs', headers, logs('a', 'more'));
    expect(await commits('again')).toBe(3);
    expect(await bodies('elsewhere')).toBe('["a"]\n');
  });
  test('is known after a restart; without -ingest.repeats it is another commit', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lake-otlp-'));
    let other = await startService([], directory);
    await post('/v1/logs', protobuf, logs('a'), other);
    await other.close();
    other = await startService([], directory);
    await post('/v1/logs', protobuf, logs('a'), other);
    expect(await commits('otel_logs', other)).toBe(1);
    await other.close();
    other = await startService(['-ingest.repeats', '0s'], directory);
    await post('/v1/logs', protobuf, logs('a'), other);
    expect(await commits('otel_logs', other)).toBe(2);
    await other.close();
    await rm(directory, { recursive: true, force: true });
  });
  test('goes by its Idempotency-Key where it has one', async () => {
    const headers = { ...protobuf, 'x-lake-pool': 'keyed' };
    for (const key of ['1', '2', '2']) await post('/v1/logs', { ...headers, 'idempotency-key': key }, logs('a'));
    expect(await commits('keyed')).toBe(2);
    expect((await post('/v1/logs', { ...headers, 'idempotency-key': '2' }, logs('b'))).status).toBe(422);
  });
});

describe('what is refused', () => {
  test('is told as a google.rpc.Status in the encoding of the request', async () => {
    expect(told(await post('/v1/logs', json, '{"resourceLogs":5}'))).toEqual([
      400,
      json['content-type'],
      { code: 3, message: 'otlp logs: resourceLogs: expected "[", found "5" (byte 16)' },
    ]);
    const message = 'otlp logs: the message ends in the middle of a field (byte 2)';
    expect(told(await post('/v1/logs', protobuf, Uint8Array.of(0x0a, 5)))).toEqual([
      400,
      protobuf['content-type'],
      `\u0008\u0003\u0012${String.fromCharCode(message.length)}${message}`,
    ]);
    expect(told(await post('/v1/logs', { 'content-type': 'text/plain' }, 'x'))).toEqual([
      400,
      json['content-type'],
      { code: 3, message: 'unsupported MIME type: text/plain' },
    ]);
    expect(told(await post('/v1/logs?x=1', json, '{}'))[0]).toBe(400);
    expect(told(await post('/v1/logs', { ...json, 'content-encoding': 'lzma' }, '{}'))[0]).toBe(400);
    expect(told(await post('/v1/logs', { ...json, 'x-lake-pool': '..' }, otlpJson(logsOf(logRecord('a')))))[2]).toEqual(
      {
        code: 3,
        message: 'pool cannot be named ".."',
      },
    );
  });
  test('a request beyond the limit, also one that expands to more, is a 413', async () => {
    const long = Buffer.alloc(70_000, 'x');
    for (const [headers, body] of [
      [protobuf, long],
      [{ ...protobuf, 'content-encoding': 'gzip' }, gzipSync(long)],
    ] as const)
      expect((await post('/v1/logs', headers, body)).status).toBe(413);
  });
  test('nothing of a broken batch is there', async () => {
    const whole = logs(...Array.from({ length: 400 }, (_, i) => `row ${i}`));
    // The last one has no record, and a resource that is cut.
    for (const body of [whole.subarray(0, whole.length - 3), logs('a').subarray(0, 20), Buffer.of(10, 4, 10, 2, 10, 5)])
      expect((await post('/v1/logs', { ...protobuf, 'x-lake-pool': 'broken' }, body)).status).toBe(400);
    expect(service.lake.pools().some(({ name }) => name === 'broken')).toBe(false);
  });
  test('what will pass is a 503, that a shipper comes again', () => {
    const codes: readonly ErrorCode[] = ['storage-full', 'spill-full', 'worker-died', 'body-stalled'];
    for (const code of codes) {
      const error = shipperError(new LakeError(code, { fault: 'x', reason: 'x', limit: 1 }));
      expect(error).toMatchObject({ code: 'shipment-again', status: 503 });
      expect((error as Error).message).toContain('not loaded, send it again: ');
    }
    const bad = new LakeError('format-broken', { format: 'otlp', fault: 'x', place: '' });
    expect(shipperError(bad)).toBe(bad);
  });
  test('a service that has too much to do says when to come again', async () => {
    const busy = await startService(['-tasks.max', '1']);
    const open = httpRequest(`${busy.url}/pool/otel_logs/branch/main`, { method: 'POST', headers: json });
    open.on('error', () => undefined);
    await busy.lake.createPool({ name: 'otel_logs' });
    open.write(`"${'x'.repeat(100_000)}"\n`);
    // A place is taken when the beginning of the body has come.
    while (busy.workers.status().loadsRunning === 0) await new Promise((resolve) => setImmediate(resolve));
    let answer: Answer;
    do
      answer = await post(
        '/v1/logs',
        json,
        otlpJson(logsOf(...Array.from({ length: 80 }, (_, i) => logRecord(`row ${i} of many`)))),
        busy,
      );
    while (answer.status === 200);
    expect([answer.status, answer.headers.get('retry-after'), JSON.parse(answer.body)]).toEqual([
      503,
      '1',
      { code: 14, message: expect.stringContaining('option -tasks.max') as string },
    ]);
    open.destroy();
    await busy.close();
    await rm(busy.directory, { recursive: true, force: true });
  });
});

describe('with access control', () => {
  test('who may write the pool ships to it, who may make pools makes it; lines of the audit log name it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lake-otlp-'));
    const audit = join(directory, 'audit.ndjson');
    const key = async (name: string, role: string): Promise<string> => {
      let out = '';
      await keyCommand(['add', '-lake', directory, '-role', role, name], {
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
    const keys = [
      await key('all', 'writer'),
      await key('reads', 'reader'),
      await key('own', 'writer:otel_logs'),
      await key('other', 'writer:other'),
    ];
    const guarded = await startService(['-auth.keys', '-audit', audit], directory);
    const statusOf = async (token: string | undefined, pool?: string): Promise<number> =>
      (
        await post(
          '/v1/logs',
          {
            ...json,
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...(pool !== undefined && { 'x-lake-pool': pool }),
          },
          otlpJson(logsOf(logRecord('a'))),
          guarded,
        )
      ).status;
    const [all, reads, own, other] = keys;
    expect(await statusOf(own)).toBe(404);
    expect([await statusOf(undefined), await statusOf(reads), await statusOf(all)]).toEqual([401, 404, 200]);
    expect([await statusOf(reads), await statusOf(own), await statusOf(other), await statusOf(own, 'new')]).toEqual([
      403, 200, 404, 404,
    ]);
    const id = `0x${guarded.lake.pool('otel_logs').config.id}`;
    await guarded.close();
    const lines = (await readFile(audit, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toContainEqual(
      expect.objectContaining({
        who: 'all',
        path: '/v1/logs',
        status: 200,
        pool: id,
        branch: 'main',
        commit: expect.any(String) as string,
      }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ who: 'other', status: 404, refused: 'reader', pool: id }));
    await rm(directory, { recursive: true, force: true });
  });
});
