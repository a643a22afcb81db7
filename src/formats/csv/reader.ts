/** Reads CSV: a header line, then a record a line, cells typed by what they look like. */
import { LakeError } from '../../errors.ts';
import type { ReadOptions } from '../format.types.ts';
import type { Vector } from '../../vectors/vector.ts';
import { readDelimited } from './rows.ts';

/**
 * One character that can stand between cells: no quote, no line break. U+FFFD is what became of bytes that are no
 * UTF-8.
 */
export const isDelimiter = (text: string): boolean => Array.from(text).length === 1 && !/["\r\n\ufffd]/.test(text);

/** @throws LakeError `format-broken` naming the record's line */
export const readCsv = (input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> => {
  const delimiter = options.csvDelimiter ?? ',';
  if (!isDelimiter(delimiter))
    throw new LakeError('format-broken', { format: 'csv', fault: 'invalid field delimiter', place: '', values: 0 });
  return readDelimited(input, options, { format: 'csv', delimiter });
};
