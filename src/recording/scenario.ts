/**
 * Scenarios: files of YAML for people. One kind tells of a machine alone (these messages, then these states and emitted
 * events), the other of a whole lake (these requests, then these tips, rows, events and states;
 * commands/replay/lake-scenario.ts plays it).
 *
 * A scenario of a machine has `why`, `machine`, its `input`, and `steps`. A step is one of
 * - `event`: a message as it enters;
 * - `done: <work>` with `output`, or `error: <work>` with `message`: how work that the machine invoked ended, named by
 *   what it runs or by its id;
 * - `after: <milliseconds>`: time passes; and tells what holds after it: `state` (nested ones with dots), `emitted`
 *   (all of it; absent: nothing), `works` (the actors that are there, by what they run; absent: not compared),
 *   `context` (those fields alone).
 *
 * The inspector's page reads and plays scenarios with this file: nothing here may need Node.
 */
import { parse } from 'yaml';
import { type MachineName, machineNames, machines } from '../../machines/machines.ts';
import { LakeError, messageOf } from '../errors.ts';
import { type Difference, sameData } from './differences.ts';
import { MachinePlayer, type Step } from './player.ts';
import { type RecordedEvent } from './record.ts';
import { type LakeStepWord, lakeStepWords } from './scenario-words.ts';

/** A step of a machine's scenario: exactly one of `event`, `done`, `error` and `after`, then what holds behind it. */
export interface MachineStep {
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
export interface MachineScenario {
  readonly why: string;
  readonly machine: MachineName;
  readonly input?: unknown;
  readonly steps: readonly MachineStep[];
}
/** Steps are maps of words; commands/replay/lake-scenario.ts tells of them. */
export interface LakeScenario {
  readonly why: string;
  readonly lake: Readonly<Record<string, unknown>>;
  readonly steps: readonly LakeStep[];
}
/** A step of a lake's scenario. */
export type LakeStep = Readonly<Record<string, unknown>>;
/** What a scenario's file holds. */
export type Scenario = MachineScenario | LakeScenario;

/** @throws scenario-invalid */
export const parseScenario = (text: string, file: string): Scenario => {
  const invalid = (fault: string, cause?: unknown): LakeError =>
    new LakeError('scenario-invalid', { file, fault }, { cause });
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message.split('\n')[0] : 'it is no YAML', cause);
  }
  const { why, machine, lake, steps } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof why !== 'string' || why === '') throw invalid('it does not say why');
  if (!Array.isArray(steps) || steps.length === 0) throw invalid('it has no steps');
  if ((lake === undefined) === (machine === undefined)) throw invalid('it must name either a machine or a lake');
  if (!isMap(lake ?? {})) throw invalid('lake must be a map of options');
  const faultIn = lake === undefined ? machineStepFault : lakeStepFault;
  if (lake === undefined && !machineNames.includes(machine as MachineName))
    throw invalid(`there is no machine ${JSON.stringify(machine)}, only ${machineNames.join(', ')}`);
  for (const [i, step] of steps.entries()) {
    const fault = faultIn(step, `step ${i + 1}`);
    if (fault !== undefined) throw invalid(fault);
  }
  return lake === undefined
    ? (value as MachineScenario)
    : { ...(value as LakeScenario), lake: (lake ?? {}) as LakeScenario['lake'] };
};

/** What is wrong with a step of a machine's scenario; undefined: nothing. */
const machineStepFault = (step: unknown, name: string): string | undefined => {
  if (!isMap(step)) return `${name} is no map`;
  const kinds = ['event', 'done', 'error', 'after'].filter((kind) => step[kind] !== undefined);
  const { event, done, error, after, emitted, works, context } = step;
  if (kinds.length !== 1) return `${name} must be one of event, done, error and after`;
  if (event !== undefined && !(isMap(event) && typeof event['type'] === 'string'))
    return `${name}: its event has no type`;
  if (typeof (done ?? error ?? '') !== 'string') return `${name} does not name the work that ended`;
  if (after !== undefined && !(typeof after === 'number' && after >= 0 && Number.isFinite(after)))
    return `${name}: after must be a number of milliseconds`;
  if (typeof step['state'] !== 'string') return `${name} does not say the state after it`;
  if (!Array.isArray(emitted ?? []) || !Array.isArray(works ?? [])) return `${name}: emitted and works must be lists`;
  return isMap(context ?? {}) ? undefined : `${name}: context must be a map`;
};

