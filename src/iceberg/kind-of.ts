/** Of which kind values are, by their types and, where a type does not say it, by themselves. */
import { type PrimitiveName, type Type, types, underType } from '../vectors/type.ts';
import {
  type MapVector,
  type NamedVector,
  type NumberVector,
  type Vector,
  flatten,
  itemsOf,
  typeAt,
  uniformType,
} from '../vectors/vector.ts';
import { type ScalarKind, listOf, mapOf, nestingMax } from './kinds.ts';
import { type NamedKind, decimalBeside, kindOfName, namedParts } from './named.ts';

/** Nanoseconds of a microsecond. */
const nanos = 1000;

const primitiveKinds = {
  uint8: 'int',
  uint16: 'int',
  uint32: 'int',
  uint64: 'uint64',
  int8: 'int',
  int16: 'int',
  int32: 'int',
  int64: 'int',
  duration: 'duration',
  time: 'time',
  float16: 'float',
  float32: 'float',
  float64: 'float',
  bool: 'bool',
  bytes: 'bytes',
  string: 'string',
  ip: 'ip',
  net: 'net',
  type: 'type',
  null: undefined,
} as const satisfies Record<PrimitiveName, ScalarKind | undefined>;

/** The kind of values of a type; undefined for null. `depth`: of lists, maps and records that they are in. */
export const kindOf = (given: Type, depth = 0): string | undefined => {
  const type = underType(given);
  const named = given.kind === 'named' ? kindOfName(given) : undefined;
  if (named !== undefined) return named;
  switch (type.kind) {
    case 'primitive':
      return primitiveKinds[type.name];
    case 'enum':
      return 'enum';
    case 'error':
      return 'json';
    case 'union': {
      const kinds = new Set(type.members.map((m) => kindOf(m, depth)).filter((kind) => kind !== undefined));
      const [only, ...others] = kinds;
      return others.length === 0 ? only : 'json';
    }
    case 'record':
      return type.fields.length === 0 || depth >= nestingMax ? 'json' : 'record';
    case 'array':
    case 'set':
      return depth >= nestingMax ? 'json' : listOf(kindOf(type.element, depth + 1));
    case 'map':
      return depth >= nestingMax ? 'json' : mapOf(kindOf(type.key, depth + 1), kindOf(type.value, depth + 1));
  }
};

/** The kind of decimals among the parts of mixed rows, to which the long ones of the others belong. */
export const decimalAmongParts = (v: Vector): NamedKind | undefined => {
  if (v.form === 'union') return decimalBeside(v.type.members);
  return v.form === 'dynamic' ? decimalBeside(v.parts.map(uniformType)) : undefined;
};

/** The kind of items, which are all of one: their type's, but where values say more, or other than their name says. */
export const kindWithin = (v: Vector, depth: number, decimal?: NamedKind): string | undefined => {
  switch (v.form) {
    case 'named':
      return kindOfNamed(v, depth, decimal);
    case 'constant':
    case 'dictionary':
    case 'selected':
      return kindWithin(flatten(v), depth, decimal);
    case 'number':
      return v.type === types.time && hasNanos(v) ? 'ns' : kindOf(v.type, depth);
    case 'list': {
      const items = itemsOf(v, v.items);
      if (items.length === 0) return undefined;
      return depth >= nestingMax ? 'json' : listOf(kindWithin(items, depth + 1) ?? kindOf(v.type.element, depth + 1));
    }
    case 'map':
      return v.offsets[0] === v.offsets[v.length] ? undefined : kindOfMaps(v, depth);
    case 'union':
      return commonKind(v.members, depth, decimalAmongParts(v));
    case 'dynamic':
      return commonKind(v.parts, depth, decimalAmongParts(v));
    case 'record':
      return v.fields.length === 0 || depth >= nestingMax ? 'json' : 'record';
    case 'error':
      return 'json';
    default:
      return v.length === 0 ? undefined : kindOf(typeAt(v, 0), depth);
  }
};
const kindOfNamed = (v: NamedVector, depth: number, decimal: NamedKind | undefined): string | undefined => {
  const [part, ...others] = namedParts(v, decimal);
  return others.length === 0 && part?.kind !== undefined ? part.kind : kindWithin(v.inner, depth);
};
const commonKind = (parts: readonly Vector[], depth: number, decimal: NamedKind | undefined): string | undefined => {
  const kinds = new Set<string>();
  for (const part of parts) {
    const kind = part.length > 0 ? kindWithin(part, depth, decimal) : undefined;
    if (kind !== undefined) kinds.add(kind);
  }
  const [only, ...others] = kinds;
  return others.length === 0 ? only : 'json';
};

/** The kind of maps that are not empty: those with a null for a key are JSON. */
export const kindOfMaps = (v: MapVector, depth: number): string => {
  const keys = itemsOf(v, v.keys);
  if (depth >= nestingMax || keys.length !== countOfValid(keys)) return 'json';
  return mapOf(
    kindWithin(keys, depth + 1) ?? kindOf(v.type.key, depth + 1),
    kindWithin(itemsOf(v, v.values), depth + 1) ?? kindOf(v.type.value, depth + 1),
  );
};
const countOfValid = (v: Vector): number => {
  const flat = flatten(v);
  switch (flat.form) {
    case 'null':
      return 0;
    case 'named':
      return countOfValid(flat.inner);
    case 'union': {
      const none = flat.type.members.indexOf(types.null);
      return none < 0
        ? flat.length
        : flat.tags.subarray(0, flat.length).reduce((n, tag) => n + (tag === none ? 0 : 1), 0);
    }
    default:
      return flat.length;
  }
};

/** Whether times have digits that microseconds do not hold. */
export const hasNanos = (v: NumberVector): boolean => {
  const { values, length } = v;
  if (values instanceof Float64Array) {
    for (let i = 0; i < length; i++) if (values[i]! % nanos !== 0) return true;
    return false;
  }
  for (let i = 0; i < length; i++) if (values[i]! % 1000n !== 0n) return true;
  return false;
};
