/** Writes BSUP: for each batch the typedefs that are new, then its values, compressed where that is smaller. */
import { lz4Encode } from '../../vectors/lz4.ts';
import { supText } from '../../vectors/sup-print.ts';
import { TextOut, bytesOfText } from '../../vectors/text-out.ts';
import { type Type, namedType, types } from '../../vectors/type.ts';
import { type Data, type Value, recordValue } from '../../vectors/value.ts';
import type { Vector } from '../../vectors/vector.ts';
import type { ControlMessage, WriteOptions, Writer } from '../format.types.ts';
import { rowEncoder, typeResolver, writeUvarint } from './encode.ts';

/** Bytes of values after which a frame ends. */
const frameBytes = 1 << 19;
const kinds = { types: 0, values: 1, control: 2 } as const;

export const createBsupWriter = (_options: WriteOptions): Writer => {
  const typedefs = new Typedefs(), values = new TextOut(1 << 17);
  let started = false;
  const flush = function* (): Generator<Uint8Array> {
    if (typedefs.out.length > 0) yield frame(kinds.types, typedefs.out);
    if (values.length > 0) yield frame(kinds.values, values);
  };
  return {
    *write(batch: Vector) {
      const typeOf = typeResolver(batch), encode = rowEncoder(batch, values);
      for (let row = 0; row < batch.length; row++) {
        started = true;
        writeUvarint(values, typedefs.id(typeOf(row)));
        encode(row);
        if (values.length >= frameBytes) yield* flush();
      }
      yield* flush();
    },
    *end() {
      if (started) yield Uint8Array.of(0xff);
      started = false;
    },
    *control(message: ControlMessage) {
      started = true;
      values.byte(2);
      values.raw(bytesOfText(`${supText(named(message.type, message.type === 'QueryStats' ? withProgress(message.value) : message.value))}\n`));
      yield frame(kinds.control, values);
    },
  };
};

const named = (name: string, value: Value): Value => ({ type: namedType(name, value.type), data: value.data });
/** The counts of a statistics message are in a record of their own here. */
const withProgress = (stats: Value): Value => {
  if (stats.type.kind !== 'record') return stats;
  const fields = stats.type.fields.map((f, i) => ({ name: f.name, value: { type: f.type, data: (stats.data as readonly Data[])[i]! } }));
  const times = fields.filter((f) => f.value.type === types.time), counts = fields.filter((f) => f.value.type !== types.time);
  return recordValue([...times, { name: 'Progress', value: named('Progress', recordValue(counts)) }]);
};

/** Takes what was printed as the payload of a frame. */
const frame = (kind: number, payload: TextOut): Uint8Array => {
  const { length } = payload;
  const packed = length > 64 ? lz4Encode(payload.bytes, length) : undefined;
  const out = new TextOut(length + 16);
  out.byte(0x81);
  if (packed && packed.length + 5 < length) {
    const head = new TextOut(8);
    head.byte(0);
    writeUvarint(head, length);
    const size = head.length + packed.length;
    out.byte(0x40 | (kind << 4) | (size & 15));
    writeUvarint(out, Math.floor(size / 16));
    out.raw(head.bytes, 0, head.length);
    out.raw(packed);
  } else {
    out.byte((kind << 4) | (length & 15));
    writeUvarint(out, Math.floor(length / 16));
    out.raw(payload.bytes, 0, length);
  }
  payload.cutTo(0);
  return out.take();
};

/** Ids of types, given in the order of definition; definitions wait in `out` for the next types frame. */
class Typedefs {
  readonly out = new TextOut(256);
  private readonly ids = new Map<Type, number>();

  id(type: Type): number {
    if (type.kind === 'primitive') return type.id;
    const known = this.ids.get(type);
    if (known !== undefined) return known;
    this.define(type);
    const id = 30 + this.ids.size;
    this.ids.set(type, id);
    return id;
  }

  private define(type: Exclude<Type, { readonly kind: 'primitive' }>): void {
    const { out } = this;
    switch (type.kind) {
      case 'record': {
        const ids = type.fields.map((f) => this.id(f.type));
        this.head(0, type.fields.length);
        type.fields.forEach((f, i) => {
          this.text(f.name);
          writeUvarint(out, ids[i]!);
          out.byte(f.optional ? 1 : 0);
        });
        return;
      }
      case 'array': return this.head(1, this.id(type.element));
      case 'set': return this.head(2, this.id(type.element));
      case 'map': {
        const key = this.id(type.key), value = this.id(type.value);
        this.head(3, key);
        return writeUvarint(out, value);
      }
      case 'union': {
        const ids = type.members.map((m) => this.id(m));
        this.head(4, ids.length);
        for (const id of ids) writeUvarint(out, id);
        return;
      }
      case 'enum':
        this.head(5, type.symbols.length);
        for (const symbol of type.symbols) this.text(symbol);
        return;
      case 'error': return this.head(6, this.id(type.inner));
      case 'named': {
        const inner = this.id(type.inner);
        out.byte(7);
        this.text(type.name);
        return writeUvarint(out, inner);
      }
    }
  }
  private head(code: number, x: number): void {
    this.out.byte(code);
    writeUvarint(this.out, x);
  }
  private text(text: string): void {
    const bytes = bytesOfText(text);
    writeUvarint(this.out, bytes.length);
    this.out.raw(bytes);
  }
}
