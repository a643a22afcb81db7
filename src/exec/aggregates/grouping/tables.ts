/**
 * Hash tables from keys to dense codes: 0 for the first key met, 1 for the next. Open addressing over typed arrays,
 * nothing is kept per key as an object.
 *
 * `none` as a code: not in the table (look-ups that do not insert).
 */
import { LakeError } from '../../../errors.ts';
import { Uint32List } from '../../../vectors/lists.ts';
import { charge } from '../../../vectors/stop.ts';
import { copyRun, viewOf } from '../../../vectors/texts/byte-runs.ts';
import { mix, none } from './pair-table.ts';

/**
 * out[i] = table[index[i]] for each i; whether all of these are known. A loop without calls: codes have no sign, `none`
 * has.
 */
export const lookUp = (table: Uint32Array, index: Uint32Array, out: Uint32Array): boolean => {
  let seen = 0;
  for (let i = 0; i < out.length; i++) {
    const code = table[index[i]];
    out[i] = code;
    seen |= code;
  }
  return seen >= 0;
};
/** A 32-bit hash of bytes[start, end), two words a step, each in a lane of its own. `words` views the bytes. */
const hashBytes = (bytes: Uint8Array, words: DataView, start: number, end: number): number => {
  let h = end - start;
  let k = 0x85ebca6b;
  let at = start;
  for (const stop = end - 7; at < stop; at += 8) {
    h = Math.imul(h ^ words.getInt32(at, true), 0x9e3779b1);
    h ^= h >>> 15;
    k = Math.imul(k ^ words.getInt32(at + 4, true), 0xc2b2ae35);
    k ^= k >>> 13;
  }
  if (at + 4 <= end) {
    h = Math.imul(h ^ words.getInt32(at, true), 0x9e3779b1);
    h ^= h >>> 15;
    at += 4;
  }
  for (; at < end; at++) h = Math.imul(h ^ bytes[at], 0x01000193);
  return mix(h ^ Math.imul(k, 31));
};

/** Runs lie in chunks of so many bytes, an address is the chunk's number above the place in it. */
const chunkBits = 20;
const chunkBytes = 1 << chunkBits;
const chunkMask = chunkBytes - 1;
const chunksMax = 2 ** (32 - chunkBits);
const firstChunkBytes = 64;
/**
 * Runs of bytes, each in one piece, in chunks that stay where they are: nothing is copied when there come more, and
 * there are never two copies of all at once.
 */
class Texts {
  private readonly chunks: Uint8Array[] = [];
  readonly words: DataView[] = [];
  private used = 0;
  held = 0;

  /** The address of a copy of bytes[start, end) of `source`. */
  append(source: Uint8Array, sourceWords: DataView, start: number, end: number): number {
    const size = end - start;
    if (this.chunks.length === 0 || this.used + size > this.chunks.at(-1)!.length) this.reserve(size);
    const last = this.chunks.length - 1;
    const chunk = this.chunks[last];
    const at = this.used;
    copyRun(source, sourceWords, start, chunk, this.words[last], at, at + size);
    this.used += size;
    return last * chunkBytes + at;
  }
  /** Makes room for one more run: the first chunk grows until it is whole, then there are others. */
  private reserve(size: number): void {
    const { chunks } = this;
    const first = chunks.length === 1 ? chunks[0] : undefined;
    const wider = Math.max(firstChunkBytes, (first?.length ?? 0) * 2);
    if (chunks.length === 0 || (first && wider <= chunkBytes && this.used + size <= chunkBytes)) {
      const chunk = this.made(Math.max(wider, Math.min(chunkBytes, 2 ** Math.ceil(Math.log2(this.used + size))), size));
      if (first) chunk.set(first);
      this.held -= first?.length ?? 0;
      return this.put(0, chunk);
    }
    this.used = 0;
    this.put(chunks.length, this.made(Math.max(chunkBytes, size)));
  }
  private made(bytes: number): Uint8Array {
    if (this.chunks.length >= chunksMax)
      throw new LakeError('query-memory', { operator: 'distinct strings', limit: chunksMax * chunkBytes });
    charge(bytes, 'distinct strings');
    this.held += bytes;
    return new Uint8Array(bytes);
  }
  private put(at: number, chunk: Uint8Array): void {
    this.chunks[at] = chunk;
    this.words[at] = viewOf(chunk);
  }

