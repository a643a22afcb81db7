/** What the inspector's page knows: live messages and recordings, seen at any place. */
import { describe, expect, test } from 'vitest';
import type { LiveFrame, LiveHello, LiveRecord } from '../../../src/recording/live.ts';
import { failedStep, filtered, labelOf, Model, noFilter, stepsMax } from '../../../visualize/inspect/model.ts';
import { RecordingReader } from '../../../visualize/inspect/recording.ts';

const pool = `pool/${'a'.repeat(40)}`;
const hello = (part: Partial<LiveHello> = {}): LiveHello => ({
  kind: 'hello',
  service: 'v1',
  ms: 0,
  actors: [{ actor: pool, machine: 'pool', parent: 'lake', name: 'p', state: ['idle'], waiting: 0, running: 0 }],
  actorsLeftOut: 0,
  dropped: 0,
  records: [],
  ...part,
});
const frame = (records: readonly LiveRecord[], part: Partial<LiveFrame> = {}): LiveFrame => ({
  kind: 'frame',
  ms: 0,
  actors: [],
  gone: [],
  records,
  dropped: 0,
  messages: 0,
  ...part,
});
const record = (seq: number, from: string, to: string, type = 'job', part: Partial<LiveRecord> = {}): LiveRecord => ({
  seq,
  ms: seq,
  actor: pool,
  event: { type },
  from: [from],
  to: [to],
  outcome: from === to ? 'stayed' : 'moved',
  ...part,
});
const last = (model: Model): readonly string[] | undefined => model.stateOf(model.actors.get(pool)!);

describe('live', () => {
  test('a place shows what was true there, the end what is true now', () => {
    const model = new Model(true);
    model.take(hello());
    // As they come: one that another caused stands before it.
    model.take(
      frame(
        [
          record(2, 'working', 'idle', 'xstate.done.actor.0.pool.working', {
            settled: { done: 1, failed: 0, refused: 0 },
          }),
          record(1, 'idle', 'working'),
        ],
        { actors: hello().actors },
      ),
    );
    expect(model.steps.map((s) => [s.event, ...s.to])).toEqual([
      ['job', 'working'],
      ['xstate.done.actor.0.pool.working', 'idle'],
    ]);
    expect(last(model)).toEqual(['idle']);
    model.seek(0);
    expect([last(model), model.jobsInHand(model.actors.get(pool)!).length]).toEqual([['working'], 1]);
    model.take(frame([record(3, 'idle', 'working')]));
    expect([model.at, last(model)]).toEqual([0, ['working']]);
    model.move(1);
    expect([model.at, last(model), model.jobsInHand(model.actors.get(pool)!).length]).toEqual([1, ['idle'], 0]);
    model.seek(Infinity);
    expect([model.at, last(model)]).toEqual([2, ['working']]);
  });

  test('the machine of an actor is all of its name before the number or the id', () => {
    const model = new Model(true);
    model.take(hello());
    const actors = ['query/3', 'store#2', 'load2/1', 'pool-of-others/1'];
    model.take(frame(actors.map((actor, i) => record(i + 1, 'idle', 'idle', 'job', { actor }))));
    expect(actors.map((actor) => model.actors.get(actor)!.machine)).toEqual(['query', 'store', 'lake', 'lake']);
  });

  test('the oldest messages go, and with the last one of it an actor that ended', () => {
    const model = new Model(true);
    model.take(hello());
    model.take(
      frame(
        [
          {
            seq: 1,
            ms: 1,
            actor: 'load/1',
            event: { type: 'failed' },
            from: ['receiving'],
            to: ['rejected'],
            outcome: 'ended',
          },
        ],
        { gone: ['load/1'] },
      ),
    );
    model.seek(0);
    expect([...model.actors.keys()]).toEqual([pool, 'load/1']);
    for (let seq = 2; seq < stepsMax + 2000; seq++) model.take(frame([record(seq, 'idle', 'idle')]));
    expect(model.steps.length).toBeLessThanOrEqual(stepsMax + 500);
    expect([...model.actors.keys()]).toEqual([pool]);
    expect([model.at, model.step(model.at)!.n]).toEqual([model.firstN, model.firstN]);
  });

  test('after a gap the whole state takes the place of the old one', () => {
    const model = new Model(true);
    model.take(hello());
    model.take(
      hello({
        actors: [{ actor: 'lake', machine: 'lake', state: ['ready.idle'], waiting: 2, running: 1 }],
        dropped: 7,
      }),
    );
    expect([[...model.actors.keys()], model.dropped]).toEqual([['lake'], 7]);
  });

  test('a filter lets through what has each of its texts', () => {
    const model = new Model(true);
    model.take(hello());
    model.take(
      frame([
        record(1, 'idle', 'working', 'job', { event: { type: 'job', fields: { kind: 'merge' } } }),
        record(2, 'working', 'idle', 'xstate.done.actor.0.pool.working', {
          settled: { done: 0, failed: 1, refused: 0, code: 'merge-conflict' },
        }),
        { ...record(3, 'receiving', 'sorting', 'all rows read'), actor: 'load/1' },
      ]),
    );
    const seqs = (part: object): readonly number[] => filtered(model, { ...noFilter, ...part }).map((s) => s.ms);
    expect([
      seqs({}),
      seqs({ actor: 'P' }),
      seqs({ actor: 'load' }),
      seqs({ event: 'merge' }),
      seqs({ event: 'work is done' }),
      seqs({ state: 'sort' }),
      seqs({ failures: true }),
      seqs({ actor: 'load', failures: true }),
    ]).toEqual([[1, 2, 3], [1, 2], [3], [1], [2], [3], [2], []]);
    expect(model.steps.map(failedStep)).toEqual([false, true, false]);
  });
});

