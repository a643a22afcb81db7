/**
 * Lists of numbers that grow, over typed arrays.
 *
 * Typed arrays of up to 64 bytes live in the heap until somebody asks for their buffer, as a view does: a batch of many
 * columns and few rows has very many of them, so they begin that small and are copied, not viewed, if they stayed so.
 */
import { newBytes, newWords } from './short-arrays.ts';
import { charge } from './stop.ts';

/** A list of unsigned numbers that doubles as it grows, as long as it is not long. */
export class Uint32List {
  array = new Uint32Array(16);
  length = 0;
  push(x: number): void {
    if (this.length === this.array.length) this.array = grow(this.array, this.length + 1, newWords);
    this.array[this.length++] = x;
  }
  done(): Uint32Array {
    return this.length <= 16 ? this.array.slice(0, this.length) : this.array.subarray(0, this.length);
  }
}
/** The same of bytes. */
export class Uint8List {
  array = new Uint8Array(64);
  length = 0;
  reserve(extra: number): void {
    if (this.length + extra > this.array.length) this.array = grow(this.array, this.length + extra, newBytes);
  }
  push(x: number): void {
    this.reserve(1);
    this.array[this.length++] = x;
  }
  append(source: Uint8Array, start: number, end: number): void {
    const size = end - start;
    this.reserve(size);
    if (size > 32) this.array.set(source.subarray(start, end), this.length);
    else for (let i = start, to = this.length; i < end; i++) this.array[to++] = source[i]!;
    this.length += size;
  }
  done(): Uint8Array {
    return this.length <= 64 ? this.array.slice(0, this.length) : this.array.subarray(0, this.length);
  }
}
/**
 * Longer lists grow by a quarter: half of a list of long texts was empty, and held with the one that it was copied
 * from.
 */
const longLength = 4 << 20;
const grow = <A extends { readonly length: number; readonly BYTES_PER_ELEMENT: number; set(from: A): void }>(
  array: A,
  least: number,
  make: (n: number) => A,
): A => {
  const size = Math.max(array.length + Math.min(array.length, Math.max(longLength, array.length >> 2)), least);
  charge(size * array.BYTES_PER_ELEMENT, 'a list');
  const grown = make(size);
  grown.set(array);
  return grown;
};
