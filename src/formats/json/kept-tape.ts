/**
 * The tape of small bodies, which come one after the other: of the keys that one had the next one makes no texts and no
 * layouts again.
 */
import { JsonTape } from './tape.ts';

/** Bytes of keys that are kept: one may be as long as a small body. */
const keyBytesMax = 1 << 20;
let kept: JsonTape | undefined;

/** A tape for one body: the kept one, unless another body has it. */
export const takeTape = (nestingMax: number): JsonTape => {
  const tape = kept?.nestingMax === nestingMax ? kept : new JsonTape(nestingMax, { keyBytesMax });
  kept = undefined;
  tape.watchDigits(undefined);
  return tape;
};

/** The body was read, or it failed: the tape is kept for the next one. */
export const keepTape = (tape: JsonTape): void => {
  tape.taken();
  kept = tape;
};
