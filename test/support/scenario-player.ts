/**
 * Plays a recorded log of events through a machine with XState's pure `transition()`: no actor runs, no time passes. Where the machine waits for work that it
 * invoked, the log says how that ended (`done`, `error`), as the recorded `xstate.done.actor.*` events do.
 *
 * A scenario is a YAML file: `why`, `input` of the machine, `steps`. A step has one of `event`, `done: <name of the work>` with `output`, or `error: <name of the
 * work>` with `message`; and what must hold after it: `state` (nested ones with dots), `emitted` (all of it; absent: nothing), `works` (names of the actors that
 * are there; absent: not compared), `context` (those fields alone).
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { initialTransition, transition, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate';

export interface ScenarioStep {
  readonly event?: { readonly type: string; readonly [field: string]: unknown };
  readonly done?: string;
  readonly output?: unknown;
  readonly error?: string;
  readonly message?: string;
  readonly state: string;
  readonly emitted?: readonly unknown[];
  readonly works?: readonly string[];
  readonly context?: Readonly<Record<string, unknown>>;
}
export interface Scenario { readonly why: string; readonly input?: unknown; readonly start?: string; readonly steps: readonly ScenarioStep[] }
export interface Played { readonly state: string; readonly emitted: readonly unknown[]; readonly works?: readonly string[]; readonly context?: Readonly<Record<string, unknown>> }

export const readScenario = (path: string): Scenario => parse(readFileSync(path, 'utf8')) as Scenario;

/** What the machine did after each step, as far as the step says something of it: compare with `expected`. */
export const play = (machine: AnyStateMachine, scenario: Scenario): readonly Played[] => {
  let [snapshot] = initialTransition(machine, scenario.input) as [AnyMachineSnapshot, unknown];
  return scenario.steps.map((step) => {
    const [next, actions] = transition(machine, snapshot, eventOf(snapshot, step));
    snapshot = next as AnyMachineSnapshot;
    return {
      state: stateName(snapshot.value), emitted: emittedBy(actions),
      ...(step.works && { works: worksOf(snapshot) }),
      ...(step.context && { context: Object.fromEntries(Object.keys(step.context).map((key) => [key, (snapshot.context as Record<string, unknown>)[key]])) }),
    };
  });
};

export const expected = (scenario: Scenario): readonly Played[] => scenario.steps.map((step) => ({
  state: step.state, emitted: step.emitted ?? [], ...(step.works && { works: step.works }), ...(step.context && { context: step.context }),
}));

/** `ready.idle` for `{ready: 'idle'}`. */
export const stateName = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>).map(([name, inner]) => `${name}.${stateName(inner)}`).join(' ');
};

/** The events that the transition's actions emit. */
export const emittedBy = (actions: readonly { readonly type: string; readonly params?: unknown }[]): readonly unknown[] =>
  actions.filter((action) => action.type === 'xstate.emit').map((action) => (action.params as { readonly event: unknown }).event);

const childrenOf = (snapshot: AnyMachineSnapshot): readonly (readonly [string, string])[] =>
  Object.entries(snapshot.children as Record<string, { readonly src: unknown }>).map(([id, child]) => [id, String(child.src)] as const);
const worksOf = (snapshot: AnyMachineSnapshot): readonly string[] => childrenOf(snapshot).map(([, src]) => src);

const eventOf = (snapshot: AnyMachineSnapshot, step: ScenarioStep): { readonly type: string } => {
  if (step.event) return step.event;
  const work = step.done ?? step.error;
  const actorId = childrenOf(snapshot).find(([id, src]) => src === work || id === work)?.[0];
  if (actorId === undefined) throw new Error(`no "${work}" runs, only ${worksOf(snapshot).join(', ') || 'nothing'}`);
  const end = step.done !== undefined ? { type: `xstate.done.actor.${actorId}`, output: step.output } : { type: `xstate.error.actor.${actorId}`, error: new Error(step.message ?? '') };
  return Object.assign(end, { actorId });
};
