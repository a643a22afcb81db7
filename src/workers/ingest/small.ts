/**
 * Ingests of small bodies, done where they came in, as small loads are (load/small.ts): a message to a worker and back
 * costs more than to decode them.
 */
import { sortSmall } from '../../lake/load/sort-small.ts';
import { removeObjectFiles } from '../../lake/objects/removal.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type SmallLoadTools, once, shapeLimitsIn, smallBodyBytesMax } from '../load/small.ts';
import type { IngestForm, IngestOutcome } from './ingest.types.ts';
import { ingest } from './ingest.ts';

/** Whether a body may be decoded here: it is small, and stays so. */
export const isSmallIngest = ({ contentCodings = [] }: IngestForm, body: Uint8Array): boolean =>
  body.length <= smallBodyBytesMax && contentCodings.length === 0;

/** Sorts a small body into objects. */
export const runSmallIngest = (
  form: IngestForm,
  body: Uint8Array,
  pools: Pick<Parameters<typeof ingest>[3], 'layoutOf' | 'identityOf'>,
  { objects, readLimits }: SmallLoadTools,
): Promise<IngestOutcome> =>
  ingest(once(body), form, readLimits, {
    ...pools,
    sort: async (batches, { keys, order, threshold }) =>
      sortSmall(await collected(batches), {
        keys,
        order,
        threshold,
        objects,
        shapeLimits: shapeLimitsIn(readLimits),
      }),
    remove: (written) => removeObjectFiles(written, { files: objects }),
  });

const collected = async (batches: AsyncIterable<Vector>): Promise<Vector[]> => {
  const all: Vector[] = [];
  for await (const batch of batches) all.push(batch);
  return all;
};
