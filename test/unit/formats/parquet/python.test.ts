/** Parquet with pyarrow and DuckDB at the other end. */
import { describe, expect, test, vi } from 'vitest';
import { parseSupValues } from '../../../../src/vectors/sup/parse.ts';
import { convert, written } from '../../../support/formats/convert.ts';
import { lacksPython, python, pythonOnce } from '../../../support/python.ts';

const absent = lacksPython('pyarrow', 'duckdb', 'pandas');
vi.setConfig({ testTimeout: 120_000 });

/** The same table in every codec, page version and encoding, and as an Arrow stream to compare with. */
const everyFile = String.raw`
import pyarrow as pa, pyarrow.parquet as pq, duckdb
N = 1500
base = {
 'i32': pa.array([None if i%7==0 else i-1500 for i in range(N)], pa.int32()), 'i64': pa.array([(i*7919**3)%2**62 for i in range(N)], pa.int64()), 'u8': pa.array([i%256 for i in range(N)], pa.uint8()),'u32': pa.array([2**32-1-i for i in range(N)], pa.uint32()),
 'f32': pa.array([i/3 for i in range(N)], pa.float32()), 'f64': pa.array([None if i%11==0 else i/7 for i in range(N)], pa.float64()), 'b': pa.array([i%3==0 for i in range(N)]),
 's': pa.array([None if i%5==0 else f'str {i//9}' for i in range(N)]), 'low': pa.array([f'v{i%4}' for i in range(N)]), 'by': pa.array([bytes([i%256])*(i%4) for i in range(N)], pa.binary()), 'fb': pa.array([bytes([i%256])*5 for i in range(N)], pa.binary(5)),
 't': pa.array([1704067200123456+i*1000003 for i in range(N)], pa.timestamp('us')),
}
nested = {
 'l': pa.array([None if i%5==0 else [None if j%3==2 else i+j for j in range(i%4)] for i in range(N)], pa.list_(pa.int64())),
 'lls': pa.array([None if i%6==0 else [None if j==1 else [f's{k}' for k in range(j)] for j in range(i%5)] for i in range(N)], pa.list_(pa.list_(pa.string()))),
 'st': pa.array([None if i%4==0 else {'a':i if i%3 else None,'q':None if i%5==0 else {'z':[i]*(i%3)}} for i in range(N)], pa.struct([('a',pa.int64()),('q',pa.struct([('z',pa.list_(pa.int32()))]))])),
 'm': pa.array([None if i%4==0 else [(f'k{j}', None if j==2 else i) for j in range(i%4)] for i in range(N)], pa.map_(pa.string(),pa.int64())),
 'ls': pa.array([[{'x':i,'y':'z'}]*(i%3) for i in range(N)], pa.list_(pa.struct([('x',pa.int64()),('y',pa.string())]))),
}

t = pa.table({**base, **nested})
for c in ['none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4']:
    for v in ['1.0', '2.0']:
        pq.write_table(t, f'{c}-{v}.parquet', compression=c, data_page_version=v, row_group_size=800, data_page_size=3000); print(f'{c}-{v}.parquet')
encs={'i32':['PLAIN','DELTA_BINARY_PACKED','BYTE_STREAM_SPLIT'],'i64':['PLAIN','DELTA_BINARY_PACKED','BYTE_STREAM_SPLIT'],'f32':['PLAIN','BYTE_STREAM_SPLIT'],'f64':['PLAIN','BYTE_STREAM_SPLIT'],'s':['PLAIN','DELTA_LENGTH_BYTE_ARRAY','DELTA_BYTE_ARRAY'],'by':['PLAIN','DELTA_LENGTH_BYTE_ARRAY','DELTA_BYTE_ARRAY'],'fb':['PLAIN','DELTA_BYTE_ARRAY','BYTE_STREAM_SPLIT'],'b':['PLAIN','RLE'],'u8':['DELTA_BINARY_PACKED'],'u32':['DELTA_BINARY_PACKED'],'t':['DELTA_BINARY_PACKED'],'low':['DELTA_BYTE_ARRAY']}

for k in range(3):
    e = {c: v[min(k, len(v) - 1)] for c, v in encs.items()}
    for v in ['1.0', '2.0']:
        pq.write_table(t, f'encoding{k}-{v}.parquet', use_dictionary=False, column_encoding=e, data_page_version=v); print(f'encoding{k}-{v}.parquet')
def stream(name):
    with pa.OSFile(name, 'wb') as f:
        with pa.ipc.new_stream(f, t.schema) as w: w.write_table(t)
stream('t.arrows')
t = t.drop(['fb'])
stream('duck.arrows')
con = duckdb.connect(); con.register('t', t)
for c in ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw']:
    for v in ['V1', 'V2']:
        con.execute(f"copy t to 'duck-{c}-{v}.parquet' (format parquet, compression {c}, parquet_version {v}, row_group_size 2048)"); print(f'duck-{c}-{v}.parquet')
`;
const everyMeaning = String.raw`
import pyarrow as pa, pyarrow.parquet as pq, datetime as dt, decimal
D = decimal.Decimal
logical = {
 'd': pa.array([dt.date(2024,1,2),None,dt.date(1969,12,31)], pa.date32()), 't32': pa.array([1,None,86399999], pa.time32('ms')), 't64': pa.array([1,None,5], pa.time64('us')), 't64n': pa.array([1,None,5], pa.time64('ns')),
 'ms': pa.array([1704067200123,None,-1], pa.timestamp('ms',tz='UTC')), 'us': pa.array([1704067200123456,None,-1], pa.timestamp('us')), 'ns': pa.array([1704067200123456789,None,-1], pa.timestamp('ns')),
 'f16': pa.array([1.5,None,-2.0], pa.float16()), 'dec9': pa.array([D('1.50'),None,D('-1.50')], pa.decimal128(9,2)), 'dec18': pa.array([D('1.50'),None,D('-1.50')], pa.decimal128(18,2)), 'dec38': pa.array([D('1.50'),None,D('-1.50')], pa.decimal128(38,2)),
 'n': pa.nulls(3), 'i8': pa.array([1,None,-1],pa.int8()), 'i16': pa.array([1,None,-1],pa.int16()), 'u16': pa.array([1,None,65535],pa.uint16()), 'u64': pa.array([1,None,2**64-1],pa.uint64()), 'dur': pa.array([1,None,2],pa.int64()), 'dict': pa.array(['x',None,'y']).dictionary_encode(), 'lb': pa.array([b'x',None,b'y'],pa.large_binary()),
}

pq.write_table(pa.table(logical), 'bytes.parquet', version='2.6', store_schema=False)
pq.write_table(pa.table(logical), 'integers.parquet', version='2.6', store_schema=False, store_decimal_as_integer=True)
pq.write_table(pa.table({'x': pa.array([1704067200123456789, None, -1], pa.timestamp('ns'))}), 'int96.parquet', use_deprecated_int96_timestamps=True)
pq.write_table(pa.table({'a': pa.array([1])}, schema=pa.schema([pa.field('a', pa.int64(), False)])), 'required.parquet')
pq.write_table(pa.table({'a': pa.array([], pa.int64())}), 'empty.parquet')
`;
const everyMeaningAsSup = String.raw`{d:2024-01-02T00:00:00Z::=arrow_date32::(arrow_date32|null),t32:1970-01-01T00:00:00.001Z::=arrow_time32_ms::(arrow_time32_ms|null),t64:1970-01-01T00:00:00.000001Z::=arrow_time64_us::(arrow_time64_us|null),t64n:1970-01-01T00:00:00.000000001Z::=arrow_time64_ns::(arrow_time64_ns|null),ms:2024-01-01T00:00:00.123Z::=arrow_timestamp_ms::(arrow_timestamp_ms|null),us:2024-01-01T00:00:00.123456Z::=arrow_timestamp_us::(arrow_timestamp_us|null),ns:2024-01-01T00:00:00.123456789Z::(time|null),f16:1.5::float16::(float16|null),dec9:1.5::=deciaml_2_9::(deciaml_2_9|null),dec18:1.5::=deciaml_2_18::(deciaml_2_18|null),dec38:1.5::=deciaml_2_38::(deciaml_2_38|null),n:null,i8:1::int8::(int8|null),i16:1::int16::(int16|null),u16:1::uint16::(uint16|null),u64:1::uint64::(uint64|null),dur:1::(int64|null),dict:"x"::(string|null),lb:0x78::(bytes|null)}
{d:null::((arrow_date32=time)|null),t32:null::((arrow_time32_ms=time)|null),t64:null::((arrow_time64_us=time)|null),t64n:null::((arrow_time64_ns=time)|null),ms:null::((arrow_timestamp_ms=time)|null),us:null::((arrow_timestamp_us=time)|null),ns:null::(time|null),f16:null::(float16|null),dec9:null::((deciaml_2_9=float64)|null),dec18:null::((deciaml_2_18=float64)|null),dec38:null::((deciaml_2_38=float64)|null),n:null,i8:null::(int8|null),i16:null::(int16|null),u16:null::(uint16|null),u64:null::(uint64|null),dur:null::(int64|null),dict:null::(string|null),lb:null::(bytes|null)}
{d:1969-12-31T00:00:00Z::=arrow_date32::(arrow_date32|null),t32:1970-01-01T23:59:59.999Z::=arrow_time32_ms::(arrow_time32_ms|null),t64:1970-01-01T00:00:00.000005Z::=arrow_time64_us::(arrow_time64_us|null),t64n:1970-01-01T00:00:00.000000005Z::=arrow_time64_ns::(arrow_time64_ns|null),ms:1969-12-31T23:59:59.999Z::=arrow_timestamp_ms::(arrow_timestamp_ms|null),us:1969-12-31T23:59:59.999999Z::=arrow_timestamp_us::(arrow_timestamp_us|null),ns:1969-12-31T23:59:59.999999999Z::(time|null),f16:-2.::float16::(float16|null),dec9:-1.5::=deciaml_2_9::(deciaml_2_9|null),dec18:-1.5::=deciaml_2_18::(deciaml_2_18|null),dec38:-1.5::=deciaml_2_38::(deciaml_2_38|null),n:null,i8:-1::int8::(int8|null),i16:-1::int16::(int16|null),u16:65535::uint16::(uint16|null),u64:18446744073709551615::uint64::(uint64|null),dur:2::(int64|null),dict:"y"::(string|null),lb:0x79::(bytes|null)}
`;

