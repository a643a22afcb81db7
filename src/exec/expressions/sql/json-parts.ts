/**
 * What JSON holds inside of it, as texts that are cast further: of a string what it says, where no JSON is wanted; of
 * all else its JSON.
 */
import type { SqlType } from '../../../query/sql/values/types.ts';
import { type Json, isJsonArray, isJsonObject, jsonText, parseJson } from '../json-text.ts';

/** A part, or null. */
type Part = string | null;

const partOf = (v: Json, type: SqlType): Part => {
  if (v === null) return null;
  return typeof v === 'string' && type.kind !== 'json' ? v : jsonText(v);
};
/** Whether parts of that type are JSON in their turn. */
export const holdsJson = ({ kind }: SqlType): boolean => kind === 'list' || kind === 'struct' || kind === 'map';

/** The elements of an array; undefined for all else. */
export const listOfJson = (text: string, element: SqlType): readonly Part[] | undefined => {
  const v = parseJson(text);
  return v !== undefined && isJsonArray(v) ? v.map((x) => partOf(x, element)) : undefined;
};
/** The fields of an object by their names, of the types that these have; undefined for all else. */
export const fieldsOfJson = (
  text: string,
  typeOf: (name: string) => SqlType | undefined,
): readonly (readonly [string, Part])[] | undefined => {
  const v = parseJson(text);
  if (v === undefined || !isJsonObject(v)) return undefined;
  return [...v].map(([name, x]) => [name, partOf(x, typeOf(name) ?? { kind: 'json' })] as const);
};
