/** Copies pieces one behind the other into `out`, which has room for all of them, and gives it back. */
export const joinBytes = <T extends Uint8Array>(pieces: readonly Uint8Array[], out: T): T => {
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
};
