/**
 * What this service is to its bucket, by the chart `store`: who follows and who writes ask it what they may do, and
 * tell it what became of it. Figures, metrics and readiness read its state.
 *
 * Invariant: the chart has the texts of faults, and this has the errors behind them: one is there as long as the other.
 */
import { type Actor, createActor, type StateValueFrom } from 'xstate';
import { messageOf } from '../../errors.ts';
import { faultOf, type StoreEvent, type StoreInput, type StoreSubject } from '../../../machines/store.events.ts';
import { storeMachine } from '../../../machines/store.machine.ts';
import type { LakeError } from '../../errors.ts';

/** The chart, and who is told of its messages. */
export interface RoleOptions {
  /** Default: that of machines/. */
  readonly chart?: typeof storeMachine;
  /** Told of every machine event and snapshot (XState inspection). */
  readonly inspect?: (event: unknown) => void;
}
type Value = StateValueFrom<typeof storeMachine>;
/** The outermost states of the chart. */
export type StoreState = Extract<Value, string> | keyof Exclude<Value, string>;
export const storeStates = Object.keys(storeMachine.states) as readonly StoreState[];

export class StoreRole {
  private readonly actor: Actor<typeof storeMachine>;
  private readonly faults = new Map<StoreSubject, unknown>();
  private endFault: LakeError | undefined;

  constructor(input: StoreInput, { chart = storeMachine, inspect }: RoleOptions) {
    this.actor = createActor(chart, { id: 'store', input, ...(inspect && { inspect }) });
  }
  /** Before anything is asked of the bucket; once more it changes nothing. */
  begin(): void {
    this.actor.start();
  }

  get state(): StoreState {
    const { value } = this.actor.getSnapshot();
    return typeof value === 'string' ? value : 'promoting';
  }
  /** Whether the event leads to another state, or is noted there. */
  takes(event: StoreEvent): boolean {
    return this.actor.getSnapshot().can(event);
  }
  send(event: Exclude<StoreEvent, { readonly text: string }>): void {
    this.actor.send(event);
  }

  /** Another one writes. */
  refused(fault: LakeError): void {
    this.endBy('segment refused', fault);
  }
  /** It is to be started again. */
  ended(fault: LakeError): void {
    this.endBy('cannot go on', fault);
  }
  private endBy(type: 'segment refused' | 'cannot go on', fault: LakeError): void {
    this.actor.send({ type, text: fault.message });
    if (this.actor.getSnapshot().context.reason !== null) this.endFault ??= fault;
  }
  /** Why it is fenced, or cannot go on. */
  get end(): LakeError | undefined {
    return this.endFault;
  }
  get fence(): LakeError | undefined {
    return this.state === 'fenced' ? this.endFault : undefined;
  }

  /** True where nothing was wrong before: it is worth a line. */
  away(subject: StoreSubject, fault: unknown): boolean {
    const before = this.actor.getSnapshot().context[faultOf(subject)];
    const text = messageOf(fault);
    this.faults.set(subject, fault);
    if (text !== before) this.actor.send({ type: 'bucket away', subject, text });
    return before === null;
  }
  answered(subject: StoreSubject): void {
    if (this.actor.getSnapshot().context[faultOf(subject)] === null) return;
    this.actor.send({ type: 'bucket answered', subject });
    this.faults.delete(subject);
  }
  /** The last fault, of the log before that of the lease; undefined: the bucket is there. */
  get fault(): { readonly text: string; readonly cause: unknown } | undefined {
    const { context } = this.actor.getSnapshot();
    for (const subject of ['log', 'lease'] as const) {
      const text = context[faultOf(subject)];
      if (text !== null) return { text, cause: this.faults.get(subject) };
    }
    return undefined;
  }
}
