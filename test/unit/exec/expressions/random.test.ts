/**
 * Random expressions over random rows: a batch as a whole gives what its rows give one by one, in whatever form the
 * vectors come.
 */
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { compileExpression } from '../../../../src/exec/expressions/compile.ts';
import { functionTable } from '../../../../src/exec/functions/functions.ts';
import type { PlanExpr } from '../../../../src/query/plan/plan.ts';
import { vectorOf } from '../../../../src/vectors/builder.ts';
import { longDecimalType } from '../../../../src/vectors/decimal.ts';
import { spanRecord, spanType } from '../../../../src/vectors/spans.ts';
import { types } from '../../../../src/vectors/type.ts';
import {
  type Value,
  errorValue,
  intValue,
  missing,
  nullValue,
  recordValue,
  stringValue,
} from '../../../../src/vectors/value.ts';
import { type Vector, constant, gather, slice, take, valueAt } from '../../../../src/vectors/vector.ts';
import { supText } from '../../../../src/vectors/sup/print.ts';
import { anyValue } from '../../../support/formats/values.ts';

const field = (name: string): PlanExpr => ({ kind: 'field', of: { kind: 'this' }, name });
const literal = (value: Value): PlanExpr => ({ kind: 'literal', value });

/** Few different values, so that types meet and rows repeat. */
const scalars: fc.Arbitrary<Value> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...[0, 1, -3, 7, 300].map(intValue)) },
  fc.constantFrom<Value>(
    nullValue,
    missing,
    errorValue(stringValue('e')),
    stringValue(''),
    stringValue('a'),
    stringValue('日本 Foo'),
    stringValue('7'),
    { type: types.bool, data: true },
    { type: types.bool, data: false },
    { type: types.float64, data: 1.5 },
    { type: types.float64, data: NaN },
    { type: types.float64, data: -Infinity },
    { type: types.int64, data: -2147483648 },
    { type: longDecimalType, data: '100000000000000000000.5' },
    { type: spanType, data: [1, 2, 3] },
    { type: spanRecord, data: [1, 0, 0] },
    { type: types.uint8, data: 255 },
    { type: types.int64, data: 9223372036854775807n },
    { type: types.uint64, data: 18446744073709551615n },
    { type: types.duration, data: 3.6e12 },
    { type: types.time, data: 1704067200000000000n },
    { type: types.type, data: types.int64 },
  ),
  { weight: 2, arbitrary: anyValue() },
);
const rows = fc.array(fc.tuple(scalars, scalars), { minLength: 1, maxLength: 12 });

