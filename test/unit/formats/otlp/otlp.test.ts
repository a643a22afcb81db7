/** Requests of OTLP in both encodings, against an encoder that is not ours, and what is wrong with them. */
import { describe, expect, test } from 'vitest';
import { LakeError } from '../../../../src/errors.ts';
import { type InputName, openReader } from '../../../../src/formats/formats.ts';
import type { ReadOptions } from '../../../../src/formats/format.types.ts';
import type { Signal } from '../../../../src/formats/otlp/schema.ts';
import { ReadMemory } from '../../../../src/formats/read-memory.ts';
import { textToBytes } from '../../../../src/vectors/texts/codec.ts';
import type { RecordType } from '../../../../src/vectors/type.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { valueAt } from '../../../../src/vectors/vector.ts';
import { logRecord, logsOf, otlpBytes, otlpJson } from '../../../support/formats/otlp.ts';
import { randomOf, seedOf } from '../../../support/random.ts';

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
/** The rows of these bytes as SUP. */
const read = async (format: InputName, bytes: Uint8Array, options: ReadOptions = {}): Promise<readonly string[]> => {
  const rows: string[] = [];
  for await (const batch of await openReader(format, once(bytes), options))
    for (let i = 0; i < batch.length; i++) rows.push(supText(valueAt(batch, i)));
  return rows;
};
const faultOf = async (reading: Promise<unknown>): Promise<string> => {
  try {
    await reading;
  } catch (error) {
    if (error instanceof LakeError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'no fault';
};
/** The rows of a request, which are the same in both encodings. */
const rowsOf = async (signal: Signal, request: object, options?: ReadOptions): Promise<readonly string[]> => {
  const rows = await read(`otlp-${signal}`, otlpBytes(signal, request), options);
  expect(await read(`otlp-${signal}-json`, Buffer.from(otlpJson(request)), options)).toEqual(rows);
  return rows;
};
const json = (signal: Signal, text: string): Promise<readonly string[]> =>
  read(`otlp-${signal}-json`, Buffer.from(text));
/** A field of a message: its number, its wire type and its bytes. */
const raw = (number: number, type: number, ...bytes: readonly number[]): Buffer =>
  Buffer.from([number * 8 + type, ...bytes]);
const within = (number: number, inner: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2, inner.length]), inner]);
/** A request with one log record of these bytes. */
const oneLog = (record: Uint8Array): Buffer => within(1, within(2, within(2, record)));
/** One column of the rows of logs with these values as bodies. */
const bodies = async (...values: readonly object[]): Promise<readonly string[]> =>
  (await rowsOf('logs', logsOf(...values.map((body) => ({ body }))))).map(
    (row) => /,body:(.*?),attributes:\{\},dropped_attributes_count:0::uint32,flags/.exec(row)![1]!,
  );

const traceId = Buffer.from('5b8efff798038103d269b633813fc60c', 'hex');
const spanId = Buffer.from('eee19b7ec3c1b174', 'hex');
const owner =
  'resource:{attributes:{"service.name":"shop"},dropped_attributes_count:0::uint32,schema_url:null},scope:{name:"shop.http",version:"1.2",attributes:{},dropped_attributes_count:0::uint32,schema_url:null}';

