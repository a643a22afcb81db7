/**
 * Samples of rows: each row gets a digest of its number and a seed, by which it is taken or not.
 *
 * Invariants:
 * - A percentage of BERNOULLI and SYSTEM is the chance of each row; a number of rows, and a percentage of RESERVOIR, is
 *   kept exactly.
 * - The same seed over the same rows gives the same sample; without one each query has a seed of its own.
 */
import { types } from '../../../vectors/type.ts';
import { floatValue, stringValue } from '../../../vectors/value.ts';
import type { Analysis } from '../../analyze/context.ts';
import type { SqlSample } from '../../ast.ts';
import { callOf, compareOf, fieldOf, literal, thisExpr } from '../../plan/walk.ts';
import type { PlanExpr, PlanOp, WindowCall } from '../../plan/plan.ts';

const rowField = 'row';
const numberField = 'number';
const place = 'place';
const total = 'total';

/** The operators that take a sample of the rows before them. */
export const sampleOps = (a: Analysis, e: SqlSample): readonly PlanOp[] => {
  const { size, unit, method, seed = drawnSeed(a) } = e;
  if (unit === 'percent' && size > 100) a.fault(`a sample is at most 100 percent, not ${size}`, e);
  if (unit === 'rows' && !Number.isInteger(size)) a.fault(`a sample has a whole number of rows, not ${size}`, e);
  const numbered: PlanOp = {
    kind: 'count',
    expr: { kind: 'record', elements: [{ kind: 'field', name: rowField, value: thisExpr }] },
    field: numberField,
  };
  const rows: PlanOp = { kind: 'values', exprs: [fieldOf(thisExpr, rowField)] };
  const number: PlanExpr = { kind: 'cast', operand: fieldOf(thisExpr, numberField), type: types.string };
  const digest = callOf('md5', { kind: 'concat', left: number, right: literal(stringValue(` ${seed}`)) });
  if (unit === 'rows')
    return [
      numbered,
      { kind: 'sort', keys: [{ expr: digest, order: 'asc', nulls: 'last' }], reverse: false },
      { kind: 'head', count: size },
      rows,
    ];
  if (method !== 'reservoir')
    return size >= 100
      ? []
      : [numbered, { kind: 'filter', expr: compareOf(digest, '<', literal(stringValue(bound(size)))) }, rows];
  const share: PlanExpr = {
    kind: 'arithmetic',
    operator: '*',
    left: fieldOf(thisExpr, total),
    right: literal(floatValue(size / 100)),
  };
  return [
    numbered,
    {
      kind: 'window',
      row: rowField,
      groups: [
        {
          partition: [],
          order: [{ expr: digest, order: 'asc', nulls: 'last' }],
          calls: [callOver('row_number', place, 'current'), callOver('count', total, 'unbounded')],
        },
      ],
    },
    { kind: 'filter', expr: compareOf(fieldOf(thisExpr, place), '<=', share) },
    rows,
    rows,
  ];
};

const drawnSeed = (a: Analysis): number => {
  a.environment.varies?.();
  return Math.floor(Math.random() * 2 ** 31);
};

/** Digests below it are so many hundredths of all. */
const bound = (percent: number): string =>
  Math.floor((percent / 100) * 2 ** 32)
    .toString(16)
    .padStart(8, '0');

const callOver = (name: string, target: string, end: 'current' | 'unbounded'): WindowCall => ({
  name,
  target,
  arguments: [],
  distinct: false,
  ignoreNulls: false,
  frame: { unit: 'rows', start: { kind: 'unbounded' }, end: { kind: end }, exclude: 'none' },
});
