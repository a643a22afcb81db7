/**
 * Tables of a flatbuffer, read field by field.
 *
 * Invariant: every place is checked against the buffer; loops run over what the buffer can hold, whatever its counts
 * claim. Damage is a BytesFault.
 */
import { BytesFault } from '../columns/type-bytes.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A table at `at`; fields go by their index in the definition of the format. */
export class FlatTable {
  private readonly view: DataView;
  private readonly at: number;
  private readonly layout: number;
  private readonly layoutSize: number;

  constructor(view: DataView, at: number) {
    this.view = view;
    this.at = at;
    this.layout = at - this.word(at, 4, 'getInt32');
    this.layoutSize = this.word(this.layout, 2, 'getUint16');
  }

  /** The table that the buffer begins with. */
  static root(bytes: Uint8Array): FlatTable {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 8) throw new BytesFault('metadata too short');
    return new FlatTable(view, view.getUint32(0, true));
  }

  uint8(field: number, otherwise = 0): number {
    return this.scalar(field, 1, 'getUint8', otherwise);
  }
  bool(field: number): boolean {
    return this.uint8(field) !== 0;
  }
  int16(field: number, otherwise = 0): number {
    return this.scalar(field, 2, 'getInt16', otherwise);
  }
  int32(field: number, otherwise = 0): number {
    return this.scalar(field, 4, 'getInt32', otherwise);
  }
  /** @throws BytesFault for what is negative or no safe integer */
  size(field: number): number {
    const place = this.place(field);
    return place === 0 ? 0 : this.sizeAt(place);
  }
  /** An integer that names something: low 53 bits count. */
  id(field: number): number {
    const place = this.place(field);
    return place === 0 ? 0 : this.word(place + 4, 4, 'getInt32') * 4294967296 + this.word(place, 4, 'getUint32');
  }
  table(field: number): FlatTable | undefined {
    const place = this.place(field);
    return place === 0 ? undefined : new FlatTable(this.view, place + this.word(place, 4, 'getUint32'));
  }
  text(field: number): string {
    const { start, count } = this.vector(field, 1);
    return decoder.decode(new Uint8Array(this.view.buffer, this.view.byteOffset + start, count));
  }
  tables(field: number): FlatTable[] {
    const { start, count } = this.vector(field, 4);
    return Array.from(
      { length: count },
      (_, i) => new FlatTable(this.view, start + i * 4 + this.word(start + i * 4, 4, 'getUint32')),
    );
  }
  int32s(field: number): number[] | undefined {
    if (this.place(field) === 0) return undefined;
    const { start, count } = this.vector(field, 4);
    return Array.from({ length: count }, (_, i) => this.view.getInt32(start + i * 4, true));
  }
  /** Structs of `width` 64-bit sizes each, one behind the other; a null count of -1 reads as 0. */
  sizes(field: number, width: number): number[] {
    const { start, count } = this.vector(field, width * 8);
    return Array.from({ length: count * width }, (_, i) => this.sizeAt(start + i * 8));
  }

  private sizeAt(place: number): number {
    const high = this.word(place + 4, 4, 'getInt32');
    const low = this.word(place, 4, 'getUint32');
    if (high === -1 && low === 0xffffffff) return 0;
    if (high < 0 || high >= 0x200000) throw new BytesFault('size out of range');
    return high * 4294967296 + low;
  }
  private scalar(field: number, size: number, get: 'getUint8' | 'getInt16' | 'getInt32', otherwise: number): number {
    const place = this.place(field);
    return place === 0 ? otherwise : this.word(place, size, get);
  }
  /** Where the field's value is; 0 for a field that is not there. */
  private place(field: number): number {
    const entry = 4 + field * 2;
    if (entry + 2 > this.layoutSize) return 0;
    const offset = this.word(this.layout + entry, 2, 'getUint16');
    return offset === 0 ? 0 : this.at + offset;
  }
  private vector(field: number, width: number): { readonly start: number; readonly count: number } {
    const place = this.place(field);
    if (place === 0) return { start: 0, count: 0 };
    const start = place + this.word(place, 4, 'getUint32') + 4;
    const count = this.word(start - 4, 4, 'getUint32');
    if (count * width > this.view.byteLength - start) throw new BytesFault('metadata cut short');
    return { start, count };
  }
  private word(
    place: number,
    size: number,
    get: 'getUint8' | 'getInt16' | 'getUint16' | 'getInt32' | 'getUint32',
  ): number {
    if (place < 0 || place + size > this.view.byteLength) throw new BytesFault('metadata points outside of itself');
    return this.view[get](place, true);
  }
}
