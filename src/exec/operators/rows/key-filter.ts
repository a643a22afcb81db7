/**
 * Which keys a table does not have, by their hashes alone: a table that has no room for more groups is far larger than
 * the caches of a processor, and most rows that come then are of other groups. Of 1,800,000 groups it takes 2 MB, and
 * lets one in twenty of the others pass.
 */
import { charge } from '../../../vectors/stop.ts';

/** Bits for each key, at least. */
const bitsOfKey = 8;
const wordBits = 32;
const wordsMin = 32;
/** The two bits of a key are told by the hash above those that tell its word. */
const wordsMax = 1 << 22;
const firstShift = 22;
const secondShift = 27;

/** Each key sets two bits of one word. */
export class KeyFilter {
  private readonly words: Uint32Array;
  private readonly mask: number;
  /** `keys`: so many will be added. */
  constructor(keys: number) {
    const size = 2 ** Math.ceil(Math.log2((keys * bitsOfKey) / wordBits + 1));
    const words = Math.min(wordsMax, Math.max(wordsMin, size));
    charge(words * Uint32Array.BYTES_PER_ELEMENT, 'aggregate');
    this.words = new Uint32Array(words);
    this.mask = words - 1;
  }
  get bytes(): number {
    return this.words.byteLength;
  }
  /** Adds keys of these hashes. */
  add(hashes: Uint32Array): void {
    const { words, mask } = this;
    for (let i = 0; i < hashes.length; i++) {
      const h = hashes[i];
      words[h & mask] |= (1 << (h >>> firstShift)) | (1 << (h >>> secondShift));
    }
  }
  /** The rows whose keys may have been added. */
  rows(hashes: Uint32Array): Uint32Array {
    const { words, mask } = this;
    const out = new Uint32Array(hashes.length);
    let n = 0;
    for (let i = 0; i < hashes.length; i++) {
      const h = hashes[i];
      const word = words[h & mask];
      out[n] = i;
      n += (word >>> (h >>> firstShift)) & (word >>> (h >>> secondShift)) & 1;
    }
    return out.subarray(0, n);
  }
}
