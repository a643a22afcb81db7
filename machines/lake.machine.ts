/**
 * The lake: starts, recovers, serves, closes. Creates, renames and deletes pools, creates, replaces, renames and drops views,
 * one job at a time; a pool's actor is spawned when its first write comes (`pool wanted`) and stopped when it has
 * ended. No I/O: `start`, `recover`, `work`, `shut down` and the pool come in through `provide()`.
 *
 * Invariants:
 * - A job is taken in every state: it is queued, or settled as refused. Every job is settled exactly once.
 * - The store is shut down only after every pool's actor has ended.
 */
import { assign, emit, enqueueActions, fromPromise, sendTo, setup, spawnChild, stopChild } from 'xstate';
import { poolMachine } from './pool.machine.ts';
import type { JobOutcome } from './pool.events.ts';
import type { LakeContext, LakeEmitted, LakeEvent, LakeInput, LakeJob, LakeWorkDone } from './lake.events.ts';

const notProvided = (name: string) => () => Promise.reject(new Error(`"${name}" was not provided`));
const outputOf = (event: unknown): LakeWorkDone => (event as { readonly output: LakeWorkDone }).output;
const faultOf = (event: unknown): string => {
  const { error } = event as { readonly error: unknown };
  return error instanceof Error ? error.message : String(error);
};
/** `xstate.done.actor.<pool id>` */
const endedPool = (event: unknown): string => (event as { readonly actorId: string }).actorId;

const refused = (
  jobs: readonly LakeJob[],
  why: 'queue full' | 'closing' | 'store failed',
  text: string,
): LakeEmitted => ({
  type: 'settled',
  outcomes: jobs.map((job): JobOutcome => ({ id: job.id, status: 'refused', why, text })),
});

