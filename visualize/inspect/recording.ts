/** Reads a recording (the NDJSON that `-record` writes) into a model. Pure. */
import { machineNames } from '../../machines/machines.ts';
import { EarlierRecording, earlierFormat } from '../../src/recording/earlier.ts';
import {
  type ActorRecord,
  type HeaderRecord,
  type MessageRecord,
  recordFormat,
  type RecordLine,
} from '../../src/recording/record.ts';
import { eventFields, fieldsOf, isObject, settledOf } from './event-fields.ts';
import { Model } from './model.ts';

/** Most messages of a recording that the page takes. */
const messagesMax = 500_000;

/** A file that is no recording or scenario, or one that the page cannot show; the text is for people. */
export class FileError extends Error {}

type Line = RecordLine | HeaderRecord;

/** Takes line by line; `finish` gives the model. */
export class RecordingReader {
  private readonly lines: (ActorRecord | MessageRecord)[] = [];
  private readonly names = new Map<string, string>();
  private earlier: EarlierRecording | undefined;
  private service = '';
  private lost = 0;
  private cut = 0;
  private number = 0;

  /** @throws FileError */
  line(text: string): void {
    this.number++;
    if (text.trim() === '') return;
    const line = this.parse(text);
    if (line === undefined) return;
    if (this.service === '' && line.kind !== 'header')
      throw new FileError('This is no recording: its first line is no header.');
    if (line.kind === 'header') {
      if ((line.format as number) === earlierFormat) this.earlier ??= new EarlierRecording();
      else if (line.format !== recordFormat)
        throw new FileError(`This recording has format ${String(line.format)}; this page reads ${recordFormat}.`);
      this.service = String(line.service);
    } else if (line.kind === 'given') this.names.set(String(line.pool), String(line.name));
    else if (line.kind === 'lost') this.lost += line.lines;
    else if (line.kind === 'message' || line.kind === 'actor') {
      if (!sound(line)) throw new FileError(`Line ${this.number} of the recording is not sound.`);
      for (const one of this.earlier?.lines(line as RecordLine) ?? [line])
        if (this.lines.length === messagesMax) this.cut++;
        else if (one.kind === 'message' || one.kind === 'actor') this.lines.push(one);
    }
  }
  private parse(text: string): Line | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (this.service !== '') {
        // The end of a file that a killed service left.
        this.cut++;
        return undefined;
      }
      throw new FileError('This is no recording: its first line is no JSON.');
    }
    if (typeof value !== 'object' || value === null || typeof (value as { readonly kind?: unknown }).kind !== 'string')
      throw new FileError(`Line ${this.number} is no line of a recording.`);
    return value as Line;
  }

  finish(): Model {
    if (this.service === '') throw new FileError('This is no recording: it is empty.');
    const model = new Model(false);
    model.service = this.service;
    model.dropped = this.lost + this.cut;
    this.lines.sort((a, b) => a.seq - b.seq);
    for (const [pool, name] of this.names) model.nameOfPool(pool, name);
    for (const line of this.lines) {
      if (line.kind === 'actor') this.actor(model, line);
      else {
        const settled = settledOf(line.emitted);
        model.add({
          ms: line.ms,
          actor: line.actor,
          event: { type: line.event.type, fields: eventFields(line.event) },
          from: line.from,
          to: line.to,
          outcome: line.outcome,
          ...(line.by !== undefined && { by: line.by }),
          ...(settled && { settled }),
        });
      }
    }
    model.sampleAll();
    model.seek(Infinity);
    return model;
  }
  private actor(model: Model, line: ActorRecord): void {
    // One that was there already when this part began is known from the part before, or begins with what it is.
    const known = model.actors.get(line.actor);
    if (known && known.steps.length > 0 && line.snapshot !== undefined) return;
    model.add({
      ms: line.ms,
      actor: line.actor,
      event: { type: 'xstate.init', fields: isObject(line.input) ? fieldsOf(line.input) : {} },
      from: line.snapshot === undefined ? [] : line.state,
      to: line.state,
      outcome: 'moved',
      ...(line.parent !== undefined && { by: line.parent }),
    });
  }
}

const known: ReadonlySet<string> = new Set(machineNames);
const sound = (line: ActorRecord | MessageRecord): boolean => {
  const texts = (value: unknown): boolean => Array.isArray(value) && value.every((x) => typeof x === 'string');
  if (
    typeof line.actor !== 'string' ||
    !known.has(line.machine) ||
    !Number.isFinite(line.seq) ||
    !Number.isFinite(line.ms)
  )
    return false;
  return line.kind === 'actor'
    ? texts(line.state)
    : isObject(line.event) && typeof line.event.type === 'string' && texts(line.from) && texts(line.to);
};
