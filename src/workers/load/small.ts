/**
 * Loads of small bodies, done where they came in: a message to a worker and back costs more than to parse them.
 *
 * Invariant: what it costs is bounded by `smallBodyBytesMax`. Formats that unfold what they hold, content codings and
 * pools that cut objects finely are left to the workers.
 */
import { LakeError } from '../../errors.ts';
import type { BodyForm } from '../../formats/format.types.ts';
import { type InputName, type ReadOptions, openReader, readPlain, wholeReaderOf } from '../../formats/formats.ts';
import { type ShapeLimits, sortIntoObjects } from '../../lake/load/sort.ts';
import type { SortedObjects } from '../../lake/objects/cutter.ts';
import type { ObjectStore } from '../../lake/objects/objects.ts';
import { sortSmall } from '../../lake/load/sort-small.ts';
import type { PoolLayout, Rejects } from '../messages.ts';
import type { LoadOutcome } from '../pool.types.ts';
import { FaultKeeper, keptFaults } from './faults.ts';
import { FirstForm } from './first-form.ts';
import { eachWithTimes } from './times.ts';
import { Warnings } from './warnings.ts';

/** The longest body that the main thread parses. */
export const smallBodyBytesMax = 4096;
/** A pool that cuts its objects below this makes many of one small body. */
const thresholdMin = 64 << 10;
/** Formats whose rows are no larger than their bytes. */
const plainFormats: ReadonlySet<InputName | 'auto'> = new Set<InputName | 'auto'>([
  'auto',
  'json',
  'ndjson',
  'sup',
  'csv',
  'tsv',
  'line',
  'otlp-logs',
  'otlp-logs-json',
  'otlp-traces',
  'otlp-traces-json',
  'otlp-metrics',
  'otlp-metrics-json',
]);

/** A load whose body is there as a whole. */
export interface SmallLoad {
  readonly pool: PoolLayout;
  readonly format: InputName | 'auto';
  readonly form?: BodyForm;
  readonly rejects?: Rejects;
  readonly body: Uint8Array;
}
/** Where objects go, and what readers take at most. */
export interface SmallLoadTools {
  readonly objects: ObjectStore;
  readonly readLimits: ReadOptions;
}

/** Whether a load may be done here. Text alone: gzip is found out by its first bytes, whatever the format. */
export const isSmallLoad = ({ pool, format, form, body }: SmallLoad, contentCodings: readonly unknown[]): boolean =>
  body.length <= smallBodyBytesMax &&
  contentCodings.length === 0 &&
  form?.charset === undefined &&
  form?.upsert === undefined &&
  plainFormats.has(format) &&
  pool.threshold >= thresholdMin &&
  isText(body[0] ?? 0);
const isText = (byte: number): boolean => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d);

/**
 * Sorts a small body into objects; at once where its format can be read so. @throws load-empty when it holds no value
 */
export const runSmallLoad = (
  small: SmallLoad,
  { objects, readLimits }: SmallLoadTools,
): LoadOutcome | Promise<LoadOutcome> => {
  const {
    pool: { keys, order, threshold },
    format,
    form,
    body,
  } = small;
  const shapeLimits = shapeLimitsIn(readLimits);
  const asWritten = form?.unnest || form?.utf8 || form?.errors || form?.time !== undefined;
  const whole = format === 'auto' || asWritten ? undefined : wholeReaderOf(format);
  if (!whole)
    return readAndSort(small, {
      objects,
      shapeLimits,
      options: { ...readLimits, ...form },
    });
  const noted = new FirstForm();
  const warnings = new Warnings();
  // In this order: behind a spread the engine makes a new class of objects for each load.
  const rows = whole(body, { warn: warnings.add, ...readLimits });
  const sorted = sortSmall(noted.all(rows), { keys, order, threshold, objects, shapeLimits });
  return sorted instanceof Promise
    ? sorted.then((all) => outcomeOf(all, noted, warnings))
    : outcomeOf(sorted, noted, warnings);
};

/** What a load may hold, of the limits of inputs; undefined where they have none. */
export const shapeLimitsIn = ({ typesMax, columnsMax = Infinity }: ReadOptions): ShapeLimits | undefined =>
  typesMax === undefined ? undefined : { typesMax, columnsMax };

const readAndSort = async (
  { pool: { keys, order, threshold }, format, form, body, rejects }: SmallLoad,
  {
    objects,
    shapeLimits,
    options,
  }: { readonly objects: ObjectStore; readonly shapeLimits: ShapeLimits | undefined; readonly options: ReadOptions },
): Promise<LoadOutcome> => {
  const keeper = options.errors && new FaultKeeper(rejects, () => ({ objects, spill: noSpill }));
  const warnings = new Warnings();
  const known = { ...options, warn: warnings.add, ...(keeper && { faulty: keeper.take }) };
  // What `isSmallLoad` lets through has no coding that would have to be undone first.
  const reader = format === 'auto' ? await openReader(format, once(body), known) : readPlain(format, once(body), known);
  const noted = new FirstForm();
  const sorted = await keptFaults(keeper, { files: objects }, () =>
    sortIntoObjects(noted.each(eachWithTimes(reader, form?.time)), {
      keys,
      order,
      threshold,
      objects,
      ...(shapeLimits && { shapeLimits }),
      spill: noSpill,
      memoryBytesMax: Infinity,
    }),
  );
  return outcomeOf(sorted, noted, warnings);
};

const outcomeOf = (
  { objects, records, bytes, faults, rejected }: SortedObjects & Pick<LoadOutcome, 'faults' | 'rejected'>,
  first: FirstForm,
  warnings: Warnings,
): LoadOutcome => {
  if (records === 0) throw new LakeError('load-empty');
  return {
    objects,
    records,
    bytes,
    warnings: warnings.texts(),
    isOneArray: first.isOneArray(records) || undefined,
    faults,
    rejected: faults && (rejected ?? []),
  };
};

const noSpill = (): never => {
  throw new Error('a small load does not spill');
};
/** A body in one piece. */
export async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
