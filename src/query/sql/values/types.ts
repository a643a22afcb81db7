/**
 * Types as SQL names them. Most are types of the data model under another name; those that the model lacks are kept as
 * what a cast has to do: a date is a time at midnight, a decimal what vectors/decimal.ts says, a uuid and bits a
 * string, a time of day the string that SQL writes for it (`12:30:00`).
 */
import {
  type Type,
  arrayType,
  mapType,
  namedType,
  primitiveNamed,
  recordType,
  typeText,
  types,
  unionType,
  membersOf,
} from '../../../vectors/type.ts';
import { spanName, spanRecord, spanType } from '../../../vectors/spans.ts';
import type { PrimitiveName } from '../../ast.ts';

/** What a cast in SQL gives. */
export type SqlType =
  | { readonly kind: 'plain'; readonly type: Type }
  /** `bit`: zeros and ones as text. */
  | { readonly kind: 'date' | 'uuid' | 'bit' }
  /** JSON as text. */
  | { readonly kind: 'json' }
  /** A time of day, with as many digits of a second: its texts have the order of the times. */
  | { readonly kind: 'clock'; readonly digits: number }
  /** An integer of 128 bits: of 64 where these hold it, else its text as that of a long decimal. */
  | { readonly kind: 'wide'; readonly unsigned: boolean }
  /** A time, cut down to whole units of so many nanoseconds; `zoned`: a moment, and not what clocks show somewhere. */
  | { readonly kind: 'timestamp'; readonly unit: number; readonly zoned?: true }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  /** Whole decimals as what sums add exactly: the plan alone casts to it. */
  | { readonly kind: 'units' }
  /** `length`: an array that has as many elements as it has to. */
  | { readonly kind: 'list'; readonly element: SqlType; readonly length?: number }
  | { readonly kind: 'struct'; readonly fields: readonly { readonly name: string; readonly type: SqlType }[] }
  | { readonly kind: 'map'; readonly key: SqlType; readonly value: SqlType };

const groups: readonly (readonly [PrimitiveName, string])[] = [
  ['int8', 'tinyint int1'],
  ['int16', 'smallint int2 int16 short'],
  ['int32', 'int integer int4 int32 signed integral'],
  ['int64', 'bigint int8 int64 long oid'],
  ['uint8', 'utinyint uint8'],
  ['uint16', 'usmallint uint16'],
  ['uint32', 'uinteger uint32'],
  ['uint64', 'ubigint uint64'],
  ['float16', 'float16'],
  ['float32', 'real float4 float32'],
  ['float64', 'double float float8 float64'],
  ['bool', 'bool boolean logical'],
  ['string', 'text string varchar char character bpchar nvarchar'],
  ['bytes', 'blob bytea binary varbinary bytes'],
  ['duration', 'interval duration'],
  ['ip', 'ip inet'],
  ['net', 'net cidr'],
];
/** Names of one word that stand for a type of the model, in lower case. */
const plainNames: ReadonlyMap<string, PrimitiveName> = new Map(
  groups.flatMap(([type, names]) => names.split(' ').map((name) => [name, type] as const)),
);
const timestampUnits: ReadonlyMap<string, number> = new Map([
  ['timestamp', 1],
  ['datetime', 1],
  ['timestamp_ns', 1],
  ['timestamp_us', 1000],
  ['timestamp_ms', 1_000_000],
  ['timestamp_s', 1_000_000_000],
]);

