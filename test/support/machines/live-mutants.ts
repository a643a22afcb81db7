/**
 * The mutants of the charts as the service runs them: each chart without one transition, or with one guard negated, in
 * its real host (the lake with its pools, the services of a bucket, the routes with the workers, the events feed), and what can be seen from
 * outside compared with what the whole chart does. What is seen are answers, events, statuses and what the inspector
 * lists, never the chart itself.
 */
import type { AnyStateMachine } from 'xstate';
import { type MachineName, machines } from '../../../machines/machines.ts';
import { harnessOf } from './harness.ts';
import { RunBench } from './live-runs.ts';
import { partsOf, type TransitionPart, withGuardNegated, withoutTransition } from './parts.ts';

/** `noticed`: the first thing that was seen otherwise; undefined: nothing was. `excused`: why nothing can be. */
export interface LiveMutant {
  readonly machine: MachineName;
  readonly change: string;
  readonly noticed: string | undefined;
  readonly excused: string | undefined;
}

/** Runs all mutants of these machines. */
export async function* liveMutants(names: readonly MachineName[]): AsyncGenerator<LiveMutant> {
  const runs = await RunBench.start();
  try {
    for (const name of names) {
      const machine = machines[name];
      const { see, excuses } = await harnessOf(name);
      const whole = await see(machine, runs);
      const again = difference(whole, await see(machine, runs));
      if (again !== undefined) throw new Error(`${name}: two runs of the same chart differ: ${again}`);
      for (const { change, mutant, part } of mutantsOf(machine)) {
        const excused = excuses.find(([id]) => id.test(part.id))?.[1];
        const noticed = difference(whole, await see(mutant, runs));
        yield { machine: name, change, noticed, excused };
      }
    }
  } finally {
    await runs.close();
  }
}

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
