/** Every kind of job in every state of the pool's and the lake's machines: taken, and settled exactly once. */
import fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  fromPromise,
  initialTransition,
  transition,
} from 'xstate';
import type { LakeContext, LakeTask } from '../../../machines/lake.events.ts';
import { lakeMachine } from '../../../machines/lake.machine.ts';
import type { JobOutcome, PoolJob, PoolJobKind, PoolTask, WorkDone } from '../../../machines/pool.events.ts';
import { nextBehind, nextJobs, poolMachine } from '../../../machines/pool.machine.ts';
import type { PoolActor } from '../../../src/lake/actors.ts';
import { poolJobKinds } from '../../../src/lake/jobs/kinds.ts';
import { Mailbox } from '../../../src/lake/pool/mailbox.ts';
import { emittedBy, stateName } from '../../support/machines/scenario-player.ts';

/** Of a job the machine looks at its kind, and at whether it has a condition. */
const poolTasks = {
  ...(Object.fromEntries(poolJobKinds.map((kind) => [kind, { kind }])) as Readonly<Record<PoolJobKind, PoolTask>>),
  load: { kind: 'load', branch: 'main', objects: ['a'] },
  merge: { kind: 'merge', target: 'main', child: 'kid' },
} satisfies Readonly<Record<PoolJobKind, PoolTask>>;
const lakeTasks = {
  'create pool': { kind: 'create pool', name: 'a', poolId: 'aa' },
  'rename pool': { kind: 'rename pool', poolId: 'aa', name: 'b' },
  'set pool': { kind: 'set pool', poolId: 'aa', iceberg: 'lazy', identity: [['id']] },
  'delete pool': { kind: 'delete pool', poolId: 'aa' },
  'create view': { kind: 'create view', name: 'v', viewId: 'bb' },
  'replace view': { kind: 'replace view', viewId: 'bb', version: 'cc' },
  'rename view': { kind: 'rename view', viewId: 'bb', version: 'dd', name: 'w', from: 'cc' },
  'drop view': { kind: 'drop view', viewId: 'bb' },
} as const satisfies { readonly [K in LakeTask['kind']]: Extract<LakeTask, { readonly kind: K }> };

/** The lake's machine, what it has settled, and how to drive its work. */
class Driver {
  snapshot: AnyMachineSnapshot;
  readonly settled: JobOutcome[] = [];
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
  end(how: 'done' | 'error'): void {
    const work = this.work();
    if (!work) return;
    if (how === 'error')
      return this.send({ type: `xstate.error.actor.${work.id}`, error: new Error('broken'), actorId: work.id });
    const { running } = this.snapshot.context as LakeContext;
    const outcome: JobOutcome | undefined = running ? { id: running.id, status: 'done' } : undefined;
    this.send({
      type: `xstate.done.actor.${work.id}`,
      output: { outcome },
      actorId: work.id,
    });
  }
}

