/**
 * Walks a machine with `xstate/graph` through every state that it can get into, with queues that are short and work
 * that may end in any way, and tells for each state and event where it leads and which parts are reached.
 */
import { type AnyMachineSnapshot, type AnyStateMachine, transition } from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';
import { type MachineName, machines } from '../../../machines/machines.ts';
import type { RecordedEvent } from '../../../src/recording/record.ts';
import { reached, withReports } from './parts.ts';
import { emittedBy, stateName } from './scenario-player.ts';

/**
 * One event in one state of the walk. `column`: what machines/SPEC.md calls the event. `outcomes`: of the jobs that
 * were settled.
 */
interface WalkStep {
  readonly from: string;
  readonly column: string;
  readonly event: RecordedEvent;
  readonly taken: boolean;
  readonly to: string;
  readonly ended: boolean;
  readonly emitted: readonly RecordedEvent[];
}
interface Walk {
  readonly steps: readonly WalkStep[];
  readonly reached: ReadonlySet<string>;
  readonly situations: number;
}

interface Plan {
  readonly input: unknown;
  /** Everything that may come now, under the name that SPEC.md has for it. */
  readonly events: (snapshot: AnyMachineSnapshot) => readonly (readonly [column: string, event: RecordedEvent])[];
  /** What of the context makes a difference. */
  readonly key: (context: Readonly<Record<string, unknown>>) => unknown;
}

const childrenOf = (snapshot: AnyMachineSnapshot) =>
  Object.entries(snapshot.children as Record<string, { readonly src: unknown }>).map(([id, child]) => ({
    id,
    source: String(child.src),
  }));
const done = (id: string, output?: unknown): RecordedEvent => ({
  type: `xstate.done.actor.${id}`,
  output,
  actorId: id,
});
const broke = (id: string): RecordedEvent => ({
  type: `xstate.error.actor.${id}`,
  error: new Error('broken'),
  actorId: id,
});
const outcomesOf = (running: unknown) =>
  (Array.isArray(running) ? running : running ? [running] : []).map((job: { readonly id: number }) => ({
    id: job.id,
    status: 'done' as const,
  }));

