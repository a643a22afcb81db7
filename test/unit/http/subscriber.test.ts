import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createActor } from 'xstate';
import { subscriberMachine } from '../../../machines/subscriber.machine.ts';
import { EventFeed } from '../../../src/http/events.ts';
import type { Lake } from '../../../src/lake/lake.types.ts';
import type { SubscriberEmitted, SubscriberEvent } from '../../../machines/subscriber.events.ts';

const play = (
  waitingMax: number,
  events: readonly SubscriberEvent[],
): {
  readonly states: readonly unknown[];
  readonly emitted: readonly SubscriberEmitted[];
  readonly waiting: number;
} => {
  const actor = createActor(subscriberMachine, { input: { waitingMax, lastId: 0 } });
  const emitted: SubscriberEmitted[] = [];
  actor.on('*', (event) => emitted.push(event));
  actor.start();
  const states = events.map((event) => {
    actor.send(event);
    return actor.getSnapshot().value;
  });
  return { states, emitted, waiting: actor.getSnapshot().context.waiting };
};

test('an open subscriber writes each event as it comes', () => {
  expect(
    play(2, [
      { type: 'event came', id: 1 },
      { type: 'event came', id: 2 },
    ]),
  ).toEqual({
    states: ['open', 'open'],
    emitted: [
      { type: 'write', id: 1 },
      { type: 'write', id: 2 },
    ],
    waiting: 0,
  });
});
test('while the connection is full events wait, and a drain takes them off', () => {
  expect(
    play(2, [
      { type: 'connection full' },
      { type: 'event came', id: 1 },
      { type: 'event came', id: 2 },
      { type: 'connection drained', taken: 1, full: true },
      { type: 'event came', id: 3 },
      { type: 'connection drained', taken: 2, full: false },
    ]),
  ).toEqual({ states: ['lagging', 'lagging', 'lagging', 'lagging', 'lagging', 'open'], emitted: [], waiting: 0 });
});
test('a drain that fills the connection again leaves the subscriber lagging', () => {
  expect(
    play(2, [
      { type: 'connection full' },
      { type: 'event came', id: 1 },
      { type: 'connection drained', taken: 1, full: true },
    ]).states,
  ).toEqual(['lagging', 'lagging', 'lagging']);
});
test('one event more than may wait closes the subscriber', () => {
  expect(play(1, [{ type: 'connection full' }, { type: 'event came', id: 1 }, { type: 'event came', id: 2 }])).toEqual({
    states: ['lagging', 'lagging', 'closed'],
    emitted: [{ type: 'end', reason: 'too slow' }],
    waiting: 0,
  });
});
test('a client that leaves and a service that closes end it in every state', () => {
  expect(play(1, [{ type: 'client left' }]).emitted).toEqual([{ type: 'end', reason: 'client left' }]);
  expect(play(1, [{ type: 'connection full' }, { type: 'service closing' }]).emitted).toEqual([
    { type: 'end', reason: 'service closing' },
  ]);
});
test('one that fell behind leaves new events to the log until it has caught up', () => {
  expect(
    play(1, [
      { type: 'fell behind' },
      { type: 'event came', id: 1 },
      { type: 'event came', id: 2 },
      { type: 'connection full' },
      { type: 'connection drained', taken: 0, full: false },
      { type: 'caught up' },
      { type: 'event came', id: 3 },
    ]),
  ).toEqual({
    states: ['catching up', 'catching up', 'catching up', 'catching up', 'catching up', 'open', 'open'],
    emitted: [{ type: 'write', id: 3 }],
    waiting: 0,
  });
  expect(play(1, [{ type: 'fell behind' }, { type: 'log ended' }]).emitted).toEqual([
    { type: 'end', reason: 'too slow' },
  ]);
});
test('who left before it was answered is no subscriber', () => {
  const lake = { onEvent: () => () => undefined, lastEventId: () => 0 } as unknown as Lake;
  const feed = new EventFeed(lake, { subscribersMax: 1, waitingMax: 3, heartbeatMs: 0 });
  const response = Object.assign(new PassThrough(), { writeHead: () => undefined, flushHeaders: () => undefined });
  response.destroy();
  feed.subscribe({ response, headers: {}, format: 'json', names: 'interface' });
  expect(feed.size).toBe(0);
  feed.close();
});
