/**
 * Values of type `type` from bytes (reference/formats/bsup.md section 6), and the small reads that the binary formats
 * share.
 *
 * Invariant: nothing is read at or behind `end`; what is cut or makes no sense is a BytesFault.
 */
import { isUtf8 } from 'node:buffer';
import {
  type Type,
  arrayType,
  componentsMax,
  enumType,
  errorType,
  mapType,
  namedType,
  primitiveNamed,
  primitiveOfId,
  recordType,
  setType,
  unionType,
} from '../../vectors/type.ts';
import { extentOf, typeFault, typeNodesMax, typeTooLarge } from '../../vectors/type-limits.ts';

/** What is wrong with the bytes; the readers make errors of their format of it. */
export class BytesFault extends Error {}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Reads from `bytes` at `at`, up to `end`. */
export class Cursor {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
  private readonly cutText: string;
  /** `cutText`: what to say when the bytes end too early. */
  constructor(bytes: Uint8Array, start: number, end: number, cutText: string) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
    this.cutText = cutText;
  }
  byte(): number {
    if (this.at >= this.end) throw new BytesFault(this.cutText);
    return this.bytes[this.at++];
  }
  /** A number below 2^53. */
  uvarint(): number {
    let n = 0;
    let scale = 1;
    for (;;) {
      const b = this.byte();
      n += (b & 0x7f) * scale;
      if (b < 0x80) break;
      scale *= 128;
      if (scale > 2 ** 49) throw new BytesFault(this.cutText);
    }
    return n;
  }
  /** A count of things that take a byte each at least. */
  count(what: string): number {
    const n = this.uvarint();
    if (n > componentsMax) throw new BytesFault(`too many ${what}: ${n} (limit ${componentsMax})`);
    if (n > this.end - this.at) throw new BytesFault(this.cutText);
    return n;
  }
  /** The place of `n` bytes, which are skipped. */
  run(n: number): number {
    if (n > this.end - this.at) throw new BytesFault(this.cutText);
    const start = this.at;
    this.at += n;
    return start;
  }
  /** A counted name. */
  name(): string {
    const n = this.uvarint();
    const start = this.run(n);
    const bytes = this.bytes.subarray(start, start + n);
    if (!isUtf8(bytes)) throw new BytesFault(`bad name "${decoder.decode(bytes)}": invalid UTF-8`);
    return decoder.decode(bytes);
  }
}

/** A record type whose field names are unique. */
export const checkedRecord = (
  fields: readonly { readonly name: string; readonly type: Type; readonly optional: boolean }[],
): Type => {
  if (fields.length > 1) {
    const seen = new Set<string>();
    for (const { name } of fields) {
      if (seen.has(name)) throw new BytesFault(`duplicate field: ${JSON.stringify(name)}`);
      seen.add(name);
    }
  }
  return recordType(fields);
};
/** A named type. @throws BytesFault for the name of a primitive type */
export const checkedNamed = (name: string, inner: Type): Type => {
  if (primitiveNamed(name)) throw new BytesFault(`bad type name ${JSON.stringify(name)}: primitive type name`);
  return namedType(name, inner);
};
/** A union of these members. @throws BytesFault for none, or if they are too large to be put in order */
export const checkedUnion = (members: readonly Type[]): Type => {
  if (members.length === 0) throw new BytesFault('union type without members');
  // Members are put in order, which compares them node by node, so their size is checked before.
  if (members.reduce((n, m) => n + extentOf(m).nodes, 0) > typeNodesMax) throw new BytesFault(typeTooLarge);
  return unionType(members);
};

/** The type that all of the cursor's bytes describe. */
export const readTypeValue = (cursor: Cursor, nestingMax: number): Type => {
  const type = typeValue(cursor, { nestingMax, names: new Map() }, 1);
  if (cursor.at !== cursor.end) throw new BytesFault('malformed type value');
  return type;
};

interface TypeValueContext {
  readonly nestingMax: number;
  readonly names: Map<string, Type>;
}

const typeValue = (cursor: Cursor, context: TypeValueContext, depth: number): Type => {
  // What is inside of the last level is a type as well.
  if (depth > context.nestingMax + 1) throw new BytesFault(`type nesting too deep (limit ${context.nestingMax})`);
  const type = typeOfCode(cursor, context, cursor.byte(), () => typeValue(cursor, context, depth + 1));
  const fault = typeFault(type, context.nestingMax);
  if (fault !== undefined) throw new BytesFault(fault);
  return type;
};

const typeOfCode = (cursor: Cursor, { names }: TypeValueContext, code: number, next: () => Type): Type => {
  switch (code) {
    case 30:
      return recordOfBytes(cursor, next);
    case 31:
      return arrayType(next());
    case 32:
      return setType(next());
    case 33: {
      const key = next();
      return mapType(key, next());
    }
    case 34:
      return checkedUnion(times(cursor.count('members'), next));
    case 35:
      return enumType(times(cursor.count('symbols'), () => cursor.name()));
    case 36:
      return errorType(next());
    case 37: {
      const name = cursor.name();
      const type = checkedNamed(name, next());
      names.set(name, type);
      return type;
    }
    case 38: {
      const name = cursor.name();
      const type = names.get(name);
      if (!type) throw new BytesFault(`no such type name: ${JSON.stringify(name)}`);
      return type;
    }
    default:
      return primitiveOf(code);
  }
};

/** The primitive type of a wire id. */
export const primitiveOf = (id: number): Type => {
  const type = primitiveOfId(id);
  if (!type)
    throw new BytesFault(id < 30 ? `primitive type ID ${id} not implemented` : `malformed type value: code ${id}`);
  return type;
};

const recordOfBytes = (cursor: Cursor, next: () => Type): Type => {
  const n = cursor.count('fields');
  const bits = cursor.run((n + 7) >> 3);
  let k = 0;
  return checkedRecord(
    times(n, () => {
      const optional = ((cursor.bytes[bits + (k >> 3)] >> (k & 7)) & 1) === 1;
      k++;
      return { name: cursor.name(), type: next(), optional };
    }),
  );
};

/** `n` things; the array grows as they come. */
export const times = <T>(n: number, make: () => T): T[] => {
  const out: T[] = [];
  for (let i = 0; i < n; i++) out.push(make());
  return out;
};