const names = functionTable.filter((f) => !f.impure && !f.lambda).map((f) => f.name);
const expressions: fc.Arbitrary<PlanExpr> = fc.letrec<{ e: PlanExpr }>((tie) => {
  const e = tie('e');
  return {
    e: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom(field('a'), field('b'), { kind: 'this' } as const),
      scalars.map(literal),
      fc.record({
        kind: fc.constant('arithmetic' as const),
        operator: fc.constantFrom('+', '-', '*', '/', '%'),
        left: e,
        right: e,
      }),
      fc.record({
        kind: fc.constant('compare' as const),
        operator: fc.constantFrom('==', '!=', '<', '<=', '>', '>='),
        left: e,
        right: e,
      }),
      fc.record({ kind: fc.constantFrom('and', 'or'), left: e, right: e }),
      fc.record({ kind: fc.constantFrom('not', 'negate', 'isNull'), operand: e }),
      fc.record({ kind: fc.constantFrom('concat', 'in'), left: e, right: e }),
      fc.record({ kind: fc.constant('conditional' as const), test: e, then: e, otherwise: e }),
      fc.record({
        kind: fc.constant('case' as const),
        operand: e,
        branches: fc.array(fc.record({ when: e, then: e }), { minLength: 1, maxLength: 2 }),
      }),
      fc.record({ kind: fc.constant('field' as const), of: e, name: fc.constantFrom('a', 'b', 'x') }),
      fc.record({ kind: fc.constant('index' as const), of: e, at: e, base: fc.constant(0 as const) }),
      fc.record({
        kind: fc.constant('slice' as const),
        of: e,
        from: scalars.map(literal),
        base: fc.constant(0 as const),
      }),
      fc.record({ kind: fc.constant('cast' as const), operand: e, type: fc.constantFrom(...Object.values(types)) }),
      fc.record({ kind: fc.constant('castNamed' as const), operand: e, name: fc.constantFrom('n', 'm') }),
      fc.record({
        kind: fc.constantFrom('array', 'set'),
        elements: fc.array(fc.record({ spread: fc.boolean(), value: e }), { maxLength: 3 }),
      }),
      fc.record({
        kind: fc.constant('map' as const),
        entries: fc.array(fc.record({ key: e, value: e }), { maxLength: 2 }),
      }),
      fc.record({
        kind: fc.constant('fstring' as const),
        parts: fc.array(fc.oneof(fc.constant('-'), e), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('searchText' as const), operand: e, text: fc.constantFrom('foo', 'a', '本') }),
      fc.record({ kind: fc.constant('like' as const), operand: e, pattern: fc.constantFrom('%a', '_', '日%') }),
      fc.tuple(e, e).map(
        ([x, y]): PlanExpr => ({
          kind: 'record',
          elements: [
            { kind: 'field', name: 'x', value: x },
            { kind: 'spread', value: y },
          ],
        }),
      ),
      fc.tuple(fc.constantFrom(...names), fc.array(e, { minLength: 3, maxLength: 3 })).map(([name, args]): PlanExpr => {
        const row = functionTable.find((f) => f.name === name)!;
        return {
          kind: 'call',
          name,
          arguments: args.slice(0, Math.max(row.argumentsMin, Math.min(2, row.argumentsMax))),
        };
      }),
    ) as fc.Arbitrary<PlanExpr>,
  };
}).e;

const evaluate = (expr: PlanExpr, batch: Vector): string[] => {
  const result = compileExpression(expr, { functions: [], names: new Map() })(batch);
  expect(result.length).toBe(batch.length);
  return Array.from({ length: batch.length }, (_, i) => supText(valueAt(result, i)));
};

/** The same rows: picked out of more rows, or looked up in a dictionary of them. */
const forms: Readonly<Record<string, (v: Vector) => Vector>> = {
  selected: (v) =>
    take(
      gather(
        v,
        Uint32Array.from({ length: v.length * 2 }, (_, i) => i >> 1),
      ),
      Uint32Array.from({ length: v.length }, (_, i) => i * 2),
    ),
  dictionary: (v) => ({
    form: 'dictionary',
    length: v.length,
    codes: Uint32Array.from({ length: v.length }, (_, i) => v.length - 1 - i),
    values: gather(
      v,
      Uint32Array.from({ length: v.length }, (_, i) => v.length - 1 - i),
    ),
  }),
};
const inFields = (v: Vector, change: (x: Vector) => Vector): Vector => {
  if (v.form !== 'record') return change(v);
  return { ...v, fields: v.fields.map((f) => ({ ...f, values: change(f.values) })) };
};

describe('random expressions', () => {
  test('a batch gives what its rows give one by one', { timeout: 900_000 }, () => {
    fc.assert(
      fc.property(expressions, rows, (expr, values) => {
        const batch = vectorOf(
          values.map(([a, b]) =>
            recordValue([
              { name: 'a', value: a },
              { name: 'b', value: b },
            ]),
          ),
        );
        const whole = evaluate(expr, batch);
        const single = values.flatMap((_, i) => evaluate(expr, slice(batch, i, i + 1)));
        expect(whole).toEqual(single);
        for (const change of Object.values(forms)) {
          expect(evaluate(expr, inFields(batch, change))).toEqual(single);
          expect(evaluate(expr, change(batch))).toEqual(single);
        }
        expect(evaluate(expr, constant(slice(batch, 0, 1), 3))).toEqual([single[0], single[0], single[0]]);
      }),
      { numRuns: Number(process.env['RANDOM_RUNS'] ?? 400) },
    );
  });
});
