/** Walks all that is inside of values, a batch at a time: for searches and `in`. */
import { type Vector, type ListVector, type MapVector, gather, slice } from '../../vectors/vector.ts';

/** What a visitor finds in a row; the greatest code of a row's nodes wins. */
export type Codes = Uint8Array;

/**
 * Codes for the rows of a vector: the greatest of the node itself and of everything inside of it. `visit` sees flat vectors without names, unions and mixed
 * rows; it answers with a code a row, or with true to have the children visited only. Nodes of code `most` are not looked into.
 */
export interface Visitor {
  readonly visit: (node: Vector) => Codes | undefined;
  readonly most: number;
  /** Whether errors are looked into. */
  readonly intoErrors: boolean;
  /** Codes of the values of dictionaries, which many batches share; absent: they are worked out for each batch. */
  readonly remembered?: WeakMap<Vector, Codes>;
}

export const walk = (v: Vector, visitor: Visitor): Codes => {
  switch (v.form) {
    case 'named': return walk(v.inner, visitor);
    case 'constant': return new Uint8Array(v.length).fill(walk(v.inner, visitor)[0]!);
    case 'dictionary': return visitor.remembered ? lookUp(rememberedCodes(v.values, visitor, visitor.remembered), v.codes, v.length) : v.values.length > v.length ? walk(gather(v.values, v.codes), visitor) : lookUp(walk(v.values, visitor), v.codes, v.length);
    case 'selected': return v.base.length <= v.length ? lookUp(walk(v.base, visitor), v.index, v.length) : walk(gather(v.base, v.index), visitor);
    case 'dynamic': return tagged(v.tags, v.slots, v.parts, v.length, visitor);
    case 'union': return tagged(v.tags, v.slots, v.members, v.length, visitor);
    default: return walkNode(v, visitor);
  }
};
const rememberedCodes = (values: Vector, visitor: Visitor, remembered: WeakMap<Vector, Codes>): Codes => {
  let codes = remembered.get(values);
  if (!codes) remembered.set(values, (codes = walk(values, visitor)));
  return codes;
};
const lookUp = (table: Codes, index: Uint32Array, length: number): Codes => {
  const out = new Uint8Array(length);
  for (let i = 0; i < length; i++) out[i] = table[index[i]!]!;
  return out;
};
const tagged = (tags: Uint32Array, slots: Uint32Array, parts: readonly Vector[], length: number, visitor: Visitor): Codes => {
  const counts = new Uint32Array(parts.length);
  for (let i = 0; i < length; i++) counts[tags[i]!]!++;
  const out = new Uint8Array(length);
  parts.forEach((part, k) => {
    if (counts[k] === 0) return;
    if (part.length <= counts[k]! * 2) {
      const codes = walk(part, visitor);
      for (let i = 0; i < length; i++) if (tags[i] === k) out[i] = codes[slots[i]!]!;
      return;
    }
    const index = new Uint32Array(counts[k]!);
    for (let i = 0, n = 0; i < length; i++) if (tags[i] === k) index[n++] = slots[i]!;
    const codes = walk(gather(part, index), visitor);
    for (let i = 0, n = 0; i < length; i++) if (tags[i] === k) out[i] = codes[n++]!;
  });
  return out;
};

const walkNode = (v: Vector, visitor: Visitor): Codes => {
  const own = visitor.visit(v);
  const out = own ?? new Uint8Array(v.length);
  switch (v.form) {
    case 'record': {
      if (own && allAre(own, visitor.most, v.length)) return own;
      let merged = out;
      for (const f of v.fields) {
        const codes = walk(f.values, visitor);
        if (visitor.most === 1 && !codes.includes(1)) continue;
        if (merged === own) merged = own.slice(0, v.length);
        if (f.present) { for (let i = 0; i < v.length; i++) if (f.present[i] && codes[i]! > merged[i]!) merged[i] = codes[i]!; }
        else for (let i = 0; i < v.length; i++) if (codes[i]! > merged[i]!) merged[i] = codes[i]!;
      }
      return merged;
    }
    case 'list': return withItems(own ? own.slice(0, v.length) : out, v, [v.items], visitor);
    case 'map': return withItems(own ? own.slice(0, v.length) : out, v, [v.keys, v.values], visitor);
    case 'error': {
      if (!visitor.intoErrors) return out;
      const codes = walk(v.inner, visitor);
      return codes.map((c, i) => Math.max(c, out[i]!));
    }
    default: return out;
  }
};
const allAre = (codes: Codes, wanted: number, length: number): boolean => {
  for (let i = 0; i < length; i++) if (codes[i] !== wanted) return false;
  return true;
};
const withItems = (out: Codes, v: ListVector | MapVector, children: readonly Vector[], visitor: Visitor): Codes => {
  if (v.length === 0) return out;
  const start = v.offsets[0]!, end = v.offsets[v.length]!;
  for (const child of children) {
    const codes = walk(slice(child, start, end), visitor);
    for (let i = 0; i < v.length; i++) {
      for (let at = v.offsets[i]! - start; at < v.offsets[i + 1]! - start; at++) if (codes[at]! > out[i]!) out[i] = codes[at]!;
    }
  }
  return out;
};
