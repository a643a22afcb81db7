/** Which parts of a column are wanted: fields by their names, texts alone; and which segments these take. */
import { types } from '../../vectors/type.ts';
import type { Segment, Codes, Column, DynamicColumn } from './column.ts';

/** Fields that are wanted, by name; `true`: with all that is in them. */
export type Projection = Map<string, Projection | true>;

/** A column without the fields that nobody asks for. What is no record stays whole. */
export const projectColumn = (column: Column, wanted: Projection): Column => {
  switch (column.form) {
    case 'record': {
      const fields = [];
      for (const f of column.fields) {
        const inner = wanted.get(f.name);
        if (!inner) continue;
        const { name, optional, present } = f;
        fields.push(inner === true ? f : { name, optional, present, values: projectColumn(f.values, inner) });
      }
      return { ...column, fields };
    }
    case 'dynamic':
      return { ...column, parts: column.parts.map((p) => projectColumn(p, wanted)) };
    case 'named':
      return { ...column, inner: projectColumn(column.inner, wanted) };
    default:
      return column;
  }
};

/** A column of strings, bytes, ips or nets. */
type BytesColumn = Extract<Column, { form: 'bytes' }>;
/**
 * A record's column with nulls in place of its numbers and of other values that hold no text, and of strings that are
 * not needed.
 */
export const textsAlone = (column: Column, isNeeded: (strings: BytesColumn) => boolean): Column => {
  switch (column.form) {
    case 'record':
      return {
        form: 'record',
        rows: column.rows,
        fields: column.fields.map(({ name, optional, present, values }) => ({
          name,
          optional,
          present,
          values: textsAlone(values, isNeeded),
        })),
      };
    case 'number':
    case 'bool':
    case 'type':
    case 'enum':
      return { form: 'null', rows: column.rows };
    case 'bytes':
      return column.layout.type === types.string && isNeeded(column) ? column : { form: 'null', rows: column.rows };
    case 'dynamic':
      return column.parts.every((p) => textsAlone(p, isNeeded).form === 'null')
        ? { form: 'null', rows: column.rows }
        : column;
    default:
      return column;
  }
};

/** Calls `visit` for the columns of strings that `textsAlone` asks about, in order of their places. */
export const visitStrings = (column: Column, visit: (strings: BytesColumn) => void): void => {
  switch (column.form) {
    case 'record':
      for (const f of column.fields) visitStrings(f.values, visit);
      return;
    case 'bytes':
      if (column.layout.type === types.string) visit(column);
      return;
    case 'dynamic':
      for (const p of column.parts) visitStrings(p, visit);
      return;
    default:
      return;
  }
};

/** `known`: true for a node of the directory that is at hand, decoded; its segments are passed over. */
export interface SegmentVisitor {
  readonly segment: (s: Segment) => void;
  readonly dictionary: (number: number) => void;
  readonly known: (node: object) => boolean;
}
/**
 * Calls `segment` for every segment under the column, in order of their places, and `dictionary` for every dictionary
 * that it names.
 */
export const visitSegments = (column: Column, visit: SegmentVisitor): void => {
  const codes = (c: Codes): void => {
    if (c.segment && !visit.known(c)) visit.segment(c.segment);
  };
  switch (column.form) {
    case 'empty':
    case 'null':
      return;
    case 'number':
      if (column.constant !== undefined || visit.known(column)) return;
      if (column.segment) visit.segment(column.segment);
      if (column.packed?.segment) visit.segment(column.packed.segment);
      return;
    case 'bytes':
      if (column.constant || visit.known(column)) return;
      if (column.codes?.segment) visit.segment(column.codes.segment);
      if (column.segment) visit.segment(column.segment);
      if (column.packed?.segment) visit.segment(column.packed.segment);
      if (column.dictionary !== undefined) visit.dictionary(column.dictionary);
      return;
    case 'bool':
      if (column.flags.segment && !visit.known(column.flags)) visit.segment(column.flags.segment);
      return;
    case 'type':
    case 'enum':
      return codes(column.codes);
    case 'record':
      for (const f of column.fields)
        if (f.present?.segment && !visit.known(f.present)) visit.segment(f.present.segment);
      for (const f of column.fields) visitSegments(f.values, visit);
      return;
    case 'list':
      codes(column.lengths);
      return visitSegments(column.items, visit);
    case 'map':
      codes(column.lengths);
      visitSegments(column.keys, visit);
      return visitSegments(column.values, visit);
    case 'union':
      codes(column.tags);
      for (const m of column.members) visitSegments(m, visit);
      return;
    case 'dynamic':
      visitTags(column, visit);
      for (const p of column.parts) visitSegments(p, visit);
      return;
    case 'error':
    case 'named':
      return visitSegments(column.inner, visit);
  }
};

/** The segment of a mixed column's tags, unless they are known. */
export const visitTags = ({ tags: { segment } }: DynamicColumn, visit: SegmentVisitor): void => {
  if (segment && !visit.known(segment)) visit.segment(segment);
};
