/** The state charts of the service by the names that recordings, scenarios and the inspector use: the one list of them. */
import type { AnyStateMachine } from 'xstate';
import { lakeMachine } from './lake.machine.ts';
import { loadMachine } from './load.machine.ts';
import { poolMachine } from './pool.machine.ts';
import { queryMachine } from './query.machine.ts';
import { storeMachine } from './store.machine.ts';
import { subscriberMachine } from './subscriber.machine.ts';
import { transactionMachine } from './transaction.machine.ts';

const charts = {
  lake: lakeMachine,
  store: storeMachine,
  pool: poolMachine,
  transaction: transactionMachine,
  load: loadMachine,
  query: queryMachine,
  subscriber: subscriberMachine,
} as const;

/** The machine that an actor runs. */
export type MachineName = keyof typeof charts;
/** The charts by their names. */
export const machines: { readonly [Name in MachineName]: AnyStateMachine } = charts;
/** The kinds of actors that are recorded. */
export const machineNames = Object.keys(charts) as readonly MachineName[];
