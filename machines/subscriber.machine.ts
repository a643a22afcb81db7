/**
 * One subscriber of the events feed: (catching up ->) open -> lagging -> closed. One that comes back is first read what
 * it missed, at its own pace, from the log. While the connection takes what is written the subscriber is open; when it
 * is full, events wait, `waitingMax` at most: one more and the subscriber is closed, so that a reader that stalls holds
 * up nobody and never loses an event unseen.
 */
import { assign, emit, setup } from 'xstate';
import type { SubscriberContext, SubscriberEmitted, SubscriberEnd, SubscriberEvent } from './subscriber.events.ts';

export const subscriberMachine = setup({
  types: {
    context: {} as SubscriberContext,
    events: {} as SubscriberEvent,
    emitted: {} as SubscriberEmitted,
    input: {} as { readonly waitingMax: number; readonly lastId: number },
  },
  guards: {
    'queue is full': ({ context }) => context.waiting >= context.waitingMax,
    'nothing waits any more': ({ context, event }) =>
      event.type === 'connection drained' && !event.full && event.taken >= context.waiting,
  },
  actions: {
    'note the event': assign({
      lastId: ({ context, event }) => (event.type === 'event came' ? event.id : context.lastId),
    }),
    'let it wait': assign({ waiting: ({ context }) => context.waiting + 1 }),
    'take off what was written': assign({
      waiting: ({ context, event }) =>
        event.type === 'connection drained' ? Math.max(0, context.waiting - event.taken) : context.waiting,
    }),
    'write it': emit(({ context }) => ({ type: 'write' as const, id: context.lastId })),
    'note why it ends': assign({ waiting: 0, end: (_, params: { readonly reason: SubscriberEnd }) => params.reason }),
    'end the connection': emit(({ context }) => ({ type: 'end' as const, reason: context.end ?? 'client left' })),
  },
}).createMachine({
  id: 'subscriber',
  context: ({ input }) => ({ waiting: 0, waitingMax: input.waitingMax, lastId: input.lastId }),
  initial: 'open',
  on: {
    'client left': { target: '.closed', actions: { type: 'note why it ends', params: { reason: 'client left' } } },
    'service closing': {
      target: '.closed',
      actions: { type: 'note why it ends', params: { reason: 'service closing' } },
    },
    // Where a state says nothing of them they change nothing.
    'connection full': {},
    'connection drained': {},
    'fell behind': {},
    'caught up': {},
    'log ended': {},
  },
  states: {
    open: {
      on: {
        'event came': { actions: ['note the event', 'write it'] },
        'connection full': 'lagging',
        'fell behind': 'catching up',
      },
    },
    'catching up': {
      on: {
        'event came': { actions: 'note the event' },
        'caught up': 'open',
        'log ended': { target: 'closed', actions: { type: 'note why it ends', params: { reason: 'too slow' } } },
      },
    },
    lagging: {
      on: {
        'event came': [
          {
            guard: 'queue is full',
            target: 'closed',
            actions: { type: 'note why it ends', params: { reason: 'too slow' } },
          },
          { actions: ['note the event', 'let it wait'] },
        ],
        'connection drained': [
          { guard: 'nothing waits any more', target: 'open', actions: 'take off what was written' },
          { actions: 'take off what was written' },
        ],
      },
    },
    closed: { type: 'final', entry: 'end the connection' },
  },
});
