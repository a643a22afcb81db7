/**
 * Values and types as SUP text (reference/formats/sup.md sections 4 to 6).
 *
 * Invariants:
 * - The text of a top-level value stands alone: parsing it gives the value back, but for an empty container at top
 *   level, whose element type is printed only when it is not implied.
 * - A name is defined at its first use in a top-level value and referred to afterwards; the definition ends with the
 *   value unless the caller keeps the `names`.
 */
import {
  type Type,
  type TypeNames,
  type NamedType,
  type RecordType,
  types,
  underType,
  quoteName,
  quoteText,
  typeText,
} from '../type.ts';
import { chargeText, checkStopAt } from '../stop.ts';
import {
  type Data,
  type Value,
  entriesData,
  fieldsData,
  itemsData,
  memberData,
  numberData,
  stringData,
  typeData,
} from '../value.ts';
import { primitiveText } from '../literal.ts';

/** How SUP text is laid out, and what it may take as known. */
interface SupOptions {
  /** Blanks per level; 0 (default) is one line without blanks. */
  readonly indent?: number;
  /** Names that are defined already; grows. Default: none. */
  readonly names?: TypeNames;
  /** The value stands inside another: empty containers tell their type. Default false. */
  readonly nested?: boolean;
}
interface Context {
  readonly names: TypeNames;
  readonly indent: number;
}

/** The SUP text of a value, without a newline at the end. */
export const supText = (value: Value, options: SupOptions = {}): string =>
  described({ names: options.names ?? new Map(), indent: options.indent ?? 0 }, value.type, value.data, {
    level: 0,
    nested: options.nested ?? false,
  });

/** The SUP text of a type value without the angle brackets: `{a:int64,b?:string|null}`. */
export const supType = (type: Type): string => typeText(type);

/**
 * The decorator that follows the bare text of a value of that type: `::uint8`, `::(int64|string)`. Names that it
 * defines go into `names`.
 */
export const supDecorator = (type: Type, names: TypeNames): string => {
  const isDefinition = type.kind === 'named' && names.get(type.name) !== type && type.inner.kind !== 'union';
  const text = typeText(type, names, true);
  return type.kind === 'union' || isDefinition ? `::(${text})` : `::${text}`;
};

const plainTypeName = /^[\p{L}_$][\p{L}\p{Nd}_$.]*$/u;
const hexName = /^[0-9a-fA-F]{1,4}$/;
const definedName = (name: string): string => (plainTypeName.test(name) ? name : quoteText(name));
/** A short name of hex digits alone could be read as part of an address. */
const valueReferenceName = (name: string): string => (hexName.test(name) ? quoteText(name) : definedName(name));

const notImplied: ReadonlySet<Type> = new Set([
  types.uint8,
  types.uint16,
  types.uint32,
  types.uint64,
  types.int8,
  types.int16,
  types.int32,
  types.float16,
  types.float32,
]);
/** Whether the bare text of a value tells its type. */
export const isImplied = (type: Type): boolean => {
  switch (type.kind) {
    case 'primitive':
      return !notImplied.has(type);
    case 'record':
      return type.fields.every((f) => isImplied(f.type));
    case 'array':
    case 'set':
      return isImplied(type.element);
    case 'map':
      return isImplied(type.key) && isImplied(type.value);
    case 'error':
      return isImplied(type.inner);
    case 'union':
    case 'enum':
    case 'named':
      return false;
  }
};

/** The same for an empty container that stands alone: unions of its elements count as what they hold, but in maps. */
const isImpliedEmpty = (type: Type): boolean =>
  (type.kind === 'array' || type.kind === 'set') && type.element.kind === 'union'
    ? type.element.members.every(isImplied)
    : isImplied(type);

/** `nested`: inside another value. `known`: a name around it tells the type, so that leaves need no decorator. */
interface Place {
  readonly level: number;
  readonly nested: boolean;
  readonly known?: boolean;
}

/** The value with all decorators that it needs at this place. */
const described = (c: Context, type: Type, data: Data, place: Place): string => {
  switch (type.kind) {
    case 'primitive':
      return notImplied.has(type) && !place.known
        ? `${bare(c, type, data, place)}::${type.name}`
        : bare(c, type, data, place);
    case 'record':
    case 'error':
      return bare(c, type, data, place);
    case 'array':
    case 'set':
    case 'map': {
      const text = bare(c, type, data, place);
      return !place.known && needsDecorator(type, data, place.nested)
        ? text + containerDecorator(c, type, data, place.nested)
        : text;
    }
    case 'enum':
      return place.known
        ? bare(c, type, data, place)
        : `${bare(c, type, data, place)}::${typeText(type, c.names, true)}`;
    case 'union': {
      const member = memberData(data);
      const text = described(c, member.type, member.data, { level: place.level, nested: true });
      return text + supDecorator(type, c.names);
    }
    case 'named':
      return namedText(c, type, data, place);
  }
};

