/**
 * Walks a machine with `xstate/graph` through every state that it can get into, with queues that are short and work
 * that may end in any way, and tells for each state and event where it leads and which parts are reached.
 */
import { type AnyMachineSnapshot, type AnyStateMachine, transition } from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';
import { type MachineName, machines } from '../../../machines/machines.ts';
import type { RecordedEvent } from '../../../src/recording/record.ts';
import { harnessOf } from './harness.ts';
import { reached, withReports } from './parts.ts';
import { emittedBy, stateName } from './scenario-player.ts';

/**
 * One event in one state of the walk. `column`: what machines/SPEC.md calls the event. `outcomes`: of the jobs that
 * were settled.
 */
interface WalkStep {
  readonly from: string;
  readonly column: string;
  readonly event: RecordedEvent;
  readonly taken: boolean;
  readonly to: string;
  readonly ended: boolean;
  readonly emitted: readonly RecordedEvent[];
}
interface Walk {
  readonly steps: readonly WalkStep[];
  readonly reached: ReadonlySet<string>;
  readonly situations: number;
}

export const walkMachine = async (name: MachineName): Promise<Walk> => {
  const { plan } = await harnessOf(name);
  const machine: AnyStateMachine = withReports(machines[name]);
  const seen = new Set<string>();
  const steps: WalkStep[] = [];
  const map = getAdjacencyMap(
    machine as never,
    {
      input: plan.input,
      limit: 100_000,
      serializeState: (state: unknown) =>
        JSON.stringify([
          (state as AnyMachineSnapshot).value,
          (state as AnyMachineSnapshot).status,
          plan.key((state as AnyMachineSnapshot).context as never),
        ]) as never,
      events: ((state: AnyMachineSnapshot) =>
        state.status === 'active' ? plan.events(state).map(([, event]) => event) : []) as never,
    } as never,
  ) as unknown as Readonly<Record<string, { readonly state: AnyMachineSnapshot }>>;
  for (const { state } of Object.values(map)) {
    if (state.status !== 'active') continue;
    for (const [column, event] of plan.events(state)) {
      const [next, actions] = transition(machine, state, event) as unknown as [
        AnyMachineSnapshot,
        readonly { readonly type: string; readonly params?: unknown }[],
      ];
      const emitted = emittedBy(actions) as readonly RecordedEvent[];
      for (const one of emitted) if (one.type === reached) seen.add(one['id'] as string);
      steps.push({
        from: stateName(state.value),
        column,
        event,
        taken: machine.getTransitionData(state, event).length > 0,
        to: stateName(next.value),
        ended: next.status !== 'active',
        emitted: emitted.filter((one) => one.type !== reached),
      });
    }
  }
  // What is entered at the start.
  const first = withReports(machines[name]).getInitialSnapshot(
    { emit: () => undefined } as never,
    plan.input as never,
  ) as AnyMachineSnapshot;
  for (
    let at: string = stateName(first.value), id = `${machines[name].id}.${at}`;
    id !== '';
    id = id.includes('.') ? id.slice(0, id.lastIndexOf('.')) : ''
  )
    seen.add(id);
  return { steps, reached: seen, situations: Object.keys(map).length };
};
