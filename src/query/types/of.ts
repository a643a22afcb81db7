/**
 * Static types: what is known about values before a query runs.
 *
 * Invariants:
 * - `unknownType` stands for "could be anything" and may sit inside records, arrays and so on. It never leaves this
 *   folder: plans, catalogs and users see only types without it.
 * - The type of a stream is the fusion of the types of its values (model.md section 8), so it says what may come, never
 *   what must.
 */
import { fieldPlace } from '../../vectors/field-places.ts';
import { fuseTypes } from '../../vectors/fuse.ts';
import { isLongDecimal } from '../../vectors/decimal.ts';
import { areIntervals, dateType, decimalType, isToldText, sqlTypeOfName } from '../sql/values/types.ts';
import {
  type PrimitiveType,
  type RecordField,
  type RecordType,
  type Type,
  arrayType,
  isFloat,
  isInteger,
  mapType,
  namedType,
  recordType,
  setType,
  types,
  underType,
  unionOfDistinct,
  unionType,
  membersOf,
} from '../../vectors/type.ts';

/** Could be anything. */
export const unknownType: Type = namedType('\u0000unknown', types.null);

const unknownInside = new WeakMap<Type, boolean>([[unknownType, true]]);
/** True if the type is not wholly known. */
export const hasUnknown = (t: Type): boolean => {
  let found = unknownInside.get(t);
  if (found === undefined) unknownInside.set(t, (found = componentsOf(t).some(hasUnknown)));
  return found;
};
/** What a type is made of, one level down. */
export const componentsOf = (t: Type): readonly Type[] => {
  switch (t.kind) {
    case 'primitive':
    case 'enum':
      return [];
    case 'record':
      return t.fields.map((f) => f.type);
    case 'array':
    case 'set':
      return [t.element];
    case 'map':
      return [t.key, t.value];
    case 'union':
      return t.members;
    case 'error':
    case 'named':
      return [t.inner];
  }
};

/**
 * The type as that of records whose every part is of one type or null; undefined if it is not wholly known, or leaves a
 * choice. All fields are optional, since what is known says what may come, never what must.
 */
export const definiteRecord = (t: Type): RecordType | undefined => {
  const record = bare(t);
  return record.kind === 'record' && !hasUnknown(record) && !hasChoice(record) ? optionalFields(record) : undefined;
};
const optionalFields = (t: RecordType): RecordType =>
  recordType(
    t.fields.map((f) => ({
      name: f.name,
      type: f.type.kind === 'record' ? optionalFields(f.type) : f.type,
      optional: true,
    })),
  );
const hasChoice = (t: Type): boolean =>
  (t.kind === 'union' && t.members.filter((m) => m !== types.null).length > 1) || componentsOf(t).some(hasChoice);

/** The type without names; names around the unknown stay. */
export const bare = (t: Type): Type => (t === unknownType ? t : underType(t));

/** The types that a value may have: members of unions, names removed. */
export const alternatives = (t: Type): readonly Type[] => {
  if (isLongDecimal(t)) return [types.float64];
  const u = bare(t);
  return u.kind === 'union' ? u.members.flatMap(alternatives) : [u];
};

/** Fusion of two types; the unknown swallows what it cannot be told apart from. */
export const fuseKnown = (a: Type, b: Type): Type => {
  if (a === b) return a;
  const told = fuseTold(a, b);
  if (told) return told;
  if (!hasUnknown(a) && !hasUnknown(b) && !hasTold(a) && !hasTold(b)) return fuseTypes(a, b);
  const x = bare(a);
  const y = bare(b);
  if (x.kind === 'record' && y.kind === 'record') return fuseRecords(x, y);
  if (x.kind === 'array' && y.kind === 'array') return arrayType(fuseKnown(x.element, y.element));
  if (x.kind === 'set' && y.kind === 'set') return setType(fuseKnown(x.element, y.element));
  if (x.kind === 'map' && y.kind === 'map') return mapType(fuseKnown(x.key, y.key), fuseKnown(x.value, y.value));
  return hasUnknown(a) || hasUnknown(b) ? unknownType : fuseTypes(a, b);
};
const toldInside = new WeakMap<Type, boolean>();
/** Whether there are decimals, dates, or texts that are known to be more. */
const hasTold = (t: Type): boolean => {
  let found = toldInside.get(t);
  if (found === undefined) toldInside.set(t, (found = isTold(t) || componentsOf(t).some(hasTold)));
  return found;
};
const isTold = (t: Type): boolean => t === dateType || scaleOfType(t) !== undefined || isToldText(t);
const scaleOfType = (t: Type): number | undefined => {
  const known = t.kind === 'named' ? sqlTypeOfName(t.name) : undefined;
  return known?.kind === 'decimal' ? known.scale : undefined;
};
/**
 * Decimals, of which some may be null, have the places of the one that has most, and texts of one kind stay what they
 * are; undefined for all else.
 */
