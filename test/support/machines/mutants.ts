/** Every transition deleted and every guard negated in turn, and for each of them the scenario that notices. */
import type { AnyStateMachine } from 'xstate';
import { type MachineName, machineNames, machines } from '../../../machines/machines.ts';
import { playScenario } from '../../../src/recording/scenario.ts';
import { partsOf, withGuardNegated, withoutTransition } from './parts.ts';
import { machineScenarios } from './scenario-player.ts';

/** `noticed`: the scenario and its first difference; undefined: nobody noticed. */
interface Mutant {
  readonly machine: MachineName;
  readonly change: string;
  readonly noticed: string | undefined;
}

export const runMutants = (names: readonly MachineName[] = machineNames): readonly Mutant[] =>
  names.flatMap((name) => {
    const machine = machines[name];
    const scenarios = machineScenarios(name);
    const notice = (mutant: AnyStateMachine): string | undefined => {
      for (const { file, scenario } of scenarios) {
        try {
          const first = playScenario(scenario, { ...machines, [name]: mutant }).differences[0];
          if (first) return `${file}, ${first.step}: ${first.what}`;
        } catch (error) {
          return `${file}: ${error instanceof Error ? error.message.split('\n')[0]! : String(error)}`;
        }
      }
      return undefined;
    };
    return partsOf(machine).transitions.flatMap((part) => [
      { machine: name, change: `without ${part.id}`, noticed: notice(withoutTransition(machine, part.id)) },
      ...(part.guard === undefined
        ? []
        : [
            {
              machine: name,
              change: `not "${part.guard}" at ${part.id}`,
              noticed: notice(withGuardNegated(machine, part.id)),
            },
          ]),
    ]);
  });

/** One line a mutant. */
export const mutantText = ({ change, noticed }: Mutant): string =>
  `${noticed === undefined ? 'MISSED ' : 'noticed'} ${change}${noticed === undefined ? '' : ` <- ${noticed}`}`;
