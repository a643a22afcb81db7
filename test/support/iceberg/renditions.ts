/** Files of Iceberg tables without a lake: rows as SUP text to the bytes of a Parquet file. */
import { ColumnSet, type TableColumn } from '../../../src/iceberg/columns.ts';
import { FileColumns } from '../../../src/iceberg/fit.ts';
import type { Mapping } from '../../../src/iceberg/kinds.ts';
import { type FileFigures, RenditionWriter } from '../../../src/iceberg/rendition.ts';
import { Survey } from '../../../src/iceberg/survey.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import type { Vector } from '../../../src/vectors/vector.ts';

/** A file and the table's columns behind it. */
interface Rendered {
  readonly bytes: Uint8Array;
  readonly figures: FileFigures;
  readonly columns: readonly TableColumn[];
}

/** The file of these batches, in a table that has `known` columns already. */
export const rendered = (
  batches: readonly Vector[],
  known: readonly TableColumn[] = [],
  mapping: Mapping = 'typed',
): Rendered => {
  const survey = new Survey(new ColumnSet(known, mapping), known.length);
  for (const batch of batches) survey.add(batch);
  const set = new ColumnSet(known, mapping);
  const used = set.adopt(survey.columns(), known.length) ?? [];
  const writer = new RenditionWriter(new FileColumns(set, used));
  const pieces = [...batches.flatMap((batch) => [...writer.add(batch)]), ...writer.end()];
  return { bytes: Buffer.concat(pieces), figures: writer.figures(), columns: set.columns() };
};
/** The file of one batch. */
export const renderedText = (text: string, known: readonly TableColumn[] = [], mapping: Mapping = 'typed'): Rendered =>
  rendered([vectorOf(parseSupValues(text))], known, mapping);