describe('logs', () => {
  test('a record has everything that the model has, under its names', async () => {
    const request = logsOf({
      timeUnixNano: '1544712660300000001',
      observedTimeUnixNano: '1544712660300000002',
      severityNumber: 10,
      severityText: 'Information',
      eventName: 'seen',
      body: { stringValue: 'Example' },
      attributes: [
        { key: 'http.status', value: { intValue: 200 } },
        { key: 'ok', value: { boolValue: true } },
      ],
      droppedAttributesCount: 3,
      flags: 1,
      traceId,
      spanId,
    });
    expect(await rowsOf('logs', request)).toEqual([
      `{ts:2018-12-13T14:51:00.300000001Z,observed_ts:2018-12-13T14:51:00.300000002Z,severity_number:10::int32,severity_text:"Information",event_name:"seen",body:"Example",attributes:{"http.status":200,ok:true},dropped_attributes_count:3::uint32,flags:1::uint32,trace_id:0x5b8efff798038103d269b633813fc60c,span_id:0xeee19b7ec3c1b174,${owner}}`,
    ]);
  });
  test('what is not set is null where it may be unknown, and zero or empty where that is what it says', async () => {
    expect(await rowsOf('logs', { resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] })).toEqual([
      '{ts:null,observed_ts:null,severity_number:null,severity_text:null,event_name:null,body:null,attributes:{},dropped_attributes_count:0::uint32,flags:0::uint32,trace_id:null,span_id:null,resource:{attributes:{},dropped_attributes_count:0::uint32,schema_url:null},scope:{name:"",version:null,attributes:{},dropped_attributes_count:0::uint32,schema_url:null}}',
    ]);
  });
  test('the time is that of the event, else that at which it was seen; beyond 2262 it stays a number', async () => {
    const times = [
      { timeUnixNano: '5', observedTimeUnixNano: '7' },
      { observedTimeUnixNano: '7' },
      { timeUnixNano: '9223372036854775807' },
      { timeUnixNano: '9223372036854775808' },
      { timeUnixNano: '18446744073709551615' },
    ];
    expect((await rowsOf('logs', logsOf(...times))).map((row) => /^\{ts:(.*),severity_number/.exec(row)![1])).toEqual([
      '1970-01-01T00:00:00.000000005Z,observed_ts:1970-01-01T00:00:00.000000007Z',
      '1970-01-01T00:00:00.000000007Z,observed_ts:1970-01-01T00:00:00.000000007Z',
      '2262-04-11T23:47:16.854775807Z,observed_ts:null',
      '9223372036854775808::uint64,observed_ts:null',
      '18446744073709551615::uint64,observed_ts:null',
    ]);
  });
  test('a body is a value of any type, whole numbers of 64 bits exact', async () => {
    const values = (...items: readonly object[]): object => ({ arrayValue: { values: items } });
    const record = (...items: readonly (readonly [string, object])[]): object => ({
      kvlistValue: { values: items.map(([key, value]) => ({ key, value })) },
    });
    expect(
      await bodies(
        { stringValue: '' },
        { boolValue: false },
        { intValue: '9223372036854775807' },
        { intValue: '-9223372036854775808' },
        { intValue: -1 },
        { intValue: '9007199254740993' },
        { doubleValue: -0.5 },
        { doubleValue: NaN },
        { doubleValue: -Infinity },
        { bytesValue: Buffer.from([0, 255, 254]) },
        {},
        values(),
        values({ intValue: 1 }, { intValue: 2 }),
        values({ intValue: 1 }, { stringValue: 'a' }, {}),
        values(record(['a', { intValue: 1 }]), record(['a', { stringValue: 'x' }]), values({ boolValue: true })),
        record(),
        record(['a.b', { intValue: 1 }], ['', { stringValue: '日本' }], ['r', record(['x', values({})])]),
        record(['a', { intValue: 1 }], ['b', { intValue: 2 }], ['a', { stringValue: 'last' }]),
      ),
    ).toEqual([
      '""',
      'false',
      '9223372036854775807',
      '-9223372036854775808',
      '-1',
      '9007199254740993',
      '-0.5',
      'NaN',
      '-Inf',
      '0x00fffe',
      'null',
      '[]::[null]',
      '[1,2]',
      '[1,"a",null]',
      '[{a:1},{a:"x"},[true]]',
      '{}',
      '{"a.b":1,"":"日本",r:{x:[null]}}',
      '{a:"last",b:2}',
    ]);
  });
  test('batches, however they are cut, have the same rows', async () => {
    const request = {
      resourceLogs: [1, 2, 3].map((r) => ({
        resource: { attributes: [{ key: `r${r}`, value: { intValue: r } }] },
        schemaUrl: `https://x/${r}`,
        scopeLogs: [1, 2].map((s) => ({
          scope: { name: `s${s}` },
          logRecords: [1, 2, 3].map((n) => logRecord(`${r} ${s} ${n}`, n)),
        })),
      })),
    };
    const whole = await rowsOf('logs', request);
    expect(whole).toHaveLength(18);
    expect(whole[17]).toContain(
      'resource:{attributes:{r3:3},dropped_attributes_count:0::uint32,schema_url:"https://x/3"}',
    );
    for (const batchRows of [1, 2, 5, 18]) expect(await rowsOf('logs', request, { batchRows })).toEqual(whole);
  });
  test('what holds for all may come behind them', async () => {
    const record = within(2, raw(2, 0, 9));
    const scope = within(2, Buffer.concat([record, within(1, within(1, Buffer.from('late')))]));
    const late = within(1, Buffer.concat([scope, within(3, Buffer.from('url'))]));
    const [row] = await read('otlp-logs', late);
    expect(row).toContain('severity_number:9::int32');
    expect(row).toContain('schema_url:"url"},scope:{name:"late"');
  });
});

