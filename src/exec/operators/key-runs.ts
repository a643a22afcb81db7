/**
 * Tests on the field that rows are in order of, like `ts > x and ts < y`: each holds for a run of the rows from one end on, which is found by halving.
 *
 * Invariants:
 * - Only for rows whose field is of one type that has an order without gaps: strings, integers, times, durations; others are tested one by one.
 */
import type { FieldPath, PlanExpr } from '../../query/plan.ts';
import { pathOf } from '../../query/plan-walk.ts';
import { type Type, isNumeric, types } from '../../vectors/type.ts';
import { type Vector, slice, uniformType } from '../../vectors/vector.ts';
import type { AsyncEvaluator } from '../expressions/evaluator.ts';
import { isTrue } from '../expressions/rows.ts';
import type { Build } from './build.ts';

/** `find`: the rows [start, end) for which the tests hold; undefined if that cannot be told. `rest`: what is to be tested of those rows besides. */
export interface KeyRuns { readonly find: (rows: Vector) => readonly [start: number, end: number] | undefined; readonly rest: PlanExpr | undefined }

/** Undefined if the filter says nothing of the key. */
export const keyRuns = (filter: PlanExpr, key: FieldPath, build: Build): KeyRuns | undefined => {
  const all = conjuncts(filter), tests = all.filter((e) => isKeyTest(e, key));
  if (tests.length === 0) return undefined;
  const evaluators = tests.map(build.expression), others = all.filter((e) => !tests.includes(e));
  const rest = others.length === 0 ? undefined : others.reduce((left, right) => ({ kind: 'and', left, right }));
  return {
    rest,
    find: (rows) => {
      if (!isOrdered(rows, key)) return undefined;
      let start = 0, end = rows.length;
      for (const test of evaluators) {
        const run = runOf(test, rows);
        if (!run) return undefined;
        start = Math.max(start, run[0]);
        end = Math.min(end, run[1]);
      }
      return [start, Math.max(start, end)];
    },
  };
};

const conjuncts = (e: PlanExpr): readonly PlanExpr[] => (e.kind === 'and' ? [...conjuncts(e.left), ...conjuncts(e.right)] : [e]);

const operators: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);
const isKeyTest = (e: PlanExpr, key: FieldPath): boolean => {
  if (e.kind !== 'compare' || !operators.has(e.operator)) return false;
  const isKey = (side: PlanExpr): boolean => {
    const path = pathOf(side);
    return path !== undefined && path.length === key.length && path.every((name, i) => name === key[i]);
  };
  return (isKey(e.left) && e.right.kind === 'literal') || (e.left.kind === 'literal' && isKey(e.right));
};

/** Whether the field is of one type whose order is that of the stored keys. */
const isOrdered = (rows: Vector, key: FieldPath): boolean => {
  let at = rows;
  for (const name of key) {
    const field = at.form === 'record' ? at.fields.find((f) => f.name === name) : undefined;
    if (!field || field.present) return false;
    at = field.values;
  }
  const type = uniformType(at);
  return type !== undefined && isGapless(type);
};
const isGapless = (type: Type): boolean =>
  type === types.string || (isNumeric(type) && type !== types.float16 && type !== types.float32 && type !== types.float64);

const runOf = (test: AsyncEvaluator, rows: Vector): readonly [number, number] | undefined => {
  const n = rows.length;
  let isKnown = true;
  const holds = (i: number): boolean => {
    const truth = test(slice(rows, i, i + 1));
    if (!(truth instanceof Promise)) return isTrue(truth).length > 0;
    isKnown = false;
    return false;
  };
  const first = holds(0), last = holds(n - 1);
  if (!isKnown) return undefined;
  if (first === last) return first ? [0, n] : [0, 0];
  // Where the truth changes.
  let low = 0, high = n - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (holds(middle) === first) low = middle;
    else high = middle;
  }
  return first ? [0, high] : [high, n];
};
