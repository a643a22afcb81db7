/**
 * Fast ways of grouping and aggregating give what the plain ones give: dictionaries and flat columns, grids and hash
 * tables, one group and many, sparse and mixed numbers.
 */
import { describe, expect, it, test } from 'vitest';
import { aggregateNamed } from '../../../src/exec/aggregates/aggregates.ts';
import { CombinationTable } from '../../../src/exec/aggregates/grouping/combinations.ts';
import { GroupTable } from '../../../src/exec/aggregates/grouping/groups.ts';
import { hashRows } from '../../../src/exec/aggregates/grouping/hash.ts';
import { none } from '../../../src/exec/aggregates/grouping/pair-table.ts';
import type { Aggregate, PlanExpr, PlanOp } from '../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { markRuns } from '../../../src/vectors/runs.ts';
import { types } from '../../../src/vectors/type.ts';
import { type Value, intValue, nullValue, recordValue, stringValue, textError } from '../../../src/vectors/value.ts';
import { type Vector, constant, flatten, nulls, take, valueAt } from '../../../src/vectors/vector.ts';
import { planOf, runPlan, supOf } from '../../support/queries/run-plan.ts';

/** Numbers below `below`, the same ones each time. */
const numbersBelow = (length: number, below: number, seed = 1): Uint32Array => {
  let x = seed;
  return Uint32Array.from({ length }, () => {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0;
    return (x >>> 8) % below;
  });
};
const rows = (v: Vector): Value[] => Array.from({ length: v.length }, (_, i) => valueAt(v, i));
const float = (data: number): Value => ({ type: types.float64, data });
const words = (count: number, prefix: string): Vector =>
  vectorOf(Array.from({ length: count }, (_, i) => stringValue(`${prefix}${i}`)));
const dictionary = (values: Vector, codes: Uint32Array): Vector => ({
  form: 'dictionary',
  length: codes.length,
  codes,
  values,
});

