/**
 * pyarrow, pandas and DuckDB over HTTP: they read what a query answers in Arrow, Parquet, CSV and JSON, and what they
 * write is loaded. Point 11 of what clients ask; test/unit/formats has their files byte by byte.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawn } from 'node:child_process';
import { startService, type TestService } from '../support/service/server.ts';
import { lacksPython, quits } from '../support/python.ts';

const json = { 'content-type': 'application/json', accept: 'application/json' } as const;
let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
  await pool('p');
  await service.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-type': 'application/x-sup' },
    body: Array.from({ length: 1000 }, (_, k) =>
      `{k:${k},name:"n ${k % 7} \u00e4\\"\\n,",x:${k}/2.,t:2024-01-01T00:00:${String(k % 60).padStart(2, '0')}.5Z,ok:${k % 3 === 0},list:[${k},${k + 1}],r:{a:${k}}}`.replace(
        `${k}/2.`,
        (k / 2).toFixed(1),
      ),
    ).join('\n'),
  });
});
afterAll(() => service.close());
const pool = (name: string): Promise<unknown> =>
  service.ask('POST', '/pool', {
    headers: json,
    body: JSON.stringify({ name, layout: { order: 'asc', keys: [['k']] } }),
  });

/**
 * Runs a script beside the service, which answers meanwhile; what it printed, as JSON. `ask(query, accept)` and
 * `load(pool, type, body)` are there for it.
 */
const python = (script: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const before = `
import io, json, sys, urllib.request
def send(path, body, headers):
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, data=body, headers=headers, method='POST')) as answer: return answer.read()
def ask(query, accept): return send('/query', json.dumps({'query': query}).encode(), {'Content-Type': 'application/json', 'Accept': accept})
def load(pool, kind, body): return json.loads(send('/pool/' + pool + '/branch/main', body, {'Content-Type': kind, 'Accept': 'application/json'}))
ARROW, PARQUET = 'application/vnd.apache.arrow.stream', 'application/x-parquet'
`;
    const child = spawn('python3', ['-', service.url], { stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let fault = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      fault += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(JSON.parse(out));
      else reject(new Error(fault.slice(-3000)));
    });
    child.stdin.end(before + script + quits);
  });
const rows = async (query: string): Promise<unknown> =>
  await service
    .ask('POST', '/query', { headers: { ...json, accept: 'application/json' }, body: JSON.stringify({ query }) })
    .then(({ body }) => JSON.parse(body) as unknown);
/**
 * What is told of an answer without rows that has these columns in Arrow and Parquet: rows, columns, DuckDB's columns
 * of a file and of a table, and of loads.
 */
const answered = (columns: readonly string[]): unknown => [
  [0, 0],
  ['item', 'element'].map((item) => columns.map((c) => c.replace('ITEM', item))),
  Array.from({ length: 2 }, () =>
    columns.length === 0 ? 'InvalidInputException' : columns.map((c) => c.split(' ')[0]),
  ),
  Array.from({ length: 2 }, () => 'no records in request'),
];
const whole = { k: 1000, sum: 499_500, x: 249_750, first: 'n 0 \u00e4"\n,', last: 999 };

