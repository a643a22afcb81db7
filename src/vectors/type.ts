/**
 * Types of the data model: 20 primitives and the eight complex kinds.
 *
 * Invariants:
 * - Two structurally equal types are the same object: compare them with `===`.
 * - The table that makes them so holds them weakly; a type that nobody refers to is collected, its `id` is never used
 *   again.
 * - Members of a union are in type order; duplicates that the caller gives stay.
 *
 * The model is SuperDB's (reference/formats/model.md, sections 1 to 6).
 */
import { textToBytes } from './texts/codec.ts';
import { charge, chargeText, checkStopAt } from './stop.ts';

/** The primitive types as SUP names them. */
export type PrimitiveName =
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'duration'
  | 'time'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'bool'
  | 'bytes'
  | 'string'
  | 'ip'
  | 'net'
  | 'type'
  | 'null';

interface Base {
  /** Unique in this process among all types ever made; primitives have their wire ids (0 to 29). */
  readonly id: number;
}
/** A type that no other type is in; `types` has one object for each name. */
export interface PrimitiveType extends Base {
  readonly kind: 'primitive';
  readonly name: PrimitiveName;
}
/** A field of a record type, `a:int64`, or `a?:int64` if it is optional: a value may be without it. */
export interface RecordField {
  readonly name: string;
  readonly type: Type;
  readonly optional: boolean;
}
/** `{a:int64,b?:string}`: fields in order, each name once. */
export interface RecordType extends Base {
  readonly kind: 'record';
  readonly fields: readonly RecordField[];
}
/** `[int64]`. */
export interface ArrayType extends Base {
  readonly kind: 'array';
  readonly element: Type;
}
/** `|[int64]|`. */
export interface SetType extends Base {
  readonly kind: 'set';
  readonly element: Type;
}
/** `|{string:int64}|`. */
export interface MapType extends Base {
  readonly kind: 'map';
  readonly key: Type;
  readonly value: Type;
}
/** `int64|string`: members in type order. */
export interface UnionType extends Base {
  readonly kind: 'union';
  readonly members: readonly Type[];
}
/** `enum(a,b)`: values are indexes of symbols. */
export interface EnumType extends Base {
  readonly kind: 'enum';
  readonly symbols: readonly string[];
}
/** `error(string)`: values are errors around one of the inner type. */
export interface ErrorType extends Base {
  readonly kind: 'error';
  readonly inner: Type;
}
/** `port=uint16`: values are those of the inner type. */
export interface NamedType extends Base {
  readonly kind: 'named';
  readonly name: string;
  readonly inner: Type;
}
/** Any type. Equal types are one object. */
export type Type =
  | PrimitiveType
  | RecordType
  | ArrayType
  | SetType
  | MapType
  | UnionType
  | EnumType
  | ErrorType
  | NamedType;

/** Wire ids of the primitives; the gaps are reserved by the format and not implemented. */
export const primitiveIds = {
  uint8: 0,
  uint16: 1,
  uint32: 2,
  uint64: 3,
  int8: 6,
  int16: 7,
  int32: 8,
  int64: 9,
  duration: 12,
  time: 13,
  float16: 14,
  float32: 15,
  float64: 16,
  bool: 23,
  bytes: 24,
  string: 25,
  ip: 26,
  net: 27,
  type: 28,
  null: 29,
} as const satisfies Record<PrimitiveName, number>;

const primitive = (name: PrimitiveName): PrimitiveType =>
  Object.freeze({ kind: 'primitive', name, id: primitiveIds[name] });

/** The primitive types by name. */
export const types = {
  uint8: primitive('uint8'),
  uint16: primitive('uint16'),
  uint32: primitive('uint32'),
  uint64: primitive('uint64'),
  int8: primitive('int8'),
  int16: primitive('int16'),
  int32: primitive('int32'),
  int64: primitive('int64'),
  duration: primitive('duration'),
  time: primitive('time'),
  float16: primitive('float16'),
  float32: primitive('float32'),
  float64: primitive('float64'),
  bool: primitive('bool'),
  bytes: primitive('bytes'),
  string: primitive('string'),
  ip: primitive('ip'),
  net: primitive('net'),
  type: primitive('type'),
  null: primitive('null'),
} as const satisfies Record<PrimitiveName, PrimitiveType>;

const byName: ReadonlyMap<string, PrimitiveType> = new Map(Object.entries(types));
const byId: ReadonlyMap<number, PrimitiveType> = new Map(Object.values(types).map((t) => [t.id, t]));

