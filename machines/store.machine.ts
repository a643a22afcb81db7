/**
 * What this service is to a lake in a bucket: it follows the log there, takes over, writes it, or may not any more. One
 * actor a service, from the moment that its folder is prepared; a standby that takes over keeps its own. No I/O: the
 * host (src/lake/store/) looks and puts, does what the state says, and tells what became of it.
 *
 * Invariants:
 * - Only `writing` puts segments, and it begins with a fence of this service's own.
 * - There is no way from `fenced` or `ended` to `writing`: only a new start reads what another one wrote.
 */
import { assign, setup } from 'xstate';
import { faultOf, type StoreContext, type StoreEvent, type StoreInput } from './store.events.ts';

export const storeMachine = setup({
  types: {
    context: {} as StoreContext,
    events: {} as StoreEvent,
    input: {} as StoreInput,
  },
  guards: {
    'it is a standby': ({ context }) => context.isStandby,
    'nobody asked for it': ({ context }) => !context.isAsked,
  },
  actions: {
    'remember that somebody waits': assign({ isAsked: true }),
    'forget who waited': assign({ isAsked: false }),
    'remember why': assign({ reason: ({ event }) => ('text' in event ? event.text : null) }),
    'note the fault': assign(({ event }) =>
      event.type === 'bucket away' ? { [faultOf(event.subject)]: event.text } : {},
    ),
    'forget the fault': assign(({ event }) =>
      event.type === 'bucket answered' ? { [faultOf(event.subject)]: null } : {},
    ),
  },
}).createMachine({
  id: 'store',
  context: ({ input }) => ({ ...input, isAsked: false, reason: null, logFault: null, leaseFault: null }),
  initial: 'opening',
  on: {
    'bucket away': { actions: 'note the fault' },
    'bucket answered': { actions: 'forget the fault' },
    closed: '.closed',
    // Where a state says nothing of them they change nothing.
    'folder ready': {},
    'fence put': {},
    'promote asked': {},
    'writer gone': {},
    overtaken: {},
    'log broken': {},
    leads: {},
    'segment refused': {},
    'cannot go on': {},
  },
  states: {
    opening: { on: { 'folder ready': 'following', 'fence put': 'writing' } },
    following: {
      on: {
        'promote asked': {
          guard: 'it is a standby',
          target: 'promoting',
          actions: 'remember that somebody waits',
        },
        'writer gone': { guard: 'it is a standby', target: 'promoting' },
        'cannot go on': { target: 'ended', actions: 'remember why' },
      },
    },
    promoting: {
      initial: 'fencing',
      on: { 'cannot go on': { target: 'ended', actions: 'remember why' } },
      states: {
        fencing: {
          on: {
            'promote asked': { actions: 'remember that somebody waits' },
            // Who asked for it means this one, whoever came first.
            overtaken: { guard: 'nobody asked for it', target: '#store.following' },
            'log broken': { target: '#store.following', actions: 'forget who waited' },
            'fence put': 'leading',
          },
        },
        leading: { on: { leads: '#store.writing' } },
      },
    },
    writing: { on: { 'segment refused': { target: 'fenced', actions: 'remember why' } } },
    fenced: {},
    ended: {},
    closed: { type: 'final' },
  },
});