describe('traces', () => {
  test('a span has its events and links as lists, each with attributes of its own types', async () => {
    const request = {
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId,
                  spanId,
                  parentSpanId: spanId,
                  traceState: 'a=1',
                  flags: 257,
                  name: 'GET /',
                  kind: 2,
                  startTimeUnixNano: '1000000000',
                  endTimeUnixNano: '2000000000',
                  events: [
                    { timeUnixNano: '1500000000', name: 'a', attributes: [{ key: 'n', value: { intValue: 1 } }] },
                    { name: 'b', droppedAttributesCount: 2 },
                  ],
                  links: [{ traceId, spanId, flags: 1 }],
                  status: { code: 2, message: 'broken' },
                },
                { kind: 77 },
              ],
            },
          ],
        },
      ],
    };
    const rows = await rowsOf('traces', request);
    const rest =
      ',resource:{attributes:{},dropped_attributes_count:0::uint32,schema_url:null},scope:{name:"",version:null,attributes:{},dropped_attributes_count:0::uint32,schema_url:null}}';
    expect(rows).toEqual([
      `{ts:1970-01-01T00:00:01Z,end_ts:1970-01-01T00:00:02Z,name:"GET /",kind:"server",trace_id:0x5b8efff798038103d269b633813fc60c,span_id:0xeee19b7ec3c1b174,parent_span_id:0xeee19b7ec3c1b174,trace_state:"a=1",flags:257::uint32,status:{code:"error",message:"broken"},attributes:{},dropped_attributes_count:0::uint32,events:[{ts:1970-01-01T00:00:01.5Z,name:"a",attributes:{n:1},dropped_attributes_count:0::uint32},{ts:null,name:"b",attributes:{},dropped_attributes_count:2::uint32}],dropped_events_count:0::uint32,links:[{trace_id:0x5b8efff798038103d269b633813fc60c,span_id:0xeee19b7ec3c1b174,trace_state:null,attributes:{},dropped_attributes_count:0::uint32,flags:1::uint32}],dropped_links_count:0::uint32${rest}`,
      `{ts:null,end_ts:null,name:"",kind:77::int32,trace_id:null,span_id:null,parent_span_id:null,trace_state:null,flags:0::uint32,status:{code:"unset",message:null},attributes:{},dropped_attributes_count:0::uint32,events:[]::[null],dropped_events_count:0::uint32,links:[]::[null],dropped_links_count:0::uint32${rest}`,
    ]);
  });
});

