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
  cancelEqual(
    { rows, index: rangeOf(rows.length), keeps },
    { rows: others, index: rangeOf(others.length), keeps: all(others.length) },
  );
  const left = placesOf(keeps);
  return left.length === keeps.length ? rows : take(rows, left);
};
const all = (length: number): Uint8Array => new Uint8Array(length).fill(1);
const rangeOf = (length: number): Uint32Array => Uint32Array.from({ length }, (_, i) => i);
const placesOf = (keeps: Uint8Array): Uint32Array => {
  const places = new Uint32List();
  for (let i = 0; i < keeps.length; i++) if (keeps[i] === 1) places.push(i);
  return places.done();
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
/** Decides disputes. */
export type Settle = (disputed: Disputed) => Settlement | undefined;

/** The rule by identity. `keyOf`: gives the identity of rows. */
export const mergeByIdentity = (given: SideRows, keyOf: (rows: Vector) => Vector, settle: Settle): Effect => {
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
  const own = (rows: Vector, codes: Uint32Array): Vector =>
    take(
      rows,
      rangeOf(rows.length).filter((i) => isShared[codes[i]!] === 0),
    );
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
  const values = Uint32Array.from({ length: rows.length }, (_, i) => i);
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
  /** The first row of each code; -1 for none. */
  places(codes: Uint32Array): Float64Array {
    return Float64Array.from(codes, (code) => (this.first[code] === 0 ? -1 : this.base + this.first[code]! - 1));
  }
  of(code: number): readonly number[] {
    const places: number[] = [];
    for (let row = this.first[code]!; row > 0; row = this.next[row - 1]!) places.push(this.base + row - 1);
    return places;
  }
}

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
