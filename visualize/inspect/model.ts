/**
 * What the page knows: actors, and the messages they took, from the live feed, a recording or a scenario; and the place
 * in them that is looked at. Pure: no document, no network.
 *
 * - Steps are numbered in the order in which they are shown; with more than `stepsMax` live ones the oldest go.
 * - The state of an actor at a place is what its last step up to there led to, else what its first step behind it
 *   started from.
 */
import { type MachineName, machineNames } from '../../machines/machines.ts';
import type { LiveActor, LiveFields, LiveMessage, LiveRecord, LiveSettled } from '../../src/recording/live.ts';

/** Live steps that are kept, about. */
export const stepsMax = 10_000;
/** They go some at a time. */
const stepsSlack = 500;

/** A message that an actor took, as it is listed. `n`: its number in this model. */
export interface Step {
  readonly n: number;
  readonly ms: number;
  readonly actor: string;
  readonly machine: MachineName;
  readonly by?: string;
  readonly event: string;
  readonly fields: LiveFields;
  /** Empty: the actor starts here. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly outcome: LiveRecord['outcome'];
  readonly settled?: LiveSettled;
  /** Of a scenario's step. */
  readonly check?: StepCheck;
}
/** What a scenario says of one of its steps, and what came of it. */
export interface StepCheck {
  /** 0: the start, of which nothing is expected. */
  readonly number: number;
  /** In few words. */
  readonly name: string;
  readonly outcome: 'start' | 'as expected' | 'differs' | 'not run';
  /** What is done, by the words of the file. */
  readonly done: readonly (readonly [word: string, text: string])[];
  readonly rows: readonly CheckRow[];
}
/** One thing that is compared. Without `expected`: the scenario says nothing of it; without `found`: it was not run. */
export interface CheckRow {
  readonly what: string;
  readonly expected?: string;
  readonly found?: string;
  readonly differs: boolean;
}
/** What is known of a scenario as a whole. */
export interface ScenarioInfo {
  /** Those of a lake are not run. */
  readonly kind: 'machine' | 'lake';
  readonly file: string;
  readonly why: string;
  readonly steps: number;
  /** Numbers of steps. */
  readonly differing: readonly number[];
  readonly notRun: readonly number[];
}
/** What is known of an actor. */
export interface ActorInfo {
  readonly actor: string;
  readonly machine: MachineName;
  readonly parent?: string;
  /** A pool's name. */
  name?: string;
  /** As last heard. */
  state: readonly string[];
  waiting: number;
  running: number;
  ended: boolean;
  /** Its steps that are kept, oldest first. */
  readonly steps: Step[];
}
/** Context and queue of one actor, as the service told them last. */
interface Detail {
  readonly actor: string;
  readonly context: LiveFields;
  readonly waiting: readonly LiveFields[];
  readonly running: readonly LiveFields[];
}
/** One second of the plots. */
export interface Sample {
  readonly ms: number;
  readonly messages: number;
  readonly waiting: number;
}

const samplesMax = 120;

/** All that is known of one feed, one recording or one scenario. */
export class Model {
  readonly actors = new Map<string, ActorInfo>();
  readonly steps: Step[] = [];
  /** Whether the oldest steps go when there are many: they do of the live feed, nothing is dropped from a recording. */
  readonly bounded: boolean;
  samples: Sample[] = [];
  detail: Detail | undefined;
  service = '';
  /** Absent: the model is of a feed or a recording. */
  scenario: ScenarioInfo | undefined;
  dropped = 0;
  actorsLeftOut = 0;
  /** Number of the step that is looked at; undefined: the end. */
  cursor: number | undefined;
  private next = 0;
  /** Of pools whose actors may come yet. */
  private readonly poolNames = new Map<string, string>();

  constructor(bounded: boolean) {
    this.bounded = bounded;
  }

