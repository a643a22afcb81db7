/** Records of any shape as Parquet files of an Iceberg table: which columns hold what, and what others read there. */
import { parquetMetadata } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { ColumnSet, tableColumnsMax } from '../../../src/iceberg/columns.ts';
import { describeColumns } from '../../../src/iceberg/describe.ts';
import { icebergFields } from '../../../src/iceberg/schema.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { convert } from '../../support/formats/convert.ts';
import { lacksPython, python } from '../../support/python.ts';
import { rendered, renderedText } from '../../support/iceberg/renditions.ts';

/** Rows of a file as JSON lines, without what is null. */
const rowsOf = async (bytes: Uint8Array): Promise<readonly unknown[]> => {
  const { output, error } = await convert(bytes, { from: 'parquet', to: 'json' });
  expect(error).toBe('');
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line, (_, value: unknown) => (value === null ? undefined : value)) as unknown);
};

const cases: Readonly<Record<string, { readonly sup: string; readonly rows: readonly unknown[] }>> = {
  'numbers of one kind share a column': {
    sup: '{a:1} {a:2::uint8} {a:3::int16}',
    rows: [{ a: 1 }, { a: 2 }, { a: 3 }],
  },
  'mixed scalars are in siblings': {
    sup: '{a:1} {a:"x"} {a:2.5} {a:true}',
    rows: [{ a: 1 }, { a__string: 'x' }, { a__float: 2.5 }, { a__bool: true }],
  },
  'errors have a sibling of their own': {
    sup: '{a:1} {a:error("bad")} {a:error({code:7})}',
    rows: [{ a: 1 }, { a__error: 'bad' }, { a__error: '{"code":7}' }],
  },
  'digits beyond microseconds are in nanoseconds besides': {
    sup: '{t:2024-01-01T00:00:00Z} {t:2024-01-01T00:00:00.000001002Z}',
    rows: [{ t: '2024-01-01T00:00:00Z' }, { t: '2024-01-01T00:00:00.000001Z', t__ns: 1704067200000001002 }],
  },
  'lists are of one kind each, and what is empty is where the others are': {
    sup: '{l:[]} {l:[1,2]} {l:["a"]} {l:[1,"a"]} {l:[null,3]}',
    rows: [{ l: [] }, { l: [1, 2] }, { l__list_string: ['a'] }, { l__list_json: ['1', '"a"'] }, { l: [undefined, 3] }],
  },
  'a list that is empty everywhere': { sup: '{l:[]} {m:|{}|}', rows: [{ l: [] }, { m: {} }] },
  'lists within lists, some of them empty': {
    sup: '{l:[[1],[],[2,3]]} {l:[]}',
    rows: [{ l: [[1], [], [2, 3]] }, { l: [] }],
  },
  'records in lists gain fields': {
    sup: '{l:[{x:1}]} {l:[{y:"a"},{x:2,y:"b"}]}',
    rows: [{ l: [{ x: 1 }] }, { l: [{ y: 'a' }, { x: 2, y: 'b' }] }],
  },
  'mixed fields of nested records are siblings in there': {
    sup: '{r:{x:1}} {r:{x:"a"}} {r:{}} {r:5}',
    rows: [{ r: { x: 1 } }, { r: { x__string: 'a' } }, { r__json: '{}' }, { r__int: 5 }],
  },
  'records whose fields are all null or absent': {
    sup: '{r:{a:null}} {r:{a:null,b:{c:null}}} {l:[{x:null}]}',
    rows: [{ r: {} }, { r: { b: {} } }, { l: [{}] }],
  },
  'texts of addresses, types and enums': {
    sup: '{a:10.0.0.1,b:10.0.0.0/8,c:<int64>,d:"x"::enum(w,x)}',
    rows: [{ a: '10.0.0.1', b: '10.0.0.0/8', c: 'int64', d: 'x' }],
  },
  'named values are as they are without their name': { sup: '{a:80::=port} {a:81}', rows: [{ a: 80 }, { a: 81 }] },
  'dates, UUIDs and decimals that are none are as they are without their name': {
    sup: '{a:2024-01-02T00:00:00Z::=arrow_date32} {a:2024-01-02T00:00:01Z::=arrow_date32} {a:2024-01-02T00:00:01Z::=arrow_time64_us} {a:1.25::=deciaml_1_9} {a:0x01::=arrow_uuid} {a:"x"::=sql_decimal}',
    rows: [
      { a: '2024-01-02T00:00:00Z' },
      { a__time: '2024-01-02T00:00:01Z' },
      { a__time: '2024-01-02T00:00:01Z' },
      { a__float: 1.25 },
      { a__bytes: '0x01' },
      { a__string: 'x' },
    ],
  },
  'long decimals without places have nine, or their own': {
    sup: '{a:"12345678901234567890.5"::=sql_decimal} {a:"0.12345678901234567890"::=sql_decimal} {a:1.5}',
    rows: [{ a: 12345678901234567890.5 }, { a__decimal_38_20: 0.1234567890123456789 }, { a__float: 1.5 }],
  },
  'what is no record is in the column of the rest': {
    sup: '{a:1} "x" 7 [1]',
    rows: [{ a: 1 }, { _json: '"x"' }, { _json: '7' }, { _json: '[1]' }],
  },
  'names that differ in case, or are an engine’s own': {
    sup: '{a:1,A:2,_file:3,"":4,_json:5,"null":6,r:{_file:7,"null":8}}',
    rows: [{ a: 1, A_2: 2, _file_2: 3, _: 4, _json_2: 5, null: 6, r: { _file: 7, null_2: 8 } }],
  },
  'maps of scalars, and others as JSON': {
    sup: '{m:|{"k":1}|} {m:|{{x:1}:2}|}',
    rows: [{ m: { k: 1 } }, { m__json: '{"{x:1}":2}' }],
  },
};

