/**
 * The shape of a block: which columns there are and how they nest. Blocks of the same shape share one layout, so that
 * names and types are stored once an object.
 *
 * Invariants:
 * - Layouts have only the forms that hold rows themselves; constant and dictionary are encodings of a column in a
 *   block.
 * - A column without rows has the layout `empty`: its type alone.
 */
import assert from 'node:assert';
import {
  type Type,
  type PrimitiveType,
  type EnumType,
  type ArrayType,
  type SetType,
  type MapType,
  type UnionType,
  primitiveOfId,
  recordType,
  arrayType,
  setType,
  mapType,
  unionType,
  enumType,
  errorType,
  namedType,
  types,
  underType,
} from '../../vectors/type.ts';
import { fuseAll } from '../../vectors/fuse.ts';
import { extentOf, levelsMax } from '../../vectors/type-limits.ts';
import { ByteWriter } from '../../vectors/value.ts';
import type { ByteReader } from './byte-reader.ts';

/** A field of a record's layout. */
interface FieldLayout {
  readonly name: string;
  readonly optional: boolean;
  readonly values: Layout;
}
/** How the values of a column are laid out, by form. The `members` of a union are in the order of its type. */
export type Layout =
  | { readonly form: 'empty'; readonly type: Type }
  | { readonly form: 'number' | 'bytes'; readonly type: PrimitiveType }
  | { readonly form: 'bool' | 'null' | 'type' }
  | { readonly form: 'enum'; readonly type: EnumType }
  | { readonly form: 'record'; readonly fields: readonly FieldLayout[] }
  | { readonly form: 'list'; readonly type: ArrayType | SetType; readonly items: Layout }
  | { readonly form: 'map'; readonly type: MapType; readonly keys: Layout; readonly values: Layout }
  | { readonly form: 'union'; readonly type: UnionType; readonly members: readonly Layout[] }
  | { readonly form: 'dynamic'; readonly parts: readonly Layout[] }
  | { readonly form: 'error'; readonly inner: Layout }
  | { readonly form: 'named'; readonly name: string; readonly inner: Layout };

const formCodes = {
  empty: 0,
  number: 1,
  bytes: 2,
  bool: 3,
  null: 4,
  type: 5,
  enum: 6,
  record: 7,
  list: 8,
  map: 9,
  union: 10,
  dynamic: 11,
  error: 12,
  named: 13,
} as const satisfies Record<Layout['form'], number>;
const formOfCode = new Map(Object.entries(formCodes).map(([form, code]) => [code as number, form as Layout['form']]));

/**
 * The types that an object mentions, each once; parts of a type come before it. Primitive types have their wire ids,
 * others count from 30.
 */
export class TypeTable {
  private readonly numbers = new Map<Type, number>();
  readonly out = new ByteWriter();
  get count(): number {
    return this.numbers.size;
  }

  /** The number of a type; defines it first if it is new. */
  number(type: Type): number {
    if (type.kind === 'primitive') return type.id;
    const known = this.numbers.get(type);
    if (known !== undefined) return known;
    const definition = new ByteWriter();
    this.define(definition, type);
    this.out.raw(definition.done());
    const number = 30 + this.numbers.size;
    this.numbers.set(type, number);
    return number;
  }

  private define(out: ByteWriter, type: Exclude<Type, PrimitiveType>): void {
    switch (type.kind) {
      case 'record': {
        const fields = type.fields.map((f) => this.number(f.type));
        out.byte(0);
        out.uvarint(fields.length);
        type.fields.forEach((f, i) => {
          out.text(f.name);
          out.byte(f.optional ? 1 : 0);
          out.uvarint(fields[i]);
        });
        return;
      }
      case 'array':
        return this.wrap(out, 1, [type.element]);
      case 'set':
        return this.wrap(out, 2, [type.element]);
      case 'map':
        return this.wrap(out, 3, [type.key, type.value]);
      case 'union': {
        const members = type.members.map((m) => this.number(m));
        out.byte(4);
        out.uvarint(members.length);
        for (const m of members) out.uvarint(m);
        return;
      }
      case 'enum':
        out.byte(5);
        out.uvarint(type.symbols.length);
        for (const s of type.symbols) out.text(s);
        return;
      case 'error':
        return this.wrap(out, 6, [type.inner]);
      case 'named':
        this.wrap(out, 7, [type.inner]);
        return out.text(type.name);
    }
  }
  private wrap(out: ByteWriter, code: number, inner: readonly Type[]): void {
    const numbers = inner.map((t) => this.number(t));
    out.byte(code);
    for (const n of numbers) out.uvarint(n);
  }
}

