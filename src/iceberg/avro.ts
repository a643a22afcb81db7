/**
 * Avro container files, as far as Iceberg's manifests need them: one block, no compression, the schema as it is given.
 *
 * A package would have served to encode, but what there is drops the attributes of a schema that it does not know, and
 * readers find their fields by the attribute `field-id`; what is left is small.
 */
import { createHash } from 'node:crypto';

/** Values in Avro's binary encoding, one behind the other. */
export class AvroWriter {
  private bytes = Buffer.allocUnsafe(1 << 12);
  private length = 0;

  /** What was written so far. */
  done(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** An int or a long: zigzag, seven bits a byte. */
  long(value: number | bigint): void {
    this.reserve(10);
    let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
    for (; rest > 0x7fn; rest >>= 7n) this.bytes[this.length++] = Number(rest & 0x7fn) | 0x80;
    this.bytes[this.length++] = Number(rest);
  }
  bool(value: boolean): void {
    this.reserve(1);
    this.bytes[this.length++] = value ? 1 : 0;
  }
  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.bytes.set(value, this.length);
    this.length += value.length;
  }
  blob(value: Uint8Array): void {
    this.long(value.length);
    this.raw(value);
  }
  string(value: string): void {
    this.blob(Buffer.from(value, 'utf8'));
  }
  /** A union of null and something else: which of both comes. */
  branch(isThere: boolean): void {
    this.long(isThere ? 1 : 0);
  }
  /** An array, or a map whose entries `item` writes with their keys. */
  array<T>(items: readonly T[], item: (value: T) => void): void {
    if (items.length > 0) {
      this.long(items.length);
      for (const value of items) item(value);
    }
    this.long(0);
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

const magic = Uint8Array.of(0x4f, 0x62, 0x6a, 0x01);
const syncBytes = 16;

/** What a container file is made of. `metadata`: keys of its header beside the schema. */
interface Container {
  readonly schema: object;
  readonly metadata: Readonly<Record<string, string>>;
  readonly count: number;
  /** The records, encoded. */
  readonly records: Uint8Array;
}

/** A container file. The same content gives the same bytes: its mark between blocks is a digest of what is in it. */
export const avroFile = ({ schema, metadata, count, records }: Container): Buffer => {
  const out = new AvroWriter();
  out.raw(magic);
  out.array(
    Object.entries({ ...metadata, 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null' }),
    ([key, value]) => {
      out.string(key);
      out.string(value);
    },
  );
  const mark = createHash('sha256').update(out.done()).update(records).digest().subarray(0, syncBytes);
  out.raw(mark);
  if (count > 0) {
    out.long(count);
    out.blob(records);
    out.raw(mark);
  }
  return out.done();
};