/** A pool's machine with its mailbox; what they begin and settle, and how to end the work. */
class Pool {
  readonly settled: JobOutcome[] = [];
  readonly actor: PoolActor;
  readonly mailbox: Mailbox;
  private readonly works: {
    readonly jobs: readonly PoolJob[];
    readonly ends: Ends<WorkDone>;
    readonly placed: () => void;
  }[] = [];
  private opening: Ends<void> | undefined;
  constructor(limits: { readonly waitingMax: number; readonly groupMax: number }, groupsMax = 1) {
    const open = fromPromise<void, { readonly poolId: string }>(
      () =>
        new Promise((resolve, reject) => {
          this.opening = { resolve, reject };
        }),
    );
    this.actor = createActor(poolMachine.provide({ actors: { open } }), { input: { poolId: 'p' } });
    const work = (jobs: readonly PoolJob[], placed: () => void): Promise<WorkDone> =>
      new Promise((resolve, reject) => {
        this.works.push({ jobs, ends: { resolve, reject }, placed });
      });
    this.mailbox = new Mailbox(
      this.actor,
      { work, settle: (outcomes) => this.settled.push(...outcomes) },
      { ...limits, groupsMax: () => groupsMax },
    );
    this.actor.start();
  }
  get state(): string {
    return stateName(this.actor.getSnapshot().value);
  }
  /**
   * A job that comes while the mailbox takes any: one for a pool that has ended, or that closes, is the lake's to
   * refuse.
   */
  post(task: PoolTask, id: number): void {
    const { status, context } = this.actor.getSnapshot();
    const taken = status === 'active' && !context.closeAsked && this.mailbox.post({ id, ...task });
    if (!taken) this.settled.push({ id, status: 'refused', why: 'queue full', text: this.mailbox.full().message });
  }
  close(): void {
    if (this.actor.getSnapshot().status === 'active') this.actor.send({ type: 'close' });
  }
  /** Jobs of the groups that are under way. */
  get underWay(): readonly (readonly number[])[] {
    return this.works.map(({ jobs }) => jobs.map(({ id }) => id));
  }
  /** Loads that were begun last have their place. */
  async place(): Promise<void> {
    const last = this.works.at(-1);
    if (last?.jobs.every(({ kind }) => kind === 'load')) last.placed();
    await nextTurn();
  }
  /** `done late`: the group that was begun last, before the others. */
  async end(how: 'done' | 'error' | 'unsound' | 'done late'): Promise<void> {
    const { opening } = this;
    this.opening = undefined;
    if (opening && how === 'error') opening.reject(new Error('broken'));
    else if (opening) opening.resolve();
    else this.endWork(how);
    await nextTurn();
  }
  private endWork(how: 'done' | 'error' | 'unsound' | 'done late'): void {
    const work = how === 'done late' ? this.works.pop() : this.works.shift();
    const outcomes = (work?.jobs ?? []).map((job): JobOutcome => ({ id: job.id, status: 'done' }));
    if (how === 'error') work?.ends.reject(new Error('broken'));
    else work?.ends.resolve({ outcomes, ...(how === 'unsound' && { unsound: 'I/O error' }) });
  }
}
interface Ends<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

const job = (task: LakeTask, id: number) => ({ type: 'job', job: { id, ...task } });
const poolIn = async (state: string): Promise<Pool> => {
  const pool = new Pool({ waitingMax: 3, groupMax: 2 });
  if (state === 'opening') return pool;
  await pool.end(state === 'failed' ? 'error' : 'done');
  if (state === 'working' || state === 'closing') pool.post(poolTasks.merge, 1000);
  if (state === 'closing') {
    pool.post(poolTasks.merge, 1001);
    pool.close();
    await pool.end('done');
  }
  return pool;
};
const lakeIn = (state: string): Driver => {
  const lake = new Driver(lakeMachine, { waitingMax: 3 });
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
  const poolStates = ['opening', 'idle', 'working', 'closing', 'failed'];
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
  const of = (settled: readonly JobOutcome[]) => settled.filter((o) => o.id === 1).map((o) => o.status);
  test.each(poolStates.flatMap((state) => Object.values(poolTasks).map((task) => [state, task] as const)))(
    'pool %s takes %o',
    async (state, task) => {
      const pool = await poolIn(state);
      expect(pool.state).toBe(state);
      pool.post(task, 1);
      const refusing = /closing|failed/.test(state);
      expect(of(pool.settled)).toEqual(refusing ? ['refused'] : []);
      for (let i = 0; i < 6; i++) await pool.end('done');
      expect(of(pool.settled)).toEqual([refusing ? 'refused' : 'done']);
    },
  );
  test.each(lakeStates.flatMap((state) => Object.values(lakeTasks).map((task) => [state, task] as const)))(
    'lake %s takes %o',
    (state, task) => {
      const driver = lakeIn(state);
      expect(driver.state).toBe(state);
      driver.send(job(task, 1));
      const refusing = /closing|failed|read only/.test(state);
      expect(of(driver.settled)).toEqual(refusing ? ['refused'] : []);
      for (let i = 0; i < 10; i++) driver.end('done');
      expect(of(driver.settled)).toEqual([refusing ? 'refused' : 'done']);
    },
  );
});