/** What is wrong with a step of a lake's scenario, or with one inside it; undefined: nothing. */
const lakeStepFault = (step: unknown, name: string): string | undefined => {
  if (!isMap(step)) return `${name} is no map`;
  const word = Object.keys(step)[0] ?? '';
  if (!(lakeStepWords as readonly string[]).includes(word)) return `${name}: there is no step ${JSON.stringify(word)}`;
  if (!holdsSteps(word)) return undefined;
  const inner: unknown = step[word];
  if (!Array.isArray(inner)) return `${name}: ${word} must be a list of steps`;
  return inner.map((one, i) => lakeStepFault(one, `${name}, ${i + 1}`)).find((fault) => fault !== undefined);
};
const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a step of a lake's scenario does: its first word. */
export const wordOf = (step: LakeStep): LakeStepWord => Object.keys(step)[0] as LakeStepWord;
/** The steps inside a step of a lake's scenario; undefined where it has none. */
export const innerSteps = (step: LakeStep): readonly LakeStep[] | undefined => {
  const word = wordOf(step);
  return holdsSteps(word) ? (step[word] as readonly LakeStep[]) : undefined;
};
const holdsSteps = (word: string): boolean => word === 'together' || word === 'close';

/** What the machine did in a step, as far as the step says something of it. */
export interface PlayedStep {
  readonly state: string;
  readonly emitted: readonly unknown[];
  readonly works?: readonly string[];
  readonly context?: Readonly<Record<string, unknown>>;
}

/** What every step says of itself. */
export const expectedSteps = (scenario: MachineScenario): readonly PlayedStep[] =>
  scenario.steps.map((step) => ({
    state: step.state,
    emitted: step.emitted ?? [],
    ...(step.works && { works: step.works }),
    ...(step.context && { context: step.context }),
  }));

/** What became of a step. */
export interface StepReport {
  /** In few words. */
  readonly name: string;
  /** What the machine took, one after the other; none where time passes and nothing is due. */
  readonly messages: readonly Step[];
  /** Absent: the step could not be played, and none behind it was. */
  readonly found?: PlayedStep;
  readonly differences: readonly Difference[];
}
/** What became of a scenario of a machine. */
export interface PlayedScenario {
  /** What the machine did before the first step; absent when it cannot begin with its input. */
  readonly start?: { readonly state: readonly string[]; readonly emitted: readonly RecordedEvent[] };
  /** Ends with the first step that could not be played. */
  readonly reports: readonly StepReport[];
  readonly steps: readonly PlayedStep[];
  /** All of them. */
  readonly differences: readonly Difference[];
}

/**
 * Plays a scenario of a machine. What cannot be played (its work does not run, the machine throws) is a difference, and
 * nothing behind it is played.
 */
export const playScenario = (scenario: MachineScenario, charts: typeof machines = machines): PlayedScenario => {
  const player = new MachinePlayer(charts[scenario.machine], { input: scenario.input });
  if (player.failure !== undefined)
    return {
      reports: [],
      steps: [],
      differences: [{ step: 'start', what: 'input', expected: 'taken', found: broken(player.failure) }],
    };
  const start = { state: player.state, emitted: player.emittedFirst };
  const expected = expectedSteps(scenario);
  const reports: StepReport[] = [];
  for (const [i, step] of scenario.steps.entries()) {
    const report = playStep(player, step, { label: `step ${i + 1}`, expected: expected[i] });
    reports.push(report);
    if (!report.found) break;
  }
  return {
    start,
    reports,
    steps: reports.flatMap(({ found }) => found ?? []),
    differences: reports.flatMap(({ differences }) => differences),
  };
};

const playStep = (
  player: MachinePlayer,
  step: MachineStep,
  { label, expected }: { readonly label: string; readonly expected: PlayedStep },
): StepReport => {
  const name = stepName(step);
  const differences: Difference[] = [];
  const differ = (what: string, expected: unknown, found: unknown): void => {
    differences.push({ step: `${label} (${name})`, what, expected, found });
  };
  let taken: readonly Step[] | string;
  try {
    taken = takeStep(player, step);
  } catch (error) {
    differ('event', 'taken', broken(error));
    return { name, messages: [], differences };
  }
  if (typeof taken === 'string') {
    differ('work', step.done ?? step.error, taken);
    return { name, messages: [], differences };
  }
  if (taken.some((one) => !one.taken)) differ('event', 'taken', 'no state takes it');
  const found: PlayedStep = {
    state: player.state.join(' '),
    emitted: taken.flatMap((one) => one.emitted),
    ...(step.works && { works: player.children.map((child) => child.source) }),
    ...(step.context && {
      context: Object.fromEntries(Object.keys(step.context).map((key) => [key, player.context[key]])),
    }),
  };
  for (const what of ['state', 'emitted', 'works', 'context'] as const)
    if (!sameData(expected[what], found[what])) differ(what, expected[what], found[what]);
  return { name, messages: taken, found, differences };
};
const broken = (error: unknown): string => `the machine broke: ${messageOf(error)}`.replaceAll(/\s+/g, ' ');

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
  const work = step.done ?? step.error;
  const { children } = player;
  const child = children.find(({ id, source }) => source === work || id === work);
  if (!child) return children.map(({ source }) => source).join(', ') || 'nothing runs';
  const end =
    step.done !== undefined
      ? { type: `xstate.done.actor.${child.id}`, output: step.output }
      : { type: `xstate.error.actor.${child.id}`, error: new Error(step.message ?? '') };
  return [player.send({ ...end, actorId: child.id })];
};