  /** The first byte of the run at an address, which may be empty. */
  firstOf(address: number): number {
    return this.chunks[address >>> chunkBits][address & chunkMask] | 0;
  }
  /** The runs of some codes one after the other; `places`: address and length of each code's. */
  gather(
    places: Uint32Array,
    codes: Uint32Array,
  ): { readonly bytes: Uint8Array<ArrayBuffer>; readonly offsets: Uint32Array<ArrayBuffer> } {
    const offsets = new Uint32Array(codes.length + 1);
    for (let i = 0; i < codes.length; i++) offsets[i + 1] = offsets[i] + places[2 * codes[i] + 1];
    const size = offsets[codes.length];
    charge(size, 'distinct strings');
    const bytes = new Uint8Array(size);
    const words = viewOf(bytes);
    for (let i = 0; i < codes.length; i++) {
      const address = places[2 * codes[i]];
      const chunk = address >>> chunkBits;
      copyRun(this.chunks[chunk], this.words[chunk], address & chunkMask, bytes, words, offsets[i], offsets[i + 1]);
    }
    return { bytes, offsets };
  }
}

/** Slots of a table at the start. */
const textSlotsMin = 16;

/**
 * Codes of runs of bytes. A slot has the hash beside the code plus one (0: empty), and words are compared, not bytes:
 * 1,000,000 addresses of 1,000 take 0.65 of the time, of 557,000 0.85.
 */
export class BytesTable {
  private slots = new Uint32Array(textSlotsMin * 2);
  private mask = textSlotsMin - 1;
  /** Address and length of each code's run, in turn. */
  private readonly places = new Uint32List();
  private readonly texts = new Texts();
  /** What was asked for last, and a view of it: made once for many runs. */
  private source = new Uint8Array(0);
  private sourceWords = viewOf(this.source);
  get size(): number {
    return this.places.length >> 1;
  }
  get held(): number {
    return this.slots.byteLength + this.places.array.byteLength + this.texts.held;
  }
  /** The runs of these codes, one after the other. */
  runs(codes: Uint32Array): { readonly bytes: Uint8Array; readonly offsets: Uint32Array } {
    return this.texts.gather(this.places.array, codes);
  }

