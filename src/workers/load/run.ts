/**
 * One load on its machine. The chart of a load has no work of its own, no timers and no children: its transitions are
 * taken as they are (they are pure), without an actor that has a system and a mailbox of its own. All that they do
 * beside leading to another state is to note something in the context, so the chart is asked only once where each event
 * leads from each state. A service that takes thousands of small loads a second makes as many of these.
 *
 * Invariants:
 * - Snapshots are those that the chart gives.
 * - Who inspects sees what an actor would have told, in the same order: that it came, its first message with its state,
 *   then each message and the state behind it.
 */
import assert from 'node:assert';
import { type AnyActorScope, createActor, type SnapshotFrom } from 'xstate';
import type { LoadEvent } from '../../../machines/load.events.ts';
import { beginLoad, loadMachine, loadNotes } from '../../../machines/load.machine.ts';

type LoadSnapshot = SnapshotFrom<typeof loadMachine>;
type Inspect = (event: unknown) => void;

const nothing = (): void => undefined;
/** What transitions may ask for; never started, since this chart asks for nothing. */
const { system, ref: self } = (() => {
  const ref = createActor(loadMachine, { input: { poolId: '' } });
  return { system: ref.system, ref };
})();
const scope: AnyActorScope = {
  self,
  id: 'load',
  sessionId: 'load',
  logger: nothing,
  defer: nothing,
  emit: nothing,
  system,
  stopChild: nothing,
  actionExecutor: nothing,
};

const initial = loadMachine.getInitialSnapshot(scope, { poolId: '' });

/** Where an event leads from a state. `stays`: to the very snapshot that there was. */
interface Step {
  readonly after: LoadSnapshot;
  readonly stays: boolean;
  readonly notes: readonly (keyof typeof loadNotes)[];
}
const steps = new Map<unknown, Map<string, Step>>();
const noteOf = (action: unknown): keyof typeof loadNotes => {
  assert(typeof action === 'string' && action in loadNotes);
  return action as keyof typeof loadNotes;
};
const stepOf = (snapshot: LoadSnapshot, event: LoadEvent): Step => {
  let ofState = steps.get(snapshot.value);
  if (!ofState) steps.set(snapshot.value, (ofState = new Map()));
  let step = ofState.get(event.type);
  if (!step) {
    const after = loadMachine.transition(snapshot, event, scope);
    const notes = loadMachine
      .getTransitionData(snapshot, event)
      .flatMap((transition) => transition.actions.map(noteOf));
    ofState.set(event.type, (step = { after, stays: after === snapshot, notes }));
  }
  return step;
};
/** What `loadMachine.transition` gives. */
const next = (snapshot: LoadSnapshot, event: LoadEvent): LoadSnapshot => {
  const { after, stays, notes } = stepOf(snapshot, event);
  if (stays) return snapshot;
  let { context } = snapshot;
  for (const note of notes) context = { ...context, ...loadNotes[note]({ context, event }) };
  return { ...after, context };
};

/** The machine of one load, in the place of an actor. */
export class LoadRun {
  readonly id = 'load';
  readonly logic = loadMachine;
  private readonly inspect: Inspect | undefined;
  private snapshot: LoadSnapshot;

  /** Begins in the chart's first state. */
  constructor(input: { readonly poolId: string }, inspect?: Inspect) {
    this.inspect = inspect;
    this.snapshot = { ...initial, context: beginLoad(input) };
    if (!inspect) return;
    const event = { type: 'xstate.init', input };
    inspect({ type: '@xstate.actor', actorRef: this });
    inspect({ type: '@xstate.event', actorRef: this, event });
    inspect({ type: '@xstate.snapshot', actorRef: this, event, snapshot: this.snapshot });
  }

  send(event: LoadEvent): void {
    this.inspect?.({ type: '@xstate.event', actorRef: this, event });
    if (this.snapshot.status !== 'active') return;
    this.snapshot = next(this.snapshot, event);
    this.inspect?.({ type: '@xstate.snapshot', actorRef: this, event, snapshot: this.snapshot });
  }

  getSnapshot(): LoadSnapshot {
    return this.snapshot;
  }
  getPersistedSnapshot(): ReturnType<typeof loadMachine.getPersistedSnapshot> {
    return loadMachine.getPersistedSnapshot(this.snapshot);
  }
  /** The chart emits nothing. */
  on(): { readonly unsubscribe: () => void } {
    return { unsubscribe: nothing };
  }
}
