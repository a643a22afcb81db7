/** What calls in SQL make of the error values of functions: null for null, the end of the query for what it says itself. */
import { LakeError } from '../../../errors.ts';
import { partsOf } from '../../../query/plan/walk.ts';
import type { PlanExpr } from '../../../query/plan/plan.ts';
import type { Value } from '../../../vectors/value.ts';
import type { CallContext, Evaluate } from '../../functions/row.ts';
import type { Evaluator } from '../evaluator.ts';
import { mayHave } from '../lift.ts';
import { overlay, truth, truthOf } from '../rows.ts';
import { type Vector, noRows, nulls, valueAt } from '../../../vectors/vector.ts';

/** What the query itself says: a literal, or what casts and operators make of some, worked out by a rule or not. */
export const writtenIn = (e: PlanExpr, valueOf: (e: PlanExpr) => Value): Value | undefined => {
  if (e.kind === 'literal') return e.value;
  if (!isWritten(e)) return undefined;
  try {
    return valueOf(e);
  } catch (error) {
    if (error instanceof LakeError) return undefined;
    throw error;
  }
};
const isWritten = (e: PlanExpr): boolean =>
  e.kind === 'literal' || (ofWritten.has(e.kind) && partsOf(e).every((part) => isWritten(part)));
const ofWritten: ReadonlySet<PlanExpr['kind']> = new Set(['sqlCast', 'cast', 'negate', 'arithmetic', 'concat']);

/** In SQL a function that refuses null gives null for it, and one that refuses a literal of the query ends it. */
export const nullsOfCalls =
  (args: readonly Evaluator[], evaluate: Evaluate, literals: CallContext['literals']): Evaluator =>
  (batch) => {
    if (batch.length === 0) return noRows;
    const values = args.map((arg) => arg(batch));
    const result = evaluate(values, batch.length);
    if (!mayHave(result, 'error')) return result;
    const codes = truthOf(result);
    const refused = new Uint8Array(batch.length);
    for (const v of values)
      truthOf(v).forEach((code, i) => {
        if (code === truth.null && codes[i] === truth.error) refused[i] = 1;
      });
    if (literals.some((l) => l !== undefined))
      refuseLiterals(result, literals, (i) => codes[i] === truth.error && refused[i] === 0);
    return refused.includes(1) ? overlay(result, refused, nulls(batch.length)) : result;
  };
/** An error around a literal is a mistake of the query, whatever the rows are. @throws query-argument */
const refuseLiterals = (result: Vector, literals: CallContext['literals'], isAsked: (row: number) => boolean): void => {
  for (let i = 0; i < result.length; i++) {
    if (!isAsked(i)) continue;
    const { type, data } = valueAt(result, i);
    if (
      type.kind !== 'error' ||
      type.inner.kind !== 'record' ||
      type.inner.fields.length !== 2 ||
      type.inner.fields[1]!.name !== 'on'
    )
      continue;
    const [message, on] = data as readonly [string, Value['data']];
    const of = type.inner.fields[1]!.type;
    if (literals.some((l) => l?.type === of && l.data === on))
      throw new LakeError('query-argument', { fault: message });
  }
};
