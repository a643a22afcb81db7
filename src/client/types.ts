/**
 * The types of the values that a service answers with, as plain data.
 *
 * A record's type tells the order of its fields; a JavaScript object puts names that look like integers first.
 */

export interface PrimitiveType { readonly kind: 'primitive'; readonly name: string }
export interface FieldType { readonly name: string; readonly type: Type; readonly optional: boolean }
export interface RecordType { readonly kind: 'record'; readonly fields: readonly FieldType[] }
export interface ArrayType { readonly kind: 'array'; readonly type: Type }
export interface SetType { readonly kind: 'set'; readonly type: Type }
export interface MapType { readonly kind: 'map'; readonly key: Type; readonly value: Type }
export interface UnionType { readonly kind: 'union'; readonly types: readonly Type[] }
export interface EnumType { readonly kind: 'enum'; readonly symbols: readonly string[] }
export interface ErrorType { readonly kind: 'error'; readonly type: Type }
export interface NamedType { readonly kind: 'named'; readonly name: string; readonly type: Type }
export type Type = PrimitiveType | RecordType | ArrayType | SetType | MapType | UnionType | EnumType | ErrorType | NamedType;

const plainName = /^[\p{L}_$][\p{L}\p{Nd}_$]*$/u;
/** A name as SUP writes it: bare, or quoted where it has to be. */
export const nameText = (name: string): string => (plainName.test(name) ? name : JSON.stringify(name));

/** The type as SUP writes it: `{a:int64,b?:[string]}`. */
export const typeText = (type: Type): string => {
  switch (type.kind) {
    case 'primitive': return type.name;
    case 'record': return `{${type.fields.map((f) => `${nameText(f.name)}${f.optional ? '?' : ''}:${typeText(f.type)}`).join(',')}}`;
    case 'array': return `[${typeText(type.type)}]`;
    case 'set': return `|[${typeText(type.type)}]|`;
    case 'map': return `|{${typeText(type.key)}:${typeText(type.value)}}|`;
    case 'union': return `(${type.types.map(typeText).join('|')})`;
    case 'enum': return `enum(${type.symbols.map(nameText).join(',')})`;
    case 'error': return `error(${typeText(type.type)})`;
    case 'named': return `${nameText(type.name)}=(${typeText(type.type)})`;
  }
};
