import { afterAll, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadSortOptions, sortIntoObjects } from '../../../src/lake/load/sort.ts';
import type { SortedObjects } from '../../../src/lake/objects/cutter.ts';
import type { ObjectMeta, ObjectPage, PageRequest, SortOrder } from '../../../src/lake/lake.types.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanOptions } from '../../../src/lake/scan/scan.types.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { compareValues } from '../../../src/vectors/compare.ts';
import { sortKeyBytes } from '../../../src/vectors/sort-key.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { nullable, types } from '../../../src/vectors/type.ts';
import {
  type Value,
  compareBytes,
  integer,
  intValue,
  nullValue,
  recordValue,
  stringValue,
} from '../../../src/vectors/value.ts';
import { sizeOf } from '../../../src/vectors/sizes.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { someValues } from '../../support/formats/values.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-scan-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const objects = openObjects(folder);
let spills = 0;

const load = async (
  batches: readonly (readonly Value[])[],
  options: Partial<LoadSortOptions> = {},
): Promise<SortedObjects> =>
  sortIntoObjects(
    (async function* give() {
      for (const b of batches) yield vectorOf(b);
    })(),
    {
      keys: [['k']],
      order: 'asc',
      blockRows: 8192,
      threshold: 1 << 30,
      memoryBytesMax: 64 << 20,
      objects,
      spill: () => openObjects(join(folder, `spill${spills++}`)),
      ...options,
    },
  );

/** Pages as the lake gives them. */
const listed = (metas: readonly ObjectMeta[], order: SortOrder, seen: PageRequest[] = []) => {
  const start = (o: ObjectMeta): Uint8Array => (order === 'asc' ? o.min : o.max).sort;
  const sorted = [...metas].sort((a, b) =>
    order === 'asc' ? compareBytes(start(a), start(b)) : compareBytes(start(b), start(a)),
  );
  return (request: PageRequest): ObjectPage => {
    seen.push(request);
    const { min, max } = request.range ?? {};
    const within = sorted.filter(
      (o) => !(min && compareBytes(o.max.sort, min) < 0) && !(max && compareBytes(o.min.sort, max) > 0),
    );
    const from = request.cursor ?? 0;
    const next = from + request.limit;
    return { objects: within.slice(from, next), ...(next < within.length && { next }) };
  };
};
const scan = async (
  metas: readonly ObjectMeta[],
  order: SortOrder,
  options: Partial<ScanOptions> = {},
  seen: PageRequest[] = [],
): Promise<Value[]> => {
  const out: Value[] = [];
  for await (const batch of scanObjects(
    { keys: [['k']], order, objects, page: listed(metas, order, seen) },
    { ordered: true, ...options },
  )) {
    for (let i = 0; i < batch.length; i++) out.push(valueAt(batch, i));
  }
  return out;
};
const storedIds = async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const id of objects.list()) ids.push(id);
  return ids;
};
const texts = (values: readonly Value[]): string[] => values.map((v) => supText(v));
const row = (k: Value, n: number): Value =>
  recordValue([
    { name: 'k', value: k },
    { name: 'n', value: intValue(n) },
  ]);
const keyOf = (v: Value): Value => {
  const at = v.type.kind === 'record' ? v.type.fields.findIndex((f) => f.name === 'k') : -1;
  return at < 0 || v.type.kind !== 'record'
    ? nullValue
    : { type: v.type.fields[at]!.type, data: (v.data as Value['data'][])[at] ?? null };
};

describe('sort keys', () => {
  test('bytes of keys are in the order of the values', () => {
    fc.assert(
      fc.property(someValues({ maxLength: 6 }), someValues({ maxLength: 6 }), (a, b) => {
        const all = [...a, ...b];
        for (const x of all) {
          for (const y of all)
            expect({
              x: supText(x),
              y: supText(y),
              sign: Math.sign(compareBytes(sortKeyBytes(x), sortKeyBytes(y))),
            }).toEqual({ x: supText(x), y: supText(y), sign: Math.sign(compareValues(x, y)) });
        }
      }),
      { numRuns: 300 },
    );
  });
  test('numbers of all types are one order, exact beyond 2^53', () => {
    const ascending: Value[] = [
      { type: types.float64, data: NaN },
      { type: types.float64, data: -Infinity },
      { type: types.int64, data: -(2n ** 63n) },
      { type: types.int64, data: integer(-(2n ** 63n) + 1n) },
      { type: types.float64, data: -1.5 },
      intValue(0),
      { type: types.float64, data: 0.25 },
      { type: types.time, data: integer(2n ** 53n) },
      intValue(2n ** 53n + 1n),
      { type: types.uint64, data: 2n ** 64n - 1n },
      { type: types.float64, data: 2 ** 64 },
      { type: types.float64, data: Infinity },
      stringValue(''),
      nullValue,
    ];
    for (let i = 1; i < ascending.length; i++)
      expect(compareBytes(sortKeyBytes(ascending[i - 1]!), sortKeyBytes(ascending[i]!))).toBeLessThan(0);
  });
});

