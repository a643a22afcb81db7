/** Arrow with pyarrow and DuckDB at the other end. */
import { describe, expect, test, vi } from 'vitest';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type FormatName, createWriter } from '../../../src/formats/formats.ts';
import { convert, read, written } from '../../support/formats/convert.ts';
import { lacksPython, python } from '../../support/python.ts';

const absent = lacksPython('pyarrow', 'duckdb', 'pandas');
vi.setConfig({ testTimeout: 120_000 });

const everyType = String.raw`
import pyarrow as pa, datetime as dt, decimal
D = decimal.Decimal
def col(values, type): return pa.array(values, type)
cols = {
 'i8': col([1,None,-128], pa.int8()), 'u64': col([2**64-1,None,0], pa.uint64()), 'i64': col([-2**63,None,7], pa.int64()),
 'f16': pa.array([1.5,None,-2], pa.float16()), 'f32': col([0.1,None,-0.0], pa.float32()), 'f64': col([1e300,None,float('nan')], pa.float64()),
 'b': col([True,None,False], pa.bool_()), 's': col(['é',None,''], pa.string()), 'ls': col(['x',None,'yy'], pa.large_string()), 'sv': col(['short',None,'a string longer than twelve bytes'], pa.string_view()),
 'by': col([b'\x00\xff',None,b''], pa.binary()), 'lb': col([b'a',None,b'b'], pa.large_binary()), 'bv': col([b'1',None,b'0123456789abcdef'], pa.binary_view()), 'fb': col([b'abc',None,b'def'], pa.binary(3)),
 'd32': col([dt.date(2024,1,2),None,dt.date(1969,12,31)], pa.date32()), 'd64': col([dt.date(2024,1,2),None,dt.date(1960,1,1)], pa.date64()),
 't32s': col([1,None,86399], pa.time32('s')), 't32ms': col([1,None,86399999], pa.time32('ms')), 't64us': col([1,None,86399999999], pa.time64('us')), 't64ns': col([1,None,86399999999999], pa.time64('ns')),
 'tss': col([1704067200,None,-1], pa.timestamp('s')), 'tsms': col([1704067200123,None,-1], pa.timestamp('ms',tz='UTC')), 'tsus': col([1704067200123456,None,-1], pa.timestamp('us',tz='Europe/Berlin')), 'tsns': col([1704067200123456789,None,-1], pa.timestamp('ns')),
 'ds': col([1,None,-1], pa.duration('s')), 'dms': col([1,None,-1], pa.duration('ms')), 'dus': col([1,None,-1], pa.duration('us')), 'dns': col([1,None,-1], pa.duration('ns')),
 'mdn': col([pa.MonthDayNano([1,2,3]),None,pa.MonthDayNano([-1,-2,-3])], pa.month_day_nano_interval()),
 'dec32': col([D('1.5'),None,D('-1.5')], pa.decimal32(5,1)), 'dec64': col([D('1.5'),None,D('-1.5')], pa.decimal64(15,1)),
 'dec128': col([D('1.50'),None,D('-1.50')], pa.decimal128(30,2)), 'dec256': col([D('1.5'),None,D('-1.5')], pa.decimal256(60,1)), 'hugeint': col([D(2**64-1),None,D(-1)], pa.decimal128(38,0)),
 'uuid': pa.array([bytes(range(16)),None,b'\xff'+bytes(range(1,16))], pa.binary(16)).cast(pa.uuid()),
 'l': col([[1,None],None,[]], pa.list_(pa.int64())), 'll': col([['a'],None,[]], pa.large_list(pa.string())), 'fl': col([[1,2],None,[3,4]], pa.list_(pa.int32(),2)),
 'lv': pa.ListViewArray.from_arrays([2,0,0],[2,0,1],pa.array([1,2,3,4],pa.int64())),
 'st': col([{'a':1,'b':'x'},None,{'a':None,'b':None}], pa.struct([('a',pa.int64()),('b',pa.string())])),
 'm': col([[('b',1),('a',2)],None,[]], pa.map_(pa.string(),pa.int64())),
 'dict': pa.array(['x',None,'x']).dictionary_encode(), 'dicti': pa.DictionaryArray.from_arrays(pa.array([1,None,0],pa.int8()), pa.array([10,20])),
 'dictl': pa.array([[1],None,[2]]) ,
 'ree': pa.RunEndEncodedArray.from_arrays(pa.array([2,3],pa.int32()), pa.array(['r',None])),
 'n': pa.nulls(3),
 'du': pa.UnionArray.from_dense(pa.array([0,1,0],pa.int8()), pa.array([0,0,1],pa.int32()), [pa.array([1,None]), pa.array(['x'])]),
 'su': pa.UnionArray.from_sparse(pa.array([1,0,1],pa.int8()), [pa.array([1,2,3]), pa.array(['x','y','z'])]),
}

t = pa.table(cols)
for codec in [None, 'lz4', 'zstd']:
    with pa.OSFile(f'{codec}.arrows', 'wb') as f:
        with pa.ipc.new_stream(f, t.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w: w.write_table(t)
with pa.OSFile('file.arrow', 'wb') as f:
    with pa.ipc.new_file(f, t.schema) as w: w.write_table(t)
`;
const everyTypeAsSup = String.raw`{i8:1::int8::(int8|null),u64:18446744073709551615::uint64::(uint64|null),i64:-9223372036854775808::(int64|null),f16:1.5::float16::(float16|null),f32:0.1::float32::(float32|null),f64:1e+300::(float64|null),b:true::(bool|null),s:"é"::(string|null),ls:"x"::=arrow_large_string::(arrow_large_string|null),sv:"short"::(string|null),by:0x00ff::(bytes|null),lb:0x61::=arrow_large_binary::(arrow_large_binary|null),bv:0x31::(bytes|null),fb:0x616263::=arrow_fixed_size_binary_3::(arrow_fixed_size_binary_3|null),d32:2024-01-02T00:00:00Z::=arrow_date32::(arrow_date32|null),d64:2024-01-02T00:00:00Z::=arrow_date64::(arrow_date64|null),t32s:1970-01-01T00:00:01Z::=arrow_time32_s::(arrow_time32_s|null),t32ms:1970-01-01T00:00:00.001Z::=arrow_time32_ms::(arrow_time32_ms|null),t64us:1970-01-01T00:00:00.000001Z::=arrow_time64_us::(arrow_time64_us|null),t64ns:1970-01-01T00:00:00.000000001Z::=arrow_time64_ns::(arrow_time64_ns|null),tss:2024-01-01T00:00:00Z::=arrow_timestamp_s::(arrow_timestamp_s|null),tsms:2024-01-01T00:00:00.123Z::=arrow_timestamp_ms::(arrow_timestamp_ms|null),tsus:2024-01-01T00:00:00.123456Z::=arrow_timestamp_us::(arrow_timestamp_us|null),tsns:2024-01-01T00:00:00.123456789Z::(time|null),ds:1s::=arrow_duration_s::(arrow_duration_s|null),dms:1ms::=arrow_duration_ms::(arrow_duration_ms|null),dus:1us::=arrow_duration_us::(arrow_duration_us|null),dns:1ns::(duration|null),mdn:{month:1::int32,day:2::int32,nanoseconds:3}::=arrow_month_day_nano_interval::(null|arrow_month_day_nano_interval),dec32:1.5::=deciaml_1_5::(deciaml_1_5|null),dec64:1.5::=deciaml_1_15::(deciaml_1_15|null),dec128:1.5::=deciaml_2_30::(deciaml_2_30|null),dec256:1.5::=deciaml_1_60::(deciaml_1_60|null),hugeint:{high:0,low:18446744073709551615::uint64}::=arrow_decimal128::(null|arrow_decimal128),uuid:0x000102030405060708090a0b0c0d0e0f::=arrow_uuid::(arrow_uuid|null),l:[1,null]::(null|[int64|null]),ll:["a"]::(arrow_large_list=[string|null])::(null|arrow_large_list),fl:[1::int32,2::int32]::(arrow_fixed_size_list_2=[int32|null])::(null|arrow_fixed_size_list_2),lv:[3,4]::[int64|null]::(null|[int64|null]),st:{a:1::(int64|null),b:"x"::(string|null)}::(null|{a:int64|null,b:string|null}),m:|{"a":2,"b":1}|::|{string:int64|null}|::(null||{string:int64|null}|),dict:"x"::(string|null),dicti:20::(int64|null),dictl:[1]::[int64|null]::(null|[int64|null]),ree:"r"::(string|null),n:null,du:1::(int64|string|null),su:"x"::(int64|string|null)}
{i8:null::(int8|null),u64:null::(uint64|null),i64:null::(int64|null),f16:null::(float16|null),f32:null::(float32|null),f64:null::(float64|null),b:null::(bool|null),s:null::(string|null),ls:null::((arrow_large_string=string)|null),sv:null::(string|null),by:null::(bytes|null),lb:null::((arrow_large_binary=bytes)|null),bv:null::(bytes|null),fb:null::((arrow_fixed_size_binary_3=bytes)|null),d32:null::((arrow_date32=time)|null),d64:null::((arrow_date64=time)|null),t32s:null::((arrow_time32_s=time)|null),t32ms:null::((arrow_time32_ms=time)|null),t64us:null::((arrow_time64_us=time)|null),t64ns:null::((arrow_time64_ns=time)|null),tss:null::((arrow_timestamp_s=time)|null),tsms:null::((arrow_timestamp_ms=time)|null),tsus:null::((arrow_timestamp_us=time)|null),tsns:null::(time|null),ds:null::((arrow_duration_s=duration)|null),dms:null::((arrow_duration_ms=duration)|null),dus:null::((arrow_duration_us=duration)|null),dns:null::(duration|null),mdn:null::(null|(arrow_month_day_nano_interval={month:int32,day:int32,nanoseconds:int64})),dec32:null::((deciaml_1_5=float64)|null),dec64:null::((deciaml_1_15=float64)|null),dec128:null::((deciaml_2_30=float64)|null),dec256:null::((deciaml_1_60=float64)|null),hugeint:null::(null|(arrow_decimal128={high:int64,low:uint64})),uuid:null::((arrow_uuid=bytes)|null),l:null::(null|[int64|null]),ll:null::(null|(arrow_large_list=[string|null])),fl:null::(null|(arrow_fixed_size_list_2=[int32|null])),lv:[]::[int64|null]::(null|[int64|null]),st:null::(null|{a:int64|null,b:string|null}),m:null::(null||{string:int64|null}|),dict:null::(string|null),dicti:null::(int64|null),dictl:null::(null|[int64|null]),ree:"r"::(string|null),n:null,du:"x"::(int64|string|null),su:2::(int64|string|null)}
{i8:-128::int8::(int8|null),u64:0::uint64::(uint64|null),i64:7::(int64|null),f16:-2.::float16::(float16|null),f32:0.::float32::(float32|null),f64:NaN::(float64|null),b:false::(bool|null),s:""::(string|null),ls:"yy"::=arrow_large_string::(arrow_large_string|null),sv:"a string longer than twelve bytes"::(string|null),by:0x::(bytes|null),lb:0x62::=arrow_large_binary::(arrow_large_binary|null),bv:0x30313233343536373839616263646566::(bytes|null),fb:0x646566::=arrow_fixed_size_binary_3::(arrow_fixed_size_binary_3|null),d32:1969-12-31T00:00:00Z::=arrow_date32::(arrow_date32|null),d64:1960-01-01T00:00:00Z::=arrow_date64::(arrow_date64|null),t32s:1970-01-01T23:59:59Z::=arrow_time32_s::(arrow_time32_s|null),t32ms:1970-01-01T23:59:59.999Z::=arrow_time32_ms::(arrow_time32_ms|null),t64us:1970-01-01T23:59:59.999999Z::=arrow_time64_us::(arrow_time64_us|null),t64ns:1970-01-01T23:59:59.999999999Z::=arrow_time64_ns::(arrow_time64_ns|null),tss:1969-12-31T23:59:59Z::=arrow_timestamp_s::(arrow_timestamp_s|null),tsms:1969-12-31T23:59:59.999Z::=arrow_timestamp_ms::(arrow_timestamp_ms|null),tsus:1969-12-31T23:59:59.999999Z::=arrow_timestamp_us::(arrow_timestamp_us|null),tsns:1969-12-31T23:59:59.999999999Z::(time|null),ds:-1s::=arrow_duration_s::(arrow_duration_s|null),dms:-1ms::=arrow_duration_ms::(arrow_duration_ms|null),dus:-1us::=arrow_duration_us::(arrow_duration_us|null),dns:-1ns::(duration|null),mdn:{month:-1::int32,day:-2::int32,nanoseconds:-3}::=arrow_month_day_nano_interval::(null|arrow_month_day_nano_interval),dec32:-1.5::=deciaml_1_5::(deciaml_1_5|null),dec64:-1.5::=deciaml_1_15::(deciaml_1_15|null),dec128:-1.5::=deciaml_2_30::(deciaml_2_30|null),dec256:-1.5::=deciaml_1_60::(deciaml_1_60|null),hugeint:{high:-1,low:18446744073709551615::uint64}::=arrow_decimal128::(null|arrow_decimal128),uuid:0xff0102030405060708090a0b0c0d0e0f::=arrow_uuid::(arrow_uuid|null),l:[]::[int64|null]::(null|[int64|null]),ll:[]::(arrow_large_list=[string|null])::(null|arrow_large_list),fl:[3::int32,4::int32]::(arrow_fixed_size_list_2=[int32|null])::(null|arrow_fixed_size_list_2),lv:[1]::[int64|null]::(null|[int64|null]),st:{a:null::(int64|null),b:null::(string|null)}::(null|{a:int64|null,b:string|null}),m:|{}|::|{string:int64|null}|::|{string:int64|null}|::(null||{string:int64|null}|),dict:"x"::(string|null),dicti:10::(int64|null),dictl:[2]::[int64|null]::(null|[int64|null]),ree:null::(string|null),n:null,du:null::(int64|string|null),su:"z"::(int64|string|null)}
`;