/**
 * An empty map of unions inside of another value says its type twice, as the reference does; reading it back gives the
 * same.
 */
const containerDecorator = (c: Context, type: Type, data: Data, nested: boolean): string => {
  const text = supDecorator(type, c.names);
  const unions =
    type.kind === 'map' && (underType(type.key).kind === 'union' || underType(type.value).kind === 'union');
  return nested && unions && (data as readonly unknown[]).length === 0 ? text + supDecorator(type, c.names) : text;
};

const namedText = (c: Context, type: NamedType, data: Data, place: Place): string => {
  const { inner, name } = type;
  if (place.known)
    return inner.kind === 'union'
      ? `${described(c, inner, data, { ...place, known: false })}`
      : bare(c, type, data, place);
  if (c.names.get(name) === type) {
    const text = unionBody(c, inner, data, { ...place, known: true });
    // A type value in it may have given the name another meaning.
    if (c.names.get(name) === type) return `${text}::${valueReferenceName(name)}`;
  }
  if (!selfDescribing(inner, data, place.nested)) {
    const text = unionBody(c, inner, data, place);
    return text + supDecorator(type, c.names);
  }
  const text = described(c, inner, data, place);
  c.names.set(name, type);
  return `${text}::=${definedName(name)}`;
};
/** The body under a name that says the type: a union's member still tells its own type. */
const unionBody = (c: Context, inner: Type, data: Data, place: Place): string => {
  if (inner.kind !== 'union') return bare(c, inner, data, place);
  const member = memberData(data);
  return described(c, member.type, member.data, { level: place.level, nested: true });
};

/** Whether the inner text of a named value tells the type, so that `::=name` suffices. */
const selfDescribing = (type: Type, data: Data, nested: boolean): boolean => {
  switch (type.kind) {
    case 'primitive':
      return !notImplied.has(type);
    case 'record':
    case 'error':
      return true;
    case 'array':
    case 'set':
    case 'map':
      return !needsDecorator(type, data, nested) && ((data as readonly unknown[]).length > 0 || isNulls(type));
    case 'union':
    case 'enum':
    case 'named':
      return false;
  }
};
const isNulls = (type: Type): boolean =>
  type.kind === 'map'
    ? type.key === types.null && type.value === types.null
    : (type.kind === 'array' || type.kind === 'set') && type.element === types.null;

const needsDecorator = (type: Type, data: Data, nested: boolean): boolean => {
  if ((data as readonly unknown[]).length === 0) return nested || !isImpliedEmpty(type);
  switch (type.kind) {
    case 'array':
    case 'set':
      return losesMembers(type.element, itemsData(data));
    case 'map': {
      const entries = entriesData(data);
      return (
        losesMembers(
          type.key,
          entries.map((e) => e[0]),
        ) ||
        losesMembers(
          type.value,
          entries.map((e) => e[1]),
        )
      );
    }
    default:
      return false;
  }
};
/** Whether the elements, printed without their union, do not tell the whole union. */
const losesMembers = (element: Type, items: readonly Data[]): boolean => {
  if (element.kind === 'named') return underType(element).kind === 'union';
  if (element.kind !== 'union') return false;
  const seen = new Set(items.map((d) => memberData(d).type));
  return seen.size !== element.members.length || !element.members.every((m) => seen.has(m));
};

/** The text without the decorator of the value itself. */
const bare = (c: Context, type: Type, data: Data, place: Place): string => {
  switch (type.kind) {
    case 'primitive':
      if (type === types.string) return quoteText(stringData(data));
      if (type === types.type) return typeValueText(c, typeData(data), place.level);
      return primitiveText(type, data);
    case 'record':
      return recordText(c, type, fieldsData(data), place);
    case 'array':
      return listText(c, '[', ']', elementTexts(c, type.element, itemsData(data), place), place.level);
    case 'set':
      return listText(c, '|[', ']|', elementTexts(c, type.element, itemsData(data), place), place.level);
    case 'map':
      return mapText(c, type.key, type.value, entriesData(data), place);
    case 'error':
      return `error(${described(c, type.inner, data, { ...place, nested: true })})`;
    case 'enum':
      return quoteText(underEnum(type, numberData(data)));
    case 'named':
      return bare(c, type.inner, data, place);
    case 'union':
      return described(c, memberData(data).type, memberData(data).data, { level: place.level, nested: true });
  }
};
/**
 * Names are defined again within a type value; what they meant before is forgotten where they mean something else
 * there.
 */
const typeValueText = (c: Context, type: Type, level: number): string => {
  const names: TypeNames = new Map();
  const text = typeText(type, names);
  for (const [name, meaning] of names) if (c.names.get(name) !== meaning) c.names.delete(name);
  return `<${c.indent > 0 ? prettyType(c, type, level) : text}>`;
};
const underEnum = (type: { readonly symbols: readonly string[] }, index: number): string => type.symbols[index] ?? '';

