/**
 * What tests of the charts know of one: `test/scenarios/<name>/harness.ts` has it, beside the scenarios of that chart.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import type { MachineName } from '../../../machines/machines.ts';
import type { RecordedEvent } from '../../../src/recording/record.ts';
import type { RunBench } from './live-runs.ts';

/** How a walk goes through a chart (walk.ts). */
export interface Plan {
  readonly input: unknown;
  /** Everything that may come now, under the name that SPEC.md has for it. */
  readonly events: (snapshot: AnyMachineSnapshot) => readonly (readonly [column: string, event: RecordedEvent])[];
  /** What of the context makes a difference. */
  readonly key: (context: Readonly<Record<string, unknown>>) => unknown;
}
/** A chart for the tests. */
export interface MachineHarness {
  readonly plan: Plan;
  /** What can be seen from outside of a host that runs this chart, or a mutant of it (live-mutants.ts), a line each. */
  readonly see: (chart: AnyStateMachine, runs: RunBench) => Promise<readonly string[]>;
  /** Transitions that the service itself never takes, or whose absence nobody outside can see; and why. */
  readonly excuses: readonly (readonly [RegExp, string])[];
}
/** The harness of a chart. */
export const harnessOf = async (name: MachineName): Promise<MachineHarness> =>
  ((await import(new URL(`../../scenarios/${name}/harness.ts`, import.meta.url).href)) as { harness: MachineHarness })
    .harness;

/** The actors that a snapshot has. */
export const childrenOf = (snapshot: AnyMachineSnapshot) =>
  Object.entries(snapshot.children as Record<string, { readonly src: unknown }>).map(([id, child]) => ({
    id,
    source: String(child.src),
  }));
/** Work that ended. */
export const done = (id: string, output?: unknown): RecordedEvent => ({
  type: `xstate.done.actor.${id}`,
  output,
  actorId: id,
});
/** Work that broke. */
export const broke = (id: string): RecordedEvent => ({
  type: `xstate.error.actor.${id}`,
  error: new Error('broken'),
  actorId: id,
});
/** An outcome for each job. */
export const outcomesOf = (running: unknown) =>
  (Array.isArray(running) ? running : running ? [running] : []).map((job: { readonly id: number }) => ({
    id: job.id,
    status: 'done' as const,
  }));
