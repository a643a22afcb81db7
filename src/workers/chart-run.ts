/**
 * A load or a query on its chart, without an actor: the snapshot is plain, and where an event leads is what the chart's
 * pure `transition()` says. The chart is asked once for each state and event: it has no guards, and what its
 * transitions note is one function of the context and the event. A service that takes thousands of small loads a second
 * makes as many of these; measured in one run, with an inspector: 4 µs for a small load, 45 with an actor, 75 with
 * `transition()` for every message; a whole small commit of 64 clients takes some 300.
 *
 * Invariants:
 * - Snapshots are those that an actor would have.
 * - Who inspects sees what an actor would have told, in the same order: that it came, its first message with its state,
 *   then each message and the state after it.
 */
import { type AnyStateMachine, initialTransition, type SnapshotFrom, transition } from 'xstate';

interface ChartEvent {
  readonly type: string;
}
/** A state of a chart, and the states that events lead to from there. */
interface Place {
  readonly snapshot: SnapshotFrom<AnyStateMachine>;
  /** `working.streaming` */
  readonly name: string;
  readonly after: Map<string, Place>;
}

/** A chart as runs take it. */
export class Chart<Input, Context, Event extends ChartEvent> {
  readonly machine: AnyStateMachine;
  readonly begin: (input: Input) => Context;
  readonly note: (context: Context, event: Event) => Context;
  private readonly places = new Map<string, Place>();
  private firstPlace: Place | undefined;

  /**
   * `begin` and `note` are what the chart itself does with its input, and with an event that leads to another state.
   */
  constructor(
    machine: AnyStateMachine,
    begin: (input: Input) => Context,
    note: (context: Context, event: Event) => Context,
  ) {
    this.machine = machine;
    this.begin = begin;
    this.note = note;
  }

  first(input: Input): Place {
    return (this.firstPlace ??= this.place(initialTransition(this.machine, input)[0]));
  }
  after(place: Place, event: Event): Place {
    let after = place.after.get(event.type);
    if (!after) {
      after = this.place(transition(this.machine, place.snapshot, event)[0]);
      place.after.set(event.type, after);
    }
    return after;
  }
  private place(snapshot: SnapshotFrom<AnyStateMachine>): Place {
    const name = nameOf(snapshot.value as StateValue);
    let place = this.places.get(name);
    if (!place) this.places.set(name, (place = { snapshot, name, after: new Map() }));
    return place;
  }
}
type StateValue = string | { readonly [state: string]: StateValue };
const nameOf = (value: StateValue): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value)
        .map(([name, inner]) => `${name}.${nameOf(inner)}`)
        .join(' ');

/** What can be seen of a run. */
interface PlainSnapshot<Context> {
  readonly status: string;
  readonly value: unknown;
  readonly context: Context;
}

/** One load or query. */
export class ChartRun<Input, Context, Event extends ChartEvent> {
  readonly id: string;
  readonly logic: AnyStateMachine;
  /** Whose place it is: of who inspects (recording/watch.ts). */
  watched: unknown = undefined;
  private readonly chart: Chart<Input, Context, Event>;
  private readonly inspect: ((event: unknown) => void) | undefined;
  private place: Place;
  private snapshot: PlainSnapshot<Context>;

  /** Begins in the chart's first state. */
  constructor(chart: Chart<Input, Context, Event>, input: Input, inspect?: (event: unknown) => void) {
    this.logic = chart.machine;
    this.id = chart.machine.id;
    this.chart = chart;
    this.inspect = inspect;
    this.place = chart.first(input);
    this.snapshot = plain(this.place, chart.begin(input));
    if (!inspect) return;
    const event = { type: 'xstate.init', input };
    inspect({ type: '@xstate.actor', actorRef: this });
    inspect({ type: '@xstate.event', actorRef: this, event });
    inspect({ type: '@xstate.snapshot', actorRef: this, event, snapshot: this.snapshot });
  }

  send(event: Event): void {
    this.inspect?.({ type: '@xstate.event', actorRef: this, event });
    if (this.isOver) return;
    const after = this.chart.after(this.place, event);
    if (after !== this.place) {
      this.place = after;
      this.snapshot = plain(after, this.chart.note(this.snapshot.context, event));
    }
    this.inspect?.({ type: '@xstate.snapshot', actorRef: this, event, snapshot: this.snapshot });
  }

  /** `working.streaming` */
  get state(): string {
    return this.place.name;
  }
  get context(): Context {
    return this.snapshot.context;
  }
  /** It is in a final state: nothing changes it any more. */
  get isOver(): boolean {
    return this.snapshot.status !== 'active';
  }
  getSnapshot(): PlainSnapshot<Context> {
    return this.snapshot;
  }
  /** As an actor's, to go on from. */
  getPersistedSnapshot(): unknown {
    return this.logic.getPersistedSnapshot({ ...this.place.snapshot, context: this.snapshot.context });
  }
  /** The charts emit nothing. */
  on(): { readonly unsubscribe: () => void } {
    return { unsubscribe: () => undefined };
  }
}
const plain = <Context>({ snapshot: { status, value } }: Place, context: Context): PlainSnapshot<Context> => ({
  status,
  value: value as unknown,
  context,
});
