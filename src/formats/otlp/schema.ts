/**
 * The messages of OTLP 1.x as far as they are read: numbers, names in JSON, and what column of a record each field
 * becomes. One table serves both encodings: bytes become columns by it, and JSON becomes the same bytes.
 *
 * - A field that is not here is unknown to us, and skipped.
 * - A column follows the order of the table, not that of the numbers.
 * - What a message leaves out is null where it says that something is not known (times, ids, texts that may be missing)
 *   and zero or empty where that is what it means (counts, flags, names): `empty` tells which.
 */

/** How a field lies in the bytes, and what it says. Two kinds that lie there alike differ in JSON or in the record. */
export type Kind =
  /** fixed64, nanoseconds since 1970. */
  | 'time'
  | 'text'
  /** Bytes, hexadecimal in JSON. */
  | 'id'
  | 'bytes'
  | 'bool'
  /** Varints. */
  | 'int32'
  | 'uint32'
  | 'sint32'
  | 'int64'
  | 'uint64'
  /** An int32 with names. */
  | 'enum'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed64'
  | 'double'
  /** Of any type. */
  | 'any'
  /** Repeated, as records: keys with values. */
  | 'attributes'
  /** One message, or a list of them. */
  | 'message'
  | 'messages'
  /** Repeated numbers. */
  | 'fixed64s'
  | 'uint64s'
  | 'doubles';

/** A field of a message, which is a column of a record if it has a `name`. */
export interface FieldSpec {
  readonly number: number;
  readonly json: string;
  readonly kind: Kind;
  readonly name?: string;
  /** What it is when the message does not say it. */
  readonly empty?: 'null' | 'zero';
  /** Of an enum, by number. */
  readonly symbols?: readonly string[];
  readonly message?: MessageSpec;
  /** Another field that fills the same column: of both the last one counts. */
  readonly or?: FieldSpec;
  /** The number of the field that stands in where this one says nothing. */
  readonly otherwise?: number;
}
/** A message. */
export interface MessageSpec {
  readonly name: string;
  readonly fields: readonly FieldSpec[];
}

const dropped = (number: number, of: string): FieldSpec => ({
  number,
  json: `dropped${of[0].toUpperCase()}${of.slice(1)}Count`,
  kind: 'uint32',
  name: `dropped_${of}_count`,
  empty: 'zero',
});
const attributes = (number: number, json = 'attributes', name = json): FieldSpec => ({
  number,
  json,
  kind: 'attributes',
  name,
});
const time = (number: number, json: string, name: string): FieldSpec => ({ number, json, kind: 'time', name });
const id = (number: number, json: string, name: string): FieldSpec => ({ number, json, kind: 'id', name });
const text = (number: number, json: string, name: string, empty: FieldSpec['empty'] = 'null'): FieldSpec => ({
  number,
  json,
  kind: 'text',
  name,
  empty,
});
/** A number that may be left out, and is null then. */
const optional = (number: number, json: string): FieldSpec => ({
  number,
  json,
  kind: 'double',
  name: json,
  empty: 'null',
});
const flags = (number: number, kind: 'fixed32' | 'uint32'): FieldSpec => ({
  number,
  json: 'flags',
  kind,
  name: 'flags',
  empty: 'zero',
});
const traceState = (number: number): FieldSpec => text(number, 'traceState', 'trace_state');

/** A record of a log. Its key is when it happened, else when it was seen, as the model recommends. */
export const logRecord: MessageSpec = {
  name: 'LogRecord',
  fields: [
    { ...time(1, 'timeUnixNano', 'ts'), otherwise: 11 },
    time(11, 'observedTimeUnixNano', 'observed_ts'),
    { number: 2, json: 'severityNumber', kind: 'int32', name: 'severity_number', empty: 'null' },
    text(3, 'severityText', 'severity_text'),
    text(12, 'eventName', 'event_name'),
    { number: 5, json: 'body', kind: 'any', name: 'body' },
    attributes(6),
    dropped(7, 'attributes'),
    flags(8, 'fixed32'),
    id(9, 'traceId', 'trace_id'),
    id(10, 'spanId', 'span_id'),
  ],
};

