/** Ranges of bytes (RFC 9110, 14): one of them; who asks for several gets everything, as the RFC allows. */

/** From `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The range that a header asks for of so many bytes; undefined: all of them; `none`: there are none of these. */
export const rangeOf = (header: string | undefined, size: number): ByteRange | 'none' | undefined => {
  const [, first, last] = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'none' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'none' : { start, end };
};
