/**
 * One load on its machine. The chart of a load has no work of its own, no timers and no children: its transitions are taken as they are (they are pure), which costs a third of an
 * actor with a system and a mailbox of its own. A service that takes thousands of small loads a second makes as many of these.
 *
 * Invariant: who inspects sees what an actor would have told, in the same order: that it came, its first message with its state, then each message and the state behind it.
 */
import { type AnyActorScope, createActor, type SnapshotFrom } from 'xstate';
import type { LoadEvent } from '../../machines/load.events.ts';
import { loadMachine } from '../../machines/load.machine.ts';

type LoadSnapshot = SnapshotFrom<typeof loadMachine>;
type Inspect = (event: unknown) => void;

const nothing = (): void => undefined;
/** What transitions may ask for; never started, since this chart asks for nothing. */
const { system, ref: self } = (() => {
  const ref = createActor(loadMachine, { input: { poolId: '' } });
  return { system: ref.system, ref };
})();
const scope: AnyActorScope = { self, id: 'load', sessionId: 'load', logger: nothing, defer: nothing, emit: nothing, system, stopChild: nothing, actionExecutor: nothing };

export class LoadRun {
  readonly id = 'load';
  readonly logic = loadMachine;
  private readonly inspect: Inspect | undefined;
  private snapshot: LoadSnapshot;

  /** Begins in the chart's first state. */
  constructor(input: { readonly poolId: string }, inspect?: Inspect) {
    this.inspect = inspect;
    this.snapshot = loadMachine.getInitialSnapshot(scope, input);
    if (!inspect) return;
    const event = { type: 'xstate.init', input };
    inspect({ type: '@xstate.actor', actorRef: this });
    inspect({ type: '@xstate.event', actorRef: this, event });
    inspect({ type: '@xstate.snapshot', actorRef: this, event, snapshot: this.snapshot });
  }

  send(event: LoadEvent): void {
    this.inspect?.({ type: '@xstate.event', actorRef: this, event });
    if (this.snapshot.status !== 'active') return;
    this.snapshot = loadMachine.transition(this.snapshot, event, scope);
    this.inspect?.({ type: '@xstate.snapshot', actorRef: this, event, snapshot: this.snapshot });
  }

  getSnapshot(): LoadSnapshot { return this.snapshot; }
  getPersistedSnapshot(): ReturnType<typeof loadMachine.getPersistedSnapshot> { return loadMachine.getPersistedSnapshot(this.snapshot); }
  /** The chart emits nothing. */
  on(): { readonly unsubscribe: () => void } { return { unsubscribe: nothing }; }
}
