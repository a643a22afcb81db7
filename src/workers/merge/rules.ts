/**
 * The rules of a three-way merge by record, of rows that come together: what is to be taken from our side and given to
 * it.
 *
 * - As whole values (a bag): what either side added is added, what either removed is removed. Where both removed copies
 *   of one value, the larger number counts, for they may have meant the same ones; so it is with what both added, where
 *   objects tell that they have it from each other. Nothing is in conflict.
 * - By identity: records of one identity are one thing. It becomes what the side made of it that changed it; what both
 *   made of it, if that is the same; else it is in conflict, unless it is settled.
 */
import { ColumnCodes } from '../../exec/aggregates/grouping/codes.ts';
import { concat } from '../../vectors/concat.ts';
import { Uint32List } from '../../vectors/lists.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { checkStopAt } from '../../vectors/stop.ts';
import type { Value } from '../../vectors/value.ts';
import { noRows, type Vector, take } from '../../vectors/vector.ts';
import { cancelEqual } from '../diff/bag.ts';
import { Differences, type Pairs } from '../diff/different.ts';
import type { SideRows } from './row-store.ts';

/** What is done to our side. `isShared`: both sides changed some of the same records. */
export interface Effect {
  readonly removed: Vector;
  readonly added: Vector;
  readonly isShared: boolean;
}

/** The rule for whole values. `isKin`: equal records that both sides added are the same ones. */
export const mergeBag = ({ oursRemoved, oursAdded, theirsRemoved, theirsAdded }: SideRows, isKin: boolean): Effect => {
  const removed = unmatched(theirsRemoved, oursRemoved);
  const added = isKin ? unmatched(theirsAdded, oursAdded) : theirsAdded;
  const isShared = removed.length < theirsRemoved.length || added.length < theirsAdded.length;
  return { removed, added, isShared };
};
/** Rows without as many of equal value as the others are. */
const unmatched = (rows: Vector, others: Vector): Vector => {
  if (rows.length === 0 || others.length === 0) return rows;
  const keeps = all(rows.length);
  cancelEqual({ rows, keeps }, { rows: others, keeps: all(others.length) });
  const left = placesOf(keeps);
  return left.length === keeps.length ? rows : take(rows, left);
};
const all = (length: number): Uint8Array => new Uint8Array(length).fill(1);
const rangeOf = (length: number): Uint32Array => {
  const places = new Uint32Array(length);
  for (let i = 0; i < length; i++) places[i] = i;
  return places;
};
const placesOf = (keeps: Uint8Array): Uint32Array => {
  const places = new Uint32Array(keeps.length);
  let n = 0;
  for (let i = 0; i < keeps.length; i++) if (keeps[i] === 1) places[n++] = i;
  return places.subarray(0, n);
};

/**
 * A record that both sides changed to different things, as places in `rows`. `base`: as far as either side took it
 * away; what neither touched is on all sides.
 */
export interface Disputed {
  readonly rows: Vector;
  readonly base: readonly number[];
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}
/** What a dispute comes to: rows of it (as places), or another value, or none; undefined: it is a conflict. */
export type Settlement = { readonly rows: readonly number[] } | { readonly value: Value | undefined };
/** Decides disputes. `fieldsMerged`: told how many were settled field by field; absent: they are not to be. */
export interface Judge {
  readonly settle: (disputed: Disputed) => Settlement | undefined;
  readonly fieldsMerged?: (count: number) => void;
}

