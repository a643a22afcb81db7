/**
 * Writes Parquet: the schema from the first record, or of what is known where none comes, row groups of bounded size,
 * the table of contents at the end.
 */
import type { Vector } from '../../vectors/vector.ts';
import { columnsOf, columnsWithoutRows } from '../columns/types.ts';
import type { WriteOptions, Writer } from '../format.types.ts';
import { RecordRows } from '../columns/record-rows.ts';
import { ParquetFile } from './file.ts';
import { schemaOf, writerName } from './schema-write.ts';

/** More rows at a time take more memory, and the same time each. */
const groupRows = 1 << 16;
/**
 * What the rows of a group may take in memory, about: they are there twice while they are put together, and once more
 * what is written of a column.
 */
const groupBytes = 24 << 20;

export const createParquetWriter = ({ gatherBytesMax }: WriteOptions): Writer => {
  const file = new ParquetFile();
  const rows = new RecordRows({
    writer: writerName,
    rows: groupRows,
    bytes: groupBytes,
    gatherBytesMax,
    start: (type) => file.start(schemaOf(columnsOf(type, writerName))),
  });
  return {
    *write(batch: Vector) {
      for (const group of rows.add(batch)) yield* file.group(group);
    },
    *end(rowType) {
      for (const group of rows.flush()) yield* file.group(group);
      if (!file.hasSchema) file.start(schemaOf(columnsWithoutRows(rowType, writerName, schemaOf)));
      yield* file.end();
    },
  };
};
