/**
 * Values under a decorator (`::T`): whether they can take its type, and their data then (reference/formats/sup.md
 * section 3).
 */
import { type RecordType, type Type, isFloat, isInteger, isUnsigned, typeText, types } from '../type.ts';
import {
  type Data,
  type Value,
  canonicalMap,
  canonicalSet,
  entriesData,
  fieldsData,
  itemsData,
  memberData,
  numberData,
  numericData,
  stringData,
} from '../value.ts';
import { fitsInt64, fitsInteger, plainFloatText, roundFloat } from '../literal.ts';
import { SupError } from './error.ts';

const mismatch = (from: Type, to: Type): never => {
  throw new SupError(`type mismatch: "${typeText(from)}" cannot be used as "${typeText(to)}"`);
};

/**
 * Data of an already decorated value under a further decorator: its type must be that type, a member of the union or
 * inside the name.
 */
export const adoptTyped = (value: Value, type: Type): Data => {
  if (value.type === type) return value.data;
  if (type.kind === 'union') return unionData(value, type);
  if (type.kind === 'named') return adoptTyped(value, type.inner);
  throw new SupError(
    `decorator conflict enclosing context "${typeText(type)}" and decorator cast "${typeText(value.type)}"`,
  );
};
const unionData = (value: Value, type: Type & { readonly kind: 'union' }): Data => {
  if (!type.members.includes(value.type))
    throw new SupError(`type "${typeText(value.type)}" is not in union type "${typeText(type)}"`);
  return value;
};

/** Data of a literal whose parts take the types that the decorator names. */
export const adoptLiteral = (from: Type, data: Data, type: Type): Data => {
  if (from === type) return data;
  switch (type.kind) {
    case 'named':
      return adoptLiteral(from, data, type.inner);
    case 'union':
      return unionData({ type: from, data }, type);
    case 'primitive':
      return adoptPrimitive(from, data, type);
    case 'enum': {
      if (from !== types.string) return mismatch(from, type);
      const index = type.symbols.indexOf(stringData(data));
      if (index < 0) throw new SupError(`symbol "${stringData(data)}" not a member of ${typeText(type)}`);
      return index;
    }
    case 'error':
      return from.kind === 'error' ? adoptLiteral(from.inner, data, type.inner) : mismatch(from, type);
    case 'array':
      if (from.kind !== 'array') return mismatch(from, type);
      return itemsData(data).map((d) => adoptElement(from.element, d, type.element));
    case 'set':
      if (from.kind !== 'set') return mismatch(from, type);
      return canonicalSet(
        type.element,
        itemsData(data).map((d) => adoptElement(from.element, d, type.element)),
      );
    case 'map':
      if (from.kind !== 'map') return mismatch(from, type);
      return canonicalMap(
        type.key,
        entriesData(data).map(
          ([k, v]) => [adoptElement(from.key, k, type.key), adoptElement(from.value, v, type.value)] as const,
        ),
      );
    case 'record':
      return from.kind === 'record' ? adoptRecord(from, fieldsData(data), type) : mismatch(from, type);
  }
};
/** Elements of unlike types were put under a union when the literal was read: their own types count. */
const adoptElement = (from: Type, data: Data, type: Type): Data => {
  if (from.kind !== 'union' || from === type) return adoptLiteral(from, data, type);
  const member = memberData(data);
  return adoptLiteral(member.type, member.data, type);
};
const adoptRecord = (from: RecordType, data: readonly (Data | undefined)[], type: RecordType): (Data | undefined)[] => {
  if (from.fields.length !== type.fields.length) {
    throw new SupError(
      `record decorator fields (${type.fields.length}) mismatched with value fields (${from.fields.length})`,
    );
  }
  return data.map((d, i) => {
    const field = type.fields[i]!;
    if (d !== undefined) return adoptLiteral(from.fields[i]!.type, d, field.type);
    if (!field.optional) throw new SupError(`_ cannot appear in non-optional field "${field.name}"`);
    return undefined;
  });
};
const adoptPrimitive = (from: Type, data: Data, type: Type): Data => {
  if (isInteger(from) && isInteger(type)) {
    if (isUnsigned(type) && numericData(data) < 0) throw new SupError(`invalid unsigned integer: ${String(data)}`);
    if (!isUnsigned(type) && !fitsInt64(numericData(data))) throw new SupError(`invalid integer: ${String(data)}`);
    if (!fitsInteger(type, numericData(data)))
      throw new SupError(`invalid integer: ${String(data)} is no ${typeText(type)}`);
    return data;
  }
  if (isInteger(from) && isFloat(type)) return fitting(type, Number(data));
  if (isFloat(from) && isFloat(type)) return fitting(type, numberData(data));
  return mismatch(from, type);
};
const fitting = (type: Type, x: number): number => {
  const rounded = roundFloat(type, x);
  if (Number.isFinite(x) && !Number.isFinite(rounded))
    throw new SupError(`invalid floating point: ${plainFloatText(x)}`);
  return rounded;
};
