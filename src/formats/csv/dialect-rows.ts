/**
 * Rows of every dialect but the plain one, by csv-parse: it knows quotes, escapes and comments of all kinds, and is
 * five times slower than our own reader (rows.ts), which is what the plain dialect has that one for. What a
 * cell is, is told in one place (cells.ts), save where the client says it.
 */
import { Readable, pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { LakeError } from '../../errors.ts';
import type { Vector } from '../../vectors/vector.ts';
import { Batches } from '../batches.ts';
import { type ReadOptions, readLimits } from '../format.types.ts';
import { Faults } from '../faults/faults.ts';
import { readBending } from './bending-rows.ts';
import { Columns, namesOf, placesOf } from './dialect-columns.ts';
import { type Dialect, faultOf, parserOptions } from './dialect-parser.ts';

/** Batches of the rows. @throws LakeError `format-broken` naming the record's line */
export async function* readDialect(
  input: AsyncIterable<Uint8Array>,
  options: ReadOptions,
  how: Dialect,
): AsyncGenerator<Vector> {
  const faults = Faults.of(options);
  const { format, dialect, lineEnd } = how;
  const { skip = 0, header = 1 } = dialect;
  if (faults) return yield* readBending(behindLines(input, skip, lineEnd), options, { ...how, faults });
  const { batchRows, valueBytesMax } = readLimits(options);
  const batches = new Batches(batchRows);
  const broken = (line: number, fault: string, isOfCut = false): LakeError =>
    new LakeError('format-broken', {
      format,
      fault: `record on line ${line}: ${fault}`,
      place: '',
      values: batches.rows,
      ...(isOfCut && { cut: format }),
    });
  // A fault would end the parser before the records ahead of it are taken: of a part of an input they count.
  let skipped: CsvError | undefined;
  const parser = parse({
    ...parserOptions(how),
    max_record_size: valueBytesMax,
    ...(options.isCut && {
      skip_records_with_error: true,
      on_skip: (problem) => {
        skipped ??= problem;
        return undefined;
      },
    }),
  });
  // What fails in the input ends the parser, and so the loop.
  pipeline(Readable.from(behindLines(input, skip, lineEnd)), parser, () => undefined);
  const heads: (readonly string[])[] = [];
  let columns: Columns | undefined;
  let bytes = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      const line = skip + info.lines;
      if (skipped && info.lines > Number(skipped['lines'])) throw skipped;
      if (!columns) {
        if (header > 0) heads.push(record);
        if (heads.length < header) continue;
        columns = new Columns(header > 0 ? namesOf(heads) : placesOf(record.length), dialect, (fault) =>
          broken(line, fault),
        );
        if (header > 0) continue;
      }
      columns.append(record, batches.begin(), line, (fault) => broken(line, fault));
      batches.end(info.bytes - bytes);
      bytes = info.bytes;
      if (batches.isFull) yield batches.take();
    }
    if (skipped) throw skipped;
    if (batches.rows === 0)
      throw new LakeError('format-broken', { format, fault: `empty ${format} file`, place: '', values: 0 });
  } catch (problem) {
    if (!batches.isEmpty) yield batches.take();
    if (!(problem instanceof CsvError)) throw problem;
    const isOfCut = options.isCut === true && problem.code === 'CSV_QUOTE_NOT_CLOSED';
    throw broken(skip + Number(problem['lines'] ?? 0), faultOf(problem), isOfCut);
  } finally {
    parser.destroy();
  }
  if (!batches.isEmpty) yield batches.take();
}

interface Parsed {
  readonly record: readonly string[];
  /** Lines and bytes from the beginning to the record's end. */
  readonly info: { readonly lines: number; readonly bytes: number };
}

/** The input without its first lines. */
async function* behindLines(
  input: AsyncIterable<Uint8Array>,
  lines: number,
  lineEnd: string,
): AsyncGenerator<Uint8Array> {
  let left = lines;
  const last = lineEnd.charCodeAt(0);
  for await (const chunk of input) {
    let start = 0;
    while (left > 0) {
      const end = chunk.indexOf(last, start);
      if (end < 0) break;
      start = end + 1;
      left--;
    }
    if (left === 0 && start < chunk.length) yield chunk.subarray(start);
  }
}
