/** Variants in Parquet: bytes as the specification has them, any value whole, and which columns a table of them has. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ParquetFile } from '../../../src/formats/parquet/file.ts';
import { schemaOf } from '../../../src/formats/parquet/schema-write.ts';
import { jsonKey } from '../../../src/formats/json/text.ts';
import { ColumnSet } from '../../../src/iceberg/columns.ts';
import { describeColumns } from '../../../src/iceberg/describe.ts';
import { namedValue } from '../../../src/iceberg/named.ts';
import { VariantWriter, variantNames } from '../../../src/iceberg/variant/binary.ts';
import { type Shape, shapeOf, variantType } from '../../../src/iceberg/variant/shape.ts';
import { partsOfPieces, variantColumn } from '../../../src/iceberg/variant/shred.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { primitiveText } from '../../../src/vectors/literal.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { typeText } from '../../../src/vectors/type.ts';
import type { Data, Value } from '../../../src/vectors/value.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { convert } from '../../support/formats/convert.ts';
import { forced, forcedForms } from '../../support/queries/forced-forms.ts';
import { seedOf } from '../../support/random.ts';
import { renderedText } from '../../support/iceberg/renditions.ts';
import { anyValue } from '../../support/formats/values.ts';
import { type Tree, decimal, fieldIn, floatText, namesIn, treeOf, variantIn } from '../../support/formats/variants.ts';

const seed = seedOf(26);
console.log(`variants: seed ${seed}`);

const bytesOf = (write: (out: VariantWriter) => void): string => {
  const out = new VariantWriter();
  write(out);
  return Buffer.from(out.written()).toString('hex');
};

describe('bytes', () => {
  const uuid = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
  const cases: Readonly<Record<string, readonly [(out: VariantWriter) => void, string, Tree]>> = {
    null: [(out) => out.null(), '00', 'null'],
    true: [(out) => out.bool(true), '04', 'bool true'],
    false: [(out) => out.bool(false), '08', 'bool false'],
    int8: [(out) => out.int(8, -1), '0cff', 'int8 -1'],
    int16: [(out) => out.int(16, 258), '100201', 'int16 258'],
    int32: [(out) => out.int(32, -2), '14feffffff', 'int32 -2'],
    int64: [(out) => out.int(64, -(2n ** 63n)), '180000000000000080', 'int64 -9223372036854775808'],
    'a sum beyond its type': [(out) => out.int(8, 200), '18c800000000000000', 'int64 200'],
    double: [(out) => out.double(1.5), '1c000000000000f83f', 'double 1.5'],
    'negative zero': [(out) => out.double(-0), '1c0000000000000080', 'double -0'],
    decimal4: [(out) => out.decimal(-12345n, 2), '2002c7cfffff', 'decimal -12345e-2'],
    decimal8: [(out) => out.decimal(1_000_000_001n, 9), '240901ca9a3b00000000', 'decimal 1000000001e-9'],
    decimal16: [
      (out) => out.decimal(-(10n ** 37n) - 1n, 38),
      `2826${Buffer.from(((1n << 128n) - 10n ** 37n - 1n).toString(16), 'hex')
        .reverse()
        .toString('hex')}`,
      `decimal -${10n ** 37n + 1n}e-38`,
    ],
    date: [(out) => out.date(-1), '2cffffffff', 'date -1'],
    timestamp: [(out) => out.timestamp(1n, 'micros'), '300100000000000000', 'timestamp 1'],
    'timestamp without zone': [
      (out) => out.timestamp(1, 'micros', 'local'),
      '340100000000000000',
      'timestamp without zone 1',
    ],
    float: [(out) => out.float(0.5), '380000003f', 'float 0.5'],
    binary: [(out) => out.binary(Buffer.of(1, 255)), '3c0200000001ff', 'binary 01ff'],
    'short string': [(out) => out.string('é'), '09c3a9', 'string "é"'],
    'a string of 63 bytes': [(out) => out.string('x'.repeat(63)), `fd${'78'.repeat(63)}`, `string "${'x'.repeat(63)}"`],
    'a string of 64 bytes': [
      (out) => out.string('x'.repeat(64)),
      `4040000000${'78'.repeat(64)}`,
      `string "${'x'.repeat(64)}"`,
    ],
    time: [(out) => out.time(86_399_999_999), '44ff5fd71d14000000', 'time 86399999999'],
    'timestamp in nanoseconds': [
      (out) => out.timestamp(1, 'nanos'),
      '480100000000000000',
      'timestamp in nanoseconds 1',
    ],
    'timestamp in nanoseconds without zone': [
      (out) => out.timestamp(-1, 'nanos', 'local'),
      '4cffffffffffffffff',
      'timestamp in nanoseconds without zone -1',
    ],
    uuid: [(out) => out.uuid(uuid), `50${uuid.toString('hex')}`, `uuid ${uuid.toString('hex')}`],
    array: [(out) => out.array(2, (i) => out.int(8, i)), '03020002040c000c01', ['int8 0', 'int8 1']],
    'an empty array': [(out) => out.array(0, () => undefined), '030000', []],
    'an empty object': [(out) => out.object([], () => undefined), '020000', {}],
    'fields in the order of their names': [
      (out) => out.object([2, 0], (i) => out.int(8, i)),
      '02020002000204' + '0c010c00',
      { '.a': 'int8 1', '.c': 'int8 0' },
    ],
  };
  for (const [name, [write, hex, tree]] of Object.entries(cases))
    test(name, () => {
      expect(bytesOf(write)).toBe(hex);
      expect(treeOf(Buffer.from(hex, 'hex'), ['a', 'b', 'c'])).toEqual(tree);
    });

  test('names are sorted by their bytes, with widths that they need', () => {
    expect(Buffer.from(variantNames([]).bytes).toString('hex')).toBe('110000');
    const few = variantNames(['b', '\u{1f600}', 'a', '\uffee', '']);
    expect(namesIn(few.bytes)).toEqual(['', 'a', 'b', '\uffee', '\u{1f600}']);
    expect(few.ids.get('b')).toBe(2);
    for (const count of [256, 20_000]) {
      const many = Array.from({ length: count }, (_, i) => `n${i}`);
      expect(namesIn(variantNames(many).bytes)).toHaveLength(count);
    }
  });
  test('names that are the same bytes stay two', () => {
    const { bytes, ids } = variantNames(['\udc80', '\udc81']);
    expect(namesIn(bytes)).toEqual(['\ufffd', '\ufffd_2']);
    expect([ids.get('\udc80'), ids.get('\udc81')]).toEqual([0, 1]);
  });
  test('many fields, many elements, long values', () => {
    const names = variantNames(Array.from({ length: 300 }, (_, i) => `n${i}`));
    const out = new VariantWriter();
    out.object([...names.ids.values()], () => {
      out.array(400, (i) => (i === 7 ? out.string('x'.repeat(7_000)) : out.null()));
    });
    const tree = treeOf(out.written(), namesIn(names.bytes)) as Readonly<Record<string, readonly Tree[]>>;
    expect(Object.keys(tree)).toHaveLength(300);
    expect(tree['.n299']).toHaveLength(400);
    expect(tree['.n0']![7]).toHaveLength(7_000 + 'string ""'.length);
  });
});

/** What a value is as a variant. */
const expectedOf = (type: Value['type'], data: Data): Tree => {
  switch (type.kind) {
    case 'named': {
      const named = namedValue(type, data);
      if (!named) return expectedOf(type.inner, data);
      if (named.form === 'date') return `date ${named.days}`;
      if (named.form === 'uuid') return `uuid ${Buffer.from(named.bytes).toString('hex')}`;
      return decimal(named.units, named.scale);
    }
    case 'union':
      return expectedOf((data as Value).type, (data as Value).data);
    case 'enum':
      return `string ${JSON.stringify(type.symbols[data as number])}`;
    case 'error':
      return { '.error': expectedOf(type.inner, data) };
    case 'array':
    case 'set':
      return (data as readonly Data[]).map((item) => expectedOf(type.element, item));
    case 'record':
      return Object.fromEntries(
        type.fields.flatMap(({ name, type: own }, i) => {
          const value = (data as readonly (Data | undefined)[])[i];
          return value === undefined ? [] : [[`.${name.toWellFormed()}`, expectedOf(own, value)]];
        }),
      );
    case 'map': {
      const fields: [string, Tree][] = [];
      for (const [key, value] of data as readonly (readonly [Data, Data])[]) {
        const text = `.${jsonKey({ type: type.key, data: key })}`;
        let name = text;
        for (let n = 2; fields.some(([own]) => own === name); n++) name = `${text}_${n}`;
        fields.push([name, expectedOf(type.value, value)]);
      }
      return Object.fromEntries(fields);
    }
    case 'primitive':
      return expectedPrimitive(type.name, { type, data });
  }
};
const widened: Readonly<Record<string, string>> = { uint8: 'int16', uint16: 'int32', uint32: 'int64' };
const expectedPrimitive = (name: string, { type, data }: Value): Tree => {
  switch (name) {
    case 'null':
      return 'null';
    case 'bool':
      return `bool ${data === true}`;
    case 'uint64':
      return BigInt(data as number | bigint) < 2n ** 63n ? `int64 ${data}` : decimal(data as bigint, 0);
    case 'float16':
    case 'float32':
      return floatText('float', data as number);
    case 'float64':
      return floatText('double', data as number);
    case 'time': {
      const nanos = BigInt(data as number | bigint);
      return nanos % 1000n === 0n ? `timestamp ${nanos / 1000n}` : `timestamp in nanoseconds ${nanos}`;
    }
    case 'bytes':
      return `binary ${Buffer.from(data as Uint8Array).toString('hex')}`;
    case 'string':
      return `string ${JSON.stringify((data as string).toWellFormed())}`;
    case 'type':
      return `string ${JSON.stringify(typeText(data as Value['type']))}`;
    case 'duration':
    case 'ip':
    case 'net':
      return `string ${JSON.stringify(primitiveText(type, data))}`;
    default:
      return `${widened[name] ?? name} ${String(data)}`;
  }
};

