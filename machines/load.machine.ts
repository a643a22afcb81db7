/**
 * One load: receiving -> sorting -> writing -> waiting -> committed | rejected; a small body goes from receiving to
 * waiting. Nothing of it can be seen by queries before `committed`; whatever fails on the way, a client that goes away
 * included, leads to `rejected` and leaves the branch as it was.
 */
import { assign, setup } from 'xstate';
import type { LoadContext, LoadEvent, LoadInput } from './load.events.ts';

/** Field by field: the engine takes a hundred times as long to add some to a spread object. */
export const beginLoad = ({ poolId }: LoadInput): LoadContext => ({
  poolId,
  bodyBytes: 0,
  objects: [],
  records: 0,
  bytes: 0,
  commit: null,
  error: null,
});

interface Noted {
  readonly context: LoadContext;
  readonly event: LoadEvent;
}
/** What the actions write down; they do nothing else. */
export const loadNotes = {
  'note size of body': ({ context, event }: Noted): Partial<LoadContext> => ({
    bodyBytes: event.type === 'all rows read' || event.type === 'done at once' ? event.bodyBytes : context.bodyBytes,
  }),
  'note objects': ({ event }: Noted): Partial<LoadContext> =>
    event.type === 'objects written' || event.type === 'done at once'
      ? { objects: event.objects, records: event.records, bytes: event.bytes }
      : {},
  'note commit': ({ event }: Noted): Partial<LoadContext> => ({
    commit: event.type === 'committed' ? event.commit : null,
  }),
  'note why it failed': ({ event }: Noted): Partial<LoadContext> => ({
    error: event.type === 'failed' ? event.text : null,
  }),
} as const;

/** The chart. It waits for events and notes them; it starts nothing. */
export const loadMachine = setup({
  types: { context: {} as LoadContext, events: {} as LoadEvent, input: {} as LoadInput },
  actions: {
    'note size of body': assign(loadNotes['note size of body']),
    'note objects': assign(loadNotes['note objects']),
    'note commit': assign(loadNotes['note commit']),
    'note why it failed': assign(loadNotes['note why it failed']),
  },
}).createMachine({
  id: 'load',
  context: ({ input }) => beginLoad(input),
  initial: 'receiving',
  on: {
    failed: { target: '.rejected', actions: 'note why it failed' },
    // Out of their order they say nothing.
    'all rows read': {},
    'rows sorted': {},
    'objects written': {},
    'done at once': {},
    committed: {},
  },
  states: {
    receiving: {
      on: {
        'all rows read': { target: 'sorting', actions: 'note size of body' },
        'done at once': { target: 'waiting', actions: ['note size of body', 'note objects'] },
      },
    },
    sorting: { on: { 'rows sorted': 'writing' } },
    writing: { on: { 'objects written': { target: 'waiting', actions: 'note objects' } } },
    /** For its turn in the pool. */
    waiting: { on: { committed: { target: 'committed', actions: 'note commit' } } },
    committed: { type: 'final' },
    rejected: { type: 'final' },
  },
});
