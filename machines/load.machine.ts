/**
 * One load: waiting -> receiving -> sorting -> writing -> committing -> committed | rejected | cancelled; a small body
 * goes from receiving to committing. Nothing of it can be seen by queries before `committed`; whatever fails on the way
 * leaves the branch as it was.
 *
 * Every transition to another state notes what its event says (`noteOfLoad`), and there are no guards: so the service
 * takes the transitions without an actor (src/workers/chart-run.ts).
 */
import { assign, setup } from 'xstate';
import type { LoadContext, LoadEvent, LoadInput } from './load.events.ts';

/** What is known before anything has come. */
export const loadBegins = ({ poolId }: LoadInput): LoadContext => ({
  poolId,
  bodyBytes: 0,
  objects: [],
  records: 0,
  bytes: 0,
  commit: null,
  error: null,
});
/** What is known after an event. */
export const noteOfLoad = (context: LoadContext, event: LoadEvent): LoadContext => {
  switch (event.type) {
    case 'all rows read':
      return { ...context, bodyBytes: event.bodyBytes };
    case 'objects written': {
      const { objects, records, bytes } = event;
      return { ...context, objects, records, bytes };
    }
    case 'done at once': {
      const { bodyBytes, objects, records, bytes } = event;
      return { ...context, bodyBytes, objects, records, bytes };
    }
    case 'committed':
      return { ...context, commit: event.commit };
    case 'failed':
    case 'cancelled':
      return { ...context, error: event.text };
    default:
      return context;
  }
};

/** The chart. It waits for events and notes them; it starts nothing. */
export const loadMachine = setup({
  types: { context: {} as LoadContext, events: {} as LoadEvent, input: {} as LoadInput },
  actions: { note: assign(({ context, event }) => noteOfLoad(context, event)) },
}).createMachine({
  id: 'load',
  context: ({ input }) => loadBegins(input),
  initial: 'waiting',
  on: {
    failed: { target: '.rejected', actions: 'note' },
    cancelled: { target: '.cancelled', actions: 'note' },
    // Out of their order they say nothing.
    begun: {},
    'all rows read': {},
    'rows sorted': {},
    'objects written': {},
    'done at once': {},
    'commit asked': {},
    committed: {},
  },
  states: {
    /** For a thread. */
    waiting: {
      on: { begun: { target: 'receiving', actions: 'note' }, committed: { target: 'committed', actions: 'note' } },
    },
    receiving: {
      on: {
        'all rows read': { target: 'sorting', actions: 'note' },
        'done at once': { target: 'committing', actions: 'note' },
      },
    },
    sorting: { on: { 'rows sorted': { target: 'writing', actions: 'note' } } },
    writing: { on: { 'objects written': { target: 'committing', actions: 'note' } } },
    committing: {
      initial: 'prepared',
      on: { committed: { target: 'committed', actions: 'note' } },
      states: {
        prepared: { on: { 'commit asked': { target: 'asked', actions: 'note' } } },
        asked: { on: { cancelled: {} } },
      },
    },
    committed: { type: 'final' },
    rejected: { type: 'final' },
    cancelled: { type: 'final' },
  },
});
