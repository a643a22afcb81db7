/** Rows of a block but for those that a scan does without. */
import { Uint32List } from '../../vectors/lists.ts';
import type { ObjectReader } from '../objects/reader.ts';

/** What has blocks of rows. */
type Blocks = Pick<ObjectReader, 'blocks'>;

/** The rows of a block that are left of places [start, end) of its object, which rise; undefined: all of them. */
export const rowsLeft = (reader: Blocks, block: number, without: Uint32Array): Uint32Array | undefined => {
  const first = firstRow(reader, block);
  const { rows } = reader.blocks[block];
  let k = runBehind(without, first);
  if (k >= without.length || without[k] >= first + rows) return undefined;
  const left = new Uint32List();
  for (let row = 0; row < rows; k += 2) {
    const start = k < without.length ? Math.min(rows, without[k] - first) : rows;
    for (; row < start; row++) left.push(row);
    if (k < without.length) row = Math.max(row, without[k + 1] - first);
  }
  return left.done();
};
/** Whether `rowsLeft` leaves any row of a block. */
export const hasRowsLeft = (reader: Blocks, block: number, without: Uint32Array): boolean => {
  let row = firstRow(reader, block);
  const end = row + reader.blocks[block].rows;
  for (let k = runBehind(without, row); row < end && without[k] <= row; k += 2) row = without[k + 1];
  return row < end;
};
const firstRow = ({ blocks }: Blocks, block: number): number => {
  let row = 0;
  for (let k = 0; k < block; k++) row += blocks[k].rows;
  return row;
};
/** The first run that ends behind a row. */
const runBehind = (runs: Uint32Array, row: number): number => {
  let low = 0;
  for (let high = runs.length / 2; low < high; ) {
    const middle = (low + high) >> 1;
    if (runs[2 * middle + 1] > row) high = middle;
    else low = middle + 1;
  }
  return 2 * low;
};