const keyValue = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 50 }).map((x) => intValue(x)) },
  { weight: 1, arbitrary: fc.constant(nullValue) },
  { weight: 1, arbitrary: fc.constantFrom('a', 'ab', 'a longer text', 'a longer tail').map((s) => stringValue(s)) },
  { weight: 1, arbitrary: fc.double().map((x): Value => ({ type: types.float64, data: x })) },
  {
    weight: 1,
    arbitrary: fc
      .bigInt({ min: 1_700_000_000_000_000_000n, max: 1_700_000_000_000_000_005n })
      .map((x): Value => ({ type: types.time, data: integer(x) })),
  },
);
const loadsOf = fc.array(fc.array(fc.array(keyValue, { maxLength: 12 }), { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 5,
});

describe('loading and scanning', () => {
  test('a scan of overlapping objects is the sort of all rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        loadsOf,
        fc.constantFrom<SortOrder>('asc', 'desc'),
        fc.boolean(),
        async (loads, order, small) => {
          let n = 0;
          const all: Value[] = [];
          const metas: ObjectMeta[] = [];
          for (const batches of loads) {
            const values = batches.map((b) => b.map((k) => row(k, n++ % 7)));
            all.push(...values.flat());
            metas.push(...(await load(values, { order, threshold: small ? 100 : 1 << 30 })).objects);
          }
          const sign = order === 'asc' ? 1 : -1;
          const wanted = [...all].sort((a, b) => sign * compareValues(keyOf(a), keyOf(b)));
          const found = await scan(metas, order);
          expect(
            found.map((v) => compareBytes(sortKeyBytes(keyOf(v)), new Uint8Array(0)) && [...sortKeyBytes(keyOf(v))]),
          ).toEqual(wanted.map((v) => [...sortKeyBytes(keyOf(v))]));
          expect(texts(found).sort()).toEqual(texts(all).sort());
          expect(texts(await scan(metas, order, { ordered: false })).sort()).toEqual(texts(all).sort());
          // Which columns are read changes nothing of the order.
          const only = await scan(metas, order, { columns: [['n']] });
          expect(only.map((v) => (v.data as Value['data'][])[0])).toEqual(
            found.map((v) => (v.data as Value['data'][])[1]),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  test('equal keys of small objects are in the order of their bytes', async () => {
    const one = await load([[intValue(5), recordValue([{ name: 'a', value: intValue(9) }])]], { order: 'desc' });
    const two = await load(
      [
        [1, 2, 3].map((a) =>
          recordValue([
            { name: 'k', value: intValue(7 - a) },
            { name: 'a', value: intValue(a) },
          ]),
        ),
      ]
        .flat(1)
        .map((v) => [v]),
      { order: 'desc' },
    );
    const three = await load(
      [
        [
          recordValue([
            { name: 'k', value: nullValue },
            { name: 'a', value: intValue(8) },
          ]),
        ],
      ],
      { order: 'desc' },
    );
    expect(texts(await scan([...two.objects, ...three.objects, ...one.objects], 'desc'))).toEqual([
      '5',
      '{a:9}',
      '{k:null,a:8}',
      '{k:6,a:1}',
      '{k:5,a:2}',
      '{k:4,a:3}',
    ]);
  });

  test('a load that spills gives what a load in memory gives', async () => {
    const batches = Array.from({ length: 20 }, (_, b) =>
      Array.from({ length: 1000 }, (_, i) => row(intValue(((b * 1000 + i) * 7919) % 20_011), b * 1000 + i)),
    );
    const before = spills;
    const inMemory = await load(batches);
    const spilled = await load(batches, { memoryBytesMax: 50_000 });
    expect(spills).toBe(before + 1);
    expect(spilled.records).toBe(20_000);
    expect(texts(await scan(spilled.objects, 'asc'))).toEqual(texts(await scan(inMemory.objects, 'asc')));
    const cut = await load(batches, { memoryBytesMax: 50_000, threshold: 10_000 });
    expect(cut.objects.length).toBeGreaterThan(8);
    expect(Math.max(...cut.objects.map((o) => o.size))).toBeLessThan(20_000);
    expect(texts(await scan(cut.objects, 'asc'))).toEqual(texts(await scan(inMemory.objects, 'asc')));
  });

  test('data in order is never spilled, and one run out of order is merged with what was written', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const sorted = Array.from({ length: 10 }, (_, b) =>
        Array.from({ length: 3000 }, (_, i) =>
          row(intValue(order === 'asc' ? b * 3000 + i : -b * 3000 - i), (i * 2_654_435_761) % 4_294_967_291),
        ),
      );
      const before = spills;
      const direct = await load(sorted, { order, memoryBytesMax: 100_000 });
      expect([spills, direct.records]).toEqual([before, 30_000]);
      expect(texts(await scan(direct.objects, order))).toEqual(texts(sorted.flat()));
      const files = (await storedIds()).length;
      const late = await load([...sorted, [row(intValue(0), 7)]], { order, memoryBytesMax: 100_000 });
      expect([spills, late.records, (await storedIds()).length - files]).toEqual([
        before + 1,
        30_001,
        late.objects.filter((o) => !o.inline).length,
      ]);
      expect(texts(await scan(late.objects, order)).length).toBe(30_001);
      expect(late.objects.length).toBe(1);
    }
  });

  test('small objects are inline, large ones are files', async () => {
    const files = (): number =>
      readdirSync(join(folder, 'objects'), { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).length;
    const before = files();
    const small = await load([[row(intValue(1), 1)]]);
    expect(small.objects.map((o) => [o.count, o.min.text, o.max.text, o.inline?.length === o.size])).toEqual([
      [1, '1', '1', true],
    ]);
    expect(small.bytes).toBeLessThan(200);
    expect(files()).toBe(before);
    const large = await load([
      Array.from({ length: 30_000 }, (_, i) => row(intValue(i), (i * 2_654_435_761) % 4_294_967_291)),
    ]);
    expect(large.objects.map((o) => o.inline)).toEqual([undefined]);
    expect(files()).toBe(before + 1);
    const found = await storedIds();
    expect(found).toContain(large.objects[0]!.id);
    await objects.delete(large.objects[0]!.id);
    expect(files()).toBe(before);
    await expect(scan(large.objects, 'asc')).rejects.toThrow(`object ${large.objects[0]!.id}: file does not exist`);
  });

  test('the first row of 20,000 tiny objects costs one page, all of them come in full batches', async () => {
    const metas: ObjectMeta[] = [];
    for (let k = 0; k < 20; k++)
      metas.push(
        ...(await load([Array.from({ length: 1000 }, (_, i) => row(intValue(k * 1000 + i), i))], { threshold: 1 }))
          .objects,
      );
    expect(metas.length).toBe(20_000);
    const seen: PageRequest[] = [];
    const rows = scanObjects(
      { keys: [['k']], order: 'asc', objects, page: listed(metas, 'asc', seen) },
      { ordered: true, limit: 1 },
    )[Symbol.asyncIterator]();
    expect((await rows.next()).value!.length).toBeGreaterThan(0);
    expect(seen).toEqual([{ limit: 16, packs: true }]);
    await rows.return!(undefined);
    const sizes: number[] = [];
    for await (const batch of scanObjects(
      { keys: [['k']], order: 'asc', objects, page: listed(metas, 'asc') },
      { ordered: false },
    ))
      sizes.push(batch.length);
    expect(sizes).toEqual([4096, 4096, 4096, 4096, 3616]);
  });

  test.each([
    ['one object', 1, 100_000],
    ['small objects of a row each', 300, 50_000],
    ['small objects of two rows each', 150, 25_000],
  ])('batches of long rows are bounded by bytes: %s', async (_, count, length) => {
    const rows = Array.from({ length: Math.ceil(15e6 / length) }, (_, i) =>
      recordValue([
        { name: 'k', value: intValue(i) },
        { name: 't', value: stringValue(`${i}${'x'.repeat(length)}`) },
      ]),
    );
    const each = Math.ceil(rows.length / count);
    const metas: ObjectMeta[] = [];
    for (let at = 0; at < rows.length; at += each)
      metas.push(...(await load([rows.slice(at, at + each)], { threshold: 1 << 30 })).objects);
    for (const ordered of [false, true]) {
      const sizes: number[] = [];
      let found = 0;
      for await (const batch of scanObjects(
        { keys: [['k']], order: 'asc', objects, page: listed(metas, 'asc') },
        { ordered, batchRows: 8192 },
      )) {
        found += batch.length;
        sizes.push(sizeOf(batch));
      }
      expect(found).toBe(rows.length);
      // What is gathered, and the block that ends it.
      expect(Math.max(...sizes)).toBeLessThan(11e6);
    }
  });

  test('a tiny threshold is raised before it makes too many objects', async () => {
    const { objects: metas } = await load([Array.from({ length: 30_000 }, (_, i) => row(intValue(i), i))], {
      threshold: 1,
    });
    expect(metas.length).toBeGreaterThan(1000);
    expect(metas.length).toBeLessThan(4000);
  });

  test('a key range skips objects and blocks, and never a row that matches', async () => {
    const parts = [0, 1, 2, 3].map((p) => Array.from({ length: 20_000 }, (_, i) => row(intValue(p * 20_000 + i), i)));
    const metas = (await Promise.all(parts.map((p) => load([p])))).flatMap((l) => l.objects);
    let rowsRead = 0;
    const test = (operator: '>=' | '<', x: number) =>
      ({ kind: 'test', test: { path: ['k'], operator, value: intValue(x) } }) as const;
    const found = await scan(metas, 'asc', {
      pruner: { kind: 'all', of: [test('>=', 30_000), test('<', 30_100)] },
      read: (_, rows) => {
        rowsRead += rows;
      },
    });
    expect(rowsRead).toBeLessThanOrEqual(2 * 8192);
    const keys = new Set(found.map((v) => keyOf(v).data));
    for (let k = 30_000; k < 30_100; k++) expect(keys.has(k)).toBe(true);
  });

  test('a text that no row of a column has is ruled out by its filter, also where it may be null', async () => {
    for (const type of [types.string, nullable(types.string)]) {
      const texts = Array.from({ length: 8000 }, (_, i) => {
        const text = stringValue(`t${(i * 7919) % 16_000}`);
        const value = type === types.string ? text : { type, data: i % 9 === 0 ? nullValue : text };
        return recordValue([
          { name: 'k', value: intValue(i) },
          { name: 's', value },
        ]);
      });
      const { objects: metas } = await load([texts]);
      const held = new Set(Array.from({ length: 8000 }, (_, i) => (i * 7919) % 16_000));
      const absent = Array.from({ length: 16_000 }, (_, n) => n).filter((n) => n > 5000 && !held.has(n));
      let rowsRead = 0;
      for (const n of absent.slice(0, 20))
        await scan(metas, 'asc', {
          ordered: false,
          filter: { columns: [['s']], keep: () => new Uint32Array(0) },
          pruner: { kind: 'test', test: { path: ['s'], operator: '==', value: stringValue(`t${n}`) } },
          read: (_, rows) => {
            rowsRead += rows;
          },
        });
      // Filters are wrong about few.
      expect({ type: type.kind, isRuledOut: rowsRead <= 3 * texts.length }).toEqual({
        type: type.kind,
        isRuledOut: true,
      });
    }
  });

  test('objects that begin near the end of a run of a load in order have bounds of columns', async () => {
    const sorted = Array.from({ length: 12 }, (_, b) =>
      Array.from({ length: 3000 }, (_, i) => row(intValue(b * 3000 + i), (i * 2_654_435_761) % 4_294_967_291)),
    );
    const { objects: metas } = await load(sorted, { memoryBytesMax: 100_000, threshold: 11_000 });
    expect(metas.length).toBeGreaterThan(8);
    let rowsRead = 0;
    const none = await scan(metas.slice(0, -1), 'asc', {
      pruner: { kind: 'test', test: { path: ['n'], operator: '<', value: intValue(0) } },
      read: (_, rows) => {
        rowsRead += rows;
      },
    });
    expect({ rows: none.length, rowsRead }).toEqual({ rows: 0, rowsRead: 0 });
  });

  test('a load that fails leaves no file behind', async () => {
    const before = (await storedIds()).length;
    async function* broken(): AsyncGenerator<Vector> {
      yield vectorOf(Array.from({ length: 30_000 }, (_, i) => row(intValue(i), (i * 2_654_435_761) % 4_294_967_291)));
      throw new Error('the body ends');
    }
    await expect(
      sortIntoObjects(broken(), {
        keys: [['k']],
        order: 'asc',
        threshold: 1000,
        memoryBytesMax: 1000,
        objects,
        spill: () => openObjects(join(folder, `spill${spills++}`)),
      }),
    ).rejects.toThrow('the body ends');
    expect((await storedIds()).length).toBe(before);
  });
});