/** Durations at all depths, with and without what says that they are; `other`: what is there cannot be read. */
const durations = String.raw`
import pyarrow as pa, pyarrow.parquet as pq
d = pa.duration
t = pa.table({
 's': pa.array([1, None, -90061], d('s')), 'ms': pa.array([1, None, -1], d('ms')), 'us': pa.array([1, None, -1], d('us')), 'ns': pa.array([1, None, 2**63-1], d('ns')),
 'coded': pa.array([5, 5, None], d('us')).dictionary_encode(), 'plain': pa.array([1, 2, 3], pa.int64()),
 'l': pa.array([[1, None], None, []], pa.list_(d('ms'))), 'f': pa.array([[1, 2], None, [3, 4]], pa.list_(d('s'), 2)),
 'st': pa.array([{'a': 1, 'b': {'c': 2}}, None, {'a': None, 'b': None}], pa.struct([('a', d('ns')), ('b', pa.struct([('c', d('ms'))]))])),
 'm': pa.array([[('k', 1)], None, []], pa.map_(pa.string(), d('us'))),
})
# Parquet's lists have no fixed size.
stream = t.set_column(t.column_names.index('f'), 'f', t['f'].cast(pa.list_(d('s'))))
with pa.OSFile('t.arrows', 'wb') as f:
    with pa.ipc.new_stream(f, stream.schema) as w: w.write_table(stream)
for v in ['1.0', '2.0']: pq.write_table(t, f'v{v}.parquet', data_page_version=v)
pq.write_table(t, 'delta.parquet', use_dictionary=False, column_encoding={c: 'DELTA_BINARY_PACKED' for c in ['s', 'ms', 'us', 'ns']})
one = pa.table({'ms': t['ms']})
pq.write_table(one, 'bare.parquet', store_schema=False)
for name, text in [('junk', 'junk'), ('short', '/////wAA'), ('long', '/////xAAAAAMAAAA//8='), ('empty', '')]:
    pq.write_table(one.replace_schema_metadata({'ARROW:schema': text}), name + '.parquet', store_schema=False)
`;

