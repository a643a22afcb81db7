/**
 * One pool: does groups of jobs one after the other, loads that wait together as one group. Jobs wait in the host's
 * mailbox; the machine gets one message per group and answers by what it emits: `begin` (the host does the group) and
 * `settled` (the host publishes the events of the outcomes, then settles the promises). No I/O: `open` comes in through
 * `provide()`.
 *
 * Where commits wait for a bucket the host may hand over loads while others are under way, once those have their place
 * in the log: they go there side by side. Groups end in the order in which they were begun, all the same.
 *
 * Invariants:
 * - A group that is handed over is begun, or settled as refused. Every job is settled exactly once.
 * - Only an unsound store leads to `failed`, when all that is under way has ended; a job that fails settles with its
 *   error and the pool goes on.
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
/**
 * The jobs that may go behind loads that are under way: more of them. One with a condition waits, since it is answered
 * by where its branch is.
 */
export const nextBehind = (waiting: readonly PoolJob[], groupMax: number): readonly PoolJob[] => {
  let end = 0;
  for (; end < waiting.length && end < groupMax; end++) {
    const { kind, ifTip } = waiting[end]!;
    if (kind !== 'load' || ifTip) break;
  }
  return waiting.slice(0, end);
};

/** How many jobs an event ends: those that were begun first. */
const endedBy = ({ running }: PoolContext, event: PoolEvent): number => {
  if (event.type === 'done') return event.outcomes.length;
  return event.type === 'broke' ? (event.count ?? running.length) : 0;
};

const faultOf = (event: unknown): string => {
  const { error } = event as { readonly error: unknown };
  return error instanceof Error ? error.message : String(error);
};

/** What a group that comes, or is done, leads to in `working` and in `closing`. */
const groups = {
  'work waiting': { actions: ['take group', 'begin what came'] },
  done: [
    {
      guard: 'others are under way',
      actions: ['settle jobs', 'remember why the store failed', 'take group', 'begin what came'],
    },
    {
      guard: 'store is unsound',
      target: 'failed',
      actions: ['settle jobs', 'remember why the store failed', 'take group'],
    },
    { target: 'idle', actions: ['settle jobs', 'take group'] },
  ],
  broke: [
    { guard: 'others are under way', actions: ['settle jobs as failed', 'take group', 'begin what came'] },
    { guard: 'store is unsound', target: 'failed', actions: ['settle jobs as failed', 'take group'] },
    { target: 'idle', actions: ['settle jobs as failed', 'take group'] },
  ],
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
    'others are under way': ({ context, event }) => endedBy(context, event) < context.running.length,
    'store is unsound': ({ context, event }) =>
      (event.type === 'done' && event.unsound !== undefined) || context.failure !== null,
  },
  actions: {
    'take group': assign(({ context, event }) =>
      'jobs' in event
        ? { running: [...context.running.slice(endedBy(context, event)), ...event.jobs], waiting: event.waiting }
        : {},
    ),
    'drop group': assign({ running: [] }),
    'begin jobs': emit({ type: 'begin' }),
    'begin what came': enqueueActions(({ event, enqueue }) => {
      if ('jobs' in event && event.jobs.length > 0) enqueue.emit({ type: 'begin' });
    }),
    'settle jobs': emit(({ event }) => ({ type: 'settled', outcomes: event.type === 'done' ? event.outcomes : [] })),
    'settle jobs as failed': emit(({ context, event }) => ({
      type: 'settled',
      outcomes: context.running.slice(0, endedBy(context, event)).map(
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
      failure: ({ context, event }) => (event.type === 'done' ? (event.unsound ?? context.failure) : context.failure),
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
      on: { 'work waiting': { target: 'working', actions: 'take group' } },
      always: [
        { guard: 'work waits, close is asked for', target: 'closing' },
        { guard: 'work waits', target: 'working' },
        { guard: 'close is asked for', target: 'closed' },
      ],
    },
    working: { entry: 'begin jobs', on: groups },
    /** Does what waits; the host takes nothing more for it. */
    closing: { entry: 'begin jobs', on: groups },
    /** The store failed: reads go on, writes are refused. */
    failed: {
      entry: ['refuse jobs: store failed', 'drop group'],
      always: { guard: 'close is asked for', target: 'closed' },
      on: { 'work waiting': { actions: ['take group', 'refuse jobs: store failed', 'drop group'] } },
    },
    closed: { type: 'final' },
  },
});
