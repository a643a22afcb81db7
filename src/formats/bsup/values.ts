/** Tagged bodies of BSUP values, straight into builders where the types are simple. */
import { type Builder, type Shape, shapeOf } from '../../vectors/builder.ts';
import { type PrimitiveType, type RecordType, type Type, types } from '../../vectors/type.ts';
import { type Data, canonicalMap, canonicalSet, float16Number, integer } from '../../vectors/value.ts';
import { appendText, textOf } from '../text-cell.ts';
import { type BsupBytes, BsupBytes as Bytes, BsupFault, readTypeValue } from './types.ts';

const malformed = (): never => { throw new BsupFault('malformed BSUP value'); };

export class BsupValues {
  private readonly shapes = new WeakMap<RecordType, Shape>();
  private readonly nestingMax: number;
  constructor(nestingMax: number) { this.nestingMax = nestingMax; }

  /** Appends the tagged body at the source's place. */
  append(source: BsupBytes, type: Type, builder: Builder): void {
    const end = this.bodyEnd(source, type);
    this.appendBody(source, type, end, builder);
    source.at = end;
  }

  /** Behind the body whose tag is next; a body of no bytes and an absent one end at once, the latter only for null. */
  private bodyEnd(source: BsupBytes, type: Type): number {
    const tag = source.uvarint();
    if (tag === 0 && !isNull(type)) malformed();
    const size = tag === 0 ? 0 : tag - 1;
    if (size > source.end - source.at) throw new BsupFault('truncated input');
    return source.at + size;
  }

  private appendBody(source: BsupBytes, type: Type, end: number, builder: Builder): void {
    switch (type.kind) {
      case 'primitive': return this.appendPrimitive(source, type, end, builder);
      case 'record': return this.appendRecord(source, type, end, builder);
      case 'array': {
        const list = builder.list(type), outer = source.end;
        source.end = end;
        while (source.at < end) this.append(source, type.element, list.items);
        source.end = outer;
        list.end();
        return;
      }
      default: builder.appendData(type, this.data(source, type, end));
    }
  }

  private appendPrimitive(source: BsupBytes, type: PrimitiveType, end: number, builder: Builder): void {
    const { bytes, at } = source;
    switch (type.name) {
      case 'string': return appendText(builder, bytes, at, end);
      case 'bytes': return builder.run(type, bytes, at, end);
      case 'ip': return end - at === 4 || end - at === 16 ? builder.run(type, bytes, at, end) : malformed();
      case 'net': return builder.run(type, checkedNet(bytes, at, end), 0, end - at);
      case 'int8': case 'int16': case 'int32': case 'int64': case 'duration': case 'time': return builder.number(type, signed(bytes, at, end));
      case 'uint8': case 'uint16': case 'uint32': case 'uint64': return builder.number(type, unsigned(bytes, at, end));
      default: builder.appendData(type, this.data(source, type, end));
    }
  }

  private appendRecord(source: BsupBytes, type: RecordType, end: number, builder: Builder): void {
    let shape = this.shapes.get(type);
    if (!shape) this.shapes.set(type, (shape = shapeOf(type.fields)));
    const outer = source.end;
    source.end = end;
    const bits = this.absentBits(source, type), record = builder.record(shape);
    let optional = 0;
    for (let k = 0; k < type.fields.length; k++) {
      const f = type.fields[k]!;
      if (f.optional && bitAt(source, bits, optional++)) record.absent(k, f.type);
      else this.append(source, f.type, record.fields[k]!);
    }
    record.end();
    if (source.at !== end) malformed();
    source.end = outer;
  }

  /** Where the bits of absent fields are; behind them the fields follow. */
  private absentBits(source: BsupBytes, type: RecordType): number {
    let optional = 0;
    for (const f of type.fields) if (f.optional) optional++;
    if (optional === 0) return 0;
    const size = source.uvarint() - 1, at = source.at;
    if (size !== (optional + 7) >> 3) malformed();
    if (at + size > source.end) throw new BsupFault('truncated input');
    source.at += size;
    return at;
  }

