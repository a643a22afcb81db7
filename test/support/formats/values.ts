/**
 * Random values of every type, for fast-check. Data is canonical (see src/vectors/value.ts), so that equal values are
 * deeply equal.
 */
import fc from 'fast-check';
import {
  type PrimitiveType,
  type Type,
  arrayType,
  enumType,
  errorType,
  mapType,
  namedType,
  recordType,
  setType,
  types,
  unionType,
} from '../../../src/vectors/type.ts';
import { type Data, type Value, canonicalMap, canonicalSet, integer, toFloat16 } from '../../../src/vectors/value.ts';

const bits: Readonly<Record<string, readonly [bigint, bigint]>> = {
  uint8: [0n, 255n],
  uint16: [0n, 65535n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  int8: [-128n, 127n],
  int16: [-32768n, 32767n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  duration: [-(2n ** 63n), 2n ** 63n - 1n],
  time: [-(2n ** 63n), 2n ** 63n - 1n],
};
const integers = ([least, most]: readonly [bigint, bigint]): fc.Arbitrary<Data> =>
  fc
    .oneof(
      fc.bigInt({ min: least, max: most }),
      fc.constantFrom(least, most, 0n, 1n),
      fc.bigInt({ min: least < -1000n ? -1000n : least, max: 127n }),
    )
    .map((x) => integer(x));
const floats: fc.Arbitrary<number> = fc.oneof(
  fc.double({ noNaN: true }),
  fc.constantFrom(0, -0, 1, -1.5, 1e21, 1e-7, NaN, Infinity, -Infinity),
);
const texts = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom('', 'a', 'x"y', 'line\nbreak', 'é', '\u0001', '日本', '𝒳'),
  )
  .map((s) => s.normalize('NFC'));
const masked = (length: 4 | 16): fc.Arbitrary<Data> =>
  fc
    .tuple(fc.uint8Array({ minLength: length, maxLength: length }), fc.integer({ min: 0, max: length * 8 }))
    .map(([address, prefix]) => {
      const out = new Uint8Array(length * 2);
      for (let i = 0; i < length; i++) {
        out[length + i] = (0xff00 >> Math.min(8, Math.max(0, prefix - i * 8))) & 0xff;
        out[i] = address[i]! & out[length + i]!;
      }
      return out;
    });

const primitiveData = (type: PrimitiveType): fc.Arbitrary<Data> => {
  const range = bits[type.name];
  if (range) return integers(range);
  switch (type.name) {
    case 'float64':
      return floats;
    case 'float32':
      return floats.map(Math.fround);
    case 'float16':
      return floats.map(toFloat16);
    case 'bool':
      return fc.boolean();
    case 'string':
      return texts;
    case 'bytes':
      return fc.uint8Array({ maxLength: 8 });
    case 'ip':
      return fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }));
    case 'net':
      return fc.oneof(masked(4), masked(16));
    case 'type':
      return fc.oneof(
        fc.constantFrom<Type>(
          types.int64,
          recordType([{ name: 'a', type: types.string }]),
          unionType([types.int64, types.string]),
        ),
        fc.constant(1).chain(typesOfDepth),
      );
    default:
      return fc.constant(null);
  }
};

const primitives = Object.values(types);
const names = fc.constantFrom('a', 'b', 'c', 'd e', 'x.y', 'é', '__proto__', '1', '', 'null', 'a"\n\\', '𝒳');

/** Types up to `depth` levels of containers. Unions have at least two distinct members; enums distinct symbols. */
export const typesOfDepth = (depth: number): fc.Arbitrary<Type> => {
  const primitive: fc.Arbitrary<Type> = fc.constantFrom<Type>(...primitives);
  if (depth === 0) return primitive;
  const inner = typesOfDepth(depth - 1);
  return fc.oneof(
    { weight: 4, arbitrary: primitive },
    {
      weight: 3,
      arbitrary: fc
        .uniqueArray(fc.record({ name: names, type: inner, optional: fc.boolean() }), {
          selector: (f) => f.name,
          maxLength: 4,
        })
        .map((fields) => recordType(fields)),
    },
    { weight: 1, arbitrary: inner.map(arrayType) },
    { weight: 1, arbitrary: inner.map(setType) },
    { weight: 1, arbitrary: fc.tuple(inner, inner).map(([k, v]) => mapType(k, v)) },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(
          inner.filter((t) => t.kind !== 'union'),
          { minLength: 2, maxLength: 4 },
        )
        .map((members) => unionType(members)),
    },
    { weight: 1, arbitrary: fc.uniqueArray(names, { minLength: 1, maxLength: 3 }).map((symbols) => enumType(symbols)) },
    { weight: 1, arbitrary: inner.map(errorType) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('foo', 'bar', 'my.type', 'beef', 'a b', 'é'), inner)
        .map(([name, type]) => namedType(name, type)),
    },
  );
};

/** Data of the type. */
export const dataOf = (type: Type): fc.Arbitrary<Data> => {
  switch (type.kind) {
    case 'primitive':
      return primitiveData(type);
    case 'record':
      return fc.tuple(
        ...type.fields.map((f) => (f.optional ? fc.option(dataOf(f.type), { nil: undefined }) : dataOf(f.type))),
      ) as unknown as fc.Arbitrary<Data>;
    case 'array':
      return fc.array(dataOf(type.element), { maxLength: 4 });
    case 'set':
      return fc.array(dataOf(type.element), { maxLength: 4 }).map((data) => canonicalSet(type.element, data));
    case 'map':
      return fc
        .array(fc.tuple(dataOf(type.key), dataOf(type.value)), { maxLength: 4 })
        .map((entries) => canonicalMap(type.key, entries));
    case 'union':
      return fc
        .integer({ min: 0, max: type.members.length - 1 })
        .chain((k) => dataOf(type.members[k]!).map((data) => ({ type: type.members[k]!, data })));
    case 'enum':
      return fc.integer({ min: 0, max: type.symbols.length - 1 });
    case 'error':
    case 'named':
      return dataOf(type.inner);
  }
};

/** Values of any type, two levels of containers deep at most. */
export const anyValue = (depth = 2): fc.Arbitrary<Value> =>
  typesOfDepth(depth).chain((type) => dataOf(type).map((data) => ({ type, data })));
/** Values of a few types, so that rows of one type come together. */
export const someValues = (
  options: { readonly depth?: number; readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<Value[]> =>
  fc.array(typesOfDepth(options.depth ?? 2), { minLength: 1, maxLength: 4 }).chain((pool) =>
    fc.array(
      fc.constantFrom(...pool).chain((type) => dataOf(type).map((data): Value => ({ type, data }))),
      { minLength: options.minLength ?? 0, maxLength: options.maxLength ?? 20 },
    ),
  );
