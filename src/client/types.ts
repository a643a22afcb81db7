/**
 * The types of the values that a service answers with, as plain data.
 *
 * A record's type tells the order of its fields; a JavaScript object puts names that look like integers first.
 */

/** `int64`, `string`, `time` and so on. */
export interface PrimitiveType {
  readonly kind: 'primitive';
  readonly name: string;
}
/** A field of a record. `optional`: values may lack it. */
export interface FieldType {
  readonly name: string;
  readonly type: Type;
  readonly optional: boolean;
}
/** Fields in their order. */
export interface RecordType {
  readonly kind: 'record';
  readonly fields: readonly FieldType[];
}
/** `type`: of the elements. */
export interface ArrayType {
  readonly kind: 'array';
  readonly type: Type;
}
/** `type`: of the elements. */
export interface SetType {
  readonly kind: 'set';
  readonly type: Type;
}
/** Types of the keys and of the values. */
export interface MapType {
  readonly kind: 'map';
  readonly key: Type;
  readonly value: Type;
}
/** The types that a value may have. */
export interface UnionType {
  readonly kind: 'union';
  readonly types: readonly Type[];
}
/** The symbols in the order of their numbers. */
export interface EnumType {
  readonly kind: 'enum';
  readonly symbols: readonly string[];
}
/** `type`: of what the error holds. */
export interface ErrorType {
  readonly kind: 'error';
  readonly type: Type;
}
/** A name for another type. */
export interface NamedType {
  readonly kind: 'named';
  readonly name: string;
  readonly type: Type;
}
/** The type of a value. */
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

const plainName = /^[\p{L}_$][\p{L}\p{Nd}_$]*$/u;
/** A name as SUP writes it: bare, or quoted where it has to be. */
export const nameText = (name: string): string => (plainName.test(name) ? name : JSON.stringify(name));

/** The type as SUP writes it: `{a:int64,b?:[string]}`. */
export const typeText = (type: Type): string => {
  switch (type.kind) {
    case 'primitive':
      return type.name;
    case 'record':
      return `{${type.fields.map((f) => `${nameText(f.name)}${f.optional ? '?' : ''}:${typeText(f.type)}`).join(',')}}`;
    case 'array':
      return `[${typeText(type.type)}]`;
    case 'set':
      return `|[${typeText(type.type)}]|`;
    case 'map':
      return `|{${typeText(type.key)}:${typeText(type.value)}}|`;
    case 'union':
      return `(${type.types.map(typeText).join('|')})`;
    case 'enum':
      return `enum(${type.symbols.map(nameText).join(',')})`;
    case 'error':
      return `error(${typeText(type.type)})`;
    case 'named':
      return `${nameText(type.name)}=(${typeText(type.type)})`;
  }
};
