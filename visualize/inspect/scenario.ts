/**
 * Reads a scenario's file into a model. One of a machine is played here, as `lake replay` and the tests play it
 * (src/recording/scenario.ts); one of a whole lake needs a lake, which a page has not: its steps and what they expect
 * are shown, and that they were not run. Pure. Loaded when the first scenario is opened.
 */
import { LakeError } from '../../src/errors.ts';
import {
  expectedSteps,
  innerSteps,
  type LakeScenario,
  type LakeStep,
  type MachineScenario,
  type MachineStep,
  parseScenario,
  type PlayedStep,
  playScenario,
  type StepReport,
  stepName,
  wordOf,
} from '../../src/recording/scenario.ts';
import { lakeExpectations } from '../../src/recording/scenario-words.ts';
import { eventFields, fieldsOf, isObject, settledOf } from './event-fields.ts';
import { type CheckRow, Model, type StepCheck } from './model.ts';
import { FileError } from './recording.ts';

/** @throws FileError */
export const readScenario = (text: string, file: string): Model => {
  try {
    const scenario = parseScenario(text, file);
    return 'lake' in scenario ? lakeModel(scenario, file) : machineModel(scenario, file);
  } catch (error) {
    throw error instanceof LakeError
      ? new FileError(`This is no scenario that can be played: ${String(error.parameters['fault'])}.`)
      : error;
  }
};

/** For steps that brought the machine no message. */
const noEvent = '-';

const machineModel = (scenario: MachineScenario, file: string): Model => {
  const { machine, why, input } = scenario;
  const { start, reports, differences } = playScenario(scenario);
  if (!start) throw new FileError(`The machine cannot begin with this input: ${String(differences[0].found)}.`);
  const model = new Model(false);
  const id = isObject(input) && typeof input['poolId'] === 'string' ? input['poolId'] : '1';
  const actor = machine === 'lake' || machine === 'store' ? machine : `${machine}/${machine === 'pool' ? id : 1}`;
  if (machine === 'pool') model.nameOfPool(id, id);
  const begins = {
    number: 0,
    name: 'start',
    outcome: 'start',
    done: [['input', valueText(input)]],
    rows: foundRows({ state: start.state.join(' '), emitted: start.emitted }),
  } as const;
  model.add(
    {
      ms: 0,
      actor,
      event: { type: 'xstate.init', fields: isObject(input) ? fieldsOf(input) : {} },
      from: [],
      to: start.state,
      outcome: 'moved',
    },
    begins,
  );
  const expected = expectedSteps(scenario);
  let state = start.state;
  let ms = 0;
  for (const [i, step] of scenario.steps.entries()) {
    const report = reports[i];
    const last = report?.messages.at(-1);
    const from = report?.messages[0]?.from ?? state;
    const settled = settledOf(report?.messages.flatMap(({ emitted }) => emitted));
    const work = step.done ?? step.error;
    state = last?.to ?? state;
    ms += step.after ?? 0;
    model.add(
      {
        ms,
        actor,
        event: { type: last?.event.type ?? noEvent, fields: step.event ? eventFields(step.event) : {} },
        from,
        to: state,
        outcome: last?.outcome ?? 'stayed',
        ...(step.event === undefined && { by: `${actor}:${work ?? 'time'}` }),
        ...(settled && { settled }),
      },
      machineCheck(step, { number: i + 1, expected: expected[i], report }),
    );
  }
  model.scenario = { kind: 'machine', file, why, ...counted(model) };
  return model;
};

