import { describe, expect, test } from 'vitest';
import { createActor, initialTransition, transition } from 'xstate';
import { loadMachine } from '../../../machines/load.machine.ts';
import type { LoadEvent } from '../../../machines/load.events.ts';
import { queryMachine } from '../../../machines/query.machine.ts';
import type { QueryEvent } from '../../../machines/query.events.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';
import { LoadWatch, QueryWatch } from '../../../src/workers/watches.ts';

const loadAfter = (events: readonly LoadEvent[]) => {
  let [state] = initialTransition(loadMachine, { poolId: 'p' });
  for (const event of events) [state] = transition(loadMachine, state, event);
  return state;
};
const queryAfter = (events: readonly QueryEvent[]) => {
  let [state] = initialTransition(queryMachine, { id: 'q' });
  for (const event of events) [state] = transition(queryMachine, state, event);
  return state;
};

describe('load machine', () => {
  const way: readonly LoadEvent[] = [
    { type: 'begun' },
    { type: 'all rows read', bodyBytes: 10 },
    { type: 'rows sorted' },
    { type: 'objects written', objects: ['a'], records: 2, bytes: 90 },
    { type: 'commit asked' },
    { type: 'committed', commit: 'c' },
  ];
  test('a load goes from waiting to committed', () => {
    expect(way.map((_, i) => loadAfter(way.slice(0, i)).value)).toEqual([
      'waiting',
      'receiving',
      'sorting',
      'writing',
      { committing: 'prepared' },
      { committing: 'asked' },
    ]);
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
  test('it can be cancelled until its commit was asked for', () => {
    const ends = way.map((_, i) => loadAfter([...way.slice(0, i), { type: 'cancelled', text: 'by request' }]));
    expect(ends.map(({ value }) => value)).toEqual([
      ...Array.from({ length: 5 }, () => 'cancelled'),
      { committing: 'asked' },
    ]);
  });
  test('a request that was committed before is committed at once', () => {
    expect(loadAfter([{ type: 'committed', commit: 'c' }]).context).toMatchObject({ commit: 'c', objects: [] });
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
      [way[0]!, atOnce, ...way.slice(4)],
      [way[0]!, atOnce, way[5]!, failed, atOnce],
      [atOnce, failed],
      [failed, ...way],
      [way[0]!, way[1]!, atOnce, way[2]!, { type: 'cancelled', text: 'by request' }],
    ];
    for (const events of ways) {
      const ofActor = told((inspect) => createActor(loadMachine, { input: { poolId: 'p' }, inspect }).start(), events);
      expect(told((inspect) => new LoadWatch({ poolId: 'p' }, inspect).chart, events)).toEqual(ofActor);
    }
  });
  test('so does a query', () => {
    const inspected = (begin: (inspect: (event: unknown) => void) => { send(event: QueryEvent): void }): unknown => {
      const watch = new MachineWatch(() => 7);
      const records: unknown[] = [];
      watch.listen({
        message: (record, { status, value, context }) => {
          records.push(record, { status, value, context });
        },
      });
      const query = begin(watch.inspect);
      const types = ['begun', 'compiled', 'first bytes', 'ended', 'cancel', 'time is over', 'ended'] as const;
      for (const type of types) query.send({ type });
      return records;
    };
    expect(inspected((inspect) => new QueryWatch({ id: 'q' }, inspect).chart)).toEqual(
      inspected((inspect) => createActor(queryMachine, { input: { id: 'q' }, inspect }).start()),
    );
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
        const load = new LoadWatch({ poolId: `p${i}` }, watch.inspect).chart;
        for (const event of way) load.send(event);
        load.send({ type: 'failed', text: 'too late' });
      }
      return watch;
    };
    told(prompt);
    const watch = told(late, { late: true });
    expect(prompt).toHaveLength(1050);
    expect([late.length < 1050, late]).toEqual([true, prompt.slice(0, late.length)]);
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
    const load = new LoadWatch({ poolId: 'p' }, watch.inspect).chart;
    load.send(way[0]!);
    const unlisten = watch.listen({
      message: ({ event }) => {
        heard.push(`prompt ${event.type}`);
      },
    });
    load.send(way[1]!);
    unlisten();
    load.send(way[2]!);
    expect(heard).toEqual(['late begun', 'late all rows read', 'prompt all rows read']);
  });
  test('a commit before the objects are written changes nothing', () => {
    expect(loadAfter([{ type: 'begun' }, { type: 'committed', commit: 'c' }]).value).toBe('receiving');
  });
});

describe('query machine', () => {
  const way: readonly QueryEvent[] = [{ type: 'begun' }, { type: 'compiled' }, { type: 'first bytes' }];
  test('a query waits, compiles, runs and streams', () => {
    expect([0, 1, 2, 3].map((n) => queryAfter(way.slice(0, n)).value)).toEqual([
      { working: 'waiting' },
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
          expect([state.value, state.context.error]).toEqual([value, error]);
        }
      }
    }
  });
  test('its status expires when its time is over, and not before its end', () => {
    expect(queryAfter([...way, { type: 'time is over' }]).value).toEqual({ working: 'streaming' });
    const end = queryAfter([...way, { type: 'failed', text: 'bad' }, { type: 'time is over' }]);
    expect([end.value, end.status, end.context.error]).toEqual(['expired', 'done', 'bad']);
  });
});
