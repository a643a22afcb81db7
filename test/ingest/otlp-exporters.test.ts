/** The exporters of OpenTelemetry's SDKs, for Node and Python, as the manual configures them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { SpanStatusCode } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { lacksPython } from '../support/python.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
  await rm(service.directory, { recursive: true, force: true });
});

describe('the SDK for Node', () => {
  const resource = resourceFromAttributes({ 'service.name': 'node-shop' });
  test('logs by protobuf, gzip, every one of them once', async () => {
    const exporter = new OTLPLogExporter({
      url: `${service.url}/v1/logs`,
      headers: { 'X-Lake-Pool': 'node_logs' },
      compression: 'gzip' as never,
    });
    const provider = new LoggerProvider({
      resource,
      processors: [new BatchLogRecordProcessor(exporter, { maxExportBatchSize: 200, maxQueueSize: 5000 })],
    });
    const logger = provider.getLogger('shop.orders', '1.0');
    for (let i = 0; i < 1000; i++)
      logger.emit({
        severityNumber: SeverityNumber.INFO,
        severityText: 'INFO',
        body: `order ${i}`,
        attributes: { 'order.id': i, paid: i % 2 === 0, tags: ['a', 'b'], price: 0.5 + i },
      });
    await provider.shutdown();
    expect(
      await service.query(
        'from node_logs | aggregate n:=count(), d:=count(distinct body), sum:=sum(attributes["order.id"])',
      ),
    ).toBe('{n:1000,d:1000,sum:499500}\n');
    expect(
      await service.query(
        'from node_logs | where body=="order 7" | values {severity_text,attributes,name:resource.attributes["service.name"],scope:scope.name}',
      ),
    ).toBe(
      '{severity_text:"INFO",attributes:{"order.id":7,paid:false,tags:["a","b"],price:7.5},name:"node-shop",scope:"shop.orders"}\n',
    );
  });
  test('spans by protobuf and by JSON are alike', async () => {
    for (const [pool, Exporter] of [
      ['node_proto', OTLPTraceExporter],
      ['node_json', JsonTraceExporter],
    ] as const) {
      const exporter = new Exporter({ url: `${service.url}/v1/traces`, headers: { 'X-Lake-Pool': pool } });
      const provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
      const span = provider.getTracer('shop').startSpan('GET /', { kind: 1, attributes: { n: 1 } });
      span.addEvent('cache', { hit: false });
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'no' });
      span.end();
      await provider.shutdown();
      expect(
        await service.query(
          `from ${pool} | values {name,kind,status,attributes,len:len(trace_id),event:events[0].name,hit:events[0].attributes.hit,later:end_ts>=ts}`,
        ),
      ).toBe(
        '{name:"GET /",kind:"server",status:{code:"error",message:"no"},attributes:{n:1},len:16,event:"cache",hit:false,later:true}\n',
      );
    }
  });
  test('metrics by protobuf', async () => {
    const exporter = new OTLPMetricExporter({ url: `${service.url}/v1/metrics` });
    const provider = new MeterProvider({
      resource,
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
    });
    const meter = provider.getMeter('shop');
    const counter = meter.createCounter('orders', { unit: '1' });
    counter.add(2, { kind: 'a' });
    counter.add(3, { kind: 'a' });
    meter.createHistogram('took').record(7);
    await provider.shutdown();
    expect(
      await service.query(
        'from otel_metrics | where name=="orders" | values {kind,temporality,monotonic,value,attributes}',
      ),
    ).toBe('{kind:"sum",temporality:"cumulative",monotonic:true,value:5.,attributes:{kind:"a"}}\n');
    expect(await service.query('from otel_metrics | where name=="took" | values {kind,count,sum}')).toBe(
      '{kind:"histogram",count:1::uint64,sum:7.}\n',
    );
  });
});

const script = `
import logging, sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
url = sys.argv[1]
resource = Resource.create({"service.name": "python-shop"})
logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(BatchLogRecordProcessor(
    OTLPLogExporter(endpoint=url + "/v1/logs", headers={"X-Lake-Pool": "python_logs"}, compression=Compression.Gzip)))
handler = LoggingHandler(logger_provider=logs)
log = logging.getLogger("orders")
log.setLevel(logging.INFO)
log.addHandler(handler)
traces = TracerProvider(resource=resource)
traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url + "/v1/traces")))
with traces.get_tracer("shop").start_as_current_span("buy") as span:
    span.set_attribute("n", 1)
    for i in range(500):
        log.warning("order %d", i, extra={"n": i})
logs.shutdown()
traces.shutdown()
`;
/** A client of its own process, which the service answers meanwhile. */
const runPython = (): Promise<readonly [status: number | null, errors: string]> =>
  new Promise((resolve, reject) => {
    const child = spawn('python3', ['-W', 'ignore', '-', service.url], { stdio: ['pipe', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (status) => {
      resolve([status, errors]);
    });
    child.stdin.end(script);
  });

test.skipIf(lacksPython('opentelemetry.sdk', 'opentelemetry.exporter.otlp.proto.http'))(
  'the SDK for Python: logs within a span, with its ids',
  { timeout: 120_000 },
  async () => {
    const [status, errors] = await runPython();
    // The handler's own warning of what is to come is no error.
    expect(errors.replaceAll(/^order \d+$\n/gm, '')).toBe('');
    expect(status).toBe(0);
    expect(
      await service.query(
        'from python_logs | aggregate n:=count(), d:=count(distinct attributes.n), traces:=count(distinct trace_id) by severity_text,name:=resource.attributes["service.name"]',
      ),
    ).toBe('{severity_text:"WARN",name:"python-shop",n:500,d:500,traces:1}\n');
    expect(
      await service.query(
        'from otel_traces | where name=="buy" | join (from python_logs) as {s,l} on s.trace_id=l.trace_id and s.span_id=l.span_id | count()',
      ),
    ).toBe('500\n');
  },
);
