/** Gives the lake's and the pools' machines their work: promises in place of the actors that the charts only name. */
import { type ActorRefFrom, fromPromise } from 'xstate';
import type { LakeJob, LakeWorkDone } from '../../machines/lake.events.ts';
import { lakeMachine } from '../../machines/lake.machine.ts';
import { poolMachine } from '../../machines/pool.machine.ts';
import type { LakeCharts } from './lake.types.ts';

/** What the machines leave to the host: each call is the promise that one of their invoked actors stands for. */
export interface LakeWork {
  /** Opens the lake's tables. */
  start(): Promise<void>;
  /** Reads the pools, and begins to remove files and rows that nothing holds any more. */
  recover(): Promise<void>;
  /** Does one job of the lake itself. A job that cannot be done is an outcome too, no rejection. */
  work(job: LakeJob): Promise<LakeWorkDone>;
  shutDown(): Promise<void>;
  poolOpen(poolId: string): Promise<void>;
}
const ours: LakeCharts = { lake: lakeMachine, pool: poolMachine };

/** A pool's machine, running as a child of the lake's. */
export type PoolActor = ActorRefFrom<typeof poolMachine>;

/** The lake's machine, ready to be started. */
export const provideLake = (work: LakeWork, { lake, pool }: LakeCharts = ours): typeof lakeMachine =>
  lake.provide({
    actors: {
      start: fromPromise(() => work.start()),
      recover: fromPromise(() => work.recover()),
      work: fromPromise<LakeWorkDone, { readonly job: LakeJob }>(({ input }) => work.work(input.job)),
      'shut down': fromPromise(() => work.shutDown()),
      pool: pool.provide({
        actors: { open: fromPromise<void, { readonly poolId: string }>(({ input }) => work.poolOpen(input.poolId)) },
      }),
    },
  });
