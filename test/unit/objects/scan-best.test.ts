/**
 * The first and the last rows by the pool's own key: the same as without any knowledge of keys, and few blocks read for
 * it.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionHost, ScanFilter } from '../../../src/exec/source.ts';
import type { ObjectMeta, ObjectPage, PageRequest, SortOrder } from '../../../src/lake/lake.types.ts';
import { sortIntoObjects } from '../../../src/lake/load/sort.ts';
import { ObjectList } from '../../../src/lake/objects/list.ts';
import { openObjects } from '../../../src/lake/objects/objects.ts';
import { scanObjects } from '../../../src/lake/scan/scan.ts';
import type { ScanOptions } from '../../../src/lake/scan/scan.types.ts';
import { BestKeys } from '../../../src/lake/scan/best.ts';
import type { PlanExpr, PlanOp, SortKey } from '../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { lowerBound, sortKeyBytes, upperBound } from '../../../src/vectors/sort-key.ts';
import { nullable, types } from '../../../src/vectors/type.ts';
import { type Value, intValue, missing, nullValue, recordValue, stringValue } from '../../../src/vectors/value.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { type Random, randomOf, seedOf } from '../../support/random.ts';
import { planOf, runPlan, supOf } from '../../support/queries/run-plan.ts';

const folder = mkdtempSync(join(tmpdir(), 'lake-best-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const objects = openObjects(folder);

interface LoadOptions {
  readonly order: SortOrder;
  readonly blockRows: number;
  readonly threshold: number;
}
const load = async (rows: readonly Value[], options: LoadOptions): Promise<readonly ObjectMeta[]> =>
  (
    await sortIntoObjects(
      (async function* give() {
        yield vectorOf(rows);
      })(),
      {
        keys: [['k']],
        memoryBytesMax: 64 << 20,
        objects,
        spill: () => openObjects(join(folder, 'spill')),
        ...options,
      },
    )
  ).objects;
/** As the lake lists them. */
const pages = (metas: readonly ObjectMeta[], order: SortOrder) => {
  const entries = ObjectList.of(
    order,
    metas.map((m, i) => ({ ...m, sequence: i, inTable: m.inline !== undefined, vector: false })),
  ).entries();
  const listed = [...entries].map((e) => metas[e.sequence]!);
  return ({ cursor = 0, limit }: PageRequest): ObjectPage => ({
    objects: listed.slice(cursor, cursor + limit),
    ...(cursor + limit < listed.length && { next: cursor + limit }),
  });
};

const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
const row = (k: Value | undefined, n: number): Value =>
  recordValue([
    { name: 'n', value: intValue(n) },
    ...(k ? [{ name: 'k', value: k }] : []),
    ...(n % 3 === 0 ? [{ name: 'more', value: stringValue(`m${n}`) }] : []),
  ]);

interface Ask {
  readonly keys: readonly SortKey[];
  readonly count: number;
  readonly end: 'head' | 'tail';
  readonly filter?: PlanExpr;
}
/** What the engine answers; `informed` says whether the scan knows that the best rows are wanted. */
const answered = async (
  metas: readonly ObjectMeta[],
  order: SortOrder,
  { keys, count, end, filter }: Ask,
  informed: boolean,
  batchRows = 4096,
) => {
  let shown = 0;
  let given = 0;
  const source = { keys: [['k']], order, objects, page: pages(metas, order) };
  const host = {
    filters: () => true,
    scan: (_: unknown, { filter: wanted, ...request }: ScanOptions & { readonly filter?: ScanFilter }) => {
      const { best: _best, ...plain } = wanted!;
      const keep = (rows: Parameters<ScanFilter['keep']>[0], inOrder?: boolean) => {
        shown += rows.length;
        return wanted!.keep(rows, inOrder);
      };
      const rows = scanObjects(source, {
        ...request,
        batchRows,
        ordered: false,
        filter: { ...(informed ? wanted! : plain), keep },
      });
      return (async function* counted() {
        for await (const batch of rows) {
          given += batch.length;
          yield batch;
        }
      })();
    },
  } as unknown as ExecutionHost;
  const ops: readonly PlanOp[] =
    end === 'head'
      ? [{ kind: 'top', count, keys, reverse: false }]
      : [
          { kind: 'sort', keys, reverse: false },
          { kind: 'tail', count },
        ];
  const {
    pipeline: {
      ops: [scan, ...rest],
    },
    functions,
  } = planOf(ops);
  const plan = {
    pipeline: { ops: [{ ...scan, ordered: false, ...(filter && { filter }) } as PlanOp, ...rest] },
    functions,
  };
  const text = supOf((await runPlan(plan, { input: vectorOf([]) }, { host, batchRows: 8192 })).map((b) => b.batch));
  return { text, shown, given };
};