/** The rule by identity. `keyOf`: gives the identity of rows. */
export const mergeByIdentity = (
  given: SideRows,
  keyOf: (rows: Vector) => Vector,
  { settle, fieldsMerged }: Judge,
): Effect => {
  const { oursRemoved, oursAdded, theirsRemoved, theirsAdded } = given;
  const table = new ColumnCodes();
  const theirKeys = [theirsRemoved, theirsAdded].map((rows) => table.codes(onlyColumn(keyOf(rows))));
  const count = table.size;
  const ourKeys = [oursRemoved, oursAdded].map((rows) => table.codes(onlyColumn(keyOf(rows)), false));
  const isShared = new Uint8Array(count);
  let shared = 0;
  for (const codes of ourKeys)
    for (const code of codes)
      if (code < count && isShared[code] === 0) {
        isShared[code] = 1;
        shared++;
      }
  if (shared === 0) return { removed: theirsRemoved, added: theirsAdded, isShared: false };
  const own = (rows: Vector, codes: Uint32Array): Vector => take(rows, placesOf(keptBy(codes, isShared)));
  const removed = [own(theirsRemoved, theirKeys[0]!)];
  const added = [own(theirsAdded, theirKeys[1]!)];
  const rows = concat([oursRemoved, oursAdded, theirsRemoved, theirsAdded].filter((part) => part.length > 0));
  let at = 0;
  const [ourRemoved, ourAdded, theirRemoved, theirAdded] = [...ourKeys, ...theirKeys].map((codes) => {
    const places = new KeyRows(codes, count, at);
    at += codes.length;
    return places;
  }) as [KeyRows, KeyRows, KeyRows, KeyRows];
  const values = valuesByKey(rows, [ourRemoved, ourAdded, theirRemoved, theirAdded], isShared);
  const gone = new Uint32List();
  const come = new Uint32List();
  const made = new MadeRows(added);
  if (fieldsMerged) {
    const sides = { base: ourRemoved, alsoBase: theirRemoved, ours: ourAdded, theirs: theirAdded };
    const merged = mergeColumns(rows, sides, values, isShared);
    if (merged) {
      for (const place of merged.gone) gone.push(place);
      added.push(merged.rows);
      fieldsMerged(merged.rows.length);
    }
  }
  for (let code = 0; code < count; code++) {
    checkStopAt(code);
    if (isShared[code] === 0) continue;
    const touched: Touched = {
      oursRemoved: ourRemoved.of(code),
      oursAdded: ourAdded.of(code),
      theirsRemoved: theirRemoved.of(code),
      theirsAdded: theirAdded.of(code),
    };
    const disputed = disputeOf(touched, rows, values);
    if (!disputed) continue;
    const settled = settle(disputed);
    if (!settled) continue;
    if ('value' in settled) {
      for (const place of disputed.ours) gone.push(place);
      if (settled.value) made.add(settled.value);
      continue;
    }
    for (const place of without(disputed.ours, settled.rows, values)) gone.push(place);
    for (const place of without(settled.rows, disputed.ours, values)) come.push(place);
  }
  made.flush();
  removed.push(take(rows, gone.done()));
  added.push(take(rows, come.done()));
  return { removed: joined(removed), added: joined(added), isShared: true };
};
/** Sets 1 for codes that are 0 in `isShared`. */
const keptBy = (codes: Uint32Array, isShared: Uint8Array): Uint8Array => {
  const keeps = new Uint8Array(codes.length);
  for (let i = 0; i < keeps.length; i++) keeps[i] = isShared[codes[i]!] === 0 ? 1 : 0;
  return keeps;
};
const joined = (parts: readonly Vector[]): Vector => {
  const some = parts.filter((part) => part.length > 0);
  return some.length === 0 ? noRows : concat(some);
};

/** The column of a record that has no other, which tells the same rows apart for half the work. */
const onlyColumn = (keys: Vector): Vector => {
  const [field, ...others] = keys.form === 'record' ? keys.fields : [];
  return field && others.length === 0 && !field.present ? field.values : keys;
};

/**
 * A number for each row: those of one key have the same if and only if they have the same value. Mostly each side has
 * one row of a key: these are compared with each other, which takes a quarter of what codes of all rows take.
 */
