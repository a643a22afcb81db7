/**
 * The mutants of the charts as the service runs them: each chart without one transition, or with one guard negated, in
 * its real host (the lake with its pools, the services of a bucket, the routes with the workers, the events feed), and what can be seen from
 * outside compared with what the whole chart does. What is seen are answers, events, statuses and what the inspector
 * lists, never the chart itself.
 */
import type { AnyStateMachine } from 'xstate';
import type { MachineName } from '../../../machines/machines.ts';
import { lakeMachine } from '../../../machines/lake.machine.ts';
import { loadMachine } from '../../../machines/load.machine.ts';
import { poolMachine } from '../../../machines/pool.machine.ts';
import { queryMachine } from '../../../machines/query.machine.ts';
import { storeMachine } from '../../../machines/store.machine.ts';
import { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { transactionMachine } from '../../../machines/transaction.machine.ts';
import { runCharts } from '../../../src/workers/watches.ts';
import { seenOfFeed } from './live-feed.ts';
import { seenOfLake, transactionParts } from './live-lake.ts';
import { seenOfStore } from './live-store.ts';
import { RunBench } from './live-runs.ts';
import { partsOf, type TransitionPart, withGuardNegated, withoutTransition } from './parts.ts';

/** `noticed`: the first thing that was seen otherwise; undefined: nothing was. `excused`: why nothing can be. */
export interface LiveMutant {
  readonly machine: MachineName;
  readonly change: string;
  readonly noticed: string | undefined;
  readonly excused: string | undefined;
}

/** Transitions that the service itself never takes, or whose absence nobody outside can see. */
const excuses: readonly (readonly [RegExp, string])[] = [
  [/^pool\.idle always\[0\]/, '`closing` does what `working` does; its name is for those who watch'],
  [/^pool\.opening open broke/, 'opening a pool reads its branches; a row that is damaged fails jobs, not the pool'],
  [
    /^pool\.(working|closing) broke\[[01]\]/,
    'what has its place in the log, with others behind it, breaks by mistakes of ours alone',
  ],
  [
    /^pool\.closing (work waiting|done)\[0\]/,
    'of what waits when the lake closes only 1,024 loads and more go in groups',
  ],
  [/^lake xstate\.error\.actor/, "a pool's actor has no way to break"],
  [/^lake\.closing\.store ends shut down broke/, 'shutting down reports its faults and goes on'],
  [/^lake\.closing (job|pool wanted)/, 'the lake asks its own state before it sends'],
  [/^lake\.failed /, 'nobody holds a lake that could not start'],
  [/^subscriber\.catching up event came/, 'one that catches up reads the event from the log'],
  [
    /^transaction\.releasing let go\[0\]/,
    'pools that are let go together settle within the same turn of the event loop, before the answer goes out',
  ],
  [
    /^query\.working\.compiling compiled/,
    'it is seen only of a query that has no rows yet: test/operations/progress.test.ts',
  ],
  [/^query\.working\.compiling first bytes/, 'workers tell that a text is compiled before its first bytes'],
];

/** Runs all mutants of these machines. */
export async function* liveMutants(names: readonly MachineName[]): AsyncGenerator<LiveMutant> {
  const runs = await RunBench.start();
  try {
    for (const name of names) {
      const { machine, see } = hosts(runs)[name];
      const whole = await see(machine);
      const again = difference(whole, await see(machine));
      if (again !== undefined) throw new Error(`${name}: two runs of the same chart differ: ${again}`);
      for (const { change, mutant, part } of mutantsOf(machine)) {
        const excused = excuses.find(([id]) => id.test(part.id))?.[1];
        const noticed = difference(whole, await see(mutant));
        yield { machine: name, change, noticed, excused };
      }
    }
  } finally {
    await runs.close();
  }
}

interface Host {
  readonly machine: AnyStateMachine;
  readonly see: (machine: AnyStateMachine) => Promise<readonly string[]>;
}
const hosts = (runs: RunBench): { readonly [Name in MachineName]: Host } => ({
  lake: {
    machine: lakeMachine,
    see: (lake) => seenOfLake({ lake: lake as typeof lakeMachine, pool: poolMachine }),
  },
  store: { machine: storeMachine, see: (store) => seenOfStore(store as typeof storeMachine) },
  pool: {
    machine: poolMachine,
    see: (pool) => seenOfLake({ lake: lakeMachine, pool: pool as typeof poolMachine }),
  },
  transaction: {
    machine: transactionMachine,
    see: (transaction) =>
      seenOfLake(
        { lake: lakeMachine, pool: poolMachine, transaction: transaction as typeof transactionMachine },
        transactionParts,
      ),
  },
  load: { machine: loadMachine, see: (load) => runs.seenOfLoads(load as typeof loadMachine) },
  query: { machine: queryMachine, see: (query) => runs.seenOfQueries(query as typeof queryMachine) },
  subscriber: {
    machine: subscriberMachine,
    see: (subscriber) => seenOfFeed({ ...runCharts, subscriber: subscriber as typeof subscriberMachine }),
  },
});

interface MachineMutant {
  readonly change: string;
  readonly mutant: AnyStateMachine;
  readonly part: TransitionPart;
}
/** Transitions that only say that an event changes nothing there are what happens without them too. */
const mutantsOf = (machine: AnyStateMachine): readonly MachineMutant[] =>
  partsOf(machine)
    .transitions.filter((part) => part.does)
    .flatMap((part) => [
      { change: `without ${part.id}`, mutant: withoutTransition(machine, part.id), part },
      ...(part.guard === undefined
        ? []
        : [{ change: `not "${part.guard}" at ${part.id}`, mutant: withGuardNegated(machine, part.id), part }]),
    ]);

const difference = (whole: readonly string[], seen: readonly string[]): string | undefined => {
  const at = whole.findIndex((line, i) => line !== seen[i]);
  if (at < 0) return seen.length > whole.length ? `more: ${seen[whole.length]}` : undefined;
  return `${whole[at]} -> ${seen[at] ?? 'nothing'}`;
};