const lakePlan: Plan = {
  input: { waitingMax: 2 },
  events: (snapshot) => [
    ['job', { type: 'job', job: { id: 1, kind: 'delete pool', poolId: 'aa' } }],
    ['pool wanted', { type: 'pool wanted', poolId: 'aa' }],
    ['store failed', { type: 'store failed', reason: 'I/O error' }],
    ['close', { type: 'close' }],
    ...childrenOf(snapshot).flatMap(({ id, source }): readonly (readonly [string, RecordedEvent])[] => {
      if (source === 'pool')
        return [
          ["pool's actor ended", done(id)],
          ["pool's actor ended", broke(id)],
        ];
      const [outcome] = outcomesOf((snapshot.context as { readonly running: unknown }).running);
      const ends: readonly unknown[] =
        source === 'work'
          ? [{ outcome }, { outcome, closePool: 'aa' }, { outcome, closePool: 'bb' }, { outcome, unsound: 'I/O error' }]
          : [undefined];
      return [...ends.map((output) => ['its work done', done(id, output)] as const), ['its work broke', broke(id)]];
    }),
    ...(childrenOf(snapshot).some(({ source }) => source === 'pool')
      ? []
      : [["pool's actor ended", done('away')] as const]),
  ],
  key: ({ waiting, running, openPools, closeAsked, failure }) => [
    (waiting as unknown[]).length,
    running !== null,
    openPools,
    closeAsked,
    failure !== null,
  ],
};
const group = { jobs: [{ id: 1, kind: 'load', branch: 'main', objects: [] }], waiting: 0 };
const noGroup = { jobs: [], waiting: 0 };
/** More of them under way are no more situations. */
const walkedGroups = 2;
const poolPlan: Plan = {
  input: { poolId: 'p' },
  events: (snapshot) => {
    const { running } = snapshot.context as { readonly running: readonly unknown[] };
    const isAtWork = snapshot.matches('working') || snapshot.matches('closing');
    const first = outcomesOf(running).slice(0, 1);
    return [
      ['close', { type: 'close' }],
      ...childrenOf(snapshot).flatMap(
        ({ id }) =>
          [
            ['its work done', done(id)],
            ['its work broke', broke(id)],
          ] as const,
      ),
      // The host sends it while the machine has no group, or is at work on few; the others only while it has begun one.
      ...(running.length === 0 || (isAtWork && running.length < walkedGroups)
        ? [['work waiting', { type: 'work waiting', ...group }] as const]
        : []),
      ...(isAtWork
        ? [group, noGroup].flatMap(
            (next) =>
              [
                ['its work done', { type: 'done', outcomes: first, ...next }],
                ['its work found the store unsound', { type: 'done', outcomes: first, unsound: 'I/O error', ...next }],
                ['its work broke', { type: 'broke', text: 'broken', count: 1, ...next }],
              ] as const,
          )
        : []),
    ];
  },
  key: ({ running, closeAsked, failure }) => [(running as unknown[]).length, closeAsked, failure !== null],
};
const transactionPlan: Plan = {
  input: { poolIds: ['a', 'b', 'c'] },
  // Each is the answer to what was emitted.
  events: (snapshot) => {
    if (snapshot.matches('asking'))
      return [
        ['granted', { type: 'granted', poolId: 'a' }],
        ['refused', { type: 'refused', poolId: 'a', text: 'no' }],
      ];
    if (snapshot.matches('writing'))
      return [
        ['written', { type: 'written' }],
        ['not written', { type: 'not written', text: 'no' }],
      ];
    return [['let go', { type: 'let go', poolId: 'a' }]];
  },
  key: ({ held, isWritten }) => [held, isWritten],
};
const storePlan: Plan = {
  input: { isStandby: true },
  events: () => [
    ['bucket away', { type: 'bucket away', subject: 'log', text: 'no' }],
    ['bucket answered', { type: 'bucket answered', subject: 'log' }],
    ['folder ready', { type: 'folder ready' }],
    ['fence put', { type: 'fence put' }],
    ['promote asked', { type: 'promote asked' }],
    ['writer gone', { type: 'writer gone' }],
    ['overtaken', { type: 'overtaken' }],
    ['log broken', { type: 'log broken' }],
    ['leads', { type: 'leads' }],
    ['segment refused', { type: 'segment refused', text: 'no' }],
    ['cannot go on', { type: 'cannot go on', text: 'no' }],
    ['closed', { type: 'closed' }],
  ],
  key: ({ isAsked, logFault }) => [isAsked, logFault !== null],
};
const loadPlan: Plan = {
  input: { poolId: 'p' },
  events: () => [
    ['begun', { type: 'begun' }],
    ['all rows read', { type: 'all rows read', bodyBytes: 1 }],
    ['rows sorted', { type: 'rows sorted' }],
    ['objects written', { type: 'objects written', objects: ['a'], records: 1, bytes: 1 }],
    ['done at once', { type: 'done at once', bodyBytes: 1, objects: ['a'], records: 1, bytes: 1 }],
    ['commit asked', { type: 'commit asked' }],
    ['committed', { type: 'committed', commit: 'c' }],
    ['failed', { type: 'failed', text: 'no' }],
    ['cancelled', { type: 'cancelled', text: 'by request' }],
  ],
  key: () => null,
};
const queryPlan: Plan = {
  input: { id: 'q' },
  events: () => [
    ['begun', { type: 'begun' }],
    ['compiled', { type: 'compiled' }],
    ['first bytes', { type: 'first bytes' }],
    ['ended', { type: 'ended' }],
    ['failed', { type: 'failed', text: 'no' }],
    ['cancel', { type: 'cancel' }],
    ['time is over', { type: 'time is over' }],
  ],
  key: () => null,
};
const subscriberPlan: Plan = {
  input: { waitingMax: 2, lastId: 0 },
  events: () => [
    ['event came', { type: 'event came', id: 1 }],
    ['connection full', { type: 'connection full' }],
    ['connection drained', { type: 'connection drained', taken: 1, full: false }],
    ['connection drained', { type: 'connection drained', taken: 1, full: true }],
    ['fell behind', { type: 'fell behind' }],
    ['caught up', { type: 'caught up' }],
    ['log ended', { type: 'log ended' }],
    ['client left', { type: 'client left' }],
    ['service closing', { type: 'service closing' }],
  ],
  key: ({ waiting }) => waiting,
};
const plans: { readonly [Name in MachineName]: Plan } = {
  lake: lakePlan,
  store: storePlan,
  pool: poolPlan,
  transaction: transactionPlan,
  load: loadPlan,
  query: queryPlan,
  subscriber: subscriberPlan,
};

export const walkMachine = (name: MachineName): Walk => {
  const plan = plans[name];
  const machine: AnyStateMachine = withReports(machines[name]);
  const seen = new Set<string>();
  const steps: WalkStep[] = [];
  const map = getAdjacencyMap(
    machine as never,
    {
      input: plan.input,
      limit: 100_000,
      serializeState: (state: unknown) =>
        JSON.stringify([
          (state as AnyMachineSnapshot).value,
          (state as AnyMachineSnapshot).status,
          plan.key((state as AnyMachineSnapshot).context as never),
        ]) as never,
      events: ((state: AnyMachineSnapshot) =>
        state.status === 'active' ? plan.events(state).map(([, event]) => event) : []) as never,
    } as never,
  ) as unknown as Readonly<Record<string, { readonly state: AnyMachineSnapshot }>>;
  for (const { state } of Object.values(map)) {
    if (state.status !== 'active') continue;
    for (const [column, event] of plan.events(state)) {
      const [next, actions] = transition(machine, state, event) as unknown as [
        AnyMachineSnapshot,
        readonly { readonly type: string; readonly params?: unknown }[],
      ];
      const emitted = emittedBy(actions) as readonly RecordedEvent[];
      for (const one of emitted) if (one.type === reached) seen.add(one['id'] as string);
      steps.push({
        from: stateName(state.value),
        column,
        event,
        taken: machine.getTransitionData(state, event).length > 0,
        to: stateName(next.value),
        ended: next.status !== 'active',
        emitted: emitted.filter((one) => one.type !== reached),
      });
    }
  }
  // What is entered at the start.
  const first = withReports(machines[name]).getInitialSnapshot(
    { emit: () => undefined } as never,
    plan.input as never,
  ) as AnyMachineSnapshot;
  for (
    let at: string = stateName(first.value), id = `${machines[name].id}.${at}`;
    id !== '';
    id = id.includes('.') ? id.slice(0, id.lastIndexOf('.')) : ''
  )
    seen.add(id);
  return { steps, reached: seen, situations: Object.keys(map).length };
};