describe.skipIf(absent)('streams of pyarrow', () => {
  test('of every type, plain, with LZ4 and ZSTD bodies, and as a file', async () => {
    const made = python(everyType);
    for (const name of ['None.arrows', 'lz4.arrows', 'zstd.arrows', 'file.arrow']) {
      expect(await convert(made.file(name), { from: 'auto', pieceBytes: 1000 }), name).toEqual({
        output: everyTypeAsSup,
        error: '',
      });
    }
    made.close();
  });
  test('compressed over many blocks, with dictionaries that grow and are replaced', async () => {
    const made = python(String.raw`
import pyarrow as pa
n = 200000
t = pa.table({'a': pa.array(range(n), pa.int64()), 's': pa.array([f'row {i} of many' for i in range(n)]), 'f': pa.array([i / 7 for i in range(n)])})
for codec in ['lz4', 'zstd']:
    with pa.OSFile(f'{codec}.arrows', 'wb') as f:
        with pa.ipc.new_stream(f, t.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w: w.write_table(t, max_chunksize=90000)
d = pa.schema([pa.field('d', pa.dictionary(pa.int8(), pa.string()), False)])
def batch(values, codes): return pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values))], schema=d)
for name, deltas in [('delta', True), ('replaced', False)]:
    with pa.OSFile(f'{name}.arrows', 'wb') as f:
        with pa.ipc.new_stream(f, d, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as w:
            w.write_batch(batch(['x', 'y'], [0, 1, 0])); w.write_batch(batch(['x', 'y', 'z'], [2, 0, 1]))
`);
    const wanted = Array.from(
      { length: 200_000 },
      (_, i) =>
        `{a:${i}::(int64|null),s:"row ${i} of many"::(string|null),f:${Number.isInteger(i / 7) ? `${i / 7}.` : i / 7}::(float64|null)}\n`,
    ).join('');
    for (const codec of ['lz4', 'zstd']) {
      const { output, error } = await convert(made.file(`${codec}.arrows`), { from: 'arrows' });
      expect(error).toBe('');
      expect(output === wanted, codec).toBe(true);
    }
    for (const name of ['delta', 'replaced']) {
      expect(await convert(made.file(`${name}.arrows`), { from: 'arrows' })).toEqual({
        output: [...'xyxzxy'].map((c) => `{d:"${c}"}\n`).join(''),
        error: '',
      });
    }
    made.close();
  });
  test('of pandas, with times that are missing', async () => {
    const made = python(String.raw`
import pandas as pd, pyarrow as pa
t = pa.Table.from_pandas(pd.DataFrame({'t': pd.to_datetime(['2024-01-02T03:04:05.123456', None]), 'c': [1.5, None]}), preserve_index=False)
with pa.OSFile('p.arrows', 'wb') as f:
    with pa.ipc.new_stream(f, t.schema) as w: w.write_table(t)
`);
    expect(await convert(made.file('p.arrows'), { from: 'arrows' })).toEqual({
      output:
        '{t:2024-01-02T03:04:05.123456Z::=arrow_timestamp_us::(arrow_timestamp_us|null),c:1.5::(float64|null)}\n{t:null::((arrow_timestamp_us=time)|null),c:null::(float64|null)}\n',
      error: '',
    });
    made.close();
  });
  test('whose times are beyond what a time holds are refused with the column', async () => {
    const made = python(String.raw`
import datetime, pyarrow as pa, pyarrow.parquet as pq
far = 253402300799
kinds = {'s': pa.array([far], pa.timestamp('s')), 'ms': pa.array([far * 10**3], pa.timestamp('ms')), 'us': pa.array([far * 10**6], pa.timestamp('us'))}
for name, day in [('first', datetime.date(1, 1, 1)), ('last', datetime.date(9999, 12, 31))]:
    kinds[name + '32'] = pa.array([day], pa.date32())
    kinds[name + '64'] = pa.array([day], pa.date64())
kinds['span'] = pa.array([far * 10**3], pa.duration('s'))
for name, far in kinds.items():
    t = pa.table({'far': far})
    pq.write_table(t, f'{name}.parquet')
    with pa.OSFile(f'{name}.arrows', 'wb') as f:
        with pa.ipc.new_stream(f, t.schema) as w: w.write_table(t)
`);
    for (const kind of ['s', 'ms', 'us', 'first32', 'last32', 'first64', 'last64'])
      for (const format of ['arrows', 'parquet'] as const) {
        const { error, output } = await convert(made.file(`${kind}.${format}`), { from: format });
        expect([kind, format, error, output]).toEqual([
          kind,
          format,
          expect.stringMatching(/far: .* is outside of the years 1677 to 2262/),
          '',
        ]);
      }
    for (const format of ['arrows', 'parquet'] as const)
      expect((await convert(made.file(`span.${format}`), { from: format })).error).toMatch(
        /far: duration in s 253402300799000 is longer than 292 years/,
      );
    made.close();
  });
});

