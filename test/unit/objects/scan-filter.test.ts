/**
 * Scans that filter, read part by part and keep decoded columns: the same rows as reading everything and testing each.
 */
import { afterAll, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColumnCache } from '../../../src/lake/columns/cache.ts';
import { CacheCounters } from '../../../src/workers/cache-counts.ts';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import type { ObjectMeta } from '../../../src/lake/lake.types.ts';
import type { ObjectReader } from '../../../src/lake/objects/reader.ts';
import { type ObjectStore, openObjects } from '../../../src/lake/objects/objects.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanOptions } from '../../../src/lake/scan/scan.types.ts';
import type { RowFilter } from '../../../src/lake/scan/scan.types.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { type Value, intValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { randomOf, seedOf } from '../../support/random.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-filter-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const objects = openObjects(folder);

/** Two shapes and a bare number now and then, sorted by k. */
const rows: readonly Value[] = Array.from({ length: 30_000 }, (_, i) => {
  const k = { name: 'k', value: intValue(i) };
  if (i % 1000 === 7) return intValue(i);
  return i % 3 === 0
    ? recordValue([k, { name: 'a', value: stringValue(`text ${i % 50}`) }, { name: 'n', value: intValue(i % 10) }])
    : recordValue([k, { name: 'n', value: intValue(i % 100) }]);
});
const metasOf = async (values: readonly Value[], blockRows = 8192): Promise<readonly ObjectMeta[]> => {
  const sorted = await sortIntoObjects(
    (async function* give() {
      yield vectorOf(values);
    })(),
    {
      keys: [['k']],
      order: 'asc',
      blockRows,
      threshold: 1 << 30,
      memoryBytesMax: 64 << 20,
      objects,
      spill: () => openObjects(join(folder, 'spill')),
    },
  );
  return sorted.objects;
};
const metas = await metasOf(rows);

const readers = new Map<string, ObjectReader>();
const columns = new ColumnCache(1 << 18);
const scan = async (options: Partial<ScanOptions>, cached: boolean, pages = metas): Promise<string[]> => {
  const out: string[] = [];
  const source = { keys: [['k']], order: 'asc' as const, objects, page: () => ({ objects: pages }) };
  const cache = {
    columns,
    get: (id: string) => readers.get(id),
    set: (id: string, reader: ObjectReader) => {
      readers.set(id, reader);
    },
  };
  for await (const batch of scanObjects(
    { ...source, ...(cached && { readers: cache }) },
    { ordered: true, ...options },
  ))
    for (let i = 0; i < batch.length; i++) out.push(supText(valueAt(batch, i)));
  return out;
};
/** Rows whose text has this in it; asks with a promise now and then. */
const having = (text: string, columns?: RowFilter['columns']): RowFilter => {
  let asked = 0;
  return {
    ...(columns && { columns }),
    keep: (batch) => {
      const kept = Uint32Array.from(
        Array.from({ length: batch.length }, (_, i) => i).filter((i) => supText(valueAt(batch, i)).includes(text)),
      );
      return asked++ % 2 === 0 ? kept : Promise.resolve(kept);
    },
  };
};
const all = rows.map((v) => supText(v));
const prunes = { kind: 'test', test: { path: ['a'], operator: '==', value: stringValue('text 6') } } as const;

test.each([false, true, true])('filtered rows come in order, of all parts or of one (cached: %s)', async (cached) => {
  expect(await scan({}, cached)).toEqual([
    ...all.filter((t) => t.startsWith('{')),
    ...all.filter((t) => !t.startsWith('{')),
  ]);
  expect(await scan({ filter: having('n:3}') }, cached)).toEqual(all.filter((t) => t.includes('n:3}')));
  expect(await scan({ filter: having('n:3}', [['n']]) }, cached)).toEqual(all.filter((t) => t.includes('n:3}')));
  expect(await scan({ filter: having('"text 6"', [['a']]), pruner: prunes }, cached)).toEqual(
    all.filter((t) => t.includes('"text 6"')),
  );
  expect(await scan({ filter: having('nowhere') }, cached)).toEqual([]);
});

