/**
 * Some rows of columns: numbers and codes are looked up where they lie, packed, and no others are made. Of a block's
 * rows a filter mostly leaves few, and what is kept of a column then are the bytes that it is stored in, an eighth to a
 * half of its numbers.
 *
 * Invariants:
 * - What is at hand decoded is looked up there, as it always was.
 * - What is packed by steps, or not packed, is decoded whole.
 */
import { type Field, type Vector, take } from '../../vectors/vector.ts';
import { unionOfOne } from '../../vectors/unions.ts';
import type { Codes, Column } from './column.ts';
import { type SegmentSource, codesAsStored, decodeColumn, decodeFlags, distancesAsStored, unpacked } from './decode.ts';
import { pickStored, stored, unpackCodes } from './packing.ts';
import { type SegmentVisitor, visitSegments } from './wanted.ts';

type RecordColumn = Extract<Column, { form: 'record' }>;
type NumberColumn = Extract<Column, { form: 'number' }>;
type BytesColumn = Extract<Column, { form: 'bytes' }>;
type UnionColumn = Extract<Column, { form: 'union' }>;

/** Rows of so large a part of a column are picked; of more all are decoded. */
export const pickedShareMax = 0.75;

/** Rows `index` of a column, in order. */
export const pickRows = (column: Column, index: Uint32Array, source: SegmentSource): Vector => {
  switch (column.form) {
    case 'record':
      return pickRecord(column, index, source);
    case 'number':
      return column.constant === undefined && isPicked(column) && !source.isKnown(column)
        ? pickNumbers(column, index, source)
        : whole(column, index, source);
    case 'bytes':
      return isCoded(column) && !source.isKnown(column)
        ? {
            form: 'dictionary',
            length: index.length,
            codes: pickCodes(column.codes!, column.rows, index, source),
            values: source.dictionary(column.dictionary!),
          }
        : whole(column, index, source);
    case 'union': {
      const tag = onlyTag(column);
      if (tag === undefined) return whole(column, index, source);
      const members = column.members.map((m, k) => (k === tag ? pickRows(m, index, source) : decodeColumn(m, source)));
      return unionOfOne(column.layout.type, tag, members[tag], members);
    }
    case 'named':
      return {
        form: 'named',
        name: column.name,
        length: index.length,
        inner: pickRows(column.inner, index, source),
      };
    default:
      return whole(column, index, source);
  }
};
const whole = (column: Column, index: Uint32Array, source: SegmentSource): Vector =>
  take(decodeColumn(column, source), index);
const pickRecord = (column: RecordColumn, index: Uint32Array, source: SegmentSource): Vector => ({
  form: 'record',
  length: index.length,
  fields: column.fields.map(
    (f): Field => ({
      name: f.name,
      optional: f.optional,
      values: pickRows(f.values, index, source),
      ...(f.present && { present: pickStored(decodeFlags(f.present, column.rows, source), index) }),
    }),
  ),
});

/** Names what `pickRows` reads, in order of places. */
export const visitPicked = (column: Column, visit: SegmentVisitor): void => {
  switch (column.form) {
    case 'record':
      for (const { present } of column.fields)
        if (present?.segment && !visit.known(present)) visit.segment(present.segment);
      for (const f of column.fields) visitPicked(f.values, visit);
      return;
    case 'number': {
      if (column.constant !== undefined || !isPicked(column)) return visitSegments(column, visit);
      const { packed } = column;
      if (!visit.known(column) && packed?.segment && !visit.known(packed)) visit.segment(packed.segment);
      return;
    }
    case 'bytes': {
      if (!isCoded(column)) return visitSegments(column, visit);
      if (visit.known(column)) return;
      const codes = column.codes!;
      visit.dictionary(column.dictionary!);
      if (codes.segment && !visit.known(codes)) visit.segment(codes.segment);
      return;
    }
    case 'union':
      if (onlyTag(column) === undefined) return visitSegments(column, visit);
      for (const m of column.members) visitPicked(m, visit);
      return;
    case 'named':
      return visitPicked(column.inner, visit);
    default:
      return visitSegments(column, visit);
  }
};

const isPicked = ({ packed }: NumberColumn): boolean => packed !== undefined && !packed.delta;
const isCoded = ({ dictionary, codes, constant }: BytesColumn): boolean =>
  dictionary !== undefined && codes !== undefined && constant === undefined;
/** The member that all rows are of. */
const onlyTag = ({ tags: { base, width }, members, rows }: UnionColumn): number | undefined =>
  width === 0 && members[base]?.rows === rows ? base : undefined;

const pickNumbers = (column: NumberColumn, index: Uint32Array, source: SegmentSource): Vector => {
  const { width } = column.packed!;
  const bytes = width === 0 ? noBytes : stored(pickStored(distancesAsStored(column, source), index));
  const { length } = index;
  return { form: 'number', type: column.layout.type, length, values: unpacked(column, bytes, length) };
};
const pickCodes = (c: Codes, rows: number, index: Uint32Array, source: SegmentSource): Uint32Array => {
  const bytes = c.width === 0 ? noBytes : stored(pickStored(codesAsStored(c, rows, source), index));
  return unpackCodes(bytes, c.base, c.width, index.length);
};
const noBytes = new Uint8Array(0);