/** A loop: values nest as deep as the stack just allows. */
const elementTexts = (c: Context, element: Type, items: readonly Data[], place: Place): string[] => {
  const texts: string[] = [];
  for (let i = 0; i < items.length; i++) {
    checkStopAt(i);
    texts.push(elementText(c, element, items[i]!, place));
  }
  return texts;
};

/** An element of an array, set or map: of a union only the member is told; where a name is around the container too. */
const elementText = (c: Context, type: Type, data: Data, place: Place): string => {
  const at: Place = { level: place.level + 1, nested: true, known: place.known ?? false };
  const under = type.kind === 'named' ? underType(type) : type;
  if (under.kind === 'union')
    return described(c, memberData(data).type, memberData(data).data, { ...at, known: false });
  return described(c, type, data, at);
};

const recordText = (c: Context, type: RecordType, data: readonly (Data | undefined)[], place: Place): string => {
  const at: Place = { level: place.level + 1, nested: true, known: place.known ?? false };
  const blank = c.indent > 0 ? ' ' : '';
  const fields: string[] = [];
  for (let i = 0; i < type.fields.length; i++) {
    const f = type.fields[i]!;
    const d = data[i];
    const value = d === undefined ? `_${supDecorator(f.type, c.names)}` : described(c, f.type, d, at);
    fields.push(`${quoteName(f.name)}${f.optional ? '?' : ''}:${blank}${value}`);
  }
  return listText(c, '{', '}', fields, place.level);
};

const mapText = (
  c: Context,
  key: Type,
  value: Type,
  entries: readonly (readonly [Data, Data])[],
  place: Place,
): string => {
  if (entries.length === 0 && c.indent > 0) return `|{${newline(c, place.level)}}|`;
  const texts: string[] = [];
  // A loop: values nest as deep as the stack just allows.
  for (const [k, v] of entries) {
    const keyText = elementText(c, key, k, place);
    const valueText = elementText(c, value, v, place);
    // The colon behind an IPv6 address would be read as part of it, and hex digits before an address as its beginning.
    const apart = /^[0-9a-fA-F:.]*$/.test(keyText) && (keyText.includes(':') || /^[0-9a-fA-F]*:/.test(valueText));
    texts.push(`${keyText}${apart ? ' ' : ''}:${c.indent > 0 ? ' ' : ''}${valueText}`);
  }
  return listText(c, '|{', '}|', texts, place.level);
};

const newline = (c: Context, level: number): string => `\n${' '.repeat(c.indent * level)}`;
/** Longer texts are charged. */
const longText = 1 << 16;
const listText = (c: Context, open: string, close: string, items: readonly string[], level: number): string => {
  if (items.length === 0) return open + close;
  let size = 0;
  for (const item of items) size += item.length + 1;
  if (size > longText) chargeText(size, 'SUP text');
  if (c.indent === 0) return open + items.join(',') + close;
  const line = newline(c, level + 1);
  return `${open}${line}${items.join(`,${line}`)}${newline(c, level)}${close}`;
};

/**
 * A type value over several lines: records and unions one component a line; what arrays, sets and maps hold has a line
 * of its own unless it is primitive.
 */
const prettyType = (c: Context, type: Type, level: number): string => {
  const names: TypeNames = new Map();
  const print = (t: Type, at: number): string => {
    switch (t.kind) {
      case 'record':
        return listText(
          c,
          '{',
          '}',
          t.fields.map((f) => `${quoteName(f.name)}${f.optional ? '?' : ''}: ${print(f.type, at + 1)}`),
          at,
        );
      case 'array':
        return held('[', ']', [t.element], at);
      case 'set':
        return held('|[', ']|', [t.element], at);
      case 'map':
        return held('|{', '}|', [t.key, t.value], at);
      case 'error':
        return `error(${print(t.inner, at)})`;
      case 'union': {
        const line = newline(c, at + 1);
        const members = t.members.map((m) => {
          const parenthesised = m.kind === 'union' || (m.kind === 'named' && names.get(m.name) !== m);
          const text = print(m, at + 1);
          return parenthesised ? `(${text})` : text;
        });
        return `${line}${members.join(`|${line}`)}${newline(c, at)}`;
      }
      case 'named': {
        if (names.get(t.name) === t) return typeText(t, names);
        const inner = print(t.inner, at);
        names.set(t.name, t);
        return `${quoteName(t.name)}=${inner}`;
      }
      default:
        return typeText(t, names);
    }
  };
  const held = (open: string, close: string, parts: readonly Type[], at: number): string => {
    const isShort = parts.every((t) => t.kind === 'primitive');
    const text = parts.map((t) => print(t, at + 1)).join(': ');
    return isShort ? open + text + close : listText(c, open, close, [text], at);
  };
  return print(type, level);
};
