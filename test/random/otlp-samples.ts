/** Requests of OTLP that fuzzing begins with, and bytes of theirs that nobody would send. */
import type { Signal } from '../../src/formats/otlp/schema.ts';
import { logsOf, otlpBytes, otlpJson } from '../support/formats/otlp.ts';
import type { Random } from '../support/random.ts';

const list = (...values: readonly object[]): object => ({ arrayValue: { values } });
const record = (fields: Readonly<Record<string, object>>): object => ({
  kvlistValue: { values: Object.entries(fields).map(([key, value]) => ({ key, value })) },
});
const attributes = [
  { key: 'text', value: { stringValue: 'GET /é' } },
  { key: 'int', value: { intValue: '-9007199254740993' } },
  { key: 'double', value: { doubleValue: 0.25 } },
  { key: 'bool', value: { boolValue: true } },
  { key: 'bytes', value: { bytesValue: Buffer.from([0, 255]) } },
  { key: 'list', value: list({ intValue: 1 }, { stringValue: 'a' }, list(), record({ a: { intValue: 1 } })) },
  { key: 'record', value: record({ a: list({ boolValue: false }), b: record({}) }) },
  { key: 'none', value: {} },
];
const traceId = Buffer.alloc(16, 7);
const spanId = Buffer.alloc(8, 9);
const times = { timeUnixNano: '1764300000000000001', startTimeUnixNano: '1' };
const exemplars = [{ asInt: 4, traceId, spanId, filteredAttributes: attributes.slice(0, 2) }, { asDouble: 1 }];
const resource = { attributes: attributes.slice(0, 2), droppedAttributesCount: 1 };

const samples: Readonly<Record<Signal, readonly object[]>> = {
  logs: [
    logsOf({
      timeUnixNano: '1764300000000000001',
      severityNumber: 9,
      body: { stringValue: 'a' },
      attributes,
      traceId,
      spanId,
      flags: 1,
    }),
    logsOf({ body: record({ a: { intValue: 1 } }) }, { body: list({ doubleValue: 1 }, {}) }, { attributes }, {}),
    {
      resourceLogs: [
        {
          resource,
          schemaUrl: 'u',
          scopeLogs: [{ scope: { name: 'n', attributes }, schemaUrl: 'v', logRecords: [{}] }],
        },
        {},
      ],
    },
  ],
  traces: [
    {
      resourceSpans: [
        {
          resource,
          scopeSpans: [
            {
              spans: [
                {
                  traceId,
                  spanId,
                  parentSpanId: spanId,
                  name: 'GET',
                  kind: 2,
                  startTimeUnixNano: '1',
                  endTimeUnixNano: '18446744073709551615',
                  attributes,
                  events: [{ timeUnixNano: '5', name: 'e', attributes }, { name: 'f' }],
                  links: [{ traceId, spanId, attributes: attributes.slice(0, 1) }, {}],
                  status: { code: 2, message: 'no' },
                },
                {},
              ],
            },
          ],
        },
      ],
    },
  ],
  metrics: [
    {
      resourceMetrics: [
        {
          resource,
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'g',
                  unit: 's',
                  metadata: attributes,
                  gauge: {
                    dataPoints: [
                      { ...times, asDouble: 1.5, attributes, exemplars },
                      { ...times, asInt: 3 },
                    ],
                  },
                },
                {
                  name: 'c',
                  sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ ...times, asInt: 1 }] },
                },
                {
                  name: 'h',
                  histogram: {
                    dataPoints: [
                      { ...times, count: 3, sum: 1, bucketCounts: [1, 2], explicitBounds: [0.5], exemplars },
                    ],
                  },
                },
                {
                  name: 'e',
                  exponentialHistogram: {
                    dataPoints: [{ ...times, count: 3, scale: -1, positive: { offset: 2, bucketCounts: [1, 300] } }],
                  },
                },
                {
                  name: 's',
                  summary: { dataPoints: [{ ...times, count: 3, quantileValues: [{ quantile: 0.5, value: 2 }] }] },
                },
              ],
            },
          ],
        },
      ],
    },
  ],
};

/** The samples of a reader by its name; undefined if it is none of OTLP. */
export const otlpSamples = (target: string): readonly Uint8Array[] | undefined => {
  const [, signal, isJson] = /^otlp-(logs|traces|metrics)(-json)?$/.exec(target) ?? [];
  return samples[signal as Signal]?.map((request) =>
    isJson === undefined ? otlpBytes(signal as Signal, request) : new Uint8Array(Buffer.from(otlpJson(request))),
  );
};

const field = (number: number, inner: Uint8Array): Buffer => {
  const length: number[] = [];
  let rest = inner.length;
  for (; rest > 0x7f; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), inner]);
};
/** A log record that nests, has very many empty values, or very many keys. */
export const hostileLog = (random: Random): Uint8Array => {
  const count = 1 + random.below(5000);
  let body: Uint8Array = Buffer.alloc(0);
  switch (random.below(4)) {
    case 0:
      for (let level = 0; level < count; level++) body = field(5, field(1, body));
      break;
    case 1:
      for (let level = 0; level < count; level++) body = field(6, field(1, field(2, body)));
      break;
    case 2:
      body = field(5, Buffer.concat(Array.from({ length: count * 10 }, () => field(1, Buffer.alloc(0)))));
      break;
    default:
      body = field(
        6,
        Buffer.concat(
          Array.from({ length: count }, (_, i) => field(1, field(1, Buffer.from(`k${i % (1 + random.below(count))}`)))),
        ),
      );
  }
  return field(1, field(2, field(2, field(5, body))));
};