  get firstN(): number {
    return this.steps[0]?.n ?? this.next;
  }
  get lastN(): number {
    return this.next - 1;
  }
  /** Number of the step that is looked at. */
  get at(): number {
    return this.cursor ?? this.lastN;
  }
  step(n: number): Step | undefined {
    return this.steps[n - this.firstN];
  }

  take(message: LiveMessage): void {
    if (message.kind === 'detail') {
      this.detail = message;
      return;
    }
    if (message.kind === 'hello') {
      for (const info of this.actors.values()) info.ended = true;
      this.service = message.service;
      this.actorsLeftOut = message.actorsLeftOut;
    }
    for (const actor of message.actors) this.actor(actor);
    for (const record of [...message.records].sort((a, b) => a.seq - b.seq)) this.add(record);
    this.dropped = message.dropped;
    if (message.kind === 'frame') for (const name of message.gone) this.gone(name);
    if (message.kind === 'hello') for (const info of [...this.actors.values()]) this.forget(info);
    this.sample(message.ms, message.kind === 'frame' ? message.records.length : 0);
  }

  /** Adds a message behind the others. */
  add(record: Omit<LiveRecord, 'seq'>, check?: StepCheck): Step {
    const machine = machineOf(record.actor);
    const info = this.info(record.actor);
    const step: Step = {
      n: this.next++,
      ms: record.ms,
      actor: record.actor,
      machine,
      event: record.event.type,
      fields: record.event.fields ?? {},
      from: record.from ?? record.to,
      to: record.to,
      outcome: record.outcome,
      ...(record.by !== undefined && { by: record.by }),
      ...(record.settled && { settled: record.settled }),
      ...(check && { check }),
    };
    this.steps.push(step);
    info.steps.push(step);
    if (record.outcome === 'ended') info.ended = true;
    if (record.outcome !== 'dropped') info.state = record.to;
    const { fields } = step;
    if ((fields['kind'] === 'create pool' || fields['kind'] === 'rename pool') && typeof fields['poolId'] === 'string')
      this.nameOfPool(fields['poolId'], String(fields['name']));
    if (this.bounded && this.steps.length > stepsMax + stepsSlack) this.dropOldest(this.steps.length - stepsMax);
    return step;
  }

  /** What the pool of that id is called. */
  nameOfPool(id: string, name: string): void {
    this.poolNames.set(id, name);
    const info = this.actors.get(`pool/${id}`);
    if (info) info.name = name;
    if (this.poolNames.size > stepsMax) this.poolNames.delete(this.poolNames.keys().next().value!);
  }

  info(name: string): ActorInfo {
    let info = this.actors.get(name);
    const poolName = name.startsWith('pool/') ? this.poolNames.get(name.slice(5, 45)) : undefined;
    if (!info)
      this.actors.set(
        name,
        (info = {
          actor: name,
          machine: machineOf(name),
          ...(name.startsWith('pool/') && { parent: 'lake' }),
          ...(poolName !== undefined && { name: poolName }),
          state: [],
          waiting: 0,
          running: 0,
          ended: false,
          steps: [],
        }),
      );
    return info;
  }

  private actor({ actor, name, state, waiting, running }: LiveActor): void {
    const info = this.info(actor);
    if (name !== undefined) info.name = name;
    Object.assign(info, { state, waiting, running, ended: false });
  }
  private gone(name: string): void {
    const info = this.actors.get(name);
    if (!info) return;
    Object.assign(info, { ended: true, waiting: 0, running: 0 });
    this.forget(info);
  }
  /** An actor that ended is known as long as steps of it are. */
  private forget(info: ActorInfo): void {
    if (info.ended && info.steps.length === 0) this.actors.delete(info.actor);
  }
  private dropOldest(count: number): void {
    for (const step of this.steps.splice(0, count)) {
      const info = this.actors.get(step.actor);
      if (info?.steps[0] === step) info.steps.shift();
      if (info) this.forget(info);
    }
    if (this.cursor !== undefined && this.cursor < this.firstN) this.cursor = this.firstN;
  }

