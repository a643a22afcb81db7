/** Strings that are stored as times: compared, cast and cut into buckets as the text says. */
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { compileExpression } from '../../../../src/exec/expressions/compile.ts';
import { compareVectors } from '../../../../src/exec/expressions/compare.ts';
import { foldedSearch } from '../../../../src/exec/expressions/search.ts';
import { timesOfStored } from '../../../../src/exec/expressions/time-bytes.ts';
import type { ArithmeticOperator, CompareOperator, PlanExpr } from '../../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { areTimeTexts, timeTexts, timesOfTexts } from '../../../../src/vectors/texts/times.ts';
import { runsOf } from '../../../../src/vectors/runs.ts';
import { types } from '../../../../src/vectors/type.ts';
import { nullValue, stringValue } from '../../../../src/vectors/value.ts';
import {
  type BytesVector,
  type Vector,
  constant,
  dataAt,
  gather,
  numbers,
  slice,
  take,
} from '../../../../src/vectors/vector.ts';

const texts = (...list: readonly string[]): BytesVector => vectorOf(list.map(stringValue)) as BytesVector;
const stored = (plain: BytesVector): BytesVector => {
  const times = timesOfTexts(plain)!;
  return timeTexts(plain.length, times.digits, () => times);
};
const all = (v: Vector): unknown[] => Array.from({ length: v.length }, (_, i) => dataAt(v, i));

/** Texts of one spelling, near one another or years apart. */
const spelled = fc
  .record({
    digits: fc.integer({ min: 0, max: 9 }),
    start: fc.integer({ min: -9_000_000_000, max: 9_000_000_000 }),
    steps: fc.array(
      fc.record({
        seconds: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -100_000, max: 100_000 })),
        fraction: fc.nat(999_999_999),
      }),
      { minLength: 1, maxLength: 40 },
    ),
  })
  .map(({ digits, start, steps }) =>
    steps.map(({ seconds, fraction }) => {
      const whole = new Date((start + seconds) * 1000).toISOString().slice(0, 19);
      return `${whole}${digits === 0 ? '' : `.${String(fraction).padStart(9, '0').slice(0, digits)}`}Z`;
    }),
  );

