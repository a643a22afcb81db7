/**
 * Cuts records down to what may leave the service by the inspector's feed: ids, names of pools and branches, counts.
 * Texts of errors and whatever else could hold a part of a record are left out; only what is known to be safe gets
 * through.
 */
import type { MachineName } from '../../../machines/machines.ts';
import type { LiveFields, LiveRecord, LiveSettled } from '../../recording/live.ts';
import type { MessageRecord, RecordedEvent } from '../../recording/record.ts';

/** Most characters of a name. */
const nameCharsMax = 200;
/** Fields whose text is a name or a word of the machines themselves. */
const nameFields: ReadonlySet<string> = new Set([
  'kind',
  'branch',
  'target',
  'child',
  'name',
  'cause',
  'action',
  'end',
  'subject',
]);
const isId = (text: string): boolean => text.length === 40 && /^[0-9a-f]*$/.test(text);

/** Numbers, switches, ids and names of an object; arrays as how many there are. */
const trimmed = (object: Readonly<Record<string, unknown>>): LiveFields => {
  const fields: Record<string, number | boolean | string | null> = {};
  // This runs for every message, watched or not.
  for (const name in object) {
    const value = object[name];
    if (typeof value === 'number' || typeof value === 'boolean') fields[name] = value;
    else if (typeof value === 'string') {
      if (isId(value)) fields[name] = value;
      else if (nameFields.has(name)) fields[name] = clipped(value);
    } else if (Array.isArray(value)) fields[name] = value.length;
  }
  return fields;
};
/** A name, cut to 200 characters. */
export const clipped = (text: string): string =>
  text.length > nameCharsMax ? `${text.slice(0, nameCharsMax)}…` : text;

/** A job: its revision may be a branch's name. */
const trimmedJob = (job: Readonly<Record<string, unknown>>): LiveFields =>
  typeof job['revision'] === 'string' ? { ...trimmed(job), revision: clipped(job['revision']) } : trimmed(job);

/** A message with a group: how many jobs there are in it, and of which kind; all of a job that is alone. */
const trimmedGroup = (event: RecordedEvent, jobs: readonly unknown[]): LiveFields => {
  const [first] = jobs;
  if (!isObject(first)) return trimmed(event);
  const fields = jobs.length === 1 ? trimmedJob(first) : { kind: String(first['kind']) };
  return Object.assign(fields, trimmed(event));
};

/** @returns the record as it goes over the wire */
export const liveRecord = ({ seq, ms, actor, by, event, from, to, outcome, emitted }: MessageRecord): LiveRecord => {
  const { type, job, jobs } = event;
  const fields = isObject(job)
    ? trimmedJob(job)
    : Array.isArray(jobs)
      ? trimmedGroup(event, jobs)
      : type.startsWith('xstate.')
        ? undefined
        : trimmed(event);
  return {
    seq,
    ms,
    actor,
    by,
    event: { type, fields },
    from: from === to ? undefined : from,
    to,
    outcome,
    settled: emitted ? settledOf(emitted) : undefined,
  };
};
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Outcome {
  readonly status?: unknown;
  readonly code?: unknown;
  readonly why?: unknown;
}
const settledOf = (emitted: readonly RecordedEvent[]): LiveSettled | undefined => {
  let done = 0;
  let failed = 0;
  let refused = 0;
  let code: string | undefined;
  for (const { type, outcomes } of emitted) {
    if (type !== 'settled' || !Array.isArray(outcomes)) continue;
    for (const { status, code: failure, why } of outcomes as readonly Outcome[]) {
      if (status === 'done') done++;
      else if (status === 'failed') failed++;
      else refused++;
      if (status !== 'done') code ??= String(failure ?? why);
    }
  }
  return done + failed + refused === 0 ? undefined : { done, failed, refused, ...(code !== undefined && { code }) };
};

/** Of a context's `waiting` or `running`: jobs, or a number of events. */
export const many = (value: unknown): number =>
  Array.isArray(value)
    ? value.length
    : typeof value === 'number'
      ? value
      : value === null || value === undefined
        ? 0
        : 1;

/** Fields of contexts that are texts for people: only that they are there is told. */
const texts: ReadonlySet<string> = new Set(['error', 'failure', 'reason', 'logFault', 'leaseFault']);
const shownJobsMax = 100;
const jobs = (value: unknown): readonly LiveFields[] =>
  (Array.isArray(value) ? value.slice(0, shownJobsMax) : [value]).filter(isObject).map(trimmedJob);

/** Context and queue of an actor. */
export const liveContext = (
  machine: MachineName,
  context: unknown,
): {
  readonly context: LiveFields;
  readonly waiting: readonly LiveFields[];
  readonly running: readonly LiveFields[];
} => {
  if (!isObject(context)) return { context: {}, waiting: [], running: [] };
  const fields: Record<string, number | boolean | string | null> = { ...trimmed(context) };
  for (const [name, value] of Object.entries(context)) {
    if (texts.has(name)) fields[name] = value === null || value === '' ? null : 'set; its text stays in the service';
    else if (value === null) fields[name] = null;
  }
  // A query is named by its request, as X-Request-Id tells.
  if (machine === 'query' && typeof context['id'] === 'string') fields['id'] = clipped(context['id']);
  return { context: fields, waiting: jobs(context['waiting']), running: jobs(context['running']) };
};
