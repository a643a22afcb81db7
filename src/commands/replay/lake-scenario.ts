/**
 * Plays a scenario of a whole lake: real tables, real files, real workers, on a lake that begins empty. A step is a
 * map: its first word says what is done, the others what is expected. Commits get names (`as`), by which later steps
 * speak of them; `none` is no commit at all.
 *
 * What is done:
 * - `create pool: p` (`order`, `keys`, `threshold`), `rename pool: p` `to: q`, `set pool: p`
 *   (`iceberg: lazy`, `iceberg mapping: variant`, `identity: [[id]]`),
 *   `delete pool: p`
 * - `load: <rows>` `into: p@main` (`pad`: characters of noise that each row gets; `breaks: true`: the body ends in the
 *   middle)
 * - `loads: <n>` `into: p@main`: so many loads of one row `{ts:<i>}`, by 64 clients at once
 * - `delete: [a, b]` `from: p@main`: the objects that these commits added; `delete where: <filter>` `from: p@main`
 * - `update: <filter>` `put: <assignments>` `on: p@main`, `upsert: <rows>` `into: p@main` (`gone`: the field that is true
 *   in rows that only take others away)
 * - `compact: [a, b]` `on: p@main`; `mark: [a]` and `unmark: [a]` `on: p@main` (what `:vectors` lists)
 * - `create branch: kid` `in: p` `at: a`, `delete branch: kid` `in: p`, `reset: p@kid` `to: a`, `protect: p@kid` (`from: [load, reset]`), `create tag: v1` `in: p` `at: a`, `delete tag: v1` `in: p`, `merge: kid` `into: p@main`, `revert: a` `on:
 *   p@main`
 * - `transaction: [steps]`: `load`, `delete where`, `update` and `merge` as above, one commit each, all or none
 * - `job: {pool: p, kind: ..}`: a job of any kind that needs nothing prepared, with its own fields; `$a` is a commit
 * - `vacuum: p@main` or `vacuum: a` `in: p` (`dry: true`)
 * - `query: <text>`, `open: a` `in: p` `keep: s` (a snapshot that stays open), `read: s`, `release: s`
 * - `together: [steps]`: begun one after the other, without waiting; `close: [steps]`: the same, and then the lake is
 *   told to close at once
 * - `restart: true`, `start again: true` (a second time, while it runs)
 *
 * What is expected: `error` (code; absent: none), `rows` (of a query or snapshot: its rows; else a map from `p@main` to
 * rows, in any order), `objects` (number that was removed, or would be), `tips` (map from `p@main` to a name), `events`
 * (all that were told in the step, `kind pool@branch name` or `kind view`), `settled` (what the machines emitted in the
 * step: the events of its outcomes, behind `lake` or `pool p`), `stream` (what a subscriber of `GET /events` got in the
 * step), `states` (map from `lake` or `pool p` to all states that it went through in the step), `events since` (map
 * from an event's number to how many come after it).
 *
 * `crash: before commit | after commit | before a file goes | after a file went` copies the lake as it is at that
 * point, which is what a killed process leaves, and goes on from the copy as from a restart.
 */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { LakeError, messageOf } from '../../errors.ts';
import { type Difference, sameJson } from '../../recording/differences.ts';
import { innerSteps, type LakeScenario, type LakeStep, wordOf } from '../../recording/scenario.ts';
import { type StepFound, steps as stepTable } from './lake-scenario-steps.ts';
import { Stage } from './lake-stage.ts';

/** Steps that were played, and what came out otherwise. */
interface LakeScenarioReport {
  readonly steps: number;
  readonly differences: readonly Difference[];
}

/** `directory` exists and is empty. @throws scenario-invalid for a step that lacks a word */
export const playLakeScenario = async (scenario: LakeScenario, directory: string): Promise<LakeScenarioReport> => {
  const first = join(directory, 'lake');
  mkdirSync(first);
  const stage = await Stage.open(first, scenario.lake);
  const differences: Difference[] = [];
  try {
    for (const [i, step] of scenario.steps.entries())
      differences.push(...(await playStep(stage, step, `step ${i + 1}`, directory)));
  } finally {
    await stage.end();
  }
  return { steps: scenario.steps.length, differences };
};

