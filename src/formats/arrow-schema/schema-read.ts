/** The schema of an Arrow stream: fields of the flatbuffer to columns. */
import type { Column, ColumnType, TimeUnit } from '../columns/types.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import type { FlatTable } from './flat-read.ts';
import { extensionKey, typeCode, uuidExtension } from './ipc.ts';

/** Most columns of a schema, nested ones too. */
const columnsMax = 100_000;
const depthMax = 100;

/** `unknown`: what a type counts as that cannot be read; absent: it is refused. @throws BytesFault */
export const readSchema = (schema: FlatTable, unknown?: ColumnType): readonly Column[] => {
  if (schema.int16(0) !== 0) throw new BytesFault('big-endian data');
  const budget = { columns: columnsMax, unknown };
  return schema.tables(1).map((f) => readField(f, budget, 0));
};

interface Budget {
  columns: number;
  readonly unknown: ColumnType | undefined;
}
const readField = (field: FlatTable, budget: Budget, depth: number): Column => {
  if (--budget.columns < 0) throw new BytesFault(`more than ${columnsMax} columns`);
  if (depth > depthMax) throw new BytesFault(`types nested deeper than ${depthMax}`);
  const children = field.tables(5).map((c) => readField(c, budget, depth + 1));
  const type = typeOf(field, children, budget);
  const encoding = field.table(4);
  const column: Column = { name: field.text(0), type, nullable: field.bool(1) };
  if (!encoding) return column;
  const index = encoding.table(1);
  return { ...column, dictionary: { id: encoding.id(0), ...(index ? intOf(index) : { bits: 32, signed: true }) } };
};
const typeOf = (field: FlatTable, children: readonly Column[], { unknown }: Budget): ColumnType => {
  try {
    return meant(readType(field.uint8(2), field.table(3), children), field);
  } catch (problem) {
    if (!(problem instanceof BytesFault)) throw problem;
    if (unknown) return unknown;
    throw new BytesFault(`column ${field.text(0)}: ${problem.message}`, { cause: problem });
  }
};

const intOf = (type: FlatTable): { readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean } => {
  const bits = type.int32(0);
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) throw new BytesFault(`integers of ${bits} bits`);
  return { bits, signed: type.bool(1) };
};
const units: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns'];
const unitOf = (type: FlatTable, otherwise: number): TimeUnit => {
  const unit = units[type.int16(0, otherwise)];
  if (!unit) throw new BytesFault('unknown time unit');
  return unit;
};
const sizeOf = (type: FlatTable): number => {
  const size = type.int32(0);
  if (size < 0) throw new BytesFault(`size ${size}`);
  return size;
};
const only = (children: readonly Column[], count: number, what: string): readonly Column[] => {
  if (children.length !== count) throw new BytesFault(`${what} with ${children.length} children`);
  return children;
};

/** What an extension that is known says of a type. */
const meant = (type: ColumnType, field: FlatTable): ColumnType => {
  if (type.kind !== 'fixed-binary' || type.size !== 16) return type;
  return field.tables(6).some((pair) => pair.text(0) === extensionKey && pair.text(1) === uuidExtension)
    ? { ...type, meaning: 'uuid' }
    : type;
};

const readType = (code: number, type: FlatTable | undefined, children: readonly Column[]): ColumnType => {
  if (code === typeCode.null) return { kind: 'null' };
  if (!type) throw new BytesFault('field without a type');
  switch (code) {
    case typeCode.int:
      return { kind: 'int', ...intOf(type) };
    case typeCode.float: {
      const bits = ([16, 32, 64] as const)[type.int16(0)];
      if (!bits) throw new BytesFault('unknown precision of floats');
      return { kind: 'float', bits };
    }
    case typeCode.bool:
      return { kind: 'bool' };
    case typeCode.binary:
      return { kind: 'binary', text: false, layout: 'plain' };
    case typeCode.utf8:
      return { kind: 'binary', text: true, layout: 'plain' };
    case typeCode.largeBinary:
      return { kind: 'binary', text: false, layout: 'large' };
    case typeCode.largeUtf8:
      return { kind: 'binary', text: true, layout: 'large' };
    case typeCode.binaryView:
      return { kind: 'binary', text: false, layout: 'view' };
    case typeCode.utf8View:
      return { kind: 'binary', text: true, layout: 'view' };
    case typeCode.fixedBinary:
      return { kind: 'fixed-binary', size: sizeOf(type) };
    case typeCode.decimal: {
      const bits = type.int32(2, 128);
      if (bits !== 32 && bits !== 64 && bits !== 128 && bits !== 256) throw new BytesFault(`decimals of ${bits} bits`);
      return { kind: 'decimal', bits, precision: type.int32(0), scale: type.int32(1) };
    }
    case typeCode.date:
      return { kind: 'date', unit: type.int16(0, 1) === 0 ? 'day' : 'ms' };
    case typeCode.time:
      return { kind: 'time', unit: unitOf(type, 1) };
    case typeCode.timestamp:
      return { kind: 'timestamp', unit: unitOf(type, 0) };
    case typeCode.duration:
      return { kind: 'duration', unit: unitOf(type, 1) };
    case typeCode.interval: {
      const unit = (['month', 'day-time', 'month-day-nano'] as const)[type.int16(0)];
      if (!unit) throw new BytesFault('unknown interval unit');
      return { kind: 'interval', unit };
    }
    default:
      return readNested(code, type, children);
  }
};

const readNested = (code: number, type: FlatTable, children: readonly Column[]): ColumnType => {
  switch (code) {
    case typeCode.list:
      return { kind: 'list', layout: 'plain', item: only(children, 1, 'list')[0] };
    case typeCode.largeList:
      return { kind: 'list', layout: 'large', item: only(children, 1, 'list')[0] };
    case typeCode.listView:
      return { kind: 'list', layout: 'view', item: only(children, 1, 'list')[0] };
    case typeCode.largeListView:
      return { kind: 'list', layout: 'large-view', item: only(children, 1, 'list')[0] };
    case typeCode.fixedList:
      return { kind: 'fixed-list', size: sizeOf(type), item: only(children, 1, 'list')[0] };
    case typeCode.struct:
      return { kind: 'struct', fields: children };
    case typeCode.map: {
      const [entries] = only(children, 1, 'map');
      if (entries.type.kind !== 'struct' || entries.type.fields.length !== 2)
        throw new BytesFault('map whose entries are no pairs');
      return { kind: 'map', key: entries.type.fields[0], value: entries.type.fields[1] };
    }
    case typeCode.union: {
      const codes = type.int32s(1) ?? children.map((_, k) => k);
      if (codes.length !== children.length || codes.some((c) => c < 0 || c > 127))
        throw new BytesFault('union with other codes than children');
      return { kind: 'union', dense: type.int16(0) === 1, members: children, codes };
    }
    case typeCode.runEnd: {
      const [ends, values] = only(children, 2, 'run-end encoding');
      if (ends.type.kind !== 'int' || ends.type.bits === 8) throw new BytesFault('run ends that are no integers');
      return { kind: 'run-end', ends, values };
    }
    default:
      throw new BytesFault(`unimplemented Arrow type: ${code}`);
  }
};
