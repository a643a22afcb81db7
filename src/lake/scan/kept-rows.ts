/** Rows of a part that a scan keeps: all of a part with the places of those that are wanted, or these alone. */
import { type RecordVector, type Vector, gather, lookUp, slice, take, ofForm } from '../../vectors/vector.ts';
import type { Projection } from '../columns/wanted.ts';
import type { KeptRows } from './scan.types.ts';

/** Some columns of a part, by a name for them. */
export interface WantedColumns {
  readonly name: string;
  readonly projection: Projection | undefined;
  readonly textOnly?: boolean;
}

/** Rows of a part that are wanted. `index` absent: all of them; `isPicked`: there are no others in `rows`. */
export interface Kept {
  readonly rows: Vector;
  readonly index?: KeptRows;
  readonly isPicked?: boolean;
}
/** The rows that were kept, as a view of the block's or copied where they are few. */
export const wantedRows = ({ rows, index, isPicked }: Kept): Vector => {
  if (!index || isPicked) return rows;
  if (!(index instanceof Uint32Array)) return slice(rows, index.start, index.start + index.length);
  // Of a few rows nobody is to meet columns of all of them.
  return rows.form === 'record' && index.length * fewOf <= rows.length ? gather(rows, index) : take(rows, index);
};
const fewOf = 16;
/** The rows of a part that were chosen among those that were picked. */
export const placesOf = (picks: Uint32Array, chosen: KeptRows): Uint32Array =>
  !chosen
    ? picks
    : chosen instanceof Uint32Array
      ? lookUp(picks, chosen)
      : picks.subarray(chosen.start, chosen.start + chosen.length);
/** Some of the rows. */
export const someOf = (rows: Vector, index: KeptRows): Vector =>
  rows.form === 'record' ? fieldsAt(rows, index) : wantedRows({ rows, index });
/** Some rows of a record's fields. */
export const fieldsAt = (rows: RecordVector, index: KeptRows): RecordVector =>
  index instanceof Uint32Array
    ? ofForm(gather(rows, index), 'record')
    : index
      ? ofForm(slice(rows, index.start, index.start + index.length), 'record')
      : rows;
