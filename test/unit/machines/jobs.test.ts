/** Every kind of job in every state of the pool's and the lake's machines: taken, and settled exactly once. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialTransition, transition, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate';
import type { LakeTask } from '../../../machines/lake.events.ts';
import { lakeMachine } from '../../../machines/lake.machine.ts';
import type { JobOutcome, PoolJob, PoolTask } from '../../../machines/pool.events.ts';
import { nextJobs, poolMachine } from '../../../machines/pool.machine.ts';
import { emittedBy, stateName } from '../../support/scenario-player.ts';

const poolTasks = {
  load: { kind: 'load', branch: 'main', objects: ['a'] },
  delete: { kind: 'delete', branch: 'main', objects: ['a'] },
  rewrite: { kind: 'rewrite', branch: 'main', cause: 'compact', removes: ['a'], adds: ['b'], vectors: false },
  merge: { kind: 'merge', target: 'main', child: 'kid' },
  revert: { kind: 'revert', branch: 'main', commit: 'c' },
  vectors: { kind: 'vectors', branch: 'main', action: 'add', objects: ['a'] },
  vacuum: { kind: 'vacuum', revision: 'main', dryRun: true },
  'create branch': { kind: 'create branch', name: 'kid', commit: 'c' },
  'delete branch': { kind: 'delete branch', name: 'kid' },
} as const satisfies { readonly [K in PoolTask['kind']]: Extract<PoolTask, { readonly kind: K }> };
const lakeTasks = {
  'create pool': { kind: 'create pool', name: 'a', poolId: 'aa' },
  'rename pool': { kind: 'rename pool', poolId: 'aa', name: 'b' },
  'delete pool': { kind: 'delete pool', poolId: 'aa' },
  'create view': { kind: 'create view', name: 'v', viewId: 'bb' },
  'replace view': { kind: 'replace view', viewId: 'bb', version: 'cc' },
  'drop view': { kind: 'drop view', viewId: 'bb' },
} as const satisfies { readonly [K in LakeTask['kind']]: Extract<LakeTask, { readonly kind: K }> };

/** A machine, what it has settled, and how to drive its work. */
class Driver {
  snapshot: AnyMachineSnapshot;
  readonly settled: JobOutcome[] = [];
  readonly sent: number[] = [];
  private readonly machine: AnyStateMachine;
  constructor(machine: AnyStateMachine, input: unknown) {
    this.machine = machine;
    [this.snapshot] = initialTransition(machine, input) as [AnyMachineSnapshot, unknown];
  }
  get state(): string {
    return stateName(this.snapshot.value);
  }
  get ended(): boolean {
    return this.snapshot.status !== 'active';
  }
  send(event: { readonly type: string; readonly [field: string]: unknown }): void {
    if (this.ended) return;
    if (event.type === 'job') this.sent.push((event.job as { readonly id: number }).id);
    const [next, actions] = transition(this.machine, this.snapshot, event);
    this.snapshot = next as AnyMachineSnapshot;
    for (const emitted of emittedBy(actions))
      this.settled.push(...(emitted as { readonly outcomes: readonly JobOutcome[] }).outcomes);
  }
  /** The name of the work that runs, if any. */
  work(): { readonly id: string; readonly src: string } | undefined {
    const [id, child] =
      Object.entries(this.snapshot.children as Record<string, { readonly src: unknown }>).find(
        ([, c]) => c.src !== 'pool',
      ) ?? [];
    return id === undefined ? undefined : { id, src: String(child!.src) };
  }
  end(how: 'done' | 'error' | 'unsound'): void {
    const work = this.work();
    if (!work) return;
    if (how === 'error')
      return this.send({ type: `xstate.error.actor.${work.id}`, error: new Error('broken'), actorId: work.id });
    const context = this.snapshot.context as { readonly running: readonly PoolJob[] | PoolJob | null };
    const running = Array.isArray(context.running)
      ? (context.running as readonly PoolJob[])
      : context.running
        ? [context.running as PoolJob]
        : [];
    const outcomes = running.map((job): JobOutcome => ({ id: job.id, status: 'done' }));
    const unsound = how === 'unsound' ? { unsound: 'I/O error' } : {};
    this.send({
      type: `xstate.done.actor.${work.id}`,
      output: { outcomes, outcome: outcomes[0], ...unsound },
      actorId: work.id,
    });
  }
}

