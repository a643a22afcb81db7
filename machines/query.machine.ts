/**
 * One query: waiting -> compiling -> running -> streaming -> done | failed | cancelled -> expired. From its end until
 * `expired` its error text can be asked for. A query may end from every state before: a text that does not compile
 * fails, a query without rows is done without having streamed.
 *
 * Every transition to another state notes what its event says (`noteOfQuery`), and there are no guards: so the service
 * takes the transitions without an actor (src/workers/chart-run.ts).
 */
import { assign, setup } from 'xstate';
import type { QueryContext, QueryEvent, QueryInput } from './query.events.ts';

/** What is known before anything has come. */
export const queryBegins = ({ id }: QueryInput): QueryContext => ({ id, error: '' });
/** What is known after an event. */
export const noteOfQuery = (context: QueryContext, event: QueryEvent): QueryContext => {
  if (event.type === 'failed') return { ...context, error: event.text };
  return event.type === 'cancel' ? { ...context, error: 'query was cancelled' } : context;
};

/** The chart. It waits for events and notes them; it starts nothing. */
export const queryMachine = setup({
  types: { context: {} as QueryContext, events: {} as QueryEvent, input: {} as QueryInput },
  actions: { note: assign(({ context, event }) => noteOfQuery(context, event)) },
}).createMachine({
  id: 'query',
  context: ({ input }) => queryBegins(input),
  initial: 'working',
  // After the end, or for the second time, they change nothing.
  on: { begun: {}, compiled: {}, 'first bytes': {}, ended: {}, failed: {}, cancel: {}, 'time is over': {} },
  states: {
    working: {
      initial: 'waiting',
      on: {
        ended: { target: 'done', actions: 'note' },
        failed: { target: 'failed', actions: 'note' },
        cancel: { target: 'cancelled', actions: 'note' },
      },
      states: {
        /** For a thread. */
        waiting: { on: { begun: { target: 'compiling', actions: 'note' } } },
        compiling: {
          on: {
            compiled: { target: 'running', actions: 'note' },
            'first bytes': { target: 'streaming', actions: 'note' },
          },
        },
        running: { on: { 'first bytes': { target: 'streaming', actions: 'note' } } },
        streaming: {},
      },
    },
    done: { on: { 'time is over': { target: 'expired', actions: 'note' } } },
    failed: { on: { 'time is over': { target: 'expired', actions: 'note' } } },
    cancelled: { on: { 'time is over': { target: 'expired', actions: 'note' } } },
    expired: { type: 'final' },
  },
});
