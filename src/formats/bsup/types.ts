/** Typedefs of a BSUP segment and type values, from bytes. */
import {
  type Type, arrayType, componentsMax, enumType, errorType, mapType, namedType, primitiveNamed, primitiveOfId, recordType, setType, unionType,
} from '../../vectors/type.ts';

/** What is wrong with the bytes, in the reference's words. */
export class BsupFault extends Error {}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** Reads numbers and texts of bytes[at, end). */
export class BsupBytes {
  bytes: Uint8Array;
  at: number;
  end: number;
  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }
  byte(): number {
    if (this.at >= this.end) throw new BsupFault('truncated input');
    return this.bytes[this.at++]!;
  }
  /** Seven bits a byte, low group first. */
  uvarint(): number {
    let x = 0, scale = 1;
    for (let i = 0; i < 8; i++) {
      const b = this.byte();
      x += (b & 0x7f) * scale;
      if (b < 0x80) return x;
      scale *= 128;
    }
    throw new BsupFault('malformed BSUP value');
  }
  count(): number {
    const n = this.uvarint();
    if (n > componentsMax) throw new BsupFault(`too many components of a type (limit ${componentsMax})`);
    return n;
  }
  text(): string {
    const size = this.uvarint(), start = this.at;
    if (size > this.end - start) throw new BsupFault('truncated input');
    this.at += size;
    try {
      return decoder.decode(this.bytes.subarray(start, this.at));
    } catch {
      throw new BsupFault('malformed BSUP value');
    }
  }
}

const checkedName = (name: string): string => {
  if (primitiveNamed(name)) throw new BsupFault(`bad type name "${name}": primitive type name`);
  return name;
};
const unique = (names: readonly string[]): void => {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new BsupFault(`duplicate field: "${name}"`);
    seen.add(name);
  }
};

/** The types that a segment has defined, by id. */
export class BsupTypes {
  private types: Type[] = [];
  private depths: number[] = [];
  private readonly nestingMax: number;
  constructor(nestingMax: number) { this.nestingMax = nestingMax; }

  /** A segment has ended: ids start again. */
  clear(): void {
    this.types = [];
    this.depths = [];
  }

  get(id: number): Type {
    const type = id < 30 ? primitiveOfId(id) : this.types[id - 30];
    if (!type) throw new BsupFault(id < 30 ? `primitive type ID ${id} not implemented` : `bsupio: no type found for type id ${id}`);
    return type;
  }

  /** Takes all typedefs of a types frame. */
  define(source: BsupBytes): void {
    while (source.at < source.end) {
      let depth = 0;
      const next = (): Type => {
        const id = source.uvarint();
        depth = Math.max(depth, id < 30 ? 0 : (this.depths[id - 30] ?? 0));
        return this.get(id);
      };
      const type = typedef(source, next);
      if (depth + 1 > this.nestingMax) throw new BsupFault(`nesting too deep (limit ${this.nestingMax})`);
      this.types.push(type);
      this.depths.push(depth + 1);
    }
  }
}

const typedef = (source: BsupBytes, next: () => Type): Type => {
  const code = source.byte();
  switch (code) {
    case 0: {
      const fields = Array.from({ length: source.count() }, () => ({ name: source.text(), type: next(), optional: source.byte() === 1 }));
      unique(fields.map((f) => f.name));
      return recordType(fields);
    }
    case 1: return arrayType(next());
    case 2: return setType(next());
    case 3: {
      const key = next();
      return mapType(key, next());
    }
    case 4: return checkedUnion(Array.from({ length: source.count() }, next));
    case 5: return enumType(Array.from({ length: source.count() }, () => source.text()));
    case 6: return errorType(next());
    case 7: {
      const name = checkedName(source.text());
      return namedType(name, next());
    }
    default: throw new BsupFault(`unknown BSUP typedef code: ${code}`);
  }
};
const checkedUnion = (members: readonly Type[]): Type => {
  if (members.length < 2) throw new BsupFault('union type must include two or more types');
  return unionType(members);
};

/** A value of type `type`: the type that it names. */
export const readTypeValue = (source: BsupBytes, nestingMax: number, names = new Map<string, Type>(), depth = 0): Type => {
  if (depth > nestingMax) throw new BsupFault(`nesting too deep (limit ${nestingMax})`);
  const inner = (): Type => readTypeValue(source, nestingMax, names, depth + 1);
  const code = source.byte();
  switch (code) {
    case 30: {
      const count = source.count(), bits = source.at;
      for (let i = 0; i < (count + 7) >> 3; i++) source.byte();
      const fields = Array.from({ length: count }, (_, i) => ({ name: source.text(), type: inner(), optional: ((source.bytes[bits + (i >> 3)]! >> (i & 7)) & 1) === 1 }));
      unique(fields.map((f) => f.name));
      return recordType(fields);
    }
    case 31: return arrayType(inner());
    case 32: return setType(inner());
    case 33: {
      const key = inner();
      return mapType(key, inner());
    }
    case 34: return checkedUnion(Array.from({ length: source.count() }, inner));
    case 35: return enumType(Array.from({ length: source.count() }, () => source.text()));
    case 36: return errorType(inner());
    case 37: {
      const name = checkedName(source.text()), type = namedType(name, inner());
      names.set(name, type);
      return type;
    }
    case 38: {
      const name = source.text(), type = names.get(name);
      if (!type) throw new BsupFault(`no such type name: "${name}"`);
      return type;
    }
    default: {
      const type = primitiveOfId(code);
      if (!type) throw new BsupFault(`primitive type ID ${code} not implemented`);
      return type;
    }
  }
};