const valuesByKey = (rows: Vector, sides: readonly KeyRows[], isShared: Uint8Array): Uint32Array => {
  const values = rangeOf(rows.length);
  const [alone, crowded] = [new Uint32List(), new Uint32List()];
  for (let code = 0; code < isShared.length; code++) {
    if (isShared[code] === 0) continue;
    if (sides.every((side) => side.hasOneAtMost(code))) alone.push(code);
    else for (const side of sides) for (const place of side.of(code)) crowded.push(place);
  }
  const codes = alone.done();
  const places = sides.map((side) => side.places(codes));
  const differences = new Differences();
  for (let b = 1; b < sides.length; b++)
    for (let a = 0; a < b; a++) {
      const pairs = pairsOf(places[a]!, places[b]!);
      const differs = new Uint8Array(pairs.a.length);
      differences.mark(rows, rows, pairs, differs);
      for (let n = 0; n < differs.length; n++) if (differs[n] === 0) values[pairs.b[n]!] = values[pairs.a[n]!]!;
    }
  const many = crowded.done();
  // Beyond all places.
  new ColumnCodes().codes(take(rows, many)).forEach((code, n) => {
    values[many[n]!] = rows.length + code;
  });
  return values;
};
/** Where both sides have a row. */
const pairsOf = (first: Float64Array, second: Float64Array): Pairs => {
  const [a, b] = [new Uint32List(), new Uint32List()];
  for (let n = 0; n < first.length; n++) {
    if (first[n]! < 0 || second[n]! < 0) continue;
    a.push(first[n]!);
    b.push(second[n]!);
  }
  return { a: a.done(), b: b.done() };
};

/** Rows of one side by the codes of their keys, of those below `count`; places begin at `base`. */
class KeyRows {
  private readonly first: Uint32Array;
  private readonly next: Uint32Array;
  private readonly base: number;
  constructor(codes: Uint32Array, count: number, base: number) {
    // One more than the place, 0 for none.
    this.first = new Uint32Array(count);
    this.next = new Uint32Array(codes.length);
    this.base = base;
    for (let i = codes.length - 1; i >= 0; i--) {
      const code = codes[i]!;
      if (code >= count) continue;
      this.next[i] = this.first[code]!;
      this.first[code] = i + 1;
    }
  }
  hasOneAtMost(code: number): boolean {
    const row = this.first[code]!;
    return row === 0 || this.next[row - 1] === 0;
  }
  /** The place of the one row of a code; -1: there are none, or several. */
  only(code: number): number {
    const row = this.first[code]!;
    return row === 0 || this.next[row - 1] !== 0 ? -1 : this.base + row - 1;
  }
  /** The first row of each code; -1 for none. */
  places(codes: Uint32Array): Float64Array {
    const { first, base } = this;
    const places = new Float64Array(codes.length);
    for (let n = 0; n < places.length; n++) {
      const row = first[codes[n]!]!;
      places[n] = row === 0 ? -1 : base + row - 1;
    }
    return places;
  }
  of(code: number): readonly number[] {
    const places: number[] = [];
    for (let row = this.first[code]!; row > 0; row = this.next[row - 1]!) places.push(this.base + row - 1);
    return places;
  }
}

/**
 * Records that both sides changed once each, from one record, and not in the same fields: each with what either side
 * did to it, column by column instead of record by record, which takes a quarter of the time. Clears them in `isShared`.
 */