describe('groups by numbers of very many values', () => {
  const length = 50_000;
  /** Ids beyond what floats hold, of both signs, each twice. */
  const ids = Array.from({ length }, (_, i) => BigInt((i * 7919) % 25_000) * 368_934_881_474_191n - (1n << 62n));
  const wide = (from: number, to: number): Vector => ({
    form: 'number',
    type: types.int64,
    length: to - from,
    values: BigInt64Array.from(ids.slice(from, to)),
  });
  const narrow = (from: number, to: number, add = 0): Vector => ({
    form: 'number',
    type: types.int64,
    length: to - from,
    values: Float64Array.from({ length: to - from }, (_, i) => (from + i) * (i % 2 ? -3 : 3) + add),
  });
  const few = (from: number, to: number): Vector =>
    dictionary(
      words(5, 'm'),
      Uint32Array.from({ length: to - from }, (_, i) => (from + i) % 5),
    );
  const batch = 5000;
  /** What each row is, and its group in the order of arrival. */
  class Plain {
    readonly groups = new Map<string, number>();
    ids(keys: readonly Vector[], rowCount: number, insert = true): number[] {
      const columns = keys.map(rows);
      return Array.from({ length: rowCount }, (_, i) => {
        const key = columns.map((c) => String(c[i]!.data)).join();
        if (insert && !this.groups.has(key)) this.groups.set(key, this.groups.size);
        return this.groups.get(key) ?? none;
      });
    }
  }
  const same = (table: GroupTable, plain: Plain, keys: readonly Vector[], insert = true): void => {
    const { length: count } = keys[0]!;
    expect(Array.from(table.ids(keys, count, insert, false))).toEqual(plain.ids(keys, count, insert));
  };
  const keysOf = (table: GroupTable, start = 0): string[] => {
    const columns = table.keys(start).map(rows);
    return columns[0]!.map((_, i) => columns.map((c) => String(c[i]!.data)).join());
  };
  const filled = (sql: boolean): { readonly table: GroupTable; readonly plain: Plain } => {
    const table = new GroupTable(3, sql);
    const plain = new Plain();
    for (let at = 0; at < length; at += batch)
      same(table, plain, [wide(at, at + batch), few(at, at + batch), narrow(at, at + batch)]);
    return { table, plain };
  };

  for (const sql of [true, false])
    it(`are those of a map, in its order; sql: ${sql}`, () => {
      const { table, plain } = filled(sql);
      expect(table.size).toBe(plain.groups.size);
      expect(keysOf(table)).toEqual([...plain.groups.keys()]);
      expect(keysOf(table, table.size - 3)).toEqual([...plain.groups.keys()].slice(-3));
      same(table, plain, [wide(0, batch), few(0, batch), narrow(0, batch)]);
      // Rows that are not there, of known and of unknown values.
      same(table, plain, [wide(1, batch), few(1, batch), narrow(0, batch - 1)], false);
      same(table, plain, [wide(0, 3), words(3, 'other'), narrow(0, 3)], false);
      // Numbers that need a second word.
      same(table, plain, [wide(0, batch), few(0, batch), narrow(0, batch, 2 ** 40)]);
      expect(keysOf(table)).toEqual([...plain.groups.keys()]);
      // A key of another kind: all have codes again.
      const texts = words(300, 'k');
      same(table, plain, [wide(0, 300), few(0, 300), texts]);
      same(table, plain, [wide(0, batch), few(0, batch), narrow(0, batch)]);
      expect(keysOf(table)).toEqual([...plain.groups.keys()]);
    });
  for (const sql of [true, false])
    it(`are the keys of another table of the same kind from its first rows on; sql: ${sql}`, () => {
      const another = filled(sql).table.another();
      const plain = new Plain();
      expect(another.size).toBe(0);
      const keys = [wide(0, batch), few(0, batch), narrow(0, batch)];
      same(another, plain, keys);
      const other = new GroupTable(3, sql);
      other.ids(keys, batch);
      expect(another.bytes).toBeLessThan(other.bytes / 1.5);
      same(another, plain, [wide(1, batch), few(1, batch), narrow(0, batch - 1)], false);
      same(another, plain, [wide(0, batch), few(0, batch), narrow(0, batch, 2 ** 40)]);
      expect(keysOf(another)).toEqual([...plain.groups.keys()]);
      // Of its own: the first table's keys of another kind are not its.
      same(another.another(), new Plain(), [wide(0, 300), few(0, 300), words(300, 'k')]);
      same(another, plain, [wide(0, 300), few(0, 300), words(300, 'k')]);
      expect(keysOf(another)).toEqual([...plain.groups.keys()]);
    });
  it('take less memory than codes of each column', () => {
    const codes = new GroupTable(3, true);
    codes.ids([vectorOf([nullValue]), vectorOf([nullValue]), vectorOf([nullValue])], 1);
    for (let at = 0; at < length; at += batch)
      codes.ids([wide(at, at + batch), few(at, at + batch), narrow(at, at + batch)], batch);
    expect(filled(true).table.bytes).toBeLessThan(codes.bytes / 1.5);
  });
});

