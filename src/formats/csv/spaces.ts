/** White space, of Unicode too, in the UTF-8 of cells. */

/** Whether a white space character may begin with the byte. */
export const isSpaceStart = (c: number): boolean => c <= 0x20 || c >= 0xc2;

/**
 * The place in bytes[i, end) behind the white space that is there; line breaks are none, nor is the delimiter, where
 * one is given.
 */
export const behindSpaces = (bytes: Uint8Array, i: number, end: number, delimiter?: number): number => {
  let at = i;
  while (at < end) {
    const c = bytes[at];
    if (c === delimiter || c === 0x0a || c === 0x0d) break;
    const size = c <= 0x20 ? (c === 0x20 || (c >= 9 && c <= 13) ? 1 : 0) : wideSpace(bytes, at);
    if (size === 0 || at + size > end) break;
    at += size;
  }
  return at;
};

/**
 * Bytes of the space beyond ASCII at `i`, or 0: U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F,
 * U+205F, U+3000.
 */
const wideSpace = (bytes: Uint8Array, i: number): number => {
  const b = bytes[i + 1];
  const c = bytes[i + 2];
  switch (bytes[i]) {
    case 0xc2:
      return b === 0x85 || b === 0xa0 ? 2 : 0;
    case 0xe1:
      return b === 0x9a && c === 0x80 ? 3 : 0;
    case 0xe2:
      return (b === 0x80 && ((c >= 0x80 && c <= 0x8a) || c === 0xa8 || c === 0xa9 || c === 0xaf)) ||
        (b === 0x81 && c === 0x9f)
        ? 3
        : 0;
    case 0xe3:
      return b === 0x80 && c === 0x80 ? 3 : 0;
    default:
      return 0;
  }
};
