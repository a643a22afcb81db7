/**
 * Random records of types that Arrow and Parquet hold without a change, for fast-check: what is written comes back as
 * it was.
 */
import fc from 'fast-check';
import {
  type Type,
  arrayType,
  mapType,
  namedType,
  nullable,
  recordType,
  types,
  unionType,
} from '../../../src/vectors/type.ts';
import { type Data, type Value, integer } from '../../../src/vectors/value.ts';
import { dataOf } from './values.ts';

const { duration: _d, ip: _i, net: _n, type: _t, null: _z, ...plain } = types;
const leaves = Object.values(plain);
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }).map((s) => s.normalize('NFC'));

/** Types with a name that has a column type of its own, and numbers that suit it: times are multiples of the unit. */
const named: readonly { readonly type: Type; readonly data: fc.Arbitrary<Data>; readonly parquet: boolean }[] = [
  ...(
    [
      ['timestamp_s', 10n ** 9n, false],
      ['timestamp_ms', 10n ** 6n, true],
      ['timestamp_us', 1000n, true],
      ['time64_us', 1000n, true],
      ['date64', 10n ** 6n, false],
    ] as const
  ).map(([name, unit, parquet]) => ({
    type: namedType(`arrow_${name}`, types.time),
    parquet,
    data: fc.bigInt({ min: -(2n ** 62n) / unit, max: 2n ** 62n / unit }).map((x) => integer(x * unit)),
  })),
  { type: namedType('arrow_time64_ns', types.time), parquet: true, data: fc.nat(86_400_000).map((x) => x * 1000) },
  {
    type: namedType('arrow_date32', types.time),
    parquet: true,
    data: fc.integer({ min: -100_000, max: 100_000 }).map((d) => integer(BigInt(d) * 86_400_000_000_000n)),
  },
  { type: namedType('arrow_time32_ms', types.time), parquet: true, data: fc.nat(86_399_999).map((x) => x * 1_000_000) },
  { type: namedType('arrow_time32_s', types.time), parquet: false, data: fc.nat(86_399).map((x) => x * 1_000_000_000) },
  {
    type: namedType('arrow_duration_ms', types.duration),
    parquet: false,
    data: fc.integer().map((x) => x * 1_000_000),
  },
  {
    type: namedType('arrow_fixed_size_binary_3', types.bytes),
    parquet: true,
    data: fc.uint8Array({ minLength: 3, maxLength: 3 }),
  },
  {
    type: namedType('arrow_fixed_size_list_2', arrayType(types.int64)),
    parquet: false,
    data: fc.tuple(dataOf(types.int64), dataOf(types.int64)),
  },
  { type: namedType('arrow_large_string', types.string), parquet: false, data: dataOf(types.string) },
  {
    type: namedType('arrow_large_list', arrayType(types.string)),
    parquet: false,
    data: dataOf(arrayType(types.string)),
  },
  { type: namedType('arrow_month_interval', types.int32), parquet: false, data: dataOf(types.int32) },
];
const namedData = new Map(named.map((n) => [n.type, n.data]));

const columnTypes = (depth: number, parquet: boolean): fc.Arbitrary<Type> => {
  const leaf = fc.constantFrom<Type>(
    ...leaves,
    ...(parquet ? [] : [types.duration]),
    ...named.filter((n) => n.parquet || !parquet).map((n) => n.type),
  );
  if (depth === 0)
    return fc.oneof(
      { weight: 15, arbitrary: leaf },
      { weight: 5, arbitrary: leaf.map(nullable) },
      { weight: 1, arbitrary: fc.constant<Type>(types.null) },
    );
  const inner = columnTypes(depth - 1, parquet);
  const nested = fc.oneof(
    leaf,
    recordsOf(inner, 3),
    inner.map(arrayType),
    fc.tuple(fc.constantFrom(types.string, types.int64, types.uint8), inner).map(([k, v]) => mapType(k, v)),
  );
  const union = fc
    .uniqueArray(
      fc.constantFrom<Type>(types.int64, types.string, types.float64, types.bool, arrayType(types.int64), types.null),
      { minLength: 3, maxLength: 4 },
    )
    .map((m) => unionType(m));
  return fc.oneof(
    { weight: 3, arbitrary: nested },
    { weight: 2, arbitrary: nested.map(nullable) },
    { weight: parquet ? 0 : 1, arbitrary: union },
  );
};
const recordsOf = (inner: fc.Arbitrary<Type>, fieldsMax: number): fc.Arbitrary<Type> =>
  fc
    .uniqueArray(fc.record({ name: text, type: inner }), {
      selector: (f) => f.name,
      minLength: 1,
      maxLength: fieldsMax,
    })
    .map((fields) => recordType(fields));

/** Data, with that of the special names where a type has them in it. */
const columnData = (type: Type): fc.Arbitrary<Data> => {
  const own = namedData.get(type);
  if (own) return own;
  switch (type.kind) {
    case 'record':
      return fc.tuple(...type.fields.map((f) => columnData(f.type))) as unknown as fc.Arbitrary<Data>;
    case 'array':
      return fc.array(columnData(type.element), { maxLength: 4 });
    case 'map':
      return fc.uniqueArray(fc.tuple(dataOf(type.key), columnData(type.value)), { maxLength: 1 });
    case 'union':
      return fc
        .integer({ min: 0, max: type.members.length - 1 })
        .chain((k) => columnData(type.members[k]!).map((data) => ({ type: type.members[k]!, data })));
    default:
      return dataOf(type);
  }
};

/** Records of one type. `parquet`: without what Parquet has no column for. */
export const someRecords = (options: {
  readonly parquet: boolean;
  readonly maxLength?: number;
}): fc.Arbitrary<Value[]> =>
  recordsOf(columnTypes(2, options.parquet), 5).chain((type) =>
    fc.array(
      columnData(type).map((data): Value => ({ type, data })),
      { minLength: 1, maxLength: options.maxLength ?? 12 },
    ),
  );