/** The primitive type of that name, or undefined. */
export const primitiveNamed = (name: string): PrimitiveType | undefined => byName.get(name);
/** The primitive type of that wire id, or undefined for reserved and complex ids. */
export const primitiveOfId = (id: number): PrimitiveType | undefined => byId.get(id);

/** Most fields of a record, symbols of an enum, members of a union (reference/formats/model.md section 1). */
export const componentsMax = 100_000;

let nextId = 30;
const interned = new Map<string, WeakRef<Type>>();
const forgotten = new FinalizationRegistry<string>((key) => {
  if (interned.get(key)?.deref() === undefined) interned.delete(key);
});

/** What a type takes with its entry here, about, beside its key, and what each of its fields does. */
const typeBytes = 1024;
const fieldBytes = 64;
const intern = <T extends Type>(key: string, make: (id: number) => T, fields = 0): T => {
  const found = interned.get(key)?.deref();
  if (found) return found as T;
  charge(typeBytes + key.length + fields * fieldBytes, 'a value of many types');
  const type = make(nextId++);
  interned.set(key, new WeakRef<Type>(type));
  forgotten.register(type, key);
  return type;
};

/**
 * A record type; `optional` defaults to false. Field names must be unique: the caller checks, since its error text
 * differs.
 */
export const recordType = (
  fields: readonly { readonly name: string; readonly type: Type; readonly optional?: boolean }[],
): RecordType => {
  let key = 'r';
  for (const f of fields) key += `${f.optional ? '?' : ','}${f.type.id}:${f.name.length}:${f.name}`;
  return intern(
    key,
    (id) => ({
      kind: 'record',
      id,
      fields: fields.map((f) => ({ name: f.name, type: f.type, optional: f.optional ?? false })),
    }),
    fields.length,
  );
};
/** The type `[element]`. */
export const arrayType = (element: Type): ArrayType =>
  intern(`a${element.id}`, (id) => ({ kind: 'array', id, element }));
/** The type `|[element]|`. */
export const setType = (element: Type): SetType => intern(`s${element.id}`, (id) => ({ kind: 'set', id, element }));
/** The type `|{key:value}|`. */
export const mapType = (key: Type, value: Type): MapType =>
  intern(`m${key.id}:${value.id}`, (id) => ({ kind: 'map', id, key, value }));
/** The type `error(inner)`. */
export const errorType = (inner: Type): ErrorType => intern(`e${inner.id}`, (id) => ({ kind: 'error', id, inner }));
/** The type `name=inner`. */
export const namedType = (name: string, inner: Type): NamedType =>
  intern(`n${inner.id}:${name}`, (id) => ({ kind: 'named', id, name, inner }));
/** The type `enum(symbols)`; the symbols are copied. */
export const enumType = (symbols: readonly string[]): EnumType =>
  intern(`y${symbols.map((s) => `${s.length}:${s}`).join(',')}`, (id) => ({ kind: 'enum', id, symbols: [...symbols] }));

/** The union of these members, stably sorted by type order; duplicates stay (model.md section 3). */
export const unionType = (members: readonly Type[]): UnionType => {
  const sorted = [...members].sort(compareTypes);
  return intern(`u${sorted.map((m) => m.id).join(',')}`, (id) => ({ kind: 'union', id, members: sorted }));
};

/** Places of the members of unions of many. */
const places = new WeakMap<UnionType, ReadonlyMap<Type, number>>();
const fewMembers = 16;
/** The place of a member in a union; -1: it is none. */
export const memberOf = (union: UnionType, member: Type): number => {
  if (union.members.length <= fewMembers) return union.members.indexOf(member);
  let known = places.get(union);
  if (!known) places.set(union, (known = new Map(union.members.map((m, i) => [m, i]))));
  return known.get(member) ?? -1;
};

/** One type for values of all of these: null for none, the type itself for one, else the union of the distinct ones. */
export const unionOfDistinct = (members: Iterable<Type>): Type => {
  const distinct = [...new Set(members)];
  return distinct.length === 0 ? types.null : distinct.length === 1 ? distinct[0]! : unionType(distinct);
};

/** The members of a union, any other type as the one of its own. */
export const membersOf = (t: Type): readonly Type[] => (t.kind === 'union' ? t.members : [t]);

/** `T|null`: adds null to a union, makes a union of anything else, leaves null and what already admits it. */
export const nullable = (type: Type): Type => {
  if (type === types.null) return type;
  if (type.kind !== 'union') return unionType([type, types.null]);
  return type.members.includes(types.null) ? type : unionType([...type.members, types.null]);
};

/** The type without its names (outermost only, repeated names too). */
export const underType = (type: Type): Exclude<Type, NamedType> => {
  let t = type;
  while (t.kind === 'named') t = t.inner;
  return t;
};

