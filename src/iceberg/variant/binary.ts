/**
 * Parquet's binary encoding of variants (VariantEncoding.md of its specification, version 1): a value, which says of each
 * part what type it is, and beside it the names of all fields in there, sorted.
 *
 * Invariants:
 * - Names, offsets and counts take as few bytes as the greatest of them needs.
 * - Objects have their fields in the order of the names' bytes, each name once.
 */

const version = 1;
const sortedFlag = 1 << 4;
/** Basic types: the two lowest bits of a value's first byte. */
const basic = { primitive: 0, shortString: 1, object: 2, array: 3 } as const;
/** Primitive types, in the other six bits. */
const primitive = {
  null: 0,
  true: 1,
  false: 2,
  int8: 3,
  int16: 4,
  int32: 5,
  int64: 6,
  double: 7,
  decimal4: 8,
  decimal8: 9,
  decimal16: 10,
  date: 11,
  timestamp: 12,
  timestampLocal: 13,
  float: 14,
  binary: 15,
  string: 16,
  time: 17,
  timestampNanos: 18,
  timestampLocalNanos: 19,
  uuid: 20,
} as const;
/** Bytes of the strings that have their length in the first byte. */
const shortStringMax = 63;
/** Elements that are counted in one byte. */
const smallCountMax = 255;
/** The greatest value of decimals of 4 and of 8 bytes. */
const decimal4Max = 999_999_999n;
const decimal8Max = 999_999_999_999_999_999n;

/** The bytes of a whole number that is not negative: 1 to 4. */
const widthOf = (x: number): number => (x <= 0xff ? 1 : x <= 0xffff ? 2 : x <= 0xffffff ? 3 : 4);

/** Names of fields: what stands for each in a value, and the bytes that are beside it. */
export interface VariantNames {
  readonly bytes: Uint8Array;
  readonly ids: ReadonlyMap<string, number>;
}

/** Names in their order, each once. Two texts that would be the same bytes, as both have none of UTF-8, stay two names. */
export const variantNames = (names: Iterable<string>): VariantNames => {
  // As Latin-1 each byte is a character of its own number, in the same order.
  const texts = new Map<string, string>();
  const latin = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  const double: string[] = [];
  for (const text of new Set(names)) {
    const key = latin(text);
    if (texts.has(key)) double.push(text);
    else texts.set(key, text);
  }
  for (const text of double) {
    let n = 2;
    while (texts.has(latin(`${text}_${n}`))) n++;
    texts.set(latin(`${text}_${n}`), text);
  }
  const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1));
  const length = sorted.reduce((n, [key]) => n + key.length, 0);
  const width = widthOf(Math.max(length, sorted.length));
  const out = Buffer.alloc(1 + width * (sorted.length + 2) + length);
  out[0] = version | sortedFlag | ((width - 1) << 6);
  let at = out.writeUIntLE(sorted.length, 1, width);
  let from = 0;
  for (const [key] of sorted) {
    at = out.writeUIntLE(from, at, width);
    from += key.length;
  }
  at = out.writeUIntLE(from, at, width);
  for (const [key] of sorted) at += out.write(key, at, 'latin1');
  return { bytes: out, ids: new Map(sorted.map(([, text], id) => [text, id])) };
};
/** Of values without any object. */
export const noNames: VariantNames = variantNames([]);

/** Writes values one behind the other into one buffer. */
export class VariantWriter {
  private bytes = Buffer.allocUnsafe(256);
  private at = 0;