describe('any events in any order', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...Object.values(poolTasks)) },
    { weight: 4, arbitrary: fc.constant(poolTasks.load) },
    { weight: 5, arbitrary: fc.constantFrom('done' as const, 'error' as const, 'done late' as const) },
    { weight: 4, arbitrary: fc.constant('placed' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unsound' as const, 'close' as const) },
  );
  test('every job is settled exactly once, in the order in which they came when none was refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.constantFrom(1, 2, 4), async (steps, groupsMax) => {
        const pool = new Pool({ waitingMax: 4, groupMax: 3 }, groupsMax);
        const sent: number[] = [];
        for (const [i, one] of steps.entries()) {
          if (one === 'close') pool.close();
          else if (one === 'placed') await pool.place();
          else if (typeof one === 'string') await pool.end(one);
          else {
            pool.post(one, i);
            sent.push(i);
          }
        }
        for (let i = 0; i < 40; i++) await pool.end('done');
        expect(pool.settled.map((o) => o.id).sort((a, b) => a - b)).toEqual(sent);
        const worked = pool.settled.filter((o) => o.status !== 'refused').map((o) => o.id);
        expect(worked).toEqual([...worked].sort((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });

  test('1,024 loads that wait together cost the machine two steps', async () => {
    const big = new Pool({ waitingMax: 2000, groupMax: 1024 });
    await big.end('done');
    big.post(poolTasks.merge, 0);
    for (let i = 1; i <= 1024; i++) big.post(poolTasks.load, i);
    let steps = 0;
    big.actor.subscribe(() => {
      steps++;
    });
    await big.end('done');
    expect([big.mailbox.running, big.mailbox.waiting, steps]).toEqual([1024, 0, 1]);
    await big.end('done');
    expect([big.settled.length, big.state, steps]).toEqual([1025, 'idle', 2]);
  });

  test('loads go behind loads that have their place, as many groups as may; they are settled in their order', async () => {
    const pool = new Pool({ waitingMax: 10, groupMax: 10 }, 3);
    await pool.end('done');
    for (let id = 1; id <= 3; id++) pool.post(poolTasks.load, id);
    expect([pool.underWay, pool.mailbox.waiting]).toEqual([[[1]], 2]);
    await pool.place();
    expect([pool.underWay, pool.mailbox.running]).toEqual([[[1], [2, 3]], 3]);
    await pool.place();
    pool.post(poolTasks.load, 4);
    await pool.place();
    pool.post(poolTasks.load, 5);
    expect(pool.underWay).toEqual([[1], [2, 3], [4]]);
    await pool.end('done late');
    expect([pool.settled, pool.underWay]).toEqual([[], [[1], [2, 3]]]);
    await pool.end('done');
    expect([pool.settled.map(({ id }) => id), pool.underWay]).toEqual([[1], [[2, 3], [5]]]);
    await pool.end('error');
    expect(pool.settled.map(({ id, status }) => `${id} ${status}`)).toEqual([
      '1 done',
      '2 failed',
      '3 failed',
      '4 done',
    ]);
  });
  test.each([poolTasks.merge, { ...poolTasks.load, ifTip: ['c'] }])(
    'nothing else goes behind them, nor anything behind it: %o',
    async (task) => {
      const pool = new Pool({ waitingMax: 10, groupMax: 10 }, 3);
      await pool.end('done');
      pool.post(poolTasks.load, 1);
      await pool.place();
      pool.post(task, 2);
      pool.post(poolTasks.load, 3);
      expect(pool.underWay).toEqual([[1]]);
      await pool.end('done');
      // Loads that wait together go together, also where one has a condition.
      expect(pool.underWay).toEqual([task.kind === 'load' ? [2, 3] : [2]]);
      for (let i = 0; i < 3; i++) await pool.end('done');
      expect(pool.settled.map(({ id }) => id)).toEqual([1, 2, 3]);
    },
  );

  test('a group is loads alone, whole and in order', () => {
    const waiting = [poolTasks.load, poolTasks.load, poolTasks.merge, poolTasks.load].map((task, id) => ({
      id,
      ...task,
    }));
    expect(nextJobs(waiting, 10).map((j) => j.id)).toEqual([0, 1]);
    expect(nextJobs(waiting.slice(2), 10).map((j) => j.id)).toEqual([2]);
    expect(nextJobs(waiting, 1).map((j) => j.id)).toEqual([0]);
    expect(nextJobs([], 10)).toEqual([]);
    expect(nextBehind(waiting, 10).map((j) => j.id)).toEqual([0, 1]);
    expect(nextBehind(waiting, 1).map((j) => j.id)).toEqual([0]);
    expect(nextBehind(waiting.slice(2), 10)).toEqual([]);
  });
});
