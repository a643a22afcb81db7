/**
 * One query: compiling -> running -> streaming -> done | failed | cancelled -> expired. From its end until `expired`
 * its error text can be asked for. A query may end from every state before: a text that does not compile fails, a query
 * without rows is done without having streamed.
 */
import { assign, setup } from 'xstate';
import type { QueryContext, QueryEvent, QueryInput } from './query.events.ts';

const cancelledText = 'query was cancelled';

export const queryMachine = setup({
  types: { context: {} as QueryContext, events: {} as QueryEvent, input: {} as QueryInput },
  delays: { 'status is kept': ({ context }) => context.keepMs },
  actions: {
    'note why it failed': assign({ error: ({ event }) => (event.type === 'failed' ? event.text : '') }),
    'note that it was cancelled': assign({ error: cancelledText }),
  },
}).createMachine({
  id: 'query',
  context: ({ input }) => ({ ...input, error: '' }),
  initial: 'working',
  // After the end, or for the second time, they change nothing.
  on: { compiled: {}, 'first bytes': {}, ended: {}, failed: {}, cancel: {} },
  states: {
    working: {
      initial: 'compiling',
      on: {
        ended: 'done',
        failed: { target: 'failed', actions: 'note why it failed' },
        cancel: { target: 'cancelled', actions: 'note that it was cancelled' },
      },
      states: {
        compiling: { on: { compiled: 'running', 'first bytes': 'streaming' } },
        running: { on: { 'first bytes': 'streaming' } },
        streaming: {},
      },
    },
    done: { tags: 'ended', after: { 'status is kept': 'expired' } },
    failed: { tags: 'ended', after: { 'status is kept': 'expired' } },
    cancelled: { tags: 'ended', after: { 'status is kept': 'expired' } },
    expired: { type: 'final' },
  },
});
