/**
 * Keys of several classes (texts, numbers, bools, ..) in one column: rows of each class of one side are looked for among
 * those of each class of the other, so that what matches does not depend on what else is in a batch.
 */
import { type Vector, flatten, lookUp, take } from '../../../vectors/vector.ts';
import { types } from '../../../vectors/type.ts';
import { none } from '../../aggregates/grouping/pair-table.ts';
import { tidy } from '../../expressions/rows.ts';
import type { Found, Keys } from './index.ts';

/** Rows whose keys are of one class each, and these keys. */
export interface ClassRows {
  readonly rows: Uint32Array;
  readonly keys: readonly Vector[];
}

/** The rows of each class, of several keys of each combination; undefined: all rows are of one. */
export const byClass = (keys: readonly Vector[], length: number): readonly ClassRows[] | undefined => {
  const codes = new Float64Array(length);
  let isMixed = false;
  for (const key of keys) {
    const flat = flatten(key);
    if (flat.form !== 'dynamic') continue;
    const names = flat.parts.map((part) => primitiveName(flatten(part)) ?? 'other');
    const distinct = [...new Set(names)];
    if (distinct.length === 1) continue;
    isMixed = true;
    const own = names.map((name) => distinct.indexOf(name));
    for (let i = 0; i < length; i++) codes[i] = codes[i] * distinct.length + own[flat.tags[i]];
  }
  if (!isMixed) return undefined;
  const places = new Map<number, number[]>();
  for (let i = 0; i < length; i++) {
    const known = places.get(codes[i]);
    if (known) known.push(i);
    else places.set(codes[i], [i]);
  }
  if (places.size < 2) return undefined;
  return [...places.values()].map((list) => {
    const rows = Uint32Array.from(list);
    return { rows, keys: keys.map((key) => tidy(take(key, rows))) };
  });
};
/** The type of the values; undefined if they are no primitives of one type. */
export const primitiveName = (v: Vector): string | undefined =>
  v.form === 'number' || v.form === 'bytes' || v.form === 'bool'
    ? (v.form === 'bool' ? types.bool : v.type).name
    : undefined;

/** Built rows of one class. `rows`: the rows of the join's built side in the order of the finder's; undefined: the same. */
export interface BuiltClass {
  readonly rows: Uint32Array | undefined;
  readonly finder: { find(wanted: Keys, length: number): Found };
}

/** The built rows by class, and the chains of all that was found in them as one. */
export class MixedKeys {
  private readonly built: readonly BuiltClass[];
  private next = new Uint32Array(0);
  private order = new Uint32Array(0);
  /** By chains: the place at which they begin among all. */
  private readonly bases = new Map<Uint32Array, number>();
  constructor(built: readonly BuiltClass[]) {
    this.built = built;
  }
  get bytes(): number {
    return this.next.byteLength + this.order.byteLength;
  }

  /** The built rows for each of `length` rows, some of which look for partners. */
  find(wanted: readonly ClassRows[], length: number): Found {
    const heads = new Uint32Array(length).fill(none);
    /** Rows with partners of several classes: row, and where the further chain begins. */
    const further: [row: number, head: number][] = [];
    for (const { rows, keys } of wanted)
      for (const built of this.built) {
        const out = new Uint8Array(rows.length);
        const found = built.finder.find({ keys, out, loose: true, isWhole: true }, rows.length);
        if (!found.heads.some((head) => head !== none)) continue;
        const base = this.baseOf(found, built.rows);
        rows.forEach((row, i) => {
          const head = found.heads[i];
          if (head === none) return;
          if (heads[row] === none) heads[row] = base + head;
          else further.push([row, base + head]);
        });
      }
    return further.length > 0 ? this.chained(heads, further) : { heads, next: this.next, order: this.order };
  }
  private baseOf({ next, order }: Found, rows: Uint32Array | undefined): number {
    const known = this.bases.get(next);
    if (known !== undefined) return known;
    const base = this.next.length;
    this.bases.set(next, base);
    const places = order ?? Uint32Array.from(next, (_, place) => place);
    this.next = joined(
      this.next,
      next.map((place) => (place === none ? none : base + place)),
    );
    this.order = joined(this.order, rows ? lookUp(rows, places) : places);
    return base;
  }
  /** Chains behind one another: the first one is copied, since other rows may have it too. */
  private chained(heads: Uint32Array, further: readonly (readonly [number, number])[]): Found {
    const next: number[] = [];
    const order: number[] = [];
    const base = this.next.length;
    const at = (list: Uint32Array, more: readonly number[], place: number): number =>
      place < base ? list[place] : more[place - base];
    for (const [row, head] of further) {
      let place = heads[row];
      heads[row] = base + next.length;
      while (place !== none) {
        order.push(at(this.order, order, place));
        place = at(this.next, next, place);
        next.push(place === none ? head : base + next.length + 1);
      }
    }
    return {
      heads,
      next: joined(this.next, Uint32Array.from(next)),
      order: joined(this.order, Uint32Array.from(order)),
    };
  }
}
const joined = (a: Uint32Array, b: Uint32Array): Uint32Array<ArrayBuffer> => {
  const all = new Uint32Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
};