describe('groups', () => {
  const length = 3000;
  const first = dictionary(words(300, 'user'), numbersBelow(length, 300));
  const second = dictionary(words(7, 'm'), numbersBelow(length, 7, 5));
  const third = vectorOf(Array.from(numbersBelow(length, 40, 9), (x) => intValue(x)));

  it('dictionaries, their copies with other codes and flat columns have the same groups in the order in which they are met', () => {
    const table = new GroupTable(1);
    const ids = table.ids([first], length);
    expect(table.ids([flatten(first)], length)).toEqual(ids);
    expect(table.ids([take(flatten(first), Uint32Array.from(ids.keys()))], length)).toEqual(ids);
    const turned = words(300, 'user');
    const reversed = Uint32Array.from({ length: 300 }, (_, i) => 299 - i);
    expect(
      table.ids(
        [
          dictionary(
            flatten(take(turned, reversed)),
            (first as Extract<Vector, { form: 'dictionary' }>).codes.map((c) => 299 - c),
          ),
        ],
        length,
      ),
    ).toEqual(ids);
    let next = 0;
    for (const id of ids) {
      expect(id).toBeLessThanOrEqual(next);
      if (id === next) next++;
    }
    expect(next).toBe(table.size);
  });

  it('several keys have the same groups row by row, batch by batch and in reused arrays', () => {
    const keys = [first, second, third];
    const kept = new GroupTable(3);
    const reused = new GroupTable(3);
    const single = new GroupTable(3);
    const ids = kept.ids(keys, length);
    const own: number[] = [];
    for (let start = 0; start < length; start += 700) {
      const part = Uint32Array.from({ length: Math.min(700, length - start) }, (_, i) => start + i);
      own.push(
        ...reused.ids(
          keys.map((k) => take(k, part)),
          part.length,
          true,
          false,
        ),
      );
    }
    expect(own).toEqual([...ids]);
    expect(
      Array.from(
        { length },
        (_, i) =>
          single.ids(
            keys.map((k) => take(k, Uint32Array.of(i))),
            1,
          )[0],
      ),
    ).toEqual([...ids]);
    expect(kept.keys().map(rows)).toEqual(single.keys().map(rows));
    expect(reused.keys().map(rows)).toEqual(single.keys().map(rows));
  });

  it('a constant key is the same as a column that repeats it', () => {
    const one = vectorOf([stringValue('http')]);
    const constants = new GroupTable(2);
    const columns = new GroupTable(2);
    expect(constants.ids([constant(one, length), second], length, true, false).slice()).toEqual(
      columns.ids([flatten(constant(one, length)), second], length),
    );
  });

  it('keys of unlike types, nulls and errors have the groups that single rows have', () => {
    const mixed = vectorOf(
      Array.from(numbersBelow(length, 60, 21), (x) =>
        x % 4 === 0 ? nullValue : x % 4 === 1 ? intValue(x) : x % 4 === 2 ? stringValue(`${x}`) : textError('missing'),
      ),
    );
    const kept = new GroupTable(2);
    const reused = new GroupTable(2);
    const single = new GroupTable(2);
    const keys = [mixed, second];
    const one = Array.from(
      { length },
      (_, i) =>
        single.ids(
          keys.map((k) => take(k, Uint32Array.of(i))),
          1,
        )[0]!,
    );
    const names = single.keys().map(rows);
    for (const [table, isKept] of [
      [kept, true],
      [reused, false],
    ] as const) {
      const ids = table.ids(keys, length, true, isKept);
      const own = table.keys().map(rows);
      expect(Array.from(ids, (g) => own.map((k) => k[g]))).toEqual(one.map((g) => names.map((k) => k[g])));
      expect(table.size).toBe(single.size);
    }
    expect(reused.ids([nulls(300), constant(vectorOf([stringValue('m1')]), 300)], 300, false, false)[0]).toBe(
      reused.ids([nulls(1), vectorOf([stringValue('m1')])], 1, false)[0],
    );
  });

  it('keys that are not there are not put in', () => {
    const table = new GroupTable(2);
    table.ids([take(first, Uint32Array.of(0, 1)), take(second, Uint32Array.of(0, 1))], 2);
    const found = table.ids([first, second], length, false, false).filter((g) => g !== 0xffffffff);
    expect(table.size).toBe(2);
    expect(found.length).toBeGreaterThan(0);
  });
});