const kindOrder = { primitive: 0, record: 1, array: 2, set: 3, map: 4, union: 5, enum: 6, error: 7 } as const;

/** Types share their parts: the text of a small one, and a comparison, may be very long. */
let steps = 0;

/**
 * Type order: below 0, 0 or above 0. 0 only for the same type, save for optional flags, which do not count (model.md
 * section 6).
 */
export const compareTypes = (a: Type, b: Type): number => {
  if (a === b) return 0;
  checkStopAt(steps++);
  const x = underType(a);
  const y = underType(b);
  if (x === y) {
    if (a.kind !== 'named') return -1;
    if (b.kind !== 'named') return 1;
    return compareText(a.name, b.name) || compareTypes(a.inner, b.inner);
  }
  if (x.kind !== y.kind) return kindOrder[x.kind] - kindOrder[y.kind];
  return compareSameKind(x, y);
};

const compareSameKind = (x: Exclude<Type, NamedType>, y: Exclude<Type, NamedType>): number => {
  if (x.kind === 'primitive' && y.kind === 'primitive') return x.id - y.id;
  if (x.kind === 'record' && y.kind === 'record') return compareRecordTypes(x, y);
  if (x.kind === 'array' && y.kind === 'array') return compareTypes(x.element, y.element);
  if (x.kind === 'set' && y.kind === 'set') return compareTypes(x.element, y.element);
  if (x.kind === 'map' && y.kind === 'map') return compareTypes(x.key, y.key) || compareTypes(x.value, y.value);
  if (x.kind === 'error' && y.kind === 'error') return compareTypes(x.inner, y.inner);
  if (x.kind === 'union' && y.kind === 'union') {
    return x.members.length - y.members.length || firstDifference(x.members, y.members, compareTypes);
  }
  if (x.kind === 'enum' && y.kind === 'enum')
    return x.symbols.length - y.symbols.length || firstDifference(x.symbols, y.symbols, compareText);
  return 0;
};

const compareRecordTypes = (x: RecordType, y: RecordType): number =>
  x.fields.length - y.fields.length ||
  firstDifference(x.fields, y.fields, (f, g) => compareText(f.name, g.name)) ||
  firstDifference(x.fields, y.fields, (f, g) => compareTypes(f.type, g.type));

const firstDifference = <T>(x: readonly T[], y: readonly T[], compare: (a: T, b: T) => number): number => {
  for (let i = 0; i < x.length; i++) {
    const c = compare(x[i]!, y[i]!);
    if (c !== 0) return c;
  }
  return 0;
};

/** Whether fields are those of a row `(x, y)` of SQL, which has places for names: `c0`, `c1` and so on. */
export const hasPlaces = (fields: readonly { readonly name: string }[]): boolean =>
  fields.length > 0 && fields.every(({ name }, i) => name === `c${i}`);

/** Compares two texts by their UTF-8 bytes, which is code point order (UTF-16 order differs above U+FFFF). */
export const compareText = (a: string, b: string): number => {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if ((x >= 0xdc80 && x <= 0xdcff) || (y >= 0xdc80 && y <= 0xdcff)) return compareFrom(a, b, i);
    const xHigh = x >= 0xd800 && x <= 0xdfff;
    const yHigh = y >= 0xd800 && y <= 0xdfff;
    return xHigh === yHigh ? x - y : xHigh ? (y >= 0xe000 ? 1 : x - y) : x >= 0xe000 ? -1 : x - y;
  }
  return a.length - b.length;
};

/** Where they differ first, at `i`, a unit may stand for a byte that is no character (texts/codec.ts). */
const compareFrom = (a: string, b: string, i: number): number => {
  const from = i > 0 && (a.charCodeAt(i - 1) & 0xfc00) === 0xd800 ? i - 1 : i;
  return Buffer.compare(textToBytes(a.slice(from)), textToBytes(b.slice(from)));
};

const plainName = /^[\p{L}_$][\p{L}\p{Nd}_$]*$/u;
/** A field name, enum symbol or type name, quoted unless it is a plain identifier. */
export const quoteName = (name: string): string => (plainName.test(name) ? name : quoteText(name));