  private sample(ms: number, messages: number): void {
    let waiting = 0;
    for (const info of this.actors.values())
      if (info.machine === 'pool' || info.machine === 'lake') waiting += info.waiting + info.running;
    const second = Math.floor(ms / 1000);
    const last = this.samples.at(-1);
    if (last && Math.floor(last.ms / 1000) === second)
      this.samples[this.samples.length - 1] = {
        ms: last.ms,
        messages: last.messages + messages,
        waiting: Math.max(last.waiting, waiting),
      };
    else this.samples.push({ ms, messages, waiting });
    if (this.samples.length > samplesMax) this.samples.shift();
  }

  /** The last step of the actor up to the place that is looked at. */
  lastStep(info: ActorInfo, at: number = this.at): Step | undefined {
    const { steps } = info;
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle].n <= at) low = middle + 1;
      else high = middle;
    }
    return steps[low - 1];
  }

  /** The actor's state at the place that is looked at; undefined when it was not there. */
  stateOf(info: ActorInfo, at: number = this.at): readonly string[] | undefined {
    const state = this.stateAt(info, at);
    return state?.length === 0 ? undefined : state;
  }
  private stateAt(info: ActorInfo, at: number): readonly string[] | undefined {
    if (at >= this.lastN) return info.ended && info.steps.length === 0 ? undefined : info.state;
    const last = this.lastStep(info, at);
    if (last) return last.to;
    const next = info.steps.find((s) => s.n > at);
    if (next) return next.from.length === 0 ? undefined : next.from;
    return info.state;
  }
  /** Whether the actor had ended at the place that is looked at. */
  endedAt(info: ActorInfo, at: number = this.at): boolean {
    return at >= this.lastN ? info.ended : this.lastStep(info, at)?.outcome === 'ended';
  }

  /** Jobs that the actor had taken and not settled, told by its messages; those of a group are one entry. */
  jobsInHand(info: ActorInfo, at: number = this.at): readonly LiveFields[] {
    let jobs: LiveFields[] = [];
    for (const step of info.steps) {
      if (step.n > at) break;
      const { done = 0, failed = 0, refused = 0 } = step.settled ?? {};
      if (typeof step.fields['jobs'] === 'number') jobs = step.fields['jobs'] > 0 && refused === 0 ? [step.fields] : [];
      else if (step.event === 'job' && refused === 0) jobs.push(step.fields);
      else if (step.event !== 'job') jobs.splice(0, done + failed + refused);
    }
    return jobs;
  }

  /** Moves the place by so many steps, within what is there; goes to the end for `Infinity`. */
  move(by: number): void {
    this.seek(this.at + by);
  }
  seek(n: number): void {
    this.cursor = n === Infinity ? undefined : Math.max(this.firstN, Math.min(this.lastN, n));
  }

  /** How the messages and jobs in hand went over the whole recording, in `samplesMax` equal parts. */
  sampleAll(): void {
    const first = this.steps[0]?.ms ?? 0;
    const last = this.steps.at(-1)?.ms ?? first;
    const width = Math.max(1, (last - first + 1) / samplesMax);
    const samples = Array.from({ length: samplesMax }, (_, i) => ({ ms: first + i * width, messages: 0, waiting: 0 }));
    let inHand = 0;
    for (const step of this.steps) {
      const { done = 0, failed = 0, refused = 0 } = step.settled ?? {};
      inHand = Math.max(0, inHand + jobsTaken(step) - done - failed - refused);
      const one = samples[Math.max(0, Math.min(samplesMax - 1, Math.floor((step.ms - first) / width)))];
      one.messages += 1000 / width;
      one.waiting = Math.max(one.waiting, inHand);
    }
    this.samples = samples.map((s) => ({ ...s, messages: Math.round(s.messages * 10) / 10 }));
  }
}

