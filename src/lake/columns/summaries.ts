/**
 * What a block's column comes to, without its rows: how many values, their least and greatest, their sum. Rows, nulls
 * and bounds are in the directory; sums, and bounds that are rounded there, are worked out from the bytes as they are
 * stored, once for an opened object.
 *
 * Invariants:
 * - Everything is exact, or there is no summary: floats have none but their number, as the order of their additions
 *   counts and NaN is in no bounds.
 */
import { longDecimalName } from '../../vectors/decimal.ts';
import type { ColumnSummary, IntegerTotals } from '../../vectors/summary.ts';
import { isFloat } from '../../vectors/type.ts';
import { type NumberVector, ofForm } from '../../vectors/vector.ts';
import { type Column, fieldNamed } from './column.ts';
import { type SegmentSource, decodeColumn, distancesAsStored } from './decode.ts';
import { type SegmentVisitor, visitSegments } from './wanted.ts';

type NumberColumn = Extract<Column, { form: 'number' }>;
/** The values of a column, null aside, if they are all of one kind. */
interface Values {
  readonly column: Column;
  readonly count: number;
}

/** The column of values at a path; undefined if they are of several kinds, or in part missing. */
const valuesAt = (column: Column, path: readonly string[], depth = 0): Values | undefined => {
  switch (column.form) {
    case 'named':
      return column.name === longDecimalName ? undefined : valuesAt(column.inner, path, depth);
    case 'union': {
      const held = column.members.filter((m) => m.rows > 0 && m.form !== 'null');
      return held.length === 1 ? valuesAt(held[0], path, depth) : undefined;
    }
    case 'record': {
      if (depth === path.length) return { column, count: column.rows };
      const field = fieldNamed(column, path[depth]);
      return field && (!field.present || field.present.same === 1)
        ? valuesAt(field.values, path, depth + 1)
        : undefined;
    }
    case 'number':
    case 'bytes':
    case 'bool':
    case 'list':
    case 'map':
    case 'enum':
    case 'type':
      return depth === path.length ? { column, count: column.rows } : undefined;
    default:
      return undefined;
  }
};

/** What is asked of a column: with its totals, or the number of its values alone. */
export interface SummaryRequest {
  readonly path: readonly string[];
  readonly totals: boolean;
}
/** What answers a request: the summary, or the column that has to be read for it. */
export type SummaryStep = { readonly summary: ColumnSummary } | { readonly column: NumberColumn };

/** Undefined if there is no summary. */
export const summaryStep = (part: Column, { path, totals }: SummaryRequest): SummaryStep | undefined => {
  const values = valuesAt(part, path);
  if (!values) return undefined;
  const { column, count } = values;
  if (!totals || count === 0) return { summary: { count } };
  if (column.form !== 'number' || isFloat(column.layout.type)) return undefined;
  const integers = known.get(column) ?? constantTotals(column);
  return integers ? { summary: { count, integers } } : { column };
};
const constantTotals = ({ constant, rows, layout: { type } }: NumberColumn): IntegerTotals | undefined => {
  if (constant === undefined) return undefined;
  const one = BigInt(constant);
  return { type, min: one, max: one, sum: one * BigInt(rows) };
};

/** Totals that were worked out. */
const known = new WeakMap<NumberColumn, IntegerTotals>();
/** Bytes that one of them takes, about. */
export const totalsBytes = 160;

/** Names the segments that `totalsOf` reads. */
export const visitTotals = (column: NumberColumn, visit: SegmentVisitor): void => {
  const { packed } = column;
  if (!isCoded(column)) return visitSegments(column, visit);
  if (packed!.segment && !visit.known(packed!)) visit.segment(packed!.segment);
};
const isCoded = ({ packed }: NumberColumn): boolean => packed !== undefined && !packed.delta;
/** Works out the totals of a column of whole numbers that is not empty, and remembers them. */
export const totalsOf = (column: NumberColumn, source: SegmentSource): ColumnSummary => {
  const {
    layout: { type },
    rows,
  } = column;
  let integers = known.get(column);
  if (!integers)
    known.set(
      column,
      (integers = {
        type,
        ...(isCoded(column)
          ? codedTotals(column, source)
          : numberTotals(ofForm(decodeColumn(column, source), 'number'))),
      }),
    );
  return { count: rows, integers };
};

