/**
 * Reads what a ByteWriter wrote. Numbers and lengths are checked against the end of the bytes. @throws Error when the
 * bytes end early
 */
export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }
  byte(): number {
    if (this.at >= this.end) throw new Error('bytes end early');
    return this.bytes[this.at++];
  }
  /** LEB128: seven bits a byte, low group first; at most 2^53. */
  uvarint(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const b = this.byte();
      value += (b & 0x7f) * factor;
      if (b < 0x80) return value;
      factor *= 128;
      if (factor > 2 ** 56) throw new Error('number too long');
    }
  }
  raw(length: number): Uint8Array {
    if (length > this.end - this.at) throw new Error('bytes end early');
    const out = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return out;
  }
  /** Passes over so many bytes. */
  pass(length: number): void {
    if (length > this.end - this.at) throw new Error('bytes end early');
    this.at += length;
  }
  text(): string {
    return decoder.decode(this.raw(this.uvarint()));
  }
  /** A count, then so many items. */
  list<T>(read: () => T): T[] {
    const count = this.uvarint();
    const out: T[] = [];
    if (count > this.end - this.at) throw new Error('bytes end early');
    for (let i = 0; i < count; i++) out.push(read());
    return out;
  }
  float(): number {
    const { bytes, at } = this;
    this.pass(8);
    for (let i = 0; i < 8; i++) floatBytes[i] = bytes[at + i];
    return floatView.getFloat64(0, true);
  }
  uint32(): number {
    const { bytes, at } = this;
    this.pass(4);
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
  }
}
const floatBytes = new Uint8Array(8);
const floatView = new DataView(floatBytes.buffer);
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