  /** Data of the body bytes up to `end`. */
  private data(source: BsupBytes, type: Type, end: number): Data {
    const { bytes, at } = source;
    switch (type.kind) {
      case 'primitive': return this.primitive(bytes, type, at, end);
      case 'error': case 'named': return this.data(source, type.inner, end);
      case 'enum': {
        const index = Number(unsigned(bytes, at, end));
        return index < type.symbols.length ? index : malformed();
      }
    }
    const outer = source.end;
    source.end = end;
    const out = this.container(source, type, end);
    if (source.at !== end) malformed();
    source.end = outer;
    return out;
  }
  private container(source: BsupBytes, type: Exclude<Type, { readonly kind: 'primitive' | 'error' | 'named' | 'enum' }>, end: number): Data {
    switch (type.kind) {
      case 'array': return this.elements(source, type.element, end);
      case 'set': return canonicalSet(type.element, this.elements(source, type.element, end));
      case 'map': {
        const entries: (readonly [Data, Data])[] = [];
        while (source.at < end) {
          const key = this.tagged(source, type.key);
          entries.push([key, this.tagged(source, type.value)]);
        }
        return canonicalMap(type.key, entries);
      }
      case 'union': {
        const member = type.members[Number(this.tagged(source, types.uint64))];
        return member ? { type: member, data: this.tagged(source, member) } : malformed();
      }
      case 'record': {
        const bits = this.absentBits(source, type);
        let optional = 0;
        return type.fields.map((f) => (f.optional && bitAt(source, bits, optional++) ? undefined : this.tagged(source, f.type)));
      }
    }
  }
  private elements(source: BsupBytes, type: Type, end: number): Data[] {
    const out: Data[] = [];
    while (source.at < end) out.push(this.tagged(source, type));
    return out;
  }
  private tagged(source: BsupBytes, type: Type): Data {
    const end = this.bodyEnd(source, type), data = this.data(source, type, end);
    source.at = end;
    return data;
  }

  private primitive(bytes: Uint8Array, type: PrimitiveType, at: number, end: number): Data {
    const size = end - at;
    switch (type.name) {
      case 'null': return size === 0 ? null : malformed();
      case 'bool': return size === 1 ? bytes[at] !== 0 : malformed();
      case 'string': return textOf(bytes, at, end);
      case 'bytes': return bytes.slice(at, end);
      case 'ip': return size === 4 || size === 16 ? bytes.slice(at, end) : malformed();
      case 'net': return checkedNet(bytes, at, end);
      case 'float16': return size === 2 ? float16Number(bytes[at]! | (bytes[at + 1]! << 8)) : malformed();
      case 'float32': return size === 4 ? new DataView(bytes.buffer, bytes.byteOffset + at, 4).getFloat32(0, true) : malformed();
      case 'float64': return size === 8 ? new DataView(bytes.buffer, bytes.byteOffset + at, 8).getFloat64(0, true) : malformed();
      case 'type': {
        const source = new Bytes(bytes, at, end), out = readTypeValue(source, this.nestingMax);
        return source.at === end ? out : malformed();
      }
      case 'uint8': case 'uint16': case 'uint32': case 'uint64': return unsigned(bytes, at, end);
      default: return signed(bytes, at, end);
    }
  }
}

const isNull = (type: Type): boolean => {
  let t = type;
  while (t.kind === 'named' || t.kind === 'error') t = t.inner;
  return t === types.null;
};
const bitAt = (source: BsupBytes, at: number, i: number): boolean => ((source.bytes[at + (i >> 3)]! >> (i & 7)) & 1) === 1;

/** Little-endian, as many bytes as needed. */
const unsigned = (bytes: Uint8Array, at: number, end: number): number | bigint => {
  const size = end - at;
  if (size > 8) malformed();
  if (size <= 6) {
    let x = 0;
    for (let i = end - 1; i >= at; i--) x = x * 256 + bytes[i]!;
    return x;
  }
  let x = 0n;
  for (let i = end - 1; i >= at; i--) x = (x << 8n) | BigInt(bytes[i]!);
  return integer(x);
};
/** Twice the size plus one for negative numbers; the least int64 is the single byte 1. */
const signed = (bytes: Uint8Array, at: number, end: number): number | bigint => {
  const x = unsigned(bytes, at, end);
  if (typeof x === 'number') {
    if (x % 2 === 0) return x / 2;
    return x === 1 ? -(1n << 63n) : -((x - 1) / 2);
  }
  return integer((x & 1n) === 1n ? -(x >> 1n) : x >> 1n);
};
/** Address then mask: the mask is a prefix and the address has no bits beyond it. */
const checkedNet = (bytes: Uint8Array, at: number, end: number): Uint8Array => {
  const size = (end - at) / 2;
  if (size !== 4 && size !== 16) malformed();
  const out = bytes.slice(at, end);
  let ended = false;
  for (let i = 0; i < size; i++) {
    const mask = out[size + i]!;
    if ((ended && mask !== 0) || (((~mask & 0xff) + 1) & (~mask & 0xff)) !== 0) malformed();
    ended ||= mask !== 0xff;
    out[i]! &= mask;
  }
  return out;
};