describe.skipIf(absent)('our streams', () => {
  test('are read by pyarrow, every type and null', () => {
    const text = `{i8:-1::int8,u64:18446744073709551615::uint64,i64:-9223372036854775808,f16:0.5::float16,f32:1.5::float32,f64:NaN,b:true,s:"é",by:0x0102,t:2020-01-02T03:04:05.123456789Z,d:1m,r:{p:1,q:null::(string|null)},l:[1,2],ll:[["a"],[]::[string]],m:|{"k":1}|,st:|["a","b"]|,u:1::(int64|string|null),e:"B"::enum(A,B),ip:10.0.0.1,n:null,er:error("x"),o:null::({x:int64}|null),dd:2024-01-01T00:00:00Z::=arrow_date32,fl:[1,2]::=arrow_fixed_size_list_2,fb:0x0102::=arrow_fixed_size_binary_2,tu:2020-01-02T03:04:05.123456Z::=arrow_timestamp_us,big:"x"::=arrow_large_string}`;
    const made = python(
      String.raw`
import pyarrow as pa
t = pa.ipc.open_stream(open('in.arrows', 'rb')).read_all()
t.validate(full=True)
for f in t.schema: print(f.name, f.type, 'null' if f.nullable else '', t[f.name].combine_chunks()[0])
`,
      { 'in.arrows': written(parseSupValues(text), 'arrows') },
    );
    expect(made.output).toBe(`i8 int8  -1
u64 uint64  18446744073709551615
i64 int64  -9223372036854775808
f16 halffloat  0.5
f32 float  1.5
f64 double  nan
b bool  True
s string  é
by binary  b'\\x01\\x02'
t timestamp[ns, tz=UTC]  2020-01-02 03:04:05.123456789+00:00
d duration[ns]  0 days 00:01:00
r struct<p: int64 not null, q: string>  [('p', 1), ('q', None)]
l list<item: int64 not null>  [1, 2]
ll list<item: list<item: string not null> not null>  [['a'], []]
m map<string, int64>  [('k', 1)]
st list<item: string not null>  ['a', 'b']
u dense_union<0: int64 not null=0, 1: string not null=1, 2: null=2>  1
e string  B
ip string  10.0.0.1
n null null None
er string  error("x")
o struct<x: int64 not null> null None
dd date32[day]  2024-01-01
fl fixed_size_list<item: int64 not null>[2]  [1, 2]
fb fixed_size_binary[2]  b'\\x01\\x02'
tu timestamp[us, tz=UTC]  2020-01-02 03:04:05.123456+00:00
big large_string  x
`);
    made.close();
  });
  test('are read by DuckDB, in several batches', () => {
    const rows = Array.from(
      { length: 3000 },
      (_, i) => `{a:${i},s:${i % 2 ? `"v${i % 10}"` : 'null'}::(string|null),l:[${i}],t:2024-01-01T00:00:00Z}`,
    ).join('\n');
    const made = python(
      String.raw`
import pyarrow as pa, duckdb
t = pa.ipc.open_stream(open('in.arrows', 'rb')).read_all()
print(t.column(0).num_chunks, duckdb.sql('select count(*), sum(a), count(s), min(s), max(s), sum(l[1]), count(t) from t').fetchall())
`,
      { 'in.arrows': written(parseSupValues(rows), 'arrows') },
    );
    expect(made.output).toBe("3 [(3000, 4498500, 1500, 'v1', 'v9', 4498500, 3000)]\n");
    made.close();
  });
  test('are read by pyarrow and DuckDB in every type that pyarrow gave us', async () => {
    const given = python(everyType);
    const stream = given.file('lz4.arrows');
    given.close();
    const made = python(
      String.raw`
import pyarrow as pa, duckdb
duckdb.sql("set TimeZone = 'UTC'")
read = lambda name: pa.ipc.open_stream(open(name, 'rb')).read_all()
before, after = read('before.arrows'), read('after.arrows')
after.validate(full=True)
for b, a in zip(before.schema, after.schema):
    x, y = before[b.name].to_pylist(), after[a.name].to_pylist()
    x, y = [[str(v.timestamp()) if hasattr(v, 'timestamp') and v.tzinfo else str(v) for v in c] for c in (x, y)]
    if a.type != b.type or x != y: print(a.name, *([] if a.type == b.type else [f'{b.type} -> {a.type}']), *([] if x == y else [f'{x} -> {y}']))
def duck(table, name):
    one = table.select([name])
    try: return str([v[0] for v in duckdb.sql('select columns(*)::varchar from one').fetchall()])
    except Exception: return 'cannot be read'
for name in before.schema.names:
    x, y = duck(before, name), duck(after, name)
    if x != y or 'cannot' in y: print('DuckDB', name, x, '->', y)
`,
      { 'before.arrows': stream, 'after.arrows': await rewritten(stream, 'arrows') },
    );
    // What the names of our types do not tell is plainer afterwards: time zones, scales, dictionaries, views. Every
    // value is the same.
    expect(made.output).toBe(`sv string_view -> string
bv binary_view -> binary
tss timestamp[s] -> timestamp[s, tz=UTC] ['2024-01-01 00:00:00', 'None', '1969-12-31 23:59:59'] -> ['1704067200.0', 'None', '-1.0']
tsus timestamp[us, tz=Europe/Berlin] -> timestamp[us, tz=UTC]
tsns timestamp[ns] -> timestamp[ns, tz=UTC] ['2024-01-01 00:00:00.123456789', 'None', '1969-12-31 23:59:59.999999999'] -> ['1704067200.123457', 'None', '-0.0']
dec32 decimal32(5, 1) -> decimal128(5, 1)
dec64 decimal64(15, 1) -> decimal128(15, 1)
lv list_view<item: int64> -> list<item: int64>
m ["[('b', 1), ('a', 2)]", 'None', '[]'] -> ["[('a', 2), ('b', 1)]", 'None', '[]']
dict dictionary<values=string, indices=int32, ordered=0> -> string
dicti dictionary<values=int64, indices=int8, ordered=0> -> int64
ree run_end_encoded<run_ends: int32, values: string> -> string
du dense_union<0: int64=0, 1: string=1> -> dense_union<0: int64 not null=0, 1: string not null=1, 2: null=2>
su sparse_union<0: int64=0, 1: string=1> -> dense_union<0: int64 not null=0, 1: string not null=1, 2: null=2>
DuckDB f16 cannot be read -> cannot be read
DuckDB tss ['2024-01-01 00:00:00', None, '1969-12-31 23:59:59'] -> ['2024-01-01 00:00:00+00', None, '1969-12-31 23:59:59+00']
DuckDB tsns ['2024-01-01 00:00:00.123456789', None, '1969-12-31 23:59:59.999999999'] -> ['2024-01-01 00:00:00.123456789+00', None, '1969-12-31 23:59:59.999999999+00']
DuckDB dec256 cannot be read -> cannot be read
DuckDB m ['{b=1, a=2}', None, '{}'] -> ['{a=2, b=1}', None, '{}']
DuckDB du cannot be read -> cannot be read
DuckDB su ['x', '2', 'z'] -> cannot be read
`);
    made.close();
  });
});