describe('batches of one group', () => {
  const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
  const of = (
    name: string,
    argument?: PlanExpr,
  ): { readonly target: readonly string[]; readonly aggregate: Aggregate } => ({
    target: [argument ? name : 'rows'],
    aggregate: { name, ...(argument && { argument }), distinct: false },
  });
  const op: PlanOp = {
    kind: 'aggregate',
    keys: [
      { target: ['k'], expr: field('k') },
      { target: ['m'], expr: field('m') },
    ],
    aggregates: [
      of('count'),
      ...['sum', 'avg', 'min', 'max', 'dcount', 'collect', 'any', 'union'].map((name) => of(name, field('x'))),
    ],
  };
  const rowOf = (i: number, order: readonly number[]): Value =>
    recordValue([
      { name: 'k', value: intValue(Math.floor(order[i]! / 500)) },
      { name: 'm', value: order[i]! < 900 ? stringValue('a') : nullValue },
      {
        name: 'x',
        value:
          order[i]! % 7 === 0
            ? nullValue
            : order[i]! % 5 === 0 && order[i]! < 500
              ? stringValue(`t${order[i]!}`)
              : float(order[i]! / 3),
      },
    ]);
  const sorted = Array.from({ length: 2500 }, (_, i) => i);
  const mixed = [...numbersBelow(2500, 2500)];

  for (const [what, order] of [
    ['sorted', sorted],
    ['mixed', mixed],
  ] as const) {
    it(`${what} rows: the answer does not depend on the size of batches`, async () => {
      const input = vectorOf(order.map((_, i) => rowOf(i, order)));
      const run = async (batchRows: number): Promise<string> =>
        supOf((await runPlan(planOf([op]), { input }, { batchRows })).map((b) => b.batch));
      const one = await run(1);
      expect(one.trimEnd().split('\n').length).toBeGreaterThan(5);
      for (const batchRows of [300, 500, 4096]) expect(await run(batchRows)).toBe(one);
    });
  }
});

test('rows in runs of equal keys are grouped as the same rows are that come one by one', async () => {
  const length = 4000;
  const starts = [0, 700, 1900, 2500];
  const codes = Uint32Array.from({ length }, (_, i) => [1, 0, 2, 1][starts.findLastIndex((s) => s <= i)]!);
  const x = vectorOf(Array.from(numbersBelow(length, 1000), (n) => (n % 9 === 0 ? nullValue : float(n / 3))));
  const input = (k: Vector): Vector => ({
    form: 'record',
    length,
    fields: [
      { name: 'k', optional: false, values: k },
      { name: 'x', optional: false, values: x },
    ],
  });
  const key = { form: 'dictionary', length, codes, values: words(3, 'k') } as const;
  const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
  const op: PlanOp = {
    kind: 'aggregate',
    keys: [{ target: ['k'], expr: field('k') }],
    aggregates: ['count', 'sum', 'max', 'collect'].map((name) => ({
      target: [name],
      aggregate: { name, argument: field('x'), distinct: false },
    })),
  };
  const run = async (k: Vector, batchRows: number): Promise<string> =>
    supOf((await runPlan(planOf([op]), { input: input(k) }, { batchRows })).map((b) => b.batch));
  const known = await run(markRuns({ ...key }, Uint32Array.of(700, 1900, 2500, length)), length);
  expect(known).toBe(await run(key, length));
  expect(known).toBe(await run(key, 1));
  expect(known.split('\n')[0]).toContain('k1');
});

