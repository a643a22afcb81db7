/** Reads CSV: a header line, then a record a line, cells typed by what they look like. */
import { LakeError } from '../../errors.ts';
import type { ReadOptions } from '../format.types.ts';
import type { Vector } from '../../vectors/vector.ts';
import { readDelimited } from './rows.ts';

/** @throws LakeError `format-broken` naming the record's line */
export const readCsv = (input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> => {
  const delimiter = options.csvDelimiter ?? ',';
  const code = delimiter.charCodeAt(0);
  if (delimiter.length !== 1 || code > 0x7f || delimiter === '"' || delimiter === '\n' || delimiter === '\r') {
    throw new LakeError('format-broken', { format: 'csv', fault: 'invalid field delimiter', place: '', values: 0 });
  }
  return readDelimited(input, options, { format: 'csv', delimiter: code });
};
