/**
 * Types of columns as Arrow and Parquet know them, and which of them a type of ours is written as
 * (reference/formats/text.md section 7). Reading goes the other way: see in.ts.
 */
import { decimalAmong } from './decimals.ts';
import { LakeError } from '../../errors.ts';
import { spanRecord } from '../../vectors/spans.ts';
import {
  type NamedType,
  type RecordType,
  type Type,
  arrayType,
  namedType,
  recordType,
  typeText,
  types,
} from '../../vectors/type.ts';

/** Seconds, milliseconds, microseconds, nanoseconds. */
export type TimeUnit = 's' | 'ms' | 'us' | 'ns';
/**
 * What the rows of a column are. `layout` is Arrow's (`large`: offsets of 64 bits); `codes` are the type codes of
 * `members`.
 */
export type ColumnType =
  | { readonly kind: 'null' | 'bool' }
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean }
  | { readonly kind: 'float'; readonly bits: 16 | 32 | 64 }
  /** `inWords`: the values are whole numbers as their words, and no floats. */
  | {
      readonly kind: 'decimal';
      readonly bits: 32 | 64 | 128 | 256;
      readonly precision: number;
      readonly scale: number;
      readonly inWords?: true;
    }
  | { readonly kind: 'date'; readonly unit: 'day' | 'ms' }
  | { readonly kind: 'time' | 'timestamp' | 'duration'; readonly unit: TimeUnit }
  | { readonly kind: 'interval'; readonly unit: 'month' | 'day-time' | 'month-day-nano' }
  | { readonly kind: 'binary'; readonly text: boolean; readonly layout: 'plain' | 'large' | 'view' }
  /** `meaning`: what the bytes are, where that is said. */
  | { readonly kind: 'fixed-binary'; readonly size: number; readonly meaning?: 'uuid' | 'interval' }
  | { readonly kind: 'list'; readonly layout: 'plain' | 'large' | 'view' | 'large-view'; readonly item: Column }
  | { readonly kind: 'fixed-list'; readonly size: number; readonly item: Column }
  /** `meaning`: what the fields are together, where that is said. */
  | { readonly kind: 'struct'; readonly fields: readonly Column[]; readonly meaning?: 'variant' }
  | { readonly kind: 'map'; readonly key: Column; readonly value: Column }
  | {
      readonly kind: 'union';
      readonly dense: boolean;
      readonly members: readonly Column[];
      readonly codes: readonly number[];
    }
  | { readonly kind: 'run-end'; readonly ends: Column; readonly values: Column };

/** A column of a schema, or a part of one. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** The number by which a table knows it, whatever its name is. */
  readonly id?: number;
  /** Rows are indexes into the dictionary of this id. */
  readonly dictionary?: { readonly id: number; readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean };
}

/** Nanoseconds of a unit. */
export const nanosOf: Readonly<Record<TimeUnit, number>> = { s: 1e9, ms: 1e6, us: 1e3, ns: 1 };

/** Most members of a written union: type codes are signed bytes. */
const unionMembersMax = 128;

const plainText: ColumnType = { kind: 'binary', text: true, layout: 'plain' };
const plainBytes: ColumnType = { kind: 'binary', text: false, layout: 'plain' };

const int32 = types.int32;
/** Inner types of the names that stand for a column type. */
const dayTimeType = recordType([
  { name: 'days', type: int32 },
  { name: 'milliseconds', type: types.uint32 },
]);
const decimal128Type = recordType([
  { name: 'high', type: types.int64 },
  { name: 'low', type: types.uint64 },
]);
const decimal256Type = arrayType(types.uint64);

const named = (name: string, inner: Type, type: ColumnType): readonly [NamedType, ColumnType] => [
  namedType(`arrow_${name}`, inner),
  type,
];
/** Named types that have a column type of their own; those with a number in the name are in `sizedType`. */
const namedColumns: ReadonlyMap<Type, ColumnType> = new Map([
  named('date32', types.time, { kind: 'date', unit: 'day' }),
  named('date64', types.time, { kind: 'date', unit: 'ms' }),
  named('timestamp_s', types.time, { kind: 'timestamp', unit: 's' }),
  named('timestamp_ms', types.time, { kind: 'timestamp', unit: 'ms' }),
  named('timestamp_us', types.time, { kind: 'timestamp', unit: 'us' }),
  named('time32_s', types.time, { kind: 'time', unit: 's' }),
  named('time32_ms', types.time, { kind: 'time', unit: 'ms' }),
  named('time64_us', types.time, { kind: 'time', unit: 'us' }),
  named('time64_ns', types.time, { kind: 'time', unit: 'ns' }),
  named('duration_s', types.duration, { kind: 'duration', unit: 's' }),
  named('duration_ms', types.duration, { kind: 'duration', unit: 'ms' }),
  named('duration_us', types.duration, { kind: 'duration', unit: 'us' }),
  named('month_interval', int32, { kind: 'interval', unit: 'month' }),
  named('day_time_interval', dayTimeType, { kind: 'interval', unit: 'day-time' }),
  named('month_day_nano_interval', spanRecord, { kind: 'interval', unit: 'month-day-nano' }),
  // The names do not tell digits and scale: whole numbers of as many digits as fit, which other readers take, unlike
  // the reference's 0.
  named('decimal128', decimal128Type, { kind: 'decimal', bits: 128, precision: 38, scale: 0, inWords: true }),
  named('decimal256', decimal256Type, { kind: 'decimal', bits: 256, precision: 76, scale: 0, inWords: true }),
  named('uuid', types.bytes, { kind: 'fixed-binary', size: 16, meaning: 'uuid' }),
  named('interval', types.bytes, { kind: 'fixed-binary', size: 12, meaning: 'interval' }),
  named('large_binary', types.bytes, { kind: 'binary', text: false, layout: 'large' }),
  named('large_string', types.string, { kind: 'binary', text: true, layout: 'large' }),
]);

