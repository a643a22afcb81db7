/**
 * What the page shows of an event that a recording or a scenario has in full: as much as the live feed tells of one.
 */
import type { LiveFields, LiveSettled } from '../../src/recording/live.ts';
import type { RecordedEvent } from '../../src/recording/record.ts';

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An event's fields; those of its job, if it brings one, also as a group; of a larger group its kind. */
export const eventFields = (event: RecordedEvent): LiveFields => {
  const { job, jobs } = event;
  if (isObject(job)) return jobFields(job);
  const [first] = Array.isArray(jobs) ? (jobs as readonly unknown[]) : [];
  if (!isObject(first)) return fieldsOf(event);
  const group = jobFields(first);
  return { ...((jobs as readonly unknown[]).length === 1 ? group : { kind: group['kind'] }), ...fieldsOf(event) };
};
const jobFields = ({ kind, ...job }: Readonly<Record<string, unknown>>): LiveFields => ({
  ...(typeof kind === 'string' && { kind }),
  ...fieldsOf(job),
});

/** Numbers, names and ids as they are, of lists how many there are; nothing else. */
export const fieldsOf = (object: Readonly<Record<string, unknown>>): LiveFields => {
  const fields: Record<string, number | boolean | string | null> = {};
  for (const [name, value] of Object.entries(object)) {
    if (name === 'type') continue;
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) fields[name] = value;
    else if (typeof value === 'string') fields[name] = value.length > 200 ? `${value.slice(0, 200)}…` : value;
    else if (Array.isArray(value)) fields[name] = value.length;
  }
  return fields;
};

/** How jobs ended that were settled with these emitted events; undefined: none was. */
export const settledOf = (emitted: readonly RecordedEvent[] | undefined): LiveSettled | undefined => {
  const outcomes = (emitted ?? [])
    .filter((e) => e.type === 'settled' && Array.isArray(e['outcomes']))
    .flatMap(
      (e) => e['outcomes'] as readonly { readonly status?: unknown; readonly code?: unknown; readonly why?: unknown }[],
    );
  if (outcomes.length === 0) return undefined;
  const count = (status: string): number => outcomes.filter((o) => o.status === status).length;
  const first = outcomes.find((o) => o.status !== 'done');
  return {
    done: count('done'),
    failed: count('failed'),
    refused: count('refused'),
    ...(first && { code: String(first.code ?? first.why) }),
  };
};