describe('times stored for their texts', () => {
  test('give the same texts again, whole, in slices and picked', () => {
    fc.assert(
      fc.property(spelled, fc.nat(40), (list, at) => {
        const plain = texts(...list);
        const start = Math.min(at, list.length - 1);
        const index = Uint32Array.from([start, 0, list.length - 1]);
        expect(all(stored(plain))).toEqual(list);
        expect(all(slice(stored(plain), start, list.length))).toEqual(list.slice(start));
        expect(all(gather(stored(plain), index))).toEqual([list[start], list[0], list.at(-1)]);
        expect({ ...stored(plain) }).toMatchObject({
          form: 'bytes',
          bytes: plain.bytes.slice(0, plain.offsets[plain.length]),
        });
      }),
    );
  });

  test.each([
    ['2026-02-29T00:00:00Z'],
    ['2026-01-02T03:04:60.000Z'],
    ['2026-01-02T24:04:05Z'],
    ['2026-01-02 03:04:05Z'],
    ['2026-01-02T03:04:05.Z'],
    ['2026-01-02T03:04:05+00:00'],
    ['2026-01-02t03:04:05Z'],
    ['1677-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.0000000000Z'],
    [''],
    ['2026-01-02T03:04:05.12aZ'],
    ['2026-01-02T03:04:05.123Z', '2026-01-02T03:04:05.12Z'],
    ['1700-01-01T00:00:00.000000001Z', '2200-01-01T00:00:00.000000001Z'],
  ])('%s is left as text', (...list) => {
    expect(timesOfTexts(texts(...list))).toBeUndefined();
  });

  test('compare with constants of any spelling as texts do', () => {
    const operators: readonly CompareOperator[] = ['==', '!=', '<', '<=', '>', '>='];
    fc.assert(
      fc.property(
        spelled,
        spelled,
        fc.nat(),
        fc.constantFrom(...operators),
        fc.boolean(),
        (list, others, k, operator, own) => {
          const wanted = own
            ? list[k % list.length]!
            : k % 5 === 0
              ? '2026-01'
              : k % 5 === 1
                ? `${list[0]!.slice(0, 19)}Z`
                : others[0]!;
          const plain = texts(...list);
          const beside = constant(texts(wanted), list.length);
          expect(all(compareVectors(operator, stored(plain), beside, list.length))).toEqual(
            all(compareVectors(operator, plain, { ...beside }, list.length)),
          );
          const expected = list.map(
            (t) =>
              ({
                '==': t === wanted,
                '!=': t !== wanted,
                '<': t < wanted,
                '<=': t <= wanted,
                '>': t > wanted,
                '>=': t >= wanted,
              })[operator],
          );
          expect(all(compareVectors(operator, stored(plain), beside, list.length))).toEqual(expected);
          expect(all(compareVectors(operator, plain, beside, list.length))).toEqual(expected);
        },
      ),
    );
  });

  const cast: PlanExpr = { kind: 'cast', operand: { kind: 'this' }, type: types.time };
  const bucketOf = (size: number): PlanExpr => ({
    kind: 'call',
    name: 'bucket',
    arguments: [cast, { kind: 'literal', value: { type: types.duration, data: size } }],
  });
  test('are cast to the same times, and fall into the same buckets', () => {
    fc.assert(
      fc.property(spelled, fc.constantFrom(3600e9, 1e9, 60e9, 86_400e9, 1, 7, 1e6, 1_500_000, 1e3), (list, size) => {
        const plain = texts(...list);
        const context = { functions: [], names: new Map() };
        expect(timesOfStored(plain)).toBeUndefined();
        for (const expr of [cast, bucketOf(size)])
          expect(all(compileExpression(expr, context)(stored(plain)))).toEqual(
            all(compileExpression(expr, context)(plain)),
          );
      }),
    );
  });
  test('one bucket for all rows is a constant, few are a dictionary', () => {
    const hour = bucketOf(3600e9);
    const run = (...list: readonly string[]): Vector =>
      compileExpression(hour, { functions: [], names: new Map() })(stored(texts(...list)));
    expect(run('2026-01-02T03:04:05.678Z', '2026-01-02T03:59:59.999Z')).toMatchObject({ form: 'constant', length: 2 });
    expect(run('2026-01-02T03:59:59.999Z', '2026-01-02T04:00:00.000Z', '2026-01-02T03:00:00.000Z')).toMatchObject({
      form: 'dictionary',
      codes: Uint32Array.of(0, 1, 0),
    });
  });

  test('in order they fall into the same buckets, and runs of these, without being worked out', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 60 });
    const context = { functions: [], names: new Map() };
    fc.assert(
      fc.property(
        steps,
        fc.nat(100_000),
        fc.constantFrom(60e9, 300e9, 3600e9, 86_400e9, 7e9),
        fc.nat(60),
        (list, start, size, cut) => {
          let at = start;
          const plain = texts(
            ...list.map((step) => new Date(Date.UTC(2026, 0, 1) + (at += step) * 1000).toISOString()),
          );
          const times = timesOfTexts(plain)!;
          const { digits, base, distances } = times;
          const seconds = distances.map((d) => base + d / 1000);
          const range = { least: Math.floor(seconds[0]! / 60) * 60, end: Math.floor(seconds.at(-1)! / 60) * 60 + 60 };
          const search = {
            base,
            below: (bound: number) => distances.filter((d) => d < bound).length,
            at: (rows: Uint32Array) => Float64Array.from(rows, (i) => distances[i]!),
          };
          const unknown = (): never => {
            throw new Error('worked out');
          };
          const few = Math.floor((range.end - 1) / (size / 1e9)) - Math.floor(range.least / (size / 1e9)) < 8;
          const whole = timeTexts(list.length, digits, few ? unknown : () => times, () => range, search);
          const from = Math.min(cut, list.length - 1);
          const bucket = compileExpression(bucketOf(size), context);
          for (const [v, expected] of [
            [whole, plain],
            [slice(whole, from, list.length), slice(plain, from, list.length)],
          ] as const) {
            const found = bucket(v);
            const ends = found.form === 'dictionary' ? runsOf(found) : undefined;
            expect(all(found)).toEqual(all(bucket(expected)));
            if (ends && found.form === 'dictionary')
              expect([...ends]).toEqual(
                [...found.codes.keys()].filter((i) => found.codes[i] !== found.codes[i + 1]).map((i) => i + 1),
              );
          }
        },
      ),
    );
  });

  test('are searched only for what times are made of', () => {
    const v = stored(texts('2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.679Z'));
    expect([foldedSearch('rule 17')(v), foldedSearch('user')(v)]).toEqual([undefined, undefined]);
    expect(areTimeTexts(v) && Object.getOwnPropertyDescriptor(v, 'bytes')!.get !== undefined).toBe(true);
    expect([foldedSearch('.678z')(v), foldedSearch('t03:04')(v)]).toEqual([Uint8Array.of(1, 0), Uint8Array.of(1, 1)]);
  });
});

