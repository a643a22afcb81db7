/**
 * A machine's parts, taken from its configuration: states, transitions, guards; and the same machine with one part
 * changed: a transition deleted, a guard negated, or every part telling that it was reached. Names:
 * `pool.closing.draining done[1]` is the second candidate of the draining state's done event.
 */
import { type AnyStateMachine, createMachine, emit } from 'xstate';

interface Config {
  readonly [key: string]: unknown;
}
type Guard = (args: unknown, params: unknown) => boolean;

/** `does`: it leads somewhere or has actions; else it says only that the event changes nothing. */
export interface TransitionPart {
  readonly id: string;
  readonly does: boolean;
  readonly state: string;
  readonly event: string;
  readonly guard?: string;
}
interface MachineParts {
  readonly states: readonly string[];
  readonly transitions: readonly TransitionPart[];
}

/** What stands for a candidate; undefined: it goes. */
type Change = (part: TransitionPart, candidate: Config) => Config | undefined;

export const partsOf = (machine: AnyStateMachine): MachineParts => {
  const states: string[] = [];
  const transitions: TransitionPart[] = [];
  rebuild(machine.config as Config, machine.id, {
    transition: (part, candidate) => {
      transitions.push(part);
      return candidate;
    },
    state: (id, config) => {
      states.push(id);
      return config;
    },
  });
  return { states, transitions };
};

/** The machine without one transition. */
export const withoutTransition = (machine: AnyStateMachine, id: string): AnyStateMachine =>
  changed(machine, (part, candidate) => (part.id === id ? undefined : candidate));

/** The machine with the guard of one transition negated. */
export const withGuardNegated = (machine: AnyStateMachine, id: string): AnyStateMachine => {
  const guards = (machine.implementations as unknown as { readonly guards: Readonly<Record<string, Guard>> }).guards;
  return changed(machine, (part, candidate) =>
    part.id === id
      ? { ...candidate, guard: (args: unknown, params: unknown) => !guards[part.guard!]!(args, params) }
      : candidate,
  );
};

export const reached = 'test: reached';
/**
 * The machine whose transitions and states, when they are taken and entered, emit an event of the type `reached` with
 * their name as `id`.
 */
export const withReports = (machine: AnyStateMachine): AnyStateMachine => {
  const report = (id: string): unknown => emit({ type: reached, id });
  return build(machine, {
    transition: (part, candidate) => ({ ...candidate, actions: [...listOf(candidate['actions']), report(part.id)] }),
    state: (id, config) => ({ ...config, entry: [...listOf(config['entry']), report(id)] }),
  });
};

const changed = (machine: AnyStateMachine, transition: Change): AnyStateMachine =>
  build(machine, { transition, state: (_, config) => config });
interface Changes {
  readonly transition: Change;
  readonly state: (id: string, config: Config) => Config;
}
const build = (machine: AnyStateMachine, changes: Changes): AnyStateMachine =>
  createMachine(
    rebuild(machine.config as Config, machine.id, changes) as never,
    machine.implementations as never,
  ) as unknown as AnyStateMachine;

const listOf = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly unknown[]) : [value];

const rebuild = (config: Config, id: string, changes: Changes): Config => {
  const candidates = (event: string, value: unknown): readonly Config[] =>
    listOf(value).flatMap((one, i) => {
      const candidate = (typeof one === 'string' ? { target: one } : one) as Config;
      const { guard } = candidate;
      const part: TransitionPart = {
        id: `${id} ${event}[${i}]`,
        state: id,
        event,
        does: candidate['target'] !== undefined || candidate['actions'] !== undefined,
        ...(typeof guard === 'string' && { guard }),
      };
      const changed = changes.transition(part, candidate);
      return changed ? [changed] : [];
    });
  /** A list without candidates goes: the event is then the parent's. */
  const all = (record: unknown, name: (event: string) => string): Config =>
    Object.fromEntries(
      Object.entries((record ?? {}) as Config)
        .map(([event, value]) => [event, candidates(name(event), value)] as const)
        .filter(([, list]) => list.length > 0),
    );
  const out: Record<string, unknown> = { ...config };
  if (config['on'] !== undefined) out['on'] = all(config['on'], (event) => event);
  if (config['after'] !== undefined) out['after'] = all(config['after'], (delay) => `after ${delay}`);
  if (config['always'] !== undefined) out['always'] = candidates('always', config['always']);
  if (config['invoke'] !== undefined) {
    const invoke = config['invoke'] as Config;
    const ends = {
      onDone: candidates(`${String(invoke['src'])} done`, invoke['onDone']),
      onError: candidates(`${String(invoke['src'])} broke`, invoke['onError']),
    };
    const { onDone: _, onError: __, ...rest } = invoke;
    out['invoke'] = { ...rest, ...Object.fromEntries(Object.entries(ends).filter(([, list]) => list.length > 0)) };
  }
  const states = config['states'] as Readonly<Record<string, Config>> | undefined;
  if (states)
    out['states'] = Object.fromEntries(
      Object.entries(states).map(([name, state]) => [name, rebuild(state, `${id}.${name}`, changes)]),
    );
  return changes.state(id, out);
};