const job = (task: PoolTask | LakeTask, id: number) => ({ type: 'job', job: { id, ...task } });
const poolIn = (state: string): Driver => {
  const pool = new Driver(poolMachine, { poolId: 'p', waitingMax: 3, groupMax: 2 });
  if (state === 'opening') return pool;
  if (state === 'failed') pool.end('error');
  else pool.end('done');
  if (state === 'working' || state === 'closing.draining') pool.send(job(poolTasks.merge, 1000));
  if (state === 'closing.draining') {
    pool.send(job(poolTasks.merge, 1001));
    pool.send({ type: 'close' });
    pool.end('done');
  }
  return pool;
};
const lakeIn = (state: string): Driver => {
  const lake = new Driver(lakeMachine, { waitingMax: 3, poolWaitingMax: 3, groupMax: 2 });
  if (state === 'starting') return lake;
  if (state === 'failed') lake.end('error');
  else lake.end('done');
  if (state === 'failed' || state === 'recovering') return lake;
  lake.end('done');
  if (state === 'ready.working') lake.send(job(lakeTasks['create pool'], 1000));
  if (state === 'ready.read only') lake.send({ type: 'store failed', reason: 'I/O error' });
  if (state === 'closing.pools end') lake.send({ type: 'pool wanted', poolId: 'aa' });
  if (state.startsWith('closing')) lake.send({ type: 'close' });
  return lake;
};

describe('every job in every state', () => {
  const poolStates = ['opening', 'idle', 'working', 'closing.draining', 'failed'];
  const lakeStates = [
    'starting',
    'recovering',
    'ready.idle',
    'ready.working',
    'ready.read only',
    'closing.pools end',
    'closing.store ends',
    'failed',
  ];
  const cases = [
    ...poolStates.flatMap((state) => Object.values(poolTasks).map((task) => ['pool', state, task] as const)),
    ...lakeStates.flatMap((state) => Object.values(lakeTasks).map((task) => ['lake', state, task] as const)),
  ];
  test.each(cases)('%s %s takes %o', (machine, state, task) => {
    const driver = machine === 'pool' ? poolIn(state) : lakeIn(state);
    expect(driver.state).toBe(state);
    driver.send(job(task, 1));
    const refusing = /closing|failed|read only/.test(state);
    expect(driver.settled.filter((o) => o.id === 1).map((o) => o.status)).toEqual(refusing ? ['refused'] : []);
    for (let i = 0; i < 10; i++) driver.end('done');
    expect(driver.settled.filter((o) => o.id === 1).map((o) => o.status)).toEqual([refusing ? 'refused' : 'done']);
  });
});

describe('any events in any order', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...Object.values(poolTasks)) },
    { weight: 5, arbitrary: fc.constantFrom('done' as const, 'error' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unsound' as const, 'close' as const) },
  );
  test('every job is settled exactly once, in the order in which they came when none was refused', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const pool = new Driver(poolMachine, { poolId: 'p', waitingMax: 4, groupMax: 3 });
        steps.forEach((one, i) => {
          if (one === 'close') pool.send({ type: 'close' });
          else if (typeof one === 'string') pool.end(one === 'unsound' && pool.state === 'opening' ? 'done' : one);
          else pool.send(job(one, i));
        });
        for (let i = 0; i < 100; i++) pool.end('done');
        expect(pool.settled.map((o) => o.id).sort((a, b) => a - b)).toEqual(pool.sent);
        const worked = pool.settled.filter((o) => o.status !== 'refused').map((o) => o.id);
        expect(worked).toEqual([...worked].sort((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });

  test('a group is loads alone, whole and in order', () => {
    const waiting = [poolTasks.load, poolTasks.load, poolTasks.merge, poolTasks.load].map((task, id) => ({
      id,
      ...task,
    }));
    expect(nextJobs(waiting, 10).map((j) => j.id)).toEqual([0, 1]);
    expect(nextJobs(waiting.slice(2), 10).map((j) => j.id)).toEqual([2]);
    expect(nextJobs(waiting, 1).map((j) => j.id)).toEqual([0]);
    expect(nextJobs([], 10)).toEqual([]);
  });
});