const playStep = async (
  stage: Stage,
  step: LakeStep,
  label: string,
  directory: string,
): Promise<readonly Difference[]> => {
  const name = `${label} (${wordOf(step)})`;
  const crash = step['crash'] as string | undefined;
  stage.beginStep();
  let copied: string | undefined;
  if (crash !== undefined) {
    stage.trap(crash, () => {
      if (copied !== undefined) return;
      copied = join(directory, label.replaceAll(' ', '-'));
      // The environment's own lock says who has it open: nobody, after a crash.
      cpSync(stage.directory, copied, { recursive: true, filter: (path) => !/lock(\.mdb)?$/.test(path) });
    });
  }
  const found = await doStep(stage, step);
  stage.name(step, found);
  if (crash !== undefined) {
    if (copied === undefined)
      return [{ step: name, what: 'crash', expected: crash, found: 'that point was not reached' }];
    await stage.reopen(copied);
  }
  const differences: Difference[] = crash === undefined ? [...compareOutcome(stage, step, found, name)] : [];
  for (const [what, look] of Object.entries(looks)) {
    if (step[what] === undefined) continue;
    const expected = step[what];
    const seen = await look(stage, expected);
    if (!sameJson(expected, seen)) differences.push({ step: name, what, expected, found: seen });
  }
  return differences;
};

const doStep = async (stage: Stage, step: LakeStep): Promise<StepFound> => {
  const run = stepTable[wordOf(step)];
  try {
    return await run(stage, step, (inner) => doStep(stage, inner));
  } catch (error) {
    return {
      error: error instanceof LakeError ? error.code : `internal: ${messageOf(error)}`,
    };
  }
};

/** Errors, rows and counts of the step, and of the steps inside it. */
function* compareOutcome(stage: Stage, step: LakeStep, found: StepFound, name: string): Generator<Difference> {
  const expected = step['error'];
  if (expected !== found.error) yield { step: name, what: 'error', expected, found: found.error };
  if (typeof step['rows'] === 'string' && found.rows !== step['rows'].trim())
    yield { step: name, what: 'rows', expected: step['rows'].trim(), found: found.rows };
  if (step['objects'] !== undefined && step['objects'] !== found.objects)
    yield { step: name, what: 'objects', expected: step['objects'], found: found.objects };
  const inner = innerSteps(step);
  if (!inner) return;
  for (const [i, one] of inner.entries())
    yield* compareOutcome(stage, one, found.inner![i], `${name}, ${i + 1} (${wordOf(one)})`);
}

const looks: Readonly<Record<string, (stage: Stage, expected: unknown) => unknown>> = {
  tips: (stage, expected) => mapped(expected, (place) => stage.tip(place)),
  rows: async (stage, expected) => {
    if (typeof expected === 'string') return expected;
    const found: Record<string, unknown> = {};
    for (const [place, rows] of Object.entries(expected as Readonly<Record<string, string>>)) {
      const seen = await stage.rows(place);
      found[place] = sortedLines(seen) === sortedLines(rows) ? rows : seen;
    }
    return found;
  },
  events: (stage) => stage.eventsOfStep(),
  settled: (stage) => stage.settledOfStep(),
  stream: (stage) => stage.streamOfStep(),
  states: (stage, expected) => mapped(expected, (actor) => stage.statesOfStep(actor)),
  'events since': (stage, expected) => mapped(expected, (id) => stage.lake.eventsSince(Number(id))?.length ?? 'gone'),
};

const mapped = (expected: unknown, see: (key: string) => unknown): unknown =>
  Object.fromEntries(Object.keys(expected as object).map((key) => [key, see(key)]));
const sortedLines = (text: string): string =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim())
    .sort()
    .join('\n');
