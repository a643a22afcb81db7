/** What is spilled that is no rows of vectors. */

/** Bytes outside of memory, put one behind the other. */
export interface SpillBytes {
  append(bytes: Uint8Array): void;
  /** Exactly these bytes, in an array of their own that begins where any typed array may. */
  read(at: number, length: number): Uint8Array;
  close(): void;
}