describe.skipIf(lacksPython('pyarrow', 'pandas', 'duckdb'))("Python's packages", { timeout: 300_000 }, () => {
  test('pyarrow reads Arrow and Parquet with exact types, whole', async () => {
    expect(
      await python(`
import pyarrow as pa, pyarrow.ipc, pyarrow.parquet as pq
out = []
for t in [pa.ipc.open_stream(io.BytesIO(ask('from p | sort k', ARROW))).read_all(), pq.read_table(io.BytesIO(ask('from p | sort k', PARQUET)))]:
    out.append([t.num_rows, [str(f.type) for f in t.schema], sum(t['k'].to_pylist()), sum(t['x'].to_pylist()), t['name'][0].as_py(), t['list'][999].as_py(), t['r'][999].as_py(), t['t'][1].as_py().isoformat()])
print(json.dumps(out))`),
    ).toEqual(
      [
        [
          1000,
          ['int64', 'string', 'double', 'timestamp[ns]', 'bool', 'list<item: int64>', 'struct<a: int64>'],
          499_500,
          249_750,
          whole.first,
          [999, 1000],
          { a: 999 },
          '2024-01-01T00:00:01.500000',
        ],
        [
          1000,
          ['int64', 'string', 'double', 'timestamp[ns, tz=UTC]', 'bool', 'list<element: int64>', 'struct<a: int64>'],
          499_500,
          249_750,
          whole.first,
          [999, 1000],
          { a: 999 },
          '2024-01-01T00:00:01.500000+00:00',
        ],
      ].map((expected) =>
        expected.map((value, i) =>
          i === 1
            ? (expect.any(Array) as unknown)
            : i === 7
              ? (expect.stringMatching(/^2024-01-01T00:00:01\.500000/) as unknown)
              : value,
        ),
      ),
    );
  });
  test('pandas reads CSV, JSON, NDJSON and Parquet', async () => {
    expect(
      await python(`
import pandas as pd
q = 'from p | cut k, name, x, ok | sort k'
frames = [pd.read_csv(io.BytesIO(ask(q, 'text/csv'))), 
  pd.read_json(io.BytesIO(ask(q, 'application/json'))), pd.read_json(io.BytesIO(ask(q, 'application/x-ndjson')), lines=True), pd.read_parquet(io.BytesIO(ask(q, PARQUET)))]
print(json.dumps([[len(f), int(f.k.sum()), float(f.x.sum()), f['name'][0], int(f.ok.sum())] for f in frames]))`),
    ).toEqual(Array.from({ length: 4 }, () => [1000, 499_500, 249_750, whole.first, 334]));
  });
  test('DuckDB reads Arrow, CSV, NDJSON and Parquet', async () => {
    expect(
      await python(`
import duckdb, os, pyarrow as pa, tempfile
d = tempfile.mkdtemp()
q = 'from p | cut k, name, x | sort k'
for name, kind in [('a.csv', 'text/csv'), ('a.ndjson', 'application/x-ndjson'), ('a.json', 'application/json'), ('a.parquet', PARQUET)]: open(os.path.join(d, name), 'wb').write(ask(q, kind))
arrow = pa.ipc.open_stream(io.BytesIO(ask(q, ARROW))).read_all()
sources = ['arrow'] + [f"'{d}/{name}'" for name in ['a.csv', 'a.ndjson', 'a.json', 'a.parquet']]
print(json.dumps([list(duckdb.sql(f'select count(*), sum(k)::bigint, sum(x), min(name) from {s}').fetchall()[0]) for s in sources]))`),
    ).toEqual(Array.from({ length: 5 }, () => [1000, 499_500, 249_750, whole.first]));
  });
  test('an answer without rows is a file with the columns that are known, and loads as nothing', async () => {
    for (const name of ['mixed', 'bare']) await pool(name);
    for (const body of ['{k:1,v:1}{k:2}', '{k:3,v:"x"}'])
      expect((await service.ask('POST', '/pool/mixed/branch/main', { body })).status).toBe(200);
    expect(
      await python(`
import duckdb, os, pyarrow as pa, pyarrow.ipc, pyarrow.parquet as pq, tempfile, urllib.error
path = os.path.join(tempfile.mkdtemp(), 'none.parquet')
def refused(work):
    try: work()
    except (duckdb.Error, urllib.error.HTTPError) as fault: return json.load(fault)['error'] if hasattr(fault, 'read') else type(fault).__name__
out = []
for query in ['values {a:1,s:"x",t:2024-01-01T00:00:00Z,l:[1],r:{b:1.5},n:null} | where a==2', "select 1 as a, 'x' as s where false", 'from p | where k==-1', 'from p | where k==-1 | cut k, r', 'select k, name as n from p where k<0', 'from mixed | where k==-1 | cut k, v', 'from bare | where k==-1', 'values {a:1,d:1h} | where a==2']:
    arrow, parquet = ask(query, ARROW), ask(query, PARQUET)
    tables = [pa.ipc.open_stream(io.BytesIO(arrow)).read_all(), pq.read_table(io.BytesIO(parquet))]
    open(path, 'wb').write(parquet)
    names = [refused(lambda: duckdb.sql(f"select * from '{path}'").columns) or duckdb.sql(f"select * from '{path}'").columns, refused(lambda: duckdb.from_arrow(tables[0]).columns) or duckdb.from_arrow(tables[0]).columns]
    out.append([[t.num_rows for t in tables], [[f'{f.name} {f.type}' for f in t.schema] for t in tables], names, [refused(lambda: load('p', k, b)) for k, b in [(ARROW, arrow), (PARQUET, parquet)]]])
print(json.dumps(out))`),
    ).toEqual([
      answered([
        'a int64',
        's string',
        't timestamp[ns, tz=UTC]',
        'l list<ITEM: int64 not null>',
        'r struct<b: double>',
        'n null',
      ]),
      answered(['a int64', 's string']),
      answered([
        'k int64',
        'name string',
        'x double',
        't timestamp[ns, tz=UTC]',
        'ok bool',
        'list list<ITEM: int64 not null>',
        'r struct<a: int64>',
      ]),
      answered(['k int64', 'r struct<a: int64>']),
      answered(['k int64', 'n string']),
      answered([]),
      // DuckDB takes no table without columns.
      answered([]),
      // Parquet has no durations.
      [
        [0, 0],
        [['a int64', 'd duration[ns]'], []],
        ['InvalidInputException', ['a', 'd']],
        Array.from({ length: 2 }, () => 'no records in request'),
      ],
    ]);
  });
  test('what they write is loaded: each codec, encoding and page version of Parquet, compressed Arrow, CSV and JSON', async () => {
    await pool('back');
    const written = (await python(`
import duckdb, os, pandas as pd, pyarrow as pa, pyarrow.ipc, pyarrow.parquet as pq, tempfile
table = pa.ipc.open_stream(io.BytesIO(ask('from p | sort k', ARROW))).read_all()
flat = table.select(['k', 'name', 'x', 'ok'])
def parquet(t, **more):
    out = io.BytesIO(); pq.write_table(t, out, **more); return out.getvalue()
def arrow(t, codec):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, t.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w: w.write_table(t)
    return out.getvalue()
bodies = [('parquet ' + c, PARQUET, parquet(table, compression=c)) for c in ['NONE', 'SNAPPY', 'GZIP', 'ZSTD', 'LZ4', 'BROTLI']]
bodies += [('parquet v2', PARQUET, parquet(table, data_page_version='2.0', version='2.6')), ('parquet plain', PARQUET, parquet(table, use_dictionary=False)),
  ('parquet delta', PARQUET, parquet(flat, use_dictionary=False, column_encoding={'k': 'DELTA_BINARY_PACKED', 'name': 'DELTA_BYTE_ARRAY', 'x': 'BYTE_STREAM_SPLIT'}))]
bodies += [('arrow ' + str(c), ARROW, arrow(table, c)) for c in [None, 'lz4', 'zstd']]
frame = flat.to_pandas()
bodies += [('pandas csv', 'text/csv', frame.to_csv(index=False).encode()), ('pandas lines', 'application/json', frame.to_json(orient='records', lines=True).encode()), ('pandas parquet', PARQUET, frame.to_parquet())]
d = tempfile.mkdtemp()
for name, kind, how in [('o.parquet', PARQUET, 'format parquet'), ('o.csv', 'text/csv', 'format csv, header'), ('o.json', 'application/json', 'format json')]:
    duckdb.sql(f"copy (select * from flat) to '{d}/{name}' ({how})")
    bodies.append(('duckdb ' + name, kind, open(os.path.join(d, name), 'rb').read()))
out = []
for name, kind, body in bodies:
    commit = load('back', kind, body)['commit']
    out.append([name, commit])
print(json.dumps(out))`)) as readonly (readonly [string, string])[];
    expect(written).toHaveLength(18);
    for (const [i, [name, commit]] of written.entries()) {
      expect([name, await rows(`from back@${commit} | count()`)]).toEqual([name, [1000 * (i + 1)]]);
    }
    // All the same rows, whoever wrote them.
    expect(
      await rows(
        'from back | aggregate n:=count(), x:=sum(x), names:=count(distinct name) by key:=k::int64 | aggregate pools:=count() by n',
      ),
    ).toEqual([{ n: 18, pools: 1000 }]);
    expect(await rows('from back | sum(x)')).toEqual([18 * 249_750]);
    expect(await rows('from back | where list is not null and has(list) | count() by list[0]==k, r.a==k')).toEqual([
      expect.objectContaining({ count: 11_000 }),
    ]);
  });
});
