/**
 * The quick steps of a pool's machine are those of its chart: both are sent the same, in random order, and must tell
 * the same.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createActor, fromPromise } from 'xstate';
import type { PoolEvent, PoolJob, WorkDone } from '../../../machines/pool.events.ts';
import { poolMachine } from '../../../machines/pool.machine.ts';
import { providePool } from '../../../src/lake/actors.ts';
import { MachineWatch } from '../../../src/recording/watch.ts';

/** What is done in one turn of the event loop. */
type Step = { readonly send: PoolEvent } | { readonly ends: 'done' | 'unsound' | 'broken' };

/** Sends all to a pool, and answers with all that can be seen of it. */
const seen = async (
  steps: readonly Step[],
  limits: { readonly waitingMax: number; readonly groupMax: number },
  quick: boolean,
): Promise<unknown> => {
  const log: unknown[] = [];
  const works: {
    readonly jobs: readonly PoolJob[];
    readonly resolve: (done: WorkDone) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  const work = (poolId: string, jobs: readonly PoolJob[]): Promise<WorkDone> => {
    log.push({ work: jobs, poolId });
    return new Promise((resolve, reject) => {
      works.push({ jobs, resolve, reject });
    });
  };
  const machine = quick
    ? providePool({ poolOpen: () => Promise.resolve(), poolWork: work })
    : poolMachine.provide({
        actors: {
          open: fromPromise<void, { readonly poolId: string }>(() => Promise.resolve()),
          work: fromPromise<WorkDone, { readonly poolId: string; readonly jobs: readonly PoolJob[] }>(({ input }) =>
            work(input.poolId, input.jobs),
          ),
        },
      });
  const watch = new MachineWatch(() => 7);
  watch.listen({
    actor: (record) => {
      log.push(record);
    },
    message: (record, { status, value, context }) => {
      log.push(record, { status, value, context });
    },
  });
  const pool = createActor(machine, { id: 'p', input: { poolId: 'p', ...limits }, inspect: watch.inspect });
  pool.on('settled', (event) => {
    log.push(event);
  });
  pool.subscribe({
    next: (state) => {
      log.push([
        state.value,
        state.context,
        Object.keys(state.children),
        [...state.tags],
        state.can({ type: 'close' }),
        state.matches('working'),
      ]);
    },
    complete: () => {
      log.push('ended');
    },
  });
  pool.start();
  await nextTurn();
  for (const step of steps) {
    if (pool.getSnapshot().status !== 'active') break;
    if ('send' in step) pool.send(step.send);
    else {
      const next = works.shift();
      const outcomes = next?.jobs.map(({ id }) => ({ id, status: 'done', commit: `c${id}` }) as const) ?? [];
      if (step.ends === 'broken') next?.reject(new Error('no'));
      else next?.resolve({ outcomes, ...(step.ends === 'unsound' && { unsound: 'the disk failed' }) });
      await nextTurn();
    }
    // Ids of sessions count up over all actors.
    log.push(
      JSON.parse(JSON.stringify(pool.getPersistedSnapshot()).replace(/"(?:sessionId|_?systemId)":"[^"]*",?/g, '')),
    );
  }
  return log;
};

let jobs = 0;
const job = (kind: 'load' | 'delete branch' = 'load'): Step => ({
  send: {
    type: 'job',
    job: kind === 'load' ? { id: ++jobs, kind, branch: 'main', objects: ['a'] } : { id: ++jobs, kind, name: 'b' },
  },
});
const close: Step = { send: { type: 'close' } };
const done: Step = { ends: 'done' };

test('jobs one by one, jobs that wait, a full queue, a close amid work, a store that fails and work that breaks', async () => {
  const ways: readonly (readonly Step[])[] = [
    [job(), done, job(), done, job(), done],
    [job(), done, job(), job(), job('delete branch'), done, done, done, job(), done],
    [job(), done, job(), ...Array.from({ length: 6 }, () => job()), done, done, job(), done],
    [job(), done, job(), close, job(), done, job()],
    [job(), done, close, job()],
    [job(), done, job(), { ends: 'unsound' }, job(), close],
    [job(), done, job(), { ends: 'broken' }, job(), done],
    [job(), done, job(), job(), close, { ends: 'broken' }, done],
  ];
  for (const way of ways)
    expect(await seen(way, { waitingMax: 4, groupMax: 2 }, true)).toEqual(
      await seen(way, { waitingMax: 4, groupMax: 2 }, false),
    );
});

test('whatever comes in whatever order', async () => {
  let state = 20_261_122;
  const below = (n: number): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff) % n;
  for (let round = 0; round < 150; round++) {
    const limits = { waitingMax: below(4), groupMax: 1 + below(3) };
    const way = Array.from({ length: 4 + below(12) }, (): Step => {
      const which = below(20);
      return which < 10
        ? job()
        : which < 11
          ? job('delete branch')
          : which < 18
            ? done
            : which < 19
              ? close
              : { ends: below(2) === 0 ? 'broken' : 'unsound' };
    });
    expect(await seen(way, limits, true), JSON.stringify({ round, limits, way })).toEqual(
      await seen(way, limits, false),
    );
  }
});
