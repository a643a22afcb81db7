/** Sort keys of rows: evaluated a batch at a time, guessed where a query names none. */
import type { SortKey } from '../../../query/plan/plan.ts';
import { type RecordType, type Type, isFloat, isInteger, types, underType } from '../../../vectors/type.ts';
import type { PlanExpr } from '../../../query/plan/plan.ts';
import { type Vector, typeAt } from '../../../vectors/vector.ts';
import type { AsyncEvaluator } from '../../expressions/evaluator.ts';
import { type Side, evaluate } from '../../operator.ts';
import { type Words, sortedOrder } from './radix.ts';
import { type Direction, sortWords } from './words.ts';

/** A sort key with its expression compiled. */
export interface EvaluatedKey extends Direction {
  readonly evaluate: AsyncEvaluator;
}

/** The key columns of a batch. */
export function* keysOf(batch: Vector, keys: readonly EvaluatedKey[]): Generator<Side, Vector[]> {
  const out: Vector[] = [];
  for (const k of keys) out.push(yield* evaluate(k.evaluate, batch));
  return out;
}

/** The order of rows by key columns. */
export const orderBy = (columns: readonly Vector[], keys: readonly Direction[], length: number): Uint32Array => {
  const words: Words = columns.flatMap((c, k) => sortWords(c, keys[k]));
  return sortedOrder(words, length);
};

/** The keys of a sort: those of the query, or one guessed from the first value, once for all runs of the operator. */
export const guessing = (
  named: readonly SortKey[],
  reverse: boolean,
  expression: (e: PlanExpr) => AsyncEvaluator,
): ((batch: Vector) => readonly EvaluatedKey[]) => {
  const made = (keys: readonly SortKey[]): readonly EvaluatedKey[] =>
    keys.map(({ expr, ...direction }) => ({ ...direction, evaluate: expression(expr) }));
  let keys = named.length > 0 ? made(named) : undefined;
  return (batch) =>
    (keys ??= made([{ expr: guess(typeAt(batch, 0)), order: reverse ? 'desc' : 'asc', nulls: 'last' }]));
};

/**
 * The first integer field, else the first float, else the first that is no time, else `ts`; the value itself if it is
 * no record.
 */
const guess = (type: Type): PlanExpr => {
  const under = underType(type);
  if (under.kind !== 'record') return { kind: 'this' };
  const fields = [...leaves(under, [])];
  const found =
    fields.find((f) => isInteger(f.type)) ??
    fields.find((f) => isFloat(f.type)) ??
    fields.find((f) => f.type !== types.time);
  return (found?.path ?? ['ts']).reduce<PlanExpr>((of, name) => ({ kind: 'field', of, name }), { kind: 'this' });
};
function* leaves(
  type: RecordType,
  path: readonly string[],
): Generator<{ readonly path: readonly string[]; readonly type: Type }> {
  for (const f of type.fields) {
    const under = underType(f.type);
    if (under.kind === 'record') yield* leaves(under, [...path, f.name]);
    else yield { path: [...path, f.name], type: under };
  }
}
