/**
 * How many shapes and columns the values of one load have: each takes room in memory and in its object, however short
 * its values.
 *
 * A shape is a record's field names in order, or a kind of container, at its place in the value; a column is a kind of
 * leaf at its place. Records whose fields change their type from row to row are of one shape.
 */
import { LakeError } from '../../errors.ts';
import type { Vector } from '../../vectors/vector.ts';

/** How many shapes and columns a load may have. */
export interface ShapeLimits {
  readonly typesMax: number;
  readonly columnsMax: number;
}

/** Counts the shapes and columns of the batches of one load. */
export class LoadShapes {
  private readonly limits: ShapeLimits;
  /** Hashes of 52 bits: shapes that fall together are counted once. */
  private readonly shapes = new Set<number>();
  private readonly columns = new Set<number>();
  private rows = 0;
  constructor(limits: ShapeLimits) {
    this.limits = limits;
  }

  get count(): number {
    return this.shapes.size + this.columns.size;
  }

  /** @throws load-types, load-columns for what goes beyond the limits */
  add(batch: Vector): void {
    this.rows += batch.length;
    this.walk(batch, start);
    if (this.shapes.size > this.limits.typesMax)
      throw new LakeError('load-types', { limit: this.limits.typesMax, ...this.placeOf(batch) });
    if (this.columns.size > this.limits.columnsMax)
      throw new LakeError('load-columns', { limit: this.limits.columnsMax, ...this.placeOf(batch) });
  }
  private placeOf(batch: Vector): { readonly first: number; readonly last: number } {
    return { first: this.rows - batch.length + 1, last: this.rows };
  }

  private walk(v: Vector, place: Hash): void {
    switch (v.form) {
      case 'record': {
        let own = withText(place, 'record');
        for (const f of v.fields) own = withText(own, f.optional ? `?${f.name}` : f.name);
        this.shapes.add(numberOf(own));
        v.fields.forEach((f, k) => {
          this.walk(f.values, withNumber(own, k));
        });
        return;
      }
      case 'list':
        return this.walk(v.items, this.shape(place, v.type.kind));
      case 'map': {
        const own = this.shape(place, 'map');
        this.walk(v.keys, withNumber(own, 0));
        return this.walk(v.values, withNumber(own, 1));
      }
      case 'error':
        return this.walk(v.inner, this.shape(place, 'error'));
      case 'named':
        return this.walk(v.inner, this.shape(place, `named ${v.name}`));
      case 'union':
        for (const m of v.members) if (m.length > 0) this.walk(m, place);
        return;
      case 'dynamic':
        for (const p of v.parts) if (p.length > 0) this.walk(p, place);
        return;
      case 'constant':
        return this.walk(v.inner, place);
      case 'dictionary':
        return this.walk(v.values, place);
      case 'selected':
        return this.walk(v.base, place);
      case 'number':
      case 'bytes':
      case 'enum':
        this.columns.add(numberOf(withNumber(place, v.type.id)));
        return;
      case 'bool':
      case 'null':
      case 'type':
        this.columns.add(numberOf(withText(place, v.form)));
        return;
    }
  }
  private shape(place: Hash, kind: string): Hash {
    const own = withText(place, kind);
    this.shapes.add(numberOf(own));
    return own;
  }
}

type Hash = readonly [number, number];
const start: Hash = [0x811c9dc5, 0x9e3779b1];
const withNumber = ([a, b]: Hash, n: number): Hash => [
  Math.imul(a ^ n ^ 0x5bd1, 0x01000193) ^ (a >>> 15),
  Math.imul(b + n + 0x7f4a, 0x85ebca6b) ^ (b >>> 13),
];
const withText = (hash: Hash, text: string): Hash => {
  let [a, b] = withNumber(hash, text.length);
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b ^ c, 0x85ebca6b) ^ (b >>> 13);
  }
  return [a, b];
};
const numberOf = ([a, b]: Hash): number => (a >>> 0) * 0x100000 + (b >>> 12);