const fuseTold = (a: Type, b: Type): Type | undefined => {
  const members = [a, b].flatMap(membersOf);
  const given = members.filter((m) => m !== types.null && !isLongDecimal(m));
  const [first] = given;
  if (first && isToldText(first) && given.every((m) => m === first))
    return members.includes(types.null) ? unionType([first, types.null]) : first;
  const scales = given.map(scaleOfType);
  if (given.length === 0 || scales.includes(undefined)) return undefined;
  const type = decimalType(Math.max(...scales.map((s) => s ?? 0)));
  return members.includes(types.null) ? unionType([type, types.null]) : type;
};
/** Of which kind texts are together that are known to be more, or null; undefined for all else. */
export const toldOf = (list: readonly Type[]): Type | undefined => {
  const given = list.flatMap(membersOf).filter((m) => m !== types.null);
  const [first] = given;
  return first && isToldText(first) && given.every((m) => m === first) ? first : undefined;
};
/** Whether all of these are dates by their names, or null, and one is none. */
export const areDates = (list: readonly Type[]): boolean => {
  const members = list.flatMap(membersOf).filter((m) => m !== types.null);
  return members.length > 0 && members.every((m) => m.kind === 'named' && sqlTypeOfName(m.name)?.kind === 'date');
};
/**
 * The type as users see it: that decimals are more than floats, dates more than times and some texts more than texts,
 * the analysis alone knows.
 */
export const withoutTold = (t: Type): Type => {
  if (isLongDecimal(t)) return types.float64;
  if (!hasTold(t)) return t;
  switch (t.kind) {
    case 'named':
      return isTold(t) ? t.inner : t;
    case 'record':
      return recordType(t.fields.map((f) => ({ ...f, type: withoutTold(f.type) })));
    case 'array':
      return arrayType(withoutTold(t.element));
    case 'set':
      return setType(withoutTold(t.element));
    case 'map':
      return mapType(withoutTold(t.key), withoutTold(t.value));
    case 'union':
      return unionOfDistinct(t.members.map(withoutTold));
    case 'primitive':
    case 'enum':
    case 'error':
      return t;
  }
};
const fuseRecords = (x: RecordType, y: RecordType): RecordType => {
  const fields: RecordField[] = x.fields.map((f) => {
    const other = y.fields[fieldPlace(y.fields, f.name)];
    return other
      ? { name: f.name, type: fuseKnown(f.type, other.type), optional: f.optional || other.optional }
      : { ...f, optional: true };
  });
  for (const g of y.fields) if (fieldPlace(x.fields, g.name) < 0) fields.push({ ...g, optional: true });
  return recordType(fields);
};
/** Fusion of many; the unknown for none. */
export const fuseAll = (list: readonly Type[]): Type => (list.length === 0 ? unknownType : list.reduce(fuseKnown));

/** One type or the other, records not fused: what an expression with two outcomes has. */
export const either = (a: Type, b: Type): Type => {
  if (a === b) return a;
  if (a === unknownType || b === unknownType || hasUnknown(a) || hasUnknown(b)) return unknownType;
  const told = fuseTold(a, b);
  if (told) return told;
  const members = new Set([...withNames(a), ...withNames(b)]);
  return members.size === 1 ? [...members][0] : unionType([...members]);
};

/** The alternatives, of which decimals, told texts and intervals keep their names. */
const withNames = (t: Type): readonly Type[] => {
  if (t.kind === 'union') return t.members.flatMap(withNames);
  return isTold(t) || areIntervals(t) ? [t] : alternatives(t);
};

/** The type or null; decimals stay what they are. */
export const orNull = (t: Type): Type => {
  if (t === types.null || hasUnknown(t)) return t === types.null ? t : unknownType;
  return unionType([...new Set([...membersOf(t), types.null])]);
};
/** The type of a column that has numbers of one type, or null, alone. */
export const numberIn = (t: Type | undefined): PrimitiveType | undefined => {
  const [only, another] = t ? new Set(alternatives(t).filter((x) => x !== types.null)) : [];
  return only?.kind === 'primitive' &&
    !another &&
    (isFloat(only) || isInteger(only)) &&
    only !== types.time &&
    only !== types.duration
    ? only
    : undefined;
};

/**
 * The record among the alternatives, if the rows' type is known; `dynamic` if it is not; null if rows are known to be
 * no records.
 */
export const recordOf = (t: Type): RecordType | 'dynamic' | null => {
  let found: RecordType | null = null;
  for (const member of alternatives(t)) {
    if (member === unknownType) return 'dynamic';
    if (member.kind === 'record') found = found ? fuseRecords(found, member) : member;
  }
  return found;
};

/**
 * What one gets from a value of this type by `.name`: its type, or undefined if no alternative can have such a field.
 */
export const fieldType = (t: Type, name: string): Type | undefined => {
  let found: Type | undefined;
  for (const member of alternatives(t)) {
    const one = fieldOfOne(member, name);
    if (one) found = found ? either(found, one) : one;
  }
  return found;
};
const fieldOfOne = (t: Type, name: string): Type | undefined => {
  if (t === unknownType) return unknownType;
  switch (t.kind) {
    case 'record':
      return t.fields[fieldPlace(t.fields, name)]?.type;
    case 'map':
      return t.value;
    default:
      return undefined;
  }
};