/** Prints the types and rows of a table, then its bytes. */
const typesOfColumns = `
import base64, datetime, decimal, io, uuid
import pyarrow as pa, pyarrow.parquet as pq
d = decimal.Decimal
units = [None, 0, 1, -1, 5, 12345678, 10**14 + 1, 123456789012345678, -(10**19) + 7, 10**20 - 1]
def decimals(p, s): return pa.array([None if u is None or abs(u) >= 10**p else d(u).scaleb(-s) for u in units], pa.decimal128(p, s))
nine = range(9)
t = pa.table({
  'd': decimals(20, 2), 'short': decimals(8, 3), 'medium': decimals(17, 17), 'whole': decimals(38, 0),
  'date': pa.array([None, *(datetime.date(1969, 12, 30) + datetime.timedelta(i) for i in nine)], pa.date32()),
  'uuid': pa.array([None, *(uuid.UUID(int=7**(i * 5)).bytes for i in nine)], pa.uuid()),
  'fixed': pa.array([None, *(bytes([i, 0, 255]) for i in nine)], pa.binary(3)),
  'list': pa.array([None, *([d(i) / 8] * (i % 3) for i in nine)], pa.list_(pa.field('element', pa.decimal128(30, 3)))),
  'struct': pa.array([{'p': None if i % 2 else d(i) / 4} for i in range(10)], pa.struct({'p': pa.decimal128(12, 2)})),
})
file = io.BytesIO()
pq.write_table(t, file)
print([str(c.type) for c in t.schema], t.to_pylist())
print(base64.b64encode(file.getvalue()).decode())
`;

describe('where values are', () => {
  for (const [name, { sup, rows }] of Object.entries(cases))
    test(name, async () => {
      const compact = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value, (_, v: unknown) => (v === null ? undefined : v)));
      const found = (await rowsOf(renderedText(sup).bytes)).map(compact);
      expect(found).toEqual(rows.map(compact));
    });

  test('uint64 beyond int64', async () => {
    const { columns } = renderedText('{u:18446744073709551615::uint64}');
    expect(icebergFields((parent) => new ColumnSet(columns).below(parent))).toEqual([
      { id: 1, name: 'u', required: false, type: 'decimal(20, 0)' },
    ]);
  });

  test('a table without room keeps what is beyond in the column of the rest', async () => {
    const fields = Array.from({ length: tableColumnsMax + 2 }, (_, i) => `f${i}:${i}`);
    const { bytes, columns } = renderedText(`{${fields.join(',')}}`);
    expect(columns).toHaveLength(tableColumnsMax + 1);
    const [row] = (await rowsOf(bytes)) as readonly Readonly<Record<string, unknown>>[];
    expect(row!['f7']).toBe(7);
    expect(row!['_json']).toBe(
      `{"f${tableColumnsMax}":${tableColumnsMax},"f${tableColumnsMax + 1}":${tableColumnsMax + 1}}`,
    );
  });
});

