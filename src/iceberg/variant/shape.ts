/**
 * How variants of a file are shredded (VariantShredding.md of Parquet's specification): each has a typed column for what
 * most of its values are, in records and lists one for what most of a field or of the items are. The first row group of
 * a file decides; what is of another kind is in the binary value beside it.
 */
import type { Column, ColumnType } from '../../formats/columns/types.ts';
import { type Field, itemsOf, take } from '../../vectors/vector.ts';
import { isSized, sizesOf } from '../kinds.ts';
import { presentRows, rowsOf } from '../walk.ts';
import { type Part, type TypedKind, partsIn } from './parts.ts';

/** Typed columns that a variant has at most. */
const typedColumnsMax = 100;
/** Records and lists within one another that have typed columns. */
const typedDepthMax = 4;
/** Fields of fewer of the records, a part of them all, stay in the value. */
const fieldPart = 0.01;

/** What is typed of a variant; without a kind nothing. */
export interface Shape {
  readonly kind?: TypedKind;
  /** Of records, by name. */
  readonly fields?: ReadonlyMap<string, Shape>;
  /** Of lists. */
  readonly element?: Shape;
}
/** One that is no column of its own. */
export const untyped: Shape = {};

/** The shape for these values. */
export const shapeOf = (parts: readonly Part[]): Shape => shaped(parts, { left: typedColumnsMax }, 0);

interface Budget {
  left: number;
}
const shaped = (parts: readonly Part[], budget: Budget, depth: number): Shape => {
  const counts = new Map<TypedKind, number>();
  for (const { kind, values } of parts)
    if (kind !== 'other' && kind !== 'object') counts.set(kind, (counts.get(kind) ?? 0) + values.length);
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  if (most === undefined || budget.left === 0) return untyped;
  const [kind, count] = most;
  budget.left--;
  if (kind === 'list')
    return depth < typedDepthMax ? { kind, element: shaped(itemParts(parts), budget, depth + 1) } : untyped;
  if (kind !== 'record') return { kind };
  const fields = depth < typedDepthMax ? shapedFields(parts, count, budget, depth + 1) : undefined;
  return fields?.size ? { kind, fields } : untyped;
};
const itemParts = (parts: readonly Part[]): readonly Part[] =>
  parts.flatMap((part) => (part.kind === 'list' ? partsIn(itemsOf(part.values, part.values.items), 0) : []));

const shapedFields = (
  parts: readonly Part[],
  count: number,
  budget: Budget,
  depth: number,
): ReadonlyMap<string, Shape> => {
  const found = new Map<string, Part[]>();
  for (const part of parts) {
    if (part.kind !== 'record') continue;
    for (const field of part.values.fields) {
      const own = found.get(field.name);
      const more = fieldParts(field, part);
      if (own) own.push(...more);
      else found.set(field.name, [...more]);
    }
  }
  const rows = (own: readonly Part[]): number => own.reduce((n, { values }) => n + values.length, 0);
  const frequent = [...found]
    .map(([name, own]) => ({ name, own, rows: rows(own) }))
    .filter((field) => field.rows >= count * fieldPart && isColumnName(field.name))
    .sort((a, b) => b.rows - a.rows);
  const fields = new Map<string, Shape>();
  const taken = new Set<string>();
  for (const { name, own } of frequent) {
    // Engines do not tell names apart by case.
    const lower = name.toLowerCase();
    const shape = taken.has(lower) ? untyped : shaped(own, budget, depth);
    if (shape.kind === undefined) continue;
    taken.add(lower);
    fields.set(name, shape);
  }
  return fields;
};
/** The values of a field of a part's records, where it is there. */
export const fieldParts = ({ values, present }: Field, { values: record, rows }: Part): readonly Part[] => {
  const picked = present && presentRows(present, record.length);
  return picked ? partsIn(take(values, picked), rowsOf(rows, picked)) : partsIn(values, rows);
};
const isColumnName = (name: string): boolean => name !== '' && !name.includes('\0') && name.isWellFormed();

const bytes: ColumnType = { kind: 'binary', text: false, layout: 'plain' };
/** Names of the columns that a variant has. */
export const variantParts = { metadata: 'metadata', value: 'value', typed: 'typed_value' } as const;

/** The group of columns of variants that are shredded so. */
export const variantType = (shape: Shape): ColumnType => ({
  kind: 'struct',
  meaning: 'variant',
  fields: [{ name: variantParts.metadata, type: bytes, nullable: false }, ...valueColumns(shape)],
});
const valueColumns = (shape: Shape): readonly Column[] => {
  const value: Column = { name: variantParts.value, type: bytes, nullable: shape.kind !== undefined };
  const type = typedType(shape);
  return type ? [value, { name: variantParts.typed, type, nullable: true }] : [value];
};
const group = (name: string, shape: Shape): Column => ({
  name,
  type: { kind: 'struct', fields: valueColumns(shape) },
  nullable: false,
});
const typedType = ({ kind, fields, element }: Shape): ColumnType | undefined => {
  switch (kind) {
    case undefined:
      return undefined;
    case 'record':
      return { kind: 'struct', fields: [...(fields ?? [])].map(([name, shape]) => group(name, shape)) };
    case 'list':
      return { kind: 'list', layout: 'plain', item: group('element', element ?? untyped) };
    default:
      return scalarType(kind);
  }
};
const scalarType = (kind: Exclude<TypedKind, 'record' | 'list'>): ColumnType => {
  if (isSized(kind)) return { kind: 'decimal', bits: 128, ...sizesIn(kind) };
  switch (kind) {
    case 'bool':
      return { kind: 'bool' };
    case 'int8':
      return { kind: 'int', bits: 8, signed: true };
    case 'int16':
      return { kind: 'int', bits: 16, signed: true };
    case 'int32':
      return { kind: 'int', bits: 32, signed: true };
    case 'int64':
      return { kind: 'int', bits: 64, signed: true };
    case 'float32':
      return { kind: 'float', bits: 32 };
    case 'float64':
      return { kind: 'float', bits: 64 };
    case 'string':
      return { kind: 'binary', text: true, layout: 'plain' };
    case 'bytes':
      return bytes;
    case 'time':
      return { kind: 'timestamp', unit: 'us' };
    case 'date':
      return { kind: 'date', unit: 'day' };
    case 'uuid':
      return { kind: 'fixed-binary', size: 16, meaning: 'uuid' };
  }
};
const sizesIn = (kind: string): { readonly precision: number; readonly scale: number } => {
  const { precision, scale } = sizesOf(kind);
  return { precision, scale };
};
/** The kind of table column that values of a typed column are put together as. */
export const columnKind = (kind: Exclude<TypedKind, 'record' | 'list'>): string => {
  switch (kind) {
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
      return 'int';
    case 'float32':
    case 'float64':
      return 'float';
    default:
      return kind;
  }
};
