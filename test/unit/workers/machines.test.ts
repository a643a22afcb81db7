import { describe, expect, test } from 'vitest';
import { SimulatedClock, createActor, initialTransition, transition } from 'xstate';
import { loadMachine } from '../../../machines/load.machine.ts';
import type { LoadEvent } from '../../../machines/load.events.ts';
import { queryMachine } from '../../../machines/query.machine.ts';
import type { QueryEvent } from '../../../machines/query.events.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';
import { LoadRun } from '../../../src/workers/load/run.ts';

const loadAfter = (events: readonly LoadEvent[]) => {
  let [state] = initialTransition(loadMachine, { poolId: 'p' });
  for (const event of events) [state] = transition(loadMachine, state, event);
  return state;
};
const queryAfter = (events: readonly QueryEvent[]) => {
  let [state] = initialTransition(queryMachine, { id: 'q', keepMs: 10 });
  for (const event of events) [state] = transition(queryMachine, state, event);
  return state;
};

describe('load machine', () => {
  const way: readonly LoadEvent[] = [
    { type: 'all rows read', bodyBytes: 10 },
    { type: 'rows sorted' },
    { type: 'objects written', objects: ['a'], records: 2, bytes: 90 },
    { type: 'committed', commit: 'c' },
  ];
  test('a load goes from receiving to committed', () => {
    expect(way.map((_, i) => loadAfter(way.slice(0, i)).value)).toEqual(['receiving', 'sorting', 'writing', 'waiting']);
    const end = loadAfter(way);
    expect([end.value, end.status, end.context]).toEqual([
      'committed',
      'done',
      { poolId: 'p', bodyBytes: 10, objects: ['a'], records: 2, bytes: 90, commit: 'c', error: null },
    ]);
  });
  test('a failure at any step rejects it, and a load that has ended stays as it is', () => {
    for (let i = 0; i < way.length; i++) {
      const state = loadAfter([...way.slice(0, i), { type: 'failed', text: 'no' }]);
      expect([state.value, state.context.error, state.context.commit]).toEqual(['rejected', 'no', null]);
    }
  });
  test('a load tells whoever inspects it the same as an actor does, whatever comes in whatever order, also behind its end', () => {
    const told = (
      begin: (inspect: (event: unknown) => void) => { send(event: LoadEvent): void; getPersistedSnapshot(): unknown },
      events: readonly LoadEvent[],
    ): unknown => {
      const watch = new MachineWatch(() => 7);
      const records: unknown[] = [];
      watch.listen({
        actor: (record) => {
          records.push(record);
        },
        message: (record, { status, value, context }) => {
          records.push(record, { status, value, context });
        },
      });
      const load = begin(watch.inspect);
      const persisted = [load.getPersistedSnapshot()];
      for (const event of events) {
        load.send(event);
        persisted.push(load.getPersistedSnapshot());
      }
      return { records, live: watch.actors({ snapshots: true }).map((one) => one.actor), persisted };
    };
    const failed: LoadEvent = { type: 'failed', text: 'no' };
    const atOnce: LoadEvent = { type: 'done at once', bodyBytes: 3, objects: ['b'], records: 1, bytes: 50 };
    const ways: readonly (readonly LoadEvent[])[] = [
      [],
      way,
      [...way].reverse(),
      [atOnce, way[3]!],
      [atOnce, way[3]!, failed, atOnce],
      [atOnce, failed],
      [failed, ...way],
      [way[0]!, atOnce, way[1]!, failed],
    ];
    for (const events of ways) {
      const ofActor = told((inspect) => createActor(loadMachine, { input: { poolId: 'p' }, inspect }).start(), events);
      expect(told((inspect) => new LoadRun({ poolId: 'p' }, inspect), events)).toEqual(ofActor);
    }
    const one = new LoadRun({ poolId: 'p' });
    for (const event of way) one.send(event);
    expect(one.getSnapshot()).toMatchObject({
      value: 'committed',
      status: 'done',
      context: { objects: ['a'], commit: 'c' },
    });
  });
  test('who may be told late is told the same, in the same order, by the time that it looks', () => {
    const prompt: unknown[] = [];
    const late: unknown[] = [];
    const told = (into: unknown[], options?: { readonly late: true }): MachineWatch => {
      let ms = 0;
      const watch = new MachineWatch(() => ++ms);
      watch.listen(
        {
          message: (record, { value, context }) => {
            into.push(record, value, context);
          },
        },
        options,
      );
      for (let i = 0; i < 50; i++) {
        const load = new LoadRun({ poolId: `p${i}` }, watch.inspect);
        for (const event of way) load.send(event);
        load.send({ type: 'failed', text: 'too late' });
      }
      return watch;
    };
    told(prompt);
    const watch = told(late, { late: true });
    expect(prompt).toHaveLength(750);
    expect([late.length < 750, late]).toEqual([true, prompt.slice(0, late.length)]);
    watch.settle();
    expect(late).toEqual(prompt);
  });
  test('one that must be told at once makes the others hear at once too', () => {
    const watch = new MachineWatch();
    const heard: string[] = [];
    watch.listen(
      {
        message: ({ event }) => {
          heard.push(`late ${event.type}`);
        },
      },
      { late: true },
    );
    const load = new LoadRun({ poolId: 'p' }, watch.inspect);
    load.send(way[0]!);
    const unlisten = watch.listen({
      message: ({ event }) => {
        heard.push(`prompt ${event.type}`);
      },
    });
    load.send(way[1]!);
    unlisten();
    load.send(way[2]!);
    expect(heard).toEqual(['late all rows read', 'late rows sorted', 'prompt rows sorted']);
  });
  test('a commit before the objects are written changes nothing', () => {
    expect(loadAfter([{ type: 'committed', commit: 'c' }]).value).toBe('receiving');
  });
});

describe('query machine', () => {
  const way: readonly QueryEvent[] = [{ type: 'compiled' }, { type: 'first bytes' }];
  test('a query compiles, runs and streams', () => {
    expect([0, 1, 2].map((n) => queryAfter(way.slice(0, n)).value)).toEqual([
      { working: 'compiling' },
      { working: 'running' },
      { working: 'streaming' },
    ]);
  });
  test('it ends from every state before, once', () => {
    const ends: readonly (readonly [QueryEvent, string, string])[] = [
      [{ type: 'ended' }, 'done', ''],
      [{ type: 'failed', text: 'bad' }, 'failed', 'bad'],
      [{ type: 'cancel' }, 'cancelled', 'query was cancelled'],
    ];
    for (let n = 0; n <= way.length; n++) {
      for (const [event, value, error] of ends) {
        const later: readonly QueryEvent[] = [
          { type: 'failed', text: 'late' },
          { type: 'cancel' },
          { type: 'ended' },
          { type: 'first bytes' },
        ];
        for (const after of [[], ...later.map((e) => [e])]) {
          const state = queryAfter([...way.slice(0, n), event, ...after]);
          expect([state.value, state.context.error, state.hasTag('ended')]).toEqual([value, error, true]);
        }
      }
    }
  });
  test('its status expires when its time is over', () => {
    const clock = new SimulatedClock();
    const actor = createActor(queryMachine, { input: { id: 'q', keepMs: 10_000 }, clock }).start();
    clock.increment(60_000);
    expect(actor.getSnapshot().value).toEqual({ working: 'compiling' });
    actor.send({ type: 'ended' });
    clock.increment(9_999);
    expect(actor.getSnapshot().value).toBe('done');
    clock.increment(1);
    expect([actor.getSnapshot().value, actor.getSnapshot().status]).toEqual(['expired', 'done']);
  });
});