describe('sums that are worked out in place', () => {
  const length = 400;
  const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
  const plus = (left: PlanExpr, right: PlanExpr): PlanExpr => ({ kind: 'arithmetic', operator: '+', left, right });
  const input = vectorOf(
    Array.from(numbersBelow(length, 1000), (n, i) =>
      recordValue([
        { name: 'k', value: intValue(n % 3) },
        { name: 'x', value: float(n / 4) },
        { name: 'y', value: n % 11 === 0 ? nullValue : float(i) },
      ]),
    ),
  );
  const put: PlanOp = {
    kind: 'put',
    assignments: [
      { target: ['s'], value: plus(field('x'), field('y')) },
      { target: ['d'], value: plus(plus(field('x'), field('y')), field('x')) },
    ],
  };
  const of = (keys: readonly string[], ...list: readonly (readonly [name: string, argument: PlanExpr])[]): PlanOp => ({
    kind: 'aggregate',
    keys: keys.map((k) => ({ target: [k], expr: field(k) })),
    aggregates: list.map(([name, argument], i) => ({
      target: [`${name}${i}`],
      aggregate: { name, argument, distinct: false },
    })),
  });
  const run = async (ops: readonly PlanOp[], batchRows: number): Promise<string> =>
    supOf((await runPlan(planOf(ops), { input }, { batchRows })).map((b) => b.batch));
  const passing = [
    put,
    of(
      [],
      ['sum', field('s')],
      ['max', field('d')],
      ['avg', plus(field('s'), field('d'))],
      ['dcount', plus(field('s'), field('d'))],
      ['min', plus(field('s'), field('d'))],
    ),
  ];
  const cases: readonly (readonly [what: string, ops: readonly PlanOp[]])[] = [
    ['of put fields', passing],
    [
      'beside what is kept of them',
      [put, of([], ['sum', field('s')], ['collect', field('d')], ['collect', plus(field('s'), field('d'))])],
    ],
    [
      'of groups',
      [
        put,
        of(['k'], ['sum', plus(field('s'), field('x'))], ['max', plus(field('s'), field('x'))]),
        { kind: 'sort', keys: [{ expr: field('k'), order: 'asc', nulls: 'last' }], reverse: false },
      ],
    ],
    [
      'in one branch, and kept in another',
      [
        {
          kind: 'fork',
          branches: [{ ops: passing }, { ops: [put, of([], ['collect', field('s')], ['sum', field('d')])] }],
        },
        { kind: 'sort', keys: [{ expr: field('sum0'), order: 'asc', nulls: 'last' }], reverse: false },
      ],
    ],
  ];
  it.each(cases)('%s are those of single rows', async (_, ops) => {
    const one = await run(ops, 1);
    for (const batchRows of [7, 130, 4096]) expect(await run(ops, batchRows)).toBe(one);
  });
  it('what is kept of them is what the rows say', async () => {
    const kept = await run([put, of([], ['sum', field('s')], ['collect', field('d')])], 300);
    const plain = await run([of([], ['collect', plus(plus(field('x'), field('y')), field('x'))])], length);
    expect(kept.slice(kept.indexOf('['))).toBe(plain.slice(plain.indexOf('[')));
  });
});