/** The type that a name of one word stands for; undefined if it is none of SQL's. */
export const sqlTypeNamed = (word: string): SqlType | undefined => {
  const name = word.toLowerCase();
  const plain = plainNames.get(name);
  const unit = timestampUnits.get(name);
  if (plain !== undefined) return { kind: 'plain', type: primitiveNamed(plain)! };
  if (unit !== undefined) return { kind: 'timestamp', unit };
  if (name === 'timestamptz') return { kind: 'timestamp', unit: 1, zoned: true };
  if (name === 'hugeint' || name === 'int128' || name === 'uhugeint' || name === 'uint128')
    return { kind: 'wide', unsigned: name.startsWith('u') };
  if (name === 'json' || name === 'jsonb') return { kind: 'json' };
  if (name === 'date') return { kind: 'date' };
  if (name === 'bit' || name === 'bitstring') return { kind: 'bit' };
  if (name === 'time' || name === 'time_ns') return { kind: 'clock', digits: name === 'time' ? 6 : 9 };
  if (name === 'uuid' || name === 'guid') return { kind: 'uuid' };
  return name === 'decimal' || name === 'numeric' || name === 'dec'
    ? { kind: 'decimal', precision: 18, scale: 3 }
    : undefined;
};
/** The names of intervals that are no durations: twelve bytes of Parquet, and those that have months. */
export const isStoredInterval = (name: string): boolean => name === 'arrow_interval' || name === spanName;
const namedDecimal = /^deciaml_(\d+)_(\d+)$/;
/** The names that tell which texts of a column are more than texts before a query runs. */
const textTypes = {
  '\u0000time': { kind: 'clock', digits: 9 },
  '\u0000uuid': { kind: 'uuid' },
  '\u0000bit': { kind: 'bit' },
} as const satisfies Readonly<Record<string, SqlType>>;
/** The type by which columns of times of day, uuids and bits are known; undefined for other types. */
export const toldText = (t: SqlType): Type | undefined => {
  const name = Object.entries(textTypes).find(([, { kind }]) => kind === t.kind)?.[0];
  return name === undefined ? undefined : namedType(name, types.string);
};
/** Whether a type is one that tells of texts. */
export const isToldText = (t: Type): boolean => t.kind === 'named' && Object.hasOwn(textTypes, t.name);
/** Whether all values of a type but null are intervals, of which some may be more than durations. */
export const areIntervals = (t: Type): boolean => {
  const given = membersOf(t).filter((m) => m !== types.null && m !== types.duration);
  return given.length > 0 && given.every((m) => m === spanRecord || (m.kind === 'named' && isStoredInterval(m.name)));
};
/** Intervals that may have months. */
export const intervalType: Type = unionType([types.duration, spanType, types.null]);
/** What SQL calls values of a named type as readers of Parquet and Arrow give them; undefined for other names. */
export const sqlTypeOfName = (name: string): SqlType | undefined => {
  if (Object.hasOwn(textTypes, name)) return textTypes[name as keyof typeof textTypes];
  if (name === dateName || /^arrow_date(32|64)$/.test(name)) return { kind: 'date' };
  if (/^arrow_time(32|64)_/.test(name)) return { kind: 'clock', digits: 9 };
  // Where nothing was said of the bytes when they were read, their number has to say it.
  if (isStoredInterval(name) || name === 'arrow_fixed_size_binary_12') return { kind: 'plain', type: types.duration };
  if (name === 'arrow_uuid' || name === 'arrow_fixed_size_binary_16') return { kind: 'uuid' };
  const [, scale, precision] = namedDecimal.exec(name) ?? [];
  return precision === undefined ? undefined : { kind: 'decimal', precision: Number(precision), scale: Number(scale) };
};
/** The type of decimals with so many places, by which columns that hold them are known before a query runs. */
export const decimalType = (scale: number, precision = decimalPrecisionMax): Type =>
  namedType(`deciaml_${scale}_${precision}`, types.float64);
const dateName = 'sql_date';
/** The type of what a query says is a date, by which its columns are known before it runs; the values are times. */
export const dateType: Type = namedType(dateName, types.time);
/** Functions whose results are dates. */
export const dateFunctions: ReadonlySet<string> = new Set(['current_date', 'last_day', 'make_date', 'today']);
/** Most digits of a decimal. */
export const decimalPrecisionMax = 38;

/** The type of an integer that needs more than 64 bits, and no more than 128; undefined for all others. */
export const wideTypeOf = (x: bigint): (SqlType & { readonly kind: 'wide' }) | undefined => {
  if (BigInt.asIntN(64, x) === x) return undefined;
  if (BigInt.asIntN(128, x) === x) return { kind: 'wide', unsigned: false };
  return BigInt.asUintN(128, x) === x ? { kind: 'wide', unsigned: true } : undefined;
};

/** The type of the data model that values of the SQL type have. */
export const modelType = (t: SqlType): Type => {
  switch (t.kind) {
    case 'plain':
      return t.type;
    case 'date':
    case 'timestamp':
      return types.time;
    case 'wide':
      return t.unsigned ? types.uint64 : types.int64;
    case 'units':
      return types.int64;
    case 'uuid':
    case 'bit':
    case 'clock':
    case 'json':
      return types.string;
    case 'decimal':
      return types.float64;
    case 'list':
      return arrayType(modelType(t.element));
    case 'struct':
      return recordType(t.fields.map((f) => ({ name: f.name, type: modelType(f.type) })));
    case 'map':
      return mapType(modelType(t.key), modelType(t.value));
  }
};

/** The type as errors call it. */
export const sqlTypeText = (t: SqlType): string => {
  switch (t.kind) {
    case 'plain':
      return typeText(t.type);
    case 'date':
    case 'uuid':
    case 'bit':
    case 'json':
    case 'units':
      return t.kind;
    case 'clock':
      return 'time';
    case 'wide':
      return t.unsigned ? 'uhugeint' : 'hugeint';
    case 'timestamp':
      return 'timestamp';
    case 'decimal':
      return `decimal(${t.precision},${t.scale})`;
    case 'list':
      return `${sqlTypeText(t.element)}[${t.length ?? ''}]`;
    case 'struct':
      return `struct(${t.fields.map((f) => `${f.name} ${sqlTypeText(f.type)}`).join(', ')})`;
    case 'map':
      return `map(${sqlTypeText(t.key)}, ${sqlTypeText(t.value)})`;
  }
};

/** Equal texts: equal types. */
export const sqlTypeKey = (t: SqlType): string =>
  t.kind === 'timestamp'
    ? `timestamp ${t.unit} ${t.zoned ?? false}`
    : t.kind === 'clock'
      ? `time ${t.digits}`
      : sqlTypeText(t);
