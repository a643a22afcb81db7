/**
 * One pool: does its jobs one after the other, loads that wait together as one group. No I/O: `open` and `work` come in
 * through `provide()`.
 *
 * Invariants:
 * - A job is taken in every state: it is queued, or settled as refused. Every job is settled exactly once.
 * - Jobs run in the order in which they came; at most one `work` runs.
 * - Only an unsound store leads to `failed`; a job that fails settles with its error and the pool goes on.
 */
import { assign, emit, enqueueActions, fromPromise, setup } from 'xstate';
import type { JobOutcome, PoolContext, PoolEmitted, PoolEvent, PoolInput, PoolJob, WorkDone } from './pool.events.ts';

const notProvided = (name: string) => () => Promise.reject(new Error(`"${name}" was not provided`));

/** The jobs that go next: the first one, and if it is a load, the loads right behind it. */
export const nextJobs = (waiting: readonly PoolJob[], groupMax: number): readonly PoolJob[] => {
  let end = waiting.length > 0 ? 1 : 0;
  if (waiting[0]?.kind === 'load')
    while (end < waiting.length && end < groupMax && waiting[end]!.kind === 'load') end++;
  return waiting.slice(0, end);
};

const refused = (
  jobs: readonly PoolJob[],
  why: 'queue full' | 'closing' | 'store failed',
  text: string,
): PoolEmitted => ({
  type: 'settled',
  outcomes: jobs.map((job): JobOutcome => ({ id: job.id, status: 'refused', why, text })),
});

/** `xstate.done.actor.*` and `xstate.error.actor.*` as far as guards and actions read them. */
const outputOf = (event: unknown): WorkDone => (event as { readonly output: WorkDone }).output;
const faultOf = (event: unknown): string => {
  const { error } = event as { readonly error: unknown };
  return error instanceof Error ? error.message : String(error);
};

/** The chart. `open` and `work` fail unless the host provides them. */
export const poolMachine = setup({
  types: { context: {} as PoolContext, events: {} as PoolEvent, emitted: {} as PoolEmitted, input: {} as PoolInput },
  actors: {
    open: fromPromise<void, { readonly poolId: string }>(notProvided('open')),
    work: fromPromise<WorkDone, { readonly poolId: string; readonly jobs: readonly PoolJob[] }>(notProvided('work')),
  },
  guards: {
    'queue is full': ({ context }) => context.waiting.length >= context.waitingMax,
    'jobs wait': ({ context }) => context.waiting.length > 0,
    'close is asked for': ({ context }) => context.closeAsked,
    'store is unsound': ({ event }) => outputOf(event).unsound !== undefined,
  },
  actions: {
    'put job into queue': assign({
      waiting: ({ context, event }) => (event.type === 'job' ? [...context.waiting, event.job] : context.waiting),
    }),
    'take next jobs': assign(({ context }) => {
      const running = nextJobs(context.waiting, context.groupMax);
      return { running, waiting: context.waiting.slice(running.length) };
    }),
    'clear running jobs': assign({ running: [] }),
    'settle finished jobs': emit(({ event }) => ({ type: 'settled', outcomes: outputOf(event).outcomes })),
    'settle running jobs as failed': emit(({ context, event }) => ({
      type: 'settled',
      outcomes: context.running.map(
        (job): JobOutcome => ({ id: job.id, status: 'failed', code: 'internal', text: faultOf(event) }),
      ),
    })),
    'refuse job: queue is full': emit(({ context, event }) =>
      refused(
        event.type === 'job' ? [event.job] : [],
        'queue full',
        `${context.waitingMax} pending (option -queue.max)`,
      ),
    ),
    'refuse job: pool closes': emit(({ event }) =>
      refused(event.type === 'job' ? [event.job] : [], 'closing', 'pool is closing'),
    ),
    'refuse job: store failed': emit(({ context, event }) =>
      refused(event.type === 'job' ? [event.job] : [], 'store failed', context.failure ?? ''),
    ),
    'refuse waiting jobs: store failed': enqueueActions(({ context, enqueue }) => {
      if (context.waiting.length > 0) enqueue.emit(refused(context.waiting, 'store failed', context.failure ?? ''));
    }),
    'clear queue': assign({ waiting: [] }),
    'remember that close is asked for': assign({ closeAsked: true }),
    'remember why the store failed': assign({ failure: ({ event }) => outputOf(event).unsound ?? '' }),
    'remember why opening failed': assign({ failure: ({ event }) => faultOf(event) }),
  },
}).createMachine({
  id: 'pool',
  context: ({ input }) => ({ ...input, waiting: [], running: [], closeAsked: false, failure: null }),
  initial: 'opening',
  on: {
    job: [
      { guard: 'close is asked for', actions: 'refuse job: pool closes' },
      { guard: 'queue is full', actions: 'refuse job: queue is full' },
      { actions: 'put job into queue' },
    ],
    close: { actions: 'remember that close is asked for' },
  },
  states: {
    opening: {
      invoke: {
        src: 'open',
        input: ({ context }) => ({ poolId: context.poolId }),
        onDone: 'idle',
        onError: { target: 'failed', actions: 'remember why opening failed' },
      },
    },
    idle: {
      always: [
        { guard: 'jobs wait', target: 'working' },
        { guard: 'close is asked for', target: 'closing' },
      ],
    },
    working: {
      entry: 'take next jobs',
      invoke: {
        src: 'work',
        input: ({ context }) => ({ poolId: context.poolId, jobs: context.running }),
        onDone: [
          {
            guard: 'store is unsound',
            target: 'failed',
            actions: ['settle finished jobs', 'clear running jobs', 'remember why the store failed'],
          },
          { guard: 'close is asked for', target: 'closing', actions: ['settle finished jobs', 'clear running jobs'] },
          { target: 'idle', actions: ['settle finished jobs', 'clear running jobs'] },
        ],
        onError: { target: 'idle', actions: ['settle running jobs as failed', 'clear running jobs'] },
      },
    },
    /** Does what waits, takes nothing more. */
    closing: {
      initial: 'choosing',
      states: {
        choosing: { always: [{ guard: 'jobs wait', target: 'draining' }, { target: '#pool.closed' }] },
        draining: {
          entry: 'take next jobs',
          invoke: {
            src: 'work',
            input: ({ context }) => ({ poolId: context.poolId, jobs: context.running }),
            onDone: [
              {
                guard: 'store is unsound',
                target: '#pool.failed',
                actions: ['settle finished jobs', 'clear running jobs', 'remember why the store failed'],
              },
              { target: 'choosing', actions: ['settle finished jobs', 'clear running jobs'] },
            ],
            onError: { target: 'choosing', actions: ['settle running jobs as failed', 'clear running jobs'] },
          },
        },
      },
    },
    /** The store failed: reads go on, writes are refused. */
    failed: {
      entry: ['refuse waiting jobs: store failed', 'clear queue'],
      always: { guard: 'close is asked for', target: 'closed' },
      on: { job: { actions: 'refuse job: store failed' } },
    },
    closed: { type: 'final' },
  },
});