describe('ids', () => {
  test('columns keep theirs, and later ones come behind', () => {
    const first = renderedText('{a:1}{l:[1]}');
    const second = renderedText('{b:"x",a:"y"}', first.columns);
    expect(second.columns.map(({ id, name }) => `${id} ${name}`)).toEqual([
      '1 a',
      '2 l',
      '3 element',
      '4 b',
      '5 a__string',
    ]);
  });

  test('a NUL in a name is written, since engines end names there', async () => {
    const { columns, bytes } = renderedText('{"a\\u0000b":1,a:2,"a\\u0000":3,r:{"\\u0000":4}}');
    expect(describeColumns(columns).map(({ path, column, note }) => [path, column, note])).toEqual([
      ['a\0b', 'a_x0000_b', 'engines end a name at a NUL'],
      ['a', 'a', undefined],
      ['a\0', 'a_x0000_', 'engines end a name at a NUL'],
      ['r', 'r', undefined],
      ['r.\0', 'r._x0000_', 'engines end a name at a NUL'],
    ]);
    expect(await rowsOf(bytes)).toEqual([{ a_x0000_b: 1, a: 2, a_x0000_: 3, r: { _x0000_: 4 } }]);
  });

  test('a survey that others were quicker than gets the ids that are free then', () => {
    const set = new ColumnSet(renderedText('{a:1}').columns);
    const other = renderedText('{a:1,c:[{z:1}],d:2}', set.columns()).columns;
    set.add({ parent: 0, role: 'field', field: 'b', kind: 'int' });
    set.adopt(other, 1);
    expect(set.columns().map(({ id, parent, name }) => `${id} ${parent} ${name}`)).toEqual([
      '1 0 a',
      '2 0 b',
      '3 0 c',
      '4 3 element',
      '5 4 z',
      '6 0 d',
    ]);
  });
});

test.each([
  ['{a:null} {b:null}', '{a:1}', ['a']],
  ['{a:null} {b:null}', '{r:{x:{y:1}}}', ['r']],
  ['{a:null} {b:null}', '{l:[1]}', ['l']],
  ['{a:null} {b:null}', '', ['_json']],
])('a file of %s has a column, since there are readers that take none without', async (sup, before, wanted) => {
  for (const mapping of ['typed', 'variant'] as const) {
    const known = before === '' ? [] : renderedText(before, [], mapping).columns;
    const { bytes, columns: all } = renderedText(sup, known, mapping);
    expect(await rowsOf(bytes)).toEqual([{}, {}]);
    expect(all.filter(({ parent }) => parent === 0).map(({ name }) => name)).toEqual(wanted);
    expect(parquetMetadata(new Uint8Array(bytes).buffer).row_groups[0]!.columns.length).toBe(1);
  }
});

test.each([
  ['{l:[]}', '{l:[{q:1}]}', [{ l: [] }], ['l.list.element.q']],
  ['{m:|{}|}', '{m:|{"k":{q:1}}|}', [{ m: {} }], ['m.key_value.key', 'm.key_value.value.q']],
  ['{r:{l:[]}}', '{r:{l:[{q:{z:1}}]}}', [{ r: { l: [] } }], ['r.l.list.element.q.z']],
  ['{l:[]}', '{l:[[{q:[{z:1}]}]]}', [{ l: [] }], ['l.list.element.list.element.q.list.element.z']],
  ['{a:null}', '{l:[{q:1}]}', [{}], ['l.list.element.q']],
])('%s behind %s: no group of the file is without a column, which nobody reads', async (sup, before, wanted, paths) => {
  for (const mapping of ['typed', 'variant'] as const) {
    const { columns } = renderedText(before, [], mapping);
    const { bytes } = renderedText(sup, columns, mapping);
    expect(await rowsOf(bytes)).toEqual(wanted);
    const [group] = parquetMetadata(new Uint8Array(bytes).buffer).row_groups;
    expect(group!.columns.map(({ meta_data: data }) => data!.path_in_schema.join('.'))).toEqual(paths);
  }
});

