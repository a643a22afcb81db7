/**
 * Loads of small bodies, done where they came in: a message to a worker and back costs more than to parse them.
 *
 * Invariant: what it costs is bounded by `smallBodyBytesMax`. Formats that unfold what they hold, content codings and pools that cut objects finely are left to
 * the workers.
 */
import { LakeError } from '../errors.ts';
import { type FormatName, type ReadOptions, formatTable, openReader } from '../formats/formats.ts';
import { sortIntoObjects } from '../lake/load-sort.ts';
import type { ObjectStore } from '../lake/objects.ts';
import type { PoolLayout } from './messages.ts';
import type { LoadOutcome } from './pool.types.ts';

/** The longest body that the main thread parses. */
export const smallBodyBytesMax = 4096;
/** A pool that cuts its objects below this makes many of one small body. */
const thresholdMin = 64 << 10;
/** Formats whose rows are no larger than their bytes. */
const plainFormats: ReadonlySet<FormatName | 'auto'> = new Set<FormatName | 'auto'>(['auto', 'json', 'ndjson', 'sup', 'csv', 'tsv', 'line']);

export interface SmallLoad {
  readonly pool: PoolLayout;
  readonly format: FormatName | 'auto';
  readonly csvDelimiter?: string;
  readonly body: Uint8Array;
}
export interface SmallLoadTools { readonly objects: ObjectStore; readonly readLimits: ReadOptions }

/** Whether a load may be done here. Text alone: gzip is found out by its first bytes, whatever the format. */
export const isSmallLoad = ({ pool, format, body }: SmallLoad, contentCodings: readonly unknown[]): boolean =>
  body.length <= smallBodyBytesMax && contentCodings.length === 0 && plainFormats.has(format) && pool.threshold >= thresholdMin && isText(body[0] ?? 0);
const isText = (byte: number): boolean => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d);

/** Sorts a small body into objects. @throws load-empty when it holds no value */
export const runSmallLoad = async ({ pool: { keys, order, threshold }, format, csvDelimiter, body }: SmallLoad, { objects, readLimits }: SmallLoadTools): Promise<LoadOutcome> => {
  const options = { ...readLimits, ...(csvDelimiter !== undefined && { csvDelimiter }) }, direct = format === 'auto' ? undefined : formatTable[format].reader;
  // What `isSmallLoad` lets through has no coding that would have to be undone first.
  const reader = direct ? direct(once(body), options) : await openReader(format, once(body), options);
  const outcome = await sortIntoObjects(reader, { keys, order, threshold, objects, ...(readLimits.typesMax !== undefined && { shapeLimits: { typesMax: readLimits.typesMax, columnsMax: readLimits.columnsMax ?? Infinity } }), spill: noSpill, memoryBytesMax: Infinity });
  if (outcome.records === 0) throw new LakeError('load-empty');
  return { ...outcome, warnings: [] };
};

const noSpill = (): never => { throw new Error('a small load does not spill'); };
/** A body in one piece. */
export async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