const spanEvent: MessageSpec = {
  name: 'Event',
  fields: [time(1, 'timeUnixNano', 'ts'), text(2, 'name', 'name', 'zero'), attributes(3), dropped(4, 'attributes')],
};
const spanLink: MessageSpec = {
  name: 'Link',
  fields: [
    id(1, 'traceId', 'trace_id'),
    id(2, 'spanId', 'span_id'),
    traceState(3),
    attributes(4),
    dropped(5, 'attributes'),
    flags(6, 'fixed32'),
  ],
};
const spanStatus: MessageSpec = {
  name: 'Status',
  fields: [
    { number: 3, json: 'code', kind: 'enum', name: 'code', symbols: ['unset', 'ok', 'error'] },
    text(2, 'message', 'message'),
  ],
};
/** A span. */
export const span: MessageSpec = {
  name: 'Span',
  fields: [
    time(7, 'startTimeUnixNano', 'ts'),
    time(8, 'endTimeUnixNano', 'end_ts'),
    text(5, 'name', 'name', 'zero'),
    {
      number: 6,
      json: 'kind',
      kind: 'enum',
      name: 'kind',
      symbols: ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'],
    },
    id(1, 'traceId', 'trace_id'),
    id(2, 'spanId', 'span_id'),
    id(4, 'parentSpanId', 'parent_span_id'),
    traceState(3),
    flags(16, 'fixed32'),
    { number: 15, json: 'status', kind: 'message', name: 'status', message: spanStatus, empty: 'zero' },
    attributes(9),
    dropped(10, 'attributes'),
    { number: 11, json: 'events', kind: 'messages', name: 'events', message: spanEvent },
    dropped(12, 'events'),
    { number: 13, json: 'links', kind: 'messages', name: 'links', message: spanLink },
    dropped(14, 'links'),
  ],
};

/** One number that is a float or an integer. */
const value = (asDouble: number): FieldSpec => ({
  number: asDouble,
  json: 'asDouble',
  kind: 'double',
  name: 'value',
  empty: 'null',
  or: { number: 6, json: 'asInt', kind: 'sfixed64' },
});
const exemplars = (number: number): FieldSpec => ({
  number,
  json: 'exemplars',
  kind: 'messages',
  name: 'exemplars',
  message: {
    name: 'Exemplar',
    fields: [
      time(2, 'timeUnixNano', 'ts'),
      value(3),
      id(5, 'traceId', 'trace_id'),
      id(4, 'spanId', 'span_id'),
      attributes(7, 'filteredAttributes', 'attributes'),
    ],
  },
});
const times = [time(3, 'timeUnixNano', 'ts'), time(2, 'startTimeUnixNano', 'start_ts')] as const;
const count = (number: number, json: string, name: string): FieldSpec => ({
  number,
  json,
  kind: 'fixed64',
  name,
  empty: 'zero',
});
const numberPoint: MessageSpec = {
  name: 'NumberDataPoint',
  fields: [...times, value(4), attributes(7), flags(8, 'uint32'), exemplars(5)],
};
const histogramPoint: MessageSpec = {
  name: 'HistogramDataPoint',
  fields: [
    ...times,
    count(4, 'count', 'count'),
    optional(5, 'sum'),
    optional(11, 'min'),
    optional(12, 'max'),
    { number: 7, json: 'explicitBounds', kind: 'doubles', name: 'explicit_bounds' },
    { number: 6, json: 'bucketCounts', kind: 'fixed64s', name: 'bucket_counts' },
    attributes(9),
    flags(10, 'uint32'),
    exemplars(8),
  ],
};
const buckets = (number: number, json: string): FieldSpec => ({
  number,
  json,
  kind: 'message',
  name: json,
  empty: 'null',
  message: {
    name: 'Buckets',
    fields: [
      { number: 1, json: 'offset', kind: 'sint32', name: 'offset', empty: 'zero' },
      { number: 2, json: 'bucketCounts', kind: 'uint64s', name: 'bucket_counts' },
    ],
  },
});
const exponentialPoint: MessageSpec = {
  name: 'ExponentialHistogramDataPoint',
  fields: [
    ...times,
    count(4, 'count', 'count'),
    optional(5, 'sum'),
    optional(12, 'min'),
    optional(13, 'max'),
    { number: 6, json: 'scale', kind: 'sint32', name: 'scale', empty: 'zero' },
    count(7, 'zeroCount', 'zero_count'),
    { number: 14, json: 'zeroThreshold', kind: 'double', name: 'zero_threshold', empty: 'zero' },
    buckets(8, 'positive'),
    buckets(9, 'negative'),
    attributes(1),
    flags(10, 'uint32'),
    exemplars(11),
  ],
};
const summaryPoint: MessageSpec = {
  name: 'SummaryDataPoint',
  fields: [
    ...times,
    count(4, 'count', 'count'),
    { number: 5, json: 'sum', kind: 'double', name: 'sum', empty: 'zero' },
    {
      number: 6,
      json: 'quantileValues',
      kind: 'messages',
      name: 'quantile_values',
      message: {
        name: 'ValueAtQuantile',
        fields: [
          { number: 1, json: 'quantile', kind: 'double', name: 'quantile', empty: 'zero' },
          { number: 2, json: 'value', kind: 'double', name: 'value', empty: 'zero' },
        ],
      },
    },
    attributes(7),
    flags(8, 'uint32'),
  ],
};