test('a column with NaN has no bounds: of some engines it is the greatest number, and has no place in those of others', () => {
  const { bytes, figures } = renderedText('{a:1.5,b:NaN,c:NaN::float32,n:NaN} {a:2.5,b:1.5,c:2.::float32,n:NaN}');
  expect(figures.columns.map(({ id, lower, upper }) => [id, lower !== undefined, upper !== undefined])).toEqual([
    [1, true, true],
    [2, false, false],
    [3, false, false],
    [4, false, false],
  ]);
  const [group] = parquetMetadata(new Uint8Array(bytes).buffer).row_groups;
  expect(group!.columns.map(({ meta_data: data }) => data!.statistics?.max_value)).toEqual([
    2.5,
    undefined,
    undefined,
    undefined,
  ]);
});

test('rows of many batches and groups are all there, in order', async () => {
  const batch = (start: number): string =>
    Array.from({ length: 30_000 }, (_, i) =>
      (start + i) % 3 === 0 ? `{a:${start + i},l:[${i}]}` : `{a:${start + i},b:"b${i % 7}"}`,
    ).join('\n');
  const { bytes, figures } = rendered([0, 1, 2, 3].map((k) => vectorOf(parseSupValues(batch(k * 30_000)))));
  expect(figures.rows).toBe(120_000);
  expect(figures.bytes).toBe(bytes.length);
  expect(figures.columns[0]).toMatchObject({ id: 1, values: 120_000, nulls: 0 });
  const rows = (await rowsOf(bytes)) as readonly {
    readonly a: number;
    readonly b?: string;
    readonly l?: readonly number[];
  }[];
  expect(rows).toHaveLength(120_000);
  expect(
    rows.every(({ a, b, l }, i) => a === i && (i % 3 === 0 ? l?.[0] === i % 30_000 : b === `b${(i % 30_000) % 7}`)),
  ).toBe(true);
});

test('lists whose kind some of them decide keep it where a row group ends', () => {
  const list = (i: number): string =>
    i < 1000 ? '[2024-01-01T00:00:00Z]' : i % 2 === 0 ? '[2024-01-01T00:00:00.000000001Z]' : '["a"]';
  const text = Array.from({ length: 2000 }, (_, i) => `{l:${list(i)},m:[|{"k":${list(i)}}|]}`).join('\n');
  const many = vectorOf(parseSupValues('{a:1}\n'.repeat(1000)));
  const { figures } = rendered([...Array.from({ length: 99 }, () => many), vectorOf(parseSupValues(text))]);
  expect(figures.rows).toBe(101_000);
});

describe.skipIf(lacksPython('pyarrow'))('pyarrow', () => {
  test('reads decimals, dates, UUIDs and bytes of one length as what they were loaded as', async () => {
    const { output, close } = python(typesOfColumns, {});
    const [before = '', base64 = ''] = output.trim().split('\n');
    close();
    const { output: sup } = await convert(Buffer.from(base64, 'base64'), { from: 'parquet' });
    const after = python(
      `
import pyarrow.parquet as pq
t = pq.read_table('rows.parquet')
print([str(c.type) for c in t.schema], t.to_pylist())
`,
      { 'rows.parquet': renderedText(sup).bytes },
    );
    after.close();
    expect(after.output.trim()).toBe(before);
  });

  test('reads values and ids', () => {
    const { bytes } = renderedText(
      '{a:1,l:[1,null],r:{x:1.5},m:|{"k":{z:1}}|,u:18446744073709551615::uint64,t:2024-01-01T00:00:00Z,by:0x01ff} {a:"x"}',
    );
    const { output, close } = python(
      `
import pyarrow.parquet as pq
file = pq.ParquetFile('rows.parquet')
for row in file.read().to_pylist(): print(row)
def ids(field):
    kids = [field.type.field(i) for i in range(field.type.num_fields)]
    return (field.name, (field.metadata or {}).get(b'PARQUET:field_id', b'').decode(), [ids(k) for k in kids])
for field in file.schema_arrow: print(ids(field))
`,
      { 'rows.parquet': bytes },
    );
    close();
    expect(output).toContain("'u': Decimal('18446744073709551615')");
    expect(output).toContain("'l': [1, None], 'r': {'x': 1.5}, 'm': [('k', {'z': 1})]");
    expect(output).toContain("('l', '2', [('element', '3', [])])");
    expect(output).toContain("('r', '4', [('x', '5', [])])");
    expect(output).toContain("[('key', '7', []), ('value', '8', [('z', '9', [])])]");
  });
});