describe.skipIf(absent)('files of pyarrow and DuckDB', () => {
  test('with durations, which the Arrow schema beside tells, are as the Arrow stream is', async () => {
    const made = python(durations);
    const wanted = await convert(made.file('t.arrows'), { from: 'arrows' });
    expect(wanted.output.split('\n')[0]).toContain('s:1s::=arrow_duration_s::(arrow_duration_s|null)');
    for (const name of ['v1.0', 'v2.0', 'delta'])
      expect([name, await convert(made.file(`${name}.parquet`), { from: 'auto' })]).toEqual([name, wanted]);
    for (const name of ['bare', 'junk', 'short', 'long', 'empty'])
      expect([name, (await convert(made.file(`${name}.parquet`), { from: 'auto' })).output]).toEqual([
        name,
        '{ms:1::(int64|null)}\n{ms:null::(int64|null)}\n{ms:-1::(int64|null)}\n',
      ]);
    made.close();
  });
  test('in every codec, page version and encoding, with nested columns', async () => {
    const made = python(everyFile);
    const names = made.output.trim().split('\n');
    expect(names.length).toBe(30);
    const tables = new Map<string, string>();
    for (const name of ['t.arrows', 'duck.arrows'])
      tables.set(name, (await convert(made.file(name), { from: 'arrows' })).output);
    for (const name of names) {
      const { output, error } = await convert(made.file(name), { from: 'auto' });
      expect(error, name).toBe('');
      const lines = output.split('\n');
      const wanted = tables.get(name.startsWith('duck') ? 'duck.arrows' : 't.arrows')!.split('\n');
      const other = wanted.findIndex((line, i) => line !== lines[i]);
      expect([name, lines.length, lines[other]]).toEqual([name, 1501, wanted[other]]);
    }
    made.close();
  });
  test('of every meaning', async () => {
    const made = python(everyMeaning);
    for (const name of ['bytes.parquet', 'integers.parquet'])
      expect(await convert(made.file(name), { from: 'parquet' }), name).toEqual({
        output: everyMeaningAsSup,
        error: '',
      });
    expect(await convert(made.file('int96.parquet'), { from: 'parquet' })).toEqual({
      output:
        '{x:2024-01-01T00:00:00.123456789Z::(time|null)}\n{x:null::(time|null)}\n{x:1969-12-31T23:59:59.999999999Z::(time|null)}\n',
      error: '',
    });
    expect(await convert(made.file('required.parquet'), { from: 'parquet' })).toEqual({ output: '{a:1}\n', error: '' });
    expect(await convert(made.file('empty.parquet'), { from: 'parquet' })).toEqual({ output: '', error: '' });
    made.close();
  });
});