export const lakeMachine = setup({
  types: { context: {} as LakeContext, events: {} as LakeEvent, emitted: {} as LakeEmitted, input: {} as LakeInput },
  actors: {
    start: fromPromise<void>(notProvided('start')),
    recover: fromPromise<void>(notProvided('recover')),
    work: fromPromise<LakeWorkDone, { readonly job: LakeJob }>(notProvided('work')),
    'shut down': fromPromise<void>(notProvided('shut down')),
    pool: poolMachine,
  },
  guards: {
    'queue is full': ({ context }) => context.waiting.length >= context.waitingMax,
    'jobs wait': ({ context }) => context.waiting.length > 0,
    'store is unsound': ({ event }) => outputOf(event).unsound !== undefined,
    'store has failed': ({ context }) => context.failure !== null,
    'close is asked for': ({ context }) => context.closeAsked,
    'no pool is open': ({ context }) => context.openPools.length === 0,
    'pool has an actor': ({ context, event }) =>
      event.type === 'pool wanted' && context.openPools.includes(event.poolId),
  },
  actions: {
    'put job into queue': assign({
      waiting: ({ context, event }) => (event.type === 'job' ? [...context.waiting, event.job] : context.waiting),
    }),
    'take next job': assign(({ context }) => ({
      running: context.waiting[0] ?? null,
      waiting: context.waiting.slice(1),
    })),
    'clear running job': assign({ running: null }),
    'settle finished job': emit(({ event }) => ({ type: 'settled', outcomes: [outputOf(event).outcome] })),
    'settle running job as failed': emit(({ context, event }) => ({
      type: 'settled',
      outcomes: context.running
        ? [{ id: context.running.id, status: 'failed', code: 'internal', text: faultOf(event) } as const]
        : [],
    })),
    'refuse job: queue is full': emit(({ context, event }) =>
      refused(
        event.type === 'job' ? [event.job] : [],
        'queue full',
        `${context.waitingMax} pending (option -queue.max)`,
      ),
    ),
    'refuse job: lake closes': emit(({ event }) =>
      refused(event.type === 'job' ? [event.job] : [], 'closing', 'lake is closing'),
    ),
    'refuse waiting jobs: lake closes': enqueueActions(({ context, enqueue }) => {
      if (context.waiting.length > 0) enqueue.emit(refused(context.waiting, 'closing', 'lake is closing'));
    }),
    'refuse job: store failed': emit(({ context, event }) =>
      refused(event.type === 'job' ? [event.job] : [], 'store failed', context.failure ?? ''),
    ),
    'refuse waiting jobs: store failed': enqueueActions(({ context, enqueue }) => {
      if (context.waiting.length > 0) enqueue.emit(refused(context.waiting, 'store failed', context.failure ?? ''));
    }),
    'clear queue': assign({ waiting: [] }),
    'remember that close is asked for': assign({ closeAsked: true }),
    'remember why the store failed': assign({
      failure: ({ event }) => (event.type === 'store failed' ? event.reason : (outputOf(event).unsound ?? '')),
    }),
    'remember why starting failed': assign({ failure: ({ event }) => faultOf(event) }),
    'spawn pool actor': enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'pool wanted') return;
      enqueue(spawnChild('pool', { id: event.poolId, input: { poolId: event.poolId } }));
      enqueue.assign({ openPools: [...context.openPools, event.poolId] });
    }),
    'close actor of deleted pool': enqueueActions(({ context, event, enqueue }) => {
      const poolId = outputOf(event).closePool;
      if (poolId !== undefined && context.openPools.includes(poolId)) enqueue(sendTo(poolId, { type: 'close' }));
    }),
    'close all pool actors': enqueueActions(({ context, enqueue }) => {
      for (const poolId of context.openPools) enqueue(sendTo(poolId, { type: 'close' }));
    }),
    'stop ended pool actor': enqueueActions(({ context, event, enqueue }) => {
      const poolId = endedPool(event);
      if (!context.openPools.includes(poolId)) return;
      enqueue(stopChild(poolId));
      enqueue.assign({ openPools: context.openPools.filter((id) => id !== poolId) });
    }),
  },
}).createMachine({
  id: 'lake',
  context: ({ input }) => ({ ...input, waiting: [], running: null, openPools: [], closeAsked: false, failure: null }),
  initial: 'starting',
  on: {
    job: [{ guard: 'queue is full', actions: 'refuse job: queue is full' }, { actions: 'put job into queue' }],
    // Taken in every state: a lake that still starts, or works, closes as soon as it is idle.
    close: { actions: 'remember that close is asked for' },
    'store failed': { actions: 'remember why the store failed' },
    'pool wanted': [{ guard: 'pool has an actor' }, { actions: 'spawn pool actor' }],
    'xstate.done.actor.*': { actions: 'stop ended pool actor' },
    'xstate.error.actor.*': { actions: 'stop ended pool actor' },
  },
  states: {
    starting: {
      invoke: {
        src: 'start',
        onDone: 'recovering',
        onError: { target: 'failed', actions: 'remember why starting failed' },
      },
    },
    recovering: {
      invoke: {
        src: 'recover',
        onDone: 'ready',
        onError: { target: 'failed', actions: 'remember why starting failed' },
      },
    },
    ready: {
      initial: 'idle',
      states: {
        idle: {
          always: [
            { guard: 'close is asked for', target: '#lake.closing' },
            { guard: 'store has failed', target: 'read only' },
            { guard: 'jobs wait', target: 'working' },
          ],
        },
        working: {
          entry: 'take next job',
          invoke: {
            src: 'work',
            input: ({ context }) => ({ job: context.running! }),
            onDone: [
              {
                guard: 'store is unsound',
                target: 'read only',
                actions: ['settle finished job', 'clear running job', 'remember why the store failed'],
              },
              { target: 'idle', actions: ['settle finished job', 'close actor of deleted pool', 'clear running job'] },
            ],
            onError: { target: 'idle', actions: ['settle running job as failed', 'clear running job'] },
          },
        },
        /** The store failed: reads go on, writes are refused. */
        'read only': {
          entry: ['refuse waiting jobs: store failed', 'clear queue'],
          always: { guard: 'close is asked for', target: '#lake.closing' },
          on: { job: { actions: 'refuse job: store failed' } },
        },
      },
    },
    closing: {
      entry: ['refuse waiting jobs: lake closes', 'clear queue', 'close all pool actors'],
      initial: 'pools end',
      on: { job: { actions: 'refuse job: lake closes' }, 'pool wanted': {} },
      states: {
        'pools end': { always: { guard: 'no pool is open', target: 'store ends' } },
        'store ends': {
          invoke: { src: 'shut down', onDone: '#lake.closed', onError: '#lake.closed' },
        },
      },
    },
    /** It could not start. */
    failed: {
      entry: ['refuse waiting jobs: store failed', 'clear queue'],
      always: { guard: 'close is asked for', target: 'closed' },
      on: { job: { actions: 'refuse job: store failed' } },
    },
    closed: { type: 'final' },
  },
});
