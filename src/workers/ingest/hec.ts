/**
 * The bodies of Splunk's HTTP Event Collector: objects one behind the other, an event each, or lines that are events.
 *
 * Invariants:
 * - A record has its time first, then what was sent in its order; `index`, which names the pool, is left out.
 * - An event without a time gets the time at which its request was read, as Splunk does it.
 * - A body is taken whole or not at all: what is wrong with an event is told by its number.
 */
import { LakeError } from '../../errors.ts';
import { markLength } from '../../formats/byte-window.ts';
import { readLimits } from '../../formats/format.types.ts';
import { JsonTape, decodeText, kind } from '../../formats/json/tape.ts';
import { writePicked } from '../../formats/json/write.ts';
import type { Layout } from '../../formats/columns/key-layouts.ts';
import { type Builder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import { bytesToText } from '../../vectors/texts/codec.ts';
import { types } from '../../vectors/type.ts';
import { Gathered, type PoolBatches, gather } from './gathered.ts';
import type { DecodeContext, HecTold } from './ingest.types.ts';
import { wholeMessage } from './whole-body.ts';

/** Splunk's numbers of what can be wrong with an event. */
const faults = {
  invalid: 6,
  index: 7,
  missing: 12,
  blank: 13,
  fields: 15,
} as const;
type Fault = keyof typeof faults;
const eventFault = (fault: Fault, text: string, event: number): LakeError =>
  new LakeError('hec-event', { fault: text, event, code: faults[fault] });

/** Where events go that name no index. */
const poolDefault = 'splunk';

/** Reads a body of objects. @throws hec-event, hec-empty, format-limit, format-memory */
export const decodeHec = async (input: AsyncIterable<Uint8Array>, context: DecodeContext): Promise<HecTold> => {
  const body = await wholeMessage(input, 'splunk', context.options);
  const gathered = new Gathered(context);
  const events = new Events(body, context, gathered);
  while (events.next()) {
    const full = events.take();
    if (full) await gathered.handOn(full);
  }
  const told = events.end();
  await gathered.end();
  return told;
};

/** How records of a layout are made: fields by the places of their values among the object's. */
interface Plan {
  readonly shape: Shape;
  /** Places among the children, of the fields behind the ones that are filled in. */
  readonly sources: readonly number[];
  readonly hasTime: boolean;
  /** Texts of fields that were not sent, behind the time. */
  readonly filled: readonly string[];
  readonly index: number | undefined;
  readonly event: number | undefined;
  readonly fields: number | undefined;
}

class Events {
  private readonly context: DecodeContext;
  private readonly gathered: Gathered;
  private readonly tape: JsonTape;
  private readonly window: { bytes: Uint8Array; start: number; end: number; final: boolean; offset: number };
  private readonly plans = new WeakMap<Layout, Plan>();
  private readonly now = Date.now();
  private count = 0;
  private isKnown = true;

  constructor(body: Uint8Array, context: DecodeContext, gathered: Gathered) {
    const { nestingMax } = readLimits(context.options);
    // The tape stops at a byte behind the end.
    const bytes = new Uint8Array(body.length + 1);
    bytes.set(body);
    this.context = context;
    this.gathered = gathered;
    this.tape = new JsonTape(nestingMax, { memory: context.options.memory });
    this.tape.place = { lines: 1, lineStart: 0 };
    this.window = { bytes, start: markLength(bytes, body.length), end: body.length, final: true, offset: 0 };
  }

  /** Whether there is another object. */
  next(): boolean {
    checkStopAt(this.count);
    try {
      return this.tape.next(this.window, this.count) === 'value';
    } catch (problem) {
      if (problem instanceof LakeError && problem.code === 'format-broken')
        throw this.fault('invalid', problem.message);
      throw problem;
    }
  }
  /** Takes it; gives the records of a pool that are a batch now. */
  take(): PoolBatches | undefined {
    const { tape } = this;
    if (tape.kinds[0] !== kind.object) throw this.fault('invalid', 'expected an object');
    const plan = this.planOf(tape.formAt(0).layout);
    const children = tape.childrenOf(0);
    this.check(plan, children);
    const target = this.gathered.of(this.poolOf(plan, children));
    const record = target.batches.begin().record(plan.shape);
    const fields: readonly Builder[] = record.fields;
    let at = 0;
    if (!plan.hasTime) {
      this.isKnown = false;
      writeNow(fields[at++]!, this.now);
    }
    for (const text of plan.filled) fields[at++]!.text(text);
    writePicked(
      tape,
      plan.sources.map((place) => children[place]!),
      fields.slice(at),
    );
    record.end();
    target.batches.end(tape.textLength);
    this.count++;
    return target.batches.isFull ? target : undefined;
  }
  end(): HecTold {
    if (this.count === 0) throw new LakeError('hec-empty');
    return { events: this.count, isKnown: this.isKnown };
  }

  private check({ event, fields }: Plan, children: readonly number[]): void {
    const { tape } = this;
    const at = event === undefined ? undefined : children[event]!;
    if (at === undefined || tape.kinds[at] === kind.null) throw this.fault('missing', 'event field is required');
    if (tape.kinds[at] === kind.text && tape.start(at) === tape.end(at))
      throw this.fault('blank', 'event field cannot be blank');
    if (fields === undefined) return;
    const of = children[fields]!;
    if (tape.kinds[of] !== kind.object) throw this.fault('fields', 'fields: expected an object');
    for (const child of tape.childrenOf(of, tape.end(of)))
      if (tape.kinds[child] === kind.object) throw this.fault('fields', 'fields: expected no object within');
  }
  private poolOf({ index }: Plan, children: readonly number[]): string {
    const fallback = this.context.pool ?? poolDefault;
    if (index === undefined) return fallback;
    const { tape } = this;
    const at = children[index]!;
    const found = tape.kinds[at];
    if (found === kind.null) return fallback;
    if (found !== kind.text && found !== kind.textCoded) throw this.fault('index', 'index: expected a string');
    const name = decodeText(tape.bytes, tape.start(at), tape.end(at)).toWellFormed();
    return name === '' ? fallback : name;
  }

  private planOf(layout: Layout): Plan {
    let plan = this.plans.get(layout);
    if (!plan) this.plans.set(layout, (plan = planOf(layout, this.context.defaults)));
    return plan;
  }
  private fault(fault: Fault, text: string): LakeError {
    return eventFault(fault, text, this.count);
  }
}

const planOf = ({ shape: { names }, sources }: Layout, defaults: Readonly<Record<string, string>>): Plan => {
  const placeOf = (name: string): number | undefined => {
    const k = names.indexOf(name);
    return k < 0 ? undefined : (sources?.[k] ?? k);
  };
  const hasTime = names.includes('time');
  const missing = Object.entries(defaults).filter(([name]) => !names.includes(name));
  const sent = names.filter((name) => name !== 'index' && name !== 'time');
  const filled = [...(hasTime ? [] : ['time']), ...missing.map(([name]) => name)];
  const taken = [...(hasTime ? ['time'] : []), ...sent];
  return {
    shape: shapeOf([...filled, ...taken].map((name) => ({ name }))),
    sources: taken.map((name) => placeOf(name)!),
    hasTime,
    filled: missing.map(([, text]) => text),
    index: placeOf('index'),
    event: placeOf('event'),
    fields: placeOf('fields'),
  };
};

const writeNow = (builder: Builder, ms: number): void => {
  builder.seconds(types.time, Math.floor(ms / 1000), (ms % 1000) * 1_000_000);
};

/** Reads a body of lines. @throws hec-empty, format-limit */
export const decodeHecRaw = async (
  input: AsyncIterable<Uint8Array>,
  { options, pool = poolDefault, defaults, emit }: DecodeContext,
): Promise<HecTold> => {
  const body = await wholeMessage(input, 'splunk', options);
  const now = Date.now();
  const texts = Object.entries(defaults);
  const shape = shapeOf(['time', ...texts.map(([name]) => name), 'event'].map((name) => ({ name })));
  const events = await gather(linesOf(body), pool, { options, emit }, (line, builder) => {
    const record = builder.record(shape);
    const { fields } = record;
    writeNow(fields[0]!, now);
    texts.forEach(([, text], k) => {
      fields[1 + k]!.text(text);
    });
    fields[1 + texts.length]!.text(bytesToText(line).normalize('NFC'));
    record.end();
    return line.length;
  });
  if (events === 0) throw new LakeError('hec-empty');
  return { events, isKnown: false };
};
/** Lines with anything in them, without what ends them. */
function* linesOf(body: Uint8Array): Generator<Uint8Array> {
  for (let start = 0, n = 0; start < body.length; n++) {
    checkStopAt(n);
    const newline = body.indexOf(0x0a, start);
    const behind = newline < 0 ? body.length : newline;
    const end = behind > start && body[behind - 1] === 0x0d ? behind - 1 : behind;
    if (end > start) yield body.subarray(start, end);
    start = behind + 1;
  }
}
