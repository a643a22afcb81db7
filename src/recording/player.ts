/**
 * Plays messages through a machine with XState's pure `transition()`: no actor runs, no work is done, and time passes
 * only when it is told to. Work that the machine invoked ends when a message says so, as the recorded
 * `xstate.done.actor.*` events do.
 */
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, initialTransition, transition } from 'xstate';
import type { MessageOutcome, RecordedEvent } from './record.ts';
import { leavesOf } from './watch.ts';

/** What a message did. */
export interface Step {
  readonly event: RecordedEvent;
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly outcome: MessageOutcome;
  readonly emitted: readonly RecordedEvent[];
  /** False: the machine goes on, but no state of it says anything of this event. */
  readonly taken: boolean;
}
/** How a machine begins: with its input, or as XState persisted it. */
type PlayStart = { readonly input: unknown } | { readonly snapshot: unknown };

interface Action {
  readonly type: string;
  readonly params?: unknown;
}
interface Due {
  readonly id: string;
  readonly event: RecordedEvent;
  readonly atMs: number;
}

/** A machine that is played, from its start or from what XState persisted of it. */
export class MachinePlayer {
  readonly machine: AnyStateMachine;
  /** What its first step emitted. */
  readonly emittedFirst: readonly RecordedEvent[];
  private snapshot: AnyMachineSnapshot;
  private nowMs: number;
  private due: readonly Due[] = [];

  constructor(machine: AnyStateMachine, start: PlayStart, nowMs = 0) {
    this.machine = machine;
    this.nowMs = nowMs;
    if ('snapshot' in start) {
      this.snapshot = createActor(machine, { snapshot: start.snapshot as never }).getSnapshot() as AnyMachineSnapshot;
      this.emittedFirst = [];
      return;
    }
    const [snapshot, actions] = initialTransition(machine, start.input) as [AnyMachineSnapshot, readonly Action[]];
    this.snapshot = snapshot;
    this.emittedFirst = this.take(actions);
  }

  get state(): readonly string[] {
    return leavesOf(this.snapshot.value);
  }
  get ended(): boolean {
    return this.snapshot.status !== 'active';
  }
  /** Why the machine could not begin: what it threw over its input; undefined: it could. */
  get failure(): unknown {
    return this.snapshot.status === 'error' ? this.snapshot.error : undefined;
  }
  get context(): Readonly<Record<string, unknown>> {
    return this.snapshot.context as Readonly<Record<string, unknown>>;
  }
  /** The actors that are there: id and what they run. */
  get children(): readonly { readonly id: string; readonly source: string }[] {
    return Object.entries(this.snapshot.children as Record<string, { readonly src: unknown }>).map(([id, child]) => ({
      id,
      source: String(child.src),
    }));
  }
  /** Time until the next delayed event of the machine; undefined if there is none. */
  get nextDelayMs(): number | undefined {
    return this.due.length === 0 ? undefined : Math.max(0, Math.min(...this.due.map((d) => d.atMs)) - this.nowMs);
  }

  send(event: RecordedEvent): Step {
    const from = this.state;
    if (this.ended) return { event, from, to: from, outcome: 'dropped', emitted: [], taken: true };
    const taken = event.type === 'xstate.stop' || this.machine.getTransitionData(this.snapshot, event).length > 0;
    const [snapshot, actions] = transition(this.machine, this.snapshot, event) as [
      AnyMachineSnapshot,
      readonly Action[],
    ];
    this.snapshot = snapshot;
    const emitted = this.take(actions);
    const to = this.state;
    const outcome = this.ended
      ? 'ended'
      : from.length === to.length && from.every((name, i) => name === to[i])
        ? 'stayed'
        : 'moved';
    return { event, from, to, outcome, emitted, taken };
  }

  /** Lets time pass; sends the delayed events that become due, in their order. */
  advance(ms: number): readonly Step[] {
    const end = this.nowMs + ms;
    const steps: Step[] = [];
    for (;;) {
      const next = this.due.filter((d) => d.atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.nowMs = next.atMs;
      this.due = this.due.filter((d) => d !== next);
      steps.push(this.send(next.event));
    }
    this.nowMs = end;
    return steps;
  }
  /** Tells the time of day without letting delayed events come: a recording has them as messages. */
  setTime(nowMs: number): void {
    this.nowMs = nowMs;
  }

  private take(actions: readonly Action[]): readonly RecordedEvent[] {
    const emitted: RecordedEvent[] = [];
    for (const { type, params } of actions) {
      if (type === 'xstate.emit') emitted.push((params as { readonly event: RecordedEvent }).event);
      else if (type === 'xstate.cancel')
        this.due = this.due.filter((d) => d.id !== (params as { readonly sendId: string }).sendId);
      else if (type === 'xstate.raise') {
        const { event, id, delay } = params as {
          readonly event: RecordedEvent;
          readonly id: string;
          readonly delay?: number;
        };
        if (delay !== undefined)
          this.due = [...this.due.filter((d) => d.id !== id), { id, event, atMs: this.nowMs + delay }];
      }
    }
    return emitted;
  }
}

/** A recorded event as it was when it entered: errors are errors again. */
export const revived = (event: RecordedEvent): RecordedEvent => {
  const { error } = event as { readonly error?: { readonly message?: unknown } };
  if (!event.type.startsWith('xstate.error.actor.') || typeof error?.message !== 'string') return event;
  return { ...event, error: new Error(error.message) };
};