describe('combinations of codes', () => {
  /**
   * Sizes of which first none, then one is more than 1, then those that outgrow a grid, then the bits that columns had,
   * then two words.
   */
  const steps = (columns: number): number[][] => [
    Array.from({ length: columns }, () => 1),
    Array.from({ length: columns }, (_, k) => (k === columns - 1 ? 3 : 1)),
    ...wider(columns),
  ];
  const wider = (columns: number): number[][] =>
    [3, 9, 40, 300, 3000, 70_000, 40_000_000].map((size, step) =>
      Array.from({ length: columns }, (_, k) => (k % 3 === 1 ? Math.min(size, 7) : size + (k === 0 ? step : 0))),
    );
  for (const columns of [2, 3, 5, 9]) {
    it(`${columns} columns that grow have the codes that a map gives, and these lead back to the columns' codes`, () => {
      const table = new CombinationTable(columns);
      const known = new Map<string, number>();
      const all: number[][] = [];
      for (const sizes of steps(columns)) {
        // Codes of a column come in order; of large ones the last is there, and two thirds of the rows come again.
        const codes = sizes.map((size, k) =>
          numbersBelow(2000, size, size + k).map((x, i) =>
            size <= 3 ? i % size : i === 7 ? size - 1 : i % 3 > 0 ? (x % 5) % size : x,
          ),
        );
        const keys = Array.from({ length: 2000 }, (_, i) => codes.map((c) => c[i]!));
        const before = keys.map((k) => known.get(k.join(' ')) ?? none);
        if (sizes[0]! > 1)
          expect(Array.from(table.codes(codes, { sizes, insert: false, out: new Uint32Array(2000) }))).toEqual(before);
        for (const key of keys) {
          if (known.has(key.join(' '))) continue;
          known.set(key.join(' '), known.size);
          all.push(key);
        }
        expect(Array.from(table.codes(codes, { sizes, insert: true, out: new Uint32Array(2000) }))).toEqual(
          keys.map((k) => known.get(k.join(' '))),
        );
        expect(Array.from(table.codes(codes, { sizes, insert: false, out: new Uint32Array(2000) }))).toEqual(
          keys.map((k) => known.get(k.join(' '))),
        );
        expect(table.columnCodes().map((c) => Array.from(c))).toEqual(codes.map((_, k) => all.map((key) => key[k])));
        expect(table.columnCodes(Uint32Array.of(table.size - 1, 0)).map((c) => Array.from(c))).toEqual(
          codes.map((_, k) => [all.at(-1)![k], all[0]![k]]),
        );
      }
      expect(table.size).toBe(known.size);
    });
  }
  it('a row that lacks a code has no combination', () => {
    const table = new CombinationTable(3);
    const codes = [Uint32Array.of(0, 1, 2), Uint32Array.of(0, 0, 1), Uint32Array.of(3, 1, 0)];
    const sizes = [3, 2, 4];
    table.codes(codes, { sizes, insert: true, out: new Uint32Array(3) });
    const some = codes.map((c, k) => c.map((code, i) => (i === k ? none : code)));
    expect(Array.from(table.codes(some, { sizes, insert: false, out: new Uint32Array(3) }))).toEqual([
      none,
      none,
      none,
    ]);
    // Nor has one whose code came after all combinations, and has more bits than there were.
    const large = codes.map((c, k) => (k === 0 ? c.map((code) => code + 2 ** 31) : c));
    expect(
      Array.from(table.codes(large, { sizes: [2 ** 31 + 3, 2, 4], insert: false, out: new Uint32Array(3) })),
    ).toEqual([none, none, none]);
  });
});

describe('hashes', () => {
  it('do not depend on where they go, nor on the place of the bytes', () => {
    const v = flatten(dictionary(words(5000, 'some text of length '), numbersBelow(4000, 5000)));
    const into = { low: new Uint32Array(9000), high: new Uint32Array(9000) };
    const { low, high } = hashRows(v);
    hashRows(v, into);
    expect(into.low.subarray(0, 4000)).toEqual(low);
    expect(into.high.subarray(0, 4000)).toEqual(high);
    const one = hashRows(take(v, Uint32Array.of(17)));
    expect([one.low[0], one.high[0]]).toEqual([low[17], high[17]]);
  });
});

