/** Rows of vectors as tagged BSUP bodies, without a Value per row where the types are simple. */
import type { TextOut } from '../../vectors/text-out.ts';
import { type RecordType, type Type, recordType, types } from '../../vectors/type.ts';
import { encodeBody, float16Bits } from '../../vectors/value.ts';
import { type NumberVector, type RecordVector, type Vector, dataAt, typeAt, uniformType } from '../../vectors/vector.ts';

export type RowEncoder = (row: number) => void;

export const writeUvarint = (out: TextOut, n: number): void => {
  let rest = n;
  while (rest >= 0x80) {
    out.byte((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  out.byte(rest);
};

/** The type of each row; what few types a record's fields take together is looked up, not built again. */
export const typeResolver = (v: Vector): ((row: number) => Type) => {
  const uniform = uniformType(v);
  if (uniform) return () => uniform;
  switch (v.form) {
    case 'dynamic': {
      const parts = v.parts.map(typeResolver), { tags, slots } = v;
      return (row) => parts[tags[row]!]!(slots[row]!);
    }
    case 'selected': {
      const base = typeResolver(v.base), { index } = v;
      return (row) => base(index[row]!);
    }
    case 'record': return recordResolver(v);
    default: return (row) => typeAt(v, row);
  }
};
interface TypeNode { readonly next: Map<Type, TypeNode>; type?: RecordType }
const recordResolver = (v: RecordVector): ((row: number) => Type) => {
  const resolvers = v.fields.map((f) => typeResolver(f.values)), varying = v.fields.flatMap((f, i) => (uniformType(f.values) ? [] : [i]));
  const root: TypeNode = { next: new Map() };
  return (row) => {
    let node = root;
    for (const i of varying) {
      const type = resolvers[i]!(row);
      let next = node.next.get(type);
      if (!next) node.next.set(type, (next = { next: new Map() }));
      node = next;
    }
    return (node.type ??= recordType(v.fields.map((f, i) => ({ name: f.name, optional: f.optional, type: resolvers[i]!(row) }))));
  };
};

/** An encoder that appends tag and body of a row. */
export const rowEncoder = (v: Vector, out: TextOut): RowEncoder => {
  switch (v.form) {
    case 'number': return numberEncoder(v, out);
    case 'bool': return (row) => {
      out.byte(2);
      out.byte(v.values[row]!);
    };
    case 'null': return () => out.byte(0);
    case 'bytes': {
      const { bytes, offsets } = v;
      return (row) => {
        const start = offsets[row]!, end = offsets[row + 1]!;
        writeUvarint(out, end - start + 1);
        out.raw(bytes, start, end);
      };
    }
    case 'record': return recordEncoder(v, out);
    case 'list': {
      // Elements of unions tell their member, which only the list's type knows.
      if (v.items.form === 'dynamic') break;
      const items = rowEncoder(v.items, out), { offsets } = v;
      return tagged(out, (row) => { for (let i = offsets[row]!; i < offsets[row + 1]!; i++) items(i); });
    }
    case 'dynamic': {
      const parts = v.parts.map((p) => rowEncoder(p, out)), { tags, slots } = v;
      return (row) => parts[tags[row]!]!(slots[row]!);
    }
    case 'named': case 'error': if (v.inner.form !== 'null') return rowEncoder(v.inner, out);
      break;
    case 'selected': {
      const base = rowEncoder(v.base, out), { index } = v;
      return (row) => base(index[row]!);
    }
    case 'dictionary': {
      const values = rowEncoder(v.values, out), { codes } = v;
      return (row) => values(codes[row]!);
    }
    case 'constant': {
      const inner = rowEncoder(v.inner, out);
      return () => inner(0);
    }
  }
  return (row) => out.raw(encodeBody(typeAt(v, row), dataAt(v, row)));
};

/** Puts the tag before a body whose length is known only once it is written. */
const tagged = (out: TextOut, body: RowEncoder): RowEncoder => (row) => {
  out.byte(0);
  const start = out.length;
  body(row);
  const tag = out.length - start + 1;
  if (tag < 0x80) {
    out.bytes[start - 1] = tag;
    return;
  }
  let extra = 0;
  for (let rest = tag; rest >= 0x80; rest = Math.floor(rest / 0x80)) extra++;
  out.reserve(extra);
  out.bytes.copyWithin(start + extra, start, out.length);
  const end = out.length + extra;
  out.cutTo(start - 1);
  writeUvarint(out, tag);
  out.cutTo(end);
};

const recordEncoder = (v: RecordVector, out: TextOut): RowEncoder => {
  const values = v.fields.map((f) => rowEncoder(f.values, out)), present = v.fields.map((f) => f.present), count = values.length;
  const optional = v.fields.flatMap((f, i) => (f.optional ? [i] : []));
  return tagged(out, (row) => {
    if (optional.length > 0) {
      const bits = new Uint8Array((optional.length + 7) >> 3);
      optional.forEach((k, i) => { if (present[k]?.[row] === 0) bits[i >> 3]! |= 1 << (i & 7); });
      writeUvarint(out, bits.length + 1);
      out.raw(bits);
    }
    for (let k = 0; k < count; k++) if (present[k]?.[row] !== 0) values[k]!(row);
  });
};

const float = new DataView(new ArrayBuffer(8)), floatBytes = new Uint8Array(float.buffer);
const numberEncoder = (v: NumberVector, out: TextOut): RowEncoder => {
  const { type, values } = v;
  switch (type) {
    case types.float64: return (row) => {
      float.setFloat64(0, values[row] as number, true);
      out.byte(9);
      out.raw(floatBytes, 0, 8);
    };
    case types.float32: return (row) => {
      float.setFloat32(0, values[row] as number, true);
      out.byte(5);
      out.raw(floatBytes, 0, 4);
    };
    case types.float16: return (row) => {
      const bits = float16Bits(values[row] as number);
      out.byte(3);
      out.byte(bits & 0xff);
      out.byte(bits >> 8);
    };
  }
  const isSigned = type.id >= types.int8.id;
  if (!(values instanceof Float64Array)) return (row) => out.raw(encodeBody(type, values[row]!));
  return (row) => {
    const x = values[row]!, size = Math.abs(x);
    if (size >= 2 ** 47 || (!isSigned && x < 0)) {
      out.raw(encodeBody(type, x));
      return;
    }
    const at = out.length;
    out.byte(1);
    for (let rest = isSigned ? size * 2 + (x < 0 ? 1 : 0) : size; rest > 0; rest = Math.floor(rest / 256)) out.byte(rest % 256);
    out.bytes[at] = out.length - at;
  };
};
