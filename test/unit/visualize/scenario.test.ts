/** Scenarios as the inspector's page reads them; test/browser/inspect-scenarios.test.ts sees the page. */
import { describe, expect, test } from 'vitest';
import { filtered, labelOf, type Model, noFilter } from '../../../visualize/inspect/model.ts';
import { checkText } from '../../../visualize/inspect/scenario-text.ts';
import { readScenario } from '../../../visualize/inspect/scenario.ts';

const read = (text: string): Model => readScenario(text, 's.yaml');
const marks = (model: Model): readonly string[] => model.steps.map(({ check }) => checkText(check!));

describe("a machine's scenario", () => {
  test('has the pool by its name, its start before its steps, and the state and the jobs in hand at every place', () => {
    const model = read(
      '{why: x, machine: pool, input: {poolId: p}, steps: [{done: open, state: idle}, {event: {type: work waiting, jobs: [{id: 1, kind: delete branch, name: a}], waiting: 0}, state: working, emitted: [{type: begin}]}]}',
    );
    const info = model.actors.get('pool/p')!;
    const at = (n: number) => {
      model.seek(n);
      return [model.stateOf(info)?.join(), model.jobsInHand(info).length];
    };
    expect([labelOf(info), model.scenario]).toEqual([
      'p',
      { kind: 'machine', file: 's.yaml', why: 'x', steps: 2, differing: [], notRun: [] },
    ]);
    expect([at(0), at(1), at(2)]).toEqual([
      ['opening', 0],
      ['idle', 0],
      ['working', 1],
    ]);
    expect(marks(model)).toEqual(['', '✓ as expected', '✓ as expected']);
  });

  test('lets time pass, and is told by its own words', () => {
    const model = read(
      '{why: x, machine: query, input: {id: q}, steps: [{event: {type: cancel}, state: cancelled}, {after: 4, state: cancelled}, {event: {type: time is over}, state: expired}]}',
    );
    expect(marks(model)).toEqual(['', '✓ as expected', '✓ as expected', '✓ as expected']);
    expect(model.steps.map((s) => [s.ms, s.outcome, ...s.from, ...s.to])).toEqual([
      [0, 'moved', 'working.waiting'],
      [0, 'moved', 'working.waiting', 'cancelled'],
      [4, 'stayed', 'cancelled', 'cancelled'],
      [4, 'ended', 'cancelled', 'expired'],
    ]);
    expect(filtered(model, { ...noFilter, event: 'ms pass' }).map((s) => s.n)).toEqual([2]);
  });

  test('marks an event that no state takes, and work that the machine breaks over', () => {
    expect(
      marks(
        read(
          '{why: x, machine: load, input: {poolId: p}, steps: [{event: {type: knock}, state: waiting}, {event: {type: rows sorted}, state: waiting}]}',
        ),
      ),
    ).toEqual(['', '≠ differs: event', '✓ as expected']);
    const model = read(
      '{why: x, machine: lake, input: {waitingMax: 1}, steps: [{done: start, state: recovering}, {done: recover, state: ready.idle}, {event: {type: job, job: {id: 1, kind: delete pool, poolId: p}}, state: ready.working}, {done: work, state: ready.idle}, {after: 1, state: ready.idle}]}',
    );
    expect(marks(model)).toEqual([
      '',
      '✓ as expected',
      '✓ as expected',
      '✓ as expected',
      '≠ differs: event',
      'not run',
    ]);
    expect(model.steps[4]!.check!.rows.map(({ what, found }) => [what, found?.replace(/: .*/, '')])).toEqual([
      ['event', 'the machine broke'],
      ['state', undefined],
      ['emitted', undefined],
    ]);
    expect(filtered(model, { ...noFilter, failures: true }).map((s) => s.n)).toEqual([4]);
  });

  test('a job that fails as expected is no difference', () => {
    const model = read(
      '{why: x, machine: pool, input: {poolId: p}, steps: [{done: open, state: idle}, {event: {type: work waiting, jobs: [{id: 1, kind: delete branch, name: a}], waiting: 0}, state: working, emitted: [{type: begin}]}, {event: {type: done, outcomes: [{id: 1, status: failed, code: c, text: t}], jobs: [], waiting: 0}, state: idle, emitted: [{type: settled, outcomes: [{id: 1, status: failed, code: c, text: t}]}]}]}',
    );
    expect([model.steps[3]!.settled, filtered(model, { ...noFilter, failures: true })]).toEqual([
      { done: 0, failed: 1, refused: 0, code: 'c' },
      [],
    ]);
  });

  test('that cannot begin is refused', () => {
    expect(() => read('{why: x, machine: subscriber, steps: [{after: 1, state: open}]}')).toThrow(
      /^The machine cannot begin with this input: the machine broke: /,
    );
  });
});

describe("a lake's scenario", () => {
  test('has what its steps and those inside them do and expect, and no states', () => {
    const model = read(`
why: x
lake: {eventsKeptMax: 4}
steps:
  - {create pool: p, events: [pool-new p]}
  - {close: [{load: '{ts:1}', into: p@main, error: lake-closing}]}
  - {load: '{ts:2}', into: p@main, crash: before commit, tips: {p@main: none}}
`);
    expect(model.scenario).toEqual({
      kind: 'lake',
      file: 's.yaml',
      why: 'x',
      steps: 3,
      differing: [],
      notRun: [1, 2, 3],
    });
    expect(model.steps.map((s) => s.check!.done)).toEqual([
      [
        ['lake', 'empty'],
        ['eventsKeptMax', '4'],
      ],
      [['create pool', 'p']],
      [['close', '[ { "load": "{ts:1}", "into": "p@main" } ]']],
      [
        ['load', '{ts:2}'],
        ['into', 'p@main'],
        ['crash', 'before commit'],
      ],
    ]);
    expect(model.steps.map((s) => s.check!.rows.map(({ what, expected }) => `${what} ${expected!}`))).toEqual([
      [],
      ['error none', 'events [ "pool-new p" ]'],
      ['error none', '1 (load): error lake-closing'],
      ['tips { "p@main": "none" }'],
    ]);
    expect(model.stateOf(model.actors.get('lake')!)).toBeUndefined();
  });
});

test.each([
  ['why: [', /at line 1/],
  ['', /it does not say why/],
  ['{why: x, lake: {}, steps: [1]}', /step 1 is no map/],
])('%j is refused', (text, fault) => {
  expect(() => read(text)).toThrow(fault);
});