/** The variants of a file with one column of them, shredded in that shape. */
const readBack = async (vectors: readonly Vector[], shape: Shape): Promise<readonly (Tree | undefined)[]> => {
  const file = new ParquetFile();
  file.start(schemaOf([{ name: 'v', type: variantType(shape), nullable: true }]));
  const bytes: Uint8Array[] = [];
  let length = 0;
  const pieces = vectors.map((values) => {
    length += values.length;
    return { values, rows: length - values.length };
  });
  const column = { name: 'v', optional: true, ...variantColumn(pieces, shape, length) };
  bytes.push(...file.group({ form: 'record', length, fields: [column] }), ...file.end());
  const { output, error } = await convert(Buffer.concat(bytes), { from: 'parquet' });
  expect(error).toBe('');
  return parseSupValues(output).map((row) => {
    const variant = fieldIn(row, 'v');
    return variant && variantIn(variant);
  });
};

test('any value comes back whole, however it is shredded', { timeout: 240_000 }, async () => {
  const values = fc.array(anyValue(4), { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(
      values,
      fc.option(values),
      fc.constantFrom(undefined, ...forcedForms),
      async (own, others, form) => {
        const vector = vectorOf(own);
        const vectors = form ? forced(vector, form) : [vector];
        const by = vectorOf(others ?? own);
        const shape = shapeOf(partsOfPieces([{ values: by, rows: 0 }]));
        const found = await readBack(vectors, shape);
        expect(found).toHaveLength(own.length);
        own.forEach((value, i) => {
          expect(found[i], supText(value)).toEqual(expectedOf(value.type, value.data));
        });
      },
    ),
    { seed, numRuns: Number(process.env['RUNS'] ?? 60) },
  );
});

/** The columns of a table with variants after these files, and the rows of the last one, without what is null. */
const tableOf = async (...texts: readonly string[]) => {
  let columns: Parameters<typeof renderedText>[1] = [];
  let bytes: Uint8Array = new Uint8Array(0);
  for (const text of texts) ({ columns, bytes } = renderedText(text, columns, 'variant'));
  const { output, error } = await convert(bytes, { from: 'parquet' });
  expect(error).toBe('');
  const rows = parseSupValues(output).map((row) =>
    row.type.kind === 'record'
      ? Object.fromEntries(
          row.type.fields.flatMap(({ name }) => {
            const own = fieldIn(row, name);
            const isVariant = own?.type.kind === 'record' && own.type.fields.some((field) => field.name === 'metadata');
            return own ? [[name, isVariant ? variantIn(own) : supText(own)]] : [];
          }),
        )
      : {},
  );
  return { columns: describeColumns(columns).map(({ column, iceberg }) => `${column} ${iceberg}`), rows };
};

describe('where values are', () => {
  test('what is of one kind is in a column of that', async () => {
    expect(await tableOf('{a:1,b:"x",r:{x:1.5},l:[1]} {a:2}')).toEqual({
      columns: ['a long', 'b string', 'r struct<x: double>', 'r.x double', 'l list<long>', 'l.element long'],
      rows: [{ a: '1', b: '"x"', r: '{x:1.5::(float64|null)}', l: '[1]::[int64|null]' }, { a: '2' }],
    });
  });
  test('a field of several kinds at once is a variant', async () => {
    expect(await tableOf('{a:1,b:true} {a:"x"} {a:{x:1,y:null}} {a:[1,"y"]} {a:[]} {a:null} {a:{}} {a:1s}')).toEqual({
      columns: ['b boolean', 'a variant'],
      rows: [
        { a: 'int64 1', b: 'true' },
        { a: 'string "x"' },
        { a: { '.x': 'int64 1', '.y': 'null' } },
        { a: ['int64 1', 'string "y"'] },
        { a: [] },
        {},
        { a: {} },
        { a: 'string "1s"' },
      ],
    });
  });
  test('one that becomes mixed later has a sibling for what it has no room for', async () => {
    expect(await tableOf('{a:1}', '{a:2} {a:"x"} {a:{x:1}} {a:2024-01-01T00:00:00.000000001Z}')).toEqual({
      columns: ['a long', 'a__variant variant'],
      rows: [
        { a: '2' },
        { a__variant: 'string "x"' },
        { a__variant: { '.x': 'int64 1' } },
        { a__variant: 'timestamp in nanoseconds 1704067200000000001' },
      ],
    });
  });
  test('one that was mixed once stays a variant', async () => {
    expect(await tableOf('{a:1} {a:{x:1}}', '{a:{x:2}} {a:{x:3,y:[]}}')).toEqual({
      columns: ['a variant'],
      rows: [{ a: { '.x': 'int64 2' } }, { a: { '.x': 'int64 3', '.y': [] } }],
    });
  });
  test('lists of several kinds are lists of variants, and so are maps', async () => {
    expect(await tableOf('{l:[1]} {l:["x",2]} {l:[]} {m:|{"k":1}|} {m:|{"k":"v"}|}', '{l:[true,null]} {l:5}')).toEqual({
      columns: [
        'l list<variant>',
        'l.element variant',
        'm map<string, variant>',
        'm.key string',
        'm.value variant',
        'l__variant variant',
      ],
      rows: [{ l: expect.stringMatching(/^\[/) as unknown }, { l__variant: 'int64 5' }],
    });
  });
  test('errors, and nanoseconds of times, are beside a field', async () => {
    const time = '2024-01-01T00:00:00.000000001Z';
    expect((await tableOf(`{a:1,t:${time}} {a:error("no"),t:${time}}`)).columns).toEqual([
      'a long',
      'a__error string',
      't timestamptz',
      't__ns long',
    ]);
    expect((await tableOf(`{t:${time}} {t:1}`)).columns).toEqual(['t variant']);
  });
  test('fields of records in lists are mixed for themselves', async () => {
    expect((await tableOf('{l:[{x:1},{x:"a"}]} {l:[{y:1}]}')).columns).toEqual([
      'l list<struct<y: long, x: variant>>',
      'l.element struct<y: long, x: variant>',
      'l.element.y long',
      'l.element.x variant',
    ]);
  });
  test('a survey that would have found others is made again', () => {
    const set = new ColumnSet([], 'variant');
    const wanted = renderedText('{a:1}', [], 'variant').columns;
    set.add({ parent: 0, role: 'field', field: 'a', kind: 'variant' });
    expect(set.adopt(wanted, 0)).toBeUndefined();
    expect(set.adopt(renderedText('{a:1}', set.columns(), 'variant').columns, 1)).toEqual([1]);
  });
});
