/** Walks all that is inside of values, a batch at a time: for searches and `in`. */
import { longDecimalName } from '../../vectors/decimal.ts';
import { onlyMember } from '../../vectors/unions.ts';
import { type Vector, type ListVector, type MapVector, gather, slice } from '../../vectors/vector.ts';
import { codesAt } from './rows.ts';

/** What a visitor finds in a row; the greatest code of a row's nodes wins. */
export type Codes = Uint8Array;

/**
 * Codes for the rows of a vector: the greatest of the node itself and of everything inside of it. `visit` sees flat
 * vectors without names, unions and mixed rows; it answers with a code a row, or with true to have the children visited
 * only. Nodes of code `most` are not looked into.
 */
interface Visitor {
  readonly visit: (node: Vector) => Codes | undefined;
  readonly most: number;
  /** Whether errors are looked into. */
  readonly intoErrors: boolean;
  /** Long decimals are seen under their name. */
  readonly seesLong?: true;
  /** Codes of the values of dictionaries, which many batches share; absent: they are worked out for each batch. */
  readonly remembered?: WeakMap<Vector, Codes>;
}

/** The code of each row (`Visitor`). */
export const walk = (v: Vector, visitor: Visitor): Codes => found(v, visitor) ?? new Uint8Array(v.length);

/** The same; undefined where all codes are 0, which most columns of a search need not look for then. */
const found = (v: Vector, visitor: Visitor): Codes | undefined => {
  switch (v.form) {
    case 'named':
      return visitor.seesLong && v.name === longDecimalName ? visitor.visit(v) : found(v.inner, visitor);
    case 'constant': {
      const codes = found(v.inner, visitor);
      return codes && new Uint8Array(v.length).fill(codes[0]);
    }
    case 'dictionary':
      if (visitor.remembered) return picked(rememberedCodes(v.values, visitor, visitor.remembered), v.codes, v.length);
      return v.values.length > v.length
        ? found(gather(v.values, v.codes), visitor)
        : picked(found(v.values, visitor), v.codes, v.length);
    case 'selected':
      return v.base.length <= v.length
        ? picked(found(v.base, visitor), v.index, v.length)
        : found(gather(v.base, v.index), visitor);
    case 'dynamic':
      return tagged(v.tags, v.slots, v.parts, v.length, visitor);
    case 'union': {
      const member = onlyMember(v);
      return member ? found(member, visitor) : tagged(v.tags, v.slots, v.members, v.length, visitor);
    }
    default:
      return foundInNode(v, visitor);
  }
};
const picked = (table: Codes | undefined, index: Uint32Array, length: number): Codes | undefined =>
  table && codesAt(table, index, length);
const nothing: Codes = new Uint8Array(0);
const rememberedCodes = (values: Vector, visitor: Visitor, remembered: WeakMap<Vector, Codes>): Codes | undefined => {
  let codes = remembered.get(values);
  if (!codes) remembered.set(values, (codes = found(values, visitor) ?? nothing));
  return codes === nothing ? undefined : codes;
};
const tagged = (
  tags: Uint32Array,
  slots: Uint32Array,
  parts: readonly Vector[],
  length: number,
  visitor: Visitor,
): Codes | undefined => {
  const counts = new Uint32Array(parts.length);
  for (let i = 0; i < length; i++) counts[tags[i]]++;
  let out: Codes | undefined;
  parts.forEach((part, k) => {
    if (counts[k] === 0) return;
    const isWhole = part.length <= counts[k] * 2;
    const codes = found(isWhole ? part : gather(part, slotsOf(tags, slots, k, counts[k])), visitor);
    if (!codes) return;
    out ??= new Uint8Array(length);
    if (isWhole) {
      for (let i = 0; i < length; i++) if (tags[i] === k) out[i] = codes[slots[i]];
    } else for (let i = 0, n = 0; i < length; i++) if (tags[i] === k) out[i] = codes[n++];
  });
  return out;
};
const slotsOf = (tags: Uint32Array, slots: Uint32Array, tag: number, count: number): Uint32Array => {
  const index = new Uint32Array(count);
  for (let i = 0, n = 0; n < count; i++) if (tags[i] === tag) index[n++] = slots[i];
  return index;
};

const foundInNode = (v: Vector, visitor: Visitor): Codes | undefined => {
  const own = visitor.visit(v);
  switch (v.form) {
    case 'record': {
      if (own && allAre(own, visitor.most, v.length)) return own;
      let merged = own;
      for (const f of v.fields) {
        const codes = found(f.values, visitor);
        if (!codes) continue;
        if (!merged) merged = new Uint8Array(v.length);
        else if (merged === own) merged = own.slice(0, v.length);
        if (f.present) {
          for (let i = 0; i < v.length; i++) if (f.present[i] && codes[i] > merged[i]) merged[i] = codes[i];
        } else for (let i = 0; i < v.length; i++) if (codes[i] > merged[i]) merged[i] = codes[i];
      }
      return merged;
    }
    case 'list':
      return withItems(own, v, [v.items], visitor);
    case 'map':
      return withItems(own, v, [v.keys, v.values], visitor);
    case 'error': {
      const codes = visitor.intoErrors ? found(v.inner, visitor) : undefined;
      return codes && own ? codes.map((c, i) => Math.max(c, own[i])) : (codes ?? own);
    }
    default:
      return own;
  }
};
const allAre = (codes: Codes, wanted: number, length: number): boolean => {
  for (let i = 0; i < length; i++) if (codes[i] !== wanted) return false;
  return true;
};
const withItems = (
  own: Codes | undefined,
  v: ListVector | MapVector,
  children: readonly Vector[],
  visitor: Visitor,
): Codes | undefined => {
  if (v.length === 0) return own;
  const start = v.offsets[0];
  const end = v.offsets[v.length];
  let out = own;
  for (const child of children) {
    const codes = found(slice(child, start, end), visitor);
    if (!codes) continue;
    if (!out) out = new Uint8Array(v.length);
    else if (out === own) out = own.slice(0, v.length);
    for (let i = 0; i < v.length; i++) {
      for (let at = v.offsets[i] - start; at < v.offsets[i + 1] - start; at++)
        if (codes[at] > out[i]) out[i] = codes[at];
    }
  }
  return out;
};
