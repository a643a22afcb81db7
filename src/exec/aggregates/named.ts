/**
 * Aggregates by name, and fresh states of them. The table (aggregates.ts) puts its rows here: some of them ask for
 * others by name.
 */
import { stateFormOf } from '../../query/sql/values/states.ts';
import { types } from '../../vectors/type.ts';
import { underValue } from '../../vectors/value.ts';
import { valueAt } from '../../vectors/vector.ts';
import { DistinctState } from './grouping/distinct.ts';
import type { AggregateState } from './grouping/state.ts';
import { CollectState } from './collect.ts';
import { ExportedState } from './exported.ts';
import { OrderedState } from './ordered.ts';
import type { AggregateRow, StateCall } from './row.ts';
import { StrictState } from './strict.ts';

/** By lower-case name. */
export const rowsByName = new Map<string, AggregateRow>();

/** The row of that lower-case name, or of the state that it names. */
export const aggregateNamed = (name: string): AggregateRow | undefined => rowsByName.get(name) ?? stateRow(name);

/** A fresh state of an aggregate that is called so. */
export const stateFor = (of: AggregateRow, call: StateCall): AggregateState => {
  const { takes, takesSpans = false, signature } = of;
  const plain = (): AggregateState =>
    call.sql && takes ? new StrictState(of.state(call), { name: signature.name, takes, takesSpans }) : of.state(call);
  const make = (): AggregateState =>
    call.distinct && of.counts ? new DistinctState(plain(), call.sql === true) : plain();
  return call.order ? new OrderedState(call.order, make) : make();
};

/** An aggregate of which states are values. */
export interface Exported {
  /** A fresh state. */
  readonly make: () => AggregateState;
  /** Its states are what `absorb` takes; else they are arrays of arguments. */
  readonly isCompact: boolean;
  /** The arguments are whole units of the last of so many decimal places. */
  readonly scale: number | undefined;
  readonly name: string;
}
/** Undefined for a type's name that is no state's. */
export const exportedNamed = (typeName: string): Exported | undefined => {
  if (last?.typeName !== typeName) last = { typeName, of: exportedBy(typeName) };
  return last.of;
};
/** Of many states in a row most are of one aggregate. */
let last: { readonly typeName: string; readonly of: Exported | undefined } | undefined;
const exportedBy = (typeName: string): Exported | undefined => {
  const form = stateFormOf(typeName);
  const row = form && rowsByName.get(form.name);
  if (!form || !row) return undefined;
  const make = (): AggregateState => stateFor(row, { ...form, sql: true });
  const state = make();
  return { make, isCompact: !!(state.plain ?? state).absorb, scale: form.scale, name: form.name };
};
/** What takes rows whose state is wanted. */
export const exportingState = (typeName: string, of: Exported): ExportedState =>
  new ExportedState(of.isCompact ? of.make() : new CollectState(true), typeName, !of.isCompact && givesAnything(of));
/** Whether no rows give something else than null. */
const givesAnything = ({ make }: Exported): boolean => {
  const state = make();
  state.grow(1);
  return underValue(valueAt(state.result(1), 0)).type !== types.null;
};

/** The row of an aggregate whose results are the states of another. */
const stateRow = (name: string): AggregateRow | undefined => {
  const of = exportedNamed(name);
  return (
    of && {
      signature: { name, argumentsMin: 0, argumentsMax: 3 },
      text: `the state of ${of.name}`,
      examples: [],
      state: () => exportingState(name, of),
    }
  );
};