  code(source: Uint8Array, start: number, end: number, insert: boolean): number {
    this.view(source);
    return this.codeOf(hashBytes(source, this.sourceWords, start, end), start, end, insert);
  }
  private view(source: Uint8Array): void {
    if (source === this.source) return;
    this.source = source as Uint8Array<ArrayBuffer>;
    this.sourceWords = viewOf(source);
  }
  /** The code of bytes[start, end) of `source`, which have this hash. */
  private codeOf(hash: number, start: number, end: number, insert: boolean): number {
    const { slots, mask } = this;
    let at = hash & mask;
    for (let code = slots[2 * at + 1]; code !== 0; code = slots[2 * at + 1]) {
      if (slots[2 * at] === hash && this.same(code - 1, start, end)) return code - 1;
      at = (at + 1) & mask;
    }
    return insert ? this.add(at, hash, start, end) : none;
  }
  private same(code: number, start: number, end: number): boolean {
    const { source, sourceWords, texts } = this;
    const places = this.places.array;
    if (places[2 * code + 1] !== end - start) return false;
    const address = places[2 * code];
    const words = texts.words[address >>> chunkBits];
    let at = address & chunkMask;
    let from = start;
    for (; from + 4 <= end; from += 4, at += 4)
      if (words.getInt32(at, true) !== sourceWords.getInt32(from, true)) return false;
    for (; from < end; from++) if (words.getUint8(at++) !== source[from]) return false;
    return true;
  }
  private add(at: number, hash: number, start: number, end: number): number {
    const code = this.size;
    this.slots[2 * at] = hash;
    this.slots[2 * at + 1] = code + 1;
    const address = this.texts.append(this.source, this.sourceWords, start, end);
    this.places.push(address);
    this.places.push(end - start);
    // With the hash in the slot a full place costs little: two thirds are taken at most.
    if (this.size * 3 > this.slots.length) this.grow();
    return code;
  }
  private grow(): void {
    const size = (this.mask + 1) * 2;
    const before = this.slots;
    this.mask = size - 1;
    this.slots = new Uint32Array(size * 2);
    moveSlots(before, this.slots, this.mask);
  }
  /** Codes of the runs of `source`: of those that `index` names, where it is there. */
  codes(
    source: Uint8Array,
    offsets: Uint32Array,
    length: number,
    { insert, index }: { readonly insert: boolean; readonly index?: Uint32Array | undefined },
    out: Uint32Array = new Uint32Array(length),
  ): Uint32Array {
    this.view(source);
    for (let from = 0; from < length; from += stretchRows) {
      const rows = Math.min(length - from, stretchRows);
      if (index) for (let i = 0; i < rows; i++) startsOf[i] = offsets[index[from + i]];
      else for (let i = 0; i < rows; i++) startsOf[i] = offsets[from + i];
      if (index) for (let i = 0; i < rows; i++) endsOf[i] = offsets[index[from + i] + 1];
      else for (let i = 0; i < rows; i++) endsOf[i] = offsets[from + i + 1];
      this.lookUp(rows);
      for (let i = 0; i < rows; i++) {
        const start = startsOf[i];
        const end = endsOf[i];
        const code = codesOf[i];
        out[from + i] =
          code !== none && this.same(code, start, end) ? code : this.codeOf(hashesOf[i], start, end, insert);
      }
    }
    return out;
  }
  /**
   * The hashes of a stretch of runs, and the codes that have the same. Slots, places and runs are far apart: each
   * looked at in a loop of its own, several of them are under way at a time, and are near when the runs are compared.
   * With a look at the first slots alone 1,500,000 texts of 800,000 took 1.4 times the processor time.
   */
  private lookUp(rows: number): void {
    const { slots, mask, source, sourceWords, texts } = this;
    const places = this.places.array;
    for (let i = 0; i < rows; i++) hashesOf[i] = hashBytes(source, sourceWords, startsOf[i], endsOf[i]);
    for (let i = 0; i < rows; i++) {
      const hash = hashesOf[i];
      let at = hash & mask;
      while (slots[2 * at] !== hash && slots[2 * at + 1] !== 0) at = (at + 1) & mask;
      // An empty slot's 0 is `none` that way.
      codesOf[i] = slots[2 * at + 1] - 1;
    }
    for (let i = 0; i < rows; i++) addressesOf[i] = codesOf[i] === none ? none : places[2 * codesOf[i]];
    for (let i = 0; i < rows; i++) {
      const address = addressesOf[i];
      if (address !== none) seenOf[i] = texts.firstOf(address);
    }
  }
}

/** Rows that are hashed and looked up together. */
const stretchRows = 256;
const startsOf = new Uint32Array(stretchRows);
const endsOf = new Uint32Array(stretchRows);
const hashesOf = new Uint32Array(stretchRows);
const codesOf = new Uint32Array(stretchRows);
const addressesOf = new Uint32Array(stretchRows);
/** What was seen of the runs, which are compared afterwards. */
const seenOf = new Uint32Array(stretchRows);

const moveSlots = (from: Uint32Array, to: Uint32Array, mask: number): void => {
  for (let k = 0; k < from.length; k += 2) {
    const hash = from[k];
    const code = from[k + 1];
    if (code === 0) continue;
    let at = hash & mask;
    while (to[2 * at + 1] !== 0) at = (at + 1) & mask;
    to[2 * at] = hash;
    to[2 * at + 1] = code;
  }
};

/** Room for the codes of a batch, for use until it is asked for again. */
export class Room {
  private array = new Uint32Array(0);
  of(length: number): Uint32Array {
    if (this.array.length < length) this.array = new Uint32Array(Math.max(length, this.array.length * 2));
    return this.array.length === length ? this.array : this.array.subarray(0, length);
  }
}
