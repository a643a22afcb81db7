/** Reads a recording (the NDJSON that `-record` writes) into a model. Pure. */
import type { LiveFields, LiveSettled } from '../../src/recording/live.ts';
import { type ActorRecord, type HeaderRecord, type MessageRecord, machineNames, recordFormat, type RecordedEvent, type RecordLine } from '../../src/recording/record.ts';
import { Model } from './model.ts';

/** Most messages of a recording that the page takes. */
const messagesMax = 500_000;

/** A file that is no recording, or one of another version; the text is for people. */
export class RecordingError extends Error {}

type Line = RecordLine | HeaderRecord;

/** Takes line by line; `finish` gives the model. */
export class RecordingReader {
  readonly #lines: (ActorRecord | MessageRecord)[] = [];
  readonly #names = new Map<string, string>();
  #service = '';
  #lost = 0;
  #cut = 0;
  #number = 0;

  /** @throws RecordingError */
  line(text: string): void {
    this.#number++;
    if (text.trim() === '') return;
    const line = this.#parse(text);
    if (line === undefined) return;
    if (this.#service === '' && line.kind !== 'header') throw new RecordingError('This is no recording: its first line is no header.');
    if (line.kind === 'header') {
      if (line.format !== recordFormat) throw new RecordingError(`This recording has format ${String(line.format)}; this page reads ${recordFormat}.`);
      this.#service = String(line.service);
    } else if (line.kind === 'given') this.#names.set(String(line.pool), String(line.name));
    else if (line.kind === 'lost') this.#lost += line.lines;
    else if (line.kind === 'message' || line.kind === 'actor') {
      if (!sound(line)) throw new RecordingError(`Line ${this.#number} of the recording is not sound.`);
      if (this.#lines.length < messagesMax) this.#lines.push(line);
      else this.#cut++;
    }
  }
  #parse(text: string): Line | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (this.#service !== '') {
        // The end of a file that a killed service left.
        this.#cut++;
        return undefined;
      }
      throw new RecordingError('This is no recording: its first line is no JSON.');
    }
    if (typeof value !== 'object' || value === null || typeof (value as { readonly kind?: unknown }).kind !== 'string') throw new RecordingError(`Line ${this.#number} is no line of a recording.`);
    return value as Line;
  }

  finish(): Model {
    if (this.#service === '') throw new RecordingError('This is no recording: it is empty.');
    const model = new Model(false);
    model.service = this.#service;
    model.dropped = this.#lost + this.#cut;
    this.#lines.sort((a, b) => a.seq - b.seq);
    for (const [pool, name] of this.#names) model.nameOfPool(pool, name);
    for (const line of this.#lines) {
      if (line.kind === 'actor') this.#actor(model, line);
      else {
        const { kind, ...job } = (line.event['job'] ?? {}) as Readonly<Record<string, unknown>>;
        const settled = settledOf(line.emitted);
        model.add({
          ms: line.ms, actor: line.actor, event: { type: line.event.type, fields: kind === undefined ? fieldsOf(line.event) : { ...(typeof kind === 'string' && { kind }), ...fieldsOf(job) } },
          from: line.from, to: line.to, outcome: line.outcome, ...(line.by !== undefined && { by: line.by }), ...(settled && { settled }),
        });
      }
    }
    model.sampleAll();
    model.seek(Infinity);
    return model;
  }
  #actor(model: Model, line: ActorRecord): void {
    // One that was there already when this part began is known from the part before, or begins with what it is.
    const known = model.actors.get(line.actor);
    if (known && known.steps.length > 0 && line.snapshot !== undefined) return;
    model.add({ ms: line.ms, actor: line.actor, event: { type: 'xstate.init', fields: isObject(line.input) ? fieldsOf(line.input) : {} }, from: line.snapshot === undefined ? [] : line.state, to: line.state, outcome: 'moved', ...(line.parent !== undefined && { by: line.parent }) });
  }
}

const known: ReadonlySet<string> = new Set(machineNames);
const sound = (line: ActorRecord | MessageRecord): boolean => {
  const texts = (value: unknown): boolean => Array.isArray(value) && value.every((x) => typeof x === 'string');
  if (typeof line.actor !== 'string' || !known.has(line.machine) || !Number.isFinite(line.seq) || !Number.isFinite(line.ms)) return false;
  return line.kind === 'actor' ? texts(line.state) : isObject(line.event) && typeof line.event.type === 'string' && texts(line.from) && texts(line.to);
};
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldsOf = (object: Readonly<Record<string, unknown>>): LiveFields => {
  const fields: Record<string, number | boolean | string | null> = {};
  for (const [name, value] of Object.entries(object)) {
    if (name === 'type') continue;
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) fields[name] = value;
    else if (typeof value === 'string') fields[name] = value.length > 200 ? `${value.slice(0, 200)}…` : value;
    else if (Array.isArray(value)) fields[name] = value.length;
  }
  return fields;
};

const settledOf = (emitted: readonly RecordedEvent[] | undefined): LiveSettled | undefined => {
  const outcomes = (emitted ?? []).filter((e) => e.type === 'settled' && Array.isArray(e['outcomes'])).flatMap((e) => e['outcomes'] as readonly { readonly status?: unknown; readonly code?: unknown; readonly why?: unknown }[]);
  if (outcomes.length === 0) return undefined;
  const count = (status: string): number => outcomes.filter((o) => o.status === status).length, first = outcomes.find((o) => o.status !== 'done');
  return { done: count('done'), failed: count('failed'), refused: count('refused'), ...(first && { code: String(first.code ?? first.why) }) };
};
