/** Gives the lake's and the pools' machines their work: promises in place of the actors that the charts only name. */
import { type ActorRefFrom, fromPromise } from 'xstate';
import type { LakeJob, LakeWorkDone } from '../../machines/lake.events.ts';
import { lakeMachine } from '../../machines/lake.machine.ts';
import type { PoolJob, WorkDone } from '../../machines/pool.events.ts';
import { poolMachine } from '../../machines/pool.machine.ts';

export interface LakeWork {
  start(): Promise<void>;
  recover(): Promise<void>;
  work(job: LakeJob): Promise<LakeWorkDone>;
  shutDown(): Promise<void>;
  poolOpen(poolId: string): Promise<void>;
  poolWork(poolId: string, jobs: readonly PoolJob[]): Promise<WorkDone>;
}

export type PoolActor = ActorRefFrom<typeof poolMachine>;

/** The lake's machine, ready to be started. */
export const provideLake = (work: LakeWork): typeof lakeMachine => lakeMachine.provide({
  actors: {
    start: fromPromise(() => work.start()),
    recover: fromPromise(() => work.recover()),
    work: fromPromise<LakeWorkDone, { readonly job: LakeJob }>(({ input }) => work.work(input.job)),
    'shut down': fromPromise(() => work.shutDown()),
    pool: poolMachine.provide({
      actors: {
        open: fromPromise<void, { readonly poolId: string }>(({ input }) => work.poolOpen(input.poolId)),
        work: fromPromise<WorkDone, { readonly poolId: string; readonly jobs: readonly PoolJob[] }>(({ input }) => work.poolWork(input.poolId, input.jobs)),
      },
    }),
  },
});