/** Reads `count` type definitions; answers the look-up by number. */
export const readTypes = (input: ByteReader, count: number): ((number: number) => Type) => {
  const table: Type[] = [];
  const typeOf = (number: number): Type => {
    const type = number < 30 ? primitiveOfId(number) : table[number - 30];
    if (!type) throw new Error(`no type ${number}`);
    return type;
  };
  for (let i = 0; i < count; i++) table.push(readType(input, typeOf));
  return typeOf;
};
const readType = (input: ByteReader, typeOf: (number: number) => Type): Type => {
  const code = input.byte();
  switch (code) {
    case 0:
      return recordType(
        input.list(() => ({ name: input.text(), optional: input.byte() === 1, type: typeOf(input.uvarint()) })),
      );
    case 1:
      return arrayType(typeOf(input.uvarint()));
    case 2:
      return setType(typeOf(input.uvarint()));
    case 3: {
      const key = typeOf(input.uvarint());
      return mapType(key, typeOf(input.uvarint()));
    }
    case 4:
      return unionType(input.list(() => typeOf(input.uvarint())));
    case 5:
      return enumType(input.list(() => input.text()));
    case 6:
      return errorType(typeOf(input.uvarint()));
    case 7: {
      const inner = typeOf(input.uvarint());
      return namedType(input.text(), inner);
    }
    default:
      throw new Error(`no kind of type ${code}`);
  }
};

/** Levels of values within values, as `extentOf` counts them. It goes no further than some beyond the limit. */
export const levelsOf = (layout: Layout, above = 0): number => {
  if (above > levelsMax) return 1;
  // Each load asks: nothing is made for it.
  let inner = 0;
  switch (layout.form) {
    case 'record':
      for (const f of layout.fields) inner = Math.max(inner, levelsOf(f.values, above + 1));
      return 1 + inner;
    case 'list':
      return 1 + levelsOf(layout.items, above + 1);
    case 'map':
      return 1 + Math.max(levelsOf(layout.keys, above + 1), levelsOf(layout.values, above + 1));
    case 'union':
      for (const m of layout.members) inner = Math.max(inner, levelsOf(m, above + 1));
      return 1 + inner;
    case 'dynamic':
      for (const p of layout.parts) inner = Math.max(inner, levelsOf(p, above + 1));
      return inner;
    case 'error':
    case 'named':
      return 1 + levelsOf(layout.inner, above + 1);
    default:
      return 'type' in layout ? extentOf(layout.type).depth : 0;
  }
};

/** Appends a layout. */
export const writeLayout = (out: ByteWriter, layout: Layout, types: TypeTable): void => {
  out.byte(formCodes[layout.form]);
  switch (layout.form) {
    case 'bool':
    case 'null':
    case 'type':
      return;
    case 'empty':
    case 'number':
    case 'bytes':
    case 'enum':
      return out.uvarint(types.number(layout.type));
    case 'record':
      out.uvarint(layout.fields.length);
      for (const f of layout.fields) {
        out.text(f.name);
        out.byte(f.optional ? 1 : 0);
        writeLayout(out, f.values, types);
      }
      return;
    case 'list':
      out.uvarint(types.number(layout.type));
      return writeLayout(out, layout.items, types);
    case 'map':
      out.uvarint(types.number(layout.type));
      writeLayout(out, layout.keys, types);
      return writeLayout(out, layout.values, types);
    case 'union':
      out.uvarint(types.number(layout.type));
      for (const m of layout.members) writeLayout(out, m, types);
      return;
    case 'dynamic':
      out.uvarint(layout.parts.length);
      for (const p of layout.parts) writeLayout(out, p, types);
      return;
    case 'error':
      return writeLayout(out, layout.inner, types);
    case 'named':
      out.text(layout.name);
      return writeLayout(out, layout.inner, types);
  }
};

