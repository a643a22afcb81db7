/** What a row of the table of aggregates is, and how rows are written. */
import type { AggregateForm, FunctionSignature } from '../../query/plan/plan.ts';
import type { AggregateState } from './grouping/state.ts';
import type { Takes } from './strict.ts';

/** How an aggregate is called; `all`: without argument. */
export interface StateCall extends AggregateForm {
  readonly all: boolean;
}

/** One aggregate: what the help says of it, and how its state is made. */
export interface AggregateRow {
  readonly signature: FunctionSignature;
  readonly text: string;
  /** Query, input and output in SUP, one value a line. */
  readonly examples: readonly { readonly query: string; readonly input: string; readonly output: string }[];
  /** A fresh state. */
  readonly state: (call: StateCall) => AggregateState;
  /** It matters how often a value comes; to the others `distinct` says nothing. */
  readonly counts?: true;
  /** In SQL other values end the query. */
  readonly takes?: Takes;
  /** In SQL it takes intervals with months too. */
  readonly takesSpans?: true;
}

/** A row of an aggregate with one argument. */
export const row = (
  name: string,
  text: string,
  state: AggregateRow['state'],
  examples: AggregateRow['examples'],
  argumentsMin: 0 | 1 = 1,
): AggregateRow => ({ signature: { name, argumentsMin, argumentsMax: 1 }, text, examples, state });

/** A row of an aggregate to which it matters how often a value comes. */
export const counting = (...of: Parameters<typeof row>): AggregateRow => ({ ...row(...of), counts: true });

/** An aggregate under another name. */
export const alias = (of: AggregateRow, name: string, examples: AggregateRow['examples']): AggregateRow => ({
  ...of,
  signature: { ...of.signature, name },
  examples,
});

/** One whose second argument may be there; both come as fields of a record. */
export const paired = (
  name: string,
  argumentsMin: number,
  text: string,
  state: AggregateRow['state'],
  examples: AggregateRow['examples'],
): AggregateRow => ({ signature: { name, argumentsMin, argumentsMax: 2 }, text, examples, state });

/** An aggregate that gives one of the values of its argument. */
export const giving = (of: AggregateRow): AggregateRow => signed(of, { gives: 'argument' });

/** An aggregate that gives the value beside which its second argument is least or greatest. */
export const givingBy = (of: AggregateRow): AggregateRow => signed(of, { gives: 'argument', comparesSecond: true });

/** A row with more in its signature. */
export const signed = (of: AggregateRow, more: Partial<FunctionSignature>): AggregateRow => ({
  ...of,
  signature: { ...of.signature, ...more },
});
/** A row that takes such values alone in SQL. */
export const taking = (takes: Takes, of: AggregateRow): AggregateRow => ({ ...of, takes });