/**
 * The type that a value has once names without a meaning here and a union with nothing but null are off; and whether
 * rows may be null.
 */
interface Stripped {
  readonly type: Type;
  readonly nullable: boolean;
}
const stripped = (type: Type): Stripped => {
  if (type.kind === 'union') {
    const rest = type.members.filter((m) => m !== types.null);
    const nullable = rest.length < type.members.length;
    const decimal = decimalAmong(rest);
    if (decimal) return { ...stripped(decimal), nullable };
    if (rest.length === 1) return { type: stripped(rest[0]).type, nullable: nullable || stripped(rest[0]).nullable };
    return rest.length === 0 ? { type: types.null, nullable: true } : { type, nullable };
  }
  if (type.kind === 'named' && !columnOfName(type)) return stripped(type.inner);
  return { type, nullable: type === types.null };
};

/** What the name of a type stands for, or undefined. */
const columnOfName = (type: NamedType): ((writer: string) => ColumnType) | undefined => {
  const known = namedColumns.get(type);
  if (known) return () => known;
  const { name, inner } = type;
  if (inner.kind === 'array') {
    if (name === 'arrow_large_list')
      return (writer) => ({ kind: 'list', layout: 'large', item: columnOf('', inner.element, writer) });
    const size = sizeIn(name, 'arrow_fixed_size_list_');
    if (size !== undefined)
      return (writer) => ({ kind: 'fixed-list', size, item: columnOf('', inner.element, writer) });
  }
  if (inner === types.float64) {
    const decimal = decimalIn(name);
    return decimal && (() => decimal);
  }
  if (inner === types.bytes) {
    const size = sizeIn(name, 'arrow_fixed_size_binary_');
    if (size !== undefined) return () => ({ kind: 'fixed-binary', size });
  }
  return undefined;
};
/** Digits of decimals of 128 bits, and of 256. */
const decimalDigits = 38;
const decimalDigitsMax = 76;
/** Of a name that the readers give. */
const decimalIn = (name: string): ColumnType | undefined => {
  const [, s, p] = /^deciaml_(\d{1,2})_(\d{1,2})$/.exec(name) ?? [];
  const scale = Number(s);
  const precision = Number(p);
  return precision >= 1 && precision <= decimalDigitsMax && scale <= precision
    ? { kind: 'decimal', bits: precision <= decimalDigits ? 128 : 256, precision, scale }
    : undefined;
};
const sizeIn = (name: string, prefix: string): number | undefined => {
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^[1-9]\d{0,8}$/.test(digits) || digits === '0' ? Number(digits) : undefined;
};

/** The columns for the fields of a record. @throws LakeError `write-columns-unsupported` */
export const columnsOf = (type: RecordType, writer: string): readonly Column[] => {
  if (type.fields.length === 0) throw new LakeError('write-columns-unsupported', { writer, fault: 'empty record' });
  return type.fields.map((f) => columnOf(f.name, f.type, writer, f.optional));
};

/** The columns of a file without rows: those of a type that `isHeld` does not throw at, and of others none. */
export const columnsWithoutRows = (
  type: RecordType | undefined,
  writer: string,
  isHeld: (columns: readonly Column[]) => void = () => undefined,
): readonly Column[] => {
  if (!type) return [];
  try {
    const columns = columnsOf(type, writer);
    isHeld(columns);
    return columns;
  } catch (problem) {
    if (problem instanceof LakeError && problem.code === 'write-columns-unsupported') return [];
    throw problem;
  }
};