/** The layout that `writeLayout` wrote. Anything else fails an assertion. */
export const readLayout = (input: ByteReader, typeOf: (number: number) => Type): Layout => {
  const form = formOfCode.get(input.byte());
  const type = <K extends Type['kind']>(...kinds: readonly K[]): Extract<Type, { kind: K }> => {
    const found = typeOf(input.uvarint());
    assert((kinds as readonly string[]).includes(found.kind));
    return found as Extract<Type, { kind: K }>;
  };
  switch (form) {
    case undefined:
      throw new Error('no such form of column');
    case 'bool':
    case 'null':
    case 'type':
      return { form };
    case 'empty':
      return { form, type: typeOf(input.uvarint()) };
    case 'number':
    case 'bytes':
      return { form, type: type('primitive') };
    case 'enum':
      return { form, type: type('enum') };
    case 'record':
      return {
        form,
        fields: input.list(() => ({
          name: input.text(),
          optional: input.byte() === 1,
          values: readLayout(input, typeOf),
        })),
      };
    case 'list':
      return { form, type: type('array', 'set'), items: readLayout(input, typeOf) };
    case 'map':
      return { form, type: type('map'), keys: readLayout(input, typeOf), values: readLayout(input, typeOf) };
    case 'union': {
      const union = type('union');
      return { form, type: union, members: union.members.map(() => readLayout(input, typeOf)) };
    }
    case 'dynamic':
      return { form, parts: input.list(() => readLayout(input, typeOf)) };
    case 'error':
      return { form, inner: readLayout(input, typeOf) };
    case 'named':
      return { form, name: input.text(), inner: readLayout(input, typeOf) };
  }
};

/** The type of the rows of a layout; where rows are of several types, their fusion. */
export const typeOfLayout = (layout: Layout): Type => {
  switch (layout.form) {
    case 'bool':
    case 'null':
    case 'type':
      return types[layout.form];
    case 'empty':
    case 'number':
    case 'bytes':
    case 'enum':
    case 'list':
    case 'map':
    case 'union':
      return layout.type;
    case 'record':
      return recordType(
        layout.fields.map((f) => ({ name: f.name, type: typeOfLayout(f.values), optional: f.optional })),
      );
    case 'dynamic':
      return fuseAll(layout.parts.map(typeOfLayout))!;
    case 'error':
      return errorType(typeOfLayout(layout.inner));
    case 'named':
      return namedType(layout.name, typeOfLayout(layout.inner));
  }
};

/** Calls `visit` for the fields of the records among the rows of a layout, by name and type: no record's type is made. */
export const visitFields = (layout: Layout, visit: (name: string, type: Type) => void): void => {
  switch (layout.form) {
    case 'record':
      for (const f of layout.fields) visit(f.name, typeOfLayout(f.values));
      return;
    case 'dynamic':
      for (const p of layout.parts) visitFields(p, visit);
      return;
    case 'named':
      return visitFields(layout.inner, visit);
    case 'union':
    case 'empty':
      return visitTypeFields(layout.type, visit);
    default:
      return;
  }
};
const visitTypeFields = (type: Type, visit: (name: string, type: Type) => void): void => {
  const under = underType(type);
  if (under.kind === 'record') for (const f of under.fields) visit(f.name, f.type);
  else if (under.kind === 'union') for (const m of under.members) visitTypeFields(m, visit);
};

/** Names a layout: equal texts mean equal layouts. */
export const layoutKey = (layout: Layout): string => {
  switch (layout.form) {
    case 'bool':
    case 'null':
    case 'type':
      return layout.form;
    case 'empty':
    case 'number':
    case 'bytes':
    case 'enum':
      return `${layout.form}${layout.type.id}`;
    case 'record':
      return `{${layout.fields.map((f) => `${f.optional ? '?' : ','}${f.name.length}:${f.name}${layoutKey(f.values)}`).join('')}}`;
    case 'list':
      return `[${layout.type.id}:${layoutKey(layout.items)}]`;
    case 'map':
      return `|${layout.type.id}:${layoutKey(layout.keys)}:${layoutKey(layout.values)}|`;
    case 'union':
      return `u${layout.type.id}(${layout.members.map(layoutKey).join()})`;
    case 'dynamic':
      return `d(${layout.parts.map(layoutKey).join()})`;
    case 'error':
      return `e(${layoutKey(layout.inner)})`;
    case 'named':
      return `n${layout.name.length}:${layout.name}(${layoutKey(layout.inner)})`;
  }
};