const long = 'x'.repeat(300);
/** Keys of some kinds, with ties; the later the kinds, the less is known of them. */
const keyOf = (random: Random, kinds: number, range: number): Value | undefined => {
  const x = random.below(range);
  switch (random.below(kinds)) {
    case 0:
      return stringValue(`2024-01-${String(x).padStart(6, '0')}`);
    case 1:
      return stringValue(x % 7 === 0 ? `${long}${x}` : `2024-01-${String(x).padStart(6, '0')}`);
    case 2:
      return intValue(x);
    case 3:
      return random.pick([
        { type: types.time, data: BigInt(x) * 10n ** 15n },
        { type: types.float64, data: x % 50 === 0 ? NaN : x / 2 },
        { type: types.bool, data: x % 2 === 0 },
      ]);
    case 4:
      return random.pick([nullValue, undefined]);
    case 5:
      return random.pick([
        missing,
        recordValue([{ name: 'a', value: x % 2 ? nullValue : intValue(x) }]),
        { type: types.type, data: types.string },
      ]);
    default:
      return stringValue('');
  }
};
const randomKeys = (random: Random): readonly SortKey[] => {
  const key = (name: string): SortKey => ({
    expr: field(name),
    order: random.pick(['asc', 'desc']),
    nulls: random.pick(['first', 'last']),
    ...(random.below(2) === 0 && { sql: true }),
  });
  return random.below(3) === 0 ? [key('k'), key('n')] : [key('k')];
};