type Totals = Omit<IntegerTotals, 'type'>;
const codedTotals = (column: NumberColumn, source: SegmentSource): Totals => {
  const { packed, rows, power = 0 } = column;
  const codes = distancesAsStored(column, source);
  const base = BigInt(column.base!);
  const scale = BigInt(packed!.scale) * 10n ** BigInt(power);
  const { sum, least, greatest } =
    codes instanceof Uint8Array ? totals8(codes) : codes instanceof Uint16Array ? totals16(codes) : totals32(codes);
  return {
    min: base + scale * BigInt(least),
    max: base + scale * BigInt(greatest),
    sum: base * BigInt(rows) + scale * BigInt(sum),
  };
};
/** Sums of codes are safe numbers: blocks are short. */
interface CodeTotals {
  readonly sum: number;
  readonly least: number;
  readonly greatest: number;
}
const totals8 = (codes: Uint8Array): CodeTotals => {
  let sum = 0;
  let least = codes[0];
  let greatest = least;
  for (let i = 0; i < codes.length; i++) {
    const x = codes[i];
    sum += x;
    if (x < least) least = x;
    if (x > greatest) greatest = x;
  }
  return { sum, least, greatest };
};
const totals16 = (codes: Uint16Array): CodeTotals => {
  let sum = 0;
  let least = codes[0];
  let greatest = least;
  for (let i = 0; i < codes.length; i++) {
    const x = codes[i];
    sum += x;
    if (x < least) least = x;
    if (x > greatest) greatest = x;
  }
  return { sum, least, greatest };
};
const totals32 = (codes: Uint32Array): CodeTotals => {
  let sum = 0;
  let least = codes[0];
  let greatest = least;
  for (let i = 0; i < codes.length; i++) {
    const x = codes[i];
    sum += x;
    if (x < least) least = x;
    if (x > greatest) greatest = x;
  }
  return { sum, least, greatest };
};

const numberTotals = ({ values }: NumberVector): Totals =>
  values instanceof Float64Array ? safeTotals(values) : wideTotals(values);
const safeTotals = (values: Float64Array): Totals => {
  let low = 0;
  let high = 0;
  let least = values[0];
  let greatest = least;
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    const upper = Math.floor(x / 4294967296);
    high += upper;
    low += x - upper * 4294967296;
    if (x < least) least = x;
    if (x > greatest) greatest = x;
  }
  return { min: BigInt(least), max: BigInt(greatest), sum: (BigInt(high) << 32n) + BigInt(low) };
};
const wideTotals = (values: BigInt64Array | BigUint64Array): Totals => {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const turn = values instanceof BigInt64Array ? 0x8000_0000 : 0;
  let low = 0;
  let high = 0;
  let least = 0;
  let greatest = 0;
  for (let i = 0; i < values.length; i++) {
    const upper = (words[2 * i + 1] ^ turn) >>> 0;
    const lower = words[2 * i];
    low += lower;
    high += upper;
    if (isBelow(words, turn, i, least)) least = i;
    if (isBelow(words, turn, greatest, i)) greatest = i;
  }
  return {
    min: values[least],
    max: values[greatest],
    sum: ((BigInt(high) - BigInt(turn) * BigInt(values.length)) << 32n) + BigInt(low),
  };
};
const isBelow = (words: Uint32Array, turn: number, a: number, b: number): boolean => {
  const x = (words[2 * a + 1] ^ turn) >>> 0;
  const y = (words[2 * b + 1] ^ turn) >>> 0;
  return x < y || (x === y && words[2 * a] < words[2 * b]);
};
