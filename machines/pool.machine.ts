/**
 * One pool: does groups of jobs one after the other, loads that wait together as one group. Jobs wait in the host's
 * mailbox; the machine gets one message per group and answers by what it emits: `begin` (the host does the group) and
 * `settled` (the host publishes the events of the outcomes, then settles the promises). No I/O: `open` comes in through
 * `provide()`.
 *
 * Invariants:
 * - A group that is handed over is begun, or settled as refused. Every job is settled exactly once.
 * - At most one group is begun; the next one comes with the message that ends it.
 * - Only an unsound store leads to `failed`; a job that fails settles with its error and the pool goes on.
 */
import { assign, emit, enqueueActions, fromPromise, setup } from 'xstate';
import type { JobOutcome, PoolContext, PoolEmitted, PoolEvent, PoolInput, PoolJob } from './pool.events.ts';

/** The jobs that go next: the first one, and if it is a load, the loads right after it. */
export const nextJobs = (waiting: readonly PoolJob[], groupMax: number): readonly PoolJob[] => {
  let end = waiting.length > 0 ? 1 : 0;
  if (waiting[0]?.kind === 'load')
    while (end < waiting.length && end < groupMax && waiting[end]!.kind === 'load') end++;
  return waiting.slice(0, end);
};

const faultOf = (event: unknown): string => {
  const { error } = event as { readonly error: unknown };
  return error instanceof Error ? error.message : String(error);
};

/** What a group that is done leads to, in `working` and in `closing`. */
const ends = {
  done: [
    {
      guard: 'store is unsound',
      target: 'failed',
      actions: ['settle jobs', 'remember why the store failed', 'take group'],
    },
    { target: 'idle', actions: ['settle jobs', 'take group'] },
  ],
  broke: { target: 'idle', actions: ['settle jobs as failed', 'take group'] },
} as const;

/** The chart. `open` fails unless the host provides it. */
export const poolMachine = setup({
  types: { context: {} as PoolContext, events: {} as PoolEvent, emitted: {} as PoolEmitted, input: {} as PoolInput },
  actors: {
    open: fromPromise<void, { readonly poolId: string }>(() => Promise.reject(new Error('"open" was not provided'))),
  },
  guards: {
    'work waits': ({ context }) => context.running.length > 0,
    'work waits, close is asked for': ({ context }) => context.running.length > 0 && context.closeAsked,
    'close is asked for': ({ context }) => context.closeAsked,
    'store is unsound': ({ event }) => event.type === 'done' && event.unsound !== undefined,
  },
  actions: {
    'take group': assign(({ event }) => ('jobs' in event ? { running: event.jobs, waiting: event.waiting } : {})),
    'drop group': assign({ running: [] }),
    'begin jobs': emit({ type: 'begin' }),
    'settle jobs': emit(({ event }) => ({ type: 'settled', outcomes: event.type === 'done' ? event.outcomes : [] })),
    'settle jobs as failed': emit(({ context, event }) => ({
      type: 'settled',
      outcomes: context.running.map(
        (job): JobOutcome => ({
          id: job.id,
          status: 'failed',
          code: 'internal',
          text: event.type === 'broke' ? event.text : '',
        }),
      ),
    })),
    'refuse jobs: store failed': enqueueActions(({ context: { running, failure }, enqueue }) => {
      if (running.length > 0)
        enqueue.emit({
          type: 'settled',
          outcomes: running.map(({ id }) => ({ id, status: 'refused', why: 'store failed', text: failure ?? '' })),
        });
    }),
    'remember that close is asked for': assign({ closeAsked: true }),
    'remember why the store failed': assign({
      failure: ({ event }) => (event.type === 'done' ? (event.unsound ?? '') : ''),
    }),
    'remember why opening failed': assign({ failure: ({ event }) => faultOf(event) }),
  },
}).createMachine({
  id: 'pool',
  context: ({ input: { poolId } }) => ({ poolId, running: [], waiting: 0, closeAsked: false, failure: null }),
  initial: 'opening',
  on: { close: { actions: 'remember that close is asked for' } },
  states: {
    opening: {
      on: { 'work waiting': { actions: 'take group' } },
      invoke: {
        src: 'open',
        input: ({ context }) => ({ poolId: context.poolId }),
        onDone: 'idle',
        onError: { target: 'failed', actions: 'remember why opening failed' },
      },
    },
    idle: {
      on: { 'work waiting': { actions: 'take group' } },
      always: [
        { guard: 'work waits, close is asked for', target: 'closing' },
        { guard: 'work waits', target: 'working' },
        { guard: 'close is asked for', target: 'closed' },
      ],
    },
    working: { entry: 'begin jobs', on: ends },
    /** Does what waits; the host takes nothing more for it. */
    closing: { entry: 'begin jobs', on: ends },
    /** The store failed: reads go on, writes are refused. */
    failed: {
      entry: ['refuse jobs: store failed', 'drop group'],
      always: { guard: 'close is asked for', target: 'closed' },
      on: { 'work waiting': { actions: ['take group', 'refuse jobs: store failed', 'drop group'] } },
    },
    closed: { type: 'final' },
  },
});