  get length(): number {
    return this.at;
  }
  /** What was written, which is valid until more is. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.at);
  }
  clear(): void {
    this.at = 0;
  }

  null(): void {
    this.head(primitive.null, 0);
  }
  bool(x: boolean): void {
    this.head(x ? primitive.true : primitive.false, 0);
  }
  /** Of so many bits; one that is beyond them, as sums may be, of 64. */
  int(bits: 8 | 16 | 32 | 64, x: number | bigint): void {
    const most = 2 ** (bits - 1);
    switch (x >= -most && x < most ? bits : 64) {
      case 8:
        this.head(primitive.int8, 1);
        this.at = this.bytes.writeInt8(Number(x), this.at);
        return;
      case 16:
        this.head(primitive.int16, 2);
        this.at = this.bytes.writeInt16LE(Number(x), this.at);
        return;
      case 32:
        this.head(primitive.int32, 4);
        this.at = this.bytes.writeInt32LE(Number(x), this.at);
        return;
      case 64:
        this.long(primitive.int64, x);
    }
  }
  double(x: number): void {
    this.head(primitive.double, 8);
    this.at = this.bytes.writeDoubleLE(x, this.at);
  }
  float(x: number): void {
    this.head(primitive.float, 4);
    this.at = this.bytes.writeFloatLE(x, this.at);
  }
  /** `units` of the last of `scale` places, at most 38 of them and 38 digits. */
  decimal(units: bigint, scale: number): void {
    const size = units < 0n ? -units : units;
    if (size <= decimal4Max) {
      this.head(primitive.decimal4, 5);
      this.bytes[this.at++] = scale;
      this.at = this.bytes.writeInt32LE(Number(units), this.at);
    } else if (size <= decimal8Max) {
      this.head(primitive.decimal8, 9);
      this.bytes[this.at++] = scale;
      this.at = this.bytes.writeBigInt64LE(units, this.at);
    } else {
      this.head(primitive.decimal16, 17);
      this.bytes[this.at++] = scale;
      this.at = this.bytes.writeBigUInt64LE(BigInt.asUintN(64, units), this.at);
      this.at = this.bytes.writeBigInt64LE(BigInt.asIntN(64, units >> 64n), this.at);
    }
  }
  /** Days since 1970. */
  date(days: number): void {
    this.head(primitive.date, 4);
    this.at = this.bytes.writeInt32LE(days, this.at);
  }
  /** Microseconds since midnight. */
  time(micros: number | bigint): void {
    this.long(primitive.time, micros);
  }
  /** Since 1970; `zone`: a moment, or what clocks show in any place. */
  timestamp(x: number | bigint, unit: 'micros' | 'nanos', zone: 'utc' | 'local' = 'utc'): void {
    if (unit === 'micros') this.long(zone === 'utc' ? primitive.timestamp : primitive.timestampLocal, x);
    else this.long(zone === 'utc' ? primitive.timestampNanos : primitive.timestampLocalNanos, x);
  }
  binary(x: Uint8Array): void {
    this.run(primitive.binary, x);
  }
  string(text: string): void {
    this.stringBytes(Buffer.from(text, 'utf8'));
  }
  /** A string of these bytes, which are UTF-8. */
  stringBytes(x: Uint8Array): void {
    if (x.length > shortStringMax) {
      this.run(primitive.string, x);
      return;
    }
    this.room(1 + x.length);
    this.bytes[this.at++] = basic.shortString | (x.length << 2);
    this.bytes.set(x, this.at);
    this.at += x.length;
  }
  /** 16 bytes, the most significant one first. */
  uuid(x: Uint8Array): void {
    this.head(primitive.uuid, x.length);
    this.bytes.set(x, this.at);
    this.at += x.length;
  }

  /** An object; `write` writes the value of one of its fields. Ids are of names, each once. */
  object(ids: readonly number[], write: (field: number) => void): void {
    const order = ids.map((_, field) => field).sort((a, b) => ids[a]! - ids[b]!);
    const sorted = order.map((field) => ids[field]!);
    const width = widthOf(sorted.at(-1) ?? 0);
    this.framed(ids.length, { write: (i) => write(order[i]!), headWidth: width }, (offsetWidth, count) => {
      const isLarge = count > smallCountMax;
      this.frame(basic.object | ((offsetWidth - 1) << 2) | ((width - 1) << 4) | (isLarge ? 1 << 6 : 0), count);
      for (const id of sorted) this.at = this.bytes.writeUIntLE(id, this.at, width);
    });
  }
  array(count: number, write: (element: number) => void): void {
    this.framed(count, { write, headWidth: 0 }, (offsetWidth) => {
      this.frame(basic.array | ((offsetWidth - 1) << 2) | (count > smallCountMax ? 1 << 4 : 0), count);
    });
  }

  /** Values first, then moved behind their head, whose length is known by then. */
  private framed(
    count: number,
    { write, headWidth }: { readonly write: (i: number) => void; readonly headWidth: number },
    head: (offsetWidth: number, count: number) => void,
  ): void {
    const start = this.at;
    const offsets = new Array<number>(count + 1);
    for (let i = 0; i < count; i++) {
      offsets[i] = this.at - start;
      write(i);
    }
    const length = this.at - start;
    offsets[count] = length;
    const width = widthOf(length);
    const size = 1 + (count > smallCountMax ? 4 : 1) + headWidth * count + width * (count + 1);
    this.room(size);
    this.bytes.copyWithin(start + size, start, start + length);
    this.at = start;
    head(width, count);
    for (const offset of offsets) this.at = this.bytes.writeUIntLE(offset, this.at, width);
    this.at += length;
  }
  private frame(first: number, count: number): void {
    this.bytes[this.at++] = first;
    this.at = this.bytes.writeUIntLE(count, this.at, count > smallCountMax ? 4 : 1);
  }

  /** A first byte of a primitive type, with room for what follows: only then the buffer is the one to write to. */
  private head(type: number, size: number): void {
    this.room(1 + size);
    this.bytes[this.at++] = basic.primitive | (type << 2);
  }
  private long(type: number, x: number | bigint): void {
    this.head(type, 8);
    this.at = this.bytes.writeBigInt64LE(BigInt(x), this.at);
  }
  private run(type: number, x: Uint8Array): void {
    this.head(type, 4 + x.length);
    this.at = this.bytes.writeUInt32LE(x.length, this.at);
    this.bytes.set(x, this.at);
    this.at += x.length;
  }
  private room(size: number): void {
    if (this.at + size <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.at + size));
    this.bytes.copy(grown, 0, 0, this.at);
    this.bytes = grown;
  }
}