/** A string in SUP spelling: double quotes, the escapes of sup.md section 1. */
export const quoteText = (text: string): string => {
  // Most strings need no escape; the class test is cheaper than building.
  if (!/["\\\u0000-\u001f]/.test(text) && text.isWellFormed()) return `"${text}"`;
  const whole = text.toWellFormed();
  if (whole.length <= pieceLength) return `"${escaped(whole)}"`;
  // In pieces: a string made of one more character each time takes many times its length.
  const out: string[] = [];
  let length = 2;
  for (let at = 0; at < whole.length; at += pieceLength) {
    const piece = escaped(whole.slice(at, at + pieceLength));
    length += piece.length;
    chargeText(piece.length, quoted);
    out.push(piece);
  }
  chargeText(length, quoted);
  return `"${out.join('')}"`;
};
const pieceLength = 1 << 14;
/** What makes it, in errors. */
const quoted = 'a quoted string';
const escaped = (text: string): string =>
  text.replace(/["\\\u0000-\u001f]/g, (c) => escapes[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Longer texts are charged. */
const longText = 1 << 16;
/** What each name means at a place of a text. */
export type TypeNames = Map<string, Type>;

/**
 * SUP text of a type without the angle brackets: `{a:int64,b?:string|null}`. The first mention of a named type defines
 * it, as does a mention after the name got another meaning; `names` grows. A definition is in parentheses inside a
 * union; in a decorator that of a union is too, but in an error.
 */
export const typeText = (type: Type, names: TypeNames = new Map(), decorator = false): string => {
  checkStopAt(steps++);
  const inner = (t: Type): string => {
    const text = typeText(t, names, decorator);
    if (text.length > longText) chargeText(text.length, 'the text of a type');
    return text;
  };
  switch (type.kind) {
    case 'primitive':
      return type.name;
    case 'record':
      return `{${type.fields.map((f) => `${quoteName(f.name)}${f.optional ? '?' : ''}:${inner(f.type)}`).join(',')}}`;
    case 'array':
      return `[${inner(type.element)}]`;
    case 'set':
      return `|[${inner(type.element)}]|`;
    case 'map':
      return `|{${inner(type.key)}:${inner(type.value)}}|`;
    case 'union':
      return type.members
        .map((m) => {
          const parentheses =
            m.kind === 'union' ||
            (m.kind === 'named' && names.get(m.name) !== m && !(decorator && m.inner.kind === 'union'));
          return parentheses ? `(${inner(m)})` : inner(m);
        })
        .join('|');
    case 'enum':
      return `enum(${type.symbols.map(quoteName).join(',')})`;
    case 'error':
      return `error(${typeText(type.inner, names, decorator && type.inner.kind !== 'named')})`;
    case 'named': {
      if (names.get(type.name) === type) return decorator ? quoteReference(type.name) : quoteName(type.name);
      const text = `${quoteName(type.name)}=${inner(type.inner)}`;
      names.set(type.name, type);
      return decorator && type.inner.kind === 'union' ? `(${text})` : text;
    }
  }
};
/** A short name of hex digits alone could be read as part of an address. */
const quoteReference = (name: string): string => (/^[0-9a-fA-F]{1,4}$/.test(name) ? quoteText(name) : quoteName(name));

const signed: ReadonlySet<Type> = new Set([types.int8, types.int16, types.int32, types.int64]);
const unsigned: ReadonlySet<Type> = new Set([types.uint8, types.uint16, types.uint32, types.uint64]);
const floats: ReadonlySet<Type> = new Set([types.float16, types.float32, types.float64]);
/** int8 to int64, without duration and time. */
export const isSigned = (t: Type): boolean => signed.has(t);
/** uint8 to uint64. */
export const isUnsigned = (t: Type): boolean => unsigned.has(t);
/** int8 to uint64, without duration and time. */
export const isInteger = (t: Type): boolean => signed.has(t) || unsigned.has(t);
/** float16, float32 and float64. */
export const isFloat = (t: Type): boolean => floats.has(t);
/** Integers, floats, duration and time: what is kept in a number vector. */
export const isNumeric = (t: Type): boolean => isInteger(t) || isFloat(t) || t === types.duration || t === types.time;

/** Bits of an integer or float type. */
export const bitsOf = (t: Type): number => {
  const name = t.kind === 'primitive' ? t.name : '';
  const digits = /\d+$/.exec(name);
  return digits ? Number(digits[0]) : 64;
};
/** The type that holds the numbers of both: of whole numbers an integer, of any others a float64. */
export const commonNumber = (x: PrimitiveType, y: PrimitiveType): PrimitiveType => {
  if (x === y) return x;
  if (isFloat(x) || isFloat(y)) return types.float64;
  const wide = [x, y].toSorted((a, b) => bitsOf(b) - bitsOf(a))[0]!;
  if (isUnsigned(x) === isUnsigned(y)) return wide;
  const unsigned = bitsOf(isUnsigned(x) ? x : y);
  const signed = bitsOf(isUnsigned(x) ? y : x);
  if (signed > unsigned) return wide;
  return unsigned === 8 ? types.int16 : unsigned === 16 ? types.int32 : types.int64;
};
