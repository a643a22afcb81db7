/** Texts for a top: found where they are, in the order of their bytes, and the best of them. */
import { areTimeTexts } from '../../../vectors/texts/times.ts';
import { onlyMember } from '../../../vectors/unions.ts';
import { type BytesVector, type Vector, lookUp } from '../../../vectors/vector.ts';
import { types } from '../../../vectors/type.ts';

/** Texts where they are: those of `base` that `index` names, or all; `noText` in it is a null. */
export interface Texts {
  readonly base: BytesVector;
  readonly index?: Uint32Array;
}
export const noText = 0xffff_ffff;

/** Undefined if there is anything else than texts and nulls. `index`: of some rows alone. */
export const textsOf = (v: Vector, index?: Uint32Array): Texts | undefined => {
  switch (v.form) {
    case 'bytes':
      return v.type === types.string && !areTimeTexts(v) ? { base: v, ...(index && { index }) } : undefined;
    case 'dictionary':
      return textsOf(v.values, index ? lookUp(v.codes, index) : v.codes);
    case 'selected':
      return textsOf(v.base, index ? lookUp(v.index, index) : v.index);
    case 'union': {
      const member = onlyMember(v);
      return member ? textsOf(member, index) : textsAndNulls(v, v.members, index);
    }
    case 'dynamic':
      return textsAndNulls(v, v.parts, index);
    default:
      return undefined;
  }
};
const textsAndNulls = (
  { tags, slots, length }: { readonly tags: Uint32Array; readonly slots: Uint32Array; readonly length: number },
  parts: readonly Vector[],
  index: Uint32Array | undefined,
): Texts | undefined => {
  const found = parts.findIndex((part) => part.length > 0 && part.form !== 'null');
  if (found < 0 || parts.some((part, k) => k !== found && part.length > 0 && part.form !== 'null')) return undefined;
  const texts = textsOf(parts[found]);
  if (!texts) return undefined;
  const out = new Uint32Array(index?.length ?? length);
  for (let i = 0; i < out.length; i++) {
    const row = index ? index[i] : i;
    out[i] = tags[row] !== found ? noText : texts.index ? texts.index[slots[row]] : slots[row];
  }
  return { base: texts.base, index: out };
};

/** The order of bytes[start, end) beside `other`, as SQL and SuperSQL order strings: by their bytes. */
export const compareRuns = (bytes: Uint8Array, start: number, end: number, other: Uint8Array): number => {
  const shared = Math.min(end - start, other.length);
  for (let k = 0; k < shared; k++) {
    const difference = bytes[start + k] - other[k];
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
};

/** The best texts met so far, as a heap with the worst in front. */
export class TextHeap {
  private readonly heap: Uint8Array[] = [];
  private readonly count: number;
  private readonly sign: 1 | -1;
  constructor(count: number, sign: 1 | -1) {
    this.count = count;
    this.sign = sign;
  }
  get isFull(): boolean {
    return this.heap.length >= this.count;
  }
  get worst(): Uint8Array {
    return this.heap[0];
  }
  private isWorse(a: Uint8Array, b: Uint8Array): boolean {
    return compareRuns(a, 0, a.length, b) * this.sign < 0;
  }
  add(text: Uint8Array): void {
    const { heap } = this;
    let at = heap.length;
    for (let up = (at - 1) >> 1; at > 0 && this.isWorse(text, heap[up]); up = (at - 1) >> 1) {
      heap[at] = heap[up];
      at = up;
    }
    heap[at] = text;
  }
  replaceWorst(text: Uint8Array): void {
    const { heap } = this;
    let at = 0;
    for (let down = 1; down < heap.length; down = 2 * at + 1) {
      if (down + 1 < heap.length && this.isWorse(heap[down + 1], heap[down])) down++;
      if (!this.isWorse(heap[down], text)) break;
      heap[at] = heap[down];
      at = down;
    }
    heap[at] = text;
  }
}
