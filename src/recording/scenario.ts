/**
 * Scenarios: files of YAML for people. One kind tells of a machine alone (these messages, then these states and emitted events), the other of a whole lake (these
 * requests, then these tips, rows, events and states; commands/lake-scenario.ts plays it).
 *
 * A scenario of a machine has `why`, `machine`, its `input`, and `steps`. A step is one of
 * - `event`: a message as it enters;
 * - `done: <work>` with `output`, or `error: <work>` with `message`: how work that the machine invoked ended, named by what it runs or by its id;
 * - `after: <milliseconds>`: time passes;
 * and tells what holds after it: `state` (nested ones with dots), `emitted` (all of it; absent: nothing), `works` (the actors that are there, by what they run;
 * absent: not compared), `context` (those fields alone).
 */
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { LakeError } from '../errors.ts';
import type { Difference } from './differences.ts';
import { MachinePlayer, machines, type Step } from './player.ts';
import { type MachineName, machineNames, type RecordedEvent } from './record.ts';

/** A step of a machine's scenario: exactly one of `event`, `done`, `error` and `after`, then what holds behind it. */
interface MachineStep {
  readonly event?: RecordedEvent;
  readonly done?: string;
  /** What the work of `done` ended with. */
  readonly output?: unknown;
  readonly error?: string;
  /** Of the error that the work of `error` ended with. */
  readonly message?: string;
  /** Milliseconds. */
  readonly after?: number;
  readonly state: string;
  readonly emitted?: readonly unknown[];
  readonly works?: readonly string[];
  readonly context?: Readonly<Record<string, unknown>>;
}
/** A scenario of one machine alone. */
export interface MachineScenario { readonly why: string; readonly machine: MachineName; readonly input?: unknown; readonly steps: readonly MachineStep[] }
/** Steps are maps of words; commands/lake-scenario.ts knows them. */
export interface LakeScenario { readonly why: string; readonly lake: Readonly<Record<string, unknown>>; readonly steps: readonly LakeStep[] }
/** A step of a lake's scenario. */
export type LakeStep = Readonly<Record<string, unknown>>;
/** What a scenario's file holds. */
export type Scenario = MachineScenario | LakeScenario;

/** @throws scenario-invalid */
export const parseScenario = (text: string, file: string): Scenario => {
  const invalid = (fault: string, cause?: unknown): LakeError => new LakeError('scenario-invalid', { file, fault }, { cause });
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message.split('\n')[0]! : 'it is no YAML', cause);
  }
  const { why, machine, lake, steps } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof why !== 'string' || why === '') throw invalid('it does not say why');
  if (!Array.isArray(steps) || steps.length === 0) throw invalid('it has no steps');
  if ((lake === undefined) === (machine === undefined)) throw invalid('it must name either a machine or a lake');
  if (lake !== undefined) return { ...(value as LakeScenario), lake: (lake ?? {}) as LakeScenario['lake'] };
  if (!machineNames.includes(machine as MachineName)) throw invalid(`there is no machine ${JSON.stringify(machine)}, only ${machineNames.join(', ')}`);
  steps.forEach((step: unknown, i) => {
    const kinds = ['event', 'done', 'error', 'after'].filter((kind) => (step as Readonly<Record<string, unknown>>)[kind] !== undefined);
    if (kinds.length !== 1) throw invalid(`step ${i + 1} must be one of event, done, error and after`);
    if (typeof (step as Readonly<Record<string, unknown>>)['state'] !== 'string') throw invalid(`step ${i + 1} does not say the state after it`);
  });
  return value as MachineScenario;
};

/** What the machine did in a step, as far as the step says something of it. */
interface PlayedStep { readonly state: string; readonly emitted: readonly unknown[]; readonly works?: readonly string[]; readonly context?: Readonly<Record<string, unknown>> }

/** What every step says of itself. */
export const expectedSteps = (scenario: MachineScenario): readonly PlayedStep[] => scenario.steps.map((step) => ({
  state: step.state, emitted: step.emitted ?? [], ...(step.works && { works: step.works }), ...(step.context && { context: step.context }),
}));

/** Plays a scenario of a machine. A step that cannot be played (its work does not run) is a difference. */
export const playScenario = (scenario: MachineScenario, charts: typeof machines = machines): { readonly steps: readonly PlayedStep[]; readonly differences: readonly Difference[] } => {
  const player = new MachinePlayer(charts[scenario.machine], { input: scenario.input }), steps: PlayedStep[] = [], differences: Difference[] = [];
  const expected = expectedSteps(scenario);
  for (const [i, step] of scenario.steps.entries()) {
    const name = `step ${i + 1} (${stepName(step)})`;
    const taken = takeStep(player, step);
    if (typeof taken === 'string') {
      differences.push({ step: name, what: 'work', expected: step.done ?? step.error, found: taken });
      break;
    }
    if (taken.some((one) => !one.taken)) differences.push({ step: name, what: 'event', expected: 'taken', found: 'no state takes it' });
    const emitted = taken.flatMap((one) => one.emitted);
    const found: PlayedStep = {
      state: player.state.join(' '), emitted,
      ...(step.works && { works: player.children.map((child) => child.source) }),
      ...(step.context && { context: Object.fromEntries(Object.keys(step.context).map((key) => [key, player.context[key]])) }),
    };
    steps.push(found);
    for (const what of ['state', 'emitted', 'works', 'context'] as const) {
      if (!isDeepStrictEqual(expected[i]![what], found[what])) differences.push({ step: name, what, expected: expected[i]![what], found: found[what] });
    }
  }
  return { steps, differences };
};

/** A step in few words. */
export const stepName = (step: MachineStep): string => {
  if (step.event) return step.event.type;
  if (step.after !== undefined) return `${step.after} ms pass`;
  return step.done !== undefined ? `${step.done} done` : `${step.error} breaks`;
};

/** What the step did, or what runs instead of the work that it is about. */
const takeStep = (player: MachinePlayer, step: MachineStep): readonly Step[] | string => {
  if (step.event) return [player.send(step.event)];
  if (step.after !== undefined) return player.advance(step.after);
  const work = step.done ?? step.error, { children } = player;
  const child = children.find(({ id, source }) => source === work || id === work);
  if (!child) return children.map(({ source }) => source).join(', ') || 'nothing runs';
  const end = step.done !== undefined ? { type: `xstate.done.actor.${child.id}`, output: step.output } : { type: `xstate.error.actor.${child.id}`, error: new Error(step.message ?? '') };
  return [player.send({ ...end, actorId: child.id })];
};