const temporality: FieldSpec = {
  number: 2,
  json: 'aggregationTemporality',
  kind: 'enum',
  name: 'temporality',
  symbols: ['unspecified', 'delta', 'cumulative'],
};
/** Data of a metric: the number and the name of the field in `Metric`, and the points that it has. */
export interface PointKind {
  readonly number: number;
  readonly json: string;
  /** As records name it. */
  readonly kind: string;
  readonly point: MessageSpec;
  readonly message: MessageSpec;
}
const pointKind = (number: number, json: string, point: MessageSpec, ...more: readonly FieldSpec[]): PointKind => ({
  number,
  json,
  kind: json.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
  point,
  message: {
    name: json,
    fields: [{ number: 1, json: 'dataPoints', kind: 'messages', message: point }, ...more],
  },
});
/** The kinds of metrics. */
export const pointKinds: readonly PointKind[] = [
  pointKind(5, 'gauge', numberPoint),
  pointKind(7, 'sum', numberPoint, temporality, { number: 3, json: 'isMonotonic', kind: 'bool', name: 'monotonic' }),
  pointKind(9, 'histogram', histogramPoint, temporality),
  pointKind(10, 'exponentialHistogram', exponentialPoint, temporality),
  pointKind(11, 'summary', summaryPoint),
];
/** What a metric says of all its points. */
export const metric: MessageSpec = {
  name: 'Metric',
  fields: [
    text(1, 'name', 'name', 'zero'),
    text(2, 'description', 'description'),
    text(3, 'unit', 'unit'),
    attributes(12, 'metadata'),
  ],
};
/** What the data of a metric say of all its points. */
export const aggregation: MessageSpec = {
  name: 'Aggregation',
  fields: [
    { ...temporality, empty: 'null' },
    { number: 3, json: 'isMonotonic', kind: 'bool', name: 'monotonic', empty: 'null' },
  ],
};

/** Whose records they are. */
export const resource: MessageSpec = {
  name: 'Resource',
  fields: [attributes(1), dropped(2, 'attributes')],
};
/** What made them. */
export const scope: MessageSpec = {
  name: 'InstrumentationScope',
  fields: [text(1, 'name', 'name', 'zero'), text(2, 'version', 'version'), attributes(3), dropped(4, 'attributes')],
};

/** What a request is about. */
export type Signal = 'logs' | 'traces' | 'metrics';

const requestOf = (of: string, scoped: string, item: FieldSpec): MessageSpec => ({
  name: 'request',
  fields: [
    {
      number: 1,
      json: `resource${of}`,
      kind: 'messages',
      message: {
        name: `Resource${of}`,
        fields: [
          { number: 1, json: 'resource', kind: 'message', message: resource },
          {
            number: 2,
            json: scoped,
            kind: 'messages',
            message: {
              name: `Scope${of}`,
              fields: [
                { number: 1, json: 'scope', kind: 'message', message: scope },
                item,
                { number: 3, json: 'schemaUrl', kind: 'text' },
              ],
            },
          },
          { number: 3, json: 'schemaUrl', kind: 'text' },
        ],
      },
    },
  ],
});
/** The whole request of each signal, as JSON has it. */
export const requests: Readonly<Record<Signal, MessageSpec>> = {
  logs: requestOf('Logs', 'scopeLogs', { number: 2, json: 'logRecords', kind: 'messages', message: logRecord }),
  traces: requestOf('Spans', 'scopeSpans', { number: 2, json: 'spans', kind: 'messages', message: span }),
  metrics: requestOf('Metrics', 'scopeMetrics', {
    number: 2,
    json: 'metrics',
    kind: 'messages',
    message: {
      name: 'Metric',
      fields: [
        ...metric.fields,
        ...pointKinds.map(({ number, json, message }): FieldSpec => ({ number, json, kind: 'message', message })),
      ],
    },
  }),
};
