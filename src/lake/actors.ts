/** Gives the lake's and the pools' machines their work: promises in place of the actors that the charts only name. */
import { type ActorRefFrom, fromPromise, type PromiseActorLogic } from 'xstate';
import type { LakeJob, LakeWorkDone } from '../../machines/lake.events.ts';
import { lakeMachine } from '../../machines/lake.machine.ts';
import type { PoolJob, WorkDone } from '../../machines/pool.events.ts';
import { poolMachine } from '../../machines/pool.machine.ts';
import { withSteps } from './pool/steps.ts';

/** What the machines leave to the host: each call is the promise that one of their invoked actors stands for. */
interface LakeWork {
  /** Opens the lake's tables. */
  start(): Promise<void>;
  /** Reads the pools, and begins to remove files and rows that nothing holds any more. */
  recover(): Promise<void>;
  /** Does one job of the lake itself. A job that cannot be done is an outcome too, no rejection. */
  work(job: LakeJob): Promise<LakeWorkDone>;
  shutDown(): Promise<void>;
  poolOpen(poolId: string): Promise<void>;
  /** Does a group of jobs that the pool's machine took. */
  poolWork(poolId: string, jobs: readonly PoolJob[]): Promise<WorkDone>;
}

/** A pool's machine, running as a child of the lake's. */
export type PoolActor = ActorRefFrom<typeof poolMachine>;

/** The lake's machine, ready to be started. */
export const provideLake = (work: LakeWork): typeof lakeMachine =>
  lakeMachine.provide({
    actors: {
      start: fromPromise(() => work.start()),
      recover: fromPromise(() => work.recover()),
      work: fromPromise<LakeWorkDone, { readonly job: LakeJob }>(({ input }) => work.work(input.job)),
      'shut down': fromPromise(() => work.shutDown()),
      pool: providePool(work),
    },
  });
/** A pool's machine, ready to be spawned. */
export const providePool = ({ poolOpen, poolWork }: Pick<LakeWork, 'poolOpen' | 'poolWork'>): typeof poolMachine => {
  const work = promised<WorkDone, PoolWorkInput>(({ poolId, jobs }) => poolWork(poolId, jobs));
  return withSteps(
    poolMachine.provide({
      actors: { open: fromPromise<void, { readonly poolId: string }>(({ input }) => poolOpen(input.poolId)), work },
    }),
    work,
  );
};
interface PoolWorkInput {
  readonly poolId: string;
  readonly jobs: readonly PoolJob[];
}

const ended = { done: 'promise resolved', failed: 'promise rejected', stopped: 'xstate.stop' } as const;
/**
 * What `fromPromise` makes, without the means to give the work up that it makes for each: a pool's work is never given
 * up.
 */
const promised = <Output, Input>(work: (input: Input) => Promise<Output>): PromiseActorLogic<Output, Input> => ({
  getInitialSnapshot: (_, input) => ({ status: 'active', output: undefined, error: undefined, input }),
  start: ({ status, input }, { self }) => {
    if (status !== 'active') return;
    work(input as Input).then(
      (output) => {
        self.send({ type: ended.done, output });
      },
      (error: unknown) => {
        self.send({ type: ended.failed, error });
      },
    );
  },
  transition: (state, event) => {
    if (state.status !== 'active') return state;
    switch (event.type) {
      case ended.done:
        return { status: 'done', output: event['output'] as Output, error: undefined, input: undefined };
      case ended.failed:
        return { status: 'error', output: undefined, error: event['error'], input: undefined };
      case ended.stopped:
        return { status: 'stopped', output: undefined, error: undefined, input: undefined };
      default:
        return state;
    }
  },
  getPersistedSnapshot: (state) => state,
  restoreSnapshot: (state) => state as ReturnType<PromiseActorLogic<Output, Input>['getInitialSnapshot']>,
});