describe('the best rows by the pool key', () => {
  test.each(Array.from({ length: Number(process.env['POOLS'] ?? 14) }, (_, i) => i))(
    'are those that they were without it: pool %i',
    async (index) => {
      const random = randomOf(seedOf(71) * 1000 + index);
      const order = random.pick<SortOrder>(['asc', 'desc']);
      const kinds = 1 + random.below(7);
      const range = random.pick([5, 300, 100_000]);
      const metas: ObjectMeta[] = [];
      let n = 0;
      for (let loads = 1 + random.below(4); loads > 0; loads--) {
        const rows = Array.from({ length: random.pick([1, 40, 900, 5000, 9000]) }, () =>
          row(keyOf(random, kinds, range), n++),
        );
        metas.push(
          ...(await load(rows, {
            order,
            blockRows: random.pick([300, 1024, 1500]),
            threshold: random.pick([20_000, 1 << 30]),
          })),
        );
      }
      for (let asks = 0; asks < 8; asks++) {
        const filter: PlanExpr | undefined = random.pick([
          undefined,
          {
            kind: 'compare',
            operator: '>',
            left: field('n'),
            right: { kind: 'literal', value: intValue(random.below(n)) },
          },
        ]);
        const ask: Ask = {
          keys: randomKeys(random),
          count: random.pick([1, 5, 70, 1100, 5000]),
          end: random.pick(['head', 'tail']),
          ...(filter && { filter }),
        };
        const batchRows = random.pick([500, 4096]);
        const [found, usual] = [
          await answered(metas, order, ask, true, batchRows),
          await answered(metas, order, ask, false, batchRows),
        ];
        expect({ ask, text: found.text }).toEqual({ ask, text: usual.text });
      }
    },
  );

  const keys = (order: 'asc' | 'desc', nulls: 'first' | 'last' = 'last'): readonly SortKey[] => [
    { expr: field('k'), order, nulls },
  ];
  const text = (i: number): Value => stringValue(`2024-01-01T${String(i).padStart(9, '0')}`);
  const filter: PlanExpr = {
    kind: 'compare',
    operator: '<',
    left: field('n'),
    right: { kind: 'literal', value: intValue(32_000) },
  };
  describe.each(['asc', 'desc'] as const)('in a pool in order %s', (order) => {
    const kinds: readonly [string, (i: number) => Value][] = [
      ['texts', text],
      ['times', (i) => ({ type: types.time, data: 1_700_000_000_000_000_000n + BigInt(i) })],
      ['numbers', intValue],
    ];
    test.each(kinds)('of all blocks one is read, of several objects one: %s', async (_, key) => {
      const metas: ObjectMeta[] = [];
      for (let at = 0; at < 32_768; at += 16_384)
        metas.push(
          ...(await load(
            Array.from({ length: 16_384 }, (_row, i) => row(key(at + i), at + i)),
            { order, blockRows: 2048, threshold: 1 << 30 },
          )),
        );
      for (const ask of [
        { keys: keys('asc'), end: 'head' },
        { keys: keys('desc'), end: 'head' },
        { keys: keys('asc'), end: 'tail' },
        { keys: keys('desc'), end: 'tail' },
      ] as const) {
        const plain = await answered(metas, order, { ...ask, count: 5 }, true);
        expect(plain.text.trim().split('\n')).toHaveLength(5);
        expect(plain.shown).toBe(2048);
        // Of each of the two shapes.
        expect(plain.given).toBeLessThanOrEqual(10);
        const tested = await answered(metas, order, { ...ask, count: 5, filter }, true);
        expect(tested.shown).toBe(2048);
        expect(tested.text).toBe((await answered(metas, order, { ...ask, count: 5, filter }, false)).text);
        expect((await answered(metas, order, { ...ask, count: 3000 }, true)).shown).toBe(4096);
      }
    });
  });

  test('nulls are read where they come first, and rule nothing out', async () => {
    const rows = Array.from({ length: 16_384 }, (_, i) => row(i < 10 ? nullValue : text(i), i));
    const metas = await load(rows, { order: 'asc', blockRows: 2048, threshold: 1 << 30 });
    const ids = async (ask: Omit<Ask, 'count'>): Promise<readonly string[]> =>
      (
        await answered(
          metas,
          'asc',
          { ...ask, keys: [...ask.keys, { expr: field('n'), order: 'asc', nulls: 'last' }], count: 3 },
          true,
        )
      ).text.match(/n:\d+/g)!;
    expect(await ids({ keys: keys('desc', 'first'), end: 'head' })).toEqual(['n:0', 'n:1', 'n:2']);
    expect(await ids({ keys: keys('asc', 'first'), end: 'head' })).toEqual(['n:0', 'n:1', 'n:2']);
    expect(await ids({ keys: keys('desc'), end: 'head' })).toEqual(['n:16383', 'n:16382', 'n:16381']);
    expect(await ids({ keys: keys('asc'), end: 'head' })).toEqual(['n:10', 'n:11', 'n:12']);
    expect(await ids({ keys: keys('asc'), end: 'tail' })).toEqual(['n:7', 'n:8', 'n:9']);
  });
  test('where keys are equal no more rows are tested ahead than are wanted', async () => {
    const rows = Array.from({ length: 16_384 }, (_, i) => row(text(7), i));
    const metas = await load(rows, { order: 'asc', blockRows: 1024, threshold: 1 << 30 });
    let tested = 0;
    const best = {
      path: ['k'],
      rows: 3,
      isTested: true,
      greater: true,
      dropsNulls: true,
      nanLast: false,
      floor: () => undefined,
      ahead: (batch: Vector) => (tested += batch.length),
    };
    const keep = () => ({ start: 0, length: 3 });
    for await (const batch of scanObjects(
      { keys: [['k']], order: 'asc', objects, page: pages(metas, 'asc') },
      { ordered: false, filter: { keep, best } },
    ))
      expect(batch.length).toBe(3);
    expect(tested).toBe(1024);
  });
  test('what may be null by its type is ruled out by its bounds as other numbers are', async () => {
    const nullableInt = nullable(types.int64);
    for (const nulls of [0, 5]) {
      const rows = Array.from({ length: 16_384 }, (_, i) =>
        recordValue([
          { name: 'k', value: intValue(i) },
          { name: 'v', value: { type: nullableInt, data: i % 1000 < nulls ? nullValue : intValue(i * 3) } },
        ]),
      );
      const metas = await load(rows, { order: 'asc', blockRows: 2048, threshold: 1 << 30 });
      for (const order of ['asc', 'desc'] as const)
        for (const first of ['first', 'last'] as const) {
          const ask = { keys: [{ expr: field('v'), order, nulls: first }], count: 3, end: 'head' } as const;
          const { shown, text: found } = await answered(metas, 'asc', ask, true);
          expect({ order, first, found }).toEqual({
            order,
            first,
            found: (await answered(metas, 'asc', ask, false)).text,
          });
          expect(shown).toBeLessThanOrEqual(nulls > 0 && first === 'first' ? rows.length : 2048);
        }
    }
  });
  test('of many rows without the key none is looked at where they come last', async () => {
    const rows = Array.from({ length: 16_384 }, (_, i) => row(i < 8192 ? text(i) : undefined, i));
    const metas = await load(rows, { order: 'asc', blockRows: 2048, threshold: 1 << 30 });
    for (const ask of [
      { keys: keys('desc'), end: 'head' },
      { keys: keys('asc'), end: 'head' },
      { keys: keys('desc', 'first'), end: 'tail' },
    ] as const) {
      const { shown, text: found } = await answered(metas, 'asc', { ...ask, count: 3 }, true);
      expect({ shown, found }).toEqual({
        shown: 2048,
        found: (await answered(metas, 'asc', { ...ask, count: 3 }, false)).text,
      });
    }
  });
});