describe('metrics', () => {
  const metricsOf = (...metrics: readonly object[]): object => ({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
  const times = { timeUnixNano: '2000000000', startTimeUnixNano: '1000000000' };
  const rows = async (...metrics: readonly object[]): Promise<readonly string[]> =>
    (await rowsOf('metrics', metricsOf(...metrics))).map(
      (row) => /^\{ts:1970-01-01T00:00:02Z,start_ts:1970-01-01T00:00:01Z,(.*),resource:/.exec(row)![1]!,
    );
  test('each point is a record with what its metric says', async () => {
    expect(
      await rows(
        {
          name: 'g',
          unit: 's',
          gauge: {
            dataPoints: [
              { ...times, asDouble: 1.5 },
              { ...times, asInt: '-9007199254740993' },
            ],
          },
        },
        {
          name: 'c',
          description: 'a count',
          metadata: [{ key: 'm', value: { intValue: 1 } }],
          sum: {
            aggregationTemporality: 2,
            isMonotonic: true,
            dataPoints: [
              {
                ...times,
                attributes: [{ key: 'a', value: { stringValue: 'x' } }],
                flags: 1,
                exemplars: [{ asInt: 4, traceId, spanId }],
              },
            ],
          },
        },
      ),
    ).toEqual([
      'name:"g",description:null,unit:"s",kind:"gauge",temporality:null,monotonic:null,metadata:{},value:1.5,attributes:{},flags:0::uint32,exemplars:[]::[null]',
      'name:"g",description:null,unit:"s",kind:"gauge",temporality:null,monotonic:null,metadata:{},value:-9007199254740993,attributes:{},flags:0::uint32,exemplars:[]::[null]',
      'name:"c",description:"a count",unit:null,kind:"sum",temporality:"cumulative",monotonic:true,metadata:{m:1},value:null,attributes:{a:"x"},flags:1::uint32,exemplars:[{ts:null,value:4,trace_id:0x5b8efff798038103d269b633813fc60c,span_id:0xeee19b7ec3c1b174,attributes:{}}]',
    ]);
  });
  test('histograms and summaries have shapes of their own', async () => {
    expect(
      await rows(
        {
          name: 'h',
          histogram: {
            aggregationTemporality: 1,
            dataPoints: [
              {
                ...times,
                count: '18446744073709551615',
                sum: 0,
                explicitBounds: [1, 2.5],
                bucketCounts: ['1', '2', '0'],
              },
            ],
          },
        },
        {
          name: 'e',
          exponentialHistogram: {
            dataPoints: [
              {
                ...times,
                count: 3,
                scale: -2,
                zeroCount: 1,
                positive: { offset: -3, bucketCounts: ['1', '300'] },
                max: 9,
                zeroThreshold: 0.25,
              },
            ],
          },
        },
        {
          name: 's',
          summary: { dataPoints: [{ ...times, count: 2, sum: 4, quantileValues: [{ quantile: 0.5, value: 1 }] }] },
        },
        { name: 'none' },
        { name: 'empty', gauge: {} },
      ),
    ).toEqual([
      'name:"h",description:null,unit:null,kind:"histogram",temporality:"delta",monotonic:null,metadata:{},count:18446744073709551615::uint64,sum:0.,min:null,max:null,explicit_bounds:[1.,2.5],bucket_counts:[1::uint64,2::uint64,0::uint64],attributes:{},flags:0::uint32,exemplars:[]::[null]',
      'name:"e",description:null,unit:null,kind:"exponential_histogram",temporality:null,monotonic:null,metadata:{},count:3::uint64,sum:null,min:null,max:9.,scale:-2::int32,zero_count:1::uint64,zero_threshold:0.25,positive:{offset:-3::int32,bucket_counts:[1::uint64,300::uint64]},negative:null,attributes:{},flags:0::uint32,exemplars:[]::[null]',
      'name:"s",description:null,unit:null,kind:"summary",temporality:null,monotonic:null,metadata:{},count:2::uint64,sum:4.,quantile_values:[{quantile:0.5,value:1.}],attributes:{},flags:0::uint32',
    ]);
  });
  test('repeated numbers may come one by one', async () => {
    const half = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f];
    const point = Buffer.concat([raw(7, 1, ...half), raw(6, 1, 5, 0, 0, 0, 0, 0, 0, 0), raw(7, 1, ...half)]);
    const [row] = await read('otlp-metrics', within(1, within(2, within(2, within(9, within(1, point))))));
    expect(row).toContain('explicit_bounds:[0.5,0.5],bucket_counts:[5::uint64]');
  });
});

describe('what nobody knows, and what is wrong', () => {
  test('unknown fields of every wire type are left out', async () => {
    const unknown = Buffer.concat([
      raw(15, 0, 0xff, 0x01),
      raw(15, 1, 1, 2, 3, 4, 5, 6, 7, 8),
      raw(15, 2, 2, 1, 2),
      raw(15, 3, 15 * 8, 1, 14 * 8 + 3, 14 * 8 + 4, 15 * 8 + 4),
      raw(15, 5, 1, 2, 3, 4),
    ]);
    const record = Buffer.concat([unknown, raw(2, 0, 5), unknown]);
    expect((await read('otlp-logs', oneLog(record)))[0]).toContain('severity_number:5::int32');
    expect(
      (
        await json(
          'logs',
          `{"x":[{"y":"}"},[]],"resourceLogs":[{"resource_logs":1,"scopeLogs":[{"logRecords":[{"severity_number":4,"severityNumber":5,"z":{"a":[1,{}]}}]}]}],"q":-1.5e3}`,
        )
      )[0],
    ).toContain('severity_number:5::int32');
  });
  test('bytes that make no sense are told with their place', async () => {
    const faults = [
      oneLog(raw(1, 0, 1)),
      oneLog(raw(2, 2, 0)),
      oneLog(raw(9, 2, 5, 1)),
      oneLog(raw(0, 0, 1)),
      oneLog(raw(15, 7)),
      oneLog(raw(15, 4)),
      oneLog(raw(15, 3, 14 * 8 + 4)),
      oneLog(Buffer.from([16, ...Array<number>(11).fill(0xff)])),
      Buffer.from('not protobuf'),
    ];
    expect(await Promise.all(faults.map((bytes) => faultOf(read('otlp-logs', bytes))))).toEqual([
      'format-broken: otlp logs: field 1 of LogRecord has wire type 0 (byte 7)',
      'format-broken: otlp logs: field 2 of LogRecord has wire type 2 (byte 7)',
      'format-broken: otlp logs: the message ends in the middle of a field (byte 8)',
      'format-broken: otlp logs: a field has the number 0 (byte 7)',
      'format-broken: otlp logs: wire type 7 of field 15 does not exist or stands alone (byte 7)',
      'format-broken: otlp logs: wire type 4 of field 15 does not exist or stands alone (byte 7)',
      'format-broken: otlp logs: the end of another group (byte 8)',
      'format-broken: otlp logs: a number of more than ten bytes (byte 17)',
      'format-broken: otlp logs: wire type 6 of field 13 does not exist or stands alone (byte 1)',
    ]);
  });
  test('JSON that is none, or says what the message cannot hold, is told with its place', async () => {
    const of = (record: string): string => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`;
    const path = 'otlp logs: resourceLogs.scopeLogs.logRecords';
    const cases: readonly (readonly [string, string])[] = [
      ['', 'otlp logs: expected "{", found the end'],
      ['[]', 'otlp logs: expected "{", found "["'],
      ['{} x', 'otlp logs: expected the end of the text, found "x"'],
      ['{"resourceLogs":{}}', 'otlp logs: resourceLogs: expected "[", found "{"'],
      [of('{"timeUnixNano":"x"}'), `${path}.timeUnixNano: "x" is no whole number`],
      [of('{"timeUnixNano":-1}'), `${path}.timeUnixNano: -1 is outside of what the field holds`],
      [
        of('{"timeUnixNano":18446744073709551616}'),
        `${path}.timeUnixNano: 18446744073709551616 is outside of what the field holds`,
      ],
      [of('{"flags":1.5}'), `${path}.flags: "1.5" is no whole number`],
      [of('{"severityNumber":3000000000}'), `${path}.severityNumber: 3000000000 is outside of what the field holds`],
      [of('{"traceId":"5b8"}'), `${path}.traceId: "5b8" is no hexadecimal text`],
      [of('{"severityText":5}'), `${path}.severityText: expected """, found "5"`],
      [of('{"severityText":"a\n"}'), `${path}.severityText: a control character in a string`],
      [of('{"severityText":"\\x"}'), `${path}.severityText: a broken escape in a string`],
      ['{"resourceLogs', 'otlp logs: the text ends within a string'],
      [of('{"body":{"boolValue":"true"}}'), `${path}.body.boolValue: expected true or false, found """`],
      [of('{"body":{"doubleValue":"1,5"}}'), `${path}.body.doubleValue: "1,5" is no number`],
      [of('{"body":{"bytesValue":"?"}}'), `${path}.body.bytesValue: "?" is no base64`],
      [of('{"body":{"intValue":1}'), `${path}: expected "}", found "]"`],
    ];
    for (const [text, fault] of cases) {
      const told = await faultOf(json('logs', text));
      expect(told.replace(/ \(byte \d+\)$/, '')).toBe(`format-broken: ${fault}`);
    }
    expect(await faultOf(json('logs', '{"resourceLogs":{}}'))).toMatch(/ \(byte 16\)$/);
    expect(
      await faultOf(json('traces', '{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":"SPAN_KIND_SERVER"}]}]}]}')),
    ).toContain('kind: enums are numbers, not names');
  });
  test('JSON has its numbers as strings or numbers, ids in either case, null for what is not there', async () => {
    const [row] = await json(
      'logs',
      '\ufeff {"resourceLogs":[{"resource":null,"scopeLogs":[{"logRecords":[{"timeUnixNano":1544712660300000001,"observedTimeUnixNano":"1e9","severityNumber":9.0,"severityText":null,"attributes":null,"traceId":"5B8efff798038103D269B633813FC60C","spanId":"","body":{"kvlistValue":{"values":[{"key":"f","value":{"doubleValue":"-1.5"}},{"key":"i","value":{"doubleValue":"Infinity"}},{"key":"b","value":{"bytesValue":"_-8="}},{"key":"\\u00e9\\n","value":{"stringValue":"\\ud83d\\ude00"}},{"key":"n","value":null}]}}}]}]}]} ',
    );
    expect(row).toContain(
      '{ts:2018-12-13T14:51:00.300000001Z,observed_ts:1970-01-01T00:00:01Z,severity_number:9::int32,severity_text:null,event_name:null,body:{f:-1.5,i:+Inf,b:0xffef,"é\\n":"😀",n:null},attributes:{},dropped_attributes_count:0::uint32,flags:0::uint32,trace_id:0x5b8efff798038103d269b633813fc60c,span_id:null',
    );
  });
  test('a request without anything in it has no rows', async () => {
    expect(await read('otlp-logs', new Uint8Array(0))).toEqual([]);
    expect(await json('traces', '{}')).toEqual([]);
    expect(await rowsOf('metrics', { resourceMetrics: [{ scopeMetrics: [{ metrics: [] }] }, {}] })).toEqual([]);
  });
  test('strings keep bytes that are no UTF-8, names too, unless they are to be refused', async () => {
    const bad = Buffer.from([0x61, 0xff]);
    const bytes = oneLog(
      Buffer.concat([within(3, bad), within(6, Buffer.concat([within(1, bad), within(2, raw(3, 0, 1))]))]),
    );
    for await (const batch of await openReader('otlp-logs', once(bytes))) {
      const { type, data } = valueAt(batch, 0);
      const [, , , text] = data as readonly string[];
      const attributes = (type as RecordType).fields.find(({ name }) => name === 'attributes')!.type as RecordType;
      expect([text!, attributes.fields[0]!.name].map((kept) => Buffer.from(textToBytes(kept)))).toEqual([bad, bad]);
    }
    expect(await faultOf(read('otlp-logs', bytes, { utf8: 'refuse' }))).toContain('not-utf8: ');
  });
  test('requests, nesting and memory have limits', async () => {
    const deep = (levels: number): object =>
      levels === 0 ? { intValue: 1 } : { arrayValue: { values: [deep(levels - 1)] } };
    const request = logsOf({ body: deep(30) });
    for (const [format, bytes] of [
      ['otlp-logs', otlpBytes('logs', request)],
      ['otlp-logs-json', Buffer.from(otlpJson(request))],
    ] as const) {
      expect(await read(format, bytes, { nestingMax: 31 })).toHaveLength(1);
      expect(await faultOf(read(format, bytes, { nestingMax: 29 }))).toContain('nesting too deep (limit 29)');
      expect(await faultOf(read(format, bytes, { ingestBodyBytesMax: 50 }))).toBe(
        'format-limit: otlp: request: more than 50 bytes',
      );
      expect(await faultOf(read(format, bytes, { memory: new ReadMemory(() => 40) }))).toMatch(
        /^format-memory: otlp: request/,
      );
    }
  });
});

test('a request that is cut anywhere has fewer rows or a fault', async () => {
  const bytes = otlpBytes(
    'logs',
    logsOf(logRecord('a'), { body: { arrayValue: { values: [{ intValue: 1 }, { stringValue: 'x' }] } }, traceId }),
  );
  for (let end = 0; end < bytes.length; end++) {
    const fault = await faultOf(read('otlp-logs', bytes.subarray(0, end)));
    expect(fault === 'no fault' || fault.startsWith('format-broken: ')).toBe(true);
  }
});

test('random requests are the same in both encodings', async () => {
  const seed = seedOf(1);
  const random = randomOf(seed);
  const anyOf = (depth: number): object => {
    const many = (): readonly number[] => Array.from({ length: random.below(4) }, (_, i) => i);
    switch (random.below(depth > 3 ? 6 : 8)) {
      case 0:
        return { stringValue: random.pick(['', 'a', 'ü\n"\\', '\u{1f600}', 'x'.repeat(200)]) };
      case 1:
        return { boolValue: random.below(2) === 0 };
      case 2:
        return { intValue: String(BigInt.asIntN(64, BigInt(random.below(2 ** 31)) ** BigInt(random.below(4)))) };
      case 3:
        return { doubleValue: random.pick([0, -0, 0.1, 1e300, NaN, Infinity, 5e-324]) };
      case 4:
        return { bytesValue: Buffer.from(many()) };
      case 5:
        return {};
      case 6:
        return { arrayValue: { values: many().map(() => anyOf(depth + 1)) } };
      default:
        return { kvlistValue: { values: many().map(() => ({ key: `k${random.below(4)}`, value: anyOf(depth + 1) })) } };
    }
  };
  for (let i = 0; i < 60; i++) {
    const records = Array.from({ length: random.below(5) }, () => ({
      timeUnixNano: String(random.below(2 ** 31)),
      severityNumber: random.below(30),
      body: anyOf(0),
      attributes: Array.from({ length: random.below(6) }, () => ({ key: `a${random.below(8)}`, value: anyOf(1) })),
      traceId: random.below(2) === 0 ? traceId : Buffer.alloc(0),
    }));
    expect(
      await rowsOf('logs', logsOf(...records), { batchRows: 1 + random.below(4) }),
      `seed ${seed}, request ${i}`,
    ).toHaveLength(records.length);
  }
});

test('a body that is held whole waits for its turn before it is long, a short one does not', async () => {
  const bytes = otlpBytes(
    'logs',
    logsOf(...Array.from({ length: 9 }, () => ({ body: { stringValue: 'x'.repeat(1e6) } }))),
  );
  const turns: number[] = [];
  let given = 0;
  async function* pieces(to: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < to; at += 1 << 20) {
      given = Math.min(to, at + (1 << 20));
      yield bytes.subarray(at, given);
    }
  }
  const alone = async (): Promise<void> => {
    turns.push(given);
    await Promise.resolve();
  };
  let rows = 0;
  for await (const batch of await openReader('otlp-logs', pieces(bytes.length), { alone })) rows += batch.length;
  expect(rows).toBe(9);
  expect(turns).toEqual([5 << 20]);
  expect(await faultOf(read('otlp-logs', bytes.subarray(0, 1 << 20), { alone }))).toMatch('format-broken');
  expect(turns).toEqual([5 << 20]);
});