/** Jobs that a message brought. */
const jobsTaken = ({ event, fields }: Step): number => (event === 'job' ? 1 : Number(fields['jobs'] ?? 0));

const machines: ReadonlySet<string> = new Set(machineNames);
/** The machine of an actor by its name; `lake` for names of no known kind. */
const machineOf = (actor: string): MachineName => {
  const [name = ''] = actor.split(/[/#]/, 1);
  return machines.has(name) ? (name as MachineName) : 'lake';
};

/** A name for people. */
export const labelOf = (info: ActorInfo): string => {
  if (info.machine === 'lake' || info.machine === 'store') return info.actor;
  const [, id = ''] = info.actor.split('/');
  if (info.machine === 'pool') return info.name ?? `${id.slice(0, 8)}…${id.slice(40)}`;
  return `${info.machine} ${id}`;
};

/** An event's name for people: XState's own are long. */
export const eventLabel = (event: string): string => {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  if (ended)
    return /^\d+\./.test(ended[2])
      ? ended[1] === 'done'
        ? 'work is done'
        : 'work broke'
      : ended[1] === 'done'
        ? 'child ended'
        : 'child broke';
  if (event === 'done') return 'work is done';
  if (event === 'broke') return 'work broke';
  const after = /^xstate\.after\.([^.]*)/.exec(event);
  if (after) return `after: ${after[1]}`;
  if (event === 'xstate.init') return 'starts';
  return event === 'xstate.stop' ? 'stopped' : event;
};

/** A step's event for people; of a scenario's step what the scenario calls it. */
export const stepLabel = ({ event, check }: Step): string =>
  check === undefined || check.number === 0 ? eventLabel(event) : check.name;

/**
 * Whether something failed in a step: a job failed or was refused, work broke, the store failed, or the actor had ended
 * before. A scenario expects such things: its steps fail when they come out otherwise.
 */
export const failedStep = (step: Step): boolean => (step.check ? step.check.outcome === 'differs' : brokeStep(step));
const brokeStep = (step: Step): boolean =>
  (step.settled !== undefined && step.settled.failed + step.settled.refused > 0) ||
  step.event === 'failed' ||
  step.event === 'cancelled' ||
  step.event.startsWith('xstate.error.') ||
  step.event === 'store failed' ||
  step.outcome === 'dropped';

/** Which steps are listed: parts of names, empty for all; `failures`: failed ones alone. */
export interface Filter {
  readonly actor: string;
  readonly event: string;
  readonly state: string;
  readonly failures: boolean;
}
/** Lets all steps through. */
export const noFilter: Filter = { actor: '', event: '', state: '', failures: false };

/** The steps that a filter lets through: each of its texts is in what it is for, whatever the case. */
export const filtered = (model: Model, filter: Filter): readonly Step[] => {
  const actor = filter.actor.trim().toLowerCase();
  const event = filter.event.trim().toLowerCase();
  const state = filter.state.trim().toLowerCase();
  if (actor === '' && event === '' && state === '' && !filter.failures) return model.steps;
  const names = new Map<string, boolean>();
  const named = (name: string): boolean => {
    let yes = names.get(name);
    if (yes === undefined) {
      const info = model.actors.get(name);
      names.set(
        name,
        (yes =
          name.toLowerCase().includes(actor) || (info !== undefined && labelOf(info).toLowerCase().includes(actor))),
      );
    }
    return yes;
  };
  return model.steps.filter(
    (step) =>
      (!filter.failures || failedStep(step)) &&
      (actor === '' || named(step.actor)) &&
      (event === '' ||
        stepLabel(step).toLowerCase().includes(event) ||
        String(step.fields['kind'] ?? '').includes(event)) &&
      (state === '' ||
        step.to.some((s) => s.toLowerCase().includes(state)) ||
        step.from.some((s) => s.toLowerCase().includes(state))),
  );
};
