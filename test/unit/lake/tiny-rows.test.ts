/**
 * Objects of one plain record, read in bulk: the same rows as the ordinary reader gives, in every order, and whatever
 * is no such object left to it.
 */
import { describe, expect, test } from 'vitest';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import type { ObjectMeta } from '../../../src/lake/lake.types.ts';
import { openObject, projectionOf, sourceOfBytes } from '../../../src/lake/objects/reader.ts';
import type { ObjectStore } from '../../../src/lake/objects/objects.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import { TinyRows } from '../../../src/lake/objects/tiny-rows.ts';
import { formatTable } from '../../../src/formats/formats.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { packPage, unpackPage } from '../../../src/workers/packed-page.ts';

const noFiles = new Proxy(
  {},
  {
    get: () => () => {
      throw new Error('no object has a file here');
    },
  },
) as ObjectStore;

/** Each text as an object of its own. */
const objectsOf = async (texts: readonly string[]): Promise<ObjectMeta[]> => {
  const objects: ObjectMeta[] = [];
  for (const text of texts) {
    const body = (async function* () {
      yield Buffer.from(text);
    })();
    const outcome = await sortIntoObjects(formatTable.sup.reader!(body, {}), {
      keys: [['k']],
      order: 'asc',
      threshold: 1 << 20,
      memoryBytesMax: 1 << 20,
      objects: noFiles,
      spill: () => noFiles,
    });
    objects.push(...outcome.objects);
  }
  return objects;
};
const textsOf = (rows: Vector): string[] => Array.from({ length: rows.length }, (_, i) => supText(valueAt(rows, i)));
const scanned = async (
  objects: readonly ObjectMeta[],
  ordered: boolean,
  columns?: readonly (readonly string[])[],
): Promise<string[]> => {
  const out: string[] = [];
  const source = { keys: [['k']], order: 'asc' as const, objects: noFiles, page: () => ({ objects }) };
  for await (const batch of scanObjects(source, { ordered, batchRows: 7, ...(columns && { columns }) }))
    out.push(...textsOf(batch));
  return out;
};

const plain = [
  '{k:1,s:"a",f:1.5,t:true}',
  '{k:2,s:"",f:-2.5,t:false}',
  '{k:3,s:"длинный текст",f:1e+100,t:true}',
  '{k:4,n:null}',
  '{k:5,in:{a:1,b:{c:"x"}}}',
  '{k:6,s:"b",f:2.,t:true}',
  '{k:7,u:8::uint8,i:10.0.0.1,d:1h}',
];
const others = [
  '{k:8,l:[1,2]}',
  '{k:9,b:9223372036854775807}',
  '{k:10,e:error("x")}',
  '{k:11,o?:1}',
  '"no record"',
  '{k:12,x:1::=port}',
  `{k:13,s:"${'y'.repeat(20_000)}"}`,
  '{k:14}{k:15}',
  '{k:16,x:|["a"]|}',
  '{k:17,f:NaN}',
];

describe('rows of tiny objects', () => {
  test('plain records are taken, what is stored in another way is not', async () => {
    for (const [texts, taken] of [
      [plain, true],
      [others, false],
    ] as const) {
      for (const { inline } of await objectsOf(texts)) {
        const tiny = new TinyRows();
        const expected = await (await openObject(sourceOfBytes('x', inline!))).read(0);
        expect(tiny.add(inline!)).toBe(taken);
        if (taken) expect(textsOf(tiny.take())).toEqual(textsOf(expected));
      }
    }
  });
  test('rows of several shapes keep their order, also when they are taken in parts', async () => {
    const tiny = new TinyRows();
    const objects = await objectsOf(plain);
    const out: string[] = [];
    for (let round = 0; round < 100; round++) {
      for (const { inline } of objects) expect(tiny.add(inline!)).toBe(true);
      if (round % 3 === 0) out.push(...textsOf(tiny.take()));
    }
    expect(out).toEqual(Array.from({ length: 100 }, () => plain).flat());
    expect(out.length).toBe(100 * plain.length);
  });
  test('only the fields that are asked for', async () => {
    const tiny = new TinyRows(projectionOf([['s'], ['in', 'b']]));
    for (const { inline } of await objectsOf([plain[0]!, plain[4]!, plain[3]!])) expect(tiny.add(inline!)).toBe(true);
    expect(textsOf(tiny.take())).toEqual(['{s:"a"}', '{in:{b:{c:"x"}}}', '{}']);
  });
  test('every changed byte is either noticed or left to the reader that names it', async () => {
    const [{ inline }] = (await objectsOf([plain[0]!])) as [ObjectMeta];
    for (let at = 8; at < inline!.length; at++) {
      const changed = new Uint8Array(inline!);
      changed[at]! ^= 0x40;
      expect(new TinyRows().add(changed)).toBe(false);
    }
  });
  test('scans give what lies between other objects in its place', async () => {
    const texts = [...plain, ...others.filter((text) => text.startsWith('{k') && !text.includes('}{'))];
    const objects = await objectsOf(texts);
    expect(await scanned(objects, true)).toEqual(texts);
    expect((await scanned(objects, false)).sort()).toEqual([...texts].sort());
    expect(await scanned(objects, true, [['k']])).toEqual(texts.map((text) => /^\{k:\d+/.exec(text)![0] + '}'));
  });
  test('equal keys are ordered by the bytes of the rows', async () => {
    const objects = await objectsOf([
      '{k:1,s:"c"}',
      '{k:1,s:"a"}',
      '{k:1,s:"b"}',
      '{k:2,s:"z"}',
      '{k:3,s:"y"}',
      '{k:3,s:"x"}',
    ]);
    expect(await scanned(objects, true)).toEqual([
      '{k:1,s:"a"}',
      '{k:1,s:"b"}',
      '{k:1,s:"c"}',
      '{k:2,s:"z"}',
      '{k:3,s:"x"}',
      '{k:3,s:"y"}',
    ]);
  });
});

test('a page is the same after it was packed', async () => {
  const objects = (await objectsOf([...plain, ...others])).map((object, i) => {
    const { inline, ...rest } = object;
    return i % 3 === 0 ? rest : { ...rest, inline };
  });
  for (const page of [{ objects, next: 17 }, { objects }, { objects: [] }]) {
    const packed = unpackPage(structuredClone(packPage(page)));
    expect({ ...packed, objects: packed.objects.map(plainObject) }).toEqual({
      ...page,
      objects: page.objects.map(plainObject),
    });
  }
});
const plainObject = ({ min, max, inline, ...rest }: ObjectMeta): unknown => ({
  ...rest,
  min: [min.text, ...min.sort],
  max: [max.text, ...max.sort],
  ...(inline && { inline: [...inline] }),
});