const mergeColumns = (
  rows: Vector,
  { base, alsoBase, ours, theirs }: Readonly<Record<'base' | 'alsoBase' | 'ours' | 'theirs', KeyRows>>,
  values: Uint32Array,
  isShared: Uint8Array,
): { readonly rows: Vector; readonly gone: Uint32Array } | undefined => {
  if (rows.form !== 'record' || rows.fields.some(({ optional }) => optional)) return undefined;
  const found = { code: new Uint32List(), base: new Uint32List(), ours: new Uint32List(), theirs: new Uint32List() };
  for (let code = 0; code < isShared.length; code++) {
    if (isShared[code] === 0) continue;
    const [b, also, o, t] = [base.only(code), alsoBase.only(code), ours.only(code), theirs.only(code)];
    if (b < 0 || also < 0 || o < 0 || t < 0 || values[b] !== values[also] || values[o] === values[t]) continue;
    found.code.push(code);
    found.base.push(b);
    found.ours.push(o);
    found.theirs.push(t);
  }
  const [codes, b, o, t] = [found.code.done(), found.base.done(), found.ours.done(), found.theirs.done()];
  if (codes.length === 0) return undefined;
  const { sources, isConflict } = sourcesOfFields(rows, { base: b, ours: o, theirs: t });
  const merged = placesOf(isConflict.map((x) => 1 - x));
  for (const n of merged) isShared[codes[n]!] = 0;
  const picked = (places: Uint32Array): Uint32Array => merged.map((n) => places[n]!);
  const fields = rows.fields.map((f, k) => ({ ...f, values: take(f.values, picked(sources[k]!)) }));
  return { rows: { form: 'record', length: merged.length, fields }, gone: picked(o) };
};
/** For each field where its value is to be taken from; which records both sides changed one field of. */
const sourcesOfFields = (
  { fields }: Extract<Vector, { readonly form: 'record' }>,
  { base, ours, theirs }: { readonly base: Uint32Array; readonly ours: Uint32Array; readonly theirs: Uint32Array },
): { readonly sources: readonly Uint32Array[]; readonly isConflict: Uint8Array } => {
  const differences = new Differences();
  const isConflict = new Uint8Array(base.length);
  const sources = fields.map(({ values }) => {
    const differ = (a: Uint32Array, b: Uint32Array): Uint8Array => {
      const out = new Uint8Array(a.length);
      differences.mark(values, values, { a, b }, out);
      return out;
    };
    const [ourChange, theirChange, isUnlike] = [differ(ours, base), differ(theirs, base), differ(ours, theirs)];
    const source = ours.slice();
    for (let n = 0; n < source.length; n++) {
      if (theirChange[n] === 0 || isUnlike[n] === 0) continue;
      if (ourChange[n] === 0) source[n] = theirs[n]!;
      else isConflict[n] = 1;
    }
    return source;
  });
  return { sources, isConflict };
};

/** Values that become rows, many at a time: a vector for each would take far more than they do. */
class MadeRows {
  private readonly target: Vector[];
  private values: Value[] = [];
  constructor(target: Vector[]) {
    this.target = target;
  }
  add(value: Value): void {
    this.values.push(value);
    if (this.values.length >= madeTogether) this.flush();
  }
  flush(): void {
    if (this.values.length > 0) this.target.push(vectorOf(this.values));
    this.values = [];
  }
}
const madeTogether = 4096;

/** The rows of one identity that both sides changed, as places. */
interface Touched {
  readonly oursRemoved: readonly number[];
  readonly oursAdded: readonly number[];
  readonly theirsRemoved: readonly number[];
  readonly theirsAdded: readonly number[];
}
/** Undefined: both sides made the same of it. */
const disputeOf = (
  { oursRemoved, oursAdded, theirsRemoved, theirsAdded }: Touched,
  rows: Vector,
  values: Uint32Array,
): Disputed | undefined => {
  if (isSame(oursRemoved, theirsRemoved, values) && isSame(oursAdded, theirsAdded, values)) return undefined;
  const base = [...oursRemoved, ...without(theirsRemoved, oursRemoved, values)];
  return {
    rows,
    base,
    ours: [...without(base, oursRemoved, values), ...oursAdded],
    theirs: [...without(base, theirsRemoved, values), ...theirsAdded],
  };
};
const isSame = (a: readonly number[], b: readonly number[], values: Uint32Array): boolean =>
  a.length === b.length && without(a, b, values).length === 0;

/** Rows without as many of equal value as the others are. */
const without = (places: readonly number[], others: readonly number[], values: Uint32Array): readonly number[] => {
  if (places.length === 0 || others.length === 0) return places;
  if (places.length === 1 && others.length === 1) return values[places[0]!] === values[others[0]!] ? [] : places;
  const left = new Map<number, number>();
  for (const place of others) left.set(values[place]!, (left.get(values[place]!) ?? 0) + 1);
  return places.filter((place) => {
    const count = left.get(values[place]!) ?? 0;
    if (count > 0) left.set(values[place]!, count - 1);
    return count === 0;
  });
};