test.each([false, true, true])('without an order every wanted row comes once (cached: %s)', async (cached) => {
  expect((await scan({ ordered: false }, cached)).sort()).toEqual([...all].sort());
  expect((await scan({ ordered: false, filter: having('n:3}', [['n']]) }, cached)).sort()).toEqual(
    all.filter((t) => t.includes('n:3}')).sort(),
  );
  expect(await scan({ ordered: false, columns: [['n']], filter: having('n:77}', [['n']]) }, cached)).toEqual(
    all.filter((t) => t.includes('n:77}')).map(() => '{n:77}'),
  );
  expect((await scan({ ordered: false, columns: [] }, cached)).length).toBe(rows.length);
});

/** A record within of two shapes, one without a field that is looked at, and a text in its place. */
const nested = await metasOf(
  Array.from({ length: 20_000 }, (_, i) => {
    const a = { name: 'a', value: stringValue(`text ${i % 50}`) };
    const n = { name: 'n', value: intValue(i % 100) };
    const m = [recordValue([a, n]), recordValue([n]), recordValue([n, a]), stringValue('text 6')][i % 4]!;
    return recordValue([
      { name: 'k', value: intValue(i) },
      { name: 'm', value: m },
    ]);
  }),
);
test.each([false, true, true])('fields of a mixed one come part by part, each once (cached: %s)', async (cached) => {
  for (const columns of [
    [['m', 'a']],
    [['m']],
    [
      ['m', 'n'],
      ['m', 'a'],
    ],
    [['k'], ['m', 'a']],
    [['m', 'a'], ['x']],
  ]) {
    const ordered = await scan({ columns }, cached, nested);
    expect(ordered.length).toBe(20_000);
    const apart = await scan({ columns, ordered: false }, cached, nested);
    expect([...apart].sort()).toEqual([...ordered].sort());
    for (const asked of [columns, [['m', 'a']]]) {
      const found = await scan({ columns, ordered: false, filter: having('"text 6"', asked) }, cached, nested);
      expect(found.sort()).toEqual(ordered.filter((t) => t.includes('"text 6"')).sort());
    }
    const turns = apart.filter((t, i) => i > 0 && t.includes('a:') !== apart[i - 1]!.includes('a:')).length;
    expect(turns < 20).toBe(!columns.some(([name]) => name === 'k'));
  }
});

test('objects that are far away give the same rows, whichever of their ranges comes first, and their bytes are told once', async () => {
  const random = randomOf(seedOf(5));
  const far: ObjectStore = Object.assign(Object.create(objects) as ObjectStore, {
    ahead: () => undefined,
    readRange: async (id: string, offset: number, length: number) => {
      for (let turns = random.below(20); turns > 0; turns--) await new Promise(setImmediate);
      return objects.readRange(id, offset, length);
    },
  });
  for (const [columns, text] of [
    [[['n']], 'n:3}'],
    [[['a']], '"text 6"'],
    [[['k']], 'nowhere'],
  ] as const) {
    const seen = [objects, far].map(async (store) => {
      const found: string[] = [];
      let told = 0;
      const source = { keys: [['k']], order: 'asc' as const, objects: store, page: () => ({ objects: metas }) };
      const filter = having(text, columns);
      const read = (bytes: number): void => {
        told += bytes;
      };
      for await (const batch of scanObjects(source, { ordered: false, filter, read }))
        for (let i = 0; i < batch.length; i++) found.push(supText(valueAt(batch, i)));
      return { found, told };
    });
    const [near, other] = await Promise.all(seen);
    expect(other).toEqual(near);
  }
  const broken = Object.assign(Object.create(far) as ObjectStore, {
    readRange: async (id: string, offset: number, length: number) => {
      const bytes = await far.readRange(id, offset, length);
      if (random.below(3) === 0) throw new Error('it is away');
      return bytes;
    },
  });
  await expect(async () => {
    for (let n = 0; n < 20; n++) {
      const source = { keys: [['k']], order: 'asc' as const, objects: broken, page: () => ({ objects: metas }) };
      for await (const batch of scanObjects(source, { ordered: false, filter: having('n:3}', [['n']]) }))
        expect(batch.length).toBeGreaterThan(0);
    }
  }).rejects.toThrow('it is away');
});

