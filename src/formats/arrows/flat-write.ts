/** Writes flatbuffers front to back: a table, then what it refers to. Readers that verify alignment accept it. */

/** A field of a table: left out (undefined), a number of `width` bytes, or what is referred to. */
export type FlatField = undefined | { readonly width: 1 | 2 | 4 | 8; readonly value: number } | FlatObject;
/**
 * What can be referred to: a table with its fields in order, a text, or a vector of tables, 32-bit or 64-bit numbers.
 */
export type FlatObject =
  | { readonly table: readonly FlatField[] }
  | { readonly text: string }
  | { readonly tables: readonly FlatObject[] }
  | { readonly int32s: readonly number[] }
  /** 64-bit sizes, `width` of them an element. */
  | { readonly sizes: readonly number[]; readonly width: number };

/** A whole flatbuffer with this root. */
export const flatBytes = (root: FlatObject): Uint8Array => {
  const out = new FlatWriter();
  out.skip(4);
  out.refer(0, root);
  out.align(8, 0);
  return out.bytes.subarray(0, out.length);
};

const utf8 = new TextEncoder();

class FlatWriter {
  bytes = new Uint8Array(1024);
  length = 0;
  private view = new DataView(this.bytes.buffer);

  /** Room for `size` bytes, which are 0. */
  skip(size: number): number {
    const at = this.length;
    if (at + size > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.bytes.length * 2, at + size));
      grown.set(this.bytes);
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    this.length += size;
    return at;
  }
  /** What comes `ahead` bytes later shall be aligned. */
  align(width: number, ahead: number): void {
    this.skip((width - ((this.length + ahead) % width)) % width);
  }

  /** Writes the object and its distance at `place`. */
  refer(place: number, object: FlatObject): void {
    const at = this.object(object);
    this.view.setUint32(place, at - place, true);
  }

  private object(object: FlatObject): number {
    if ('table' in object) return this.table(object.table);
    if ('text' in object) {
      const bytes = utf8.encode(object.text);
      const at = this.vector(bytes.length, 1, 1);
      this.bytes.set(bytes, at + 4);
      this.skip(1);
      return at;
    }
    if ('tables' in object) {
      const at = this.vector(object.tables.length, 4, 4);
      object.tables.forEach((t, i) => this.refer(at + 4 + i * 4, t));
      return at;
    }
    if ('int32s' in object) {
      const at = this.vector(object.int32s.length, 4, 4);
      object.int32s.forEach((x, i) => this.view.setInt32(at + 4 + i * 4, x, true));
      return at;
    }
    const at = this.vector(object.sizes.length / object.width, object.width * 8, 8);
    object.sizes.forEach((x, i) => this.size(at + 4 + i * 8, x));
    return at;
  }
  private vector(count: number, width: number, alignment: number): number {
    this.align(Math.max(alignment, 4), 4);
    const at = this.skip(4 + count * width);
    this.view.setUint32(at, count, true);
    return at;
  }
  private size(at: number, x: number): void {
    this.view.setUint32(at, x % 4294967296, true);
    this.view.setUint32(at + 4, Math.floor(x / 4294967296), true);
  }

  private table(fields: readonly FlatField[]): number {
    const layoutSize = 4 + fields.length * 2;
    this.align(8, layoutSize);
    const layout = this.skip(layoutSize);
    const at = this.length;
    const places = new Array<number>(fields.length).fill(0);
    let size = 4;
    for (const width of [4, 8, 2, 1]) {
      fields.forEach((f, k) => {
        if (!f || widthOf(f) !== width) return;
        size = Math.ceil(size / width) * width;
        places[k] = size;
        size += width;
      });
    }
    this.skip(size);
    this.view.setUint16(layout, layoutSize, true);
    this.view.setUint16(layout + 2, size, true);
    places.forEach((p, k) => this.view.setUint16(layout + 4 + k * 2, p, true));
    this.view.setInt32(at, at - layout, true);
    fields.forEach((f, k) => {
      const place = at + places[k];
      if (!f) return;
      if (!('width' in f && 'value' in f)) this.refer(place, f as FlatObject);
      else if (f.width === 8) this.size(place, f.value);
      else if (f.width === 4) this.view.setInt32(place, f.value, true);
      else if (f.width === 2) this.view.setInt16(place, f.value, true);
      else this.view.setUint8(place, f.value);
    });
    return at;
  }
}
const widthOf = (f: NonNullable<FlatField>): number => ('value' in f ? f.width : 4);

/** A field of one byte. */
export const uint8 = (value: number): FlatField => ({ width: 1, value });
/** A field of one byte, 1 or 0. */
export const bool = (value: boolean): FlatField => ({ width: 1, value: value ? 1 : 0 });
/** A field of two bytes. */
export const int16 = (value: number): FlatField => ({ width: 2, value });
/** A field of four bytes. */
export const int32 = (value: number): FlatField => ({ width: 4, value });
/** A field of eight bytes, for a safe integer. */
export const int64 = (value: number): FlatField => ({ width: 8, value });