describe.skipIf(absent)('our files', () => {
  const text = [
    '{i:1,u:18446744073709551615::uint64,f16:0.5::float16,f32:1.5::float32,f:NaN,b:true,s:"é",by:0x0102,t:2020-01-02T03:04:05.123456789Z,us:2020-01-02T03:04:05.123456Z::=arrow_timestamp_us,d:2024-01-01T00:00:00Z::=arrow_date32,r:{p:1,q:null::(string|null)},l:[1,null],ll:[["a"],[]::[string]],m:|{"k":{z:1}}|,ip:10.0.0.1,n:null,o:null::(null|{x:[int64]}),fb:0x0102::=arrow_fixed_size_binary_2}',
    '{i:-2,u:0::uint64,f16:-1.::float16,f32:-2.::float32,f:0.,b:false,s:"",by:0x,t:1969-12-31T23:59:59Z,us:1969-12-31T23:59:59Z::=arrow_timestamp_us,d:1969-12-31T00:00:00Z::=arrow_date32,r:{p:2,q:"w"::(string|null)},l:[]::[int64|null],ll:[]::[[string]],m:|{}|::|{string:{z:int64}}|,ip:::1,n:null,o:{x:[7,8]}::(null|{x:[int64]}),fb:0x0304::=arrow_fixed_size_binary_2}',
  ].join('\n');
  test('are read by pyarrow', () => {
    const made = python(
      String.raw`
import pyarrow.parquet as pq
f = pq.ParquetFile('in.parquet'); t = f.read(); t.validate(full=True)
for c in t.schema: print(c.name, c.type, 'null' if c.nullable else '', t[c.name].to_pylist())
s = [f.metadata.row_group(0).column(i) for i in range(f.metadata.num_columns)]
print([(c.path_in_schema, c.statistics.min, c.statistics.max, c.statistics.null_count) for c in s[:8] if c.statistics.has_min_max])
`,
      { 'in.parquet': written(parseSupValues(text), 'parquet') },
    );
    expect(made.output).toBe(`i int64  [1, -2]
u uint64  [18446744073709551615, 0]
f16 halffloat  [0.5, -1.0]
f32 float  [1.5, -2.0]
f double  [nan, 0.0]
b bool  [True, False]
s string  ['é', '']
by binary  [b'\\x01\\x02', b'']
t timestamp[ns, tz=UTC]  [Timestamp('2020-01-02 03:04:05.123456789+0000', tz='UTC'), Timestamp('1969-12-31 23:59:59+0000', tz='UTC')]
us timestamp[us, tz=UTC]  [datetime.datetime(2020, 1, 2, 3, 4, 5, 123456, tzinfo=zoneinfo.ZoneInfo(key='UTC')), datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=zoneinfo.ZoneInfo(key='UTC'))]
d date32[day]  [datetime.date(2024, 1, 1), datetime.date(1969, 12, 31)]
r struct<p: int64 not null, q: string>  [{'p': 1, 'q': None}, {'p': 2, 'q': 'w'}]
l list<element: int64>  [[1, None], []]
ll list<element: list<element: string not null> not null>  [[['a'], []], []]
m map<string, struct<z: int64 not null> ('m')>  [[('k', {'z': 1})], []]
ip string  ['10.0.0.1', '::1']
n null null [None, None]
o struct<x: list<element: int64 not null> not null> null [None, {'x': [7, 8]}]
fb fixed_size_binary[2]  [b'\\x01\\x02', b'\\x03\\x04']
[('i', -2, 1, 0), ('u', 0, 18446744073709551615, 0), ('f32', -2.0, 1.5, 0), ('b', False, True, 0), ('s', '', 'é', 0), ('by', b'', b'\\x01\\x02', 0)]
`);
    made.close();
  });
  test('are read by DuckDB, which skips by the statistics', () => {
    const rows = Array.from(
      { length: 140_000 },
      (_, i) => `{a:${i},s:${i % 2 ? `"v${i % 10}"` : 'null'}::(string|null),l:[${i}],f:${i}.5,t:2024-01-01T00:00:00Z}`,
    ).join('\n');
    const made = python(
      String.raw`
import duckdb
print(duckdb.sql("select count(*), sum(a), count(s), min(s), max(s), sum(l[1]), sum(f), count(t) from 'in.parquet'").fetchall())
print(duckdb.sql("select s, l from 'in.parquet' where a = 139999").fetchall())
print(duckdb.sql("select row_group_id, stats_min_value, stats_max_value, stats_null_count, compression from parquet_metadata('in.parquet') where path_in_schema = 'a'").fetchall())
`,
      { 'in.parquet': written(parseSupValues(rows), 'parquet') },
    );
    expect(made.output).toBe(`[(140000, 9799930000, 70000, 'v1', 'v9', 9799930000, 9800000000.0, 140000)]
[('v9', [139999])]
[(0, '0', '65535', 0, 'SNAPPY'), (1, '65536', '131071', 0, 'SNAPPY'), (2, '131072', '139999', 0, 'SNAPPY')]
`);
    made.close();
  });
});

