/** Columns of a table as Parquet files and Iceberg's metadata have them. */
import type { Column, ColumnType } from '../formats/columns/types.ts';
import type { TableColumn } from './columns.ts';
import { type ScalarKind, type SizedKind, isSized, partsOf, sizesOf, variantKind } from './kinds.ts';
import { type Shape, untyped, variantType } from './variant/shape.ts';

const text: ColumnType = { kind: 'binary', text: true, layout: 'plain' };
/** Digits of the greatest uint64. */
const uint64Digits = 20;

interface Written {
  readonly iceberg: string;
  readonly type: ColumnType;
}
/** How values of a kind are written, and what Iceberg calls that. */
const scalars = {
  int: { iceberg: 'long', type: { kind: 'int', bits: 64, signed: true } },
  uint64: {
    iceberg: `decimal(${uint64Digits}, 0)`,
    type: { kind: 'decimal', bits: 128, precision: uint64Digits, scale: 0 },
  },
  float: { iceberg: 'double', type: { kind: 'float', bits: 64 } },
  bool: { iceberg: 'boolean', type: { kind: 'bool' } },
  string: { iceberg: 'string', type: text },
  bytes: { iceberg: 'binary', type: { kind: 'binary', text: false, layout: 'plain' } },
  time: { iceberg: 'timestamptz', type: { kind: 'timestamp', unit: 'us' } },
  ns: { iceberg: 'long', type: { kind: 'int', bits: 64, signed: true } },
  duration: { iceberg: 'long', type: { kind: 'int', bits: 64, signed: true } },
  date: { iceberg: 'date', type: { kind: 'date', unit: 'day' } },
  uuid: { iceberg: 'uuid', type: { kind: 'fixed-binary', size: 16, meaning: 'uuid' } },
  ip: { iceberg: 'string', type: text },
  net: { iceberg: 'string', type: text },
  type: { iceberg: 'string', type: text },
  enum: { iceberg: 'string', type: text },
  error: { iceberg: 'string', type: text },
  json: { iceberg: 'string', type: text },
} as const satisfies Record<Exclude<ScalarKind, SizedKind>, Written>;
const scalarOf = (kind: ScalarKind): Written => {
  if (!isSized(kind)) return scalars[kind];
  const { form, precision, scale } = sizesOf(kind);
  return form === 'fixed'
    ? { iceberg: `fixed[${precision}]`, type: { kind: 'fixed-binary', size: precision } }
    : { iceberg: `decimal(${precision}, ${scale})`, type: { kind: 'decimal', bits: 128, precision, scale } };
};

/** The columns that are in one. */
type Below = (parent: number) => readonly TableColumn[];

/** What a file is made of: its columns, and how those of variants are shredded. */
interface FileShape {
  readonly below: Below;
  readonly shapes: ReadonlyMap<number, Shape>;
}
/** The columns of a file. */
export const parquetColumns = (file: FileShape, parent = 0): readonly Column[] =>
  file.below(parent).map((column) => ({ ...part(column, file), name: column.name }));

const part = (column: TableColumn, file: FileShape): Column => {
  const { id, role, kind } = column;
  return { name: role, id, type: typeOf(id, kind, file), nullable: role !== 'key' };
};
const typeOf = (id: number, kind: string, file: FileShape): ColumnType => {
  const parts = partsOf(kind);
  switch (parts.form) {
    case 'scalar':
      return scalarOf(parts.kind).type;
    case 'variant':
      return variantType(file.shapes.get(id) ?? untyped);
    case 'record':
      return { kind: 'struct', fields: parquetColumns(file, id) };
    case 'list':
      return { kind: 'list', layout: 'plain', item: partAt(id, 'element', file) };
    case 'map':
      return { kind: 'map', key: partAt(id, 'key', file), value: partAt(id, 'value', file) };
  }
};
const partAt = (parent: number, role: string, file: FileShape): Column =>
  part(columnAt(parent, role, file.below), file);

/** A type in Iceberg's metadata. */
export type IcebergType =
  | string
  | { readonly type: 'struct'; readonly fields: readonly IcebergField[] }
  | {
      readonly type: 'list';
      readonly 'element-id': number;
      readonly element: IcebergType;
      readonly 'element-required': boolean;
    }
  | {
      readonly type: 'map';
      readonly 'key-id': number;
      readonly key: IcebergType;
      readonly 'value-id': number;
      readonly value: IcebergType;
      readonly 'value-required': boolean;
    };
/** A field in Iceberg's metadata. */
export interface IcebergField {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: IcebergType;
}

/** The fields of a table, or of the record that is a column of it. */
export const icebergFields = (below: Below, parent = 0): readonly IcebergField[] =>
  below(parent).map((column) => ({
    id: column.id,
    name: column.name,
    required: false,
    type: icebergType(column, below),
  }));

/** Iceberg's type of a column. */
export const icebergType = ({ id, kind }: TableColumn, below: Below): IcebergType => {
  const parts = partsOf(kind);
  switch (parts.form) {
    case 'scalar':
      return scalarOf(parts.kind).iceberg;
    case 'variant':
      return variantKind;
    case 'record':
      return { type: 'struct', fields: icebergFields(below, id) };
    case 'list': {
      const element = columnAt(id, 'element', below);
      return {
        type: 'list',
        'element-id': element.id,
        element: icebergType(element, below),
        'element-required': false,
      };
    }
    case 'map': {
      const key = columnAt(id, 'key', below);
      const value = columnAt(id, 'value', below);
      return {
        type: 'map',
        'key-id': key.id,
        key: icebergType(key, below),
        'value-id': value.id,
        value: icebergType(value, below),
        'value-required': false,
      };
    }
  }
};
const columnAt = (parent: number, role: string, below: Below): TableColumn => {
  const found = below(parent).find((column) => column.role === role);
  if (!found) throw new Error(`column ${parent} has no ${role}`);
  return found;
};
