/**
 * Ingests of small bodies, done where they came in, as small loads are (load/small.ts): a message to a worker and back
 * costs more than to decode them.
 */
import { sortSmall } from '../../lake/load/sort-small.ts';
import { type SmallLoadTools, shapeLimitsIn, smallBodyBytesMax } from '../load/small.ts';
import { HeldLoads, type HeldLoadTools } from './held-loads.ts';
import type { IngestForm, IngestOutcome } from './ingest.types.ts';
import { ingestWhole } from './ingest.ts';

/** Whether a body may be decoded here: it is small, and stays so. */
export const isSmallIngest = ({ contentCodings = [] }: IngestForm, body: Uint8Array): boolean =>
  body.length <= smallBodyBytesMax && contentCodings.length === 0;

/** Sorts a small body into objects. `layoutOf`, `identityOf`: of a pool. @throws what is wrong with the body */
export const runSmallIngest = (
  form: IngestForm,
  body: Uint8Array,
  { layoutOf, identityOf }: Pick<HeldLoadTools, 'layoutOf'> & Pick<Parameters<typeof ingestWhole>[3], 'identityOf'>,
  { objects, readLimits }: SmallLoadTools,
): Promise<IngestOutcome> => {
  const loads = new HeldLoads({
    layoutOf,
    sort: (batches, { keys, order, threshold }) =>
      sortSmall(batches, { keys, order, threshold, objects, shapeLimits: shapeLimitsIn(readLimits) }),
  });
  return ingestWhole(body, form, readLimits, { loads, identityOf });
};