describe.skipIf(absent)('types that SQL has', () => {
  test('come in and go out as what they are', async () => {
    const given = python(String.raw`
import duckdb
duckdb.sql('''copy (select * from (values
  (1.50::decimal(9,2), 1234567890123.45::decimal(18,2), 1234.5678::decimal(38,4), 0.5::decimal(4,4), time '10:00:00.5', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, interval '1 month 2 days 3 seconds', 'x'::enum('x','y')),
  (-2.25, -0.01, -0.0001, -0.0001, time '23:59:59.999999', 'ffeebc99-9c0b-4ef8-bb6d-6bb9bd380a11', interval '1 year 5 hours', 'y'), (null, null, null, null, null, null, null, null)) t(d9, d18, d38, d4, t, u, v, e)) to 'given.parquet' (format parquet)''')
`);
    const before = given.file('given.parquet');
    given.close();
    const read = await convert(before, { from: 'parquet' });
    expect([read.error, read.output.split('\n')[0]]).toEqual([
      '',
      '{d9:1.5::=deciaml_2_9::(deciaml_2_9|null),d18:1.23456789012345e+12::=deciaml_2_18::(deciaml_2_18|null),d38:1234.5678::=deciaml_4_38::(deciaml_4_38|null),d4:0.5::=deciaml_4_5::(deciaml_4_5|null),t:1970-01-01T10:00:00.5Z::=arrow_time64_us::(arrow_time64_us|null),u:0xa0eebc999c0b4ef8bb6d6bb9bd380a11::=arrow_uuid::(arrow_uuid|null),v:0x0100000002000000b80b0000::=arrow_interval::(arrow_interval|null),e:"x"::(string|null)}',
    ]);
    const values = parseSupValues(read.output);
    const made = python(
      String.raw`
import duckdb, pyarrow as pa
stream = pa.ipc.open_stream(open('after.arrows', 'rb')).read_all()
want = duckdb.sql("select * replace (e::varchar as e) from 'before.parquet'").fetchall()
for source in ("'after.parquet'", 'stream'):
    got = duckdb.sql(f'from {source}')
    print(got.types == duckdb.sql("select * replace (e::varchar as e) from 'before.parquet'").types, got.fetchall() == want)
`,
      {
        'before.parquet': before,
        'after.parquet': written(values, 'parquet'),
        'after.arrows': written(values, 'arrows'),
      },
    );
    expect(made.output).toBe('True True\nTrue True\n');
    made.close();
  });
  test.each([
    '12345678901234567.::=deciaml_2_18',
    '0.125::=deciaml_2_9',
    '12345678.::=deciaml_2_9',
    'NaN::=deciaml_2_9',
  ])('%s is no decimal, which is an error', (value) => {
    for (const format of ['parquet', 'arrows'] as const)
      expect(() => written(parseSupValues(`{d:${value}}`), format)).toThrow(
        /value \S+ is no decimal\(\d+,2\): cast the column to float64/,
      );
  });
});

describe.skipIf(lacksPython('pyarrow'))('statistics in the headers of pages', () => {
  const made = pythonOnce(String.raw`
import pyarrow as pa, pyarrow.parquet as pq
for n in (1000, 2040, 3000, 4090): pq.write_table(pa.table({'a': ['p' * n, 'q' * n]}), f'{n}.parquet', write_statistics=True, max_rows_per_page=1)
`);
  test.each([1000, 2040, 3000, 4090])('a least and a greatest text of %d bytes are read over', async (n) => {
    const { output, error } = await convert(made().file(`${n}.parquet`), { from: 'parquet' });
    expect([error, output.split('\n').map((line) => /p+|q+/.exec(line)?.[0].length)]).toEqual(['', [n, n, undefined]]);
  });
});
