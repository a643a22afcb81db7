/**
 * Traces, sent to a collector of our own over OTLP/HTTP: the tree of spans of requests, whose parents, whose faults;
 * and nothing at all when they are off.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseServe } from '../../src/config/serve.ts';
import { requestSpans, traceParent } from '../../src/http/tracing/tracing.ts';
import { program } from '../support/service/built.ts';

type AnyValue = {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
};
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: AnyValue }[];
  readonly status: { readonly code?: number; readonly message?: string };
}
interface WireRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: WireSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

const plain = ({ attributes }: Pick<WireSpan, 'attributes'>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );

/** What a collector got. `broken`: it answers 500. */
class Collector {
  readonly requests: WireRequest[] = [];
  private readonly server: Server;
  readonly paths: string[] = [];
  constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
      });
      request.on('end', () => {
        this.paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
        this.requests.push(JSON.parse(Buffer.concat(chunks).toString()) as WireRequest);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }
  async open(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.server.address() as { readonly port: number }).port}`;
  }
  get spans(): readonly WireSpan[] {
    return this.requests.flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
  }
  get resource(): Readonly<Record<string, unknown>> {
    return plain(this.requests[0]!.resourceSpans[0]!.resource);
  }
  close(): void {
    this.server.close().closeAllConnections();
  }
}

/** Names of spans below one, each with those below it, in the order of their beginnings. */
type Tree = readonly [name: string, ...below: readonly unknown[]];
const treeOf = (root: WireSpan, spans: readonly WireSpan[]): Tree => {
  const below = spans
    .filter(({ parentSpanId }) => parentSpanId === root.spanId)
    .sort((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1));
  for (const each of below) {
    expect(each.traceId).toBe(root.traceId);
    // Times are kept to the millionth of a millisecond, and rounded.
    expect(
      BigInt(each.startTimeUnixNano) >= BigInt(root.startTimeUnixNano) - 1_000_000n &&
        BigInt(each.endTimeUnixNano) <= BigInt(root.endTimeUnixNano) + 1_000_000n,
    ).toBe(true);
    expect(BigInt(each.endTimeUnixNano) >= BigInt(each.startTimeUnixNano)).toBe(true);
  }
  return [root.name, ...below.map((each) => treeOf(each, spans))];
};

interface Run {
  readonly address: string;
  readonly end: () => Promise<number | null>;
  readonly printed: () => string;
  readonly scripts: () => readonly string[];
}
const folders: string[] = [];
/** The built program; `scripts` are the files that it loaded, which the engine writes down at its end. */
const serve = async (flags: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Run> => {
  const folder = mkdtempSync(join(tmpdir(), 'lake-trace-'));
  const loaded = join(folder, 'loaded');
  folders.push(folder);
  const child = spawn(
    process.execPath,
    [
      program,
      'serve',
      '-lake',
      join(folder, 'lake'),
      '-l',
      '127.0.0.1:0',
      '-workers',
      '1',
      '-warmup',
      '0s',
      '-log.level',
      'info',
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_V8_COVERAGE: loaded, ...environment } },
  );
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  const ended = once(child, 'exit');
  while (!printed.includes('http://'))
    await Promise.race([
      once(child.stdout, 'data'),
      ended.then(() => {
        throw new Error(printed);
      }),
    ]);
  return {
    address: /http:\/\/127\.0\.0\.1:\d+/.exec(printed)![0],
    printed: () => printed,
    end: async () => {
      child.kill('SIGTERM');
      const [status] = (await ended) as [number | null];
      return status;
    },
    scripts: () =>
      readdirSync(loaded).flatMap((file) =>
        (
          JSON.parse(readFileSync(join(loaded, file), 'utf8')) as {
            readonly result: readonly { readonly url: string }[];
          }
        ).result.map(({ url }) => url),
      ),
  };
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
const send = async (
  address: string,
  method: string,
  path: string,
  body?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> => {
  const response = await fetch(address + path, {
    method,
    headers: { ...json, ...headers },
    ...(body !== undefined && { body }),
  });
  await response.text();
  return response.status;
};

describe('with a collector', () => {
  const collector = new Collector();
  const remote = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent = '00f067aa0ba902b7';
  let spans: readonly WireSpan[];
  let run: Run;
  let status: number | null;
  const byId = (id: string): WireSpan => spans.find((span) => plain(span)['lake.request_id'] === id)!;
  beforeAll(async () => {
    const url = await collector.open();
    run = await serve(['-trace.otlp', url], {
      OTEL_SERVICE_NAME: 'lakes',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,team=a%20b',
    });
    const { address } = run;
    const rows = Array.from({ length: 20_000 }, (_, k) => `{"k":${k},"s":"row ${(k * 7919) % 20_000} of them"}\n`).join(
      '',
    );
    await send(address, 'POST', '/pool', '{"name":"p","layout":{"order":"asc","keys":[["k"]]}}');
    await send(address, 'POST', '/pool/p/branch/main', rows, {
      'x-request-id': 'load',
      traceparent: `00-${remote}-${parent}-01`,
      'user-agent': 'a test',
    });
    await send(address, 'POST', '/pool/p/branch/main', '{"k":-1}', { 'x-request-id': 'small' });
    await send(address, 'POST', '/pool/p/branch/main', '{"k":', { 'x-request-id': 'broken' });
    await send(address, 'POST', '/query', '{"query":"from p | sort s | head 3"}', { 'x-request-id': 'query' });
    await send(address, 'POST', '/query', '{"query":"from p | head x"}', { 'x-request-id': 'wrong' });
    await send(address, 'POST', '/pool/p/branch/main/delete?dryrun=F', '{"where":"k==-1"}', {
      'x-request-id': 'delete',
    });
    await send(address, 'GET', '/pool/p/graph?limit=1&access_token=secret', undefined, { 'x-request-id': 'secret' });
    await send(address, 'GET', '/pool/p/stats?x=1', undefined, { 'x-request-id': 'stats', traceparent: 'nonsense' });
    await send(address, 'GET', '/version', undefined, { traceparent: `00-${remote}-${parent}-00` });
    status = await run.end();
    spans = collector.spans;
    collector.close();
  });

  test('all that was answered has come by the time the service has ended', () => {
    expect(status).toBe(0);
    expect([...new Set(collector.paths)]).toEqual(['POST /v1/traces application/json']);
    expect(spans.filter(({ kind }) => kind === 2).map(({ name }) => name)).toEqual([
      'POST /pool',
      ...Array<string>(3).fill('POST /pool/:pool/branch/:branch'),
      'POST /query',
      'POST /query',
      'POST /pool/:pool/branch/:branch/delete',
      'GET /pool/:pool/graph',
      'GET /pool/:pool/stats',
    ]);
    expect(collector.resource).toMatchObject({
      'service.name': 'lakes',
      'deployment.environment': 'test',
      team: 'a b',
    });
  });
  test('a load is parsed, sorted, written and synced, waits for its turn, and is committed', () => {
    expect(treeOf(byId('load'), spans)).toEqual([
      'POST /pool/:pool/branch/:branch',
      ['load parse'],
      ['load sort'],
      ['load write'],
      ['object fsync'],
      ['job wait'],
      ['commit transaction'],
    ]);
    expect(treeOf(byId('small'), spans)).toEqual([
      'POST /pool/:pool/branch/:branch',
      ['load parse'],
      ['job wait'],
      ['commit transaction'],
    ]);
    expect(
      plain(spans.find(({ name, parentSpanId }) => name === 'load parse' && parentSpanId === byId('load').spanId)!),
    ).toEqual({ 'lake.body_bytes': expect.any(Number) as unknown, 'lake.records': 20_000 });
  });
  test('a query is compiled, run and streamed', () => {
    expect(treeOf(byId('query'), spans)).toEqual(['POST /query', ['query compile'], ['query run'], ['query stream']]);
    expect(
      plain(spans.find(({ name, parentSpanId }) => name === 'query run' && parentSpanId === byId('query').spanId)!),
    ).toMatchObject({ 'lake.records_read': 20_001 });
    expect(
      plain(spans.find(({ name, parentSpanId }) => name === 'query stream' && parentSpanId === byId('query').spanId)!),
    ).toMatchObject({ 'lake.records_sent': 3 });
    expect(treeOf(byId('delete'), spans)).toEqual([
      'POST /pool/:pool/branch/:branch/delete',
      ['job wait'],
      ['commit transaction'],
    ]);
  });
  test('a request is told by the conventions of HTTP, and not what was asked or loaded', () => {
    expect(plain(byId('load'))).toEqual({
      'http.request.method': 'POST',
      'url.path': '/pool/p/branch/main',
      'url.scheme': 'http',
      'http.route': '/pool/:pool/branch/:branch',
      'http.response.status_code': 200,
      'lake.request_id': 'load',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(run.address).port),
      'client.address': '127.0.0.1',
      'network.protocol.name': 'http',
      'network.protocol.version': '1.1',
      'user_agent.original': 'a test',
    });
    expect(plain(byId('delete'))).toMatchObject({ 'url.path': '/pool/p/branch/main/delete', 'url.query': 'dryrun=F' });
    expect(plain(byId('stats'))).not.toHaveProperty(['url.query']);
    expect(plain(byId('secret'))).toMatchObject({ 'url.query': 'limit=1', 'http.response.status_code': 400 });
    expect(JSON.stringify(spans)).not.toContain('sort s');
  });
  test('a parent that the client names is the parent; one that is not sampled keeps it out, and nonsense counts for nothing', () => {
    expect([byId('load').traceId, byId('load').parentSpanId]).toEqual([remote, parent]);
    expect([byId('stats').parentSpanId ?? '', byId('stats').traceId.length]).toEqual(['', 32]);
    expect(spans.some(({ name }) => name === 'GET /version')).toBe(false);
  });
  test("a client's fault is told by its status; the step that failed is an error", () => {
    for (const [id, tree] of [
      ['broken', ['POST /pool/:pool/branch/:branch', ['load parse']]],
      ['wrong', ['POST /query', ['query compile']]],
    ] as const) {
      expect([id, plain(byId(id))['http.response.status_code'], byId(id).status.code ?? 0]).toEqual([id, 400, 0]);
      expect(treeOf(byId(id), spans)).toEqual(tree);
      expect(spans.find(({ parentSpanId }) => parentSpanId === byId(id).spanId)!.status.code).toBe(2);
    }
  });
  test('OpenTelemetry was loaded by this service', () => {
    expect(run.scripts().some((url) => /\/@opentelemetry\/sdk-trace-base\/|\/otlp\.cjs$/.test(url))).toBe(true);
  });
});

test('without a collector nothing of OpenTelemetry is loaded, whoever names a parent', async () => {
  const { address, end, scripts } = await serve([]);
  expect(
    await send(address, 'GET', '/version', undefined, {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    }),
  ).toBe(200);
  expect(await end()).toBe(0);
  // The client of Prometheus looks for the API's span of the moment; that package does nothing by itself.
  expect(
    scripts().filter((url) => /opentelemetry|\/otlp\.cjs$/.test(url) && !url.includes('/@opentelemetry/api/')),
  ).toEqual([]);
  expect(scripts().length).toBeGreaterThan(50);
});
test('a collector that is not there costs requests nothing, and is told of in the log', async () => {
  const { address, end, printed } = await serve(['-trace.otlp', 'http://127.0.0.1:9/']);
  for (let i = 0; i < 10; i++) expect(await send(address, 'GET', '/version')).toBe(200);
  expect(await end()).toBe(0);
  expect(printed()).toContain('"msg":"traces"');
});

test("a server's fault is an error of its span", () => {
  const answered = {
    method: 'BREW',
    route: undefined,
    url: '/x',
    status: 503,
    startAt: 1,
    endAt: 2,
    id: 'i',
    more: {},
  };
  expect(requestSpans(answered, {})).toEqual({
    name: 'HTTP',
    startAt: 1,
    endAt: 2,
    error: '503',
    children: [],
    attributes: {
      'http.request.method': '_OTHER',
      'http.request.method_original': 'BREW',
      'url.path': '/x',
      'url.scheme': 'http',
      'http.response.status_code': 503,
      'lake.request_id': 'i',
      'error.type': '503',
    },
  });
});
test('a traceparent is read as W3C says', () => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736';
  const span = '00f067aa0ba902b7';
  const read = { traceId: id, spanId: span };
  expect(traceParent(`00-${id}-${span}-01`)).toEqual({ ...read, sampled: true });
  expect(traceParent(`00-${id}-${span}-02`)).toEqual({ ...read, sampled: false });
  expect(traceParent(`cc-${id}-${span}-01-what is to come`)).toEqual({ ...read, sampled: true });
  for (const bad of [
    undefined,
    '',
    `00-${id}-${span}-01-x`,
    `ff-${id}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${id}-${'0'.repeat(16)}-01`,
    `00-${id.toUpperCase()}-${span}-01`,
    `00-${id}-${span}`,
  ])
    expect(traceParent(bad)).toBeUndefined();
});
test("the option and OpenTelemetry's variables name the collector", () => {
  const urlOf = (flags: readonly string[], environment: Readonly<Record<string, string>> = {}): string | undefined => {
    const config = parseServe(flags, environment);
    return 'help' in config ? 'help' : config.trace?.url;
  };
  expect(urlOf([])).toBeUndefined();
  expect(urlOf(['-trace.otlp', 'http://c:4318'])).toBe('http://c:4318/v1/traces');
  expect(urlOf(['-trace.otlp', 'https://c/otlp/traces?key=1'])).toBe('https://c/otlp/traces?key=1');
  expect(urlOf([], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' })).toBe('http://c:4318/base/v1/traces');
  expect(urlOf([], { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/t' })).toBe('http://c/t');
  expect(urlOf([], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  expect(() => urlOf(['-trace.otlp', 'c:4318'])).toThrow(
    'bad value for -trace.otlp: "c:4318" (a URL such as http://localhost:4318)',
  );
});
