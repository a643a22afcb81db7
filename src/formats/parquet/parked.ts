/**
 * Expanded pages and decoded dictionaries of columns that are read side by side, in a scratch file: those that memory
 * has no room for are put away once, and each window of rows fetches its part of them.
 *
 * Beside pages that were let go, expanded again for each window and passed over up to where it began: a load of 122,880
 * rows of 300 columns takes 0.6 of the processor time. Beside dictionaries that were decoded again for each window: one
 * of 50,000 rows of 500 columns takes 0.2 of it.
 */
import { type NumberArray, type Vector, flatten } from '../../vectors/vector.ts';
import type { ScratchBytes } from '../spool.ts';

export class ParkedPages {
  private size = 0;
  private file: ScratchBytes | undefined;
  private readonly open: () => ScratchBytes;
  /** `open`: makes the scratch file, when the first page comes. */
  constructor(open: () => ScratchBytes) {
    this.open = open;
  }

  /** Where the bytes are from now on. */
  put(bytes: Uint8Array): number {
    const at = this.size;
    this.file ??= this.open();
    this.file.append(bytes);
    this.size += bytes.length;
    return at;
  }
  /** Bytes that were put, in an array of their own. */
  read(at: number, length: number): Uint8Array {
    return length > 0 ? this.file!.read(at, length) : new Uint8Array(0);
  }
  /** Puts a vector of texts or numbers; gives how it is read again, undefined for others. */
  putVector(v: Vector): (() => Vector) | undefined {
    const flat = flatten(v);
    const { length } = flat;
    if (flat.form === 'bytes') {
      const { form, type } = flat;
      const offsets = flat.offsets.subarray(0, length + 1);
      const { length: count, byteLength } = offsets;
      const size = offsets[length] ?? 0;
      const offsetsAt = this.put(bytesOf(offsets));
      const bytesAt = this.put(flat.bytes.subarray(0, size));
      return () => ({
        form,
        type,
        length,
        offsets: new Uint32Array(this.read(offsetsAt, byteLength).buffer, 0, count),
        bytes: this.read(bytesAt, size),
      });
    }
    if (flat.form === 'named') {
      const { form, name } = flat;
      const inner = this.putVector(flat.inner);
      return inner && (() => ({ form, name, length, inner: inner() }));
    }
    if (flat.form !== 'number') return undefined;
    const { form, type } = flat;
    const { byteLength, length: count } = flat.values;
    const at = this.put(bytesOf(flat.values));
    const Numbers = flat.values.constructor as new (buffer: ArrayBufferLike, at: number, count: number) => NumberArray;
    return () => ({ form, type, length, values: new Numbers(this.read(at, byteLength).buffer, 0, count) });
  }
  close(): void {
    this.file?.close();
    this.file = undefined;
    this.size = 0;
  }
}

const bytesOf = (values: ArrayBufferView): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