test('a column that the filter looks at is not read again where it is wanted with others', async () => {
  const bytesOf = async (columns: string[][], filter?: RowFilter): Promise<number> => {
    let bytes = 0;
    const read = (more: number): void => {
      bytes += more;
    };
    await scan({ ordered: false, columns, ...(filter && { filter }), read }, false);
    return bytes;
  };
  const looking = having('n:3}', [['n']]);
  const both = await bytesOf([['n'], ['k']]);
  expect(await bytesOf([['n'], ['k']], having('', [['n']]))).toBeLessThanOrEqual(both);
  expect(await bytesOf([['k'], ['n']], having('', [['n'], ['a']]))).toBeLessThanOrEqual(
    await bytesOf([['k'], ['n'], ['a']]),
  );
  const found = (rows: readonly string[]): string[] => [...rows].sort();
  const wanted = all.filter((t) => t.includes('n:3}')).map((t) => t.replace(/a:"[^"]*",/, ''));
  expect(found(await scan({ ordered: false, columns: [['n'], ['k']], filter: looking }, false))).toEqual(found(wanted));
  // What is only looked at does not come along, and the order of the fields is the record's.
  expect(
    found(await scan({ ordered: true, columns: [['n'], ['k']], filter: having('n:3}', [['n'], ['a']]) }, false)),
  ).toEqual(found(wanted));
});

test('of blocks of few wide rows too, only what the filter looks at is read where it keeps none', async () => {
  const random = randomOf(seedOf(20));
  const wide = await metasOf(
    Array.from({ length: 4000 }, (_, i) =>
      recordValue([
        { name: 'k', value: intValue(i) },
        ...Array.from({ length: 8 }, (_, c) => ({
          name: `c${c}`,
          value: stringValue(random.hex(120)),
        })),
      ]),
    ),
    512,
  );
  const scanned = async (filter?: RowFilter): Promise<{ readonly bytes: number; readonly rows: readonly string[] }> => {
    let bytes = 0;
    const read = (more: number): void => {
      bytes += more;
    };
    return { rows: await scan({ ordered: false, ...(filter && { filter }), read }, false, wide), bytes };
  };
  const whole = await scanned();
  expect(whole.rows.length).toBe(4000);
  const none = await scanned(having('nothing', [['k']]));
  expect(none.rows).toEqual([]);
  expect(none.bytes).toBeLessThan(whole.bytes / 10);
  const some = await scanned(having('7', [['k']]));
  expect(some.rows).toEqual(whole.rows.filter((t) => /^\{k:\d*7/.test(t)));
});

test('whoever takes the rows that are at hand meets the same ones as who waits for each', async () => {
  for (const filter of [undefined, having('n:3}'), having('nowhere')]) {
    const source = { keys: [['k']], order: 'asc' as const, objects, page: () => ({ objects: metas }) };
    const waited: string[] = [];
    const taken: string[] = [];
    const options = { ordered: false, batchRows: 1000, ...(filter && { filter }) };
    for await (const batch of scanObjects(source, options))
      for (let i = 0; i < batch.length; i++) waited.push(supText(valueAt(batch, i)));
    const scanned = scanObjects(source, options);
    let quick = 0;
    for (let next = await scanned.next(); !next.done; next = await scanned.next()) {
      for (let batch: Vector | undefined = next.value; batch; batch = scanned.nextNow()) {
        for (let i = 0; i < batch.length; i++) taken.push(supText(valueAt(batch, i)));
        quick++;
      }
      quick--;
    }
    expect(taken).toEqual(waited);
    expect(scanned.nextNow()).toBe(undefined);
    expect(quick > 0).toBe(waited.length > 0);
  }
});

test('decoded columns stay within their budget, and those of the running scan stay', () => {
  const cache = new ColumnCache(100);
  const [a, b, c] = [{}, {}, {}];
  cache.begin();
  cache.set(a, 60, () => 'a');
  cache.set(b, 60, () => 'b');
  expect([cache.get(a), cache.get(b), cache.bytes]).toEqual(['a', undefined, 60]);
  cache.begin();
  cache.set(c, 90, () => 'c');
  expect([cache.get(a), cache.get(c), cache.bytes]).toEqual([undefined, 'c', 90]);
  expect(columns.bytes).toBeLessThanOrEqual(1 << 18);
});

test('scans that take turns keep a part each when they need more than there is, and old ones give way', () => {
  const cache = new ColumnCache(100);
  const columnsOf = (): object[] => Array.from({ length: 70 }, () => ({}));
  const [old, one, other] = [columnsOf(), columnsOf(), columnsOf()];
  const run = (keys: readonly object[]): number => {
    cache.begin();
    return keys.filter((key) => {
      const found = cache.get(key) !== undefined;
      if (!found) cache.set(key, 1, () => key);
      return found;
    }).length;
  };
  run(old);
  const found = Array.from({ length: 20 }, () => [run(one), run(other)]);
  expect([found.at(-1), cache.bytes, old.some((key) => cache.get(key) !== undefined)]).toEqual([[30, 30], 100, false]);
});

test('numbers are left out for a filter of texts only', async () => {
  const seen = new Set<string>();
  const filter: RowFilter = {
    textOnly: true,
    keep: (batch) => {
      seen.add(supText(valueAt(batch, 0)));
      return new Uint32Array(0);
    },
  };
  expect(await scan({ ordered: false, filter }, false)).toEqual([]);
  expect([...seen].every((t) => !/:[0-9]/.test(t))).toBe(true);
});

test('caches share a budget: one uses what the others leave, and gives it back', () => {
  const counters = new CacheCounters(2);
  const make = (thread: number): ColumnCache => new ColumnCache(50, counters.of(thread), counters.room(thread, 100));
  const [one, other] = [make(0), make(1)];
  const keys = Array.from({ length: 4 }, () => ({}));
  const more = [{}, {}];
  one.begin();
  for (const key of keys) one.set(key, 30, () => key);
  expect([one.bytes, keys.map((key) => one.get(key) !== undefined)]).toEqual([90, [true, true, true, false]]);
  other.begin();
  for (const key of more) other.set(key, 25, () => key);
  expect([one.bytes, other.bytes]).toEqual([90, 50]);
  other.set({}, 1, () => 0);
  expect(other.bytes).toBe(50);
  one.trim();
  other.trim();
  expect([one.bytes, other.bytes, keys.map((key) => one.get(key) !== undefined)]).toEqual([
    30,
    50,
    [false, false, true, false],
  ]);
  expect(counters.totals()).toEqual({ found: 4, missed: 4, bytes: 80 });
  // Room that tasks borrow is taken from all, and is not what the caches hold.
  other.lend(1000);
  expect(counters.totals().bytes).toBe(30);
  other.lend(-1000);
});

/** The fields of a row that are wanted, as text; undefined: it is no record. */
const fieldsOf = (row: Value, wanted: ScanOptions['columns']): string | undefined => {
  if (row.type.kind !== 'record') return undefined;
  const names = row.type.fields.map((f) => f.name);
  const values = row.data as readonly Value['data'][];
  const fields = names.flatMap((name, k) =>
    wanted && !wanted.some(([first]) => first === name)
      ? []
      : [{ name, value: name === 'a' ? stringValue(values[k] as string) : intValue(Number(values[k])) }],
  );
  return supText(recordValue(fields));
};

for (const wanted of [undefined, [['k']], [['n']], [['k'], ['a']], [['a'], ['n']]] as const)
  for (const ordered of [true, false])
    test(`beside what is stored, ${wanted?.join() ?? 'all'} ${ordered ? 'in order' : 'in any order'}: the rest is asked of the rows that pass`, async () => {
      const numberOf = (row: Value, name: string): number => {
        if (row.type.kind !== 'record') return -1;
        const at = row.type.fields.findIndex((f) => f.name === name);
        return Number((row.data as readonly Value['data'][])[at]);
      };
      const passing = rows.filter((row) => numberOf(row, 'n') >= 0 && numberOf(row, 'n') < 30);
      const expected = passing
        .filter((row) => numberOf(row, 'k') % 7 === 3)
        .map((row) => fieldsOf(row, wanted)!)
        .sort();
      for (const isCached of [false, true, true]) {
        let asked = 0;
        let shown = 0;
        let isLate = false;
        const rest = (batch: Vector, kept: Uint32Array | undefined): Uint32Array | Promise<Uint32Array> => {
          const places = kept ?? Uint32Array.from({ length: batch.length }, (_, i) => i);
          asked += places.length;
          shown += batch.length;
          const found = places.filter((i) => numberOf(valueAt(batch, i), 'k') % 7 === 3);
          isLate = !isLate;
          return isLate ? Promise.resolve(found) : found;
        };
        const filter: RowFilter = {
          columns: [['k'], ['n']],
          stored: {
            tests: [{ path: ['n'], operator: '<', value: intValue(30) }],
            columns: [['k']],
            rest,
            seen: () => undefined,
          },
          // Of bare numbers nothing is stored that tells of a field.
          keep: (batch) => {
            expect(valueAt(batch, 0).type.kind).toBe('primitive');
            return new Uint32Array(0);
          },
        };
        const found = await scan({ filter, ordered, ...(wanted && { columns: wanted }) }, isCached);
        expect(found.sort()).toEqual(expected);
        expect(asked).toBe(passing.length);
        // No others of the column were made.
        expect(shown).toBe(passing.length);
      }
    });

for (const wanted of [undefined, [['a']], [['a'], ['n']]] as const)
  for (const tests of [[], [{ path: ['n'], operator: '<' as const, value: intValue(60) }]])
    test(`what leaves few rows is asked first, beside ${tests.length} stored tests, for ${wanted?.join() ?? 'all'}`, async () => {
      const numberOf = (row: Value, name: string): number => {
        if (row.type.kind !== 'record') return -1;
        const at = row.type.fields.findIndex((f) => f.name === name);
        return Number((row.data as readonly Value['data'][])[at]);
      };
      const isFirst = (row: Value): boolean => numberOf(row, 'n') % 25 === 4;
      const passing = rows.filter((row) => isFirst(row) && (tests.length === 0 || numberOf(row, 'n') < 60));
      const expected = passing
        .filter((row) => numberOf(row, 'k') % 7 < 3)
        .map((row) => fieldsOf(row, wanted)!)
        .sort();
      const all = (batch: Vector): Uint32Array => Uint32Array.from({ length: batch.length }, (_, i) => i);
      for (const isCached of [false, true, true])
        for (const fewAfter of [0, 2, Infinity]) {
          let askedFirst = 0;
          let askedAfterwards = 0;
          let looks = 0;
          const filter: RowFilter = {
            columns: [['k'], ['n']],
            stored: {
              tests,
              columns: [['k'], ['n']],
              first: {
                columns: [['n']],
                leavesFew: () => looks++ >= fewAfter,
                keep: (batch, kept) => {
                  const places = kept ?? all(batch);
                  askedFirst += places.length;
                  return places.filter((i) => isFirst(valueAt(batch, i)));
                },
              },
              rest: (batch, kept, isAfterFirst = false) => {
                const places = kept ?? all(batch);
                if (isAfterFirst) askedAfterwards += places.length;
                return places.filter((i) => {
                  const row = valueAt(batch, i);
                  return numberOf(row, 'k') % 7 < 3 && (isAfterFirst || isFirst(row));
                });
              },
              seen: () => undefined,
            },
            keep: (batch) =>
              all(batch).filter((i) => isFirst(valueAt(batch, i)) && numberOf(valueAt(batch, i), 'k') % 7 < 3),
          };
          const found = await scan({ filter, ordered: false, ...(wanted && { columns: wanted }) }, isCached);
          expect(found.sort()).toEqual(expected);
          if (fewAfter === 0) expect(askedAfterwards).toBe(passing.length);
          expect(askedFirst > 0).toBe(fewAfter !== Infinity);
        }
    });