describe('a recording', () => {
  const lines = [
    { kind: 'header', format: 2, service: 'v1', recording: 'r', part: 1, ms: 0, bodies: 'digest', options: {} },
    { kind: 'given', seq: 1, ms: 0, pool: 'a'.repeat(40), name: 'flights', branches: [] },
    {
      kind: 'actor',
      seq: 2,
      ms: 0,
      actor: pool,
      machine: 'pool',
      parent: 'lake',
      input: { poolId: 'a'.repeat(40), waitingMax: 5 },
      state: ['opening'],
    },
    {
      kind: 'message',
      seq: 5,
      ms: 3,
      actor: pool,
      machine: 'pool',
      by: `${pool}:work`,
      event: { type: 'xstate.done.actor.0.pool.working', output: {} },
      from: ['working'],
      to: ['idle'],
      outcome: 'moved',
      emitted: [{ type: 'settled', outcomes: [{ id: 1, status: 'failed', code: 'merge-conflict', text: 't' }] }],
    },
    {
      kind: 'message',
      seq: 3,
      ms: 1,
      actor: pool,
      machine: 'pool',
      by: `${pool}:open`,
      event: { type: 'xstate.done.actor.0.pool.opening' },
      from: ['opening'],
      to: ['idle'],
      outcome: 'moved',
    },
    { kind: 'drawn', seq: 6, ms: 3, pool: 'a', fact: { what: 'event', id: 1 } },
    {
      kind: 'message',
      seq: 4,
      ms: 2,
      actor: pool,
      machine: 'pool',
      event: { type: 'job', job: { id: 1, kind: 'load', branch: 'main', objects: ['x', 'y'] } },
      from: ['idle'],
      to: ['working'],
      outcome: 'moved',
    },
    { kind: 'lost', seq: 7, ms: 4, lines: 12 },
  ];
  const read = (texts: readonly string[]): Model => {
    const reader = new RecordingReader();
    for (const text of texts) reader.line(text);
    return reader.finish();
  };
  const texts = lines.map((line) => JSON.stringify(line));

  test('is read in the order of its messages, with names, queues and what came of jobs', () => {
    const model = read(texts);
    const info = model.actors.get(pool)!;
    expect([labelOf(info), model.service, model.dropped]).toEqual(['flights', 'v1', 12]);
    expect(model.steps.map((s) => [s.from.join(), s.to.join(), s.settled?.code])).toEqual([
      ['', 'opening', undefined],
      ['opening', 'idle', undefined],
      ['idle', 'working', undefined],
      ['working', 'idle', 'merge-conflict'],
    ]);
    const at = (n: number) => {
      model.seek(n);
      return [model.stateOf(info)?.join(), model.jobsInHand(info)];
    };
    expect([at(0), at(2), at(3)]).toEqual([
      ['opening', []],
      ['working', [{ id: 1, kind: 'load', branch: 'main', objects: 2 }]],
      ['idle', []],
    ]);
  });

  test('whose last line was cut off is read up to there', () => {
    expect(read([...texts, '{"kind":"mess']).steps).toHaveLength(4);
  });

  test.each([
    [['hello'], 'its first line is no JSON'],
    [[''], 'it is empty'],
    [['{"kind":"message"}'], 'its first line is no header'],
    [['{"kind":"header","format":9}'], 'has format 9'],
    [[texts[0]!, '[]'], 'Line 2 is no line'],
    [[texts[0]!, '{"kind":"message","actor":1}'], 'Line 2 of the recording is not sound'],
  ])('%j is refused', (bad, fault) => {
    expect(() => read(bad)).toThrow(fault);
  });
});