const machineCheck = (
  step: MachineStep,
  {
    number,
    expected,
    report,
  }: { readonly number: number; readonly expected: PlayedStep; readonly report: StepReport | undefined },
): StepCheck => {
  const differs = new Map(report?.differences.map((one) => [one.what, one]));
  const found = report?.found;
  const unplayed = [...differs.values()]
    .filter(({ what }) => !(what in expected))
    .map(
      (one): CheckRow => ({
        what: one.what,
        expected: valueText(one.expected),
        found: valueText(one.found),
        differs: true,
      }),
    );
  const rows = Object.entries(expected).map(
    ([what, value]): CheckRow => ({
      what,
      expected: valueText(value),
      ...(found && { found: valueText(found[what as keyof PlayedStep]) }),
      differs: differs.has(what),
    }),
  );
  const done = Object.fromEntries(Object.entries(step).filter(([word]) => !(word in expected)));
  const outcome = differs.size > 0 ? 'differs' : 'as expected';
  return {
    number,
    name: stepName(step),
    outcome: report ? outcome : 'not run',
    done: wordsOf(done),
    rows: [...unplayed, ...rows],
  };
};

const foundRows = (found: PlayedStep): readonly CheckRow[] =>
  Object.entries(found).map(([what, value]) => ({ what, found: valueText(value), differs: false }));

const lakeModel = ({ why, lake, steps }: LakeScenario, file: string): Model => {
  const model = new Model(false);
  const nothing = { actor: 'lake', ms: 0, from: [], to: [], outcome: 'stayed' } as const;
  model.add(
    { ...nothing, event: { type: 'xstate.init', fields: fieldsOf(lake) } },
    { number: 0, name: 'start', outcome: 'start', done: wordsOf({ lake: 'empty', ...lake }), rows: [] },
  );
  for (const [i, step] of steps.entries()) {
    const word = wordOf(step);
    const { [word]: value } = step;
    model.add(
      { ...nothing, event: { type: noEvent, fields: typeof value === 'string' ? { name: value } : {} } },
      {
        number: i + 1,
        name: word,
        outcome: 'not run',
        done: wordsOf(withoutExpectations(step)),
        rows: lakeRows(step, ''),
      },
    );
  }
  model.scenario = { kind: 'lake', file, why, ...counted(model) };
  return model;
};

/**
 * What a step and the steps inside it expect. A step that says nothing of an error must not end with one; after a crash
 * nobody hears of it.
 */
const lakeRows = (step: LakeStep, prefix: string): readonly CheckRow[] => [
  ...(step['error'] === undefined && step['crash'] === undefined
    ? [{ what: `${prefix}error`, expected: 'none', differs: false }]
    : []),
  ...lakeExpectations
    .filter((what) => step[what] !== undefined)
    .map((what) => ({ what: `${prefix}${what}`, expected: valueText(step[what]), differs: false })),
  ...(innerSteps(step) ?? []).flatMap((inner, i) => lakeRows(inner, `${prefix}${i + 1} (${wordOf(inner)}): `)),
];
const withoutExpectations = (step: LakeStep): LakeStep => {
  const inner = innerSteps(step);
  const kept = Object.entries(step).filter(([word]) => !(lakeExpectations as readonly string[]).includes(word));
  return { ...Object.fromEntries(kept), ...(inner && { [wordOf(step)]: inner.map(withoutExpectations) }) };
};

const counted = ({
  steps,
}: Model): { readonly steps: number; readonly differing: readonly number[]; readonly notRun: readonly number[] } => {
  const of = (outcome: StepCheck['outcome']): readonly number[] =>
    steps.flatMap(({ check }) => (check?.outcome === outcome ? [check.number] : []));
  return { steps: steps.length - 1, differing: of('differs'), notRun: of('not run') };
};

const wordsOf = (step: Readonly<Record<string, unknown>>): StepCheck['done'] =>
  Object.entries(step)
    .filter(([, value]) => value !== undefined)
    .map(([word, value]) => [word, valueText(value)]);

/** Characters of a value that are shown. */
const textMax = 20_000;
const valueText = (value: unknown): string => {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'nothing';
  // With blanks, so that lines break there: line feeds inside of texts are escaped.
  const text =
    typeof value === 'string'
      ? value
      : JSON.stringify(
          value,
          (_, one: unknown) => (one instanceof Error ? { message: one.message } : one),
          1,
        ).replaceAll(/\n */g, ' ');
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
};
