/**
 * Long texts in pieces: decoded at once, one takes several times its bytes.
 *
 * Invariant: pieces end where neither an escape, nor a character, nor what normal form C puts together is cut: before
 * an ASCII character, or an escape for one.
 */

/** A text that is longer is decoded in pieces of about so many bytes. */
export const pieceBytes = 1 << 16;

/**
 * Where the next piece of bytes[start, end) ends; `escapes`: a backslash begins an escape, `\uNNNN` or of one
 * character.
 */
export const pieceEnd = (bytes: Uint8Array, start: number, end: number, escapes: boolean): number => {
  const least = start + pieceBytes;
  if (least >= end) return end;
  for (let i = start; i < end; ) {
    const c = bytes[i];
    const escape = escapes && c === 0x5c;
    const coded = escape && bytes[i + 1] === 0x75;
    if (i >= least && c < 0x80 && !coded) return i;
    i += coded ? 6 : escape ? 2 : 1;
  }
  return end;
};

/** The text of bytes[start, end), of any length, in pieces that `decode` makes. */
export function* textPieces(
  bytes: Uint8Array,
  { start, end, escapes }: { readonly start: number; readonly end: number; readonly escapes: boolean },
  decode: (bytes: Uint8Array, start: number, end: number) => string,
): Generator<string> {
  for (let at = start; at < end; ) {
    const next = pieceEnd(bytes, at, end, escapes);
    yield decode(bytes, at, next);
    at = next;
  }
}
