/**
 * JSON as others send it, made into a stream of values in place, byte for byte, so that places in errors stay: elements
 * of an array at the top become values of their own; record separators of JSON text sequences (RFC 7464) become white
 * space.
 */
import { LakeError } from '../../errors.ts';

const code = (text: string): number => text.charCodeAt(0);
const [quote, backslash, comma, open, close, openRecord, closeRecord, newline, space, separator] = [
  code('"'),
  code('\\'),
  code(','),
  code('['),
  code(']'),
  code('{'),
  code('}'),
  code('\n'),
  code(' '),
  0x1e,
] as const;
const isSpace = (byte: number): boolean => byte === space || (byte >= 0x09 && byte <= 0x0d);

/** Where the scan is between the elements of an array at the top. */
type Between = 'beginning' | 'after comma' | 'scalar' | 'after value';

/**
 * The bytes with values one after the other; `unnest`: elements of arrays at the top are values of their own. Input
 * whose first value is no array goes through as it is. @throws format-broken where such an array is none
 */
export async function* asValues(input: AsyncIterable<Uint8Array>, unnest = false): AsyncGenerator<Uint8Array> {
  const scan = unnest ? new ArrayScan() : undefined;
  let isSequence: boolean | undefined;
  for await (const chunk of input) {
    if (chunk.length > 0) isSequence ??= chunk[0] === separator;
    if (isSequence) clearSeparators(chunk);
    scan?.rewrite(chunk);
    yield chunk;
  }
  scan?.end();
}
const clearSeparators = (chunk: Uint8Array): void => {
  for (let at = chunk.indexOf(separator); at >= 0; at = chunk.indexOf(separator, at + 1)) chunk[at] = space;
};

class ArrayScan {
  /** Undefined until the first byte that is no white space. */
  private isArray: boolean | undefined;
  /** Open arrays and records; 1: between the elements of the one at the top. */
  private depth = 0;
  private inText = false;
  private isEscaped = false;
  private between: Between = 'beginning';
  private line = 1;

  /** Rewrites bytes in place. */
  rewrite(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i];
      if (this.isArray === false) return;
      if (byte === newline) this.line++;
      if (this.inText) this.text(byte);
      else if (isSpace(byte)) {
        if (this.depth === 1 && this.between === 'scalar') this.between = 'after value';
      } else if (this.depth <= 1) bytes[i] = this.top(byte);
      else this.inside(byte);
    }
  }

  /** @throws format-broken if an array is still open */
  end(): void {
    if (this.isArray && this.depth > 0) throw this.broken('the array does not end');
  }

  private text(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === backslash) this.isEscaped = true;
    else if (byte === quote) {
      this.inText = false;
      if (this.depth === 1) this.between = 'after value';
    }
  }

  private inside(byte: number): void {
    if (byte === quote) this.inText = true;
    else if (byte === open || byte === openRecord) this.depth++;
    else if ((byte === close || byte === closeRecord) && --this.depth === 1) this.between = 'after value';
  }

  /** What stands in place of a byte at the top or between elements. */
  private top(byte: number): number {
    if (this.depth === 0) {
      this.isArray ??= byte === open;
      if (!this.isArray) return byte;
      if (byte !== open) throw this.broken('after an array only another one may come');
      this.depth = 1;
      this.between = 'beginning';
      return space;
    }
    switch (byte) {
      case comma:
        if (this.between === 'beginning' || this.between === 'after comma') throw this.broken('an element is missing');
        this.between = 'after comma';
        return space;
      case close:
        if (this.between === 'after comma') throw this.broken('an element is missing');
        this.depth = 0;
        return space;
    }
    if (this.between === 'after value') throw this.broken('a comma is missing between elements');
    if (byte === quote || byte === open || byte === openRecord) {
      if (this.between === 'scalar') throw this.broken('a comma is missing between elements');
      this.inside(byte);
    } else this.between = 'scalar';
    return byte;
  }

  private broken(fault: string): LakeError {
    return new LakeError('format-broken', { format: 'json', fault, place: ` (line ${this.line})` });
  }
}
