/**
 * The steps that a pool takes for nearly every job, without the way through the chart: a job begins in an idle pool, a
 * job waits while others are at work, and the work is done while nothing waits. The chart's own steps cost more than
 * the commits that they are for.
 *
 * Invariants:
 * - Snapshots, what is emitted and the actor of the work are those that the chart gives (a test sends both the same).
 * - Where anything else is the case - a full queue, a pool that closes, a store that failed - the chart is asked.
 */
import { type AnyActorScope, createActor, type PromiseActorLogic, type SnapshotFrom } from 'xstate';
import type { PoolJob, WorkDone } from '../../../machines/pool.events.ts';
import type { poolMachine } from '../../../machines/pool.machine.ts';

type PoolLogic = typeof poolMachine;
type PoolSnapshot = SnapshotFrom<PoolLogic>;
type PoolMessage = Parameters<PoolLogic['transition']>[1];
/** The actor that does a group of jobs of one pool. */
type PoolWork = PromiseActorLogic<WorkDone, { readonly poolId: string; readonly jobs: readonly PoolJob[] }>;

/** The machine, with these steps. `work`: what the machine invokes. */
export const withSteps = (machine: PoolLogic, work: PoolWork): PoolLogic => {
  const steps = new PoolSteps(machine, work);
  return Object.assign(Object.create(machine) as PoolLogic, {
    transition: (snapshot: PoolSnapshot, event: PoolMessage, scope: AnyActorScope) =>
      steps.next(snapshot, event, scope),
  });
};

class PoolSteps {
  private readonly machine: PoolLogic;
  private readonly work: PoolWork;
  /** What the chart gave when it came to these states. */
  private idle: PoolSnapshot | undefined;
  private working: PoolSnapshot | undefined;
  /** The id of the actor that works. */
  private workId = '';
  private doneType = '';

  constructor(machine: PoolLogic, work: PoolWork) {
    this.machine = machine;
    this.work = work;
  }

  next(snapshot: PoolSnapshot, event: PoolMessage, scope: AnyActorScope): PoolSnapshot {
    return this.known(snapshot, event, scope) ?? this.learn(this.machine.transition(snapshot, event, scope));
  }

  private known(snapshot: PoolSnapshot, event: PoolMessage, scope: AnyActorScope): PoolSnapshot | undefined {
    const { value, context } = snapshot;
    if (context.closeAsked) return undefined;
    if (event.type === 'job') {
      if (context.waiting.length >= context.waitingMax) return undefined;
      if (value === 'idle') return this.begin(snapshot, (event as { readonly job: PoolJob }).job, scope);
      return value === 'working'
        ? {
            ...snapshot,
            context: { ...context, waiting: [...context.waiting, (event as { readonly job: PoolJob }).job] },
          }
        : undefined;
    }
    return value === 'working' && event.type === this.doneType && context.waiting.length === 0
      ? this.end(snapshot, (event as unknown as { readonly output: WorkDone }).output, scope)
      : undefined;
  }
  private begin({ context }: PoolSnapshot, job: PoolJob, scope: AnyActorScope): PoolSnapshot | undefined {
    const { working, workId: id } = this;
    const running = [job];
    if (!working) return undefined;
    // `syncSnapshot` is what a chart's own actors have; XState's types do not know it.
    const options = {
      id,
      src: 'work',
      parent: scope.self,
      syncSnapshot: false,
      input: { poolId: context.poolId, jobs: running },
    };
    const actor = createActor(this.work, options);
    scope.defer(() => {
      actor.start();
    });
    return { ...working, context: { ...context, running, waiting: [] }, children: { [id]: actor } };
  }
  private end(
    { context }: PoolSnapshot,
    { outcomes, unsound }: WorkDone,
    scope: AnyActorScope,
  ): PoolSnapshot | undefined {
    if (!this.idle || unsound !== undefined) return undefined;
    scope.emit({ type: 'settled', outcomes });
    return { ...this.idle, context: { ...context, running: [] }, children: {} };
  }

  private learn(snapshot: PoolSnapshot): PoolSnapshot {
    if (snapshot.value === 'idle') this.idle ??= snapshot;
    else if (snapshot.value === 'working' && !this.working) {
      this.working = snapshot;
      this.workId = Object.keys(snapshot.children)[0]!;
      this.doneType = `xstate.done.actor.${this.workId}`;
    }
    return snapshot;
  }
}
