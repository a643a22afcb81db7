/** Reads TSV: as CSV, with tabs. */
import type { ReadOptions } from '../format.types.ts';
import type { Vector } from '../../vectors/vector.ts';
import { readDelimited } from './rows.ts';

/** @throws LakeError `format-broken` naming the record's line */
export const readTsv = (input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> =>
  readDelimited(input, options, { format: 'tsv', delimiter: '\t' });
