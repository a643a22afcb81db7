/** The type of an object's rows is told by its footer as it is by the rows. */
import { describe, expect, test } from 'vitest';
import type { ObjectMeta } from '../../../src/lake/lake.types.ts';
import { type ObjectReader, openObject, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import { ObjectWriter } from '../../../src/lake/objects/writer.ts';
import { type KnownFields, rowContent, rowTypeOf } from '../../../src/lake/scan/row-type.ts';
import type { ScanSource } from '../../../src/lake/scan/scan.types.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { fuseTypes } from '../../../src/vectors/fuse.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type Type, typeText, underType } from '../../../src/vectors/type.ts';
import type { Value } from '../../../src/vectors/value.ts';

const noKeys = { first: new Uint8Array(0), last: new Uint8Array(0) };
const bytesOf = (rows: readonly Value[], blockRows: number): Uint8Array => {
  const chunks: Uint8Array[] = [];
  const writer = new ObjectWriter((chunk) => chunks.push(chunk.slice()), { rowsExpected: rows.length });
  for (let at = 0; at < rows.length; at += blockRows) writer.block(vectorOf(rows.slice(at, at + blockRows)), noKeys);
  writer.finish();
  return Buffer.concat(chunks);
};
const objectOf = (rows: readonly Value[], blockRows: number): ObjectReader =>
  openObject(sourceOfBytes('0'.repeat(40), bytesOf(rows, blockRows))) as ObjectReader;

describe.each([1, 2, 100])('with blocks of %i rows', (blockRows) => {
  test.each([
    '{a:1,b:"x",c:1.5,d:true,e:null,f:<int64>,g:0x01,h:10.0.0.1,i:1h,j:2024-01-01T00:00:00Z}',
    '{a:[1,2],b:|["x"]|,c:|{"k":1}|,d:{e:{f:1}},e:[],f:[1,"x"]}',
    '{a:1::=port,b:{x:1}::=point,c:error("no"),d:"x"::enum(x,y),e:1::(int64|string)}',
    '{a:1}\n{a:2}\n{a:"x"}',
    '{a:1}\n{b:"x"}\n{a:null}',
    '{a:1}::=one\n{a:2}::=one',
    '{a:{b:1}}\n{a:{b:2,c:3}}',
    '{a?:_::int64,b:1}\n{b:2}',
    '1\n"x"\n{a:1}',
    '{"ts":"2024-01-01T00:00:00.5Z"}\n{"ts":"2024-01-01T00:00:01.5Z"}',
  ])('%j', (text) => {
    const rows = parseSupValues(text);
    const types = rows.map((v) => v.type);
    expect(typeText(objectOf(rows, blockRows).rowType!)).toBe(typeText(types.reduce(fuseTypes)));
  });
});
describe('the fields of all rows are those of their fusion, whatever is no record', () => {
  test.each([
    '{a:1}\n{a:2}\n{a:"x"}\n1',
    '{a:1,b:{c:1}}\n{b:{d:"x"}}\n{b:[1]}\n{b:["x"]}',
    '{a:1}::=one\n{b:2}::=two\n"x"',
    '{a:1}::({a:int64}|{b:string})\n{b:"x"}::({a:int64}|{b:string})',
    '{a?:_::int64,b:1}\n{b:2}',
    '{a:{b:{c:1}}}\n{a:{b:{d:2}}}\n{a:{e:null}}',
    'error({a:1})\n{b:1}',
    '1\n[{a:1}]',
  ])('%j', async (text) => {
    const rows = parseSupValues(text);
    const metas = [rows.slice(0, 1), rows.slice(1), rows].map((some, i) => {
      const inline = bytesOf(some, 2);
      return { id: String(i).repeat(40), size: inline.length, count: some.length, inline };
    }) as unknown as readonly ObjectMeta[];
    const source: ScanSource = { ...sourceOf(metas), page: () => ({ objects: metas }) };
    const fused = rows.map((v) => v.type).reduce(fuseTypes);
    const known: KnownFields = new Map();
    for (let time = 0; time < 2; time++) {
      const { fields, rowCount } = await rowContent(source, { objectsMax: 3, known, turn: (work) => work() });
      expect(rowCount).toBe(rows.length * 2);
      expect(fields!.map(({ name, type }) => `${name}:${typeText(type)}`).sort()).toEqual(fieldsOf(fused).sort());
    }
    expect(known.size).toBe(3);
  });
});

const fieldsOf = (type: Type): string[] => {
  const under = underType(type);
  if (under.kind === 'record') return under.fields.map((f) => `${f.name}:${typeText(f.type)}`);
  return under.kind === 'union' ? under.members.flatMap(fieldsOf) : [];
};

const sourceOf = (metas: readonly ObjectMeta[]): ScanSource => ({
  keys: [['a']],
  order: 'asc',
  objects: {
    readRange: () => {
      throw new Error('all are inline');
    },
  },
  page: ({ cursor = 0 }) => ({ objects: metas.slice(cursor, cursor + 2), ...(cursor === 0 && { next: 2 }) }),
});

describe('of several objects', () => {
  const bodies = ['{a:1}', '{a:2,b:"x"}', '{a:null}'].map((text) => bytesOf(parseSupValues(text), 1));
  const metas = bodies.map((inline, i) => ({
    id: String(i).repeat(40),
    size: inline.length,
    count: 1,
    inline,
  })) as unknown as readonly ObjectMeta[];
  const source = sourceOf(metas);
  test('it is their fusion', async () => {
    expect(typeText((await rowTypeOf(source, 3))!)).toBe('{a:int64|null,b?:string}');
  });
  test('of more than the limit it is not known', async () => {
    expect(await rowTypeOf(source, 2)).toBeUndefined();
  });
  test('of none neither', async () => {
    expect(await rowTypeOf({ ...source, page: () => ({ objects: [] }) }, 2)).toBeUndefined();
  });
});
test('an object without rows has none', () => {
  expect(objectOf([], 1).rowType).toBeUndefined();
});