describe('spans of keys', () => {
  const span = (low: Value, high: Value) => ({
    low: lowerBound(sortKeyBytes(low)),
    high: upperBound(sortKeyBytes(high)),
  });
  const best = (greater: boolean, dropsNulls: boolean, nanLast = false): BestKeys =>
    new BestKeys(
      { path: ['k'], rows: 10, isTested: true, greater, dropsNulls, nanLast, floor: () => undefined, ahead: () => 0 },
      false,
    );
  test('rule out what is behind as many rows as are wanted, not what reaches the worst of them', () => {
    const b = best(true, true);
    b.add(span(intValue(50), intValue(90)), 6);
    expect(b.mayHold(span(intValue(1), intValue(2)))).toBe(true);
    b.add(span(intValue(20), intValue(30)), 6);
    b.add(span(intValue(60), intValue(70)), 3);
    expect([19, 20, 55].map((x) => b.mayHold(span(intValue(1), intValue(x))))).toEqual([false, true, true]);
    b.add(span(intValue(60), intValue(70)), 1);
    expect([49, 50].map((x) => b.mayHold(span(intValue(1), intValue(x))))).toEqual([false, true]);
    // Texts come after numbers, what is cut may be more than it shows.
    expect(b.mayHold(span(stringValue(''), stringValue(long)))).toBe(true);
  });
  test('that may hold nulls stay where nulls may come first, and tell nothing where they come last', () => {
    const nulls = span(intValue(1), nullValue);
    const few = span(intValue(1), intValue(2));
    for (const [greater, dropsNulls, stays] of [
      [true, true, true],
      [true, false, true],
      [false, true, false],
      [false, false, true],
    ] as const) {
      const b = best(greater, dropsNulls);
      expect(b.tells(nulls)).toBe(greater && !dropsNulls);
      b.add(greater ? span(intValue(50), intValue(60)) : span(intValue(-60), intValue(-50)), 10);
      expect([b.mayHold(nulls), b.mayHold(few), b.tells(few)]).toEqual([stays, false, false]);
    }
  });
});