describe('states', () => {
  const length = 1500;
  const groups = 13;
  const ids = numbersBelow(length, groups, 3);
  const numbers = numbersBelow(length, 1000, 11);
  const columns: Record<string, Vector> = {
    integers: vectorOf(Array.from(numbers, (x) => intValue(x - 300))),
    floats: vectorOf(Array.from(numbers, (x) => float(x / 7))),
    'floats with nulls': vectorOf(Array.from(numbers, (x) => (x % 5 === 0 ? nullValue : float(x / 7)))),
    'integers with nulls': vectorOf(Array.from(numbers, (x) => (x % 5 === 0 ? nullValue : intValue(x)))),
    'integers beyond 2^53 in sum': vectorOf(Array.from(numbers, (x) => intValue(9_007_199_254_740_000 - x))),
    'a few large integers, then small ones': vectorOf(
      Array.from(numbers, (x, i) => intValue(i < 350 && i > 300 ? 9_007_199_254_740_000 - x : 2 * x + 1)),
    ),
    'big integers': vectorOf(Array.from(numbers, (x) => intValue(9_007_199_254_740_993n * BigInt(x % 3)))),
    'integers and floats': vectorOf(Array.from(numbers, (x) => (x % 2 === 0 ? intValue(x) : float(x / 3)))),
    'NaN among floats': vectorOf(Array.from(numbers, (x) => float(x === 500 ? NaN : x))),
    'numbers and texts': vectorOf(Array.from(numbers, (x) => (x % 50 === 0 ? stringValue(`${x}`) : intValue(x)))),
    texts: vectorOf(Array.from(numbers, (x) => stringValue(`text ${x}`))),
    nothing: constant(vectorOf([textError('missing')]), length),
    nulls: { form: 'null', length },
    constants: constant(vectorOf([intValue(3)]), length),
  };
  const names = ['sum', 'avg', 'min', 'max', 'count', 'dcount', 'any'];

  /** Row by row: a batch for each. */
  const plain = (name: string, v: Vector, of: Uint32Array): Value[] => {
    const state = aggregateNamed(name)!.state({ all: false, distinct: false });
    state.grow(groups);
    for (let i = 0; i < length; i++) state.update(Uint32Array.of(of[i]!), vectorOf([valueAt(v, i)]));
    return rows(state.result(groups));
  };

  for (const name of names) {
    for (const [what, v] of Object.entries(columns)) {
      it(`${name} of ${what}: batches of rows give what single rows give`, () => {
        const state = aggregateNamed(name)!.state({ all: false, distinct: false });
        state.grow(groups);
        for (let start = 0; start < length; start += 400) {
          const part = Uint32Array.from({ length: Math.min(400, length - start) }, (_, i) => start + i);
          state.update(
            ids.subarray(start, start + part.length),
            start % 800 === 0 ? flatten(take(v, part)) : take(v, part),
          );
        }
        expect(rows(state.result(groups))).toEqual(plain(name, v, ids));
      });

      it(`${name} of ${what}: rows of one group, after others and before others`, () => {
        const state = aggregateNamed(name)!.state({ all: false, distinct: false });
        const of = ids.map((g, i) => (i >= 200 && i < 900 ? 4 : g));
        const rowsFrom = (start: number, end: number): Vector =>
          flatten(
            take(
              v,
              Uint32Array.from({ length: end - start }, (_, i) => start + i),
            ),
          );
        state.grow(groups);
        state.update(of.subarray(0, 200), rowsFrom(0, 200));
        const one = (start: number, end: number): void => {
          if (state.updateOne) state.updateOne(4, rowsFrom(start, end));
          else state.update(of.subarray(start, end), rowsFrom(start, end));
        };
        one(200, 700);
        one(700, 900);
        state.update(of.subarray(900), rowsFrom(900, length));
        expect(rows(state.result(groups))).toEqual(plain(name, v, of));
      });
    }
  }

  it('the estimate of many distinct values does not depend on how they came', () => {
    const many = Array.from({ length: 20000 }, (_, i) => stringValue(`id${Math.imul(i, 2654435761) >>> 0}`));
    const v = vectorOf(many);
    const one = aggregateNamed('dcount')!.state({ all: false, distinct: false });
    const each = aggregateNamed('dcount')!.state({ all: false, distinct: false });
    one.grow(1);
    each.grow(1);
    one.updateOne!(0, v);
    for (let i = 0; i < many.length; i += 10)
      each.update(
        new Uint32Array(10),
        flatten(
          take(
            v,
            Uint32Array.from({ length: 10 }, (_, k) => i + k),
          ),
        ),
      );
    expect(rows(one.result(1))).toEqual(rows(each.result(1)));
    expect(Math.abs(Number(rows(one.result(1))[0]!.data) - 20000)).toBeLessThan(600);
  });
});
