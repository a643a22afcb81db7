/** Functions of a row's place in its partition: they look at no frame. */
import { types } from '../../vectors/type.ts';
import { type Vector, nulls, numbers } from '../../vectors/vector.ts';
import { eachPart } from '../aggregates/grouping/parts.ts';
import { combine, wrapErrors } from '../expressions/rows.ts';
import type { Segment } from './segment.ts';

const integers = (values: Float64Array): Vector => numbers(types.int64, values);
const shares = (values: Float64Array): Vector => numbers(types.float64, values);

/** The first partition may have begun before the segment. */
export const rowNumber = ({ length, carried, partitionOf, partitionStarts }: Segment): Vector => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++)
    out[i] = i - partitionStarts[partitionOf[i]] + 1 + (partitionOf[i] === 0 ? carried.rows : 0);
  return integers(out);
};

const ranks = ({ length, carried, partitionOf, partitionStarts, groupOf, groupStarts }: Segment): Float64Array => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++)
    out[i] = groupStarts[groupOf[i]] - partitionStarts[partitionOf[i]] + 1 + (partitionOf[i] === 0 ? carried.rows : 0);
  return out;
};
/** 1 and the rows of the partition before the row's peers. The first partition may have begun before the segment. */
export const rank = (s: Segment): Vector => integers(ranks(s));

/**
 * The number of the row's peer group in its partition, from 1. The first partition may have begun before the segment.
 */
export const denseRank = ({ length, carried, partitionOf, partitionStarts, groupOf }: Segment): Vector => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++)
    out[i] = groupOf[i] - groupOf[partitionStarts[partitionOf[i]]] + 1 + (partitionOf[i] === 0 ? carried.groups : 0);
  return integers(out);
};

/** (rank - 1) / (rows of the partition - 1); 0 in a partition of one row. Partitions are whole. */
export const percentRank = (s: Segment): Vector => {
  const out = ranks(s);
  const { partitionOf, partitionStarts } = s;
  for (let i = 0; i < out.length; i++) {
    const rows = partitionStarts[partitionOf[i] + 1] - partitionStarts[partitionOf[i]];
    out[i] = rows > 1 ? (out[i] - 1) / (rows - 1) : 0;
  }
  return shares(out);
};

/** The share of the partition's rows that come before the row or are its peers. Partitions are whole. */
export const cumeDist = ({ length, partitionOf, partitionStarts, groupOf, groupStarts }: Segment): Vector => {
  const out = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const start = partitionStarts[partitionOf[i]];
    out[i] = (groupStarts[groupOf[i] + 1] - start) / (partitionStarts[partitionOf[i] + 1] - start);
  }
  return shares(out);
};

/** The first buckets get one row more where rows do not divide evenly. */
export const ntile = ({ length, partitionOf, partitionStarts }: Segment, buckets: Vector): Vector =>
  counted('ntile: argument must be an integer greater than zero', buckets, length, (counts) => {
    const out = new Float64Array(length);
    for (let i = 0; i < length; i++) {
      const start = partitionStarts[partitionOf[i]];
      const rows = partitionStarts[partitionOf[i] + 1] - start;
      const row = i - start;
      out[i] = bucketOf(row, rows, counts[i]);
    }
    return integers(out);
  });
/** The number of the bucket, from 1, that row `row` of `rows` is in. */
export const bucketOf = (row: number, rows: number, buckets: number): number => {
  const least = Math.floor(rows / buckets);
  const larger = rows - least * buckets;
  return row < larger * (least + 1)
    ? Math.floor(row / (least + 1)) + 1
    : larger + Math.floor((row - larger * (least + 1)) / least) + 1;
};

/**
 * What `make` gives for the rows whose count is a whole number from 1 on; null where it is null (or a lower one, if
 * `lowerIsNull`), the error elsewhere.
 */
export const counted = (
  fault: string,
  counts: Vector,
  length: number,
  make: (counts: Float64Array) => Vector,
  lowerIsNull = false,
): Vector => {
  const found = new Float64Array(length);
  const tags = new Uint32Array(length);
  const slots = Uint32Array.from({ length }, (_, i) => i);
  const whole = integersAt(counts, length);
  let odd = false;
  for (let i = 0; i < length; i++) {
    const n = whole[i];
    found[i] = n >= 1 ? n : 1;
    tags[i] = n >= 1 ? 0 : n !== n || (lowerIsNull && n > -Infinity) ? 1 : 2;
    if (tags[i] !== 0) odd = true;
  }
  const made = make(found);
  return odd ? combine(tags, slots, [made, nulls(length), wrapErrors(fault, counts)]) : made;
};

/** Whole numbers of a column: NaN where there is null, -Infinity where there is anything else. */
export const integersAt = (v: Vector, length: number): Float64Array => {
  const out = new Float64Array(length).fill(-Infinity);
  eachPart(v, (part, rows) => {
    for (let k = 0; k < part.length; k++) {
      const row = rows ? rows[k] : k;
      if (part.form === 'null') out[row] = NaN;
      else if (part.form === 'number' && (typeof part.values[k] === 'bigint' || Number.isInteger(part.values[k])))
        out[row] = Number(part.values[k]);
    }
  });
  return out;
};
