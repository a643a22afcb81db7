/**
 * Refusals for memory name the operator: what charges bytes knows only what it makes, such as a copy of rows, not for
 * whom. An operator's stream adds its name to what is thrown out of it, unless one before it has done so.
 */
import { LakeError } from '../../errors.ts';
import type { PlanOp } from '../../query/plan/plan.ts';
import type { Item, Stream } from '../operator.ts';

/** Operators that hold rows or evaluate expressions, as queries call them. */
const names: { readonly [K in PlanOp['kind'] | 'last']?: string } = {
  values: 'values',
  filter: 'where',
  cut: 'cut',
  put: 'put',
  tail: 'tail',
  sort: 'sort',
  top: 'top',
  last: 'sort',
  distinct: 'distinct',
  fuse: 'fuse',
  unnest: 'unnest',
  aggregate: 'aggregate',
  window: 'window',
  join: 'join',
  merge: 'merge',
};
const told = new WeakSet<LakeError>();

/** The operator's name; undefined for those whose errors are left alone. */
export const nameOf = (op: PlanOp | { readonly kind: 'last' }): string | undefined =>
  op.kind === 'setOperation' ? op.operator : names[op.kind];

/** Does some of an operator's work. @throws what it throws, with the name in refusals for memory */
export const named = <T>(name: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw withName(error, name);
  }
};
const withName = (error: unknown, name: string): unknown => {
  if (!(error instanceof LakeError) || told.has(error)) return error;
  if (error.code !== 'query-memory' && error.code !== 'query-memory-busy') return error;
  const { operator } = error.parameters;
  return toldOf(
    new LakeError(error.code, { ...error.parameters, operator: `${name} (${String(operator)})` }, { cause: error }),
  );
};
const toldOf = (error: LakeError): LakeError => {
  told.add(error);
  return error;
};
/** What an operator says that refuses by itself. */
export const refusalOf = (operator: string, limit: number): LakeError =>
  toldOf(new LakeError('query-memory', { operator, limit }));

/** A stream of the operator. */
export const namedStream = (stream: Stream, name: string): Stream => ({
  [Symbol.iterator]: () => {
    const items = stream[Symbol.iterator]();
    const next = (): IteratorResult<Item> => items.next();
    return {
      next: () => named(name, next),
      return: () => items.return?.() ?? { done: true, value: undefined },
    };
  },
  narrow: stream.narrow,
});