/** The column for values of a type. @throws LakeError `write-columns-unsupported` */
const columnOf = (name: string, type: Type, writer: string, optional = false): Column => {
  const { type: inner, nullable } = stripped(type);
  const column = withAbsence(columnTypeOf(inner, writer), optional || nullable);
  // A union has its nulls in a member; called nullable besides, v0.2.0 would take it for a union of null and the union.
  return { name, type: column, nullable: (nullable && column.kind !== 'union') || optional || column.kind === 'null' };
};

/** Unions have no validity: what may be absent needs a member that is null. */
const withAbsence = (type: ColumnType, optional: boolean): ColumnType => {
  if (type.kind !== 'union' || !optional || type.members.some((m) => m.type.kind === 'null')) return type;
  return {
    ...type,
    members: [...type.members, { name: '', type: { kind: 'null' }, nullable: true }],
    codes: [...type.codes, type.codes.length],
  };
};

const columnTypeOf = (type: Type, writer: string): ColumnType => {
  switch (type.kind) {
    case 'primitive':
      return primitiveColumns[type.name];
    case 'record':
      return { kind: 'struct', fields: columnsOf(type, writer) };
    case 'array':
    case 'set':
      return { kind: 'list', layout: 'plain', item: columnOf('', type.element, writer) };
    case 'map': {
      const key = columnOf('key', type.key, writer);
      if (key.nullable)
        throw new LakeError('write-columns-unsupported', { writer, fault: `map with null keys: ${typeText(type)}` });
      return { kind: 'map', key, value: columnOf('value', type.value, writer) };
    }
    case 'union':
      return unionColumn(type.members, writer);
    case 'enum':
    case 'error':
      return plainText;
    case 'named':
      return columnOfName(type)!(writer);
  }
};

const primitiveColumns = {
  uint8: { kind: 'int', bits: 8, signed: false },
  uint16: { kind: 'int', bits: 16, signed: false },
  uint32: { kind: 'int', bits: 32, signed: false },
  uint64: { kind: 'int', bits: 64, signed: false },
  int8: { kind: 'int', bits: 8, signed: true },
  int16: { kind: 'int', bits: 16, signed: true },
  int32: { kind: 'int', bits: 32, signed: true },
  int64: { kind: 'int', bits: 64, signed: true },
  duration: { kind: 'duration', unit: 'ns' },
  time: { kind: 'timestamp', unit: 'ns' },
  float16: { kind: 'float', bits: 16 },
  float32: { kind: 'float', bits: 32 },
  float64: { kind: 'float', bits: 64 },
  bool: { kind: 'bool' },
  bytes: plainBytes,
  string: plainText,
  ip: plainText,
  net: plainText,
  type: plainText,
  null: { kind: 'null' },
} as const satisfies Record<string, ColumnType>;

/** Members may share a column; `memberIndexes` tells which. */
const unionColumn = (members: readonly Type[], writer: string): ColumnType => {
  const columns: Column[] = [];
  const indexes = memberIndexes(members, writer);
  members.forEach((m, k) => {
    columns[indexes[k]] ??= columnOf('', m, writer);
  });
  if (columns.length > unionMembersMax) {
    throw new LakeError('write-columns-unsupported', {
      writer,
      fault: `union of ${columns.length} types (limit ${unionMembersMax})`,
    });
  }
  return { kind: 'union', dense: true, members: columns, codes: columns.map((_, k) => k) };
};
/**
 * The column of each member of a union, by index. Members whose columns are the same share one if their rows are of one
 * form once they are plain: rows of lists, records and maps keep the types inside, which may differ where columns do not.
 */
export const memberIndexes = (members: readonly Type[], writer: string): readonly number[] => {
  const seen = new Map<string | number, number>();
  return members.map((m) => {
    const column = columnOf('', m, writer);
    const key = isJoinable(column) ? JSON.stringify(column) : seen.size;
    if (!seen.has(key)) seen.set(key, seen.size);
    return seen.get(key)!;
  });
};

const joinableKinds: ReadonlySet<ColumnType['kind']> = new Set([
  'bool',
  'int',
  'float',
  'date',
  'time',
  'timestamp',
  'duration',
  'binary',
]);
const isJoinable = ({ type, nullable }: Column): boolean =>
  type.kind === 'null' || (!nullable && joinableKinds.has(type.kind));

/** Names without repetition: the second of one name gets the suffix 1, the third 2. */
export const distinctNames = (names: readonly string[]): readonly string[] => {
  const taken = new Set(names);
  const next = new Map<string, number>();
  const used = new Set<string>();
  return names.map((name) => {
    let candidate = name;
    if (used.has(name)) {
      let suffix = next.get(name) ?? 1;
      while (taken.has(`${name}${suffix}`)) suffix++;
      next.set(name, suffix + 1);
      candidate = `${name}${suffix}`;
      taken.add(candidate);
    }
    used.add(candidate);
    return candidate;
  });
};
