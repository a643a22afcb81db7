/** Reads Avro container files by the schema in their header, to see what was written with it. */

type Schema = string | readonly Schema[] | SchemaObject;
interface SchemaObject {
  readonly type: Schema;
  readonly fields?: readonly { readonly name: string; readonly type: Schema }[];
  readonly items?: Schema;
}
/** A record of a file. */
export type AvroRecord = Readonly<Record<string, unknown>>;

class Reader {
  private readonly bytes: Buffer;
  private at = 0;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }
  raw(length: number): Buffer {
    if (this.at + length > this.bytes.length) throw new Error(`${length} bytes at ${this.at} of ${this.bytes.length}`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  long(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const [byte = 0] = this.raw(1);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return Number((value >> 1n) ^ -(value & 1n));
  }
  blob(): Buffer {
    return this.raw(this.long());
  }
  items<T>(item: () => T): T[] {
    const found: T[] = [];
    for (let count = this.long(); count !== 0; count = this.long()) for (let i = 0; i < count; i++) found.push(item());
    return found;
  }

  value(schema: Schema): unknown {
    if (Array.isArray(schema)) return this.value((schema as readonly Schema[])[this.long()]!);
    if (typeof schema === 'string') return this.primitive(schema);
    const { type, fields, items } = schema as SchemaObject;
    if (type === 'record') return Object.fromEntries(fields!.map((field) => [field.name, this.value(field.type)]));
    return type === 'array' ? this.items(() => this.value(items!)) : this.value(type);
  }
  private primitive(name: string): unknown {
    switch (name) {
      case 'null':
        return null;
      case 'int':
      case 'long':
        return this.long();
      case 'string':
        return this.blob().toString('utf8');
      case 'bytes':
        return this.blob();
      default:
        throw new Error(`no type ${name} is written`);
    }
  }
}

/** The header and the records of a file. */
export const readAvro = (
  bytes: Buffer,
): { readonly header: Readonly<Record<string, string>>; readonly records: readonly AvroRecord[] } => {
  const reader = new Reader(bytes);
  if (reader.raw(4).toString('latin1') !== 'Obj\u0001') throw new Error('no Avro file');
  const header = Object.fromEntries(reader.items(() => [reader.blob().toString(), reader.blob().toString()] as const));
  const schema = JSON.parse(header['avro.schema']!) as Schema;
  const mark = reader.raw(16);
  const records: AvroRecord[] = [];
  while (!reader.isAtEnd) {
    const count = reader.long();
    const block = new Reader(reader.blob());
    for (let i = 0; i < count; i++) records.push(block.value(schema) as AvroRecord);
    if (!block.isAtEnd) throw new Error('a block is longer than its records');
    if (!reader.raw(16).equals(mark)) throw new Error('a block ends without the mark');
  }
  return { header, records };
};