test('text is found in any case, within rows only', () => {
  const word = fc.stringMatching(/^[abAB1 ]{0,9}$/);
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 30 }),
      fc.stringMatching(/^[abAB1 ]{1,6}$/),
      (list, wanted) => {
        const found = foldedSearch(wanted)(texts(...list));
        expect([...(found ?? new Uint8Array(list.length))].slice(0, list.length)).toEqual(
          list.map((t) => Number(t.toLowerCase().includes(wanted.toLowerCase()))),
        );
      },
    ),
    { numRuns: 1000 },
  );
  const long = 'x'.repeat(300);
  expect(foldedSearch(`${long}Y`)(texts(`${long}y`, long, `a${long}${long}Yb`))).toEqual(Uint8Array.of(1, 0, 1));
});

test('equal parts of expressions are computed once a batch', () => {
  const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
  const sum = (): PlanExpr => ({ kind: 'arithmetic', operator: '+', left: field('a'), right: field('b') });
  const context = { functions: [], names: new Map() };
  const [first, second] = [
    compileExpression(sum(), context),
    compileExpression({ kind: 'arithmetic', operator: '*', left: sum(), right: sum() }, context),
  ];
  const batch = (a: number): Vector => ({
    form: 'record',
    length: 1,
    fields: [
      {
        name: 'a',
        optional: false,
        values: { form: 'number', type: types.int64, length: 1, values: Float64Array.of(a) },
      },
      {
        name: 'b',
        optional: false,
        values: { form: 'number', type: types.int64, length: 1, values: Float64Array.of(2) },
      },
    ],
  });
  const one = batch(1);
  const two = batch(2);
  expect([all(first(one)), all(second(one)), all(first(two)), all(second(two)), all(second(one))]).toEqual([
    [3],
    [9],
    [4],
    [16],
    [9],
  ]);
  expect(first(one)).toBe(first(one));
});

test('what arithmetic writes its results over is seen by nobody else', () => {
  const length = 50;
  const x = numbers(
    types.int64,
    Float64Array.from({ length }, (_, i) => i * 3 - 20),
  );
  const y = numbers(
    types.float64,
    Float64Array.from({ length }, (_, i) => i / 4),
  );
  const some = vectorOf(
    Array.from({ length }, (_, i) => (i % 3 === 1 ? nullValue : { type: types.float64, data: i * 1.5 })),
  );
  const fields = [
    ['x', x],
    ['y', y],
    ['some', some],
  ] as const;
  const batch: Vector = {
    form: 'record',
    length,
    fields: fields.map(([name, values]) => ({ name, optional: false, values })),
  };
  const before = fields.map(([, v]) => all(v));
  const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
  const of = (operator: ArithmeticOperator, left: PlanExpr, right: PlanExpr): PlanExpr => ({
    kind: 'arithmetic',
    operator,
    left,
    right,
  });
  const one: PlanExpr = { kind: 'literal', value: { type: types.float64, data: 1 } };
  const sum = of('+', field('x'), field('y'));
  const apart = (): PlanExpr => of('-', field('some'), one);
  const exprs = [
    of('/', sum, of('+', field('some'), one)),
    sum,
    of('*', of('-', one, field('y')), of('+', field('y'), one)),
    of('-', apart(), apart()),
    of('*', apart(), field('x')),
    of('/', of('+', of('+', field('some'), one), field('y')), of('-', field('x'), field('some'))),
  ];
  const context = { functions: [], names: new Map() };
  const compiled = exprs.map((e) => compileExpression(e, context));
  const results = compiled.map((e) => e(batch));
  const single = exprs.map((e) =>
    Array.from(
      { length },
      (_, i) => all(compileExpression(e, { functions: [], names: new Map() })(take(batch, Uint32Array.of(i))))[0],
    ),
  );
  expect(results.map(all)).toEqual(single);
  expect(compiled.map((e) => all(e(slice(batch, 7, length))))).toEqual(single.map((list) => list.slice(7)));
  expect(fields.map(([, v]) => all(v))).toEqual(before);
});
