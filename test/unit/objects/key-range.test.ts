/** The edges of scans: rows of a range of keys, and the first rows. */
import { afterAll, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute } from '../../../src/exec/compile.ts';
import { countBelow, distancesAt, packDistances, unpackDistances } from '../../../src/lake/columns/packing.ts';
import type { ObjectMeta } from '../../../src/lake/lake.types.ts';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanOptions } from '../../../src/lake/scan/scan.types.ts';
import { cutOut } from '../../../src/lake/scan/cut.ts';
import { keyRange, overlaps } from '../../../src/lake/scan/range.ts';
import type { CompareOperator, PlanExpr, PlanOp, Pruner } from '../../../src/query/plan/plan.ts';
import { prunerOf } from '../../../src/query/rules/predicate-pushdown.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { enumType, types } from '../../../src/vectors/type.ts';
import { type Value, intValue, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { sizeOf } from '../../../src/vectors/sizes.ts';
import { type Vector, slice, valueAt } from '../../../src/vectors/vector.ts';
import { contextOf } from '../../support/queries/run-plan.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-range-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const objects = openObjects(folder);
const load = async (rows: readonly Value[], order: 'asc' | 'desc', blockRows: number): Promise<readonly ObjectMeta[]> =>
  (
    await sortIntoObjects(
      (async function* give() {
        yield vectorOf(rows);
      })(),
      {
        keys: [['k']],
        order,
        blockRows,
        threshold: 1 << 30,
        memoryBytesMax: 64 << 20,
        objects,
        spill: () => openObjects(join(folder, 'spill')),
      },
    )
  ).objects;
/** Long enough for rows to be in a file of their own. */
const idOf = (i: number): { readonly name: string; readonly value: Value } => ({
  name: 'id',
  value: stringValue(`${(i * 7919).toString(36)}${(i * 104_729).toString(36)}`.padEnd(40, String(i))),
});
const textsOf = (v: Vector): string[] => Array.from({ length: v.length }, (_, i) => supText(valueAt(v, i)));

const start = 1_767_225_600_000;
/** Keys of a kind from numbers that rise. */
const kinds = {
  milliseconds: (n: number) => stringValue(new Date(start + n * 250).toISOString()),
  seconds: (n: number) => stringValue(new Date(start + Math.floor(n / 3) * 1000).toISOString().replace(/\.\d+/, '')),
  texts: (n: number) => stringValue(`t${String(Math.floor(n / 2)).padStart(5, '0')}`),
  'a few texts': (n: number) => stringValue('abcdefgh'[Math.floor(Math.abs(n) / 40) % 8]!),
  integers: (n: number) => intValue(n * 3 - 500),
  'large integers': (n: number) => ({ type: types.int64, data: 2n ** 60n + BigInt(n) }),
  times: (n: number) => ({ type: types.time, data: BigInt(start + n * 1000) * 1_000_000n }),
  floats: (n: number) => ({ type: types.float64, data: n / 4 }),
  mixed: (n: number) => (n % 50 === 0 ? nullValue : n % 20 === 0 ? intValue(n) : stringValue(`m${n}`)),
} satisfies Record<string, (n: number) => Value>;
const operators: readonly CompareOperator[] = ['<', '<=', '>', '>=', '=='];
const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
const literal = (value: Value): PlanExpr => ({ kind: 'literal', value });

const given = async (
  filter: PlanExpr,
  metas: readonly ObjectMeta[],
  order: 'asc' | 'desc',
  {
    ordered,
    filters,
    columns,
    pruner,
  }: {
    readonly ordered: boolean;
    readonly filters: boolean;
    readonly columns: readonly (readonly string[])[] | undefined;
    readonly pruner?: Pruner | undefined;
  },
): Promise<string[]> => {
  const source = { kind: 'pool', name: 'p', handle: '0', sortKeys: [['k']], order } as const;
  const context = contextOf({});
  const out: string[] = [];
  const host = {
    ...context.host,
    filters: () => filters,
    scan: (_: unknown, request: ScanOptions) =>
      scanObjects({ keys: [['k']], order, objects, page: () => ({ objects: metas }) }, request),
  };
  const scan: PlanOp = {
    kind: 'scan',
    sources: [source],
    ordered,
    filter,
    ...(columns && { columns }),
    ...(pruner && { pruner }),
  };
  for await (const { batch } of execute({ pipeline: { ops: [scan] }, functions: [] }, { ...context, host }))
    out.push(...textsOf(batch));
  return out;
};

describe.each(['asc', 'desc'] as const)('in a pool in order %s', (order) => {
  test.each(Object.entries(kinds))(
    'a range of keys that are %s gives the rows that a test of each gives',
    async (name, keyOf) => {
      const rows = Array.from({ length: 2200 }, (_, i) => {
        const k = { name: 'k', value: keyOf(i) };
        const n = { name: 'n', value: intValue(i % 7) };
        return recordValue(
          i % 3 === 0
            ? [k, n, idOf(i)]
            : i % 3 === 1
              ? [n, k, idOf(i)]
              : [k, n, { name: 't', value: stringValue(`text ${i % 11}`) }, idOf(i)],
        );
      });
      const metas = await load(rows, order, 1100);
      expect(metas.map((m) => m.inline)).toEqual([undefined]);
      const bounds = fc.oneof(
        { weight: 5, arbitrary: fc.integer({ min: -5, max: 2205 }).map(keyOf) },
        fc.constantFrom<Value>(
          intValue(7),
          stringValue('a'),
          { type: types.float64, data: 99.5 },
          nullValue,
          kinds.milliseconds(1101),
          kinds.seconds(1101),
        ),
      );
      const key =
        (turned: boolean) =>
        (operator: CompareOperator, bound: Value): PlanExpr =>
          turned
            ? { kind: 'compare', operator, left: literal(bound), right: field('k') }
            : { kind: 'compare', operator, left: field('k'), right: literal(bound) };
      const other: PlanExpr = { kind: 'compare', operator: '<', left: field('n'), right: literal(intValue(4)) };
      const filters = fc
        .tuple(bounds, bounds, fc.constantFrom(...operators), fc.constantFrom(...operators), fc.boolean(), fc.boolean())
        .map(([a, b, first, second, turned, withOther]): PlanExpr => {
          const range: PlanExpr = { kind: 'and', left: key(turned)(first, a), right: key(false)(second, b) };
          return withOther ? { kind: 'and', left: other, right: range } : range;
        });
      const between = (from: number, to: number): PlanExpr => ({
        kind: 'and',
        left: key(false)('>=', keyOf(from)),
        right: key(false)('<=', keyOf(to)),
      });
      let found = 0;
      await fc.assert(
        fc.asyncProperty(
          filters,
          fc.boolean(),
          fc.constantFrom(undefined, [['k'], ['n']], [['n'], ['k'], ['t']]),
          async (filter, ordered, columns) => {
            const few = await given(filter, metas, order, { ordered, filters: true, columns });
            const all = await given(filter, metas, order, { ordered: true, filters: false, columns });
            found += few.length;
            expect(ordered ? few : few.sort()).toEqual(ordered ? all : all.sort());
          },
        ),
        {
          numRuns: 12,
          examples: [
            [between(3, 1500), true, undefined],
            [between(3, 3), true, undefined],
          ],
        },
      ); // the second is not empty, however the keys are ordered
      expect(found, name).toBeGreaterThan(0);
    },
  );
});

test.each(['asc', 'desc'] as const)(
  'objects and blocks of enums may hold what equals a number, in a pool in order %s',
  async (order) => {
    const symbols = enumType(['x', 'y', 'z']);
    const rowsOf = (value: (i: number) => Value): Value[] =>
      Array.from({ length: 300 }, (_, i) => recordValue([{ name: 'k', value: value(i % 3) }, idOf(i)]));
    const metas = [
      ...(await load(rowsOf(intValue), order, 100)),
      ...(await load(
        rowsOf((data) => ({ type: symbols, data })),
        order,
        100,
      )),
    ];
    const is = (operator: '==' | '>', x: number) =>
      ({ kind: 'test', test: { path: ['k'], operator, value: intValue(x) } }) as const;
    const enumsOf = async (pruner: NonNullable<ScanOptions['pruner']>): Promise<number> => {
      const range = keyRange(pruner, ['k'])!;
      const listed = metas.filter((m) => overlaps(range, m.min.sort, m.max.sort));
      let count = 0;
      for await (const batch of scanObjects(
        { keys: [['k']], order, objects, page: () => ({ objects: listed }) },
        { ordered: false, pruner },
      ))
        count += textsOf(batch).filter((t) => t.includes('enum(')).length;
      return count;
    };
    expect(await enumsOf(is('==', 1))).toBe(300);
    expect(await enumsOf({ kind: 'any', of: [is('==', 1), is('>', 7)] })).toBe(300);
    expect(await enumsOf({ kind: 'all', of: [is('==', 1), is('>', 7)] })).toBe(0);
    expect(await enumsOf(is('>', 1))).toBe(300);
  },
);

test.each(['asc', 'desc'] as const)(
  'comparisons with the ends of the floats find all rows, in a pool in order %s',
  async (order) => {
    const floats = [-Infinity, -Number.MAX_VALUE, -(2 ** 53), -0, 0.5, 2 ** 60, Number.MAX_VALUE, Infinity, NaN];
    const rowsOf = (values: readonly number[]): Value[] =>
      values.flatMap((data) =>
        Array.from({ length: 20 }, (_, i) =>
          recordValue([{ name: 'k', value: { type: types.float64, data } }, idOf(i)]),
        ),
      );
    const metas = [...(await load(rowsOf(floats), order, 20)), ...(await load(rowsOf([1]), order, 20))];
    for (const data of floats.slice(0, -1))
      for (const operator of operators) {
        const left = field('k');
        const filter: PlanExpr = { kind: 'compare', operator, left, right: literal({ type: types.float64, data }) };
        const pruner = prunerOf(filter);
        const range = keyRange(pruner!, ['k'])!;
        const listed = metas.filter((m) => overlaps(range, m.min.sort, m.max.sort));
        const found = await given(filter, listed, order, { ordered: true, filters: true, columns: undefined, pruner });
        const all = await given(filter, metas, order, { ordered: true, filters: false, columns: undefined });
        expect(found, `k ${operator} ${data}`).toEqual(all);
      }
  },
);

test.each(['asc', 'desc'] as const)(
  'SELECT finds keys that it casts beside a constant of another type, in a pool in order %s',
  async (order) => {
    const rowsOf = (key: (i: number) => Value): Value[] =>
      Array.from({ length: 200 }, (_, i) => recordValue([{ name: 'k', value: key(i) }, idOf(i)]));
    const texts = kinds.milliseconds;
    const digits = (n: number): Value => stringValue(String(n));
    const sql = (operator: CompareOperator, right: Value): PlanExpr => ({
      kind: 'compare',
      operator,
      left: field('k'),
      right: literal(right),
      sql: true,
    });
    const both = (left: PlanExpr, right: PlanExpr): PlanExpr => ({ kind: 'and', left, right });
    for (const [keys, filters] of [
      [kinds.times, [sql('>', texts(190)), sql('<=', texts(3)), sql('==', texts(4)), sql('>=', kinds.times(100))]],
      [texts, [sql('>', kinds.times(40)), sql('==', kinds.times(1)), sql('<', texts(9))]],
      [intValue, [sql('>', digits(190)), sql('==', digits(7)), both(sql('>', digits(3)), sql('<', intValue(9)))]],
      [digits, [sql('>', intValue(190)), sql('==', intValue(7)), both(sql('>', intValue(3)), sql('<', digits(9)))]],
    ] as const) {
      const metas = await load(rowsOf(keys), order, 20);
      for (const filter of filters) {
        const pruner = prunerOf(filter);
        const range = keyRange(pruner!, ['k'])!;
        const listed = metas.filter((m) => overlaps(range, m.min.sort, m.max.sort));
        const found = await given(filter, listed, order, { ordered: true, filters: true, columns: undefined, pruner });
        const all = await given(filter, metas, order, { ordered: true, filters: false, columns: undefined });
        expect(all.length).toBeGreaterThan(0);
        expect(found).toEqual(all);
      }
    }
  },
);

test('packed distances are counted up to a bound, and looked up, as if they had been unpacked', () => {
  const rising = fc.array(fc.nat(70_000), { minLength: 3, maxLength: 50 }).map((steps) => {
    let at = 0;
    return steps.map((s) => (at += s));
  });
  fc.assert(
    fc.property(
      rising,
      fc.constantFrom(0, 1),
      fc.constantFrom(1, 1000),
      fc.integer({ min: -1, max: 4_000_000 }),
      (list, even, scale, bound) => {
        const distances = Float64Array.from(list, (x, i) => (even ? i * 70_000 : x) * scale);
        const packed = packDistances(distances);
        fc.pre(packed?.delta === true);
        const all = unpackDistances(packed, 0, distances[0]!, distances.length);
        const rows = Uint32Array.from(distances.keys()).filter((i) => i % 3 !== 1);
        expect(distancesAt(packed, distances[0]!, distances.length, rows)).toEqual(
          Float64Array.from(rows, (i) => all[i]!),
        );
        for (const at of [bound, bound - 0.5, distances[1]!, distances[distances.length - 1]! + 1])
          expect(countBelow(packed, distances[0]!, distances.length, at)).toBe(all.filter((d) => d < at).length);
      },
    ),
  );
});

test.each([200, 50_000, 50_000_000])(
  'distances packed by many steps of up to %i are counted up to any of them',
  (most) => {
    let at = 7;
    const distances = Float64Array.from({ length: 2000 }, (_, i) => (at += i % 500 === 1 ? most : (i * 7919) % most));
    const packed = packDistances(distances);
    expect(packed?.delta).toBe(true);
    for (let i = 0; i < distances.length; i++)
      expect(countBelow(packed!, distances[0]!, distances.length, distances[i]!)).toBe(
        distances.findIndex((d) => d >= distances[i]!),
      );
    expect(countBelow(packed!, distances[0]!, distances.length, Infinity)).toBe(distances.length);
  },
);

describe('the first rows', async () => {
  const rows = Array.from({ length: 5000 }, (_, i) => {
    const k = { name: 'k', value: kinds.milliseconds(i) };
    const x = { name: 'x', value: i % 5 === 0 ? stringValue(`x${i}`) : intValue(i) };
    return recordValue(
      i % 3 === 0
        ? [k, idOf(i)]
        : i % 3 === 1
          ? [k, idOf(i), x]
          : [k, idOf(i), { name: 'in', value: recordValue([x]) }],
    );
  });
  const metas = await load(rows, 'asc', 3000);
  const all = rows.map((v) => supText(v));
  const batches = async (options: Partial<ScanOptions>): Promise<Vector[]> => {
    const out: Vector[] = [];
    for await (const rows of scanObjects(
      { keys: [['k']], order: 'asc', objects, page: () => ({ objects: metas }) },
      { ordered: true, ...options },
    ))
      out.push(rows);
    return out;
  };
  test.each([1, 2, 10, 999])(
    'come in a batch of their own when %i are wanted, and no others behind them',
    async (limit) => {
      const given = await batches({ limit });
      expect(given.flatMap(textsOf)).toEqual(all);
      let read = 0;
      for await (const rows of scanObjects(
        { keys: [['k']], order: 'asc', objects, page: () => ({ objects: metas }) },
        {
          ordered: true,
          limit,
          read: (_, rows) => {
            read += rows;
          },
        },
      )) {
        expect(textsOf(rows)).toEqual(all.slice(0, limit));
        break;
      }
      // Parts that they are not in are not read, nor the next block.
      expect(read).toBe(1000 * Math.min(3, limit));
      expect(given[0]!.length).toBe(limit);
      expect(sizeOf(given[0]!)).toBeLessThan(limit * 600);
    },
  );
  test('come first where all are wanted', async () => {
    const given = await batches({ batchRows: 1024 });
    expect(given.map((b) => b.length)).toEqual([256, 1372, 1372, 2000]);
    expect(given.flatMap(textsOf)).toEqual(all);
  });
  test('rows that are cut out of a block are those of a slice, whatever their order', () => {
    const block = vectorOf(rows.slice(0, 60));
    const shuffled: Vector = {
      ...block,
      ...(block.form === 'dynamic' && { tags: block.tags.slice().reverse(), slots: block.slots.slice().reverse() }),
    };
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), fc.constantFrom(block, shuffled), (a, b, v) => {
        const [from, to] = a < b ? [a, b] : [b, a];
        expect(textsOf(cutOut(v, from, to))).toEqual(textsOf(slice(v, from, to)));
      }),
    );
  });
});