describe.skipIf(absent)('our Parquet files', () => {
  test('are read by pyarrow and DuckDB in every type that Parquet has a column for', async () => {
    const given = python(`${everyType}
t = t.drop([c for c in t.schema.names if c in ('mdn', 'du', 'su', 'ds', 'dms', 'dus', 'dns')])
with pa.OSFile('parquet.arrows', 'wb') as f:
    with pa.ipc.new_stream(f, t.schema) as w: w.write_table(t)
`);
    const stream = given.file('parquet.arrows');
    given.close();
    const made = python(
      String.raw`
import pyarrow as pa, pyarrow.parquet as pq, duckdb
duckdb.sql("set TimeZone = 'UTC'")
before, after = pa.ipc.open_stream(open('before.arrows', 'rb')).read_all(), pq.read_table('after.parquet')
after.validate(full=True)
for name in before.schema.names:
    x, y = [[str(v.timestamp()) if hasattr(v, 'timestamp') and v.tzinfo else str(v) for v in t[name].to_pylist()] for t in (before, after)]
    if x != y: print(name, before[name].type, '->', after[name].type, x, '->', y)
for name in before.schema.names: print(name, [v[0] for v in duckdb.sql(f'select "{name}"::varchar from \'after.parquet\'').fetchall()])
`,
      { 'before.arrows': stream, 'after.parquet': await rewritten(stream, 'parquet') },
    );
    expect(
      made.output,
    ).toBe(`tss timestamp[s] -> timestamp[ms, tz=UTC] ['2024-01-01 00:00:00', 'None', '1969-12-31 23:59:59'] -> ['1704067200.0', 'None', '-1.0']
tsns timestamp[ns] -> timestamp[ns, tz=UTC] ['2024-01-01 00:00:00.123456789', 'None', '1969-12-31 23:59:59.999999999'] -> ['1704067200.123457', 'None', '-0.0']
m map<string, int64> -> map<string, int64 ('m')> ["[('b', 1), ('a', 2)]", 'None', '[]'] -> ["[('a', 2), ('b', 1)]", 'None', '[]']
i8 ['1', None, '-128']
u64 ['18446744073709551615', None, '0']
i64 ['-9223372036854775808', None, '7']
f16 ['1.5', None, '-2.0']
f32 ['0.1', None, '-0.0']
f64 ['1e+300', None, 'nan']
b ['true', None, 'false']
s ['é', None, '']
ls ['x', None, 'yy']
sv ['short', None, 'a string longer than twelve bytes']
by ['\\\\x00\\\\xFF', None, '']
lb ['a', None, 'b']
bv ['1', None, '0123456789abcdef']
fb ['abc', None, 'def']
d32 ['2024-01-02', None, '1969-12-31']
d64 ['2024-01-02', None, '1960-01-01']
t32s ['00:00:01', None, '23:59:59']
t32ms ['00:00:00.001', None, '23:59:59.999']
t64us ['00:00:00.000001', None, '23:59:59.999999']
t64ns ['00:00:00.000000001', None, '23:59:59.999999999']
tss ['2024-01-01 00:00:00+00', None, '1969-12-31 23:59:59+00']
tsms ['2024-01-01 00:00:00.123+00', None, '1969-12-31 23:59:59.999+00']
tsus ['2024-01-01 00:00:00.123456+00', None, '1969-12-31 23:59:59.999999+00']
tsns ['2024-01-01 00:00:00.123456789+00', None, '1969-12-31 23:59:59.999999999+00']
dec32 ['1.5', None, '-1.5']
dec64 ['1.5', None, '-1.5']
dec128 ['1.50', None, '-1.50']
dec256 ['1.5', None, '-1.5']
hugeint ['18446744073709551615', None, '-1']
uuid ['00010203-0405-0607-0809-0a0b0c0d0e0f', None, 'ff010203-0405-0607-0809-0a0b0c0d0e0f']
l ['[1, NULL]', None, '[]']
ll ['[a]', None, '[]']
fl ['[1, 2]', None, '[3, 4]']
lv ['[3, 4]', '[]', '[1]']
st ["{'a': 1, 'b': x}", None, "{'a': NULL, 'b': NULL}"]
m ['{a=2, b=1}', None, '{}']
dict ['x', None, 'x']
dicti ['20', None, '10']
dictl ['[1]', None, '[2]']
ree ['r', 'r', None]
n [None, None, None]
`);
    made.close();
  });
});

/** A stream of Arrow through our reader and a writer. */
const rewritten = async (stream: Uint8Array, to: FormatName): Promise<Uint8Array> => {
  const writer = createWriter(to);
  const chunks: Uint8Array[] = [];
  for (const batch of await read(stream, 'arrows')) chunks.push(...writer.write(batch));
  return Buffer.concat([...chunks, ...writer.end()]);
};
